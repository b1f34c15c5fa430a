"""Weakly connected components on every backend and device: the conformance kit, families, and every edge deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.wcc import COMPUTED_FIRST, WCC, component_words, component_words_cpu
from suricate.graph.tracker import Tracker
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
    src, dst = (graph.device.to_numpy(part) for part in su.edges(graph)[:2])
    right = WCC.reference(src, dst, None, graph.num_vertices, graph.directed)
    label, count = tracker.result
    assert graph.device.to_numpy(label).tolist() == right.label.tolist()
    assert count == right.num_components


def graph_of(num_vertices: int, edges: Edges, device: su.devices.Device, backend: str, **options: bool) -> su.Graph:
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
        src, dst = (device.to_numpy(part) for part in su.edges(graph)[:2])
        at = rng.integers(0, len(src), 60)
        insert = rng.integers(0, graph.num_vertices, (2, 50)) ** 2 // graph.num_vertices
        graph.apply(su.Batch(insert=tuple(insert), delete=(src[at], dst[at])))
        if step % 4 == 1:
            graph.insert_vertices(300)
        judge(tracker)
    forest = tracker.algorithm._forest
    if not device.is_cuda:  # it knows the sizes of components, by their roots
        roots = [component_words_cpu.root_of(int(word), forest._layout) for word in forest._word]
        assert forest._sizes.tolist() == np.bincount(roots, minlength=graph.num_vertices).tolist()


def test_the_forest_is_built_again_when_ids_need_more_bits(device: su.devices.Device, backend: str) -> None:
    graph = graph_of(200, path(200), device, backend)
    tracker = graph.track("wcc")
    graph.delete_edges([10], [11])
    assert tracker.algorithm._forest.capacity == 256
    graph.insert_vertices(100)
    graph.insert_edges([5, 299], [299, 11])
    judge(tracker)
    assert tracker.algorithm._forest.capacity == 512


def test_distances_that_grow_too_far_make_a_new_forest(
    device: su.devices.Device, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = component_words.layout_for(300)._replace(limit=100)
    monkeypatch.setattr(component_words, "layout_for", lambda num_vertices: layout)
    graph = graph_of(300, path(300), device, backend)
    tracker = graph.track("wcc")
    for edge in (100, 200, 50):
        graph.delete_edges([edge], [edge + 1])
        judge(tracker)
    graph.apply(su.Batch(insert=([50, 200], [51, 201]), delete=([7], [8])))
    judge(tracker)


def test_words_name_their_roots() -> None:
    for n in (1, 300, 2**20, 2**28, 2**31, 2**32 - 2):
        layout = component_words.layout_for(n)
        for v in (0, 1, n // 3, n - 1):
            word = component_words_cpu.root_word(v, layout.last_rank, layout)
            assert component_words_cpu.root_of(int(word) + 1, layout) == v
            assert 0 <= word < component_words.UNREACHED


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


@pytest.mark.may_recompute
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
