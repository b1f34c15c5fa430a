"""Offers along the edges of a vertex that stamp changed vertices but queue none; for templates with several threads."""

from __future__ import annotations

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import edge, neighbors, store, weight


@inner
def stamp_row(g, u, without_loop, out, stamp, step, *args):
    """Offer along the edges of ``u`` in the view ``g``; if ``without_loop`` is set, its self-loop is left out.

    Values in ``out`` change in place; each vertex ``v`` whose value changes gets ``stamp[v] = step``.
    """
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            stamp[v] = step
