"""Extrapolation in PageRank's whole passes on the CPU, where the host sees the change of every step.

Steps whose changes decrease slowly are extrapolated (:class:`StepExtrapolation`). When each change is about ``q`` times
the one before, the rest of the error belongs to one eigenvalue, and the coming steps are a geometric series: its sum,
``q / (1 - q)`` times the last change, is added at once (:class:`SeriesExtrapolation`; Aitken's method; Kamvar et al.,
*Extrapolation methods for accelerating PageRank computations*, 2003). The step after that is a plain one, so that its
change tells how large the error is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from suricate.algorithms.pagerank.steps import FAST, FRESH, GIVEN_UP, SLOW

STEADY = 0.2  #: where norms fall by factors that differ by no more, relatively, changes are compared
ALIKE = 0.01  #: at most so much of the square of a change is not a multiple of the one before


class StepExtrapolation:
    """Decides on the CPU which steps to extrapolate, by the norms of the changes that the steps before have made.

    A step is extrapolated while norms fall slowly, unless extrapolated steps did not make them fall faster. On CUDA the
    function ``finish_paced`` of ``steps.py`` decides this by the same rule.
    """

    def __init__(self, alpha: float) -> None:
        self._alpha, self._pace = alpha, FRESH
        self.is_fast = False  #: the last answer of :meth:`quickens`

    def quickens(self, last: float) -> bool:
        """Return whether to extrapolate the next step; ``last`` is the norm of the change that the last step made."""
        earlier, was_fast = self._pace, self.is_fast
        last = self._alpha * last if was_fast else last
        self.is_fast = last <= FAST * earlier if was_fast else last > SLOW * earlier
        gives_up = earlier == GIVEN_UP or (was_fast and not self.is_fast)
        self._pace = GIVEN_UP if gives_up else FRESH / 2 if earlier == FRESH else last
        return self.is_fast

    def restart(self) -> None:
        """Forget the changes of earlier steps, so that the next one is not compared with them."""
        self._pace, self.is_fast = GIVEN_UP if self._pace == GIVEN_UP else FRESH, False


class SeriesExtrapolation:
    """Decides when to add the sum of all coming steps at once, if their changes form a geometric series.

    ``tol`` is the norm of a change at which the iteration ends. ``summed`` returns sums of a list of numbers over all
    processes, each of which passes its own vertices.
    """

    def __init__(self, tol: float, summed: Callable[[list[float]], list[float]]) -> None:
        self._tol, self._summed = tol, summed
        self._norm = self._factor = np.inf  # of the last change, and of that and the one before
        self._change: np.ndarray | None = None  # the last one, if it was looked at

    def weight(self, norm: float, share: np.ndarray, before: np.ndarray, *, plain: bool) -> float:
        """Return by which factor to multiply the last change before it is added to the values; 0.0: do not add it.

        Args:
            norm: norm of the change that the last step made, above 0.
            share: the values after the step.
            before: the values before it.
            plain: False if :class:`StepExtrapolation` extrapolated the step.
        """
        factor, known = norm / self._norm, self._change
        steady = plain and factor < SLOW and abs(factor - self._factor) <= STEADY * factor
        self._norm, self._factor = norm if plain else np.inf, factor
        self._change = share - before if steady else None
        if self._change is None or known is None or factor * norm <= self._tol:
            return 0.0
        pairs = (self._change, known), (self._change,) * 2, (known,) * 2
        cross, one, other = self._summed([_product(*pair) for pair in pairs])
        if cross * cross < (1 - ALIKE) * one * other or not other > 0:
            return 0.0
        self._norm, self._change, ratio = np.inf, None, cross / other
        return float(ratio / (1 - ratio))


def extrapolate(share: np.ndarray, before: np.ndarray, weight: float) -> None:
    """Add ``weight`` times the difference ``share - before`` to ``share``, in place; ``before`` is overwritten."""
    np.subtract(share, before, out=before)
    before *= weight
    share += before


def _product(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.einsum("i,i->", a, b))  # on one thread, unlike a @ b
