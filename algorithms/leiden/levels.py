"""Communities on a graph and on its contractions: moves, refinement, levels; what Louvain's and Leiden's method share.

A :class:`Communities` holds the labels of the vertices of the graph. All levels have the same labels, those of the
graph: a contraction leaves communities as they are, so their sums do, too, and labels last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.leiden import steps
from suricate.algorithms.shared.vertex_values import resized
from suricate.base.types import EMPTY
from suricate.errors import WeightError
from suricate.graph.row_copies import copied_rows, rows_of
from suricate.kernels import loops_over, without_weights
from suricate.operators.contraction import Contraction, merged, over_rows, rounded_weights
from suricate.store.fallbacks import CONTIGUOUS

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.base.types import EdgeList, StoreView
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

LOOPS = Path(__file__).with_name("loops_cpu.py")
CLASSES = 8  #: in which vertices move: the number hardly matters, but with one neighbours exchange places for ever
CYCLES = 100  #: in which every active vertex has a turn, before the quality is looked at
#: on a level if there are several iterations: other levels and the next one gain what later cycles gained. On R-MAT
#: graphs half of all sub-rounds came later, with few vertices, but all hubs
CYCLES_OF_LEVEL = 5
MARGIN = 1e-10  #: a move gains more than this in quality
ENDLESS = 1 << 62
NEGATIVE = "leiden: an edge has a negative weight: modularity needs weights of at least 0"


class Level:
    """A graph on which communities move: the graph itself, or a contraction.

    Attributes:
        graph: the graph; None: there are its ``rows`` only.
        label: ``uint32``, the community of each vertex.
        strength: ``float64``, the sum of the weights of its edges, those of self-loops twice.
        size: ``int64``, how many vertices of the first level a vertex stands for.
        own: ``uint32``, one of these; the label that it takes to be alone.
    """

    def __init__(
        self, graph: Any, label: Array, strength: Array, size: Array, own: Array, rows: StoreView | None = None
    ) -> None:
        self.graph, self.label, self.strength, self.size, self.own, self.rows = graph, label, strength, size, own, rows

    def view(self) -> StoreView:
        """Return the rows of the graph, as they are now."""
        return self.rows or self.graph.view()

    def contracted(self, labels: Array, unit: float, bound: int, kernels: bool, rounding: float) -> Any:
        """Return the groups of ``labels``, below ``bound``, as a ``Groups``, or None if there are as many as vertices.

        ``kernels``: as rows, without a store. ``rounding``: 0: weights are multiples of ``unit``.
        """
        if not kernels:
            made = Contraction(self.graph, labels, unit, bound)
            if made.num_groups in (len(labels), 0):
                return None
            xp, in_one = self.graph.device.xp, made.group != EMPTY
            size = xp.bincount(made.group[in_one], weights=self.size[in_one], minlength=made.num_groups)
            return SimpleNamespace(**vars(made), size=size.astype(np.int64), rows=None)
        if self.graph is not None and self.graph.device.is_cuda:
            from suricate.operators.contraction.on_device import grouped

            found = grouped(self.view(), self.graph.device, labels, self.size, self.strength, bound, unit)
            return found and SimpleNamespace(**found._asdict(), graph=over_rows(found.rows, self.graph))
        from suricate.operators.contraction.numbering import number_groups  # imports Numba

        n = len(labels)
        group, of_label = np.empty(n, np.uint32), np.full(bound, EMPTY, np.uint32)
        count = int(number_groups(labels, self.size, of_label, group))
        if count in (n, 0):
            return None
        view = self.view()
        starts, ends = view.data[:2] if self.graph is None else (0, self.graph.degrees())
        rows, strength = merged(view, ends - starts, group, count, rounding)
        label, in_one = np.empty(count, np.uint32), slice(None) if self.graph is None else group != EMPTY
        label[group[in_one]] = labels[in_one]
        size = np.bincount(group[in_one], weights=self.size[in_one], minlength=count).astype(np.int64)
        return SimpleNamespace(graph=None, group=group, label=label, size=size, strength=strength, rows=rows)


def _rounded(rows: StoreView, unit: float) -> StoreView:
    """Return contiguous rows with weights that are multiples of ``unit``, ``float64`` as those of contractions."""
    with np.errstate(all="ignore"):  # what is in gaps is any
        weight = np.floor(rows.data.weight / np.float64(unit) + 0.5) * unit
    return replace(rows, data=rows.data._replace(weight=weight), weight_dtype=weight.dtype)


class Communities:
    """Labels of the vertices of ``graph``, and what is known of communities; all vertices are alone at first.

    Attributes:
        total: ``float64``, by label: the sum of the strengths of the members.
        count: ``int64``, by label: how many members there are.
        rounding: the unit to which loops round weights of the graph, 0 if these are multiples of it.
        whole: the sum of all strengths. inside: the weight of all edges within communities, None: not known.
        arcs: arcs that moves have read, on the CPU.
    """

    def __init__(self, graph: Graph, unit: float, resolution: float, key: int, kernels: bool) -> None:
        xp, n = graph.device.xp, graph.num_vertices
        self.unit, self.resolution, self.key, self.arcs = unit, resolution, key, 0
        self.by_kernels = kernels and graph.partition is None
        self.on_cpu = self.by_kernels and not graph.device.is_cuda
        ids = xp.arange(n, dtype=np.uint32)
        kind = graph.weight_dtype
        self.rounding = unit if kind is not None and kind.kind == "f" else 0.0
        strength, loops = self._strengths(graph)
        live = graph.live_arrays.mask.astype(np.int64) if graph.most_deleted else xp.ones(n, np.int64)
        self.base = Level(graph, ids.copy(), strength, live, ids)
        self.total, self.count = strength.copy(), live.copy()
        self.inside: float | None = loops
        self.whole = float(strength.sum())
        self._scratch: list[np.ndarray] = []
        self.log = np.empty(0, np.int64)
        self.logged = 0

    def _strengths(self, graph: Graph) -> tuple[Array, float]:
        """Return the strength of each vertex, and the weight of all self-loops."""
        if not self.on_cpu:
            strength, loops = steps.strengths(graph, self.unit)
            return strength, float(loops.sum())
        view, strength = graph.view(), np.empty(graph.num_vertices)
        return strength, float(loops_over(view, LOOPS).add_strengths(view.data, self.rounding, strength))

    def take(self, label: Array) -> None:
        """Continue with labels of the first vertices; the others stay alone."""
        base, xp = self.base, self.base.graph.device.xp
        base.label[: len(label)], live, n = label, base.size > 0, len(base.label)
        self.inside, self.count = None, xp.bincount(base.label[live], minlength=n).astype(np.int64)
        self.total = xp.bincount(base.label[live], weights=base.strength[live], minlength=n).astype(np.float64)

    @contextmanager
    def copied(self) -> Iterator[None]:
        """A context in which all walks of the graph are over a copy of its rows; other threads wait for the graph."""
        if not self.on_cpu:
            with copied_rows(self.base.graph):
                yield
            return
        base, rounding = self.base, self.rounding
        with base.graph.exclusive():
            base.rows = rows_of(base.graph.view())
            if rounding and base.rows.cursor == CONTIGUOUS and not base.rows.by_row:
                base.rows, self.rounding = _rounded(base.rows, rounding), 0.0
            try:
                yield
            finally:
                base.rows, self.rounding = None, rounding

    @property
    def scale(self) -> float:
        """The resolution divided by the sum of all strengths, in units."""
        return self.resolution / (self.whole / self.unit) if self.whole > 0 else 0.0

    @property
    def margin(self) -> float:
        """What a move must gain, as a weight."""
        return MARGIN * self.whole / 2

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
        view, n = level.view(), len(level.label)
        table, marks, touched, wanted, movers, queue, _, _, turns = self.scratch(n)
        if active is None:
            given = n
            queue[:n] = np.arange(n, dtype=np.uint32)
        else:
            given = len(active)
            queue = queue if given <= n else np.empty(given, np.uint32)
            queue[:given] = active
        _, left, inside, arcs, self.logged = loops_over(view, LOOPS).move(
            view.data, level.label, self.total, self.count, level.strength, level.size, level.own,
            1 / self.unit, self.scale, self.margin, self._unit_of(level), self.key, classes, most, queue, given, table,
            marks, touched, wanted, movers, turns, self.log,
        )  # fmt: skip
        self.inside = None if self.inside is None else self.inside + inside
        self.arcs += arcs
        return left == 0

    def _unit_of(self, level: Level) -> float:
        """Return the unit to which the loops round weights, 0 if these are multiples of it."""
        return self.rounding if level is self.base else 0.0

    def scratch(self, n: int) -> list[np.ndarray]:
        """Return scratch arrays for a level of ``n`` vertices, at most those of the graph."""
        if not self._scratch or len(self._scratch[1]) < n:
            n, labels = max(n, self.base.graph.num_vertices), len(self.total)
            self._scratch = [
                np.zeros(labels), np.zeros(n, np.uint8), np.empty(n, np.int64), np.empty(2 * n, np.int64),
                np.empty(n, np.int64), np.empty(n, np.uint32), np.zeros(labels, np.int64), np.zeros(n, np.int64),
                np.empty(n, np.int64),
            ]  # fmt: skip
        return self._scratch

    def refined(self, level: Level, key: int) -> Array:
        """Return connected parts of the communities, a vertex of each part as its label."""
        xp, n = self.base.graph.device.xp, len(level.label)
        sub, members, heavy = xp.arange(n, dtype=np.uint32), xp.ones(n, np.int64), level.strength.copy()
        if not self.on_cpu:
            steps.refine(self, level, key, CLASSES, sub, members, heavy)
            return sub
        view = level.view()
        table, _, touched, wanted, movers, *_ = self.scratch(n)
        loops_over(view, LOOPS).refine(
            view.data, level.label, self.total, level.strength, 1 / self.unit, self.scale, self._unit_of(level), key,
            CLASSES, sub, members, heavy, table, touched, wanted, movers,
        )  # fmt: skip
        return sub

    # -- levels --------------------------------------------------------------------------------------------------------

    def climb(self, refine: bool, key: int, found: list[Array] | None = None, cycles: int = CYCLES) -> None:
        """Move vertices, and then, level by level, groups of them: parts of communities (``refine``), or communities.

        ``found``: gets the labels after each level. ``cycles``: in which vertices of a level move at most.
        """
        level, before, groups = self.base, self.key, list[Any]()
        while True:
            self.key = key + len(groups)
            self.move(level, None, CLASSES, cycles * CLASSES)
            if found is not None:
                found.append(self._down(level, groups).copy())
            sub = self.refined(level, key ^ 0x5BD1E995) if refine else level.label
            made = level.contracted(sub, self.unit, len(self.total), self.by_kernels, self._unit_of(level))
            if made is None:
                break
            label, own = (level.label[made.label], level.own[made.label]) if refine else (made.label, made.label)
            groups.append(made.group)
            level = Level(made.graph, label.copy(), made.strength, made.size, own, made.rows)
        self.key = before
        self.base.label[...] = self._down(level, groups)

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
            if self.move(self.base, None, classes, CYCLES * classes) and not bool((label != before).any()):
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
        *_, queue, place, seen, _ = self.scratch(len(base.label))
        view, sets = base.view(), np.empty((8, max(len(ends), 1)), np.int64)
        changed = loops_over(view, LOOPS).split(
            without_weights(view), base.label, self.total, self.count, base.strength, base.size, ends, place, seen,
            queue, sets[:5], sets[5:],
        )  # fmt: skip
        return queue[:changed].copy()

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
            if bool((weight < 0).any()):
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
        self.total, self.count, self._scratch = resized(xp, self.total, n, 0.0), resized(xp, self.count, n, 0), []
        self._admit(more)

    def _admit(self, ids: Array) -> None:
        """Put vertices that have become live into communities of their own: their ids, else the first free labels."""
        ids = ids[self.base.size[ids] == 0]
        if not len(ids):
            return
        taken = self.count[ids] > 0
        self.base.label[ids], self.base.size[ids] = ids, 1
        self.count[ids[~taken]] = 1
        if bool(taken.any()):
            xp = self.base.graph.device.xp
            free = xp.flatnonzero((self.count == 0) & (self.base.size > 0))[: int(taken.sum())]
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
