"""Core numbers kept current: the largest k for which a vertex is in the k-core, NetworkX's ``core_number``.

The k-core is the largest set of vertices each of which has at least k neighbours in the set. Core numbers are computed
from scratch by a peel and repaired around each batch (``suricate.algorithms.kcore.core_numbers`` has the method and the
papers): deletions lower numbers, starting at their ends; insertions raise candidates; if there are too many candidates,
the device computes from scratch. ``kernels=False`` does the same by operators alone
(``suricate.algorithms.kcore.by_operators``).

Complexity: O(n + m) from scratch; an update visits the edges of candidates and of changed vertices, once per level by
which numbers change.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.kcore.by_operators import CoreNumbersByOperators
from suricate.algorithms.kcore.core_numbers import CoreNumbers, programs
from suricate.algorithms.shared.matrices import adjacency, entries_of
from suricate.base.html import result_html
from suricate.base.parameters import flag
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm, Requirements

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.base.types import StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.plugins.step import Step

USUAL_ROW = 32  #: arcs per vertex of the graphs on which ``recompute_share`` was measured
MOST_WEIGHT = 16  #: of an insertion on graphs with fewer arcs per vertex, whose levels are large


class KCoreResult(NamedTuple):
    """``core`` is uint32[n], the core numbers; ``degeneracy`` is the largest of them, an int."""

    core: ReturnedArray
    degeneracy: int

    def _repr_html_(self) -> str:
        return result_html(self)


class KeptCores(Algorithm):
    """Base class: core numbers in ``_numbers``, and the largest of them, read from the device once per change."""

    update_kind = "dynamic"
    recompute_share, learns = 0.002, True

    def __init__(self) -> None:
        self._numbers: CoreNumbers | CoreNumbersByOperators = None  # type: ignore[assignment]
        self._largest: int | None = None  # None: changed since it was read

    def compute(self, graph: Graph) -> None:
        """Compute all core numbers from scratch."""
        self._largest = None
        if self._numbers is None or len(self._numbers.core) != graph.num_vertices:
            self._numbers = self._made(graph)
        self._numbers.compute(graph)

    @abstractmethod
    def _has_loops(self, graph: Graph) -> bool:
        """Return whether loops or kernels of this folder walk ``graph``; else operators do."""

    def _made(self, graph: Graph) -> CoreNumbers | CoreNumbersByOperators:
        return CoreNumbers(graph.device) if self._has_loops(graph) else CoreNumbersByOperators(graph.device)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Lower the core numbers that deletions reduce, then raise those that insertions increase."""
        self._largest = None
        changed: Any = partial(delta.arcs, placed=True) if self._has_loops(graph) else delta.edge_set
        deleted, inserted = changed("deleted"), changed("inserted")
        arcs = graph.most_arcs * (2 if graph.directed else 1)
        row = arcs / max(graph.num_vertices, 1) / USUAL_ROW  # what it takes to lower a vertex
        level = min(max(1.0, 1 / max(row, 1 / MOST_WEIGHT) ** 2), MOST_WEIGHT)  # what an insertion may reach
        if self._has_loops(graph) and not graph.device.is_cuda:  # they give up before much is lost
            row = level = row / 2
        if self.should_recompute(graph, deleted, inserted, times=row, each=level):
            self.recomputes()
            self._numbers.compute(graph)
        elif not self._numbers.update(graph, deleted, inserted):
            self.recomputes("too many vertices may have another core number")
            if self.pace is not None:
                self.pace.gave_up()

    @property
    def result(self) -> KCoreResult:
        """The core numbers, in a new array, and the largest of them."""
        return KCoreResult(self._numbers.core.copy(), self._most())

    def at(self, vertices: Array) -> KCoreResult:
        """Return the core numbers of ``vertices`` (ids, ``int64[k]``), and the largest of all vertices."""
        return KCoreResult(self._numbers.core[vertices], self._most())

    def _most(self) -> int:
        if self._largest is None:
            core = self._numbers.core
            self._largest = int(core.max()) if len(core) else 0
        return self._largest


class KCore(KeptCores):
    """Core numbers of an undirected graph, a :class:`KCoreResult`; self-loops and weights are ignored.

    An update takes one launch and does not wait; reading the result waits for the largest number.

    Args:
        kernels: False: by operators only, without the kernels of this algorithm; slower, and an update waits.

    Raises:
        ParameterError: ``kernels`` is neither True nor False.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 2], [1, 2, 0, 3], directed=False, device="cpu")
        >>> g.compute("kcore").core.tolist()
        [2, 2, 2, 1]
    """

    name = "kcore"
    uses_weights = False
    requires = Requirements(undirected=True)
    if_directed = "directed_kcore"

    def __init__(self, kernels: bool = True) -> None:
        super().__init__()
        self.kernels = flag("kernels", kernels)

    def _has_loops(self, graph: Graph) -> bool:
        return self.kernels

    def event_step(self, graph: Graph) -> Step | str:
        """Return how ``suricate.replay`` updates the numbers edge by edge; a text, the reason, if it cannot."""
        if not isinstance(self._numbers, CoreNumbers):
            return "kcore has no step without its kernels"
        self._largest = None
        return self._numbers.event_step(graph, KCoreResult)

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def programs(cls, view: StoreView) -> list[Program]:
        """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
        return programs(view)

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
        """Return core numbers by definition, in NumPy: for every k, vertices with at most k neighbours are removed."""
        other = src != dst
        matrix = adjacency(src[other], dst[other], None, num_vertices)
        begin, neighbor = matrix.indptr, matrix.indices
        left, core = np.diff(begin).astype(np.int64), np.zeros(num_vertices, np.uint32)
        there, k = np.flatnonzero(left), 0  # with neighbours; those without have core number 0
        while len(there):
            k = max(k, int(left[there].min()))
            gone = there[left[there] <= k]
            while len(gone):
                core[gone], left[gone] = k, -1
                found = neighbor[entries_of(begin, gone)]
                found, count = np.unique(found[left[found] > 0], return_counts=True)
                left[found] -= count
                gone = found[left[found] <= k]
            there = there[left[there] >= 0]
        return KCoreResult(core, int(core.max(initial=0)))

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: an id and a number per arc, an offset and two numbers a vertex."""
        edges = int(graph.degrees().sum(dtype=np.int64))
        return edges * 2 * ID_BYTES + graph.num_vertices * (OFFSET_BYTES + 2 * ID_BYTES)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`KCore`, which registers it as a plugin."""
    return [KCore]
