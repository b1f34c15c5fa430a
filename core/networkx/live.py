"""Graphs of NetworkX whose edits reach the algorithms as batches: an answer is updated, not computed from scratch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import ref

import networkx as nx
import numpy as np

from suricate.base.errors import SuricateError
from suricate.base.types import same_dtype
from suricate.graph import Graph as Stored
from suricate.graph.delta import Batch
from suricate.networkx.answers import Answers
from suricate.networkx.conversion import Arcs, structure, weights
from suricate.networkx.converted import Converted
from suricate.networkx.table import Column, Decoded, decode
from suricate.networkx.watched import Adjacency, EdgeData, NodeTable, Row, Watch

MOST_RETIRED = 1024  #: vertices of removed nodes; with more of them, and more than nodes, the graph is converted afresh
MOST_HANDED_OUT = 64  #: dictionaries that are remembered between two looks for those that nobody holds


class Graph(nx.Graph):
    """An undirected NetworkX graph that is also kept on the device, from the first call that runs there.

    All methods and functions of NetworkX work on it. Functions that suricate serves see its edits: those since the last
    call are applied as one batch, and results that were requested twice are updated. Views and shallow copies are
    converted at each call, and so is the graph in calls with another weight attribute than :attr:`live_weight`.

    Attributes:
        live_weight: the edge attribute whose values are kept as weights; set it before the first call.
    """

    live_weight: Any = "weight"
    node_dict_factory, adjlist_outer_dict_factory = NodeTable, Adjacency
    adjlist_inner_dict_factory, edge_attr_dict_factory = Row, EdgeData

    def __init__(self, incoming_graph_data: Any = None, **attr: Any) -> None:
        super().__init__(incoming_graph_data, **attr)
        self.__networkx_cache__ = None

    def to_directed_class(self) -> type[nx.DiGraph]:
        """Return the class of directed copies."""
        return DiGraph

    def to_undirected_class(self) -> type[nx.Graph]:
        """Return the class of undirected copies."""
        return Graph


class DiGraph(nx.DiGraph):
    """A directed NetworkX graph that is also stored on the device: see :class:`Graph`."""

    live_weight: Any = "weight"
    node_dict_factory, adjlist_outer_dict_factory = NodeTable, Adjacency
    adjlist_inner_dict_factory, edge_attr_dict_factory = Row, EdgeData
    to_directed_class, to_undirected_class = Graph.to_directed_class, Graph.to_undirected_class

    def __init__(self, incoming_graph_data: Any = None, **attr: Any) -> None:
        super().__init__(incoming_graph_data, **attr)
        self.__networkx_cache__ = None


def is_live(graph: Any) -> bool:
    """Return whether ``graph`` is of this module, and neither a view nor a shallow copy: its edits can be recorded."""
    if not isinstance(graph, (Graph, DiGraph)) or hasattr(graph, "_graph"):
        return False
    owner = getattr(graph._adj, "_watch", None)
    return owner is None or owner.graph() is graph


def current(graph: Any, device: Any) -> Live | None:
    """Return the :class:`Live` of ``graph`` on ``device``, brought up to date; None if its edits cannot be recorded."""
    watch = getattr(graph._adj, "_watch", None)
    watch = Watch(graph) if watch is None or watch.graph() is not graph else watch
    if watch.live is not None and not watch.stale and watch.live.made_for(graph, device):
        try:
            watch.live.follow()
            return watch.live
        except SuricateError:  # an answer that is kept current may refuse a weight: then from scratch
            pass
    release(graph)
    watch.live = Live(graph, watch, device) if watch.bind() else None
    return watch.live


def release(graph: Any) -> None:
    """Free the copy of a live graph on the device; the next call that runs there converts the graph from scratch."""
    watch = getattr(graph._adj, "_watch", None)
    if watch is not None and watch.live is not None and watch.graph() is graph:
        watch.live.decode_all()
        watch.live, watch.stale = None, True


class Live(Converted):
    """A live graph in the form of :class:`Converted`: its edits are applied to the graphs of suricate as batches.

    A node keeps its vertex id until it is removed; new nodes get larger ids, so that ids ascend in the order of the
    nodes. Dictionaries returned earlier are decoded before a node in them loses its id.
    """

    def __init__(self, graph: Any, watch: Watch, device: Any) -> None:
        found = structure(graph)
        super().__init__(found.nodes, found.numbers, directed=graph.is_directed(), device=device)
        self.graph_of_networkx, self.watch, self._table_of_nodes = ref(graph), watch, graph._node
        self.attribute = graph.live_weight
        self.weighted = self.attribute is not None and any(self.attribute in data for data in found.data)
        self._retired: list[int] = []  # of nodes removed since the last change was passed on
        self._gone: list[int] = []  # of all nodes removed
        self._vertices: np.ndarray | None = np.arange(len(found.nodes))
        self._handed_out: list[ref[Decoded]] = []
        self.add(None, found.arcs(None))

    def made_for(self, graph: Any, device: Any) -> bool:
        """Return whether this was made for ``device`` and for ``graph`` with its present node table and weights."""
        same = graph._node is self._table_of_nodes and graph.live_weight == self.attribute
        return same and device == self.device

    def retire(self, node: Any) -> None:
        """Record that ``node`` is removed: its vertex is deleted with the next batch."""
        self.decode_all()
        self._retired += [self.index.pop(node)] if node in self.index else []

    def original(self) -> Any:
        """Return the live graph itself, which must not be changed."""
        return self.graph_of_networkx()

    def to_networkx(self) -> Any:
        """Return a copy of the live graph."""
        return self.original().copy()

    def answers(self, attribute: Any = None, *, backwards: bool = False) -> Answers:
        """See :meth:`Converted.answers`; while no edge has the attribute, the unweighted graph is used."""
        return super().answers(attribute if self.weighted else None, backwards=backwards)

    def _forwards(self, attribute: Any) -> Answers:
        arcs = structure(self.original(), self.index).arcs(attribute)
        if arcs.weight is None:  # all are 1 as yet
            arcs = arcs._replace(weight=np.ones(len(arcs.src), np.int32))
        self.add(attribute, arcs)
        return self._answers[attribute, False]

    def _made(self, arcs: Arcs) -> Stored:
        made = super()._made(arcs)
        if self._gone:
            made.delete_vertices(np.array(self._gone))
        return made

    def follow(self) -> None:
        """Apply to the graphs of suricate the edits that the live graph had since this method was last called."""
        graph: Any = self.graph_of_networkx()
        touched = self.watch.touched
        if not (touched or self._retired or len(graph._node) != len(self.index)):
            return
        try:
            if self._retired or len(graph._node) != len(self.index):
                self._follow_nodes(graph)
            if touched:
                self._follow_edges(graph, list(touched))
        except BaseException:
            self.watch.stale = True
            raise
        touched.clear()
        if len(self._gone) > max(MOST_RETIRED, len(self.index)):
            self.watch.stale = True  # for the next call

    def _follow_nodes(self, graph: Any) -> None:
        new = []
        for node in reversed(graph._node):  # they are the last ones
            if node in self.index:
                break
            new.append(node)
        for answers in self._answers.values():
            if self._retired:
                answers.graph.delete_vertices(np.array(self._retired))
            if new:
                answers.graph.insert_vertices(len(new))
        self._vertices = None if new or self._retired else self._vertices
        self._gone, self._retired = self._gone + self._retired, []
        self.index.update(zip(reversed(new), range(len(self.nodes), len(self.nodes) + len(new)), strict=True))
        self.nodes += reversed(new)

    def _follow_edges(self, graph: Any, touched: list[tuple[Any, Any]]) -> None:
        kept: dict[tuple[int, int], Any] = {}
        gone: dict[tuple[int, int], None] = {}
        index, rows = self.index, graph._adj
        for u, v in touched:
            at, to = index.get(u), index.get(v)
            if at is None or to is None:
                continue
            pair = (at, to) if self._directed or at <= to else (to, at)
            data = rows[u].get(v)
            if data is None:
                gone[pair] = None
            else:
                kept[pair] = data
                self.weighted = self.weighted or self.attribute in data
        for (attribute, backwards), answers in list(self._answers.items()):
            stored = answers.graph
            if attribute is None or self._can_hold(stored, attribute, kept.values()):
                _apply(stored, kept, gone, attribute, backwards=backwards)
            else:
                del self._answers[attribute, backwards]

    def _can_hold(self, stored: Stored, attribute: Any, data: Iterable[Any]) -> bool:
        """Return whether the graph ``stored`` can hold, as weights, ``attribute`` of edges with attributes ``data``."""
        try:
            found, whole = weights([each.get(attribute, 1) for each in data], attribute)
        except NotImplementedError:
            return False
        return found is None or (same_dtype(found.dtype, stored.weight_dtype) and whole) or not self.whole[attribute]

    def all_vertices(self) -> np.ndarray:
        """Return the ids of all vertices in the order of the nodes."""
        if self._vertices is None:
            self._vertices = np.fromiter(self.index.values(), np.int64, len(self.index))
        return self._vertices

    def table(self, column: Column | np.ndarray, vertices: np.ndarray | None = None) -> dict[Any, Any]:
        """See :meth:`Converted.table`; the dict is decoded when it is read, or before one of its nodes is removed."""
        made = super().table(column, vertices)
        if len(self._handed_out) >= MOST_HANDED_OUT:
            self._handed_out = [each for each in self._handed_out if each() is not None]
        self._handed_out += [ref(made)] if isinstance(made, Decoded) else []
        return made

    def decode_all(self) -> None:
        """Decode the dictionaries that were returned and not read yet, before the graph changes."""
        for each in self._handed_out:
            decode(each())
        self._handed_out.clear()


def _apply(stored: Stored, kept: dict, gone: dict, attribute: Any, *, backwards: bool) -> None:
    """Insert the pairs ``kept`` into the graph ``stored``, and delete the pairs ``gone``; ``backwards``: swap ends."""
    order = slice(None, None, -1 if backwards else 1)
    insert = np.array(list(kept), np.int64).reshape(-1, 2).T[order]
    delete = np.array(list(gone), np.int64).reshape(-1, 2).T[order]
    weight = None
    if attribute is not None:
        weight = np.array([data.get(attribute, 1) for data in kept.values()], stored.weight_dtype)
    if not gone:
        stored.insert_edges(insert[0], insert[1], weight)
    elif not kept:
        stored.delete_edges(delete[0], delete[1])
    else:
        stored.apply(Batch(insert=(insert[0], insert[1], weight), delete=(delete[0], delete[1])))
