"""Pulls on the CPU: ``neighbor_reduce`` and ``converge``."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.cpu import queues, threads
from suricate.cpu.threads import Range
from suricate.graph import Graph
from suricate.operators import schemes
from suricate.operators.call import AT_ONCE, UNLIMITED, Call, Start, Swap, Until, stamps_of
from suricate.operators.cpu.instances import Traversal, instance
from suricate.operators.cpu.measuring import MANY
from suricate.operators.cpu.parallel import counted, cut, effects_for_one, run_shared
from suricate.operators.cpu.pull.turns import CYCLES, ENDED, IN_CYCLE, LEFT, STAMPED, STATE
from suricate.operators.cpu.push.push_steps import SCAN, shared_from
from suricate.operators.cpu.sources import NO_VERTICES, Listed, frontier_of, numba_values, seen, union_of, walk_over
from suricate.operators.results import Layers, Propagated
from suricate.state.frontier import Frontier

Tables = tuple[Any, Any]  #: scratch of a thread: ``values`` and ``counts`` of the reduction

NOWHERE, BY_POSITION, BY_VERTEX = 0, 1, 2  #: where the values of a pull go
TABLES = 8  #: entries per vertex that the tables of several threads have at most
LABELS = 1 << 22  #: in the tables of all threads, up to which a place of a table is a label


def neighbor_reduce(
    graph: Graph, call: Call, vertices: np.ndarray | Start | Layers | None, out: Any, over: str, scheme: str
) -> Frontier | None:
    """Fill ``out`` with reduced values or pass them to ``then``; return the vertices for which ``then`` is true."""
    view = None
    if scheme == "updated":
        source = schemes.updated_source(graph, over, graph.view(over))
        if source == schemes.ITERATOR and call.reduce not in AT_ONCE and not call.columns:
            view = seen(graph.view(over), call)
            module = instance("reduce_updated", Traversal(view, swapped=over != "out"), call)
            module.neighbor_reduce(view.data, view.num_vertices, out, *numba_values(call))
            return None
        elif source != schemes.EVERYTHING:
            view = seen(schemes.inserted_view(graph, over), call)
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
        walk, g, h = walk_over(graph, over, call, swapped=over != "out")
        if view is not None:
            walk, g, h = walk._replace(view=view), view.data, view.data
        self._graph, self._call, self._walk, self._over = graph, call, walk, over
        self._module = instance("neighbor_reduce", walk, call)
        self._views = (g, h, graph.num_vertices)
        self._target = (_data(call, out), place, queue)
        self._values = numba_values(call)

    def run(self, vertices: Listed) -> int:
        """Pull for ``vertices``; write those for which ``then`` is true to the queue, and return their number."""
        tables = tables_for(self._graph, self._call, self._walk, self._views, vertices)
        each = 1 if self._call.reduce in AT_ONCE else threads.EACH
        ranges = [(0, vertices.size)]
        if not effects_for_one(self._call):
            ranges = cut(self._graph, self._walk, self._over, self._views, vertices, each=each)
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
        module = self._module
        if self._call.has_effects:
            module = instance("neighbor_reduce", self._walk, self._call, shared=True)
        lasts = run_shared(self._call, self._values, module.neighbor_reduce, parts)
        return 0 if self._call.then is None else threads.compacted(self._target[-1], ranges, lasts)

    def run_layers(self, layers: Layers) -> int:
        """Pull for each of ``layers`` in turn; write the vertices for which ``then`` is true to the queue."""
        count = len(layers)
        everybody = Listed(layers.vertices, False, int(layers.offsets[count]) if count else 0)
        tables = tables_for(self._graph, self._call, self._walk, self._views, everybody)
        ends = (layers.vertices, layers.offsets, count, layers.backwards)
        return self._module.reduce_layers(self._views, *ends, self._target, 0, tables, *self._values)


def tables_for(graph: Graph, call: Call, walk: Traversal, views: tuple[Any, Any, int], vertices: Listed) -> Tables:
    """Return scratch arrays ``(values, counts)`` for modes or h-indices of ``vertices``; empty for other reductions.

    ``views``: the data of the view of ``walk``, of a second one for both directions, and the number of vertices. The
    length of both arrays is a power of two, at least twice the largest degree of ``vertices``; for an h-index
    ``values`` is empty. Of a pull of columns ``values`` has an entry for each.
    """
    if call.columns:
        return graph.workspace.array("operators.values", call.columns, call.dtype), NO_VERTICES
    if call.reduce not in AT_ONCE:
        return NO_VERTICES, NO_VERTICES
    if call.vote is not None:
        hashed = call.vote.labels > LABELS
        most = graph.most_arcs  # out-edges; on a rank of a divided graph the in-edges are others
        if walk.swapped:
            most = graph.view("out").most_edges + graph.view("in").most_edges
        edges = int(counted("largest_degree", walk, views, *vertices)) if hashed else min(2 * views[2], most)
        return vote_tables(graph, call, 1, edges, hashed=hashed)[0]
    most = int(counted("largest_degree", walk, views, *vertices))
    size, array = 1 << max(0, 2 * most - 1).bit_length(), graph.workspace.array
    values = array("operators.values", size, call.dtype) if call.reduce == "mode" else np.empty(0, call.dtype)
    return values, array("operators.counts", size, np.uint32)


def tables_of_parts(graph: Graph, call: Call, tables: Tables, ranges: list[Range]) -> tuple[list[Range], list[Tables]]:
    """Return ``ranges`` and tables for each, in the memory of ``tables``; a single range if memory is too small."""
    number, array = len(ranges), graph.workspace.array
    if call.columns:
        own = array("operators.values", number * call.columns, call.dtype).reshape(number, call.columns)
        return ranges, [(values, NO_VERTICES) for values in own]
    if call.reduce not in AT_ONCE:
        return ranges, [tables] * number
    if call.vote is not None:
        edges = len(tables[1][0]) - 1
        return ranges, vote_tables(graph, call, number, edges, hashed=number * call.vote.labels > LABELS)
    listed, size = len(tables[0]), len(tables[1])
    if number * size > TABLES * graph.num_vertices:
        return [(ranges[0][0], ranges[-1][1])], [tables]
    values = array("operators.values", number * listed, call.dtype).reshape(number, listed)
    counts = array("operators.counts", number * size, np.uint32).reshape(number, size)
    return ranges, list(zip(values, counts, strict=True))


def vote_tables(graph: Graph, call: Call, number: int, edges: int, *, hashed: bool) -> list[Tables]:
    """Return the tables of ``number`` threads for votes of up to ``edges`` edges, see ``pulling_vote.py``.

    If they are not ``hashed``, they have a place per label. What is in them is all 0, before and behind a call.
    """
    assert call.vote is not None
    size, array = 1 << max(0, 2 * edges - 1).bit_length() if hashed else call.vote.labels, graph.workspace.array
    exact, labels = call.result.kind == "i", np.uint64(call.vote.labels)
    totals = array("operators.totals", number * size, np.int64).reshape(number, size)
    weights = array("operators.weights", 0 if exact else number * edges, np.float64).reshape(number, -1)
    places = array("operators.counts", number * (edges + 1), np.uint32).reshape(number, -1)
    keys = array("operators.keys", number * size if hashed else 0, np.uint32).reshape(number, -1)
    best = array("operators.best", number * call.vote.best, np.int64).reshape(number, -1)
    points = array("operators.points", number * call.vote.best, np.float64).reshape(number, -1)
    more = [(best[i], points[i]) if call.vote.best else () for i in range(number)]
    return [((totals[i], weights[i]), (places[i], keys[i], labels, *more[i])) for i in range(number)]


def _data(call: Call, out: Any) -> Any:
    """Return the array of values of ``out``, an array (or a pair of them) or ``Words``; None: an empty one."""
    if out is not None:
        return out.data if call.layout is not None else out.reshape(-1) if call.columns else out
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
    if call.turn is not None:
        return converge_by_turns(graph, call, start, over, wake, max_steps, most)
    if after is not None:
        max_steps = max(0, max_steps - after.steps) if after.crowded else 0
    walk, g, h = walk_over(graph, over, call, swapped=over != "out")
    _, waking, also_waking = walk_over(graph, wake or over, call)
    wakes = 0 if wake is None else 1 + (wake == "both")
    module, stamps, views = instance("converge", walk, call), stamps_of(graph), (g, h, graph.num_vertices)
    queue, buffer = _queue(graph, "operators.queue"), _queue(graph, "operators.buffer")
    vertices = union_of(graph, start, stamps, buffer, ends=True)
    everybody = vertices
    growing = call.reduce in AT_ONCE and not (vertices.everything or is_by_label(call))  # tables for those of a round
    adds = any(argument.kind == "accumulator" for argument in call.function.arguments)
    at_once = 1 if swap or growing or adds else max_steps
    share = int(MANY) if call.function.by_hand else shared_from(graph, call, NO_VERTICES)
    wakers, rounds, touched, stopped, crowded = (waking, also_waking, wakes), 0, 0, False, False
    tables = tables_for(graph, call, walk, views, vertices)
    while vertices.size and rounds < max_steps and not (stopped or crowded):
        first = stamps.steps(at_once)
        tables = tables_for(graph, call, walk, views, vertices) if growing and rounds else tables
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
            target = stamps.array, np.uint32(first + made)
            crowded = _shared_round(graph, call, given, values, target, queue) > most
            vertices = _gathered(graph, target, queue)
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
) -> int:  # fmt: skip
    """Compute one round by several threads; return the work. The vertices of the next round are stamped.

    ``given``: ``(module, walk, over, views, wakers, vertices, most, tables)``, as for ``compute_range`` in
    ``converge.py``; ``target``: the stamps, and the stamp of this round.
    """
    module, walk, over, views, wakers, vertices, most, tables = given
    ranges = cut(graph, walk, over, views, vertices, each=1 if call.reduce in AT_ONCE else threads.EACH)
    ranges, own = tables_of_parts(graph, call, tables, ranges)
    if call.has_effects:
        module = instance("converge", walk, call, shared=True)
    parts = [
        (views, wakers, vertices, *part, *target, most, queue, table) for part, table in zip(ranges, own, strict=True)
    ]
    work, n = sum(run_shared(call, values, module.compute, parts)), graph.num_vertices
    if call.commit is not None:
        run_shared(call, values, module.publish, [(n, vertices, *part) for part in ranges])
    return work


def _gathered(graph: Graph, target: tuple[np.ndarray, np.uint32], queue: np.ndarray) -> Listed:
    """Return, in ``queue`` and ascending, the vertices with a stamp; ``target`` is all stamps, and this one."""
    n = graph.num_vertices
    ranges = threads.ranges(n, threads.parts(int(n * SCAN)))
    lasts = threads.run(queues.gather, [(*part, *target, queue) for part in ranges])
    return Listed(queue, False, threads.compacted(queue, ranges, lasts))


def converge_by_turns(
    graph: Graph, call: Call, start: Start, over: str, wake: str | None, max_steps: int, most: int
) -> Propagated:
    """Pull in cycles of sub-rounds: those whose turn it is, see ``turns.py``."""
    walk, g, h = walk_over(graph, over, call, swapped=over != "out")
    _, waking, also_waking = walk_over(graph, wake or over, call)
    module, stamps, views = instance("turns", walk, call), stamps_of(graph), (g, h, graph.num_vertices)
    queue, buffer = _queue(graph, "operators.queue"), _queue(graph, "operators.buffer")
    mine, rest = _queue(graph, "operators.mine"), _queue(graph, "operators.rest")
    vertices = union_of(graph, start, stamps, buffer, ends=True)
    wakers = waking, also_waking, 0 if wake is None else 1 + (wake == "both")
    share = int(MANY) if call.function.by_hand else shared_from(graph, call, NO_VERTICES)
    adds = any(argument.kind == "accumulator" for argument in call.function.arguments)
    growing = call.reduce in AT_ONCE and not (vertices.everything or is_by_label(call))
    tables = tables_for(graph, call, walk, views, vertices)
    first, state = stamps.steps(max_steps), np.zeros(STATE, np.int64)
    rounds, touched, crowded = 0, 0, False
    while rounds < max_steps and not crowded and (vertices.size or state[IN_CYCLE]):
        values, at_once = numba_values(call), 1 if adds or growing else max_steps - rounds
        if growing and not state[IN_CYCLE]:
            tables = tables_for(graph, call, walk, views, vertices)
        made, more, left, due, crowded = module.turns(
            views, wakers, vertices, stamps.array, first, (rounds, at_once), most, share, (mine, rest), (queue, buffer),
            state, tables, *values,
        )  # fmt: skip
        rounds, touched = rounds + made, touched + more
        if state[ENDED] % 2:
            queue, buffer = buffer, queue
        vertices = Listed(buffer, False, left) if state[ENDED] else vertices
        if due:
            target = stamps.array, np.uint32(first + state[CYCLES])
            given = module, walk, over, views, wakers, Listed(mine, False, due), most, tables
            crowded = _shared_round(graph, call, given, values, target, queue) > most
            rounds, touched, state[STAMPED] = rounds + 1, touched + due, 1
            if not state[LEFT]:
                vertices, queue, buffer = _gathered(graph, target, queue), buffer, queue
                state[IN_CYCLE], state[CYCLES] = 0, state[CYCLES] + 1
    stamps.give_back(first + int(state[CYCLES]) + 1)
    if not rounds:
        numba_values(call)
    return Propagated.of(rounds, touched, not (vertices.size or state[IN_CYCLE] or crowded), crowded)


def is_by_label(call: Call) -> bool:
    """Return whether the tables of ``call`` have a place per label, and serve vertices of any degree."""
    return call.vote is not None and call.vote.labels <= LABELS
