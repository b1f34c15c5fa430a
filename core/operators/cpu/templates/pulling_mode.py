"""What pulls by ``"mode"`` take in place of ``pulling.py``: the most frequent value of the edges of a vertex.

A hash table counts the values of one vertex; ``values`` and ``counts`` have a power of two of places, at least twice
the largest degree. The values of a vertex of ``FEW`` edges or less are in a row instead, and searched one by one. Of
several most frequent values the smallest counts; a NaN does not count.
"""

from __future__ import annotations

import numpy as np

from suricate.jit import inner
from suricate.operators.cpu.templates.bindings import (
    begin,
    both,
    buckets,
    cast,
    degree,
    edge,
    end,
    first,
    following,
    identity,
    key,
    weight,
)
from suricate.types import TOMBSTONE

FEW = 16


@inner
def most_edges(g, h, num_vertices, vertices, everything, count):
    """Return the largest number of edges of ``count`` vertices, both views counted."""
    most = np.int64(0)
    for i in range(count):
        u = np.uint32(i) if everything else vertices[i]
        if u < num_vertices:
            edges = np.int64(degree(g, u))
            if both:
                edges += np.int64(degree(h, u))
            most = edges if edges > most else most
    return most


@inner
def table_size(edges):
    """Return the number of places that a vertex with so many edges uses: a power of two, at least twice as many."""
    size = 1
    while size < 2 * edges:
        size *= 2
    return size


@inner
def place_of(value, values, counts, mask):
    """Return the place of ``value`` in the table, or the free one where it belongs."""
    at = np.int64(np.uint64(np.float64(value).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & mask
    while counts[at] and values[at] != value:
        at = (at + 1) & mask
    return at


@inner
def place_in_row(value, values, distinct):
    """Return the place of ``value`` among the first ``distinct`` values, or ``distinct``."""
    at = 0
    while at < distinct and values[at] != value:
        at += 1
    return at


@inner
def count_few(g, u, without_loop, values, counts, distinct, best, most, *args):
    """Do as :func:`count_row` for few edges; return the number of distinct values, too."""
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v >= TOMBSTONE or (without_loop and v == u):
                    continue
                value = cast(edge(u, v, weight(g, slot), *args))
                if value != value:
                    continue
                at = place_in_row(value, values, distinct)
                if at == distinct:
                    values[at], counts[at] = value, 0
                    distinct += 1
                counts[at] += 1
                if counts[at] > most or (counts[at] == most and value < best):
                    best, most = value, counts[at]
            c = following(g, c)
    return distinct, best, most


@inner
def count_row(g, u, without_loop, values, counts, mask, best, most, *args):
    """Count the values of the edges of ``u`` in one view; return the best value and how often it is there."""
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v >= TOMBSTONE or (without_loop and v == u):
                    continue
                value = cast(edge(u, v, weight(g, slot), *args))
                if value != value:
                    continue
                at = place_of(value, values, counts, mask)
                values[at] = value
                counts[at] += 1
                if counts[at] > most or (counts[at] == most and value < best):
                    best, most = value, counts[at]
            c = following(g, c)
    return best, most


@inner
def reduce_vertex(g, h, num_vertices, u, values, counts, *args):
    """Return the mode over the edges of ``u``; of no edges the neutral value."""
    best, most = cast(identity), np.uint32(0)
    if u < num_vertices:
        edges = np.int64(degree(g, u))
        if both:
            edges += np.int64(degree(h, u))
        if edges <= FEW:
            distinct, best, most = count_few(g, u, False, values, counts, 0, best, most, *args)
            if both:
                distinct, best, most = count_few(h, u, True, values, counts, distinct, best, most, *args)
            return best
        size = table_size(edges)
        counts[:size] = 0
        best, most = count_row(g, u, False, values, counts, size - 1, best, most, *args)
        if both:
            best, most = count_row(h, u, True, values, counts, size - 1, best, most, *args)
    return best
