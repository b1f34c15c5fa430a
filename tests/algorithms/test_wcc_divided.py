"""Components of a graph of several ranks: the sets of all ranks decide whose rows are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.wcc import afforest, divided
from suricate.parallel import Comm, run

pytestmark = pytest.mark.compiled
KINDS = [
    pytest.param({"directed": False}, id="undirected"),
    pytest.param({"directed": True, "in_edges": True}, id="in_edges"),
    pytest.param({"directed": True, "in_edges": False}, id="out_edges"),
]


def skewed() -> tuple[int, np.ndarray]:
    """A graph with hubs, and beside it a star, a path downwards and a bridge to the largest component."""
    drawn, n = su.generate.rmat(10), 1 << 10
    hub, path = n + 40, np.arange(n + 20, n, -1)
    star = np.stack((np.full(30, hub), np.arange(n + 41, n + 71)))
    bridge = np.array([[n + 75, n + 76], [n + 76, 3]])
    drawn_both = np.stack((np.asarray(drawn.src), np.asarray(drawn.dst)))
    return n + 80, np.concatenate((drawn_both, star, np.stack((path[:-1], path[1:])), bridge), axis=1)


def grid() -> tuple[int, np.ndarray]:
    """A grid that starts in the middle: corners and borders have ids of both ranks."""
    at = np.roll(np.arange(18 * 18), 100).reshape(18, 18)
    right, down = (np.stack((a.ravel(), b.ravel())) for a, b in ((at[:, 1:], at[:, :-1]), (at[:-1], at[1:])))
    return 18 * 18, np.concatenate((right, down), axis=1)


def check(comm: Comm, n: int, edges: np.ndarray, device: str, options: dict[str, Any], **params: Any) -> None:
    """Components from scratch, after an insertion and after a deletion are those that SciPy finds."""
    kind, rng = su.plugins.algorithm("wcc"), np.random.default_rng(2)
    graph = su.Graph(n, comm=comm, device=device, threads=1, **options)
    graph.insert_edges(*(edges if comm.rank == comm.size - 1 else edges[:, :0]))
    tracker, more, keeps = graph.track("wcc", **params), rng.integers(0, n, (2, 3)), rng.random(edges.shape[1]) < 0.6
    for change, now in (
        ((None, edges[:, :0]), edges),
        ((None, more), np.concatenate((edges, more), axis=1)),
        ((edges[:, ~keeps], edges[:, :0]), None),
    ):
        gone, new = (None if one is None else one[:, comm.rank :: comm.size] for one in change)
        graph.apply(su.Batch(delete=None if gone is None else su.EdgeList(*gone), insert=su.EdgeList(*new)))
        src, dst = graph.device.to_numpy(graph.edges().src), graph.device.to_numpy(graph.edges().dst)
        if now is not None:
            src, dst = now
        wanted = kind.reference(src, dst, None, n, graph.directed)
        label, count = tracker.result
        np.testing.assert_array_equal(graph.device.to_numpy(label), wanted.label)
        assert count == wanted.num_components


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize(("made", "ranks"), [(skewed, 2), (skewed, 3), (grid, 2)])
def test_components_are_those_of_one_graph(made: Any, ranks: int, options: dict[str, Any]) -> None:
    n, edges = made()
    run(lambda comm: check(comm, n, edges, "cpu", options), ranks)


def test_operators_alone_find_the_same() -> None:
    n, edges = skewed()
    run(lambda comm: check(comm, n, edges, "cpu", {"directed": True}, kernels=False), 3)


@pytest.mark.gpu
@pytest.mark.parametrize("options", KINDS)
def test_components_on_cuda_are_those_of_one_graph(options: dict[str, Any]) -> None:
    n, edges = skewed()
    run(lambda comm: check(comm, n, edges, "cuda", options), 3)


@pytest.mark.gpu
@pytest.mark.parametrize(("made", "by_hub"), [(skewed, True), (grid, False)])
def test_components_near_a_hub_are_found_from_it(made: Any, by_hub: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few vertices are near it, those of several processes sample arcs, as one does."""
    (n, edges), found = made(), list[bool]()
    connect = divided.connect

    def spy(graph: su.Graph, sets: Any) -> Any:
        largest = connect(graph, sets)
        found.append(largest is not None)
        return largest

    monkeypatch.setattr(divided, "connect", spy)
    run(lambda comm: check(comm, n, edges, "cuda", {"directed": False}), 2)
    assert found[:2] == [by_hub] * 2


@pytest.mark.gpu
def test_components_with_deleted_vertices_and_of_processes_that_own_nothing() -> None:
    n, edges = skewed()
    gone = np.arange(0, n, 5)

    def job(comm: Comm) -> None:
        counts = []
        for device in ("cpu", "cuda"):
            graph = su.Graph(n, comm=comm, device=device, directed=False, threads=1)
            graph.insert_edges(*(edges if comm.rank == 0 else edges[:, :0]))
            graph.delete_vertices(gone)
            label, count = graph.compute("wcc")
            counts.append((graph.device.to_numpy(label).tolist(), count))
        assert counts[0] == counts[1]
        for size, pairs, wanted in ((2, [[0], [1]], [0, 0]), (1, [[], []], [0]), (2, [[], []], [0, 1])):
            graph = su.Graph(size, comm=comm, device="cuda", directed=False)
            graph.insert_edges(*pairs)
            assert graph.device.to_numpy(graph.compute("wcc").label).tolist() == wanted

    run(job, 3)


def test_most_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second phase a rank reads few of its arcs: those of vertices outside of the largest set of all ranks."""
    n, edges = skewed()
    phase, read = afforest._run, []

    def spy(graph: su.Graph, parent: np.ndarray, phases: int, low: int, high: int) -> np.ndarray:
        before = parent.copy()
        most = phase(graph, parent, phases, low, high)
        if phases == afforest.REST:
            read.append((int(graph.degrees()[before != most[0]].sum()), int(graph.degrees().sum()), int(most[0])))
        return most

    def job(comm: Comm) -> None:
        graph = su.Graph(n, comm=comm, device="cpu", directed=False, threads=1)
        graph.insert_edges(*(edges if comm.rank == 0 else edges[:, :0]))
        graph.compute("wcc")

    monkeypatch.setattr(afforest, "_run", spy)
    run(job, 3)
    assert len(read) == 3
    assert len({most for _, _, most in read}) == 1
    assert sum(some for some, _, _ in read) < 0.05 * sum(arcs for _, arcs, _ in read)
