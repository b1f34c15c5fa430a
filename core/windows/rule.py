"""The rule of windows: which events are late, when slides close, and where their ends lie.

Ends lie on the grid ``origin + k * slide``. A window holds ``end - size <= t < end``. The watermark is the running
maximum of ``time - lateness`` over the events, one after the other; a slide closes when the watermark is at or past its
end. The first end is that of the oldest event when the first slide closes. Every event is judged as it arrives, so how
a stream is cut into chunks changes nothing. Windows of counts and of steps are windows over positions and numbers of
steps.

``state`` is ``int64[5]``: the watermark, the end of the last closed slide, the oldest time of an event, whether a slide
has closed (1 or 0), and the newest time; ``NEVER`` or, for the oldest time, ``FAR`` where there is none yet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.windows.events import times_of

NEVER = np.iinfo(np.int64).min  #: a watermark before the first event
FAR = np.iinfo(np.int64).max  #: no oldest event
TAKEN, LATE, AHEAD = 0, 1, 2  #: verdicts
_WATERMARK, _CLOSED, _OLDEST, _STARTED, _NEWEST = range(5)  # of the state


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


@kernel
def judge(time, delay, ahead, origin, slide, state, verdict):
    """Decide for each event, in the order of arrival, whether the window takes it, and update ``state`` in place.

    Args:
        time: int64[n], ticks.
        delay: ticks by which the watermark is behind the newest event.
        ahead: ticks by which an event may be past the watermark; -1: any number.
        origin, slide: the grid of ends.
        state: see the module.
        verdict: uint8[n], written: ``TAKEN``, ``LATE`` or ``AHEAD`` for each event.
    """
    for i in range(len(time)):
        now = time[i]
        if ahead >= 0 and state[_WATERMARK] != NEVER and now > state[_WATERMARK] + ahead:
            verdict[i] = AHEAD
        elif state[_STARTED] != 0 and now < state[_CLOSED]:
            verdict[i] = LATE
        else:
            verdict[i] = TAKEN
            state[_OLDEST] = min(state[_OLDEST], now)
            state[_NEWEST] = max(state[_NEWEST], now)
            if now - delay > state[_WATERMARK]:
                state[_WATERMARK] = now - delay
                advance(state, origin, slide)
            elif state[_STARTED] == 0:
                advance(state, origin, slide)


@kernel
def take_positions(first, last, origin, slide, state):
    """Take the events at the positions from ``first`` to ``last`` (inclusive); close the slides that this completes.

    All earlier positions are below ``first``. ``state`` is changed in place; ``origin`` and ``slide`` are the grid of
    ends.
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
        self.state = np.array([NEVER, NEVER, FAR, 0, NEVER], np.int64)
        self.last: int | None = None  #: the end that closed last
        self._limit: int | None = None  # the end up to which an ended source closes

    @property
    def watermark(self) -> int | None:
        """The watermark, None before the first event."""
        mark = int(self.state[_WATERMARK])
        return None if mark == NEVER else mark

    @property
    def newest(self) -> int | None:
        """The newest time of an event that the window took; None before the first."""
        newest = int(self.state[_NEWEST])
        return None if newest == NEVER else newest

    def judge(self, time: np.ndarray | range) -> np.ndarray | None:
        """Decide whether the window takes each event, in order of arrival; advance the watermark.

        ``time``: ticks. Returns ``uint8[n]`` of ``TAKEN``, ``LATE`` (its slide has closed) and ``AHEAD`` (too far past
        the watermark); None if all are taken.
        """
        grid = self.grid.origin, self.grid.slide
        if self.delay < 0 and len(time):
            take_positions(time[0], time[-1], *grid, self.state)
            return None
        verdict = np.empty(len(time), np.uint8)
        judge(times_of(time), self.delay, self.ahead, *grid, self.state, verdict)
        return verdict if verdict.any() else None

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
            self._limit = self.grid.after(newest)

    @property
    def due(self) -> int | None:
        """The newest end up to which slides may close now; None: all these slides have closed."""
        due = int(self.state[_CLOSED]) if self.state[_STARTED] else NEVER
        due = due if self._limit is None else max(due, self._limit)
        return due if due > (NEVER if self.last is None else self.last) else None

    def next_end(self, due: int, entering: int | None, leaving: int | None) -> int | None:
        """Return the end of the slide that closes next, None if none is due.

        Args:
            due: the newest end that may close.
            entering: the oldest time of an event that has not entered, or None.
            leaving: the oldest time of an event in the window, or None.
        """
        size = self.grid.size
        if leaving is not None and size is not None and (entering is None or leaving + size < entering):
            entering = leaving + size
        if self._every and self.last is not None and (entering is None or self.last < entering):
            entering = self.last
        end = None if entering is None else self.grid.after(entering)
        return None if end is None or end > due else end

    def is_partial(self, end: int) -> bool:
        """Return whether the slide with this ``end`` closes only because the source ended: events may be missing."""
        return end == self._limit and (self.watermark is None or self.watermark < end)
