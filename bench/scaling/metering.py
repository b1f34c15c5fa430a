"""A communication between ranks that counts and times the collectives of another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suricate.base.devices import Array, Device
from suricate.comm.protocol import SMALL, Asking
from suricate.parallel import Comm


@dataclass
class Spent:
    """What a rank spent on communication.

    Attributes:
        calls: number of collectives.
        received: bytes of arrays received from other ranks.
        waited: seconds until the other ranks reached the collectives.
        seconds: seconds of the exchanges themselves.
    """

    calls: int = 0
    received: int = 0
    waited: float = 0.0
    seconds: float = 0.0


class Metered(Comm):
    """Passes each call of a ``Comm`` on to ``inner``, the communication of a rank on ``device``, and measures it.

    :attr:`spent` counts the collectives and the bytes received. While :attr:`is_timing`, it also has their times: a
    barrier before each collective separates waiting for other ranks from the exchange. The argument ``agreed`` is True
    if it is known that all ranks make this call, so that ``inner`` need not compare their calls.
    """

    def __init__(self, inner: Comm, device: Device) -> None:
        self.inner, self.rank, self.size, self._device = inner, inner.rank, inner.size, device
        self.spent, self.is_timing = Spent(), False

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return the ``value`` of each rank, in rank order; count the bytes of the other ranks' arrays.

        ``name``: the name of the collective.
        """
        found = self._timed(lambda: self.inner.gather(name, value))
        self.spent.received += _bytes_in([*found[: self.rank], *found[self.rank + 1 :]])
        return found

    def joined(self, array: Array) -> Array:
        """Return the arrays that all ranks pass as ``array``, concatenated in rank order; count the bytes received."""
        found: Array = self._timed(lambda: self.inner.joined(array))
        self.spent.received += found.nbytes - array.nbytes
        return found

    def joined_columns(self, columns: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
        """Return each of ``columns`` joined over all ranks (their lengths are ``sizes``); count the bytes received."""
        found = self._timed(lambda: self.inner.joined_columns(columns, sizes))
        self.spent.received += sum(whole.nbytes - own.nbytes for whole, own in zip(found, columns, strict=True))
        return found

    def exchange(self, parts: list[Array]) -> list[Array]:
        """Send ``parts[r]`` to each rank ``r``; return the arrays received, in rank order, and count their bytes."""
        found = self._timed(lambda: self.inner.exchange(parts))
        self.spent.received += sum(part.nbytes for rank, part in enumerate(found) if rank != self.rank)
        return found

    def reduce(self, array: Array, op: str, *, agreed: bool = False) -> None:
        """Reduce ``array`` over all ranks by ``op``, in place; count the bytes that ``Comm.reduce`` receives."""
        others = self.size - 1
        self.spent.received += (
            array.nbytes * others if array.nbytes <= SMALL else 2 * array.nbytes * others // self.size
        )
        self._timed(lambda: self.inner.reduce(array, op, agreed=agreed))

    def share(self, array: Array, bounds: Array, *, agreed: bool = False) -> None:
        """Copy the range of ``array`` that each rank has to all ranks, in place; count the bytes of the other ranges.

        Rank r has the range from ``bounds[r]`` to ``bounds[r + 1]``.
        """
        own = min(int(bounds[self.rank + 1]), len(array)) - min(int(bounds[self.rank]), len(array))
        self.spent.received += array.nbytes // max(len(array), 1) * (len(array) - own)
        self._timed(lambda: self.inner.share(array, bounds, agreed=agreed))

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Wait until ``is_done()``, which polls the device, returns True; count nothing."""
        self.inner.wait(is_done)

    def asking(self, values: Mapping[str, Any]) -> Asking:
        """Return a context that raises unless all ranks pass the same ``values`` (``Comm.asking``); count nothing."""
        return self.inner.asking(values)

    def place(self, device: Any) -> Any:
        """Return the device on which this rank keeps a graph made with ``device``, as ``inner`` chooses it."""
        return self.inner.place(device)

    def abort(self, reason: str) -> None:
        """End the job on all ranks; ``reason`` is the message of the exception that they raise."""
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


def _bytes_in(value: Any) -> int:
    """Return the bytes of an array, of ``bytes``, and of those in tuples and lists; 0 for any other value."""
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes_in, value))
    if isinstance(value, bytes):
        return len(value)
    return value.nbytes if getattr(value, "ndim", 0) else 0  # no scalars of NumPy
