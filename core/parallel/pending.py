"""The number that ends rounds, on CUDA: it is read after the next round was launched, so that the device has work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.cuda.pinned import PinnedCounters

if TYPE_CHECKING:
    from suricate.base.devices import Device
    from suricate.operators.call import Until

SAFE = 2.0  #: how many times the bound a number is expected to be, for its round to be followed by another one unread


class PendingNumber:
    """The number on the device that decides after each round whether a loop ends.

    If the last numbers suggest that the loop may end, it is read at once; otherwise after the next round was launched,
    so that sometimes one round too many is made. Numbers, and so decisions, are the same on all ranks.

    Args:
        device: the CUDA device.
        stop: when rounds end.
    """

    def __init__(self, device: Device, stop: Until) -> None:
        self._stop, self._known = stop, list[float]()
        self._arriving = PinnedCounters(device, 1, stop.scalar.dtype)
        self.unread = False  #: whether a round is over whose number was not read

    def note(self) -> None:
        """Start to copy the number of a round to the host."""
        self._arriving.copy_from(self._stop.scalar.total)
        self.unread = len(self._known) > 1 and self._expected() > SAFE * self._stop.bound

    def ends_loop(self) -> bool:
        """Return whether the loop ends after the last round noted; waits for its number."""
        self._arriving.wait()
        self._known = [*self._known[-1:], self._arriving.array[0].item()]
        self.unread = False
        return not self._known[-1] > self._stop.bound

    def _expected(self) -> float:
        """Return an estimate of the next number, from the factor by which the last one differs from that before."""
        before, last = self._known
        return last * last / before if before else 0.0
