"""CPU template of ``filter``: the vertices for which a predicate holds, in the order given."""

from __future__ import annotations

import numpy as np

from suricate.jit import kernel
from suricate.operators.cpu.templates.bindings import edge


@kernel
def select(num_vertices, frontier, everything, count, kept, *args):
    """Write the vertices that pass to ``kept``; return how many there are."""
    passed = 0
    for i in range(count):
        v = np.uint32(i) if everything else frontier[i]
        if v < num_vertices and edge(v, *args):
            kept[passed] = v
            passed += 1
    return passed
