"""Jobs of several processes: rank 0 reads and holds the events, and all ranks apply the same slides to their graph.

For each slide rank 0 sends a message (:class:`Due`, with lengths in place of the arrays of edges), and then the arrays
of deleted and new edges, in memory of the graph's device.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.comm.messages import source_limit
from suricate.intake.arrays import bits, on_host
from suricate.state.locks import capacity_error
from suricate.windows.ring import Change

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.comm.protocol import Comm
    from suricate.io.sources.refusals import Refusals
    from suricate.stream.graphs import Graphs


class Head(Change):
    """A ``Change`` with counts of edges as ``gone`` and ``new``, and as ``value`` a bool: whether there are weights."""

    __slots__ = ()

    @classmethod
    def of(cls, change: Change) -> Head:
        """Return ``change`` as a head: with numbers in place of its arrays of edges."""
        (gone, _), (new, _), value, *others = change
        return cls(len(gone), len(new), value is not None, *others)  # type: ignore[arg-type]


class Ranks:
    """The processes that run a job; without ``comm`` it is one."""

    def __init__(self, comm: Comm | None) -> None:
        self._comm = comm if comm is not None and comm.size > 1 else None
        self.several = self._comm is not None
        self.is_first = self._comm is None or self._comm.rank == 0  #: it reads, and writes files

    def any(self, flag: bool, before: Callable[[], None] = lambda: None) -> bool:
        """Call ``before`` on rank 0 only; return whether ``flag`` is True on any rank. Raises on all what it raised."""
        if self._comm is None:
            before()
            return flag
        return any(self._together(before, lambda _: None, flag)[1])

    def first(self, call: Callable[[], Any], sent: Callable[[Any], Any] = lambda found: found) -> Any:
        """Call ``call`` on rank 0 only; return its result there, and a copy of ``sent(result)`` on the other ranks.

        An exception on rank 0 is raised on all ranks.
        """
        if self._comm is None:
            return call()
        return self._together(call, sent)[0]

    def _together(
        self, call: Callable[[], Any], sent: Callable[[Any], Any], flag: bool = False
    ) -> tuple[Any, list[bool]]:
        """Return what :meth:`first` returns for ``call`` and ``sent``, and the ``flag`` of each rank; collective."""
        assert self._comm is not None
        found, said, problem = None, None, None
        try:
            if self.is_first:
                with self._comm.busy():
                    found = call()
                said = sent(found)
        except Exception as error:
            problem = error
        everybody = self._comm.together(problem, (said, flag))
        if not self.is_first:
            found = copy.deepcopy(everybody[0][0])  # processes that are threads share what they are given
        return found, [flag for _, flag in everybody]

    def change(self, found: Change | Head, graphs: Graphs) -> Change:
        """Return rank 0's net change of a slide, ``found`` there, with weights of the graph's dtype, on all ranks.

        Ranks compare their errors once; then rank 0 sends the arrays of edges, in memory of the graph's device, or on
        the host if the graph has columns of edges. ``WeightError`` and ``CapacityError`` are raised on all.
        """
        if self._comm is None:
            assert isinstance(found, Change)
            return graphs.fitted(found)
        graph, comm = graphs.graph, self._comm
        assert graph is not None
        problem: Exception | None = None
        head = found if isinstance(found, Head) else Head.of(found)
        try:
            with graph.exclusive():
                xp = np if graph.edge_table is not None else graph.device.xp
                memory, lists = _memory_for(head, graphs.weight_dtype, xp)
                if found is not head:
                    _write(lists, graphs.fitted(found), xp)
        except MemoryError as error:
            problem = capacity_error(graph.device, error)
        except Exception as error:
            problem = error
        comm.together(problem)
        if len(memory):
            with graph.exclusive():
                bounds = np.full(comm.size + 1, len(memory))
                bounds[0] = 0
                comm.share(memory, bounds, agreed=True)
        gone, new, value = lists
        return Change(*head)._replace(gone=gone, new=new, value=value)

    def waiting(self) -> AbstractContextManager[None]:
        """Return a context in which rank 0 reads the source: others wait for it for as long as that may take."""
        return nullcontext() if self._comm is None else self._comm.busy(source_limit(), reads=True)

    def alike(self) -> AbstractContextManager[None]:
        """A context manager: an exception inside it on any rank is raised on all ranks at its end."""
        return nullcontext() if self._comm is None else self._comm.alike()

    def mute(self, refusals: Sequence[Refusals]) -> None:
        """Make all ranks but rank 0 write no files of refused events."""
        for each in () if self.is_first else refusals:
            each.path = None


def _memory_for(head: Any, dtype: np.dtype | None, xp: Any) -> tuple[Array, tuple[Array, Array, Array | None]]:
    """Return an array of bytes for a change as long as ``head``, and views of its ``gone``, ``new`` and ``value``."""
    lost, gained, dtype = head.gone, head.new, dtype if head.value else None
    begin, end = 8 * lost, 8 * (lost + gained)
    memory = xp.empty(end + (0 if dtype is None else gained * dtype.itemsize), np.uint8)
    gone, new = memory[:begin].view(np.uint32), memory[begin:end].view(np.uint32)
    value = None if dtype is None else memory[end:].view(dtype)
    return memory, (gone.reshape(2, lost), new.reshape(2, gained), value)


def _write(lists: tuple[Array, Array, Array | None], change: Change, xp: Any) -> None:
    """Copy ``gone``, ``new`` and ``value`` of ``change`` to the arrays ``lists``, which belong to the module ``xp``."""
    (gone, new, value), parts = lists, (*change.gone, *change.new, change.value)
    for place, part in zip((gone[0], gone[1], new[0], new[1], value), parts, strict=True):
        if place is not None and place.size:
            bits(place)[:] = bits(on_host(part) if xp is np else xp.asarray(part))
