"""Rounds of ``iterate`` as plain launches: kernels with ready arguments, launched again and again.

The launches of the first round are repeated with a few arguments replaced: scalars use their next slot, and swapped
arrays change places. After six rounds all arguments are the same again. Only kernels that depend on nothing but their
arguments (``STEADY``) can be repeated so. Counters that they expect to be zero belong to the loop, which clears them
after every round. A body with other kernels is repeated by calling its operators again (see ``recording``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.program import Launch
from suricate.state.frontier import DeviceCount
from suricate.state.scalar import SLOTS

PERIOD = 2 * SLOTS  #: rounds after which arguments recur
WORDS = 64  #: of counters per loop
#: kernels that depend on nothing but their arguments
STEADY = {
    "complete_vertices", "fill_values", "map_arcs", "map_edges", "map_heavy_edges", "map_segments",
    "map_vertices", "reduce_heavy_vertices", "reduce_segments", "reduce_vertices",
}  # fmt: skip

_local = threading.local()


class Cleared:
    """The counters of one loop, ``uint64[WORDS]`` on the device, which are zero at the beginning of each round."""

    def __init__(self, words: Array) -> None:
        self.words, self.used = words, 0
        self._halves, self._start = words.view(np.uint32), words.data.ptr

    @contextmanager
    def given(self) -> Iterator[None]:
        """Let the operators that this thread calls take their counters from here, inside the ``with`` block."""
        before, _local.cleared = getattr(_local, "cleared", None), self
        try:
            yield
        finally:
            _local.cleared = before

    def count(self) -> DeviceCount | None:
        """Return a ``uint32`` counter that nothing else uses in a round; None if all counters are taken."""
        address = self.total()
        return None if address is None else DeviceCount(self._halves, 2 * (self.used - 1), address)

    def total(self) -> np.uint64 | None:
        """Return the address of a ``uint64`` counter that nothing else uses in a round; None if all are taken."""
        self.used += 1
        return None if self.used > WORDS else np.uint64(self._start + 8 * (self.used - 1))


def cleared_counters() -> Cleared | None:
    """Return the counters of the loop whose first round runs in this thread; None if there is no such loop."""
    return getattr(_local, "cleared", None)


class Replay:
    """The launches of a round, and how their arguments change from round to round.

    Args:
        launches: the launches of the first round.
        scalars: the scalars among their arguments, each with its slot (``turn``) before the round, and by how many
            slots a round moves it.
        other: maps :func:`place` of an array to the array that replaces it in every second round.
    """

    def __init__(
        self, launches: list[Launch], scalars: list[tuple[Any, int, int]], other: dict[tuple[int, int], Array]
    ) -> None:
        self._launches, self._other = launches, other
        self._slots = {
            id(packed): (scalar._packed, turn, turns)
            for scalar, _, turns in scalars
            for turn, packed in enumerate(scalar._packed)
        }
        self._ready: list[list[tuple[Any, tuple[Any, ...]]] | None] = [None] * PERIOD

    def launch(self, number: int) -> None:
        """Launch round ``number``, with the arguments that it needs; round 0 is the first one, which the body made."""
        at = number % PERIOD
        ready = self._ready[at]
        if ready is None:
            ready = self._ready[at] = [self._turned(launch, at) for launch in self._launches]
        for kernel, given in ready:
            kernel(*given)

    def _turned(self, launch: Launch, number: int) -> tuple[Any, tuple[Any, ...]]:
        grid, block, arguments = launch.given
        return launch.kernel, (grid, block, tuple(self._in_round(number, argument) for argument in arguments))

    def _in_round(self, number: int, argument: Any) -> Any:
        """Return what round ``number`` passes in place of ``argument``, an argument of the first round."""
        slots = self._slots.get(id(argument))
        if slots is not None:
            packed, turn, turns = slots
            return packed[(turn + number * turns) % SLOTS]
        if number % 2 == 1 and hasattr(argument, "__cuda_array_interface__"):
            return self._other.get(place(argument), argument)
        return argument


def place(array: Array) -> tuple[int, int]:
    """Return device address and length in bytes of ``array``, by which equal arguments of launches are recognised."""
    return array.data.ptr, array.nbytes
