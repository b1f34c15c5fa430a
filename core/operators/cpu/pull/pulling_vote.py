"""The reduction ``"vote"``, in place of ``pulling.py``: of the labels of a vertex' edges that with the best total.

The totals of labels are integers in a table, and so do not depend on the order of the edges. An entry of the table is
0, or twice a total plus 1, by which it shows that the label was there. Labels are places of the table or, where it is
``hashed``, found from a place that their hash gives. All entries are 0 again when a vertex is done.

Weights that are integers are added as they are. Floats are listed first, and rounded to multiples of a power of two
such that the sum of their magnitudes stays below 2**61 of these. The exponent follows from their number and the largest
one, whatever their order. A weight that is 0, NaN or infinite is no vote, nor is one for a label out of range.

``values`` is ``(totals, weights)`` and ``counts`` is ``(places, keys, labels)``: ``int64[a power of two if hashed]``,
``float64[the largest degree, or 0]``, ``uint32[the largest degree, and one]``, ``uint32[as totals, or 0]``, and the
number of labels.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, cast, degree, edge, exact, kept, neighbors, score, weight

FACTOR, HIGH = np.uint64(0x9E3779B1), np.uint64(16)  #: of the hash of 32 bits
ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
BITS, BIAS, EXPONENT, MOST = 61, 1022, np.uint64(52), 1000  #: of totals; of a float64; the largest power of two
FRACTION = np.uint64(2047)
NOBODY = np.int64(1 << 62)
EMPTY = np.uint32(0xFFFFFFFF)


@inner
def place_of(label, totals, keys, mask):
    """Return the place of ``label`` in the table: that with its total, or a free one, where its key is then stored."""
    at = np.uint64(label)
    if len(keys) > 0:
        at = (at * FACTOR >> HIGH) & mask
        while totals[at] != 0 and keys[at] != label:
            at = (at + ONE) & mask
        keys[at] = label
    return at


@inner
def add(label, amount, totals, keys, mask, places, count):
    """Add the integer ``amount`` to the total of ``label``; return the new number of places in ``places``."""
    at = place_of(label, totals, keys, mask)
    before = totals[at]
    places[count] = at
    totals[at] = (before | 1) + 2 * amount
    return count + np.uint64(before == 0)


@inner
def add_row(g, u, without_loop, values, counts, mask, count, *args):
    """Add the votes of the edges of ``u`` in the view ``g``, with integer weights; return the new number of places."""
    totals, places, keys, labels = values[0], counts[0], counts[1], counts[2]
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        label, amount = edge(u, v, weight(g, slot), *args)
        if amount != 0 and np.uint64(np.int64(label)) < labels:
            count = add(np.uint32(label), amount, totals, keys, mask, places, count)
    return count


@inner
def list_row(g, u, without_loop, values, counts, listed, most, *args):
    """List the votes of the edges of ``u`` in the view ``g``, from place ``listed`` on.

    Labels go to ``places``. Returns the new length, and the largest magnitude of a weight, ``most`` included.
    """
    weights, places, labels = values[1], counts[0], counts[2]
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        label, given = edge(u, v, weight(g, slot), *args)
        size = abs(given)
        if size > 0 and size < np.inf and np.uint64(np.int64(label)) < labels:
            places[listed] = label
            weights[listed] = given
            listed += ONE
            most = max(most, size)
    return listed, most


@inner
def power_of_two(exponent):
    """Return 2.0 to the power of ``exponent``, from -1000 to 1000."""
    return np.uint64(np.uint64(exponent + BIAS + 1) << EXPONENT).view(np.float64)


@inner
def scale_of(most, number):
    """Return the exponent by which ``number`` weights of magnitudes up to ``most`` are scaled to integers."""
    bits = np.int64(np.float64(most).view(np.uint64) >> EXPONENT & FRACTION) - BIAS  # most < 2 ** bits
    while number > ZERO:
        number >>= ONE
        bits += 1
    return min(BITS - bits, MOST)


@inner
def add_listed(listed, scale, values, counts, mask):
    """Add the ``listed`` votes, their weights times ``scale``; return the number of places."""
    totals, weights, places, keys = values[0], values[1], counts[0], counts[1]
    count, i = ZERO, ZERO
    while i < listed:
        amount = np.int64(np.rint(weights[i] * scale))
        count = add(places[i], amount, totals, keys, mask, places, count)
        i += ONE
    return count


@inner
def mask_for(g, h, u, keys):
    """Return which places of a hash table votes of ``u`` use: below a power of two, at least twice the degree."""
    mask = ONE
    if len(keys) > 0:
        most = np.uint64(degree(g, u)) * TWO
        if both:
            most += np.uint64(degree(h, u)) * TWO
        while mask < most:
            mask = mask << ONE
    return mask - ONE


@inner
def winner(u, count, unit, values, counts, *args):
    """Return the label with the best score and its total, and set the entries of the table to 0 again."""
    totals, places, keys = values[0], counts[0], counts[1]
    wanted, best, most, whole = kept(u, *args), NOBODY, -np.inf, np.int64(0)
    i = ZERO
    while i < count:
        at = np.uint64(places[i])
        label = keys[at] if len(keys) > 0 else np.uint32(at)
        total = totals[at] >> 1
        totals[at] = 0
        points = np.float64(score(u, label, total if exact else total * unit, *args))
        this = np.int64(label)
        first = this == wanted or (this < best and best != wanted)
        better = points > most or (points == most and first)
        best, most, whole = this if better else best, points if better else most, total if better else whole
        i += ONE
    return cast(EMPTY if best == NOBODY else best), whole if exact else whole * unit


@inner
def asks_ahead(g, num_vertices, in_order, *args):
    """Return False: the loops of this reduction do not prefetch what the edge function reads at the neighbours."""
    return False


@inner
def votes_of(g, h, num_vertices, u, values, counts, *args):
    """Add up the votes of the edges of ``u`` in the view ``g``, and in ``h`` if both are walked, in the table.

    Returns how many places of the table are in ``places``, none if ``u`` is not below ``num_vertices``, and by what
    their totals are to be multiplied.
    """
    keys = counts[1]
    count, unit = ZERO, 1.0
    if u < num_vertices:
        mask = mask_for(g, h, u, keys)
        if exact:
            count = add_row(g, u, False, values, counts, mask, count, *args)
            if both:
                count = add_row(h, u, True, values, counts, mask, count, *args)
        else:
            listed, most = list_row(g, u, False, values, counts, ZERO, 0.0, *args)
            if both:
                listed, most = list_row(h, u, True, values, counts, listed, most, *args)
            power = scale_of(most, listed)
            unit = power_of_two(-power)
            count = add_listed(listed, power_of_two(power), values, counts, mask)
    return count, unit


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return the winner of the votes of the edges of ``u`` in the view ``g``, and in ``h`` if both are walked.

    This is a pair of a label, ``EMPTY`` if nobody votes or ``u`` is not below ``num_vertices``, and its total.
    ``values`` and ``counts`` are scratch, see the module; ``asks`` is unused.
    """
    count, unit = votes_of(g, h, num_vertices, u, values, counts, *args)
    return winner(u, count, unit, values, counts, *args)
