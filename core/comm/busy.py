"""Work that a process of a job does by itself, for as long as it takes: others do not count it as time of waiting."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Span(NamedTuple):
    """Work that goes on: when it began and must be over, and whether others are expected at a collective meanwhile."""

    began: float
    end: float
    reads: bool


class Busy:
    """The work of one rank, which may nest and be in several threads; true while there is any."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self.ended = -math.inf  #: when the last span ended

    @contextmanager
    def span(self, most: float | None, *, reads: bool) -> Iterator[None]:
        """Count the time inside the context; see ``Comm.busy`` for the arguments."""
        now = time.monotonic()
        span = Span(now, math.inf if most is None else now + most, reads)
        self._spans.append(span)
        try:
            yield
        finally:
            self._spans.remove(span)
            self.ended = time.monotonic()

    def __bool__(self) -> bool:
        return bool(self._spans)

    @property
    def end(self) -> float:
        """When the work must be over, by ``time.monotonic()``; infinity without a limit."""
        return min([span.end for span in [*self._spans]], default=math.inf)

    @property
    def reads_since(self) -> float:
        """When this rank began to read a source; infinity if it reads none."""
        return min([span.began for span in [*self._spans] if span.reads], default=math.inf)

    def overdue(self, rank: int) -> str | None:
        """Return an error message if the work of ``rank`` takes longer than its limit, else None."""
        for began, end, reads in [*self._spans]:
            if time.monotonic() > end:
                what = "got nothing from its source within" if reads else "was busy for more than"
                return f"rank {rank} {what} {end - began:g} s" + " (SURICATE_SOURCE_TIMEOUT)" * reads
        return None
