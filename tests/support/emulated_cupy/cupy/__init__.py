"""Stands for the package CuPy where there is no GPU: arrays over NumPy, kernels that ``emulated_programs`` runs.

It is found as ``cupy`` where the folder around it is on the path, see ``emulated_cuda``. Host arrays are refused where
CuPy refuses them, and memory that nobody wrote is not zero. What it does not show:

- what the device does while the host goes on: a launch is over when it returns, all streams are one, nothing waits;
- caches, and orders of loads and stores that CUDA's model of memory allows and the host's does not;
- ``__shared__`` arrays that nobody wrote, too many registers, how fast anything is;
- what lies outside of arrays, and loads that are not aligned, unless ``.ci/sanitize_emulated.py`` runs it;
- graph capture: tests that capture a stream are skipped; a second device; grids and blocks of two dimensions;
- CuPy's own kernels: NumPy answers instead, so a position out of bounds raises, and sums are in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupy import cuda
from cupy.arrays import array, asarray, ascontiguousarray, empty, empty_like, from_dlpack, full, ndarray
from cupy.arrays import on_device as _on_device
from cupy.arrays import plain as _plain
from cupy.memory import get_default_memory_pool

__version__ = "emulated"
__all__ = [
    "array", "asarray", "ascontiguousarray", "asnumpy", "cuda", "empty", "empty_like",
    "from_dlpack", "full", "get_default_memory_pool", "ndarray",
]  # fmt: skip


def asnumpy(values: Any) -> np.ndarray:
    """Return a copy on the host."""
    found: np.ndarray = values.get() if isinstance(values, ndarray) else np.array(values)
    return found


class _Function:
    """A function of NumPy, or a ufunc, that takes and returns arrays of the device."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        result = self._function(*_plain(args), **_plain(options))
        out = options.get("out")
        return _on_device(result) if out is None else out

    def __getattr__(self, name: str) -> _Function:
        return _Function(getattr(self._function, name))


def __getattr__(name: str) -> Any:
    """Return what NumPy has under this name."""
    found = getattr(np, name)
    if callable(found) and not isinstance(found, type):
        found = globals()[name] = _Function(found)
    return found
