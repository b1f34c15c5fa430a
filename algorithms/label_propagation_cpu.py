"""The turns of label propagation on the CPU, by one thread: a template over a cursor.

It gives the labels that the operators of ``label_propagation.py`` give, in a third of the time or less. The *lead* of a
vertex is by how many neighbours its label was ahead of the next most frequent one when it was visited last, less 1 for
each neighbour that took another label than its own since, and 1 more for each that had its own. Until it is 0 the
vertex would keep its label in any order of labels, and is not visited, though it may be active.

The labels of few neighbours are compared with each other, of ``LANES`` vertices at once, by loops that are compiled to
vector instructions: what they read is read first, so that they have no branches. ``order`` is an ``Order``, and ``s`` a
``Scratch``, of ``label_propagation.py``.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.shared.hash import _again, _last, _spread, mixed
from suricate.cpu.vector import load_word
from suricate.kernels import ahead, degree, inner, kernel, neighbors

ODD, LOW = 0x9E3779B9, 0xFFFFFFFF
FEW, LANES = 16, 64  #: neighbours whose labels are compared with each other; vertices of which that is done at once
AHEAD = 12  #: vertices ahead of the current one whose rows are prefetched
NO_LABEL = np.uint32(LOW)
#: marks of a vertex: it is active in the next round; it is in this one, but is not listed; it is in ``queue``
NEXT, NOW, QUEUED = (np.uint8(one) for one in (1, 2, 4))
SHIFT, MOST = 3, 31  #: the lead, at most 31, is above these bits
LEADS, ONE_LEAD = np.uint8(MOST << SHIFT), np.uint8(1 << SHIFT)
LOWS, TOPS = (np.uint64(0x0101010101010101 * byte) for byte in (MOST, MOST + 1))  #: of eight leads, see ``list_tied``
#: entries of ``state``: vertices in ``queue``, and in ``sorted``; whether there are two classes, and the last turn of
#: this round, and of the next, is known to be that of an active vertex; whether the next period visits all vertices
WAITING, LISTED, WHOLE, SURE, SKIPS = range(5)
for _function in (_spread, _again, _last, mixed):
    inner(_function)


@inner
def note(v, best, lead, label, s, moved):
    """Mark ``v`` with its ``lead``; list it, as one more than ``moved``, if it has another label than ``best``."""
    s.marks[v] = (s.marks[v] & ~LEADS) | np.uint8(min(lead, MOST) << SHIFT)
    s.sorted[moved], s.wanted[moved] = v, best
    return moved + (best != label[v])


@inner
def best_of_many(g, v, label, order, s):
    """Return the most frequent label at ``v``, of several the first in the order, and its lead."""
    found, most, one = np.int64(0), np.int32(0), np.uint32(0)
    for u, _ in neighbors(g, v):
        one = label[u]
        times = s.table[one] + np.int32(1)
        s.touched[found] = one
        found += times == 1
        s.table[one] = times
        most = max(most, times)
    own, lowest, best = order.apart * mixed(np.int64(v), order.salt), np.int64(1) << 32, one
    ties, second = np.int64(0), np.int32(0)
    for i in range(found):
        one = s.touched[i]
        times, place = s.table[one], mixed(np.int64(one) ^ own, order.salt)
        same = times == most
        best = one if same & (place < lowest) else best
        lowest = place if same & (place < lowest) else lowest
        second = second if same else max(second, times)
        ties += same
        s.table[one] = 0
    return best, np.int64(most - second if ties == 1 else 0)


@inner
def count_equal(seen, j, times, lanes):
    """Write to ``times`` how many of the labels ``seen[: j + 1]`` of each vertex equal ``seen[j]``."""
    ours = seen[j]
    times[:] = 1
    for k in range(j):
        other = seen[k]
        for i in range(lanes):
            times[i] += ours[i] == other[i]


@inner
def hashed(x, order):
    """Return ``mixed(x, order.salt)``, with factors that are seen to have 32 bits: vectors of these multiply faster."""
    return _last(_again(_spread(x ^ (order.salt & LOW)) ^ (order.salt >> 32 & LOW)))


@inner
def best_of_few(lanes, width, label, order, s):
    """Find the best label of each of ``lanes`` vertices, of up to ``width`` neighbours, and the frequency of the next.

    What a label is worth is a word: above, how often it was seen, and below, its place in the order.
    """
    own, worth, best, second, times = s.own, s.worth, s.best, s.second, s.times
    for i in range(lanes):
        v = s.vertex[i]
        worth[i], best[i], second[i] = 0, label[v], 0
        own[i] = order.apart * hashed(np.int64(v), order)
    for j in range(width):
        ours = s.seen[j]
        count_equal(s.seen, j, times, lanes)
        for i in range(lanes):
            one, other, most, next_most = np.int64(ours[i]), best[i], worth[i], second[i]
            this = (np.int64(times[i]) << 32) + LOW - hashed(one ^ np.int64(own[i]), order)
            this = this if one != NO_LABEL else np.int64(0)
            less = min(this, most) >> 32 if one != other else np.int64(0)
            best[i] = one if this > most else other
            worth[i] = max(this, most)
            second[i] = max(next_most, less)
    for j in range(width):
        s.seen[j][:] = NO_LABEL


@inner
def choose(g, done, upto, label, order, s):
    """Let the vertices ``sorted[done:upto]`` choose labels; list those that do not have them; return their end."""
    moved, lanes, width = done, np.int64(0), np.int64(0)
    for i in range(done, upto):
        v = s.sorted[i]
        ahead(g, s.sorted[min(i + AHEAD, upto - 1)])
        if degree(g, v) > FEW:
            best, lead = best_of_many(g, v, label, order, s)
            moved = note(v, best, lead, label, s, moved)
        else:
            count = np.int64(0)
            for u, _ in neighbors(g, v):
                s.seen[count, lanes] = label[u]
                count += 1
            s.vertex[lanes], width = v, max(width, count)
            lanes += count > 0
            if count == 0:
                s.marks[v] |= LEADS
        if lanes == LANES or i == upto - 1:
            best_of_few(lanes, width, label, order, s)
            for k in range(lanes):
                lead = (s.worth[k] >> 32) - s.second[k]
                moved = note(s.vertex[k], np.uint32(s.best[k]), lead, label, s, moved)
            lanes, width = np.int64(0), np.int64(0)
    return moved


@inner
def turn_of(v, step, order):
    """Return in which sub-round of the block of sub-round ``step`` the vertex ``v`` has its turn."""
    return hashed((np.int64(v) + ODD * (1 + (step >> order.bits))) & LOW, order) & ((1 << order.bits) - 1)


@inner
def wake(g, done, moved, step, label, order, s):
    """Lower the leads of the neighbours of ``sorted[done:moved]``, which took labels in sub-round ``step``; queue some.

    Those are queued whose lead is gone. If they are active in this round, too, and their turn, of two, is yet to come,
    they are also listed for it. As long as the last turn of the next round is not known to be that of some active
    vertex, all are queued: where a round ends depends on it.
    """
    waiting, listed, whole, sure = s.state[WAITING], s.state[LISTED], s.state[WHOLE] > 0, s.state[SURE] > 0
    comes, block = whole & (step & 1 == 0), (step | ((1 << order.bits) - 1)) + 1
    for i in range(done, moved):
        v = s.sorted[i]
        ahead(g, s.sorted[min(i + AHEAD, moved - 1)])
        old, new = s.wanted[i], label[v]
        for u, _ in neighbors(g, v):
            mark, falls = s.marks[u], np.int64(label[u] != new) + np.int64(label[u] == old)
            lead = max(np.int64(mark >> SHIFT) - falls, np.int64(0))
            asks = (falls > 0) & (lead == 0)
            if comes & asks & (mark & NOW > 0):
                s.sorted[listed] = u
                listed += turn_of(u, step, order)
                mark &= ~NOW
            asks |= not sure
            s.queue[waiting] = u
            waiting += asks & (mark & QUEUED == 0)
            s.marks[u] = np.uint8(lead << SHIFT) | (mark & ~LEADS) | NEXT | (QUEUED if asks else np.uint8(0))
            if whole and not sure:  # rarely
                sure = turn_of(u, block, order) == 1
    s.state[WAITING], s.state[LISTED], s.state[SURE] = waiting, listed, sure


@inner
def visit(g, done, upto, step, label, order, s):
    """Let the vertices ``sorted[done:upto]`` take labels at once, in sub-round ``step``."""
    moved = choose(g, done, upto, label, order, s)
    for i in range(done, moved):
        v = s.sorted[i]
        s.wanted[i], label[v] = label[v], s.wanted[i]
    if not s.state[SKIPS]:
        wake(g, done, moved, step, label, order, s)


@inner
def sort_in_two(given, step, order, s):
    """Do as ``sort_by_turn``, of two turns from the first one on."""
    ones, zeros = np.int64(0), np.int64(0)
    for i in range(given):
        v = s.active[i]
        turn = turn_of(v, step, order)
        s.sorted[zeros], s.turns[ones] = v, v
        ones += turn
        zeros += 1 - turn
    for i in range(ones):
        s.sorted[zeros + i] = s.turns[i]
    s.starts[0], s.starts[1] = zeros, given


@inner
def sort_by_turn(given, step, order, s):
    """Write the first ``given`` vertices of ``active`` to ``sorted``, by their turns from sub-round ``step`` on.

    The end of each turn is in ``starts``. Those whose turn is only in the next block are the last.
    """
    classes, starts = 1 << order.bits, s.starts
    at = step & (classes - 1)
    starts[: classes + 1] = 0
    for i in range(given):
        turn = turn_of(s.active[i], step, order)
        turn = classes if turn < at else turn
        s.turns[i] = turn
        starts[turn] += 1
    total = np.int64(0)
    for turn in range(at, classes + 1):
        starts[turn], total = total, total + starts[turn]
    for i in range(given):
        s.sorted[starts[s.turns[i]]] = s.active[i]
        starts[s.turns[i]] += 1


@inner
def list_tied(s):
    """Write the vertices without a lead to ``active``; return how many there are."""
    count, n = np.int64(0), len(s.marks)
    for at in range(0, n, 8):
        if at + 8 <= n and ((load_word(s.marks, at) >> np.uint64(SHIFT) & LOWS) + LOWS) & TOPS == TOPS:
            continue  # eight leads
        for v in range(at, min(at + 8, n)):
            s.active[count] = v
            count += s.marks[v] < ONE_LEAD
    return count


@inner
def list_queued(s):
    """Write the vertices in ``queue`` to ``active``, in their order if they are many; return how many there are.

    Those with a lead, as they were visited since, are left out, if it is known where the next round ends.
    """
    count, waiting, n, sure = np.int64(0), s.state[WAITING], len(s.marks), s.state[SURE] > 0
    if sure and waiting * 8 > n:
        for v in range(n):
            s.active[count] = v
            count += (s.marks[v] & QUEUED > 0) & (s.marks[v] < ONE_LEAD)
        return count
    for i in range(waiting):
        s.active[count] = s.queue[i]
        count += (s.marks[s.queue[i]] < ONE_LEAD) | (not sure)
    return count


@inner
def begin_round(present, s):
    """Let those be active of whose neighbours one took a label, ``present`` of them listed."""
    s.state[WAITING], s.state[WHOLE], s.state[SURE] = 0, s.state[SURE], 0
    for v in range(len(s.marks)):
        s.marks[v] = (s.marks[v] & LEADS) | ((s.marks[v] & NEXT) * NOW)
    for i in range(present):
        s.marks[s.active[i]] &= ~NOW
    return present


@inner
def begin_period(label, order, s):
    """Let all vertices be active; list those that may take other labels in ``active``; return how many there are."""
    classes, ending, n = np.int64(1) << order.bits, np.int64(0), np.int64(len(label))
    for v in range(n):
        ending = max(ending, 1 + turn_of(v, 0, order))
        if ending == classes:
            break
    for v in range(n):
        s.marks[v] |= NEXT
        s.active[v] = v
    s.state[SURE], s.state[SKIPS] = (classes == 2) & (ending == 2), (ending == classes) & (not order.wakes)
    return begin_round(list_tied(s) if s.state[SURE] else n, s)


@kernel
def take_turns(g, label, order, rounds, s):
    """Make up to ``rounds << bits`` sub-rounds of vertices that take turns; return how many were made.

    In a sub-round all vertices see the labels from before it. After the last class of a round the next one follows in
    the next sub-round, whose class may be any: vertices whose class was before it wait for the next block of classes.
    """
    classes, most, step = np.int64(1) << order.bits, np.int64(rounds) << order.bits, np.int64(0)
    if most == 0:
        return most
    present = begin_period(label, order, s)
    while step < most and (present > 0 or s.state[WHOLE]):
        at = step & (classes - 1)
        if classes == 2 and at == 0:
            sort_in_two(present, step, order, s)
            s.state[WHOLE] |= s.starts[1] > s.starts[0]
        else:
            sort_by_turn(present, step, order, s)
        done, whole, s.state[LISTED] = np.int64(0), s.state[WHOLE] > 0, present
        for turn in range(at, classes):
            upto = s.state[LISTED] if whole and turn > 0 else s.starts[turn]
            visit(g, done, upto, step, label, order, s)
            done, step = upto, step + 1
            if done >= present and not whole:
                break
        present = max(present - done, 0)
        for i in range(present):
            s.active[i] = s.sorted[done + i]
        if present == 0 and step < most:
            present = begin_round(list_queued(s), s)
    if s.state[SKIPS]:
        s.marks[:] = QUEUED
    for i in range(present):  # their turn has not come
        s.marks[s.active[i]] |= QUEUED
    return step


@kernel
def end_turns(label, key, s):
    """Make ranks of labels, in place; list those that may want another label in ``active``; return how many there are.

    The first vertex is listed in any case, so that there is a round, as there is if all are active.
    """
    count = np.int64(min(len(label), 1))
    s.active[0] = 0
    for v in range(len(label)):
        label[v] = mixed(np.int64(label[v]), key)
    for v in range(1, len(label)):
        s.active[count] = v
        count += (s.marks[v] & QUEUED > 0) & (s.marks[v] < ONE_LEAD)
    return count
