"""A plain Numba loop that appends events to rows whose lengths it knows: what a log could take at the least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True)
def append(time, src, dst, first, times, sources, targets, end, other, number):
    """Write events to the record, and behind the last ones of the rows of their destinations."""
    for i in range(len(dst)):
        at, v = first + i, dst[i]
        times[at], sources[at], targets[at] = time[i], src[i], v
        slot = end[v]
        other[slot], number[slot] = src[i], at
        end[v] = slot + 1


def appended(parts: list[Any], begin: np.ndarray) -> tuple[np.ndarray, ...]:
    """Append batches of times, sources and destinations; return other ends and numbers of the rows at ``begin``."""
    count = sum(len(part[0]) for part in parts)
    record = np.empty(count, np.int64), np.empty(count, np.uint32), np.empty(count, np.uint32)
    rows, end, first = (np.empty(count, np.uint32), np.empty(count, np.uint32)), begin.copy(), 0
    for part in parts:
        append(*part, first, *record, end, *rows)
        first += len(part[0])
    return rows
