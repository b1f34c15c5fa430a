"""Loops of the CPU for contraction that read no edges: groups are numbered, and vertices sorted by group."""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import kernel


@kernel
def number_groups(labels, live, group_of_label, group):
    """Number the labels of live vertices by their first vertex; return how many there are, or -1 - v at a bad label.

    Writes ``group_of_label``, all EMPTY before, and ``group``. ``live`` is empty if all vertices are live.
    """
    count = np.int64(0)
    for v in range(len(labels)):
        if len(live) and not live[v]:
            group[v] = EMPTY
            continue
        label = np.int64(labels[v])
        if label < 0 or label >= len(group_of_label):
            return np.int64(-1 - v)
        if group_of_label[label] == EMPTY:
            group_of_label[label] = count
            count += 1
        group[v] = group_of_label[label]
    return count


@kernel
def sort_by_group(group, degrees, offsets, begin, members):
    """Write the members of every group, ascending, their ``offsets``, and where the row of each group begins.

    ``offsets`` and ``begin``, ``int64[q + 1]``, are zero before; a row has as many places as its members have arcs.
    """
    q = len(offsets) - 1
    for v in range(len(group)):
        if group[v] != EMPTY:
            offsets[group[v] + 1] += 1
            begin[group[v] + 1] += degrees[v]
    for a in range(q):
        offsets[a + 1] += offsets[a]
        begin[a + 1] += begin[a]
    for v in range(len(group)):
        if group[v] != EMPTY:
            members[offsets[group[v]]] = v
            offsets[group[v]] += 1
    for a in range(q, 0, -1):
        offsets[a] = offsets[a - 1]
    offsets[0] = 0
