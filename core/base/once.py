"""A dictionary of values that are made once per key, by whichever thread needs them first: modules, CUDA programs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from suricate.base.forks import renewed

Key = TypeVar("Key")
Value = TypeVar("Value")


class Once(dict[Key, Value]):
    """A dictionary with values made once per key, by :meth:`make`; try ``get`` first, which takes no lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = renewed(threading.Lock())

    def make(self, key: Key, how: Callable[[], Value]) -> Value:
        """Return the value of ``key``; if there is none, store what ``how()`` returns. Other threads wait meanwhile."""
        with self._lock:
            return self.get(key) or self.setdefault(key, how())
