"""What kernels are told of the trees to start (``roots.cuh``), by either of the two ways to sample on CUDA."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.structs import Struct
from suricate.events.record import FIRST, LOW
from suricate.intake.arrays import COMPILED

STARTING = Struct("Starting", {
    "vertices": "const void*",  # [trees]: integers, see is_wide
    "at_of": "const long long*", "ids": "const long long*",  # [trees]: times instead of ``at``, and ids; or null
    "time": "const long long*",  # of the log: of event n at n & mask
    "has_left": "bool*",  # [trees]: written: whether events have left that the tree might have had
    "num_vertices": "unsigned long long",
    "mask": "long long", "first": "long long", "next": "long long", "trees": "long long",
    "at": "long long", "span": "long long",  # 0: events may be however old
    "oldest": "long long", "closed": "long long", "expired": "long long",  # times: the least; see Events
    "seed": "long long",
    "low": "uint32_t", "through": "uint32_t",  # the low bits of ``first``
    "is_wide": "uint32_t", "is_signed": "uint32_t",  # whether vertices have 64 bits, else 32
})  # fmt: skip


class Asked(NamedTuple):
    """Of what trees a sample is; arrays are on the device of the log."""

    vertices: Array  # integers of any kind
    at: Array | int  # int64
    span: int | None
    seed: int
    ids: Array | None  # int64
    limits: tuple[int, int, int]  # number of vertices, time up to which the log is final, that before which events left

    def compiled(self) -> Asked:
        """Return the same with vertices of a dtype that kernels read."""
        return self if self.vertices.dtype in COMPILED else self._replace(vertices=self.vertices.astype(np.int64))


def starting(record: Any, asked: Asked, has_left: int, *, through: bool) -> tuple[int, ...]:
    """Return the values of the struct Starting; ``has_left`` is the address of its array."""
    vertices, at, span, seed, ids, (num_vertices, closed, expired) = asked
    scalar, at_of = (at, 0) if isinstance(at, int) else (0, at.data.ptr)
    first, dtype = record.first, vertices.dtype
    return (
        vertices.data.ptr, at_of, 0 if ids is None else ids.data.ptr, record.time.data.ptr, has_left, num_vertices,
        len(record.time) - 1, first, record.next, len(vertices), scalar, span or 0, FIRST, closed, expired, seed,
        first & LOW, through, dtype.itemsize == 8, dtype.kind == "i",
    )  # fmt: skip
