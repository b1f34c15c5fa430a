"""Core numbers of directed graphs, NetworkX's ``core_number`` of a ``DiGraph``: in- and out-edges count alike.

The k-core is the largest set of vertices each of which has at least k arcs to or from others of the set; two arcs
between the same vertices count twice. The loops of ``suricate.algorithms.kcore.core_numbers`` walk in- and out-edges.
On several processes operators do it alone, as ``suricate.algorithms.kcore.by_operators`` explains: numbers fall from
upper bounds after deletions, and rise by one per round after insertions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.kcore import KCoreResult, KeptCores
from suricate.algorithms.kcore.core_numbers import programs
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Requirements

if TYPE_CHECKING:
    from suricate.base.types import StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph
    from suricate.plugins.algorithm import Algorithm


class DirectedKCore(KeptCores):
    """Core numbers by in- plus out-degree of a directed graph with in-edges; self-loops and weights are ignored.

    The result is a :class:`KCoreResult`. An update visits the edges of candidates and of changed vertices. On CUDA it
    does not wait; reading the result waits for the largest number.

    Raises:
        RequirementError: an undirected graph, or one without in-edges.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 0], [1, 2, 0, 3], in_edges=True, device="cpu")
        >>> g.compute("directed_kcore").core.tolist()
        [2, 2, 2, 1]
    """

    name = "directed_kcore"
    requires = Requirements(in_edges=True, undirected=False)

    def _has_loops(self, graph: Graph) -> bool:
        return graph.partition is None

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def programs(cls, view: StoreView) -> list[Program]:
        """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
        return programs(view, both=True)

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
        """Return core numbers by definition: for every k, vertices with fewer than k arcs are removed."""
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
