"""Columns of edges on a graph of several ranks: each rank has the values of the edges of which it holds an arc.

The weight of an arc in a local store is a row of the table of its rank. Each rank numbers its rows on its own. An edge
of a batch, a delta or an answer (of a query) gets a row on every rank; on a rank that does not hold the edge this is a
*guest*, with a copy of the values. Guests of a batch or a delta are freed at the next change, those of an answer at the
next call of the same query.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import require
from suricate.base.types import edge_keys
from suricate.graph.naming import are_texts
from suricate.intake.arrays import ARGUMENTS, as_ids, bits, on_host, sorted_distinct
from suricate.state.column import TEXT
from suricate.state.edge_table import ROW, EdgeTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from suricate.base.devices import Array, Device
    from suricate.base.protocols import DeltaLike
    from suricate.base.types import EdgeList
    from suricate.placement.placement import Placement
    from suricate.state.edge_table import Kind

MUCH = 1 << 16  #: rows that changes may leave behind before they are freed, at least
SMALL = 1 << 12  #: edges of a rank whose values go along with a meeting


class DividedTable(EdgeTable):
    """The table with the columns of the edges that one rank of a divided graph holds.

    Some rows are *guests*: they hold, for a while, values of edges of other ranks, which a batch lists, or a query.
    """

    def __init__(self, part: Placement, device: Device, kinds: Mapping[str, Kind]) -> None:
        super().__init__(device, kinds)
        self._part = part
        self._answers: dict[str, np.ndarray] = {}  # guests by the call that they answer
        self._change: list[np.ndarray] = []  # rows that the change under way leaves behind
        self._left: list[np.ndarray] = []  # those that changes have left behind
        self.is_stale = False  #: whether rows have to be compared with the stores: edges moved, or a change failed

    # -- changes -------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a change; free unused rows first if there are many, or if the last change failed."""
        self.is_stale |= bool(self._change)  # of a change that failed
        if self.is_stale:
            self.recover(self._held())
        elif self._waiting + sum(map(len, [*self._left, *self._answers.values()])) > max(MUCH, self._tail // 2):
            self.read_deltas()

    def start(self) -> None:
        """Do nothing: :meth:`take` and :meth:`begin` begin a change."""

    def take(self, count: int) -> np.ndarray:
        """Begin a change; return ``count`` unused rows, which all columns have; raises ``CapacityError``."""
        self.begin()
        rows = super().take(count)
        self._change.append(rows[:0])  # so that a failure is seen
        return rows

    def leave(self, rows: Array) -> None:
        """Record ``rows`` that the current change takes from their edges: they can be freed once it has ended."""
        self._change.append(on_host(rows))

    def keep_answers(self) -> None:
        """Count the guests of all answers as guests of the current change, whose delta lists their edges."""
        self._change += self._answers.values()
        self._answers = {}

    def undo(self, error: BaseException) -> None:
        """Record that a change failed: the next one first computes the free rows from the stores. Uses no argument."""
        self.is_stale, self._batch = True, self._free[:0]

    def follow(self, delta: DeltaLike) -> None:
        """End a change that has succeeded: the rows that it leaves without an edge can be freed from now on.

        :meth:`read_deltas` finds them in ``delta``.
        """
        super().follow(delta)
        self._left, self._change = self._left + self._change, []

    def read_deltas(self) -> None:
        """Free all guests, and the rows that no edge of this rank has any more; waits for the device."""
        if self.is_stale:
            self.recover(self._held())
            return
        super().read_deltas()
        left = sorted_distinct(np.concatenate([self._free[:0], *self._left, *self._answers.values()]))
        self._free, self._left, self._answers = np.concatenate((self._free, left)), [], {}

    def _left_by(self, rows: np.ndarray, delta: DeltaLike) -> np.ndarray:
        """Return those of ``rows``, given to a batch's edges, that no edge of this rank has after the change."""
        kept = [self._here(delta.inserted), self._here(delta.replaced)] if len(rows) else []
        return np.setdiff1d(rows, np.concatenate(kept)) if kept else rows

    def _here(self, edges: EdgeList) -> np.ndarray:
        own = self._part.owns(edges.src)
        if self._part.holds_both:
            own |= self._part.owns(edges.dst)
        return on_host(edges.weight[own])  # type: ignore[index]

    def recover(self, rows: np.ndarray) -> None:
        """Free all rows but ``rows``, those of the edges that this rank holds; this ends all guests."""
        super().recover(rows)
        self._change, self._left, self._answers, self.is_stale = [], [], {}, False

    def _held(self) -> np.ndarray:
        return sorted_distinct(np.concatenate([on_host(store.local.edges().weight) for store in self._part.stores]))

    # -- rows of others ------------------------------------------------------------------------------------------------

    def rows_of_all(self, own: Array, call: str = "", counts: list[int] | None = None) -> list[Array]:
        """Make rows on this rank for the edges that other ranks pass, with copies of their values; collective.

        ``own``: rows of the edges that this rank passes. ``call`` names the query that returns the edges: the guests of
        its last answer are freed; ``""``: the edges are part of a change. ``counts``: how many edges each rank passes,
        None: not known. Returns, for each rank, the rows here of the edges that it passed; raises ``CapacityError`` on
        all ranks if one lacks the memory.
        """
        comm = self._part.comm
        counts = comm.allgather(len(own)) if counts is None else counts
        self.give(self._answers.pop(call, self._free[:0]))
        guests, problem, small = self._free[:0], None, max(counts) <= SMALL
        told: list[Any] = []
        try:
            guests = self._taken(sum(counts) - len(own))
            told += [on_host(self.values(name, own)) for name in self.columns] if small else []
        except Exception as error:
            problem = error
        try:
            everybody = comm.together(problem, told)
        except Exception:
            self.give(guests)
            raise
        if call:
            self._answers[call] = guests
        else:
            self.leave(guests)
        ends = np.cumsum([0 if rank == comm.rank else count for rank, count in enumerate(counts)])
        rows = [
            on_host(own) if rank == comm.rank else guests[end - counts[rank] : end] for rank, end in enumerate(ends)
        ]
        for k, (name, column) in enumerate(self.columns.items()):
            of_all = [values[k] for values in everybody] if small else self._values_of_all(name, own)
            for rank, values in enumerate(of_all):
                if rank != comm.rank:
                    column.write(rows[rank], column.device.xp.asarray(values))
        return [self.device.xp.asarray(one, ROW) for one in rows]

    def routed(self, parts: list[Array]) -> list[Array]:
        """Send edges with rows ``parts[r]`` to each rank ``r``; return the rows here of those received; collective.

        The rows are new, by sender; ``parts[rank]`` stays as it is. Raises ``CapacityError`` on all ranks if one lacks
        the memory.
        """
        comm, xp = self._part.comm, self.device.xp
        counts = [0 if rank == comm.rank else sizes[comm.rank] for rank, sizes in enumerate(_sizes(comm, parts))]
        with comm.alike():
            made = self._taken(sum(counts))
        rows = np.split(made, np.cumsum(counts)[:-1])
        for name, column in self.columns.items():
            sent = [self.values(name, part) for part in parts]
            is_text = column.dtype == TEXT
            given = [np.frombuffer(pickle.dumps(one.tolist()), np.uint8) if is_text else bits(one) for one in sent]
            for rank, one in enumerate(comm.exchange(given)):
                if rank != comm.rank:
                    values = texts_of(pickle.loads(one.tobytes())) if is_text else one.view(sent[0].dtype)
                    column.write(rows[rank], column.device.xp.asarray(values))
        rows[comm.rank] = on_host(parts[comm.rank])
        return [xp.asarray(one, ROW) for one in rows]

    def _values_of_all(self, name: str, own: Array) -> list[Any]:
        """Return one array per rank: the values of column ``name`` of the edges that it passes; collective."""
        values, comm = self.values(name, own), self._part.comm
        if values.dtype == TEXT:
            return [texts_of(each) for each in comm.gather("texts", values.tolist())]
        return [each.view(values.dtype) for each in comm.allgatherv(bits(values))]

    def compared(self, rows: np.ndarray) -> np.ndarray:
        """Return a hash of the values in each row, ``int64[len(rows)]``, by which checks compare edges.

        Row numbers would not do: the two arcs of an edge may have different ones on two ranks.
        """
        values = [self.columns[name].device.to_numpy(self.values(name, rows)).tolist() for name in self.columns]
        return np.array([hash(repr(row)) for row in zip(*values, strict=True)], np.int64)

    def check(self, rows: np.ndarray) -> None:
        """Verify on all ranks that each edge has one row, not free and of no other edge; collective."""
        with self._part.comm.alike():
            self.read_deltas()
            for number, store in enumerate(self._part.stores):
                src, dst, held = (on_host(column) for column in store.local.edges())
                ends = (dst, src) if number else (src, dst)
                if not self._part.graph.directed:
                    ends = np.minimum(src, dst), np.maximum(src, dst)
                pairs = np.unique(np.stack((held.astype(np.uint64), edge_keys(*ends).astype(np.uint64))), axis=1)
                require(len(np.unique(held)) == pairs.shape[1], "each edge has a row of its own")
            super().check(self._held())


def _sizes(comm: Any, parts: list[Array]) -> list[list[int]]:
    """Return how many entries each rank sends to each other; collective."""
    found: list[list[int]] = comm.allgather([*map(len, parts)])
    return found


def texts_of(values: list[str]) -> np.ndarray:
    """Return texts as an array of Python objects."""
    made = np.empty(len(values), object)
    made[:] = values
    return made


class GivenColumns:
    """The columns that this rank passes with its part of a batch: texts on the host, others where their column is."""

    def __init__(self, table: EdgeTable, given: Any, count: int) -> None:
        self._table = table
        self.values = {}
        for name, values in table.checked(given, count).items():
            column = table.columns[name]
            self.values[name] = column.device.xp.broadcast_to(column.device.xp.asarray(values), (count,))

    def at(self, places: Array) -> None:
        """Drop the values of all edges but those at ``places``, positions in the part of this rank."""
        for name, values in self.values.items():
            host = self._table.columns[name].dtype == TEXT
            self.values[name] = values[on_host(places) if host else self._table.device.xp.asarray(places)]

    def joined(self, comm: Any, known: Sequence[Any], sizes: Sequence[int], *, small: bool) -> dict[str, Array]:
        """Return columns by name, each with the values of the edges of all ranks, in rank order.

        A rank that lacks a column contributes missing values. ``known``: by rank the names of its columns or, if
        ``small``, their values by name, on the host; else this is collective. ``sizes``: numbers of edges by rank.
        """
        found = {}
        for name in sorted(set().union(*known)):
            column = self._table.columns[name]
            missing = partial(column.device.xp.full, fill_value=column.missing, dtype=column.dtype)
            if small:
                given = zip(known, sizes, strict=True)
                found[name] = np.concatenate([one[name] if name in one else missing(size) for one, size in given])
                continue
            values = self.values.get(name)
            if values is None:
                values = missing(sizes[comm.rank])
            if column.dtype == TEXT:
                found[name] = texts_of([text for part in comm.gather("texts", values.tolist()) for text in part])
            else:
                found[name] = comm.joined(column.device.xp.ascontiguousarray(values))
        return found


def with_places(table: EdgeTable, insert: Any, part: int) -> tuple[Any, GivenColumns | None]:
    """Return the edges ``insert`` with their positions as weights, and the columns that were given in place of weights.

    After validation, the positions that are left tell which edges were kept. None: ``insert`` has no edges.
    """
    src, dst, given = insert
    if src is None and dst is None:
        return insert, None
    if not are_texts(src):
        src = as_ids(src, ARGUMENTS[part][0])
    return (src, dst, np.arange(len(src), dtype=ROW)), GivenColumns(table, given, len(src))
