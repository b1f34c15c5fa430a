"""The arrays of a map of names, and changes of them: made ahead, then kept or undone as a whole.

A change that is pending is undone by the next call (``_whole``) unless it was kept, so that a call that fails or is
interrupted anywhere leaves the names as they were. What a call reads without the lock is of the last change kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, ShapeError, VertexRangeError
from suricate.base.types import EMPTY, MAX_VERTICES
from suricate.intake.name_values import (
    COUNTED,
    DEAD,
    KIND,
    KINDS,
    LONGEST,
    NUM_FREE,
    NUM_IDS,
    NUM_NAMES,
    PENDING,
    SERIAL,
    SLIDE,
    TEXT,
    TIMES,
    USED,
    Left,
    Values,
    as_values,
    fixed,
    pairs,
)

_LENGTH, _LONGEST = np.uint64(0xFFFFFFFF), np.uint64(LONGEST)
NO_IDS = fixed(np.empty(0, np.uint32))


class Table(NamedTuple):
    """All arrays of a map, see ``name_loops``. They are replaced together, so that none is longer than the others."""

    slots: np.ndarray
    words: np.ndarray
    heap: np.ndarray
    counts: np.ndarray
    since: np.ndarray
    free: np.ndarray
    freed: np.ndarray
    head: np.ndarray
    kept: np.ndarray


class NameTable:
    """The machinery of ``Names``. Methods are called with the lock held, :meth:`_whole` first."""

    def __init__(self, dtype: str | None) -> None:
        from suricate.intake import name_loops  # imports Numba

        self._loops, self._lock = name_loops, threading.RLock()
        head = np.zeros(COUNTED + 1, np.int64)
        head[KIND] = -1 if dtype is None else KINDS.index(dtype)
        self._table = Table(
            slots=np.zeros((1 << 11, 2), np.uint64), words=np.zeros(1 << 10, np.uint64),
            heap=np.empty(1 << 14, np.uint8), counts=np.full(1 << 10, -1, np.int64), since=np.zeros(1 << 10, np.int64),
            free=np.zeros(1 << 4, np.uint64), freed=np.zeros(1 << 4, np.uint64), head=head, kept=head.copy(),
        )  # fmt: skip
        self._counted = NO_IDS, NO_IDS  # what the pending change counts up and down
        self._left: tuple[Left, ...] = ()  # what was forgotten in this slide and the one before
        self.remembers = True  #: whether that is kept

    @staticmethod
    def _dtype(head: np.ndarray) -> str | None:
        return None if head[KIND] < 0 else KINDS[head[KIND]]

    # -- names to ids --------------------------------------------------------------------------------------------------

    def _ids_of(self, values: Any, *, adds: bool = True) -> np.ndarray:
        """Return the ids of names, ``uint32[n]``; unknown names get EMPTY, or are added by a pending change."""
        known = self._dtype(self._table.head)
        given = as_values(values, known)
        ids = np.empty(len(given), np.uint32)
        if known is None and not adds:
            ids.fill(EMPTY)
        elif len(given):
            self._resolve(given.blocks(), given.kind, ids, adds=adds)
        return ids

    def _ids_of_pairs(self, src: Any, dst: Any) -> np.ndarray:
        """Return the ids of the ends of edges, ``uint32[n, 2]``; unknown names are added by a pending change."""
        known = self._dtype(self._table.head)
        ends = [as_values(end, known) for end in (src, dst)]
        kind = known or next((end.kind for end in ends if len(end)), None)
        one, other = (as_values(end, kind) if part.kind != kind else part
                      for end, part in zip((src, dst), ends, strict=True))  # fmt: skip
        if len(one) != len(other):
            raise ShapeError(f"src has {len(one)} entries and dst has {len(other)}: pass one of each per edge")
        ids = np.empty((len(one), 2), np.uint32)
        self._resolve(pairs(one, other), one.kind, ids.reshape(-1), adds=True)
        return ids

    def _resolve(
        self, blocks: Iterable[tuple[np.ndarray, np.ndarray]], kind: str, ids: np.ndarray, *, adds: bool
    ) -> None:
        code, begin = KINDS.index(kind), 0
        for keys, data in blocks:
            codes, at, into = np.empty(len(keys), np.uint32), 0, ids[begin : begin + len(keys)]
            keys, data = fixed(keys), fixed(data)
            self._loops.hash_names(keys, data, kind == TEXT, codes)
            while True:
                at = self._loops.resolve(keys, data, code, codes, at, into, adds, tuple(self._table))
                if at == len(keys):
                    break
                self._grow(int(keys[at] & _LENGTH) if kind == TEXT else 0)
            begin += len(keys)

    def _skip(self, num_ids: int) -> None:
        """Do what ``Names.skip`` does by a pending change."""
        if num_ids <= self._table.head[NUM_IDS]:
            return
        if num_ids > len(self._table.words):
            self._allot(num_ids)
        head = self._table.head
        if not head[PENDING]:
            head[COUNTED], head[SERIAL] = 0, head[SERIAL] + 1
            head[PENDING] = head[SERIAL]
        head[NUM_IDS] = num_ids

    def _values_of(self, known: np.ndarray) -> Values:
        table = self._table
        words, kind = table.words[known], self._dtype(table.head) or "int64"
        if kind != TEXT:
            return Values(kind, words.view(kind))
        offsets = np.zeros(len(known) + 1, np.int64)
        np.cumsum((words & _LONGEST).astype(np.int64), out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        self._loops.copy_texts(fixed(known), table.words, table.heap, offsets, data)
        return Values(TEXT, offsets, data)

    # -- room ----------------------------------------------------------------------------------------------------------

    def _grow(self, length: int) -> None:
        """Enlarge each array that is full, so that one more name fits, for a text of ``length`` bytes."""
        head = self._table.head
        if head[NUM_IDS] == len(self._table.words) and not head[NUM_FREE]:
            if head[NUM_IDS] >= MAX_VERTICES:
                raise VertexRangeError(f"more than {MAX_VERTICES} names")
            self._allot(min(2 * len(self._table.words), MAX_VERTICES))
        if head[USED] + length > len(self._table.heap):
            needed = head[USED] - head[DEAD] + length
            self._compact(max(len(self._table.heap), 2 * int(needed)))
        if head[NUM_NAMES] >= len(self._table.slots) // 2:
            slots = np.zeros((2 * len(self._table.slots), 2), np.uint64)
            self._loops.rehash(self._table.slots, slots)
            self._table = self._table._replace(slots=slots)

    def _expect(self, number: int) -> None:
        """Take memory for ``number`` names ahead, while there are none."""
        self._table = self._table._replace(slots=np.zeros((1 << max(11, (2 * number).bit_length()), 2), np.uint64))
        self._allot(max(number, len(self._table.words)))

    def _allot(self, size: int) -> None:
        """Enlarge the arrays that are indexed by id to ``size`` entries."""
        table, bits = self._table, (size + 63) // 64
        self._table = table._replace(
            words=_longer(table.words, size, 0), counts=_longer(table.counts, size, -1),
            since=_longer(table.since, size, 0), free=_longer(table.free, bits, 0),
            freed=_longer(table.freed, bits, 0),
        )  # fmt: skip

    def _compact(self, size: int) -> None:
        """Move the texts to a new heap of ``size`` bytes, without gaps between them."""
        table, heap = self._table, np.empty(size, np.uint8)
        if not table.head[DEAD]:
            heap[: table.head[USED]] = table.heap[: table.head[USED]]
            self._table = table._replace(heap=heap)
            return
        slots, words, head = table.slots.copy(), table.words.copy(), table.head.copy()
        head[USED], head[DEAD] = self._loops.compact(slots, words, table.counts, table.heap, heap), 0
        self._table = table._replace(slots=slots, words=words, heap=heap, head=head)

    # -- changes: made ahead, then kept or undone as a whole -----------------------------------------------------------

    def _whole(self) -> Table:
        """Undo the pending change that an error or an interrupt has left, if there is one; return the arrays."""
        if self._table.head[PENDING]:
            self._loops.undo(*self._counted, tuple(self._table))
        return self._table

    def _recount(self, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Raise and lower counts of ids; return those that reach 0, ascending; raises if one would be negative."""
        zeros = np.empty(len(down), np.uint32)
        self._counted = up, down = fixed(up), fixed(down)
        count = self._loops.recount(up, down, zeros, tuple(self._table))
        if count < 0:
            index = -1 - count
            raise ParameterError(f"ids[{index}] is {down[index]}, which is released more often than it was added")
        return np.sort(zeros[:count])

    def _leave(self, gone: np.ndarray) -> None:
        """Store the names of ids that :meth:`_keep` is to forget next."""
        head, left = self._table.head, self._left_of()
        if len(gone) and self.remembers:
            since = self._table.since[gone]
            left += (Left(gone, since, self._values_of(gone), int(head[SLIDE]), int(head[TIMES]) + 1),)
        self._left = left

    def _left_of(self) -> tuple[Left, ...]:
        """Return what was forgotten in this slide and the one before."""
        kept = self._table.kept
        return tuple(each for each in self._left if each.number <= kept[TIMES] and each.version >= kept[SLIDE] - 1)

    def _keep_added(self, ids: np.ndarray, count: bool) -> None:
        """Keep names that were added, and raise the counts of ``ids`` if ``count``."""
        if count or self._table.head[PENDING]:
            self._keep(up=ids if count else NO_IDS)

    def _keep(self, up: np.ndarray = NO_IDS, gone: np.ndarray = NO_IDS, when: int = 0, *, slides: bool = False) -> None:
        """Keep the pending change, and what is given with it, see ``name_loops.keep``."""
        self._loops.keep(fixed(up), fixed(gone), when, int(slides), tuple(self._table))


class Prepared:
    """A change of names that is made ahead, and kept with a change of a graph or undone.

    Methods are called with the lock held, which may be released in between: if another call of the map has undone the
    change, it is made again, with the same ids.

    Args:
        names: the map.
        when: when the ids of forgotten names are free, see ``name_loops``.
        slides: whether the next slide begins with the change.
    """

    def __init__(self, names: NameTable, when: int = 0, *, slides: bool = False) -> None:
        self.names, self._when, self._slides = names, when, slides
        self._steps: list[tuple[Callable[[], np.ndarray], np.ndarray]] = []  # with what they returned
        self._serial, self._gone, self.is_kept = 0, NO_IDS, False
        self.up = NO_IDS  #: ids whose counts :meth:`keep` raises by one

    @property
    def lock(self) -> Any:
        """The lock of the map."""
        return self.names._lock

    @property
    def num_ids(self) -> int:
        """The number of ids with this change."""
        return int(self.names._table.head[NUM_IDS])

    @property
    def is_empty(self) -> bool:
        """Whether no names are added and no counts changed."""
        return not self._serial

    def intern(self, values: Any) -> np.ndarray:
        """Return the ids of names, ``uint32[n]``; unknown names are added. Raises as ``Names.intern``."""
        return self._then(lambda: self.names._ids_of(values))

    def intern_pairs(self, src: Any, dst: Any, size: int) -> np.ndarray:
        """Return ``uint32[n, 2]`` as ``Names.intern_pairs``; ids below ``size`` belong to vertices without names."""

        def step() -> np.ndarray:
            number = self.names._table.head[NUM_NAMES]
            self.names._skip(size)
            ids = self.names._ids_of_pairs(src, dst)
            if self.names._table.head[NUM_NAMES] == number:
                self.names._whole()
            return ids

        return self._then(step)

    def recount(self, up: np.ndarray, down: np.ndarray, *, forgets: bool) -> np.ndarray:
        """Raise and lower counts of ids; return those that reach 0, whose names are forgotten if ``forgets``."""

        def step() -> np.ndarray:
            zeros = self.names._recount(up, down)
            self._forget(zeros if forgets else NO_IDS)
            return zeros

        return self._then(step)

    def forget(self, ids: np.ndarray) -> None:
        """Forget the names of ``ids``, ascending."""
        self._then(lambda: self._forget(ids))

    def _forget(self, ids: np.ndarray) -> np.ndarray:
        self.names._leave(ids)
        self._gone = ids
        return ids

    def added(self, ids: np.ndarray) -> np.ndarray:
        """Return which of ``ids``, which have names, get them by this change, ``bool[n]``."""
        free, kept = self.names._table.free, self.names._table.kept
        is_taken = free[ids >> 6] >> (ids & 63).astype(np.uint64) & np.uint64(1)
        return (ids >= kept[NUM_IDS]) | (is_taken != 0)

    def _then(self, step: Callable[[], np.ndarray]) -> np.ndarray:
        self.ready()
        found = step()
        self._steps.append((step, found))
        self._serial = int(self.names._table.head[PENDING])
        return found

    def ready(self) -> None:
        """Make the change again if it was undone, so that :meth:`keep` cannot fail; or raise and change nothing."""
        if self._serial and self.names._table.head[PENDING] == self._serial:
            return
        self.names._whole()
        for step, found in self._steps:
            if not np.array_equal(step(), found):
                raise RequirementError("names were added while a window or a graph was adding some: let it be alone")
        self._serial = int(self.names._table.head[PENDING])

    def keep(self) -> None:
        """Keep the change."""
        self.names._keep(self.up, self._gone, self._when, slides=self._slides)
        self.is_kept = True


def _longer(array: np.ndarray, size: int, fill: int) -> np.ndarray:
    grown = np.full(size, fill, array.dtype)
    grown[: len(array)] = array
    return grown
