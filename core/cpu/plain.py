"""Loops as plain Python: under ``NUMBA_DISABLE_JIT=1`` nothing is compiled, and a debugger can step through every loop.

This is meant for small graphs on one thread: a loop takes some hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config
from numba.extending import intrinsic

PLAIN = bool(config.DISABLE_JIT)  #: loops run as plain Python

#: 64 bits for what cursors make of places, all the time: plain Python's integers take a tenth of the time of NumPy's
int64: Any = int if PLAIN else np.int64
uint64: Any = int if PLAIN else np.uint64


def intrinsic_or(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes a Numba intrinsic; under ``NUMBA_DISABLE_JIT=1`` it returns ``plain`` instead."""
    return lambda definition: plain if PLAIN else intrinsic(definition)
