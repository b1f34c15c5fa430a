"""The scalars of one operator that several ranks run, in several calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.parallel.arguments import REDUCE
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.parallel.partition import Partition


class Totals:
    """The scalars among the arguments of an operator.

    Every call of the operator reads the totals from before it. What the calls add is brought together at the end, in
    rank order; what all ranks add alike counts once, as rank 0 has it: threads add up floats in an order of their own.
    """

    def __init__(self, part: Partition, args: tuple[Any, ...]) -> None:
        self._comm = part.comm
        self._scalars = list({id(value): value for value in args if isinstance(value, Scalar)}.values())
        self.begin()

    def begin(self) -> None:
        """Begin an operator."""
        self._before = [scalar.total.copy() for scalar in self._scalars]
        self._added = [np.full(2, scalar.neutral) for scalar in self._scalars]  # for a part of the work, by all alike

    @contextmanager
    def call(self, *, alike: bool = False) -> Iterator[None]:
        """Make one call of the operator meanwhile: for a part of the work, or ``alike`` on all ranks."""
        for scalar, before in zip(self._scalars, self._before, strict=True):
            scalar.total[:] = before
        yield
        for scalar, added in zip(self._scalars, self._added, strict=True):
            into = added[1:] if alike else added[:1]
            into[:] = REDUCE[scalar.op](into, scalar.total)

    def end(self) -> None:
        """End the operator: all ranks have the same totals; collective if there are any scalars."""
        if not self._scalars:
            return
        parts = self._comm.allgather(self._added)
        for number, scalar in enumerate(self._scalars):
            total = parts[0][number][1:]
            for added in parts:
                total = REDUCE[scalar.op](total, added[number][:1])
            scalar.total[:] = total
