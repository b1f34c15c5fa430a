"""Triangles counted by marks, in plain loops: the reference for the results and times of other methods.

Edges are directed towards the end of higher degree. At every vertex its out-neighbours are marked, and their
out-neighbours are looked up among the marks, so that a triangle is found once, at its lowest corner (the algorithm
"forward" of Schank and Wagner, 2005). Nothing here uses a store or an operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu import threads
from suricate.cpu.jit import kernel


def closed_triples(src: np.ndarray, dst: np.ndarray, num_vertices: int) -> np.ndarray:
    """Return the number of triangles at each vertex, ``int64[num_vertices]``.

    Args:
        src: sources of arcs; each edge is there once or in both directions, no arc twice. Self-loops are ignored.
        dst: destinations.
        num_vertices: number of vertices.
    """
    degrees = np.bincount(src, minlength=num_vertices) + np.bincount(dst, minlength=num_vertices)
    low, high = degrees[src], degrees[dst]
    turn = (low > high) | ((low == high) & (src > dst))
    proper = src != dst
    low, high = np.where(turn, dst, src)[proper].astype(np.uint64), np.where(turn, src, dst)[proper].astype(np.uint64)
    keys = np.sort(low << np.uint64(32) | high)
    keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if len(keys) else keys
    offsets = np.zeros(num_vertices + 1, np.int64)
    np.cumsum(np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=num_vertices), out=offsets[1:])
    targets = (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    ranges = threads.ranges(num_vertices, min(threads.limit(), threads.parts(len(keys))))
    return np.sum(threads.run(_of_range, [(offsets, targets, *part) for part in ranges]), axis=0)


def _of_range(offsets: np.ndarray, targets: np.ndarray, begin: int, end: int) -> Any:
    """Count the triangles whose lowest corner is in ``begin`` to ``end`` (exclusive), at all their corners."""
    found = np.zeros(len(offsets) - 1, np.int64)
    _count(offsets, targets, np.full(len(found), EMPTY, np.uint32), found, begin, end)
    return found


@kernel
def _count(offsets, targets, marks, found, begin, end):
    """Add 1 to ``found`` at the corners of triangles with lowest corner in a range; ``marks``: scratch, ``EMPTY``."""
    for u in range(begin, end):
        for i in range(offsets[u], offsets[u + 1]):
            marks[targets[i]] = u
        for i in range(offsets[u], offsets[u + 1]):
            v = targets[i]
            closed = 0
            for j in range(offsets[v], offsets[v + 1]):
                w = targets[j]
                if marks[w] == u:
                    closed += 1
                    found[w] += 1
            found[v] += closed
            found[u] += closed
