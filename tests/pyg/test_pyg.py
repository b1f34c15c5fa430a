"""Loaders of PyTorch Geometric over a log, and suricate's own: trees, times, features, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from patience import PATIENCE
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader

import suricate as su
import suricate.stream as st
from suricate.errors import DTypeError, ParameterError, RequirementError, ShapeError, UnknownNameError
from suricate.pyg import loader, sampler

SIZE = 40


def messages(count: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, with equal ones among them, and ends of messages."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(0, 300, count)), *rng.integers(0, SIZE, (2, count))


@pytest.fixture
def log() -> su.Events:
    time, src, dst = messages()
    made = su.Events(SIZE, device="cpu", columns={"fee": "float64", "hour": "int64"})
    made.append(time, src, dst, {"fee": time * 0.5, "hour": time % 24})
    made.close_before(301)
    return made


def data_of(**fields: Any) -> Data:
    return Data(edge_index=torch.empty((2, 0), dtype=torch.long), num_nodes=SIZE, **fields)


def edges_by_tree(data: Data) -> dict[int, list[tuple[int, int, int, int]]]:
    """The edges of each tree: neighbour, expanded vertex, number of the event, time of the root."""
    found: dict[int, list[tuple[int, int, int, int]]] = {}
    row, col = data.edge_index
    for at in range(len(row)):
        tree = int(data.batch[row[at]])
        ends = int(data.n_id[row[at]]), int(data.n_id[col[at]])
        found.setdefault(tree, []).append((*ends, int(data.e_id[at]), int(data.seed_time[tree])))
    return found


@pytest.mark.parametrize("strategy", ["uniform", "last"])
def test_node_loader_gives_past_events_of_each_root(log, strategy) -> None:
    time, src, dst = messages()
    roots, at = torch.arange(SIZE), torch.linspace(20, 300, SIZE).long()
    x = torch.randn(SIZE, 3)
    batches = NodeLoader(
        data_of(x=x), sampler(log, [4, 2], temporal_strategy=strategy), roots, input_time=at, batch_size=16,
    )  # fmt: skip
    edges = 0
    for data in batches:
        assert torch.equal(data.x, x[data.n_id])
        for tree, found in edges_by_tree(data).items():
            numbers = [event for _, _, event, _ in found]
            assert len(set(numbers)) == len(numbers)
            for u, v, event, limit in found:
                assert (src[event], dst[event]) == (u, v)
                assert time[event] < limit == int(at[data.input_id[tree]])
            edges += len(found)
        for v in range(data.batch_size):  # the first hop has min(k, eligible) events of each root
            root, limit = int(data.n_id[v]), int(data.seed_time[v])
            eligible = np.flatnonzero((dst == root) & (time < limit))
            first = (data.edge_index[1] == v).sum()
            assert int(first) == min(4, len(eligible))
    assert edges > 300


def test_trees_are_the_same_in_every_batch_order_and_worker(log) -> None:
    at = torch.linspace(20, 300, SIZE).long()

    def trees(**options: Any) -> dict[int, Any]:
        found = {}
        for data in NodeLoader(data_of(), sampler(log, [4, 2]), torch.arange(SIZE), input_time=at, **options):
            edges = edges_by_tree(data)
            found |= {int(data.input_id[tree]): sorted(edges.get(tree, [])) for tree in range(data.batch_size)}
        return found

    one = trees(batch_size=SIZE)
    assert trees(batch_size=7, shuffle=True) == one
    assert trees(batch_size=7, num_workers=2) == one


def test_link_loader_with_negative_links_leaks_nothing(log) -> None:
    time, src, dst = (torch.from_numpy(part) for part in messages())
    late = time > 100
    links = torch.stack([src, dst])[:, late]
    batches = LinkLoader(
        data_of(), sampler(log, [5, 5]), links, edge_label_time=time[late], neg_sampling="binary", batch_size=50,
    )  # fmt: skip
    seen = 0
    for data in batches:
        numbers = torch.flatten(data.input_id)
        times = log.at("time", data.e_id.numpy())
        tree = data.batch[data.edge_index[0]]
        assert (torch.from_numpy(times) < data.edge_label_time[: len(numbers)][tree % len(numbers)]).all()
        assert data.edge_label.tolist() == [1.0] * len(numbers) + [0.0] * len(numbers)
        seen += len(times)
    assert seen > 1000


def test_the_loader_yields_what_models_take(log) -> None:
    x, at = torch.randn(SIZE, 3), torch.linspace(20, 299, SIZE).long()
    mask = torch.arange(SIZE) % 2 == 0
    batches = loader(log, mask, [4, 2], input_time=at[mask], batch_size=6, x=x, edge_attr=["fee", "hour"], seed=3)
    assert len(batches) == 4
    own = NodeLoader(data_of(), sampler(log, [4, 2], seed=3), mask, input_time=at[mask], batch_size=6)
    for data, same in zip(batches, own, strict=True):
        data.validate()
        for name in ("edge_index", "n_id", "e_id", "batch", "seed_time"):
            assert torch.equal(data[name], same[name]), name
        assert data.num_sampled_nodes == same.num_sampled_nodes
        assert torch.equal(data.x, x[data.n_id])
        time = torch.from_numpy(log.at("time", data.e_id.numpy()))
        assert torch.equal(data.edge_time, time)
        assert torch.equal(data.edge_attr, torch.stack([time * 0.5, time % 24], 1).float())
        assert torch.equal(data.n_id[: data.batch_size], torch.arange(SIZE)[mask][data.input_id])
    other = loader(log, mask, [4, 2], input_time=at[mask], batch_size=SIZE)
    before = next(iter(other)).e_id
    other.seed = 1
    assert not torch.equal(next(iter(other)).e_id[: len(before)], before)
    assert int(next(iter(loader(log, [3], [2]))).seed_time) == log.closed


def test_a_loader_over_a_running_job_samples_between_slides() -> None:
    time, src, dst = messages(3000)
    go, halfway = threading.Event(), threading.Event()

    def chunks() -> Any:
        for at in range(0, 3000, 100):
            if at == 1500:
                halfway.set()
                go.wait(PATIENCE)
            yield {"time": time[at : at + 100], "src": src[at : at + 100], "dst": dst[at : at + 100]}

    job = st.Window(chunks(), size="50", slide="5", events="in", graph={"device": "cpu", "num_vertices": SIZE})
    with job:
        job.start().add_done_callback(lambda _: halfway.set())
        assert halfway.wait(PATIENCE)
        batches = loader(job, torch.arange(SIZE), [5, 5], batch_size=10)
        found = [*batches]
        assert sum(len(data.e_id) for data in found) > 100
        for data in found:
            assert (data.edge_time < data.seed_time[data.batch[data.edge_index[0]]]).all()
        go.set()
        job.wait()


def test_what_would_be_lost_in_silence_is_refused(log) -> None:
    roots, at = torch.arange(4), torch.full((4,), 200)
    with pytest.raises(RequirementError, match="edge_index"):
        next(iter(NodeLoader(Data(x=torch.zeros(SIZE, 1), num_nodes=SIZE), sampler(log, [2]), roots, input_time=at)))
    with pytest.raises(RequirementError, match="input_time"):
        next(iter(NodeLoader(data_of(), sampler(log, [2]), roots)))
    with pytest.raises(RequirementError, match="edge_label_time"):
        next(iter(LinkLoader(data_of(), sampler(log, [2]), torch.zeros((2, 3), dtype=torch.long))))
    with pytest.raises(DTypeError, match="integers"):
        next(iter(NodeLoader(data_of(), sampler(log, [2]), roots, input_time=at.float())))
    with pytest.raises(DTypeError, match="integers"):
        loader(log, roots, [2], input_time=[1.5] * 4)
    with pytest.raises(RequirementError, match="could still change"):
        next(iter(loader(log, roots, [2], input_time=10**6)))
    with pytest.raises(ShapeError, match="input_time"):
        loader(log, roots, [2], input_time=at[:2])
    named = su.Events(0, device="cpu", names=True)
    named.append([1], ["a"], ["b"])
    with pytest.raises(RequirementError, match="keep=True"):
        sampler(named, [2])
    kept = su.Events(0, device="cpu", names=su.Names(keep=True))
    kept.append([1], ["a"], ["b"])
    assert len(next(iter(loader(kept, [1], [2], input_time=[1]))).e_id) == 0
    assert next(iter(loader(kept, ["b"], [2], input_time=[1]))).n_id.tolist() == [1]
    with pytest.raises(DTypeError, match="x must be a tensor"):
        loader(log, roots, [2], x=np.zeros((SIZE, 1)))
    with pytest.raises(ParameterError, match=r"must be a su\.Events"):
        sampler(su.Graph(3, device="cpu"), [2])


@pytest.mark.parametrize(
    ("error", "reason", "given"),
    [
        (ParameterError, "num_neighbors must be a list", {"num_neighbors": 3}),
        (ParameterError, r"num_neighbors\[1\]", {"num_neighbors": [3, "x"]}),
        (ParameterError, "time_window", {"time_window": 0}),
        (UnknownNameError, "hops", {"hops": "forward"}),
        (ParameterError, "replace", {"replace": "no"}),
        (ParameterError, "seed", {"seed": 1.5}),
        (ShapeError, "x has 30 rows, the log 40 vertices", {"x": torch.zeros(30, 2)}),
        (DTypeError, "x must be a tensor", {"x": torch.tensor(1.0)}),
        (ParameterError, "edge_attr must be names", {"edge_attr": 3}),
        (UnknownNameError, "no column 'cost'", {"edge_attr": ["cost"]}),
        (DTypeError, "input_nodes", {"input_nodes": [0.5, 2.7]}),
        (ShapeError, "input_nodes", {"input_nodes": 3}),
        (DTypeError, "input_nodes", {"input_nodes": [True, False]}),
        (DTypeError, "integers", {"input_time": "soon"}),
        (ParameterError, "generator", {"generator": 3}),
        (ParameterError, "transform", {"transform": 3}),
    ],
)
def test_bad_arguments_are_refused_when_the_loader_is_made(log, error, reason, given) -> None:
    with pytest.raises(error, match=reason):
        loader(log, **{"input_nodes": [0, 1], "num_neighbors": [2], **given})


def test_features_are_asked_for_vertices_that_came_later(log) -> None:
    batches = loader(log, [0, 1], [2], x=torch.zeros(SIZE, 1))
    log.insert_vertices(3)
    with pytest.raises(ShapeError, match="x has 40 rows, the log 43 vertices"):
        next(iter(batches))


def test_attributes_of_other_edges_than_the_log_has_are_refused(log) -> None:
    _, src, dst = messages()
    edges, fee = torch.tensor(np.stack((src, dst))), torch.arange(len(src)).float()
    links, at = edges[:, :6], torch.full((6,), 200)

    def batches(data: Data) -> list[Data]:
        by_node = NodeLoader(data, sampler(log, [3, 2]), torch.arange(6), input_time=at, batch_size=3)
        return [*by_node, *LinkLoader(data, sampler(log, [3, 2]), links, edge_label_time=at, batch_size=3)]

    for batch in batches(Data(edge_index=edges, edge_attr=fee, num_nodes=SIZE)):
        assert len(batch.e_id)
        assert torch.equal(batch.edge_attr, batch.e_id.float())
    assert len(batches(Data(edge_index=edges.flip(1), num_nodes=SIZE))) == 4  # without attributes nothing is taken
    for other in (edges.flip(1), edges[:, :9], edges[:, :0]):
        data = Data(edge_index=other, edge_attr=fee[: max(other.shape[1], 9)], num_nodes=SIZE)
        for loaded in (
            NodeLoader(data, sampler(log, [3]), torch.arange(6), input_time=at),
            LinkLoader(data, sampler(log, [3]), links, edge_label_time=at),
        ):
            with pytest.raises(RequirementError, match=r"edge_attr .*e_id"):
                list(loaded)


def test_workers_refuse_a_log_that_has_changed_since(log) -> None:
    at = torch.full((SIZE,), 200)
    batches = NodeLoader(
        data_of(), sampler(log, [2]), torch.arange(SIZE), input_time=at, batch_size=2, num_workers=1, prefetch_factor=1,
    )  # fmt: skip
    going = iter(batches)
    next(going)
    log.append([10**4], [0], [1])
    with pytest.raises(RequirementError, match="has changed since"):
        for _ in going:
            pass
