"""Names of a graph's vertices: ``Graph.names``, and vertices that are given by name."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, UnknownNameError, require
from suricate.base.parameters import shown
from suricate.graph.vertices import Coming
from suricate.intake.arrays import ARGUMENTS, PARTS, as_ids, checked_ids, on_host, same_length
from suricate.intake.name_table import NO_IDS, Prepared
from suricate.intake.names import Names
from suricate.state.column_map import Columns
from suricate.state.objects import GONE, Objects

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.graph.update import Given, Updater

VERTICES = ("source", "sources", "starts", "nodes", "vertices")  #: parameters of algorithms that are vertices


def names(graph: Graph) -> Names | None:
    """The names of the vertices (``su.Names``, in host memory), or None. Files read with ``relabel`` bring them.

    Frames show them, calls take them in place of ids, copies and snapshots keep them, and ``to_networkx`` uses them as
    nodes. A deleted vertex keeps its name until its id is recycled; a new vertex has none.

    Raises:
        ParameterError: a new value is neither ``su.Names`` nor None, or has ids that the graph does not have.
    """
    if callable(graph._names):
        with graph.exclusive():
            if callable(graph._names):
                set_names(graph, graph._names())
    return graph._names


def set_names(graph: Graph, names: Names | None) -> None:
    """Set :func:`names`; raises ``ParameterError`` for anything but ``su.Names`` or None, or more ids than vertices."""
    if names is not None and not isinstance(names, Names):
        raise ParameterError(f"names must be su.Names or None, got {shown(names)}")
    if names is not None and names.num_ids > graph.num_vertices:
        reason = f"names has {names.num_ids} ids, but the graph has {graph.num_vertices} vertices"
        raise ParameterError(f"{reason}: add vertices with insert_vertices()")
    graph._names = names


def vertices_of(graph: Graph, values: Any, argument: str) -> np.ndarray:
    """Return valid ids, on the host, of vertices given as ids, or by names that are texts.

    Integers are always ids, even if names are integers. ``argument``: what messages call the values.

    Raises:
        UnknownNameError: the graph has no names, or no vertex of such a name.
        VertexRangeError, DTypeError, ShapeError: the ids are invalid.
    """
    if not are_texts(values):
        return checked_ids(on_host(as_ids(values, argument)), graph.num_vertices, argument)
    if graph.names is None:
        kind, how = _kind_of(graph), "set graph.names" if hasattr(graph, "partition") else "give names= as you make it"
        raise UnknownNameError(f"{argument} has texts, but the {kind} has no names: {how}, or pass ids")
    return named_vertices(graph, values, argument)


def named_vertices(graph: Graph, names: Any, argument: str) -> np.ndarray:
    """Return the ids, on the host, of vertices of these names, as :func:`vertices_of` does."""
    if graph.names is None:
        raise UnknownNameError(f"{argument} was given, but the graph has no names: set graph.names")
    ids = graph.names.find(names)
    unknown = np.flatnonzero((ids < 0) | (ids >= graph.num_vertices))
    if len(unknown):
        index = int(unknown[0])
        name = list(names)[index]
        raise UnknownNameError(
            f"{argument}[{index}] is {shown(name)}: the {_kind_of(graph)} has no vertex of this name"
        )
    return ids


def _kind_of(owner: Any) -> str:
    return "graph" if hasattr(owner, "partition") else "log"


def as_parameters(graph: Graph, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with ids for texts that stand for vertices; ``UnknownNameError`` if there is none."""
    if graph._names is None:
        return params
    found = dict(params)
    for name, value in params.items():
        if isinstance(value, Mapping) and are_texts(list(value)):
            ids = vertices_of(graph, list(value), name)
            found[name] = dict(zip(ids.tolist(), value.values(), strict=True))
        elif name in VERTICES and isinstance(value, str):
            found[name] = int(vertices_of(graph, [value], name)[0])
        elif name in VERTICES and isinstance(value, AbstractSet) and are_texts(list(value)):
            found[name] = vertices_of(graph, sorted(value), name)
        elif name in VERTICES and hasattr(value, "__len__") and are_texts(value):
            found[name] = vertices_of(graph, value, name)
        elif name == "pairs" and isinstance(value, (tuple, list)):
            found[name] = tuple(vertices_of(graph, part, name) if are_texts(part) else part for part in value)
    return found


def are_texts(values: Any) -> bool:
    """Return whether a list, array or column holds texts, at least one; of a list or of objects the first decides."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind in tuple("biuf") or getattr(values, "ndim", 1) != 1:
        return False
    if isinstance(values, (list, tuple)) or kind == "O":
        return isinstance(next(iter(values), None), str)
    dtype = getattr(values, "dtype", getattr(values, "type", None))  # the latter of Arrow
    return (kind in ("U", "T") or "str" in str(dtype).lower()) and len(values) > 0


def names_of(names: Any, vertices: np.ndarray) -> np.ndarray:
    """Return the names that vertices have in ``names``, a ``Names``; None, in an object array, for those without."""
    named = names.has(vertices)
    if named.all():
        return names[vertices]
    column = np.full(len(vertices), None, object)
    column[named] = names[vertices[named]].tolist()
    return column


def columns_of(graph: Graph, vertices: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns that show ``vertices`` in a frame: ``vertex`` and, if the graph has names, ``name``."""
    columns = {"vertex": vertices}
    return columns if graph.names is None else {**columns, "name": names_of(graph.names, vertices)}


def columns(graph: Graph) -> Columns:
    """Attributes of the vertices by name, a mapping: ``graph.columns["age"] = [...]``; see :class:`Columns`.

    New, recycled and revived vertices have missing values; copies and snapshots contain the columns. An operator takes
    the name of a column as an argument of its function.
    """
    return Columns(graph, vertices_of)


def stamp(names: Any) -> tuple[Any, int]:
    """Return what a delta keeps of ``names``, or of what will return them: these, and their version."""
    return names, names.version if isinstance(names, Names) else 0


def forgetting(graph: Graph, ids: np.ndarray) -> Prepared | None:
    """Return the prepared removal of the names of ``ids``, which are to be new vertices; None: there are no names."""
    if (names := graph.names) is None:
        return None
    with names.exclusive():
        change = Prepared(names)
        change.forget(np.sort(ids[names.has(ids)]))
        return change


def check(graph: Graph) -> None:
    """Verify the names, and that their ids are vertices; raises ``CheckFailed``."""
    if isinstance(graph._names, Names):
        graph._names.check()
        require(graph._names.num_ids <= graph.num_vertices, "names have no more ids than the graph has vertices")


# -- nodes -------------------------------------------------------------------------------------------------------------


def objects(graph: Graph) -> Objects | None:
    """What ``from_networkx`` and ``from_igraph`` brought that neither names nor columns hold, or None.

    It goes back with ``to_networkx`` and ``to_igraph``, and is in copies and snapshots; set it to None to drop it.
    """
    return graph._objects


def set_objects(graph: Graph, given: Objects | None) -> None:
    """Set :func:`objects`; raises ``ParameterError`` for anything but ``Objects`` or None."""
    if not isinstance(given, Objects | None):
        raise ParameterError(f"objects can be set to None, to drop them, got {shown(given)}")
    graph._objects = given


def named_nodes(graph: Graph, vertices: np.ndarray) -> list[Any]:
    """Return the name of each vertex, or the object that is its node; None for those that have neither."""
    if graph.names is not None:
        return names_of(graph.names, vertices).tolist()
    nodes = None if graph._objects is None else graph._objects.nodes
    if nodes is None:
        return [None] * len(vertices)
    found = [nodes[vertex] if vertex < len(nodes) else GONE for vertex in vertices.tolist()]
    return [None if node is GONE else node for node in found]


def names_by_vertex(graph: Graph) -> list[Any] | None:
    """Return :func:`named_nodes` of all vertices, deleted ones included; None if there are neither names nor nodes."""
    if graph.names is None and (graph._objects is None or graph._objects.nodes is None):
        return None
    return named_nodes(graph, np.arange(graph.num_vertices))


def nodes_of(graph: Graph, vertices: np.ndarray) -> list[Any]:
    """Return vertices as :func:`named_nodes`, or ids of the nameless; ``RequirementError`` if an id is also a name."""
    nodes = named_nodes(graph, vertices)
    taken = {node for node in nodes if node is not None}
    for at, vertex in enumerate(vertices.tolist()):
        if nodes[at] is not None:
            continue
        if vertex in taken:
            reason = f"vertex {vertex} has no name, and another vertex has this name"
            raise RequirementError(f"{reason}: name it, or set graph.names and graph.objects to None")
        nodes[at] = vertex
    return nodes


def set_nodes(graph: Graph, nodes: Sequence[Any]) -> None:
    """Make ``nodes``, one per vertex and None for those without, the names of ``graph`` if they can be, else objects.

    Raises:
        ParameterError: two are equal, or one cannot be hashed.
    """
    taken: set[Any] = set()
    for at, node in enumerate(nodes):
        if not isinstance(node, Hashable):
            raise ParameterError(f"names[{at}] is {shown(node)}, which cannot be hashed")
        if node is not None and node in taken:
            raise ParameterError(f"names[{at}], {shown(node)}, is the name of two vertices")
        taken.add(node)
    taken.discard(None)
    if not taken or can_be_names(taken):
        graph.names = _names(nodes, taken)
    else:
        graph._objects = graph._objects or Objects()
        graph._objects.nodes = [GONE if node is None else node for node in nodes]


def nodes_in(options: dict[str, Any]) -> list[Any] | None:
    """Remove the option ``names`` from ``options`` if it is a list that is no ``Names``, and return it; else None."""
    given = options.get("names")
    if not isinstance(given, list) or not given or can_be_names(given):
        return None
    return options.pop("names")


def can_be_names(nodes: Collection[Any]) -> bool:
    """Return whether all nodes are texts, or all are integers that one type of 64 bits holds."""
    kinds = set(map(type, nodes))
    if kinds != {int}:
        return kinds == {str}
    low, high = min(nodes), max(nodes)
    return (low >= -(1 << 63) and high < 1 << 63) or (low >= 0 and high < 1 << 64)


def _names(nodes: Sequence[Any], taken: set[Any]) -> Names:
    """Return nodes as names; those that are None are left out. ``taken``: the others."""
    nameless = np.array([at for at, node in enumerate(nodes) if node is None], np.int64)
    kind = type(next(iter(taken), ""))
    unused = (kind(number) for number in count() if kind(number) not in taken)
    names = Names.of([next(unused) if node is None else node for node in nodes])
    names.forget(nameless, reuse=False)
    return names


# -- edges -------------------------------------------------------------------------------------------------------------


def known_edges(graph: Graph, src: Any, dst: Any) -> tuple[Any, Any, np.ndarray | None]:
    """Return edges given by names with ids instead, without those that have an unknown name.

    Returns:
        Sources, destinations, and a mask ``bool[n]`` of the edges returned; None if no names were given.

    Raises:
        ShapeError: ``src`` and ``dst`` differ in length.
    """
    texts = are_texts(src), are_texts(dst)
    if not any(texts) or (names := graph.names) is None:
        return src, dst, None
    ends = [
        names.find(end) if text else on_host(as_ids(end, "ids")) for end, text in zip((src, dst), texts, strict=True)
    ]
    same_length(ends[0], ends[1])
    known = np.logical_and.reduce([ids >= 0 for ids, text in zip(ends, texts, strict=True) if text])
    return ends[0][known], ends[1][known], known


def as_edges(
    graph: Graph, delete: Given | None, insert: Given | None, part: int
) -> tuple[Given | None, Given | None, NamedInsertion | None]:
    """Return both halves of a batch with ids in place of names, and what inserts edges between names (None: ids).

    ``delete`` loses edges that have an unknown name. ``part``: what messages call the insertion, an index of ``PARTS``.

    Raises:
        ParameterError, ShapeError, DTypeError: one end of edges to insert is ids, the other names; or they are invalid.
    """
    if delete is not None and (are_texts(delete[0]) or are_texts(delete[1])):
        delete = (*known_edges(graph, *delete[:2])[:2], delete[2])
    texts = () if insert is None else (are_texts(insert[0]), are_texts(insert[1]))
    if not any(texts) or graph.names is None:
        return delete, insert, None
    if not all(texts):
        raise ParameterError(f"{PARTS[part]}src and {PARTS[part]}dst must both be names, or both be ids")
    return delete, insert, NamedInsertion(graph)


class NamedInsertion:
    """An insertion of edges between names: those that are new, and vertices for them, come with the same change."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def apply(self, updater: Updater, delete: Given | None, insert: Given, parts: tuple[int, int]) -> Delta:
        """Delete edges given by ids, and insert edges given by names; arguments and errors as of ``Updater.apply``."""
        graph, names, size = self._graph, self._graph.names, updater.num_vertices
        assert names is not None
        src, dst, weight = insert
        with names.exclusive():
            with graph.alike():
                change = Prepared(names)
                ends = np.ascontiguousarray(change.intern_pairs(src, dst, size).T)
                more = max(change.num_ids - size, 0)
                if more:
                    delete = delete and self._checked(delete, size, parts[0])
            edges = *ends, weight
            if change.is_empty:
                return updater.apply(delete, edges, parts)
            return Coming(more, NO_IDS, change).apply(updater, delete, edges, parts)

    @staticmethod
    def _checked(delete: Given, size: int, part: int) -> Given:
        """Return edges to delete on the host, whose ids were checked ahead of the vertices to come."""
        ends = zip(delete[:2], ARGUMENTS[part][:2], strict=True)
        src, dst = (checked_ids(on_host(as_ids(end, name)), size, name) for end, name in ends)
        return src, dst, delete[2]
