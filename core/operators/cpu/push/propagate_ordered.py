"""CPU template of ``propagate`` with ``order``: vertices above a bound wait until no other is left.

A step has two phases, as in ``propagate_levels.py``. When the frontier is empty the bound rises to the next multiple
that admits a vertex, and the second phase runs for those admitted.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import then
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.operators.cpu.push.layering import append_layer
from suricate.operators.cpu.push.pushing import push_list
from suricate.operators.cpu.push.waiting import (
    WINDOW,
    empty_buckets,
    move_window,
    multiple_of,
    open_buckets,
    put_off,
    take_out,
)


@inner
def sort_in(v, joins, order, bound, delta, base, num_vertices, after, before, queue, queued):
    """Put ``v`` into the queue or a bucket, by its value; return the length of the queue.

    One that does not join but waits is moved to the bucket of its value, or waits no longer.
    """
    if order[v] > bound[0]:
        if joins or after[np.int64(v) + 1]:
            put_off(v, multiple_of(order[v], delta), base, num_vertices, after, before)
        return queued
    take_out(v, after, before)
    if joins:
        queue[queued] = v
        queued += 1
    return queued


@inner
def raise_bound(order, bound, delta, top, multiple, ring, after):
    """Raise the bound to ``multiple`` times ``delta``, which admits the vertices of ``ring``; return their number."""
    entry, waiting = np.int64(after[ring]), 0
    highest = order[entry - 1]
    while entry != ring:
        highest = max(highest, order[entry - 1])
        entry = np.int64(after[entry])
        waiting += 1
    target = multiple * delta
    bound[0] = target if highest < target <= top else highest
    return waiting


@kernel
def propagate(
    g, h, num_vertices, frontier, everything, count, out, stamp, step, number, max_steps, share, queue, spare, layers,
    ends, order, bound, delta, top, after, before, window, resumed, *args,
):  # fmt: skip
    """Push until no vertex joins or waits, or until a step with more than ``share`` edges, unless that is ``MANY``.

    Returns the number of the last step, of vertices that pushed, of those left, and whether several threads are to make
    the next step, from those in ``queue``. With ``resumed`` they have made step ``number``, and ``frontier`` is what
    that altered; ``window`` (int64[2]) has kept the place in the buckets. ``order``, ``bound`` and ``delta`` are those
    of the call, ``top`` is the largest value of their type; ``after`` and ``before`` belong to ``waiting.py``. The
    other parameters are those of ``propagate_levels.py``.
    """
    touched, queued = 0, 0
    if not resumed:
        window[0], window[1] = multiple_of(bound[0], delta), 0
        open_buckets(num_vertices, after, before)
    base, at = window[0], window[1]
    for i in range(count):
        v = np.uint32(i) if everything else frontier[i]
        if v < num_vertices:
            joins = then(v, number, *args) if resumed else True
            queued = sort_in(v, joins, order, bound, delta, base, num_vertices, after, before, queue, queued)
    count = queued
    fits = append_layer(layers, ends, number, queue, False, count)
    while number < max_steps and fits:
        if count == 0:
            while at < WINDOW and after[num_vertices + 1 + at] == num_vertices + 1 + at:
                at += 1
            if at == WINDOW:
                if after[num_vertices + 1 + WINDOW] == num_vertices + 1 + WINDOW:
                    break
                base, at = move_window(order, delta, num_vertices, after, before), 0
            ring = np.int64(num_vertices + 1 + at)
            waiting = raise_bound(order, bound, delta, top, base + at, ring, after)
            for _ in range(waiting):
                v = np.uint32(after[ring] - 1)
                take_out(v, after, before)
                joins = then(v, number, *args)
                count = sort_in(v, joins, order, bound, delta, base, num_vertices, after, before, queue, count)
            fits = append_layer(layers, ends, number, queue, False, count)
            continue
        if share < MANY and edges_of(g, h, num_vertices, queue, False, count, share) > share:
            window[0], window[1] = base, at
            return number, touched, count, True
        number += 1
        touched += count
        queued = push_list(g, h, num_vertices, queue, False, count, out, stamp, step + number, spare, 0, *args)
        count = 0
        for i in range(queued):
            v = spare[i]
            joins = then(v, number, *args)
            count = sort_in(v, joins, order, bound, delta, base, num_vertices, after, before, queue, count)
        fits = append_layer(layers, ends, number, queue, False, count)
    left = count + empty_buckets(num_vertices, after, before, spare)
    return number, touched, left if fits else -1, False
