"""Weakly connected components kept current: from scratch, after insertions, and exactly after deletions.

From scratch: Afforest, on CUDA after the vertices near a hub (``suricate.algorithms.wcc.afforest``). Insertions unite
the ends of the new edges in a union-find, as in Meerkat (Concessao et al.): the work is that of the batch. The first
deletion makes a forest of the components, a pass over all edges: on the CPU a spanning forest (``spanning_forest.py``),
which replays use as well, on CUDA one of words (``component_forest.py``), which many threads can repair. From then on
it takes the place of the union-find, and changes are repaired around what they touch. A stream of insertions alone
never pays for the forest; a batch that is too large to repair it drops it, and the next deletions are recomputed as
well, before it is built again. Where a batch is recomputed only to time that, the forest is repaired as well.

The work of an update with deletions: on the CPU the smaller one of two components that join, and of the two sides of a
deleted tree edge; on CUDA the edges of the vertices that may have lost their support, of those that are cut off, and of
the trees that are renamed. A directed graph needs in-edges for that; without them a batch that may delete is computed
from scratch, and so is every such batch on a graph of several processes; there each process unites all inserted edges,
without an exchange. With ``kernels=False`` all edges are united from scratch, and so is the batch, unless it may delete
(``suricate.algorithms.wcc.by_operators``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.live import DeletedCount, deleted_among
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.wcc import afforest, by_operators, component_forest, divided
from suricate.algorithms.wcc.afforest import SAMPLED, connect
from suricate.algorithms.wcc.component_forest import ComponentForest
from suricate.algorithms.wcc.spanning_forest import SpanningForest
from suricate.base.html import result_html
from suricate.base.parameters import flag
from suricate.kernels import NO_ARCS
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm
from suricate.state.union_find import UnionFind

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.base.types import ArcList, PlacedArcs, StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.plugins.step import Step

    Arcs = ArcList | PlacedArcs

#: After a large deletion components are recomputed, and the forest is dropped. To build it costs 20 to 35 computations,
#: so this number of small deletions is recomputed first: between large deletions the forest would be built each time.
COMPUTED_FIRST = 16


class WCCResult(NamedTuple):
    """``label`` is uint32[n], the smallest vertex of the component; ``num_components`` is their number, an int.

    A deleted vertex is in no component, and has its own label.
    """

    label: ReturnedArray
    num_components: int

    def _repr_html_(self) -> str:
        return result_html(self)


class WCC(Algorithm):
    """Weakly connected components: two vertices are in one if a path joins them, regardless of edge direction.

    The result is a :class:`WCCResult`. An update takes one launch and does not wait; reading the result takes a pass
    over all vertices. On the CPU, after the first deletion, reading copies the labels and visits the vertices whose
    labels may have changed since.

    Args:
        kernels: False: by operators only, without the kernels of this algorithm; slower, and batches with deletions
            are computed from scratch.

    Raises:
        ParameterError: ``kernels`` is neither True nor False.

    Example:
        >>> g = su.Graph.from_coo([0, 3], [1, 2], num_vertices=5, directed=False, device="cpu")
        >>> parts = g.compute("wcc")
        >>> parts.label.tolist(), parts.num_components
        ([0, 0, 2, 2, 4], 3)
    """

    name = "wcc"
    uses_weights = False
    update_kind = "dynamic"
    divided, divided_kernels = "computes from scratch after deletions", True
    groups = "label"
    recompute_share, learns = 0.005, True  # of deletions
    suites = ("algorithms", "ablations", "crossover", "demo", "short", "stream", "replay", "scaling")

    def __init__(self, kernels: bool = True) -> None:
        self.kernels = flag("kernels", kernels)
        self._graph: Graph = None  # type: ignore[assignment]  # whose scratch memory reading the result needs
        self._sets: UnionFind = None  # type: ignore[assignment]
        self._largest: Array = None
        self._forest: ComponentForest | SpanningForest | None = None  # once there, the union-find is not kept current
        self._deleted = DeletedCount()
        self._count: int | None = None  # of the sets; None: not known
        self._recomputations = 0  # deletions that are recomputed before the next forest

    def compute(self, graph: Graph) -> None:
        """Find the components from scratch."""
        self._graph, self._forest, self._count = graph, None, None
        self._deleted.note(graph)
        sets, size = self._sets, graph.num_vertices
        if sets is None or sets.device is not graph.device or sets.num_elements > size:
            self._sets = graph.union_find()
        else:
            sets.reset()
            if sets.num_elements < size:
                sets.resize(size)
        if self.kernels:
            self._largest = connect(graph, self._sets)
        else:
            by_operators.connect(graph, self._sets)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Unite the ends of inserted edges; after the first deletion, repair the forest of components instead."""
        if not self.kernels or graph.partition is not None:
            self._update_by_unions(graph, delta)
            return
        inserted = delta.arcs("inserted", placed=True) or NO_ARCS
        deleted = delta.arcs("deleted", placed=True) or NO_ARCS
        if deleted.size and (not graph.has_in_edges or self.should_recompute(graph, deleted)):
            self._compute_from_scratch(graph, deleted, inserted)
            return
        self._deleted.note(graph)
        if self._forest is None and not deleted.size:
            added = graph.num_vertices - self._sets.num_elements
            if added:
                self._sets.resize(graph.num_vertices)
            united = self._sets.union_arcs(inserted)
            if self._count is not None:
                self._count += added - united
        elif self._forest is None and self._recomputations:
            self._recomputations -= 1
            self._discard_pace()
            self.recomputes("a large deletion dropped the forest of components, which is built later")
            self.compute(graph)
        elif self._forest is None or graph.num_vertices > self._forest.capacity:
            self._build_forest(graph)
        else:
            self._forest.repair(graph, deleted, inserted)

    def _update_by_unions(self, graph: Graph, delta: Delta) -> None:
        """Unite the ends of the inserted edges of ``delta``; if it has deletions, compute from scratch."""
        if delta.edge_set("deleted").size:
            of = "on several processes" if self.kernels else "without kernels"
            self.recomputes(f"{of}, deletions are computed from scratch")
            self.compute(graph)
            return
        self._deleted.note(graph)
        self._count = None
        self._sets.resize(graph.num_vertices)
        if self.kernels:
            self._sets.union_arcs(delta.arcs("inserted"))  # which every process has
        else:
            by_operators.connect(graph, self._sets, delta.edge_set("inserted"))

    def _compute_from_scratch(self, graph: Graph, deleted: Arcs, inserted: Arcs) -> None:
        """Compute from scratch; also repair the forest if the update policy is going to need it for the next batch.

        That is if the policy only measures this computation, to compare it with updates. ``deleted`` and ``inserted``
        are the arcs of the batch; ``graph`` holds the change already.
        """
        forest = self._forest
        if not graph.has_in_edges:
            self.recomputes("the graph keeps no in-edges")
        self.compute(graph)
        if forest is not None and self._ends_comparison() and graph.num_vertices <= forest.capacity:
            forest.repair(graph, deleted, inserted)
            self._forest = forest
        elif forest is not None or self._recomputations:
            self._recomputations = COMPUTED_FIRST

    def _ends_comparison(self) -> bool:
        """Return whether the update policy makes this computation only to compare its time with that of updates.

        Then the next batch of this size is going to be an update. Also ends the measurement of the time.
        """
        if self.pace is None or not self.pace.comparing:
            return False
        self.pace.finish()
        return True

    def _build_forest(self, graph: Graph) -> None:
        """Compute from scratch, and build the forest of components, which later updates repair."""
        self._discard_pace()
        self.recomputes("a deletion needs the forest of components, which is built now")
        if not graph.device.is_cuda:
            self._forest = SpanningForest(graph)
            return
        self.compute(graph)
        self._forest = ComponentForest(graph.device)
        self._forest.build(graph, self._sets.parent, self._largest)

    def _discard_pace(self) -> None:
        """Discard the measured time of this update: it repaired no forest, so the update policy must not rely on it."""
        if self.pace is not None:
            self.pace.discard()

    def event_step(self, graph: Graph) -> Step | str:
        """Return the :class:`Step` by which ``suricate.replay`` updates a spanning forest event by event.

        The forest replaces the union-find from now on. Returns a text, the reason, if such a step is not possible.
        """
        if not self.kernels:
            return "wcc has no step without its kernels"
        if not graph.has_in_edges:
            return "wcc needs in-edges for a step"
        if not isinstance(self._forest, SpanningForest):
            self._forest = SpanningForest(graph)
        return self._forest.step(graph, self._answer_after)

    def _answer_after(self, label: Array, count: Array) -> WCCResult:
        """Return the result of recorded events, none of which has deleted or revived a vertex.

        ``label``, the labels after each event, becomes part of the result unchanged. ``count`` is the number of
        components after each event, with every deleted vertex counted as a component; the number of deleted vertices
        is subtracted from each entry.
        """
        return WCCResult(label, count - int(self._deleted))

    @property
    def result(self) -> WCCResult:
        """The smallest vertex of each component, in a new array, and the number of components; waits for the device."""
        if self._forest is None:
            label, count = self._sets.labels(), self._sets.component_count
        else:
            label, count = self._forest.labels(self._graph)
        sets = int(self._graph.device.to_numpy(count)[0])
        self._count = None if self._forest or self._graph.device.is_cuda else sets
        return WCCResult(label, sets - int(self._deleted))

    def at(self, vertices: Array) -> WCCResult | None:
        """Return the labels of ``vertices`` (ids, ``int64[k]``), and the number of components.

        Returns None on CUDA, where the whole :attr:`result` has to be computed.
        """
        if isinstance(self._forest, SpanningForest):
            label, count = self._forest.labels_at(vertices)
            return WCCResult(label, int(count[0]) - int(self._deleted))
        if self._graph.device.is_cuda:
            return None
        if self._count is None:
            self._count = int(self._sets.flatten()[0])
        return WCCResult(self._sets.labels_at(vertices), self._count - int(self._deleted))

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def programs(cls, view: StoreView) -> list[Program]:
        """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
        return [*component_forest.programs(view), *afforest.programs(view), *divided.programs(view)]

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
        **_: Any,
    ) -> WCCResult:
        """Return SciPy's components, each labelled by its smallest vertex."""
        from scipy.sparse import csgraph

        matrix = adjacency(src, dst, None, num_vertices)
        count, component = csgraph.connected_components(matrix, directed=True, connection="weak")
        smallest = np.full(count, num_vertices, np.int64)
        np.minimum.at(smallest, component, np.arange(num_vertices))
        return WCCResult(smallest[component].astype(np.uint32), count - deleted_among(live))

    def traffic(self, graph: Graph) -> int:
        """Return the bytes that Afforest must move: per vertex sampled ids, an offset, and a label read and written."""
        return graph.num_vertices * (SAMPLED * ID_BYTES + OFFSET_BYTES + 2 * ID_BYTES)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`WCC`, which registers it as a plugin."""
    return [WCC]
