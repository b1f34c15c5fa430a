"""Brandes' searches on the CPU: how many shortest paths use each arc, over contiguous rows.

The row of ``u`` is ``targets[offsets[u] : offsets[u + 1]]``.
"""

from __future__ import annotations

import math

import numpy as np

from suricate.cpu.jit import kernel


@kernel
def add_shares(offsets, targets, sources, failed, share, scratch, begin, end):
    """Add the shares of the shortest paths from ``sources[begin:end]`` that use each arc to ``share[slot]``.

    Args:
        offsets, targets: the rows, ``int64[n + 1]`` and ``uint32``.
        sources: ``int64``.
        failed: ``bool``, one per source: set where a number of paths overflows, of which nothing is added.
        share: ``float64``, one per arc.
        scratch: ``int32[n]`` of -1, ``float64[n]`` and ``float64[n]`` of 0, all of them the same afterwards, and
            ``uint32[n]``.
        begin, end: the part of ``sources``.
    """
    level, paths, credit, order = scratch
    for at in range(begin, end):
        source = sources[at]
        level[source], paths[source], order[0] = 0, 1.0, source
        first, count, most = 0, 1, 1.0
        while first < count:
            u = np.uint64(order[np.uint64(first)])
            first += 1
            below, number = level[u] + 1, paths[u]
            most = max(most, number)
            for slot in range(np.uint64(offsets[u]), np.uint64(offsets[u + np.uint64(1)])):
                v = np.uint64(targets[slot])
                if level[v] < 0:
                    level[v] = below
                    order[np.uint64(count)] = v
                    count += 1
                if level[v] == below:
                    paths[v] += number
        failed[at] = not math.isfinite(most)
        for back in range(count - 1, -1, -1):
            u = np.uint64(order[np.uint64(back)])
            below, number, sum_ = level[u] + 1, paths[u], 0.0
            if not failed[at]:
                for slot in range(np.uint64(offsets[u]), np.uint64(offsets[u + np.uint64(1)])):
                    v = np.uint64(targets[slot])
                    if level[v] == below:
                        part = number / paths[v] * (1.0 + credit[v])
                        share[slot] += part
                        sum_ += part
            credit[u] = sum_
        for i in range(count):
            u = np.uint64(order[np.uint64(i)])
            level[u], paths[u], credit[u] = -1, 0.0, 0.0
