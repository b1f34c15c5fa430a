"""What an index by vertex, samples and paths need to know of a log of events; the record that ``su.Events`` keeps.

Events are numbered from 0 in order of time, and a number is never used again. Those that are kept are ``first`` to
``next`` (exclusive). An index stores the low 32 bits of numbers: compare differences to the low bits of ``first``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array, Device, module_of, total
from suricate.base.errors import CapacityError, require
from suricate.graph.interrupts import Uninterrupted
from suricate.primitives import out_of_memory
from suricate.store.in_place import growable, lengthened, reach

LOW = (1 << 32) - 1  #: the bits of a number that an index stores
FIRST, LAST = -(1 << 63), (1 << 63) - 1  #: the range of times
MOST = 1 << 31  #: events that may be kept at a time, so that differences of 32 bits have an order


class Rows(NamedTuple):
    """Events by vertex, on the log's device: the row of v is in the slots ``begin[v]`` to ``end[v]`` (exclusive).

    A row ascends by number: by time, equal times in order of arrival. Removed events are in no row. The arrays are
    valid until the log changes.

    Attributes:
        begin, end: ``int64[num_vertices]``.
        other: ``uint32[slots]``, the vertex at the other end of the event in a slot.
        number: ``uint32[slots]``, the low 32 bits of its number.
    """

    begin: Array
    end: Array
    other: Array
    number: Array


class Record:
    """The events of a log in order of their numbers, in rings: event n is at ``n & (capacity - 1)``.

    Attributes:
        device: the device of all arrays.
        first, next: the events kept have the numbers ``first`` to ``next`` (exclusive).
        time: ``int64[capacity]``, ascending by number; removed events keep theirs. The capacity is a power of two.
        sources, targets: ``uint32[capacity]``, the ends of the events.
        alive: ``uint8[capacity]``, 0 for removed events, 1 for all others; None if none of those kept was removed.
        columns: further rings by name; texts on the host.
    """

    def __init__(self, device: Device, columns: Mapping[str, np.dtype] | None = None) -> None:
        xp = device.xp
        self.device, self.first, self.next = device, 0, 0
        self.time = xp.empty(1, np.int64)
        self.sources, self.targets = xp.empty(1, np.uint32), xp.empty(1, np.uint32)
        self.alive: Array | None = None
        self._removed = 0  # of the events kept
        self.columns: dict[str, Array] = {
            name: (np if dtype.kind == "O" else xp).empty(1, dtype) for name, dtype in (columns or {}).items()
        }

    def __len__(self) -> int:
        return self.next - self.first - self._removed

    @property
    def capacity(self) -> int:
        """The number of events for which there is memory."""
        return len(self.time)

    @property
    def memory(self) -> int:
        """Bytes of all rings; of texts those of the references."""
        return sum(int(ring.nbytes) for ring in self.rings().values())

    def rings(self) -> dict[str, Array]:
        """Return all rings by name."""
        alive = {} if self.alive is None else {"alive": self.alive}
        return {"time": self.time, "src": self.sources, "dst": self.targets, **alive, **self.columns}

    def _place(self, rings: dict[str, Array]) -> None:
        self.time, self.sources, self.targets = (rings.pop(name) for name in ("time", "src", "dst"))
        self.alive, self.columns = rings.pop("alive", None), rings

    def parts(self, first: int, next: int) -> list[slice]:
        """Return the one or two slices of a ring with the events ``first`` to ``next`` (exclusive), in order."""
        low, high = first & (self.capacity - 1), next & (self.capacity - 1)
        if first == next:
            return []
        return [slice(low, high)] if low < high else [slice(low, self.capacity), slice(0, high)][: 1 + (high > 0)]

    def listed(self, ring: Array, first: int, next: int) -> Array:
        """Return the entries of a ring for the events ``first`` to ``next`` (exclusive): a view, or a copy of two."""
        parts = [ring[part] for part in self.parts(first, next)]
        return parts[0] if len(parts) == 1 else module_of(ring).concatenate(parts) if parts else ring[:0]

    def ends(self, first: int, next: int) -> tuple[Array, Array]:
        """Return sources and destinations, ``uint32`` each, of the events ``first`` to ``next``, removed ones too."""
        capacity = len(self.time)
        low = first & (capacity - 1)
        if (high := low + next - first) <= capacity:
            return self.sources[low:high], self.targets[low:high]
        return self.listed(self.sources, first, next), self.listed(self.targets, first, next)

    def live_ends(self, first: int, next: int) -> tuple[Array, Array]:
        """Return :meth:`ends` without removed events."""
        ends = self.ends(first, next)
        if self.alive is None:
            return ends
        alive = self.listed(self.alive, first, next) != 0
        return ends[0][alive], ends[1][alive]

    def number_from(self, time: int) -> int:
        """Return the number of the first event kept with a time >= ``time``, on the host; ``next`` if there is none."""
        wanted = np.int64(max(time, FIRST))
        return self.first + sum(int(self.time[part].searchsorted(wanted)) for part in self.parts(self.first, self.next))

    def reserve(self, more: int, admit: Callable[[int], None]) -> None:
        """Make the rings large enough for ``more`` further events; ``admit`` raises if so many bytes are too many.

        Raises:
            CapacityError: too many events, or too little memory; nothing has changed.
        """
        wanted = self.next - self.first + more
        if wanted > MOST:
            raise CapacityError(f"{wanted} events are too many: a log keeps {MOST} at a time; expire() older ones")
        if wanted <= self.capacity:
            return
        size, old = 1 << (wanted - 1).bit_length(), self.capacity
        rings, moving = self.rings(), [(part, n) for part, n in self._numbered() if n & (size - 1) != part.start]
        here = {name for name, ring in rings.items() if not self.device.is_cuda and reach(ring) >= size}
        admit(sum((size - old * (name in here)) * ring.itemsize for name, ring in rings.items()))
        larger = {name: self._longer(ring, size, name in here) for name, ring in rings.items()}
        with Uninterrupted():
            if self.alive is not None:
                larger["alive"][old:] = 1
            for part, number in moving:
                for name, ring in larger.items():
                    self._fill(ring, number, ring[part])
                    if name == "alive":
                        ring[part] = 1
            self._place(larger)

    def _numbered(self) -> Iterator[tuple[slice, int]]:
        """Yield the parts of a ring with events, and the number of the first event of each."""
        number = self.first
        for part in self.parts(self.first, self.next):
            yield part, number
            number += part.stop - part.start

    def _longer(self, ring: Array, size: int, in_place: bool) -> Array:
        if in_place:
            return lengthened(ring, size)
        is_plain = self.device.is_cuda or ring.dtype == object
        with out_of_memory("events"):
            longer = module_of(ring).empty(size, ring.dtype) if is_plain else growable(size, ring.dtype)
        longer[: len(ring)] = ring
        return longer

    @staticmethod
    def _fill(ring: Array, first: int, values: Array) -> None:
        """Set the entries of the event ``first`` and the following ones to ``values``."""
        begin = first & (len(ring) - 1)
        before = min(len(ring) - begin, len(values))
        ring[begin : begin + before] = values[:before]
        if before < len(values):
            ring[: len(values) - before] = values[before:]

    def write(self, columns: Mapping[str, Array]) -> None:
        """Write entries of rings, by name, behind ``next``, for which there is memory; they count when it is raised."""
        for name, values in columns.items():
            self._fill(self.rings()[name], self.next, values)

    def mark_removable(self, admit: Callable[[int], None]) -> None:
        """Make :attr:`alive`, if there is none; raises ``CapacityError``, and nothing has changed."""
        if self.alive is None:
            admit(self.capacity)
            with out_of_memory("events"):
                self.alive = self.device.xp.ones(self.capacity, np.uint8)

    def remove(self, numbers: Array) -> None:
        """Remove events with ``numbers``, distinct, kept and not removed, after :meth:`mark_removable`."""
        assert self.alive is not None
        self.alive[numbers & (self.capacity - 1)] = 0
        self._removed += len(numbers)
        self.leave(self.first)

    def leave(self, upto: int) -> None:
        """Let the events with numbers below ``upto`` leave, and those behind them that were removed."""
        if self.alive is not None:
            upto = self._first_live(upto)
            for part in self.parts(self.first, upto):
                alive = self.alive[part]
                self._removed -= len(alive) - total(alive)
                alive.fill(1)
        self.first = upto
        if not self._removed:
            self.alive = None

    def _first_live(self, upto: int) -> int:
        """Return the number of the first live event from ``upto`` on, ``next`` if there is none."""
        assert self.alive is not None
        for part in self.parts(upto, self.next):
            live = self.alive[part].view(np.bool_)
            found = int(live.argmax())
            if live[found]:
                return upto + found
            upto += len(live)
        return upto

    def copy(self, device: Device | None = None) -> Record:
        """Return an independent copy, on the same device or another one; texts stay on the host."""
        made = Record(device or self.device)
        made.first, made.next, made._removed = self.first, self.next, self._removed
        xp, rings = made.device.xp, self.rings()
        made._place({name: (np if ring.dtype == object else xp).array(ring) for name, ring in rings.items()})
        return made

    def check(self) -> None:
        """Verify the order of times, and what is known of removed events; raises ``CheckFailed``."""
        time = self.device.to_numpy(self.listed(self.time, self.first, self.next))
        require(bool((time[1:] >= time[:-1]).all()), "times ascend by number")
        alive = np.ones(1) if self.alive is None else self.device.to_numpy(self.alive)
        require(int((alive == 0).sum()) == self._removed, "removed events are counted")
        require((self.alive is None) == (self._removed == 0), "without removed events there is no mask of them")
        require(self._removed == 0 or bool(alive[self.first & (self.capacity - 1)]), "the first event is live")


def check_rows(over: str, rows: Rows, record: Record) -> None:
    """Verify that ``rows``, in the direction ``over``, are those of ``record``; raises ``CheckFailed``."""
    host = record.device.to_numpy
    begin, end, other, number = map(host, rows)
    src, dst = map(host, record.ends(record.first, record.next))
    numbers = np.arange(record.first, record.next)
    if record.alive is not None:
        alive = host(record.listed(record.alive, record.first, record.next)) != 0
        src, dst, numbers = src[alive], dst[alive], numbers[alive]
    vertex, at_end = (dst, src) if over == "in" else (src, dst)
    if over == "both":
        twice = src != dst
        vertex, at_end = np.concatenate((src, dst[twice])), np.concatenate((dst, src[twice]))
        numbers = np.concatenate((numbers, numbers[twice]))
    order = np.lexsort((numbers, vertex))
    degree = np.bincount(vertex, minlength=len(begin))
    require(np.array_equal(end - begin, degree), "a row has the events of its vertex")
    slots = np.repeat(begin - np.cumsum(degree) + degree, degree) + np.arange(len(order))
    require(np.array_equal(other[slots], at_end[order]), "a row has the other ends of its events")
    require(np.array_equal(number[slots], (numbers[order] & LOW).astype(np.uint32)), "rows ascend by number")
