"""Counters of a store as the host knows them, without waiting for the device that keeps them."""

from __future__ import annotations

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.pinned import PinnedCounters


class Counters:
    """The host's knowledge of a store's counters (``int64[size]``), which are where the store is.

    On the CPU they are read directly. On CUDA a batch *charges* an upper bound of its changes (``unseen``), and
    :meth:`post` queues a copy of the counters to pinned memory behind it; when the copy has arrived, :meth:`poll`
    takes it over, and only charges since it was queued remain in ``unseen``.

    Attributes:
        values: the last counters that arrived, ``int64[size]``.
        unseen: upper bounds of edges inserted and deleted since then, ``int64[2]``; zero on the CPU.
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
        """Add ``inserted`` and ``deleted``, upper bounds of what the next batch changes, to ``unseen``; CUDA only."""
        if self._pinned is not None:
            for charged in (self.unseen, self._later):  # by entry: a whole array takes NumPy longer
                charged[0] += inserted
                charged[1] += deleted

    def post(self, counters: Array) -> None:
        """Queue a copy of the counters, unless one is under way; never waits."""
        if self._pinned is not None and not self._pinned.busy:
            self._pinned.copy_from(counters)
            self._later[:] = 0

    def poll(self) -> None:
        """Take over a copy that has arrived (CUDA); never waits."""
        if self._pinned is not None and self._pinned.busy and self._pinned.has_arrived():
            self.values[:] = self._pinned.array
            self.unseen[:] = self._later
            self.arrivals += 1

    def read(self, counters: Array) -> np.ndarray:
        """Read the counters now and return them; on CUDA waits for the device."""
        if self._pinned is None:
            self.values[:] = counters
            return self.values
        return self.take(self._device.to_numpy(counters))

    def take(self, values: np.ndarray) -> np.ndarray:
        """Store the exact counters ``values``, which the host knows; waits for a copy that is under way."""
        self.values[:] = values
        self.arrivals += 1
        self.unseen[:] = 0
        self._later[:] = 0
        while self._pinned is not None and not self._pinned.has_arrived():
            pass  # else an older copy, queued on another stream, would be taken over later
        return self.values
