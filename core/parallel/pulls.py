"""Pulls on a graph of several ranks: each computes the vertices that it owns, then they exchange the new values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import operators
from suricate.edgefn.derived import keeping_answers
from suricate.intake.arrays import sorted_distinct
from suricate.operators.call import UNLIMITED
from suricate.operators.results import Layers, Propagated
from suricate.operators.rounds import STAYS, WAKES, mark, told
from suricate.parallel.arguments import effects, frontier_of, uses_own, vertices_in, written_by
from suricate.parallel.on_demand.asks import Asking
from suricate.parallel.pending import PendingNumber
from suricate.parallel.totals import Totals

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Call, Start, Swap, Until
    from suricate.parallel.partition import Partition
    from suricate.state.frontier import Frontier


def neighbor_reduce(
    part: Partition, _: Graph, call: Call, vertices: Any, out: Any, over: str, scheme: str
) -> Frontier | None:
    """Pull once on a divided graph, as a driver does (see ``suricate.operators.call``)."""
    pull, found = Pull(part, call, out, over), None
    if isinstance(vertices, Layers):
        found = pull.layers(vertices, scheme)
    elif call.then is not None:
        found = pull.second(None if vertices is None else ends_of(pull.graph, vertices))
    elif vertices is None:
        pull.run(part.own, None, out, scheme)
        part.share_rows(None, list(out) if isinstance(out, tuple) else [out])
    else:
        pull.listed(vertices, scheme)
    pull.totals.end()
    return None if call.then is None else found


def ballot(call: Call) -> dict[str, Any]:
    """Return what a call of an operator passes besides for ``reduce="vote"``; nothing for other reductions."""
    if call.vote is None:
        return {}
    score, keep = call.vote.given
    given = {"score": score, "keep": keep, "labels": call.vote.labels}
    return given | ({"best": call.vote.best} if call.vote.best else {})


class Pull:
    """One pull for the vertices of this rank; arguments, also of methods, as drivers take them."""

    def __init__(self, part: Partition, call: Call, out: Any, over: str) -> None:
        self.part, self.call, self.out, self.over = part, call, out, over
        self.graph = part.follow()
        for one in out if isinstance(out, tuple) else (out,):
            uses_own(part, call, one, over=over)
        self.written = [*written_by(call, call.then), *([] if out is None else [out])]
        self.asking, self.totals = Asking(part, call), Totals(part, call.values)

    def run(self, ids: Array, vertices: Any, out: Any, scheme: str) -> Any:
        """Run the local operator for ``vertices`` (None: all), of which this rank owns ``ids``; return its result."""
        fn, _, then, _, dtype = self.call.given
        args = self.asking.of_pull(ids, self.over)
        with effects(self.part, self.call.then, self.call.values, args) as given, self.totals.call():
            return operators.neighbor_reduce(
                self.graph, vertices, fn, out=out, args=given, reduce=self.call.reduce, over=self.over, then=then,
                dtype=None if out is not None else dtype, scheme=scheme, **ballot(self.call),
            )  # fmt: skip

    def second(self, ids: Array | None) -> Frontier:
        """Pull for ``ids`` (None: all) and call ``then`` for each; return the vertices for which it returned true."""
        part = self.part
        mine = part.own_frontier if ids is None else frontier_of(self.graph, part.owned(ids))
        kept = self.run(mine.vertices, mine, self.out, "auto")
        part.share_rows(ids, self.written)
        return frontier_of(self.graph, part.joined(kept.vertices))

    def listed(self, ids: Array, scheme: str) -> None:
        """Pull for ids in any order, possibly repeated; write one value per id to ``out``."""
        part, is_words = self.part, self.call.layout is not None
        outs = list(self.out) if isinstance(self.out, tuple) else [self.out]
        owner = part.owner_of(ids)
        own = ids[owner == part.comm.rank]
        values = [
            out.of_size(len(own)) if is_words else part.xp.empty((len(own), *out.shape[1:]), out.dtype) for out in outs
        ]
        self.run(own, own, values[0] if len(values) == 1 else tuple(values), scheme)
        for out, value in zip(outs, values, strict=True):
            into, mine = (out.data, value.data) if is_words else (out, value)
            for rank, each in enumerate(part.comm.allgatherv(mine)):
                into[owner == rank] = each

    def layers(self, layers: Layers, scheme: str) -> Frontier:
        """Pull for each of ``layers`` in turn; return the vertices for which ``then`` returned true."""
        xp = self.part.xp
        kept = [xp.empty(0, np.uint32)]
        for number in range(len(layers)):
            ids = sorted_distinct(layers[number].copy(), xp)
            found = self._into(self.part.owned(ids), self.out, scheme)
            self.part.share_rows(ids, self.written)
            if self.call.then is not None:
                kept.append(self.part.joined(found.vertices))
        return frontier_of(self.graph, xp.concatenate(kept))

    def _into(self, ids: Array, out: Any, scheme: str) -> Any:
        """Pull for distinct ``ids``; write the value of vertex ``v`` to ``out[v]``; return what :meth:`run` does."""
        n, xp = self.graph.num_vertices, self.part.xp
        ends, one = xp.asarray([0, len(ids), len(ids)], np.int64), xp.ones(1, np.int64)
        return self.run(ids, Layers(self.graph.device, ids, ends, one, num_vertices=n), out, scheme)


def converge(
    part: Partition, _: Graph, call: Call, start: Start, over: str, wake: str | None, max_steps: int,
    until: Until | None, most: int, swap: Swap, after: Propagated | None,
) -> Propagated:  # fmt: skip
    """Pull in rounds, by a call of the local operator per round, as a driver does (see ``suricate.operators.call``)."""
    rounds, limit = Rounds(part, call, over, wake, most, swap), max_steps
    if after is not None:
        limit = max(0, limit - after.steps) if after.crowded else 0
    if swap:
        return rounds.over_all(limit, until, after)
    ids = ends_of(rounds.graph, start)
    rounds.keep_answers()
    steps, touched, stopped, waiting, later = 0, 0, False, ids[:0], ids[:0]
    while (len(ids) or len(waiting)) and steps < limit and not (stopped or rounds.crowded):
        if steps:
            rounds.totals.begin()
        if call.turn is not None:
            waiting, later = (waiting, later) if len(waiting) else (ids, ids[:0])
            ids, waiting = rounds.having_turn(waiting, steps)
        steps, touched = steps + 1, touched + len(ids)
        ids = rounds.run(ids)
        if call.turn is not None:
            later = sorted_distinct(part.xp.concatenate((later, ids)), part.xp)
            ids = ids[:0] if len(waiting) else later
        stopped = until is not None and until.ends_loop()
        rounds.crowded = rounds.crowded and not stopped
    if not steps:
        rounds.totals.end()
    return Propagated.of(steps, touched, not (len(ids) or len(waiting) or rounds.crowded), rounds.crowded)


class Rounds:
    """Rounds of pulls over an active set, or over all vertices, on the vertices of this rank.

    Arguments as drivers take them. The loop ends, and ``crowded`` is set, if a round has more than ``most`` vertices
    and edges over which these activate others, counted together. ``staying``: the pairs of arrays of which ranks keep
    their own entries of one, whose entries are exchanged after a round in place of the arrays.
    """

    def __init__(self, part: Partition, call: Call, over: str, wake: str | None, most: int, pairs: Swap) -> None:
        self.part, self.call, self.over, self.wake, self.most, self.pairs = part, call, over, wake, most, pairs
        self.pull, _, self.then, self.commit, self.dtype = call.given
        self.ballot = ballot(call)
        self.graph, self.crowded = part.follow(), False
        uses_own(part, call, over=over)
        used = call.commit.reads | call.commit.writes if call.commit is not None else ()
        self.commits_own = any(part.is_own(call.values[at]) for at in used)
        self.staying = [(a, b) for a, b in pairs if any(part.is_own(call.values[at]) for at in (a, b))]
        self._kept: list[Array] = []  # what the last round over all vertices has overwritten here
        self.written = sorted(call.then.stores) if call.then is not None else []
        self.asking, self.totals = Asking(part, call), Totals(part, call.values)

    def keep_answers(self) -> None:
        """Wrap ``then`` so that what it returns for each vertex is stored in :attr:`answers`."""
        fields = 2 if self.ballot else 1 if self.call.layout is None else len(self.call.layout.fields)
        functions, columns = (self.pull, self.then, self.ballot.get("score")), self.call.columns
        self.pull, self.then, score = keeping_answers(*functions, len(self.asking.args), fields, columns=columns > 0)
        self.ballot |= {"score": score} if self.ballot else {}
        n = self.graph.num_vertices
        self.answers = self.part.xp.zeros((n, columns) if columns else n, np.int64)
        self.marks = self.part.xp.zeros(self.graph.num_vertices, np.int32)

    def over_all(self, limit: int, stop: Until | None, after: Propagated | None) -> Propagated:
        """Pull for all vertices, up to ``limit`` rounds or until ``stop``; swap the pairs of arrays after each.

        ``stop``: the condition that ends the loop; ``after``: the loop that this one continues; None: there is none.
        Returns the outcome.
        """
        n, steps, stopped = self.graph.num_vertices, 0, False
        moving = tuple(pair for pair in self.pairs if pair not in self.staying)
        pending = PendingNumber(self.graph.device, stop) if stop is not None and self._can_be_undone() else None
        while n and steps < limit and not stopped:
            if steps:
                self.totals.begin()
            follows_unread = pending is not None and pending.unread
            if follows_unread:
                self._keep()
            self._pull(self.part.own_frontier)
            self.part.share_rows(None, [self.asking.call.values[position] for position in self.written])
            self.totals.end()
            if pending is None:
                stopped = stop is not None and stop.ends_loop()
            elif follows_unread and pending.ends_loop():
                self._undo()
                break
            else:
                pending.note()
                stopped = not pending.unread and pending.ends_loop()
            steps += 1
            for a, b in self.staying:
                self.part.swap_own(self.call.values[a], self.call.values[b])
            self.asking.exchange(moving)
        if steps % 2:  # arrays keep their places, and what the last round wrote to b is in a
            _exchange([(self.call.values[a], self.call.values[b]) for a, b in moving])
        if not steps:
            self.totals.end()
        left_out = after is not None and not after.crowded
        return Propagated.of(steps, steps * n, left_out or not n)

    def _can_be_undone(self) -> bool:
        """Return whether a round over all vertices can be undone: on CUDA, if it writes swapped arrays, by ranges."""
        then = self.call.then
        written = then.writes if then is not None else ()
        is_near = self.graph.device.is_cuda and self.part.ownership.is_ranges
        return is_near and {b for _, b in self.pairs}.issuperset(written)

    def _own_parts(self) -> list[Array]:
        """Return views of this rank's ranges in the arrays that the next round overwrites."""
        own = slice(self.part.ownership.low, self.part.ownership.high)
        return [self.asking.call.values[b][own] for _, b in self.pairs]

    def _keep(self) -> None:
        """Copy the values of this rank that the next round overwrites, so that :meth:`_undo` can restore them."""
        self._kept = self._kept or [self.part.xp.empty_like(own) for own in self._own_parts()]
        for kept, own in zip(self._kept, self._own_parts(), strict=True):
            kept[:] = own

    def _undo(self) -> None:
        """Restore the values from before a round that was made although the loop had ended; collective."""
        for kept, own in zip(self._kept, self._own_parts(), strict=True):
            own[:] = kept
        self.part.share_rows(None, [self.asking.call.values[b] for _, b in self.pairs])
        self.totals.undo()

    def _pull(self, vertices: Frontier, *more: Any) -> None:
        args = self.asking.of_pull(vertices.vertices, self.over)
        with effects(self.part, self.call.then, self.call.values, args) as given, self.totals.call():
            operators.neighbor_reduce(
                self.graph, vertices, self.pull, args=(*given, *more), reduce=self.call.reduce, over=self.over,
                then=self.then, dtype=self.dtype, **self.ballot,
            )  # fmt: skip

    def having_turn(self, ids: Array, step: int) -> tuple[Array, Array]:
        """Return those of ``ids`` whose turn it is in sub-round ``step``, and the others; both ascending."""
        assert self.call.turn is not None
        args = step, *self.asking.of(vertices=ids)
        with self.totals.call(alike=True):
            found = operators.vertex_map(self.graph, frontier_of(self.graph, ids), self.call.turn[1], args=args)
        is_turn = self.part.xp.isin(ids, found.vertices)
        return ids[is_turn], ids[~is_turn]

    def run(self, ids: Array) -> Array:
        """Compute ``ids``, the active vertices of a round, ascending; return those of the next round."""
        part, graph = self.part, self.graph
        if not len(ids):
            self.totals.end()
            return ids
        self._pull(frontier_of(graph, part.owned(ids)), self.answers)
        part.share_rows(ids, [*(self.call.values[position] for position in self.written), self.answers])
        if self.commit is not None:
            args = self.asking.of(vertices=ids)
            commit, values, alike = self.call.commit, self.call.values, not self.commits_own
            with effects(part, commit, values, args, alike=alike) as given, self.totals.call(alike=alike):
                operators.vertex_map(
                    graph, frontier_of(graph, ids if alike else part.owned(ids)), self.commit, args=given
                )
            if not alike:
                part.share_rows(ids, written_by(self.call, commit))
        self.totals.end()
        staying, waking = ids[told(self.answers[ids], STAYS)], ids[told(self.answers[ids], WAKES)]
        if self.most < UNLIMITED and len(ids) + self._edges(waking) > self.most:
            self.crowded = True
        if self.wake is None or self.crowded or not len(waking):
            return staying
        return sorted_distinct(part.xp.concatenate((staying, self._activated(waking))), part.xp).astype(np.uint32)

    def _edges(self, waking: Array) -> int:
        """Return the number of edges over which the vertices ``waking`` activate others, of all ranks; collective."""
        mine, count = self.part.owned(waking), 0
        if self.wake is not None and len(mine):
            directions = {"both": ("out", "in")}.get(self.wake, (self.wake,))
            for direction in directions if self.graph.directed else ("out",):
                count += int(self.graph.store(direction).degrees()[mine].sum())
        return sum(self.part.comm.allgather(count))

    def _activated(self, waking: Array) -> Array:
        self.marks.fill(0)
        found = operators.advance(
            self.graph, frontier_of(self.graph, self.part.owned(waking)), mark, out=self.marks, reduce="max",
            over=self.wake or "out",
        )  # fmt: skip
        return self.part.union(found.vertices)


def ends_of(graph: Graph, start: Start) -> Array:
    """Return the vertices of ``start``: those of its frontiers and both ends of its arcs, ascending and distinct."""
    ends = []
    for src, dst, _, status, wanted, size in start.arcs:
        counts = slice(size) if status is None else status[:size] == wanted
        ends += [src[:size][counts], dst[:size][counts]]
    return vertices_in(graph, start.frontiers, ends)


def _exchange(swap: Any) -> None:
    for a, b in swap:
        a[:], b[:] = b.copy(), a.copy()
