"""Validating batches that lie on a CUDA device, in the stream, without the host waiting in between.

There are two ways. In two steps: ``ingest.cu`` converts and copies the batch (:meth:`Ingest.take`) and sets a guard if
an entry is invalid; the mutation kernels queued behind it then do nothing. Fused: a store that ``takes_unvalidated``
gets an :class:`UnvalidatedBatch` (:meth:`Ingest.fused`), and its own kernel validates and applies it in one launch.

Either way the error is in a status block on the device. With ``checks="eager"`` the host reads it in the same call
(:meth:`Ingest.settle`), after everything is queued, and a fused kernel reports as soon as it has validated the batch;
with ``"deferred"`` the host reads it at some later call that waits anyway. All calls on a graph go to one stream.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.arrays import LOOPS, PARTS, Scalar, is_flat, loop_message, on_device, range_message, weight_message
from suricate.cuda.launch import StructKernel, wait_for
from suricate.cuda.program import C_TYPES, Program, c_type
from suricate.cuda.structs import Struct, constants
from suricate.devices import Array, Device, cuda_device_count
from suricate.errors import SelfLoopError, SuricateError, VertexRangeError, WeightError
from suricate.types import EdgeList

if TYPE_CHECKING:
    from suricate.store import Store

STATUS = Struct("Status", {
    "guard": "uint32_t",  # not zero: an entry is invalid; the mutation kernels of the same call take its address
    "unused": "uint32_t",
    "key": "unsigned long long",  # ~(index << 12 | part << 8 | reason), so that the first invalid entry is the maximum
    "value": "unsigned long long",  # the offending id (two's complement) or weight (bits of a double)
    "version": "unsigned long long",  # of the graph, when the batch was given
    "vertices": "unsigned long long",  # their number then
})  # fmt: skip
COPIES = Struct("Copies", {  # where the copies of a batch go: [n], or [2n] if MIRRORED
    "src": "uint32_t*",
    "dst": "uint32_t*",
    "weight": "WEIGHT_T*",  # WEIGHT_MODE 1 and 2
})  # fmt: skip
UNVALIDATED_STRUCT = Struct("Unvalidated", {  # a batch as the caller gave it
    "src": "const SRC_T*",  # [n]
    "dst": "const DST_T*",  # [n]
    "weight": "const IN_T*",  # [n], WEIGHT_MODE 1
    "status": "Status*",
    "notes": "uint32_t*",  # host memory: [0] set if an entry is invalid, [1] if one is a loop, [2] and [3] by answer()
    "n": "long long",
    "num_vertices": "long long",
    "version": "unsigned long long",
    "fill": "unsigned long long",  # WEIGHT_MODE 2: bits of the weight
    "call": "uint32_t",  # number of the call
    "mode": "uint32_t",  # bits 0 and 1: part of the call (1: delete, 2: insert, 0: all of it); bit 2: the first part
})  # fmt: skip
UNVALIDATED = UNVALIDATED_STRUCT.packer
BAD_SRC, BAD_DST, BAD_LOOP, BAD_WEIGHT, UNSIGNED_VALUE = 1, 2, 3, 4, 8  # reasons in a key; the last is a flag
FIRST_PART = 4  # flag in Unvalidated.mode
REASONS = {
    "BAD_SRC": BAD_SRC,
    "BAD_DST": BAD_DST,
    "BAD_LOOP": BAD_LOOP,
    "BAD_WEIGHT": BAD_WEIGHT,
    "UNSIGNED_VALUE": UNSIGNED_VALUE,
    "FIRST_PART": FIRST_PART,
}
DECLARATIONS = " ".join(
    part.replace("\n", " ")
    for part in (STATUS.declaration, COPIES.declaration, UNVALIDATED_STRUCT.declaration, constants(REASONS))
)
BLOCKS = 3  # calls of even number, calls of odd number, the first error not yet read
THREADS, MAX_BLOCKS = 256, 2048
LOOKS = 1000  # at the answer of a kernel before the host waits for its end instead; together some 50 us


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
            "INGEST_DECLARATIONS": DECLARATIONS,
        }
        if integral:
            limits = np.iinfo(held)
            macros.update(WEIGHT_MIN=f"({limits.min}LL)", WEIGHT_MAX=f"({limits.max}LL)")
        return tuple(macros.items())


@cache
def the_variant(*fields: Any) -> Variant:
    """Return the variant of these fields, interned: caches keyed by it are shared by all graphs."""
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


class UnvalidatedBatch(NamedTuple):
    """A batch on the device whose entries are not validated, for a store's fused kernel (``Store.apply_unvalidated``).

    Attributes:
        operation: ``"insert"``, ``"delete"`` or ``"find"``.
        variant: dtypes and policies that the validating code is compiled for.
        size: edges for the store, both arcs of an undirected one.
        words: values of the struct ``Unvalidated``, in order. It points to the caller's arrays, which live until the
            launch.
        waits: whether the host waits for the device in this call anyway.
    """

    operation: str
    variant: Variant
    size: int
    words: tuple[int, ...]
    waits: bool


class Fill(int):
    """A number that is the weight of all edges: its bits, as the graph's weights hold it."""


class Ingest:
    """Validation of one graph's device batches: its status block, and the launches that fill it.

    Args:
        device: the graph's CUDA device.
        weight_dtype: the graph's.
        directed: the graph's.
        self_loops: the graph's policy.
        deferred: whether errors are raised at a later call (``checks="deferred"``).
    """

    def __init__(
        self, device: Device, weight_dtype: np.dtype | None, *, directed: bool, self_loops: str, deferred: bool
    ) -> None:
        cupy = device.xp
        self.device = device
        self._weight_dtype = weight_dtype
        self._deferred = deferred
        self._error: SuricateError | None = None
        self.has_loops = False  #: whether a batch held a self-loop, as of the last :meth:`look`
        self.used = False  #: whether the current call had anything checked on the device
        self._xp, self._ndarray = cupy, cupy.ndarray
        self._one_device = cuda_device_count() == 1
        self._mirrored = not directed
        self._drops_loops = self_loops == "drop"
        self.loops = LOOPS[self_loops] if self._mirrored or self_loops == "error" else 0  #: mode of insertions
        self._status = cupy.zeros(BLOCKS * STATUS.size, np.uint8)
        words = self._status.view(np.uint32)
        step = STATUS.size // 4
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
        """Return arrays of fitting dtypes and one length, not empty, as the kernels take them.

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

    def fused(self, store: Store, operation: str, edges: tuple[Any, Any, Any]) -> Any:
        """Have ``store`` validate and apply a batch in one launch (``Store.apply_unvalidated``), and return its answer.

        ``operation`` is ``"insert"``, ``"delete"`` or ``"find"``. The answer is None if kernels cannot take the arrays
        as they are (see :meth:`place`), and False if the store declines the batch; then nothing was done.
        """
        src, dst, weight = edges
        mirrored, loops = self._mirrored, 0
        if operation == "insert":
            if (weight is None) is not (self._weight_dtype is None) or self._drops_loops:
                return None
            loops = self.loops
        elif operation == "find":
            mirrored = False
        batch = self._unvalidated(operation, src, dst, weight, mirrored, loops, 0) if self._num_vertices else None
        if batch is None:
            return None
        try:
            answer = store.apply_unvalidated(batch)
        except MemoryError:  # two steps need less memory, and report an invalid batch before running out
            answer = None
        if answer is not None:
            return answer
        self._calls -= 1  # the batch was not launched
        self.used = False
        return False

    def _unvalidated(
        self, operation: str, src: Any, dst: Any, weight: Any, mirrored: bool, loops: int, part: int
    ) -> UnvalidatedBatch | None:
        """Build a batch for a kernel that validates it, to be launched next; None if :meth:`place` must come first."""
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
            part |= FIRST_PART
        self.used = self._running = self._unread = True
        status, pinned = self._addresses
        words = (
            src.data.ptr, dst.data.ptr, weights, status, pinned, n, self._num_vertices, self._version, fill,
            self._calls & 0xFFFFFFFF, part,
        )  # fmt: skip
        return UnvalidatedBatch(operation, variant, 2 * n if mirrored else n, words, not self._deferred)

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

    def take(
        self, src: Array, dst: Array, weight: Array | Fill | None, *, part: int, mirrored: bool = False, loops: int = 0
    ) -> EdgeList:
        """Return copies of a batch as the store takes it; invalid entries become edge (0, 0). Does not wait.

        The arrays are as :meth:`place` returns them.

        Raises:
            VertexRangeError: the graph has no vertices.
        """
        if not self._num_vertices:
            raise VertexRangeError(range_message(f"{PARTS[part]}src", 0, int(src[0]), 0))
        batch, empty = self._unvalidated("copy", src, dst, weight, mirrored, loops, part), self._xp.empty
        assert batch is not None
        held = None if weight is None else self._weight_dtype
        size = batch.size
        result = EdgeList(empty(size, np.uint32), empty(size, np.uint32), held and empty(size, held))
        kernel = self._kernels.get(batch.variant)
        if kernel is None:
            kernel = StructKernel(program(batch.variant), "ingest", COPIES.size + UNVALIDATED.size)
            self._kernels[batch.variant] = kernel
        COPIES.packer.pack_into(kernel.buffer, 0, *(0 if part is None else part.data.ptr for part in result))
        UNVALIDATED.pack_into(kernel.buffer, COPIES.size, *batch.words)
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
            found = self._status.get().view(STATUS.dtype)
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
