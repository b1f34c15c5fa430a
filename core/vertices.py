"""Deleted vertices: which ids may be given out again, and which arcs go with a vertex."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.arrays import joined, picked
from suricate.devices import Array, Device
from suricate.store import Store
from suricate.types import EdgeList


class DeletedIds:
    """The ids that were deleted and not given out again: host memory, ``uint32``, ascending. Never changed in place."""

    __slots__ = ("ids",)

    def __init__(self, ids: np.ndarray | None = None) -> None:
        self.ids = np.empty(0, np.uint32) if ids is None else ids

    def plus(self, ids: np.ndarray) -> DeletedIds:
        """Return what is deleted after ``ids`` were."""
        return DeletedIds(np.union1d(self.ids, ids))

    def minus(self, ids: np.ndarray) -> DeletedIds:
        """Return what is deleted after ``ids``, all of them deleted ones, were given out again."""
        return DeletedIds(np.setdiff1d(self.ids, ids, assume_unique=True))

    def unused(self, out: Store, into: Store | None, *, directed: bool) -> np.ndarray:
        """Return the ids that have no edges now. On a directed graph without in-edges this takes a pass over all edges.

        Args:
            out: the store of out-edges.
            into: that of in-edges, if the graph keeps one.
            directed: whether the graph is directed.
        """
        if not len(self.ids):
            return self.ids
        device = out.device
        vertices = device.xp.asarray(self.ids)
        busy = out.degrees()[vertices] > 0
        if into is not None:
            busy |= into.degrees()[vertices] > 0
        elif directed:
            busy |= member(device, out.num_vertices, out.edges().dst)[vertices]
        return self.ids[~device.to_numpy(busy)]


class Incident(NamedTuple):
    """The arcs of some vertices: those that leave them, and those that lead to them from other vertices."""

    away: EdgeList
    towards: EdgeList


def incident_arcs(out: Store, into: Store | None, vertices: Array, *, directed: bool) -> Incident:
    """Return the arcs of distinct ``vertices`` (``uint32[k]``, on the device of the stores)."""
    inside = member(out.device, out.num_vertices, vertices)
    away = _arcs_from(out, vertices)
    if not directed:
        towards = EdgeList(away.dst, away.src, away.weight)
    elif into is not None:
        dst, src, weight = _arcs_from(into, vertices)
        towards = EdgeList(src, dst, weight)
    else:
        towards = out.edges()
        towards = picked(towards, inside[towards.dst])
    return Incident(away, picked(towards, ~inside[towards.src]))


def incident_edges(arcs: Incident, inside: Array, device: Device, *, directed: bool) -> EdgeList:
    """Return the edges of :func:`incident_arcs`, an undirected one once; ``inside`` says which vertices they were."""
    xp = device.xp
    if directed:
        return joined(xp, *arcs)
    src, dst, weight = picked(arcs.away, ~inside[arcs.away.dst] | (arcs.away.src <= arcs.away.dst))
    return EdgeList(xp.minimum(src, dst), xp.maximum(src, dst), weight)


def member(device: Device, num_vertices: int, vertices: Array) -> Array:
    """Return ``bool[num_vertices]``: whether each vertex is among ``vertices``."""
    result = device.xp.zeros(num_vertices, bool)
    result[vertices] = True
    return result


def _arcs_from(store: Store, vertices: Array) -> EdgeList:
    xp = store.device.xp
    offsets, dst, weight = store.adjacency(vertices)
    owner = xp.searchsorted(offsets, xp.arange(len(dst)), side="right") - 1
    return EdgeList(vertices[owner], dst, weight)
