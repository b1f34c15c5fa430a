"""Searches of the forest from scratch, such as breadth-first search, by several threads (``forest_search.py``)."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from suricate.cpu import threads
from suricate.cpu.bitmap import BITS, words_for
from suricate.graph import Graph
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.push.push_steps import SCAN

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
        module: an instance of the template ``forest_search``.
        tree: the words by vertex, changed in place.
        queue, buffer: ``uint32[num_vertices]``: the frontier, and scratch for the next one.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
        values: the arguments of the user's functions.
        threads: the most threads of a step.
    """

    graph: Graph
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
        g, most = graph.view("out").data, n // LARGE if n > FEW else int(MANY)
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
        g = graph.view("out").data
        if graph.has_in_edges:
            back, (unreached, unused) = graph.view("in"), rest
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
        g, words = self.graph.view("out").data, len(reached)
        ranges = threads.ranges(words, threads.parts(int(words * BITS * SCAN)))
        ends, edges, members = zip(
            *threads.run(self.module.gather, [(g, *part, seen, reached, frontier, queue) for part in ranges]),
            strict=True,
        )
        places = [(BITS * begin, BITS * end) for begin, end in ranges]
        return threads.compacted(queue, places, ends), sum(edges), sum(members)
