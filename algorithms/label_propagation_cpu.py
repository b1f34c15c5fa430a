"""The turns of label propagation on the CPU, by one thread: a template over a cursor.

It gives the labels that the operators of ``label_propagation.py`` give, in a third of the time: a vertex is visited in
another period only if it has equally frequent labels, or a neighbour has taken a label since.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.shared.hash import _again, _last, _spread, mixed
from suricate.kernels import ahead, inner, kernel, neighbors

ODD, LOW = 0x9E3779B9, 0xFFFFFFFF
FEW = 2  #: bits of so few classes that vertices with marks are sought for each
AHEAD = 12  #: vertices ahead of the current one whose rows are prefetched
WOKEN, TIED = np.uint8(1), np.uint8(2)  #: marks: active in the next round; has equally frequent labels
for _function in (_spread, _again, _last, mixed):
    inner(_function)


@inner
def best_label(g, v, label, salt, apart, table, touched):
    """Return the most frequent label at ``v``, of several the first in the order, and how many there are.

    ``table``, by label, is 0 before and afterwards; ``touched`` has space for the labels of the neighbours.
    """
    found, most, one = np.int64(0), np.int32(0), np.int64(label[v])
    for u, _ in neighbors(g, v):
        one = np.int64(label[u])
        times = table[one] + np.int32(1)
        touched[found] = one
        found += times == 1
        table[one] = times
        most = max(most, times)
    if found <= 1:
        table[one] = 0
        return one, found
    own, lowest, best, ties = apart * mixed(np.int64(v), salt), np.int64(1) << 32, one, np.int64(0)
    for i in range(found):
        one = touched[i]
        same, place = table[one] == most, mixed(one ^ own, salt)
        best = one if same & (place < lowest) else best
        lowest = place if same & (place < lowest) else lowest
        ties += same
        table[one] = 0
    return best, ties


@inner
def turn_of(v, step, salt, bits):
    """Return in which sub-round of the block of sub-round ``step`` the vertex ``v`` has its turn."""
    return mixed((np.int64(v) + ODD * (1 + (step >> bits))) & LOW, salt) & ((1 << bits) - 1)


@inner
def list_marked(marks, turn, salt, bits, order):
    """Write the vertices with a mark, whose turn in the first block is ``turn``, to ``order``; return the number."""
    count = np.int64(0)
    for v in range(len(marks)):
        if marks[v] > 0:
            order[count] = v
            count += turn_of(v, 0, salt, bits) == turn
    return count


@inner
def take_woken(marks, queue, woken, active):
    """Move the ``woken`` vertices in ``queue`` to ``active``, where they are many in their order; clear their marks."""
    if woken * 8 > len(marks):
        count = np.int64(0)
        for v in range(len(marks)):
            active[count] = v
            count += np.int64(marks[v] & WOKEN)
            marks[v] &= TIED
        return
    for i in range(woken):
        active[i] = queue[i]
        marks[queue[i]] &= TIED


@inner
def sort_by_turn(active, given, step, salt, bits, turns, starts, order):
    """Write the vertices of ``active`` to ``order``, by their turns from sub-round ``step`` on; see ``take_turns``."""
    at, classes = step & ((1 << bits) - 1), 1 << bits
    starts[: classes + 1] = 0
    for i in range(given):
        turn = turn_of(active[i], step, salt, bits)
        turn = classes if turn < at else turn
        turns[i] = turn
        starts[turn] += 1
    total = np.int64(0)
    for turn in range(at, classes + 1):
        starts[turn], total = total, total + starts[turn]
    for i in range(given):
        order[starts[turns[i]]] = active[i]
        starts[turns[i]] += 1


@inner
def visit(g, done, upto, label, salt, apart, marks, table, touched, order, wanted, queue, woken):  # noqa: PLR0913
    """Let the vertices ``order[done:upto]`` take labels at once; return how many are in ``queue``, ``woken`` before."""
    for i in range(done, upto):
        v = order[i]
        ahead(g, order[min(i + AHEAD, upto - 1)])
        wanted[i], ties = best_label(g, v, label, salt, apart, table, touched)
        marks[v] = (marks[v] & WOKEN) | (TIED if ties > 1 else 0)
    for i in range(done, upto):
        v = order[i]
        if wanted[i] != label[v]:
            label[v] = wanted[i]
            for u, _ in neighbors(g, v):
                queue[woken] = u
                woken += 1 - np.int64(marks[u] & WOKEN)
                marks[u] |= WOKEN
    return woken


@kernel
def take_turns(  # noqa: PLR0913
    g, label, salt, apart, bits, rounds, marks, table, touched, turns, starts, active, order, wanted, queue
):
    """Make up to ``rounds << bits`` sub-rounds of vertices that take turns; return how many were made.

    All vertices begin, but one without a mark when it has its turn would keep its label, and is not visited. ``label``:
    ``uint32[n]``; ``salt``, ``apart``, ``bits``: as for the operators. ``marks``: ``uint8[n]``, which stay from call to
    call, and ``WOKEN`` at first. ``table``: ``int32[n]``, 0 before and afterwards. Scratch: ``touched`` ``int64[n+1]``;
    ``starts`` ``int64``, one more than there are classes; the others ``uint32[n]``, ``queue`` one more.

    In a sub-round all vertices see the labels from before it. After the last class of a round the next one follows in
    the next sub-round, whose class may be any: vertices whose class was before it wait for the next block of classes.
    """
    n, step, most, classes = len(label), np.int64(0), np.int64(rounds) << bits, np.int64(1) << bits
    woken, sorts = np.int64(0), bits > FEW
    for v in range(n):
        marks[v] = TIED if marks[v] > 0 else 0
        step = step if step == classes else max(step, 1 + turn_of(v, 0, salt, bits))
    step = min(step, most)  # where a round of all vertices ends
    if sorts and step > 0:
        for v in range(n):
            active[v] = v
        sort_by_turn(active, n, 0, salt, bits, turns, starts, order)
    done = np.int64(0)
    for turn in range(step):
        upto = starts[turn] if sorts else list_marked(marks, turn, salt, bits, order)
        woken = visit(g, done, upto, label, salt, apart, marks, table, touched, order, wanted, queue, woken)
        done = np.int64(upto if sorts else 0)
    while woken > 0 and step < most:
        present, woken = woken, np.int64(0)
        take_woken(marks, queue, present, active)
        while present > 0 and step < most:
            sort_by_turn(active, present, step, salt, bits, turns, starts, order)
            done = np.int64(0)
            for turn in range(step & (classes - 1), classes):
                upto, step = starts[turn], step + 1
                woken = visit(g, done, upto, label, salt, apart, marks, table, touched, order, wanted, queue, woken)
                done = upto
                if done == present:
                    break
            present -= done
            for i in range(present):
                active[i] = order[done + i]
        for i in range(present):  # their turn has not come
            marks[active[i]] |= WOKEN
    return step
