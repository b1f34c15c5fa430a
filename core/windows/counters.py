"""Counts of refused events by slide: one counts in the slide that is open then, however the source is cut."""

from __future__ import annotations

from collections import deque

import numpy as np

from suricate.windows.rule import END, EVENT, LATER, NEVER, NEWEST, SKIPPED


class Counters:
    """How many events were late or skipped up to a slide, and how new the event was that closed it.

    Attributes:
        counts: late events and skipped ones up to the newest slide.
    """

    def __init__(self) -> None:
        self.counts = [0, 0]
        self._moves = deque([[-1, NEVER, NEVER, 0, 0]])  # as of rule.judge: counts go to the next slide after an end

    def take(self, moves: list[list[int]], gaps: np.ndarray) -> None:
        """Take the ``moves`` of a chunk; ``gaps``: the numbers of its events before which invalid ones came."""
        if len(gaps):
            rows = np.searchsorted([move[EVENT] for move in moves], gaps) - 1
            for move, number in zip(moves, np.bincount(rows, minlength=len(moves)).tolist(), strict=True):
                move[SKIPPED] += number
        for _, _, _, late, skipped in self._moves:  # of slides that are still open
            moves[0][LATER] += late
            moves[0][SKIPPED] += skipped
        self._moves = deque(moves)

    def skip(self, number: int) -> None:
        """Count invalid events behind the chunk."""
        self._moves[-1][SKIPPED] += number

    def close(self, end: int) -> int | None:
        """Count what belongs to the slide with this ``end``; return the newest time when it closed, None: unknown."""
        moves = self._moves
        while moves[0][END] < end:
            *move, late, skipped = moves.popleft()
            self.counts = [self.counts[0] + late, self.counts[1] + skipped]
            if not moves:
                moves.append([*move, 0, 0])
                return None
        return moves[0][NEWEST]

    def save(self) -> np.ndarray:
        """Return the state as one array."""
        return np.array([[0, 0, 0, *self.counts], *self._moves])

    def load(self, saved: np.ndarray) -> None:
        """Restore what :meth:`save` returned."""
        (*_, late, skipped), *moves = saved.tolist()
        self.counts, self._moves = [late, skipped], deque(moves)
