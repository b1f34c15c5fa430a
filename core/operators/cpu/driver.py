"""Operators on the CPU: what each call runs; the loops are instances of templates (see ``instances``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.operators import schemes
from suricate.operators.call import Call, stamps_of
from suricate.operators.cpu.instances import instance
from suricate.structures.frontier import Frontier
from suricate.types import EdgeList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph


def neighbor_reduce(
    graph: Graph, call: Call, vertices: np.ndarray | None, out: np.ndarray, over: str, scheme: str
) -> None:
    """Fill ``out`` (see ``suricate.operators.neighbor_reduce``).

    There are two loops: over the edges inserted since the mark, and one for all other schemes.
    """
    view = graph.view(over)
    source = _source(graph, over, scheme, view)
    if source == schemes.ITERATOR:
        module = instance("reduce_updated", view, call, out.dtype, over)
        module.neighbor_reduce(view.data, view.num_vertices, out, *call.values)
        return
    if source == schemes.LISTED:
        view = schemes.inserted_view(graph, over)
    module = instance("neighbor_reduce", view, call, out.dtype, over)
    ids = _NO_VERTICES if vertices is None else vertices
    module.neighbor_reduce(view.data, view.num_vertices, ids, vertices is None, out, *call.values)


def advance(graph: Graph, call: Call, frontier: Frontier, out: np.ndarray, scheme: str) -> Frontier:
    """Push once along the out-edges of ``frontier``; return what changed. Loops: as in :func:`neighbor_reduce`."""
    view, stamps = graph.view("out"), stamps_of(graph)
    source = _source(graph, "out", scheme, view)
    if source == schemes.LISTED:
        return advance_edges(graph, call, graph.store("out").updated(), out)
    changed = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    if source == schemes.ITERATOR:
        module = instance("advance_updated", view, call, out.dtype)
        count = module.advance(view.data, view.num_vertices, out, stamps.array, stamps.steps(1), changed, *call.values)
        return _changed(graph, changed, count)
    module = instance("advance", view, call, out.dtype)
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    count = module.advance(
        view.data, view.num_vertices, ids, frontier.is_all, len(frontier), out, stamps.array, stamps.steps(1),
        changed, *call.values,
    )  # fmt: skip
    return _changed(graph, changed, count)


def advance_edges(graph: Graph, call: Call, edges: EdgeList, out: np.ndarray) -> Frontier:
    """Apply the edge function to exactly ``edges``; return what changed."""
    view, stamps = graph.view("out"), stamps_of(graph)
    module = instance("advance", view, call, out.dtype)
    changed = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    weights = edges.weight if edges.weight is not None else np.broadcast_to(np.int64(1), len(edges.src))
    count = module.advance_edges(
        view.num_vertices, edges.src, edges.dst, weights, out, stamps.array, stamps.steps(1), changed, *call.values
    )
    return _changed(graph, changed, count)


def propagate(graph: Graph, call: Call, frontier: Frontier, out: np.ndarray, max_steps: int) -> int:
    """Push until nothing changes; return the number of steps."""
    view, stamps = graph.view("out"), stamps_of(graph)
    module = instance("advance", view, call, out.dtype)
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    queue = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    spare = graph.workspace.array("operators.spare", view.num_vertices, np.uint32)
    first = stamps.steps(max_steps)
    steps = module.propagate(
        view.data, view.num_vertices, ids, frontier.is_all, len(frontier), out, stamps.array, first, max_steps,
        queue, spare, *call.values,
    )  # fmt: skip
    stamps.give_back(first + steps)
    return steps


def select(graph: Graph, call: Call, frontier: Frontier) -> Frontier:
    """Return the vertices of ``frontier`` that pass the predicate."""
    module = instance("filter", None, call, np.dtype(bool))
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    kept = np.empty(len(frontier), np.uint32)
    count = module.select(graph.num_vertices, ids, frontier.is_all, len(frontier), kept, *call.values)
    return _changed(graph, kept, count)


def intersect(graph: Graph, call: Call, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with one sum per pair."""
    view = graph.view("out")
    module = instance("intersect", view, call, out.dtype)
    module.intersect(view.data, left, right, out, *call.values)


_NO_VERTICES = np.empty(0, np.uint32)


def _changed(graph: Graph, vertices: np.ndarray, count: int) -> Frontier:
    """Return the first ``count`` of ``vertices``, copied, as a frontier."""
    return Frontier(graph.device, vertices[:count].copy(), num_vertices=graph.num_vertices)


def _source(graph: Graph, over: str, scheme: str, view: StoreView) -> str:
    """Return which edges a scheme walks, and how: see ``schemes.updated_source``."""
    return schemes.updated_source(graph, over, view) if scheme == "updated" else schemes.EVERYTHING
