"""The names that a CPU template imports, to be replaced by those of a call: cursor, functions, reduction.

A template is an ordinary module: it imports these names and its functions run as they stand, over a
contiguous view and the functions below. For any other combination ``instances`` writes a module in which the import of
this file is replaced by the cursor of a backend, the functions of the call and a reduction.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.cursors.bindings import (  # noqa: F401 - templates take all of these from here
    ahead,
    begin,
    buckets,
    degree,
    end,
    find,
    first,
    following,
    is_fresh,
    key,
    later,
    neighbors,
    owner,
    updated_count,
    updated_segment,
    weight,
)
from suricate.cursors.bindings import degree as right_degree  # noqa: F401
from suricate.cursors.bindings import find as right_find  # noqa: F401
from suricate.cursors.bindings import neighbors as right_neighbors  # noqa: F401

identity = 0.0  #: what a reduction starts from
cast = np.float64  #: makes a value of an edge function one that is reduced
both = False  #: whether the second view is walked too
copies = False  #: whether the keys of a row are copied before they are used
looks_ahead = False  #: whether the edge function reads arrays at the neighbour, whose keys are known ahead
has_then = False  #: whether there is a second phase
has_commit = False  #: whether there is a third one
in_any_order = True  #: whether the second phase lets no vertex join a queue


@inner
def edge(u, v, w, *args):
    """Return the value of the edge from ``u``, the owner of the row, to ``v``: the user's edge function.

    ``w`` is the weight of the edge.
    """
    return w


@inner
def far(g, *args):
    """Return whether an array that the edge function reads at the neighbour is too large for the caches near a core."""
    return False


@inner
def ask(v, *args):
    """Prefetch the entries of neighbour ``v`` of the arrays that the edge function reads there."""


@inner
def visit(i, u, v, w, *args):
    """Call the user's function of the edge from ``u`` to ``v`` with weight ``w``.

    ``i`` is the position of the vertex, or of the arc, in the list that the call was given.
    """


@inner
def visit_vertex(i, v, *args):
    """Return what the user's function of a vertex returns for ``v`` at position ``i``."""
    return True


@inner
def then(v, given, *args):
    """Return whether ``v`` joins the queue, the second phase; ``given`` is the step of a push, the value of a pull."""
    return True


@inner
def commit(v, *args):
    """Do nothing; replaced by ``commit``, the third phase of a round, where there is one."""


@inner
def combine(old, new):
    """Return the values ``old`` and ``new`` reduced to one; replaced by the operator's ``reduce``."""
    return old + new


@inner
def final(total):
    """Return whether no further value can alter the reduction ``total``."""
    return False


@inner
def value(i, u, v, x, *args):
    """Return the value of ``x``, a common neighbour of ``u`` and ``v``, the pair at position ``i``."""
    return 1


@inner
def store(out, v, value):
    """Reduce ``value`` into ``out[v]``, in place; return whether that altered it (of words: their keys)."""
    old = out[v]
    new = combine(old, cast(value))
    out[v] = new
    return new != old


@inner
def put(out, i, value):
    """Write the reduced ``value`` to ``out[i]``."""
    out[i] = value


@inner
def copied(g, c, into, at):
    """Copy the keys of the span at cursor ``c`` to ``into[at:]`` if storage is not contiguous; return the end."""
    return at


@inner
def arc_weight(weights, i):
    """Return the weight of arc ``i`` of a list: ``weights[i]``, or 1 where edges have no weights."""
    return weights[i]
