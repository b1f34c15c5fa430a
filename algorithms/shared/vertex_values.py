"""A parameter that is a number per vertex: checked once, laid out for a graph when it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.parameters import integer, real, shown
from suricate.errors import ParameterError, ShapeError, VertexRangeError
from suricate.intake.arrays import as_array, on_host

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph

FLOAT64_MAX = float(np.finfo(np.float64).max)


class VertexValues:
    """One finite number per vertex, copied from the user's argument; an array stays on its device.

    Args:
        label: name of the parameter in errors, for instance ``"hits: nstart"``.
        values: one number for all vertices, a dict from vertex to number, or a one-dimensional array of numbers.
        missing: the number of vertices that a dict lacks, and of those added after an array was given.
        low: the least number allowed; None: any.

    Raises:
        ParameterError: ``values`` has another form, or numbers that are not finite or below ``low``.
        VertexRangeError: a dict has a negative vertex.
    """

    def __init__(self, label: str, values: Any, *, missing: float = 0.0, low: float | None = None) -> None:
        self.label, self.missing = label, missing
        least = -FLOAT64_MAX if low is None else low
        self._values: float | dict[int, float] | Array
        if isinstance(values, Mapping):
            self._values = {
                integer(f"{label}: a vertex", v): real(f"{label}[{v}]", values[v], low=least) for v in values
            }
            if min(self._values, default=0) < 0:
                raise VertexRangeError(f"{label}: vertex {min(self._values)} is negative")
        elif not isinstance(values, (list, tuple)) and np.ndim(values) == 0:
            self._values = real(label, values, low=least)
        else:
            self._values = self._checked(as_array(values, label), least)

    def _checked(self, array: Array, least: float) -> Array:
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise ParameterError(f"{self.label} must be a number, a dict, or a one-dimensional array of numbers")
        numbers = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
        # NaN is the least if there is one
        if len(numbers) and not (float(numbers.min()) >= least and float(numbers.max()) < math.inf):
            numbers = numbers.astype(np.float64)
            at = int((~((numbers >= least) & (numbers < math.inf))).argmax())
            lowest = "" if least < 0 else f" of at least {least:g}"
            raise ParameterError(f"{self.label}[{at}] is {shown(float(numbers[at]))}: finite numbers{lowest} only")
        return numbers

    def on_host(self, num_vertices: int, *, grown: bool = False) -> np.ndarray:
        """Return the numbers in a new array, ``float64[num_vertices]``.

        Args:
            num_vertices: of the graph.
            grown: whether the graph may have more vertices than it had when the array was given.

        Raises:
            VertexRangeError, ShapeError: the numbers do not fit a graph of this size.
        """
        return self._spread(np, num_vertices, grown)

    def on_device(self, graph: Graph, *, grown: bool = False, shared: bool = False) -> Array:
        """Return the numbers in a new array, ``float64[graph.num_vertices]``, on the graph's device.

        ``grown``: the graph may have more vertices than it had when the array was given. ``shared``: the array need not
        be a new one, since it is only read, and is of ``float32`` if such an array was given.

        Raises:
            VertexRangeError, ShapeError: the numbers do not fit the number of vertices of ``graph``.
        """
        given, n = self._values, graph.num_vertices
        if shared and isinstance(given, graph.device.xp.ndarray) and len(given) == n:
            return given
        return self._spread(graph.device.xp, n, grown, None if shared else np.float64)

    def _spread(self, xp: Any, num_vertices: int, grown: bool, dtype: Any = np.float64) -> Array:
        given = self._values
        if isinstance(given, float):
            return xp.full(num_vertices, given)
        if isinstance(given, dict):
            if given and max(given) >= num_vertices:
                raise VertexRangeError(f"{self.label}: vertex {max(given)} is not in [0, {num_vertices})")
            spread = xp.full(num_vertices, self.missing)
            spread[xp.asarray(list(given), np.int64)] = xp.asarray(list(given.values()), np.float64)
            return spread
        if len(given) > num_vertices or (len(given) < num_vertices and not grown):
            raise ShapeError(f"{self.label} has {len(given)} entries, the graph {num_vertices} vertices")
        numbers = xp.array(given if isinstance(given, xp.ndarray) else on_host(given), dtype)
        return resized(xp, numbers, num_vertices, self.missing)


def optional_values(label: str, values: Any, *, missing: float = 0.0, low: float | None = None) -> VertexValues | None:
    """Return ``values``, one number per vertex in any form, as :class:`VertexValues`; None for None.

    ``label`` names the parameter in errors; ``missing`` is the number of vertices without one; ``low`` the least number
    allowed (None: any).
    """
    return None if values is None else VertexValues(label, values, missing=missing, low=low)


def resized(xp: Any, array: Array, size: int, fill: Any) -> Array:
    """Return ``array`` extended to ``size`` entries by ``fill``; ``array`` itself, no copy, if it has that length."""
    if len(array) == size:
        return array
    return xp.concatenate([array, xp.full(size - len(array), fill, array.dtype)])
