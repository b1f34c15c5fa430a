"""BFS and shortest paths on families of graphs that are hard to search, through changes that are hard to repair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.algorithms.sssp import SSSP
from suricate.errors import VertexRangeError

SIDE = 20
KINDS: list[dict[str, Any]] = [{}, {"in_edges": True}, {"directed": False}]


def path(n: int = 200) -> tuple[int, np.ndarray]:
    return n, np.stack([np.arange(n - 1), np.arange(1, n)])


def grid() -> tuple[int, np.ndarray]:
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    across, down = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()]), np.stack([at[:-1].ravel(), at[1:].ravel()])
    return SIDE * SIDE, np.concatenate([across, across[::-1], down, down[::-1]], axis=1)


def star(n: int = 3000) -> tuple[int, np.ndarray]:
    leaves = np.arange(1, n)
    return n, np.concatenate([np.stack([0 * leaves, leaves]), np.stack([leaves, 0 * leaves])], axis=1)


def complete(n: int = 40) -> tuple[int, np.ndarray]:
    return n, np.stack(np.nonzero(~np.eye(n, dtype=bool)))


def pieces(n: int = 120) -> tuple[int, np.ndarray]:
    ids = np.arange(n)
    return n, np.stack([ids, ids // 30 * 30 + (ids * 7 + 1) % 30])


def loops(n: int = 60) -> tuple[int, np.ndarray]:
    return n, np.concatenate([np.stack([np.arange(n)] * 2), path(n)[1]], axis=1)


FAMILIES = {"path": path, "grid": grid, "star": star, "complete": complete, "pieces": pieces, "self-loops": loops}


class Followed:
    """A graph with both searches from one source."""

    def __init__(self, n: int, backend: str, device: su.Device, options: dict[str, Any], source: int = 0) -> None:
        self.graph = su.Graph(n, backend=backend, device=str(device), weight_dtype="int32", **options)
        self.source, self.rng = source, np.random.default_rng(n)
        self.trackers = [self.graph.track(name, source=source) for name in ("bfs", "sssp")]

    def weights(self, count: int) -> np.ndarray:
        return self.rng.integers(1, 9, count)

    def verify(self) -> None:
        to_numpy = self.graph.device.to_numpy
        arcs = [to_numpy(part) for part in su.arcs(self.graph)]
        for algorithm, tracker in zip((BFS, SSSP), self.trackers, strict=True):
            right = algorithm.reference(*arcs, self.graph.num_vertices, self.graph.directed, source=self.source)
            assert algorithm.mismatch(type(right)(*map(to_numpy, tracker.result)), right) is None


@pytest.mark.parametrize("options", few(KINDS), ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str, options: dict[str, Any], device: su.Device, backend: str) -> None:
    n, edges = FAMILIES[family]()
    followed = Followed(n, backend, device, options)
    graph = followed.graph
    graph.insert_edges(*edges, followed.weights(edges.shape[1]))
    followed.verify()
    graph.delete_edges([], [])
    followed.verify()
    for _ in range(2):
        parent = followed.graph.device.to_numpy(followed.trackers[1].result.parent)
        child = np.flatnonzero((parent >= 0) & (parent != np.arange(n)))
        graph.delete_edges(parent[child], child)  # every tree edge
        followed.verify()
        back = su.Batch(insert=(parent[child], child, followed.weights(len(child))))
        graph.apply(back)
        followed.verify()
    some = edges[:, followed.rng.permutation(edges.shape[1])[: edges.shape[1] // 2]]
    graph.apply(su.Batch(delete=tuple(some), insert=(*some, followed.weights(some.shape[1]))))  # deleted and reinserted
    followed.verify()


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_vertices_come_and_go(options: dict[str, Any], device: su.Device, backend: str) -> None:
    n, edges = grid()
    followed = Followed(n, backend, device, options, source=7)
    graph = followed.graph
    graph.insert_edges(*edges, followed.weights(edges.shape[1]))
    graph.delete_vertices([8, 50, 51])
    followed.verify()
    new = graph.insert_vertices(3)
    ids = graph.device.to_numpy(new)
    graph.insert_edges(np.concatenate([[7], ids]), np.concatenate([ids, [60]]), np.ones(4, np.int32))
    followed.verify()
    graph.delete_vertices([7])  # the source
    with pytest.raises(VertexRangeError, match="source is 7: this vertex is deleted"):
        _ = followed.trackers[0].result
    again = graph.device.to_numpy(graph.insert_vertices(2, recycle=True))
    graph.insert_edges(again, [1, 2], [1, 1])
    graph.insert_edges([7], [30], [5])
    followed.verify()
