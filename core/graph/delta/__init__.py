"""Batches (the changes to make) and deltas (the changes that a batch really made).

A :class:`Delta` keeps the arrays of the batch and the status that the store returned for each edge. The lists of
changed edges are computed from them on first use, so a delta that is never read costs nothing and does not wait.

A delta may be read in any thread. It is copied and pickled as its lists.

``xp``: NumPy or CuPy, the module of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, overload

import numpy as np

from suricate.base.devices import Array, Device, ReturnedArray, resolve_device
from suricate.base.errors import ShapeError, UnknownNameError, WeightError
from suricate.base.renamed import HidesOld, Old
from suricate.base.types import NEW, REMOVED, REPLACED, ArcList, Change, EdgeList, PlacedArcs
from suricate.intake.arrays import bits, joined, picked
from suricate.state.edges.edge_set import EdgeSet, net_change
from suricate.state.locks import Lock, graph_lock


class Lists(NamedTuple):
    """The edges of a delta by kind; ``replaced_old`` has old weights, in the order of ``replaced``."""

    inserted: EdgeList
    deleted: EdgeList
    replaced: EdgeList
    replaced_old: Array | None
    replaced_old_row: Array | None = None


KINDS = Lists._fields[:4]
MARKS = dict(zip(KINDS, (NEW, REMOVED, REPLACED, REPLACED), strict=True))  #: the status of the edges of each kind


def moved(lists: Lists, move: Callable[[Array], Array]) -> Lists:
    """Return ``lists`` with ``move`` of each array, which brings it to another device."""
    inserted, deleted, replaced = (edges.each(move) for edges in (lists.inserted, lists.deleted, lists.replaced))
    return Lists(inserted, deleted, replaced, *(None if one is None else move(one) for one in lists[3:]))


def _once(xp: Any, change: Change) -> tuple[EdgeList, Array, Array | None]:
    """Return edges, statuses and old weights (or None) of a batch's deletions or insertions, with one entry per edge.

    For an undirected edge ``change`` has two arcs of equal status, one in each half of its arrays: the one in the first
    half is taken. A self-loop is there twice; if only one of its entries has a status that is not 0, that one is taken.
    """
    (src, dst, weight), (status, old), mirrored = change
    if not mirrored:
        return change.edges, status, old
    n = len(src) // 2
    second = (src[:n] == dst[:n]) & (status[n:] != 0)
    edges = EdgeList(src[:n], dst[:n], None if weight is None else weight[:n])
    if old is not None:
        old = xp.where(second, bits(old[n:]), bits(old[:n])).view(old.dtype)
    return edges, xp.where(second, status[n:], status[:n]), old


def removed_edges(xp: Any, change: Change) -> EdgeList:
    """Return the edges that a deletion has removed, with the weights that they had."""
    edges, status, old = _once(xp, change)
    return picked(edges._replace(weight=old), xp.flatnonzero(status == REMOVED))


def with_added(xp: Any, change: Change, lists: Lists) -> Lists:
    """Return ``lists`` with the edges that an insertion has added and replaced."""
    edges, status, old = _once(xp, change)
    lists = lists._replace(inserted=picked(edges, xp.flatnonzero(status == NEW)))
    if old is None:
        return lists
    at = xp.flatnonzero(status == REPLACED)
    return lists._replace(replaced=picked(edges, at), replaced_old=bits(old)[at].view(old.dtype))


def both_directions(xp: Any, edges: EdgeList) -> EdgeList:
    """Return the arcs of undirected edges that are listed once: self-loops once, other edges in both directions."""
    once = picked(edges, xp.flatnonzero(edges.src != edges.dst))
    return joined(xp, edges, EdgeList(once.dst, once.src, once.weight).in_rows(once.row))


def uploaded(device: Device, change: Change) -> Change:
    """Return ``change``, which was made on the host, with copies of its arrays on ``device``."""
    move = device.xp.asarray
    return change._replace(edges=change.edges.each(move), outcome=change.outcome.each(move))


class Batch:
    """Edges to delete and to insert in one step: deletions first, then insertions.

    Ids and weights are checked later, by ``Graph.apply``.

    Args:
        insert: ``(src, dst)`` or ``(src, dst, weight)``, each in a form that ``Graph.insert_edges`` takes, or None.
        delete: ``(src, dst)``, or None.

    Raises:
        ShapeError: not two or three arrays, or arrays of different length.
        WeightError: weights to delete.

    Example:
        >>> g = su.Graph.from_coo([0], [1], num_vertices=3, device="cpu")
        >>> delta = g.apply(su.Batch(delete=([0], [1]), insert=([1], [2])))
        >>> g.edges().src.tolist(), g.edges().dst.tolist()
        ([1], [2])
    """

    __slots__ = ("delete", "insert")

    def __init__(self, insert: Any = None, delete: Any = None) -> None:
        self.insert = edge_list(insert, "insert")
        self.delete = edge_list(delete, "delete")
        if self.delete is not None and self.delete.weight is not None:
            raise WeightError("delete has weights: an edge is deleted whatever its weight; pass (src, dst)")

    def __len__(self) -> int:
        return sum(len(part.src) for part in (self.insert, self.delete) if part is not None)

    def __repr__(self) -> str:
        sizes = (0 if part is None else len(part.src) for part in (self.insert, self.delete))
        return "Batch(insert={} edges, delete={} edges)".format(*sizes)


def edge_list(edges: Any, argument: str) -> EdgeList | None:
    """Return edges given as ``(src, dst)`` or ``(src, dst, weight)``, unchecked; ``ShapeError`` names ``argument``."""
    if edges is None:
        return None
    if not isinstance(edges, (tuple, list)) or len(edges) not in (2, 3):
        raise ShapeError(f"{argument} is not an edge list: pass (src, dst) or (src, dst, weight)")
    result = EdgeList(*edges)
    for name, part in zip(("src", "dst"), edges, strict=False):
        if not hasattr(part, "__len__") or getattr(part, "ndim", 1) == 0:
            raise ShapeError(f"{argument}.{name} is not an array: pass one entry per edge")
    if len(result.src) != len(result.dst):
        raise ShapeError(f"{argument}.src has {len(result.src)} entries and {argument}.dst has {len(result.dst)}")
    weight: Any = result.weight
    is_array = getattr(weight, "ndim", 1) and hasattr(weight, "__len__") and not isinstance(weight, Mapping)
    if is_array and len(weight) != len(result.src):
        raise ShapeError(f"{argument}.weight has {len(weight)} entries for {len(result.src)} edges")
    return result


class DeletedEdges(NamedTuple):
    """Edges that are known to have been deleted: as edges (undirected ones once) and as arcs in both directions."""

    edges: EdgeList
    arcs: EdgeList


class Changes(NamedTuple):
    """What a delta is computed from: the edges of a batch, or those that were deleted with vertices.

    ``removed`` and ``added``: the halves of the batch with a status per edge; ``deleted``: edges of deleted vertices.
    Each is None if the call had no such change.
    """

    removed: Change | None = None
    added: Change | None = None
    deleted: DeletedEdges | None = None


class Delta(metaclass=HidesOld):
    """The net changes that one call made.

    Attributes:
        num_vertices_before: number of vertices before the call.
        num_vertices_after: number of vertices after it.

    An undirected edge is listed once, with ``src <= dst``. The arrays live on the graph's device and are made on first
    use, which waits for the device; they never alias the caller's arrays. A ``kind`` of changes is ``"inserted"``,
    ``"deleted"``, ``"replaced"`` (edges with new weights) or ``"replaced_old"`` (the same with their old weights).

    Edges of a graph with columns of edges have a ``row``, and are replaced if any column changed.

    Example:
        >>> g = su.Graph.from_coo([0], [1], num_vertices=3, device="cpu")
        >>> delta = g.insert_edges([0, 1], [1, 2])
        >>> isinstance(delta, su.Delta), delta.num_inserted, delta.inserted.src.tolist()
        (True, 1, [1])
    """

    _framed: ClassVar[Any]  # ``delta.frame.frame_of``, which stands above this module
    __slots__ = ("_changes", "_deleted_vertices", "_device", "_directed", "_edge_sets", "_is_net", "_lists",
                 "_lock", "_revived_vertices", "_wait", "_weight_dtype", "is_disjoint", "keeps_errors", "named",
                 "num_vertices_after", "num_vertices_before", "version")  # fmt: skip

    def __init__(
        self,
        device: Device,
        directed: bool,
        weight_dtype: np.dtype | None,
        num_vertices: tuple[int, int],
        removed: Change | Callable[[], Change] | None = None,
        added: Change | Callable[[], Change] | None = None,
        deleted: DeletedEdges | None = None,
        deleted_vertices: Array | None = None,
        wait: Callable[[bool], None] | None = None,
        lock: Lock | None = None,
        revived_vertices: Array | Callable[[], Array] | None = None,
    ) -> None:
        self._device, self._directed, self._weight_dtype = device, directed, weight_dtype
        self._wait, self._lock = wait, lock
        self.keeps_errors = False  #: while trackers read the delta: errors of deferred batches are left for later calls
        self.is_disjoint = False  #: whether no edge is in both halves of a batch: then their statuses are net
        self.num_vertices_before, self.num_vertices_after = num_vertices
        self._changes: Any = (removed, added, deleted)
        self._is_net = False  # whether the statuses of both halves are those of the net change
        self._lists: Lists | None = None
        self._edge_sets: dict[str, EdgeSet] = {}
        self._deleted_vertices, self._revived_vertices = deleted_vertices, revived_vertices
        self.version: int | None = None  #: that of the graph after the call; None: the call changed nothing
        self.named: tuple[Any, int] = (None, 0)  #: the names of the graph, or what returns them, and their version

    @property
    def deleted_vertices(self) -> ReturnedArray:
        """``uint32[k]``: the vertices that were live before the call and are not any more, ascending."""
        if self._deleted_vertices is None:
            with self._exclusive():
                self._deleted_vertices = self._device.xp.empty(0, np.uint32)
        return self._deleted_vertices

    @property
    def revived_vertices(self) -> ReturnedArray:
        """``uint32[k]``: the deleted vertices that were recycled or given an edge, and so became live, ascending."""
        if self._revived_vertices is None or callable(self._revived_vertices):
            with self._exclusive():
                return self._read_revived()
        return self._revived_vertices

    def _read_revived(self) -> Array:
        if self._revived_vertices is None:
            self._revived_vertices = self._device.xp.empty(0, np.uint32)
        elif callable(self._revived_vertices):  # no other thread has read them meanwhile
            if self._wait is not None:
                self._wait(self.keeps_errors)
            self._revived_vertices = self._revived_vertices()
        return self._revived_vertices

    @property
    def switched_vertices(self) -> ReturnedArray:
        """``uint32[k]`` on the device: the vertices that the call deleted or recycled; does not wait.

        Vertices revived by an inserted edge are included on the CPU only; on both devices they are ends of
        ``edge_set("inserted")``.
        """
        known = [part for part in (self._deleted_vertices, self._revived_vertices) if hasattr(part, "dtype")]
        return self._device.xp.concatenate(known) if known else self.deleted_vertices

    @property
    def live_may_differ(self) -> bool:
        """Whether vertices may have been added, deleted or revived, as far as the host knows without waiting.

        On CUDA this includes every insertion while there may be deleted vertices (``Graph.most_deleted``).
        """
        if self.num_vertices_after != self.num_vertices_before or callable(self._revived_vertices):
            return True
        deleted, revived = self._deleted_vertices, self._revived_vertices
        return (deleted is not None and len(deleted) > 0) or (revived is not None and len(revived) > 0)

    @property
    def inserted(self) -> EdgeList:
        """Edges that are stored now and were not before, with their weights."""
        return self._all().inserted

    @property
    def deleted(self) -> EdgeList:
        """Edges that were stored before and are not any more, with the weights they had."""
        return self._all().deleted

    @property
    def replaced(self) -> EdgeList:
        """Edges whose weight or columns changed, with the new weights (empty if there are neither)."""
        return self._all().replaced

    @property
    def replaced_old(self) -> Array | None:
        """The weights of :attr:`replaced` before the call, or None on unweighted graphs."""
        return self._all().replaced_old

    @property
    def replaced_old_row(self) -> Array | None:
        """The rows of :attr:`replaced` before the call; None if edges have no columns."""
        return self._all().replaced_old_row

    @property
    def num_inserted(self) -> int:
        """Number of inserted edges."""
        return len(self._all().inserted.src)

    @property
    def num_deleted(self) -> int:
        """Number of deleted edges."""
        return len(self._all().deleted.src)

    @property
    def num_replaced(self) -> int:
        """Number of edges whose weight or columns were replaced."""
        return len(self._all().replaced.src)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame`` with a row per changed edge; call it before the graph changes again.

        Columns are ``src``, ``dst`` (names if the graph has some, the last ones of vertices that have left), ``kind``
        (``"inserted"``, ``"deleted"``, ``"replaced"``); with weights ``weight`` and ``old_weight``, null where there is
        none; and those of the graph's edges, of a deleted edge with the values that it had. Waits for the device.

        Raises:
            MissingLibraryError: pandas is not installed.
            RequirementError: names were given or forgotten since.

        Example:
            >>> g = su.Graph.from_coo([0], [1], num_vertices=3, device="cpu")
            >>> g.apply(su.Batch(delete=([0], [1]), insert=([1], [2]))).to_pandas()
               src  dst      kind
            0    1    2  inserted
            1    0    1   deleted
        """
        return self._framed(self).to_pandas()

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table`` with the columns of :meth:`to_pandas`; raises the same errors.

        Example:
            >>> g = su.Graph.from_coo([0], [1], num_vertices=3, device="cpu")
            >>> g.insert_edges([1], [2]).to_arrow().to_pylist()
            [{'src': 1, 'dst': 2, 'kind': 'inserted'}]
        """
        return self._framed(self).to_arrow()

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame`` with the columns of :meth:`to_pandas`; raises the same errors.

        Example:
            >>> g = su.Graph.from_coo([0], [1], num_vertices=3, device="cpu")
            >>> g.insert_edges([1], [2]).to_polars().rows()
            [(1, 2, 'inserted')]
        """
        return self._framed(self).to_polars()

    def __len__(self) -> int:
        """Number of changes: edges inserted, deleted and replaced, vertices added, deleted and revived."""
        vertices = self.num_vertices_after - self.num_vertices_before
        vertices += len(self.deleted_vertices) + len(self.revived_vertices)
        return vertices + self.num_inserted + self.num_deleted + self.num_replaced

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed; on CUDA this waits for the device (see :attr:`is_known_empty`)."""
        return len(self) == 0

    @property
    def is_known_empty(self) -> bool:
        """Whether the host knows, without waiting for a device, that nothing changed."""
        removed, added, deleted = self._changes
        if self._device.is_cuda and not (removed is None and added is None and deleted is None):
            return False
        if self.live_may_differ:
            return False
        if self._lists is not None:
            return self.is_empty
        if self._device.is_cuda:
            return True
        with self._lock or self._exclusive():
            removed, added, _ = self._changes if self._is_net else self._net()
        return not ((removed is not None and _has_any(removed)) or (added is not None and _has_any(added)))

    @overload
    def arcs(self, kind: str) -> ArcList: ...
    @overload
    def arcs(self, kind: str, *, placed: Literal[False]) -> ArcList: ...
    @overload
    def arcs(self, kind: str, *, placed: bool) -> ArcList | PlacedArcs | None: ...

    def arcs(self, kind: str, *, placed: bool = False) -> ArcList | PlacedArcs | None:
        """Return the changes of a ``kind`` as directed arcs: an undirected edge both ways, a self-loop once.

        They stay on the device, and nothing waits; ``arcs(kind).read()`` makes plain arrays of them. If edges have
        columns, the lists of edges are made first, which waits.

        Args:
            kind: ``"inserted"``, ``"deleted"``, ``"replaced"`` or ``"replaced_old"``.
            placed: return the cheapest form for one launch, None if there are no arcs: for a CUDA batch that only
                inserts or only deletes, addresses without array objects.

        Raises:
            UnknownNameError: there is no such kind.

        Example:
            >>> g = su.Graph(3, directed=False, device="cpu")
            >>> g.insert_edges([0], [1]).arcs("inserted").size
            2
        """
        if kind not in KINDS:
            _require_kind(kind)
        removed, added, deleted = self._changes  # read before the lists, which are made first
        if placed and self._lists is None and deleted is None and (removed is None or added is None):
            change, wanted = removed if kind == "deleted" else added, MARKS[kind]
            if change is None or (wanted == REPLACED and self._weight_dtype is None):
                return None
            place = getattr(change, "placed", None)  # on CUDA
            if place is not None and kind != "replaced_old":
                made: PlacedArcs = place(wanted, gone=kind == "deleted")
                return made
        with self._lock or self._exclusive():
            return self._arc_list(kind)[0]

    def edge_set(self, kind: str) -> EdgeSet:
        """Return the changes of a ``kind``, such as ``"inserted"``, as an edge set in device memory, without waiting.

        There is one edge set per delta and kind, so algorithms share its hash table and rows.

        Example:
            >>> g = su.Graph(3, device="cpu")
            >>> g.insert_edges([0, 1], [1, 2]).edge_set("inserted").edges().dst.tolist()
            [1, 2]
        """
        made = self._edge_sets.get(kind) if isinstance(kind, str) else None
        if made is None:
            _require_kind(kind)
            with self._exclusive():
                arcs, most = self._arc_list(kind)
                count, directed = self.num_vertices_after, self._directed
                made = EdgeSet._of_arcs(self._device, count, arcs, directed=directed, most=most, lock=self._lock)
                made = self._edge_sets.setdefault(kind, made)
        return made

    edges = Old("delta.edge_set(kind)")
    arc_list = Old("delta.arcs(kind)")
    placed_arcs = Old("delta.arcs(kind, placed=True)")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(type(self), name)]

    def _listed_arcs(self, kind: str) -> EdgeList:
        """Return the arcs of a ``kind``, from the lists of edges."""
        lists = self._all()
        edges = lists.replaced if kind == "replaced_old" else getattr(lists, kind)
        if kind == "replaced_old":
            edges = EdgeList(edges.src, edges.dst, lists.replaced_old).in_rows(lists.replaced_old_row)
        return edges if self._directed else both_directions(self._device.xp, edges)

    def _arc_list(self, kind: str) -> tuple[ArcList, int]:
        """Return the arcs of a ``kind``, from the lists or else the batch, and an upper bound of their edges."""
        if self._lists is not None:
            return listed(self._listed_arcs(kind))
        removed, added, deleted = self._changes if self._is_net else self._net()
        if kind == "deleted" and deleted is not None:
            return listed(deleted.arcs)
        change, wanted = removed if kind == "deleted" else added, MARKS[kind]
        if change is None or (wanted == REPLACED and self._weight_dtype is None):
            return _nothing(self._device, self._weight_dtype)
        (src, dst, weight), (status, old), mirrored = change
        if kind in ("deleted", "replaced_old"):
            weight = old
        return ArcList(src, dst, weight, status, wanted, len(src)), len(src) // 2 if mirrored else len(src)

    def _net(self) -> tuple[Any, Any, DeletedEdges | None]:
        """Return the halves with statuses of the net change, which the first call sets in place; does not wait."""
        if not self._is_net:
            removed, added, deleted = self._changes
            if callable(removed) or callable(added):
                removed, added = removed() if callable(removed) else removed, added() if callable(added) else added
                self._changes = removed, added, deleted
            if removed is not None and added is not None and not self.is_disjoint:
                net_change(self._device, removed, added)
            self._is_net = True
        halves: tuple[Any, Any, DeletedEdges | None] = self._changes
        return halves

    def __repr__(self) -> str:
        parts = [f"inserted={self.num_inserted}", f"deleted={self.num_deleted}", f"replaced={self.num_replaced}"]
        if len(self.deleted_vertices):
            parts.append(f"deleted_vertices={len(self.deleted_vertices)}")
        if len(self.revived_vertices):
            parts.append(f"revived_vertices={len(self.revived_vertices)}")
        if self.num_vertices_after != self.num_vertices_before:
            parts.append(f"num_vertices={self.num_vertices_before}->{self.num_vertices_after}")
        return f"Delta({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        lists = moved(self._all(), self._device.to_numpy)
        changed = tuple(map(self._device.to_numpy, (self.deleted_vertices, self.revived_vertices)))
        vertices = (self.num_vertices_before, self.num_vertices_after)
        kind = str(self._device), self._directed, self._weight_dtype
        return _restored, (*kind, vertices, lists, changed, self.version)

    def _exclusive(self) -> Lock:
        """Return the lock of the graph; a delta without one, such as a pickled delta, makes its own."""
        if self._lock is None:
            self._lock = graph_lock(self._device)
        return self._lock

    def _all(self) -> Lists:
        if self._lists is None:
            with self._exclusive():
                if self._lists is None:  # no other thread has made them meanwhile
                    if self._wait is not None:
                        self._wait(self.keeps_errors)
                    self._lists = self._resolve(*self._net())
                    self._changes = Changes()
        return self._lists

    def _read(self) -> Delta:
        """Make the lists and return the delta; errors of deferred batches are left for later calls."""
        keeps, self.keeps_errors = self.keeps_errors, True
        try:
            self._all()
        finally:
            self.keeps_errors = keeps
        return self

    def _resolve(self, removed: Change | None, added: Change | None, deleted: DeletedEdges | None) -> Lists:
        xp, dtype = self._device.xp, self._weight_dtype
        empty = EdgeList(xp.empty(0, np.uint32), xp.empty(0, np.uint32), None if dtype is None else xp.empty(0, dtype))
        lists = Lists(empty, empty if deleted is None else deleted.edges, empty, empty.weight)
        if removed is not None:
            lists = lists._replace(deleted=removed_edges(xp, removed))
        return lists if added is None else with_added(xp, added, lists)


def _require_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UnknownNameError(f"unknown kind of change {kind!r}: use one of {', '.join(KINDS)}")


def _has_any(change: Change) -> bool:
    status = change.outcome.status
    return len(status) > 0 and status[status.argmax()] > 0  # sooner than count_nonzero()


def listed(edges: EdgeList) -> tuple[ArcList, int]:
    """Return ``edges`` as arcs, and their number."""
    return ArcList.of(edges), len(edges.src)


@cache
def _nothing(device: Device, dtype: np.dtype | None) -> tuple[ArcList, int]:
    """Return an arc list without entries on ``device``, with weights of ``dtype`` (None: without), and the number 0."""
    empty = device.xp.empty
    return listed(EdgeList(empty(0, np.uint32), empty(0, np.uint32), None if dtype is None else empty(0, dtype)))


def _restored(
    device: str, directed: bool, dtype: np.dtype | None, num_vertices: tuple[int, int], lists: Lists, changed: Any,
    version: int | None,
) -> Delta:  # fmt: skip
    """Return a delta from its pickled parts, with its arrays on ``device``, such as ``"cpu"`` or ``"cuda:0"``."""
    place = resolve_device(device)
    delta = Delta(place, directed, dtype, num_vertices)
    delta.version = version
    delta._lists = moved(lists, place.xp.array)
    delta._deleted_vertices, delta._revived_vertices = map(place.xp.array, changed)
    return delta
