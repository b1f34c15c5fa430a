"""Operators on the CPU: what each call runs; the loops are instances of templates (see ``instances``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.devices import Device
from suricate.operators import schemes
from suricate.operators.call import Call, Order, Start, Until, stamps_of
from suricate.operators.cpu.instances import instance
from suricate.operators.cpu.intersect import intersect as intersect
from suricate.operators.results import Layers, Propagated
from suricate.structures.frontier import Frontier
from suricate.types import ArcList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph


def neighbor_reduce(
    graph: Graph, call: Call, vertices: np.ndarray | Start | Layers | None, out: Any, over: str, scheme: str
) -> Frontier | None:
    """Fill ``out`` (see ``suricate.operators.neighbor_reduce``).

    There are two loops: over the edges inserted since the mark, and one for all other schemes.
    """
    _not_yet(call.then is not None or over == "both" or call.reduce in ("argmin", "mode"))
    _not_yet(isinstance(vertices, Start | Layers))
    view = graph.view(over)
    source = _source(graph, over, scheme, view)
    if source == schemes.ITERATOR:
        module = instance("reduce_updated", view, call, out.dtype, over)
        module.neighbor_reduce(view.data, view.num_vertices, out, *call.values)
        return None
    if source == schemes.LISTED:
        view = schemes.inserted_view(graph, over)
    module = instance("neighbor_reduce", view, call, out.dtype, over)
    ids = _NO_VERTICES if vertices is None else vertices
    module.neighbor_reduce(view.data, view.num_vertices, ids, vertices is None, out, *call.values)
    return None


def advance(graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once from ``start``; return what changed. Loops: as in :func:`neighbor_reduce`."""
    _not_yet(call.then is not None or over != "out" or call.reduce == "argmin")
    if len(start.arcs) == 1 and not start.frontiers:
        return _advance_arcs(graph, call, start.arcs[0], out)
    frontier = _only_frontier(graph, start)
    view, stamps = graph.view("out"), stamps_of(graph)
    source = _source(graph, "out", scheme, view)
    if source == schemes.LISTED:
        edges = graph.store("out").updated()
        return _advance_arcs(graph, call, ArcList(*edges, None, 0, len(edges.src)), out)
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


def _advance_arcs(graph: Graph, call: Call, edges: ArcList, out: np.ndarray) -> Frontier:
    """Apply the edge function to exactly ``edges``; return what changed."""
    _not_yet(edges.status is not None)
    view, stamps = graph.view("out"), stamps_of(graph)
    module = instance("advance", view, call, out.dtype)
    changed = graph.workspace.array("operators.queue", view.num_vertices, np.uint32)
    weights = edges.weight if edges.weight is not None else np.broadcast_to(np.int64(1), len(edges.src))
    count = module.advance_edges(
        view.num_vertices, edges.src, edges.dst, weights, out, stamps.array, stamps.steps(1), changed, *call.values
    )
    return _changed(graph, changed, count)


def propagate(
    graph: Graph, call: Call, start: Start, out: Any, over: str, max_steps: int, order: Order | None,
    layers: bool, once: str,
) -> Propagated:  # fmt: skip
    """Push until nothing changes."""
    _not_yet(call.then is not None or over != "out" or call.reduce in ("argmin", "sum") or order is not None or layers)
    frontier = _only_frontier(graph, start)
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
    return Propagated.of(steps, 0, steps < max_steps)


def converge(
    graph: Graph, call: Call, start: Start, over: str, wake: str, max_steps: int, until: Until | None
) -> Propagated:
    """Pull in rounds over an active set."""
    raise NotImplementedError


def vertex_map(graph: Graph, call: Call, start: Start) -> Frontier:
    """Return the vertices of ``start`` for which the function is true."""
    frontier = _only_frontier(graph, start)
    module = instance("filter", None, call, np.dtype(bool))
    ids = _NO_VERTICES if frontier.is_all else frontier.buffer
    kept = np.empty(len(frontier), np.uint32)
    count = module.select(graph.num_vertices, ids, frontier.is_all, len(frontier), kept, *call.values)
    return _changed(graph, kept, count)


def edge_map(graph: Graph, call: Call, start: Start, over: str, first: tuple[int, int] | None) -> None:
    """Call a function for its effects on every edge of ``start``."""
    raise NotImplementedError


def iterate(
    device: Device, body: Callable[[], Any], until: Until, max_steps: int, swap: tuple[tuple[Any, Any], ...]
) -> int:
    """Repeat ``body`` until the scalar ``until`` is zero after a round; return the number of rounds."""
    steps = 0
    while steps < max_steps:
        body()
        steps += 1
        if until.scalar.read() <= until.bound:
            break
        for a, b in swap:
            a[:], b[:] = b.copy(), a.copy()
    return steps


def _not_yet(wanted: bool) -> None:
    if wanted:
        raise NotImplementedError("this part of the operator is not there yet")


def _only_frontier(graph: Graph, start: Start) -> Frontier:
    _not_yet(len(start.frontiers) != 1 or bool(start.arcs))
    frontier = start.frontiers[0]
    return frontier if frontier.distinct else Frontier.from_vertices(graph, frontier.vertices)


_NO_VERTICES = np.empty(0, np.uint32)


def _changed(graph: Graph, vertices: np.ndarray, count: int) -> Frontier:
    """Return the first ``count`` of ``vertices``, copied, as a frontier."""
    return Frontier(graph.device, vertices[:count].copy(), num_vertices=graph.num_vertices)


def _source(graph: Graph, over: str, scheme: str, view: StoreView) -> str:
    """Return which edges a scheme walks, and how: see ``schemes.updated_source``."""
    return schemes.updated_source(graph, over, view) if scheme == "updated" else schemes.EVERYTHING
