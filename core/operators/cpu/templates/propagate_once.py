"""CPU template of ``propagate`` where a value is final after one step: large frontiers are pulled (Beamer et al.).

A vertex that was altered before, or that the search started from, is not asked again. The number of a step in which a
vertex joined is its stamp; one that ``then`` keeps out has the stamp ``step``, below all of these. So a pull knows the
vertices of the frontier by their stamps, and those that were never altered by stamps below ``step``.
"""

from __future__ import annotations

import numpy as np

from suricate.jit import inner, kernel
from suricate.operators.cpu.templates.bindings import (
    begin,
    both,
    buckets,
    degree,
    edge,
    end,
    first,
    following,
    key,
    store,
    then,
    weight,
)
from suricate.operators.cpu.templates.layering import append_layer
from suricate.operators.cpu.templates.pushing import push_list
from suricate.types import TOMBSTONE

LARGE = 24  #: a frontier of fewer vertices than this part of all is pushed
PULLED = 14  #: a larger one is pulled if its edges are more than this part of all, where the first offer will do
MANY = np.int64(1) << np.int64(62)


@inner
def pull_row(g, v, without_loop, joined, equal, out, stamp, *args):
    """Take the offers of the neighbours of ``v`` whose stamp is ``joined``; return whether one altered it."""
    altered = False
    for k in range(buckets(g, v)):
        c = first(g, v, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                u = key(g, slot)
                if u >= TOMBSTONE or stamp[u] != joined or (without_loop and u == v):
                    continue
                if store(out, v, edge(u, v, weight(g, slot), *args)):
                    altered = True
                    if equal:
                        return True
            c = following(g, c)
    return altered


@inner
def pull_rest(g, h, num_vertices, out, stamp, step, number, equal, queue, *args):
    """Step ``number`` as a pull of all vertices that were not altered yet; return how many were, now in ``queue``."""
    queued = 0
    for v in range(num_vertices):
        if stamp[v] >= step:
            continue
        altered = pull_row(g, np.uint32(v), False, step + number, equal, out, stamp, *args)
        if both and not (altered and equal):
            altered = pull_row(h, np.uint32(v), True, step + number, equal, out, stamp, *args) or altered
        if altered:
            queue[queued] = v
            queued += 1
    for i in range(queued):
        stamp[queue[i]] = step + number + 1
    return queued


@inner
def edges_of(g, h, num_vertices, frontier, everything, count, enough):
    """Return the number of edges of ``count`` vertices, or more than ``enough`` of them."""
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


@inner
def edges_of_rest(g, h, num_vertices, stamp, step):
    """Return the number of edges of the vertices that were not altered yet: what a pull without early ends reads."""
    edges = np.int64(0)
    for v in range(num_vertices):
        if stamp[v] < step:
            edges += np.int64(degree(g, v))
            if both:
                edges += np.int64(degree(h, v))
    return edges


@kernel
def propagate(
    g, h, back, also_back, num_vertices, equal, frontier, everything, count, out, stamp, step, number, max_steps, queue,
    spare, layers, ends, *args,
):  # fmt: skip
    """Push or pull until no vertex joins; return the number of the last step, of vertices that pushed, of those left.

    ``back`` and ``also_back`` are the views of the reverse direction. The other parameters are those of
    ``propagate_levels.py``; the vertices that joined in step i have the stamp ``step + i + 1``. Edges are counted only
    while the frontier is a large part of all vertices.
    """
    touched, pulling, enough = 0, False, np.int64(-1)
    fits = append_layer(layers, ends, number, frontier, everything, count)
    for i in range(count):
        u = np.uint32(i) if everything else frontier[i]
        if u < num_vertices:
            stamp[u] = step + number + 1
    while count > 0 and number < max_steps and fits:
        touched += count
        large = count * LARGE > num_vertices
        if large and not (pulling and equal):
            if not equal:
                enough = edges_of_rest(back, also_back, num_vertices, stamp, step)
            elif enough < 0:
                enough = edges_of(g, h, num_vertices, frontier, True, num_vertices, MANY) // PULLED
            pulling = edges_of(g, h, num_vertices, frontier, everything, count, enough) > enough
        pulling = pulling and large
        number += 1
        if pulling:
            queued = pull_rest(back, also_back, num_vertices, out, stamp, step, number, equal, queue, *args)
        else:
            queued = push_list(
                g, h, num_vertices, frontier, everything, count, out, stamp, step + number + 1, queue, 0, *args
            )
        count = 0
        for i in range(queued):
            v = queue[i]
            if then(v, number, *args):
                queue[count] = v
                count += 1
            else:
                stamp[v] = step
        frontier, queue, spare = queue, spare, queue
        everything = False
        fits = append_layer(layers, ends, number, frontier, everything, count)
    return number, touched, count if fits else -1
