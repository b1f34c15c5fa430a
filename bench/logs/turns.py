"""Tasks that make another call by turns with their own, so that both meet the same load of the machine."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.workloads.base import FixtureTask


class ByTurns(FixtureTask):
    """Times :meth:`ours`, as :meth:`action`, and :meth:`other`, untimed by the runner: before and after it by turns.

    Seconds of both are of the processor on the CPU, and of the clock on CUDA or with :attr:`wall`.
    """

    wall = False
    beside = True  #: whether the other call is made

    def start(self) -> None:
        """Forget what was timed."""
        self.turn, self.spent = 0, (list[float](), list[float]())

    def draw(self) -> Any:
        """Return the input of one repeat, for both calls."""

    def ours(self, given: Any) -> Any:
        """Do the work of the row."""
        raise NotImplementedError

    def other(self, given: Any) -> Any:
        """Do that with which it is compared."""
        raise NotImplementedError

    def prepare(self) -> Any:
        """Return the input, after the other call at every second repeat."""
        given = self.draw()
        self.turn += 1
        if self.beside and self.turn % 2:
            self._take(1, given)
        return given

    def action(self, given: Any) -> Any:
        """Do the work of the row."""
        return self._take(0, given)

    def restore(self, given: Any, result: Any) -> None:
        """Make the other call at every second repeat."""
        if self.beside and not self.turn % 2:
            self._take(1, given)

    def _take(self, which: int, given: Any) -> Any:
        clock = time.perf_counter if self.wall or self.device.is_cuda else time.process_time
        begin = clock()
        result = (self.ours, self.other)[which](given)
        self.device.synchronize()
        self.spent[which].append(clock() - begin)
        return result

    def compared(self) -> dict[str, float]:
        """Return the median seconds of both calls, and how many times as fast the row is; {} without the other.

        The first repeats, which compile, are left out, if there are more.
        """
        if not self.beside:
            return {}
        first = constants.WARMUPS + self.verified_repeats
        ours, other = (float(np.median(each[first:] or each)) for each in self.spent)
        return {"ours_s": ours, "beside_s": other, "times_beside": other / ours}
