"""Sorted batches with the slot of each entry in a store, and the structs that kernels take of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from suricate.base.devices import Array, Device
from suricate.cuda.batch_memory import offsets_of
from suricate.cuda.launch import address
from suricate.cuda.structs import Struct, enum

DUPLICATE, ABSENT, PRESENT = 0, 1, 2  #: kinds of entries: a later duplicate counts instead; not stored; stored
LOOKUP = 255  #: instead of the kind of entries that change the graph: none does, and they need no ranks

LOCATED = Struct("LocatedBatch", {
    "keys": "const uint64_t*", "order": "const uint32_t*", "kind": "uint8_t*", "slot": "long long*",
    "rank": "const int*", "guard": "const uint32_t*", "size": "long long",
})  # fmt: skip
KINDS = enum("", {"DUPLICATE": DUPLICATE, "ABSENT": ABSENT, "PRESENT": PRESENT})
PRELUDE = f"{KINDS}\n{LOCATED.declaration}"  #: what ``batch.cuh`` needs before it


class Report(NamedTuple):
    """The arrays to which kernels write the outcome of a batch, with one entry per edge in the caller's order.

    ``status`` is uint8; ``before`` gets old weights as bit patterns. Both may also be device addresses (see
    ``BatchStore.reads_addresses``).
    """

    status: Any
    before: Any


@dataclass(slots=True)
class LocatedBatch:
    """A batch sorted by (source, destination), and where each entry is stored or would go.

    All arrays have one entry per edge of the batch, in sorted order. Of equal edges only the last entry counts: its
    weight is stored and its input edge gets the status; the other ones have the kind ``DUPLICATE``. If the guard is not
    zero, the batch is invalid, and no entry counts.

    Attributes:
        keys: ``uint64[m]``, ``src << 32 | dst``, ascending.
        order: ``uint32[m]``, the position of the entry in the caller's batch.
        kind: ``uint8[m]``: ``DUPLICATE``, ``ABSENT`` or ``PRESENT``.
        slot: ``int64[m]``: the slot if ``PRESENT``; else where the edge would go, if the storage has such a place.
        most: upper bound of the number of entries that change the graph (``ABSENT`` ones in an insertion, ``PRESENT``
            ones in a deletion); exact on the CPU.
        rank: CUDA only: ``int32[m]``, the number of entries up to and including this one that change the graph.
        guard: CUDA only: ``uint32[1]`` on the device that is not zero if the batch is invalid, or its address, or None.
    """

    keys: Array
    order: Array
    kind: Array
    slot: Array
    most: int
    rank: Array | None = None
    guard: Array | int | None = None
    packed: Any = None  #: CUDA only: the struct ``LocatedBatch``, once it has been packed

    def __len__(self) -> int:
        return len(self.keys)

    def count(self) -> int:
        """Return the exact number of entries that change the graph; on CUDA waits for the device."""
        return self.most if self.rank is None else int(self.rank[-1])


class BatchKernels(Protocol):
    """The operations on located batches that the modules ``cpu.py`` and ``cuda.py`` both define.

    Weights are bit patterns: ``weight`` has those of the store, by slot, ``batch_weight`` those of the caller's batch.
    """

    def rank(self, batch: LocatedBatch, kind: int) -> None:
        """Count the entries of ``batch`` whose kind is ``kind``, ``ABSENT`` or ``PRESENT``.

        On CUDA ``batch.rank[i]`` becomes how many of the entries 0 to ``i`` are of this kind; on the CPU
        ``batch.most`` becomes the number of all of them.
        """

    def report_insertion(self, batch: LocatedBatch, weight: Array, batch_weight: Array, report: Report) -> None:
        """Write the outcome of inserting ``batch`` to ``report``, in the caller's order; replace stored weights."""

    def report_deletion(self, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """Write status and old weight of each edge of ``batch``, a deletion, to ``report``, in the caller's order."""

    def answer(self, batch: LocatedBatch, weight: Array, found: Array, result: Array) -> None:
        """Write which edges of ``batch`` are stored, and the bits of their weights, in the caller's order."""


CHANGE_BLOCK = 512  #: threads of a block
SMALL = 1 << 15  #: edges of a batch whose scratch memory is kept for the next ones of its size,
KEPT = 8  #: for this number of sizes

CHANGING = Struct("Changing", {
    "keys": "const uint64_t*", "order": "const uint32_t*", "guard": "const uint32_t*", "size": "long long",
    "begin": "const long long*", "end": "const long long*",  # by vertex: first slot, one past the last
    "dst": "const uint32_t*", "weight": "bits_t*",  # by slot
    "batch_weight": "const bits_t*", "status": "uint8_t*", "before": "bits_t*",  # in the caller's order
    "slot": "long long*",  # of every entry
    "changed_slot": "long long*",  # of the changes, in order
    "rank": "uint32_t*",  # of every entry: changes of its block up to it
    "totals": "uint32_t*",  # changes per block
    "kind": "uint8_t*",  # of every entry
    "arrived": "uint32_t*", "expected": "uint32_t",  # of the barrier; see grid_barrier.cuh
    "deleting": "uint32_t",
})  # fmt: skip


class Scratch:
    """Scratch memory for the batches of one store in one stream; that of small ones is kept by size."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept: dict[tuple[int, ...], tuple[tuple[int, ...], Any]] = {}

    def __call__(self, key: tuple[int, ...], offsets: Callable[[], tuple[int, ...]]) -> tuple[tuple[int, ...], Any]:
        """Return the device addresses of the scratch arrays for a batch, and the memory block that contains them.

        ``offsets()`` returns the offset of each array in bytes, then the total size in bytes. ``key`` identifies the
        layout among cached ones; ``key[0]`` is the number of edges of the batch.
        """
        held = self._kept.get(key)
        if held is None:
            *places, total = offsets()
            memory = self._device.xp.cuda.alloc(total)
            held = tuple(memory.ptr + place for place in places), memory
            if key[0] <= SMALL:
                if len(self._kept) == KEPT:
                    self._kept.clear()
                self._kept[key] = held
        return held


def scratch_offsets(size: int, blocks: int, *more: int) -> tuple[int, ...]:
    """Return the offsets in bytes of the scratch arrays that :func:`values` takes, then their total size in bytes.

    ``size`` is the number of edges of the batch, ``blocks`` the number of blocks of the launch; ``more`` are the sizes
    in bytes of further arrays, placed behind them.
    """
    return offsets_of(8 * size, 8 * size, 4 * size, 4 * blocks, size, *more)


def values(
    batch: LocatedBatch, rows: tuple[int, int, int, int], weight: Array | int, report: Report, scratch: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return the fields of the struct ``Changing`` up to ``kind`` for a located ``batch`` with the outcome ``report``.

    ``rows``: the device addresses of the store's ``begin``, ``end``, ``dst`` and ``weight``; ``weight``: the weights of
    the batch as bit patterns, or their address; ``scratch``: the addresses of the scratch arrays.
    """
    return (
        batch.keys.data.ptr, batch.order.data.ptr, address(batch.guard), len(batch), *rows,
        address(weight), address(report.status), address(report.before), *scratch,
    )  # fmt: skip
