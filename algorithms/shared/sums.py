"""Sums over the edges of every vertex, weighted or not, over in-edges or out-edges; shared by linear algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suricate.base.parameters import flag
from suricate.errors import RequirementError
from suricate.operators import advance, neighbor_reduce

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph


def of_source(u, v, w, x):
    """Return ``x[u]``, the value of the source of an edge."""
    return float(x[u])


def of_destination(u, v, w, x):
    """Return ``x[v]``, the value of the destination of an edge."""
    return float(x[v])


def weighted_of_source(u, v, w, x):
    """Return ``w * x[u]``: the weight of an edge times the value of its source."""
    return w * float(x[u])


def weighted_of_destination(u, v, w, x):
    """Return ``w * x[v]``: the weight of an edge times the value of its destination."""
    return w * float(x[v])


def scaled_of_source(u, v, w, x, scale):
    """Return ``w * scale * x[u]``: the scaled weight of an edge times the value of its source."""
    return float(w) * scale * x[u]


def scaled_of_destination(u, v, w, x, scale):
    """Return ``w * scale * x[v]``: the scaled weight of an edge times the value of its destination."""
    return float(w) * scale * x[v]


def magnitude_of(u, v, w):
    """Return ``abs(w)``, the absolute weight of an edge."""
    return abs(float(w))


class Weighting:
    """The parameter ``weighted``: True uses edge weights, False ignores them, None uses them if the graph has any.

    Attributes:
        scale: a power of 2 by which weights are multiplied in sums, so that these neither overflow nor lose digits.
    """

    def __init__(self, label: str, weighted: Any) -> None:
        self.label = label
        self.asked = None if weighted is None else flag(f"{label}: weighted", weighted)
        self.scale = 1.0

    def demand(self, graph: Graph) -> None:
        """Raise ``RequirementError`` if ``weighted`` is True and the graph has no weights."""
        if self.asked and graph.weight_dtype is None:
            raise RequirementError(
                f"{self.label}: weighted=True needs edge weights: build the graph with "
                "Graph(..., weight_dtype='float32')"
            )

    def applies(self, graph: Graph) -> bool:
        """Return whether sums over edges of ``graph`` are weighted: it has weights, and ``weighted`` is not False."""
        return graph.weight_dtype is not None and self.asked is not False

    def is_float(self, graph: Graph) -> bool:
        """Return whether sums use floating-point weights, which may be very large or very small."""
        return self.applies(graph) and graph.weight_dtype is not None and graph.weight_dtype.kind == "f"

    def rescale(self, graph: Graph) -> bool:
        """Choose the scale by the largest weight; return whether the scale has changed. Waits."""
        largest = float(neighbor_reduce(graph, None, magnitude_of, reduce="max").max()) if graph.num_edges else 0.0
        before, self.scale = self.scale, math.ldexp(1.0, min(1023, -math.frexp(largest)[1])) if largest > 0 else 1.0
        return self.scale != before

    def bytes_per_edge(self, graph: Graph) -> int:
        """Return the bytes of weight that a sum reads per edge; 0 if it is unweighted."""
        return graph.weight_dtype.itemsize if self.applies(graph) and graph.weight_dtype is not None else 0

    def sum_over_out(self, graph: Graph, x: Array, out: Array) -> None:
        """Set ``out[u] = sum of w * scale * x[v]`` over the edges ``u -> v``; without weights ``w * scale`` is 1."""
        fn: Callable[..., Any] = weighted_of_destination if self.applies(graph) else of_destination
        fn, args = (
            (fn, (x,)) if self.scale == 1 or not self.applies(graph) else (scaled_of_destination, (x, self.scale))
        )
        neighbor_reduce(graph, None, fn, args=args, reduce="sum", out=out)

    def sum_over_in(self, graph: Graph, x: Array, out: Array) -> None:
        """Set ``out[v] = sum of w * scale * x[u]`` over the edges ``u -> v``; without weights ``w * scale`` is 1.

        If the graph has no in-edges, this pushes along all out-edges, and ``out`` must be zero before.
        """
        fn: Callable[..., Any] = weighted_of_source if self.applies(graph) else of_source
        fn, args = (fn, (x,)) if self.scale == 1 or not self.applies(graph) else (scaled_of_source, (x, self.scale))
        if graph.has_in_edges:
            neighbor_reduce(graph, None, fn, args=args, reduce="sum", over="in", out=out)
        else:
            advance(graph, None, fn, out=out, args=args, reduce="sum")
