"""Pushes on the CPU: ``advance`` and ``propagate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.errors import CapacityError
from suricate.operators import schemes
from suricate.operators.call import Call, Order, Stamps, Start, identity_of, stamps_of
from suricate.operators.cpu.instances import Walk, instance
from suricate.operators.cpu.sources import Listed, arcs_of, frontier_of, numba_values, union_of, walk_over
from suricate.operators.results import Layers, Propagated, empty_layers
from suricate.structures.frontier import Frontier
from suricate.types import ArcList

if TYPE_CHECKING:
    from suricate.graph import Graph

NO_LAYERS = np.empty(0, np.uint32), np.empty(0, np.int64)
WINDOW = 64  #: buckets of an ordered propagation


class Push(NamedTuple):
    """What the loops of one push work on."""

    graph: Graph
    call: Call
    over: str
    out: np.ndarray
    values: tuple[Any, ...]
    stamps: Stamps
    queue: np.ndarray
    spare: np.ndarray


def _push_of(graph: Graph, call: Call, out: Any, over: str) -> Push:
    array, n = graph.workspace.array, graph.num_vertices
    queues = array("operators.queue", n, np.uint32), array("operators.spare", n, np.uint32)
    target = out if call.layout is None else out.data
    return Push(graph, call, over, target, numba_values(call), stamps_of(graph), *queues)


def advance(graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once from ``start``; return what changed, or what of that ``then`` lets join.

    There are two loops: over the edges inserted since the mark, and one for all other schemes.
    """
    push = _push_of(graph, call, out, over)
    if scheme == "updated":
        source = schemes.updated_source(graph, "out", graph.view("out"))
        if source == schemes.ITERATOR:
            return _advance_updated(push)
        if source == schemes.LISTED:
            edges = graph.store("out").updated()
            start = Start((), (ArcList(*edges, None, 0, len(edges.src)),))
    vertices = union_of(graph, start, push.stamps, push.spare)
    return frontier_of(graph, push.queue, _step(push, start.arcs, vertices, push.stamps.steps(1)))


def _step(push: Push, arcs: tuple[ArcList, ...], vertices: Listed, step: int) -> int:
    """Make step 1 with the stamp ``step``; return how many vertices join, which are then in ``push.queue``."""
    walk, g, h = walk_over(push.graph, push.over)
    module = instance("advance", walk, push.call)
    n, count = push.graph.num_vertices, 0
    for some in arcs:
        count = module.push_arcs(n, *arcs_of(some), push.out, push.stamps.array, step, push.queue, count, *push.values)
    if vertices.size:
        count = module.push(g, h, n, *vertices, push.out, push.stamps.array, step, push.queue, count, *push.values)
    return count if push.call.then is None else module.second_phase(push.queue, count, 1, *push.values)


def _advance_updated(push: Push) -> Frontier:
    view, step = push.graph.view("out"), push.stamps.steps(1)
    module = instance("advance_updated", Walk(view), push.call)
    count = module.advance(view.data, view.num_vertices, push.out, push.stamps.array, step, push.queue, *push.values)
    return frontier_of(push.graph, push.queue, count)


def propagate(
    graph: Graph, call: Call, start: Start, out: Any, over: str, max_steps: int, order: Order | None,
    layers: bool, once: str,
) -> Propagated:  # fmt: skip
    """Push until nothing changes."""
    push = _push_of(graph, call, out, over)
    vertices = union_of(graph, start, push.stamps, push.spare)
    if max_steps == 0 or not start.at_most:
        none = _no_layers(graph) if layers else None
        return Propagated.of(0, 0, not start.at_most, none)
    kept = empty_layers(graph.device, graph.num_vertices, graph.num_vertices) if layers else None
    if kept is not None:
        kept.offsets[0] = 0
    number, touched = 0, 0
    first = push.stamps.steps(max_steps + 2)  # step i stamps with first + i, or one more
    if start.arcs:
        vertices, number = _from_arcs(push, start, vertices, first + 1, order, kept), 1
        touched = start.at_most
    number, more, left = _loop(push, vertices, first, number, max_steps, order, kept, once)
    push.stamps.give_back(first + number + 2)
    if left < 0:
        raise CapacityError("layers keep a vertex only once, but some joined several times: call without layers=True")
    if kept is not None:
        kept.count[0] = number + (1 if left else 0)
    return Propagated.of(number, touched + more, left == 0, kept)


def _no_layers(graph: Graph) -> Layers:
    none = empty_layers(graph.device, graph.num_vertices, 0)
    none.offsets[:] = 0
    return none


def _from_arcs(
    push: Push, start: Start, vertices: Listed, step: int, order: Order | None, kept: Layers | None
) -> Listed:
    """Make the first step of a propagation from arcs and ``vertices``; return what it goes on from."""
    waiting = None
    if order is not None and vertices.size:
        ids = _ids(vertices)
        waits = order.array[ids] > order.bound[0]
        vertices, waiting = Listed(ids[~waits], False, len(ids) - int(waits.sum())), ids[waits]
    if kept is not None:
        kept.vertices[: vertices.size] = _ids(vertices)
        kept.offsets[1] = vertices.size
    count = _step(push, start.arcs, vertices, step)
    if order is None or waiting is None:
        return Listed(push.queue, False, count)
    waiting = waiting[order.array[waiting] > order.bound[0]]
    ids = np.concatenate((push.queue[:count], waiting))
    return Listed(ids, False, len(ids))


def _ids(vertices: Listed) -> np.ndarray:
    """Return the vertices in an array of their own."""
    if vertices.everything:
        return np.arange(vertices.size, dtype=np.uint32)
    return vertices.ids[: vertices.size].copy()


def _loop(
    push: Push, vertices: Listed, first: int, number: int, max_steps: int, order: Order | None,
    kept: Layers | None, once: str,
) -> tuple[int, int, int]:  # fmt: skip
    """Run the loop of a propagation; return the number of the last step, of vertices that pushed, of those left."""
    graph, call = push.graph, push.call
    walk, g, h = walk_over(graph, push.over)
    n, layers = graph.num_vertices, NO_LAYERS if kept is None else (kept.vertices, kept.offsets)
    # the loops write to the queue first: what they start from must not be there
    queues = (push.spare, push.queue) if vertices.ids is push.queue else (push.queue, push.spare)
    common = (*vertices, push.out, push.stamps.array, first, number, max_steps, *queues)
    if order is not None:
        size, array = n + WINDOW + 2, graph.workspace.array
        rings = array("operators.after", size, np.uint32), array("operators.before", size, np.uint32)
        top = identity_of("min", order.array.dtype)
        module = instance("propagate_ordered", walk, call)
        return module.propagate(g, h, n, *common, *layers, *order, top, *rings, *push.values)
    if once and graph.has_in_edges:
        back = {"out": "in", "in": "out"}.get(push.over, "both")
        _, b, c = walk_over(graph, back)
        module = instance("propagate_once", walk, call)
        return module.propagate(g, h, b, c, n, once == "equal", *common, *layers, *push.values)
    if call.then is None and kept is None and call.reduce != "sum":
        return instance("propagate", walk, call).propagate(g, h, n, *common, *push.values)
    return instance("propagate_levels", walk, call).propagate(g, h, n, *common, *layers, *push.values)
