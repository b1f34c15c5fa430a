"""The events of a window on a CUDA device, unweighted insertions only, and the net change of edges per slide.

The device holds a key for each live event, ``source << 32 | destination``, in a ring in the order in which they leave,
and a table with the number of live events of each key, a pair; the host keeps the times. Sources and destinations come
to the device by ``arrivals``. A slide is two launches: one lets events enter and lists the pairs
that are new, the other lets events leave and lists the pairs that are gone. The last block tells the host how many
these are. Kernels: ``device_ring.cu``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suricate.base.devices import Array, Device, cuda_device_count
from suricate.base.types import EdgeList, ends_of
from suricate.cuda.kernel import WordKernel
from suricate.cuda.pinned import Answer
from suricate.cuda.program import Program
from suricate.intake.arrays import on_host
from suricate.intake.batches import Upload
from suricate.state.locks import capacity_error
from suricate.windows.events import Events, number_before, times_of
from suricate.windows.ring import Change, Ring, linked
from suricate.windows.ring.arrivals import Arrivals
from suricate.windows.ring.combined_values import EdgeValues

PROGRAM = Program(Path(__file__).with_name("device_ring.cu"))
USED = 3  #: place in the array of counters
LEAST = 1024  #: entries of a new ring
FREE = np.uint64(0xFFFFFFFFFFFFFFFF)  #: the key of a free slot
SPARSENESS = 3  #: slots per pair in a new table, at least
_BLOCK, _TILE, _MAX_BLOCKS = 256, 1024, 1 << 13
_MOST_LISTED = 1 << 22  # pairs for which memory is kept
_FEW_BLOCKS = 1 << 10  # up to this number of blocks, threads handle one event each
_COUNTS = 1 << 32  # counters on the device count modulo this


def ring_on(
    device: Device,
    combine: str,
    weight_dtype: np.dtype | None,
    attributes: EdgeValues | None,
    *,
    directed: bool,
) -> AnyRing:
    """Return a ring on a CUDA ``device`` if edges have neither weights nor attributes; else one on the host.

    The other arguments are those of :class:`Ring`. With ``combine="count"`` the counts are weights.
    """
    if device.is_cuda and weight_dtype is None and attributes is None and combine != "count":
        with device.current():
            return DeviceRing(device, directed=directed)
    return Ring(combine, weight_dtype, attributes, directed=directed)


class DeviceRing:
    """The live events of a window, on a device; takes insertions without weights and attributes.

    Args:
        device: a CUDA device.
        directed: whether (u, v) and (v, u) are two pairs.
    """

    attributes = None

    def __init__(self, device: Device, *, directed: bool) -> None:
        self.device, self._xp, self._directed = device, device.xp, directed
        self.arrivals = Arrivals(device)
        self._times: deque[Any] = deque()  # arrays, or ranges of positions, of live events
        self._keys = self._xp.empty(LEAST, np.uint64)
        self._mask = LEAST - 1
        self._front = self._back = 0  # numbers of the oldest live event, the next to enter
        self._table, self._slots, self._pairs = self._new_table(LEAST), LEAST, 0
        self._lists, self._listed = self._xp.cuda.alloc(8 * LEAST), LEAST  # see _memory_for
        self._counters, self._answer = self._xp.zeros(5, np.uint32), Answer(device, 4)
        self._enter = WordKernel(PROGRAM.kernel("enter_events"), _BLOCK, 15)
        self._leave = WordKernel(PROGRAM.kernel("leave_events"), _BLOCK, 12)
        self._gained = self._lost = self._used = 0  # the counters by these names
        self._upload = Upload(device)
        self.number = 0

    def __len__(self) -> int:
        """Return the number of live events."""
        return self._back - self._front

    @property
    def numbers(self) -> tuple[int, int]:
        """The number of the oldest live event, and of the next to enter, as on the host."""
        return self._front, self._back

    def number_from(self, time: int) -> int:
        """Return the number of the first live event with a time >= ``time``, or of the next to enter."""
        return self._front + self._number_before(time)

    @property
    def num_pairs(self) -> int:
        """The number of pairs with live events."""
        return self._pairs

    @property
    def oldest(self) -> int | None:
        """The time of the oldest live event, None if there is none."""
        return int(self._times[0][0]) if self._times else None

    @property
    def memory(self) -> int:
        """Bytes of all arrays, most of them on the device."""
        parts = *self._times, self._keys, self._table
        return sum(getattr(part, "nbytes", 0) for part in parts) + 8 * self._listed + self.arrivals.memory

    def slide(self, events: Events, cutoff: int | None) -> Change:
        """Remove events with times below ``cutoff``, add ``events``, and return the net change, in device memory.

        ``cutoff`` None: no event leaves. The arrays of the change are valid until the next slide. Waits for the device.

        Raises:
            CapacityError: there is not enough memory; nothing has changed.
        """
        if cuda_device_count() == 1:
            return self._slide_by(self._number_before(cutoff), events)
        with self.device.current():
            return self._slide_by(self._number_before(cutoff), events)

    def _slide_by(self, leaving: int, events: Events) -> Change:
        entering = len(events.time)
        try:
            self._reserve(entering)
            gone: Any = self._lists if leaving + entering <= self._listed else self._memory_for(leaving + entering)
            src, dst = self._uploaded(events.src, events.dst)
        except MemoryError as error:
            raise capacity_error(self.device, error) from error
        keys, table, counters = self._keys.data.ptr, self._table.data.ptr, self._counters.data.ptr
        mask, last, new = self._mask, self._slots - 1, gone + 8 * leaving
        address, number = self._answer.address, self._answer.next() if entering or leaving else 0
        if entering:
            self._enter(
                _blocks_for(entering), keys, self._back, mask, src.data.ptr, dst.data.ptr, entering,
                not self._directed, table, last, new.ptr, entering, counters, self._gained,
                0 if leaving else address, number,
            )  # fmt: skip
        if leaving:
            self._leave(
                _blocks_for(leaving), keys, self._front, mask, leaving, table, last, gone.ptr, leaving, counters,
                self._lost, address, number,
            )  # fmt: skip
        self._forget(leaving)
        if entering:
            self._times.append(events.time if isinstance(events.time, range) else events.time.copy())
        self._front, self._back, self.number = self._front + leaving, self._back + entering, self.number + 1
        gained, lost, top = self._counts() if number else (0, 0, -1)
        array, ids = self._xp.ndarray, np.uint32
        return Change(
            (array(lost, ids, gone), array(lost, ids, gone + 4 * leaving)),
            (array(gained, ids, new), array(gained, ids, new + 4 * entering)),
            None, None, leaving, 0, 0, top,
        )  # fmt: skip

    def _counts(self) -> tuple[int, int, int]:
        """Wait for the counts of a slide; return the numbers of new and gone pairs, and the largest new id, or -1."""
        all_gained, all_lost, top, self._used = self._answer.read()
        gained, lost = (all_gained - self._gained) % _COUNTS, (all_lost - self._lost) % _COUNTS
        self._gained, self._lost = all_gained, all_lost
        self._pairs += gained - lost
        return gained, lost, top if gained else -1

    def used_attributes(self) -> Collection[np.ndarray]:
        """Return nothing: events on the device have no attributes."""
        return ()

    def live(self) -> tuple[Events, np.ndarray]:
        """Return the live events on the host, oldest first, and a 0 for each, as :meth:`Ring.live` does."""
        with self.device.current():
            ends = ends_of(on_host(self._live_keys()))
        return Events(self._all_times(), *ends), np.zeros(len(self), np.int64)

    def with_live(self, events: Events, slides: np.ndarray, number: int) -> DeviceRing:
        """Return a ring of the same kind with these live events, as :meth:`live` returns them; see :class:`Ring`."""
        ring = DeviceRing(self.device, directed=self._directed)
        ring.slide(events, None)
        ring.number = number
        return ring

    # -- state ---------------------------------------------------------------------------------------------------------

    def on_host(self) -> Ring:
        """Return a ring on the host with the same events and numbers."""
        ring = Ring("last", None, directed=self._directed)
        ring._state[[linked.FRONT, linked.BACK]] = self._front
        with self.device.current():
            keys = on_host(self._live_keys())
        ring.slide(Events(self._all_times(), *ends_of(keys)), None)
        ring.number = self.number
        return ring

    def save(self) -> dict[str, np.ndarray]:
        """Return everything that :meth:`load` needs, as :meth:`Ring.save` does."""
        return self.on_host().save()

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Fill this empty ring from what :meth:`save`, or that of :class:`Ring`, returned for the same options.

        Removed events are left out; without any, events keep their numbers.
        """
        self._front = self._back = int(saved["state"][linked.FRONT])
        alive = saved["alive"].astype(bool) if "alive" in saved else np.empty(0, bool)
        if alive.any():
            keys = saved["row"][saved["pair"][alive], linked.KEY].astype(np.uint64)
            self.slide(Events(_as_range(saved["time"][alive]), *ends_of(keys)), None)
        self.number = int(saved["slide"])

    def held(self) -> Change:
        """Return all pairs with live events as the ``new`` ones of a change."""
        with self.device.current():
            new = self._xp.empty((2, self._pairs), np.uint32)
            args = self._table, self._slots, new, self._pairs, self._xp.zeros(1, np.uint32)
            _launch("list_pairs", self._slots, *args)
            top = int(new.max()) if self._pairs else -1
        none = new[0, :0]
        return Change((none, none), (new[0], new[1]), None, None, 0, 0, 0, top)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _new_table(self, slots: int) -> Array:
        table = self._xp.zeros((slots, 2), np.uint64)
        table[:, 0] = FREE
        return table.reshape(-1)

    def _reserve(self, more: int) -> None:
        """Enlarge the ring and the table of keys, where needed, for ``more`` further events and as many new pairs."""
        wanted = self._back - self._front + more
        if wanted > self._mask + 1:
            keys = self._xp.empty(1 << (wanted - 1).bit_length(), np.uint64)
            keys[(self._xp.arange(len(self)) + self._front) & (len(keys) - 1)] = self._live_keys()
            self._keys, self._mask = keys, len(keys) - 1
        if 2 * (self._used + more) > self._slots:
            old, slots = self._table, 1 << (SPARSENESS * (self._pairs + more) - 1).bit_length()
            self._table, self._slots = self._new_table(slots), slots
            self._counters[USED] = self._used = self._pairs
            _launch("move_pairs", len(old), old, len(old) // 2, self._table, slots - 1)

    def _memory_for(self, pairs: int) -> Any:
        """Return new memory for ``pairs`` pairs, new and gone ones of a slide; it is reused unless too large."""
        memory = self._xp.cuda.alloc(8 * pairs)
        if pairs <= _MOST_LISTED:
            self._lists, self._listed = memory, pairs
        return memory

    def _uploaded(self, src: Any, dst: Any) -> tuple[Array, Array]:
        """Return the ids ``src`` and ``dst`` as device arrays, without waiting; arrays of the device are not copied."""
        if type(src) is type(dst) is self._xp.ndarray:
            return src, dst
        if isinstance(src, np.ndarray) and isinstance(dst, np.ndarray):
            return self._upload(EdgeList(src, dst, None))[:2]
        return self._xp.asarray(src), self._xp.asarray(dst)

    def _live_keys(self) -> Array:
        return self._keys[self._xp.arange(self._front, self._back) & self._mask]

    # -- times ---------------------------------------------------------------------------------------------------------

    def _number_before(self, cutoff: int | None) -> int:
        number = 0
        for part in self._times:
            if cutoff is None or part[0] >= cutoff:
                break
            number += number_before(part, cutoff)
        return number

    def _forget(self, number: int) -> None:
        while number and number >= len(self._times[0]):
            number -= len(self._times.popleft())
        if number:
            self._times[0] = self._times[0][number:]

    def _all_times(self) -> np.ndarray:
        return np.concatenate([np.empty(0, np.int64), *map(times_of, self._times)])


def _blocks_for(events: int) -> int:
    """Return how many blocks to launch for ``events`` events: enough for a thread per event, up to ``_FEW_BLOCKS``.

    Beyond that number, a block handles ``_TILE`` events at a time.
    """
    return max(min(-(-events // _BLOCK), _FEW_BLOCKS), min(-(-events // _TILE), _MAX_BLOCKS))


def _launch(name: str, number: int, *args: Any) -> None:
    """Launch the kernel ``name`` with ``args`` for ``number`` items, of which a block handles ``_TILE`` at a time."""
    PROGRAM.kernel(name)((min(-(-number // _TILE), _MAX_BLOCKS),), (_BLOCK,), args)


def _as_range(times: np.ndarray) -> np.ndarray | range:
    """Return consecutive times as a range, others as they are."""
    consecutive = len(times) and (np.diff(times) == 1).all()
    return range(int(times[0]), int(times[-1]) + 1) if consecutive else times


AnyRing: TypeAlias = Ring | DeviceRing
