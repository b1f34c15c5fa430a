"""The work of counting the triangles of R-MAT graphs from scratch, without a GPU: how many look-ups an edge takes.

Usage: ``python .ci/lookups.py SCALE ...``, with 16 edges per vertex, undirected. ``intersect`` streams, for every edge
from a lower to a higher degree, the higher neighbours of the lower end past a table of those of the higher end: each of
these ids is a look-up.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from suricate.generate import generators


def lookups(scale: int) -> tuple[int, int]:
    """Return the number of edges and of look-ups of an R-MAT graph."""
    arcs = generators.rmat(scale, seed=1, permute=False, deduplicate=False, self_loops=False)
    edges = np.minimum(arcs.src, arcs.dst).astype(np.uint64) << np.uint64(32) | np.maximum(arcs.src, arcs.dst)
    del arcs
    edges.sort()
    edges = edges[np.flatnonzero(np.diff(edges, prepend=~edges[:1]))]
    low, high = (edges >> np.uint64(32)).astype(np.uint32), edges.astype(np.uint32)
    del edges
    degree = np.bincount(low, minlength=1 << scale) + np.bincount(high, minlength=1 << scale)
    ascending = degree[low] <= degree[high]
    lower, higher = np.where(ascending, low, high), np.where(ascending, high, low)
    row = np.bincount(lower, minlength=1 << scale)
    return len(low), int(row[lower][row[higher] > 0].sum())


if __name__ == "__main__":
    for each in map(int, sys.argv[1:]):
        begun = time.perf_counter()
        count, work = lookups(each)
        told = f"{count:,} edges, {work:,} look-ups, {work / count:.1f} per edge"
        print(f"R-MAT {each}: {told} ({time.perf_counter() - begun:.0f} s)", flush=True)
