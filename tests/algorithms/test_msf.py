"""Minimum spanning forests on every backend and device: the conformance kit, equal weights, known shapes, streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.msf import MSF, MSFResult
from suricate.errors import RequirementError
from suricate.parallel import Comm, run
from suricate.testing import OwnKernelsConformance


def kruskal(num_vertices: int, src: Any, dst: Any, weight: Any) -> MSFResult:
    """Kruskal's algorithm over edges in order of (weight, smaller end, larger end)."""
    weights = np.ones(len(src), np.int64) if weight is None else weight
    once = [(w, u, v) for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True) if u < v]
    parent, taken = list(range(num_vertices)), []

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = v = parent[parent[v]]
        return v

    for w, u, v in sorted(once):
        if root(u) != root(v):
            parent[root(u)] = root(v)
            taken.append((u, v, w))
    taken.sort(key=lambda edge: edge[:2])
    columns = list(zip(*taken, strict=True)) if taken else [(), (), ()]
    ids = [np.array(column, np.uint32) for column in columns[:2]]
    found = np.array(columns[2], weights.dtype)
    return MSFResult(*ids, found, float(found.sum(dtype=np.float64)))


class TestMSF(OwnKernelsConformance):
    algorithm = MSF
    examples = 4
    cuda_marks = (pytest.mark.gpu,)

    def oracle(self, num_vertices: int, src: Any, dst: Any, weight: Any, live: np.ndarray, **params: Any) -> MSFResult:
        """Kruskal's forest, edge for edge."""
        return kruskal(num_vertices, src, dst, weight)


def agrees(graph: su.Graph, result: MSFResult) -> None:
    arcs = [None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph)]
    right = kruskal(graph.num_vertices, *arcs)
    found = [graph.device.to_numpy(part) for part in result[:3]]
    assert [part.tolist() for part in found] == [part.tolist() for part in right[:3]]
    assert result.total == right.total


def drawn(graph: su.Graph, rng: np.random.Generator, size: int) -> tuple[Any, ...]:
    """Edges with few different weights, of both signs where they may have."""
    src, dst = rng.integers(0, graph.num_vertices, (2, size))
    if graph.weight_dtype is None:
        return src, dst
    low = 0 if graph.weight_dtype.kind == "u" else -2
    return src, dst, rng.integers(low, 3, size).astype(graph.weight_dtype)


def script(graph: su.Graph, rng: np.random.Generator, steps: int) -> Any:
    """Change a graph, on all ranks alike; yield after each change."""
    size = graph.num_vertices
    for step in range(steps):
        edges = [graph.device.to_numpy(part) for part in graph.edges()[:2]]
        some = rng.choice(len(edges[0]), min(len(edges[0]), 6), replace=False)
        if step % 4 == 0:
            graph.insert_edges(*drawn(graph, rng, 5))
        elif step % 4 == 1:
            graph.delete_edges(edges[0][some], edges[1][some])
        elif step % 4 == 2:
            weight = () if graph.weight_dtype is None else (drawn(graph, rng, len(some))[2],)
            graph.insert_edges(edges[0][some], edges[1][some], *weight)
        else:
            graph.delete_vertices(rng.integers(0, size, 1))
            graph.insert_edges(*drawn(graph, rng, 6))
        yield step


@pytest.fixture
def always_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MSF, "should_recompute", lambda *_: False)


@pytest.mark.usefixtures("always_updated")
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("dtype", [None, "uint32", "float64"])
def test_equal_weights(backend, device, dtype, kernels):
    rng = np.random.default_rng(3)
    graph = su.Graph(24, backend=backend, device=device, directed=False, weight_dtype=dtype)
    graph.insert_edges(*drawn(graph, rng, 45))
    tracker = graph.track("msf", kernels=kernels)
    agrees(graph, tracker.result)
    for _ in script(graph, rng, 12):
        agrees(graph, tracker.result)
    assert tracker.recomputations == {}


@pytest.mark.usefixtures("always_updated")
@pytest.mark.parametrize("kernels", [True, False])
def test_shapes(backend, device, kernels):
    """A long path whose middle edges go, a star, a cycle whose heaviest edge changes, pieces that stay apart."""
    n = 60
    path = np.arange(n - 1)
    graph = su.Graph(n + 3, backend=backend, device=device, directed=False, weight_dtype="float32")
    graph.insert_edges([*path, *[n] * n], [*(path + 1), *range(n)], [*[1] * (n - 1), *np.arange(2, n + 2)])
    tracker = graph.track("msf", kernels=kernels)
    changes = [
        (np.delete, [20, 40, 30], [21, 41, 31]),
        (np.insert, [0, 59], [59, 61], [0.5, 9]),
        (np.delete, [*[n] * 10], [*range(10)]),
        (np.delete, [50, 51], [51, 52]),
        (np.insert, [61, 61, 30], [61, 62, 31], [1, 1, -3]),
        (np.insert, [0], [59], [100]),  # the cycle's lightest edge becomes its heaviest
    ]
    for what, *edges in changes:
        (graph.delete_edges if what is np.delete else graph.insert_edges)(*edges)
        agrees(graph, tracker.result)
    graph.delete_vertices([n])
    agrees(graph, tracker.result)
    graph.delete_edges(*[graph.device.to_numpy(part) for part in graph.edges()[:2]])
    assert tracker.result[0].tolist() == []
    assert tracker.result.total == 0


@pytest.mark.usefixtures("always_updated")
def test_edges_that_weigh_nan_are_left_out(device):
    """Weights are finite, but columns that are taken for weights need not be."""
    graph = su.Graph(5, device=device, directed=False, edge_columns={"cost": "float64"})
    graph.insert_edges([0, 1, 2, 0], [1, 2, 0, 3], {"cost": [np.nan, 5, np.inf, np.nan]})
    trackers = [graph.track("msf", weight="cost", kernels=kernels) for kernels in (True, False)]

    def edges() -> list[list[tuple[int, int]]]:
        return [
            list(zip(*map(np.ndarray.tolist, map(graph.device.to_numpy, each.result[:2])), strict=True))
            for each in trackers
        ]

    assert edges() == [[(0, 2), (1, 2)]] * 2
    graph.insert_edges([0, 3, 3], [1, 4, 2], {"cost": [1, np.nan, 2]})
    assert edges() == [[(0, 1), (1, 2), (2, 3)]] * 2
    graph.insert_edges([1], [2], {"cost": [np.nan]})
    assert edges() == [[(0, 1), (0, 2), (2, 3)]] * 2
    graph.delete_edges([2], [3])
    assert edges() == [[(0, 1), (0, 2)]] * 2


def test_rows_and_errors(device):
    graph = su.Graph(5, device=device, directed=False, weight_dtype="int32")
    graph.insert_edges([0, 1, 2, 3], [1, 2, 0, 3], [4, 2, 3, 1])
    tracker = graph.track("msf")
    assert [*tracker.top(2)] == [(1, 0, 2, 3), (2, 1, 2, 2)]
    assert tracker.at(2, 1).weight == 2
    assert np.isnan(tracker.at(0, 1).weight)
    assert list(tracker.to_pandas().columns) == ["src", "dst", "weight"]
    with pytest.raises(RequirementError, match="directed=False"):
        su.Graph(3, device=device).track("msf")


@pytest.mark.usefixtures("always_updated")
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_several_processes(ranks):
    def job(comm: Comm) -> list[Any]:
        graph, rng = (
            su.Graph(20, comm=comm, directed=False, device="cpu", weight_dtype="float32"),
            np.random.default_rng(5),
        )
        first = comm.rank == 0
        edges = drawn(graph, rng, 40)
        graph.insert_edges(*(edges if first else (None, None)))
        tracker, found = graph.track("msf"), []
        for _ in range(3):
            gone, new = rng.integers(0, 20, (2, 12)), drawn(graph, rng, 6)
            graph.delete_edges(*(gone if first else (None, None)))
            graph.insert_edges(*(new if first else (None, None)))
            found.append([np.asarray(part).tolist() for part in tracker.result])
        return found

    one = su.Graph(20, directed=False, device="cpu", weight_dtype="float32")
    rng = np.random.default_rng(5)
    one.insert_edges(*drawn(one, rng, 40))
    expected = []
    for _ in range(3):
        gone, new = rng.integers(0, 20, (2, 12)), drawn(one, rng, 6)
        one.delete_edges(*gone)
        one.insert_edges(*new)
        expected.append([np.asarray(part).tolist() for part in kruskal(20, *su.arcs(one))])
    assert run(job, ranks) == [expected] * ranks
