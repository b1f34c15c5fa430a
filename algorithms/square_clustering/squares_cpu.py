"""Squares at vertices, on the CPU: wedges are counted by their far end, over contiguous rows without self-loops."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel


@kernel
def count_squares(offsets, targets, counts, squares, closed, begin, end):
    """Write the squares of each vertex of a range, and how many of its wedges end at a neighbour.

    Args:
        offsets, targets: the row of ``u`` is ``targets[offsets[u] : offsets[u + 1]]``.
        counts: scratch, ``uint32[n]`` of 0, the same afterwards.
        squares, closed: ``int64[n]``, written.
        begin, end: the range of vertices.
    """
    for v in range(begin, end):
        for i in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            u = np.uint64(targets[i])
            for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + np.uint64(1)])):
                counts[np.uint64(targets[j])] += np.uint32(1)
        counts[v] = 0
        found, ends = np.int64(0), np.int64(0)
        for i in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            ends += np.int64(counts[np.uint64(targets[i])])
        for i in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            u = np.uint64(targets[i])
            for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + np.uint64(1)])):
                x = np.uint64(targets[j])
                ways = np.int64(counts[x])
                found += ways * (ways - 1) // 2
                counts[x] = 0
        squares[v], closed[v] = found, ends
