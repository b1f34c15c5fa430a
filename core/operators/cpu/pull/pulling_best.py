"""The reduction ``"vote"`` with ``best=k``, in place of ``pulling.py``: the k labels with the best scores, best first.

``counts`` has two arrays more than in ``pulling_vote.py``: ``(..., best, points)``, ``int64[k]`` and ``float64[k]``,
the best labels of a vertex so far and their scores. ``put`` copies them to a row of the results.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import exact, kept, score
from suricate.operators.cpu.pull.pulling_vote import EMPTY, ONE, ZERO, asks_ahead, votes_of  # noqa: F401 - templates take it


@inner
def insert(label, points, wanted, best, scores, held):
    """Insert ``label`` among the ``held`` best ones, if it is one of them; return the new number of these.

    ``wanted`` is ahead of equals, then comes the smaller label.
    """
    at = held
    while at > 0 and (
        points > scores[at - 1]
        or (points == scores[at - 1] and best[at - 1] != wanted and (label == wanted or label < best[at - 1]))
    ):
        at -= 1
    if at == len(best):
        return held
    held = min(held + 1, len(best))
    for i in range(held - 1, at, -1):
        best[i], scores[i] = best[i - 1], scores[i - 1]
    best[at], scores[at] = label, points
    return held


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return the best labels and their scores, which are in ``counts``, and how many of them there are."""
    totals, places, keys, best, scores = values[0], counts[0], counts[1], counts[3], counts[4]
    count, unit = votes_of(g, h, num_vertices, u, values, counts, *args)
    wanted, held, i = np.int64(-1), 0, ZERO
    if count > ZERO:
        wanted = kept(u, *args)
    while i < count:
        at = np.uint64(places[i])
        label = keys[at] if len(keys) > 0 else np.uint32(at)
        total = totals[at] >> 1
        totals[at] = 0
        points = np.float64(score(u, label, total if exact else total * unit, *args))
        if points == points:
            held = insert(np.int64(label), points, wanted, best, scores, held)
        i += ONE
    return best, scores, held
