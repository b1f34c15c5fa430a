"""CPU template of ``propagate`` where a value is final after one step: large frontiers are pulled (Beamer et al.).

A vertex whose value has changed, or from which the search started, takes no further offers. Its stamp tells the step in
which it joined; a vertex that ``then`` keeps out has the stamp ``step``, which is below all of these. A vertex that was
never reached has a stamp below ``step``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.operators.cpu.measuring import MANY, edges_of, edges_of_rest
from suricate.operators.cpu.push.pulling_once import let_join_range, pull_range
from suricate.operators.cpu.push.pushing import append_layer, push_list

LARGE = 24  #: a frontier of fewer vertices than this part of all is pushed
PULLED = 14  #: a larger one is pulled if its edges are more than this part of all, where the first offer will do


@kernel
def propagate(views, reverse, equal, vertices, target, number, max_steps, share, queue, buffer, kept, *args):
    """Push or pull until no vertex joins the frontier.

    Vertices that join in step ``i`` get the stamp ``step + i + 1``. Unless ``share`` is ``MANY``, the loop returns
    before a step for several threads: one whose frontier is a large part of all vertices, or has more than ``share``
    edges.

    Args:
        reverse: the views of the reverse direction, ``(back, also_back)``, over which steps pull: ``pulling_once.py``.
        equal: whether all offers to a vertex in one step are equal, so that a pull may stop at the first one.

    The other parameters and the result are those of the template ``propagate.py``.
    """
    g, h, num_vertices = views
    back, also_back = reverse
    frontier, everything, count = vertices
    out, stamp, step = target
    layers, ends = kept
    touched, pulling, enough = 0, False, np.int64(-1)
    fits = append_layer(layers, ends, number, frontier, everything, count)
    for i in range(count):
        u = np.uint32(i) if everything else frontier[i]
        if u < num_vertices:
            stamp[u] = step + number + 1
    while count > 0 and number < max_steps and fits:
        large = count * LARGE > num_vertices
        if share < MANY and (large or edges_of(g, h, num_vertices, frontier, everything, count, share) > share):
            break
        touched += count
        if large and not (pulling and equal):
            if not equal:
                enough = edges_of_rest(back, also_back, 0, num_vertices, stamp, step)
            elif enough < 0:
                enough = edges_of(g, h, num_vertices, frontier, True, num_vertices, MANY) // PULLED
            pulling = edges_of(g, h, num_vertices, frontier, everything, count, enough) > enough
        pulling = pulling and large
        number += 1
        if pulling:
            queued = pull_range(back, also_back, 0, num_vertices, out, stamp, step, number, equal, queue, 0, *args)
        else:
            queued = push_list(
                g, h, num_vertices, frontier, everything, count, out, stamp, step + number + 1, queue, 0, *args
            )
        count = let_join_range(0, queued, stamp, step + number + 1, step, number, queue, *args)
        frontier, queue, buffer = queue, buffer, queue
        everything = False
        fits = append_layer(layers, ends, number, frontier, everything, count)
    return number, touched, count if fits else -1
