"""CPU template of ``advance`` and ``propagate``: push along out-edges, reduce into ``out``, queue what changed.

A vertex is queued once per step: ``stamp[v]`` holds the number of the step that queued it last, so that nothing has to
be cleared between steps. ``fn`` reads ``out`` while it changes: it may see values of the same step.

The reduction into ``out`` is written out in each loop, in ``advance_updated`` too.
"""

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
    key,
    weight,
)
from suricate.types import TOMBSTONE


@kernel
def advance(g, num_vertices, frontier, everything, count, out, stamp, step, changed, *args):
    """Push along the out-edges of ``count`` vertices; return how many vertices were written to ``changed``."""
    queued = 0
    for i in range(count):
        u = np.uint32(i) if everything else frontier[i]
        if u >= num_vertices:
            continue
        for k in range(buckets(g, u)):
            c = first(g, u, k)
            while c >= 0:
                for slot in range(begin(g, c), end(g, c)):
                    v = key(g, slot)
                    if v < TOMBSTONE:
                        old = out[v]
                        new = combine(old, cast(edge(u, v, weight(g, slot), *args)))
                        if new != old:
                            out[v] = new
                            if stamp[v] != step:
                                stamp[v] = step
                                changed[queued] = v
                                queued += 1
                c = following(g, c)
    return queued


@kernel
def advance_edges(num_vertices, src, dst, weights, out, stamp, step, changed, *args):
    """Apply the edge function to the given edges; return how many vertices were written to ``changed``."""
    queued = 0
    for i in range(len(src)):
        u, v = src[i], dst[i]
        if u >= num_vertices or v >= num_vertices:
            continue
        old = out[v]
        new = combine(old, cast(edge(u, v, weights[i], *args)))
        if new != old:
            out[v] = new
            if stamp[v] != step:
                stamp[v] = step
                changed[queued] = v
                queued += 1
    return queued


@kernel
def propagate(g, num_vertices, frontier, everything, count, out, stamp, step, max_steps, queue, spare, *args):
    """Repeat :func:`advance` until nothing changes; return the number of steps.

    The ``i``-th step stamps with ``step + i``. ``queue`` and ``spare`` are ``uint32[num_vertices]``.
    """
    steps = 0
    while count > 0 and steps < max_steps:
        count = advance(g, num_vertices, frontier, everything, count, out, stamp, step + steps, queue, *args)
        frontier, queue, spare = queue, spare, queue
        everything = False
        steps += 1
    return steps
