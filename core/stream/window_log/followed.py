"""The index by vertex of the events of a window, which slides with the window's ring."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.forks import shared_number
from suricate.base.types import DELETE
from suricate.cuda.host_copies import HostCopies
from suricate.events import index_of, taking_of
from suricate.events.record import Record
from suricate.graph.interrupts import Uninterrupted
from suricate.intake.arrays import on_host
from suricate.state.edge_table import WEIGHT
from suricate.state.locks import graph_lock
from suricate.state.workspace import Workspace
from suricate.stream.window_log.ring_record import RingRecord
from suricate.windows.ring.device_ring import DeviceRing

if TYPE_CHECKING:
    from suricate.windows.events import Events as Columns
    from suricate.windows.ring import Change, Ring
    from suricate.windows.ring.device_ring import AnyRing

LARGE = 1 << 20  #: bytes of a column that threads copy


class Followed:
    """The index by vertex of the events of a window, and their record.

    Args:
        device: where they are: on CUDA the events are sent there.
        over: as in ``Events``.
        decays: whether weights decay: then they are no column of the log.

    Attributes:
        lock: held by slides, and by whoever reads: a thread may ask a log while the job slides.
        version: rises with each slide. watch: the same, ``int64[1]``, in memory that forked processes share.
        record, index, taking: as of a log. Before the first slide there is no record.
    """

    def __init__(self, device: Device, over: str, *, decays: bool = False) -> None:
        self.device, self.over, self.version, self._decays = device, over, 0, decays
        self.lock = graph_lock(device)
        self.record: Any = None
        self._ids = 0  # one more than the largest in pairs that have come
        self.index, self.taking = index_of(device, over, 0, _admit), taking_of(device)
        self.watch = shared_number()
        self.workspace = Workspace(device)  # of views

    @property
    def memory(self) -> int:
        """Bytes of the index, and of a record of its own."""
        return int(self.index.memory) + (0 if self.record is None else int(self.record.memory))

    def cover(self, num_vertices: int) -> None:
        """Have a row for each of ``num_vertices`` vertices."""
        missing = num_vertices - self.index.num_vertices
        if missing > 0:
            self.index.add_vertices(missing)

    def slide(self, ring: AnyRing, events: Columns, cutoff: int | None) -> Change:
        """Slide ``ring`` as :meth:`Ring.slide` does, and the index with it; return the change.

        Raises:
            CapacityError: there is too little memory for the index; the ring has not changed, and this may be repeated.
        """
        with self.lock, self.device.current(), Uninterrupted():
            self.version += 1
            self.watch[0] = self.version
            self.cover(self._ids)  # before events of the slide before are merged
            record = self.record = self._record_of(ring, events)
            if cutoff is not None:
                upto = max(record.first, _number_from(ring, cutoff))
                self.index.expire(record, upto)
                record.leave(upto)
            src, dst = self._entering(events)
            if self.device.is_cuda:
                self.index.enter(record, record.next, record.next + len(src))
            else:
                self.index.append(src, dst, record.next)
            if isinstance(ring, DeviceRing):  # both take the same arrays of the device
                events = events._replace(src=src, dst=dst)
            try:
                change = ring.slide(events, cutoff)
            except BaseException:
                self.index.withdraw(src, dst)
                raise
            self._ids, removes = max(self._ids, change.top + 1), events.kind is not None
            record.next += len(src)
            if removes:
                self._remove(ring.on_host())
            if isinstance(record, RingRecord):
                record.follow(removes=removes)
        return change

    def _record_of(self, ring: AnyRing, events: Columns) -> Any:
        if not self.device.is_cuda:
            is_same = self.record is not None and self.record.ring is ring
            return self.record if is_same else RingRecord(ring.on_host(), decays=self._decays)
        if self.record is None:
            return Record(self.device, {name: part.dtype for name, part in self._columns(events).items()})
        return self.record

    def _entering(self, events: Columns) -> tuple[Array, Array]:
        """Return the ends of the insertions and sets among ``events``; on CUDA, write these to the record."""
        if events.kind is not None:
            events = events.taken(events.kind > DELETE)
        ends = events.src, events.dst
        if events.number and isinstance(ends[0], np.ndarray):  # of others the ring tells the largest, in the same wait
            self.cover(max(int(end.max()) for end in ends) + 1)
        if not self.device.is_cuda:
            return on_host(ends[0]), on_host(ends[1])
        self.record.reserve(events.number, _admit)
        src, dst = (self.device.xp.asarray(end, np.uint32) for end in ends)
        columns = {name: self._put(part) for name, part in self._columns(events).items()}
        self.record.write({"time": self._put(events.time), "src": src, "dst": dst, **columns})
        return src, dst

    def _put(self, column: np.ndarray | range) -> Array:
        """Return a column of events on the device; large ones of the host by several threads."""
        xp = self.device.xp
        if isinstance(column, range):
            return xp.arange(column.start, column.stop, dtype=np.int64)
        if column.nbytes < LARGE:
            return xp.asarray(column)
        made = xp.empty(len(column), column.dtype)
        self._copies((np.ascontiguousarray(column),), (made,), xp.cuda.get_current_stream())
        return made

    @cached_property
    def _copies(self) -> HostCopies:
        return HostCopies(self.device)

    def _columns(self, events: Columns) -> dict[str, np.ndarray]:
        """Return weights and attributes of events by name; of texts their ids."""
        found = {} if events.weight is None or self._decays else {WEIGHT: events.weight}
        if events.attributes is not None:
            found |= {name: events.attributes[name] for name in events.attributes.dtype.names or ()}
        return found

    def _remove(self, ring: Ring) -> None:
        """Remove what deletions and sets of the newest slide of ``ring`` removed."""
        gone, put = ring.removed(), self.device.xp.asarray
        if not len(gone):
            return
        ends, numbers = ring.ends_of(gone & (len(ring.kept.time) - 1)), put(gone)
        self.index.remove(put(ends[0]), put(ends[1]), numbers, self.record.first)
        if self.device.is_cuda:
            self.record.mark_removable(_admit)
            self.record.remove(numbers)

    def load(self, saved: Ring) -> None:
        """Make the index, and on CUDA the record, from the ring of a checkpoint."""
        record: Any = RingRecord(saved, decays=self._decays)
        record.follow(removes=True)
        if self.device.is_cuda:
            record = record.copy(self.device)
        self.record = record
        src, dst = record.ends(record.first, record.next)
        if len(src):
            self.cover(max(int(end.max()) for end in (src, dst)) + 1)
        self.index.enter(record, record.first, record.next)
        if record.alive is not None:
            gone = self.device.xp.flatnonzero(record.listed(record.alive, record.first, record.next) == 0)
            self.index.remove(src[gone], dst[gone], gone + record.first, record.first)


def _number_from(ring: AnyRing, time: int) -> int:
    """Return the number of the first event of a ring with a time >= ``time``; the host knows it without waiting."""
    return ring.number_from(time) if isinstance(ring, DeviceRing) else RingRecord(ring).number_from(time)


def _admit(_: int) -> None:
    """Admit any number of bytes: windows have no limit of their own."""
