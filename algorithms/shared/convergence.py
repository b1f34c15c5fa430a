"""When iterations end: tolerances that a dtype can reach, contractions that no longer progress, loops cut short."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.parameters import real, shown
from suricate.errors import ParameterError

if TYPE_CHECKING:
    from suricate.operators.results import Propagated

MOST_STEPS = 2**31 - 1
AT_ONCE = 1024  #: steps of a contraction after which its progress is checked, at least
MOST_UNREAD = 256  #: outcomes of loops that are kept unread


def tolerance(label: str, value: Any, dtype: Any = "float64") -> float:
    """Return ``value``, a relative tolerance of at least the rounding error of ``dtype``; ``label`` is for messages.

    Raises:
        ParameterError: it is not a number, or is below that.
    """
    number = real(label, value, low=0, include_low=False)
    demand_floor(label, value, number, float(np.finfo(dtype).eps), dtype)
    return number


def demand_floor(label: str, value: Any, number: float, floor: float, dtype: Any) -> None:
    """Raise ``ParameterError`` if ``number``, a tolerance, is below ``floor``, the rounding error of ``dtype``.

    ``label`` and ``value``, what the user gave, are for the message.
    """
    if number < floor:
        raise ParameterError(
            f"{label} must be at least {floor:.3g}, the rounding error of {np.dtype(dtype).name}, got {shown(value)}"
        )


class Progress:
    """Decides when to end an iteration that will not converge, because only rounding is left or it diverges.

    In exact arithmetic every step reduces the norm of the change at least by the factor ``alpha``. The iteration has
    stalled if many steps in a row have not reduced it at half of this rate.
    """

    def __init__(self, alpha: float, max_iter: int | None) -> None:
        self.limit = MOST_STEPS if max_iter is None else min(max_iter, MOST_STEPS)
        self.at_once = min(MOST_STEPS, max(AT_ONCE, math.ceil(8 / (1 - alpha))))  #: steps between two checks
        self._factor = alpha ** (self.at_once / 2)
        self._last = 2.0  # the L1 distance of two vectors of ranks is not larger
        self.stalled = False

    def ends(self, steps: int, change: float) -> bool:
        """Return whether to end: ``steps`` were made, and the last one changed the values by ``change``."""
        if steps >= self.limit:
            return True
        if steps % self.at_once == 0:
            self.stalled = not change <= self._factor * self._last
            self._last = change
        return self.stalled


class CutLoops:
    """Remembers whether any loop was ended by its limit of steps, without reading outcomes from the device at once."""

    def __init__(self) -> None:
        self._unread: list[tuple[Propagated, Propagated | None, int]] = []
        self._found = False

    def note(self, outcome: Propagated, limit: int, after: Propagated | None = None) -> None:
        """Add a loop of at most ``limit`` steps, including those of ``after`` if it continued that loop.

        Waits for the device once in ``MOST_UNREAD`` calls.
        """
        self._unread.append((outcome, after, limit))
        if len(self._unread) == MOST_UNREAD:
            self.found()

    def clear(self) -> None:
        """Forget all loops, as all vertices are computed again."""
        self._unread, self._found = [], False

    def restore(self, found: bool) -> None:
        """Continue from ``found``, which :meth:`found` of an earlier job returned."""
        self._unread, self._found = [], found

    def found(self) -> bool:
        """Return whether a loop was cut short since :meth:`clear`; waits for the device."""
        for outcome, after, limit in self._unread:
            steps = outcome.steps + (0 if after is None else after.steps)
            self._found = self._found or (steps >= limit and not outcome.converged)
        self._unread = []
        return self._found
