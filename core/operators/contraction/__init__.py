"""Contraction: groups of vertices become the vertices of another graph, which is kept by deltas.

All multilevel methods need it (Hendrickson and Leland, *A multilevel algorithm for partitioning graphs*, 1995). On the
CPU the rows of the members of a group are merged through a table that says where the sum of each group lies; on CUDA
and on a divided graph arcs are sorted by the groups of their ends. Weights are rounded to multiples of a power of two
(``unit``) such that the sum of all is below 2^52 of them, so sums of ``float64`` are exact in any order. An update adds
what the changed edges changed, and moves the arcs of the moved vertices from pair to pair: work follows the change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import any_true
from suricate.base.errors import DTypeError, ParameterError, RequirementError, ShapeError, VertexRangeError
from suricate.base.types import EMPTY, EdgeList, edge_keys, ends_of
from suricate.cpu import threads
from suricate.graph import Graph
from suricate.graph.delta import Batch
from suricate.intake.arrays import placed, placed_ids, sorted_distinct
from suricate.kernels.walking import loops_over
from suricate.operators.checks import refuse_events
from suricate.operators.starts import Frontier
from suricate.state.locks import on_device_of, on_graph_device
from suricate.store import fallbacks
from suricate.store.rows import RowsStore

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.base.types import StoreView
    from suricate.graph.delta import Delta
    from suricate.graph.options import GraphOptions

LOOPS = Path(__file__).with_name("loops.py")
BITS = 52  #: the sum of all weights is below 2^BITS units
LEAST = 2.0**26  #: an update whose weights sum to fewer units looks for a smaller unit


class Owner:
    """Owns the graphs of contractions: if these themselves did, their memory would wait for a garbage collection."""

    #: what a change of the graph by others raises
    refusal = "this graph follows another graph: change that one, and call update() of the contraction"


class Contraction:
    """What :func:`contract` returns.

    Attributes:
        graph: a graph with a vertex per group and ``float64`` weights, directed like the other graph, on its device and
            backend: the weight of (a, b) is the sum of the weights of all edges from group a to group b, that of a
            self-loop the sum of the weights of all edges inside, each once. Groups whose weights sum to 0 have no edge.
            It may be tracked; only :meth:`update` changes it.
        group: ``uint32[num_vertices]``, the group of each vertex of the other graph; ``EMPTY`` for deleted vertices.
        label: ``uint32``, the label of each group.
        strength: ``float64``, per group the sum of the weights of all edges at it, those inside twice.
        unit: a power of two; weights are multiples of it. An update changes it, and sums up all weights again, where
            the edges have become too heavy or too light for it.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 3], directed=False, device="cpu")
        >>> groups = su.contract(g, np.array([0, 0, 1, 1]))
        >>> isinstance(groups, su.Contraction), groups.graph.edges().weight.tolist()
        (True, [1.0, 1.0, 1.0])
    """

    def __init__(self, graph: Graph, labels: Array, unit: float | None = None, bound: int | None = None) -> None:
        self._of, self._labels, self._version, self._growths = graph, labels, graph.version, graph._updater.growths
        self.unit, self._whole = scale_of(graph) if unit is None else (unit, 0.0)
        self.group, self._group_of_label, count = numbered(graph, labels, bound)
        xp = graph.device.xp
        self.label = xp.full(count, EMPTY, np.uint32)
        in_one = self.group != EMPTY
        self.label[self.group[in_one]] = labels[in_one]
        self._members = xp.bincount(self.group[in_one], minlength=count)
        if graph.device.is_cuda or graph.directed or graph.partition is not None:
            comm = None if graph.partition is None else graph.partition.comm
            pairs, self.strength = _pairs(graph, self.group, count, self.unit)
            self.graph = Graph(count, comm=comm, device=graph.device, **_options(graph).arguments())
            self.graph.insert_edges(*pairs)
        else:
            rows, self.strength = merged(graph.view(), graph.degrees(), self.group, count, self.unit)
            self.graph = over_rows(rows, graph)
        self.graph.owner = Owner

    @property
    def num_groups(self) -> int:
        """Number of groups."""
        return int(self.graph.num_live)

    @on_device_of("_of")
    def update(self, delta: Delta | None = None, moved: Any = None, labels: Any = None) -> Delta:
        """Follow a change of the other graph, and of labels; return what changed between the groups.

        To be called after every batch; vertices that ``insert_vertices``, which returns no delta, has added are found.
        The ids of groups stay. A new label gets the lowest id that is free, else a new one; of several new labels the
        one with the smallest vertex comes first. A group without members is deleted. The work is that of the changed
        edges and of the arcs of moved vertices. After an error about ``moved`` or ``labels`` call it again.

        Args:
            delta: what the last call has changed in the other graph; None: nothing.
            moved: ids of vertices whose labels have changed, or a ``Frontier``; None: none. Vertices that ``delta``
                added, deleted or revived may be left out.
            labels: the labels of all vertices from now on; None: the array that was given before, which the caller has
                changed in place.

        Raises:
            ParameterError: a batch was left out, or ``delta`` is that of an earlier batch.
            ShapeError, DTypeError, VertexRangeError, DeviceError: ``moved`` or ``labels`` are invalid.
                RequirementError: a vertex has moved on a directed graph without in-edges.

        Example:
            >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 3], directed=False, device="cpu")
            >>> groups = su.contract(g, np.array([0, 0, 1, 1]))
            >>> delta = groups.update(g.insert_edges([0], [3]))
            >>> groups.graph.edges().weight.tolist()
            [1.0, 2.0, 1.0]
        """
        graph = self._of
        growths = graph._updater.growths - self._growths
        if graph.version == self._version + growths:
            delta = None  # it is empty
        elif delta is None or graph.version != self._version + growths + 1:
            raise ParameterError("contraction: update() was not called after every batch: contract the graph again")
        elif delta.version is None or delta.version <= self._version:
            raise ParameterError("contraction: this is the delta of an earlier batch: pass that of the last one")
        given = self._labels if labels is None else _labels(graph, labels)
        if len(given) != graph.num_vertices:
            raise ShapeError(f"contraction: {len(given)} labels for {graph.num_vertices} vertices: pass labels=")
        ids = self._moved(delta, moved, growths)
        pieces = [] if delta is None else self._changed(delta)
        if len(ids) and graph.directed and not graph.has_in_edges:
            raise RequirementError("contraction: vertices have moved: build the graph with Graph(..., in_edges=True)")
        wanted = given[ids].astype(np.int64)
        xp = graph.device.xp
        live = graph.live_arrays.mask[ids] if graph.most_deleted else xp.ones(len(ids), bool)
        if any_true(live & ((wanted < 0) | (wanted >= graph.num_vertices))):
            raise VertexRangeError("contraction: a label is not the id of a vertex")
        whole = self._whole + sum([sign * (2 - graph.directed) * float(xp.abs(edges.weight.astype(float)).sum())
                                   for edges, sign in pieces if edges.weight is not None])  # fmt: skip
        version, self._version, self.graph.owner = graph.version, -1, None  # should the rest fail: contract again
        try:
            self._grow()
            unit = self.unit
            fits = self._whole and LEAST <= whole / unit < 2.0**BITS
            if graph.weight_dtype is not None and not fits:
                unit, whole = scale_of(graph)
            made = (
                self._follow(ids, wanted, live, pieces) if unit == self.unit else self._renew(ids, wanted, live, unit)
            )
        finally:
            self.graph.owner = Owner
        self._labels, self._version, self._growths, self._whole = given, version, graph._updater.growths, whole
        return made

    def _grow(self) -> None:
        """Make room for the vertices that were added; they have no group yet."""
        xp, count = self._of.device.xp, self._of.num_vertices - len(self.group)
        if count:
            more = xp.full(count, EMPTY, np.uint32)
            self.group = xp.concatenate((self.group, more))
            self._group_of_label = xp.concatenate((self._group_of_label, more))

    def _moved(self, delta: Delta | None, moved: Any, growths: int) -> Array:
        """Return the vertices to move, ``uint32``, ascending; ``growths``: calls of ``insert_vertices`` since."""
        graph, xp = self._of, self._of.device.xp
        ids = moved.vertices if isinstance(moved, Frontier) else () if moved is None else moved
        parts = [placed_ids(ids, graph.device, graph.num_vertices, "moved")]
        parts.append(xp.arange(len(self.group), graph.num_vertices, dtype=np.uint32))
        if growths:
            parts.append(xp.flatnonzero(self.group == EMPTY).astype(np.uint32))  # some may have been recycled
        if delta is not None and delta.live_may_differ:
            parts += [delta.deleted_vertices, delta.revived_vertices]
        return sorted_distinct(xp.concatenate(parts), xp)

    def _changed(self, delta: Delta) -> list[tuple[EdgeList, int]]:
        """Return the edges of ``delta``, and whether they are added, 1, or removed, -1."""
        kinds = [(delta.inserted, 1), (delta.deleted, -1)]
        if self._of.weight_dtype is not None:
            kinds += [(delta.replaced, 1), (delta.replaced._replace(weight=delta.replaced_old), -1)]
        return [(edges, sign) for edges, sign in kinds if len(edges.src)]

    def _renew(self, ids: Array, wanted: Array, live: Array, unit: float) -> Delta:
        """Do as :meth:`_follow`, but by all edges of the graph, with weights in multiples of ``unit``."""
        emptied, self.unit = self._assign(ids, wanted, live), unit
        pairs, self.strength = _pairs(self._of, self.group, len(self.label), unit)
        made = self.graph.apply(Batch(insert=pairs, delete=self.graph.edges()[:2]))
        if len(emptied):
            self.graph.delete_vertices(emptied)
        return made

    def _follow(self, ids: Array, wanted: Array, live: Array, pieces: list[tuple[EdgeList, int]]) -> Delta:
        """Apply ``pieces`` by the old groups, then give ``ids`` the groups of their labels ``wanted`` if ``live``."""
        xp, arcs = self._of.device.xp, self._arcs(ids)
        before = [
            (self.group[edges.src], self.group[edges.dst], sign * rounded_weights(self._of, edges, self.unit))
            for edges, sign in pieces
        ]
        if arcs is not None:
            before.append((self.group[arcs[0]], self.group[arcs[1]], -arcs[2]))
        emptied = self._assign(ids, wanted, live)
        if arcs is not None:
            before.append((self.group[arcs[0]], self.group[arcs[1]], arcs[2]))
        nothing = xp.empty(0, np.uint32), xp.empty(0, np.uint32), xp.empty(0)
        src, dst, weight = (xp.concatenate(parts) for parts in zip(nothing, *before, strict=True))
        known = (src != EMPTY) & (dst != EMPTY)
        src, dst, weight = src[known], dst[known], weight[known]
        for ends in (src, dst):
            group, change = summed(xp, ends, weight)
            self.strength[group] += change
        if not self._of.directed:
            src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
        keys, change = summed(xp, edge_keys(src, dst), weight)
        src, dst = ends_of(keys[change != 0])
        now = self.graph.edge_weights(src, dst, default=0) + change[change != 0]
        gone = now == 0
        first = self.graph.partition is None or self.graph.partition.comm.rank == 0  # the same on all ranks
        part = slice(None) if first else slice(0)
        kept = (src[~gone][part], dst[~gone][part], now[~gone][part])
        batch = Batch(insert=kept, delete=(src[gone][part], dst[gone][part]))
        made = self.graph.apply(batch)
        if len(emptied):
            self.graph.delete_vertices(emptied)
        return made

    def _arcs(self, ids: Array) -> tuple[Array, Array, Array] | None:
        """Return the edges at ``ids``, each once, with rounded weights; None if there are no ids."""
        if not len(ids):
            return None
        xp, found = self._of.device.xp, []
        for over in ("out", "in") if self._of.directed else ("out",):
            offsets, dst, weight = self._of.adjacency(ids, over)[:3]
            src = ids[xp.searchsorted(offsets[1:], xp.arange(len(dst)), side="right")]
            at = xp.minimum(xp.searchsorted(ids, dst), len(ids) - 1)
            once = ids[at] != dst
            if over == "out":
                once = once | (src <= dst) | self._of.directed
            edges = EdgeList(src[once], dst[once], None if weight is None else weight[once])
            found.append((edges.src, edges.dst, rounded_weights(self._of, edges, self.unit)))
            if over == "in":
                found[-1] = (edges.dst, edges.src, found[-1][2])
        src, dst, weights = (xp.concatenate(parts) for parts in zip(*found, strict=True))
        return src, dst, weights

    def _assign(self, ids: Array, wanted: Array, live: Array) -> Array:
        """Give vertices new groups, and new labels ids; return the groups that have no members any more, ascending."""
        xp = self._of.device.xp
        left = self.group[ids]
        left = left[left != EMPTY]
        labels = wanted[live]
        fresh = labels[self._group_of_label[labels] == EMPTY]
        if len(fresh):
            label, first = xp.unique(fresh, return_index=True)
            label = label[xp.argsort(first)]
            made = self.graph.insert_vertices(len(label), recycle=True)
            self._group_of_label[label] = made
            more = self.graph.num_vertices - len(self.label)
            if more:
                self.label = xp.concatenate((self.label, xp.full(more, EMPTY, np.uint32)))
                self._members = xp.concatenate((self._members, xp.zeros(more, self._members.dtype)))
                self.strength = xp.concatenate((self.strength, xp.zeros(more)))
            self.label[made] = label
        self.group[ids] = EMPTY
        joined = self._group_of_label[labels]
        self.group[ids[live]] = joined
        for group, sign in ((left, -1), (joined, 1)):
            some, count = xp.unique(group, return_counts=True)
            self._members[some] += sign * count
        some = xp.unique(left)
        empty = some[self._members[some] == 0]
        self._group_of_label[self.label[empty]] = EMPTY
        self.label[empty] = EMPTY
        return empty


@on_graph_device
def contract(graph: Graph, labels: Any) -> Contraction:
    """Return the graph of the groups of vertices that have equal labels, to be kept current by ``update``.

    Args:
        graph: the graph. On an unweighted graph every edge weighs 1.
        labels: integers in [0, num_vertices), a label per vertex, as those of components and communities;
            those of deleted vertices do not count. Groups are numbered by their smallest vertices.

    Raises:
        ShapeError, DTypeError, DeviceError: ``labels`` is not an array of integers, one per vertex.
        VertexRangeError: a label is out of range. RequirementError: the graph is a view of events.
        CapacityError: there is not enough memory.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 3], directed=False, device="cpu")
        >>> groups = su.contract(g, np.array([0, 0, 1, 1]))
        >>> groups.graph.num_edges
        3
    """
    refuse_events(graph, "weights of groups are sums over edges")
    return Contraction(graph, _labels(graph, labels))


def unit_of(graph: Graph, weight: Array | None = None) -> float:
    """Return the least power of two such that the weights of all arcs, as multiples of it, sum to less than 2^52.

    It depends on the graph only, not on devices, backends and ranks. Waits for the device. ``weight``: the weights of
    all arcs, of this process, if they are known.
    """
    return scale_of(graph, weight)[0]


def scale_of(graph: Graph, weight: Array | None = None) -> tuple[float, float]:
    """Return :func:`unit_of` ``graph``, and the sum of the magnitudes of the weights of all arcs."""
    if graph.weight_dtype is None:
        return 1.0, 0.0
    partition, xp = graph.partition, graph.device.xp
    if weight is None:
        weight = (graph if partition is None else partition.follow()).store("out").edges().weight
    weight = xp.abs(weight.astype(np.float64))  # type: ignore[union-attr]
    gather = (lambda value: [value]) if partition is None else partition.comm.allgather
    most, arcs = max(gather(float(weight.max()) if len(weight) else 0.0)), max(graph.num_arcs, 1)
    if most == 0:
        return 1.0, 0.0
    coarse = math.ldexp(1.0, math.frexp(most)[1] + arcs.bit_length() - BITS)
    total = sum(gather(float((xp.floor(weight / coarse + 0.5) * coarse).sum())))  # exact
    return math.ldexp(1.0, max(math.frexp(total + arcs * coarse)[1] - BITS, -1000)), total


def summed(xp: Any, keys: Array, weight: Array) -> tuple[Array, Array]:
    """Return the distinct ``keys``, ascending, and the sum of ``weight``, multiples of one unit, of each."""
    if not len(keys):
        return keys, weight
    order = xp.argsort(keys)
    keys, total = keys[order], xp.cumsum(weight[order])
    last = xp.append(xp.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1)
    total = total[last]
    total[1:] -= total[:-1].copy()
    return keys[last], total


def _labels(graph: Graph, labels: Any) -> Array:
    """Return ``labels``, checked but for their range, on the device of ``graph``."""
    array = labels if hasattr(labels, "dtype") else np.asarray(labels)
    if array.ndim != 1 or len(array) != graph.num_vertices:
        raise ShapeError(f"labels must be one per vertex, {graph.num_vertices}, got shape {tuple(array.shape)}")
    if array.dtype.kind not in "iu":
        raise DTypeError(f"labels must be integers, got {array.dtype}")
    return placed(array, graph.device, "labels")


def rounded_weights(graph: Graph, edges: EdgeList, unit: float) -> Array:
    """Return the weights of ``edges``, 1 on an unweighted graph, as rounded ``float64``."""
    xp = graph.device.xp
    if edges.weight is None:
        return xp.ones(len(edges.src))
    return xp.floor(edges.weight.astype(np.float64) / unit + 0.5) * unit


def numbered(graph: Graph, labels: Array, bound: int | None) -> tuple[Array, Array, int]:
    """Return the group of each vertex, the group of each label, EMPTY for none, and how many groups there are.

    Labels are below ``bound``, None: the number of vertices.
    """
    xp, n = graph.device.xp, graph.num_vertices
    bound = n if bound is None else bound
    group, of_label = xp.empty(n, np.uint32), xp.full(bound, EMPTY, np.uint32)
    live = graph.live_arrays.mask if graph.most_deleted else xp.empty(0, bool)
    if not graph.device.is_cuda:
        from suricate.operators.contraction.numbering import number_groups

        count = int(number_groups(labels, live, of_label, group))
        bad = -1 - count if count < 0 else None
    else:
        group.fill(EMPTY)
        ids = xp.flatnonzero(live) if len(live) else xp.arange(n)
        named = labels[ids]
        wrong = (named < 0) | (named >= bound) if n else named != named
        bad = int(ids[wrong][0]) if any_true(wrong) else None
        if bad is None:
            label, first, which = xp.unique(named, return_index=True, return_inverse=True)
            count, order = len(label), xp.argsort(first)
            rank = xp.empty(count, np.uint32)
            rank[order] = xp.arange(count, dtype=np.uint32)
            of_label[label], group[ids] = rank, rank[which]
    if bad is not None:
        raise VertexRangeError(f"labels[{bad}] is {int(labels[bad])}: labels are ids of vertices, below {n}")
    return group, of_label, count


def _pairs(graph: Graph, group: Array, count: int, unit: float) -> tuple[EdgeList, Array]:
    """Return the edges between groups, on a divided graph those that this rank sums up, and strengths; sorts arcs."""
    partition, xp = graph.partition, graph.device.xp
    arcs = (graph if partition is None else partition.follow()).store("out").edges()
    weight = rounded_weights(graph, arcs, unit)
    src, dst, loop = group[arcs.src], group[arcs.dst], arcs.src == arcs.dst
    strength = _strengths(xp, count, src, weight * (1 + loop))
    if graph.directed:
        strength = _strengths(xp, count, src, weight) + _strengths(xp, count, dst, weight)
    else:
        once = arcs.src <= arcs.dst
        src, dst, weight = xp.minimum(src, dst)[once], xp.maximum(src, dst)[once], weight[once]
    keys, total = summed(xp, edge_keys(src, dst), weight)
    if partition is not None:
        comm = partition.comm
        owner = ends_of(keys)[0] % comm.size  # that of the first label
        to = [xp.flatnonzero(owner == rank) for rank in range(comm.size)]
        keys = xp.concatenate(comm.exchange([keys[at] for at in to]))
        keys, total = summed(xp, keys, xp.concatenate(comm.exchange([total[at] for at in to])))
        strength = sum(comm.allgatherv(strength))
    src, dst = ends_of(keys[total != 0])
    return EdgeList(src, dst, total[total != 0]), strength


def _strengths(xp: Any, count: int, group: Array, weight: Array) -> Array:
    return xp.bincount(group, weights=weight, minlength=count).astype(np.float64)


def merged(
    view: StoreView, degrees: np.ndarray, group: np.ndarray, count: int, unit: float
) -> tuple[StoreView, np.ndarray]:
    """Return the rows of ``count`` groups of an undirected graph on the CPU, and their strengths.

    ``view`` and ``degrees`` are those of the graph, ``group`` the group of each vertex, EMPTY for deleted ones.
    """
    from suricate.cursors.contiguous import contiguous_view
    from suricate.operators.contraction.numbering import sort_by_group

    offsets, begin = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    members = np.empty(len(group), np.uint32)
    sort_by_group(group, degrees, offsets, begin, members)
    members = members[: offsets[-1]]
    dst, sums = np.empty(begin[-1], np.uint32), np.empty(begin[-1])
    end, strength = np.empty(count, np.int64), np.empty(count)
    merge = loops_over(view, LOOPS).merge_rows
    given = view.data, group, offsets, members, unit, begin, end, dst, sums, strength
    threads.run(merge, [(*given, np.empty(count, np.int64), *part) for part in fallbacks.parts_of(begin)])
    return contiguous_view(begin[:-1], end, dst, sums), strength


def _options(graph: Graph) -> GraphOptions:
    """Return the options of a contraction of ``graph``."""
    known, kind = graph.options, np.dtype(np.float64)
    is_one = known.weight_dtype is not None and known.weight_dtype == kind
    if is_one and not known.edge_columns and known.self_loops == "allow" and not known.memory_limit:
        return known
    changed = {"weight_dtype": kind, "edge_columns": {}, "self_loops": "allow", "memory_limit": None}
    return replace(known, in_edges=graph.has_in_edges, **changed)


def over_rows(rows: StoreView, graph: Graph) -> Graph:
    """Return a graph over ``rows`` that the first change copies to a store of the backend of ``graph``."""
    options, made = _options(graph), object.__new__(Graph)
    make = partial(options.make_stores, rows.num_vertices, graph.device)
    made._assemble(options, (RowsStore(rows, graph.device, make),))  # type: ignore[arg-type]
    made._updater.inherit(0, np.empty(0, np.uint32), True)
    return made
