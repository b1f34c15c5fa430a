"""Moves, refinement and splits of communities on the CPU, by one thread: a template over a cursor.

The functions give what the operators of ``steps.py`` give, and say what these compute. By vertex: ``label``, its
community; ``strength``, the sum of the weights of its edges; ``size``, how many vertices of the graph it stands for;
``own``, the label that it takes when it leaves a community to be alone. By label: ``total``, the sum of the strengths;
``count``, the sum of the sizes. Weights are rounded to multiples of ``unit`` (0: they are such), so all sums are exact.
``scale`` is the resolution divided by the sum of all strengths, in units, of which a weight of 1 has ``per_unit``: so
products of two strengths neither overflow nor vanish. ``margin`` is what a move must gain at least, as a weight.
``table`` (``float64`` by label, zero) and ``marks`` (``uint8`` by vertex, zero) are scratch that is left as it was;
``touched``, ``wanted``, ``movers`` and ``turns`` are scratch of any content.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.shared.hash import _again, _last, _spread, mixed
from suricate.kernels import inner, kernel, neighbors, weight

ODD, LOW = 0x9E3779B9, 0xFFFFFFFF
for _function in (_spread, _again, _last, mixed):
    inner(_function)


@inner
def rounded(w, unit):
    """Return ``w`` rounded to a multiple of ``unit``; 0: it is one."""
    return np.float64(w) if unit == 0 else np.floor(np.float64(w) / unit + 0.5) * unit


@inner
def turn_of(v, cycle, classes, n, salt):
    """Return in which of ``classes`` sub-rounds of a cycle ``v`` has its turn: by a hash, from ``n`` on by its id."""
    if classes >= n:
        return np.int64(v)
    return mixed((np.int64(v) + ODD * cycle) & LOW, salt) & (classes - 1)


@kernel
def add_strengths(g, unit, strength):
    """Write the strength of each vertex; return the weight of all self-loops."""
    loops = 0.0
    for v in range(len(strength)):
        total = 0.0
        for u, slot in neighbors(g, v):
            w = rounded(weight(g, slot), unit)
            total += w
            if u == v:
                total += w
                loops += w
        strength[v] = total
    return loops


@inner
def sum_by_label(g, v, label, unit, table, touched):
    """Add the weights of the edges of ``v`` to ``table`` by the other end's label; return how many labels there are.

    The labels are written to ``touched``. Self-loops do not count.
    """
    found = 0
    for u, slot in neighbors(g, v):
        if u != v:
            w, c = rounded(weight(g, slot), unit), np.int64(label[u])
            if w != 0:
                if table[c] == 0:
                    touched[found] = c
                    found += 1
                table[c] += w
    return found


@inner
def best_label(v, found, label, total, count, strength, own, per_unit, scale, margin, table, touched):
    """Return the community that ``v`` takes, by the sums in ``table``, which is cleared; its own one if none gains."""
    mine, k, units = np.int64(label[v]), strength[v], strength[v] * per_unit
    best, most = np.int64(-1), -np.inf
    for i in range(found):
        c = touched[i]
        score = table[c] - units * (total[c] - (k if c == mine else 0.0)) * scale + (margin if c == mine else 0.0)
        if score > most or (score == most and best != mine and (c == mine or c < best)):
            best, most = c, score
        table[c] = 0.0
    if best < 0 or (best != mine and most <= margin - units * (total[mine] - k) * scale):  # as no edge leads to its own
        return mine
    alone = most - (margin if best == mine else 0.0) < -margin and count[own[v]] == 0
    return np.int64(own[v]) if alone else best


@kernel
def move(  # noqa: PLR0913
    g, label, total, count, strength, size, own, per_unit, scale, margin, unit, salt, classes, most, active, given,
    table, marks, touched, wanted, movers, turns, log,
):  # fmt: skip
    """Move vertices to better communities, class by class, until no active one gains, at most ``most`` sub-rounds.

    ``active[:given]`` are the vertices that begin; repeats are dropped. In a sub-round those whose turn it is choose by
    the state before it, and all move at once. Neighbours of those that moved are active in the next cycle.

    Returns (sub-rounds, how many are still active, by how much the weight inside communities has grown, arcs read,
    entries of ``log``): ``log`` gets (vertex, label before) of each move while there is room; beyond, -1 is returned.
    """
    n, step, inside, arcs, logged = len(label), 0, 0.0, np.int64(0), np.int64(0)
    present = np.int64(0)
    for i in range(given):
        v = active[i]
        if not marks[v]:
            marks[v] = 1
            active[present] = v
            present += 1
    while present > 0:
        for i in range(present):
            marks[active[i]] = 0
        woken, cycle = np.int64(0), np.int64(-1)  # woken ones are in ``wanted[n:]``
        while present > 0:
            if step >= most:
                for i in range(woken):
                    marks[wanted[n + i]] = 0
                return step, present + woken, inside, arcs, logged
            moved, left, turn = np.int64(0), np.int64(0), step % classes
            if step // classes != cycle:
                cycle = step // classes
                for i in range(present):
                    turns[i] = turn_of(active[i], cycle, classes, n, salt)
            for i in range(present):
                v = active[i]
                if turns[i] != turn:
                    active[left], turns[left] = v, turns[i]
                    left += 1
                    continue
                found = sum_by_label(g, v, label, unit, table, touched)
                arcs += found
                c = best_label(v, found, label, total, count, strength, own, per_unit, scale, margin, table, touched)
                if c != label[v]:
                    wanted[v] = c
                    movers[moved] = v
                    moved += 1
            present = left
            for i in range(moved):
                v = movers[i]
                old, new = np.int64(label[v]), np.int64(wanted[v])
                if logged >= 0 and len(log):
                    if 2 * logged + 2 > len(log):
                        logged = np.int64(-1)
                    else:
                        log[2 * logged], log[2 * logged + 1] = v, old
                        logged += 1
                label[v] = new
                total[old] -= strength[v]
                total[new] += strength[v]
                count[old] -= size[v]
                count[new] += size[v]
                for u, slot in neighbors(g, v):
                    if u != v and label[u] == old:
                        inside -= rounded(weight(g, slot), unit)
                    elif u != v and label[u] == new:
                        inside += rounded(weight(g, slot), unit)
                    if not marks[u]:
                        marks[u] = 1
                        wanted[n + woken] = u
                        woken += 1
            step += 1
        if woken * 8 > n:  # in the order of memory
            at = np.int64(0)
            for v in range(n):
                if marks[v]:
                    active[at] = v
                    at += 1
        else:
            for i in range(woken):
                active[i] = wanted[n + i]
        present = woken
    return step, present, inside, arcs, logged


@kernel
def refine(  # noqa: PLR0913
    g, label, total, strength, per_unit, scale, unit, salt, classes, sub, members, heavy, table, touched, wanted, movers
):
    """Divide every community into connected parts, ``sub``: vertices that are alone join a part that they gain from.

    Each vertex has one turn. ``sub`` is its own id at first, ``members`` 1 and ``heavy`` the strength of a part. A part
    of one vertex whose turn it is takes no others in, since it may leave; so parts are connected in any schedule. A
    vertex that is not well connected to its community stays alone (Traag, Waltman and van Eck).
    """
    n = len(label)
    for c in range(classes):
        moved = np.int64(0)
        for v in range(n):
            if mixed(v, salt) & (classes - 1) != c or members[sub[v]] != 1:
                continue
            found, inner_weight, k = 0, 0.0, strength[v]
            for u, slot in neighbors(g, v):
                if u == v or label[u] != label[v]:
                    continue
                w, s = rounded(weight(g, slot), unit), np.int64(sub[u])
                inner_weight += w
                if w == 0 or (members[s] == 1 and mixed(u, salt) & (classes - 1) == c):
                    continue
                if table[s] == 0:
                    touched[found] = s
                    found += 1
                table[s] += w
            best, most = np.int64(-1), 0.0
            for i in range(found):
                s = touched[i]
                score = table[s] - k * per_unit * heavy[s] * scale
                if score > most or (score == most and 0 <= s < best):
                    best, most = s, score
                table[s] = 0.0
            if best >= 0 and inner_weight >= k * per_unit * (total[label[v]] - k) * scale:
                wanted[v] = best
                movers[moved] = v
                moved += 1
        for i in range(moved):
            v = movers[i]
            old, new = sub[v], wanted[v]
            sub[v] = new
            members[old] -= 1
            members[new] += 1
            heavy[old] -= strength[v]
            heavy[new] += strength[v]


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
