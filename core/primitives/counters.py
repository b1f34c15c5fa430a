"""The counters of a store as far as the host knows them without waiting for the device that holds them."""

from __future__ import annotations

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.pinned import PinnedCounters


class Counters:
    """Copies on the host of a store's counters, an ``int64[size]`` on the store's device.

    On the CPU the counters are simply read. On CUDA every batch adds an upper bound of its changes to ``unseen``
    (:meth:`charge`), and queues a copy of the counters to pinned memory (:meth:`post`). Once the copy has arrived,
    :meth:`poll` stores it in ``values``; ``unseen`` then has only the bounds added since the copy was queued.

    Attributes:
        values: the last counters that arrived, ``int64[size]``.
        unseen: upper bounds of the numbers of edges inserted and deleted since then, ``int64[2]``; zero on the CPU.
        arrivals: how often counters have arrived (CUDA).
    """

    def __init__(self, device: Device, size: int) -> None:
        self.values = np.zeros(size, np.int64)
        self.unseen = np.zeros(2, np.int64)
        self.arrivals = 0
        self._later = np.zeros(2, np.int64)  # charged since the copy under way was queued
        self._device = device
        self._pinned = PinnedCounters(device, size, np.int64) if device.is_cuda else None

    def charge(self, inserted: int, deleted: int) -> None:
        """Add upper bounds of what the next batch changes to ``unseen``; does nothing on the CPU."""
        if self._pinned is not None:
            for charged in (self.unseen, self._later):  # by entry: a whole array takes NumPy longer
                charged[0] += inserted
                charged[1] += deleted

    def post(self, counters: Array) -> None:
        """Queue a copy of ``counters`` from the device, unless an earlier copy is still under way; does not wait."""
        if self._pinned is not None and not self._pinned.busy:
            self._pinned.copy_from(counters)
            self._later[:] = 0

    def poll(self) -> None:
        """If a queued copy has arrived, store it in ``values`` and update ``unseen``; does not wait."""
        if self._pinned is not None and self._pinned.busy and self._pinned.has_arrived():
            self.values[:] = self._pinned.array
            self.unseen[:] = self._later
            self.arrivals += 1

    def read(self, counters: Array) -> np.ndarray:
        """Copy ``counters`` to ``values`` and return ``values``; on CUDA this waits for the device."""
        if self._pinned is None:
            self.values[:] = counters
            return self.values
        return self.take(self._device.to_numpy(counters))

    def take(self, values: np.ndarray) -> np.ndarray:
        """Copy ``values``, exact counters, to the attribute of that name, set ``unseen`` to 0; return the attribute.

        If a queued copy is under way, this waits for it, so that it cannot replace the values later.
        """
        self.values[:] = values
        self.arrivals += 1
        self.unseen[:] = 0
        self._later[:] = 0
        while self._pinned is not None and not self._pinned.has_arrived():
            pass  # else an older copy, queued on another stream, would be taken over later
        return self.values
