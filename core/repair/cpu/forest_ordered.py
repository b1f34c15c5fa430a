"""CPU template of the dependence forest: pushes in the order of the first key.

So few vertices make offers more than once, however far apart the keys are that a repair starts from. As in
delta-stepping vertices wait in buckets by their first key (``waiting.py``), and the lowest bucket is emptied first.
Where all offers of a step have the same keys, as in breadth-first search, two queues will do.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.repair.cpu.forest import AHEAD, above, push_from
from suricate.repair.cpu.forest_bindings import (
    ahead,
    degree,
    edge,
    first_key,
    less_word,
    load_word,
    neighbors,
    parent_of,
    same_keys,
    store_word,
    weight,
)
from suricate.repair.cpu.waiting import (
    FAR,
    WINDOW,
    empty_buckets,
    move_window,
    multiple_of,
    open_buckets,
    put_off,
    take_out,
)


@inner
def push_in_order(g, tree, u, base, width, num_vertices, after, before, violated, *args):
    """Make the offers of ``u``; what they change waits in the bucket of its new key."""
    own = load_word(tree, u)
    if parent_of(own) == EMPTY:
        return
    for v, slot in neighbors(g, u):
        old = load_word(tree, v)
        value = edge(u, v, weight(g, slot), *args)
        if not above(value, own):
            violated[0] = 1
        elif less_word(value, old):
            store_word(tree, v, value)
            if not same_keys(value, old):
                put_off(v, multiple_of(first_key(value), width), base, num_vertices, after, before)


@kernel
def propagate_in_order(g, num_vertices, queue, count, tree, width, share, after, before, violated, *args):
    """Make offers from the ``count`` vertices in ``queue`` until nothing changes, the lowest keys first.

    A bucket is ``width`` wide; ``after`` and ``before`` belong to ``waiting.py``. After more than ``share`` edges the
    rest is left to several threads. Returns the number of buckets that were emptied, of vertices that made offers, and
    of those left, which are in ``queue``.
    """
    steps, pushed, edges, at, base = 0, 0, np.int64(0), 0, FAR
    for i in range(count):
        base = min(base, multiple_of(first_key(load_word(tree, queue[i])), width))
    open_buckets(num_vertices, after, before)
    for i in range(count):
        v = queue[i]
        put_off(v, multiple_of(first_key(load_word(tree, v)), width), base, num_vertices, after, before)
    while edges <= share:
        while at < WINDOW and after[num_vertices + 1 + at] == num_vertices + 1 + at:
            at += 1
        if at == WINDOW:
            if after[num_vertices + 1 + WINDOW] == num_vertices + 1 + WINDOW:
                break
            base, at = move_window(tree, width, num_vertices, after, before), 0
        ring = np.int64(num_vertices + 1 + at)
        steps += 1
        while after[ring] != ring and edges <= share:
            u = np.uint32(after[ring] - 1)
            take_out(u, after, before)
            if after[ring] != ring:
                ahead(g, np.uint32(after[ring] - 1))
            push_in_order(g, tree, u, base, width, num_vertices, after, before, violated, *args)
            pushed += 1
            edges += np.int64(degree(g, u))
    return steps, pushed, empty_buckets(num_vertices, after, before, queue)


@kernel
def propagate_by_level(g, seeds, count, tree, stamp, step, queue, spare, violated, *args):
    """Make offers from ``seeds``, whose keys ascend, until nothing changes; a seed joins the step of its level.

    Returns the number of steps, of vertices that made offers, and the next number of stamps.
    """
    steps, pushed, taken, queued = 0, 0, 0, 0
    while queued > 0 or taken < count:
        level = first_key(load_word(tree, queue[0] if queued > 0 else seeds[taken]))
        while taken < count and first_key(load_word(tree, seeds[taken])) <= level:
            if stamp[seeds[taken]] != step:
                queue[queued] = seeds[taken]
                queued += 1
            taken += 1
        steps += 1
        pushed += queued
        step += 1
        left = 0
        for i in range(queued):
            if i + AHEAD < queued:
                ahead(g, queue[i + AHEAD])
            left = push_from(g, tree, queue[i], stamp, step, spare, left, violated, *args)
        queue, spare = spare, queue
        queued = left
    return steps, pushed, step + 1
