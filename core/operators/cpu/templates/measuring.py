"""What the CPU templates share that are cut into parts of equal work: counts of edges by blocks of vertices."""

from __future__ import annotations

import numpy as np

from suricate.jit import inner
from suricate.operators.cpu.templates.bindings import both, degree


@inner
def measure_blocks(g, h, num_vertices, vertices, everything, count, block, work):
    """Write the vertices and edges of each block of ``block`` vertices to ``work``."""
    for b in range(len(work)):
        first = b * block
        last = min(count, first + block)
        total = np.int64(last - first)
        for i in range(first, last):
            u = np.uint32(i) if everything else vertices[i]
            if u < num_vertices:
                total += np.int64(degree(g, u))
                if both:
                    total += np.int64(degree(h, u))
        work[b] = total
