"""``log.between()``: the events of a stretch of time as the edges of a graph, which operators walk.

A row of the index ascends by number, hence by time: the events of a stretch are a part of it. So a view is two further
arrays, where these parts begin and end, over the slots of the index; nothing is copied.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import EdgeList, StoreView
from suricate.events.record import LOW
from suricate.graph import Graph
from suricate.graph.options import GraphOptions, choose_backend
from suricate.state.locks import on_graph_device
from suricate.store.rows import RowsStore

if TYPE_CHECKING:
    from suricate.events import Events

REFUSED = "a view of events is for operators, which pass each event: algorithms take a graph, see su.stream.Window"


class Owner:
    """Stands for the owner of a view, which alone could change it: nobody is."""

    refusal = "a view of events cannot be changed: append to the log"


class View(Graph):
    """The events of a stretch of time, as operators take them in place of a graph; valid until the log changes.

    Attributes:
        log: the log.
        first: the number from which differences of 32 bits are counted.
        mask: an event is at ``number & mask`` in the columns.
    """

    _rehearses = False

    def __init__(self, log: Events, begin: Array, end: Array) -> None:
        from suricate.cursors.contiguous import contiguous_view  # imports Numba

        rows, record = log._index.rows, log._record
        self._events, self.log, self._made = self, log, log._version
        self.first, self.mask = record.first, record.capacity - 1
        self._seen = contiguous_view(begin, end, rows.other, rows.number)
        self._assemble(_options(log.device, log.over != "both"), (RowsStore(self._seen, log.device, _refuse),))  # type: ignore[arg-type]
        self._lock, self.workspace, self.owner = log._lock, log._workspace, Owner
        self._names, self._kept = log.names, WeakValueDictionary()

    def __repr__(self) -> str:
        return f"<View of {self.log!r}>"

    most_arcs = property(lambda self: self._seen.most_edges)
    track = compute = property(lambda self: _refuse(REFUSED))

    def view(self, over: str = "out") -> StoreView:
        """Return the arrays for kernels.

        Raises:
            RequirementError: the log has changed, or keeps no events over ``over``.
        """
        self._demand_current()
        if self.log.over not in (over, "both"):
            raise RequirementError(
                f"over={over!r}: the log has the events of a vertex over {self.log.over!r} only; make it with "
                f"su.Events(..., over={over!r})"
            )
        return self._seen

    def store(self, over: str = "out") -> Any:
        """Return the store of the events as edges; raises as :meth:`view` does."""
        self.view(over)
        return self._stores[0]

    def arcs(self) -> EdgeList:
        """Return the events of all rows as (source, destination, number), ``int64`` numbers in place of weights."""
        over = "in" if self.log.over == "in" else "out"
        owner, other, low = self.store(over).edges()
        number = self.first + ((low.astype(np.int64) - self.first) & LOW)
        return EdgeList(*((other, owner) if over == "in" else (owner, other)), number)

    @on_graph_device
    def edges(self) -> EdgeList:
        """Return the events, as :meth:`arcs` does; those without direction once."""
        return self._once(self.arcs())

    def demand(self, over: str) -> None:
        """Raise ``RequirementError`` unless an operator can walk the events over ``over``, which is valid."""
        if self.log.directed and self.log.over == "both" and over != "both":
            raise RequirementError(
                f"over={over!r}: the log was made with over='both', which tells no direction: use it"
            )
        if over == "both" and self.log.over != "both":
            raise RequirementError("over='both': make the log with su.Events(..., over='both')")

    def column(self, name: str) -> Array:
        """Return the ring of a column of numbers, as ``Events._ring``; raises ``ParameterError`` for texts, too."""
        self._demand_current()
        ring = self.log._ring(name)
        if ring.dtype == object:
            raise ParameterError(f"column {name!r} has texts, which a function of an operator cannot take")
        return ring

    def _demand_current(self) -> None:
        if self.log._version != self._made:
            raise RequirementError("the log has changed since between() made this view: make another one")


@cache
def _options(device: Device, directed: bool) -> GraphOptions:
    return GraphOptions(choose_backend(None, device)[0], directed, np.dtype(np.uint32))


def _refuse(why: str = Owner.refusal) -> NoReturn:
    raise RequirementError(why)


@on_graph_device
def between(log: Events, start: int | None = None, end: int | None = None) -> View:
    """Return the events with ``start <= time < end`` as a view, which operators take where they take a graph.

    An edge function is called as ``fn(u, v, event, *args)`` with the number of the event, int64. ``"time"``, ``"src"``,
    ``"dst"`` and names of columns of numbers among ``args`` are columns by number: ``time[event]``. Several events of a
    pair are several edges. The view is valid until the log changes. Algorithms do not take it,
    nor do ``intersect``, ``wedges``, ``contract`` and ``su.sample``.

    Args:
        start, end: times; None: from the oldest, up to the newest event.

    Raises:
        ParameterError: a time is no integer of 64 bits.
        CapacityError: there is not enough memory, 16 bytes per vertex, unless the view has all events.

    Example:
        >>> log = su.Events(3, device="cpu")
        >>> numbers = log.append([10, 20, 30], [0, 1, 0], [1, 2, 2])
        >>> times = su.neighbor_reduce(log.between(10, 30), None, lambda u, v, event, time: time[event], args=("time",),
        ...                            reduce="max", over="in")
        >>> times.tolist()[1:]
        [10, 20]
    """
    record, (first, upto) = log._record, log._numbers_between(start, end)
    if (first, upto) == (record.first, record.next):
        return View(log, *log._index.rows[:2])
    return View(log, *log._index.between(first, upto))
