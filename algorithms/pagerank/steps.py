"""What PageRank computes at an edge and at a vertex: the functions that :class:`~suricate.algorithms.pagerank.PageRank`
gives to operators.

``share[u]`` is what ``u`` gives to an out-neighbour per unit of weight: its rank times ``abs(inv[u])``. ``inv[u]`` is
one over the weight of its out-edges, or -1 where they weigh nothing (a dangling vertex, whose share is its rank), and
not a number where the weights cannot be used. The jump to ``v`` has probability ``jumps[v * spread]``: ``jumps`` has an
entry per vertex (``spread`` 1) or one for all (0).

With ``loops`` every vertex has exactly one self-loop, of weight 1, whatever loops are stored; with ``closed`` its
contribution is summed up as a geometric series (equation 2 of Sahu's DF-P PageRank), else it is the one of the step
before (equation 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple


class Passes(NamedTuple):
    """Functions of passes over all vertices."""

    weight: Callable[..., Any]
    weigh: Callable[..., Any]
    pull: Callable[..., Any]
    finish: Callable[..., Any]
    finish_fast: Callable[..., Any]
    push: Callable[..., Any]
    finish_pushed: Callable[..., Any]
    pull_paced: Callable[..., Any]
    finish_paced: Callable[..., Any]


SLOW = 0.7  #: a step that leaves more than so much of the change before is followed by extrapolated ones
FAST = 0.9  #: extrapolated steps that leave more than so much are given up
FRESH, GIVEN_UP = 1e300, 2e300  #: paces before the first step, and where extrapolated steps do not pay


def quickens(pace, total, alpha):
    """Return whether a step is extrapolated; ``total``: what the last one changed, ``pace``: see ``following``."""
    return alpha * total <= FAST * abs(pace) if pace < 0 else pace > 0 and total > SLOW * pace


def following(pace, total, alpha, is_fast):
    """Return the next pace: the last change that is known, below 0 while steps are extrapolated; or GIVEN_UP."""
    return (-1.0 if is_fast else 1.0) * (
        GIVEN_UP
        if abs(pace) == GIVEN_UP or (pace < 0 and not is_fast)
        else FRESH / 2
        if abs(pace) == FRESH
        else alpha * total
        if pace < 0
        else total
    )


def jump(v, jumps, spread, alpha, dangling):
    """Return what jumps and dangling vertices give to ``v``."""
    return (1 - alpha + alpha * dangling.value) * jumps[v * spread]


def jump_and_dangling(v, jumps, spread, alpha, dangling):
    """Return what jumps and dangling vertices give to ``v``, which have an entry each."""
    return (1 - alpha) * jumps[v * spread] + alpha * dangling.value * jumps[v * spread + 1]


@cache
def passes(weighted: bool, loops: bool, closed: bool, apart: bool, least: float, most: float) -> Passes:
    """Return the functions of whole passes; the usable weights of a vertex are from ``least`` to ``most``.

    ``apart``: ``jumps[v * spread + 1]`` is what ``v`` gets of the rank of dangling vertices; else that goes with jumps.
    """
    base = jump_and_dangling if apart else jump

    def weight(u, v, w, share, inv):
        if loops and u == v:
            return 0.0
        return float(w) if w >= 0 else -math.inf

    def weigh(v, value, share, inv):
        total = value + 1.0 if loops else value
        usable = total == 0 or (total >= least and total <= most)
        new = 1 / total if total > 0 else -1.0
        new = new if usable else math.nan  # and so will be all ranks
        share[v] = share[v] / abs(inv[v]) * abs(new)
        inv[v] = new

    def pull(u, v, w, share, after, inv, jumps, spread, alpha, error, dangling, factor):
        if loops and u == v:
            return 0.0
        return w * share[u] if weighted else share[u]

    def finish(v, value, share, after, inv, jumps, spread, alpha, error, dangling, factor):
        scale = abs(inv[v])
        own = share[v] if loops and not closed else 0.0
        rank = base(v, jumps, spread, alpha, dangling) + alpha * (value + own)
        if closed:
            rank = rank / (1 - alpha * scale)
        error.add(abs(rank - share[v] / scale))
        after[v] = rank * scale
        dangling.add(rank if inv[v] < 0 else 0.0)

    def finish_fast(v, value, share, after, inv, jumps, spread, alpha, error, dangling, factor):
        scale = abs(inv[v])
        own = share[v] if loops and not closed else 0.0
        least = base(v, jumps, spread, alpha, dangling)
        rank = least + alpha * (value + own)
        if closed:
            rank = rank / (1 - alpha * scale)
        error.add(abs(rank - share[v] / scale) / alpha)
        rank = max(least, factor * rank + (1 - factor) * after[v] / scale)
        after[v] = rank * scale
        dangling.add(rank if inv[v] < 0 else 0.0)

    def push(u, v, w, share):
        if loops and u == v:
            return 0.0
        return w * share[u] if weighted else share[u]

    def finish_pushed(v, pushed, share, after, inv, jumps, spread, alpha, error, dangling, factor):
        scale = abs(inv[v])
        own = share[v] if loops and not closed else 0.0
        rank = base(v, jumps, spread, alpha, dangling) + alpha * (pushed[v] + own)
        if closed:
            rank = rank / (1 - alpha * scale)
        error.add(abs(rank - share[v] / scale))
        after[v] = rank * scale
        dangling.add(rank if inv[v] < 0 else 0.0)
        pushed[v] = 0

    def pull_paced(u, v, w, share, after, inv, jumps, spread, alpha, error, dangling, factor, pace, next_pace):
        if loops and u == v:
            return 0.0
        return w * share[u] if weighted else share[u]

    def finish_paced(v, value, share, after, inv, jumps, spread, alpha, error, dangling, factor, pace, next_pace):
        scale = abs(inv[v])
        own = share[v] if loops and not closed else 0.0
        least = base(v, jumps, spread, alpha, dangling)
        rank = least + alpha * (value + own)
        if closed:
            rank = rank / (1 - alpha * scale)
        change = abs(rank - share[v] / scale)
        is_fast = quickens(pace[0], error.value, alpha)
        if is_fast:
            rank = max(least, factor * rank + (1 - factor) * after[v] / scale)
            change = change / alpha
        error.add(change)
        after[v] = rank * scale
        if inv[v] < 0:
            dangling.add(rank)
        if v == 0:
            next_pace[v] = following(pace[0], error.value, alpha, is_fast)

    return Passes(
        weight, weigh, pull, finish, finish_fast, push, finish_pushed, pull_paced, finish_paced,
    )  # fmt: skip


def undo_extrapolation(v, share, other, last_pace, pace):
    """Undo the last step if it was extrapolated: what it started from is within the tolerance. Restart the pace."""
    if last_pace[0] < 0:
        share[v] = other[v]
    if v == 0:
        pace[v] = GIVEN_UP if last_pace[0] == GIVEN_UP else FRESH


def by_degree(v, graph, share, inv):
    """Weigh a vertex of a graph whose edges weigh 1."""
    count = graph.degree(v)
    new = 1 / count if count > 0 else -1.0
    share[v] = share[v] / abs(inv[v]) * abs(new)
    inv[v] = new
    return True


def by_degree_of_all(v, graph, share, inv, dangling):
    """Weigh a vertex of a graph whose edges weigh 1, perhaps as before; add up the ranks of dangling vertices."""
    count = graph.degree(v)
    new = 1 / count if count > 0 else -1.0
    if new != inv[v]:
        share[v] = share[v] / abs(inv[v]) * abs(new)
        inv[v] = new
    dangling.add(share[v] if new < 0 else 0.0)


def by_degree_with_loop(v, graph, share, inv):
    """Weigh a vertex of a graph whose edges weigh 1, with exactly one self-loop."""
    new = 1 / (graph.degree(v) + (0 if (v, v) in graph else 1))
    share[v] = share[v] / abs(inv[v]) * new
    inv[v] = new
    return True


def anyone(v):
    """Keep every vertex."""
    return True


def measure(v, share, inv, mass):
    """Add up the ranks."""
    mass.add(share[v] / abs(inv[v]))


def normalise(v, share, inv, mass, dangling):
    """Divide a rank by the sum of all."""
    share[v] = share[v] / mass.value
    dangling.add(share[v] if inv[v] < 0 else 0.0)


def dangle(v, share, inv, dangling):
    """Add up the ranks of dangling vertices."""
    dangling.add(share[v] if inv[v] < 0 else 0.0)


class Local(NamedTuple):
    """Functions of a loop over the vertices that a batch affects."""

    pull: Callable[..., Any]
    relax: Callable[..., Any]
    publish: Callable[..., Any]
    pull_all: Callable[..., Any]
    sweep: Callable[..., Any]


@cache
def local(method: str, weighted: bool, loops: bool, closed: bool, paced: bool) -> Local:
    """Return the functions of a method (``"dt"``, ``"df"`` or ``"dfp"``).

    ``announced[v]`` is the share that the out-neighbours of ``v`` were last told of. ``kappa`` is what all jumps have.
    ``sweep`` takes the place of ``relax`` in rounds over all vertices, in which each vertex sees the last shares of all
    others. From the second one on it starts from ranks whose sum fits ``kappa``, as errors of the sum fade most slowly:
    ``kept`` adds up what all jumps have to be for the sum to stay. With ``paced`` slow rounds are extrapolated.
    """
    stays_anyway, wakes = method != "dfp", method != "dt"

    def pull(u, v, w, share, after, announced, inv, jumps, spread, alpha, kappa, frontier, prune, error):
        if loops and u == v:
            return 0.0
        return w * share[u] if weighted else share[u]

    def relax(v, value, share, after, announced, inv, jumps, spread, alpha, kappa, frontier, prune, error):
        scale = abs(inv[v])
        own = share[v] if loops and not closed else 0.0
        rank = kappa[0] * jumps[v * spread] + alpha * (value + own)
        if closed:
            rank = rank / (1 - alpha * scale)
        new = rank * scale
        error.add(abs(new - share[v]) / scale)
        after[v] = new
        change = abs(new - announced[v])
        largest = max(new, announced[v])
        says = 1 if stays_anyway or change > prune * largest else 0
        if wakes and change > frontier * largest:
            announced[v] = new
            says = says + 2
        return says

    def publish(v, share, after, announced, inv, jumps, spread, alpha, kappa, frontier, prune, error):
        share[v] = after[v]

    def pull_all(u, v, w, share, other, inv, jumps, spread, alpha, kappa, kept, prune, error, factor, pace, next_pace):
        if loops and u == v:
            return 0.0
        return w * share[u] if weighted else share[u]

    def sweep(v, value, share, other, inv, jumps, spread, alpha, kappa, kept, prune, error, factor, pace, next_pace):
        ratio = kappa[0] / kept.value if kept.value > 0 else 1.0
        scale = abs(inv[v])
        before = ratio * share[v] / scale
        own = share[v] if loops and not closed else 0.0
        least = kappa[0] * jumps[v * spread]
        rank = least + alpha * ratio * (value + own)
        if closed:
            rank = rank / (1 - alpha * scale)
        change = abs(rank - before)
        if paced:
            is_fast = quickens(pace[0], error.value, alpha)
            if is_fast:
                rank = max(least, factor * rank + (1 - factor) * other[v] / scale)
                change = change / alpha
            if v == 0:
                next_pace[v] = following(pace[0], error.value, alpha, is_fast)
        error.add(change if stays_anyway or change > prune * max(rank, before) else 0.0)
        kept.add(rank if inv[v] < 0 else (1 - alpha) * rank)
        other[v] = rank * scale

    return Local(pull, relax, publish, pull_all, sweep)


def reach(u, v, w, mark, epoch):
    """Return 0: whether a neighbour is active is all that counts."""
    return 0


def visit(v, value, mark, epoch):
    """Wake the out-neighbours of a vertex that is reached for the first time."""
    if mark[v] == epoch:
        return 0
    mark[v] = epoch
    return 2


def is_reached(v, mark, epoch):
    """Return whether the vertex was reached."""
    return mark[v] == epoch
