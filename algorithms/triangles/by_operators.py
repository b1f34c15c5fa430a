"""Changes of triangles by operators alone: the specification of the kernels of this folder.

Deleted triangles are those of the graph before the batch: with one deleted edge, whose other two are still stored and
not new; with two at a vertex; or with three. New ones are found in the graph, and counted at the least of their new
edges, as the module of the algorithm says. Backends on CUDA that find edges by a linear search use these, and all do
with ``kernels=False``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.effects import atomic
from suricate.operators import edge_map, intersect

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.state.edges.edge_set import EdgeSet


def change_degree(u, v, w, degrees, by):
    """Add ``by`` to the degree of ``u`` for its edge to ``v``, unless that is a self-loop."""
    if u != v:
        atomic.add(degrees, u, by)


def appear(u, v, x, new, triangles):
    """Add the triangle of the new edge ``u < v`` and ``x`` to ``triangles``, at its least edge that is ``new``."""
    if x != u and x != v and not (x < v and (u, x) in new) and not (x < u and (v, x) in new):
        atomic.add(triangles, u, 1)
        atomic.add(triangles, v, 1)
        atomic.add(triangles, x, 1)


def lose(u, v, x, triangles):
    """Subtract 1 from ``triangles`` at the corners of a triangle with the deleted edge ``(u, v)``.

    Its other edges, to the common neighbour ``x``, are still stored; none is a self-loop.
    """
    atomic.add(triangles, u, -1)
    atomic.add(triangles, v, -1)
    atomic.add(triangles, x, -1)


def lose_last(u, v, x, triangles):
    """Subtract the triangle of the deleted edges ``(u, v)`` and ``(u, x)`` from ``triangles``, once: with ``v < x``."""
    if x > v:
        atomic.add(triangles, u, -1)
        atomic.add(triangles, v, -1)
        atomic.add(triangles, x, -1)


def lose_old(u, v, x, new, triangles):
    """Subtract the triangle of the deleted edge ``(u, v)`` and ``x``, unless one of its other edges is in ``new``."""
    if (u, x) not in new and (v, x) not in new:
        atomic.add(triangles, u, -1)
        atomic.add(triangles, v, -1)
        atomic.add(triangles, x, -1)


def lose_last_old(u, v, x, new, triangles):
    """Subtract as :func:`lose_last` does the triangle of ``(u, v)`` and ``(u, x)``, unless ``(v, x)`` is ``new``."""
    if x > v and (v, x) not in new:
        atomic.add(triangles, u, -1)
        atomic.add(triangles, v, -1)
        atomic.add(triangles, x, -1)


def change(graph: Graph, triangles: Array, degrees: Array, gone: EdgeSet, new: EdgeSet) -> None:
    """Bring ``triangles`` and ``degrees``, ``int64[n]``, up to date; ``graph`` holds the change. Does not wait."""
    if gone.size:
        one, two, given = (lose_old, lose_last_old, (new, triangles)) if new.size else (lose, lose_last, (triangles,))
        edge_map(graph, change_degree, gone, args=(degrees, -1))
        intersect(graph, None, gone, fn=one, args=given, oriented="id")
        intersect(gone, graph, gone, fn=two, args=given)
        intersect(gone, gone, gone, fn=lose_last, args=(triangles,), oriented="id")
    if new.size:
        edge_map(graph, change_degree, new, args=(degrees, 1))
        intersect(graph, None, new, fn=appear, args=(new, triangles), oriented="id")
