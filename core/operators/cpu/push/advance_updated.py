"""CPU template of ``advance`` over the edges inserted since the mark, by the updated-edges iterator of a cursor."""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import kernel
from suricate.cpu.queues import queue_once
from suricate.operators.cpu.bindings import (
    begin,
    edge,
    end,
    is_fresh,
    key,
    owner,
    store,
    updated_count,
    updated_segment,
    weight,
)


@kernel
def advance(g, num_vertices, out, stamp, step, changed, *args):
    """Push along the edges inserted since the mark; return how many vertices changed.

    ``g`` is the data of a view with ``num_vertices`` vertices. Values in ``out`` change in place. The vertices that
    change get the stamp ``step`` in ``stamp``, and are written to ``changed``, each once.
    """
    queued = 0
    for i in range(updated_count(g)):
        c = updated_segment(g, i)
        for slot in range(begin(g, c), end(g, c)):
            v = key(g, slot)
            if v < TOMBSTONE and is_fresh(g, slot):
                u = np.uint32(owner(g, c, slot))
                if u >= num_vertices:
                    continue  # the segment is free
                if store(out, v, edge(u, v, weight(g, slot), *args)):
                    queued = queue_once(v, stamp, step, changed, queued)
    return queued
