"""Sources in numbered stretches, of which each rank of a job reads its own: files; and how far they were read.

A position in files is (number of a stretch, how many of its chunks were read, how many files were begun, a checksum of
their names, sizes and times). Stretches have the same numbers on any number of ranks, so a job can go on with another
one.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suricate.base.errors import ParameterError, RequirementError
from suricate.io.sources.scan import Scan, divides
from suricate.io.sources.source import Chunk, Source, _Mark

Position = tuple[int, int, int, int]
START: Position = 0, 0, 0, 0


class InStretches(Source, ABC):
    """Base class of sources whose numbered stretches, one behind the other, are read by the ranks that own them.

    The first number of a position is that of a stretch.
    """

    resumes, live = True, False

    def owner(self, number: int, size: int) -> int:
        """Return the rank, of ``size``, that reads a stretch; of one behind the last, any rank."""
        return number % size

    @abstractmethod
    def of_rank(self, rank: int, size: int, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark | None]]:
        """Yield a position behind each chunk of the stretches of a rank, and the chunk; None ends a stretch."""

    def joined(self, before: Any, after: Any) -> Any:
        """Return the position of all from the one ``before``, and the one that :meth:`of_rank` yielded next."""
        return after

    def demand_unchanged(self, position: Any) -> None:
        """Raise ``ParameterError`` if what this rank holds was other data when it was read up to ``position``."""

    @abstractmethod
    def _told(self) -> list[str]:
        """Return what must be the same on all ranks."""

    def is_untouched(self, position: Any) -> bool:
        """Return False: what was added shows when it is read."""
        return False


class Shared(ABC):
    """What lies with the ranks of a job, in parts: ``st.source`` makes a source of it, which all read."""

    @abstractmethod
    def as_source(self, **options: Any) -> Source:
        """Return the source; ``options`` are those of :class:`Source`."""


class Stretches(InStretches):
    """The files of a ``Scan``, in stretches; raises ``RequirementError`` for any other source."""

    def __init__(self, source: Source) -> None:
        if not isinstance(source, Scan) or not divides(source) or source.format == "events" or source.restarts:
            reason = (
                "all processes read files (st.scan) that are no pipes, no event files, not sorted, not read again if "
                "replaced, st.merge, brokers, and what engines hand to their jobs"
            )
            raise RequirementError(f"readers='all': {reason}; readers='first' takes any source")
        self._scan, self.time_unit, self.prefetch = source, source.time_unit, source.prefetch
        self.want, self.reads = source.want, source.reads  # type: ignore[method-assign]
        self.demand_used, self.on_error = source.demand_used, source.on_error  # type: ignore[method-assign]
        self.refusals = source.refusals
        self._sums: list[int] = [0]  # by the number of files

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of all stretches, as one process reads them."""
        for after, chunk in self.of_rank(0, 1, position):
            if chunk is not None:
                yield after, chunk

    def of_rank(self, rank: int, size: int, position: Any = None) -> Iterator[tuple[Position, Chunk | _Mark | None]]:
        """Yield the position behind each chunk of the stretches of a rank, and the chunk; None ends a stretch.

        Raises:
            ParameterError: the files that were begun at ``position`` have changed since.
        """
        first, skips, begun, known = position or START
        if self._sum_of(begun) != known:
            changed = f"the {begun} files that were read have other names, sizes or times than before"
            raise ParameterError(f"scan: {changed}: add files behind them, or begin in another folder of checkpoints")
        count = 0
        for number, chunk in self._scan.by_rank(rank, size, first):
            files = self._scan.at + 1
            if chunk is None:
                count = 0
                yield (number + 1, 0, files, self._sum_of(files)), None
                continue
            count += 1
            if number > first or count > skips:
                yield (number, count, files, self._sum_of(files)), chunk
            else:  # it was read before, with the malformed lines behind it
                self.refusals[0].held = []

    def _sum_of(self, files: int) -> int:
        """Return a checksum of the names, sizes and times of the first ``files`` files; 0 of none."""
        for path in self.paths[len(self._sums) - 1 : files]:
            found = os.stat(path)
            told = f"{path.name} {found.st_size} {found.st_mtime_ns}"
            self._sums.append(zlib.crc32(told.encode("utf-8", "surrogateescape"), self._sums[-1]))
        return self._sums[files] if files < len(self._sums) else -1

    def _told(self) -> list[str]:
        """Return the names and sizes of the files, which are the same for all who read them."""
        return [f"{path.name}: {path.stat().st_size} bytes" for path in self.paths]

    @property
    def paths(self) -> list[Path]:
        """The files, in order."""
        return self._scan._paths

    def place(self, position: Any) -> str:
        """Return the name of the file that ``position`` is in."""
        return str(self.paths[max(position[2] - 1, 0)] if position else self.paths[0])

    def describe(self) -> str:
        """Return the description of the files."""
        return self._scan.describe()
