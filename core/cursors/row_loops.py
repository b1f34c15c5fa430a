"""Copying all rows of a store into one array: a template over a cursor, without weights where ``weights`` is empty.

Rows keep the order of the storage. Where the cursor has ``copied``, keys are copied a span at a time, with what lies
behind them: the next row overwrites that. A row that turns out longer or shorter than its degree has slots without
edges, and is written once more, edge by edge.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import buckets, copied, copied_weights, copies, first, following, neighbors, weight

BEHIND = 31  #: places behind the last key whose content ``copied`` may change


@inner
def row_in_spans(g, u, dst, weights, at, stop):
    """Copy the row of ``u`` to ``dst[at:]`` and ``weights[at:]``, a span at a time; return the place behind it.

    Return -1, with the row unfinished, if less than ``BEHIND`` places are left up to ``stop``: copying a span may
    change that many behind it.
    """
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            if at + BEHIND >= stop:
                return np.int64(-1)
            behind = copied(g, c, dst, at)
            if len(weights):
                copied_weights(g, c, weights, at, behind - at)
            at = behind
            c = following(g, c)
    return at


@kernel
def copy_rows(g, offsets, dst, weights, low, high):
    """Copy the rows of the vertices from ``low`` to ``high`` of the view ``g`` to ``dst`` and ``weights``.

    The row of ``u`` is copied to the places ``offsets[u]`` to ``offsets[u + 1]``.
    """
    stop = offsets[high]
    for u in range(low, high):
        at = offsets[u]
        if copies and row_in_spans(g, u, dst, weights, at, stop) == offsets[u + 1]:
            continue
        for v, slot in neighbors(g, u):
            dst[at] = v
            if len(weights):
                weights[at] = weight(g, slot)
            at += 1
