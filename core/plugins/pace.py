"""Choose between updating and computing from scratch by measured times; one instance per algorithm and graph.

The size of a batch does not tell whether it affects a whole road network or a corner of a social network. So batches
that are not small for the graph are timed, on the device, without a wait. Computations from scratch are timed, too,
where they are made anyway: for large batches, for stale trackers. The first computation of a tracker does not count,
since it may include loading code.

- While no computation on a graph of about as many arcs has been timed, the share of the arcs that the algorithm
  declares decides.
- Then batches are updated, up to a multiple of that share, or of the largest size at which updates were faster.
- At a size at which updates were slower, the result is computed from scratch. An update is tried again after a number
  of computations, which doubles each time that the update is slower again, and is the larger the slower updates were.

Both ways give the same result: this is used only by algorithms whose result does not depend on the history.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from suricate.base.devices import Device
from suricate.plugins.clock import Clock, clock_on

WATCHED = 8  #: batches larger than 1/WATCHED of the declared share are timed
REACH = 8  #: batches up to REACH times the declared share are updated on trial
GROWTH = 2  #: batches up to GROWTH times the largest size that won are updated on trial
SLACK = 1.1  #: an update that takes at most SLACK times as long as a computation counts as won
NEAR = 1.1  #: batches of sizes within this factor count as of one size
LOSSES = 2  #: slower updates in a row after which a size has lost, if it is below the declared share or not CLEAR
CLEAR = 2  #: above the declared share, one update that takes CLEAR times as long as a computation is enough
PATIENCE = 16  #: computations after which a size that lost is tried again, for each computation that an update takes
FAR = 16  #: the most computations that an update is taken to take
CLOSE = 0.5  #: updates that take more than this fraction of a computation are all timed
CALM = 8  #: one in CALM updates of a size that won is timed


@dataclass
class _Side:
    """The measurements of batches of one kind, such as those of deletions only; sizes are weighted numbers of changes.

    Attributes:
        won: the largest size at which an update was not slower than a computation from scratch.
        lost: the smallest size at which updates were slower; infinite: none.
        losses: number of slower updates in a row.
        skipped: batches computed from scratch because of ``lost``, since an update was last tried.
        trials: how often slow updates have set or confirmed ``lost``, since one of such a size was not slower.
        patience: the value of ``skipped`` after which an update is tried again.
        calm: number of updates of sizes up to ``won``.
        seconds: time of the last timed update.
        hard: the smallest size of updates that gave up; 0: none.
        given_up: number of updates that gave up, less those of about such a size that ended, from -LOSSES to LOSSES.
    """

    won: float = 0.0
    lost: float = math.inf
    losses: int = 0
    skipped: int = 0
    trials: int = 0
    patience: int = PATIENCE
    calm: int = 0
    seconds: float = 0.0
    hard: float = 0.0
    given_up: int = 0

    def note(self, size: float, bound: float, seconds: float, computed: float) -> None:
        """Record the time of an update beside that of the last timed computation, ``computed``."""
        self.seconds = seconds
        if seconds <= SLACK * computed:
            self.losses, self.won = 0, max(self.won, size)
            if size >= self.lost:
                self.lost, self.trials = math.inf, 0
            return
        self.losses += 1
        if size < self.lost and self.losses < LOSSES and (size <= bound or seconds <= CLEAR * computed):
            return
        self.lose(size, seconds / computed)

    def lose(self, size: float, times: float = 1.0) -> None:
        """Record that updates of ``size`` are not worth while: they take so many ``times`` as long as a computation."""
        self.trials += 1
        self.patience = math.ceil(PATIENCE * min(times, FAR)) << (self.trials - 1)
        self.losses, self.skipped = 0, 0
        self.lost, self.won = min(self.lost, size / NEAR), min(self.won, size / GROWTH)

    def tried(self, size: float, *, gave_up: bool) -> None:
        """Record whether an update of ``size`` gave up; such sizes have lost if that is more than now and then."""
        self.hard = min(self.hard or size, size) if gave_up else self.hard
        if size * NEAR >= self.hard:
            self.given_up = max(self.given_up + (1 if gave_up else -1), -LOSSES)
        if self.given_up == LOSSES:
            self.given_up -= 1
            self.lose(size)

    def is_due(self) -> bool:
        """Return whether to update after a batch of a size at which updates were slower; counts it in ``skipped``."""
        self.skipped += 1
        if self.skipped <= self.patience:
            return False
        self.skipped = 0
        return True


@dataclass
class _Span:
    """What is being timed: the update after a batch, or a computation from scratch (``side`` is None).

    ``size``: the weighted number of changes. ``bound``: the largest size at which to update if nothing was measured.
    ``arcs``: of the graph.
    """

    side: _Side | None
    size: float
    bound: float
    arcs: int


class Pace:
    """The measured times of one algorithm on one graph.

    Args:
        device: the graph's device.
        clock: what measures; None: the clock of the device.

    Attributes:
        comparing: whether the last batch was computed from scratch since nothing had been measured; the next batch of
            its size will be updated, so the algorithm should keep the state that updates need.
    """

    def __init__(self, device: Device, clock: Clock | None = None) -> None:
        self._clock = clock or clock_on(device)
        self._computed: tuple[float, int] | None = None  # seconds of the last timed computation, arcs at that time
        self._sides: dict[tuple[bool, ...], _Side] = {}
        self._timed: _Span | None = None
        self._last: tuple[_Side, float] | None = None  # of the last batch if it was updated: its kind, and its size
        self._running = False
        self.comparing = False

    def should_recompute(self, kind: tuple[bool, ...], size: float, bound: float, arcs: int) -> bool:
        """Return whether to compute from scratch after a batch; start the clock if the batch is to be timed.

        The time until :meth:`finish` is measured.

        Args:
            kind: whether the batch has deletions, and whether it has other changes; sizes are recorded per kind.
            size: the weighted number of changes.
            bound: the size above which the algorithm computes from scratch if nothing has been measured.
            arcs: number of arcs of the graph.
        """
        if self._last is not None:
            self._last[0].tried(self._last[1], gave_up=False)
        self._last = None
        if WATCHED * size <= bound:
            return False
        self._take_time()
        side = self._sides.get(kind) or self._sides.setdefault(kind, _Side())
        known = self._computed
        computed = known[0] if known is not None and arcs / 2 <= known[1] <= 2 * arcs else None
        self.comparing = computed is None and bound < size <= REACH * bound
        if self._is_lost(side, size, bound, computed):
            self._start(_Span(None, size, bound, arcs))
            return True
        self._last = side, size
        if computed is None:
            return False
        side.calm += size <= side.won
        if size > side.won or side.losses > 0 or side.seconds > CLOSE * computed or side.calm % CALM == 0:
            self._start(_Span(side, size, bound, arcs))
        return False

    def gave_up(self) -> None:
        """Record that the update of the last batch began, and went over to a computation from scratch."""
        if self._last is not None:
            self._last[0].tried(self._last[1], gave_up=True)
        self._last = None
        self.discard()

    def computes(self, arcs: int) -> None:
        """Start the clock for a computation from scratch, of a stale result say, on a graph of ``arcs`` arcs."""
        self._take_time()
        self._start(_Span(None, 0, 0, arcs))

    def finish(self) -> None:
        """Stop the clock if it is running: the work is done, or queued on the device."""
        if self._running:
            self._clock.stop()
            self._running = False

    def discard(self) -> None:
        """Discard the current measurement, since the work includes something that is done only once."""
        self._timed = None

    @staticmethod
    def _is_lost(side: _Side, size: float, bound: float, computed: float | None) -> bool:
        """Return whether an update is likely slower than a computation; from ``side.lost`` on this counts the batch."""
        if computed is None:
            return size > bound or (size >= side.lost and not side.is_due())
        if size > max(REACH * bound, GROWTH * side.won):
            return True
        return size >= side.lost and not side.is_due()

    def _start(self, span: _Span) -> None:
        if self._timed is None and self._clock.start():
            self._timed, self._running = span, True

    def _take_time(self) -> None:
        """Record the length of the last span if it is known; does not wait for it."""
        if self._timed is None or self._running:
            return
        seconds = self._clock.seconds()
        if seconds is None:
            return
        span, self._timed = self._timed, None
        if seconds > 0 and span.side is None:
            self._computed = seconds, span.arcs
        elif seconds > 0 and span.side is not None and self._computed is not None:
            span.side.note(span.size, span.bound, seconds, self._computed[0])
