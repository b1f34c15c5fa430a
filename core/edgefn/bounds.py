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
    """A context in which indices of edge functions are checked, in all threads; for tests."""
    global CHECKED
    before, CHECKED = CHECKED, True
    try:
        yield
    finally:
        CHECKED = before


def packed(array: Array) -> Any:
    """Return the struct ``Checked`` of ``array``, to pass to a kernel."""
    report = _report(array.device.id)
    return np.array((array.data.ptr, len(array), report.data.ptr, 0), _CHECKED)[()]


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
    """Return the text of the error about an index out of range, of argument number ``argument``."""
    return f"a function indexes args[{argument}] out of its range"


def numba_definition(argument: int) -> str:
    """Return a function of generated modules that checks an index; Numba's errors without allocation are constants."""
    return (
        f"@inner\ndef inside_{argument}(index, length):\n    if index < 0 or index >= length:\n"
        f"        raise VertexRangeError({message(argument)!r})\n    return index"
    )


@cache
def _report(index: int) -> Array:
    """Return the report of CUDA device ``index``: ``uint64[6]``, zeros where there is no error."""
    import cupy

    with cupy.cuda.Device(index):
        return cupy.zeros(_WORDS, np.uint64)
