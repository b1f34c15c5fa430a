"""Many edges on graphs of several ranks: builds, snapshots and batches by slices."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_parallel_graph import N, cut, listed, made

import suricate as su
from suricate.errors import CapacityError, RequirementError
from suricate.graph.exchange import parts
from suricate.parallel import Comm, run
from suricate.placement import changes

pytestmark = pytest.mark.plain


def test_parts_of_many_edges_go_in_by_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph has the largest id of any rank, and the weights of the first that has some."""
    monkeypatch.setattr(parts, "SLICE", 12)
    src, dst = np.random.default_rng(2).integers(0, 50, (2, 40))
    single = su.Graph.from_coo(src, dst, src * 1.5, device="cpu")

    def job(comm: Comm) -> None:
        own = [(src[:25], dst[:25], src[:25] * 1.5), (None, None), (src[25:], dst[25:], src[25:] * 1.5)][comm.rank]
        graph = su.Graph.from_coo(*own, comm=comm, device="cpu")
        assert listed(graph.edges()) == listed(single.edges())
        assert (graph.num_vertices, graph.weight_dtype, graph.version) == (single.num_vertices, single.weight_dtype, 4)
        graph.check()

    run(job, 3)


def test_slices_take_a_share_of_the_limit_of_memory_and_keep_the_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last weight of all parts wins; a snapshot is loaded by slices, too."""
    sizes: list[int] = []
    real = su.Graph.insert_edges

    def counted(graph: su.Graph, src: Any, dst: Any, weight: Any = None) -> Any:
        delta = real(graph, src, dst, weight)
        sizes.append(delta.num_inserted + delta.num_replaced)
        return delta

    monkeypatch.setattr(su.Graph, "insert_edges", counted)
    monkeypatch.setattr(parts, "BYTES", 1 << 13)  # so that a small batch needs many slices
    src, dst = np.random.default_rng(2).integers(0, 20, (2, 300))
    weight = np.arange(300.0)
    single = su.Graph.from_coo(src, dst, weight, device="cpu")
    sizes.clear()

    def job(comm: Comm, path: Path) -> None:
        limit = "4MB" if comm.rank == 1 else "1MB"
        graph = su.Graph.from_coo(*cut(comm, src, dst, weight), comm=comm, device="cpu", memory_limit=limit)
        assert listed(graph.edges()) == listed(single.edges())
        graph.save(path)
        assert graph.version == 300 // 15
        loaded = su.Graph.load(path, device="cpu", comm=comm, memory_limit=limit)
        assert listed(loaded.edges()) == listed(single.edges())
        assert loaded.version == graph.version

    run(partial(job, path=tmp_path / "graph.npz"), 3)
    assert max(sizes) <= 15


@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline"])
def test_a_batch_that_takes_too_much_memory_at_once_goes_by_slices(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stores reserve for every edge of a batch, also for those that they have, or that come twice."""
    monkeypatch.setattr(changes, "LEAST", 64)
    options = {"backend": backend, "in_edges": True, "weight_dtype": "int32"}

    def job(comm: Comm) -> None:
        graph, single = made(comm, **options), su.Graph(N, device="cpu", **options)
        rng, most = np.random.default_rng(3), 40
        for one in graph.partition.stores:
            for name in ("insert", "delete", "reserve"):
                monkeypatch.setattr(
                    one.local, name, limited(getattr(one.local, name), most if comm.rank == 1 else 10**6)
                )
        for number in range(4):
            src, dst = rng.integers(0, N, (2, 600))
            src[::3], dst[::3] = 13, rng.integers(0, 9, 200)  # many at one vertex, and again and again
            weight = rng.integers(0, 99, 600)
            gone = rng.integers(0, N, (2, 700))
            delta = graph.apply(su.Batch(su.EdgeList(*cut(comm, src, dst, weight)), su.EdgeList(*cut(comm, *gone))))
            other = single.apply(su.Batch(su.EdgeList(src, dst, weight), su.EdgeList(*gone)))
            for kind in ("inserted", "deleted", "replaced"):
                assert listed(getattr(delta, kind)) == listed(getattr(other, kind))
            assert listed(graph.edges()) == listed(single.edges())
            assert graph.version == number + 1
            graph.check()
        before = listed(graph.edges())
        with pytest.raises(CapacityError, match="too many" if comm.rank == 1 else "rank 1: .*too many"):
            graph.insert_edges(np.full(500, 20), np.full(500, 2), 7)  # which no slice divides
        assert listed(graph.edges()) == before
        assert (graph.num_edges, graph.version) == (len(before), 4)
        graph.check()

    run(job, 3)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("seed", [23, 27, 40])
def test_where_slices_do_not_fit_either_nothing_has_changed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To take deletions back a store needs the slabs that edges of the batch had in the meantime."""
    monkeypatch.setattr(changes, "LEAST", 64)
    options = {"directed": False, "weight_dtype": "int32"}

    def job(comm: Comm) -> list[bool]:
        graph, single = made(comm, memory_limit=10_000, **options), su.Graph(N, device="cpu", **options)
        rng, fitted = np.random.default_rng(seed), list[bool]()
        for _ in range(12):
            src, dst, weight = *np.unique(rng.integers(0, N, (2, 300)), axis=1), rng.integers(0, 99, 300)
            gone = rng.integers(0, N, (2, 100))
            new = src, dst, weight[: len(src)]
            try:
                graph.apply(su.Batch(su.EdgeList(*cut(comm, *new)), su.EdgeList(*cut(comm, *gone))))
            except CapacityError:
                fitted.append(False)
            else:
                fitted.append(True)
                single.apply(su.Batch(su.EdgeList(*new), su.EdgeList(*gone)))
            assert listed(graph.edges()) == listed(single.edges())
            graph.check()
        return fitted

    fitted, *others = run(job, 2)
    assert {*fitted} == {True, False}
    assert all(other == fitted for other in others)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("every_backend", "limit", "more"),
    [
        ("blocked", 38_000, 300), ("csr_baseline", 42_000, 300), ("gpma", 50_000, 1500),
        ("hornet_like", 50_000, 3), ("hornet_like", 78_000, 300), ("slabhash", 70_000, 300),
    ],
)  # fmt: skip
def test_what_went_in_before_a_batch_was_refused_goes_in_after_it(every_backend: str, limit: int, more: int) -> None:
    """Also where stores that had grown for slices of the refused batch leave no memory for a copy of their arrays."""
    rng = np.random.default_rng(2)
    few, many, others = (
        rng.integers(0, 600, (2, 600)),
        rng.integers(0, 600, (2, 12000)),
        rng.integers(0, 600, (2, more)),
    )

    def job(comm: Comm, *, refused: bool) -> list[tuple[float, ...]]:
        graph = made(comm, 600, backend=every_backend, in_edges=True, memory_limit=limit)
        graph.insert_edges(*cut(comm, *few))
        if refused:
            with pytest.raises(CapacityError):
                graph.insert_edges(*cut(comm, *many))
        graph.insert_edges(*cut(comm, *others))
        graph.check()
        for store in graph.partition.stores:
            assert sum(size for _, size in store.memory().values()) <= limit == store.local.memory_limit
        return listed(graph.edges())

    expected = sorted({*zip(*few.tolist(), strict=True)} | {*zip(*others.tolist(), strict=True)})
    assert run(partial(job, refused=False), 3) == run(partial(job, refused=True), 3) == [expected] * 3


def limited(real: Any, most: int) -> Any:
    """A method of a store that has the memory for so many edges at a time."""

    def call(given: Any, *args: Any) -> Any:
        size = given if isinstance(given, int) else len(given)
        if size > most:
            raise CapacityError(f"{size} edges are too many")
        return real(given, *args)

    return call


@pytest.mark.parametrize("most", [1 << 26, 2])
@pytest.mark.parametrize("columns", [False, True])
def test_the_first_process_tells_of_repeats(monkeypatch: pytest.MonkeyPatch, most: int, columns: bool) -> None:
    monkeypatch.setattr(parts, "SLICE", most)
    edges = [([0, 1, 0], [1, 2, 1], [1.0, 2.0, 3.0]), ([0, 1], [1, 2], [4.0, 2.0])]

    def job(comm: Comm) -> list[float]:
        src, dst, weight = edges[comm.rank]
        given = {"fee": weight} if columns else weight
        graph = su.Graph.from_coo(src, dst, given, comm=comm, device="cpu")
        with pytest.raises(RequirementError, match="needs all edges in one process"):
            su.Graph.from_coo(src, dst, given, comm=comm, device="cpu", combine="sum")
        return (
            graph.edge_columns.at("fee", [0, 1], [1, 2]).tolist()
            if columns
            else graph.edge_weights([0, 1], [1, 2]).tolist()
        )

    with pytest.warns(UserWarning, match="2 of 5 edges repeat") as told:
        assert run(job, 2) == [[4.0, 2.0]] * 2
    assert len(told) == 1
