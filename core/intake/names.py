"""``Names``: texts or integers <-> vertices, in one hash table that grows and forgets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from suricate.base.errors import DTypeError, ParameterError, ShapeError, VertexRangeError
from suricate.base.parameters import flag, integer, shown
from suricate.base.types import EMPTY, MAX_VERTICES
from suricate.intake import name_state
from suricate.intake.arrays import as_ids, on_host, sorted_distinct
from suricate.intake.name_values import (
    DEAD,
    KINDS,
    LONGEST,
    NUM_FREE,
    NUM_IDS,
    NUM_NAMES,
    SLIDE,
    TEXT,
    USED,
    Left,
    Values,
    as_values,
    fixed,
    pairs,
)

_LENGTH, _LONGEST = np.uint64(0xFFFFFFFF), np.uint64(LONGEST)


class Names:
    """A one-to-one map between names and vertex ids. Names are texts, or integers of 64 bits.

    A new name gets the lowest free id. Each name has a count, which :meth:`add` and :meth:`retain` raise and
    :meth:`release` lowers; at 0 the name is forgotten, unless ``keep``. The id of a forgotten name is free from the
    next call of :meth:`next_slide` on: within a slide an id means one vertex.

    Names are passed as lists, arrays of NumPy, or columns of Arrow, pandas or polars; a single ``str`` or ``int`` gives
    a single answer. Texts are UTF-8, up to 16 MiB each. Ids and answers are in host memory. Several threads may use a
    map.

    Args:
        dtype: ``"text"``, ``"int64"``, ``"uint64"``, or None: what the first names are.
        keep: whether names whose count reaches 0 are kept.

    Raises:
        ParameterError: another ``dtype``.
    """

    def __init__(self, dtype: str | None = None, *, keep: bool = False) -> None:
        if dtype not in (None, *KINDS):
            raise ParameterError(f"dtype must be 'text', 'int64', 'uint64' or None, got {shown(dtype)}")
        self._kind, self.keep = dtype, flag("keep", keep)
        from suricate.intake import name_loops  # imports Numba

        self._loops, self._lock = name_loops, threading.RLock()
        self._head = np.zeros(7, np.int64)
        self._words, self._counts = np.zeros(1 << 10, np.uint64), np.full(1 << 10, -1, np.int64)
        self._since, self._free = np.zeros(1 << 10, np.int64), np.zeros(1 << 4, np.uint64)
        self._heap = np.empty(1 << 14, np.uint8)
        self._table, self._shift = np.zeros((1 << 11, 2), np.uint64), 32 - 11
        self._freed: list[np.ndarray] = []  # ids that are free from the next slide on
        self._left: list[Left] = []  # what was forgotten in this slide,
        self._left_before: list[Left] = []  # and in the one before

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> str | None:
        """``"text"``, ``"int64"`` or ``"uint64"``; None as long as there are no names to tell."""
        return self._kind

    @property
    def num_ids(self) -> int:
        """One more than the largest id that was ever given out: the number of vertices of a graph with these names."""
        return int(self._head[NUM_IDS])

    @property
    def version(self) -> int:
        """Number of calls of :meth:`next_slide`."""
        return int(self._head[SLIDE])

    def __len__(self) -> int:
        return int(self._head[NUM_NAMES])

    def __repr__(self) -> str:
        return f"<Names: {len(self)} of dtype {self._kind}, {self.num_ids} ids, version {self.version}>"

    @property
    def ids(self) -> np.ndarray:
        """Ids that have a name, ascending, ``uint32``."""
        with self._lock:
            return np.flatnonzero(self._counts[: self.num_ids] >= 0).astype(np.uint32)

    # -- names to ids --------------------------------------------------------------------------------------------------

    def intern(self, values: Any) -> Any:
        """Return the ids of names, ``uint32[n]``; unknown names are added, with count 0.

        Raises:
            DTypeError, ShapeError, ParameterError: the values are not names, or not of the map's kind.
            VertexRangeError: there are more names than ids; names are added until the ids are used up.
        """
        return self._resolved(values, adds=True)

    def add(self, values: Any) -> Any:
        """Return the ids of names as :meth:`intern` does, and raise the count of each by one per occurrence."""
        with self._lock:
            ids = self._resolved(values, adds=True)
            self._loops.count_up(fixed(np.atleast_1d(np.asarray(ids, np.uint32))), self._counts)
            return ids

    def intern_pairs(self, src: Any, dst: Any, *, count: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the ends of edges; unknown names are added, edge by edge, the source first.

        With ``count``, the count of each name is raised by one per occurrence. Raises :meth:`intern`'s errors.
        """
        with self._lock:
            ends = [as_values(end, self._kind) for end in (src, dst)]
            kind = self._kind or next((end.kind for end in ends if len(end)), None)
            one, other = (as_values(end, kind) if part.kind != kind else part
                          for end, part in zip((src, dst), ends, strict=True))  # fmt: skip
            if len(one) != len(other):
                raise ShapeError(f"src has {len(one)} entries and dst has {len(other)}: pass one of each per edge")
            self._kind = kind if len(one) else self._kind
            ids, done = np.empty((len(one), 2), np.uint32), 0
            for keys, data in pairs(one, other):
                self._resolve(keys, data, ids.reshape(-1)[done : done + len(keys)], adds=True)
                done += len(keys)
            if count:
                self._loops.count_up(fixed(ids.reshape(-1)), self._counts)
            return np.ascontiguousarray(ids[:, 0]), np.ascontiguousarray(ids[:, 1])

    def find(self, values: Any) -> Any:
        """Return the ids of names, ``int64[n]``, -1 for unknown ones. Raises as :meth:`intern` if they are no names."""
        ids = self._resolved(values, adds=False)
        if isinstance(ids, int):
            return -1 if ids == EMPTY else ids
        found = ids.astype(np.int64)
        found[ids == EMPTY] = -1
        return found

    def __contains__(self, name: object) -> bool:
        try:
            return bool(self.find([name])[0] >= 0)
        except (DTypeError, ShapeError, ParameterError):
            return False

    def _resolved(self, values: Any, *, adds: bool) -> Any:
        if isinstance(values, (str, bytes, int, np.integer)):
            return int(self._resolved([values], adds=adds)[0])
        with self._lock:
            given = as_values(values, self._kind)
            return self._ids_of(given, adds=adds)

    def _ids_of(self, given: Values, *, adds: bool) -> np.ndarray:
        if len(given):
            self._kind = self._kind or (given.kind if adds else None)
        ids, done = np.empty(len(given), np.uint32), 0
        if self._kind is None:
            ids.fill(EMPTY)
            return ids
        for keys, data in given.blocks() if len(given) else ():
            self._resolve(keys, data, ids[done : done + len(keys)], adds=adds)
            done += len(keys)
        return ids

    def intern_spans(self, data: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Return ids of texts, ``uint32[n]``, adding unknown ones; ``spans``: ``start << 32 | length`` in ``data``."""
        with self._lock:
            if self._kind != TEXT:
                raise DTypeError("the names are no texts")
            if len(spans) and int((spans & _LENGTH).max()) > LONGEST:
                raise ParameterError(f"a name has more than {LONGEST} bytes")
            ids = np.empty(len(spans), np.uint32)
            self._resolve(spans, data, ids, adds=True)
            return ids

    def _resolve(self, keys: np.ndarray, data: np.ndarray, ids: np.ndarray, *, adds: bool) -> None:
        codes, text, done = np.empty(len(keys), np.uint32), self._kind == TEXT, 0
        keys, data = fixed(keys), fixed(data)
        self._loops.hash_names(keys, data, text, codes)
        while True:
            state = (
                self._table, self._shift, self._words, self._heap, self._counts, self._since, self._free, self._head,
            )  # fmt: skip
            done = self._loops.resolve(keys, data, text, codes, done, ids, adds, state)
            if done == len(keys):
                return
            self._grow(int(keys[done] & _LENGTH) if text else 0)

    # -- room ----------------------------------------------------------------------------------------------------------

    def _grow(self, length: int) -> None:
        """Enlarge each array that is full, so that one more name fits, for a text of ``length`` bytes."""
        head = self._head
        if head[NUM_IDS] == len(self._words) and not head[NUM_FREE]:
            if head[NUM_IDS] >= MAX_VERTICES:
                raise VertexRangeError(f"more than {MAX_VERTICES} names")
            self._allot(min(2 * len(self._words), MAX_VERTICES))
        if head[USED] + length > len(self._heap):
            needed = head[USED] - head[DEAD] + length
            self._compact(max(len(self._heap), 2 * int(needed)))
        if head[NUM_NAMES] >= len(self._table) // 2:
            old, self._shift = self._table, max(self._shift - 1, 0)
            self._table = np.zeros((2 * len(old), 2), np.uint64)
            self._loops.rehash(old, self._table, self._shift)

    def _allot(self, size: int) -> None:
        """Enlarge the arrays that are indexed by id to ``size`` entries."""
        self._words, self._since = _longer(self._words, size, 0), _longer(self._since, size, 0)
        self._counts, self._free = _longer(self._counts, size, -1), _longer(self._free, (size + 63) // 64, 0)

    def _compact(self, size: int) -> None:
        """Move the texts to a new heap of ``size`` bytes, without gaps between them."""
        heap, moved = np.empty(size, np.uint8), self._head[DEAD] > 0
        if moved:
            self._head[USED] = self._loops.compact(self._words, self.ids, self._heap, heap)
            self._loops.repoint(self._table, self._words)
        else:
            heap[: self._head[USED]] = self._heap[: self._head[USED]]
        self._heap, self._head[DEAD] = heap, 0

    # -- counts, forgetting, slides ------------------------------------------------------------------------------------

    def counts(self, ids: Any) -> np.ndarray:
        """Return the counts of ids, ``int64[n]``; raises ``VertexRangeError`` if an id is invalid or has no name."""
        with self._lock:
            return self._counts[self._known(ids)]

    def retain(self, ids: Any) -> None:
        """Raise the count of ids by one per occurrence.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.
        """
        with self._lock:
            self._loops.count_up(self._known(ids), self._counts)

    def release(self, ids: Any) -> np.ndarray:
        """Lower the count of ids by one per occurrence; unless ``keep``, forget the names of those that reach 0.

        Add the names of a slide before you release those that it loses.

        Returns:
            The ids whose count reached 0, ascending, ``uint32``.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.
            ParameterError: a count would become negative; nothing is changed.
        """
        with self._lock:
            known = self._known(ids)
            zeros = np.empty(len(known), np.uint32)
            count = self._loops.count_down(known, self._counts, zeros)
            if count < 0:
                index = -1 - count
                raise ParameterError(f"ids[{index}] is {known[index]}, which is released more often than it was added")
            zeros = np.sort(zeros[:count])
            if not self.keep:
                self._erase(zeros)
            return zeros

    def forget(self, ids: Any, *, reuse: bool = True) -> None:
        """Forget the names of ids, whatever their counts.

        Args:
            ids: integers, ``n``.
            reuse: whether the ids are given out again, from the next slide on.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.
        """
        with self._lock:
            known = sorted_distinct(self._known(ids).copy())
            self._erase(known)
            if len(known) and not reuse:
                self._freed.pop()

    def withdraw(self, ids: Any) -> None:
        """Forget names added since the last :meth:`next_slide`, which no graph has used: their ids are free at once.

        Args:
            ids: integers, ``n``.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.
            ParameterError: an id was given out in an earlier slide; nothing is changed.
        """
        with self._lock:
            known = sorted_distinct(self._known(ids).copy())
            old = known[self._since[known] < self.version]
            if len(old):
                raise ParameterError(f"id {old[0]} was given out in an earlier slide: forget it")
            self._erase(known)
            if len(known):
                self._freed.pop()
                self._left.pop()
                last = known == np.arange(self.num_ids - len(known), self.num_ids)  # at the end: they never were
                self._head[NUM_IDS] -= np.count_nonzero(last)
                name_state.set_free(self, known[~last])

    def skip(self, num_ids: int) -> None:
        """Never give out ids below ``num_ids`` that are unused so far: they belong to vertices without names."""
        with self._lock:
            if num_ids > self.num_ids:
                self._allot(max(num_ids, len(self._words)))
                self._head[NUM_IDS] = num_ids

    def next_slide(self) -> int:
        """Begin the next slide: ids that were freed are given out from here on; return the new :attr:`version`."""
        with self._lock:
            for ids in self._freed:
                name_state.set_free(self, ids)
            self._freed.clear()
            self._left_before, self._left = self._left, []
            self._head[SLIDE] += 1
            return self.version

    def _erase(self, ids: np.ndarray) -> None:
        if len(ids):
            text = self._kind == TEXT
            self._left.append(Left(ids, self._since[ids], self.values_of(ids)))
            self._loops.erase(ids, self._words, self._heap, text, self._table, self._shift, self._counts, self._head)
            self._freed.append(ids)

    # -- ids to names --------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """``names[ids]``: the names that ids have now; ``names[ids, version]``: those they had at that version.

        Ids are an array, a list or a slice, which gives an array (integers of :attr:`dtype`, or ``str`` in an object
        array), or one id, which gives one name. Bytes that are not UTF-8 become surrogates.

        Raises:
            VertexRangeError: an id has no name, or with ``version``: was given out again since.
            DTypeError, ShapeError, ParameterError: the ids are not integers, or there is no such version.
        """
        ids, version = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        with self._lock:
            if isinstance(ids, slice):
                ids = np.arange(*ids.indices(self.num_ids))
            one = np.ndim(ids) == 0
            known = self._known([ids] if one else ids)
            if version is not None:
                self._check_version(known, integer("version", version, low=0, high=self.version))
            named = self.values_of(known).decoded()
            return (named[0] if self._kind == TEXT else int(named[0])) if one else named

    def values_of(self, ids: Any) -> Values:
        """Return the names of ids as ``Values``, a copy; its ``decoded()`` makes ``str``.

        Raises ``VertexRangeError`` if an id has no name.
        """
        with self._lock:
            known = self._known(ids)
            if self._kind != TEXT:
                return Values(self._kind or "int64", self._words[known].view(self._kind or "int64"))
            offsets = np.zeros(len(known) + 1, np.int64)
            np.cumsum((self._words[known] & _LONGEST).astype(np.int64), out=offsets[1:])
            data = np.empty(int(offsets[-1]), np.uint8)
            self._loops.copy_texts(known, self._words, self._heap, offsets, data)
            return Values(TEXT, offsets, data)

    def to_arrow(self, ids: Any) -> Any:
        """Return the names of ids as an Arrow array; needs pyarrow. ``VertexRangeError``: an id has no name."""
        import pyarrow as pa

        values = self.values_of(ids)
        if values.kind != TEXT:
            return pa.array(values.numbers)
        parts = [None, pa.py_buffer(values.numbers), pa.py_buffer(values.data)]
        return pa.Array.from_buffers(pa.large_string(), len(values), parts)

    def has(self, ids: Any) -> np.ndarray:
        """Return ``bool[n]``: which ids have a name; ids are integers that are not negative."""
        with self._lock:
            return self._at(ids, self._counts, -1) >= 0

    def since(self, ids: Any) -> np.ndarray:
        """Return ``int64[n]``: the version in which each id was last given out; 0 for ids that never were."""
        with self._lock:
            return self._at(ids, self._since, 0)

    def _at(self, ids: Any, column: np.ndarray, absent: int) -> np.ndarray:
        """Return ``column[id]`` for each of ``ids``, and ``absent`` for integers that are not ids."""
        given = on_host(as_ids(ids, "ids")).astype(np.int64)
        inside = (given >= 0) & (given < self.num_ids)
        found = np.full(len(given), absent, np.int64)
        found[inside] = column[given[inside]]
        return found

    def forgotten(self, version: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return ids, ``uint32[n]``, and names that were forgotten in the last slide or in this one, in that order.

        With ``version``, only names that were added at that version or before. Copies and states do not have them.
        """
        last = self.version if version is None else integer("version", version, low=0)
        ids, names = [np.empty(0, np.uint32)], [np.empty(0, object if self._kind == TEXT else self._kind or "int64")]
        with self._lock:
            for left in self._left_before + self._left:
                at = np.flatnonzero(left.since <= last)
                ids.append(left.ids[at])
                names.append(left.names.decoded(at))
        return np.concatenate(ids), np.concatenate(names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self[self.ids].tolist())

    def _known(self, ids: Any) -> np.ndarray:
        """Return ids on the host as ``uint32``; raises ``VertexRangeError`` unless each has a name."""
        given = on_host(as_ids(ids, "ids"))
        if len(given):
            low, high = int(given.min()), int(given.max())
            if low < 0 or high >= self.num_ids:
                raise VertexRangeError(f"ids: {low if low < 0 else high} has no name; there are {self.num_ids} ids")
        known = fixed(given.astype(np.uint32, copy=False))
        nameless = self._counts[known] < 0
        if nameless.any():
            index = int(nameless.argmax())
            raise VertexRangeError(f"ids[{index}] is {known[index]}, which has no name (any more)")
        return known

    def _check_version(self, known: np.ndarray, version: int) -> None:
        recycled = self._since[known] > version
        if recycled.any():
            index = int(recycled.argmax())
            raise VertexRangeError(
                f"ids[{index}] is {known[index]}, which was given out again in version {self._since[known[index]]}: "
                f"at version {version} it had another name, or none"
            )

    # -- copies and checkpoints ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the map as arrays by name, for ``numpy.savez`` without pickle; :meth:`restore` reads them."""
        with self._lock:
            return name_state.state_of(self)

    @classmethod
    def restore(cls, state: Any) -> Names:
        """Return the map that was saved by :meth:`state`.

        Raises:
            ParameterError: ``state`` is not a saved state, is damaged, or of a later version.
        """
        return name_state.restored(cls, state)

    @classmethod
    def of(cls, names: Any) -> Names:
        """Return a map in which id ``i`` has the name ``names[i]``; of a :class:`Names`, a copy.

        Raises:
            ParameterError: two ids have the same name.
            DTypeError, ShapeError: ``names`` are not texts or integers in one dimension.
        """
        if isinstance(names, Names):
            return names.copy()
        made = cls()
        ids = made.intern(names)
        twice = np.flatnonzero(ids != np.arange(len(ids)))
        if len(twice):
            raise ParameterError(f"names[{twice[0]}], {shown(made[int(ids[twice[0]])])}, is the name of two vertices")
        return made

    def copy(self) -> Names:
        """Return an independent copy."""
        return Names.restore(self.state())

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Names:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return Names.restore, (self.state(),)

    def memory_usage(self) -> dict[str, int]:
        """Return the bytes of each part: ``table``, ``texts``, ``ids``, ``forgotten`` (see :meth:`forgotten`)."""
        with self._lock:
            by_id = sum(part.nbytes for part in (self._words, self._counts, self._since, self._free, *self._freed))
            left = sum(part.nbytes for part in self._left_before + self._left)
            return {"table": self._table.nbytes, "texts": self._heap.nbytes, "ids": by_id, "forgotten": left}

    def check(self) -> None:
        """Verify every invariant; raises ``CheckFailed``."""
        with self._lock:
            name_state.check(self)


def _longer(array: np.ndarray, size: int, fill: int) -> np.ndarray:
    grown = np.full(size, fill, array.dtype)
    grown[: len(array)] = array
    return grown
