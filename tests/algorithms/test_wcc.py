"""Weakly connected components on every backend and device: the conformance kit, families, and every edge deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suricate as su
from suricate.algorithms.wcc import COMPUTED_FIRST, WCC, component_words
from suricate.algorithms.wcc.spanning_trees_cpu import LAST_CUT, MARK
from suricate.graph.tracker import Tracker
from suricate.kernels.walking import ROUND_WORDS
from suricate.testing import OwnKernelsConformance

Edges = tuple[np.ndarray, np.ndarray]


class TestWCC(OwnKernelsConformance):
    algorithm = WCC
    reads_weights = False
    examples = 3
    cuda_marks = (pytest.mark.gpu,)


def judge(tracker: Tracker) -> None:
    """Compare with SciPy."""
    graph = tracker.graph
    src, dst = (graph.device.to_numpy(part) for part in su.arcs(graph)[:2])
    right = WCC.reference(src, dst, None, graph.num_vertices, graph.directed)
    label, count = tracker.result
    assert graph.device.to_numpy(label).tolist() == right.label.tolist()
    assert count == right.num_components


def graph_of(
    num_vertices: int, edges: Edges, device: str | su.devices.Device, backend: str, **options: bool
) -> su.Graph:
    graph = su.Graph(num_vertices, backend=backend, device=str(device), **(options or {"directed": False}))
    graph.insert_edges(*edges)
    return graph


def path(n: int) -> Edges:
    return np.arange(n - 1), np.arange(1, n)


def star(n: int) -> Edges:
    return np.zeros(n - 1, np.int64), np.arange(1, n)


def binary_tree(n: int) -> Edges:
    return (np.arange(1, n) - 1) // 2, np.arange(1, n)


def complete(n: int) -> Edges:
    return np.triu_indices(n, 1)


def grid(rows: int, columns: int) -> Edges:
    ids = np.arange(rows * columns).reshape(rows, columns)
    right, down = (ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])
    return tuple(np.concatenate([a.ravel(), b.ravel()]) for a, b in zip(right, down, strict=True))  # type: ignore[return-value]


def batches(edges: Edges, size: int, seed: int) -> Iterator[Edges]:
    order = np.random.default_rng(seed).permutation(len(edges[0]))
    for at in range(0, len(order), size):
        yield edges[0][order[at : at + size]], edges[1][order[at : at + size]]


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": True}], ids=str)
@pytest.mark.parametrize("edges", [path(40), star(40), binary_tree(40), complete(8), grid(6, 7)], ids=len)
def test_every_edge_goes_and_comes_back(
    device: su.devices.Device, backend: str, edges: Edges, options: dict[str, bool]
) -> None:
    graph = graph_of(45, edges, device, backend, **options)
    tracker = graph.track("wcc")
    for batch in batches(edges, 1 + len(edges[0]) // 20, 1):
        graph.delete_edges(*batch)
        judge(tracker)
    for batch in batches(edges, 1 + len(edges[0]) // 10, 2):
        graph.insert_edges(*batch)
        judge(tracker)
    graph.apply(su.Batch(insert=edges, delete=edges))
    judge(tracker)


@pytest.mark.parametrize("edges", [path(3000), grid(40, 50)], ids=["path", "grid"])
def test_large_parts_break_off_and_join(device: su.devices.Device, backend: str, edges: Edges) -> None:
    graph = graph_of(3000, edges, device, backend)
    tracker = graph.track("wcc")
    rng = np.random.default_rng(5)
    for share in (0.001, 0.02, 0.3, 0.02):
        at = rng.random(len(edges[0])) < share
        graph.delete_edges(edges[0][at], edges[1][at])
        judge(tracker)
        back = at & (rng.random(len(at)) < 0.7)
        graph.apply(su.Batch(insert=(edges[0][back], edges[1][back]), delete=(edges[0][:30], edges[1][:30])))
        judge(tracker)


@pytest.mark.compiled
def test_storage_of_long_adjacencies_in_many_pieces(device: su.devices.Device, backend: str) -> None:
    """Threads that sample a neighbour each must not wait for others: of those that follow each other few have many."""
    rng = np.random.default_rng(4)
    graph = su.Graph(3_000, backend=backend, device=str(device), directed=False)
    hubs = np.arange(0, 3_000, 3)
    for _ in range(12):
        src = np.repeat(hubs, rng.integers(0, 6, len(hubs)))
        graph.insert_edges(src, rng.integers(0, 3_000, len(src)) // 2 * 2)
    tracker = graph.track("wcc")
    judge(tracker)
    graph.delete_edges(*graph.edges()[:2])
    judge(tracker)


@pytest.mark.parametrize("directed", [True, False])
def test_random_streams(device: su.devices.Device, backend: str, directed: bool) -> None:
    graph = su.Graph(
        2000, backend=backend, device=str(device), **({"in_edges": True} if directed else {"directed": False})
    )
    rng = np.random.default_rng(7)
    graph.insert_edges(*rng.integers(0, 2000, (2, 2500)))
    tracker = graph.track("wcc")
    for step in range(12):
        src, dst = (device.to_numpy(part) for part in su.arcs(graph)[:2])
        at = rng.integers(0, len(src), 60)
        insert = rng.integers(0, graph.num_vertices, (2, 50)) ** 2 // graph.num_vertices
        graph.apply(su.Batch(insert=tuple(insert), delete=(src[at], dst[at])))
        if step % 4 == 1:
            graph.insert_vertices(300)
        judge(tracker)


def test_the_forest_is_built_again_when_ids_need_more_bits(device: su.devices.Device, backend: str) -> None:
    graph = graph_of(200, path(200), device, backend)
    tracker = graph.track("wcc")
    graph.delete_edges([10], [11])
    bits = device.is_cuda  # on the CPU, ids need no space beside others
    assert tracker.algorithm._forest.capacity == (256 if bits else 2**32)
    graph.insert_vertices(100)
    graph.insert_edges([5, 299], [299, 11])
    judge(tracker)
    assert tracker.algorithm._forest.capacity == (512 if bits else 2**32)


def test_distances_that_grow_too_far_make_a_new_forest(
    device: su.devices.Device, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not device.is_cuda:
        pytest.skip("trees have no distances on the CPU")
    layout = component_words.layout_for(300)._replace(limit=100)
    monkeypatch.setattr(component_words, "layout_for", lambda num_vertices: layout)
    graph = graph_of(300, path(300), device, backend)
    tracker = graph.track("wcc")
    for edge in (100, 200, 50):
        graph.delete_edges([edge], [edge + 1])
        judge(tracker)
    graph.apply(su.Batch(insert=([50, 200], [51, 201]), delete=([7], [8])))
    judge(tracker)


@pytest.mark.parametrize("directed", [True, False])
def test_marks_of_cuts_begin_again_within_a_batch(backend: str, directed: bool) -> None:
    """Marks have 32 bits; the tree edges of a batch hang together, and inserted edges take the place of some."""
    graph = su.Graph(60, backend=backend, device="cpu", directed=directed, in_edges=directed)
    graph.insert_edges(*binary_tree(60))
    tracker = graph.track("wcc")
    graph.delete_edges([0], [1])
    for last in range(12):
        state = tracker.algorithm._forest._state
        state.node[:, MARK] = 0  # none of later cuts
        state.counts[0] = LAST_CUT - last
        kept = np.arange(1, 60) % (last + 2) > 0
        cut = tuple(ids[kept] for ids in binary_tree(60))
        graph.apply(su.Batch(delete=cut, insert=([59, 3, last], [58, 4, last + 7])))
        judge(tracker)
        graph.apply(su.Batch(insert=cut, delete=([59, 3, last], [58, 4, last + 7])))
        judge(tracker)


OPERATIONS = st.one_of(
    st.tuples(st.just("apply"), *2 * [st.lists(st.tuples(*2 * [st.integers(0, 11)]), max_size=6)]),
    st.tuples(st.just("replay"), st.lists(st.tuples(*2 * [st.integers(0, 11)], st.booleans()), min_size=1, max_size=6)),
    st.tuples(st.just("delete vertex"), st.integers(0, 11)),
    st.tuples(st.just("insert vertex")),
    st.tuples(st.just("read")),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(OPERATIONS, max_size=30), directed=st.booleans())
def test_any_operations_in_any_order(
    backend: str, monkeypatch: pytest.MonkeyPatch, operations: list[Any], directed: bool
) -> None:
    """A set of pairs is the oracle; the forest is there from the first operation on."""
    monkeypatch.setattr(WCC, "should_recompute", lambda self, graph, deleted: False)
    graph = su.Graph(12, backend=backend, device="cpu", directed=directed, in_edges=directed)
    graph.insert_edges([0], [1])
    tracker, edges = graph.track("wcc"), set[tuple[int, int]]()
    graph.delete_edges([0], [1])

    def pair(u: int, v: int) -> tuple[int, int]:
        return (u, v) if directed else (min(u, v), max(u, v))

    def check() -> None:
        label = list(range(graph.num_vertices))
        for _ in label:
            for u, v in edges:
                label[u] = label[v] = min(label[u], label[v])
        assert tracker.at([3, 11]).label.tolist() == [label[3], label[11]]
        assert tracker.result.label.tolist() == label
        assert tracker.result.num_components == len({*label}) - graph.num_vertices + graph.num_live

    for name, *given_ in operations:
        if name == "apply":
            insert, delete = given_
            graph.apply(su.Batch(insert=tuple(np.array(insert, int).reshape(-1, 2).T),
                                 delete=tuple(np.array(delete, int).reshape(-1, 2).T)))  # fmt: skip
            edges = edges - {pair(*ends) for ends in delete} | {pair(*ends) for ends in insert}
        elif name == "replay":
            src, dst, inserted = zip(*given_[0], strict=True)
            su.replay(graph, (src, dst, inserted), tracker)
            for u, v, is_inserted in given_[0]:
                (edges.add if is_inserted else edges.discard)(pair(u, v))
        elif name == "delete vertex":
            graph.delete_vertices(given_)
            edges = {ends for ends in edges if given_[0] not in ends}
        elif name == "insert vertex":
            graph.insert_vertices(1)
        else:
            check()
    check()


def test_labels_that_are_read_after_many_batches(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More vertices get a number than are listed; the smallest ones leave their components and come back."""
    monkeypatch.setattr(WCC, "should_recompute", lambda self, graph, deleted: False)
    graph = su.Graph(400, backend=backend, device="cpu", directed=False)
    graph.insert_edges(*path(400))
    tracker = graph.track("wcc")
    graph.delete_edges([7], [8])
    for reads in (1, 40):
        for _ in range(reads):
            graph.apply(su.Batch(delete=([0, 200], [1, 201]), insert=([7], [8])))
            graph.apply(su.Batch(insert=([0, 200], [1, 201]), delete=([7], [8])))
        graph.delete_edges([0, 300], [1, 301])
        judge(tracker)
        graph.insert_edges([0, 300], [1, 301])
        assert tracker.at([0, 7, 8, 399]).label.tolist() == [0, 0, 8, 8]


def test_large_deletions_do_not_have_the_forest_made_for_every_small_one(
    device: su.devices.Device, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[WCC] = []
    build = WCC._build_forest
    monkeypatch.setattr(WCC, "_build_forest", lambda self, graph: (built.append(self), build(self, graph)))
    monkeypatch.setattr(WCC, "should_recompute", lambda self, graph, deleted: deleted.size > 12)
    edges = grid(6, 7)
    graph = graph_of(45, edges, device, backend)
    tracker = graph.track("wcc")
    for kept in (slice(20), slice(2), slice(20), slice(2), *(slice(k, k + 1) for k in range(COMPUTED_FIRST + 1))):
        part = tuple(ids[kept] for ids in edges)
        graph.delete_edges(*part)
        judge(tracker)
        graph.insert_edges(*part)
        judge(tracker)
        if kept == slice(2):
            assert len(built) == 1, "the first forest is made at once, the next one later"
    assert len(built) == 2


@pytest.mark.usefixtures("may_recompute")
def test_a_computation_for_its_time_keeps_the_forest(
    device: su.devices.Device, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch that is not small is computed for, for a time to compare with: the next one finds the forest."""
    edges = grid(40, 50)
    graph = graph_of(2000, edges, device, backend)
    tracker = graph.track("wcc")
    graph.delete_edges(*(ids[:1] for ids in edges))
    algorithm: Any = tracker.algorithm
    forest, computed, compute = algorithm._forest, [], WCC.compute
    assert forest is not None
    monkeypatch.setattr(WCC, "compute", lambda self, graph: (computed.append(graph), compute(self, graph)))
    for kept in (slice(1, 40), slice(40, 41)):
        graph.delete_edges(*(ids[kept] for ids in edges))
        judge(tracker)
        assert len(computed) == 1
        assert algorithm._forest is forest


def test_insertions_alone_make_no_forest(device: su.devices.Device, backend: str) -> None:
    graph = graph_of(50, path(20), device, backend)
    tracker = graph.track("wcc")
    graph.insert_edges([30, 3], [31, 44])
    judge(tracker)
    assert tracker.algorithm._forest is None


def test_a_directed_graph_without_in_edges_recomputes(device: su.devices.Device, backend: str) -> None:
    graph = graph_of(50, path(20), device, backend, directed=True)
    tracker = graph.track("wcc")
    graph.delete_edges([4], [5])
    judge(tracker)
    assert tracker.algorithm._forest is None


def hub_with_a_path(reached: int, far: int) -> tuple[int, Edges]:
    """A hub (the last vertex) and its neighbours; a path from the first of them down to vertex 3; a pair beside."""
    n = reached + far + 4
    near, way = np.arange(n - 2, n - reached - 2, -1), np.arange(n - reached - 1, n - reached - far - 2, -1)
    return n, (np.concatenate([np.full(reached, n - 1), way[:-1], [1]]), np.concatenate([near, way[1:], [2]]))


@pytest.mark.parametrize("options", [{}, {"directed": True, "in_edges": True}], ids=["undirected", "directed"])
@pytest.mark.parametrize(
    ("reached", "far", "few"), [(300, 4, True), (90, 40, False), (40, 900, False), (2, 700, None)], ids=str
)
def test_vertices_near_a_hub_are_a_set_to_begin_with(
    reached: int, far: int, few: bool | None, options: dict[str, bool], device: su.devices.Device, backend: str
) -> None:
    n, edges = hub_with_a_path(reached, far)
    graph = graph_of(n, edges, device, backend, **options)
    judge(graph.track("wcc"))
    if not device.is_cuda:
        return
    near = graph.device.to_numpy(graph.workspace.array("connect.state", ROUND_WORDS + 8, np.uint32))[ROUND_WORDS + 2 :]
    found, left = near[:3][near[:3] > 0], near[3:6][near[:3] > 0]
    assert (few is None) == (len(found) == 0)  # no hub: nothing was reached
    if few is not None:
        assert (left[-1] <= found[-1] // 32) == few
        assert found[0] == reached + 2  # the hub, and one vertex of the path


def test_traffic_counts_vertices() -> None:
    graph = su.Graph(10, device="cpu")
    assert WCC().traffic(graph) == 10 * 24


@pytest.mark.compiled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("directed", [False, True])
def test_one_thread_and_several(backend: str, threads: int, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread hooks roots without compare-and-swap; sets join late, across arcs that are not the first ones."""
    monkeypatch.setattr("suricate.cpu.threads.GRAIN", 64)
    n, rng = 3000, np.random.default_rng(6)
    options = {"directed": directed, "in_edges": directed}
    graph = su.Graph(n, backend=backend, device="cpu", threads=threads, **options)
    graph.insert_edges(*rng.integers(0, n // 2, (2, n // 2)))
    graph.insert_edges(*rng.permutation(np.arange(n // 2, n))[: 2 * (n // 4)].reshape(2, -1))
    tracker = graph.track("wcc")
    judge(tracker)
    assert 500 < tracker.result.num_components < n
