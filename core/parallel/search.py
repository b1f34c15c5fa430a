"""A search from scratch on GPUs of several ranks, level by level: all exchange bits and offers on the device.

For a dependence forest whose offers depend on the keys of a vertex alone (``uniform``), where a rank has both the in-
and the out-edges of its vertices (``suricate.repair.cuda.levels``). A level pulls or pushes, by the numbers of the
level before, which are the same on all ranks:

- A pull looks through the rows of what was not visited. Then ranks add up their bits and counts.
- A push needs the offers of all ranks first, of at most as many vertices as the rank's part of the frontier has arcs.
  So the sizes are known, and no rank has to tell.

Ranks meet on the host once, ahead of the first level. A level costs a read of the counts. At the end each rank gets the
words from the owners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.cuda.pinned import Arriving
from suricate.operators.results import Propagated

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.parallel.partition import Partition
    from suricate.repair.cuda.levels import Counts, Levels
    from suricate.repair.forest import Forest
    from suricate.state.frontier import Frontier

ALPHA = 16  #: a level pulls if the arcs to look at are at most so many times those to push along (atomics, an exchange)
SCANNED = 8  #: vertices that a pull passes over in the time of an arc
PUSHED = 2  #: offers of all ranks in a push are to at most one in so many of all vertices
LEAST = 1 << 10  #: or to so many of each rank


class Search:
    """Searches of one forest.

    Args:
        part: how the graph is divided.
        forest: the forest.
        of_rank: the same words and functions, on the graph of this rank.
    """

    def __init__(self, part: Partition, forest: Forest, of_rank: Forest) -> None:
        self._part, self._forest, self._of_rank = part, forest, of_rank

    def run(self, roots: Frontier) -> Propagated:
        """Compute from scratch; collective."""
        part, comm = self._part, self._part.comm
        with comm.alike():  # the last that may fail on one rank
            levels, offers, most = self._prepared()
        levels.start(roots)
        comm.add(levels.exchanged, met=True)
        steps, pushed, violated = 0, 0, False
        arcs = part.graph.num_edges * (1 if part.graph.directed else 2)
        found = self._read(levels)
        while found.vertices:
            steps, pushed, arcs = steps + 1, pushed + found.vertices, arcs - found.in_arcs
            capacity = min(max(found.out_arcs), part.local.num_vertices)
            if capacity > most or arcs + part.local.num_vertices // SCANNED < ALPHA * sum(found.out_arcs):
                levels.pull()
            else:
                self._push(levels, offers, capacity)
            comm.add(levels.exchanged, met=True)
            found = self._read(levels)
            violated = violated or found.violated
        comm.share(self._forest.words.data, part.bounds, met=True)
        if violated:
            self._forest.violated[0] = 1
        return Propagated.of(steps, pushed, True)

    def _prepared(self) -> tuple[Levels, Array, int]:
        """Return the launches, memory for offers, and to how many vertices a rank may make some in a level."""
        part = self._part
        levels = self._of_rank.levels(part.local, part.comm.rank, part.comm.size, part.low, part.high)
        most = max(LEAST, part.local.num_vertices // (PUSHED * part.comm.size))
        size = part.comm.size * levels.section(most)
        offers = part.local.workspace.array("search.offers", size, np.uint8)
        self._arriving = part.local.workspace.state(Arriving)
        return levels, offers, most

    def _push(self, levels: Levels, offers: Array, capacity: int) -> None:
        size, ranks = levels.section(capacity), self._part.comm.size
        given = offers[: size * ranks]
        levels.push(given, capacity)
        self._part.comm.share(given, np.arange(ranks + 1) * size, met=True)
        levels.take(given, capacity)

    def _read(self, levels: Levels) -> Counts:
        self._arriving.copy_from(levels.counts)
        self._part.comm.wait(self._arriving.has_arrived)
        return levels.counted(self._arriving.array[: len(levels.counts)])
