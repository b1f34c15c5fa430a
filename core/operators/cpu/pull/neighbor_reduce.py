"""CPU template of ``neighbor_reduce``: one pass over the adjacency of each vertex, one value per vertex."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.scratch import scratch
from suricate.operators.cpu.bindings import (
    ahead,
    by_runs,
    cast,
    degree,
    has_then,
    identity,
    in_any_order,
    put,
    run,
    then,
)
from suricate.operators.cpu.pull.pulling import asks_ahead, reduce_copied, reduce_run, reduce_vertex

BLOCK = 1024  #: vertices that are put in order at a time
MANY = 64  #: a list is long from that share of all vertices on
FURTHER = 256  #: vertices ahead at which rows are prefetched: beyond the page, within which the processor does so
FURTHER_MIXED, FURTHER_LONG = 16, 4  #: the same where vertices are put in order, and there of rows that are no run
SELDOM, PLAIN = 16, 31  #: if less than 1 / SELDOM of a block has no edges, the next PLAIN blocks keep their order


@inner
def put_those_with_edges_first(g, begin, size, order):
    """Write a permutation of ``0 .. size - 1`` to ``order``: the ``i`` whose vertex ``begin + i`` has edges come first.

    Edges in the view ``g`` are meant. Returns how many of the ``size`` vertices have some.
    """
    some, none = 0, size
    for i in range(size):
        has = degree(g, np.uint32(begin + i)) > 0
        none -= not has
        order[np.uint64(some if has else none)] = i
        some += has
    return some


@inner
def are_a_range(vertices, everything, begin, end, num_vertices):
    """Return whether ``vertices[begin:end]`` are, by number and ends, roughly a range of ids, close in storage."""
    size = end - begin
    if everything or size * MANY < num_vertices or size < 2:
        return everything
    return 0 < np.int64(vertices[end - 1]) - np.int64(vertices[begin]) < 2 * size


@inner
def reduce_range(g, h, num_vertices, begin, end, out, values, counts, *args):
    """Write the reduced value of each vertex from ``begin`` to ``end`` (exclusive) to ``out``."""
    for i in range(begin, end):
        put(out, i, reduce_vertex(g, h, num_vertices, np.uint32(i), False, values, counts, *args))


@inner
def reduce_runs(g, num_vertices, begin, size, ordered, order, out, *args):
    """Write the reduced values of ``size`` vertices from ``begin`` on to ``out``: those whose edges are a run first.

    Vertices are taken in the order of ``order`` if ``ordered``; it is overwritten. So loops are short enough for the
    processor's registers, and of rows only the length is hard to predict.
    """
    rest = 0
    for j in range(size):
        i = np.int64(order[np.uint64(j)]) if ordered else j
        u = np.uint32(begin + i)
        if ordered:
            ahead(g, np.uint32(begin + np.int64(order[np.uint64(min(j + FURTHER_MIXED, size - 1))])))
        else:
            ahead(g, np.uint32(min(begin + i + FURTHER, num_vertices - 1)))
        start = run(g, u)
        if start >= 0:
            put(out, begin + i, reduce_run(g, u, start, cast(identity), *args))
        else:
            order[np.uint64(rest)] = i
            rest += 1
    for j in range(rest):
        ahead(g, np.uint32(begin + np.int64(order[np.uint64(min(j + FURTHER_LONG, rest - 1))])))
        i = begin + np.int64(order[np.uint64(j)])
        put(out, i, reduce_copied(g, np.uint32(i), False, cast(identity), *args))


@inner
def reduce_list(views, vertices, everything, begin, end, target, queued, tables, *args):
    """Reduce over the edges of each vertex of ``vertices[begin:end]``; return the new length of the queue.

    The parameters are those of :func:`neighbor_reduce`. Vertices are queued in the order of the list. If ``then`` is
    absent or returns nothing, those without edges may be handled last in each block, to avoid mispredicted branches.
    """
    g, h, num_vertices = views
    out, place, kept = target
    values, counts = tables
    order, rest, in_order = scratch(), 0, are_a_range(vertices, everything, begin, end, num_vertices)
    asks = asks_ahead(g, num_vertices, in_order, *args)
    for block in range(begin, end, BLOCK):
        size = min(BLOCK, end - block)
        ordered = in_any_order and everything and rest == 0
        if ordered:
            some = put_those_with_edges_first(g, block, size, order)
            rest = PLAIN if (size - some) * SELDOM < size else 0
        else:
            rest -= 1
        if by_runs and everything and place == 1:
            reduce_runs(g, num_vertices, block, size, ordered, order, out, *args)
            continue
        if everything and place == 1 and not (ordered or asks or has_then):
            reduce_range(g, h, num_vertices, block, block + size, out, values, counts, *args)
            continue
        for j in range(size):
            i = block + (np.int64(order[np.uint64(j)]) if ordered else j)
            u = np.uint32(i) if everything else vertices[i]
            total = reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args)
            if place == 1:
                put(out, i, total)
            elif place == 2 and u < num_vertices:
                put(out, u, total)
            if has_then and u < num_vertices and then(u, total, *args):
                kept[queued] = u
                queued += 1
    return queued


@kernel
def neighbor_reduce(views, vertices, everything, begin, end, target, queued, tables, *args):
    """Reduce over the edges of each vertex of ``vertices[begin:end]``; return the new length of the queue.

    Args:
        views: the data of the view and of a second one for both directions, and the number of vertices.
        vertices, everything: an array of ids; if ``everything`` is set, position ``i`` is vertex ``i`` instead.
        begin, end: the range of positions, ``end`` exclusive.
        target: ``(out, place, queue)``. ``place`` says how ``out``, the array of values, is indexed: by position (1),
            by vertex (2), or not at all (0). Vertices for which ``then`` is true are appended to ``queue``,
            ``uint32[n]``.
        queued: the length of the queue before the call.
        tables: scratch ``(values, counts)`` for reductions that take all values at once.
        args: the arguments of the user's functions.
    """
    return reduce_list(views, vertices, everything, begin, end, target, queued, tables, *args)


@kernel
def reduce_layers(views, vertices, ends, count, backwards, target, queued, tables, *args):
    """Reduce over the edges of each vertex of ``count`` layers, layer by layer; return the new length of the queue.

    Layer ``i`` is ``vertices[ends[i] : ends[i + 1]]``; if ``backwards`` is set, the last layer is first. The views, the
    target, the length ``queued`` of the queue before the call, the scratch tables and ``args`` are those of
    :func:`neighbor_reduce`.
    """
    for i in range(count):
        layer = count - 1 - i if backwards else i
        begin, end = ends[layer], ends[layer + 1]
        queued = reduce_list(views, vertices, False, begin, end, target, queued, tables, *args)
    return queued
