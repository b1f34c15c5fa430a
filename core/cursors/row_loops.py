"""Copying the adjacencies (rows) of a store into one array: a template over a cursor.

``weights`` is empty if no weights are to be copied. Rows keep the order of the storage. If the cursor has ``copied``,
it copies keys a span at a time, and may overwrite entries after them, which the next row then sets. A row that turns
out longer or shorter than its degree has slots without edges, and is written once more, edge by edge.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import buckets, copied, copied_weights, copies, first, following, neighbors, weight

BEHIND = 31  #: places behind the last key whose content ``copied`` may change


@inner
def row_in_spans(g, u, dst, weights, at, stop):
    """Copy the row of ``u`` to ``dst[at:]`` and ``weights[at:]``, span by span; return the index after its last entry.

    Copying a span may overwrite up to ``BEHIND`` entries after it. If fewer are left before index ``stop``, the copy
    ends early and -1 is returned.
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
    """Copy the rows of the vertices ``low`` to ``high`` (exclusive) to ``dst`` and ``weights``, by ``offsets``."""
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
