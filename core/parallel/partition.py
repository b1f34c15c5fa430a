"""How a divided graph runs operators, and what ranks exchange.

Operators are run by the :attr:`Partition.local` graph, an ordinary graph over the local stores, and then exchange what
they wrote (``pushes``, ``pulls``, ``maps``, ``intersections``). Rows of others come on demand (``rows``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.intake.arrays import sorted_distinct
from suricate.parallel import forest, maps, pulls, pushes, unions
from suricate.parallel.on_demand import intersections
from suricate.parallel.on_demand.rows import Rows, at_a_time, slices
from suricate.placement.placement import Placement
from suricate.state.words import Words

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.base.types import Direction
    from suricate.graph import Graph
    from suricate.repair.forest import Forest
    from suricate.state.union_find import UnionFind


class Partition(Placement):
    """The part of a graph that one rank holds, its communication, and the operators."""

    # -- operators: see ``suricate.operators`` -------------------------------------------------------------------------

    advance, propagate = pushes.advance, pushes.propagate
    neighbor_reduce, converge = pulls.neighbor_reduce, pulls.converge
    vertex_map, edge_map, intersect = maps.vertex_map, maps.edge_map, intersections.intersect

    def unite(self, sets: UnionFind, roots: Array) -> None:
        """Merge all ranks' unions into ``sets``; ``roots``: its roots when all ranks had equal sets. Collective."""
        unions.unite(self, sets, roots)

    def repairs(self, words: Forest, graph: Graph) -> forest.Repairs:
        """Return the object that computes and repairs the dependence forest ``words`` on ``graph``."""
        return forest.Repairs(self, words, graph)

    def slices(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of vertices ``(begin, end)``, equal on all ranks, whose rows fit into memory; collective."""
        return slices(self.degrees(), min(self.comm.allgather(at_a_time(self))))

    def rows(self, over: Direction = "out") -> Rows:
        """Return the rows of the divided graph over a direction, fetched from others when needed; collective."""
        return Rows(self, self.follow().view(over), self.degrees() if over == "out" else self.graph.degrees(over))

    # -- exchange ------------------------------------------------------------------------------------------------------

    def union(self, ids: Array) -> Array:
        """Return the ids that any rank passes, ascending, each once; collective."""
        return sorted_distinct(self.comm.joined(ids.astype(np.uint32)), self.xp)

    def joined(self, ids: Array) -> Array:
        """Return the ids of all ranks, each of which owns what it passes, ascending; collective."""
        found = self.comm.joined(self.xp.sort(ids))
        return found if self.ownership.is_ranges else self.xp.sort(found)

    def share_rows(self, ids: Array | None, arrays: Sequence[Any]) -> None:
        """Copy the entries of ``arrays`` from the owner of each vertex to all ranks.

        Args:
            ids: the vertices, ascending, each once, the same on every rank; None: all.
            arrays: arrays or ``Words`` indexed by vertex, written in place; they may be shorter than ``num_vertices``.
                Those of which each rank keeps its own entries are left as they are.
        """
        for array in arrays:
            data = array.data if isinstance(array, Words) else array
            if self.is_own(data):
                continue
            if ids is None:
                self.share(data)
                continue
            known = ids if len(data) >= self.graph.num_vertices else ids[ids < len(data)]
            if len(known):
                data[known] = self.in_order(known, self.comm.joined(data[self.owned(known)]))
