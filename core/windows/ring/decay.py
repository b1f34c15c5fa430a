"""Weights that decay: an event's weight halves with every half-life, and all of them at once without being touched.

The ring and the graph hold weights relative to a moment ``base``: ``amount * 2 ** ((time - base) / half_life)``. What
they are at the end of a window follows by one factor, :meth:`Decay.scale`. They grow with time, so ``base`` moves on
before the newest is beyond ``2 ** RENEWED``. It moves by whole half-lives: all weights, and sums of them, are then
multiplied by a power of 2, which loses nothing. When that happens shows in no weight.
"""

from __future__ import annotations

import math

import numpy as np

from suricate.windows.events import Events, times_of

RENEWED = 500  #: half-lives after which the base moves on
LONGEST = 900  #: half-lives that a window may hold, so that the oldest weight is a normal float64


class Decay:
    """What the weights of a window are relative to; ``half_life``: in ticks of the time.

    Attributes:
        base: in half-lives since time 0; None before the first slide.
        newest: the time of the newest event that has entered.
        is_renewed: whether the base has moved, and no change of the graph has said so yet.
    """

    def __init__(self, half_life: int) -> None:
        self._half_life = half_life
        self.base: int | None = None
        self.newest: int | None = None
        self.is_renewed = False

    def advance(self, newest: int | None, end: int) -> int:
        """Take notice of a slide with this ``end``; return by how many half-lives the base moves on, mostly 0.

        ``newest``: the newest time of those that enter, or None. If none come for long, the base stays at the newest.
        """
        self.newest = self.newest if newest is None else newest
        newest = (end if self.newest is None else self.newest) // self._half_life
        if self.base is None:
            self.base = newest
        if end // self._half_life - self.base <= RENEWED or newest <= self.base:
            return 0
        moves, self.base, self.is_renewed = newest - self.base, newest, True
        return moves

    def weights(self, events: Events) -> np.ndarray:
        """Return the weights of events relative to the base, ``float64[n]``; without amounts each has 1."""
        whole, rest = np.divmod(times_of(events.time), self._half_life)
        weight = np.exp2(rest / self._half_life)
        if events.weight is not None:
            weight *= events.weight
        return np.ldexp(weight, (whole - self.base).astype(np.int32))

    def scale(self, end: int) -> float:
        """Return by what a relative weight is multiplied to be that of the moment ``end``."""
        assert self.base is not None
        whole, rest = divmod(end, self._half_life)
        return math.ldexp(2.0 ** (-rest / self._half_life), self.base - whole)
