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
NEAR = 1.1  #: sizes, and numbers of steps, within this factor count as one
MORE_STEPS = "updates of such batches took more steps"  #: a reason to compute from scratch
MOST_UNREAD = 256  #: outcomes of loops that are kept unread


def tolerance(label: str, value: Any, dtype: Any = "float64") -> float:
    """Return the relative tolerance ``value`` as a float; ``label`` names the parameter in errors.

    Raises:
        ParameterError: it is not a positive number, or is below the rounding error of ``dtype``.
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
    stalled if many steps in a row have not reduced the norm at half of this rate (on a logarithmic scale).
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


class WarmStarts:
    """Tells, on the CPU, whether an iteration from the previous result takes fewer steps than one from scratch.

    On grids and roads changes spread slowly, and the start of a computation from scratch may be nearer to the result.
    """

    def __init__(self) -> None:
        self._computed, self._lost, self._steps = 0, math.inf, 0

    def computed(self, steps: int) -> None:
        """Record the steps of a computation from scratch."""
        self._computed = steps

    def updated(self, size: int, steps: int) -> None:
        """Record the steps after a batch of ``size`` arcs; if they were too many, they count for larger ones, too."""
        if NEAR * self._computed < steps and size < self._lost:
            self._lost, self._steps = size / NEAR, steps

    def lose(self, size: int) -> bool:
        """Return whether a batch of ``size`` arcs is likely to take more steps than a computation takes by now."""
        return size >= self._lost and self._steps > NEAR * self._computed


class CutLoops:
    """Records whether any loop was ended by its limit of steps.

    Outcomes are read from the device later, several at once.
    """

    def __init__(self) -> None:
        self._unread: list[tuple[Propagated, Propagated | None, int]] = []
        self._found = False

    def note(self, outcome: Propagated, limit: int, after: Propagated | None = None) -> None:
        """Add ``outcome``, that of a loop of at most ``limit`` steps, to those that :meth:`found` examines.

        ``after`` is the outcome of an earlier loop that this one continued, if any: the steps of both together are
        limited. Waits for the device once in ``MOST_UNREAD`` calls.
        """
        self._unread.append((outcome, after, limit))
        if len(self._unread) == MOST_UNREAD:
            self.found()

    def clear(self) -> None:
        """Forget all loops recorded so far, since all vertices are computed again."""
        self._unread, self._found = [], False

    def restore(self, found: bool) -> None:
        """Forget all loops recorded so far, and make :meth:`found` return ``found``, which a checkpoint contained."""
        self._unread, self._found = [], found

    def found(self) -> bool:
        """Return whether any loop since :meth:`clear` was ended by its limit of steps; waits for the device."""
        for outcome, after, limit in self._unread:
            steps = outcome.steps + (0 if after is None else after.steps)
            self._found = self._found or (steps >= limit and not outcome.converged)
        self._unread = []
        return self._found
