"""The arcs that go with deleted vertices."""

from __future__ import annotations

from typing import NamedTuple

from suricate.base.devices import Array, Device
from suricate.base.types import EdgeList
from suricate.intake.arrays import joined, picked
from suricate.store import Store


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
