"""Earliest arrivals by label correcting with operators, on any device, with the answers of the pass over events.

A label per vertex only falls, and a vertex whose label fell offers again. Numbers ascend with time, so the number of
the last event is the label: a vertex keeps the lowest number among the events that leave a vertex after its arrival,
which is the first that the pass takes. With ``through`` times come first. Among the events of one time the pass goes
forwards and backwards by turns; there a label is the moment in which the pass takes the event: the turn, and the place
in it. An event that leaves a vertex is taken at the next moment at which it is passed, the earlier the earlier the
vertex was reached, so that these labels too have one answer.

Backwards all numbers and times are complemented (``^ -1``), which turns their order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.time.limits import FIRST, LAST, NONE
from suricate.operators import Stop, converge, propagate

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.events import Events

TURN = 31  #: bits of a place within a turn
PLACES = (1 << TURN) - 1


@cache
def _functions(turned: bool, checked: bool) -> tuple[Callable[..., int], Callable[..., int], Callable[..., int]]:
    """Return edge functions: offers of numbers, of times, and of moments; LAST: none.

    ``turned``: v is the vertex that is left, not u. ``checked``: rows have events of both directions, of which those
    count that are left at ``begin``.
    """

    def number(u, v, event, label, time, begin, sign, *_):
        left = v if turned else u
        if checked and begin[event] != left:
            return LAST
        known = label[left]
        now = time[event] ^ sign
        before = FIRST if known == FIRST else time[known ^ sign] ^ sign
        return event ^ sign if before < now < LAST and known < LAST else LAST

    def arrival(u, v, event, label, time, begin, sign, *_):
        left = v if turned else u
        if checked and begin[event] != left:
            return LAST
        now = time[event] ^ sign
        return now if label[left] <= now else LAST

    def moment(u, v, event, label, time, begin, sign, reached, low, *_):
        left = v if turned else u
        to = u if turned else v
        if checked and begin[event] != left:
            return LAST
        known = label[left]
        now = time[event] ^ sign
        place = (event ^ sign) - low
        if now == LAST or now != reached[to]:
            return LAST
        if known == FIRST or reached[left] < now:
            return place
        if known == LAST or reached[left] > now:
            return LAST
        turn = known >> TURN
        here = PLACES - place if turn & 1 else place
        return turn << TURN | here if here > known & PLACES else (turn + 1) << TURN | PLACES - here

    return number, arrival, moment


def _kept(v, value, label, time, begin, sign, reached, low, after, fell):
    """Keep the lower one of a label and an offer as that of the next round; count the labels that fall."""
    after[v] = min(value, label[v])
    if value < label[v]:
        fell.add(1)
    return 1


def arrived(
    log: Events, vertex: int, start: int | None, end: int | None, *, through: bool, backwards: bool
) -> tuple[Array, Array]:
    """Return the times and last events of earliest arrivals from ``vertex``; see ``paths``.

    Events are pushed over the rows of the vertices that are left. Where the log has only the rows of the other ends,
    all events are pulled, in as many rounds as paths have events. The host does not wait.
    """
    view, xp, record, sign = log.between(start, end), log.device.xp, log._record, -int(backwards)
    pulls = log.over == ("out" if backwards else "in")
    number, arrival, moment = _functions(pulls and backwards, log.directed and log.over == "both")
    low = -record.next if backwards else record.first

    def corrected(fn: Callable[..., int], frontier: Any, reached: Array) -> Array:
        label = xp.full(log.num_vertices, LAST, np.int64)
        label[vertex] = FIRST
        args = label, "time", "dst" if backwards else "src", sign, reached, low
        if not pulls:
            propagate(view, frontier, fn, out=label, args=args, reduce="min", over=log.over)
            return label
        after, fell = xp.empty_like(label), view.scalar("sum", np.int64)
        converge(
            view, None, fn, args=(*args, after, fell), reduce="min", over=log.over, then=_kept, wake=None,
            stop=Stop(until=fell), swap=[(label, after)],
        )  # fmt: skip
        return label

    label = corrected(arrival if through else number, [vertex], xp.empty(0, np.int64))
    if through:
        label = corrected(moment, None, label)
        place = label & PLACES
        label = xp.where(label < LAST, xp.where(label >> TURN & 1, PLACES - place, place) + low, label)
    is_led, event = label < LAST, label ^ sign
    is_led[vertex] = False
    time = xp.where(is_led, record.time[event & (record.capacity - 1)], LAST ^ sign)
    return time, xp.where(is_led, event, NONE)
