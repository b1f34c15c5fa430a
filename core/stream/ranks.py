"""Jobs of several processes: the first one reads, and all of them make the same window of what it has read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from suricate.io.sources.refusals import Refusals, take_held
from suricate.io.sources.source import MARK
from suricate.stream.background import ReadAhead

if TYPE_CHECKING:
    from suricate.comm.protocol import Comm


class Ranks:
    """The processes that run a job; without ``comm`` it is one.

    Args:
        comm: the communication of the graph's processes, or None.
    """

    def __init__(self, comm: Comm | None) -> None:
        self._comm = comm if comm is not None and comm.size > 1 else None
        self.several = self._comm is not None
        self.is_first = self._comm is None or self._comm.rank == 0  #: it reads, and writes files

    def any(self, flag: bool) -> bool:
        """Return whether ``flag`` holds on any process."""
        return flag if self._comm is None else any(self._comm.allgather(flag))

    def first(self, read: Callable[[], Any]) -> Any:
        """Call ``read`` on the first process only, and return its result on all; an exception is raised on all."""
        if self._comm is None:
            return read()
        found, problem = None, None
        try:
            found = read() if self.is_first else None
        except Exception as error:
            problem = error
        found = self._comm.together(problem, found)[0]
        return found if self.is_first else copy.deepcopy(found)  # processes that are threads share what they are given

    def chunk(self, read: Callable[[], Any], held: Callable[[], Any]) -> tuple[Any, Callable[[], Any]]:
        """Call ``read`` and ``held`` on the first process; return both results on all, the latter as a function.

        ``read`` returns a position and a chunk, None at the end; ``held`` returns the malformed rows of that chunk.
        """
        if self._comm is None:
            return read(), held
        found, is_mark, rows = self.first(lambda: _sent(read(), held()))
        return (found[0], MARK) if is_mark else found, lambda: rows

    def mute(self, refusals: Sequence[Refusals]) -> None:
        """Have only the first process write the files of refused events."""
        for each in () if self.is_first else refusals:
            each.mute()


def _sent(found: Any, rows: Any) -> tuple[Any, bool, Any]:
    """Return what is sent to other processes, where :data:`MARK` would be another object."""
    is_mark = found is not None and found[1] is MARK
    return (found[0], None) if is_mark else found, is_mark, rows


def held_by(reader: Any, refusals: Sequence[Refusals]) -> Any:
    """Return the malformed rows that were held back while the last chunk was read."""
    return reader.held if isinstance(reader, ReadAhead) else take_held(refusals)
