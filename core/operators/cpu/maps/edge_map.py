"""CPU template of ``edge_map``: a function per edge, for its effects. Over both directions ``h`` is a second view.

If ``everything`` is set, vertex ``i`` is at place ``i``. Ids that are not below ``num_vertices`` are ignored.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import arc_weight, both, neighbors, visit, weight
from suricate.operators.cpu.measuring import measure  # noqa: F401 - drivers call kernels there


@inner
def map_row(g, i, u, without_loop, place, low, high, *args):
    """Visit the edges of ``u`` in the view ``g`` whose places are from ``low`` to ``high`` (exclusive).

    ``i`` is the position of ``u`` in the list of vertices, ``place`` the place of its first edge. Returns the place
    behind the last edge seen. With ``without_loop`` the loop of ``u`` is left out.
    """
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        if place >= high:
            return place
        if place >= low:
            visit(i, u, v, weight(g, slot), *args)
        place += 1
    return place


@kernel
def edge_map(g, h, num_vertices, vertices, everything, low, high, first_place, last_place, *args):
    """Call the function for edges of ``vertices[first_place:last_place]``: those at places ``low`` to ``high``.

    A place is that of an edge in the row of its vertex; ``high`` is exclusive. ``g`` and ``h`` are the data of two
    views; places continue from ``g`` to ``h``.
    """
    for i in range(first_place, last_place):
        u = np.uint32(i) if everything else vertices[i]
        if u < num_vertices:
            place = map_row(g, i, u, False, 0, low, high, *args)
            if both:
                map_row(h, i, u, True, place, low, high, *args)


@kernel
def map_arcs(num_vertices, src, dst, weights, status, wanted, first_place, last_place, *args):
    """Call the function for the arcs ``src[i] -> dst[i]`` from ``i = first_place`` to ``last_place`` (exclusive).

    Arcs with ``status[i] != wanted`` do not count, unless ``status`` is empty, nor do those with an end that is not
    below ``num_vertices``. ``weights`` are those of the arcs.
    """
    for i in range(first_place, last_place):
        u, v = src[i], dst[i]
        if u < num_vertices and v < num_vertices and not (len(status) and status[i] != wanted):
            visit(i, u, v, arc_weight(weights, i), *args)
