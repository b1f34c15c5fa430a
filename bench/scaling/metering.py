"""A communication that counts and times what another one exchanges."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suricate.base.devices import Array, Device
from suricate.comm.protocol import Asking
from suricate.parallel import Comm


@dataclass
class Spent:
    """What a rank spent on communication.

    Attributes:
        calls: number of collectives.
        received: bytes of arrays received from other ranks.
        waited: seconds until the other ranks reached the collectives.
        seconds: seconds of exchanging after that.
    """

    calls: int = 0
    received: int = 0
    waited: float = 0.0
    seconds: float = 0.0


class Metered(Comm):
    """The communication ``inner`` of a rank on ``device``; :attr:`spent` counts and times its collectives.

    Methods are those of ``Comm``. While :attr:`is_timing`, a barrier ahead of every collective measures waiting apart.
    """

    def __init__(self, inner: Comm, device: Device) -> None:
        self.inner, self.rank, self.size, self._device = inner, inner.rank, inner.size, device
        self.spent, self.is_timing = Spent(), False

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return the ``value`` of each rank, by rank; counts the bytes of the others' arrays."""
        found = self._timed(lambda: self.inner.gather(name, value))
        others = (*found[: self.rank], *found[self.rank + 1 :])
        self.spent.received += sum(part.nbytes for part in others if getattr(part, "ndim", 0))  # no scalars of NumPy
        return found

    def joined(self, array: Array) -> Array:
        """Return the arrays of all ranks, joined by ``inner``; counts the bytes received."""
        found: Array = self._timed(lambda: self.inner.joined(array))
        self.spent.received += found.nbytes - array.nbytes
        return found

    def joined_columns(self, columns: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
        """Return the columns of all ranks, each joined by ``inner``; counts the bytes received."""
        found = self._timed(lambda: self.inner.joined_columns(columns, sizes))
        self.spent.received += sum(whole.nbytes - own.nbytes for whole, own in zip(found, columns, strict=True))
        return found

    def exchange(self, parts: list[Array]) -> list[Array]:
        """Return the part that each rank has for this one; ``parts``: one for each rank. Counts the bytes received."""
        found = self._timed(lambda: self.inner.exchange(parts))
        self.spent.received += sum(part.nbytes for rank, part in enumerate(found) if rank != self.rank)
        return found

    def merged(self, array: Array, *, agreed: bool = False) -> Array:
        """Return ``array`` merged with those of the other ranks by ``inner``; counts its bytes as received."""
        self.spent.received += array.nbytes
        return self._timed(lambda: self.inner.merged(array, agreed=agreed))

    def smallest(self, array: Array) -> None:
        """Reduce ``array`` over the ranks in place to the smallest values; counts its bytes as received."""
        self.spent.received += array.nbytes
        self._timed(lambda: self.inner.smallest(array))

    def add(self, array: Array, *, agreed: bool = False) -> None:
        """Add the arrays of all ranks up in ``array`` in place; counts its bytes as received."""
        self.spent.received += array.nbytes
        self._timed(lambda: self.inner.add(array, agreed=agreed))

    def share(self, array: Array, bounds: Array, *, agreed: bool = False) -> None:
        """Copy to ``array``, in place, the ranges of the other ranks; counts their bytes as received.

        Rank r has the range from ``bounds[r]`` to ``bounds[r + 1]``.
        """
        own = min(int(bounds[self.rank + 1]), len(array)) - min(int(bounds[self.rank]), len(array))
        self.spent.received += array.nbytes // max(len(array), 1) * (len(array) - own)
        self._timed(lambda: self.inner.share(array, bounds, agreed=agreed))

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Wait until ``is_done()``, which asks the device, by ``inner``; it is not counted."""
        self.inner.wait(is_done)

    def asking(self, values: Mapping[str, Any]) -> Asking:
        """Return what ``Comm.asking`` of ``inner`` returns for ``values``; it is not counted."""
        return self.inner.asking(values)

    def place(self, device: Any) -> Any:
        """Return the device of this rank, as ``inner`` chooses it from ``device``."""
        return self.inner.place(device)

    def abort(self, reason: str) -> None:
        """End the job on all ranks for the given ``reason``."""
        self.inner.abort(reason)

    def _timed(self, exchange: Callable[[], Any]) -> Any:
        self.spent.calls += 1
        if not self.is_timing:
            return exchange()
        self._device.synchronize()
        begin = time.perf_counter()
        self.inner.barrier()
        together = time.perf_counter()
        found = exchange()
        self._device.synchronize()
        self.spent.waited += together - begin
        self.spent.seconds += time.perf_counter() - together
        return found
