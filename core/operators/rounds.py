"""``converge`` of columns on CUDA: rounds that the host makes, of a pull, a commit and a push that wakes neighbours.

A round of all vertices (``swap``) waits for the device only to read what ends the loop. Rounds over an active set wait
once each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, total
from suricate.edgefn.derived import keeping_answers
from suricate.graph import Graph
from suricate.operators import binding
from suricate.operators.call import UNLIMITED, Call, Start, Swap, Until, driver_of
from suricate.operators.results import Propagated
from suricate.state.frontier import Frontier

STAYS, WAKES = 1, 2  #: what ``then`` of a round returns


def converge(
    graph: Graph, call: Call, start: Start, over: str, wake: str | None, max_steps: int, until: Until | None, most: int,
    swap: Swap, after: Propagated | None,
) -> Propagated:  # fmt: skip
    """Pull in rounds (see ``suricate.operators.call``), by calls of the other operators of the driver."""
    if after is not None:
        max_steps = max(0, max_steps - after.steps) if after.crowded else 0
    if swap:
        return _over_all(graph, call, over, max_steps, until, swap, after)
    active = _Active(graph, call, over, wake, most)
    ids, steps, touched, stopped = driver_of(graph).vertex_map(graph, active.everybody, start).vertices, 0, 0, False
    while len(ids) and steps < max_steps and not (stopped or active.crowded):
        steps, touched = steps + 1, touched + len(ids)
        ids = active.round(ids)
        stopped = until is not None and until.ends_loop()
        active.crowded = active.crowded and not stopped
    return Propagated.of(steps, touched, not (len(ids) or active.crowded), active.crowded)


def _over_all(
    graph: Graph, call: Call, over: str, limit: int, until: Until | None, swap: Swap, after: Propagated | None
) -> Propagated:
    """Pull for all vertices in up to ``limit`` rounds, between which the arrays of ``swap`` change places."""
    steps, stopped, other = 0, False, {a: b for pair in swap for a, b in (pair, pair[::-1])}
    everybody, values = Start((Frontier._of_all(graph.device, graph.num_vertices),)), call.values
    while graph.num_vertices and steps < limit and not stopped:
        driver_of(graph).neighbor_reduce(graph, call._replace(values=values), everybody, None, over, "auto")
        values = tuple(values[other.get(at, at)] for at in range(len(values)))
        stopped = until is not None and until.ends_loop()
        steps += 1
    for a, b in swap if steps % 2 else ():
        call.values[a][:], call.values[b][:] = call.values[b].copy(), call.values[a].copy()
    left_out = after is not None and not after.crowded
    return Propagated.of(steps, steps * graph.num_vertices, left_out or not graph.num_vertices)


class _Active:
    """Rounds over an active set; ``crowded``: a round had more than ``most`` vertices and edges that wake others."""

    def __init__(self, graph: Graph, call: Call, over: str, wake: str | None, most: int) -> None:
        self._graph, self._over, self._wake, self._most, self.crowded = graph, over, wake, most, False
        fn, args, then, commit, dtype = call.given
        xp, n = graph.device.xp, graph.num_vertices
        fn, then, _ = keeping_answers(fn, then, None, len(args), 1, columns=True)
        self._answers = xp.zeros((n, call.columns), np.int64)
        self._pull = binding.bind_pull(graph, fn, (*args, self._answers), call.reduce, None, dtype, then)
        self._commit = None if commit is None else binding.bind_map(graph, commit, args)
        self._marks = xp.zeros(n, np.int32)
        self._push = binding.bind_push(graph, mark, (), "max", self._marks, None)
        self.everybody = binding.bind_map(graph, is_there, ())

    def round(self, ids: Any) -> Any:
        """Compute the vertices ``ids``; return those of the next round, ascending."""
        graph, driver, xp = self._graph, driver_of(self._graph), self._graph.device.xp
        driver.neighbor_reduce(graph, self._pull, self._start(ids), None, self._over, "auto")
        if self._commit is not None:
            driver.vertex_map(graph, self._commit, self._start(ids))
        staying, waking = (ids[told(self._answers[ids], what)] for what in (STAYS, WAKES))
        if self._most < UNLIMITED and len(ids) + self._edges(waking) > self._most:
            self.crowded = True
        if self._wake is None or self.crowded or not len(waking):
            return staying
        self._marks.fill(0)
        driver.advance(graph, self._push, self._start(waking), self._marks, self._wake, "auto")
        self._marks[staying] = 1
        return xp.flatnonzero(self._marks).astype(np.uint32)

    def _start(self, ids: Any) -> Start:
        return Start((Frontier._of(self._graph.device, ids, num_vertices=self._graph.num_vertices),))

    def _edges(self, waking: Any) -> int:
        """Return the number of edges over which the vertices ``waking`` activate others."""
        ways = () if self._wake is None else {"both": ("out", "in")}.get(self._wake, (self._wake,))
        ways = ways if self._graph.directed else ways[:1]
        return sum([total(self._graph.store(way).degrees()[waking]) for way in ways])


def told(answers: Array, what: int) -> Array:
    """Return where ``answers``, of ``then`` per vertex, or per vertex and column, have the bit ``what``; a mask."""
    found: Array = (answers & what) != 0
    return found.any(axis=1) if found.ndim == 2 else found


def mark(u, v, w):
    """Return 1: ``v``, a neighbour of ``u``, which wakes it, becomes active."""
    return 1


def is_there(v):
    """Return True: ``v`` is active in the first round."""
    return True
