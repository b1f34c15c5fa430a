"""Sources of events from the partitions of a Dask DataFrame, each of which the rank reads that holds it.

In their order a partition is a stretch, as of files (``io.sources.all_ranks``); sorted by time it is a lane, as the
sources of ``st.merge`` are. Positions name partitions, not ranks, so a job goes on wherever they lie then.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.io.sources.all_ranks import InStretches
from suricate.io.sources.chunk_columns import as_array, in_order, part_of
from suricate.io.sources.combined import Merge, Several
from suricate.io.sources.identity import ChangedError, Sums, rows_behind, sums_of
from suricate.io.sources.lanes import MergeLanes
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.source import Chunk, Source, _Mark, columns_of

MOST = 1 << 18  #: rows of a chunk of a partition
SORTED = 1 << 20  #: rows of the chunks of all sorted partitions together, each of which has
LEAST = 1 << 12  #: as many at least

Position = tuple[int, int, int]  #: a partition, how many of its rows were read, and their checksum


class InOrder(InStretches):
    """The events of all partitions, one behind the other.

    A position is a ``Position`` and the tuple of those of the partitions with rows before.

    Args:
        owners: by partition the rank that holds it.
        held: by number the partitions of this rank, frames.
        size: the number of ranks.
        options: those of ``Source``.
    """

    def __init__(self, owners: Sequence[int], held: Mapping[int, Any], size: int, **options: Any) -> None:
        super().__init__(**options)
        self.options, self.owners, self.held, self.size = options, owners, held, size

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of all partitions; ``RequirementError`` if there are several ranks."""
        demand_alone(self.size)
        self.demand_unchanged(position)
        for after, chunk in self.of_rank(0, 1, position):
            if chunk is not None:
                position = self.joined(position, after)
                yield position, chunk

    def owner(self, number: int, size: int) -> int:
        """Return the rank that holds a partition."""
        return self.owners[number] if number < len(self.owners) else 0

    def of_rank(self, rank: int, size: int, position: Any = None) -> Iterator[tuple[Position, Chunk | _Mark | None]]:
        """Yield a ``Position`` behind each chunk of the partitions of this rank, and the chunk; None ends one."""
        first, begin, *_ = position or (0, 0)
        for number in sorted(number for number in self.held if number >= first):
            done, sums = 0, Sums()
            for chunk in self._chunks(number, begin if number == first else 0):
                sums = sums_of(chunk, sums) if self.checked else sums
                done += len(chunk["src"])
                if number > first or done > begin:
                    yield (number, done, _checksum(sums)), chunk
            yield (number, done, 0), None

    def _chunks(self, number: int, cut: int = 0) -> Iterator[Chunk]:
        """Yield the columns of a partition in pieces, one of which ends behind ``cut`` rows."""
        whole = columns_of(self.held[number], self.columns, self.attributes)
        rows = len(whole["src"])
        cuts = sorted({*range(0, rows, MOST), min(cut, rows), rows})
        for begin, end in pairwise(cuts):
            yield {name: part_of(column, begin, end) for name, column in whole.items()}

    def joined(self, before: Any, after: Any) -> Any:
        """Return the position of all."""
        *last, ends = before or (after[0], ())
        return (*after, ends if last[0] == after[0] else (*ends, (*last,)))

    def demand_unchanged(self, position: Any) -> None:
        """Raise ``ParameterError`` unless the rows of this rank up to ``position`` are those that were read."""
        *last, ends = position or ((),)
        for number, rows, checksum in (*ends, last) if last else ():
            if number >= len(self.owners):
                raise ParameterError(f"checkpoint: partition {number} was read, and there are {len(self.owners)} now")
            if number in self.held and self._sum_of(number, rows) != (rows, checksum):
                raise ParameterError(
                    f"checkpoint: {self.place((number,))} has other rows than the {rows} that were read"
                )

    def _sum_of(self, number: int, rows: int) -> tuple[int, int]:
        """Return how many of the first ``rows`` rows of a partition there are, and their checksum."""
        done, sums = 0, Sums()
        for chunk in self._chunks(number, rows):
            if done < rows:
                sums = sums_of(chunk, sums) if self.checked else sums
                done += len(chunk["src"])
        return done, _checksum(sums)

    def _told(self) -> list[str]:
        return [self.describe()]

    def _by_time(self) -> Source:
        return ByTime(self)

    def place(self, position: Any) -> str:
        """Return which partition ``position`` is in."""
        return f"partition {position[0] if position else 0}"

    def describe(self) -> str:
        """Return a text without the number of partitions: further ones may come behind."""
        return "Partitions"


def _checksum(sums: Sums) -> int:
    return zlib.crc32(repr(sums).encode()) if sums else 0


def demand_alone(size: int) -> None:
    """Raise ``RequirementError`` unless there is one rank."""
    if size > 1:
        how = "st.Window(data, readers='all', graph={'comm': comm}) has each read its own"
        raise RequirementError(f"the partitions lie with {size} processes: {how}")


class SortedPart(Source):
    """The events of a partition, sorted by time; on ranks without the ``frame`` it is None."""

    resumes, live = True, False

    def __init__(self, number: int, frame: Any, rows: int, **options: Any) -> None:
        super().__init__(**options)
        self._number, self._frame, self._rows = number, frame, rows

    @cached_property
    def refusals(self) -> Sequence[Refusals]:
        """Say that there are none: no row is malformed, and others are refused by those of all partitions."""
        return ()

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks behind ``position``, see ``identity.rows_behind``."""
        try:
            yield from rows_behind(self._chunks(), position, checked=self.checked)
        except ChangedError as error:
            raise ParameterError(f"checkpoint: {self.place(position)} {error}") from None

    def _chunks(self) -> Iterator[Chunk]:
        chunk = columns_of(self._frame, self.columns, self.attributes)
        if not len(chunk["src"]):
            return
        if "time" not in chunk:
            raise RequirementError("order='time' needs events with times")
        order = np.argsort(as_array(chunk["time"]), kind="stable")
        chunk = {name: in_order([column], order) for name, column in chunk.items()}
        for begin in range(0, len(order), self._rows):
            yield {name: part_of(column, begin, begin + self._rows) for name, column in chunk.items()}

    def place(self, position: Any) -> str:
        """Return which partition it is."""
        return f"partition {self._number}"


class ByTime(Merge):
    """The events of all partitions, sorted; of equal times those of the first partition come first.

    As all partitions are merged, a row without a time is an error, whatever ``on_error`` says.
    """

    def __init__(self, source: InOrder) -> None:
        self.owners, self.size = source.owners, source.size
        rows = max(LEAST, SORTED // len(self.owners))
        frames = (source.held.get(number) for number in range(len(self.owners)))
        parts = [SortedPart(number, frame, rows, **source.options) for number, frame in enumerate(frames)]
        Several.__init__(self, *parts)  # that of Merge takes two sources at least

    @cached_property
    def refusals(self) -> Sequence[Refusals]:
        """Its own."""
        return (Refusals("on_error", self.on_error, "skip"),)

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield merged chunks; ``RequirementError`` if there are several ranks."""
        demand_alone(self.size)
        yield from super().read(position)

    def _lanes(self, rank: int, size: int, position: Any, ahead: Any, most: int) -> MergeLanes:
        return _Lanes(self.owners, self._sources, self.first, rank, size, position, ahead, most)

    def describe(self) -> str:
        """Return a text with the number of partitions, of each of which a position says something."""
        return f"Partitions({len(self.owners)}, order='time')"


class _Lanes(MergeLanes):
    """What a rank reads: the partitions that it holds."""

    def __init__(self, owners: Sequence[int], *given: Any) -> None:
        self._owners = owners
        super().__init__(*given)

    def owner(self, at: int, size: int) -> int:
        return self._owners[at]

    def begin(self, gather: Any, reading: Any) -> bool:
        """Ask nobody: what a first row says of all is of text files."""
        return True
