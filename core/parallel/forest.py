"""The dependence forest on a graph of several ranks: pushes from the roots, whatever changed.

Every vertex gets its first word on every rank; then ``propagate`` with ``argmin`` runs as of any algorithm. Repairs
compute from scratch so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EMPTY
from suricate.operators.results import Propagated
from suricate.parallel import pushes
from suricate.parallel.arguments import frontier_of
from suricate.parallel.pushes import keys_differ, words_less

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.parallel.partition import Partition
    from suricate.repair.forest import Forest
    from suricate.state.frontier import Frontier


class Repairs:
    """Computes a forest on a graph of several ranks."""

    def __init__(self, part: Partition, forest: Forest, graph: Graph) -> None:
        self.part, self.forest, self.graph = part, forest, graph
        self.local = forest.of_same_functions()

    def run(self, roots: Frontier | None, changes: Any, order: Any) -> Propagated:
        """Compute from roots; None: the vertices that are roots by what they start with."""
        graph, words = self.part.follow(), self.forest.words
        self.local.compute(graph, frontier_of(graph, self.part.xp.empty(0, np.uint32)))
        if roots is None:
            parent, xp = words.parent, self.part.xp
            roots = frontier_of(graph, xp.flatnonzero(parent == xp.arange(len(parent))).astype(np.uint32))
        done = pushes.propagate(
            self.part, roots, self.forest.offer, words, args=(words, *self.forest.args), reduce="argmin",
            max_steps=graph.num_vertices + 1,  # words may become smaller for ever
        )  # fmt: skip
        self._note_violations()
        return done

    def _note_violations(self) -> None:
        """Note whether a vertex has a parent whose keys are not below its own."""
        words, xp = self.forest.words, self.part.xp
        parent = words.parent
        below = xp.flatnonzero((parent != EMPTY) & (parent != xp.arange(len(parent))))
        own, above = words.data[below], words.data[parent[below]]
        grows = words_less(above, own) & keys_differ(above, own, words.layout)
        if not grows.all():
            self.forest.violated[0] = 1
