"""An edge function for given types of its arguments: what operators compile into their loops and kernels."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from suricate.edgefn.layout import Layout
from suricate.edgefn.parameters import Argument, Signature

RUNTIME = Path(__file__).with_name("runtime.py")  #: read, not imported: that would load Numba


@cache
def import_line() -> str:
    """Return the line that imports ``runtime.py``; it changes with the file, so that modules are generated anew."""
    text = RUNTIME.read_text()
    names = sorted(re.findall(r"^def (\w+)", text, re.MULTILINE))
    return f"from suricate.edgefn.runtime import {', '.join(names)}  # {hashlib.sha256(text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, eq=False)
class TypedFunction:
    """An edge function for given types; the same function and types give the same object.

    Attributes:
        result: dtype of the value (bool, int64, uint64, float32 or float64), None if there is none or it is a word.
        signature: the types it is translated for.
        writes: positions of the :attr:`arguments` that it writes to.
        by_hand: whether it is an :class:`EdgeFunction`, whose Numba twin may allocate; what is translated does not.
    """

    result: np.dtype | None
    signature: Signature
    _write_numba: Callable[[str], str] = field(repr=False)
    _write_cuda: Callable[[str], str] = field(repr=False)
    writes: frozenset[int] = frozenset()
    by_hand: bool = False

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What comes after the leading parameters."""
        return self.signature.arguments

    @property
    def leading(self) -> tuple[str, ...]:
        """Names of the leading parameters."""
        return self.signature.leading

    @property
    def weight_dtype(self) -> np.dtype | None:
        """Dtype of the weights, None if there are none."""
        return self.signature.weight_dtype

    @property
    def role(self) -> str:
        """What it may do besides reading: see ``suricate.edgefn``."""
        return self.signature.role

    @property
    def result_layout(self) -> Layout | None:
        """The fields of the word that it returns, if it returns one."""
        return self.signature.result_layout

    @property
    def numba_imports(self) -> str:
        """Lines of imports that a module with the Numba source needs, besides ``math``, ``np`` and ``inner``."""
        return "" if self.by_hand else import_line()

    @cached_property
    def macros(self) -> dict[str, str]:
        """The macros by which kernels declare and pass the arguments.

        ``PARAMS``: parameters of a kernel; ``FORMALS``: those of a device function; ``ARGS``: the arguments, in both;
        ``LOCALS``: declarations at the start of a kernel; ``FINISH``: statements at its end, run by all threads.
        """
        numbered = list(enumerate(self.arguments))
        declared = "".join(f", {argument.kernel_type} a{i}" for i, argument in numbered)
        passed = "".join(f", a{i}" for i, _ in numbered)
        return {"PARAMS": declared, "FORMALS": declared, "ARGS": passed, "LOCALS": "", "FINISH": ""}

    @cached_property
    def key(self) -> str:
        """Hex digest of all that matters to a compiled kernel; the same in every process."""
        weight = "" if self.weight_dtype is None else self.weight_dtype.name
        arguments = " ".join(map(str, self.arguments))
        types = (str(self.result), weight, arguments, *self.leading)
        parts = (self.numba_source("f"), self.cuda_source("f"), *types)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def numba_source(self, name: str) -> str:
        """Return a Python function ``name`` for ``njit``; its globals need ``np``, ``math`` and the imports."""
        return self._write_numba(name)

    def cuda_source(self, name: str) -> str:
        """Return a CUDA device function ``name`` of vertex ids (``unsigned int``), array pointers, scalars by value."""
        return self._write_cuda(name)
