"""The rooted minimum spanning forest of a graph on the CPU (``rooted_forest_cpu.py``): its arrays, and its updates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from suricate.algorithms.msf.by_operators import keys_of, sorted_edges
from suricate.base.types import EMPTY, EdgeList
from suricate.kernels import loops_over

if TYPE_CHECKING:
    from suricate.graph import Graph

TEMPLATE = Path(__file__).with_name("rooted_forest_cpu.py")


class State(NamedTuple):
    """The arrays of the rooted forest, with an entry per vertex.

    Attributes:
        parent: ``uint32``, ``EMPTY`` at roots.
        weight: ``float64``, the weight of the edge to the parent.
        mark: ``int64``, the number of the last walk or search that came by.
        lower, upper: ``uint32``, the queues of the two pieces of a cut; else scratch.
        counts: ``int64[2]``: the last number of a walk or search, and the steps of walks since the trees were rooted.
    """

    parent: np.ndarray
    weight: np.ndarray
    mark: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    counts: np.ndarray


class RootedForest:
    """The minimum spanning forest of ``graph``, whose ``edges`` are given.

    Trees become deeper as edges come and go. Once walks have taken more steps than rooting the trees again would, they
    are rooted by breadth-first searches, which make them shallow.
    """

    def __init__(self, graph: Graph, edges: EdgeList | None) -> None:
        assert edges is not None
        self._root(graph, edges)

    def _root(self, graph: Graph, edges: EdgeList) -> None:
        n = graph.num_vertices
        self._state = _new_state(n)
        weight = np.ones(len(edges.src)) if edges.weight is None else edges.weight.astype(np.float64)
        first, arcs = np.zeros(n + 1, np.int64), np.empty(2 * len(edges.src), np.int64)
        loops_over(graph.view("out"), TEMPLATE).root_trees(self._state, edges.src, edges.dst, weight, first, arcs)

    def update(self, graph: Graph, deleted: EdgeList, inserted: EdgeList, replaced: EdgeList) -> None:
        """Repair the forest after a change that ``graph`` holds; undirected edges are listed once."""
        n, before = graph.num_vertices, len(self._state.parent)
        if self._state.counts[1] > n + graph.most_arcs:
            self._root(graph, self.edges(graph))
        if n > before:
            grown = _new_state(max(n, 9 * before // 8))
            for new, old in zip(grown, self._state, strict=True):
                new[: len(old)] = old
            self._state = grown
        new = np.sort(np.concatenate([keys_of(inserted), keys_of(replaced)]))
        cut = np.empty((len(deleted.src) + len(replaced.src), 2), np.uint32)
        view = graph.view("out")
        loops_over(view, TEMPLATE).follow(
            view.data, self._state, *deleted[:2], *_weighed(inserted), *_weighed(replaced), new, cut
        )

    def edges(self, graph: Graph) -> EdgeList:
        """Return the edges of the forest, ``src < dst``, ascending by both ends."""
        parent = self._state.parent
        child = np.flatnonzero(parent != EMPTY).astype(np.uint32)
        above, dtype = parent[child], graph.weight_dtype
        weight = None if dtype is None else self._state.weight[child].astype(dtype)
        return sorted_edges(EdgeList(np.minimum(child, above), np.maximum(child, above), weight))


def _weighed(edges: EdgeList) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weight = np.ones(len(edges.src)) if edges.weight is None else edges.weight.astype(np.float64)
    return edges.src, edges.dst, weight


def _new_state(n: int) -> State:
    parent, lower, upper = np.full(n, EMPTY, np.uint32), np.empty(n, np.uint32), np.empty(n, np.uint32)
    return State(parent, np.zeros(n), np.zeros(n, np.int64), lower, upper, np.zeros(2, np.int64))
