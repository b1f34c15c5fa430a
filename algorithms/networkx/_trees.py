"""Shortest-path trees as NetworkX's functions hand them out: distances, paths, edges in the order of a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from suricate.networkx.converted import Converted

VERSION = tuple(map(int, nx.__version__.split(".")[:2]))
FROM_3_5 = VERSION >= (3, 5)
FIRST = "another one of several shortest paths"
NEAREST = "nodes by distance, then in the graph's order"
QUEUED = "nodes by distance, then by parent"


class Paths(NamedTuple):
    """A column of paths: for each vertex the list of nodes on its path in a tree.

    Attributes:
        nodes: the node of each vertex.
        parent: ``int64[n]``, the tree: a root is its own parent.
        towards: whether paths lead to the root instead of from it.
    """

    nodes: list[Any]
    parent: np.ndarray
    towards: bool

    def at(self, vertex: int) -> list[Any]:
        """Return the path between the root and ``vertex``, a list of nodes."""
        found = [self.nodes[vertex]]
        parent = self.parent
        while (above := int(parent[vertex])) != vertex:
            vertex = above
            found.append(self.nodes[vertex])
        return found if self.towards else found[::-1]

    def of(self, vertices: np.ndarray) -> Iterable[list[Any]]:
        """Return the paths of ``vertices`` (ids), among which each vertex must come after its parent."""
        known: dict[int, list[Any]] = {}
        for vertex, above in zip(vertices.tolist(), self.parent[vertices].tolist(), strict=True):
            own, rest = [self.nodes[vertex]], known.get(above) if above != vertex else []
            rest = self.at(above) if rest is None else rest
            known[vertex] = own + rest if self.towards else rest + own
        return known.values()


class Tree(NamedTuple):
    """A tree of shortest paths, as arrays of NumPy.

    Attributes:
        distance: by vertex, integers or floats; arbitrary at unreached vertices.
        parent: ``int64``, by vertex: a root is its own parent, -1 at unreached vertices.
        order: the ids of the reached vertices, the nearest first.
        towards: whether the paths lead to the root instead of from it.
    """

    distance: np.ndarray
    parent: np.ndarray
    order: np.ndarray
    towards: bool = False

    def within(self, cutoff: float | None) -> Tree:
        """Return the tree without vertices farther than ``cutoff`` from the root; roots stay in any case.

        None: the whole tree.
        """
        if cutoff is None or cutoff == math.inf:
            return self
        near = (self.distance[self.order] <= cutoff) | (self.parent[self.order] == self.order)
        return self._replace(order=self.order[near])

    def within_steps(self, cutoff: float | None) -> Tree:
        """Return the tree :meth:`within` a number of edges; NetworkX begins another level while it is below it."""
        return self.within(cutoff if cutoff is None or cutoff == math.inf else math.ceil(cutoff))

    def reaches(self, vertex: int) -> bool:
        """Return whether ``vertex`` is in the tree: a path joins it and a root."""
        return bool(self.parent[vertex] >= 0)

    def distances(self, graph: Converted) -> dict[Any, Any]:
        """Return a dict with the distance of each reached node."""
        return graph.table(self.distance, self.order)

    def paths(self, graph: Converted) -> dict[Any, list[Any]]:
        """Return a dict with the path of each reached node, a list of nodes."""
        return graph.table(Paths(graph.nodes, self.parent, self.towards), self.order)

    def path(self, graph: Converted, vertex: int) -> list[Any]:
        """Return the path of ``vertex``, which must be reached, as a list of nodes."""
        return Paths(graph.nodes, self.parent, self.towards).at(vertex)

    def in_search_order(self) -> np.ndarray:
        """Return the vertices of a breadth-first tree in the order in which a queue would visit them.

        That is by level, then by the order of their parents.
        """
        level, place = self.distance[self.order], np.zeros(len(self.parent), np.int64)
        bounds = np.searchsorted(level, np.arange(int(level[-1]) + 2)).tolist()
        pieces = [_by_place(self.order[begin:end], place, self.parent) for begin, end in pairwise(bounds)]
        return np.concatenate(pieces)


def _by_place(vertices: np.ndarray, place: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """Return the ``vertices`` of a level sorted by ``place[parent[v]]``, the position of the parent in the level above.

    Writes the position of each of these vertices to ``place``, ``int64[n]``, in place.
    """
    ordered = vertices[np.lexsort((vertices, place[parent[vertices]]))]
    place[ordered] = np.arange(len(ordered))
    return ordered


def levels(graph: Converted, source: int | list[int], *, towards: bool = False, keep: bool = True) -> Tree:
    """Return a tree of paths with the fewest edges from ``source``, or to it if ``towards``.

    ``source`` is a vertex, or a list of several: then each vertex belongs to the nearest one. ``keep``: keep the result
    current for later calls on the same graph.
    """
    found = graph.answer("bfs", backwards=towards, keep=keep, **_roots(source))
    reached = np.flatnonzero(found.level >= 0)
    order = reached[np.argsort(found.level[reached], kind="stable")]
    return Tree(found.level, found.parent, order, towards)


def _roots(source: int | list[int]) -> dict[str, Any]:
    """Return a dict with one entry, the keyword argument of an algorithm that searches from ``source``."""
    return {"sources": source} if isinstance(source, list) else {"source": source}


def lightest(
    graph: Converted, source: int | list[int], weight: Any, *, towards: bool = False, keep: bool = True
) -> Tree:
    """Return a tree of shortest paths by weight.

    Args:
        graph: the graph.
        source: the root, or a list of several: then each vertex belongs to the nearest one.
        weight: edge attribute with the weights; None: the fewest edges.
        towards: follow edges backwards: paths lead to the root.
        keep: keep the result current for later calls on the same graph.

    Raises:
        WeightError: an edge that is reached has a negative weight.
    """
    if weight is None:
        return levels(graph, source, towards=towards, keep=keep)
    found = graph.answer("sssp", weight, backwards=towards, keep=keep, **_roots(source))
    distance = found.distance
    if graph.whole.get(weight, True) and distance.dtype.kind == "f":
        distance = np.where(np.isfinite(distance), distance, 0).astype(np.int64)
    reached = np.flatnonzero(found.parent >= 0)
    order = reached[np.argsort(distance[reached], kind="stable")]
    return Tree(distance, found.parent, order, towards)


def each_tree(graph: Converted, weight: Any) -> Iterator[tuple[Any, Tree]]:
    """Yield every node of ``graph`` with the tree of shortest paths by ``weight`` (None: by edges) from this node.

    Raises:
        NotImplementedError: before the first tree, if any weight is negative.
    """
    weights = None if weight is None else graph.graph(weight).edges().weight
    if weights is not None and len(weights) and weights.min() < 0:
        raise NotImplementedError(f"the attribute {weight!r} has negative weights")
    for vertex in graph.all_vertices().tolist():
        yield graph.nodes[vertex], lightest(graph, vertex, weight, keep=False)
