"""Hints for those who know NetworkX: names of its methods, pairs in place of arrays; and what completion offers."""

from __future__ import annotations

from typing import Any

from suricate.base.errors import DTypeError

PAIRS: Any = object()  #: stands for an argument that was not given

HINTS = {  # method or attribute of NetworkX -> what does the same here
    "add_edge": "insert_edges([u], [v]), or with [weight]",
    "add_edges_from": "insert_edges(src, dst), of pairs insert_edges(*zip(*pairs))",
    "add_weighted_edges_from": "insert_edges(src, dst, weight), of triples insert_edges(*zip(*triples))",
    "add_node": "insert_vertices(), which returns the new id; names come with insert_edges(names, names)",
    "add_nodes_from": "insert_vertices(count)",
    "remove_edge": "delete_edges([u], [v])",
    "remove_edges_from": "delete_edges(src, dst)",
    "remove_node": "delete_vertices([v])",
    "remove_nodes_from": "delete_vertices(ids)",
    "has_edge": "(u, v) in graph, or has_edges(src, dst)",
    "has_node": "graph.live[v], or name in graph.names",
    "get_edge_data": "edge_weights(src, dst)",
    "nodes": "live_vertices, or names",
    "number_of_nodes": "num_live",
    "number_of_edges": "num_edges",
    "order": "num_live",
    "size": "num_edges",
    "adj": "adjacency(v)",
    "succ": "adjacency(v)",
    "pred": "adjacency(v, 'in')",
    "successors": "neighbors(v)",
    "predecessors": "neighbors(v, 'in')",
    "in_degree": "degrees('in')",
    "out_degree": "degrees()",
    "is_directed": "directed",
    "is_multigraph": "a set of edges: a graph has no parallel edges",
    "update": "apply(su.Batch(insert, delete))",
    "copy": "copy.copy(graph), or graph.to(device)",
    "clear": "a new Graph, or delete_vertices(graph.live_vertices)",
    "reverse": "from_coo(dst, src, weight) of graph.edges()",
    "subgraph": "from_coo(...) of the edges to keep",
    "to_undirected": "from_coo(*graph.edges(), directed=False)",
    "to_directed": "from_coo(*graph.edges(), directed=True)",
}
INTERNAL = {  # what rooms, operators and algorithms need of a graph, and users do not
    "alike", "demand_owner", "edge_table", "ingest", "live_arrays", "most_arcs", "most_deleted", "owner", "partition",
    "reserved", "walks_rows", "workspace",
}  # fmt: skip


class Hint:
    """A name of NetworkX that is missing here: reading it raises ``AttributeError``, which says what does the same."""

    def __init__(self, name: str) -> None:
        self._name, self._hint = name, f"NetworkX's {name} is here: {HINTS[name]}"

    def __get__(self, thing: Any, owner: type) -> Any:
        missing = f"{owner.__name__!r} object has no attribute {self._name!r}"
        raise AttributeError(f"{missing}; {self._hint}", name=self._name, obj=thing)


class Shown(type):
    """The type of :class:`Hinted`: ``dir`` and ``help`` of the class show what users may call, as completion does."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if _is_shown(cls, name)]


class Hinted(metaclass=Shown):
    """Base class with an attribute for each missing name of NetworkX: reading it raises an error that says what to use.

    For instance ``graph.adj`` names ``adjacency(v)``. With a method ``__getattr__`` Python 3.11 would read every
    attribute three times slower, 140 ns instead of 45.
    """


for _name in HINTS:
    setattr(Hinted, _name, Hint(_name))


def _is_shown(thing: Any, name: str) -> bool:
    return name not in INTERNAL and (name not in HINTS or hasattr(thing, name))


def names_of(thing: Any) -> list[str]:
    """Return the names of the public attributes of an object, without those that only operators and algorithms need."""
    return [name for name in object.__dir__(thing) if not name.startswith("_") and _is_shown(thing, name)]


def pairs_refused(call: str) -> DTypeError:
    """Return the error, a ``TypeError``, for edges that were given to the method ``call`` as pairs."""
    return DTypeError(f"{call} takes sources and destinations as two arrays: of pairs, {call}(*zip(*pairs))")
