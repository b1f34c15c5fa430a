"""CPU template of ``neighbor_reduce`` over the edges inserted since the mark, by the iterator of a cursor."""

from __future__ import annotations

import numpy as np

from suricate.jit import kernel
from suricate.operators.cpu.templates.bindings import (
    begin,
    cast,
    combine,
    edge,
    end,
    identity,
    is_fresh,
    key,
    segment_owner,
    updated_count,
    updated_segment,
    weight,
)
from suricate.types import TOMBSTONE


@kernel
def neighbor_reduce(g, num_vertices, out, *args):
    """Write to ``out[u]`` the reduction over the inserted edges of each vertex ``u``."""
    out[:] = cast(identity)
    for i in range(updated_count(g)):
        c = updated_segment(g, i)
        u = np.uint32(segment_owner(g, c))
        if u >= num_vertices:
            continue  # nobody's segment
        total = out[u]
        for slot in range(begin(g, c), end(g, c)):
            v = key(g, slot)
            if v < TOMBSTONE and is_fresh(g, slot):
                total = combine(total, cast(edge(u, v, weight(g, slot), *args)))
        out[u] = total
