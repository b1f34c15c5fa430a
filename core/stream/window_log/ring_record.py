"""The record of a log whose events are in the ring of a window, on the host."""

from __future__ import annotations

import numpy as np

from suricate.base.devices import CPU
from suricate.events.record import Record
from suricate.state.edge_table import WEIGHT
from suricate.windows.ring import Ring


class RingRecord(Record):
    """The events of a window's ring, read where they are; :meth:`follow` tells it that the ring has slid."""

    device = CPU

    def __init__(self, ring: Ring, *, decays: bool = False) -> None:
        self.ring, self._decays, self._removed = ring, decays, 0
        self.first, self.next = ring.numbers

    @property
    def time(self) -> np.ndarray:
        """The times by place in the ring."""
        return self.ring.kept.time

    @property
    def alive(self) -> np.ndarray | None:  # type: ignore[override]
        """0 for events that deletions and sets have removed, by place in the ring; None if there are none."""
        return self.ring.kept.alive if self._removed else None

    @property
    def columns(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        """Weights, unless they decay, and attributes of the events, by place in the ring; of texts their ids."""
        return {name: ring for name, ring in self.ring.columns.items() if not (self._decays and name == WEIGHT)}

    @property
    def memory(self) -> int:
        """0: the window counts its ring."""
        return 0

    def rings(self) -> dict[str, np.ndarray]:
        """Return all rings by name; of ends, and what is alive, copies."""
        places = np.arange(self.first, self.next) & (self.capacity - 1)
        ends, alive = np.zeros((2, self.capacity), np.uint32), {}
        ends[:, places] = self.ends(self.first, self.next)
        if self.alive is not None:
            alive["alive"] = np.ones(self.capacity, np.uint8)
            alive["alive"][places] = self.alive[places]
        return {"time": self.time, "src": ends[0], "dst": ends[1], **alive, **self.columns}

    def ends(self, first: int, next: int) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations, ``uint32`` each, of the events ``first`` to ``next``; 0 for removed ones."""
        return self.ring.ends_between(first, next)

    def check(self) -> None:
        """Verify the order of times, and what is known of removed events; raises ``CheckFailed``."""
        self.copy().check()

    def leave(self, upto: int) -> None:
        """Count events from ``upto`` on, until :meth:`follow`."""
        self.first = upto

    def follow(self, *, removes: bool) -> None:
        """Take the numbers of the ring; ``removes``: whether deletions or sets have come."""
        (self.first, self.next), alive = self.ring.numbers, self.ring.kept.alive
        if not (removes or self._removed):
            return
        live = self.listed(alive, self.first, self.next) != 0
        count = int(np.count_nonzero(live))
        skipped = int(live.argmax()) if count else len(live)
        self.first, self._removed = self.first + skipped, len(live) - skipped - count
