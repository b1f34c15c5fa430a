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
    """The vertex and edge functions of which a step over all vertices consists.

    Attributes:
        weight: edge function: what an edge adds to the weight of its source.
        weigh: vertex function: sets the weight of a vertex, and adapts its share.
        pull: edge function: the share of rank that an in-neighbour passes on.
        finish: end of a step at a vertex.
        finish_fast: the end of an extrapolated step.
        finish_paced: the end of a step that the pace may extrapolate.
        finish_pushed: the end of a step whose sums were pushed.
    """

    weight: Callable[..., Any]
    weigh: Callable[..., Any]
    pull: Callable[..., Any]
    finish: Callable[..., Any]
    finish_fast: Callable[..., Any]
    finish_paced: Callable[..., Any]
    finish_pushed: Callable[..., Any]


SLOW = 0.7  #: a step that leaves more than so much of the change before is followed by extrapolated ones
FAST = 0.9  #: extrapolated steps that leave more than so much are given up
FRESH, GIVEN_UP = 1e300, 2e300  #: paces before the first step, and where extrapolated steps do not pay


def quickens(pace, total, alpha):
    """Return whether a step is extrapolated.

    ``total`` is the norm of the last change, ``pace`` what :func:`following` has returned.
    """
    return alpha * total <= FAST * abs(pace) if pace < 0 else pace > 0 and total > SLOW * pace


def following(pace, total, alpha, is_fast):
    """Return the next pace: the last change that is known, below 0 while steps are extrapolated; or ``GIVEN_UP``.

    ``pace`` is the last one, ``total`` the norm of the change by the step before; ``is_fast``: this step is
    extrapolated.
    """
    return (-1.0 if is_fast else 1.0) * (
        GIVEN_UP
        if abs(pace) == GIVEN_UP or (pace < 0 and not is_fast)
        else FRESH / 2
        if abs(pace) == FRESH
        else alpha * total
        if pace < 0
        else total
    )


def extrapolated(rank, before, least, factor):
    """Return the rank after an extrapolated step from ``before`` to ``rank``.

    The step is ``factor`` times as long, but ends at ``least`` or above.
    """
    return max(least, factor * rank + (1 - factor) * before)


def factor_of(alpha):
    """Return how far extrapolated steps go: the factor of successive over-relaxation for spectral radius ``alpha``."""
    return 2 / (1 + math.sqrt(1 - alpha * alpha))


def jump(v, jumps, spread, alpha, dangling):
    """Return the part of the rank of ``v`` that comes from jumps and from vertices without out-edges.

    ``dangling`` is a scalar, the sum of the ranks of the latter, which is distributed like jumps.
    """
    return (1 - alpha + alpha * dangling.value) * jumps[v * spread]


def jump_and_dangling(v, jumps, spread, alpha, dangling):
    """Return the part of the rank of ``v`` that comes from jumps and from vertices without out-edges.

    ``dangling`` is a scalar, the sum of the ranks of the latter; ``jumps[v * spread + 1]`` is the share of ``v`` in it.
    """
    return (1 - alpha) * jumps[v * spread] + alpha * dangling.value * jumps[v * spread + 1]


@cache
def pulling(weighted: bool, loops: bool) -> Callable[..., Any]:
    """Return the edge function of a step: the share of rank that in-neighbour ``u`` passes to ``v``.

    ``weighted``: the share is multiplied by the weight; ``loops``: stored self-loops are ignored.
    """

    def pull(u, v, w, share, *others):
        if loops and u == v:
            return 0.0
        return w * share[u] if weighted else share[u]

    return pull


@cache
def passes(weighted: bool, loops: bool, closed: bool, apart: bool, least: float, most: float) -> Passes:
    """Return the functions of passes over all vertices.

    Args:
        weighted: whether edges have weights.
        loops: whether every vertex has exactly one self-loop, see the module.
        closed: whether its contribution is summed up as a geometric series, see the module.
        apart: ``jumps[v * spread + 1]`` is the share of ``v`` in the rank of dangling vertices; if not, that is
            distributed like jumps.
        least: the least usable sum of out-weights.
        most: the largest usable one; ranks become NaN beyond.
    """
    base, adds_loop = jump_and_dangling if apart else jump, loops and not closed

    def weight(u, v, w, share, inv):
        if loops and u == v:
            return 0.0
        return float(w) if w >= 0 else -math.inf

    def weigh(v, value, share, inv):
        total = value + 1.0 if loops else value
        usable = total == 0 or (total >= least and total <= most)
        new = 1 / total if total > 0 else -1.0
        new = new if usable else math.nan  # and so will be all ranks
        share[v] = reweighed(v, share, inv, new)
        inv[v] = new

    def finishing(*, fast: bool = False, paced: bool = False, pushed: bool = False) -> Callable[..., Any]:
        """Return the end of a step: extrapolated (``fast``), or where ``pace`` says so (``paced``, else none is given).

        ``pushed``: ``value`` is an array, whose entry is cleared for the next step.
        """

        def finish(v, value, share, after, inv, jumps, spread, alpha, error, dangling, pace=0, next_pace=0):
            scale = abs(inv[v])
            least = base(v, jumps, spread, alpha, dangling)
            total = (value[v] if pushed else value) + (share[v] if adds_loop else 0.0)
            rank = least + alpha * total
            rank = rank / (1 - alpha * scale) if closed else rank
            change = abs(rank - share[v] / scale)
            is_fast = quickens(pace[0], error.value, alpha) if paced else fast
            if is_fast:
                rank = extrapolated(rank, after[v] / scale, least, factor_of(alpha))
                change = change / alpha
            error.add(change)
            after[v] = rank * scale
            dangling.add(rank if inv[v] < 0 else 0.0)
            if paced and v == 0:
                next_pace[v] = following(pace[0], error.value, alpha, is_fast)
            if pushed:
                value[v] = 0

        return finish

    return Passes(
        weight,
        weigh,
        pulling(weighted, loops),
        finishing(),
        finishing(fast=True),
        finishing(paced=True),
        finishing(pushed=True),
    )


def undo_extrapolation(v, share, other, last_pace, pace):
    """Copy ``other[v]``, the share before the last step, to ``share[v]`` if that step was extrapolated.

    The ranks before that step are within the tolerance. ``last_pace[0]`` is below 0 after an extrapolated step;
    ``pace`` restarts.
    """
    if last_pace[0] < 0:
        share[v] = other[v]
    if v == 0:
        pace[v] = GIVEN_UP if last_pace[0] == GIVEN_UP else FRESH


def inverse(count):
    """Return one over ``count``, the number of out-edges of a vertex, or -1 if it is 0."""
    return 1 / count if count > 0 else -1.0


def reweighed(v, share, inv, new):
    """Return the share of ``v`` with the same rank and another weight: ``new`` in place of ``inv[v]``."""
    return share[v] / abs(inv[v]) * abs(new)


def by_degree(v, graph, share, inv):
    """Write one over the degree of ``v`` to ``inv``, as all edges weigh 1, and adapt ``share[v]``; return True."""
    new = inverse(graph.degree(v))
    share[v] = reweighed(v, share, inv, new)
    inv[v] = new
    return True


def by_degree_of_all(v, graph, share, inv, dangling):
    """Write one over the degree of ``v`` to ``inv``, if it has changed, and adapt ``share[v]`` to it.

    All edges weigh 1. Adds the rank of ``v`` to the scalar ``dangling`` if it has no out-edges.
    """
    new = inverse(graph.degree(v))
    if new != inv[v]:
        share[v] = reweighed(v, share, inv, new)
        inv[v] = new
    dangling.add(share[v] if new < 0 else 0.0)


def by_degree_with_loop(v, graph, share, inv):
    """Write one over the degree of ``v``, with exactly one self-loop, to ``inv``, and adapt ``share[v]`` to it.

    All edges weigh 1. Returns True.
    """
    new = 1 / (graph.degree(v) + (0 if (v, v) in graph else 1))
    share[v] = reweighed(v, share, inv, new)
    inv[v] = new
    return True


def anyone(v):
    """Return True: for operators that take a test, to visit every vertex."""
    return True


def measure(v, share, inv, mass):
    """Add the rank of ``v``, its share divided by ``abs(inv[v])``, to the scalar ``mass``, the sum of all ranks."""
    mass.add(share[v] / abs(inv[v]))


def normalise(v, share, inv, mass, dangling):
    """Divide ``share[v]`` by the scalar ``mass``, the sum of all ranks.

    Adds the rank of ``v`` to the scalar ``dangling`` if it has no out-edges (``inv[v]`` is negative).
    """
    share[v] = share[v] / mass.value
    dangling.add(share[v] if inv[v] < 0 else 0.0)


def dangle(v, share, inv, dangling):
    """Add the rank of ``v``, ``share[v]``, to the scalar ``dangling`` if it has no out-edges (``inv[v]`` below 0)."""
    dangling.add(share[v] if inv[v] < 0 else 0.0)


class Local(NamedTuple):
    """Functions of a loop over the vertices that a batch affects, see :func:`local`.

    Attributes:
        pull: edge function: the share of rank that an in-neighbour passes on.
        relax: vertex function: recomputes an active vertex.
        publish: vertex function: makes the new share visible to the neighbours.
        sweep: vertex function: takes the place of ``relax`` in passes over all vertices.
    """

    pull: Callable[..., Any]
    relax: Callable[..., Any]
    publish: Callable[..., Any]
    sweep: Callable[..., Any]


KAPPA, ALPHA, FACTOR, FRONTIER, PRUNE = range(5)  #: places of the numbers that local steps take: see ``local``


@cache
def local(method: str, weighted: bool, loops: bool, closed: bool, paced: bool) -> Local:
    """Return the functions of a dynamic method (``"dt"``, ``"df"`` or ``"dfp"``); see the module for the arrays.

    ``relax`` recomputes an active vertex; its out-neighbours become active if its share differs by more than the
    tolerance from ``announced[v]``, the share when they last did. ``terms`` holds ``kappa`` (the rank that all jumps
    carry), ``alpha``, ``factor_of(alpha)``, and the tolerances of the frontier and of pruning. ``sweep`` replaces
    ``relax`` in rounds over all vertices, which end at half of the tolerance. It scales the ranks before the step by
    ``kappa / kept``, where ``kept`` is the rank that jumps must carry to preserve the sum of the ranks, since errors
    of the sum fade most slowly. With ``paced`` slow rounds are extrapolated.
    """
    stays_anyway, wakes = method != "dfp", method != "dt"
    adds_loop = loops and not closed

    def relax(v, value, share, after, announced, inv, jumps, spread, alpha, terms, error):
        scale = abs(inv[v])
        rank = terms[KAPPA] * jumps[v * spread] + alpha * (value + (share[v] if adds_loop else 0.0))
        new = (rank / (1 - alpha * scale) if closed else rank) * scale
        error.add(abs(new - share[v]) / scale)
        after[v] = new
        change = abs(new - announced[v])
        largest = max(new, announced[v])
        says = 1 if stays_anyway or change > terms[PRUNE] * largest else 0
        if wakes and change > terms[FRONTIER] * largest:
            announced[v] = new
            says = says + 2
        return says

    def publish(v, share, after, *others):
        share[v] = after[v]

    def sweep(v, value, share, other, inv, jumps, spread, terms, kept, error, pace, next_pace):
        alpha = terms[ALPHA]
        ratio = terms[KAPPA] / kept.value if kept.value > 0 else 1.0
        scale = abs(inv[v])
        before = ratio * share[v] / scale
        least = terms[KAPPA] * jumps[v * spread]
        rank = least + alpha * ratio * (value + (share[v] if adds_loop else 0.0))
        rank = rank / (1 - alpha * scale) if closed else rank
        change = abs(rank - before)
        if paced:
            is_fast = quickens(pace[0], error.value, alpha)
            if is_fast:
                rank = extrapolated(rank, other[v] / scale, least, terms[FACTOR])
                change = change / alpha
            if v == 0:
                next_pace[v] = following(pace[0], error.value, alpha, is_fast)
        error.add(change if stays_anyway or change > terms[PRUNE] / 2 * max(rank, before) else 0.0)
        kept.add(rank if inv[v] < 0 else (1 - alpha) * rank)
        other[v] = rank * scale

    return Local(pulling(weighted, loops), relax, publish, sweep)


def reach(u, v, w, *others):
    """Return 0, the same for every edge: only whether a neighbour is active matters."""
    return 0


def visit(v, value, mark, epoch):
    """Return 2, which activates the out-neighbours, if ``v`` is reached for the first time in update ``epoch``, else 0.

    Sets ``mark[v]`` to ``epoch``.
    """
    if mark[v] == epoch:
        return 0
    mark[v] = epoch
    return 2


def is_reached(v, mark, epoch):
    """Return whether ``v`` was reached in this update, whose number is ``epoch``."""
    return mark[v] == epoch
