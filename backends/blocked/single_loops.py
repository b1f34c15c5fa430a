"""Single edges on the CPU: functions that are inlined into loops over events; see ``suricate.store.single``."""

from __future__ import annotations

import numpy as np

from suricate.backends.blocked.layout import EDGES, FREE, USED
from suricate.backends.blocked.loops import NO_BLOCK, append, drop_last, first_block, last_slot, scan, touch
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED
from suricate.cpu.jit import inner
from suricate.cpu.prefetch import prefetch


@inner
def has_space(g, u, v, both):
    """Return whether enough blocks are free to insert edge ``(u, v)``, and if ``both`` (a bool) its reverse arc."""
    mask = (1 << g.shift) - 1
    needed = np.int64(np.int64(g.degree[u]) & mask == 0) + np.int64(both and np.int64(g.degree[v]) & mask == 0)
    return len(g.link) - g.counters[USED] + g.counters[FREE] >= needed


@inner
def insert_edge(g, u, v, weights, before, i):
    """Insert edge ``(u, v)`` or replace its weight; return the status NEW, REPLACED or UNCHANGED.

    The weight is ``weights[i]``; the one it replaces is written to ``before[i]``.
    """
    at = scan(g, u, v)
    if at < 0:
        at = append(g, u, v)
        if len(g.weight):
            g.weight[at] = weights[i]
        g.counters[EDGES] += 1
        return NEW
    if len(g.weight):
        before[i] = g.weight[at]
        if g.weight[at] != weights[i]:
            g.weight[at] = weights[i]
            touch(g, at >> g.shift)
            return REPLACED
    return UNCHANGED


@inner
def delete_edge(g, u, v, before, i):
    """Delete edge ``(u, v)``, and write its weight to ``before[i]``; return the status REMOVED or UNCHANGED.

    The last edge of ``u`` moves to its slot.
    """
    at = scan(g, u, v)
    if at < 0:
        return UNCHANGED
    end = last_slot(g, u)
    if len(g.weight):
        before[i] = g.weight[at]
        g.weight[at] = g.weight[end]
    g.dst[at] = g.dst[end]
    touch(g, at >> g.shift)
    drop_last(g, u)
    g.counters[EDGES] -= 1
    return REMOVED


@inner
def fetch_far(g, u):
    """Prefetch the first block number and the degree of vertex ``u``."""
    prefetch(g.head, np.int64(u))
    prefetch(g.degree, np.int64(u))


@inner
def fetch(g, u, v):
    """Prefetch the first block of vertex ``u``, where edge ``(u, v)`` will be searched first."""
    c = first_block(g, u)
    if c != NO_BLOCK:
        prefetch(g.dst, np.int64(c) << g.shift)
        prefetch(g.link, np.int64(c))
        prefetch(g.back, np.int64(c))
