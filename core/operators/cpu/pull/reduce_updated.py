"""CPU template of ``neighbor_reduce`` over the edges inserted since the mark, by the iterator of a cursor."""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import (
    begin,
    cast,
    combine,
    edge,
    end,
    identity,
    is_fresh,
    key,
    owner,
    updated_count,
    updated_segment,
    weight,
)


@kernel
def neighbor_reduce(g, num_vertices, out, *args):
    """Write to ``out[u]`` the reduction over those edges of each vertex ``u`` that were inserted since the mark.

    ``g`` is the data of a view whose cursor lists such edges. A vertex without any gets the neutral value. Segments
    whose owner is not below ``num_vertices`` are free.
    """
    out[:] = cast(identity)
    for i in range(updated_count(g)):
        c = updated_segment(g, i)
        for slot in range(begin(g, c), end(g, c)):
            v = key(g, slot)
            if v < TOMBSTONE and is_fresh(g, slot):
                u = np.uint32(owner(g, c, slot))
                if u < num_vertices:  # else the segment is free
                    out[u] = combine(out[u], cast(edge(u, v, weight(g, slot), *args)))
