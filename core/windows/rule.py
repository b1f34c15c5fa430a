"""The rule of windows: which events are late, when slides close, and where their ends lie.

Ends lie on the grid ``origin + k * slide``. A window holds ``end - size <= t < end``. The watermark is the running
maximum of ``time - lateness`` over the events, one after the other; a slide closes when the watermark is at or past its
end. The first end is that of the oldest event when the first slide closes. Every event is judged as it arrives, so how
a stream is cut into chunks changes nothing. Windows of counts and of steps are windows over positions and numbers of
steps.

Times too far past the watermark (``ahead``) are in doubt: wrong clocks, or the stream was quiet for long. Such events
wait. One that the window takes refutes those before it, they are refused; so many of them in a row as have followed the
present clock, 2 to ``MOST``, are believed: the oldest of them sets the watermark, and all are judged once more. The
first events are in doubt, too. Late events prove nothing.

``state`` is ``int64[6]``: the watermark, the end of the last closed slide, the oldest time of an event, whether a slide
has closed (1 or 0), the newest time, and how many events (at most ``MOST``) were taken by the present clock; ``NEVER``
or, for the oldest time, ``FAR`` where there is none yet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cpu.jit import inner, kernel
from suricate.windows.events import times_of

NEVER = np.iinfo(np.int64).min  #: a watermark before the first event
FAR = np.iinfo(np.int64).max  #: no oldest event
TAKEN, LATE, AHEAD, DOUBTED = range(4)  #: verdicts
EVENT, END, NEWEST, LATER, SKIPPED = range(5)  #: of a row of the moves that ``judge`` writes
MOST = 10  #: events in a row that overrule the clock of any number of others
_WATERMARK, _CLOSED, _OLDEST, _STARTED, _NEWEST, _TAKEN = range(6)  # of the state


@inner
def grid_floor(time, origin, slide):
    """Return the largest point of the grid ``origin + k * slide`` that is not above ``time``."""
    return origin + (time - origin) // slide * slide


@inner
def advance(state, origin, slide):
    """Close all slides whose end the watermark has reached; the grid of ends is ``origin + k * slide``.

    In ``state`` this changes the end of the last closed slide, and whether a slide has closed.
    """
    if state[_STARTED] == 0:
        first = state[_OLDEST] != FAR and state[_WATERMARK] >= grid_floor(state[_OLDEST], origin, slide) + slide
        state[_STARTED] = 1 if first else 0
    if state[_STARTED] != 0:
        state[_CLOSED] = max(state[_CLOSED], grid_floor(state[_WATERMARK], origin, slide))


@inner
def take(now, delay, ahead, origin, slide, state):
    """Judge an event at the time ``now``: return its verdict; if that is ``TAKEN``, update ``state``."""
    if ahead >= 0 and (state[_WATERMARK] == NEVER or now > state[_WATERMARK] + ahead):
        return DOUBTED
    if state[_STARTED] != 0 and now < state[_CLOSED]:
        return LATE
    state[_OLDEST] = min(state[_OLDEST], now)
    state[_NEWEST] = max(state[_NEWEST], now)
    if ahead >= 0:
        state[_TAKEN] = min(state[_TAKEN] + 1, MOST)
    if now - delay > state[_WATERMARK]:
        state[_WATERMARK] = now - delay
        advance(state, origin, slide)
    elif state[_STARTED] == 0:
        advance(state, origin, slide)
    return TAKEN


@inner
def refuse(doubted, count, verdict, move):
    """Give the events ``doubted[:count]`` the verdict ``AHEAD``; return 0, the number of those in doubt now."""
    for j in range(count):
        verdict[doubted[j]] = AHEAD
    move[SKIPPED] += count
    return 0


@inner
def believe(time, doubted, count, delay, ahead, origin, slide, state, verdict, move):
    """Set the clock by the oldest of the events ``doubted[:count]``, and judge them; return how many are in doubt now.

    These are the first entries of ``doubted`` then.
    """
    oldest = time[doubted[0]]
    for j in range(1, count):
        oldest = min(oldest, time[doubted[j]])
    state[_WATERMARK], state[_TAKEN] = oldest - delay, 0
    advance(state, origin, slide)
    left = 0
    for j in range(count):
        i = doubted[j]
        verdict[i] = take(time[i], delay, ahead, origin, slide, state)
        if verdict[i] == DOUBTED:
            doubted[left] = i
            left += 1
        elif verdict[i] == TAKEN:
            left = refuse(doubted, left, verdict, move)
        else:
            move[LATER] += 1
    return left


@kernel
def judge(time, delay, ahead, origin, slide, ended, state, doubted, verdict, moves):
    """Decide for each event, in the order of arrival, whether the window takes it, and update ``state`` in place.

    Args:
        time: int64[n], ticks.
        delay: ticks by which the watermark is behind the newest event.
        ahead: ticks by which an event may be past the watermark; -1: any number.
        origin, slide: the grid of ends.
        ended: whether the source ends here, so that two events in a row are believed, and one if there was no clock.
        state: see the module.
        doubted: int64[MOST], written: the events in doubt, the last ones; none if ``ended``.
        verdict: uint8[n], written for each event; ``DOUBTED`` for those that wait for the next call.
        moves: int64[n + 1, 5], written: a row for the beginning, and one whenever slides close: the number of the event
            that closes them, the end of the last, the newest time; how many events were late and too far ahead from
            there to the next row.

    Returns:
        The number of ``moves``.
    """
    count, number = 0, 1
    moves[0] = 0
    moves[0, EVENT], moves[0, END], moves[0, NEWEST] = -1, state[_CLOSED], state[_NEWEST]
    for i in range(len(time)):
        move = moves[number - 1]
        verdict[i] = take(time[i], delay, ahead, origin, slide, state)
        if verdict[i] == TAKEN:
            count = refuse(doubted, count, verdict, move)
        elif verdict[i] == LATE:
            move[LATER] += 1
        else:
            doubted[count] = i
            count += 1
            while count >= min(max(state[_TAKEN], 2), MOST):
                count = believe(time, doubted, count, delay, ahead, origin, slide, state, verdict, move)
        if ended and i == len(time) - 1:
            while count >= (1 if state[_WATERMARK] == NEVER else 2):
                count = believe(time, doubted, count, delay, ahead, origin, slide, state, verdict, move)
            count = refuse(doubted, count, verdict, move)
        if state[_CLOSED] != move[END]:
            moves[number] = 0
            moves[number, EVENT], moves[number, END], moves[number, NEWEST] = i, state[_CLOSED], state[_NEWEST]
            number += 1
    return number


@kernel
def take_positions(first, last, origin, slide, state):
    """Take the events at the positions from ``first`` to ``last`` (inclusive); close the slides that this completes.

    All earlier positions are below ``first``. ``state`` is changed in place; ``origin`` and ``slide`` are the grid.
    """
    state[_OLDEST], state[_NEWEST] = min(state[_OLDEST], first), last
    state[_WATERMARK] = last + 1
    advance(state, origin, slide)


@kernel
def raise_watermark(watermark, origin, slide, state):
    """Raise the watermark in ``state`` to ``watermark`` if it is lower, and close the slides that it reaches.

    ``origin`` and ``slide`` are the grid of ends.
    """
    state[_WATERMARK] = max(state[_WATERMARK], watermark)
    advance(state, origin, slide)


class Grid(NamedTuple):
    """The ends of windows, ``origin + k * slide``, and their ``size``, all in ticks.

    The window that ends at ``end`` holds the times ``end - size <= t < end``; with ``size`` None all ``t < end``.
    """

    size: int | None
    slide: int
    origin: int

    def after(self, time: int) -> int:
        """Return the first end above ``time``."""
        return self.origin + ((time - self.origin) // self.slide + 1) * self.slide


class Rule:
    """Decides which events a window takes, and says which slide closes next.

    Args:
        grid: where windows end.
        delay: ticks by which the watermark is behind the newest event, the lateness; -1: times are positions, none of
            which is late.
        ahead: an event more than this many ticks past the watermark is refused; None: no limit.
        every: True: slides in which no event enters or leaves close as well.
    """

    def __init__(self, grid: Grid, delay: int, ahead: int | None, *, every: bool = False) -> None:
        self.grid, self.delay, self.ahead, self._every = grid, delay, -1 if ahead is None else ahead, every
        self.state = np.array([NEVER, NEVER, FAR, 0, NEVER, 0], np.int64)
        self._doubted = np.empty(MOST, np.int64)
        self.last: int | None = None  #: the end that closed last
        self.limit: int | None = None  #: the end up to which an ended source closes

    @property
    def newest(self) -> int | None:
        """The newest time of an event that the window took; None before the first."""
        newest = int(self.state[_NEWEST])
        return None if newest == NEVER else newest

    def judge(self, time: np.ndarray | range, *, ended: bool = False) -> tuple[np.ndarray | None, list[list[int]]]:
        """Decide whether the window takes each event, in order of arrival; advance the watermark.

        Args:
            time: ticks.
            ended: whether the source ends behind these events.

        Returns:
            ``uint8[n]`` of ``TAKEN``, ``LATE`` (its slide has closed), ``AHEAD`` (too far past the watermark) and
                ``DOUBTED`` (it is to be judged again, before later events), None if all are taken; and ``moves`` as of
                :func:`judge`.
        """
        grid = self.grid.origin, self.grid.slide
        if self.delay < 0 and len(time):
            first, last = int(time[0]), int(time[-1])
            take_positions(first, last, *grid, self.state)
            rows = []
            for end in range(first // self.grid.slide * self.grid.slide, last + 2, self.grid.slide):
                rows.append([end - first - 1, end, end - 1, 0, 0])  # noqa: PERF401 - a comprehension is a call more
            return None, rows
        times = time if isinstance(time, np.ndarray) else times_of(time)
        verdict, moves = np.empty(len(time), np.uint8), np.empty((len(time) + 1, 5), np.int64)
        number = judge(times, self.delay, self.ahead, *grid, ended, self.state, self._doubted, verdict, moves)
        return verdict if np.logical_or.reduce(verdict) else None, moves[:number].tolist()

    def load(self, state: np.ndarray, last: int | None) -> None:
        """Restore a saved ``state``; ``last`` is the end of the slide that closed last, None if none did.

        Slides that closed because the source had ended stay closed.
        """
        self.state, self.last = state.astype(np.int64), last
        if last is not None:
            self.state[_CLOSED], self.state[_STARTED] = max(int(self.state[_CLOSED]), last), 1

    def reach(self, watermark: int) -> None:
        """Raise the watermark to ``watermark`` if it is lower, and close the slides that it reaches."""
        raise_watermark(watermark, self.grid.origin, self.grid.slide, self.state)

    def finish(self) -> None:
        """Record that the source has ended: every slide up to the newest event may close."""
        newest = self.newest
        if newest is not None and (self.last is None or newest >= self.last):
            self.limit = self.grid.after(newest)

    @property
    def due(self) -> int | None:
        """The newest end up to which slides may close now; None: all these slides have closed."""
        due = int(self.state[_CLOSED]) if self.state[_STARTED] else NEVER
        due = due if self.limit is None else max(due, self.limit)
        return due if due > (NEVER if self.last is None else self.last) else None

    def next_end(self, due: int, times: Array, leaving: int | None) -> int | None:
        """Return the end of the slide that closes next, at most ``due``; None if none is due.

        ``times``: of the events that wait, ascending; ``leaving``: the oldest time of an event in the window, or None.
        """
        entering, size = int(times[0]) if len(times) else None, self.grid.size
        if leaving is not None and size is not None and (entering is None or leaving + size < entering):
            entering = leaving + size
        if self._every and self.last is not None and (entering is None or self.last < entering):
            entering = self.last
        end = None if entering is None else self.grid.after(entering)
        return None if end is None or end > due else end

    def has_reached(self, end: int) -> bool:
        """Return whether the watermark has; else the slide with this ``end`` closes only as the source has ended."""
        return end <= int(self.state[_WATERMARK])
