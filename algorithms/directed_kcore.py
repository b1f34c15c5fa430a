"""Core numbers of directed graphs, NetworkX's ``core_number`` of a ``DiGraph``: in- and out-edges count alike.

The k-core is the largest set of vertices each of which has at least k arcs to or from others of the set; two arcs
between the same vertices count twice. This is done by operators alone, as ``suricate.algorithms.kcore.by_operators``
explains: numbers fall from upper bounds after deletions, and rise by one per round after insertions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.kcore import KCoreResult
from suricate.algorithms.kcore.by_operators import CoreNumbersByOperators
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm, Requirements

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.graph.delta import Delta


class DirectedKCore(Algorithm):
    """Core numbers by in- plus out-degree of a directed graph with in-edges; self-loops and weights are ignored.

    The result is a :class:`KCoreResult`. An update visits the edges of candidates and of changed vertices, and all
    vertices once per level by which numbers rise. On CUDA it waits.

    Raises:
        RequirementError: an undirected graph, or one without in-edges.
    """

    name = "directed_kcore"
    requires = Requirements(in_edges=True, undirected=False)
    update_kind = "dynamic"
    recompute_share, learns = 0.002, True

    def __init__(self) -> None:
        self._numbers: CoreNumbersByOperators = None  # type: ignore[assignment]
        self._largest: int | None = None  # None: changed since it was read

    def compute(self, graph: Graph) -> None:
        """Compute all core numbers from scratch."""
        self._largest = None
        if self._numbers is None or len(self._numbers.core) != graph.num_vertices:
            self._numbers = CoreNumbersByOperators(graph.device)
        self._numbers.compute(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Lower the core numbers that deletions reduce, then raise those that insertions increase."""
        self._largest = None
        deleted, inserted = delta.edge_set("deleted"), delta.edge_set("inserted")
        if self.should_recompute(graph, deleted, inserted):
            self.recomputes()
            self._numbers.compute(graph)
        else:
            self._numbers.update(graph, deleted, inserted)

    @property
    def result(self) -> KCoreResult:
        """The core numbers, in a new array, and the largest of them."""
        return KCoreResult(self._numbers.core.copy(), self._most())

    def at(self, vertices: Array) -> KCoreResult:
        """Return the core numbers of ``vertices`` (ids, ``int64[k]``), and the largest of all vertices."""
        return KCoreResult(self._numbers.core[vertices], self._most())

    def _most(self) -> int:
        """Return the largest core number; it is read from the device once per change."""
        if self._largest is None:
            core = self._numbers.core
            self._largest = int(core.max()) if len(core) else 0
        return self._largest

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        live: np.ndarray | None = None,
        **params: Any,
    ) -> KCoreResult:
        """Return core numbers by definition: for every k, vertices with fewer than k arcs are removed.

        ``src`` and ``dst`` are the ends of all arcs (two per undirected edge), ``weight`` their weights, None without
        weights; keyword parameters are those of the algorithm, except ``live``, which is not read.
        """
        src, dst = src[src != dst], dst[src != dst]
        core, k = np.zeros(num_vertices, np.uint32), 0
        while len(src):
            k += 1
            while (gone := (_degrees(src, dst, num_vertices) < k)[np.stack([src, dst])].any(0)).any():
                src, dst = src[~gone], dst[~gone]
            core[src] = core[dst] = k
        return KCoreResult(core, int(core.max(initial=0)))

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: id and number per arc end, an offset and two numbers per vertex."""
        return 2 * graph.num_edges * 2 * ID_BYTES + graph.num_vertices * (OFFSET_BYTES + 2 * ID_BYTES)


def _degrees(src: np.ndarray, dst: np.ndarray, num_vertices: int) -> np.ndarray:
    return np.bincount(src, minlength=num_vertices) + np.bincount(dst, minlength=num_vertices)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`DirectedKCore`, which registers it as a plugin."""
    return [DirectedKCore]
