"""Arrays by vertex of which each rank keeps the entries of its own vertices: what no function reads at a neighbour.

They have as many entries as all others, so that functions index them by the same ids; entries of other ranks take no
memory, and must not be used. On the CPU the system gives memory to what is written. On CUDA an array lies over memory
for the rank's range alone; where a rank has blocks of ids besides, over memory for all vertices.

When ownership moves, the arrays are void: trackers that have some compute from scratch (:attr:`OwnArrays.divisions`).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.placement.ownership import Ownership

PIECE = 1 << 26  #: entries that are exchanged at a time, which takes memory for as many


class OwnArrays:
    """The arrays of one graph of which a rank keeps its own entries.

    Attributes:
        divisions: how often vertices were given to other ranks; arrays from before are void.
        made: how many arrays were made.
    """

    def __init__(self) -> None:
        self.divisions = self.made = 0
        self._known: dict[int, weakref.ref[Any]] = {}

    def __contains__(self, array: Any) -> bool:
        found = self._known.get(id(array))
        return found is not None and found() is array

    def make(self, device: Device, owned: Ownership, dtype: np.dtype, fill: float | None) -> Array:
        """Return such an array, whose entries of this rank are ``fill``; None: anything."""
        array = _allocated(device, owned, dtype)
        if fill is not None:
            array[places(owned, device.xp)] = fill
        known, at = self._known, id(array)
        known[at] = weakref.ref(array, lambda _: known.pop(at, None))
        self.made += 1
        return array

    def divided(self) -> None:
        """Note that vertices have gone to other ranks, so that no array has the entries of its rank any more."""
        self.divisions += 1
        self._known.clear()


def places(owned: Ownership, xp: Any) -> Any:
    """Return what selects the entries of this rank of an array by vertex: a slice, or ids where it has blocks."""
    return slice(owned.low, owned.high) if owned.is_ranges else xp.asarray(owned.own)


def pieces_of(at: Any) -> list[Any]:
    """Return the places ``at``, a slice or ids, in pieces of at most :data:`PIECE`."""
    if isinstance(at, slice):
        return [slice(low, min(low + PIECE, at.stop)) for low in range(at.start, at.stop, PIECE)]
    return [at[low : low + PIECE] for low in range(0, len(at), PIECE)]


def _allocated(device: Device, owned: Ownership, dtype: np.dtype) -> Array:
    if not device.is_cuda:
        return np.zeros(owned.num_vertices, dtype)  # pages of the system, until they are written
    xp, (low, high) = device.xp, owned.span
    held = xp.empty(max(1, high - low), dtype)
    return xp.ndarray((owned.num_vertices,), dtype, memptr=held.data + -low * dtype.itemsize)
