"""``Names``: texts or integers <-> vertices, in one hash table that grows and forgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from suricate.base.errors import DTypeError, ParameterError, ShapeError, VertexRangeError
from suricate.base.parameters import flag, integer, shown
from suricate.base.types import EMPTY
from suricate.intake import name_state
from suricate.intake.arrays import as_ids, on_host, sorted_distinct
from suricate.intake.name_table import NO_IDS, NameTable
from suricate.intake.name_values import (
    AT_ONCE,
    KINDS,
    LONGEST,
    NEXT_SLIDE,
    NUM_IDS,
    NUM_NAMES,
    RESERVED,
    SLIDE,
    TEXT,
    Values,
    fixed,
)

_LENGTH = np.uint64(0xFFFFFFFF)


class Names(NameTable):
    """A one-to-one map between names and vertex ids. Names are texts, or integers of 64 bits.

    A new name gets the lowest free id. Each name has a count, which :meth:`add` and :meth:`retain` raise and
    :meth:`release` lowers; at 0 the name is forgotten, unless ``keep``. The id of a forgotten name is free from the
    next call of :meth:`next_slide` on: within a slide an id means one vertex.

    Names are passed as lists, arrays of NumPy, or columns of Arrow, pandas or polars; a single ``str`` or ``int`` gives
    a single answer. Texts are UTF-8, up to 16 MiB each. Ids and answers are in host memory. Several threads may use a
    map. A call that fails or is interrupted leaves the map as it was.

    Args:
        dtype: ``"text"``, ``"int64"``, ``"uint64"``, or None: what the first names are.
        keep: whether names whose count reaches 0 are kept.

    Raises:
        ParameterError: another ``dtype``.

    Example:
        >>> names = su.Names.of(["ann", "bob"])
        >>> g = su.Graph(names=names, device="cpu")
        >>> delta = g.insert_edges(["ann", "cid"], ["bob", "ann"])
        >>> g.names.find(["cid", "dan"]).tolist(), g.names[[0, 2]].tolist()
        ([2, -1], ['ann', 'cid'])
    """

    def __init__(self, dtype: str | None = None, *, keep: bool = False) -> None:
        if dtype not in (None, *KINDS):
            raise ParameterError(f"dtype must be 'text', 'int64', 'uint64' or None, got {shown(dtype)}")
        super().__init__(dtype)
        self.keep = flag("keep", keep)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Return a context manager: inside it other threads wait for the map. It is reentrant.

        Example:
            >>> names = su.Names.of(["ann", "bob"])
            >>> with names.exclusive():
            ...     print(names.find("bob"))
            1
        """
        return self._lock

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> str | None:
        """``"text"``, ``"int64"`` or ``"uint64"``; None as long as there are no names to tell."""
        return self._dtype(self._table.kept)

    @property
    def num_ids(self) -> int:
        """One more than the largest id that was ever given out: the number of vertices of a graph with these names."""
        return int(self._table.kept[NUM_IDS])

    @property
    def version(self) -> int:
        """Number of calls of :meth:`next_slide`."""
        return int(self._table.kept[SLIDE])

    def __len__(self) -> int:
        return int(self._table.kept[NUM_NAMES])

    def __repr__(self) -> str:
        return f"<Names: {len(self)} of dtype {self.dtype}, {self.num_ids} ids, version {self.version}>"

    @property
    def ids(self) -> np.ndarray:
        """Ids that have a name, ascending, ``uint32``."""
        with self._lock:
            return np.flatnonzero(self._whole().counts[: self.num_ids] >= 0).astype(np.uint32)

    # -- names to ids --------------------------------------------------------------------------------------------------

    def intern(self, values: Any) -> Any:
        """Return the ids of names, ``uint32[n]``; unknown names are added, with count 0.

        Raises:
            DTypeError, ShapeError, ParameterError: the values are not names, or not of the map's kind.
            VertexRangeError: there are more names than ids.

        Example:
            >>> names = su.Names()
            >>> names.intern(["ann", "bob", "ann"]).tolist()
            [0, 1, 0]
        """
        return self._resolved(values, adds=True)

    def add(self, values: Any) -> Any:
        """Return the ids of names as :meth:`intern` does, and raise the count of each by one per occurrence.

        Example:
            >>> names = su.Names()
            >>> names.add(["ann", "bob", "ann"]).tolist(), names.counts([0, 1]).tolist()
            ([0, 1, 0], [2, 1])
        """
        return self._resolved(values, adds=True, count=True)

    def intern_pairs(self, src: Any, dst: Any, *, count: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the ends of edges; unknown names are added, edge by edge, the source first.

        With ``count``, the count of each name is raised by one per occurrence. Raises :meth:`intern`'s errors.

        Example:
            >>> src, dst = su.Names().intern_pairs(["ann", "cid"], ["bob", "ann"])
            >>> src.tolist(), dst.tolist()
            ([0, 2], [1, 0])
        """
        with self._lock:
            self._whole()
            ids = self._ids_of_pairs(src, dst)
            self._keep_added(ids.reshape(-1), count)
            return np.ascontiguousarray(ids[:, 0]), np.ascontiguousarray(ids[:, 1])

    def find(self, values: Any) -> Any:
        """Return the ids of names, ``int64[n]``, -1 for unknown ones. Raises as :meth:`intern` if they are no names.

        Example:
            >>> su.Names.of(["ann", "bob"]).find(["bob", "cid"]).tolist()
            [1, -1]
        """
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

    def _resolved(self, values: Any, *, adds: bool, count: bool = False) -> Any:
        if isinstance(values, (str, bytes, int, np.integer)):
            return int(self._resolved([values], adds=adds, count=count)[0])
        with self._lock:
            self._whole()
            ids = self._ids_of(values, adds=adds)
            if adds:
                self._keep_added(ids, count)
            return ids

    def intern_spans(self, data: np.ndarray, spans: np.ndarray, *, count: bool = False) -> np.ndarray:
        """Return ids of texts, ``uint32[n]``, adding unknown ones; ``spans``: ``start << 32 | length`` in ``data``.

        With ``count``, the count of each name is raised by one per occurrence.

        Example:
            >>> names = su.Names("text")
            >>> spans = np.array([0 << 32 | 3, 3 << 32 | 3], np.uint64)
            >>> names.intern_spans(np.frombuffer(b"annbob", np.uint8), spans).tolist(), names[[0, 1]].tolist()
            ([0, 1], ['ann', 'bob'])
        """
        with self._lock:
            self._whole()
            if self.dtype != TEXT:
                raise DTypeError("the names are no texts")
            if len(spans) and int((spans & _LENGTH).max()) > LONGEST:
                raise ParameterError(f"a name has more than {LONGEST} bytes")
            ids = np.empty(len(spans), np.uint32)
            self._resolve([(spans, data)], TEXT, ids, adds=True)
            self._keep_added(ids, count)
            return ids

    # -- counts, forgetting, slides ------------------------------------------------------------------------------------

    def counts(self, ids: Any) -> np.ndarray:
        """Return the counts of ids, ``int64[n]``; raises ``VertexRangeError`` if an id is invalid or has no name.

        Example:
            >>> names = su.Names()
            >>> ids = names.add(["ann", "ann", "bob"])
            >>> names.counts([0, 1]).tolist()
            [2, 1]
        """
        with self._lock:
            return self._whole().counts[self._known(ids)]

    def retain(self, ids: Any) -> None:
        """Raise the count of ids by one per occurrence.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.

        Example:
            >>> names = su.Names()
            >>> ids = names.add(["ann"])
            >>> names.retain([0])
            >>> names.counts([0]).tolist()
            [2]
        """
        with self._lock:
            self._whole()
            self._keep(up=self._known(ids))

    def release(self, ids: Any) -> np.ndarray:
        """Lower the count of ids by one per occurrence; unless ``keep``, forget the names of those that reach 0.

        Add the names of a slide before you release those that it loses.

        Returns:
            The ids whose count reached 0, ascending, ``uint32``.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.
            ParameterError: a count would become negative; nothing is changed.

        Example:
            >>> names = su.Names()
            >>> ids = names.add(["ann", "bob", "ann"])
            >>> names.release([0, 1]).tolist(), names.find(["ann", "bob"]).tolist()
            ([1], [0, -1])
        """
        with self._lock:
            self._whole()
            zeros = self._recount(NO_IDS, self._known(ids))
            gone = NO_IDS if self.keep else zeros
            self._leave(gone)
            self._keep(gone=gone, when=NEXT_SLIDE)
            return zeros

    def forget(self, ids: Any, *, reuse: bool = True) -> None:
        """Forget the names of ids, whatever their counts.

        Args:
            ids: integers, ``n``.
            reuse: whether the ids are given out again, from the next slide on.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.

        Example:
            >>> names = su.Names.of(["ann", "bob"])
            >>> names.forget([0])
            >>> names.find(["ann", "bob"]).tolist()
            [-1, 1]
        """
        with self._lock:
            self._whole()
            known = sorted_distinct(self._known(ids).copy())
            self._leave(known)
            self._keep(gone=known, when=NEXT_SLIDE if reuse else RESERVED)

    def withdraw(self, ids: Any) -> None:
        """Forget names added since the last :meth:`next_slide`, which no graph has used: their ids are free at once.

        Args:
            ids: integers, ``n``.

        Raises:
            VertexRangeError, DTypeError, ShapeError: an id is invalid or has no name; nothing is changed.
            ParameterError: an id was given out in an earlier slide; nothing is changed.

        Example:
            >>> names = su.Names()
            >>> ids = names.intern(["ann", "bob"])
            >>> names.withdraw([1])
            >>> names.intern(["cid"]).tolist()
            [1]
        """
        with self._lock:
            since = self._whole().since
            known = sorted_distinct(self._known(ids).copy())
            old = known[since[known] < self.version]
            if len(old):
                raise ParameterError(f"id {old[0]} was given out in an earlier slide: forget it")
            self._leave(NO_IDS)
            self._keep(gone=known, when=AT_ONCE)

    def skip(self, num_ids: int) -> None:
        """Never give out ids below ``num_ids`` that are unused so far: they belong to vertices without names.

        Example:
            >>> names = su.Names()
            >>> names.skip(5)
            >>> names.intern(["ann"]).tolist()
            [5]
        """
        with self._lock:
            self._whole()
            self._skip(num_ids)
            self._keep()

    def next_slide(self) -> int:
        """Begin the next slide: ids that were freed are given out from here on; return the new :attr:`version`.

        Example:
            >>> names = su.Names.of(["ann", "bob"])
            >>> names.forget([0])
            >>> names.next_slide()
            1
            >>> names.intern(["cid"]).tolist()
            [0]
        """
        with self._lock:
            self._whole()
            self._keep(slides=True)
            self._left = self._left_of()
            return self.version

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
            self._whole()
            if isinstance(ids, slice):
                ids = np.arange(*ids.indices(self.num_ids))
            one = np.ndim(ids) == 0
            known = self._known([ids] if one else ids)
            if version is not None:
                self._check_version(known, integer("version", version, low=0, high=self.version))
            named = self._values_of(known).decoded()
            return (named[0] if self.dtype == TEXT else int(named[0])) if one else named

    def values_of(self, ids: Any) -> Values:
        """Return the names of ids as ``Values``, a copy; raises ``VertexRangeError`` if one has no name.

        Example:
            >>> len(su.Names.of(["ann", "bob"]).values_of([1]))
            1
        """
        with self._lock:
            self._whole()
            return self._values_of(self._known(ids))

    def to_arrow(self, ids: Any) -> Any:
        """Return the names of ids as an Arrow array; needs pyarrow. ``VertexRangeError``: an id has no name.

        Example:
            >>> su.Names.of(["ann", "bob"]).to_arrow([1, 0]).to_pylist()
            ['bob', 'ann']
        """
        import pyarrow as pa

        values = self.values_of(ids)
        if values.kind != TEXT:
            return pa.array(values.numbers)
        parts = [None, pa.py_buffer(values.numbers), pa.py_buffer(values.data)]
        return pa.Array.from_buffers(pa.large_string(), len(values), parts)

    def has(self, ids: Any) -> np.ndarray:
        """Return ``bool[n]``: which ids have a name; ids are integers that are not negative.

        Example:
            >>> su.Names.of(["ann", "bob"]).has([1, 5]).tolist()
            [True, False]
        """
        with self._lock:
            return self._at(ids, self._whole().counts, -1) >= 0

    def since(self, ids: Any) -> np.ndarray:
        """Return ``int64[n]``: the version in which each id was last given out; 0 for ids that never were.

        Example:
            >>> names = su.Names.of(["ann"])
            >>> names.next_slide()
            1
            >>> ids = names.intern(["bob"])
            >>> names.since([0, 1]).tolist()
            [0, 1]
        """
        with self._lock:
            return self._at(ids, self._whole().since, 0)

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

        Example:
            >>> names = su.Names.of(["ann", "bob"])
            >>> names.forget([0])
            >>> ids, texts = names.forgotten()
            >>> ids.tolist(), list(texts)
            ([0], ['ann'])
        """
        last = self.version if version is None else integer("version", version, low=0)
        ids, names = [np.empty(0, np.uint32)], [np.empty(0, object if self.dtype == TEXT else self.dtype or "int64")]
        with self._lock:
            for left in self._left_of():
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
            size = int(self._table.head[NUM_IDS])
            if low < 0 or high >= size:
                raise VertexRangeError(f"ids: {low if low < 0 else high} has no name; there are {size} ids")
        known = fixed(given.astype(np.uint32, copy=False))
        nameless = self._table.counts[known] < 0
        if nameless.any():
            index = int(nameless.argmax())
            raise VertexRangeError(f"ids[{index}] is {known[index]}, which has no name (any more)")
        return known

    def _check_version(self, known: np.ndarray, version: int) -> None:
        since = self._table.since[known]
        recycled = since > version
        if recycled.any():
            index = int(recycled.argmax())
            raise VertexRangeError(
                f"ids[{index}] is {known[index]}, which was given out again in version {since[index]}: "
                f"at version {version} it had another name, or none"
            )

    # -- copies and checkpoints ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the map as arrays by name, for ``numpy.savez`` without pickle; :meth:`restore` reads them.

        Example:
            >>> names = su.Names.of(["ann", "bob"])
            >>> su.Names.restore(names.state())[[1]].tolist()
            ['bob']
        """
        with self._lock:
            return name_state.state_of(self)

    @classmethod
    def restore(cls, state: Any) -> Names:
        """Return the map that was saved by :meth:`state`.

        Raises:
            ParameterError: ``state`` is not a saved state, is damaged, or of a later version.

        Example:
            >>> np.savez("names.npz", **su.Names.of(["ann", "bob"]).state())
            >>> with np.load("names.npz") as state:
            ...     print(su.Names.restore(state).find("bob"))
            1
        """
        return name_state.restored(cls, state)

    @classmethod
    def of(cls, names: Any) -> Names:
        """Return a map in which id ``i`` has the name ``names[i]``; of a :class:`Names`, a copy.

        Raises:
            ParameterError: two ids have the same name.
            DTypeError, ShapeError: ``names`` are not texts or integers in one dimension.

        Example:
            >>> names = su.Names.of(["ann", "bob"])
            >>> names.find(["bob", "cid"]).tolist()
            [1, -1]
        """
        if isinstance(names, Names):
            return names.copy()
        made = cls()
        ids = made.intern(names)
        if not isinstance(ids, np.ndarray):
            raise ShapeError(f"names must be several names, or Names, got {shown(names)}")
        twice = np.flatnonzero(ids != np.arange(len(ids)))
        if len(twice):
            raise ParameterError(f"names[{twice[0]}], {shown(made[int(ids[twice[0]])])}, is the name of two vertices")
        return made

    def copy(self) -> Names:
        """Return an independent copy.

        Example:
            >>> names = su.Names.of(["ann"])
            >>> other = names.copy()
            >>> ids = other.intern(["bob"])
            >>> len(names), len(other)
            (1, 2)
        """
        return Names.restore(self.state())

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Names:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return Names.restore, (self.state(),)

    def memory_usage(self) -> dict[str, int]:
        """Return the bytes of each part: ``table``, ``texts``, ``ids``, ``forgotten`` (see :meth:`forgotten`).

        Example:
            >>> sorted(su.Names.of(["ann", "bob"]).memory_usage())
            ['forgotten', 'ids', 'table', 'texts']
        """
        with self._lock:
            slots, words, heap, *by_id = self._table
            left = sum(part.nbytes for part in self._left_of())
            ids = sum(part.nbytes for part in (words, *by_id))
            return {"table": slots.nbytes, "texts": heap.nbytes, "ids": ids, "forgotten": left}

    def check(self) -> None:
        """Verify every invariant; raises ``CheckFailed``.

        Example:
            >>> print(su.Names.of(["ann", "bob"]).check())
            None
        """
        with self._lock:
            name_state.check(self)
