"""The number that ends rounds, on CUDA: it is read after the next round was launched, so that the device has work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.cuda.pinned import PinnedCounters

if TYPE_CHECKING:
    from suricate.base.devices import Device
    from suricate.operators.call import Until

SAFE = 2.0  #: how many times the bound a number is expected to be, for its round to be followed by another one unread


class PendingNumber:
    """The value by which a loop decides after each round whether it ends, on CUDA; the same on all ranks.

    If the last values suggest that the loop may end, the host reads the value at once. Otherwise it reads it after it
    has launched the next round, so that sometimes there is one round too many.
    """

    def __init__(self, device: Device, stop: Until) -> None:
        self._stop, self._known = stop, list[float]()
        self._arriving = PinnedCounters(device, 1, stop.scalar.dtype)
        self.unread = False  #: whether a round is over whose number was not read

    def note(self) -> None:
        """Start to copy the value after a round to the host, and decide whether to read it before the next round."""
        self._arriving.copy_from(self._stop.scalar.total)
        self.unread = len(self._known) > 1 and self._expected() > SAFE * self._stop.bound

    def ends_loop(self) -> bool:
        """Return whether the loop ends after the last round for which :meth:`note` was called; waits for its value."""
        self._arriving.wait()
        self._known = [*self._known[-1:], self._arriving.array[0].item()]
        self.unread = False
        return not self._known[-1] > self._stop.bound

    def _expected(self) -> float:
        """Return an estimate of the next value: the last one times its ratio to the one before."""
        before, last = self._known
        return last * last / before if before else 0.0
