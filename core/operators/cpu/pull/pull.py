"""Pulls on the CPU: ``neighbor_reduce`` and ``converge``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from suricate.cpu import threads
from suricate.cpu.threads import Range
from suricate.graph import Graph
from suricate.operators import schemes
from suricate.operators.call import AT_ONCE, UNLIMITED, Call, Start, Swap, Until, stamps_of
from suricate.operators.cpu.instances import Traversal, instance
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.parallel import cut, run_shared
from suricate.operators.cpu.push.push_steps import SCAN, shared_from
from suricate.operators.cpu.sources import NO_VERTICES, Listed, frontier_of, numba_values, union_of, walk_over
from suricate.operators.results import Layers, Propagated
from suricate.state.frontier import Frontier

Tables = tuple[np.ndarray, np.ndarray]

NOWHERE, BY_POSITION, BY_VERTEX = 0, 1, 2  #: where the values of a pull go
TABLES = 8  #: entries per vertex that the tables of several threads have at most


def neighbor_reduce(
    graph: Graph, call: Call, vertices: np.ndarray | Start | Layers | None, out: Any, over: str, scheme: str
) -> Frontier | None:
    """Fill ``out`` with reduced values or pass them to ``then``; return the vertices for which ``then`` is true."""
    view = None
    if scheme == "updated":
        source = schemes.updated_source(graph, over, graph.view(over))
        if source == schemes.ITERATOR and call.reduce not in AT_ONCE:
            view = graph.view(over)
            module = instance("reduce_updated", Traversal(view, swapped=over != "out"), call)
            module.neighbor_reduce(view.data, view.num_vertices, out, *numba_values(call))
            return None
        elif source != schemes.EVERYTHING:
            view = schemes.inserted_view(graph, over)
    queue = _queue(graph, "operators.queue") if call.then is not None else NO_VERTICES
    place = NOWHERE if out is None else BY_POSITION
    if isinstance(vertices, Start | Layers):
        place = NOWHERE if out is None else BY_VERTEX
    pull = _Pull(graph, call, over, view, out, place, queue)
    if isinstance(vertices, Layers):
        count = pull.run_layers(vertices)
    elif isinstance(vertices, Start):
        count = pull.run(union_of(graph, vertices, stamps_of(graph), _queue(graph, "operators.buffer")))
    elif vertices is None:
        count = pull.run(Listed(NO_VERTICES, True, graph.num_vertices))
    else:
        count = pull.run(Listed(vertices, False, len(vertices)))
    return None if call.then is None else frontier_of(graph, queue, count)


class _Pull:
    """One call of ``neighbor_reduce``, which is run for a list of vertices or for the layers of a propagation."""

    def __init__(self, graph: Graph, call: Call, over: str, view: Any, out: Any, place: int, queue: np.ndarray) -> None:
        walk, g, h = walk_over(graph, over, swapped=over != "out")
        if view is not None:
            walk, g, h = walk._replace(view=view), view.data, view.data
        self._graph, self._call, self._walk, self._over = graph, call, walk, over
        self._module = instance("neighbor_reduce", walk, call)
        self._views = (g, h, graph.num_vertices)
        self._target = (_data(call, out), place, queue)
        self._values = numba_values(call)

    def run(self, vertices: Listed) -> int:
        """Pull for ``vertices``; write those for which ``then`` is true to the queue, and return their number."""
        tables = tables_for(self._graph, self._call, self._module, self._views, vertices)
        each = 1 if self._call.reduce in AT_ONCE else threads.EACH
        ranges = cut(self._graph, self._walk, self._over, self._module, self._views, vertices, each=each)
        if len(ranges) > 1:
            ranges, own = tables_of_parts(self._graph, self._call, tables, ranges)
            if len(ranges) > 1:
                return self._run_parts(vertices, ranges, own)
        whole = (vertices.ids, vertices.everything, 0, vertices.size)
        return self._module.neighbor_reduce(self._views, *whole, self._target, 0, tables, *self._values)

    def _run_parts(self, vertices: Listed, ranges: list[Range], tables: list[Tables]) -> int:
        given = self._views, vertices.ids, vertices.everything
        ends = zip(ranges, tables, strict=True)
        parts = [(*given, begin, end, self._target, begin, own) for (begin, end), own in ends]
        lasts = run_shared(self._call, self._values, self._module.neighbor_reduce, parts)
        return 0 if self._call.then is None else threads.compacted(self._target[-1], ranges, lasts)

    def run_layers(self, layers: Layers) -> int:
        """Pull for each of ``layers`` in turn; write the vertices for which ``then`` is true to the queue."""
        count = len(layers)
        everybody = Listed(layers.vertices, False, int(layers.offsets[count]) if count else 0)
        tables = tables_for(self._graph, self._call, self._module, self._views, everybody)
        ends = (layers.vertices, layers.offsets, count, layers.backwards)
        return self._module.reduce_layers(self._views, *ends, self._target, 0, tables, *self._values)


def tables_for(graph: Graph, call: Call, module: ModuleType, views: tuple[Any, Any, int], vertices: Listed) -> Tables:
    """Return scratch arrays ``(values, counts)`` for modes or h-indices of ``vertices``; empty for other reductions.

    ``module`` is an instance that has ``largest_degree``; ``views``: the data of the view, of a second one for both
    directions, and the number of vertices. The length of both arrays is a power of two, at least twice the largest
    degree of ``vertices``; for an h-index ``values`` is empty.
    """
    if call.reduce not in AT_ONCE:
        return NO_VERTICES, NO_VERTICES
    most = int(module.largest_degree(*views, *vertices))
    size, array = 1 << max(0, 2 * most - 1).bit_length(), graph.workspace.array
    values = array("operators.values", size, call.dtype) if call.reduce == "mode" else np.empty(0, call.dtype)
    return values, array("operators.counts", size, np.uint32)


def tables_of_parts(graph: Graph, call: Call, tables: Tables, ranges: list[Range]) -> tuple[list[Range], list[Tables]]:
    """Return ``ranges`` and tables for each, in the memory of ``tables``; a single range if memory is too small."""
    number, listed, size, array = len(ranges), len(tables[0]), len(tables[1]), graph.workspace.array
    if call.reduce not in AT_ONCE:
        return ranges, [tables] * number
    if number * size > TABLES * graph.num_vertices:
        return [(ranges[0][0], ranges[-1][1])], [tables]
    values = array("operators.values", number * listed, call.dtype).reshape(number, listed)
    counts = array("operators.counts", number * size, np.uint32).reshape(number, size)
    return ranges, list(zip(values, counts, strict=True))


def _data(call: Call, out: Any) -> np.ndarray:
    """Return the array of values of ``out``, an array or ``Words``; None: an empty one of the type that fits."""
    if out is not None:
        return out if call.layout is None else out.data
    if call.layout is None:
        return np.empty(0, call.dtype)
    return np.empty(0 if call.layout.bits == 64 else (0, 2), np.uint64)


def _queue(graph: Graph, name: str) -> np.ndarray:
    return graph.workspace.array(name, graph.num_vertices, np.uint32)


def converge(
    graph: Graph, call: Call, start: Start, over: str, wake: str | None, max_steps: int, until: Until | None,
    most: int = UNLIMITED, swap: Swap = (), after: Propagated | None = None,
) -> Propagated:  # fmt: skip
    """Pull in rounds (see ``suricate.operators.call``); ``until`` is checked in all if a function adds to a scalar."""
    if after is not None:
        max_steps = max(0, max_steps - after.steps) if after.crowded else 0
    walk, g, h = walk_over(graph, over, swapped=over != "out")
    _, waking, also_waking = walk_over(graph, wake or "out")
    wakes = 0 if wake is None else 1 + (wake == "both")
    module, stamps, views = instance("converge", walk, call), stamps_of(graph), (g, h, graph.num_vertices)
    queue, buffer = _queue(graph, "operators.queue"), _queue(graph, "operators.buffer")
    vertices = union_of(graph, start, stamps, buffer, ends=True)
    everybody = vertices
    growing = call.reduce in AT_ONCE and not vertices.everything  # tables for the vertices of a round
    adds = any(argument.kind == "accumulator" for argument in call.function.arguments)
    at_once = 1 if swap or growing or adds else max_steps
    share = int(MANY) if call.function.by_hand else shared_from(graph, NO_VERTICES)
    wakers, rounds, touched, stopped, crowded = (waking, also_waking, wakes), 0, 0, False, False
    tables = tables_for(graph, call, module, views, vertices)
    while vertices.size and rounds < max_steps and not (stopped or crowded):
        first = stamps.steps(at_once)
        tables = tables_for(graph, call, module, views, vertices) if growing and rounds else tables
        values = exchanged(numba_values(call), swap) if rounds % 2 else numba_values(call)
        made, more, left, crowded = module.converge(
            views, wakers, vertices, stamps.array, first, at_once, most, share, queue, buffer, tables, *values
        )
        rounds, touched = rounds + made, touched + more
        if made % 2:
            queue, buffer = buffer, queue
        vertices = Listed(buffer, False, left) if made else vertices
        if left and made < at_once and rounds < max_steps and not crowded:
            touched, given = touched + left, (module, walk, over, views, wakers, vertices, most, tables)
            vertices, work = _shared_round(graph, call, given, values, (stamps.array, np.uint32(first + made)), queue)
            crowded = work > most
            made, rounds, queue, buffer = made + 1, rounds + 1, buffer, queue
        stamps.give_back(first + made)
        vertices = everybody if swap else vertices
        stopped = until is not None and until.ends_loop()
        crowded = crowded and not stopped
    exchange_contents(call.values, swap, rounds)
    if not rounds:
        numba_values(call)  # the totals of a call that had nothing to do are neutral
    left_out = after is not None and not after.crowded
    return Propagated.of(rounds, touched, left_out or not (vertices.size or crowded), crowded)


def exchange_contents(values: tuple[Any, ...], swap: Swap, rounds: int) -> None:
    """Exchange the contents of the arrays at the positions ``swap`` if they took each other's place in the last round.

    After an even number of ``rounds`` the contents are where they belong.
    """
    for a, b in swap if rounds % 2 else ():
        values[a][:], values[b][:] = values[b].copy(), values[a].copy()


def exchanged(values: tuple[Any, ...], swap: Swap) -> tuple[Any, ...]:
    """Return ``values`` with the entries at each pair of positions in ``swap`` exchanged."""
    other = {a: b for pair in swap for a, b in (pair, pair[::-1])}
    return tuple(values[other.get(i, i)] for i in range(len(values)))


def _shared_round(
    graph: Graph, call: Call, given: tuple[Any, ...], values: tuple[Any, ...], target: tuple[np.ndarray, np.uint32],
    queue: np.ndarray,
) -> tuple[Listed, int]:  # fmt: skip
    """Compute one round by several threads; return the active set of the next round, and the work.

    ``given``: ``(module, walk, over, views, wakers, vertices, most, tables)``, as for ``compute_range`` in
    ``converge.py``; ``target``: the stamps, and the stamp of this round.
    """
    module, walk, over, views, wakers, vertices, most, tables = given
    ranges = cut(graph, walk, over, module, views, vertices, each=1 if call.reduce in AT_ONCE else threads.EACH)
    ranges, own = tables_of_parts(graph, call, tables, ranges)
    parts = [
        (views, wakers, vertices, *part, *target, most, queue, table) for part, table in zip(ranges, own, strict=True)
    ]
    work, n = sum(run_shared(call, values, module.compute, parts)), graph.num_vertices
    if call.commit is not None:
        run_shared(call, values, module.publish, [(n, vertices, *part) for part in ranges])
    ranges = threads.ranges(n, threads.parts(int(n * SCAN)))
    lasts = threads.run(module.gather, [(*part, *target, queue) for part in ranges])
    return Listed(queue, False, threads.compacted(queue, ranges, lasts)), work
