"""The division of a window's events among the ranks of a job.

An event lies with the rank that owns its source in the graph, in undirected windows the smaller of its ends. So a rank
has all events of a pair, in the order of one process, and its ring finds the net change of its pairs alone. When the
graph has moved vertices to other ranks, their events follow before the next slide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import module_of
from suricate.intake.arrays import by_owner, on_host
from suricate.windows.events import Events, in_order, times_of
from suricate.windows.ring import Change

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.comm.protocol import Comm
    from suricate.windows.ring.device_ring import AnyRing


class EventDivision:
    """The part of a window's events that this rank has, and what all ranks know of the whole.

    Args:
        comm: the ranks.
        owners: returns the placement of the graph, which has its ownership.
        directed: whether pairs have an order.

    Attributes:
        oldest: the time of the oldest live event of all ranks, None if there is none.
        num_pairs: the number of pairs with live events on all ranks.
    """

    def __init__(self, comm: Comm, owners: Callable[[], Any], *, directed: bool) -> None:
        self.comm, self._owners, self._directed = comm, owners, directed
        self.oldest: int | None = None
        self.num_pairs = 0
        self._owned: Any = None  # the ownership by which events lie now; None: they lie anywhere
        self._events: Events | None = None  # of the slide that closes, once they are with their owners,
        self._change: Change | None = None  # and the change that they make, until all ranks have theirs

    def slide(self, ring: AnyRing, events: Events, like: Events, cutoff: int | None) -> Change:
        """Slide the rings of all ranks; return this rank's net change, with the counts of events of all ranks.

        If a rank lacks memory for its events, all raise, and the next call goes on with what each has.

        Args:
            ring: the live events of this rank.
            events: those that enter from this rank.
            like: none of these, with the columns that they have on all ranks.
            cutoff: see ``Ring.slide``.
        """
        problem: Exception | None = None
        if self._events is None:
            self._events = self._with_owners(events, like, ring.device.xp)
        if self._change is None:
            try:
                self._change = ring.slide(self._events, cutoff)
            except Exception as error:
                problem = error
        change = self.agreed(ring, self._change, problem)
        self._events = self._change = None
        return change

    def agreed(self, ring: AnyRing | None, change: Change | None, problem: Exception | None = None) -> Change:
        """Return this rank's ``change`` with counts of all ranks; if one has a ``problem``, all raise it."""
        facts = None
        if problem is None and change is not None and ring is not None:
            facts = change.left, change.taken, change.unmatched, change.top, ring.num_pairs, ring.oldest, change.size
        everybody = [facts for facts in self.comm.together(problem, facts) if facts is not None]
        left, taken, unmatched, top, pairs, oldest, sizes = zip(*everybody, strict=True)
        self.num_pairs = sum(pairs)
        self.oldest = min((time for time in oldest if time is not None), default=None)
        assert change is not None
        counts = sum(left), sum(taken), sum(unmatched), max(top)
        return change._replace(**dict(zip(("left", "taken", "unmatched", "top"), counts, strict=True)), sizes=sizes)

    # -- owners --------------------------------------------------------------------------------------------------------

    def moved(self, ring: AnyRing, top: int) -> AnyRing:
        """Return the ring of this rank after events of vertices that have other owners now were moved; collective.

        ``top``: the largest id of the events that enter next; of new vertices it is foreseen who will own them.
        """
        before = self._owned
        self._owned = self._owners().ahead(max(top + 1, 0 if before is None else before.num_vertices))
        if before is not None and (self._owned is before or not len(self._owned.moved(before).begin)):
            return ring
        events, slides = ring.live()
        owner = self._owner_of(events)
        away = owner != self.comm.rank
        if not any(self.comm.allgather(bool(away.any()))):
            return ring
        columns = [*_columns_of(events), slides]
        come = _exchanged(self.comm, [column[away] for column in columns], owner[away])
        columns = [np.concatenate((column[~away], part)) for column, part in zip(columns, come, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        *columns, slides = (column[order] for column in columns)
        return ring.with_live(_events_of(columns, events), slides, ring.number)

    def _owner_of(self, events: Events) -> Array:
        """Return the rank that has, or is to have, each of ``events``."""
        source = events.src if self._directed else module_of(events.src).minimum(events.src, events.dst)
        found: Array = self._owned.owner(source)
        return found

    def _with_owners(self, events: Events, like: Events, xp: Any) -> Events:
        """Return the events of all ranks that this one is to have, with ends in memory of ``xp``; collective."""
        put = on_host if xp is np or events.position is not None else xp.asarray
        events = events._replace(src=put(events.src), dst=put(events.dst))
        owner, columns = self._owner_of(events), _columns_of(events._replace(time=times_of(events.time)))
        if events.position is not None:  # of several ranks
            found = in_order(_events_of(_exchanged(self.comm, columns, owner), like))
            return found._replace(src=xp.asarray(found.src), dst=xp.asarray(found.dst))
        if xp is np:
            return _events_of(_exchanged(self.comm, columns, owner), like)
        (time,) = _exchanged(self.comm, columns[:1], on_host(owner))
        return _events_of([time, *_exchanged(self.comm, columns[1:], owner)], like)


def _columns_of(events: Events) -> list[Any]:
    return [column for column in events if column is not None]


def _events_of(columns: list[Any], like: Events) -> Events:
    """Return ``columns`` as events that have the same columns as ``like``."""
    found = iter(columns)
    return Events(*(None if column is None else next(found) for column in like))  # type: ignore[arg-type]


def _exchanged(comm: Comm, columns: list[Any], owner: Array) -> list[Any]:
    """Send each row of ``columns`` to the rank that ``owner`` says; return those received, in rank order."""
    there = module_of(columns[0])
    order, spans = by_owner(owner, comm.size)
    columns = [column[order] for column in columns]
    parts = [there.concatenate([column[low:high].view(np.uint8) for column in columns]) for low, high in spans]
    width, found = sum(column.dtype.itemsize for column in columns), list[Any]()
    for part in comm.exchange(parts):
        number, at = len(part) // width, 0
        found.append([])
        for column in columns:
            size = number * column.dtype.itemsize
            found[-1].append(part[at : at + size].view(column.dtype))
            at += size
    return [there.concatenate(each) for each in zip(*found, strict=True)]
