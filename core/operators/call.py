"""What the operators share on both devices: a call's typed edge function and values, and the stamps of a graph."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.devices import Array, Device

if TYPE_CHECKING:
    from suricate.edgefn import TypedFunction
    from suricate.graph import Graph

REDUCTIONS = ("sum", "min", "max", "or")
OUT_DTYPES = tuple(np.dtype(name) for name in ("int32", "uint32", "int64", "uint64", "float32", "float64"))

LAST_STEP = 2**32 - 1  #: stamps are uint32
MAX_STEPS = 2**31 - 1  #: of one propagation


class Call(NamedTuple):
    """A validated call: the edge function for the types of its arguments, the arguments, the reduction."""

    function: TypedFunction
    values: tuple[Any, ...]
    reduce: str

    @property
    def result(self) -> np.dtype:
        """Type of what the edge function returns."""
        assert self.function.result is not None
        return self.function.result


@cache
def identity_of(reduce: str, dtype: np.dtype) -> Any:
    """Return the neutral value of a reduction as a scalar of ``dtype``: 0, or the largest or smallest value."""
    if reduce in ("sum", "or"):
        return dtype.type(0)
    if dtype.kind == "f":
        return dtype.type(np.inf if reduce == "min" else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if reduce == "min" else limits.min)


class Stamps:
    """Per graph: the stamps that keep a frontier free of duplicates.

    ``array`` is ``uint32[num_vertices]``. Every step of every operator has a number of its own, so that old stamps
    never count; they are cleared only when the numbers run out.
    """

    def __init__(self, device: Device) -> None:
        self.array: Array = device.xp.empty(0, np.uint32)
        self._last = 0

    def steps(self, count: int) -> int:
        """Return the first of ``count`` fresh numbers, none of which is 0."""
        if self._last + count > LAST_STEP:
            self.array.fill(0)
            self._last = 0
        first = self._last + 1
        self._last += count
        return first

    def give_back(self, next_step: int) -> None:
        """Return the numbers from ``next_step`` on, which were not used after all."""
        self._last = next_step - 1


def stamps_of(graph: Graph) -> Stamps:
    """Return the stamps of ``graph``, as long as the graph has vertices."""
    stamps = graph.workspace.state(Stamps)
    stamps.array = graph.workspace.array("operators.stamp", graph.num_vertices, np.uint32)
    return stamps


def driver_of(graph: Graph) -> ModuleType:
    """Return the module that runs operators on the graph's device."""
    return _driver(graph.device.kind)


@cache
def _driver(kind: str) -> ModuleType:
    return importlib.import_module(f"suricate.operators.{kind}.driver")
