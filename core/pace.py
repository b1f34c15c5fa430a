"""Choose between updating and computing from scratch by measured times; one instance per algorithm and graph.

The size of a batch does not tell whether it reaches a whole road network or a corner of a social network. So batches
that are not small for the graph are timed, on the device, without a wait:

- The first timed batch is computed from scratch, to have a time to compare with.
- Later batches are updated, up to a multiple of the share of the arcs that the algorithm declares, or of the largest
  size at which updates were faster.
- A size at which updates were slower is computed from scratch. It is tried again after a number of computations, which
  doubles every time that the update is slower again.
- The time of a computation changes too: a few edges across a grid make it several times shorter. So if updates are not
  much faster, a batch is computed from scratch to time it again. The cost is the difference of the two times, and this
  is done once updates have taken a multiple of that cost. In the long run it costs a twentieth.

Both ways give the same result: this is used only by algorithms whose result does not depend on the history.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from suricate.clock import Clock, clock_on
from suricate.devices import Device

WATCHED = 8  #: batches larger than 1/WATCHED of the declared share are timed
REACH = 8  #: batches up to REACH times the declared share are updated on trial
GROWTH = 2  #: batches up to GROWTH times the largest size that won are updated on trial
SLACK = 1.1  #: an update that takes at most SLACK times as long as a computation counts as won
LOSSES = 2  #: slower updates in a row after which a size has lost, if it is below the declared share or not CLEAR
CLEAR = 2  #: above the declared share, one update that takes CLEAR times as long as a computation is enough
PATIENCE = 16  #: computations after which a size that lost is tried again, the first time
FAST = 0.2  #: updates that take at most this fraction of a computation are far from losing
CLOSE = 0.5  #: updates that take more than this fraction of a computation are all timed
#: a computation is timed again once updates have taken this multiple of (computation - update): the first time, the
#: second time, and from then on
DOUBTS = 1, 8, 20
STEADY = 0.8  #: if a computation takes less than this fraction of the last one, DOUBTS starts again
CALM = 8  #: one in CALM updates of a size that won is timed


@dataclass
class _Side:
    """The measurements of batches of one kind.

    Attributes:
        won: the largest size at which an update was not slower.
        lost: the smallest size at which updates were slower.
        losses: number of slower updates in a row.
        skipped: batches computed from scratch because of ``lost``, since the last trial.
        patience: the number of such batches before the next trial.
        calm: number of updates of sizes that had won.
        seconds: time of the last timed update.
        doubtful: number of timed updates since the last computation that were not fast.
        fastest: the shortest time of these, in seconds, and their least size.
    """

    won: float = 0.0
    lost: float = math.inf
    losses: int = 0
    skipped: int = 0
    patience: int = PATIENCE
    calm: int = 0
    seconds: float = 0.0
    doubtful: int = 0
    fastest: tuple[float, float] = math.inf, math.inf

    def note(self, size: float, bound: float, seconds: float, computed: float) -> None:
        """Record the time of an update, in seconds, beside that of the last computation.

        Args:
            size: of the batch.
            bound: the declared share, as a size.
            seconds: time of the update.
            computed: time of the last computation.
        """
        self.seconds = seconds
        if seconds > FAST * computed:
            self.doubtful += 1
            self.fastest = min(self.fastest[0], seconds), min(self.fastest[1], size)
        if seconds <= SLACK * computed:
            self.losses, self.won = 0, max(self.won, size)
            if size >= self.lost:
                self.lost, self.patience = math.inf, PATIENCE
            return
        self.losses += 1
        if size >= self.lost:
            self.patience *= 2
        elif self.losses < LOSSES and (size <= bound or seconds <= CLEAR * computed):
            return
        self.lose(size)

    def lose(self, size: float) -> None:
        """Record that updates of this size and larger ones are slower than computations."""
        self.losses, self.skipped = 0, 0
        self.lost, self.won = min(self.lost, size), min(self.won, size / GROWTH)
        self._forget()

    def compare(self, computed: float) -> None:
        """Compare the updates since the last computation with the new time of a computation, in seconds."""
        (seconds, size), count = self.fastest, self.doubtful
        self._forget()
        if SLACK * computed < seconds < math.inf:
            self.losses = count
            if count >= LOSSES:
                self.lose(size)

    def _forget(self) -> None:
        self.doubtful, self.fastest = 0, (math.inf, math.inf)


class Pace:
    """The times of one algorithm on one graph; the caller of an update calls :meth:`finish` when it is done.

    Args:
        device: where the graph is.
        clock: default: that of the device.

    Attributes:
        comparing: whether the last batch was computed from scratch only to time it. Later batches will be updated, so
            the algorithm should keep the state that updates need.
    """

    def __init__(self, device: Device, clock: Clock | None = None) -> None:
        self._clock = clock or clock_on(device)
        self._computed: tuple[float, int] | None = None  # seconds of the last computation that counts, and arcs
        self._spent = 0.0  # seconds of updates since, as far as is known
        self._doubt = 0  # the next of DOUBTS
        self._in_doubt = False  # whether a computation is being timed because of that
        self._sides: dict[tuple[bool, ...], _Side] = {}
        self._timed: tuple[_Side, float, float, bool, int] | None = None  # side, size, bound, whether it computes, arcs
        self._running = False
        self.comparing = False

    def outweighs(self, kind: tuple[bool, ...], size: float, bound: float, arcs: int) -> bool:
        """Return whether to compute from scratch after a batch, and start the clock if the batch is to be timed.

        Args:
            kind: what the batch consists of; sizes are recorded per kind.
            size: of the batch.
            bound: the size above which the algorithm computes from scratch if nothing has been measured.
            arcs: number of arcs of the graph.
        """
        if WATCHED * size <= bound:
            return False
        self._take_time()
        side = self._sides.setdefault(kind, _Side())
        answer = self._answer(side, size, bound, arcs)
        if not answer:
            side.calm += size <= side.won
            self._spent += side.seconds
        is_wanted = answer or size > side.won or self._is_close(side) or side.calm % CALM == 0
        if self._timed is None and is_wanted and self._clock.start():
            self._timed, self._running = (side, size, bound, answer, arcs), True
        return answer

    def finish(self) -> None:
        """Stop the clock that :meth:`outweighs` started: the work has been done, or queued."""
        if self._running:
            self._clock.stop()
            self._running = False

    def discard(self) -> None:
        """Drop the timing that :meth:`outweighs` started: the work included something that is done only once."""
        self._timed = None

    def _answer(self, side: _Side, size: float, bound: float, arcs: int) -> bool:
        tried = size < side.lost and size <= max(REACH * bound, GROWTH * side.won)
        self.comparing = tried
        if self._computed is None or not arcs / 2 <= self._computed[1] <= 2 * arcs:
            return True
        if size < side.lost:
            if self._timed is None and self._is_due(side, size, self._computed[0]):
                self._in_doubt = True
                return True
            return not tried
        side.skipped += 1
        if side.skipped <= side.patience:
            return True
        side.skipped = 0
        return False

    def _is_close(self, side: _Side) -> bool:
        """Return whether updates of a side may be close to losing, in which case each of them is timed."""
        if 0 < side.doubtful < LOSSES:
            return True
        return self._computed is not None and side.seconds > CLOSE * self._computed[0]

    def _is_due(self, side: _Side, size: float, computed: float) -> bool:
        """Return whether to compute from scratch, in place of an update, to time the computation again."""
        if side.seconds <= FAST * computed or size < side.fastest[1]:
            return False
        return self._spent >= DOUBTS[self._doubt] * (computed - side.seconds)

    def _take_time(self) -> None:
        """Record the time of the last timed batch, if the device has reported it."""
        if self._timed is None or self._running:
            return
        seconds = self._clock.seconds()
        if seconds is None:
            return
        (side, size, bound, computed, arcs), self._timed = self._timed, None
        if seconds > 0 and computed:
            self._note_computed(seconds, arcs)
        elif seconds > 0 and self._computed is not None:
            side.note(size, bound, seconds, self._computed[0])

    def _note_computed(self, seconds: float, arcs: int) -> None:
        """Record the time of a computation, in seconds."""
        if self._computed is not None and seconds < STEADY * self._computed[0]:
            self._doubt = 0
        elif self._in_doubt:
            self._doubt = min(self._doubt + 1, len(DOUBTS) - 1)
        self._computed, self._spent, self._in_doubt = (seconds, arcs), 0.0, False
        for side in self._sides.values():
            side.compare(seconds)
