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
    """Add ``by`` to ``degrees[u]``, in place, for the edge of ``u`` to ``v``, unless that is a self-loop."""
    if u != v:
        atomic.add(degrees, u, by)


def appear(u, v, x, new, triangles):
    """Add 1 to ``triangles`` at ``u``, ``v`` and ``x`` if ``(u, v)`` is the least new edge of this triangle.

    ``u`` is less than ``v``; ``new`` is the set of new edges, compared by their smaller and then their larger ends.
    """
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
    """Subtract 1 from ``triangles`` at the corners of a triangle whose edges ``(u, v)`` and ``(u, x)`` were deleted.

    The triangle is visited with ``v`` and ``x`` in both orders; only ``v < x`` counts.
    """
    if x > v:
        atomic.add(triangles, u, -1)
        atomic.add(triangles, v, -1)
        atomic.add(triangles, x, -1)


def lose_old(u, v, x, new, triangles):
    """Subtract 1 from ``triangles`` at ``u``, ``v`` and ``x``; the edge ``(u, v)`` was deleted.

    Does nothing if the edge of ``u`` or of ``v`` to ``x`` is in ``new``, the set of new edges: then the triangle did
    not exist before the batch.
    """
    if (u, x) not in new and (v, x) not in new:
        atomic.add(triangles, u, -1)
        atomic.add(triangles, v, -1)
        atomic.add(triangles, x, -1)


def lose_last_old(u, v, x, new, triangles):
    """Subtract 1 from ``triangles`` at the corners of a triangle whose edges ``(u, v)`` and ``(u, x)`` were deleted.

    Does nothing if the edge ``(v, x)`` is in ``new``, the set of new edges: then the triangle did not exist before the
    batch. The triangle is visited with ``v`` and ``x`` in both orders; only ``v < x`` counts.
    """
    if x > v and (v, x) not in new:
        atomic.add(triangles, u, -1)
        atomic.add(triangles, v, -1)
        atomic.add(triangles, x, -1)


def change(graph: Graph, triangles: Array, degrees: Array, gone: EdgeSet, new: EdgeSet) -> None:
    """Update ``triangles`` and ``degrees``, in place, after the edges ``gone`` were deleted and ``new`` inserted.

    Both are ``int64[n]``; ``graph`` holds the change already. Does not wait for the device.
    """
    if gone.size:
        one, two, given = (lose_old, lose_last_old, (new, triangles)) if new.size else (lose, lose_last, (triangles,))
        edge_map(graph, gone, change_degree, args=(degrees, -1))
        intersect(graph, None, gone, fn=one, args=given, oriented="id")
        intersect(gone, graph, gone, fn=two, args=given)
        intersect(gone, gone, gone, fn=lose_last, args=(triangles,), oriented="id")
    if new.size:
        edge_map(graph, new, change_degree, args=(degrees, 1))
        intersect(graph, None, new, fn=appear, args=(new, triangles), oriented="id")
