"""Offers along the edges of a vertex that stamp the vertices they change; shared by templates for several threads."""

from __future__ import annotations

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import edge, neighbors, store, weight


@inner
def stamp_row(g, u, without_loop, out, stamp, step, *args):
    """Offer along the edges of ``u`` in the view ``g``, but its loop with ``without_loop``.

    Values in ``out`` change in place; vertices whose value changes get the stamp ``step`` in ``stamp``.
    """
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            stamp[v] = step
