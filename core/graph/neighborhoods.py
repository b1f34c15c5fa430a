"""Neighbours of vertices, which are given as ids or names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import ShapeError
from suricate.base.types import Adjacency
from suricate.graph.naming import vertices_of
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph


@on_graph_device
def neighbors(graph: Graph, vertex: int | str, direction: str = "out") -> Array:
    """Return the ids of the out-neighbours of an id or name (``"in"``: in-neighbours), in no given order."""
    if np.ndim(vertex):
        raise ShapeError("vertex is one id: adjacency(vertices) takes several")
    return graph.adjacency([vertex], direction).dst


@on_graph_device
def adjacency(graph: Graph, vertices: Any, direction: str = "out") -> Adjacency:
    """Return the edges of ``k`` vertices: the i-th has ``dst[offsets[i]:offsets[i + 1]]``. Waits for the device.

    Raises:
        RequirementError: ``"in"``, and the graph keeps no in-edges.
        UnknownNameError: a vertex is given as a text, and there is none of this name (see :attr:`names`).
        VertexRangeError, DTypeError, ShapeError: the ids are invalid.
    """
    graph._updater.raise_found()
    ids = vertices_of(graph, vertices, "vertices").astype(np.uint32)
    return graph.store(direction).adjacency(graph.device.xp.asarray(ids))
