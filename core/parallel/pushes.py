"""Pushes on a graph of several ranks: each pushes along its own arcs, then they exchange the changed values."""

from __future__ import annotations

from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import operators
from suricate.base.errors import CapacityError
from suricate.base.types import ArcList
from suricate.edgefn.layout import keys_differ, words_less
from suricate.intake.arrays import sorted_distinct
from suricate.operators.results import Layers, Propagated
from suricate.parallel.arguments import demand_whole, effects, frontier_of, vertices_in
from suricate.parallel.bottom_up import BottomUp
from suricate.parallel.on_demand.asks import Asking, columns_of
from suricate.parallel.totals import Totals
from suricate.state.frontier import Frontier
from suricate.store.fallbacks import degrees, edges_of

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Call, Start
    from suricate.parallel.partition import Partition

MANY = 8  #: all words are compared or exchanged if more than one in ``MANY`` was altered, or may have been,
WHOLE = 1 << 25  #: or on a device if there are at most ``WHOLE``: a pass over all takes less time than listing some


def advance(part: Partition, graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once on a divided graph, as a driver does (see ``suricate.operators.call``)."""
    push = Push(part, call, out, over)
    ids = None if start.is_all(graph.num_vertices) else vertices_in(push.graph, start.frontiers)
    joined = push.step(ids, start.arcs, 1, scheme)
    push.totals.end()
    return frontier_of(push.graph, joined)


def propagate(
    part: Partition, _: Graph, call: Call, start: Start, out: Any, over: str, max_steps: int, layers: bool, once: str
) -> Propagated:
    """Push until nothing changes, by a call of the local operator per step, as a driver does."""
    push = Push(part, call, out, over)
    push.bottom_up = BottomUp.of(push, uniform=False) if once == "equal" else None
    if max_steps == 0 or not start.at_most:
        push.totals.end()
        return Propagated.of(0, 0, not start.at_most, layers=_layers(push.graph, []) if layers else None)
    ids, arcs = vertices_in(push.graph, start.frontiers), start.arcs
    kept, seen, steps, touched = [ids], part.xp.zeros(push.graph.num_vertices if layers else 0, bool), 0, 0
    if layers:
        seen[ids] = True
    while (len(ids) or arcs) and steps < max_steps:
        steps, touched = steps + 1, touched + (start.at_most if arcs else len(ids))
        ids, arcs = push.step(ids, arcs, steps), ()
        if layers and seen[ids].any():
            raise CapacityError("layers keep a vertex once, but some joined several times: call without layers=True")
        if layers:
            seen[ids] = True
            kept.append(ids)
    push.totals.end()
    found = _layers(push.graph, kept) if layers else None
    return Propagated.of(steps, touched, not len(ids) and not arcs, layers=found)


class Push:
    """The steps of one push or propagation: each rank pushes along its own arcs, then all exchange the changed values.

    ``then`` runs on every rank, for all vertices that changed. What methods take as ``given`` is where to push from: a
    frontier, arc lists, or a tuple of these; None: all vertices. ``scheme`` is that of the local ``advance``.
    """

    def __init__(self, part: Partition, call: Call, out: Any, over: str) -> None:
        self.part, self.out, self.over, self.reduce = part, out, over, call.reduce
        self.fn, _, self.then, *_ = call.given
        self.graph = part.follow()
        demand_whole(part, call, out)
        self.asking, self.totals = Asking(part, call, out), Totals(part, call.values)
        self.data: Array = out.data if call.layout is not None else out
        self.bottom_up: BottomUp | None = None  # how steps may pull
        self.altered: list[Array] | None = None  # if a list: the vertices whose word was altered are added to it

    def step(self, ids: Array | None, arcs: tuple[ArcList, ...], number: int, scheme: str = "auto") -> Array:
        """Push once from the vertices ``ids`` (None: all) and along ``arcs``; return the next frontier, ascending.

        It consists of the vertices whose value in ``out`` changed; with ``then``, of those for which it returned true.
        ``number`` is the number of the step, which ``then`` gets.
        """
        changed = None
        if self.bottom_up is not None and ids is not None and not arcs:
            changed = self.bottom_up.step(ids)
        if changed is None:
            changed = self._pushed(ids, arcs, scheme)
        if self.bottom_up is not None:
            self.bottom_up.note(changed)
        return changed if self.then is None else self._second(changed, number)

    def _pushed(self, ids: Array | None, arcs: tuple[ArcList, ...], scheme: str) -> Array:
        given: Any = None
        part, shares = self.part, [share(self.part, each) for each in arcs]
        own = part.own if ids is None else part.owned(ids)
        if ids is not None:
            given = (frontier_of(self.graph, own), *shares) if arcs else frontier_of(self.graph, own)
        self.args = self.asking.of(chain(self.asking.edges_of(own, self.over), *map(columns_of, shares)))
        combine = {"sum": self._sum, "argmin": self._smallest}.get(self.reduce, self._best)
        return combine(given, scheme)

    def local(self, given: Any, out: Any, scheme: str) -> Frontier:
        """Push from ``given`` to ``out`` on this rank alone; return the vertices whose value in ``out`` changed."""
        with self.totals.call():
            return operators.advance(
                self.graph, given, self.fn, out=out, args=self.args, reduce=self.reduce, over=self.over, scheme=scheme
            )

    def _sum(self, given: Any, scheme: str) -> Array:
        out, comm, xp = self.out, self.part.comm, self.part.xp
        added = xp.zeros_like(out)
        ids = xp.sort(self.local(given, added, scheme).vertices)
        places, values = comm.allgatherv(ids), comm.allgatherv(added[ids])
        altered = xp.zeros(len(out), bool)
        for one, value in zip(places, values, strict=True):
            old = out[one]
            out[one] += value
            altered[one] |= (out[one] != old) | (value == 0)  # offers may cancel each other
        return xp.flatnonzero(altered).astype(np.uint32)

    def _best(self, given: Any, scheme: str) -> Array:
        out, comm, xp = self.out, self.part.comm, self.part.xp
        ids = xp.sort(self.local(given, out, scheme).vertices)
        places, values = comm.allgatherv(ids), comm.allgatherv(out[ids])
        for one, value in zip(places, values, strict=True):
            if self.reduce == "or":
                out[one] |= value
            else:
                better = value < out[one] if self.reduce == "min" else value > out[one]
                out[one[better]] = value[better]
        return sorted_distinct(xp.concatenate(places), xp)

    def _smallest(self, given: Any, scheme: str) -> Array:
        """Push from ``given`` and exchange changed words; return the vertices whose keys changed."""
        data, comm, xp = self.out.data, self.part.comm, self.part.xp
        near = self._near(given)
        before = data.copy() if near is None else data[near]
        self.local(given, self.out, scheme)
        after = data if near is None else data[near]
        differs = xp.flatnonzero((after != before).any(axis=1) if data.ndim > 1 else after != before)
        mine, old = (differs.astype(np.uint32) if near is None else near[differs]), before[differs]
        sizes = comm.allgather(len(mine)) if data.ndim == 1 else []
        whole = near is None and data.ndim == 1  # not the same on all ranks
        if sum(sizes) > len(data) // MANY:
            if not whole:
                before, whole = data.copy(), True
                before[mine] = old
            comm.smallest(data)
        else:
            found = self._of_all(mine, sizes)
            if not whole:
                union = sorted_distinct(xp.concatenate([places for places, _ in found]), xp)
                was = data[union]
                was[xp.searchsorted(union, mine)] = old
            for rank, (places, values) in enumerate(found):
                if rank != comm.rank:
                    self._take_smaller(places, values)
        if whole:
            union = xp.flatnonzero(data != before).astype(np.uint32)
            was = before[union]
        return self.joining(union, data[union], was)

    def _of_all(self, ids: Array, sizes: list[int]) -> list[tuple[Array, Array]]:
        """Exchange the vertices ``ids`` and their words; return those of each rank, in rank order; collective."""
        words, comm = self.out.data[ids], self.part.comm
        if not sizes:
            return [*zip(comm.allgatherv(ids), comm.allgatherv(words), strict=True)]
        places, values = comm.joined_columns([ids, words], sizes)
        return [(places[begin:end], values[begin:end]) for begin, end in pairwise(accumulate(sizes, initial=0))]

    def _take_smaller(self, ids: Array, words: Array) -> None:
        """Replace the word in ``out`` of each of ``ids`` by the one in ``words`` if that is smaller."""
        data = self.out.data
        if data.ndim == 1:
            data[ids] = self.part.xp.minimum(data[ids], words)
            return
        better = words_less(words, data[ids])
        data[ids[better]] = words[better]

    def joining(self, ids: Array, values: Array, old: Array) -> Array:
        """Return those of ``ids``, the vertices that changed, that join the next frontier.

        All of them do; but if values are words, only vertices whose keys changed, and ``ids`` are added to the list
        :attr:`altered`, if that is not None. ``values`` and ``old``: the values of ``ids`` after and before the step.
        """
        if self.reduce != "argmin":
            return ids
        if self.altered is not None:
            self.altered.append(ids)
        return ids[keys_differ(values, old, self.out.layout)]

    def _near(self, given: Any) -> Array | None:
        """Return the vertices to which this rank pushes from ``given``, ascending; None: not known, or too many."""
        if not isinstance(given, Frontier) or given.is_all or self.over == "both":
            return None
        view, device, ids = self.graph.view(self.over), self.graph.device, given.vertices
        if device.is_cuda and len(self.out) <= WHOLE and self.out.data.ndim == 1:
            return None
        if MANY * len(ids) > len(self.out) or MANY * int(degrees(view, device, ids).sum()) > len(self.out):
            return None
        return sorted_distinct(edges_of(view, device, ids)[1].dst, self.part.xp)

    def _second(self, changed: Array, step: int) -> Array:
        """Run ``then`` for the vertices ``changed`` by a step; return those for which it returned true, ascending."""
        args = self.asking.of(vertices=changed)
        call, frontier = self.asking.call, frontier_of(self.graph, changed)
        with effects(self.part, call.then, call.values, args, alike=True) as given, self.totals.call(alike=True):
            found = operators.vertex_map(self.graph, frontier, self.then, args=(np.int64(step), *given))
        return self.part.xp.sort(found.vertices)


def share(part: Partition, arcs: ArcList) -> ArcList:
    """Return the part of ``arcs``, which are the same on all ranks, that this rank handles."""
    return cut_out(arcs, *(arcs.size * (part.comm.rank + k) // part.comm.size for k in (0, 1)))


def cut_out(arcs: ArcList, low: int, high: int) -> ArcList:
    """Return the arcs from index ``low`` to ``high`` (exclusive) of a list."""
    cut: list[Any] = [None if column is None else column[low:high] for column in arcs[:4]]
    return ArcList(cut[0], cut[1], cut[2], cut[3], arcs.wanted, high - low)


def _layers(graph: Graph, kept: list[Array]) -> Layers:
    while kept and not len(kept[-1]):
        kept.pop()
    xp = graph.device.xp
    vertices = xp.concatenate(kept) if kept else xp.empty(0, np.uint32)
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in kept]), [len(vertices)])).astype(np.int64)
    count = xp.asarray([len(kept)], np.int64)
    return Layers(graph.device, vertices, xp.asarray(offsets), count, num_vertices=graph.num_vertices)
