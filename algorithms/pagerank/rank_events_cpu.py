"""PageRank by residuals, on the CPU: a template over a cursor, after batches and in the step of ``suricate.replay``.

Beside the ranks ``r`` their *residual* is kept, what a step would change: ``alpha P^T r + kappa j - r``, for a fixed
``kappa`` (see the package). The L1 distance of ``r`` from the ranks with that ``kappa`` is at most the L1 norm of the
residual divided by ``1 - alpha``. A changed edge of ``u`` changes the rank of ``u`` such that its share stays the same,
so that the residual changes at both ends only. If its norm exceeds the limit, residuals are pushed to out-neighbours,
as by Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors" (2006), those that are large for the
degree first.

Of an undirected graph no rank is lost at dangling vertices, which have no residual: there the sum of the exact ranks is
that of ``r``, and that of the residual divided by ``1 - alpha``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.kernels import degree, inner, kernel, neighbors, weight
from suricate.plugins.step import DELETED, INSERTED

TOTAL, NORM, SUM, LIMIT, KAPPA, ALPHA, ARCS, LEAST, MOST, WORK = range(10)  #: places of ``State.numbers``
ENOUGH = 0.5  #: after single edges, pushing ends at so much of the limit
LARGE = 8.0  #: residuals above so many times the norm per arc are pushed first,
KEPT = 0.8  #: and above half of it where a round leaves more than so much of the norm,
SMALL = 0.125  #: down to so many times


class State(NamedTuple):
    """What the step works on; arrays without a type are ``float64[n]``.

    Attributes:
        share, inv, jumps, spread: see ``suricate.algorithms.pagerank.steps``.
        residual: see the module.
        listed: scratch, ``uint32[n]``.
        numbers: ``float64[10]``: the sum of the ranks; the norm and the sum of the residual; the limit of the norm;
            ``kappa``; ``alpha``; as many arcs as there are at most; the least and the largest usable sum of
            out-weights; the arcs visited for the event.
        weighted: whether arcs have weights.
    """

    share: np.ndarray
    inv: np.ndarray
    jumps: np.ndarray
    spread: int
    residual: np.ndarray
    listed: np.ndarray
    numbers: np.ndarray
    weighted: bool


@inner
def weighs(g, slot, weighted):
    """Return the weight of the arc in ``slot``, 1 unless ``weighted``."""
    return np.float64(weight(g, slot)) if weighted else 1.0


@inner
def out_weight(g, u, weighted):
    """Return the sum of the weights of the arcs of ``u``."""
    if not weighted:
        return np.float64(degree(g, u))
    total = 0.0
    for _, slot in neighbors(g, u):
        total += weighs(g, slot, weighted)
    return total


@inner
def add(state, v, by):
    """Add ``by`` to the residual of ``v``."""
    numbers, old = state.numbers, state.residual[v]
    state.residual[v] = old + by
    numbers[NORM] += abs(old + by) - abs(old)
    numbers[SUM] += by


@inner
def push(g, state, v):
    """Push the residual of ``v`` to its out-neighbours; its norm and sum are to be measured again."""
    by, inv, numbers = state.residual[v], state.inv[v], state.numbers
    state.residual[v] = 0.0
    state.share[v] += by * abs(inv)
    numbers[TOTAL] += by
    if inv > 0:
        by *= inv * numbers[ALPHA]
        numbers[WORK] += degree(g, v)
        for x, slot in neighbors(g, v):
            state.residual[x] += by * weighs(g, slot, state.weighted)


@inner
def measure(state):
    """Compute the norm and the sum of the residual from scratch."""
    norm = total = 0.0
    for v in range(len(state.residual)):
        norm += abs(state.residual[v])
        total += state.residual[v]
    state.numbers[NORM], state.numbers[SUM] = norm, total


@kernel
def start(g, state):
    """Compute the sum of the ranks from the shares, ``kappa`` and the residual."""
    share, inv, numbers = state.share, state.inv, state.numbers
    total = lost = 0.0
    for v in range(len(share)):
        total += share[v] / abs(inv[v])
        lost += share[v] if inv[v] < 0 else 0.0
    numbers[TOTAL], numbers[KAPPA] = total, numbers[ALPHA] * lost + (1 - numbers[ALPHA]) * total
    for v in range(len(share)):
        rank = share[v] / abs(inv[v])
        state.residual[v] += numbers[KAPPA] * state.jumps[v * state.spread] - rank
        by = numbers[ALPHA] * share[v]
        if inv[v] > 0:
            for x, slot in neighbors(g, v):
                state.residual[x] += by * weighs(g, slot, state.weighted)
    measure(state)


@kernel
def lessen(g, state, enough):
    """Push residuals until their norm is at most ``enough`` of the limit, or only rounding is left.

    A round passes over the vertices in the order of their ids, and pushes what is large for the degree; later vertices
    push on what they got in it, so that half as many rounds do as where all push at once.

    Returns:
        The number of pushes.
    """
    numbers, residual, count = state.numbers, state.residual, np.int64(0)
    aim, before, share = enough * numbers[LIMIT], np.inf, LARGE
    slow = 1 - (1 - numbers[ALPHA]) / 4  # a round of nearly all residuals that leaves more has only rounding to push
    while numbers[NORM] > aim:
        if numbers[NORM] > KEPT * before:
            if share < SMALL and numbers[NORM] > slow * before:
                break
            share /= 2
        before = numbers[NORM]
        least = share * before / max(numbers[ARCS], 1.0)
        for v in range(len(residual)):
            if abs(residual[v]) > least * degree(g, v):
                push(g, state, v)
                count += 1
        measure(state)
    return count


@inner
def follow(g, state, u, v, total):
    """Follow a change of the arc from ``u`` to ``v``, by which the arcs of ``u`` weigh ``total`` now."""
    share, inv, numbers = state.share, state.inv, state.numbers
    before = 1 / inv[u] if inv[u] > 0 else 0.0
    if before > 0 and total > 0:
        by = share[u] * (total - before)
        numbers[TOTAL] += by
        add(state, u, -by)
        add(state, v, numbers[ALPHA] * by)
    elif total > 0:  # the first one
        add(state, v, numbers[ALPHA] * share[u])
        share[u] /= total
    elif before > 0:
        add(state, v, -numbers[ALPHA] * share[u] * before)
        share[u] *= before
    inv[u] = 1 / total if total > 0 else -1.0
    if total == 0:  # its rank takes up its residual
        by = state.residual[u]
        share[u] += by
        numbers[TOTAL] += by
        add(state, u, -by)


@inner
def usable(total, state):
    """Return whether arcs may weigh ``total``."""
    return total == 0 or (total >= state.numbers[LEAST] and total <= state.numbers[MOST])


@inner
def reweighed(g, state, src, totals):
    """Write the weights of the arcs of each source once, to ``totals``, at its last arc; return whether all are usable.

    ``state.listed`` then tells which arc is the last. Sources without arcs before share their ranks among them.
    """
    share, inv, listed, good = state.share, state.inv, state.listed, True
    for i in range(len(src)):
        listed[src[i]] = i
    for i in range(len(src)):
        if listed[src[i]] == i:
            totals[i] = out_weight(g, src[i], state.weighted)
            good = good and usable(totals[i], state)
    for i in range(len(src)):
        u = src[i]
        if good and listed[u] == i and inv[u] < 0 and totals[i] > 0:
            share[u] /= totals[i]
            inv[u] = 1 / totals[i]
    return good


@kernel
def follow_all(g, state, src, dst, by, totals):
    """Follow a batch, of which ``g`` has the changes: the arc from ``src[i]`` to ``dst[i]`` weighs ``by[i]`` more.

    ``totals``, of the length of the others, is scratch. Returns the number of pushes; -1, and nothing has changed, if
    the arcs of a vertex have no usable weight.
    """
    share, inv, numbers, listed = state.share, state.inv, state.numbers, state.listed
    if not reweighed(g, state, src, totals):
        return np.int64(-1)
    numbers[WORK] = len(src)
    for i in range(len(src)):
        state.residual[dst[i]] += numbers[ALPHA] * share[src[i]] * by[i]
    for i in range(len(src)):
        u, total = src[i], totals[i]
        if listed[u] != i or inv[u] < 0:
            continue
        before = 1 / inv[u]
        if total == 0:  # the rank stays
            share[u] *= before
        else:  # the share stays
            numbers[TOTAL] += share[u] * (total - before)
            state.residual[u] -= share[u] * (total - before)
        inv[u] = 1 / total if total > 0 else -1.0
    measure(state)
    return lessen(g, state, 1.0)


@inner
def step(graph, state, change, u, v, w, counts):
    """Update the ranks after one edge changed; return (arcs visited, vertices whose rank was computed)."""
    numbers, both = state.numbers, graph.undirected and u != v
    if not state.weighted and change != INSERTED and change != DELETED:
        return np.int64(0), np.int64(0)
    here, there = out_weight(graph.out, u, state.weighted), 0.0
    if both:
        there = out_weight(graph.out, v, state.weighted)
    if not (w >= 0 and usable(here, state) and usable(there, state)):
        return np.int64(-1), np.int64(0)
    numbers[WORK], changed = 1, np.int64(1 + both)
    numbers[ARCS] += changed if change == INSERTED else -changed if change == DELETED else 0
    follow(graph.out, state, u, v, here)
    if both:
        follow(graph.out, state, v, u, there)
    if numbers[NORM] > numbers[LIMIT]:
        changed += lessen(graph.out, state, ENOUGH)
    return np.int64(numbers[WORK]), changed


@inner
def record(graph, state, at, recorded, i):
    """Write the ranks of the vertices ``at`` to row ``i`` of ``recorded[0]``."""
    numbers = state.numbers
    total = numbers[TOTAL] + (numbers[SUM] / (1 - numbers[ALPHA]) if graph.undirected else 0.0)
    for j in range(len(at)):
        recorded[0][i, j] = state.share[at[j]] / abs(state.inv[at[j]]) / total
