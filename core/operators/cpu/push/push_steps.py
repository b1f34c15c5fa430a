"""The large steps of a push, which several threads make; the loop that makes the small ones runs on one thread."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.types import ArcList
from suricate.cpu import threads
from suricate.graph import Graph
from suricate.operators.call import LAST_STEP, Call, Stamps
from suricate.operators.cpu.instances import Traversal, instance
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.parallel import DEGREE, can_be_exchanged, counted, cut, effects_for_one, run_shared
from suricate.operators.cpu.push.propagate_once import LARGE, PULLED
from suricate.operators.cpu.sources import NO_VERTICES, Listed, arcs_of, walk_over

SPREAD = 8  #: vertices per edge of a step from which the vertices that it alters are looked for among all
SCAN = 1 / 8  #: work of looking at a stamp, in units of ``suricate.cpu.threads``
REVERSE = {"out": "in", "in": "out", "both": "both"}


class Push(NamedTuple):
    """The data of one push.

    ``over`` is the direction, ``out`` the array of values, ``values`` the arguments of the functions of ``call``,
    ``stamps`` those of ``graph``. ``queue`` and ``buffer`` are ``uint32[num_vertices]``: the vertices that change, and
    scratch for the frontier.
    """

    graph: Graph
    call: Call
    over: str
    out: np.ndarray
    values: tuple[Any, ...]
    stamps: Stamps
    queue: np.ndarray
    buffer: np.ndarray


def shared_from(graph: Graph, call: Call, out: np.ndarray) -> int:
    """Return the edges of a step into ``out`` from which several threads make it; ``MANY``: one makes all steps."""
    if threads.limit() == 1 or effects_for_one(call) or not can_be_exchanged(out):
        return int(MANY)
    least = max(2 * threads.GRAIN, graph.num_vertices // SPREAD)
    return least if graph.most_arcs >= least else int(MANY)


class SharedSteps:
    """The steps of one push that several threads make (``push_parts.py``), each for a range of the frontier."""

    def __init__(self, push: Push) -> None:
        self._push = push
        self._walk, g, h = walk_over(push.graph, push.over, push.call)
        self._module = instance("push_parts", self._walk, push.call, shared=True)
        self._views = g, h, push.graph.num_vertices
        self._pulling, self._enough = False, -1  # of a search: whether it pulls, and the edges from which it does

    def is_large(self, arcs: tuple[ArcList, ...], vertices: Listed, least: int) -> bool:
        """Return whether a step from ``arcs`` and ``vertices`` has more than ``least`` edges in all."""
        given = sum(some.size for some in arcs)
        if given <= least and (vertices.everything or vertices.size * DEGREE >= threads.GRAIN):
            given += counted("work_of", self._walk, self._views, *vertices, least)
        return given > least

    def push(self, vertices: Listed, step: int) -> None:
        """Offer along the edges of ``vertices``; vertices whose value changes get the stamp ``step``."""
        push = self._push
        ranges = cut(push.graph, self._walk, push.over, self._views, vertices)
        given = (*self._views, vertices.ids, vertices.everything)
        self._run(self._module.push, [(*given, *part, push.out, push.stamps.array, step) for part in ranges])

    def push_arcs(self, arcs: ArcList, step: int) -> None:
        """Offer along ``arcs``; vertices whose value changes get the stamp ``step``."""
        push, (*given, size) = self._push, arcs_of(arcs, self._push.call)
        target = push.out, push.stamps.array, step
        ranges = threads.ranges(size, threads.parts(size))
        self._run(self._module.push_arcs, [(self._views[2], *given, *part, *target) for part in ranges])

    def gather(self, step: int, refused: int, number: int, queue: np.ndarray) -> int:
        """Collect the frontier of step ``number`` from the vertices that its offers have changed; return its size.

        Args:
            step: the stamp of the changed vertices.
            refused: the stamp given to those for which ``then`` is false.
            number: the number of the step, which ``then`` gets.
            queue: ``uint32[num_vertices]``; the frontier is written to its beginning.
        """
        size = self._views[2]
        ranges = threads.ranges(size, threads.parts(int(size * SCAN)))
        given = self._push.stamps.array, step, refused, number, queue
        return threads.compacted(queue, ranges, self._run(self._module.gather, [(*part, *given) for part in ranges]))

    def search(self, vertices: Listed, first: int, number: int, *, equal: bool, queue: np.ndarray) -> int:
        """Make step ``number`` of a search from ``vertices``, by push or pull; return how many vertices joined.

        Args:
            first: vertices that join in step ``i`` get the stamp ``first + i + 1``; others that changed, ``first``.
            equal: whether all offers to a vertex in one step are equal.
            queue: ``uint32[num_vertices]``; the vertices that joined are written to its beginning.
        """
        if self._pulls(vertices, first, equal=equal):
            return self._pull(first, number, equal=equal, queue=queue)
        self.push(vertices, first + number + 1)
        return self.gather(first + number + 1, first, number, queue)

    def _pulls(self, vertices: Listed, first: int, *, equal: bool) -> bool:
        large = vertices.size * LARGE > self._views[2]
        if large and not (self._pulling and equal):
            if not equal:
                self._enough = self._edges_of_rest(first)
            elif self._enough < 0:
                self._enough = self._edges_of_rest(2 * LAST_STEP) // PULLED
            self._pulling = counted("work_of", self._walk, self._views, *vertices, self._enough) > self._enough
        self._pulling = self._pulling and large
        return self._pulling

    def _edges_of_rest(self, step: int) -> int:
        (walk, *views), stamps = self._back(), self._push.stamps.array

        def part(begin: int, end: int) -> int:
            return int(counted("work_of_rest", walk, tuple(views), begin, end, stamps, step))

        return sum(threads.over(self._views[2], part, unit=SCAN))

    def _back(self) -> tuple[Traversal, Any, Any]:
        return walk_over(self._push.graph, REVERSE[self._push.over], self._push.call)

    def _pull(self, first: int, number: int, *, equal: bool, queue: np.ndarray) -> int:
        push, (walk, b, c), n = self._push, self._back(), self._views[2]
        everything = Listed(NO_VERTICES, True, n)
        ranges = cut(push.graph, walk, REVERSE[push.over], (b, c, n), everything)
        target = push.out, push.stamps.array, first, number, equal, queue
        count = threads.compacted(
            queue, ranges, self._run(self._module.pull, [(b, c, *part, *target) for part in ranges])
        )
        ranges = threads.ranges(count, threads.parts(count))
        given = push.stamps.array, first + number + 1, first, number, queue
        return threads.compacted(queue, ranges, self._run(self._module.let_join, [(*part, *given) for part in ranges]))

    def _run(self, function: Any, calls: list[tuple[Any, ...]]) -> list[Any]:
        return run_shared(self._push.call, self._push.values, function, calls)
