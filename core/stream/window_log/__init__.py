"""``w.log``: the events of a window by vertex, which slide with it.

On the host the ring of the window numbers its events as a log does: ``ring_record`` reads them there, and nothing of
them is kept twice. On CUDA each slide sends its events to a record of the log's own. ``followed`` keeps the index,
:class:`WindowLog` is what a slide shows.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from suricate.base.errors import RequirementError
from suricate.events import Events, taking_of
from suricate.events.record import Record
from suricate.intake.arrays import on_host
from suricate.state.column import TEXT
from suricate.state.edge_table import Kind, checked_kinds
from suricate.state.locks import graph_lock
from suricate.state.workspace import Workspace

if TYPE_CHECKING:
    from suricate.intake.names import Names
    from suricate.stream.window import Window


class WindowLog(Events):
    """The log of a window at a slide, ``w.log``: a ``suricate.Events`` that only the window's slides change.

    Once the next slide closes, whatever is asked of it raises ``RequirementError``; ``copy.copy`` makes an ordinary log
    of the same events and numbers, which lasts.
    """

    def __init__(self, job: Window, start: int | None, end: int) -> None:
        followed = job.contents.followed
        assert followed is not None
        self._followed = followed
        with followed.lock, followed.device.current():
            followed.cover(job.graph.num_vertices)
        record = followed.record
        self.device, self.directed, self.over = followed.device, job.graph.directed, followed.over
        self._limit, self._lock, self._version = None, followed.lock, followed.version
        self._workspace, self._taking = followed.workspace, followed.taking
        self.names, self.num_vertices = job.names, job.graph.num_vertices
        self._texts = job.contents.intake.attributes.texts
        self._kinds = {
            name: Kind(TEXT if name in self._texts else ring.dtype, None) for name, ring in record.columns.items()
        }
        self._expired, self._closed = start, end
        self._newest = int(record.time[record.next - 1 & record.capacity - 1]) if len(record) else None

    def _demand_current(self) -> None:
        if self._followed.version != self._version:
            raise RequirementError("the slide of this log is over: copy.copy(w.log) makes a log that lasts")

    @property
    def _record(self) -> Record:  # type: ignore[override]
        self._demand_current()
        return self._followed.record

    @property
    def _index(self) -> Any:
        self._demand_current()
        return self._followed.index

    def _shared_version(self) -> np.ndarray:
        return self._followed.watch

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise RequirementError("only the window's slides change this log: copy.copy(w.log) makes one of your own")

    append = close_before = expire = insert_vertices = remove = _refuse

    def at(self, column: str, numbers: Any) -> Any:
        """Return the values of a column for live events, as ``Events.at``; texts as objects."""
        found = super().at(column, numbers)
        return self._texts[column][on_host(found)] if column in self._texts else found

    def __copy__(self, memo: Any = None) -> Events:
        made, own = object.__new__(Events), {"_followed", "_texts"}
        vars(made).update({name: value for name, value in vars(self).items() if name not in own})
        with self._lock:
            record = made._record = self._record.copy()
            places = np.arange(record.first, record.next) & record.capacity - 1
            for name, texts in self._texts.items():
                ids, record.columns[name] = on_host(record.columns[name])[places], np.full(record.capacity, "", object)
                record.columns[name][places] = texts[ids]
            made._index = self._index.copy(made._admit)
            made.names = None if self.names is None else _counted(self.names, record)
        made._kinds = checked_kinds({name: kind.dtype for name, kind in self._kinds.items()})
        made._workspace, made._watch = Workspace(self.device), None
        made._lock, made._taking = graph_lock(self.device), taking_of(self.device)
        return made

    __deepcopy__ = __copy__

    def __reduce__(self) -> Any:
        return copy(self).__reduce__()

    def save(self, path: Any) -> None:
        """Write the log to a file, as ``Events.save``."""
        copy(self).save(path)


def _counted(names: Names, record: Record) -> Names:
    """Return a copy of the names of a window, in which those at the ends of events count as they do in a log."""
    made, (src, dst) = names.copy(), record.ends(record.first, record.next)
    alive = slice(None) if record.alive is None else record.listed(record.alive, record.first, record.next) != 0
    ends, counts = np.concatenate([on_host(end[alive]) for end in (src, dst)]), made._table.counts
    counts[counts >= 0] = np.bincount(ends, minlength=len(counts))[counts >= 0]
    return made
