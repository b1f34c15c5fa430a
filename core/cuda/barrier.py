"""The counter of a grid-wide barrier (see ``grid_barrier.cuh``); the host keeps track of its value."""

from __future__ import annotations

from suricate.base.devices import Device

WRAP = (1 << 32) - 1


class GridBarrier:
    """A counter on the device by which the blocks of cooperative launches synchronise; all launches are in one stream.

    Attributes:
        address: address of the counter, ``uint32``.
        arrived: its value when all launches so far have ended.
    """

    def __init__(self, device: Device) -> None:
        self._word = device.xp.zeros(1, "uint32")
        self.address: int = self._word.data.ptr
        self.arrived = 0

    def expected(self, blocks: int, barriers: int) -> int:
        """Return the counter's value before the next launch, of ``blocks`` blocks that pass ``barriers`` barriers each.

        :attr:`arrived` is increased by ``blocks * barriers``.
        """
        before, self.arrived = self.arrived, (self.arrived + blocks * barriers) & WRAP
        return before
