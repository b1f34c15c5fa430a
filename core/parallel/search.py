"""A search from scratch on GPUs of several ranks, level by level: all exchange bits and offers on the device.

For a dependence forest whose offers depend on the keys of a vertex alone (``uniform``), where a rank has both the in-
and the out-edges of its vertices (``suricate.repair.cuda.levels``). A level pulls or pushes, by the numbers of the
level before, which are the same on all ranks:

- A pull scans the rows of unvisited vertices. Then ranks add up their bits and counts.
- A push exchanges the offers of all ranks first, to at most as many vertices as the rank's part of the frontier has
  arcs. So the sizes are known without an exchange.
- Levels of few arcs push by lists (``suricate.repair.cuda.by_list``): ranks exchange offers, and nothing else. The host
  queues the next level before it knows the result of the last one. If a frontier has too many arcs, they stop.
- Once few arcs lead to unvisited vertices, ranks exchange these arcs, and each computes all remaining levels by itself
  (``suricate.repair.cuda``, ``few_arcs.cuh``).

Ranks meet on the host once, ahead of the first level. A level costs a read of the counts. At the end each rank gets the
parents from the owners: it has the keys, which are those of the level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.cuda.pinned import Arriving
from suricate.operators.results import Propagated

if TYPE_CHECKING:
    from suricate.parallel.partition import Partition
    from suricate.repair.cuda.by_list import Counts
    from suricate.repair.forest import Forest
    from suricate.state.frontier import Frontier

ALPHA = 16  #: a level pulls if a pull scans fewer than ``ALPHA`` times the arcs of a push (atomics, an exchange)
SCANNED = 8  #: vertices that a pull passes over in the time of an arc
PUSHED = 2  #: a push has memory for offers of all ranks to one in ``PUSHED`` of all vertices,
LEAST = 1 << 10  #: or of each rank to this number
#: offers of all ranks, to as many or fewer vertices, for which a level by lists has places: 1.6 MB
PLACES = 1 << 17
#: arcs into what was not reached with which each rank ends a search by itself, if there are no more than vertices
FEW_ARCS = 1 << 17
AHEAD = 1  #: levels by lists that are queued while the host does not know yet whether the one before has stopped


class Search:
    """Computes a dependence forest from scratch, as the module describes.

    The *counts* of a level say how many vertices it has reached, and how many arcs lead into and out of them.
    """

    def __init__(self, part: Partition, forest: Forest) -> None:
        self._part, self._forest = part, forest

    def run(self, roots: Frontier) -> Propagated:
        """Search from the roots level by level, on all ranks together; return the outcome, as ``propagate`` does."""
        part, comm = self._part, self._part.comm
        with comm.alike():  # the last that may fail on one rank
            self._prepare()
            self._levels.start(roots)  # a device begins while ranks meet
        self._steps, self._pushed, self._violated = 0, 0, False
        found, done = self._by_lists(), None
        while found.vertices and done is None:
            if self._arcs <= self._few:
                done = self._finished(found)
            else:
                found = self._level_from(found)
        self._levels.pack_parents()
        comm.share(self._levels.parents, part.ownership.bounds, agreed=True)
        self._levels.take_parents()
        if self._violated:
            self._forest.violated[0] = 1
        return done or Propagated.of(self._steps, self._pushed, True)

    def _prepare(self) -> None:
        """Prepare the launches, and memory for each rank's offers to at most ``self._most`` vertices per level."""
        part, ranks, graph, vertices = self._part, self._part.comm.size, self._part.graph, self._part.local.num_vertices
        edges = graph.num_edges
        self._arcs = edges * (1 if graph.directed else 2)  # into vertices that were not reached
        self._places = max(1, min(PLACES // ranks, 2 * edges))
        share = part.comm.rank, ranks, part.ownership.low, part.ownership.high
        self._levels = levels = self._forest.levels(part.local, share, self._places)
        self._most = max(LEAST, vertices // (PUSHED * ranks))
        self._few = min(FEW_ARCS, vertices)
        size = max(levels.section(self._most), levels.arc_section(self._few))
        self._offers = part.local.workspace.array("search.offers", ranks * size, np.uint8)
        self._arriving = part.local.workspace.state(Arriving)

    # -- levels by lists -----------------------------------------------------------------------------------------------

    def _by_lists(self) -> Counts:
        """Compute levels by lists until a frontier has too many arcs; return the counts of the last level."""
        levels, comm = self._levels, self._part.comm
        while not levels.has_stopped(AHEAD):
            levels.offer()
            comm.share(levels.sections, levels.section_bounds, agreed=True)
            levels.take()
            comm.wait(self._has_come)
        stopped = levels.stopped(AHEAD)
        self._steps, self._pushed = self._steps + stopped.levels, self._pushed + stopped.pushed
        if stopped.found.vertices:
            levels.spread(AHEAD)
            levels.begin()
        return self._noted(stopped.found)

    def _has_come(self) -> bool:
        return self._levels.has_come(AHEAD)

    # -- levels by bits ------------------------------------------------------------------------------------------------

    def _level_from(self, found: Counts) -> Counts:
        """Compute the level after the one with the counts ``found``; return the counts of the new level."""
        levels, vertices = self._levels, self._part.local.num_vertices
        if max(found.out_arcs) <= self._places:
            levels.list_frontier()
            return self._by_lists()
        self._steps, self._pushed = self._steps + 1, self._pushed + found.vertices
        capacity = min(max(found.out_arcs), vertices)
        if capacity > self._most or self._arcs + vertices // SCANNED < ALPHA * sum(found.out_arcs):
            levels.pull()
        else:
            self._push(capacity)
        self._part.comm.add(levels.exchanged, agreed=True)
        return self._noted(self._read())

    def _finished(self, found: Counts) -> Propagated:
        """Compute all remaining levels from the few arcs into unvisited vertices; return the outcome, on the device."""
        size, ranks = self._levels.arc_section(self._arcs), self._part.comm.size
        arcs = self._offers[: size * ranks]
        self._levels.list_arcs(arcs, self._arcs)
        self._part.comm.share(arcs, np.arange(ranks + 1) * size, agreed=True)
        steps, pushed = self._steps + 1, self._pushed + found.vertices
        return self._levels.finish(arcs, self._arcs, self._forest.violated, steps, pushed)

    def _noted(self, found: Counts) -> Counts:
        self._arcs -= found.in_arcs
        self._violated = self._violated or found.violated
        return found

    def _push(self, capacity: int) -> None:
        size, ranks = self._levels.section(capacity), self._part.comm.size
        given = self._offers[: size * ranks]
        self._levels.push(given, capacity)
        self._part.comm.share(given, np.arange(ranks + 1) * size, agreed=True)
        self._levels.take_offers(given, capacity)

    def _read(self) -> Counts:
        counts = self._levels.counts
        self._arriving.copy_from(counts)
        self._levels.begin()  # while they come
        self._part.comm.wait(self._arriving.has_arrived)
        return self._levels.counted(self._arriving.array[: len(counts)])
