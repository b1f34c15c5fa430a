"""Moves on all levels on the CPU, in one loop: moves, refinement and contraction of rows in one array."""

from __future__ import annotations

import numpy as np

from suricate.algorithms.leiden.arrays import LOOPS, MOVES, PARTS, SALT, Vertices
from suricate.base.types import EMPTY
from suricate.cpu import threads
from suricate.cpu.jit import inner, kernel
from suricate.cursors.contiguous import ContiguousView, contiguous_view
from suricate.kernels import loops_over
from suricate.operators import contraction
from suricate.operators.contraction.numbering import number_groups, sort_by_group
from suricate.store.fallbacks import parts_of

_ROWS = contiguous_view(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0))
_loops = loops_over(_ROWS, LOOPS)
all_moves, refine, add_strengths = _loops.all_moves, _loops.refine, _loops.add_strengths
merge_rows = loops_over(_ROWS, contraction.LOOPS).merge_rows


@inner
def contracted(g, x, labels, depth, kind, levels, s):
    """Make the groups of ``labels`` vertices of level ``depth``, but for their rows; return how many there are.

    0: as many as vertices, or none. Their members are in ``s.order``, by ``levels.offsets``.
    """
    n, p = len(x.label), depth & 1
    of_label, group, degrees = s.active[: n if kind == PARTS else len(s.active)], levels.group[:n], s.touched[:n]
    of_label[:] = EMPTY
    count = number_groups(labels, x.size, of_label, group)
    if count in (n, 0):
        return np.int64(0)
    offsets, begin = levels.offsets[: count + 1], levels.begin[p, : count + 1]
    offsets[:], begin[:], levels.size[p, :count] = 0, 0, 0
    for v in range(n):
        degrees[v] = g.end[v] - g.begin[v]
        a, c = group[v], np.int64(labels[v])
        if a != EMPTY:
            levels.label[p, a] = x.label[c] if kind == PARTS else c
            levels.own[p, a] = x.own[c] if kind == PARTS else c
            levels.size[p, a] += x.size[v]
    sort_by_group(group, degrees, offsets, begin, s.order)
    return np.int64(count)


@inner
def unit_below(depth, rule, per):
    """Return the unit to which weights are rounded that level ``depth`` sums up: as ``merge_rows`` takes it."""
    return 0.0 if depth > 1 else (-1.0 if per < 0 else rule.unit)


@kernel
def climb(  # noqa: PLR0913
    base, of_base, total, count, rule, per, key, classes, most, kind, depth, n, least, each, levels, s, log
):
    """Move vertices, and then, level by level, groups of them; begin with the ``n`` vertices of level ``depth``.

    ``base``, ``of_base``: the rows and the vertices of the graph, whose labels are written at the end. ``per``: see
    ``loops_cpu.py``. ``key``: of this iteration. ``classes``, ``most``: see ``move``. ``kind``: ``MOVES``: on this
    level only; else groups are ``PARTS`` of communities, or ``WHOLE`` ones.

    Returns (level, its vertices, or 0 at the end, how many are still active, by how much the weight inside communities
    has grown, arcs read). It ends early where ``least`` arcs or more are to be merged to the rows of the level that it
    returns, and, with ``each``, after each level, with labels written: :func:`merge` merges the rows then.
    """
    inside, arcs = 0.0, np.int64(0)
    while True:
        p, g, x, amount = depth & 1, base, of_base, per
        if depth > 0:
            amount = rule.per_unit
            g = ContiguousView(levels.begin[p, :n], levels.end[p, :n], levels.dst[p], levels.weight[p], base.ascending)
            x = Vertices(levels.label[p, :n], levels.strength[p, :n], levels.size[p, :n], levels.own[p, :n])
        for v in range(n):
            s.active[v] = v
        found = all_moves(g, x, total, count, rule, amount, key + depth, classes, most, n, s, log)
        inside += found[2]
        arcs += found[3]
        if kind == MOVES:
            return depth, np.int64(0), found[1], inside, arcs
        labels = x.label
        if kind == PARTS:
            labels = levels.sub[:n]
            refine(g, x, total, rule, amount, key ^ SALT, classes, labels, levels.members, levels.heavy, s)
        groups = contracted(g, x, labels, depth + 1, kind, levels, s)
        group_of = levels.first  # of each vertex of the graph
        if depth > 0 and (groups == 0 or each):
            for v in range(len(group_of)):
                if group_of[v] != EMPTY:
                    of_base.label[v] = x.label[group_of[v]]
        if groups == 0:
            return depth, groups, found[1], inside, arcs
        for v in range(len(group_of)):
            if depth == 0:
                group_of[v] = levels.group[v]
            elif group_of[v] != EMPTY:
                group_of[v] = levels.group[group_of[v]]
        n, depth = groups, depth + 1
        begin, offsets = levels.begin[depth & 1, : n + 1], levels.offsets[: n + 1]
        if each or begin[n] >= least:
            return depth, n, found[1], inside, arcs
        p, unit = depth & 1, unit_below(depth, rule, per)
        merge_rows(
            g, levels.group, offsets, s.order[: offsets[n]], unit, begin, levels.end[p], levels.dst[p],
            levels.weight[p], levels.strength[p], s.touched, 0, n,
        )  # fmt: skip


def merge(base, rule, per, depth, n, levels, s):
    """Merge the rows of the ``n`` vertices of level ``depth``, at which :func:`climb` ended early, by threads."""
    p, g, unit = depth & 1, base, unit_below(depth, rule, per)
    if depth > 1:
        q = 1 - p
        g = ContiguousView(levels.begin[q], levels.end[q], levels.dst[q], levels.weight[q], base.ascending)
    begin, offsets = levels.begin[p, : n + 1], levels.offsets[: n + 1]
    given = g, levels.group, offsets, s.order[: offsets[n]], unit, begin
    to = levels.end[p], levels.dst[p], levels.weight[p], levels.strength[p]
    threads.run(merge_rows, [(*given, *to, np.empty(n, np.int64), *part) for part in parts_of(begin)])
