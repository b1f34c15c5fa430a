"""What NetworkX and igraph have and columns do not hold: Python objects, kept in host memory for the way back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from suricate.base.errors import RequirementError
from suricate.base.parameters import shown
from suricate.base.protocols import DeltaLike
from suricate.intake.arrays import on_host

PLAIN = (type(None), bool, int, float, str)  #: of values that JSON holds as they are
CONTAINERS = (tuple, list, dict, set, frozenset)
UNREAD = 64  #: deltas that wait to be read, at most


class GONE:
    """Stands in ``Objects.nodes`` for the node of an id that was recycled, or that has none."""


class Objects:
    """Nodes and attributes of a graph of NetworkX or igraph as Python objects; the graph does not compute with them.

    An edge or a vertex that is deleted loses its attributes.

    Attributes:
        graph: attributes of the graph by name.
        nodes: the node of each vertex, by id, if nodes are neither all texts nor all integers; else None.
        vertices: by name of an attribute that no column holds, its values by vertex.
        edges: by ends ``(u, v)``, ``u <= v`` without direction, all attributes of an edge when it came.
        keys: by ends, the keys of edges of a multigraph that are not 0; None: it is no multigraph.
        weight: the edge attribute that the weights came from.
    """

    def __init__(self) -> None:
        self.graph: dict[Any, Any] = {}
        self.nodes: list[Any] | None = None
        self.vertices: dict[Any, dict[int, Any]] = {}
        self.edges: dict[tuple[int, int], dict[Any, Any]] = {}
        self.keys: dict[tuple[int, int], Any] | None = None
        self.weight: Any = "weight"
        self._unread: list[DeltaLike] = []

    def __repr__(self) -> str:
        return (
            f"<Objects: graph attributes {list(self.graph)}, nodes {'kept' if self.nodes else 'by name or id'}, "
            f"vertex attributes {list(self.vertices)}, attributes of {len(self.edges)} edges>"
        )

    def __bool__(self) -> bool:
        return bool(
            self.graph or self.nodes or self.vertices or self.edges or self.keys is not None or self.weight != "weight"
        )

    def copy(self) -> Objects:
        """Return a copy, whose objects are the same."""
        other = Objects()
        self.read()
        other.graph, other.nodes, other.weight = dict(self.graph), self.nodes and list(self.nodes), self.weight
        other.vertices = {name: dict(values) for name, values in self.vertices.items()}
        other.edges, other.keys = dict(self.edges), None if self.keys is None else dict(self.keys)
        return other

    # -- changes of the graph ------------------------------------------------------------------------------------------

    def follow(self, delta: DeltaLike) -> None:
        """Take note of a change of the graph; reading what it deleted waits for the device, so it is put off."""
        self._unread.append(delta)
        if len(self._unread) > UNREAD:
            self.read()

    def read(self) -> None:
        """Forget the attributes of the edges and vertices that changes have deleted; waits for the device."""
        unread, self._unread = self._unread, []
        for delta in unread:
            gone = zip(*(on_host(ids).tolist() for ids in delta._read().deleted[:2]), strict=True)
            for pair in gone if self.edges or self.keys else ():
                self.edges.pop(pair, None)
                (self.keys or {}).pop(pair, None)
            for vertex in on_host(delta.deleted_vertices).tolist() if self.vertices else ():
                for values in self.vertices.values():
                    values.pop(vertex, None)

    def forget(self, ids: np.ndarray) -> None:
        """Forget the nodes of ``ids``, which now belong to new vertices."""
        nodes = self.nodes or []
        for vertex in ids.tolist():
            if vertex < len(nodes):
                nodes[vertex] = GONE

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def state(self) -> np.ndarray:
        """Return the bytes of a text, ``uint8[n]``, for :meth:`restore`, or raise ``RequirementError``."""
        self.read()
        nodes = None if self.nodes is None else [[node is GONE, None if node is GONE else node] for node in self.nodes]
        parts = [self.graph, nodes, self.vertices, self.edges, self.keys, self.weight]
        return np.frombuffer(json.dumps(_packed(parts)).encode("utf-8", "surrogatepass"), np.uint8)

    @classmethod
    def restore(cls, state: np.ndarray) -> Objects:
        """Return the objects that :meth:`state` described; raises ``ValueError`` or the like if it is damaged."""
        made = cls()
        parts = _unpacked(json.loads(bytes(state).decode("utf-8", "surrogatepass")))
        made.graph, nodes, made.vertices, made.edges, made.keys, made.weight = parts
        made.nodes = None if nodes is None else [GONE if gone else node for gone, node in nodes]
        return made


def _packed(value: Any) -> Any:
    """Return ``value`` in a form that JSON holds: a container as the index of its type and a list."""
    if type(value) in PLAIN:
        return value
    if type(value) not in CONTAINERS:
        raise RequirementError(
            f"graph.objects: a snapshot cannot hold {shown(value)}; pickle the graph, or set graph.objects = None"
        )
    items = [[key, part] for key, part in value.items()] if isinstance(value, dict) else list(value)
    if isinstance(value, dict):
        return [CONTAINERS.index(dict), [[_packed(key), _packed(part)] for key, part in items]]
    return [CONTAINERS.index(type(value)), [_packed(part) for part in items]]


def _unpacked(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind = CONTAINERS[value[0]]
    if kind is dict:
        return {_unpacked(key): _unpacked(part) for key, part in value[1]}
    return kind(map(_unpacked, value[1]))
