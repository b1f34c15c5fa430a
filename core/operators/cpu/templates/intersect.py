"""CPU template of ``intersect``: walk the smaller adjacency of a pair, look its members up in the other one."""

from __future__ import annotations

from suricate.jit import kernel
from suricate.operators.cpu.templates.bindings import (
    begin,
    buckets,
    cast,
    degree,
    edge,
    end,
    find,
    first,
    following,
    identity,
    key,
)
from suricate.types import TOMBSTONE


@kernel
def intersect(g, left, right, out, *args):
    """Write to ``out[i]`` the sum over the common out-neighbours of ``left[i]`` and ``right[i]``."""
    for i in range(len(out)):
        u, v = left[i], right[i]
        few, many = (u, v) if degree(g, u) <= degree(g, v) else (v, u)
        total = cast(identity)
        for k in range(buckets(g, few)):
            c = first(g, few, k)
            while c >= 0:
                for slot in range(begin(g, c), end(g, c)):
                    x = key(g, slot)
                    if x < TOMBSTONE and find(g, many, x) >= 0:
                        total += cast(edge(u, v, x, *args))
                c = following(g, c)
        out[i] = total
