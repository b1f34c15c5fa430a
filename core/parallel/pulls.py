"""Pulls on a graph of several ranks: each computes the vertices that it owns, then they exchange what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import operators
from suricate.base.errors import RequirementError
from suricate.operators import binding, checks, starts
from suricate.operators.call import UNLIMITED, Call
from suricate.operators.results import Layers, Propagated
from suricate.parallel.arguments import on_rows_of_all, scalars_of, with_local
from suricate.parallel.wrappers import keeping_answers
from suricate.state.frontier import Frontier
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.operators.call import Until
    from suricate.parallel.partition import Partition

STAYS, WAKES = 1, 2  #: what ``then`` of a round returns


@on_rows_of_all(operators.neighbor_reduce)
def neighbor_reduce(
    part: Partition, fn: Any, *, args: Any = (), reduce: str = "sum", over: str = "out", vertices: Any = None,
    out: Any = None, dtype: Any = None, then: Any = None, scheme: str = "auto",
) -> Any:  # fmt: skip
    """Pull once, see ``suricate.operators.neighbor_reduce``."""
    pull = Pull(part, fn, args, reduce, over, out, dtype, then)
    if isinstance(vertices, Layers):
        return pull.layers(vertices)
    if then is not None:
        start = starts.vertices_of(pull.graph, vertices, "vertices")
        ids = None if vertices is None else np.unique(np.concatenate([one.vertices for one in start.frontiers]))
        return pull.second(ids, scheme)
    if vertices is None:
        made = pull.run(None, out, scheme)
        part.share_rows(None, [made])
        return made
    return pull.listed(starts.vertex_ids(pull.graph, vertices, "vertices"), scheme)


class Pull:
    """A pull, which is run for the vertices of this rank."""

    def __init__(
        self, part: Partition, fn: Any, args: Any, reduce: str, over: str, out: Any, dtype: Any, then: Any
    ) -> None:
        self.part, self.graph = part, part.follow()
        self.fn, self.reduce, self.over, self.out, self.dtype, self.then = fn, reduce, over, out, dtype, then
        self.args = with_local(part, args, self.graph)
        self.call = binding.bind_pull(self.graph, fn, self.args, reduce, out, dtype, then)
        self.scalars = scalars_of(self.args)

    def run(self, ids: Array | None, out: Any, scheme: str = "auto", then: Any = None) -> Any:
        """Run the local operator for vertices (None: all)."""
        return operators.neighbor_reduce(
            self.graph, self.fn, args=self.args, reduce=self.reduce, over=self.over, out=out,
            dtype=None if out is not None else self.dtype, then=then, scheme=scheme,
            vertices=None if ids is None else frontier_of(self.graph, ids),
        )  # fmt: skip

    def second(self, ids: Array | None, scheme: str = "auto") -> Frontier:
        """Pull for vertices, ascending (None: all), with a second phase; return those that it keeps."""
        part = self.part
        mine = np.arange(part.low, part.high, dtype=np.uint32) if ids is None else part.owned(ids)
        kept = self.run(mine, self.out, scheme, self.then)
        written = written_by(self.call, self.call.then)
        part.share_rows(ids, written if self.out is None else [*written, self.out])
        part.add_up(self.scalars)
        return frontier_of(self.graph, part.joined(kept.vertices))

    def listed(self, ids: Array, scheme: str) -> Any:
        """Pull for ids in any order, with repeats; return one value each."""
        part = self.part
        owner = np.searchsorted(part.bounds, ids, side="right") - 1
        made: Any = checks.result_array(self.graph, self.call, self.out, len(ids))
        own = ids[owner == part.comm.rank]
        values = operators.neighbor_reduce(
            self.graph, self.fn, args=self.args, reduce=self.reduce, over=self.over, vertices=own,
            dtype=self.dtype if self.out is None else getattr(self.out, "dtype", self.out), scheme=scheme,
        )  # fmt: skip
        into, mine = (made.data, values.data) if self.call.layout else (made, values)
        for rank, each in enumerate(part.comm.allgatherv(mine)):
            into[owner == rank] = each
        part.add_up(self.scalars)
        return made

    def layers(self, layers: Layers) -> Any:
        """Pull for each layer in turn."""
        kept = []
        for number in range(len(layers)):
            ids = np.unique(layers[number])
            if self.then is not None:
                kept.append(self.second(ids).vertices)
                continue
            mine = self.part.owned(ids)
            values = self.run(mine, None) if self.out is None else self._values(mine)
            if self.out is not None:
                self._put(mine, values)
                self.part.share_rows(ids, [self.out])
        if self.then is None:
            return self.out
        return frontier_of(self.graph, np.concatenate(kept) if kept else np.empty(0, np.uint32))

    def _values(self, ids: Array) -> Any:
        return operators.neighbor_reduce(
            self.graph, self.fn, args=self.args, reduce=self.reduce, over=self.over, vertices=ids,
            dtype=self.out if self.call.layout else self.out.dtype,
        )  # fmt: skip

    def _put(self, ids: Array, values: Any) -> None:
        if self.call.layout:
            self.out.data[ids] = values.data
        else:
            self.out[ids] = values


@on_rows_of_all(operators.converge)
def converge(
    part: Partition, frontier: Any, fn: Any, *, args: Any = (), reduce: str, over: str = "in", then: Any,
    commit: Any = None, wake: str | None = "out", dtype: Any = None, max_steps: int | None = None, until: Any = None,
    most: int | None = None, swap: Any = (), after: Propagated | None = None,
) -> Propagated:  # fmt: skip
    """Pull in rounds, a call of the local operator per round; see ``suricate.operators.converge``."""
    limit = checks.step_limit(max_steps)
    rounds = Rounds(part, fn, args, reduce, over, dtype, then, commit, wake, checks.work_limit(most))
    stop: Until | None = checks.until_on(rounds.graph, until)
    start = starts.start_of(rounds.graph, frontier)
    if swap and not (frontier is None and wake is None and commit is None):
        raise RequirementError("swap is for rounds over all vertices: pass frontier=None, wake=None and no commit")
    if after is not None:
        limit = max(0, limit - after.steps) if after.crowded else 0
    ids = _ends(start, rounds.graph.num_vertices)
    everybody, steps, touched, stopped = ids, 0, 0, False
    while len(ids) and steps < limit and not (stopped or rounds.crowded):
        if steps:
            _exchange(swap)
        steps, touched = steps + 1, touched + len(ids)
        ids = rounds.run(ids)
        ids = everybody if swap else ids
        stopped = stop is not None and stop.ends_loop()
        rounds.crowded = rounds.crowded and not stopped
    if steps and after is not None:
        _exchange(swap)
    left_out = after is not None and not after.crowded
    return Propagated.of(steps, touched, left_out or not (len(ids) or rounds.crowded), rounds.crowded)


class Rounds:
    """Rounds of pulls over an active set."""

    def __init__(
        self, part: Partition, fn: Any, args: Any, reduce: str, over: str, dtype: Any, then: Any, commit: Any,
        wake: str | None, most: int,
    ) -> None:  # fmt: skip
        self.part, self.graph, self.reduce, self.over, self.dtype = part, part.follow(), reduce, over, dtype
        self.args = with_local(part, args, self.graph)
        self.call = binding.bind_pull(self.graph, fn, self.args, reduce, None, dtype, then, commit)
        self.commit, self.wake, self.most, self.crowded = commit, wake, most, False
        self.pull, self.keep = keeping_answers(fn, then, len(self.args))
        self.answers = np.zeros(self.graph.num_vertices, np.int64)
        self.marks = np.zeros(self.graph.num_vertices, np.int32)
        self.scalars = scalars_of(self.args)

    def run(self, ids: Array) -> Array:
        """Compute the vertices of a round, ascending; return those of the next."""
        part, graph = self.part, self.graph
        operators.neighbor_reduce(
            graph, self.pull, args=(*self.args, self.answers), reduce=self.reduce, over=self.over, dtype=self.dtype,
            vertices=frontier_of(graph, part.owned(ids)), then=self.keep,
        )  # fmt: skip
        part.share_rows(ids, [*written_by(self.call, self.call.then), self.answers])
        part.add_up(self.scalars)
        if self.commit is not None:
            totals = [scalar.total.copy() for scalar in self.scalars]
            operators.vertex_map(graph, frontier_of(graph, ids), self.commit, args=self.args)
            for scalar, total in zip(self.scalars, totals, strict=True):
                scalar.total[:] = total
        says = self.answers[ids]
        staying, waking = ids[(says & STAYS) != 0], ids[(says & WAKES) != 0]
        if self.most < UNLIMITED and len(ids) + self._edges(waking) > self.most:
            self.crowded = True
        if self.wake is None or self.crowded or not len(waking):
            return staying
        return np.union1d(staying, self._woken(waking)).astype(np.uint32)

    def _edges(self, waking: Array) -> int:
        """Return over how many edges vertices are to wake others."""
        mine, count = self.part.owned(waking), 0
        if self.wake is not None and len(mine):
            directions = {"both": ("out", "in")}.get(self.wake, (self.wake,))
            for direction in directions if self.graph.directed else ("out",):
                count += int(self.graph.store(direction).degrees()[mine].sum())
        return sum(self.part.comm.allgather(count))

    def _woken(self, waking: Array) -> Array:
        self.marks.fill(0)
        found = operators.advance(
            self.graph, frontier_of(self.graph, self.part.owned(waking)), mark, self.marks, reduce="max",
            over=self.wake or "out",
        )  # fmt: skip
        return self.part.union(found.vertices)


def mark(u, v, w, marks):
    """Mark a neighbour."""
    return 1


def frontier_of(graph: Graph, ids: Array) -> Frontier:
    """Return distinct ids as a frontier of a graph."""
    return Frontier(graph.device, ids, num_vertices=graph.num_vertices)


def written_by(call: Call, function: Any) -> list[Any]:
    """Return the arrays that a function of a call writes at its vertex."""
    positions = sorted(function.writes) if function is not None else ()
    return [call.values[k] for k in positions if not isinstance(call.values[k], Scalar)]


def _ends(start: Any, num_vertices: int) -> Array:
    """Return the vertices of a start, both ends of its arcs, ascending, each once."""
    parts = [one.vertices for one in start.frontiers]
    for src, dst, _, status, wanted, size in start.arcs:
        counts = slice(size) if status is None else status[:size] == wanted
        parts += [src[:size][counts], dst[:size][counts]]
    ids = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.uint32)
    return ids[ids < num_vertices].astype(np.uint32)


def _exchange(swap: Any) -> None:
    for a, b in swap:
        a[:], b[:] = b.copy(), a.copy()
