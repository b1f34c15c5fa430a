"""Checked indices: with ``SURICATE_CHECKS=1`` in the environment, every index of an edge function is checked.

It is read when the package is imported. A function that indexes an argument out of its range then raises
``VertexRangeError`` at the end of the operator, on both devices; what the operator writes is unspecified. On CUDA
every operator waits for the device, so this is for finding errors, not for production.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import VertexRangeError

CHECKED = os.environ.get("SURICATE_CHECKS") == "1"

_CHECKED = np.dtype([("data", np.uint64), ("size", np.int64), ("report", np.uint64), ("argument", np.int64)])
NUMBA_IMPORTS = "from suricate.base.errors import VertexRangeError\nfrom suricate.cpu.jit import inner"
_WORDS = 6  #: of 64 bits: struct ``Report`` of ``bounds.cuh``


@contextmanager
def checking() -> Iterator[None]:
    """Check the indices of edge functions, in all threads, while the context is active; for tests."""
    global CHECKED
    before, CHECKED = CHECKED, True
    try:
        yield
    finally:
        CHECKED = before


def packed(array: Array) -> Any:
    """Return the struct ``Checked`` of a CuPy array (address, length, place of the error report) as kernel argument."""
    report = _report(array.device.id)
    return np.array((array.data.ptr, array.size, report.data.ptr, 0), _CHECKED)[()]


def raise_pending(device: Device) -> None:
    """Raise ``VertexRangeError`` if a kernel has recorded an index that is out of range; waits for the device."""
    if not device.is_cuda:
        return
    report = _report(device.index)
    argument, index, size = report[:3].get().view(np.int64).tolist()
    if argument:
        report.fill(0)
        raise VertexRangeError(f"{message(argument - 1)}: at {index}, of {size} entries")


def message(argument: int) -> str:
    """Return the error message for an index out of range, in argument number ``argument``, counted from 0."""
    return f"a function indexes args[{argument}] out of its range"


def numba_definition(argument: int) -> str:
    """Return Python text of ``inside_N(index, length)``, N = ``argument``: it returns a valid index, else raises."""
    return (
        f"@inner\ndef inside_{argument}(index, length):\n    if index < 0 or index >= length:\n"
        f"        raise VertexRangeError({message(argument)!r})\n    return index"
    )


@cache
def _report(index: int) -> Array:
    """Return the error report of CUDA device ``index``, made once: ``uint64[6]``, all 0 as long as there is no error.

    A kernel writes the number of the argument, counted from 1, the index and the length to the first three entries.
    """
    import cupy

    with cupy.cuda.Device(index):
        return cupy.zeros(_WORDS, np.uint64)
