"""The reduction ``"mode"``, in place of ``pulling.py``: the most frequent value of the edges of a vertex.

The values of a vertex are listed first. Up to four are sorted. Of more, a candidate for the majority is counted; if
it has more than half of the values, no table is needed. Else each value is written to the slot of its hash; values
found in their slot are counted, and those whose slot another value has overwritten are listed for the next round,
until few are left, which are compared with each other. So few branches depend on values.

``values`` and ``counts`` have a power of two of places that is no less than the largest degree, and ``values`` as many
for the list. Of several most frequent values the smallest counts; a NaN does not count.
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
    """Return the place of ``value`` in a table of ``mask + 1`` entries: the bits of its hash from bit ``shift`` on."""
    return (np.float64(np.float64(value) + 0.0).view(np.uint64) * FACTOR >> shift) & mask


@inner
def list_row(g, u, without_loop, values, listed, *args):
    """Write the values of the edges of ``u`` in the view ``g`` to ``values`` from index ``listed`` on; return the end.

    NaNs are left out, as is the loop of ``u`` with ``without_loop``.
    """
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
    """Count the values of ``values[begin:listed]`` that own their place in the table of a round.

    The table is the beginning of ``values`` and ``counts``, which is overwritten. Values that do not own their place
    are moved to ``values[begin:left]``.

    Args:
        shift: the bit of the hash at which places begin; each round has another one.
        best, most: the most frequent value so far, and how often it occurs.

    Returns:
        ``left``, and ``best`` and ``most`` brought up to date.
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
    """Return the mode of ``values[begin : begin + count]``, at most four values; of none ``best``, the neutral one."""
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
    """Return the value that more than half of ``values[begin:listed]`` have, or ``other``.

    Only one value is tried, chosen from three sampled places, so that a majority may be missed.
    """
    head, middle, last = values[begin], values[begin + (listed - begin >> ONE)], values[listed - ONE]
    candidate, times = middle if middle == last else head, np.uint64(0)
    for i in range(begin, listed):
        times += np.uint64(values[i] == candidate)
    return candidate if times > listed - begin >> ONE else other


@inner
def mode_of(values, counts, begin, listed, best, most):
    """Return the mode of ``values[begin:listed]``, or ``best`` if that is empty.

    ``best`` is the neutral value, and ``most`` is 0. ``counts``, the entries of ``values`` before ``begin`` and the
    list itself are overwritten: each round counts some of the values in a table, and moves the others to the front of
    the list.
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
    """Return False: nothing is prefetched, since values are listed before they are counted. Parameters are unused."""
    return False


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return the mode over the edges of ``u`` in the view ``g``, and in ``h`` if both directions are walked.

    Without edges, or for an id that is not below ``num_vertices``, it is the neutral value. ``values`` and ``counts``
    are scratch and overwritten: the table of a round, and in the second half of ``values`` the list. ``asks`` is
    unused.
    """
    if u >= num_vertices:
        return cast(identity)
    begin = np.uint64(len(values)) >> ONE
    listed = list_row(g, u, False, values, begin, *args)
    if both:
        listed = list_row(h, u, True, values, listed, *args)
    return mode_of(values, counts, begin, listed, cast(identity), np.uint32(0))
