"""Communities on a graph and on its contractions: moves, refinement, levels; what Louvain's and Leiden's method share.

A :class:`Communities` holds the labels of the vertices of the graph. All levels have the same labels, those of the
graph: a contraction leaves communities as they are, so their sums do, too, and labels last. On the CPU one compiled
loop climbs all levels, over a copy of the rows; updates walk the storage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.leiden import steps
from suricate.algorithms.leiden.arrays import LOOPS, MOVES, PARTS, SALT, WHOLE, Levels, Rule, Scratch, Vertices
from suricate.algorithms.shared.vertex_values import resized
from suricate.base.devices import any_true, total
from suricate.base.types import EMPTY
from suricate.cpu import threads
from suricate.errors import WeightError
from suricate.graph.row_copies import copied_rows, rows_of
from suricate.kernels import loops_over
from suricate.kernels.walking import plain_view
from suricate.operators.contraction import Contraction, over_rows, rounded_weights, unit_of
from suricate.store.fallbacks import CONTIGUOUS

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.base.types import EdgeList, StoreView
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

CLASSES = 8  #: in which vertices move: the number hardly matters, but with one neighbours exchange places for ever
CYCLES = 100  #: in which every active vertex has a turn, before the quality is looked at
#: on a level if there are several iterations: other levels and the next one gain what later cycles gained. On R-MAT
#: graphs half of all sub-rounds came later, with few vertices, but all hubs
CYCLES_OF_LEVEL = 5
MARGIN = 1e-10  #: a move gains more than this in quality
ENDLESS = 1 << 62
LARGEST = 2.0**950  #: sums of such weights are floats
SMALLEST = {4: 2.0**-90, 8: 2.0**-900}  #: by bytes of a weight: units of sums have its dtype
NEGATIVE = "leiden: an edge has a negative weight: modularity needs weights of at least 0"


class Level:
    """A graph on which communities move: the graph itself, or a contraction.

    Attributes:
        graph: the graph.
        label: ``uint32``, the community of each vertex.
        strength: ``float64``, the sum of the weights of its edges, those of self-loops twice.
        size: ``int64``, how many vertices of the first level a vertex stands for.
        own: ``uint32``, one of these; the label that it takes to be alone.
    """

    def __init__(self, graph: Graph, label: Array, strength: Array, size: Array, own: Array) -> None:
        self.graph, self.label, self.strength, self.size, self.own = graph, label, strength, size, own

    @property
    def vertices(self) -> Vertices:
        """Its arrays, as loops of the CPU take them."""
        return Vertices(self.label, self.strength, self.size, self.own)

    def contracted(self, labels: Array, unit: float, bound: int, kernels: bool) -> Any:
        """Return the groups of ``labels``, below ``bound``, as a ``Groups``, or None if there are as many as vertices.

        ``kernels``: as rows, without a store.
        """
        if not kernels:
            made = Contraction(self.graph, labels, unit, bound)
            if made.num_groups in (len(labels), 0):
                return None
            xp, in_one = self.graph.device.xp, made.group != EMPTY
            size = xp.bincount(made.group[in_one], weights=self.size[in_one], minlength=made.num_groups)
            return SimpleNamespace(**vars(made), size=size.astype(np.int64))
        from suricate.operators.contraction.on_device import grouped

        found = grouped(self.graph.view(), self.graph.device, labels, self.size, self.strength, bound, unit)
        return found and SimpleNamespace(**found._asdict(), graph=over_rows(found.rows, self.graph))


def _demand_weights(graph: Graph, rows: StoreView | None) -> Array | None:
    """Return the weights of all arcs, of this process, if there are any those of ``rows``; waits.

    Raises:
        WeightError: an edge has a negative weight, or the largest weight is an extreme.
    """
    if graph.weight_dtype is None:
        return None
    local = graph if graph.partition is None else graph.partition.follow()
    weight = local.store("out").edges().weight if rows is None else rows.data.weight
    ends = (float(weight.min()), float(weight.max())) if len(weight) else (0.0, 0.0)  # type: ignore[union-attr,arg-type]
    least, most = zip(*([ends] if graph.partition is None else graph.partition.comm.allgather(ends)), strict=True)
    if min(least) < 0:
        raise WeightError(NEGATIVE)
    if max(most) > 0 and not SMALLEST[graph.weight_dtype.itemsize] <= max(most) <= LARGEST:
        raise WeightError(f"leiden: the largest weight is {max(most):g}: scale weights, their sums would be inexact")
    return weight


def _plain(view: StoreView) -> StoreView:
    """Return a copy of rows, without gaps, with weights of ``float64``; of an unweighted graph with none."""
    is_plain = view.cursor == CONTIGUOUS and view.weight_dtype is None
    rows = view if is_plain else rows_of(view, always=True)
    weight = np.empty(0) if view.weight_dtype is None else rows.data.weight.astype(np.float64)
    return replace(rows, data=rows.data._replace(weight=weight), weight_dtype=weight.dtype)


class Communities:
    """Labels of the vertices of ``graph``, and what is known of communities, from :meth:`weigh` on.

    Attributes:
        total: ``float64``, by label: the sum of the strengths of the members.
        count: ``int64``, by label: how many members there are.
        unit: weights are rounded to multiples of it.
        rows: in :meth:`copied` on the CPU, a copy of the rows.
        whole: the sum of all strengths. inside: the weight of all edges within communities, None: not known.
        arcs: arcs that moves have read, on the CPU.
    """

    def __init__(self, graph: Graph, resolution: float, key: int, kernels: bool) -> None:
        xp, n = graph.device.xp, graph.num_vertices
        self.unit, self.resolution, self.key, self.arcs = 1.0, resolution, key, 0
        self.by_kernels = kernels and graph.partition is None
        self.on_cpu = self.by_kernels and not graph.device.is_cuda
        ids = xp.arange(n, dtype=np.uint32)
        live = graph.live_arrays.mask.astype(np.int64) if graph.most_deleted else xp.ones(n, np.int64)
        self.base = Level(graph, ids, xp.zeros(n), live, ids)
        self.rows: StoreView = None  # type: ignore[assignment]
        self._levels: Levels | None = None
        self._scratch: Scratch | None = None
        self.log = np.empty(0, np.int64)
        self.logged = 0

    def weigh(self, unit: float | None = None) -> None:
        """Find strengths in multiples of ``unit``, None: one that suits the weights; all vertices are alone then.

        To be called in :meth:`copied`.

        Raises:
            WeightError: without ``unit``: an edge has a negative weight, or the largest weight is an extreme.
        """
        base = self.base
        if unit is None:
            unit = unit_of(base.graph, _demand_weights(base.graph, self.rows))
        self.unit = unit
        if self.on_cpu:
            from suricate.algorithms.leiden.climb_cpu import add_strengths  # imports Numba

            self.inside: float | None = add_strengths(self.rows.data, self.per, unit, base.strength)
        else:
            base.strength, loops = steps.strengths(base.graph, unit)
            self.inside = float(loops.sum())
        base.label, self.count = base.own.copy(), base.size.copy()
        self.total, self.whole = base.strength.copy(), float(base.strength.sum())

    @property
    def per(self) -> float:
        """How many units a weight of 1 has; -1: the graph is unweighted."""
        return -1.0 if self.base.graph.weight_dtype is None else 1 / self.unit

    def take(self, label: Array) -> None:
        """Continue with labels of the first vertices; the others stay alone."""
        base, xp = self.base, self.base.graph.device.xp
        base.label[: len(label)], live, n = label, base.size > 0, len(base.label)
        self.inside, self.count = None, xp.bincount(base.label[live], minlength=n).astype(np.int64)
        self.total = xp.bincount(base.label[live], weights=base.strength[live], minlength=n).astype(np.float64)

    def name_after(self, before: Array) -> None:
        """Rename communities: each takes the label in ``before`` that most members had, where it has most of those.

        The others get the first free labels, in order.
        """
        base, device, n = self.base, self.base.graph.device, len(self.count)
        label, old, live = (device.to_numpy(part) for part in (base.label, before, base.size > 0))
        pairs, times = np.unique(label[live] * np.int64(n) + old[live], return_counts=True)
        pairs = pairs[np.argsort(-times, kind="stable")]
        pairs = pairs[np.sort(np.unique(pairs // n, return_index=True)[1])]  # the best of each community
        pairs = pairs[np.unique(pairs % n, return_index=True)[1]]  # and of each label
        name, is_free, waits = np.arange(n, dtype=np.uint32), live.copy(), device.to_numpy(self.count) > 0
        name[pairs // n], is_free[pairs % n], waits[pairs // n] = pairs % n, False, False
        name[waits] = np.flatnonzero(is_free)[: np.count_nonzero(waits)]
        inside = self.inside
        self.take(device.xp.asarray(name[label]))
        self.inside = inside

    @contextmanager
    def copied(self) -> Iterator[None]:
        """A context in which all walks of the graph are over a copy of its rows; other threads wait for the graph."""
        graph = self.base.graph
        if not self.on_cpu:
            with copied_rows(graph):
                yield
            return
        with graph.exclusive():
            self.rows = _plain(graph.view())
            try:
                yield
            finally:
                self.rows, self._levels = None, None  # type: ignore[assignment]

    @property
    def rule(self) -> Rule:
        """What decides about a move: scales, in units, and what it must gain, as a weight."""
        scale = self.resolution / (self.whole / self.unit) if self.whole > 0 else 0.0
        return Rule(self.unit, 1 / self.unit, scale, MARGIN * self.whole / 2)

    def quality(self) -> float:
        """Return the modularity of the labels; waits."""
        if self.whole == 0:
            return 0.0
        base = self.base
        if self.inside is None:
            self.inside = steps.inside(base.graph, base.label, self.unit)
        share = base.graph.device.to_numpy(self.total) / self.whole
        return float(2 * self.inside / self.whole - self.resolution * (share * share).sum())

    # -- moves ---------------------------------------------------------------------------------------------------------

    def move(self, level: Level, active: Array | None, classes: int = CLASSES, most: int = ENDLESS) -> bool:
        """Move the vertices ``active`` (None: all) and those that are woken; return whether none is left that gains."""
        if self.whole == 0 or (active is not None and not len(active)):
            return True
        if not self.on_cpu:
            self.inside = None
            return steps.move(self, level, active, classes, most)
        if self.rows is not None:
            return self._climb(MOVES, self.key, classes, most)
        view, s = level.graph.view(), self.scratch
        active = level.own if active is None else active if len(active) <= len(s.active) else np.unique(active)
        s.active[: len(active)] = active
        _, left, inside, arcs, self.logged = loops_over(view, LOOPS).move(
            view.data, level.vertices, self.total, self.count, self.rule, self.per, self.key, classes, most,
            len(active), s, self.log,
        )  # fmt: skip
        self._note(inside, arcs)
        return left == 0

    def _note(self, inside: float, arcs: int) -> None:
        """Note by how much the weight inside communities has grown, and how many arcs moves have read."""
        self.inside = None if self.inside is None else self.inside + inside
        self.arcs += arcs

    @property
    def scratch(self) -> Scratch:
        """Scratch arrays for the loops."""
        if self._scratch is None:
            self._scratch = Scratch.of(len(self.total), CLASSES)
        return self._scratch

    def refined(self, level: Level, key: int) -> Array:
        """Return connected parts of the communities, a vertex of each part as its label; not by loops of the CPU."""
        xp, n = self.base.graph.device.xp, len(level.label)
        sub, members, heavy = xp.arange(n, dtype=np.uint32), xp.ones(n, np.int64), level.strength.copy()
        steps.refine(self, level, key, CLASSES, sub, members, heavy)
        return sub

    # -- levels --------------------------------------------------------------------------------------------------------

    def climb(self, refine: bool, key: int, found: list[Array] | None = None, cycles: int = CYCLES) -> None:
        """Move vertices, and then, level by level, groups of them: parts of communities (``refine``), or communities.

        ``found``: gets the labels after each level. ``cycles``: in which vertices of a level move at most.
        """
        if self.on_cpu:
            self._climb(PARTS if refine else WHOLE, key, CLASSES, cycles * CLASSES, found)
            return
        level, before, groups = self.base, self.key, list[Any]()
        while True:
            self.key = key + len(groups)
            self.move(level, None, CLASSES, cycles * CLASSES)
            if found is not None:
                found.append(self._down(level, groups).copy())
            sub = self.refined(level, key ^ SALT) if refine else level.label
            made = level.contracted(sub, self.unit, len(self.total), self.by_kernels)
            if made is None:
                break
            label, own = (level.label[made.label], level.own[made.label]) if refine else (made.label, made.label)
            groups.append(made.group)
            level = Level(made.graph, label.copy(), made.strength, made.size, own)
        self.key = before
        self.base.label[...] = self._down(level, groups)

    def _climb(self, kind: int, key: int, classes: int, most: int, found: list[Array] | None = None) -> bool:
        """Do as :meth:`climb` on the CPU, or, ``MOVES``, as :meth:`move`; where rows are long, threads merge them."""
        from suricate.algorithms.leiden.climb_cpu import climb, merge

        base, rows, depth, n = self.base, self.rows.data, 0, len(self.base.label)
        self._levels = levels = self._levels or Levels.of(n, len(rows.dst))
        least = 2 * threads.GRAIN if threads.limit() > 1 else ENDLESS
        while True:
            depth, n, left, inside, arcs = climb(
                rows, base.vertices, self.total, self.count, self.rule, self.per, key, classes, most, kind, depth,
                n, least, found is not None, levels, self.scratch, self.log[:0],
            )  # fmt: skip
            self._note(inside, arcs)
            if found is not None:
                found.append(base.label.copy())
            if n == 0:
                return left == 0
            merge(rows, self.rule, self.per, depth, n, levels, self.scratch)

    def _down(self, level: Level, groups: list[Array]) -> Array:
        """Return new labels of the vertices of the graph, whose groups at every level are ``groups``."""
        label, made = level.label, self.base.label.copy()
        for group in reversed(groups[1:]):
            label = label[group]
        if groups:
            in_one = groups[0] != EMPTY
            made[in_one] = label[groups[0][in_one]]
        return made

    def end_moves(self) -> None:
        """Move single vertices until no vertex of the graph gains from a move.

        Where moves at once do not raise the quality, twice as many classes move one after the other, at last single
        vertices: so it ends.
        """
        classes, quality, label = 2 * CLASSES, self.quality(), self.base.label
        while True:
            before = label.copy()
            if self.move(self.base, None, classes, CYCLES * classes) and not any_true(label != before):
                return
            now = self.quality()
            classes, quality = classes if now > quality else 2 * classes, now

    # -- parts ---------------------------------------------------------------------------------------------------------

    def split(self, ends: Array | None = None) -> Array:
        """Give parts of communities that are not connected labels of their own; return the vertices with new labels.

        ``ends``: ids, ascending, of which every part of a community that may have been divided has one; None: all.
        """
        base = self.base
        if ends is None:
            ends = base.graph.device.xp.flatnonzero(base.size)
        if not self.on_cpu:
            return steps.split(self)
        view, s = plain_view(self.rows or base.graph.view()), self.scratch
        sets = np.empty((8, max(len(ends), 1)), np.int64)
        changed = loops_over(view, LOOPS).split(
            view.data, base.label, self.total, self.count, base.strength, base.size, ends, s.place, s.seen, s.active,
            sets[:5], sets[5:],
        )  # fmt: skip
        return s.active[:changed].copy()

    def repair(self, active: Array, cut: Array, connected: bool) -> None:
        """Move the vertices ``active`` and those that are woken, then split what changes and moves have divided.

        ``cut``: the ends of deleted edges. ``connected``: False: split nothing.
        """
        self.log = np.empty(4096, np.int64) if not len(self.log) else self.log
        ends: Array | None = cut
        while len(active):
            self.move(self.base, active, CLASSES, CYCLES * CLASSES)
            if not connected:
                return
            ends = self._left_behind(ends) if self.on_cpu else None
            active = ends = self.split(ends) if ends is None or len(ends) else ends

    def _left_behind(self, ends: Array | None) -> Array | None:
        """Return ``ends``, the vertices that have moved, and neighbours that they left, ascending; None: unknown."""
        base = self.base
        if ends is None or self.logged < 0:
            return None
        moved, before = self.log[: 2 * self.logged : 2], self.log[1 : 2 * self.logged : 2]
        if self.logged:
            offsets, near = base.graph.adjacency(moved)[:2]
            left = near[base.label[near] == np.repeat(before, np.diff(offsets))]
            ends = np.concatenate((ends, moved, left))
        ends = np.unique(ends)
        return ends[base.size[ends] > 0]

    # -- changes -------------------------------------------------------------------------------------------------------

    def follow(self, graph: Graph, delta: Delta) -> tuple[Array, Array, float]:
        """Take in a change; return the ends of changed edges, those of deleted ones, and how much weight changed.

        Raises:
            WeightError: a weight is negative.
        """
        xp, base = graph.device.xp, self.base
        base.graph = graph
        self._grow(graph.num_vertices)
        if delta.live_may_differ:
            self._admit(delta.revived_vertices)
        kinds: list[tuple[EdgeList, float, Any]] = [(delta.inserted, 1.0, None), (delta.deleted, -1.0, None)]
        if graph.weight_dtype is not None:
            kinds.append((delta.replaced, 1.0, delta.replaced._replace(weight=delta.replaced_old)))
        changed, ends = 0.0, [xp.empty(0, np.uint32)]
        for edges, sign, old in kinds:
            if not len(edges.src):
                continue
            weight = rounded_weights(graph, edges, self.unit)
            if any_true(weight < 0):
                raise WeightError(NEGATIVE)
            if old is not None:
                weight = weight - rounded_weights(graph, old, self.unit)
            weight = sign * weight
            for end in edges[:2]:
                xp.add.at(base.strength, end, weight)
                xp.add.at(self.total, base.label[end], weight)
            within = base.label[edges.src] == base.label[edges.dst]
            self.inside = None if self.inside is None else self.inside + float(weight[within].sum())
            self.whole += 2 * float(weight.sum())
            changed += float(abs(weight).sum())
            ends += edges[:2]
        if delta.live_may_differ:
            self._dismiss(delta.deleted_vertices)
        return xp.concatenate(ends), xp.concatenate((ends[0], *delta.deleted[:2])), changed

    def _grow(self, n: int) -> None:
        base, xp = self.base, self.base.graph.device.xp
        known = len(base.label)
        if n == known:
            return
        more = xp.arange(known, n, dtype=np.uint32)
        base.label, base.own = xp.concatenate((base.label, more)), xp.arange(n, dtype=np.uint32)
        base.strength, base.size = resized(xp, base.strength, n, 0.0), resized(xp, base.size, n, 0)
        self.total, self.count, self._scratch = resized(xp, self.total, n, 0.0), resized(xp, self.count, n, 0), None
        self._admit(more)

    def _admit(self, ids: Array) -> None:
        """Put vertices that have become live into communities of their own: their ids, else the first free labels."""
        ids = ids[self.base.size[ids] == 0]
        if not len(ids):
            return
        taken = self.count[ids] > 0
        self.base.label[ids], self.base.size[ids] = ids, 1
        self.count[ids[~taken]] = 1
        if any_true(taken):
            xp = self.base.graph.device.xp
            free = xp.flatnonzero((self.count == 0) & (self.base.size > 0))[: total(taken)]
            self.base.label[ids[taken]], self.count[free] = free, 1

    def _dismiss(self, ids: Array) -> None:
        """Take deleted vertices, without edges, out of their communities; rename labels that are such ids."""
        base, xp = self.base, self.base.graph.device.xp
        ids = ids[base.size[ids] > 0]
        if not len(ids):
            return
        self.count -= xp.bincount(base.label[ids], minlength=len(self.count))
        base.label[ids], base.size[ids] = ids, 0
        for label in ids[self.count[ids] > 0].tolist():
            members = xp.flatnonzero((base.label == label) & (base.size > 0))
            free = members[self.count[members] == 0]
            if not len(free):
                free = xp.flatnonzero((self.count == 0) & (base.size > 0))
            name = int(free[0])
            base.label[members], self.count[name], self.total[name] = name, self.count[label], self.total[label]
            self.count[label], self.total[label] = 0, 0.0
