"""Parameters of PageRank: where jumps go, which equation, names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.shared.fixed_point import divided
from suricate.base.parameters import integer, real, shown
from suricate.errors import ParameterError, ShapeError, VertexRangeError
from suricate.intake.arrays import as_array

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph


ALPHA, TOL = 0.85, 1e-5  #: what is meant if nothing is given


def one_of(label: str, value: Any, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``allowed``; ``label`` names it in the message.

    Raises:
        ParameterError: it is not.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{label} must be {', '.join(allowed[:-1])} or {allowed[-1]}, got {shown(value)}")
    return value


def sums_up_loops(equation: Any, self_loops: bool, method: str) -> bool:
    """Return whether to use equation 2, which sums up self-loops.

    ``equation`` is 1, 2 or None: then the result is True for the method ``"dfp"`` with ``self_loops``.

    Raises:
        ParameterError: there is no such equation, or 2 is given without ``self_loops``.
    """
    if equation is None:
        return self_loops and method == "dfp"
    number = integer("pagerank: equation", equation, low=1, high=2)
    if number == 2 and not self_loops:
        raise ParameterError("pagerank: equation=2 is about self-loops: pass self_loops=True")
    return number == 2


class Jumps:
    """The parameters ``personalization`` and ``dangling``, each a checked copy on the host, or None.

    Attributes:
        apart: whether the rank of dangling vertices is distributed differently from jumps.
        are_alike: whether all live vertices are jumped to alike.
    """

    def __init__(
        self, values: Mapping[int, float] | Array | None, dangling: Mapping[int, float] | Array | None
    ) -> None:
        self._parts = {
            "personalization": _checked("personalization", values),
            "dangling": _checked("dangling", dangling),
        }
        self.apart = dangling is not None
        self.are_alike = values is None and dangling is None

    def check(self, num_vertices: int, *, grown: bool) -> None:
        """Raise ``VertexRangeError`` or ``ShapeError`` unless both parameters fit a graph of ``num_vertices`` vertices.

        A dict must name vertices of the graph only, and an array have an entry for each of them; with ``grown``, after
        vertices were added to the graph, it may be shorter.
        """
        for name, values in self._parts.items():
            _check_fit(name, values, num_vertices, grown=grown)

    def on(self, graph: Graph, dtype: np.dtype) -> tuple[Array, int]:
        """Return the array of jump probabilities, of ``dtype``, and the stride between the entries of two vertices.

        The stride is 1; 0 if one entry is for all vertices; 2 if each vertex has a second entry, its share of the rank
        of dangling vertices.
        """
        n, xp = graph.num_vertices, graph.device.xp
        if self.apart:
            both = xp.stack([self._of_live(graph, name) for name in self._parts], 1)
            return both.ravel().astype(dtype), 2
        if self._parts["personalization"] is not None:
            return self._of_live(graph, "personalization").astype(dtype), 1
        return (uniform(graph).astype(dtype), 1) if graph.most_deleted else (xp.full(1, 1 / max(n, 1), dtype), 0)

    def _of_live(self, graph: Graph, name: str) -> Array:
        """Return the parameter ``name`` as ``float64[num_vertices]``, scaled to the sum 1 over live vertices.

        Deleted vertices have 0. If no vertex with a value is live, all entries are NaN (or 0, if the graph reserves
        vertices), so that all ranks become NaN, and reading them raises.
        """
        xp, values = graph.device.xp, self._parts[name]
        if values is None:
            return uniform(graph)
        found = xp.asarray(distribution(values, graph.num_vertices))
        if not graph.most_deleted:
            return found
        found = found * graph.live_arrays.mask
        total = found.sum()
        return found / xp.where(total > 0, total, math.nan if graph.reserved is None else 1)

    def lost(self, graph: Graph) -> str | None:
        """Return the name of a parameter whose values are all at deleted vertices, or None; waits for the device."""
        if not graph.most_deleted:
            return None
        live = graph.device.to_numpy(graph.live)
        for name, values in self._parts.items():
            if values is not None and not distribution(values, graph.num_vertices)[live].any():
                return name
        return None


def started(graph: Graph, values: Array) -> Array:
    """Return ``values``, 0 at deleted vertices, scaled to the sum 1; the uniform vector if all of them are 0."""
    xp = graph.device.xp
    found = values * graph.live_arrays.mask if graph.most_deleted else values
    found = divided(xp, found, found.max())  # whose sum is finite
    total = found.sum()
    return xp.where(total > 0, divided(xp, found, total), uniform(graph))


def uniform(graph: Graph) -> Array:
    """Return ``float64[num_vertices]`` with the sum 1, equal at all live vertices, 0 at deleted ones."""
    xp, n = graph.device.xp, graph.num_vertices
    if not graph.most_deleted:
        return xp.full(n, 1 / max(n, 1))
    mask, count = graph.live_arrays
    return mask / xp.maximum(count, 1)


def _checked(name: str, values: Any) -> dict[int, float] | np.ndarray | None:
    """Return a checked copy of ``values``, the parameter ``name``, on the host: dict or ``float64[n]``; None for None.

    The numbers must be non-negative and finite, and not all 0.

    Raises:
        ParameterError: they are not.
        VertexRangeError: a vertex is negative.
    """
    if values is None:
        return None
    label = f"pagerank: {name}"
    if isinstance(values, Mapping):
        given = {integer(f"{label}: a vertex", v): values[v] for v in values}
        if min(given, default=0) < 0:
            raise VertexRangeError(f"{label}: vertex {min(given)} is negative")
        checked: Any = {v: real(f"{label}[{v}]", number, low=0) for v, number in given.items()}
        numbers = np.array([*checked.values()], np.float64)
    else:
        array = as_array(values, label)
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise ParameterError(f"{label} must be a dict, or a one-dimensional array of numbers")
        numbers = checked = np.array(array.get() if hasattr(array, "get") else array, np.float64)
        if not np.all((numbers >= 0) & (numbers < math.inf)):
            raise ParameterError(f"{label} must hold finite numbers of at least 0")
    with np.errstate(over="ignore"):
        total = numbers.sum()
    if not 0 < total < math.inf:
        raise ParameterError(f"{label} must have a finite sum above 0")
    return checked


def _check_fit(name: str, values: dict[int, float] | np.ndarray | None, num_vertices: int, *, grown: bool) -> None:
    """Raise unless ``values`` of the parameter ``name`` fit a graph of ``num_vertices`` vertices; None always fits.

    Raises:
        VertexRangeError: a dict names a vertex that the graph does not have.
        ShapeError: an array has not one entry per vertex; with ``grown`` it may be shorter.
    """
    if isinstance(values, dict) and max(values) >= num_vertices:
        raise VertexRangeError(f"pagerank: {name}: vertex {max(values)} is not in [0, {num_vertices})")
    if isinstance(values, np.ndarray) and (len(values) > num_vertices or (len(values) < num_vertices and not grown)):
        raise ShapeError(f"pagerank: {name} has {len(values)} entries, the graph {num_vertices} vertices")


def distribution(values: Any, num_vertices: int) -> np.ndarray:
    """Return ``values``, a dict or an array by vertex, as ``float64[num_vertices]`` with the sum 1.

    Vertices without a value have 0.
    """
    spread = np.zeros(num_vertices)
    if isinstance(values, Mapping):
        spread[list(values)] = list(values.values())
    else:
        spread[: len(values)] = values
    return spread / spread.sum()
