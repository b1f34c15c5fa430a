"""The names that the templates ``queries.py`` and ``updated_loops.py`` import from a cursor.

As ordinary modules the templates use this one, and run over contiguous views. For every other cursor
``suricate.store.fallbacks`` generates a module in which the import of this one is replaced by that of the cursor.
``owner`` gives the source of an edge: the owner of its segment or of its slot, depending on ``StoreView.owner_per``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import inner
from suricate.cursors.contiguous import (  # noqa: F401 - templates take all of these from here
    ahead,
    begin,
    buckets,
    common,
    degree,
    end,
    find,
    first,
    following,
    key,
    later,
    weight,
)

copies = False  #: whether the cursor has ``copied``
joins = True  #: whether it has ``common``, and finds edges by less than a pass


def neighbors(g: Any, u: Any) -> Iterator[tuple[Any, Any]]:
    """Yield ``(v, slot)``, destination and slot, for every out-edge of ``u`` in the view ``g``.

    In modules made from a template, ``for v, slot in neighbors(g, u):`` is replaced by the loops of the cursor.
    """
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v < TOMBSTONE:
                    yield v, slot
            c = following(g, c)


@inner
def copied(g, c, into, at):
    """Copy the keys of the span at cursor ``c`` of view ``g`` to ``into[at:]``; return the index after the last one.

    Here nothing is copied and ``at`` is returned: a contiguous view is read in place.
    """
    return at


@inner
def copied_weights(g, c, into, at, count):
    """Copy the first ``count`` weights of a span (consecutive slots) of view ``g``, at cursor ``c``, to ``into[at:]``.

    Entries of ``into`` after them may change too.
    """
    for i in range(count):
        into[at + i] = weight(g, begin(g, c) + i)


# A contiguous view has no updated-edges iterator. As a stand-in, every adjacency is a segment in which all is new.


@inner
def updated_count(g):
    """Return the number of segments with inserted edges in the view ``g``: here one per vertex."""
    return len(g.begin)


@inner
def updated_segment(g, i):
    """Return the cursor (int64) of the ``i``-th segment with inserted edges: here the adjacency of vertex ``i``."""
    return np.int64(i)


@inner
def is_fresh(g, slot):
    """Return whether the edge in ``slot`` was inserted since the mark: here always True."""
    return True


@inner
def owner(g, c, slot):
    """Return the source of the edge in ``slot`` of segment ``c``: here ``c`` itself."""
    return np.uint32(c)
