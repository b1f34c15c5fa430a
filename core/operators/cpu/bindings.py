"""The names that a CPU template imports: functions of a cursor, functions of a call, and the reduction.

A template is an ordinary module: it imports these names and runs as it stands, over a contiguous view and the functions
below. For every other combination ``instances`` writes a module in which the import of this file is replaced by the
cursor of a backend, the functions of the call and its reduction.
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
gapless = True  #: whether every slot of a span holds an edge
runs = False  #: whether the cursor has ``run``
by_runs = False  #: whether a pull reduces rows that are a run before others
spreads = False  #: whether a pull may call the edge function once more for an edge, and reduce in any order
looks_ahead = False  #: whether the edge function reads arrays at the neighbour, whose keys are known ahead
has_then = False  #: whether there is a second phase
has_commit = False  #: whether there is a third one
exact = True  #: whether the weights of votes are integers
in_any_order = True  #: whether the second phase lets no vertex join a queue


@inner
def edge(u, v, w, *args):
    """Return the value of the edge between ``u``, the owner of the row, and its neighbour ``v``, with weight ``w``."""
    return w


@inner
def edge_of_column(u, v, w, j, *args):
    """Return the value of the edge between ``u`` and ``v``, as :func:`edge` does, in column ``j``."""
    return w


@inner
def far(g, *args):
    """Return whether an array that the edge function reads at the neighbour is too large for a core's own caches."""
    return False


@inner
def ask(v, *args):
    """Prefetch entry ``v`` of each array that the edge function reads at the neighbour ``v``."""


@inner
def visit(i, u, v, w, *args):
    """Call the user's function of ``edge_map`` for the edge from ``u`` to ``v`` with weight ``w``."""


@inner
def visit_vertex(i, v, totals, *args):
    """Return whether the user's function of ``vertex_map`` is true for ``v``, the vertex at position ``i``.

    ``totals`` are those of scalars that the loop carries along, which are returned as well.
    """
    return True, totals


@inner
def begun(last, *args):
    """Return the totals that a loop up to ``last`` carries along, as it finds them."""
    return ()


@inner
def done(totals, *args):
    """Write back the totals that a loop has carried along."""


@inner
def then(v, given, *args):
    """Run ``then`` for ``v``; ``given`` is the step of a push, whose queue takes ``v`` if true, or a pull's value."""
    return True


@inner
def commit(v, *args):
    """Run the third phase ``commit`` of ``converge`` for ``v``; does nothing if the call has none."""


@inner
def score(v, label, total, *args):
    """Return how good it is for ``v`` that ``label`` has ``total``, in a vote."""
    return total


@inner
def kept(v, *args):
    """Return the label that wins a vote of ``v`` among equals; -1: there is none."""
    return np.int64(-1)


@inner
def turn(v, step, *args):
    """Return whether it is the turn of ``v`` in sub-round ``step`` of ``converge``."""
    return True


@inner
def in_round(rounds, *args):
    """Return the arguments of the functions after ``rounds`` rounds: arrays may have taken each other's place."""
    return args


@inner
def carry(new, *args):
    """Make the totals of the last round those that functions read in the next one, whose totals begin anew."""


@inner
def ends(bound, *args):
    """Return whether the total that ends a loop is at most ``bound``, or NaN."""
    return False


@inner
def combine(old, new):
    """Return the reduction of the two values ``old`` and ``new`` by the operator's ``reduce``."""
    return old + new


@inner
def final(total):
    """Return whether no further value can change ``total``, the reduction so far."""
    return False


@inner
def value(i, u, v, x, *args):
    """Return the user's function of ``x``, a common neighbour of ``u`` and ``v``, the pair at position ``i``."""
    return 1


def slots(s, t):
    """Return what the user's function of ``intersect`` gets of slot ``s`` on the left and ``t`` on the right."""
    return s, t


@inner
def store(out, v, value):
    """Reduce ``value`` into ``out[v]``, in place; return whether that changed the entry (of words: their keys)."""
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
    """Copy a span's keys to ``into[at:]`` and return the next index; contiguous spans are read in place instead."""
    return at


@inner
def run(g, u):
    """Return the first of the consecutive slots that hold the edges of ``u`` and nothing else; -1: they are apart."""
    return np.int64(-1)


@inner
def arc_weight(weights, i):
    """Return the weight of arc ``i`` of an arc list: ``weights[i]``, or 1 on an unweighted graph."""
    return weights[i]
