"""Computations of the forest from scratch by several threads: searches, and in the order of the first key."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from suricate.base.types import StoreView
from suricate.cpu import threads
from suricate.cpu.bitmap import BITS, words_for
from suricate.graph import Graph
from suricate.operators.call import Stamps
from suricate.operators.cpu.instances import Traversal
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.parallel import cut
from suricate.operators.cpu.push.push_steps import SCAN
from suricate.operators.cpu.sources import Listed
from suricate.repair.cpu.forest_near import PLACES

FEW = 1 << 13  #: vertices of a graph whose steps are all small
LARGE = 16  #: vertices per edge of a step from which it is large

#: work of a pull per vertex that is not reached, in units of an edge that a pull looks at, and of a push per edge, also
#: where rows are copied
ROW, OFFER, COPIED = 4, 3, 1

#: edges of a block of a push, and the least and the most vertices
BLOCK, LEAST, MOST = 1 << 12, 16, 1 << 10


class Search(NamedTuple):
    """The data of one search, whose steps are pushes or pulls.

    Attributes:
        graph: the graph.
        view: returns its view ``"out"`` or ``"in"``, as the loops take it.
        module: an instance of the template ``forest_search``.
        tree: the words by vertex, changed in place.
        queue, buffer: ``uint32[num_vertices]``: the frontier, and scratch for the next one.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
        values: the arguments of the user's functions.
        threads: the most threads of a step.
    """

    graph: Graph
    view: Callable[[str], StoreView]
    module: ModuleType
    tree: np.ndarray
    queue: np.ndarray
    buffer: np.ndarray
    violated: np.ndarray
    values: tuple[Any, ...]
    threads: int

    def run(self, count: int) -> tuple[int, int]:
        """Search from the first ``count`` vertices in ``queue``; return the numbers of steps and of pushes."""
        graph, n, words = self.graph, self.graph.num_vertices, words_for(self.graph.num_vertices)
        bits = graph.workspace.array("operators.bits", (2 + self.threads) * words, np.uint64).reshape(-1, words)
        reached, frontier, seen = bits[0], bits[1], bits[2:]
        reached[:] = 0
        g, most = self.view("out").data, n // LARGE if n > FEW else int(MANY)
        queue, buffer, done = self.queue, self.buffer, 0
        steps, pushed = 0, 0
        while count:
            given = g, n, queue, buffer, count, most, self.tree, reached, self.violated, *self.values
            made, more, edges, count = self.module.push_few(*given)
            steps, pushed, done = steps + made, pushed + more, done + edges
            if not count:
                break
            queue, buffer = (buffer, queue) if made % 2 else (queue, buffer)
            self.module.list_members(queue, count, reached, seen[0])
            count, edges, members = self._gather(seen[:1], reached, frontier, queue)
            while edges > most:
                done += edges
                rest = n - members, graph.most_arcs - done
                sets = self._step(count, edges, rest, reached, frontier, seen, queue)
                steps, pushed = steps + 1, pushed + count
                count, edges, members = self._gather(sets, reached, frontier, queue)
        return steps, pushed

    def _step(
        self, count: int, edges: int, rest: tuple[int, int], reached: np.ndarray, frontier: np.ndarray,
        seen: np.ndarray, queue: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Push or pull from the ``count`` vertices in ``queue``; return bitmaps whose union is all reached vertices.

        The bitmaps are rows of ``seen``, which has one per thread and is written. ``edges``: the number of out-edges of
        the vertices. ``rest``: the number of unreached vertices, and an upper bound of the number of edges along which
        no vertex has pushed yet. ``reached`` and ``frontier`` are bitmaps.
        """
        graph, counter = self.graph, np.zeros(1, np.int64)
        g = self.view("out").data
        if graph.has_in_edges:
            back, (unreached, unused) = self.view("in"), rest
            looked = min(unused, unreached * graph.most_arcs // edges) if back.ascending else unused
            if ROW * unreached + looked < (COPIED if self.module.copies else OFFER) * edges:
                pull = back.data, graph.num_vertices, counter, back.ascending, self.tree, reached, frontier, seen[0]
                threads.run(self.module.pull, [(*pull, self.violated, *self.values)] * self.threads)
                return seen[:1]
        number = min(self.threads, max(1, edges // threads.GRAIN))
        size = max(LEAST, min(MOST, count * BLOCK // edges))
        push = g, queue, count, counter, np.int64(size), number == 1, self.tree, reached
        threads.run(self.module.push, [(*push, one, self.violated, *self.values) for one in seen[:number]])
        return seen[:number]

    def _gather(
        self, seen: np.ndarray, reached: np.ndarray, frontier: np.ndarray, queue: np.ndarray
    ) -> tuple[int, int, int]:
        """Compute the next frontier: the vertices in the bitmaps ``seen`` that are not in ``reached``.

        It is written to the bitmap ``frontier`` and to the beginning of ``queue``, and added to ``reached``. Returns
        its size, its number of out-edges, and the number of all vertices reached.
        """
        g, words = self.view("out").data, len(reached)
        ranges = threads.ranges(words, threads.parts(int(words * BITS * SCAN)))
        ends, edges, members = zip(
            *threads.run(self.module.gather, [(g, *part, seen, reached, frontier, queue) for part in ranges]),
            strict=True,
        )
        places = [(BITS * begin, BITS * end) for begin, end in ranges]
        return threads.compacted(queue, places, ends), sum(edges), sum(members)


Pool = tuple[np.ndarray, ...]  #: see the template

KEPT = 1 << 16  #: vertices in the buckets of a part


class Near(NamedTuple):
    """The data of one computation of a forest by several threads, in rounds.

    Attributes:
        graph, view: the graph, and its view of out-edges.
        module: an instance of the template ``forest_near``.
        tree: the words by vertex, changed in place.
        stamps, step: a pending vertex, which has yet to push, has the stamp ``step``.
        queue: ``uint32[num_vertices]``; the vertices from which a round starts.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
        values: the arguments of the user's functions.
    """

    graph: Graph
    view: StoreView
    module: ModuleType
    tree: np.ndarray
    stamps: Stamps
    step: int
    queue: np.ndarray
    violated: np.ndarray
    values: tuple[Any, ...]

    def run(self, count: int, width: float, reach: int, edges: int) -> tuple[int, int, int]:
        """Push from the ``count`` vertices in ``queue`` until no vertex is pending, or a round had little work.

        Args:
            count: how many vertices of ``queue``.
            width: width of a bucket of first keys.
            reach: how many buckets the first round covers; a later one covers more or fewer, by the work of the one
                before.
            edges: about how many edges the first round has.

        Returns:
            The number of rounds, of pushes, and of vertices still pending, which are then in ``queue``.
        """
        self.stamps.array[self.queue[:count]] = self.step
        usual = max(2 * threads.limit() * threads.GRAIN, len(self.tree))  # each looks at all vertices first
        rounds, pushed, left = 0, 0, count
        pools: list[Pool] = []
        origin, reach = -math.inf, max(1, min(PLACES, reach))
        while left:
            count, left, least = self._gather(origin + reach * width)
            if not count:
                origin = least
                continue
            ranges = self._parts(count, edges)
            target = origin, 1 / width, reach, usual // len(ranges)
            more, edges, others, least_other = self._push(ranges, *target, pools)
            rounds, pushed, left = rounds + 1, pushed + more, left + others
            origin = min(least, least_other)
            if edges > 4 * usual:
                reach = max(1, reach // 2)
            elif edges < usual and reach < PLACES:
                reach = min(PLACES, 2 * reach)
            elif edges < threads.GRAIN:
                break
        return rounds, pushed, self._gather(math.inf)[0] if left else 0

    def _gather(self, limit: float) -> tuple[int, int, float]:
        """Move those with first keys up to ``limit`` to ``queue``; return how many, how many wait, their least key."""
        size = len(self.tree)
        ranges = threads.ranges(size, threads.parts(int(size * SCAN)))
        given = self.tree, self.stamps.array, self.step, limit, self.queue
        found = threads.run(self.module.gather_near, [(*part, *given) for part in ranges])
        lasts, left, least = zip(*found, strict=True)
        return threads.compacted(self.queue, ranges, lasts), sum(left), min(least)

    def _parts(self, count: int, edges: int) -> list[threads.Range]:
        """Return ranges for threads, into which the first ``count`` vertices in ``queue`` are divided."""
        views = self.view.data, self.view.data, len(self.tree)
        ranges = cut(self.graph, Traversal(self.view), "out", views, Listed(self.queue, False, count))
        if len(ranges) == 1 and edges >= 2 * threads.GRAIN:
            return threads.ranges(count, min(count, threads.limit()))
        return ranges

    def _push(
        self, ranges: list[threads.Range], origin: float, inverse: float, reach: int, most: int, pools: list[Pool]
    ) -> tuple[int, int, int, float]:
        """Run a round, in which a thread pushes from each range of ``queue``.

        Args:
            ranges: the ranges.
            origin, inverse, reach: first key at which bucket 0 begins, 1 / width of a bucket, number of buckets
                covered.
            most: number of edges after which a thread leaves its vertices to later rounds.
            pools: memory for buckets, reused by threads; new pools are appended.

        Returns:
            The number of pushes, of edges and of vertices left to later rounds, and the least first key of these.
        """
        changed, near = (self.stamps.array, self.step, self.violated), (origin, inverse, reach)

        def part(begin: int, end: int) -> tuple[int, int, int, float]:
            try:
                pool = pools.pop()
            except IndexError:
                pool = self._pool()
            given = self.view.data, self.queue, begin, end, self.tree, near, most
            found: tuple[int, int, int, float] = self.module.push_near(*given, pool, *changed, *self.values)
            pools.append(pool)
            return found

        pushed, edges, left, least = zip(*threads.run(part, ranges), strict=True)
        return sum(pushed), sum(edges), sum(left), min(least)

    def _pool(self) -> Pool:
        words = np.empty((KEPT, *self.tree.shape[1:]), self.tree.dtype)
        links = np.empty(KEPT, np.int32), np.empty(PLACES, np.int32), np.empty(PLACES, np.int32), np.empty(2, np.int32)
        return np.empty(KEPT, np.uint32), words, *links
