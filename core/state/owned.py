"""Arrays by vertex of which each process keeps the entries of its own vertices: no function reads them at a neighbour.

On a graph of one process these are usual arrays. On one of several, functions of vertices, and ``then`` and ``commit``
of pulls, read and write them at their vertex ``v`` only; anything else raises ``RequirementError``. Outside operators
read and write the entries at :func:`places` only. An algorithm that keeps such arrays computes from scratch when
vertices go to other processes; it needs to do nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from suricate.base.devices import Array


def owned(graph: Any, dtype: Any, fill: float | None = None) -> Array:
    """Return a new array, an entry per vertex of ``graph``, of which each process keeps those of its own vertices.

    ``fill``: what entries are; None: anything.

    Example:
        >>> g = su.Graph(3, device="cpu")
        >>> owned(g, "float64", 0.5).tolist()
        [0.5, 0.5, 0.5]
    """
    if graph.partition is None:
        xp, n = graph.device.xp, graph.num_vertices
        return xp.empty(n, dtype) if fill is None else xp.full(n, fill, dtype)
    return graph.partition.own_array(np.dtype(dtype), fill)


def places(graph: Any) -> Any:
    """Return what selects the entries of this process in an array by vertex: a slice, or ids, ascending.

    Example:
        >>> places(su.Graph(3, device="cpu"))
        slice(0, 3, None)
    """
    return slice(0, graph.num_vertices) if graph.partition is None else graph.partition.own_places()


def swapped(graph: Any, a: Array, b: Array) -> tuple[Array, Array]:
    """Return ``b, a``; where processes keep their own entries of ``b``, return ``a, b`` and exchange these in place.

    Then every process has all of ``a``, unless it keeps only its own of that, too. Collective.

    Example:
        >>> g, old, new = su.Graph(2, device="cpu"), np.zeros(2), np.ones(2)
        >>> [part.tolist() for part in swapped(g, old, new)]
        [[1.0, 1.0], [0.0, 0.0]]
    """
    if graph.partition is None or not graph.partition.is_own(b):
        return b, a
    graph.partition.swap_own(a, b)
    return a, b


def spread(graph: Any, array: Array) -> None:
    """Copy the entries of each process's vertices in ``array``, which all have whole, to all processes. Collective."""
    if graph.partition is not None:
        graph.partition.share(array)


def whole(graph: Any, array: Array) -> Array:
    """Return ``array`` with the entries of all vertices; where processes keep their own, a new array. Collective.

    Example:
        >>> whole(su.Graph(2, device="cpu"), np.arange(2)).tolist()
        [0, 1]
    """
    if graph.partition is None or not graph.partition.is_own(array):
        return array
    found = graph.device.xp.empty(len(array), array.dtype)
    at = graph.partition.own_places()
    at = at if isinstance(at, slice) else at[at < len(array)]  # where vertices have come since
    found[at] = array[at]
    spread(graph, found)
    return found


def summed(graph: Any, values: Iterable[float]) -> list[float]:
    """Return the sums of numbers over all processes, added in their order; collective, if there are several.

    Example:
        >>> summed(su.Graph(2, device="cpu"), [1.5, 2.0])
        [1.5, 2.0]
    """
    mine = [float(value) for value in values]
    if graph.partition is None:
        return mine
    return [sum(each) for each in zip(*graph.partition.comm.allgather(mine), strict=True)]
