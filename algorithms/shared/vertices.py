"""Parameters that name several vertices, such as ``sources``: checked once, on the host."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.shared.live import NamedVertices
from suricate.base.parameters import integer, shown
from suricate.errors import ParameterError, VertexRangeError
from suricate.intake.arrays import as_ids, checked_ids, on_host, range_message
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.repair.forest import Forest


class Vertices:
    """Vertices given as a parameter, at least one; repeats are ignored.

    Args:
        label: name of the parameter in errors, for instance ``"bfs: sources"``.
        values: ids: a list, a set, or a one-dimensional array of any library.

    Raises:
        ParameterError: there are none.
        DTypeError, ShapeError, VertexRangeError: they are not ids.
    """

    def __init__(self, label: str, values: Any) -> None:
        given = list(values) if isinstance(values, AbstractSet) else values
        self.label = label
        self.given = np.array(on_host(as_ids(given, label)))  #: a copy, in the order of the user
        if not len(self.given):
            raise ParameterError(f"{label} names no vertex: name at least one")
        lowest = int(self.given.min())
        if lowest < 0:
            checked_ids(self.given, 1 << 32, label)
        self.ids = np.unique(self.given).astype(np.int64)  #: ascending
        self._named = NamedVertices(label, self.given)

    def demand(self, graph: Graph) -> None:
        """Raise ``VertexRangeError`` unless all these vertices are live in ``graph``; waits if any may be deleted."""
        checked_ids(self.given, graph.num_vertices, self.label)
        self.note(graph)
        self.demand_noted()

    def note(self, graph: Graph) -> None:
        """Record on the device which of these vertices are live in ``graph``, for :meth:`demand_noted`; no wait."""
        self._named.note(graph)

    def demand_noted(self) -> None:
        """Raise ``VertexRangeError`` if a vertex was deleted at the last :meth:`note`; waits if one may have been."""
        self._named.demand()

    def mask(self, graph: Graph) -> Array:
        """Return ``uint8[num_vertices]`` on the device of ``graph``: 1 at these vertices."""
        marked = np.zeros(graph.num_vertices, np.uint8)
        marked[self.ids] = 1
        return graph.device.xp.asarray(marked)


def optional_vertices(label: str, values: Any) -> Vertices | None:
    """Return ``values`` as :class:`Vertices`, with ``label`` in errors; None for None."""
    return None if values is None else Vertices(label, values)


class _Unsaid(int):
    """The class of :data:`FIRST`."""


FIRST = _Unsaid(0)  #: the default of a parameter ``source``, which tells it from a 0 that was given


class Sources:
    """The parameters ``source`` and ``sources`` of a search: one vertex, or several, of which the nearest counts.

    Attributes:
        label: name of the algorithm.
        several: whether ``sources`` was given.
    """

    def __init__(self, label: str, source: int, sources: Any) -> None:
        self.label, self.several = label, sources is not None
        if self.several and source is not FIRST:
            raise ParameterError(f"{label}: give source or sources, not both")
        source = int(integer(f"{label}: source", source))
        if source < 0:
            raise VertexRangeError(f"{label}: source is {shown(source)}: ids are not negative")
        self._vertices = Vertices(f"{label}: sources", sources) if self.several else None
        self._source = source  # any size, until it is compared with a graph
        self._named = NamedVertices(f"{label}: source", source)

    def demand(self, graph: Graph) -> None:
        """Raise ``VertexRangeError`` unless all sources are live vertices of ``graph``; waits if any may be deleted."""
        if self._vertices is not None:
            self._vertices.demand(graph)
            return
        if self._source >= graph.num_vertices:
            raise VertexRangeError(range_message(f"{self.label}: source", None, self._source, graph.num_vertices))
        self.note(graph)
        self.demand_noted()

    def note(self, graph: Graph) -> None:
        """Record on the device which sources are live in ``graph``, for :meth:`demand_noted`. Does not wait."""
        (self._named if self._vertices is None else self._vertices).note(graph)

    def demand_noted(self) -> None:
        """Raise ``VertexRangeError`` if a source was deleted at the last :meth:`note`; waits if one may have been."""
        if self._vertices is None:
            self._named.demand()
        else:
            self._vertices.demand_noted()

    def frontier(self, graph: Graph) -> Frontier:
        """Return the sources as a frontier on the device of ``graph``."""
        if self._vertices is None:
            return graph.frontier(self._source, trusted=True)
        ids = graph.device.xp.asarray(self._vertices.ids, np.uint32)
        return graph.frontier(ids, trusted=True)

    def argument(self, graph: Graph) -> Any:
        """Return the argument ``source`` of edge functions: the id of the source; of several the mask, ``uint8[n]``."""
        return self._source if self._vertices is None else self._vertices.mask(graph)

    def resize(self, graph: Graph, forest: Forest) -> None:
        """Give the words of ``forest``, and its mask of sources, an entry for each vertex of ``graph``."""
        if self.several and len(forest.words) != graph.num_vertices:
            forest.rebind(self.argument(graph))
        forest.words.resize(graph.num_vertices)


def source_ids(params: Mapping[str, Any]) -> np.ndarray:
    """Return the distinct ids, ascending, in the parameters ``source`` and ``sources`` of a search."""
    several = params.get("sources")
    return np.array([params.get("source", 0)]) if several is None else np.unique(np.array([*several], np.int64))
