"""An edge function for given types of its arguments: what operators compile into their loops and kernels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suricate.edgefn.parameters import Argument


@dataclass(frozen=True, eq=False)
class TypedFunction:
    """An edge function for given types; the same function and types give the same object.

    Attributes:
        result: dtype of the value (bool, int64, uint64, float32 or float64), or None if there is none.
        arguments: what comes after the leading parameters.
        leading: names of the leading parameters.
        weight_dtype: dtype of the weights, None if there are none.
        by_hand: whether it is an :class:`EdgeFunction`, whose Numba twin may allocate; what is translated does not.
    """

    result: np.dtype | None
    arguments: tuple[Argument, ...]
    leading: tuple[str, ...]
    weight_dtype: np.dtype | None
    _write_numba: Callable[[str], str] = field(repr=False)
    _write_cuda: Callable[[str], str] = field(repr=False)
    by_hand: bool = False

    @cached_property
    def key(self) -> str:
        """Hex digest of all that matters to a compiled kernel; the same in every process."""
        weight = "" if self.weight_dtype is None else self.weight_dtype.name
        arguments = " ".join(f"{kind}:{dtype.name}" for kind, dtype in self.arguments)
        parts = (self.numba_source("f"), self.cuda_source("f"), str(self.result), weight, arguments, *self.leading)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def numba_source(self, name: str) -> str:
        """Return a Python function ``name`` for ``njit``; its globals need only ``np`` and ``math``."""
        return self._write_numba(name)

    def cuda_source(self, name: str) -> str:
        """Return a CUDA device function ``name`` of vertex ids (``unsigned int``), array pointers, scalars by value."""
        return self._write_cuda(name)
