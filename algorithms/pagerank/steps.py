"""What PageRank computes at an edge and at a vertex: the functions that it passes to operators.

``share[u]`` is what ``u`` gives to an out-neighbour per unit of weight: its rank times ``abs(inv[u])``. ``inv[u]`` is
one over the weight of its out-edges, or -1 where they weigh nothing (a dangling vertex, whose share is its rank), and
not a number where the weights cannot be used. The jump to ``v`` has probability ``jumps[v * spread]``: ``jumps`` has an
entry per vertex (``spread`` 1), one for all (0), or two (2): the second is the share of ``v`` in the rank of dangling
vertices. ``alpha`` is the probability of following an edge instead of jumping.

With ``loops`` every vertex has exactly one self-loop, of weight 1, whatever loops are stored; with ``closed`` its
contribution is summed up as a geometric series (equation 2 of Sahu's DF-P PageRank), else it is the one of the step
before (equation 1).

The *pace* decides whether a step is extrapolated (over-relaxed). It is the norm of the change that the last step made,
negative if that step was extrapolated; ``FRESH`` before the first step; ``GIVEN_UP`` after extrapolation did not help.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple


class Passes(NamedTuple):
    """The vertex and edge functions of which a step over all vertices consists.

    Attributes:
        weight: edge function: what an edge adds to the sum of out-weights of its source.
        weigh: vertex function: stores that sum, as ``inv``, and adapts the share of the vertex.
        pull: edge function: the share of rank that an in-neighbour passes on.
        finish: vertex function: computes the new rank from the sum of the shares.
        finish_fast: the same for an extrapolated step.
        finish_paced: the same; whether the step is extrapolated depends on the pace.
        finish_pushed: the same if the sums were pushed into an array, which it clears.
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
    """Return whether to extrapolate this step.

    ``pace`` is the pace before it (see the module), ``total`` the norm of the change by the step before.
    """
    return alpha * total <= FAST * abs(pace) if pace < 0 else pace > 0 and total > SLOW * pace


def following(pace, total, alpha, is_fast):
    """Return the pace after a step (see the module), which is extrapolated if ``is_fast``.

    ``pace`` is the pace before it, ``total`` the norm of the change by the step before.
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
    """Return the rank at the end of a step from ``before`` to ``rank`` that is made ``factor`` times as long.

    The result is at least ``least``.
    """
    return max(least, factor * rank + (1 - factor) * before)


def factor_of(alpha):
    """Return the factor by which extrapolated steps are longer.

    It is that of successive over-relaxation for spectral radius ``alpha``.
    """
    return 2 / (1 + math.sqrt(1 - alpha * alpha))


def jump(v, jumps, spread, alpha, dangling):
    """Return the part of the rank of ``v`` that comes from jumps and from dangling vertices.

    ``dangling`` is a scalar, the sum of the ranks of dangling vertices, which is distributed like jumps.
    """
    return (1 - alpha + alpha * dangling.value) * jumps[v * spread]


def jump_and_dangling(v, jumps, spread, alpha, dangling):
    """Return the part of the rank of ``v`` that comes from jumps and from dangling vertices.

    ``dangling`` is a scalar, the sum of the ranks of dangling vertices, of which ``v`` gets the share ``jumps[v *
    spread + 1]``.
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
        apart: True: ``jumps[v * spread + 1]`` is the share of ``v`` in the rank of dangling vertices; False: that rank
            is distributed like jumps.
        least: the least usable sum of out-weights.
        most: the largest usable one; beyond these limits ranks become NaN.
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
        """Return the vertex function that ends a step, extrapolated if ``fast``, or if ``paced`` and the pace says so.

        The function computes the new share of a vertex from its second argument, ``value``, the sum of the shares of
        its in-neighbours. ``pushed``: ``value`` is an array of these sums, and the vertex's entry is set to 0 for the
        next step.
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
    """Set ``share[v]`` to ``other[v]``, the share before the last step, if that step was extrapolated.

    The ranks before that step are within the tolerance. ``last_pace[0]`` is the pace after the step, negative if it was
    extrapolated. ``pace[0]`` becomes ``FRESH``, or stays ``GIVEN_UP``.
    """
    if last_pace[0] < 0:
        share[v] = other[v]
    if v == 0:
        pace[v] = GIVEN_UP if last_pace[0] == GIVEN_UP else FRESH


def inverse(count):
    """Return one over ``count``, the out-degree of a vertex, or -1 if it is 0."""
    return 1 / count if count > 0 else -1.0


def reweighed(v, share, inv, new):
    """Return the share of ``v`` when ``inv[v]`` is replaced by ``new`` and the rank stays the same."""
    return share[v] / abs(inv[v]) * abs(new)


def by_degree(v, graph, share, inv):
    """Set ``inv[v]`` to one over the degree of ``v``, as all edges weigh 1; return True, so that ``v`` is selected.

    ``share[v]`` changes with it, so that the rank of ``v`` stays the same. Without edges ``inv[v]`` becomes -1.
    """
    new = inverse(graph.degree(v))
    share[v] = reweighed(v, share, inv, new)
    inv[v] = new
    return True


def by_degree_of_all(v, graph, share, inv, dangling):
    """Set ``inv[v]`` to one over the degree of ``v``, as all edges weigh 1; -1 if ``v`` has no out-edges.

    ``share[v]`` changes with it, so that the rank of ``v`` stays the same. Adds the rank of ``v`` to the scalar
    ``dangling`` if it has no out-edges.
    """
    new = inverse(graph.degree(v))
    if new != inv[v]:
        share[v] = reweighed(v, share, inv, new)
        inv[v] = new
    dangling.add(share[v] if new < 0 else 0.0)


def by_degree_with_loop(v, graph, share, inv):
    """Set ``inv[v]`` to one over the degree of ``v``, with exactly one self-loop; return True: ``v`` is selected.

    All edges weigh 1. ``share[v]`` changes with ``inv[v]``, so that the rank of ``v`` stays the same.
    """
    new = 1 / (graph.degree(v) + (0 if (v, v) in graph else 1))
    share[v] = reweighed(v, share, inv, new)
    inv[v] = new
    return True


def anyone(v):
    """Return True, so that an operator that calls this function as a test takes every vertex."""
    return True


def measure(v, share, inv, mass):
    """Add the rank of ``v``, its share divided by ``abs(inv[v])``, to the scalar ``mass``, the sum of all ranks."""
    mass.add(share[v] / abs(inv[v]))


def normalise(v, share, inv, mass, dangling):
    """Divide ``share[v]`` by the scalar ``mass``, the sum of all ranks, in place.

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
        sweep: vertex function: replaces ``relax`` in passes over all vertices.
    """

    pull: Callable[..., Any]
    relax: Callable[..., Any]
    publish: Callable[..., Any]
    sweep: Callable[..., Any]


KAPPA, ALPHA, FACTOR, FRONTIER, PRUNE = range(5)  #: places of the numbers that local steps take: see ``local``


@cache
def local(method: str, weighted: bool, loops: bool, closed: bool, paced: bool) -> Local:
    """Return the functions of a dynamic method (``"dt"``, ``"df"`` or ``"dfp"``).

    ``weighted``: shares are multiplied by edge weights; ``loops`` and ``closed`` are explained by the module.

    ``relax`` recomputes an active vertex. It activates the out-neighbours if the share differs by more than the
    tolerance from ``announced[v]``, the share when it last activated them. ``terms`` is an array of five numbers:
    ``kappa`` (the sum of the ranks that come from jumps), ``alpha``, the factor by which extrapolated steps are longer,
    and the tolerances of the frontier and of pruning.

    ``sweep`` replaces ``relax`` in rounds over all vertices, which end at half of the tolerance. It multiplies the
    ranks before the step by ``kappa / kept``, where the scalar ``kept`` is the value of ``kappa`` for which the sum of
    the ranks would not change: errors of that sum fade most slowly. With ``paced`` it extrapolates slow rounds.
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
    """Return 0 for every edge: for the reduction over edges it only matters whether a neighbour is active.

    ``others``, further arguments of the operator, are not read.
    """
    return 0


def visit(v, value, mark, epoch):
    """Return 2, which activates the out-neighbours, if ``v`` is reached for the first time in this update, else 0.

    ``epoch`` is the number of the update, to which ``mark[v]`` is set, in place; ``value`` is not read.
    """
    if mark[v] == epoch:
        return 0
    mark[v] = epoch
    return 2


def is_reached(v, mark, epoch):
    """Return whether ``v`` was reached in this update: ``mark[v]`` is ``epoch``, the number of the update."""
    return mark[v] == epoch
