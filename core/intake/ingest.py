"""Validating batches that lie on a CUDA device, in the stream, without the host waiting in between.

There are two ways. Fused: a store gets the batch as the caller gave it (``Store.apply``), and its own kernel validates
and applies it in one launch. In two steps: ``ingest.cu`` converts and copies the batch and sets a guard if an entry is
invalid; the mutation kernels queued behind it then do nothing.

Either way the error is in a status block on the device. With ``checks="eager"`` the host reads it in the same call
(:meth:`Ingest.raise_pending`), after everything is queued, and a fused kernel reports as soon as it has validated the
batch; with ``"deferred"`` the host reads it at some later call that waits anyway. All calls go to one stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device, cuda_device_count
from suricate.base.errors import SelfLoopError, SuricateError, VertexRangeError, WeightError
from suricate.base.types import EdgeList
from suricate.cuda.batch_memory import batch_offsets
from suricate.cuda.launch import StructKernel, address
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.program import C_TYPES, Program, c_type
from suricate.cuda.structs import Struct, constants
from suricate.intake.arrays import (
    LOOPS,
    PARTS,
    is_flat,
    loop_message,
    on_device,
    picked,
    range_message,
    weight_message,
)
from suricate.intake.batches import DeviceBatch, Upload, device_batches
from suricate.intake.id_checks import IdChecks

STATUS = Struct("Status", {
    "guard": "uint32_t",  # not zero: an entry is invalid; the mutation kernels of the same call take its address
    "finished": "uint32_t",  # blocks of a launch of ingest.cu that have checked their entries; zero between launches
    "key": "unsigned long long",  # ~(part << KEY_PART | index << KEY_INDEX | reason): the first error is the maximum
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
    "mode": "uint32_t",  # PART: which part of the call it is (1: delete, 2: insert, 0: all of it); *_PART(S): flags
})  # fmt: skip
UNVALIDATED = UNVALIDATED_STRUCT.packer
STATUS_BYTES = STATUS.size
STATUS_WORD, SIZE_WORD, CALL_WORD = (list(UNVALIDATED_STRUCT.fields).index(name) for name in ("status", "n", "call"))
BAD_SRC, BAD_DST, BAD_LOOP, BAD_WEIGHT, UNSIGNED_VALUE = 1, 2, 3, 4, 8  # reasons in a key; the last is a flag
REASON_BITS, KEY_INDEX, KEY_PART = 15, 4, 60  # of a key: the mask of the reason, where the index and the part begin
PART, FIRST_PART, MORE_PARTS = 3, 4, 8  # mask and flags in Unvalidated.mode
CONSTANTS = {
    "BAD_SRC": BAD_SRC,
    "BAD_DST": BAD_DST,
    "BAD_LOOP": BAD_LOOP,
    "BAD_WEIGHT": BAD_WEIGHT,
    "UNSIGNED_VALUE": UNSIGNED_VALUE,
    "KEY_INDEX": KEY_INDEX,
    "KEY_PART": KEY_PART,
    "PART": PART,
    "FIRST_PART": FIRST_PART,
    "MORE_PARTS": MORE_PARTS,
}
DECLARATIONS = " ".join(
    part.replace("\n", " ")
    for part in (STATUS.declaration, COPIES.declaration, UNVALIDATED_STRUCT.declaration, constants(CONSTANTS))
)
BLOCKS = 3  # result blocks: two that calls use in turn, and one that keeps the first error until it is raised
THREADS, MAX_BLOCKS = 256, 2048
MOST_NEXT = 1 << 20  # bytes allocated ahead of the next change
NO_MEMORY: tuple[tuple[int, ...], Any] = ((0,), None)
POLLS = 1000  # of the answer of a kernel, before the host waits for its end instead; together some 50 us


@dataclass(frozen=True, eq=False)
class BatchKind:
    """The parameters of compiled code for a batch: names of the dtypes of ``src``, ``dst`` and ``weight``, as given.

    ``weight`` may also be ``"fill"`` (one number for all edges) or None; ``held``: that of the graph. ``mirrored``:
    both arcs of every edge. ``loops``, what self-loops are: 0: not looked for, 1: reported to the host, 2: errors.
    """

    src: str
    dst: str
    weight: str | None = None
    held: str | None = None
    mirrored: bool = False
    loops: int = 0

    def defines(self) -> tuple[tuple[str, int | str], ...]:
        """Return the macros of ``ingest.cuh`` as pairs (name, value)."""
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
def the_variant(*fields: Any) -> BatchKind:
    """Return the only :class:`BatchKind` with these fields: caches keyed by it are shared by all graphs."""
    return BatchKind(*fields)


@cache
def program(variant: BatchKind) -> Program:
    """Return the CUDA program of ``ingest.cu`` for batches of the kind ``variant``; made once per kind."""
    return Program(Path(__file__).with_name("ingest.cu"), defines=variant.defines())


def sample_variants(held: str | None) -> list[BatchKind]:
    """Return some typical batch kinds of a graph with weights of dtype ``held``, to be compiled in CI without a GPU."""
    ids = ("int64", "uint32", "uint8", "uint64", "int32")
    if held is None:
        return [the_variant(s, d) for s, d in zip(ids, reversed(ids), strict=True)]
    weights = ("fill", "float64", "float32", "int64", "uint64", "int8")
    loops = {"float32": 0, "float64": 1, "int32": 2, "uint32": 1}[held]
    return [the_variant("int64", "int64", weight, held, True, loops) for weight in weights]


def programs() -> list[Program]:
    """Return the CUDA programs of some typical batch kinds, to be compiled in CI without a GPU."""
    return [
        program(variant)
        for held in (None, "float32", "float64", "int32", "uint32")
        for variant in sample_variants(held)
    ]


class UnvalidatedBatch(NamedTuple):
    """A batch on the device whose entries are not validated, for a kernel that does so.

    Attributes:
        operation: ``"insert"``, ``"delete"`` or ``"find"``.
        variant: dtypes and policies that the validating code is compiled for.
        size: number of edges that the store gets, both arcs of an undirected one.
        words: values of the struct ``Unvalidated``, in order. It points to the caller's arrays, which must stay alive
            until the launch.
        waits: whether the host waits for the device in this call anyway.
    """

    operation: str
    variant: BatchKind
    size: int
    words: tuple[int, ...]
    waits: bool

    @property
    def guard(self) -> int:
        """Address of the guard, ``uint32``, which is not zero if an entry was found invalid."""
        return self.words[STATUS_WORD] + (self.words[CALL_WORD] & 1) * STATUS_BYTES


class Fill(int):
    """The weight of all edges of a batch, one number: its bits in the graph's weight dtype, as an integer."""


class Ingest:
    """Validates the device batches of one graph: it owns their status block, and makes the launches that write it.

    Not reentrant: the errors of a call's batches must be read before the next call of :meth:`begin`.

    Args:
        device: the graph's CUDA device.
        options: the graph's ``GraphOptions``.
    """

    def __init__(self, device: Device, options: Any) -> None:
        cupy = device.xp
        self.device = device
        self._weight_dtype = options.stored_dtype
        self._deferred = options.checks == "deferred"
        self._error: SuricateError | None = None
        self.ids = IdChecks(device)  #: of ids given to operators
        self.upload = Upload(device)  #: copies host batches that were checked to the device
        self.has_loops = False  #: whether a batch held a self-loop, as of the last :meth:`refresh`
        self.used = False  #: whether the current call had anything checked on the device
        self._xp, self._ndarray = cupy, cupy.ndarray
        self._one_device = cuda_device_count() == 1
        self._symmetric = not options.directed
        #: what is done about the self-loops of an insertion: SELF_LOOPS of ``ingest.cuh``
        self.loops = LOOPS[options.self_loops] if self._symmetric or options.self_loops == "error" else 0
        self._status = cupy.zeros(BLOCKS * STATUS.size, np.uint8)
        words = self._status.view(np.uint32)
        step = STATUS.size // 4
        self._guards = words[:1], words[step : step + 1]
        self._pinned = PinnedCounters(device, 2)  # the notes; the answer: number of a call, and 1 if it is refused
        self._notes = self._pinned.array[:1].view(np.uint32)  # read after a wait
        self._words = self._pinned.words
        self._addresses = self._status.data.ptr, self._pinned.address
        self._alloc = cupy.cuda.alloc
        self._next = NO_MEMORY  # offsets and memory for a change to come,
        self._last: tuple[int, ...] = (0,)  # and the offsets of the last one
        self._variants: dict[tuple[Any, ...], BatchKind | None] = {}
        self._traits: tuple[Any, ...] = ()  # of the last batch,
        self._variant: BatchKind | None = None  # and the variant for them
        self._kernels: dict[BatchKind, StructKernel] = {}
        self._calls = 0
        self._version = 0
        self._num_vertices = 0
        self._unread = False  # whether kernels may have found errors that the host has not read

    def begin(self, num_vertices: int, version: int, eager: bool = False) -> None:
        """Start a call of a graph that has ``num_vertices`` and ``version``; the batches of a call share one guard.

        With ``eager``, first raise the pending errors of earlier calls, so that they are not taken for this call's.
        """
        if eager and (self._unread or self._error is not None):
            self.raise_pending()
        self._version, self._num_vertices, self.used = version, num_vertices, False

    @property
    def guard(self) -> Array:
        """``uint32[1]`` on the device: not zero if a batch of the current call is invalid, so that kernels skip it."""
        return self._guards[self._calls & 1]

    def prepare(
        self, src: Array, dst: Array, weight: Array | np.generic | None, part: int
    ) -> tuple[Array, Array, Array | Fill | None]:
        """Return the arrays of a batch as kernels take them: of suitable dtypes, one length, and not empty."""
        if not self._num_vertices:
            raise VertexRangeError(range_message(f"{PARTS[part]}src", 0, int(src[0]), 0))
        src, dst = on_device(src, self.device, "src"), on_device(dst, self.device, "dst")
        if weight is None:
            return src, dst, None
        if not weight.ndim:
            held = self._weight_dtype
            assert held is not None
            return src, dst, Fill(weight.astype(held).view(f"u{held.itemsize}"))
        weight = on_device(weight, self.device, "weight")
        return src, dst, weight.astype(np.float32) if weight.dtype.char == "e" else weight  # halves need a CUDA header

    def batches(
        self, delete: tuple[Any, Any, Any] | None, insert: tuple[Any, Any, Any] | None, parts: tuple[int, int],
        *, paired: bool,
    ) -> tuple[DeviceBatch | None, DeviceBatch | None] | None:  # fmt: skip
        """Return a deletion and an insertion for the store of out-edges, to be validated by launches.

        Args:
            delete: ``(src, dst, None)``, or None.
            insert: ``(src, dst, weight)``, or None. If both are given the insertion is validated first, so that the
                launch that validates the deletion can report the errors of both to the host.
            parts: of the deletion and the insertion, the index of the name in ``PARTS``.
            paired: whether a second store gets the batches, too.

        Returns:
            The two batches; None in place of both if kernels cannot take the arrays as they are (see :meth:`prepare`).

        Raises:
            MemoryError: there is no memory for the copies and the outcomes.
        """
        mirrored, held = self._symmetric, self._weight_dtype
        removed = added = None
        if insert is not None:
            src, dst, weight = insert
            if (weight is None) is not (held is None):
                return None
            part = parts[1] if delete is None else parts[1] | MORE_PARTS
            added = self._unvalidated("insert", src, dst, weight, mirrored, self.loops, part)
            if added is None:
                return None
        if delete is not None:
            removed = self._unvalidated("delete", delete[0], delete[1], None, mirrored, 0, parts[0])
            if removed is None:
                if added is not None:
                    self._take_back()
                return None
        offsets = batch_offsets(
            0 if removed is None else removed.size, 0 if added is None else added.size,
            0 if held is None else held.itemsize, 1 if paired else 0,
        )  # fmt: skip
        memory, self._next = self._next, NO_MEMORY
        if memory[0] is not offsets:
            memory = offsets, self._alloc(offsets[-1])
        self._last = offsets
        guard = self._addresses[0] + (self._calls & 1) * STATUS_BYTES
        return device_batches(removed, added, held, memory[1], offsets, guard, self.launch_copy, paired=paired)

    def allocate_next(self) -> None:
        """Allocate memory for a next change as large as the last, if that was small, in a call that waits anyway."""
        size = self._last[-1]
        if size <= MOST_NEXT:
            try:  # suppress() would take half a microsecond
                self._next = self._last, self._alloc(size)
            except MemoryError:
                return

    def query(self, src: Any, dst: Any) -> UnvalidatedBatch | None:
        """Return edges as a batch to look up; None if kernels cannot take the arrays without :meth:`prepare`."""
        return self._unvalidated("find", src, dst, None, False, 0, 0)

    def _take_back(self) -> None:
        """Do not count the current call, which :meth:`_unvalidated` has counted: nothing was launched for it."""
        self._calls -= 1
        self.used = False

    def _unvalidated(
        self, operation: str, src: Any, dst: Any, weight: Any, mirrored: bool, loops: int, part: int
    ) -> UnvalidatedBatch | None:
        """Return a batch for a launch that validates it; None if kernels cannot take it without :meth:`prepare`."""
        ndarray = self._ndarray
        if not isinstance(src, ndarray) or not isinstance(dst, ndarray) or not is_flat(src) or not is_flat(dst):
            return None
        n, kind, fill, weights = src.size, None, 0, 0
        if not n or n != dst.size or not self._num_vertices:
            return None
        if weight is not None:
            if isinstance(weight, Fill):
                kind, fill = "fill", int(weight)
            elif isinstance(weight, ndarray) and is_flat(weight) and n == weight.size:
                kind, weights = weight.dtype.char, weight.data.ptr
            else:
                return None
        traits = src.dtype, dst.dtype, kind, mirrored, loops
        if traits != self._traits:
            if traits not in self._variants:
                self._variants[traits] = self._variant_of(*traits)
            self._traits, self._variant = traits, self._variants[traits]
        variant = self._variant
        if variant is None or not (self._one_device or self._has(src, dst, weight)):
            return None
        if not self.used:
            self._calls += 1
            part |= FIRST_PART
        self.used = self._unread = self._pinned.busy = True
        status, pinned = self._addresses
        words = (
            src.data.ptr, dst.data.ptr, weights, status, pinned, n, self._num_vertices, self._version, fill,
            self._calls & 0xFFFFFFFF, part,
        )  # fmt: skip
        return UnvalidatedBatch(operation, variant, 2 * n if mirrored else n, words, not self._deferred)

    def _has(self, *arrays: Any) -> bool:
        """Return whether all arrays lie on the graph's device."""
        return all(part.data.device_id == self.device.index for part in arrays if isinstance(part, self._ndarray))

    def _variant_of(
        self, src: np.dtype, dst: np.dtype, kind: str | None, mirrored: bool, loops: int
    ) -> BatchKind | None:
        """Return the ``BatchKind``, None if no kernel fits; ``kind``: of weights, a dtype character, "fill" or None."""
        weight, held = kind, self._weight_dtype
        if kind not in (None, "fill"):
            weight = np.dtype(kind).name
            if held is None or weight not in C_TYPES or weight == "bool":
                return None
        if src.kind not in "iu" or dst.kind not in "iu":
            return None
        into = None if kind is None or held is None else held.name
        return the_variant(src.name, dst.name, weight, into, mirrored, loops)

    def copied(self, batch: UnvalidatedBatch) -> EdgeList:
        """Return copies of a batch: uint32 ids, the graph's weights; invalid edges become (0, 0). Does not wait."""
        empty, size = self._xp.empty, batch.size
        held = None if batch.variant.weight is None else self._weight_dtype
        src, dst, weight = empty(size, np.uint32), empty(size, np.uint32), held and empty(size, held)
        self.launch_copy(batch, (src.data.ptr, dst.data.ptr, address(weight)))
        return EdgeList(src, dst, weight)

    def checked(
        self, edges: tuple[Any, Any, Any], part: int, *, inserting: bool = True, loops: int = 0, wait: bool = True
    ) -> EdgeList:  # fmt: skip
        """Return validated copies of arrays that :meth:`prepare` returned; raises the errors of :meth:`without_loops`.

        ``part``: index of ``PARTS``, for messages. ``loops``: as in ``BatchKind``. Without ``wait`` the errors are left
        to :meth:`raise_pending`, and the copies of invalid edges are (0, 0).
        """
        # A launch of a part that others may follow does not answer the host.
        batch = self._unvalidated("insert" if inserting else "delete", *edges, False, loops, part | MORE_PARTS)
        assert batch is not None
        copies = self.copied(batch)
        if wait:
            self.raise_pending()
        return copies

    def brought(
        self, edges: tuple[Any, Any, Any], part: int, *, most: int,
        memory: Callable[[int], tuple[int, np.ndarray]], inserting: bool,
    ) -> EdgeList | None:  # fmt: skip
        """Return validated copies on the host, where a kernel writes them, of at most ``most`` edges of the device.

        ``memory(size)``: the address of ``size`` bytes there, and these as an array. Waits for the kernel. None: there
        are more edges, or :meth:`prepare` has to convert the arrays. Raises the errors of earlier parts, too.
        """
        (src, dst, weight), held, earlier = edges, self._weight_dtype if inserting else None, self._unread
        if not isinstance(src, self._ndarray) or src.size > most or (weight is None) is not (held is None):
            return None
        self.used = False  # else the answer to an earlier part would be taken for that to this one
        operation, loops = ("insert", self.loops) if inserting else ("delete", 0)
        batch = self._unvalidated(operation, src, dst, weight, False, loops, part)
        if batch is None:
            return None
        n, (address, there) = batch.size, memory((8 + (0 if held is None else held.itemsize)) * batch.size)
        self.launch_copy(batch, (address, address + 4 * n, address + 8 * n))
        self.raise_pending(fused=not earlier)  # an answer says nothing of earlier parts
        ids = there[: 8 * n].view(np.uint32)
        return EdgeList(ids[:n], ids[n:], None if held is None else there[8 * n :].view(held))

    def without_loops(self, edges: tuple[Any, Any, Any], part: int) -> tuple[Any, Any, Any] | None:
        """Return validated copies of edges to insert, without self-loops; None if none is left. Waits for the device.

        Args:
            edges: arrays as :meth:`prepare` returns them. part: index of their name in ``PARTS``.

        Raises:
            VertexRangeError, WeightError: an entry is invalid.
        """
        copies = self.checked(edges, part)
        copies = picked(copies, copies.src != copies.dst)
        return copies if len(copies.src) else None

    def launch_copy(self, batch: UnvalidatedBatch, addresses: tuple[int, int, int]) -> None:
        """Launch a kernel that validates a batch and copies it to the addresses of src, dst and weight."""
        kernel = self._kernels.get(batch.variant)
        if kernel is None:
            kernel = StructKernel(program(batch.variant), "ingest", COPIES.size + UNVALIDATED.size)
            self._kernels[batch.variant] = kernel
        COPIES.packer.pack_into(kernel.buffer, 0, *addresses)
        UNVALIDATED.pack_into(kernel.buffer, COPIES.size, *batch.words)
        kernel.launch(min((batch.words[SIZE_WORD] + THREADS - 1) // THREADS, MAX_BLOCKS), THREADS)

    def refresh(self, *, wait: bool = True) -> None:
        """Read what kernels reported since this method last ran; raise nothing. ``wait``: first wait for them."""
        if not self._pinned.busy:
            return
        if wait:
            self._xp.cuda.get_current_stream().synchronize()
        self._pinned.busy = self._unread = False
        bad, loops = self._notes.tolist()
        self.has_loops = self.has_loops or loops != 0
        if bad:
            found = self._status.get().view(STATUS.dtype)
            block = 2 if found["key"][2] else self._calls & 1
            self._error = error_of(found[block], self._weight_dtype, deferred=self._deferred)
            self._status.fill(0)
            self._notes[0] = 0

    def raise_pending(self, *, fused: bool = False, valid: bool = False) -> None:
        """Wait for the device; raise the first error that kernels have found since this was last called, if any.

        With ``fused``, wait only until the kernel of the current call has validated its batch, not until its end; and
        not at all if it is known to be ``valid``.
        """
        if fused and not self._deferred and (valid or self._was_valid()):
            self._unread = False
        if self._unread:
            self.refresh()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _was_valid(self) -> bool:
        """Poll for the answer of the current call's kernel; return whether it came, and found the batch valid."""
        valid, words = (self._calls & 0xFFFFFFFF) << 1, self._words
        for _ in range(POLLS):
            answer = words[1]
            if answer | 1 == valid | 1:
                return bool(answer == valid)
        return False


def error_of(found: np.void, weight_dtype: np.dtype | None, *, deferred: bool) -> SuricateError:
    """Return the exception for the bad entry in ``found``, a ``Status``; ``deferred``: with the graph's version."""
    entry = ~int(found["key"]) & (1 << 64) - 1
    index, prefix = (entry & (1 << KEY_PART) - 1) >> KEY_INDEX, PARTS[entry >> KEY_PART]
    reason = entry & REASON_BITS & ~UNSIGNED_VALUE
    value = found["value"]
    note = f' (checks="deferred": of a batch given at version {int(found["version"])})' if deferred else ""
    if reason == BAD_WEIGHT:
        assert weight_dtype is not None
        return WeightError(weight_message(f"{prefix}weight[{index}]", value.view(np.float64), weight_dtype) + note)
    identifier = int(value if entry & UNSIGNED_VALUE else value.view(np.int64))
    if reason == BAD_LOOP:
        return SelfLoopError(loop_message(prefix, index, identifier) + note)
    argument = f"{prefix}{'src' if reason == BAD_SRC else 'dst'}"
    return VertexRangeError(range_message(argument, index, identifier, int(found["vertices"])) + note)
