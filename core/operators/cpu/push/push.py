"""Pushes on the CPU: ``advance`` and ``propagate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.errors import CapacityError
from suricate.base.types import ArcList
from suricate.graph import Graph
from suricate.operators import schemes
from suricate.operators.call import Call, Start, stamps_of
from suricate.operators.cpu.instances import Traversal, instance
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.push.push_steps import REVERSE, Push, SharedSteps, shared_from
from suricate.operators.cpu.sources import Listed, arcs_of, frontier_of, numba_values, seen, union_of, walk_over
from suricate.operators.results import Layers, Propagated, empty_layers
from suricate.state.frontier import Frontier

NO_LAYERS = np.empty(0, np.uint32), np.empty(0, np.int64)


def _push_of(graph: Graph, call: Call, out: Any, over: str) -> Push:
    array, n = graph.workspace.array, graph.num_vertices
    queues = array("operators.queue", n, np.uint32), array("operators.buffer", n, np.uint32)
    target = out if call.layout is None else out.data
    return Push(graph, call, over, target, numba_values(call), stamps_of(graph), *queues)


def advance(graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once from ``start`` into ``out``, in place; return the vertices that changed and, with ``then``, joined."""
    push = _push_of(graph, call, out, over)
    if scheme == "updated":
        source = schemes.updated_source(graph, "out", graph.view("out"))
        if source == schemes.ITERATOR:
            return _advance_updated(push)
        if source == schemes.LISTED:
            edges = graph.store("out").updated()
            start = Start((), (ArcList.of(edges),))
    vertices = union_of(graph, start, push.stamps, push.buffer)
    return frontier_of(graph, push.queue, _step(push, start.arcs, vertices, push.stamps.steps(1)))


def _step(push: Push, arcs: tuple[ArcList, ...], vertices: Listed, step: int) -> int:
    """Push along ``arcs`` and along the edges of ``vertices``, as step 1; return the number of vertices that join."""
    least = shared_from(push.graph, push.call, push.out)
    if least < MANY and (steps := SharedSteps(push)).is_large(arcs, vertices, least):
        for some in arcs:
            steps.push_arcs(some, step)
        if vertices.size:
            steps.push(vertices, step)
        return steps.gather(step, step, 1, push.queue)
    walk, g, h = walk_over(push.graph, push.over, push.call)
    module = instance("advance", walk, push.call)
    n, count = push.graph.num_vertices, 0
    for some in arcs:
        listed = arcs_of(some, push.call)
        count = module.push_arcs(n, *listed, push.out, push.stamps.array, step, push.queue, count, *push.values)
    if vertices.size:
        count = module.push(g, h, n, *vertices, push.out, push.stamps.array, step, push.queue, count, *push.values)
    return count if push.call.then is None else module.second_phase(push.queue, count, 1, *push.values)


def _advance_updated(push: Push) -> Frontier:
    view, step = seen(push.graph.view("out"), push.call), push.stamps.steps(1)
    module = instance("advance_updated", Traversal(view), push.call)
    count = module.advance(view.data, view.num_vertices, push.out, push.stamps.array, step, push.queue, *push.values)
    return frontier_of(push.graph, push.queue, count)


def propagate(
    graph: Graph, call: Call, start: Start, out: Any, over: str, max_steps: int, layers: bool, once: str
) -> Propagated:
    """Push from ``start`` until no vertex joins the frontier, or for ``max_steps`` steps; return the outcome.

    Raises ``CapacityError`` with ``layers``, if a vertex joined several times.
    """
    push = _push_of(graph, call, out, over)
    vertices = union_of(graph, start, push.stamps, push.buffer)
    if max_steps == 0 or not start.at_most:
        none = _no_layers(graph) if layers else None
        return Propagated.of(0, 0, not start.at_most, layers=none)
    kept = empty_layers(graph.device, graph.num_vertices, graph.num_vertices) if layers else None
    if kept is not None:
        kept.offsets[0] = 0
    number, touched = 0, 0
    first = push.stamps.steps(max_steps + 2)  # step i stamps with first + i, or one more
    if start.arcs:
        vertices, number = _from_arcs(push, start, vertices, first + 1, kept), 1
        touched = start.at_most
    number, more, left = _loop(push, vertices, first, number, max_steps, kept, once)
    push.stamps.give_back(first + number + 2)
    if left < 0:
        raise CapacityError("layers keep a vertex only once, but some joined several times: call without layers=True")
    if kept is not None:
        kept.count[0] = number + (1 if left else 0)
    return Propagated.of(number, touched + more, left == 0, layers=kept)


def _no_layers(graph: Graph) -> Layers:
    none = empty_layers(graph.device, graph.num_vertices, 0)
    none.offsets[:] = 0
    return none


def _from_arcs(push: Push, start: Start, vertices: Listed, step: int, kept: Layers | None) -> Listed:
    """Make step 1 of a propagation from the arcs of ``start`` and from ``vertices``; return those that joined."""
    if kept is not None:
        kept.vertices[: vertices.size] = _ids(vertices)
        kept.offsets[1] = vertices.size
    return Listed(push.queue, False, _step(push, start.arcs, vertices, step))


def _ids(vertices: Listed) -> np.ndarray:
    """Return the ids of ``vertices`` as a new array, ``uint32[size]``."""
    if vertices.everything:
        return np.arange(vertices.size, dtype=np.uint32)
    return vertices.ids[: vertices.size].copy()


def _loop(
    push: Push, vertices: Listed, first: int, number: int, max_steps: int, kept: Layers | None, once: str
) -> tuple[int, int, int]:
    """Run the steps from ``vertices``, large ones on several threads; parameters and result are the templates'."""
    layers = NO_LAYERS if kept is None else (kept.vertices, kept.offsets)
    # the loops write to the queue first: what they start from must not be there
    queue, buffer = (push.buffer, push.queue) if vertices.ids is push.queue else (push.queue, push.buffer)
    loop, touched, share = _loop_of(push, once), 0, shared_from(push.graph, push.call, push.out)
    steps = SharedSteps(push) if share < MANY else None
    target = push.out, push.stamps.array, first
    while True:
        before = number
        number, more, left = loop(vertices, target, number, max_steps, share, queue, buffer, layers)
        touched += more
        if (number - before) % 2:
            queue, buffer = buffer, queue
        if steps is None or left <= 0 or number == max_steps:
            return number, touched, left
        vertices = Listed(buffer if number > before else vertices.ids, vertices.everything and number == before, left)
        number, touched = number + 1, touched + left
        if once and push.graph.has_in_edges:
            left = steps.search(vertices, first, number, equal=once == "equal", queue=queue)
        else:
            steps.push(vertices, first + number)
            left = steps.gather(first + number, first + number, number, queue)
        vertices, queue, buffer = Listed(queue, False, left), buffer, queue


def _loop_of(push: Push, once: str) -> Callable[..., tuple[int, int, int]]:
    """Return the compiled loop of ``push`` with views and arguments bound; ``vertices`` to ``kept`` remain."""
    graph, call = push.graph, push.call
    walk, g, h = walk_over(graph, push.over, call)
    first: tuple[Any, ...] = ((g, h, graph.num_vertices),)
    if once and graph.has_in_edges:
        _, *reverse = walk_over(graph, REVERSE[push.over], call)
        module, first = instance("propagate_once", walk, call), (*first, tuple(reverse), once == "equal")
    else:
        module = instance("propagate", walk, call)
    return lambda *given: module.propagate(*first, *given, *push.values)
