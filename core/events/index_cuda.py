"""Events by vertex on CUDA: rows of one direction, which a merge writes into the other of two sets of arrays.

Events that enter wait in the record of the log. The first look at :attr:`CudaIndex.rows` sorts them by vertex (the
sort is stable, so they stay in order of their numbers) and merges them with the rows, in one cooperative launch
(``merge.cu``). Events that leave are the first ones of their rows: the merge leaves them out, and where there is none,
``begin`` moves (``index.cu``) when rows are asked for. Nothing waits for the device: the host knows how many events are
live, and kernels know the slots of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device, copied
from suricate.cuda.kernel import WordKernel
from suricate.cuda.launch import GridBarrier, StructKernel, multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants
from suricate.events.record import LOW, Record, Rows, check_rows
from suricate.graph.interrupts import Uninterrupted
from suricate.primitives import cuda, out_of_memory
from suricate.store.array_manager import first_that_fits
from suricate.store.sorter import Sorter

HERE = Path(__file__).parent
THREADS, MERGE_THREADS, MOST_BLOCKS = 256, 512, 1 << 13
BARRIERS = 2  #: of the grid in a merge
BLOCK_WORK = 1 << 12  #: vertices or slots of a block, if there are enough
GROWTH, LEAST = 1.25, 1 << 12  #: of new arrays, where they may be larger than needed; entries that are never too many
MOST_UNMERGED = 1 << 24  #: events, which the sort takes in one launch

MERGING = Struct("Merging", {
    "begin": "long long*", "end": "const long long*",  # [vertices]: the old rows; the former moves
    "other": "const uint32_t*", "number": "const uint32_t*",  # by slot
    "new_begin": "long long*", "new_end": "long long*",  # [vertices]: the new rows
    "new_other": "uint32_t*", "new_number": "uint32_t*",  # by slot
    "keys": "const uint64_t*", "order": "const uint32_t*",  # [size]: entering events, sorted: halves of ids, places
    "batch_vertex": "const uint32_t*", "batch_other": "const uint32_t*",  # by place, or both by half the place
    "entering": "uint32_t*",  # [vertices + 1]: written: number of entering events of lower vertices
    "totals": "long long*",  # [blocks]: written: slots of the rows of a block
    "arrived": "uint32_t*", "expected": "uint32_t",  # of the barrier; see grid_barrier.cuh
    "size": "uint32_t", "first": "uint32_t",  # number of place 0
    "half": "uint32_t", "both": "uint32_t",  # bits of half an id; 1 if an event has two places, else 0
    "oldest": "uint32_t", "leaving": "uint32_t",  # old events less than the latter above the former leave
    "vertices": "long long",
})  # fmt: skip
INDEX = Program(HERE / "index.cu", include=(cuda.HERE,))
MERGE = Program(
    HERE / "merge.cu", f"{constants({'MERGE_BLOCK': MERGE_THREADS})}\n{MERGING.declaration}", include=(cuda.HERE,),
    cooperative=True,
)  # fmt: skip


def programs() -> list[Program]:
    """Return the CUDA programs of the index."""
    return [INDEX, MERGE]


class CudaIndex:
    """Events by vertex, in one direction, on CUDA; parameters, methods and errors are those of ``index_cpu.Index``."""

    def __init__(self, device: Device, over: str, num_vertices: int, admit: Callable[[int], None]) -> None:
        self.over, self.admit = over, admit
        self._device, self._xp = device, device.xp
        self._both, self._vertices = int(over == "both"), num_vertices
        for program in programs():
            program.prepare()
        self._first = self._next = 0  # numbers: those of live events are from the former to below the latter
        self._begun = 0  # no number in the rows is below it
        self._unmerged = 0  # the last so many events are not in the rows yet, but in the record
        self._record: Any = None
        self._rows, self._spare = self._new_rows(), self._new_rows()

    @property
    def rows(self) -> Rows:
        """The arrays, valid until the index changes; does not wait. Merges what waits; may raise CapacityError."""
        if self._unmerged:
            with Uninterrupted():  # the counters of barriers are those of launches
                self._merge()
        elif self._begun < self._first:
            self._move_begins()
        return self._rows

    @property
    def num_vertices(self) -> int:
        """The number of rows; asking for it merges nothing."""
        return self._vertices

    @property
    def memory(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (*self._rows, *self._spare))

    # -- memory --------------------------------------------------------------------------------------------------------

    def _new(self, dtype: Any, *counts: int) -> list[Array]:
        """Return arrays of so many zeros, int64, or entries that nobody has written, uint32; ``CapacityError``."""
        self.admit(sum(counts) * np.dtype(dtype).itemsize)
        make = self._xp.zeros if dtype is np.int64 else self._xp.empty
        with out_of_memory("events"):
            return [make(count, dtype) for count in counts]

    def _new_rows(self) -> Rows:
        return Rows(*self._new(np.int64, self._vertices, self._vertices), *self._new(np.uint32, 0, 0))

    def _reserve(self, count: int) -> None:
        """Provide memory for ``count`` more events, and for the merge that takes all that wait to the rows.

        What a merge needs besides is proportional to the events that wait and the vertices, and freed behind it.
        """
        live = self._next - self._first + count
        slots, held = live << self._both, len(self._spare.other)
        if not slots <= held <= 4 * slots + LEAST:
            self._give_spare(0)  # which holds nothing
            ample = int(GROWTH * slots) if live > count else slots  # a bulk load takes no more than it needs
            first_that_fits(self._give_spare, ample, slots)

    def _give_spare(self, slots: int) -> None:
        other, number = self._new(np.uint32, slots, slots)
        self._spare = self._spare._replace(other=other, number=number)

    def copy(self, admit: Callable[[int], None]) -> CudaIndex:
        """Return an independent copy, for a log with ``admit``."""
        rows = self.rows
        made = CudaIndex(self._device, self.over, self._vertices, admit)
        made._first, made._next, made._begun = self._first, self._next, self._begun
        admit(sum(array.nbytes for array in rows))
        with out_of_memory("events"):
            made._rows = Rows(*map(copied, rows))
        return made

    def add_vertices(self, count: int) -> None:
        """Append empty rows for ``count`` more vertices; raises ``CapacityError``, and nothing has changed."""
        held, more = self._vertices, self._vertices + count
        begin, end, *spare = self._new(np.int64, more, more, more, more)
        begin[:held], end[:held] = self._rows.begin, self._rows.end
        self._rows = self._rows._replace(begin=begin, end=end)
        self._spare = self._spare._replace(begin=spare[0], end=spare[1])
        self._vertices = more

    # -- events --------------------------------------------------------------------------------------------------------

    def _sides(self, src: Array, dst: Array) -> tuple[Array, Array]:
        return (dst, src) if self.over == "in" else (src, dst)

    def enter(self, record: Record, first: int, last: int) -> None:
        """Enter the events ``first`` to ``last`` (exclusive), which are in ``record``, and stay there until they leave.

        Raises:
            CapacityError: too little memory; nothing has changed.
        """
        if self._first == self._next:  # all that is in the rows or waits has left
            self._move_begins()
            self._first = self._next = self._begun = first
            self._unmerged = 0
        if self._unmerged > min(self._next - self._first + LEAST, MOST_UNMERGED):
            self._merge()
        self._reserve(last - first)
        self._record, self._unmerged, self._next = record, self._unmerged + last - first, last

    def withdraw(self, src: Array, dst: Array) -> None:
        """Take the newest events out again: those of the last :meth:`enter`, before a look at the rows."""
        self._unmerged, self._next = self._unmerged - len(src), self._next - len(src)

    def expire(self, record: Record, upto: int) -> None:
        """Remove the events with numbers below ``upto``: the rows lack them when they are next asked for."""
        self._first = max(self._first, upto)

    @property
    def _leaving(self) -> int:
        """How many numbers from ``_begun`` on, in the rows, have left; 0 if none."""
        return max(min(self._first, self._next - self._unmerged) - self._begun, 0)

    def _move_begins(self) -> None:
        """Let the events below the first live one leave the rows."""
        if leaving := self._leaving:
            begin, end, _, number = self._rows
            self._expire(
                _blocks_for(self._vertices), begin.data.ptr, end.data.ptr, number.data.ptr, self._vertices,
                self._begun & LOW, leaving,
            )  # fmt: skip
        self._begun = self._first

    def remove(self, src: Array, dst: Array, numbers: Array, first: int) -> None:
        """Remove the events ``src[i] -> dst[i]`` with ``numbers``, ``int64[k]``, ascending; ``first``: the record's."""
        removed, (vertex, other) = numbers.astype(np.uint32), self._sides(src, dst)
        begin, end, others, number = self.rows
        with out_of_memory("events"):
            keys, places = self._sorted(vertex, other)
        self._remove(
            len(keys), keys.data.ptr, places.data.ptr, len(keys), removed.data.ptr,
            self._both, self._half, self._vertices, begin.data.ptr, end.data.ptr, others.data.ptr, number.data.ptr,
            first & LOW,
        )  # fmt: skip

    def between(self, low: int, high: int) -> tuple[Array, Array]:
        """Return where the events with the numbers ``low`` to ``high`` (exclusive) begin and end in each row."""
        begin, end, _, number = self.rows
        low, high = (min(max(name, self._first), self._next) - self._first for name in (low, high))
        from_, to = self._new(np.int64, self._vertices, self._vertices)
        self._between(
            _blocks_for(self._vertices), begin.data.ptr, end.data.ptr, number.data.ptr, self._vertices,
            self._first & LOW, low, high, from_.data.ptr, to.data.ptr,
        )  # fmt: skip
        return from_, to

    def check(self, record: Record) -> None:
        """Verify that the rows are those of ``record``; raises ``CheckFailed``. Waits for the device."""
        check_rows(self.over, self.rows, record)

    # -- launches ------------------------------------------------------------------------------------------------------

    @cached_property
    def _expire(self) -> WordKernel:
        return WordKernel(INDEX.kernel("expire_rows"), THREADS, 6)

    @cached_property
    def _between(self) -> WordKernel:
        return WordKernel(INDEX.kernel("rows_between"), THREADS, 9)

    @cached_property
    def _halve(self) -> WordKernel:
        return WordKernel(INDEX.kernel("halve_ids"), THREADS, 8)

    @cached_property
    def _remove(self) -> WordKernel:
        return WordKernel(INDEX.kernel("remove_events"), THREADS, 12)

    @cached_property
    def _merger(self) -> tuple[StructKernel, int, GridBarrier]:
        kernel = StructKernel(MERGE, "merge_rows", MERGING.size)
        return kernel, multiprocessors(self._device) * kernel.resident(MERGE_THREADS), GridBarrier(self._device)

    @cached_property
    def _sorter(self) -> Sorter:
        return Sorter(self._device)

    @property
    def _half(self) -> int:
        """Half the bits of an id, or of the number of vertices, rounded up."""
        return (max(1, self._vertices.bit_length()) + 1) // 2

    def _sorted(self, vertex: Array, other: Array) -> tuple[Array, Array]:
        """Return the keys and the order of events by vertex, see ``halve_ids``; the sort takes two halves for ends."""
        count, half = len(vertex), self._half
        size = count << self._both
        high, low = self._xp.empty(size, np.uint32), self._xp.empty(size, np.uint32)
        self._halve(
            _blocks_for(count), vertex.data.ptr, other.data.ptr, count, self._both, half, self._vertices,
            high.data.ptr, low.data.ptr,
        )  # fmt: skip
        if self._sorter.is_sorted_here(size, 1 << half):
            return self._sorter.sort_at(size, high.data.ptr, low.data.ptr, 1 << half, "events")
        return self._sorter.sort(high, low, 1 << half)

    def _merge(self) -> None:
        """Merge the events that wait and have not left with the rows; raises ``CapacityError``."""
        begun = self._next - self._unmerged
        left = min(max(self._first - begun, 0), self._unmerged)
        if left < self._unmerged:
            self._reserve(0)
            vertex, other = self._sides(*self._record.ends(begun + left, self._next))
            with out_of_memory("events"):
                keys, order = self._sorted(vertex, other)
                self._launch_merge(vertex, other, keys, order, begun + left)
            self._rows, self._spare, self._begun = self._spare, self._rows, self._first
        self._move_begins()
        self._unmerged = 0

    def _launch_merge(self, vertex: Array, other: Array, keys: Array, order: Array, first: int) -> None:
        kernel, most, barrier = self._merger
        work = max(self._vertices, len(self._spare.other))
        blocks = max(1, min(most, work // BLOCK_WORK))  # few blocks meet sooner
        entering, totals = self._xp.empty(self._vertices + 1, np.uint32), self._xp.empty(blocks, np.int64)
        arrays = *self._rows, *self._spare, keys, order, vertex, other, entering, totals
        expected = barrier.expected(blocks, BARRIERS)
        MERGING.packer.pack_into(
            kernel.buffer, 0, *(array.data.ptr for array in arrays), barrier.address, expected, len(keys), first & LOW,
            self._half, self._both, self._begun & LOW, self._leaving, self._vertices,
        )  # fmt: skip
        kernel.launch(blocks, MERGE_THREADS)


def _blocks_for(threads: int) -> int:
    return max(1, min(-(-threads // THREADS), MOST_BLOCKS))
