"""Whether to update or to compute anew, by how long either took: what a tracker learns about one algorithm and graph.

Sizes alone cannot tell a batch that reaches a whole road network from one that reaches a corner of a social network.
So batches that are not small for the graph are timed, on the device, without a wait. The first of them is computed
anew, for a time to compare with; from then on they are updated, up to a multiple of the share of the arcs that the
algorithm declares, or of what has won. A size at which updates lost is computed anew, and tried again after a while,
which doubles every time that it loses. What a computation takes changes as well: a few edges across a grid make it
several times shorter. So where an update is not much faster, a batch is computed anew for its time once updates have
taken a multiple of what that is thought to cost: the difference of the two. In the long run it costs a twentieth.

Either way gives the same result: only algorithms whose result does not depend on how it came about learn like this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from suricate.clock import Clock, clock_on
from suricate.devices import Device

WATCHED = 8  #: batches of more than so small a part of the declared share are timed
REACH = 8  #: times the declared share: batches up to it are tried
GROWTH = 2  #: times the largest size that won: batches up to it are tried
SLACK = 1.1  #: an update may take so many times as long as a computation
LOSSES = 2  #: in a row, of batches below the declared share or not CLEAR: that many are no accident
CLEAR = 2  #: an update that takes so many times as long as a computation has lost by more than an accident
PATIENCE = 16  #: computations after which a size that lost is tried again, the first time
FAST = 0.2  #: updates that take at most so much of a computation are far from losing
CLOSE = 0.5  #: those that take more than so much are all timed
#: a computation is timed again after updates of so many times what it takes longer than one of them: the first time,
#: the second time, and from then on
DOUBTS = 1, 8, 20
STEADY = 0.8  #: a computation that takes less than so much of the last one is doubted as at first
CALM = 8  #: of so many updates of a size that won one is timed


@dataclass
class _Side:
    """What is known of batches of one kind.

    Attributes:
        won: the largest size at which an update was not slower.
        lost: the smallest size at which updates were slower.
        losses: updates in a row that were slower.
        skipped: batches that were computed anew because of ``lost``, since one was tried.
        patience: how many of them there are to be.
        calm: updates of sizes that had won.
        seconds: what the last one took that was timed.
        doubtful: those that were timed since the last computation, and were not fast.
        fastest: the shortest of them, in seconds, and the least size.
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
        """Take into account how long an update of a size took, and a computation."""
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
        """Take into account that updates from a size on are slower than computations."""
        self.losses, self.skipped = 0, 0
        self.lost, self.won = min(self.lost, size), min(self.won, size / GROWTH)
        self._forget()

    def compare(self, computed: float) -> None:
        """Take into account how long a computation takes by now."""
        (seconds, size), count = self.fastest, self.doubtful
        self._forget()
        if SLACK * computed < seconds < math.inf:
            self.losses = count
            if count >= LOSSES:
                self.lose(size)

    def _forget(self) -> None:
        self.doubtful, self.fastest = 0, (math.inf, math.inf)


class Pace:
    """The times of one algorithm on one graph; its user calls :meth:`finish` when an update is done.

    Args:
        device: where the graph is.
        clock: default: that of the device.

    Attributes:
        comparing: of the last batch that was to be computed anew: whether that is only for a time to compare with,
            so that what updates need is worth keeping.
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
        """Return whether to compute anew after a batch, and begin to time what is done.

        Args:
            kind: what the batch consists of: each kind has sizes of its own.
            size: of the batch.
            bound: the size from which on the algorithm computes anew if nothing is known.
            arcs: those of the graph.
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
        """Note that what :meth:`outweighs` began to time has been done, or queued."""
        if self._running:
            self._clock.stop()
            self._running = False

    def discard(self) -> None:
        """Forget what :meth:`outweighs` began to time: it is something that is done once."""
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
        """Return whether updates of a side may be close to losing: then each is timed."""
        if 0 < side.doubtful < LOSSES:
            return True
        return self._computed is not None and side.seconds > CLOSE * self._computed[0]

    def _is_due(self, side: _Side, size: float, computed: float) -> bool:
        """Return whether to compute anew for its time, instead of an update of a side."""
        if side.seconds <= FAST * computed or size < side.fastest[1]:
            return False
        return self._spent >= DOUBTS[self._doubt] * (computed - side.seconds)

    def _take_time(self) -> None:
        """Take the time of the last batch into account, if it is known by now."""
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
        """Take into account how long a computation took."""
        if self._computed is not None and seconds < STEADY * self._computed[0]:
            self._doubt = 0
        elif self._in_doubt:
            self._doubt = min(self._doubt + 1, len(DOUBTS) - 1)
        self._computed, self._spent, self._in_doubt = (seconds, arcs), 0.0, False
        for side in self._sides.values():
            side.compare(seconds)
