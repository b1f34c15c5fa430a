"""Questions about single edges and vertices of a graph; the class ``Graph`` has these as methods.

``src`` and ``dst``: an id or a name per edge. ``over``: ``"out"``: edges that leave the vertices; ``"in"``: edges
that lead to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from suricate.base.devices import Array, ReturnedArray
from suricate.base.errors import ParameterError, ShapeError, WeightError
from suricate.base.parameters import shown
from suricate.base.renamed import keywords
from suricate.base.types import Adjacency, Direction, EdgeList
from suricate.graph.naming import known_edges, vertices_of
from suricate.intake.arrays import as_ids, as_weights, bits
from suricate.state.edge_table import weights_at
from suricate.state.locks import capacity_error, on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

Edges = TypeVar("Edges", EdgeList, Adjacency)


def has_edges(graph: Graph, src: Any, dst: Any) -> ReturnedArray:
    """Return ``bool[n]``: which of the edges are stored. Raises as :meth:`insert_edges` does.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.has_edges([0, 1, 2], [1, 0, 0]).tolist()
        [True, False, False]
    """
    try:  # as on_graph_device() does, without a further call: small batches would feel it
        with graph._lock:
            src, dst, known = (src, dst, None) if graph._names is None else known_edges(graph, src, dst)
            found = graph._updater.find(src, dst)[0]
            return found if known is None else _spread(graph, known, found, False)
    except MemoryError as error:
        raise capacity_error(graph.device, error) from error


@on_graph_device
def edge_weights(graph: Graph, src: Any, dst: Any, default: float | None = None) -> ReturnedArray:
    """Return ``weight_dtype[n]``: the weights of the edges, ``default`` for edges that are not stored.

    Args:
        graph: the graph.
        src: ids or names, ``n``.
        dst: ids or names, ``n``.
        default: None: NaN for float weights, 0 for integers.

    Raises:
        WeightError: the graph is unweighted, or its dtype cannot represent ``default``.
        VertexRangeError, DTypeError, ShapeError, DeviceError: the ids are invalid.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], [0.5, 2.0], device="cpu")
        >>> g.edge_weights([0, 2], [1, 0], default=-1).tolist()
        [0.5, -1.0]
    """
    if graph.weight_dtype is None:
        raise WeightError("the graph has no weights: build it with Graph(..., weight_dtype='float32')")
    absent = absent_weight(default, graph.weight_dtype)
    src, dst, known = known_edges(graph, src, dst)
    found, weight = graph._updater.find(src, dst)
    if graph.edge_table is not None:
        weight = weights_at(graph.edge_table.weights, weight)
    assert weight is not None
    if graph.weight_scale is not None:
        weight = weight * graph.weight_scale
    weights = graph.device.xp.where(found, bits(weight), bits(absent.reshape(1))[0]).view(graph.weight_dtype)
    return weights if known is None else _spread(graph, known, weights, absent)


def _spread(graph: Graph, known: np.ndarray, values: Array, default: Any) -> Array:
    """Return an array as long as the host mask ``known``: in turn ``values`` where it is true, else ``default``."""
    xp = graph.device.xp
    spread = xp.full(len(known), xp.asarray(default), values.dtype)
    spread[xp.asarray(np.flatnonzero(known))] = values
    return spread


@keywords(direction="over=")
@on_graph_device
def degrees(graph: Graph, over: Direction = "out") -> ReturnedArray:
    """Return ``uint32[num_vertices]``, a copy: out- or in-degrees. A self-loop counts once.

    Raises:
        RequirementError: ``"in"``, and the graph keeps no in-edges.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], in_edges=True, device="cpu")
        >>> g.degrees().tolist(), g.degrees(over="in").tolist()
        ([2, 1, 0], [0, 1, 2])
    """
    return graph.store(over).degrees()


@keywords(direction="over=")
def degree(graph: Graph, vertex: Any, over: Direction = "out") -> int:
    """Return the out- or in-degree of one vertex, an id or a name; waits for the device.

    Raises as :meth:`adjacency` does.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> g.degree(0)
        2
    """
    return len(neighbors(graph, vertex, over))


@keywords(direction="over=")
@on_graph_device
def neighbors(graph: Graph, vertex: Any, over: Direction = "out") -> ReturnedArray:
    """Return the ids of the out-neighbours of a vertex (``"in"``: of its in-neighbours), in no given order.

    Args:
        graph: the graph.
        vertex: an id or a name.
        over: ``"out"`` or ``"in"``.

    Raises as :meth:`adjacency` does.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [2, 1, 2], device="cpu")
        >>> sorted(g.neighbors(0).tolist())
        [1, 2]
    """
    if np.ndim(vertex):
        raise ShapeError("vertex is one id: adjacency(vertices) takes several")
    return adjacency(graph, [vertex], over).dst


@keywords(direction="over=")
@on_graph_device
def adjacency(graph: Graph, vertices: Any, over: Direction = "out") -> Adjacency:
    """Return the edges of ``k`` vertices: the i-th has ``dst[offsets[i]:offsets[i + 1]]``. Waits for the device.

    Raises:
        RequirementError: ``"in"``, and the graph keeps no in-edges.
        UnknownNameError: no vertex has this name (see :attr:`names`).
        VertexRangeError, DTypeError, ShapeError: the ids are invalid.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 2], [1, 2, 0], device="cpu")
        >>> g.adjacency([0, 2])
        Adjacency(offsets=array([0, 2, 3]), dst=array([1, 2, 0], dtype=uint32), weight=None)
    """
    graph._updater.raise_found()
    ids = vertices_of(graph, vertices, "vertices").astype(np.uint32)
    return scaled(graph, graph.store(over).adjacency(graph.device.xp.asarray(ids)))


def scaled(graph: Graph, edges: Edges) -> Edges:
    """Return stored ``edges`` with the weights that users see, where those in the store are relative ones."""
    weight: Any = edges.weight
    return edges if graph.weight_scale is None or weight is None else edges._replace(weight=weight * graph.weight_scale)


def contains(graph: Graph, item: Any) -> bool:
    """Return whether an edge, ``(u, v)``, is stored, or a vertex is live; vertices are ids or names.

    Waits for the device if it has to ask the graph.

    Raises:
        ParameterError, DTypeError: ``item`` is neither an edge nor a vertex.
    """
    if isinstance(item, tuple):
        if len(item) != 2:
            raise ParameterError(f"an edge is a pair of vertices, got {shown(item)}")
        ends = [_vertex(graph, end) for end in item]
        return all(end is not None for end in ends) and bool(has_edges(graph, *([end] for end in ends))[0])
    vertex = _vertex(graph, item)
    return vertex is not None and vertex not in graph.deleted_vertices


def _vertex(graph: Graph, vertex: Any) -> int | None:
    """Return the id of a vertex given by id or name, None if the graph has no such vertex."""
    if isinstance(vertex, str) and graph.names is not None:
        vertex = graph.names.find([vertex])[0]
    ids = as_ids([vertex], "vertex")
    return int(ids[0]) if 0 <= int(ids[0]) < graph.num_vertices else None


def absent_weight(default: Any, dtype: np.dtype) -> np.ndarray:
    """Return ``default``, checked, as a 0-d array of ``dtype``: the weight reported for edges that are not stored.

    Raises:
        WeightError: ``dtype`` cannot hold it (only floats hold NaN and infinities).
        ShapeError, DTypeError: it is not one number.
    """
    if default is None:
        default = np.nan if dtype.kind == "f" else 0
    if np.ndim(default):
        raise ShapeError("default is not a single number")
    if dtype.kind == "f" and isinstance(default, (float, np.floating)) and not np.isfinite(default):
        return np.asarray(default, dtype)
    return np.asarray(as_weights(default, dtype, "default"), dtype)
