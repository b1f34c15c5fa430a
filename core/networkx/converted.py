"""A graph of NetworkX as algorithms see it: graphs of suricate, and the node of each of their vertices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from weakref import ref

import networkx as nx
import numpy as np

from suricate.base.types import EdgeList
from suricate.graph import Graph
from suricate.graph.delta import both_directions
from suricate.networkx.answers import Answers
from suricate.networkx.conversion import Arcs, structure
from suricate.networkx.table import Column, Rows, Values, table


class Converted:
    """A NetworkX graph in the form that functions of the backend take: graphs of suricate, with nodes as names.

    ``nodes`` is the list of the node of each vertex id, ``index`` a dict with the vertex id of each node.
    """

    __networkx_backend__ = "suricate"

    def __init__(self, nodes: list[Any], index: dict[Any, int], *, directed: bool, device: Any) -> None:
        self.nodes, self.index, self._directed, self.device = nodes, index, directed, device
        self.whole: dict[Any, bool] = {None: True}  #: by attribute, whether its weights are integers
        self._answers: dict[tuple[Any, bool], Answers] = {}  # by attribute, and whether edges point the other way
        self._original: Any = None
        self._source: Any = None  # a weak reference to the NetworkX graph

    @classmethod
    def of(cls, graph: Any, attributes: dict[Any, Any], *, device: Any, keep: bool) -> Converted:
        """Convert a NetworkX graph.

        Args:
            graph: a graph that is not a multigraph.
            attributes: by edge attribute to use as weights, the weight of edges that lack it; empty: unweighted.
            device: the device of the result.
            keep: whether to keep a copy of the NetworkX graph too, with all its attributes.

        Raises:
            NotImplementedError: the weights cannot be used.
        """
        found = structure(graph)
        made = cls(found.nodes, found.numbers, directed=graph.is_directed(), device=device)
        made._original, made._source = (graph.copy() if keep else None), ref(graph)
        if not attributes:
            made.add(None, found.arcs(None))
        for attribute, default in attributes.items():
            made.add(attribute, found.arcs(attribute, default))
        return made

    # -- what NetworkX's functions may ask -----------------------------------------------------------------------------

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Return False: there are no parallel edges."""
        return False

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.index)

    def __contains__(self, node: Any) -> bool:
        with suppress(TypeError):  # of what cannot be hashed
            return node in self.index
        return False

    def number_of_edges(self) -> int:
        """Return the number of edges."""
        return self.graph().num_edges

    # -- graphs of suricate --------------------------------------------------------------------------------------------

    def add(self, attribute: Any, arcs: Arcs) -> None:
        """Build the graph weighted by ``attribute`` from ``arcs``, and store it in this object."""
        self.whole[attribute] = arcs.whole
        made = self._answers[attribute, False] = Answers(self._made(arcs))
        if arcs.weight is None:
            self._answers[None, False] = made

    def _made(self, arcs: Arcs) -> Graph:
        options = {"directed": self._directed, "in_edges": self._directed, "device": self.device}
        return Graph.from_coo(arcs.src, arcs.dst, arcs.weight, num_vertices=len(self.nodes), **options)

    def answers(self, attribute: Any = None, *, backwards: bool = False) -> Answers:
        """Return the ``Answers`` of the graph weighted by ``attribute`` (None: not); ``backwards``: edges reversed."""
        backwards = backwards and self._directed
        found = self._answers.get((attribute, backwards))
        if found is None and not backwards:
            found = self._forwards(attribute)
        if found is None:
            src, dst, weight = self.host_edges(self.answers(attribute).graph)
            found = Answers(self._made(Arcs(dst, src, weight)))
        self._answers[attribute, backwards] = found
        return found

    def _forwards(self, attribute: Any) -> Answers:
        if attribute is None:  # the weights of any will not be used
            return next(answers for (_, backwards), answers in self._answers.items() if not backwards)
        if self._original is None:
            raise NotImplementedError(f"this conversion has not kept the edge attribute {attribute!r}")
        self.add(attribute, structure(self._original).arcs(attribute))
        return self._answers[attribute, False]

    def graph(self, attribute: Any = None, *, backwards: bool = False) -> Graph:
        """Return the graph weighted by ``attribute`` (None: do not use its weights); ``backwards``: edges reversed."""
        return self.answers(attribute, backwards=backwards).graph

    @staticmethod
    def host_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return sources, destinations (``int64``) and weights (or None) of all edges of ``graph``, on the host."""
        src, dst, weight = (None if part is None else graph.device.to_numpy(part) for part in graph.edges())
        return src.astype(np.int64), dst.astype(np.int64), weight  # type: ignore[union-attr]

    def arcs(self, attribute: Any = None) -> Arcs:
        """Return all arcs, weighted by ``attribute`` or not (None): an undirected edge is two, a self-loop one."""
        edges = EdgeList(*self.host_edges(self.graph(attribute)))
        src, dst, weight = edges if self._directed else both_directions(np, edges)
        return Arcs(src, dst, None if attribute is None else weight, self.whole.get(attribute, True))

    def original(self) -> Any:
        """Return the NetworkX graph with all attributes; do not change it."""
        if self._original is None:
            raise NotImplementedError("this conversion has not kept all attributes")
        return self._original

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_source": None}

    def _whole(self) -> Any:
        """Return the graph with all attributes, if it was kept, or still is what was converted; else None."""
        source = self._source and self._source()
        cache = (getattr(source, "__networkx_cache__", None) or {}).get("backends", {})
        current = any(made is self for made in cache.get(self.__networkx_backend__, {}).values())
        return source if self._original is None and current else self._original

    def to_networkx(self) -> Any:
        """Return a NetworkX graph: with all attributes if they can still be had, else with the converted weights."""
        whole = self._whole()
        if whole is not None:
            return whole.copy()
        made = nx.DiGraph() if self._directed else nx.Graph()
        made.add_nodes_from(self.index)
        for attribute, whole in self.whole.items():
            src, dst, weight = self.host_edges(self.graph(attribute))
            ends = zip(self.nodes_of(src), self.nodes_of(dst), strict=True)
            if attribute is None:
                made.add_edges_from(ends)
                continue
            values = np.ones(len(src), int) if weight is None else weight.astype(np.int64) if whole else weight
            made.add_edges_from((u, v, {attribute: w}) for (u, v), w in zip(ends, values.tolist(), strict=True))
        return made

    def answer(
        self, algorithm: str, attribute: Any = None, *, backwards: bool = False, keep: bool = True, **params: Any
    ) -> Any:
        """Return the result of an algorithm, its arrays on the host; do not change them.

        Args:
            algorithm: its name.
            attribute: edge attribute with the weights; None: unweighted.
            backwards: run on the graph with reversed edges.
            keep: False if this is one of many different requests, which should not be tracked.
            params: parameters of the algorithm; vertices are given as ids, not nodes.
        """
        return self.on_host(self.answers(attribute, backwards=backwards).result(algorithm, params, keep=keep))

    def on_host(self, found: Any) -> Any:
        """Return ``found``, a result of an algorithm, with its arrays on the host."""
        if type(found) is np.ndarray:
            return found
        if isinstance(found, tuple):
            parts = map(self.on_host, found)
            return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        return self.graph().device.to_numpy(found) if hasattr(found, "shape") else found

    def vertices(self, nodes: Iterable[Any]) -> np.ndarray:
        """Return the vertex ids, ``int64[k]``, of those of ``nodes``, an iterable, that are in the graph.

        Raises:
            NetworkXError: ``nodes`` cannot be iterated over, or what it has cannot be a node.
        """
        try:
            return np.array([self.index[node] for node in nodes if node in self.index], np.int64)
        except TypeError:
            list(nx.Graph().nbunch_iter(nodes))  # raises NetworkX's exception
            raise

    def among(self, wanted: Any) -> tuple[np.ndarray, bool]:
        """Return the vertices of ``wanted``, a node, several or None (all), and whether it is a single node."""
        if wanted is None:
            return self.all_vertices(), False
        if wanted in self:
            return np.array([self.index[wanted]]), True
        return self.vertices(wanted), False

    def all_vertices(self) -> np.ndarray:
        """Return the ids of all vertices in the order of the nodes, ``int64[len(self)]``."""
        return np.arange(len(self.nodes))

    def nodes_of(self, vertices: np.ndarray) -> list[Any]:
        """Return the nodes of the vertex ids ``vertices``, in the same order."""
        return [self.nodes[vertex] for vertex in vertices.tolist()]

    def table(self, column: Column | np.ndarray, vertices: np.ndarray | None = None) -> dict[Any, Any]:
        """Return a dictionary by node whose values are converted only when read.

        Args:
            column: values by vertex, an array on the host or another ``Column``.
            vertices: the ids of the vertices in the dictionary, in this order; None: all.
        """
        held = None
        if vertices is None:
            vertices = self.all_vertices()
        if len(vertices) < len(self.nodes):
            held = np.zeros(len(self.nodes), bool)
            held[vertices] = True
        values = Values(column) if isinstance(column, np.ndarray) else column
        return table(Rows(self.nodes, self.index, values, vertices, held))
