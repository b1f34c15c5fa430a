"""Jobs of several processes: rank 0 reads, each rank holds its events, and all apply the same slides to their graph.

For each slide rank 0 sends a message (``Entering``) and the events that enter, see ``windows.division``. Each rank
finds the net change of its pairs, and then all get all lists of deleted and new edges, in memory of the graph's device.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import RequirementError
from suricate.base.parameters import one_of
from suricate.comm.messages import source_limit
from suricate.intake.arrays import bits, on_host
from suricate.io.sources.all_ranks import InStretches, Stretches
from suricate.io.sources.lanes import InLanes
from suricate.state.locks import capacity_error
from suricate.stream.options import STEP, WindowOptions
from suricate.windows.ring import Change

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.comm.protocol import Comm
    from suricate.io.sources.refusals import Refusals
    from suricate.io.sources.source import Source
    from suricate.stream.graphs import Graphs
    from suricate.stream.window import Window


WORD = 8  #: bytes of which the lists of a rank are a multiple


class Ranks:
    """The processes that run a job; without ``comm`` it is one."""

    def __init__(self, comm: Comm | None) -> None:
        self.comm = comm if comm is not None and comm.size > 1 else None  #: None: this is the only process
        self.several = self.comm is not None
        self.rank, self.size = (0, 1) if self.comm is None else (self.comm.rank, self.comm.size)
        self.is_first = self.comm is None or self.comm.rank == 0  #: it reads, and writes sinks

    def any(self, flag: bool, reader: Any) -> bool:
        """Return whether ``flag``, that the job stops, is True on any rank; readers of all ranks have agreed on it."""
        agreed: bool | None = getattr(reader, "stops", None)
        if agreed is not None:
            return agreed
        return flag if self.comm is None else self.ask(flag, lambda: None)[0]

    def ask(self, flag: bool, call: Callable[[], Any]) -> tuple[bool, Any]:
        """Return whether ``flag`` is True on any rank, and what :meth:`first` returns for ``call``."""
        if self.comm is None:
            found = call()
            return flag, found
        found, flags = self._together(call, lambda found: found, flag)
        return any(flags), found

    def first(self, call: Callable[[], Any], sent: Callable[[Any], Any] = lambda found: found) -> Any:
        """Call ``call`` on rank 0 only; return its result there, and a copy of ``sent(result)`` on the other ranks.

        An exception on rank 0 is raised on all ranks.
        """
        if self.comm is None:
            return call()
        return self._together(call, sent)[0]

    def _together(
        self, call: Callable[[], Any], sent: Callable[[Any], Any], flag: bool = False
    ) -> tuple[Any, list[bool]]:
        """Return what :meth:`first` returns for ``call`` and ``sent``, and the ``flag`` of each rank; collective."""
        assert self.comm is not None
        found, said, problem = None, None, None
        try:
            if self.is_first:
                with self.comm.busy():
                    found = call()
                said = sent(found)
        except Exception as error:
            problem = error
        everybody = self.comm.together(problem, (said, flag))
        if not self.is_first:
            found = copy.deepcopy(everybody[0][0])  # processes that are threads share what they are given
        return found, [flag for _, flag in everybody]

    def due(self, read: Callable[[], Any], job: Window) -> Any:
        """Return what ``read`` returns: on all ranks if all read the source, else on rank 0, which tells the others."""
        if job._all_read:
            return read()
        found = self.first(read, lambda due: job.contents.told(due, job.skipped))
        return found if self.is_first else job.contents.heard(job.skipped, *found)

    def change(self, found: Change, graphs: Graphs) -> Change:
        """Return the net change of all ranks, of which each passes a part, with weights of the graph's dtype.

        The parts have no pair in common. Arrays of edges are in memory of the graph's device, or on the host if the
        graph has columns of edges. ``WeightError`` and ``CapacityError`` are raised on all.
        """
        if self.comm is None:
            return graphs.fitted(found)
        graph, comm = graphs.graph, self.comm
        problem: Exception | None = None
        assert graph is not None
        xp = np if graph.edge_table is not None else graph.device.xp
        found = found if graphs.has_names else found._replace(fresh=None)  # without names nobody else asks for it
        sizes, own = found.sizes or comm.allgather(found.size), np.empty(1, np.uint8)  # shorter than any part
        try:
            found = graphs.fitted(found)
            with graph.exclusive():
                memory, ends, parts = _memory_for(sizes, graphs.weight_dtype, xp, masks=found.fresh is not None)
                _write(parts[comm.rank], found, xp)
            own = memory[ends[comm.rank] : ends[comm.rank + 1]] if xp is np else own
        except MemoryError as error:
            problem = capacity_error(graph.device, error)
        except Exception as error:
            problem = error
        lists = comm.allgatherv(own) if xp is np else []
        if xp is not np or any(len(part) % WORD for part in lists):
            comm.together(problem)
        names = found.attributes or ()
        columns = comm.gather("attributes of a change", found.attributes) if names else []
        with graph.exclusive():
            if xp is np:
                np.concatenate(lists, out=memory)
            elif len(memory):
                comm.share(memory, ends, agreed=True)
            gone, new = (tuple(xp.concatenate([part[at] for part in parts], axis=1)) for at in (0, 1))
            value, mask = (None if one[0] is None else xp.concatenate(one) for one in [*zip(*parts, strict=True)][2:])
        attributes = {name: np.concatenate([one[name] for one in columns]) for name in names} or None
        fresh = None if mask is None else on_host(mask).view(bool)
        return found._replace(gone=gone, new=new, value=value, fresh=fresh, attributes=attributes)

    def waiting(self) -> AbstractContextManager[None]:
        """Return a context in which rank 0 reads the source: others wait for it for as long as that may take."""
        return nullcontext() if self.comm is None else self.comm.busy(source_limit(), reads=True)

    def alike(self) -> AbstractContextManager[None]:
        """A context manager: an exception inside it on any rank is raised on all ranks at its end."""
        return nullcontext() if self.comm is None else self.comm.alike()

    def mute(self, refusals: Sequence[Refusals], *, all_read: bool) -> None:
        """Make all ranks but rank 0 write no files of refused events; if all read, these are handed on to it."""
        for each in refusals:
            each.path = each.path if self.is_first else None
            each.found = [] if all_read else None

    def readable(self, source: Source, readers: Any, options: WindowOptions) -> Source:
        """Return the source as it is, or, of files, in stretches if ``readers`` is ``"all"``; collective.

        Raises:
            UnknownNameError: ``readers`` is neither ``"first"`` nor ``"all"``.
            ParameterError: ranks pass different ``readers``, or see different files.
            RequirementError: the source cannot be read by all.
        """
        with self.alike():
            one_of("readers", readers, ("first", "all"))
        if self.comm is not None:
            self.comm.same({"readers": readers})
        if readers == "first":
            return source
        with self.alike():
            has_lanes = isinstance(source, InLanes)
            if options.mode == STEP or (options.at_end == "hold" and not has_lanes):
                what = "slide='step'" if options.mode == STEP else "at_end='hold'"
                raise RequirementError(f"readers='all': not with {what}, for which readers='first' reads")
            if isinstance(source, InLanes):
                source._demand_divided(idle=options.idle_seconds is not None)
            divided = source if isinstance(source, InLanes | InStretches) else Stretches(source)
        if self.comm is not None:
            self.comm.same({"the source (its files and their sizes)": divided._told()})
        return divided


def _memory_for(
    sizes: Sequence[Any], dtype: np.dtype | None, xp: Any, *, masks: bool
) -> tuple[Array, np.ndarray, list[Any]]:
    """Return an array of bytes for the parts of all ranks of a change, where they begin, and views of each part.

    ``sizes``: of each rank how many edges go and come, and whether these have weights, of ``dtype`` then; ``masks``:
    whether it is told which of these are fresh. The views: ``gone`` and ``new``, ``uint32[2, k]`` each, the weights of
    ``new`` or None, and the mask, ``uint8[k]``, or None.
    """
    dtype = dtype if sizes[0][2] else None
    width = (8 if dtype is None else 8 + dtype.itemsize) + masks
    lengths = [WORD * -(-(8 * lost + width * gained) // WORD) for lost, gained, _ in sizes]  # weights are aligned
    ends = np.cumsum([0, *lengths])
    memory, parts = xp.empty(int(ends[-1]), np.uint8), []
    for (lost, gained, _), begin in zip(sizes, ends.tolist(), strict=False):
        at, end = begin + 8 * lost, begin + 8 * (lost + gained)
        gone, new = memory[begin:at].view(np.uint32), memory[at:end].view(np.uint32)
        last = begin + 8 * lost + width * gained
        value = None if dtype is None else memory[end : end + gained * dtype.itemsize].view(dtype)
        parts.append(
            (gone.reshape(2, lost), new.reshape(2, gained), value, memory[last - gained : last] if masks else None)
        )
    return memory, ends, parts


def _write(lists: Any, change: Change, xp: Any) -> None:
    """Copy the columns of ``change`` to the arrays ``lists``, which belong to the module ``xp``."""
    (gone, new, *others), parts = lists, (*change.gone, *change.new, change.value, change.fresh)
    for place, part in zip((*gone, *new, *others), parts, strict=True):
        if place is not None and place.size:
            bits(place)[:] = bits(on_host(part) if xp is np else xp.asarray(part))
