"""The index of a log on the CPU: the events of each vertex in one contiguous block of slots.

A block has 2^k slots and begins at a multiple of 2^k. So it is full where the end of its row is such a multiple, and
nothing need be kept of it but k. An event is entered at the end of its row, and leaves by ``begin += 1``, as it is the
oldest of its vertex. A row at the end of its block moves to a block of the least size of which it leaves a quarter
free; if that is the same size, it moves down. Blocks that are given back are linked in lists by k. When no slots are
left, more are made, if possible in place; or, where rows need few of those there are, or many events come, all rows
move to new arrays, without gaps and with blocks that fit them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from suricate.base.errors import CapacityError, require
from suricate.cpu.jit import EntryPoints, inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.events.record import LOW, Record, Rows, check_rows
from suricate.store.array_manager import first_that_fits
from suricate.store.in_place import growable, lengthened, reach

TOP, MISSING = range(2)  #: in ``state``: slots from here on were never used; slots that were missing
MOST_SLOTS = 2.7  #: per entry, beyond which rows move to new arrays; just moved they have up to 8/3
AHEAD = 16  #: events from a row's end being read until its slots are written
SMALL = 1 << 17  #: so few slots are doubled when more are made; so many grow by a quarter, in place
CLASSES = 40  #: sizes of blocks
UNPLACED = 63  #: in place of the k of a block: the vertex has none, and both ends of its row are 0
BOTH = "both"  #: one row per vertex with the events at either end
_KERNELS = EntryPoints()


class Index:
    """Events by vertex, in one direction.

    Args:
        over: which end's rows an event is in: ``"out"``: of its source, ``"in"``: of its destination, ``"both"``: of
            both, a self-loop once.
        num_vertices: number of vertices.
        admit: raises ``CapacityError`` if so many bytes more are too many.
    """

    def __init__(self, over: str, num_vertices: int, admit: Callable[[int], None]) -> None:
        self.over, self.admit = over, admit
        admit(17 * num_vertices)
        self._begin, self._end = np.zeros(num_vertices, np.int64), np.zeros(num_vertices, np.int64)
        self._size = np.full(num_vertices, UNPLACED, np.uint8)  # k of the block
        self._other, self._number = np.empty(0, np.uint32), np.empty(0, np.uint32)
        self._entries = 0  # of all rows; of ``both`` two per event, also of self-loops
        self._free, self._state = np.zeros(CLASSES, np.int64), np.zeros(2, np.int64)

    @property
    def rows(self) -> Rows:
        """The arrays, valid until the index changes."""
        return Rows(self._begin, self._end, self._other, self._number)

    @property
    def num_vertices(self) -> int:
        """The number of rows."""
        return len(self._begin)

    @property
    def memory(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (*self.rows, self._size))

    def copy(self, admit: Callable[[int], None]) -> Index:
        """Return an independent copy, for a log with ``admit``."""
        made = Index(self.over, 0, admit)
        for name in ("_begin", "_end", "_size", "_other", "_number", "_free", "_state"):
            setattr(made, name, getattr(self, name).copy())
        made._entries = self._entries
        return made

    def _sides(self, src: np.ndarray, dst: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        return (dst, src, False) if self.over == "in" else (src, dst, self.over == BOTH)

    def _slots(self) -> tuple[np.ndarray, ...]:
        return self._begin, self._end, self._size, self._other, self._number, self._free, self._state

    def add_vertices(self, count: int) -> None:
        """Append empty rows for ``count`` more vertices; raises ``CapacityError``, and nothing has changed."""
        self.admit(17 * (len(self._begin) + count))
        more = np.zeros(count, np.int64)
        begin, end = np.concatenate((self._begin, more)), np.concatenate((self._end, more))
        size = np.concatenate((self._size, np.full(count, UNPLACED, np.uint8)))
        self._begin, self._end, self._size = begin, end, size

    def enter(self, record: Record, first: int, last: int) -> None:
        """Enter the events ``first`` to ``last`` (exclusive) of ``record``; raises as :meth:`append`."""
        self.append(*record.ends(first, last), first)

    def append(self, src: np.ndarray, dst: np.ndarray, first: int) -> None:
        """Enter the events ``src[i] -> dst[i]``, ``uint32`` each, with the numbers ``first + i``.

        Raises:
            CapacityError: too little memory; nothing has changed.
        """
        vertex, other, both = self._sides(src, dst)
        done, count = 0, len(src)
        while True:
            given = *self._slots(), vertex, other, both, first & LOW, done
            begun, done = done, (_KERNELS.get("enter") or _KERNELS.look_up("enter", _enter, given))(*given)
            self._entries += (done - begun) << both
            if done == count:
                return
            try:
                self._make_slots(src[done:], dst[done:])
            except BaseException:
                self.withdraw(src[:done], dst[:done])
                raise

    def _make_slots(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Make slots for the events ``src[i] -> dst[i]``, at least for the first, where :data:`MISSING` are missing."""
        (top, missing), size, entries = self._state.tolist(), len(self._other), self._entries
        if len(src) >= entries:
            self.reserve(src, dst)
            return
        if top > max(MOST_SLOTS * entries, len(self._begin) // 4):
            with suppress(CapacityError):
                self.reserve(src[:0], dst[:0], ample=True)
                return
        ample = min(size + size // (4 if size >= SMALL else 1), int(MOST_SLOTS * entries) + 1024)
        slots = first_that_fits(self._longer, max(ample, size + missing), size + missing)
        self._other, self._number = slots

    def _longer(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots, ``count`` of them; raises ``CapacityError``."""
        in_place = reach(self._other) >= count
        self.admit(8 * (count - len(self._other) if in_place else count))
        if in_place and reach(self._number) >= count:
            return lengthened(self._other, count), lengthened(self._number, count)
        other, number = growable(count, np.uint32), growable(count, np.uint32)
        other[: len(self._other)], number[: len(self._other)] = self._other, self._number
        return other, number

    def reserve(self, src: np.ndarray, dst: np.ndarray, *, ample: bool = False) -> None:
        """Move all rows to new arrays in which their blocks have room for the events ``src[i] -> dst[i]``, too.

        ``ample``: with room for more, in blocks and behind them.

        Raises:
            CapacityError: too little memory; nothing has changed.
        """
        num_vertices = len(self._begin)
        self.admit(4 * num_vertices)
        more, blocks = np.zeros(num_vertices, np.uint32), np.zeros(CLASSES, np.int64)
        _count(self._begin, self._end, *self._sides(src, dst), more, blocks, ample)
        count = int((blocks << np.arange(CLASSES)).sum())
        count += count // 4 * ample
        self.admit(8 * count + 4 * num_vertices)
        slots = growable(count, np.uint32), growable(count, np.uint32)
        _move(*self._slots(), *slots, more, blocks, ample)
        self._other, self._number = slots

    def withdraw(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Take the newest events out again, which :meth:`append` has entered."""
        vertex, other, both = self._sides(src, dst)
        _withdraw(*self._slots(), vertex, other, both)
        self._entries -= len(src) << both

    def expire(self, record: Record, upto: int) -> None:
        """Remove the events with numbers below ``upto``, all that are in ``record`` and alive."""
        vertex, other, both = self._sides(*record.ends(record.first, upto))
        alive = np.empty(0, np.uint8) if record.alive is None else record.listed(record.alive, record.first, upto)
        given = *self._slots(), vertex, other, both, alive
        (_KERNELS.get("expire") or _KERNELS.look_up("expire", _expire, given))(*given)
        self._entries -= (int(np.count_nonzero(alive)) if len(alive) else len(vertex)) << both

    def remove(self, src: np.ndarray, dst: np.ndarray, numbers: np.ndarray, first: int) -> None:
        """Remove the events ``src[i] -> dst[i]`` with ``numbers``, ``int64[k]``; ``first`` is that of the record."""
        vertex, ends, both = self._sides(src, dst)
        self._entries -= len(src) << both
        if both:
            twice = src != dst
            vertex, numbers = np.concatenate((vertex, ends[twice])), np.concatenate((numbers, numbers[twice]))
        order = np.lexsort((numbers, vertex))
        _remove(*self._slots(), vertex[order], numbers[order])

    def between(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where the events with the numbers ``low`` to ``high`` (exclusive) begin and end in each row."""
        self.admit(16 * len(self._begin))
        begin, end = np.empty_like(self._begin), np.empty_like(self._end)
        for number, found in ((low, begin), (high, end)):
            _cut(self._begin, self._end, self._number, number & LOW, found)
        return begin, end

    def check(self, record: Record) -> None:
        """Verify that the rows are those of ``record``, and every invariant of blocks; raises ``CheckFailed``."""
        check_rows(self.over, self.rows, record)
        begin, end, size = self._begin, self._end, self._size
        degree = end - begin
        require(self._entries == int(degree.sum()) or self.over == BOTH, "the entries of rows are counted")
        filled = np.flatnonzero(degree)
        start = (end[filled] - 1) >> size[filled] << size[filled]
        require(bool((start <= begin[filled]).all()), "a row is in one block")
        used = [*zip(start.tolist(), size[filled].tolist(), strict=True)]
        for k, head in enumerate(self._free.tolist()):
            while head:
                used.append((head - 1, k))
                head = int(self._other[head - 1]) | int(self._number[head - 1]) << 32
        used.sort()
        require(all(at % (1 << k) == 0 for at, k in used), "a block begins at a multiple of its size")
        ends = [at + (1 << k) for at, k in used]
        require([0, *ends] == [*(at for at, _ in used), int(self._state[TOP])], "blocks fill the slots that were used")
        require(int(self._state[TOP]) <= len(self._other), "blocks are in the arrays")


# -- blocks ------------------------------------------------------------------------------------------------------------


@inner
def _release(other, number, free, at, k):
    """Put the block of 2^k slots at ``at`` into the list of free ones: its first slot holds the next one, plus 1."""
    following = free[k]
    other[at], number[at] = following & 0xFFFFFFFF, following >> 32
    free[k] = at + 1


@inner
def _allocate(other, number, free, state, k):
    """Return the first slot of a block of 2^k, or -1 if there is none."""
    at = free[k] - 1
    if at >= 0:
        free[k] = np.int64(other[at]) | np.int64(number[at]) << 32
        return at
    size, top = np.int64(1) << k, state[TOP]
    at = (top + size - 1) >> k << k
    if at + size > len(other):
        state[MISSING] = at + size - len(other)
        return np.int64(-1)
    part = np.int64(0)
    while top < at:  # blocks between, each at a multiple of its size
        if top >> part & 1:
            _release(other, number, free, top, part)
            top += np.int64(1) << part
        part += 1
    state[TOP] = at + size
    return at


@inner
def _place(begin, end, size, other, number, free, state, v):
    """Return the slot for the next event of ``v``, whose row is empty or ends with its block; -1: none is left."""
    low, high, k = begin[v], end[v], np.int64(size[v])
    live = high - low
    if live == 0:
        if k != UNPLACED:
            return low
        at = _allocate(other, number, free, state, 1)
        if at >= 0:
            begin[v], end[v], size[v] = at, at, 1
        return at
    start, wanted = high - (np.int64(1) << k), _class_of(live, True)
    to = start
    if wanted != k:
        to = _allocate(other, number, free, state, wanted)
        if to < 0:
            return to
    for i in range(live):
        other[to + i], number[to + i] = other[low + i], number[low + i]
    if wanted != k:
        size[v] = wanted
        _release(other, number, free, start, k)
    begin[v], end[v] = to, to + live
    return to + live


@inner
def _put(begin, end, size, other, number, free, state, v, u, low):
    """Enter the event with the low bits ``low`` and the other end ``u`` to the row of ``v``; return whether it fits."""
    at = end[v]
    if at & ((np.int64(1) << np.int64(size[v])) - 1) == 0:
        at = _place(begin, end, size, other, number, free, state, v)
        if at < 0:
            return False
    other[at], number[at] = u, low
    end[v] = at + 1
    return True


@inner
def _emptied(begin, end, size, other, number, free, v, last):
    """Give the block of ``v`` back, whose row is empty: its event was in the slot ``last``."""
    k = np.int64(size[v])
    _release(other, number, free, last >> k << k, k)
    begin[v], end[v], size[v] = 0, 0, UNPLACED


# -- events ------------------------------------------------------------------------------------------------------------


@inner
def _look_ahead(begin, end, size, other, number, vertex, i):
    """Prefetch what events that enter after i need: the entries of their vertices, and their slots."""
    if i + 2 * AHEAD < len(vertex):
        v = vertex[i + 2 * AHEAD]
        prefetch(end, v)
        prefetch(begin, v)
        prefetch(size, v)
        at = end[vertex[i + AHEAD]]
        prefetch(other, at)
        prefetch(number, at)


@kernel
def _enter(begin, end, size, other, number, free, state, vertex, ends, both, low, start):
    """Enter the events from ``start`` on; return how many are in then: fewer than all, if no slots are left.

    Event i has the number ``low + i`` and is in the row of ``vertex[i]``, with ``both`` in that of ``ends[i]``, too.
    """
    for i in range(start, len(vertex)):
        _look_ahead(begin, end, size, other, number, vertex, i)
        v, u, name = vertex[i], ends[i], (low + i) & 0xFFFFFFFF
        if not _put(begin, end, size, other, number, free, state, v, u, name):
            return i
        if both and u != v and not _put(begin, end, size, other, number, free, state, u, v, name):
            _pop(begin, end, size, other, number, free, v)
            return i
    return len(vertex)


@inner
def _pop(begin, end, size, other, number, free, v):
    """Take the newest event out of the row of ``v``."""
    end[v] -= 1
    if begin[v] == end[v]:
        _emptied(begin, end, size, other, number, free, v, end[v])


@inner
def _leave(begin, end, size, other, number, free, v):
    """Take the oldest event out of the row of ``v``."""
    begin[v] += 1
    if begin[v] == end[v]:
        _emptied(begin, end, size, other, number, free, v, end[v] - 1)


@kernel
def _withdraw(begin, end, size, other, number, free, state, vertex, ends, both):
    """Take the newest events out again, the last one first."""
    for k in range(len(vertex)):
        i = len(vertex) - 1 - k
        _pop(begin, end, size, other, number, free, vertex[i])
        if both and vertex[i] != ends[i]:
            _pop(begin, end, size, other, number, free, ends[i])


@kernel
def _expire(begin, end, size, other, number, free, state, vertex, ends, both, alive):
    """Take the oldest events out, but for those where ``alive``, empty if none was removed, is 0."""
    for i in range(len(vertex)):
        if i + AHEAD < len(vertex):  # slots are not read
            prefetch(begin, vertex[i + AHEAD])
            prefetch(end, vertex[i + AHEAD])
        if len(alive) == 0 or alive[i]:
            _leave(begin, end, size, other, number, free, vertex[i])
            if both and vertex[i] != ends[i]:
                _leave(begin, end, size, other, number, free, ends[i])


@kernel
def _remove(begin, end, size, other, number, free, state, vertex, numbers):
    """Take events out of their rows, one pass per row: those behind them move down. All ascend: vertices, numbers."""
    i = 0
    while i < len(vertex):
        v = vertex[i]
        to = _slot_of(number, begin[v], end[v], numbers[i])
        for at in range(to, end[v]):
            if i < len(vertex) and vertex[i] == v and number[at] == numbers[i] & 0xFFFFFFFF:
                i += 1
            else:
                other[to], number[to] = other[at], number[at]
                to += 1
        end[v] = to
        if begin[v] == to:
            _emptied(begin, end, size, other, number, free, v, to)


@inner
def _slot_of(number, low, high, wanted):
    """Return the first slot from ``low`` to ``high`` whose event is not before the number ``wanted``, by halving."""
    while low < high:
        middle = (low + high) >> 1
        if (np.int64(number[middle]) - wanted) & 0xFFFFFFFF >= 0x80000000:  # a difference below 0
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _cut(begin, end, number, wanted, found):
    """Write to ``found``, for each vertex, the slot in its row that :func:`_slot_of` returns."""
    for v in range(len(begin)):
        found[v] = _slot_of(number, begin[v], end[v], wanted)


# -- new arrays --------------------------------------------------------------------------------------------------------


@inner
def _class_of(entries, ample):
    """Return the k of the smallest block for so many entries, at least one; ``ample``: with a quarter of it free."""
    k = np.int64(ample)
    entries = (4 * entries + 2) // 3 if ample else entries
    while (np.int64(1) << k) < entries:
        k += 1
    return k


@kernel
def _count(begin, end, vertex, ends, both, more, blocks, ample):
    """Count in ``more`` the coming events of each vertex, and in ``blocks`` the blocks of each size that rows need."""
    for i in range(len(vertex)):
        more[vertex[i]] += np.uint32(1)
        if both and vertex[i] != ends[i]:
            more[ends[i]] += np.uint32(1)
    for v in range(len(begin)):
        entries = end[v] - begin[v] + more[v]
        if entries:
            blocks[_class_of(entries, ample)] += 1


@kernel
def _move(begin, end, size, other, number, free, state, new_other, new_number, more, blocks, ample):
    """Move all rows to new slots, the largest blocks first, so that there are no gaps; ``blocks`` is lost."""
    top = np.int64(0)
    for c in range(len(blocks)):
        k = len(blocks) - 1 - c
        blocks[k], top = top, top + (blocks[k] << k)
    free[:] = 0
    state[TOP] = top
    for v in range(len(begin)):
        live = end[v] - begin[v]
        if live + more[v]:
            k = _class_of(live + more[v], ample)
            old, at = begin[v], blocks[k]
            blocks[k] += np.int64(1) << k
            for i in range(live):
                new_other[at + i], new_number[at + i] = other[old + i], number[old + i]
            begin[v], end[v], size[v] = at, at + live, k
