"""Counts of edges, for CPU templates that choose a method by the amount of work.

The vertices are the first ``count`` of a list; if ``everything`` is set, they are those below ``count``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import both, degree

MANY = np.int64(1) << np.int64(62)


@kernel
def measure(g, h, num_vertices, vertices, everything, count, block, work):
    """Write to ``work[b]`` the number of vertices and edges of block ``b`` of the list; a block has ``block`` vertices.

    ``g`` and ``h`` are the data of two views; ids that are not below ``num_vertices`` have no edges.
    """
    for b in range(len(work)):
        first = b * block
        last = min(count, first + block)
        total = np.int64(last - first)
        for i in range(first, last):
            u = np.uint32(i) if everything else vertices[i]
            if u < num_vertices:
                total += np.int64(degree(g, u))
                if both:
                    total += np.int64(degree(h, u))
        work[b] = total


@inner
def edges_of(g, h, num_vertices, frontier, everything, count, enough):
    """Return the number of edges of ``frontier[:count]``, or of vertices below ``count`` if ``everything``.

    ``g`` and, if both directions are walked, ``h`` are views. Counting stops above ``enough``.
    """
    edges = np.int64(0)
    for i in range(count):
        u = np.uint32(i) if everything else frontier[i]
        if u < num_vertices:
            edges += np.int64(degree(g, u))
            if both:
                edges += np.int64(degree(h, u))
        if edges > enough:
            break
    return edges


@kernel
def largest_degree(g, h, num_vertices, vertices, everything, count):
    """Return the largest number of edges of the first ``count`` of ``vertices``, or of all vertices.

    ``g`` and, if both directions are walked, ``h`` are the data of views. Tables of modes and h-indices must hold as
    many values.
    """
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
def edges_of_rest(g, h, begin, end, stamp, step):
    """Return the number of edges of the vertices ``begin`` to ``end`` (exclusive) whose stamps are below ``step``.

    ``g`` and, if both directions are walked, ``h`` are views.
    """
    edges = np.int64(0)
    for v in range(begin, end):
        if stamp[v] < step:
            edges += np.int64(degree(g, v))
            if both:
                edges += np.int64(degree(h, v))
    return edges
