"""Checking batches that lie on the device, in the stream: launches ``ingest.cu`` and reads what it found.

The kernel copies and converts a batch and sets a guard if an entry is bad; the mutation kernels behind it then do
nothing. A backend may do both in one kernel instead, which takes a :class:`RawBatch` (see ``ingest.cuh``). Either way
the host need not wait in between: with ``checks="eager"`` it looks once, after everything is queued, and a kernel that
does both answers as soon as it has checked the batch; with ``"deferred"`` the host looks at some later point where it
waits anyway. All calls on a graph go to one stream.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.arrays import PARTS, Scalar, is_flat, loop_message, on_device, range_message, weight_message
from suricate.cuda.launch import StructKernel, wait_for
from suricate.cuda.program import C_TYPES, Program, c_type
from suricate.devices import Array, Device, cuda_device_count
from suricate.errors import SelfLoopError, SuricateError, VertexRangeError, WeightError
from suricate.types import EdgeList

STATUS = np.dtype(
    [("guard", "u4"), ("unused", "u4"), ("key", "u8"), ("value", "u8"), ("version", "u8"), ("vertices", "u8")]
)
BLOCKS = 3  # calls of even number, calls of odd number, the first error not yet read
BAD_SRC, BAD_DST, BAD_LOOP, BAD_WEIGHT, UNSIGNED_VALUE = 1, 2, 3, 4, 8  # as in ingest.cuh
THREADS, MAX_BLOCKS = 256, 2048
LOOKS = 1000  # at the answer of a kernel before the host waits for its end instead; together some 50 us
COPIES = struct.Struct("=3Q")  # struct Copies of ingest.cuh
RAW = struct.Struct("=9Q2I")  # struct Raw


@dataclass(frozen=True, eq=False)
class Variant:
    """What the code for a batch depends on: dtypes by name, both arcs or one, what is done about self-loops.

    ``weight`` is the dtype of the weights that were given, ``"fill"`` for one number, or None; ``held`` that of the
    graph's weights.
    """

    src: str
    dst: str
    weight: str | None = None
    held: str | None = None
    mirrored: bool = False
    loops: int = 0

    def defines(self) -> tuple[tuple[str, int | str], ...]:
        """Return the macros of ``ingest.cuh``."""
        held = np.dtype(self.held or np.float32)
        integral = held.kind in "iu"
        macros: dict[str, int | str] = {
            "SRC_T": c_type(self.src),
            "DST_T": c_type(self.dst),
            "IN_T": c_type(self.weight if self.weight not in (None, "fill") else held),
            "WEIGHT_T": c_type(held),
            "WEIGHT_MODE": {None: 0, "fill": 2}.get(self.weight, 1),
            "INTEGRAL": int(integral),
            "MIRRORED": int(self.mirrored),
            "SELF_LOOPS": self.loops,
            "RAW_BYTES": RAW.size,
            "STATUS_BYTES": STATUS.itemsize,
        }
        if integral:
            limits = np.iinfo(held)
            macros.update(WEIGHT_MIN=f"({limits.min}LL)", WEIGHT_MAX=f"({limits.max}LL)")
        return tuple(macros.items())


@cache
def the_variant(*fields: Any) -> Variant:
    """Return the variant of these fields, always the same object: what depends on it is there for all graphs."""
    return Variant(*fields)


@cache
def program(variant: Variant) -> Program:
    """Return the kernel's program."""
    return Program(Path(__file__).with_name("ingest.cu"), defines=variant.defines())


def sample_variants(held: str | None) -> list[Variant]:
    """Return a representative set of variants for weights of dtype ``held``, for the compile check."""
    ids = ("int64", "uint32", "uint8", "uint64", "int32")
    if held is None:
        return [the_variant(s, d) for s, d in zip(ids, reversed(ids), strict=True)]
    weights = ("fill", "float64", "float32", "int64", "uint64", "int8")
    loops = {"float32": 0, "float64": 1, "int32": 2, "uint32": 1}[held]
    return [the_variant("int64", "int64", weight, held, True, loops) for weight in weights]


def programs() -> list[Program]:
    """Return a representative set of programs, for the compile check."""
    return [
        program(variant)
        for held in (None, "float32", "float64", "int32", "uint32")
        for variant in sample_variants(held)
    ]


class RawBatch:
    """A batch on the device whose entries nobody has checked yet: the one of its graph, filled anew by every call.

    Attributes:
        variant: what the code that checks it depends on.
        size: edges for the store, both arcs of an undirected one.
        words: what is in the struct ``Raw``. The arrays that it points to are the caller's to keep until the launch.
        waits: whether the host waits for the device in this call anyway.
    """

    __slots__ = ("size", "variant", "waits", "words")
    variant: Variant
    size: int
    words: tuple[int, ...]

    def __init__(self, waits: bool) -> None:
        self.waits = waits


class Fill(int):
    """A number that is the weight of all edges: its bits, as the graph's weights hold it."""


class Ingest:
    """The status block of one graph on CUDA, and the launches that fill it."""

    def __init__(self, device: Device, weight_dtype: np.dtype | None, *, deferred: bool) -> None:
        cupy = device.xp
        self.device = device
        self._weight_dtype = weight_dtype
        self._deferred = deferred
        self._error: SuricateError | None = None
        self.has_loops = False  #: whether a batch held a self-loop, as of the last :meth:`look`
        self.used = False  #: whether the current call had anything checked on the device
        self._xp, self._ndarray = cupy, cupy.ndarray
        self._one_device = cuda_device_count() == 1
        self._batch = RawBatch(not deferred)
        self._status = cupy.zeros(BLOCKS * STATUS.itemsize, np.uint8)
        words = self._status.view(np.uint32)
        step = STATUS.itemsize // 4
        self._guards = words[:1], words[step : step + 1]
        self._pinned = cupy.cuda.alloc_pinned_memory(16)  # written by kernels
        self._notes = np.frombuffer(self._pinned, np.uint32, 2)  # read after a wait
        self._notes[:] = 0
        self._answer = np.frombuffer(self._pinned, np.uint64, 1, offset=8).data  # number of a call, 1 if refused
        self._answer[0] = 0
        self._addresses = self._status.data.ptr, self._pinned.ptr
        self._variants: dict[tuple[Any, ...], Variant | None] = {}
        self._traits: tuple[Any, ...] = ()  # of the last batch,
        self._variant: Variant | None = None  # and the variant for them
        self._kernels: dict[Variant, StructKernel] = {}
        self._calls = 0
        self._version = 0
        self._num_vertices = 0
        self._running = False  # kernels that write to the notes may be under way,
        self._unread = False  # and may have found errors

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:  # names may be gone by then
        if getattr(self, "_running", False) and not finalizing():
            wait_for(self.device)  # kernels may be about to write to the host memory that goes away now

    def begin(self, num_vertices: int, version: int, settle: bool = False) -> None:
        """Start a call of the graph; its batches share one guard.

        With ``settle`` raise what earlier calls have left behind, so that it is not taken for this one's.
        """
        if settle and (self._unread or self._error is not None):
            self.settle()
        self._version, self._num_vertices, self.used = version, num_vertices, False

    @property
    def guard(self) -> Array:
        """``uint32[1]``, not zero if a batch of the current call is bad."""
        return self._guards[self._calls & 1]

    def place(self, src: Array, dst: Array, weight: Array | Scalar | None) -> tuple[Array, Array, Array | Fill | None]:
        """Return arrays of fitting dtypes and one length, not empty, as :meth:`raw` takes them.

        Raises:
            DeviceError: an array lies on another CUDA device.
        """
        src, dst = on_device(src, self.device, "src"), on_device(dst, self.device, "dst")
        if weight is None:
            return src, dst, None
        if not weight.ndim:
            held = self._weight_dtype
            assert held is not None
            return src, dst, Fill(weight.astype(held).view(f"u{held.itemsize}"))
        weight = on_device(weight, self.device, "weight")
        return src, dst, weight.astype(np.float32) if weight.dtype.char == "e" else weight  # halves need a CUDA header

    def raw(
        self,
        src: Any,
        dst: Any,
        weight: Any = None,
        mirrored: bool = False,
        loops: int = 0,
        part: int = 0,
    ) -> RawBatch | None:
        """Return the batch as kernels take it that check it themselves; it must be launched next.

        None for what :meth:`place` does not return: whatever still has to be converted, moved, or refused.
        """
        if not self._is_vector(src) or not self._is_vector(dst):
            return None
        n, kind, fill, weights = src.size, None, 0, 0
        if not n or n != dst.size:
            return None
        if weight is not None:
            if isinstance(weight, Fill):
                kind, fill = "fill", int(weight)
            elif self._is_vector(weight) and n == weight.size:
                kind, weights = weight.dtype.char, weight.data.ptr
            else:
                return None
        traits = src.dtype, dst.dtype, kind, mirrored, loops
        if traits != self._traits:
            if traits not in self._variants:
                self._variants[traits] = self._variant_of(*traits)
            self._traits, self._variant = traits, self._variants[traits]
        variant = self._variant
        if variant is None:
            return None
        if not self.used:
            self._calls += 1
            part |= 4
        self.used = self._running = self._unread = True
        batch = self._batch
        batch.variant, batch.size = variant, 2 * n if mirrored else n
        status, pinned = self._addresses
        batch.words = (
            src.data.ptr, dst.data.ptr, weights, status, pinned, n, self._num_vertices, self._version, fill,
            self._calls & 0xFFFFFFFF, part,
        )  # fmt: skip
        return batch

    def _is_vector(self, array: Any) -> bool:
        """Return whether kernels can take it as it is."""
        if not isinstance(array, self._ndarray) or not is_flat(array):
            return False
        return self._one_device or array.data.device_id == self.device.index

    def _variant_of(self, src: np.dtype, dst: np.dtype, kind: str | None, mirrored: bool, loops: int) -> Variant | None:
        """Return the variant for dtypes, that of weights by its character; None if kernels cannot take one of them."""
        weight, held = kind, self._weight_dtype
        if kind not in (None, "fill"):
            weight = np.dtype(kind).name
            if held is None or weight not in C_TYPES or weight == "bool":
                return None
        if src.kind not in "iu" or dst.kind not in "iu":
            return None
        into = None if kind is None or held is None else held.name
        return the_variant(src.name, dst.name, weight, into, mirrored, loops)

    def cancel(self) -> None:
        """Take back :meth:`raw`, the first of its call, whose batch was not launched after all."""
        self._calls -= 1
        self.used = False

    def take(self, src: Array, dst: Array, weight: Array | Fill | None, **how: Any) -> EdgeList:
        """Return the batch as the store takes it, in new arrays; bad entries become edge (0, 0). Does not wait.

        Arguments are those of :meth:`raw`, as :meth:`place` returns them.

        Raises:
            VertexRangeError: the graph has no vertices.
        """
        if not self._num_vertices:
            raise VertexRangeError(range_message(f"{PARTS[how.get('part', 0)]}src", 0, int(src[0]), 0))
        batch, empty = self.raw(src, dst, weight, **how), self._xp.empty
        assert batch is not None
        held = None if weight is None else self._weight_dtype
        size = batch.size
        result = EdgeList(empty(size, np.uint32), empty(size, np.uint32), held and empty(size, held))
        kernel = self._kernels.get(batch.variant)
        if kernel is None:
            kernel = StructKernel(program(batch.variant), "ingest", COPIES.size + RAW.size)
            self._kernels[batch.variant] = kernel
        COPIES.pack_into(kernel.buffer, 0, *(0 if part is None else part.data.ptr for part in result))
        RAW.pack_into(kernel.buffer, COPIES.size, *batch.words)
        kernel.launch(min((len(src) + THREADS - 1) // THREADS, MAX_BLOCKS), THREADS)
        return result

    def look(self) -> None:
        """Wait for the device and take in what was found since the last time, without raising."""
        if not self._running:
            return
        self._xp.cuda.get_current_stream().synchronize()
        self._running = self._unread = False
        bad, loops = self._notes.tolist()
        if loops:
            self.has_loops = True
        if bad:
            found = self._status.get().view(STATUS)
            block = 2 if found["key"][2] else self._calls & 1
            self._error = error_of(found[block], self._weight_dtype, late=self._deferred)
            self._status.fill(0)
            self._notes[0] = 0

    def settle(self, *, answered: bool = False) -> None:
        """Raise the first error that was found since the last time, if there was one; waits until that is known.

        With ``answered`` that is when the kernel says so that takes the batch of the current call, the only one since.
        """
        if answered and not self._deferred and self._is_good():
            self._unread = False
        if self._unread:
            self.look()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _is_good(self) -> bool:
        """Look for the answer of the current call's kernel; return whether it came, and was good."""
        good, answer = (self._calls & 0xFFFFFFFF) << 1, self._answer
        for _ in range(LOOKS):
            word = answer[0]
            if word | 1 == good | 1:
                return bool(word == good)
        return False


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
