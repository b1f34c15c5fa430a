"""Scratch memory that operators keep between calls.

A level of BFS takes a few microseconds; allocating and clearing its queues every time would cost more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from suricate.base.devices import Array, Device

State = TypeVar("State")


class Workspace:
    """Named scratch arrays of one graph, which are reused from call to call, and objects that operators keep for it.

    Use it under the lock of its graph. ``moves`` counts how often an array was reallocated.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.moves = device, 0
        self._arrays: dict[tuple[str, Any], Array] = {}
        self._states: dict[Any, Any] = {}

    def state(self, kind: Callable[[Device], State]) -> State:
        """Return the object of class ``kind`` that belongs to this workspace; the first call makes it."""
        held = self._states.get(kind)
        if held is None:
            held = self._states[kind] = kind(self.device)
        return held

    def array(self, name: str, size: int, dtype: Any) -> Array:
        """Return the scratch array ``name`` as ``dtype[size]``.

        It contains what was last written under this name and dtype; if it has to grow (geometrically) it becomes zero.
        Not reentrant: a second request for the same name returns the same memory.
        """
        held = self._arrays.get((name, dtype))
        if held is None or len(held) < size:
            held = self._grow(name, size, dtype)
        return held if len(held) == size else held[:size]

    def clear(self) -> None:
        """Drop all arrays and objects."""
        self._arrays.clear()
        self._states.clear()
        self.moves += 1

    def memory(self) -> dict[str, int]:
        """Return the bytes of each scratch array."""
        held = {name: array for (name, dtype), array in self._arrays.items() if isinstance(dtype, np.dtype)}
        return {name: array.nbytes for name, array in sorted(held.items())}

    def _grow(self, name: str, size: int, dtype: Any) -> Array:
        key = np.dtype(dtype)
        held = self._arrays.get((name, key))  # may be held under another spelling of the dtype
        if held is None or len(held) < size:
            doubled = 0 if held is None else 2 * len(held)
            held = self.device.xp.zeros(max(size, doubled, 1), key)
            self.moves += 1
        self._arrays[name, dtype] = self._arrays[name, key] = held
        return held
