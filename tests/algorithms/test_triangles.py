"""Triangles on every backend and device: the conformance kit, NetworkX, shapes with known answers, streams."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.triangles import Triangles, TrianglesResult
from suricate.base.devices import Device
from suricate.cpu.plain import PLAIN
from suricate.errors import ParameterError, RequirementError
from suricate.testing import OwnKernelsConformance


class TestTriangles(OwnKernelsConformance):
    algorithm = Triangles
    reads_weights = False
    params = ({"method": "dynamic"}, {})
    examples = 4
    cuda_marks = (pytest.mark.gpu,)

    def oracle(
        self,
        num_vertices: int,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        live: np.ndarray,
        **params: Any,
    ) -> TrianglesResult:
        """NetworkX's numbers."""
        return of_networkx(num_vertices, src, dst)


def of_networkx(num_vertices: int, src: np.ndarray, dst: np.ndarray) -> TrianglesResult:
    graph = nx.Graph()
    graph.add_nodes_from(range(num_vertices))
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    found = np.array([*nx.triangles(graph).values()], np.int64)
    clustering = np.array([*nx.clustering(graph).values()], np.float64)
    return TrianglesResult(int(found.sum()) // 3, found, clustering, nx.transitivity(graph))


def arcs(graph: su.Graph) -> list[np.ndarray]:
    return [graph.device.to_numpy(part) for part in su.arcs(graph)[:2]]


def check(graph: su.Graph, tracker: Any) -> None:
    """Assert that the tracker's result is that of NetworkX."""
    right = of_networkx(graph.num_vertices, *arcs(graph))
    found = TrianglesResult(*(part if np.isscalar(part) else graph.device.to_numpy(part) for part in tracker.result))
    assert found.total == right.total
    np.testing.assert_array_equal(found.triangles, right.triangles)
    np.testing.assert_allclose(found.clustering, right.clustering, rtol=1e-12)
    assert found.transitivity == pytest.approx(right.transitivity, rel=1e-12)


def undirected(n: int, backend: str, device: Device, **options: Any) -> su.Graph:
    return su.Graph(n, backend=backend, device=str(device), directed=False, **options)


@pytest.mark.parametrize("seed", range(4))
def test_reference_agrees_with_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, 50, (2, 60 + 150 * seed))
    keys = np.unique(np.concatenate([src * 50 + dst, dst * 50 + src]))
    src, dst = keys // 50, keys % 50
    right = of_networkx(50, src, dst)
    assert Triangles.mismatch(Triangles.reference(src, dst, None, 50, False), right) is None
    off = right.triangles + (np.arange(50) == 5)
    assert "1 of 50 values of triangles differ" in str(Triangles.mismatch(right._replace(triangles=off), right))


@pytest.mark.parametrize("n", [3, 4, 30])
def test_complete_graphs_edge_by_edge(backend: str, device: Device, n: int) -> None:
    """The graph grows by batches, all of it inserted at once included, and is taken apart again."""
    graph = undirected(n, backend, device)
    tracker = graph.track("triangles", method="dynamic")
    src, dst = np.triu_indices(n, 1)
    order = np.random.default_rng(n).permutation(len(src))
    for part in np.array_split(order, 3):
        graph.insert_edges(src[part], dst[part])
        check(graph, tracker)
    assert tracker.result.total == n * (n - 1) * (n - 2) // 6
    assert tracker.result.transitivity == 1.0
    graph.delete_edges(src, dst)
    assert tracker.result.total == 0
    graph.insert_edges(src, dst)
    check(graph, tracker)
    for part in np.array_split(order, 3):
        graph.delete_edges(src[part], dst[part])
        check(graph, tracker)


@pytest.mark.compiled
def test_stars_and_wheels(backend: str, device: Device) -> None:
    """A hub: its edges first, then those among its neighbours, and the other way round."""
    n = 700
    graph = undirected(n, backend, device)
    tracker = graph.track("triangles", method="dynamic")
    rim, following = np.arange(1, n), np.roll(np.arange(1, n), 1)
    hub = np.zeros(n - 1, int)
    graph.insert_edges(hub, rim)
    assert tracker.result.total == 0
    assert tracker.result.clustering.max() == 0
    graph.insert_edges(rim, following)
    check(graph, tracker)
    graph.delete_edges(hub, rim)
    assert tracker.result.total == 0
    graph.insert_edges(hub, rim)
    check(graph, tracker)
    graph.apply(su.Batch(delete=(hub, rim), insert=(rim, np.roll(rim, 2))))
    check(graph, tracker)


def test_self_loops_are_no_edges(backend: str, device: Device) -> None:
    graph = undirected(6, backend, device)
    tracker = graph.track("triangles", method="dynamic")
    graph.insert_edges([0, 1, 2, 0, 1, 2, 3], [1, 2, 0, 0, 1, 2, 3])
    check(graph, tracker)
    graph.apply(su.Batch(insert=([3, 4], [4, 4]), delete=([0, 1], [0, 2])))
    check(graph, tracker)
    graph.insert_edges([1, 3], [2, 2])
    check(graph, tracker)
    graph.delete_edges([2, 2, 2], [2, 1, 0])
    check(graph, tracker)


def test_duplicates_and_edges_that_come_back(backend: str, device: Device) -> None:
    """Both directions and repeats in one batch; edges deleted and reinserted, inserted though they are there."""
    graph = undirected(8, backend, device)
    tracker = graph.track("triangles", method="dynamic")
    graph.insert_edges([0, 1, 2, 0, 1, 2, 2, 1], [1, 2, 0, 1, 0, 1, 0, 2])
    assert tracker.result.total == 1
    graph.apply(su.Batch(delete=([0, 1, 0], [1, 0, 1]), insert=([1, 0, 0], [0, 1, 3])))
    check(graph, tracker)
    graph.apply(su.Batch(delete=([0, 1, 2, 0], [1, 2, 0, 3]), insert=([2, 3, 3], [1, 1, 2])))
    check(graph, tracker)
    graph.insert_edges([1, 3], [2, 2])
    check(graph, tracker)
    graph.delete_edges([7, 1, 2], [6, 2, 1])
    check(graph, tracker)


@pytest.mark.parametrize("size", [0, 1, 40, 400])
def test_random_streams_of_mixed_batches(backend: str, device: Device, size: int) -> None:
    """Dense enough that a batch holds two and three edges of one triangle."""
    rng = np.random.default_rng(size)
    n = 40
    graph = undirected(n, backend, device, weight_dtype="float32")
    graph.insert_edges(*rng.integers(0, n, (2, 300)), np.ones(300, np.float32))
    tracker = graph.track("triangles", method="dynamic")
    for _ in range(5):
        insert, delete = rng.integers(0, n, (2, size)), rng.integers(0, n, (2, size))
        delete[:, : size // 4] = insert[:, : size // 4]  # deleted and reinserted
        graph.apply(su.Batch(insert=(*insert, np.full(size, 2, np.float32)), delete=tuple(delete)))
        check(graph, tracker)


@pytest.mark.compiled
@pytest.mark.parametrize(("n", "edges", "size"), [(250, 12_000, 300), (120, 2_000, 900)])
def test_batches_between_vertices_of_many_neighbours(
    backend: str, device: Device, n: int, edges: int, size: int
) -> None:
    """On CUDA the adjacencies are shared out to all blocks."""
    rng = np.random.default_rng(n)
    graph = undirected(n, backend, device)
    graph.insert_edges(*rng.integers(0, n, (2, edges)))
    tracker = graph.track("triangles", method="dynamic")
    for _ in range(2):
        src, dst = arcs(graph)
        some = rng.permutation(len(src))[:size]
        graph.delete_edges(src[some], dst[some])
        check(graph, tracker)
        graph.insert_edges(*rng.integers(0, n, (2, size)))
        check(graph, tracker)
        graph.apply(su.Batch(insert=(src[some], dst[some]), delete=tuple(rng.integers(0, n, (2, size)))))
        check(graph, tracker)


@pytest.mark.parametrize("some", [70, 150])
def test_batches_between_a_hub_and_vertices_of_some_neighbours(backend: str, device: Device, some: int) -> None:
    """The neighbours of the others are looked up at the hub, on CUDA by all blocks; triangles lose two edges there."""
    n = 1200 if PLAIN else 3000
    rng = np.random.default_rng(1)
    graph = undirected(n, backend, device)
    graph.insert_edges(np.zeros(n - 1, int), np.arange(1, n))
    others = np.repeat(np.arange(1, 6), some)
    graph.insert_edges(others, rng.integers(6, n, len(others)))
    graph.insert_edges([1, 2, 3], [2, 3, 5])
    tracker = graph.track("triangles", method="dynamic")
    graph.delete_edges([0] * 5, [1, 2, 3, 4, 5])
    check(graph, tracker)
    graph.insert_edges([0, 0, 1, 2], [1, 2, 2, 3])
    check(graph, tracker)
    graph.apply(su.Batch(insert=([0, 0, 1], [3, 4, 3]), delete=([0, 1, 2], [1, 2, 3])))
    check(graph, tracker)


def test_a_hub_whose_adjacency_is_in_no_order() -> None:
    """On the CPU, where the cursor could list common neighbours of ordered ones."""
    n, rng = 1200 if PLAIN else 3000, np.random.default_rng(1)
    graph = su.Graph(n, backend="hornet_like", device="cpu", directed=False, sorted_adjacencies=False)
    graph.insert_edges(np.zeros(n - 1, int), rng.permutation(np.arange(1, n)))
    graph.insert_edges(np.repeat([1, 2], 70), rng.integers(3, n, 140))
    tracker = graph.track("triangles", method="dynamic")
    graph.delete_edges([0, 0], [1, 2])
    check(graph, tracker)
    graph.insert_edges([0, 0], [1, 2])
    check(graph, tracker)


def test_marks_restart_when_their_numbers_run_out() -> None:
    """On the CPU; marks of earlier batches must not count then."""
    graph = su.Graph(30, device="cpu", directed=False)
    graph.insert_edges(*np.random.default_rng(1).integers(0, 30, (2, 60)))
    tracker = graph.track("triangles", method="dynamic")
    tracker.result  # noqa: B018
    last = (1 << 8) - 2
    graph.workspace.array("triangles.marks", 30, np.uint8)[:] = last
    graph.workspace.array("triangles.kept", 1, np.int64)[0] = last
    for seed in range(2, 4):
        graph.insert_edges(*np.random.default_rng(seed).integers(0, 30, (2, 20)))
        check(graph, tracker)


def test_vertices_come_and_go(backend: str, device: Device) -> None:
    graph = undirected(5, backend, device)
    graph.insert_edges(*np.triu_indices(5, 1))
    tracker = graph.track("triangles", method="dynamic")
    graph.delete_vertices([2])
    check(graph, tracker)
    added = graph.insert_vertices(3)
    check(graph, tracker)
    graph.insert_edges(np.repeat(device.to_numpy(added), 2), [0, 1] * 3)
    check(graph, tracker)


def test_a_graph_without_vertices(backend: str, device: Device) -> None:
    result = undirected(0, backend, device).compute("triangles")
    assert (result.total, len(result.triangles), len(result.clustering), result.transitivity) == (0, 0, 0, 0.0)


def test_what_is_refused() -> None:
    with pytest.raises(RequirementError, match=r"triangles cannot run on this graph.*directed=False"):
        su.Graph(3, device="cpu").compute("triangles")
    with pytest.raises(ParameterError, match=r"triangles: .*unexpected keyword argument"):
        su.Graph(3, device="cpu", directed=False).compute("triangles", nodes=[1])


def test_auto_counts_anew_where_that_is_less_work(
    backend: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small graphs and large batches; the answers are the same."""
    calls: list[int] = []
    compute = Triangles.compute
    monkeypatch.setattr(Triangles, "compute", lambda self, graph: (calls.append(1), compute(self, graph))[1])
    for limit, method, expected in ((0, "auto", 0), (10**9, "auto", 2), (10**9, "dynamic", 0), (0, "static", 2)):
        monkeypatch.setattr("suricate.algorithms.triangles.SMALL_GRAPH", dict.fromkeys(("cpu", "cuda"), (limit, 0)))
        graph = undirected(30, backend, device)
        graph.insert_edges(*np.triu_indices(20, 1))
        tracker = graph.track("triangles", method=method)
        calls.clear()
        graph.insert_edges([20, 20, 20], [1, 2, 3])
        graph.insert_vertices(2)
        graph.delete_edges([1, 4], [2, 5])
        assert len(calls) == expected
        check(graph, tracker)


def test_the_total_alone(backend: str, device: Device) -> None:
    """From scratch, and after batches that are updated, counted from scratch, and add vertices."""
    n, rng = 50, np.random.default_rng(3)
    graph = undirected(n, backend, device)
    graph.insert_edges(*rng.integers(0, n, (2, 300)))
    tracker, static = graph.track("triangles", method="dynamic", per_vertex=False), []
    for size in (0, 20, 5, 200):
        graph.apply(su.Batch(insert=tuple(rng.integers(0, n, (2, size))), delete=tuple(rng.integers(0, n, (2, size)))))
        graph.insert_vertices(2)
        right = of_networkx(graph.num_vertices, *arcs(graph)).total
        static.append(graph.compute("triangles", per_vertex=False))
        assert tracker.result.total == tracker.at([0]).total == static[-1].total == right
    assert static[0][1:3] == tracker.result[1:3] == (None, None)
    assert np.isnan(tracker.result.transitivity)
    wanted = Triangles.reference(*arcs(graph), None, graph.num_vertices, False, per_vertex=False)
    assert Triangles.mismatch(tracker.result, wanted) is None
    assert Triangles.mismatch(tracker.result, wanted._replace(total=0)) is not None
    with pytest.raises(ParameterError, match="per_vertex"):
        graph.compute("triangles", per_vertex=1)


def test_traffic() -> None:
    graph = su.Graph(30, device="cpu", directed=False)
    graph.insert_edges(*np.random.default_rng(1).integers(0, 30, (2, 200)))
    algorithm = Triangles()
    algorithm.compute(graph)
    assert algorithm.traffic(graph) == 2 * 2 * graph.num_edges * 4 + 30 * 24
