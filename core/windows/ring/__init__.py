"""The live events of a window, and the net change of its edges per slide; the events of each edge are counted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suricate.base.devices import CPU
from suricate.base.errors import WeightError
from suricate.base.types import edge_keys, ends_of
from suricate.intake.arrays import converted_weights, on_host
from suricate.state.edge_table import WEIGHT
from suricate.windows.events import Events
from suricate.windows.ring import linked
from suricate.windows.ring.combined_values import EdgeValues
from suricate.windows.ring.linked import BACK, COMBINE, FREED, FRONT, PAIRS, TOUCHED, Kept, Pairs

EXACT = {4: 2**24, 8: 2**53}  #: by size of a float in bytes: up to here it holds every whole number
ATTRIBUTES, VALUES = "attributes", "attributes_held"  #: what is saved of attributes: of events, of pairs
_LEAST = 1024  #: entries of a new ring
_NO_TIMES = np.empty(0, np.int64)
_ROW = 8  # numbers in a row of a pair: 64 bytes


class Change(NamedTuple):
    """The net change of a slide, in which each pair occurs once.

    Attributes:
        gone: sources and destinations, ``uint32[k]`` each, of pairs whose last live event left.
        new: likewise, ``uint32[m]`` each, of pairs that are new or have another weight.
        value: weights of ``new``, ``int64[m]`` or ``float64[m]``; None if edges have none.
        fresh: ``bool[m]``, which of ``new`` had no live event before; None: all of them.
        left: number of live events that left by time. taken: number of events that deletions and sets removed.
        unmatched: number of deletions and sets that found no event.
        top: an upper bound of the ids in ``new``; -1 if it is empty.
        attributes: those of ``new`` by name, ``[m]``, texts as objects; None if edges have none.
        sizes: :attr:`size` of each rank's part, if all know it.
    """

    gone: tuple[np.ndarray, np.ndarray]
    new: tuple[np.ndarray, np.ndarray]
    value: np.ndarray | None
    fresh: np.ndarray | None
    left: int
    taken: int
    unmatched: int
    top: int
    attributes: Mapping[str, np.ndarray] | None = None
    sizes: Sequence[tuple[int, int, bool]] | None = None

    @property
    def size(self) -> tuple[int, int, bool]:
        """How many pairs are gone and new, and whether these have weights."""
        return len(self.gone[0]), len(self.new[0]), self.value is not None


class Ring:
    """The live events of a window.

    Args:
        combine: how the weights of the live events of a pair are combined into one: a key of ``COMBINE``.
        weight_dtype: ``int64`` or ``float64`` of the events' weights; None: they have none.
        attributes: the attributes of the edges, or None.
        directed: whether a pair has an order; else the smaller id becomes the source.
    """

    device, arrivals = CPU, None  #: events stay on the host

    def __init__(
        self,
        combine: str,
        weight_dtype: np.dtype | None,
        attributes: EdgeValues | None = None,
        *,
        directed: bool = True,
    ) -> None:
        self.attributes, self._directed, self._made = attributes, directed, (combine, weight_dtype)
        if attributes is not None:
            attributes.reserve(_LEAST, _LEAST)
        self._combine = COMBINE[combine]
        self._weighted = weight_dtype is not None or combine == "count"
        self._exact = combine == "sum" and weight_dtype == np.int64  # sums of integers are kept
        sums_floats, held = combine == "sum" and not self._exact, np.int64 if combine == "count" else weight_dtype
        entered = _LEAST if sums_floats or (attributes and attributes.sums_floats) else 0
        sizes = *[_LEAST] * 5, entered, 0 if weight_dtype is None else _LEAST
        dtypes = np.int64, np.uint32, np.uint8, np.int64, np.int64, np.int64, weight_dtype or np.float64
        self._kept = Kept(*map(np.empty, sizes, dtypes))
        self._pairs = Pairs(
            _rows(_LEAST), np.zeros(_LEAST if self._weighted else 0, held or np.float64),
            _table(2 * _LEAST), np.empty(_LEAST, np.uint32), np.empty(_LEAST, np.uint32),
        )  # fmt: skip
        self._state, self.number = np.zeros(8, np.int64), 0  #: the number of the next slide
        #: before the events of the newest slide entered: the front, the back, and what was alive (None: the same)
        self.entry: tuple[int, int, np.ndarray | None] = (0, 0, None)

    def __len__(self) -> int:
        """Return the number of events in the ring, including removed ones whose time has not passed yet."""
        return int(self._state[BACK] - self._state[FRONT])

    @property
    def num_pairs(self) -> int:
        """The number of pairs with live events."""
        return int(self._state[PAIRS] - self._state[FREED])

    @property
    def numbers(self) -> tuple[int, int]:
        """The number of the oldest event in the ring, and of the next to enter; event n is at ``n % capacity``."""
        return int(self._state[FRONT]), int(self._state[BACK])

    @property
    def kept(self) -> Kept:
        """What the ring has of each event, by place."""
        return self._kept

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Weights and attributes of events by name and place in the ring; of texts their ids."""
        held = {WEIGHT: self._kept.weight} if len(self._kept.weight) else {}
        if self.attributes is None:
            return held
        events = self.attributes.events
        return held | {name: events[name] for name in events.dtype.names or ()}

    def ends_of(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations, ``uint32`` each, of the events at ``places``, unless removed long ago."""
        return ends_of(self._pairs.row[self._kept.pair[places], linked.KEY].astype(np.uint64))

    def ends_between(self, first: int, next: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the events ``first`` to ``next`` (exclusive) as :meth:`ends_of`; 0 for removed ones."""
        src, dst = np.empty((2, next - first), np.uint32)
        linked.ends_between(self._kept, self._pairs, first, src, dst)
        return src, dst

    def removed(self) -> np.ndarray:
        """Return the numbers of events, ``int64``, that deletions and sets of the newest slide removed, ascending."""
        front, back, before = self.entry
        mask, alive, new = len(self._kept.time) - 1, self._kept.alive, np.arange(back, self._state[BACK])
        places = () if before is None else np.flatnonzero(before > alive)
        old = front + (np.asarray(places, np.int64) - front & mask)
        return np.concatenate((np.sort(old[old < back]), new[alive[new & mask] == 0]))

    @property
    def oldest(self) -> int | None:
        """The time of the oldest live event, None if there is none."""
        kept, state, mask = self._kept, self._state, len(self._kept.time) - 1
        front = state[FRONT]
        if front < state[BACK] and not kept.alive[front & mask]:
            linked.skip_taken(kept, state)
            front = state[FRONT]
        return int(kept.time[front & mask]) if front < state[BACK] else None

    @property
    def memory(self) -> int:
        """Return the bytes of all arrays."""
        further = () if self.attributes is None else (self.attributes.events, self.attributes.held)
        return sum(array.nbytes for array in (*self._kept, *self._pairs, *further))

    def slide(self, events: Events, cutoff: int | None) -> Change:
        """Remove events with times below ``cutoff``, apply ``events`` in their order, and return the net change.

        ``cutoff`` None: no event leaves by its time.

        Raises:
            WeightError: a sum of integers leaves int64; the ring must not be used afterwards.
        """
        self._reserve(len(events.time))
        state, kept, pairs = self._state, self._kept, self._pairs
        state[[TOUCHED, linked.UNMATCHED, linked.TAKEN, linked.OVERFLOW]] = 0
        left = 0 if cutoff is None else linked.expire(kept, pairs, cutoff, self.number, self._exact, state)
        self.entry = int(state[FRONT]), int(state[BACK]), None if events.kind is None else kept.alive.copy()
        src, dst = events.src, events.dst
        if type(src) is not np.ndarray or type(dst) is not np.ndarray:
            src, dst = on_host(src), on_host(dst)
        if not self._directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        keys = src.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= dst
        weight = kept.weight[:0] if events.weight is None else events.weight
        kind = np.empty(0, np.int8) if events.kind is None else events.kind
        if self.attributes is not None and events.attributes is not None:
            entering = events.attributes if not len(kind) else events.attributes[kind >= 0]
            places = np.arange(state[BACK], state[BACK] + len(entering)) & (len(kept.time) - 1)
            self.attributes.events[places] = entering
        time, first = (_NO_TIMES, events.time.start) if isinstance(events.time, range) else (events.time, 0)
        linked.enter(kept, pairs, time, first, keys, weight, kind, self.number, self._exact, state)
        if state[linked.OVERFLOW]:
            key = int(pairs.row[state[linked.OVERFLOW] - 1, linked.KEY])
            ends = f"({key >> 32 & 0xFFFFFFFF}, {key & 0xFFFFFFFF})"
            raise WeightError(f"the sum of the weights of edge {ends} is out of the range of int64")
        most = int(state[TOUCHED])
        gone, new = np.empty((2, most), np.uint32), np.empty((2, most), np.uint32)
        value = np.empty(most if self._weighted else 0, pairs.held.dtype)
        fresh, number = np.empty(most, np.uint8), np.empty(0 if self.attributes is None else most, np.uint32)
        lost, gained, top = linked.net_change(
            kept, pairs, self._combine, self._exact, state, gone, new, value, fresh, number
        )
        self.number += 1
        counts = left, int(state[linked.TAKEN]), int(state[linked.UNMATCHED]), top
        new, fresh, pairs_gone = new[:, :gained], fresh[:gained], (gone[0, :lost], gone[1, :lost])
        values = value[:gained] if self._weighted else None
        if self.attributes is None:
            return Change(pairs_gone, (new[0], new[1]), values, fresh.view(bool), *counts)
        found, differs = self.attributes.changed(kept, pairs, number[:gained], fresh != 2)
        values = None if values is None else values[differs]
        columns = self.attributes.columns(found[differs])
        return Change(pairs_gone, (new[0, differs], new[1, differs]), values, fresh[differs] == 1, *counts, columns)

    def _reserve(self, more: int) -> None:
        """Enlarge the ring and the arrays of pairs, where needed, for ``more`` further events and as many new pairs."""
        wanted = int(self._state[BACK] - self._state[FRONT]) + more
        if wanted > len(self._kept.time):
            self._place_events(self._events(), 1 << (wanted - 1).bit_length())
        needed = int(self._state[PAIRS]) + max(more - int(self._state[FREED]), 0)
        if needed > len(self._pairs.row):
            self._place_pairs(self._listed(), 1 << (needed - 1).bit_length(), self._pairs.table)
        most = int(self._state[PAIRS] - self._state[FREED]) + more
        if 4 * most > len(self._pairs.table):
            self._pairs = self._pairs._replace(table=_table(1 << (2 * most - 1).bit_length()))
            linked.fill_table(self._pairs, int(self._state[PAIRS]))

    def on_host(self) -> Ring:
        """Return the ring itself, as its events are on the host."""
        return self

    def used_attributes(self) -> Collection[np.ndarray]:
        """Return structured arrays: the attributes of all live events, and the combined ones of edges in the graph."""
        if self.attributes is None:
            return ()
        places = np.arange(self._state[FRONT], self._state[BACK]) & (len(self._kept.time) - 1)
        return self.attributes.events[places], self.attributes.held[: self._state[PAIRS]]

    def live(self) -> tuple[Events, np.ndarray]:
        """Return copies of the live events, oldest first, and the numbers of the slides in which they entered.

        These numbers are 0 unless sums of floats need them.
        """
        kept = self._kept
        places = np.arange(self._state[FRONT], self._state[BACK]) & (len(kept.time) - 1)
        places = places[kept.alive[places] != 0]
        weight = kept.weight[places] if len(kept.weight) else None
        attributes = None if self.attributes is None else self.attributes.events
        attributes = attributes[places] if attributes is not None and attributes.dtype.names else None
        slides = kept.entered[places] if len(kept.entered) else np.zeros(len(places), np.int64)
        return Events(kept.time[places], *self.ends_of(places), weight, None, attributes), slides

    def with_live(self, events: Events, slides: np.ndarray, number: int) -> Ring:
        """Return a ring of the same kind with these live events, as :meth:`live` returns them; this one is used up.

        ``number``: that of the next slide.
        """
        ring = Ring(*self._made, self.attributes, directed=self._directed)
        begins = [0, *(np.flatnonzero(np.diff(slides)) + 1).tolist(), events.number]
        for low, high in pairwise(begins) if events.number else ():
            ring.number = int(slides[low]) if len(self._kept.entered) else number - 1
            ring.slide(events.taken(slice(low, high)), None)
        ring.number = number
        return ring

    def renew(self, halvings: int) -> None:
        """Halve all weights ``halvings`` times, also those that the graph has; sums of integers stay."""
        with np.errstate(all="ignore"):  # what is not used may be anything
            for values in (self._kept.weight, self._pairs.held):
                np.ldexp(values, -min(halvings, 4096), out=values)

    def with_all(self, change: Change) -> Change:
        """Return the newest ``change`` with all pairs of the graph as ``new`` ones, as their weights were renewed."""
        assert change.fresh is not None
        held = self.held()
        fresh = np.isin(edge_keys(*held.new), edge_keys(*change.new)[change.fresh])
        return change._replace(new=held.new, value=held.value, fresh=fresh)  # the graph has the other vertices

    # -- state ---------------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, np.ndarray]:
        """Return everything that :meth:`load` needs, as arrays."""
        return {**self._events(), **self._listed(), "state": self._state, "slide": np.array(self.number)}

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Restore a ring with the same options from what :meth:`save` returned."""
        self._state, self.number = saved["state"].copy(), int(saved["slide"])
        self._place_events(saved, max(_LEAST, 1 << max(len(self) - 1, 0).bit_length()))
        size = max(_LEAST, 1 << max(int(self._state[PAIRS]) - 1, 0).bit_length())
        self._place_pairs(saved, size, _table(2 * size))
        linked.fill_table(self._pairs, int(self._state[PAIRS]))

    def _events(self) -> dict[str, np.ndarray]:
        """Return the events as arrays by name, the oldest first: fields of :class:`Kept`, and their attributes."""
        places = np.arange(self._state[FRONT], self._state[BACK]) & (len(self._kept.time) - 1)
        further = {} if self.attributes is None else {ATTRIBUTES: self.attributes.events}
        columns = self._kept._asdict() | further
        return {name: column[places] for name, column in columns.items() if len(column)}

    def _place_events(self, columns: Mapping[str, np.ndarray], size: int) -> None:
        """Put the events ``columns``, as :meth:`_events` returns them, into a new ring of ``size`` entries."""
        places = np.arange(self._state[FRONT], self._state[BACK]) & (size - 1)
        kept = {name: np.empty(size if len(old) else 0, old.dtype) for name, old in self._kept._asdict().items()}
        self._kept = Kept(**kept)
        if self.attributes is not None:
            kept[ATTRIBUTES] = self.attributes.events = np.empty(size, self.attributes.events.dtype)
        for name, column in kept.items():
            if len(column):
                column[places] = columns[name]

    def _listed(self) -> dict[str, np.ndarray]:
        """Return the state of the pairs as arrays by name.

        ``row``, ``held`` and, with attributes, their values have an entry per number of a pair; ``free`` lists unused
        numbers.
        """
        number, pairs = int(self._state[PAIRS]), self._pairs
        listed = {"row": pairs.row[:number], "held": pairs.held[:number], "free": pairs.free[: self._state[FREED]]}
        return listed if self.attributes is None else listed | {VALUES: self.attributes.held[:number]}

    def _place_pairs(self, listed: Mapping[str, np.ndarray], size: int, table: np.ndarray) -> None:
        """Copy the state of the pairs, as :meth:`_listed` returned it, to new arrays of ``size`` entries.

        ``table`` becomes the hash table of the pairs; nothing is written to it.
        """
        row, held = _rows(size), np.zeros(size if self._weighted else 0, self._pairs.held.dtype)
        self._pairs = Pairs(row, held, table, np.empty(size, np.uint32), np.empty(size, np.uint32))
        columns = {"row": row, "held": held, "free": self._pairs.free}
        if self.attributes is not None:
            columns[VALUES] = self.attributes.held = np.zeros(size, self.attributes.held.dtype)
        for name, column in columns.items():
            column[: len(listed[name])] = listed[name]

    def held(self) -> Change:
        """Return all pairs that are in the graph, with weights and attributes, as the ``new`` ones of a change."""
        rows = self._pairs.row[: self._state[PAIRS]]
        which = (rows[:, linked.LIVE] > 0) & (rows[:, linked.HELD] != 0)
        new = ends_of(rows[which, linked.KEY].astype(np.uint64))
        value = self._pairs.held[: len(rows)][which] if self._weighted else None
        further = self.attributes
        attributes = None if further is None else further.columns(further.held[: len(rows)][which])
        top = int(max(part.max() for part in new)) if len(new[0]) else -1
        return Change((new[0][:0], new[1][:0]), new, value, None, 0, 0, 0, top, attributes)


def _rows(count: int) -> np.ndarray:
    """Return an uninitialised array ``int64[count, 8]`` whose rows are aligned to cache lines."""
    memory = np.empty(8 * (count + 1), np.int64)
    begin = -(memory.ctypes.data // 8) % _ROW
    return memory[begin : begin + _ROW * count].reshape(count, _ROW)


def _table(places: int) -> np.ndarray:
    """Return an empty hash table with ``places`` places, eight per cache line; at most half of them may be used."""
    table = _rows(places // linked.TAGS).reshape(-1).view(np.uint32)
    table.fill(linked.FREE)
    return table


def fitted_weights(value: np.ndarray, dtype: np.dtype, ends: Sequence[np.ndarray]) -> np.ndarray:
    """Return the weights ``value`` in the graph's ``dtype``; raise ``WeightError`` if one does not fit.

    ``ends`` are the sources and destinations, by which the error names the pair.
    """
    found, at = converted_weights(value, dtype)
    if at is None and dtype.kind == "f" and value.dtype.kind == "i":  # whole numbers stay exact
        inexact = np.abs(value) > EXACT[dtype.itemsize]
        at = int(inexact.argmax()) if inexact.any() else None
    if at is not None:
        edge = f"({ends[0][at]}, {ends[1][at]})"
        why = "" if dtype.kind != "f" else f", which holds whole numbers up to {EXACT[dtype.itemsize]}: pass floats"
        raise WeightError(f"weight {value[at]} of edge {edge} does not fit weight_dtype={dtype.name!r}{why}")
    return found
