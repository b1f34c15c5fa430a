"""The scalars of one operator on a graph of several ranks, where a rank may call the local operator several times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.parallel.arguments import reduced
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.parallel.partition import Partition


class Totals:
    """The scalars among the arguments of one operator on a graph of several ranks.

    A rank may run the operator in several calls. Every call reads the totals from before the operator. What the calls
    add is summed when the operator ends, in rank order. What all ranks add in the same way counts once, with the value
    of rank 0, since threads may add floats in another order.
    """

    def __init__(self, part: Partition, args: tuple[Any, ...]) -> None:
        self._comm, self._xp = part.comm, part.xp
        self._scalars = list({id(value): value for value in args if isinstance(value, Scalar)}.values())
        self.begin()

    @property
    def counts_calls(self) -> bool:
        """Whether there are scalars, so that it matters how often functions are called."""
        return bool(self._scalars)

    def begin(self) -> None:
        """Copy the totals of all scalars before an operator, so that what this rank adds can be computed later."""
        self._before = [scalar.total.copy() for scalar in self._scalars]
        # for a part of the work, and by all alike
        self._added = [self._xp.full(2, scalar.neutral, scalar.dtype) for scalar in self._scalars]

    @contextmanager
    def call(self, *, alike: bool = False) -> Iterator[None]:
        """Return a context for one call of the operator; ``alike``: all ranks make the same call, so it counts once."""
        self.undo()
        yield
        for scalar, added in zip(self._scalars, self._added, strict=True):
            into = added[1:] if alike else added[:1]
            into[:] = reduced(self._xp, scalar.op, into, scalar.total)

    def end(self) -> None:
        """Add up the totals of all ranks at the end of the operator; collective if there are scalars."""
        if not self._scalars:
            return
        parts = self._comm.allgatherv(self._xp.concatenate([added.view(np.uint8) for added in self._added]))
        begin = 0
        for scalar in self._scalars:
            end = begin + 2 * scalar.dtype.itemsize
            numbers = [part[begin:end].copy().view(scalar.dtype) for part in parts]
            total, begin = numbers[0][1:], end
            for added in numbers:
                total = reduced(self._xp, scalar.op, total, added[:1])
            scalar.total[:] = total

    def undo(self) -> None:
        """Reset the scalars to their totals before the operator."""
        for scalar, before in zip(self._scalars, self._before, strict=True):
            scalar.total[:] = before
