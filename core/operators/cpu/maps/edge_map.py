"""CPU template of ``edge_map``: a function per edge, for its effects.

``g`` is the data of a view; ``h`` is a second one, used only over both directions. If ``everything`` is set, position
``i`` is vertex ``i``. Ids that are not below ``num_vertices`` are ignored.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import arc_weight, both, neighbors, visit, weight


@inner
def map_row(g, i, u, without_loop, *args):
    """Call the user's function for the edges of ``u``, at position ``i``; without its self-loop if that is left out."""
    for v, slot in neighbors(g, u):
        if not (without_loop and v == u):
            visit(i, u, v, weight(g, slot), *args)


@kernel
def edge_map(g, h, num_vertices, vertices, everything, first_place, last_place, *args):
    """Call the user's function for edges of each of ``vertices[first_place:last_place]`` (``last_place`` exclusive)."""
    for i in range(first_place, last_place):
        u = np.uint32(i) if everything else vertices[i]
        if u < num_vertices:
            map_row(g, i, u, False, *args)
            if both:
                map_row(h, i, u, True, *args)


@kernel
def map_arcs(num_vertices, src, dst, weights, status, wanted, first_place, last_place, *args):
    """Call the user's function for the arcs ``src[i] -> dst[i]``, ``first_place <= i < last_place``.

    The weight is ``weights[i]``. An arc counts if ``status`` is empty or ``status[i] == wanted``, and if both ends are
    below ``num_vertices``.
    """
    for i in range(first_place, last_place):
        u, v = src[i], dst[i]
        if u < num_vertices and v < num_vertices and not (len(status) and status[i] != wanted):
            visit(i, u, v, arc_weight(weights, i), *args)
