"""Breadth-first search on every backend and device: the conformance kit, NetworkX, parameters, ownership."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from operator_cases import late_hubs

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.errors import ParameterError, VertexRangeError
from suricate.testing import AlgorithmConformance


class TestBFS(AlgorithmConformance):
    algorithm = BFS
    reads_weights = False
    params = ({}, {"source": 7}, {"sources": [11, 3, 7, 3]})
    examples = 3
    cuda_marks = (pytest.mark.gpu,)


def random_edges(seed: int, num_vertices: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    src, dst = np.random.default_rng(seed).integers(0, num_vertices, (2, count), np.uint32)
    keys = np.unique(src.astype(np.uint64) << np.uint64(32) | dst)
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


@pytest.mark.parametrize("seed", range(8))
def test_reference_agrees_with_networkx(seed: int) -> None:
    src, dst = random_edges(seed, 60, 40 + 20 * seed)
    found = BFS.reference(src, dst, None, 60, True, source=7)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(60))
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    levels = nx.single_source_shortest_path_length(graph, 7)
    assert found.level.tolist() == [levels.get(v, -1) for v in range(60)]
    for v, parent in enumerate(found.parent.tolist()):
        above = [u for u in graph.predecessors(v) if v in levels and levels.get(u, -2) == levels[v] - 1]
        assert parent == (7 if v == 7 else min(above, default=-1))


def test_mismatch_names_what_is_wrong() -> None:
    src, dst = random_edges(1, 60, 150)
    right = BFS.reference(src, dst, None, 60, True)
    assert BFS.mismatch(right, right) is None
    for field in ("level", "parent"):
        wrong = right._replace(**{field: getattr(right, field) + (np.arange(60) == 5)})
        assert BFS.mismatch(wrong, right) == f"1 of 60 values of {field} differ from the reference"
    short = right._replace(level=right.level[:-1])
    assert BFS.mismatch(short, right) == "level has shape (59,) instead of (60,)"


@pytest.mark.parametrize("source", [1.5, "1", True, np.True_, None, 1.0, [0], np.array([0, 1])])
def test_a_source_that_is_no_integer(source: Any) -> None:
    with pytest.raises(ParameterError, match="bfs: source must be an integer"):
        BFS(source)


def test_sources_are_checked_before_anything_is_done(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(3, backend=backend, device=str(device))
    for source in (-1, 3, 2**40, np.int64(-(2**60))):
        with pytest.raises(VertexRangeError, match="bfs: source"):
            graph.compute("bfs", source=source)
    with pytest.raises(VertexRangeError, match="bfs: source is 0, but the graph has no vertices"):
        su.Graph(0, backend=backend, device=str(device)).compute("bfs")
    assert graph.compute("bfs", source=np.uint8(2)).level.tolist() == [-1, -1, 0]


@pytest.mark.parametrize("params", [{"sauce": 1}, {"source": 0, "target": 1}])
def test_unknown_parameters_are_named(params: dict[str, Any]) -> None:
    graph = su.Graph(3, device="cpu")
    for use in (graph.compute, graph.track):
        with pytest.raises(ParameterError, match=r"bfs: .*unexpected keyword argument .*its parameters: source"):
            use("bfs", **params)


def test_results_are_copies(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(4, backend=backend, device=str(device))
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    algorithm = BFS()
    algorithm.compute(graph)
    for array in algorithm.result:
        array[...] = 9
    assert algorithm.result.level.tolist() == [0, 1, 2, 3]
    assert algorithm.result.parent.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
def test_a_long_path_is_cut_and_joined(device: su.devices.Device, backend: str, options: dict[str, bool]) -> None:
    graph = su.Graph(300, backend=backend, device=str(device), **options)
    graph.insert_edges(range(299), range(1, 300))
    tracker = graph.track("bfs")
    graph.delete_edges([150], [151])
    assert tracker.result.level.tolist() == [*range(151), *[-1] * 149]
    graph.apply(su.Batch(insert=([0, 150], [299, 151]), delete=([0], [1])))
    expected = BFS.reference(*(device.to_numpy(a) for a in su.arcs(graph)[:2]), None, 300, graph.directed)
    assert BFS.mismatch(type(expected)(*map(device.to_numpy, tracker.result)), expected) is None


def square(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of a square grid, whose levels from a corner have up to ``side`` vertices."""
    at = np.arange(side * side).reshape(side, side)
    ends = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()]), np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return np.concatenate(ends), np.concatenate(ends[::-1])


def brush(paths: int, length: int, hubs: int, leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of paths from vertex 0, in the middle of some of them a hub with leaves, in pairs."""
    path = 1 + np.arange(paths * length).reshape(paths, length)
    tufts = 1 + path.size + np.arange(hubs * leaves).reshape(hubs, leaves)
    src = [np.zeros(paths, int), path[:, :-1], np.repeat(path[:hubs, length // 2], leaves), tufts[:, ::2]]
    dst = [path[:, 0], path[:, 1:], tufts, tufts[:, 1::2]]
    return np.concatenate([part.ravel() for part in src]), np.concatenate([part.ravel() for part in dst])


def layers(width: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs between layers of changing width; every fifth hangs on one vertex of that before."""
    rng, last, src, dst, end = np.random.default_rng(3), np.zeros(1, int), [], [], 1
    for k in range(count):
        layer = np.arange(end, end := end + width * (1 + k % 3))
        some = rng.choice(last, 2 * len(layer))
        src.append(np.full_like(some, last[0]) if k % 5 == 4 else some)
        dst.append(np.tile(layer, 2))
        last = layer
    return np.concatenate(src), np.concatenate(dst)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("in_edges", [False, True])
@pytest.mark.parametrize(
    "arcs",
    [square(150), brush(300, 30, 4, 3000), brush(1500, 8, 2, 9000), layers(700, 12), late_hubs(2000, 3, 6700)],
    ids=range(5),
)
def test_levels_of_all_widths(
    device: su.devices.Device, backend: str, arcs: tuple[np.ndarray, np.ndarray], in_edges: bool
) -> None:
    """Levels that few blocks serve, whose vertices all blocks keep or spread, with hubs among them, and large ones."""
    src, dst = arcs
    graph = su.Graph(int(max(src.max(), dst.max())) + 1, backend=backend, device=str(device), in_edges=in_edges)
    graph.insert_edges(src, dst)
    tracker = graph.track("bfs")
    for change in (lambda: None, lambda: graph.delete_edges(src[5::97], dst[5::97])):
        change()
        current = [device.to_numpy(a) for a in su.arcs(graph)[:2]]
        expected = BFS.reference(*current, None, graph.num_vertices, True)
        assert BFS.mismatch(type(expected)(*map(device.to_numpy, tracker.result)), expected) is None


def always_repaired(graph: su.Graph) -> su.Tracker:
    """Return a tracker that never starts over."""
    tracker = graph.track("bfs")
    tracker.algorithm.recompute_share, tracker.algorithm.pace = 10.0, None
    return tracker


@pytest.mark.parametrize("cut", [1, 5, 12, 60, 80])
def test_chains_of_suspects(device: su.devices.Device, backend: str, cut: int) -> None:
    """Ropes that lose their first arc, as many at once as one block serves alone, or more; at the end of each a fan."""
    ropes, length = 80, 40
    src, dst = brush(ropes, length, ropes, 30)
    graph = su.Graph(int(dst.max()) + 1, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges(src, dst)
    graph.insert_edges(np.full(ropes, length), np.arange(ropes) * length + 5)  # from the end of the first rope: far
    tracker = always_repaired(graph)
    some = np.arange(cut) * length
    for second in (some[:1] + 1, some + 1):
        graph.delete_edges(np.zeros_like(second), second)
        current = [device.to_numpy(a) for a in su.arcs(graph)[:2]]
        expected = BFS.reference(*current, None, graph.num_vertices, True)
        assert BFS.mismatch(type(expected)(*map(device.to_numpy, tracker.result)), expected) is None


@pytest.mark.parametrize("copies", [1, 4, 30])
def test_who_adopts_one_that_falls_in_the_same_round(device: su.devices.Device, backend: str, copies: int) -> None:
    arcs = np.array([(1, 3), (2, 4), (3, 5), (4, 5), (5, 6), (6, 7)])
    each = (arcs[None] + 7 * np.arange(copies)[:, None, None]).reshape(-1, 2)
    first = (np.array([1, 2]) + 7 * np.arange(copies)[:, None]).ravel()
    graph = su.Graph(7 * copies + 1, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges(*np.concatenate((each, np.stack((np.zeros_like(first), first), 1))).T)
    tracker = always_repaired(graph)
    lost = np.array([(3, 5), (2, 4)])[None] + 7 * np.arange(copies)[:, None, None]
    graph.delete_edges(*lost.reshape(-1, 2).T)
    assert (device.to_numpy(tracker.result.level).reshape(-1)[1:].reshape(copies, 7)[:, 3:] == -1).all()


def test_traffic_counts_what_is_reached() -> None:
    graph = su.Graph(5, device="cpu")
    graph.insert_edges([0, 0, 1, 4], [1, 2, 2, 0])
    algorithm = BFS(0)
    algorithm.compute(graph)
    assert algorithm.traffic(graph) == 3 * 4 + 3 * 16
