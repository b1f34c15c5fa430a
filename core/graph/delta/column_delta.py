"""Deltas of graphs whose edges have columns: what the stores report are rows, what the delta lists are weights."""

from __future__ import annotations

from typing import Any

from suricate.base.types import ArcList
from suricate.graph.delta import DeletedEdges, Delta, Lists, listed
from suricate.intake.arrays import picked
from suricate.state.edge_table import EdgeTable, weighed, weights_at


class ColumnDelta(Delta):
    """A :class:`Delta` with the weights of edges, read through their rows when its lists are, and with the rows.

    An edge is replaced if its weight or another column changed; if only others did, its old and new weight are equal.

    Args:
        rows: the same changes with rows in place of weights.
        table: the columns.
    """

    __slots__ = ("__weakref__", "_rows", "_table")

    def __init__(self, rows: Delta, table: EdgeTable | None) -> None:
        super().__init__(
            rows._device, rows._directed, rows._weight_dtype, (rows.num_vertices_before, rows.num_vertices_after),
            deleted_vertices=rows._deleted_vertices, wait=rows._wait, lock=rows._lock,
            revived_vertices=rows._revived_vertices,
        )  # fmt: skip
        self._rows, self._table, self.named, self.version = rows, table, rows.named, rows.version

    @property
    def is_known_empty(self) -> bool:
        """Whether the host knows, without waiting for a device, that nothing changed."""
        return self._rows.is_known_empty

    def _all(self) -> Lists:
        if self._lists is None:
            with self._exclusive():
                if self._lists is None:  # no other thread has made them meanwhile
                    self._lists = self._weighed(self._rows._all())
        return self._lists

    def _weighed(self, lists: Lists) -> Lists:
        return _with_weights(self._table, lists)

    def _net(self) -> tuple[Any, Any, DeletedEdges | None]:
        return self._rows._net()

    def arcs(self, kind: str, *, placed: bool = False) -> ArcList:
        """Return the arcs of a ``kind``, as :meth:`Delta.arcs`; waits for the device. ``placed`` changes nothing."""
        return super().arcs(kind)

    def _arc_list(self, kind: str) -> tuple[ArcList, int]:
        return listed(self._listed_arcs(kind))


class ScaledDelta(ColumnDelta):
    """A :class:`Delta` of a graph whose stored weights are relative: with these times ``before`` and ``after`` it."""

    __slots__ = ("scales",)

    def __init__(self, rows: Delta, before: float, after: float) -> None:
        super().__init__(rows, None)
        self.scales = before, after  #: of weights that left, and of those that are there

    def _weighed(self, lists: Lists) -> Lists:
        (before, after), old = self.scales, lists.replaced_old
        kinds: Any = zip(lists[:3], (after, before, after), strict=True)
        inserted, deleted, replaced = (edges._replace(weight=edges.weight * by) for edges, by in kinds)
        return Lists(inserted, deleted, replaced, None if old is None else old * before)


def shown_delta(delta: Delta, table: EdgeTable | None) -> Delta:
    """Return a delta as users see it: with weights if its own are rows of ``table``; None: it has weights itself."""
    return delta if table is None else table.show(ColumnDelta(delta, table))


def _with_weights(table: EdgeTable | None, lists: Lists) -> Lists:
    """Return ``lists``, which have rows of ``table`` as weights, with weights; without edges that have not changed."""
    replaced, old = lists.replaced, lists.replaced_old
    assert table is not None
    assert old is not None
    values = table.weights
    if len(old):
        differs = table.differs(replaced.weight, old)
        replaced, old = picked(replaced, differs), old[differs]
    inserted, deleted, changed = (weighed(values, one) for one in (*lists[:2], replaced))
    return Lists(inserted, deleted, changed, weights_at(values, old), old)
