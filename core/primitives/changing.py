"""The struct ``Changing`` of ``changes.cuh``, a sorted batch with the adjacencies that it changes, and its packing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suricate.base.devices import Array, Device
from suricate.cuda.batch_memory import offsets_of
from suricate.cuda.launch import address
from suricate.cuda.structs import Struct
from suricate.primitives.located import LocatedBatch, Report

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
    """Allocates scratch memory for the batches of one store, which must all use the same stream.

    The memory of small batches is cached and reused by later batches of the same size.
    """

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
