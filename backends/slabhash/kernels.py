"""What both devices share of the operations that a store needs: their arguments.

The operations are the public methods of ``cpu.CpuKernels`` and ``cuda.CudaKernels``, with the same names and
parameters. Only on the CPU an insertion can stop before its end, and continue; only on CUDA can a launch validate its
batch as well. Methods take arrays and plain numbers, and hold neither the store nor its arrays: what they keep between
calls depends on the arrays only until ``forget()``. Nothing waits for a CUDA device unless it says so.
"""

from __future__ import annotations

from typing import NamedTuple

from suricate.base.devices import Array


class GuardedBatch(NamedTuple):
    """A validated batch: ``uint32[n]`` ids, weights or None, and a guard, uint32[1] (not 0: do nothing) or None."""

    src: Array
    dst: Array
    weight: Array | None
    guard: Array | None


class BucketPlan(NamedTuple):
    """How many buckets each vertex gets.

    Attributes:
        codes: ``uint16[num_vertices]``: the number of buckets, encoded, see ``cursor.decode``.
        heads, ends: on the CPU the bounds of the ranges that threads plan, in head slabs and in vertices, each
            ``int64[ranges + 1]``; on CUDA the number of head slabs per vertex, and its running sum.
        total: number of head slabs, one per bucket; a vertex without expected edges has none.
    """

    codes: Array
    heads: Array
    ends: Array
    total: int
