"""CPU template of one step of a dependence forest by several threads, each for a range of the queue.

Vertices whose keys change get the stamp of the step, by which they are then found, in ascending order. ``g`` is the
view of out-edges, ``tree`` the words by vertex, changed in place by compare-and-swap; ``stamp`` has one entry per
vertex; ``violated``, ``uint32[1]``, becomes 1 if the keys of an offer do not grow; ``args`` are those of the user's
functions.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.repair.cpu.forest_bindings import (
    ahead,
    edge,
    exchange_whole,
    identity_word,
    less_word,
    load_whole,
    neighbors,
    parent_of,
    same_keys,
    uniform,
    weight,
)

AHEAD = 8  #: vertices ahead of the current one whose edges are prefetched


@inner
def improve(tree, v, value):
    """Make ``value`` the word of ``v`` if it is smaller, among other threads; return whether its keys changed."""
    old = load_whole(tree, v)
    while less_word(value, old):
        if exchange_whole(tree, v, old, value):
            return not same_keys(value, old)
        old = load_whole(tree, v)
    return False


@kernel
def push(g, everything, queue, first_place, last_place, tree, stamp, step, violated, *args):
    """Make the offers of a range of ``queue`` or, with ``everything``, of ids; stamp those whose keys change."""
    for i in range(first_place, last_place):
        if not everything and i + AHEAD < last_place:
            ahead(g, queue[i + AHEAD])
        u = np.uint32(i) if everything else queue[i]
        if parent_of(load_whole(tree, u)) == EMPTY:
            continue
        value = edge(u, u, 1, *args) if uniform else identity_word
        own = load_whole(tree, u)  # after the offer, so that it is no larger than what that was made of
        for v, slot in neighbors(g, u):
            if not uniform:
                value = edge(u, v, weight(g, slot), *args)
                own = load_whole(tree, u)
            if same_keys(value, own) or less_word(value, own):
                violated[0] = 1
            elif improve(tree, v, value):
                stamp[v] = step


@kernel
def gather(begin_place, end_place, stamp, step, queue):
    """Write the vertices of a range that have the stamp to ``queue[begin_place:]``; return the index behind them."""
    at = begin_place
    for v in range(begin_place, end_place):
        if stamp[v] == step:
            queue[at] = v
            at += 1
    return at
