"""A translated edge function, for given types of its arguments: operators compile its source into loops and kernels."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from suricate.edgefn import bounds
from suricate.edgefn.derived.asks import Asks
from suricate.edgefn.layout import Layout
from suricate.edgefn.parameters import CHECKED_KINDS, OWNERS, Argument, Signature

RUNTIME = "suricate.edgefn.runtime"
#: what the Numba source of a light function calls: casts and the like, of an instruction or none
LIGHT = frozenset(("abs", "bool", "max", "min", "np.float32", "np.float64", "np.int64", "np.uint64"))


@cache
def import_line(module: str, *names: str) -> str:
    """Return the line that imports these functions of a module (none named: all); the module is not loaded."""
    return f"from {module} import {', '.join(names or _functions_of(module))}"


def _functions_of(module: str) -> list[str]:
    text = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py").read_text()
    return sorted(re.findall(r"^def (\w+)", text, re.MULTILINE))


@dataclass(frozen=True, eq=False)
class TypedFunction:
    """An edge function for given types; the same function and types give the same object.

    Attributes:
        result: dtype of the value (bool, int64, uint64, float32 or float64), None if there is none or it is a word.
        signature: the types it is translated for.
        writes: positions of the :attr:`arguments` that it writes to, effects included.
        effects: by position of an argument, the kind of effects on it ("sum", "min", "max", "or", "argmin" or "unite").
        elsewhere: positions of the arguments, graphs included, that it uses at indices other than its own vertex; None:
            not known.
        indexed: by leading parameter, positions of the arguments that it indexes by this parameter, as far as known.
        asks: which edges and degrees it looks up in graphs.
        reads_weight: whether it may use the weight (or the row) of the edge.
        by_hand: whether it is an :class:`EdgeFunction`, whose Numba function may allocate memory; translated functions
            do not.
    """

    result: np.dtype | None
    signature: Signature
    _write_numba: Callable[..., str] = field(repr=False)
    _write_cuda: Callable[[str], str] = field(repr=False)
    writes: frozenset[int] = frozenset()
    effects: Mapping[int, str] = field(default_factory=dict)
    by_hand: bool = False
    elsewhere: frozenset[int] | None = None
    indexed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    asks: Asks = field(default_factory=Asks)
    reads_weight: bool = True

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Types of the arguments after the leading parameters, which the caller of the operator passes."""
        return self.signature.arguments

    @cached_property
    def leading(self) -> tuple[str, ...]:
        """Names of the leading parameters, such as ``u``, ``v`` and ``w``, which the operator passes."""
        return tuple(self.signature.labels[: len(self.signature.leading)])

    @property
    def weight_dtype(self) -> np.dtype | None:
        """Dtype of the weights, None if there are none."""
        return self.signature.weight_dtype

    @property
    def stores(self) -> frozenset[int]:
        """Positions of the arguments that it writes at its own vertex: :attr:`writes` without effects."""
        return self.writes - self.effects.keys()

    @property
    def reads(self) -> frozenset[int]:
        """Positions of the arguments that it indexes, other than by effects, as far as known."""
        return frozenset(self.elsewhere or ()).union(*self.indexed.values())

    @cached_property
    def is_light(self) -> bool:
        """Whether it only returns an expression, without functions and graphs: another call costs little."""
        if self.by_hand or self.writes or self.needs_view:
            return False
        _, *body = self.numba_source("f").strip().split("\n")
        return len(body) == 1 and LIGHT.issuperset(re.findall(r"([\w.]+)\(", body[0]))

    @property
    def role(self) -> str:
        """``"edge"``, ``"vertex"`` or ``"effect"``: what the function may write (``suricate.edgefn``)."""
        return self.signature.role

    @property
    def result_layout(self) -> Layout | None:
        """The fields of the word that the function returns; None if it returns a number or nothing."""
        return self.signature.result_layout

    @property
    def numba_imports(self) -> str:
        """Lines for a module with the source, besides ``math``, ``np``, ``inner``: imports, checks of indices."""
        if self.by_hand:
            return ""
        kinds = {argument.kind for argument in self.arguments}
        owners = [OWNERS[kind] for kind in sorted(kinds & OWNERS.keys())]
        lines = [import_line(RUNTIME), *(import_line(one.module, *one.functions) for one in owners)]
        return "\n".join([*lines, *self._checks()])

    def _checks(self) -> list[str]:
        """Return the Python text of the functions that check indices; an empty list if indices are not checked."""
        if not self.signature.checked:
            return []
        indexed = [i for i, argument in enumerate(self.arguments) if argument.kind in CHECKED_KINDS]
        return [bounds.NUMBA_IMPORTS, *map(bounds.numba_definition, indexed)]

    @property
    def cursor_names(self) -> frozenset[str]:
        """Names of the functions of the graph's cursor that the Numba source calls."""
        return frozenset(("find", "degree")) if self.needs_view else frozenset()

    @property
    def needs_view(self) -> bool:
        """Whether a graph is among the arguments, so that the CUDA source needs the struct of a view and its cursor."""
        return any(argument.kind == "graph" for argument in self.arguments)

    @cached_property
    def macros(self) -> dict[str, str]:
        """The C++ macros, by name, by which kernels declare and pass the arguments.

        ``PARAMS``: parameters of a kernel; ``FORMALS``: parameters of a device function; ``ARGS``: the arguments, to
        pass on in both; ``LOCALS``: declarations at the start of a kernel; ``FINISH``: statements at its end, run by
        all threads. For an accumulator a kernel takes the addresses of three slots (``a0_slots``), device functions the
        sum of the thread (``a0``).
        """
        numbered = list(enumerate(self.arguments))
        slots = [(i, argument) for i, argument in numbered if argument.kind == "accumulator"]
        names = {i: f"a{i}_slots" for i, _ in slots}
        types = [argument.device_type(written=True) for argument in self.arguments]
        declared = [f"{types[i].removesuffix('&')} a{i}(a{i}_slots);" for i, _ in slots]
        return {
            "PARAMS": "".join(f", {argument.kernel_type} {names.get(i, f'a{i}')}" for i, argument in numbered),
            "FORMALS": "".join(f", {kind} a{i}" for i, kind in enumerate(types)),
            "ARGS": "".join(f", a{i}" for i, _ in numbered),
            "LOCALS": " ".join([*self._numbering(), *declared]),
            "FINISH": "".join(f"a{i}.flush(a{i}_slots.write); " for i, _ in slots).strip(),
        }

    def _numbering(self) -> list[str]:
        """Return C++ statements that set ``argument``, a number for errors, of each array with checked indices."""
        if not self.signature.checked:
            return []
        indexed = (i for i, argument in enumerate(self.arguments) if argument.kind in CHECKED_KINDS)
        return [f"a{i}.argument = {i};" for i in indexed]

    @cached_property
    def key(self) -> str:
        """Hex digest of the sources and types, a key for caches of compiled kernels; the same in every process."""
        weight = "" if self.weight_dtype is None else self.weight_dtype.name
        arguments = " ".join(map(str, self.arguments))
        types = (str(self.result), weight, arguments, *self.leading)
        parts = (self.numba_source("f"), self.cuda_source("f"), *types)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def numba_source(self, name: str, carried: tuple[int, ...] = ()) -> str:
        """Return the source of ``name`` for ``njit``; it needs ``np``, ``math`` and :attr:`numba_imports`.

        ``carried``: see ``emit_numba.numba_source``.
        """
        return self._write_numba(name, carried) if carried else self._write_numba(name)

    def cuda_source(self, name: str) -> str:
        """Return the source of a CUDA device function ``name``."""
        return self._write_cuda(name)
