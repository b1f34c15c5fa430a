"""Dictionaries of NetworkX's graphs that record which edges were written, once a watch is bound to them.

Until then they record nothing, and a graph takes a tenth to two fifths longer to build than one of NetworkX, since its
dictionaries are of subclasses; plain ones could not be watched later, where somebody holds them. The pair of nodes is
recorded; the present state of the edge is looked up when the change is applied. Writes that NetworkX's classes never
make set ``stale`` of the watch, so that the graph is converted from scratch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from weakref import ref


class Watch:
    """Records which edges of a live graph were written since its edits were last applied."""

    def __init__(self, graph: Any) -> None:
        self.graph: Any = ref(graph)  #: a weak reference
        self.touched: dict[tuple[Any, Any], None] = {}  #: pairs of nodes whose edge may have changed, in order
        self.live: Any = None  #: what follows the graph, with a method ``retire(node)``; None before a conversion
        self.stale = False  #: whether the graph must be converted from scratch

    def bind(self) -> bool:
        """Watch all dictionaries of the graph; return False if some cannot be watched."""
        graph = self.graph()
        nodes, outer = graph._node, graph._adj
        if not (isinstance(nodes, NodeTable) and isinstance(outer, Adjacency)):
            return False
        self.stale = False
        self.touched.clear()
        outer.__class__, nodes.__class__ = WatchedAdjacency, WatchedNodes
        outer._watch = nodes._watch = self
        for node, row in outer.items():
            self.bind_row(node, row)
        return not self.stale

    def bind_row(self, node: Any, row: Any) -> None:
        """Watch ``row``, the edges of ``node``; if it cannot be watched, set ``stale``."""
        if not isinstance(row, Row):
            self.stale = True
            return
        row.__class__, row._node, row._watch = WatchedRow, node, self
        for other, data in row.items():
            self.bind_edge(node, other, data)

    def bind_edge(self, u: Any, v: Any, data: Any) -> None:
        """Watch ``data``, the attributes of the edge from ``u`` to ``v``; if another edge has them, set ``stale``."""
        if type(data) is EdgeData:
            data.__class__ = WatchedEdge
        elif type(data) is not WatchedEdge or (data._watch is self and self._is_shared(u, v, data)):
            self.stale = True
            return
        data._watch, data._node, data._other = self, u, v

    def _is_shared(self, u: Any, v: Any, data: WatchedEdge) -> bool:
        """Return whether ``data``, the attributes of the edge from ``u`` to ``v``, are also those of another edge."""
        before = data._node, data._other
        return before not in ((u, v), (v, u)) and self.graph()._adj.get(before[0], {}).get(before[1]) is data


class Part(dict):
    """Base class of the dictionaries of a live graph; pickles and deep copies of them are not watched."""

    __slots__ = ("_node", "_other", "_watch")
    _watch: Watch
    _node: Any
    _other: Any

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        kind = next(kind for kind in type(self).__mro__ if Part in kind.__bases__)
        return kind, (), None, None, iter(self.items())


class EdgeData(Part):
    """The attributes of an edge; ``_node`` and ``_other`` are its ends, once it is watched."""

    __slots__ = ()


class Row(Part):
    """The edges of one node of a live graph: their attributes by neighbour."""

    __slots__ = ()


class Adjacency(Part):
    """The rows of all nodes of a live graph, by node."""

    __slots__ = ()


class NodeTable(Part):
    """The attributes of all nodes of a live graph, by node."""

    __slots__ = ()


def _then(name: str, note: Callable[[Any], None]) -> Callable[..., Any]:
    """Return a version of the method ``name`` of ``dict`` that first calls ``note`` with the dictionary."""
    plain = getattr(dict, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(self)
        return plain(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, plain.__doc__
    return method


def _touch(edge: Any) -> None:
    edge._watch.touched[edge._node, edge._other] = None


def _make_stale(part: Any) -> None:
    part._watch.stale = True


class WatchedEdge(EdgeData):
    """The attributes of an edge; a write to them is recorded in the :class:`Watch`."""

    __slots__ = ()
    WRITES: ClassVar = ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault")

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set attributes as ``dict.update`` does; record the change."""
        if kwargs or (args and args[0]):
            _touch(self)
            dict.update(self, *args, **kwargs)


class WatchedRow(Row):
    """The edges of a node; a write to them is recorded in the :class:`Watch`."""

    __slots__ = ()
    WRITES: ClassVar = ("__ior__", "clear", "pop", "popitem", "setdefault", "update")

    def __setitem__(self, other: Any, data: Any) -> None:
        watch = self._watch
        watch.touched[self._node, other] = None
        dict.__setitem__(self, other, data)
        if type(data) is not WatchedEdge or data._node != self._node or data._other != other:
            watch.bind_edge(self._node, other, data)

    def __delitem__(self, other: Any) -> None:
        dict.__delitem__(self, other)
        self._watch.touched[self._node, other] = None


class WatchedAdjacency(Adjacency):
    """The rows of all nodes; a write to them is recorded in the :class:`Watch`."""

    __slots__ = ()
    WRITES: ClassVar = ("__ior__", "clear", "pop", "popitem", "setdefault", "update")

    def __setitem__(self, node: Any, row: Any) -> None:
        if self.get(node) or row:
            self._watch.stale = True
        dict.__setitem__(self, node, row)
        self._watch.bind_row(node, row)


class WatchedNodes(NodeTable):
    """The attributes of all nodes; if a node is removed, the :class:`Live` that follows the graph is told."""

    __slots__ = ()
    WRITES: ClassVar = ("clear", "pop", "popitem")

    def __delitem__(self, node: Any) -> None:
        dict.__delitem__(self, node)
        if self._watch.live is not None:
            self._watch.live.retire(node)


for _kind, _note in (
    (WatchedEdge, _touch), (WatchedRow, _make_stale), (WatchedAdjacency, _make_stale), (WatchedNodes, _make_stale),
):  # fmt: skip
    for _name in _kind.WRITES:
        setattr(_kind, _name, _then(_name, _note))
