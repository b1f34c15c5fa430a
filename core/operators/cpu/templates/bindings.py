"""The names that a CPU template takes from its surroundings.

A template of this folder is an ordinary module: it imports these names and its functions run as they stand, over a
contiguous view and the edge function below. For any other combination ``instances`` writes a module in
which the import of this file is replaced by the cursor of a backend, the user's edge function and a reduction.
"""

from __future__ import annotations

import numpy as np

from suricate.cursors.bindings import (
    begin,
    buckets,
    degree,
    end,
    find,
    first,
    following,
    is_fresh,
    key,
    owner,
    updated_count,
    updated_segment,
    weight,
)
from suricate.cursors.bindings import begin as right_begin
from suricate.cursors.bindings import buckets as right_buckets
from suricate.cursors.bindings import degree as right_degree
from suricate.cursors.bindings import end as right_end
from suricate.cursors.bindings import find as right_find
from suricate.cursors.bindings import first as right_first
from suricate.cursors.bindings import following as right_following
from suricate.cursors.bindings import key as right_key
from suricate.jit import inner

__all__ = [
    "begin",
    "buckets",
    "cast",
    "combine",
    "degree",
    "edge",
    "end",
    "find",
    "first",
    "following",
    "identity",
    "is_fresh",
    "key",
    "owner",
    "right_begin",
    "right_buckets",
    "right_degree",
    "right_end",
    "right_find",
    "right_first",
    "right_following",
    "right_key",
    "updated_count",
    "updated_segment",
    "value",
    "weight",
]

identity = 0.0  #: what a reduction starts from
cast = np.float64  #: the type of the values that are reduced


@inner
def edge(u, v, w, *args):
    """Return the value of edge ``(u, v)``: the user's edge function (predicates take ``v`` alone)."""
    return w


@inner
def combine(old, new):
    """Return the reduction of two values."""
    return old + new


@inner
def value(i, u, v, x, *args):
    """Return the value of ``x``, a common neighbour of ``u`` and ``v``, the pair at position ``i``."""
    return 1
