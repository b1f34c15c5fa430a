"""Graphs of NetworkX made into arrays, and arrays into graphs of suricate."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

EXACT = 2**53  #: integers up to it are exact in float64
WHOLE = np.iinfo(np.int32)


class Arcs(NamedTuple):
    """Vertex ids ``src`` and ``dst`` of edges, on the host; undirected edges once, except from ``Converted.arcs``.

    ``weight``: None if all weigh 1. ``whole``: weights are integers, so results that are sums of them must be, too.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None = None
    whole: bool = True


class Structure(NamedTuple):
    """Nodes of a NetworkX graph, their vertex ids, and its edges, undirected ones once: ends and attribute dicts."""

    nodes: list[Any]
    numbers: dict[Any, int]  #: the vertex of each node
    src: np.ndarray  #: ``int64[edges]``
    dst: np.ndarray
    data: list[dict[Any, Any]]  #: the attributes of each edge

    def arcs(self, attribute: Any, default: Any = 1) -> Arcs:
        """Return the edges weighted by ``attribute``, or ``default`` where it is missing; None: without weights."""
        if attribute is None:
            return Arcs(self.src, self.dst)
        weight, whole = weights([data.get(attribute, default) for data in self.data], attribute)
        return Arcs(self.src, self.dst, weight, whole)


def structure(graph: Any, numbers: dict[Any, int] | None = None) -> Structure:
    """Return the nodes and edges of a NetworkX graph that is not a multigraph.

    ``numbers``: the vertex ids of the nodes; None: they are numbered in the graph's order.
    """
    nodes, rows = list(graph), [row for _, row in graph.adjacency()]
    numbers = dict(zip(nodes, range(len(nodes)), strict=True)) if numbers is None else numbers
    heads = list(chain.from_iterable(rows))
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    src = np.repeat(np.fromiter(map(numbers.__getitem__, nodes), np.int64, len(nodes)), degrees)
    dst = np.fromiter(map(numbers.__getitem__, heads), np.int64, len(heads))
    data = list(chain.from_iterable(row.values() for row in rows))
    if not graph.is_directed():
        kept = np.flatnonzero(src <= dst)
        src, dst, data = src[kept], dst[kept], [data[at] for at in kept.tolist()]
    return Structure(nodes, numbers, src, dst, data)


def weights(values: list[Any], attribute: Any) -> tuple[np.ndarray | None, bool]:
    """Return ``values``, of ``attribute``, as an array for a graph (None if all are 1), and whether they are integers.

    Raises:
        NotImplementedError: a weight is not a finite number, or is an integer too large for exact sums.
    """
    kinds = set(map(type, values))
    if kinds <= {int} and (not values or (min(values) == 1 == max(values))):
        return None, True
    if not all(issubclass(kind, (int, float, np.integer, np.floating, np.bool_)) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise NotImplementedError(f"suricate needs numbers as weights; the attribute {attribute!r} has: {names}")
    if all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds):
        return _whole(values, attribute), True
    found = np.array(values, np.float64)
    if not np.isfinite(found).all():
        raise NotImplementedError(f"suricate needs finite weights; the attribute {attribute!r} has others")
    return found, False


def _whole(values: Iterable[Any], attribute: Any) -> np.ndarray:
    numbers = list(map(int, values))
    if min(numbers) >= WHOLE.min and max(numbers) <= WHOLE.max:
        return np.array(numbers, np.int32)
    if sum(map(abs, numbers)) > EXACT:
        raise NotImplementedError(f"sums of the attribute {attribute!r} may exceed 2**53, beyond which none is exact")
    return np.array(numbers, np.float64)
