"""The reduction ``"mode"``, in place of ``pulling.py``: the most frequent value of the edges of a vertex.

First all values of a vertex are listed. Up to four are sorted. Of more, one candidate is counted: if more than half of
the values equal it, it is the mode. Otherwise rounds follow: each value is written to the table entry that its hash
selects; values that are found in their entry afterwards are counted there, and those overwritten by another value are
left for the next round. The last few values are compared with each other. So few branches depend on values.

``counts`` has a power of two of entries, at least twice the largest degree, and so has ``values``: its first half is
the table, its second half the list. Of several most frequent values the smallest counts; a NaN does not count.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, cast, edge, identity, neighbors, weight

FEW = 16  #: values that are compared with each other
FACTOR, HIGH, NEXT, TURN = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 33, 5, 63))  #: of the hash
ONE, TWO, THREE, FOUR = (np.uint64(one) for one in (1, 2, 3, 4))


@inner
def place_of(value, shift, mask):
    """Return the table index of ``value``, at most ``mask``: the bits of its hash from bit ``shift`` on."""
    return (np.float64(np.float64(value) + 0.0).view(np.uint64) * FACTOR >> shift) & mask


@inner
def list_row(g, u, without_loop, values, listed, *args):
    """Write the values of the edges of ``u``, but NaNs, to ``values[listed:]``; return the index behind them."""
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        value = cast(edge(u, v, weight(g, slot), *args))
        if value == value:
            values[listed] = value
            listed += ONE
    return listed


@inner
def count_in_table(values, counts, begin, listed, shift, best, most):
    """Make one round: count some of ``values[begin:listed]`` in the table, and leave the others for the next round.

    Each value is written to the table entry that its hash selects: entry ``i`` is ``values[i]``, with its count in
    ``counts[i]``. Values whose entry holds another value at the end are moved to ``values[begin:left]``.

    Args:
        shift: selects the bits of the hash; each round uses another one.
        best, most: the most frequent value of earlier rounds, and how often it occurs.

    Returns:
        ``(left, best, most)``, the last two after this round.
    """
    mask = ONE
    while mask < listed - begin:
        mask = mask << ONE
    mask -= ONE
    for i in range(begin, listed):
        at = place_of(values[i], shift, mask)
        values[at], counts[at] = values[i], 0
    left = begin
    for i in range(begin, listed):
        value = values[i]
        at = place_of(value, shift, mask)
        same = values[at] == value
        times = counts[at] + np.uint32(same)
        counts[at] = times
        better = same & ((times > most) | ((times == most) & (value < best)))
        best, most = value if better else best, times if better else most
        values[left] = value
        left += np.uint64(not same)
    return left, best, most


@inner
def ordered(a, b):
    """Return ``a`` and ``b``, the smaller one first."""
    return (a if a < b else b), (b if a < b else a)


@inner
def mode_of_four(values, begin, count, best):
    """Return the mode of ``values[begin : begin + count]``, at most four values; ``best`` if there are none."""
    a, b = values[begin] if count > 0 else best, values[begin + ONE] if count > 1 else best
    c, d = values[begin + TWO] if count > 2 else best, values[begin + THREE] if count > 3 else best
    a, b = ordered(a, b)
    c, d = ordered(c, d)
    a, c = ordered(a, c)
    b, d = ordered(b, d)
    b, c = ordered(b, c)
    best = c if (count > 3) & (c == d) else a
    best = b if (count > 2) & (b == c) else best
    return a if (count > 1) & (a == b) else best


@inner
def majority_of(values, begin, listed, other):
    """Return the majority of ``values[begin:listed]`` if one of three samples shows it, else ``other``."""
    head, middle, last = values[begin], values[begin + (listed - begin >> ONE)], values[listed - ONE]
    candidate, times = middle if middle == last else head, np.uint64(0)
    for i in range(begin, listed):
        times += np.uint64(values[i] == candidate)
    return candidate if times > listed - begin >> ONE else other


@inner
def mode_of(values, counts, begin, listed, best, most):
    """Return the mode of ``values[begin:listed]``; if that list is empty, ``best``.

    ``best`` is the neutral value, and ``most``, how often it was counted, 0. The table (``counts``, and ``values``
    before ``begin``) and the list itself are overwritten.
    """
    if listed - begin <= FOUR:
        return mode_of_four(values, begin, np.int64(listed - begin), best)
    if listed - begin > FEW:
        majority = majority_of(values, begin, listed, best)
        if majority != best:
            return majority
    shift = HIGH
    while listed - begin > FEW:  # fewer each time: in every place that is taken some value finds itself
        listed, best, most = count_in_table(values, counts, begin, listed, shift, best, most)
        shift = (shift - NEXT) & TURN
    for i in range(begin, listed):
        value, times = values[i], np.uint32(0)
        for j in range(begin, listed):
            times += np.uint32(values[j] == value)
        better = (times > most) | ((times == most) & (value < best))
        best, most = value if better else best, times if better else most
    return best


@inner
def asks_ahead(g, num_vertices, in_order, *args):
    """Return False: the loops of this reduction do not prefetch what the edge function reads at the neighbours."""
    return False


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return the mode over the edges of ``u`` in the view ``g``, and in ``h`` if both directions are walked.

    A vertex without edges and an id that is not below ``num_vertices`` get the neutral value. ``values`` and ``counts``
    are scratch, see the module. ``asks`` is unused.
    """
    if u >= num_vertices:
        return cast(identity)
    begin = np.uint64(len(values)) >> ONE
    listed = list_row(g, u, False, values, begin, *args)
    if both:
        listed = list_row(h, u, True, values, listed, *args)
    return mode_of(values, counts, begin, listed, cast(identity), np.uint32(0))
