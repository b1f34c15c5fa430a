"""CPU template of ``vertex_map``: a function per vertex, in the order given."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import begun, done, visit_vertex


@kernel
def vertex_map(num_vertices, vertices, everything, begin, end, kept, *args):
    """Call the user's function for each of ``vertices[begin:end]`` (if ``everything``: of the ids in this range).

    Those for which it is true are written to ``kept[begin:]``; returns the index after the last one. Ids that are not
    below ``num_vertices`` are ignored.
    """
    passed, totals = begin, begun(end, *args)
    for i in range(begin, end):
        v = np.uint32(i) if everything else vertices[i]
        if v < num_vertices:
            keeps, totals = visit_vertex(i, v, totals, *args)
            if keeps:
                kept[passed] = v
                passed += 1
    done(totals, *args)
    return passed
