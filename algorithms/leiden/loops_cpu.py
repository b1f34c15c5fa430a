"""Moves, refinement and splits of communities on the CPU, by one thread: a template over a cursor.

The functions give what the operators of ``steps.py`` give, and say what these compute. ``x``, a ``Vertices``, ``rule``,
a ``Rule``, and ``s``, a ``Scratch``, are described in ``arrays.py``; ``total`` and ``count`` are, by label, the sums of
the strengths and of the sizes of its vertices. Weights are rounded to whole numbers of units (``per``: of a weight of
1; below 0: all weigh 1), so all sums are exact.

Loops over edges have few branches: where a processor guesses wrong every other time, that costs more than the work.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.shared.hash import _again, _last, _spread, mixed
from suricate.kernels import ahead, inner, kernel, neighbors, weight

ODD, LOW = 0x9E3779B9, 0xFFFFFFFF
AHEAD = 4  #: vertices ahead of the current one whose rows are prefetched
for _function in (_spread, _again, _last, mixed):
    inner(_function)


@inner
def units(g, slot, per):
    """Return the weight of the edge in ``slot`` in units, rounded; a weight of 1 has ``per``; below 0: all are 1."""
    return np.int64(1) if per < 0 else np.int64(np.floor(np.float64(weight(g, slot)) * per + 0.5))


@kernel
def add_strengths(g, per, unit, strength):
    """Write the strength of each vertex; return the weight of all self-loops."""
    loops = np.int64(0)
    for v in range(len(strength)):
        total = np.int64(0)
        for u, slot in neighbors(g, v):
            w = units(g, slot, per)
            total += 2 * w if u == v else w
            loops += w if u == v else 0
        strength[v] = total * unit
    return loops * unit


@inner
def turn_of(v, cycle, classes, n, salt):
    """Return in which of ``classes`` sub-rounds of a cycle ``v`` has its turn: by a hash, from ``n`` on by its id."""
    if classes >= n:
        return np.int64(v)
    return mixed((np.int64(v) + ODD * cycle) & LOW, salt) & (classes - 1)


@inner
def sort_by_turn(ids, given, kinds, turns, starts, order):
    """Write ``ids[:given]``, the i-th with its turn at ``turns[i]``, to ``order``; turn t begins at ``starts[t]``."""
    for t in range(kinds + 2):
        starts[t] = 0
    for i in range(given):
        starts[np.int64(turns[i]) + 2] += 1
    for t in range(2, kinds + 2):
        starts[t] += starts[t - 1]
    for i in range(given):
        at = np.int64(turns[i]) + 1
        order[starts[at]] = ids[i]
        starts[at] += 1


@inner
def sum_by_label(g, v, label, per, table, touched):
    """Add the weights of the edges of ``v`` to ``table`` by the other end's label; return how many labels there are.

    The labels are written to ``touched``. Self-loops do not count.
    """
    found = 0
    for u, slot in neighbors(g, v):
        c, w = np.int64(label[u]), units(g, slot, per)
        w = 0 if u == v else w
        before = table[c]
        touched[found] = c
        found += (before == 0) & (w != 0)
        table[c] = before + w
    return found


@inner
def best_label(v, found, x, total, count, rule, table, touched):
    """Return the community that ``v`` takes, by the sums in ``table``, which is cleared; its own one if none gains."""
    mine, k, margin, scale = np.int64(x.label[v]), x.strength[v], rule.margin, rule.scale
    many, best, most = k * rule.per_unit, np.int64(-1), -np.inf
    for i in range(found):
        c = touched[i]
        inside = total[c] - (k if c == mine else 0.0)
        score = table[c] * rule.unit - many * inside * scale + (margin if c == mine else 0.0)
        if score > most or (score == most and best != mine and (c == mine or c < best)):
            best, most = c, score
        table[c] = 0
    if best < 0 or (best != mine and most <= margin - many * (total[mine] - k) * scale):  # as no edge leads to its own
        return mine
    alone = most - (margin if best == mine else 0.0) < -margin and count[x.own[v]] == 0
    return np.int64(x.own[v]) if alone else best


@inner
def publish(g, v, new, x, total, count, per, s, woken):
    """Move ``v`` to the community ``new``; return by how much the weight inside grows, and how many wait then.

    Neighbours without a mark get one, and wait in ``s.wanted[n:]``, behind ``woken`` others.
    """
    n, old, inside = len(x.label), np.int64(x.label[v]), np.int64(0)
    x.label[v] = new
    total[old] -= x.strength[v]
    total[new] += x.strength[v]
    count[old] -= x.size[v]
    count[new] += x.size[v]
    for u, slot in neighbors(g, v):
        c, w = np.int64(x.label[u]), units(g, slot, per)
        w = 0 if u == v else w
        inside += w if c == new else (-w if c == old else 0)
        s.wanted[n + woken] = u
        woken += 1 - np.int64(s.marks[u])
        s.marks[u] = 1
    return inside, woken


@inner
def all_moves(g, x, total, count, rule, per, salt, classes, most, given, s, log):
    """Do what :func:`move` says."""
    n, step, inside, arcs, logged = len(x.label), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    kinds, present = np.int64(min(classes, n)), np.int64(0)
    for i in range(given):
        v = s.active[i]
        s.active[present] = v
        present += 1 - np.int64(s.marks[v])
        s.marks[v] = 1
    while present > 0:
        for i in range(present):
            s.marks[s.active[i]] = 0
        woken = np.int64(0)
        while present > 0 and step < most:
            cycle, first = step // classes, step % classes
            for i in range(present):
                s.turns[i] = turn_of(s.active[i], cycle, classes, n, salt)
            sort_by_turn(s.active, present, kinds, s.turns, s.starts, s.order)
            last, left = present - 1, s.starts[min(first, kinds)]  # they have their turn in the next cycle
            for turn in range(first, kinds):
                if present == left or step >= most:
                    break
                moved = np.int64(0)
                for i in range(s.starts[turn], s.starts[turn + 1]):
                    v = s.order[i]
                    ahead(g, s.order[min(i + AHEAD, last)])
                    found = sum_by_label(g, v, x.label, per, s.table, s.touched)
                    arcs += found
                    c = best_label(v, found, x, total, count, rule, s.table, s.touched)
                    s.wanted[v] = c
                    s.movers[moved] = v
                    moved += c != x.label[v]
                present -= s.starts[turn + 1] - s.starts[turn]
                for i in range(moved):
                    v = s.movers[i]
                    if logged >= 0 and len(log):
                        if 2 * logged + 2 > len(log):
                            logged = np.int64(-1)
                        else:
                            log[2 * logged], log[2 * logged + 1] = v, x.label[v]
                            logged += 1
                    gained, woken = publish(g, v, s.wanted[v], x, total, count, per, s, woken)
                    inside += gained
                step += 1
            if present == left and left > 0:
                for i in range(left):
                    s.active[i] = s.order[i]
                step = min(np.int64(most), (cycle + 1) * classes)
        if present > 0:
            for i in range(woken):
                s.marks[s.wanted[n + i]] = 0
            return step, present + woken, inside * rule.unit, arcs, logged
        if woken * 8 > n:  # in the order of memory
            for v in range(n):
                s.active[present] = v
                present += s.marks[v]
        else:
            for i in range(woken):
                s.active[i] = s.wanted[n + i]
            present = woken
    return step, present, inside * rule.unit, arcs, logged


@kernel
def move(g, x, total, count, rule, per, salt, classes, most, given, s, log):
    """Move vertices to better communities, class by class, until no active one gains, at most ``most`` sub-rounds.

    ``s.active[:given]`` are the vertices that begin; repeats are dropped. In a sub-round those whose turn it is choose
    by the state before it, and all move at once. Neighbours of those that moved are active in the next cycle.

    Returns (sub-rounds, how many are still active, by how much the weight inside communities has grown, arcs read,
    entries of ``log``): ``log`` gets (vertex, label before) of each move while there is room; beyond, -1 is returned.
    """
    return all_moves(g, x, total, count, rule, per, salt, classes, most, given, s, log)


@inner
def refine(g, x, total, rule, per, salt, classes, sub, members, heavy, s):
    """Divide every community into connected parts, ``sub``: vertices that are alone join a part that they gain from.

    Each vertex has one turn. ``sub`` is its own id at first, ``members`` 1 and ``heavy`` the strength of a part. A part
    of one vertex whose turn it is takes no others in, since it may leave; so parts are connected in any schedule. A
    vertex that is not well connected to its community stays alone (Traag, Waltman and van Eck).
    """
    n, label, table = len(x.label), x.label, s.table
    for v in range(n):
        sub[v], members[v], heavy[v] = v, 1, x.strength[v]
        s.active[v], s.turns[v] = v, mixed(np.int64(v), salt) & (classes - 1)
    sort_by_turn(s.active, n, classes, s.turns, s.starts, s.order)
    for turn in range(classes):
        moved = np.int64(0)
        low, high = s.starts[turn], s.starts[turn + 1]
        for i in range(low, high):
            s.marks[s.order[i]] = members[sub[s.order[i]]] == 1  # those that may leave now
        for at in range(low, high):
            v = s.order[at]
            ahead(g, s.order[min(at + AHEAD, n - 1)])
            if not s.marks[v]:
                continue
            found, inner_weight, mine = 0, np.int64(0), label[v]
            for u, slot in neighbors(g, v):
                w, part = units(g, slot, per), np.int64(sub[u])
                w = w if (label[u] == mine) & (u != v) else 0
                inner_weight += w
                w = 0 if s.marks[u] else w
                before = table[part]
                s.touched[found] = part
                found += (before == 0) & (w != 0)
                table[part] = before + w
            k, best, most = x.strength[v], np.int64(-1), 0.0
            for i in range(found):
                part = s.touched[i]
                score = table[part] * rule.unit - k * rule.per_unit * heavy[part] * rule.scale
                if score > most or (score == most and 0 <= part < best):
                    best, most = part, score
                table[part] = 0
            if best >= 0 and inner_weight * rule.unit >= k * rule.per_unit * (total[mine] - k) * rule.scale:
                s.wanted[v] = best
                s.movers[moved] = v
                moved += 1
        for i in range(low, high):
            s.marks[s.order[i]] = 0
        for i in range(moved):
            v = s.movers[i]
            old, new = sub[v], s.wanted[v]
            sub[v] = new
            members[old] -= 1
            members[new] += 1
            heavy[old] -= x.strength[v]
            heavy[new] += x.strength[v]


@inner
def root_of(parent, s):
    """Return the root of set ``s``, with halved paths."""
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@inner
def _relabel(
    label, total, count, strength, live, place, seen, queue, last, by_set, kept, sets
):  # fmt: skip
    """Give all whole parts but those ``kept`` new labels; clear ``place`` and ``seen``; the end of :func:`split`."""
    parent, waiting, owner = by_set[0], by_set[1], by_set[2]
    fresh = by_set[3]  # by set: its new label, plus 1
    for s in range(sets):
        fresh[s] = 0
    for i in range(last):  # the smallest vertex that is no label
        v = queue[i]
        s = root_of(parent, seen[v] - 1)
        place[label[v]] = 0
        is_new = waiting[s] < 0 and kept[owner[s]] != s + 1
        if is_new and count[v] == 0 and (fresh[s] == 0 or v + 1 < fresh[s]):
            fresh[s] = v + 1
    free = np.int64(0)
    for s in range(sets):
        if parent[s] == s and waiting[s] < 0 and kept[owner[s]] != s + 1 and fresh[s] == 0:
            while count[free] != 0 or live[free] == 0 or _is_taken(free, seen, parent, fresh):
                free += 1
            fresh[s] = free + 1
            free += 1
    changed = np.int64(0)
    for i in range(last):
        v = queue[i]
        s = root_of(parent, seen[v] - 1)
        seen[v] = 0
        if waiting[s] >= 0 or kept[owner[s]] == s + 1:
            continue
        new, old = fresh[s] - 1, np.int64(label[v])
        count[new] += 1
        count[old] -= 1
        total[new] += strength[v]
        total[old] -= strength[v]
        label[v] = new
        queue[changed] = v
        changed += 1
    return changed


@inner
def _is_taken(v, seen, parent, fresh):
    """Return whether ``v`` is to be the new label of its part."""
    return seen[v] != 0 and fresh[root_of(parent, seen[v] - 1)] == v + 1


@kernel
def split(g, label, total, count, strength, live, ends, place, seen, queue, by_set, by_community):
    """Give parts of communities that are not connected labels of their own, but the largest; return how many changed.

    ``ends``, ascending: vertices, of which every part of a community that may have been divided contains one. Searches
    begin at all of them and go side by side; a community's search ends when its parts have met, or when all are known
    but the largest: the work is that of the others. Of equal parts that with the smallest vertex keeps the label. The
    label of a part is its smallest vertex that is no label, else the smallest live one (``live``: not 0) that is none.
    The vertices with new labels are written to ``queue``; each vertex counts as one.

    ``place`` (by label) and ``seen`` (by vertex), ``int64``, are zero before and afterwards: the number of a community
    in this call, and of a set of vertices, each plus 1. ``by_set`` and ``by_community``, ``int64[5, len(ends)]`` and
    ``[3, len(ends)]``, are scratch.
    """
    parent, waiting, owner, size, least = by_set[0], by_set[1], by_set[2], by_set[3], by_set[4]
    open_sets, known, largest = by_community[0], by_community[1], by_community[2]
    sets, communities, last = np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(ends)):
        v = ends[i]
        if seen[v]:
            continue
        c = np.int64(label[v])
        if not place[c]:
            open_sets[communities], known[communities], largest[communities] = 0, 0, 0
            communities += 1
            place[c] = communities
        parent[sets], waiting[sets], owner[sets], size[sets], least[sets] = sets, 1, place[c] - 1, 1, v
        open_sets[place[c] - 1] += 1
        sets += 1
        seen[v] = sets
        queue[last] = v
        last += 1
    at = np.int64(0)
    while at < last:
        v = queue[at]
        at += 1
        s = root_of(parent, seen[v] - 1)
        waiting[s] -= 1
        c = owner[s]
        if open_sets[c] <= 1 and count[label[v]] - known[c] > largest[c]:
            continue
        for u, _ in neighbors(g, v):
            if label[u] != label[v]:
                continue
            if not seen[u]:
                seen[u] = s + 1
                queue[last] = u
                last += 1
                waiting[s] += 1
                size[s] += 1
                least[s] = min(least[s], np.int64(u))
                continue
            t = root_of(parent, seen[u] - 1)
            if t != s:
                s, t = min(s, t), max(s, t)
                parent[t] = s
                waiting[s] += waiting[t]
                size[s] += size[t]
                least[s] = min(least[s], least[t])
                open_sets[c] -= 1
        if waiting[s] == 0:  # a whole part
            waiting[s] = -1
            open_sets[c] -= 1
            known[c] += size[s]
            largest[c] = max(largest[c], size[s])
    kept = largest  # from here on by community: the set that keeps the label, plus 1
    kept[:communities] = 0
    for s in range(sets):
        if parent[s] == s:
            c, best = owner[s], kept[owner[s]] - 1
            better = best < 0 or size[s] > size[best] or (size[s] == size[best] and least[s] < least[best])
            if waiting[s] >= 0 or (better and open_sets[c] == 0):
                kept[c] = s + 1
    return _relabel(label, total, count, strength, live, place, seen, queue, last, by_set, kept, sets)
