"""The arcs that go with deleted vertices, and vertices that come and go with a batch of edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EdgeList
from suricate.graph.delta import Delta
from suricate.graph.liveness import Edit
from suricate.intake.arrays import joined, picked
from suricate.intake.name_table import Prepared
from suricate.store import Store

if TYPE_CHECKING:
    from suricate.graph.update import Given, Updater


Forgetting = Callable[[np.ndarray], Prepared | None]


@contextmanager
def kept_with(names: Prepared | None) -> Iterator[None]:
    """Make a context that keeps the change of names unless its body raises; ``MemoryError`` before any change."""
    if names is None:
        yield
        return
    with names.lock:
        names.ready()
        yield
        names.keep()


class Coming(NamedTuple):
    """Changes of vertices that go with a batch of edges.

    ``more``: number of vertices to add. ``gone``: ids of live vertices to delete, which the batch leaves without edges
    (``uint32[k]``, on the host, distinct). ``names``: the change of their names, or None.
    """

    more: int
    gone: np.ndarray
    names: Prepared | None = None

    def apply(
        self, updater: Updater, delete: Given | None, insert: Given | None, parts: tuple[int, int] = (1, 2)
    ) -> Delta:
        """Add vertices, apply edges, delete vertices and keep names, as one change, as ``Updater.apply`` does."""
        with updater.whole(live=True), kept_with(self.names):
            return self._changed(updater, delete, insert, parts)

    def _changed(self, updater: Updater, delete: Given | None, insert: Given | None, parts: tuple[int, int]) -> Delta:
        before, version, live = updater.num_vertices, updater.version, updater.live
        updater._resize(before + self.more)
        try:
            gone: Any = np.sort(live.among(self.gone)) if len(self.gone) else self.gone
            deleted = updater.device.xp.asarray(gone)
            edit = live.deletion(gone) if len(gone) else None
            if edit is not None:
                live.apply(edit)
            try:
                delta = updater.apply(delete, insert, parts)
            except BaseException:
                if edit is not None:
                    live.refresh()
                    live.apply(Edit(edit.at, True, None))
                raise
        except BaseException as error:
            updater.undo_growth(before, error)
            raise
        if edit is not None:
            live.forget_values(edit)
        if self.more or len(gone):
            updater.version = max(updater.version, version + 1)
        delta.num_vertices_before = before
        if len(gone):
            delta._deleted_vertices = deleted
        return delta


class Incident(NamedTuple):
    """The arcs of some vertices: those that leave them (``away``), those from other vertices to them (``towards``)."""

    away: EdgeList
    towards: EdgeList


def incident_arcs(out: Store, into: Store | None, vertices: Array, *, directed: bool) -> Incident:
    """Return the arcs of distinct ``vertices`` (``uint32[k]``); without the store ``into`` by a pass over all edges."""
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
    """Return the edges that ``arcs`` belong to, undirected ones once; ``inside`` is True at the vertices with them."""
    xp = device.xp
    if directed:
        return joined(xp, *arcs)
    src, dst, weight = picked(arcs.away, ~inside[arcs.away.dst] | (arcs.away.src <= arcs.away.dst))
    return EdgeList(xp.minimum(src, dst), xp.maximum(src, dst), weight)


def member(device: Device, num_vertices: int, vertices: Array) -> Array:
    """Return ``bool[num_vertices]`` on ``device``: whether each vertex is among ``vertices``, an array of ids."""
    result = device.xp.zeros(num_vertices, bool)
    result[vertices] = True
    return result


def _arcs_from(store: Store, vertices: Array) -> EdgeList:
    xp = store.device.xp
    offsets, dst, weight = store.adjacency(vertices)
    owner = xp.searchsorted(offsets, xp.arange(len(dst)), side="right") - 1
    return EdgeList(vertices[owner], dst, weight)
