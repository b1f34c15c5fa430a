"""Checking batches that lie on the device, in the stream: launches ``ingest.cu`` and reads what it found.

The kernel copies and converts a batch and sets a guard if an entry is bad; the mutation kernels behind it then do
nothing. So the host need not wait in between: with ``checks="eager"`` it reads the status once, after everything is
queued; with ``"deferred"`` at some later point where it waits anyway. All calls on a graph go to one stream.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.arrays import PARTS, Scalar, loop_message, on_device, range_message, weight_message
from suricate.cuda import Program, c_type
from suricate.devices import Array, Device
from suricate.errors import SelfLoopError, SuricateError, VertexRangeError, WeightError
from suricate.store import EdgeList

STATUS = np.dtype(
    [("guard", "u4"), ("loops", "u4"), ("key", "u8"), ("value", "u8"), ("version", "u8"), ("vertices", "u8")]
)
BLOCKS = 3  # calls of even number, calls of odd number, the first error not yet read
BAD_SRC, BAD_DST, BAD_LOOP, BAD_WEIGHT, UNSIGNED_VALUE = 1, 2, 3, 4, 8  # as in ingest.cu
THREADS, MAX_BLOCKS = 256, 2048


@cache
def program(src: str, dst: str, weight: str | None, weight_dtype: str | None, mirrored: bool, loops: int) -> Program:
    """Return the kernel's program for these dtypes; ``weight`` is a dtype, ``"fill"`` for one number, or None."""
    held = np.dtype(weight_dtype or np.float32)
    integral = held.kind in "iu"
    defines: dict[str, int | str] = {
        "SRC_T": c_type(src),
        "DST_T": c_type(dst),
        "IN_T": c_type(weight if weight not in (None, "fill") else held),
        "WEIGHT_T": c_type(held),
        "WEIGHT_MODE": {None: 0, "fill": 2}.get(weight, 1),
        "INTEGRAL": int(integral),
        "MIRRORED": int(mirrored),
        "SELF_LOOPS": loops,
    }
    if integral:
        limits = np.iinfo(held)
        defines.update(WEIGHT_MIN=f"({limits.min}LL)", WEIGHT_MAX=f"({limits.max}LL)")
    return Program(Path(__file__).with_name("ingest.cu"), defines=tuple(defines.items()))


def programs() -> list[Program]:
    """Return a representative set of programs, for the compile check."""
    ids = ("int64", "uint32", "uint8", "uint64", "int32")
    weights = (None, "fill", "float64", "float32", "int64", "uint64", "int8")
    plain = [program(s, d, None, None, False, 0) for s, d in zip(ids, reversed(ids), strict=True)]
    held = (("float32", 0), ("float64", 1), ("int32", 2), ("uint32", 1))
    return plain + [
        program("int64", "int64", weight, dtype, True, loops) for weight in weights for dtype, loops in held
    ]


class Ingest:
    """The status block of one graph on CUDA, and the launches that fill it."""

    def __init__(self, device: Device, weight_dtype: np.dtype | None, *, deferred: bool) -> None:
        cupy = device.xp
        self.device = device
        self._weight_dtype = weight_dtype
        self._deferred = deferred
        self._error: SuricateError | None = None
        self.has_loops = False  #: whether a batch held a self-loop, as of the last :meth:`settle`
        self.used = False  #: whether the current call had anything checked on the device
        self._xp = cupy
        self._status = cupy.zeros(BLOCKS * STATUS.itemsize, np.uint8)
        words = self._status.view(np.uint32)
        step = STATUS.itemsize // 4
        self._guards = words[:1], words[step : step + 1]
        self._pinned = cupy.cuda.alloc_pinned_memory(self._status.nbytes)
        self._read = np.frombuffer(self._pinned, STATUS, BLOCKS)
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self._calls = 0
        self._version = 0
        self._num_vertices = 0
        self._unread = False

    def begin(self, num_vertices: int, version: int) -> None:
        """Start a call of the graph; its batches share one guard."""
        self._version, self._num_vertices, self.used = version, num_vertices, False

    @property
    def guard(self) -> Array:
        """``uint32[1]``, not zero if a batch of the current call is bad."""
        return self._guards[self._calls & 1]

    def take(
        self,
        src: Array,
        dst: Array,
        weight: Array | Scalar | None,
        *,
        part: int = 0,
        mirrored: bool = False,
        loops: int = 0,
    ) -> EdgeList:
        """Return the batch as the store takes it, in new arrays; bad entries become edge (0, 0). Does not wait.

        Raises:
            DeviceError: an array lies on another CUDA device.
            VertexRangeError: at once if the graph has no vertices.
        """
        device, empty, n = self.device, self._xp.empty, len(src)
        src, dst = on_device(src, device, "src"), on_device(dst, device, "dst")
        if not self._num_vertices:
            raise VertexRangeError(range_message(f"{PARTS[part]}src", 0, int(src[0]), 0))
        fill: Any = 0
        given, kind = src, None
        if weight is not None and not weight.ndim:
            fill, kind = weight, "fill"
        elif weight is not None:
            given = on_device(weight, device, "weight")
            if given.dtype.char == "e":  # half floats would need a CUDA header
                given = given.astype(np.float32)
            kind = given.dtype.char
        key = (src.dtype.char, dst.dtype.char, kind, mirrored, loops)
        entry = self._kernels.get(key)
        if entry is None:
            entry = self._kernels[key] = self._kernel(src, dst, given, kind, mirrored, loops)
        kernel, fill_type = entry
        size = 2 * n if mirrored else n
        result = EdgeList(empty(size, np.uint32), empty(size, np.uint32), kind and empty(size, self._weight_dtype))
        mode = part
        if not self.used:
            self._calls += 1
            mode |= 4
        blocks = min((n + THREADS - 1) // THREADS, MAX_BLOCKS)
        kernel((blocks,), (THREADS,), (
            src, dst, given, fill_type(fill), np.int64(n), np.int64(self._num_vertices), result.src, result.dst,
            result.src if kind is None else result.weight, self._status, np.uint32(self._calls & 1), np.uint32(mode),
            np.uint64(self._version),
        ))  # fmt: skip
        self.used = self._unread = True
        return result

    def look(self) -> None:
        """Wait for the device and take in what was found since the last time, without raising."""
        if not self._unread:
            return
        stream = self._xp.cuda.get_current_stream()
        self._status.data.copy_to_host_async(self._pinned.ptr, self._status.nbytes, stream)
        stream.synchronize()
        self._unread = False
        found = self._read
        if found["loops"][2]:
            self.has_loops = True
        for block in (2, self._calls & 1):
            if found["key"][block]:
                self._error = error_of(found[block], self._weight_dtype, late=self._deferred)
                self._status.fill(0)
                return

    def settle(self) -> None:
        """Wait for the device and raise the first error that was found since the last time, if there was one."""
        self.look()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _kernel(
        self, src: Array, dst: Array, given: Array, kind: str | None, mirrored: bool, loops: int
    ) -> tuple[Any, Any]:
        dtype = None if kind is None else self._weight_dtype
        weight = kind if kind in (None, "fill") else given.dtype.name
        name = None if dtype is None else dtype.name
        source = program(src.dtype.name, dst.dtype.name, weight, name, mirrored, loops)
        return source.kernel("ingest"), np.float32 if dtype is None else dtype.type


def error_of(found: np.void, weight_dtype: np.dtype | None, *, late: bool) -> SuricateError:
    """Return the exception for one block of the status."""
    entry = ~int(found["key"]) & (1 << 64) - 1
    index, prefix, reason = entry >> 12, PARTS[entry >> 8 & 3], entry & 7
    value = found["value"]
    note = f' (checks="deferred": of a batch given at version {int(found["version"])})' if late else ""
    if reason == BAD_WEIGHT:
        assert weight_dtype is not None
        return WeightError(weight_message(f"{prefix}weight[{index}]", value.view(np.float64), weight_dtype) + note)
    identifier = int(value if entry & UNSIGNED_VALUE else value.view(np.int64))
    if reason == BAD_LOOP:
        return SelfLoopError(loop_message(prefix, index, identifier) + note)
    argument = f"{prefix}{'src' if reason == BAD_SRC else 'dst'}"
    return VertexRangeError(range_message(argument, index, identifier, int(found["vertices"])) + note)
