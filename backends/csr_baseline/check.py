"""The invariants of ``csr_baseline``, verified on the CPU."""

from __future__ import annotations

import numpy as np

from suricate.backends.csr_baseline.layout import Graph
from suricate.backends.csr_baseline.pool import CsrPool
from suricate.errors import require
from suricate.primitives import bits_dtype


def check(pool: CsrPool, num_vertices: int, bound: int) -> None:
    """Verify the arrays ``pool`` of a store with ``num_vertices`` vertices; raises ``CheckFailed``.

    ``bound`` is the host's upper bound of the number of edges.
    """
    offsets, dst = (pool.device.to_numpy(pool[name]) for name in ("offsets", "dst"))
    require(len(offsets) == num_vertices + 1, "offsets has one entry per vertex and one more")
    require(offsets.dtype == np.int64 and dst.dtype == np.uint32, "offsets are int64, destinations uint32")
    require(offsets[0] == 0, "offsets begin at 0")
    require(bool(np.all(offsets[:-1] <= offsets[1:])), "offsets are monotone")
    count = int(offsets[-1])
    require(count <= len(dst), "the arrays hold all edges")
    require(count <= bound, "the host's bound is not below the number of edges")
    ids = dst[:count]
    require(not count or int(ids.max()) < num_vertices, "every destination is below num_vertices")
    inside = np.ones(count, bool)
    inside[offsets[:-1][offsets[:-1] < count]] = False  # the first edge of a vertex has no predecessor
    require(bool(np.all((ids[1:] > ids[:-1])[inside[1:]])), "every adjacency is ascending without repeats")
    for edges, weights in (("dst", "weight"), ("reserve_dst", "reserve_weight")):
        slots = 0 if pool.weight_dtype is None else len(pool[edges])
        require(len(pool[weights]) == slots, "every slot of a weighted store has a weight")
        require(pool[weights].dtype == bits_dtype(pool.weight_dtype), "weights are bit patterns of their size")


def check_copy(pool: CsrPool, host: CsrPool, edges: int) -> None:
    """Verify that the pools of a store and of its copy ``host`` hold the same graph of ``edges`` edges.

    Raise ``CheckFailed`` if they do not.
    """
    for name, stored in zip(Graph._fields, pool.graph, strict=True):
        length = len(stored) if name == "offsets" else min(edges, len(stored))
        same = np.array_equal(pool.device.to_numpy(stored[:length]), host[name][:length])
        require(same, f"{name} is what the host has uploaded")
