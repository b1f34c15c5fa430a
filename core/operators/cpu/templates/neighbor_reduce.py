"""CPU template of ``neighbor_reduce``: one pass over the adjacency of each vertex, one value per vertex."""

from __future__ import annotations

import numpy as np

from suricate.jit import kernel
from suricate.operators.cpu.templates.bindings import (
    begin,
    buckets,
    cast,
    combine,
    edge,
    end,
    first,
    following,
    identity,
    key,
    weight,
)
from suricate.types import TOMBSTONE


@kernel
def neighbor_reduce(g, num_vertices, vertices, everything, out, *args):
    """Write to ``out[i]`` the reduction over the neighbours of ``vertices[i]`` (of vertex ``i`` if ``everything``).

    An id that is not below ``num_vertices`` has no neighbours.
    """
    for i in range(len(out)):
        u = np.uint32(i) if everything else vertices[i]
        total = cast(identity)
        for k in range(buckets(g, u) if u < num_vertices else 0):
            c = first(g, u, k)
            while c >= 0:
                for slot in range(begin(g, c), end(g, c)):
                    v = key(g, slot)
                    if v < TOMBSTONE:
                        total = combine(total, cast(edge(u, v, weight(g, slot), *args)))
                c = following(g, c)
        out[i] = total
