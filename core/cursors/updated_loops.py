"""The edges inserted since the mark, on the CPU: a template over cursors with an updated-edges iterator.

``suricate.store.fallbacks`` makes an instance for each such cursor (see ``bindings``). ``weights`` is empty where there
are none.
"""

from __future__ import annotations

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import kernel
from suricate.cursors.bindings import begin, end, is_fresh, key, owner, updated_count, updated_segment, weight


@kernel
def list_updated(g, num_vertices, src, dst, weights):
    """Write the edges inserted since the mark to ``src``, ``dst`` and ``weights``; return how many there are.

    Edges beyond the length of the arrays are counted but not written. The view ``g`` has ``num_vertices`` vertices:
    segments whose owner is not below this number are free.
    """
    count = 0
    for i in range(updated_count(g)):
        c = updated_segment(g, i)
        for slot in range(begin(g, c), end(g, c)):
            v = key(g, slot)
            if v < TOMBSTONE and is_fresh(g, slot):
                u = owner(g, c, slot)
                if u < num_vertices:  # else the segment is free
                    if count < len(dst):
                        src[count], dst[count] = u, v
                        if len(weights):
                            weights[count] = weight(g, slot)
                    count += 1
    return count
