"""The functions that the templates of the forest call, for contiguous views and words of 64 bits.

The lower half of a word is the parent. For other cursors and words ``suricate.repair.cpu.repairs`` generates modules
from the templates, with other functions of these names, among them the user's.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.atomics import exchange as exchange_whole  # noqa: F401
from suricate.cpu.jit import inner
from suricate.cursors.bindings import (  # noqa: F401 - templates take all of these from here
    ahead,
    begin,
    buckets,
    copied,
    copies,
    degree,
    end,
    first,
    following,
    key,
    neighbors,
    weight,
)

identity_word = np.uint64(2**64 - 1)  #: the word that every other one replaces
uniform = False  #: whether a vertex offers the same word along all its edges


@inner
def load_word(array, i):
    """Return word ``i`` of an array; in generated modules a word may take two elements."""
    return array[i]


@inner
def load_whole(array, i):
    """Return word ``i`` of an array by one atomic load, as other threads may replace it."""
    return array[i]


@inner
def store_word(array, i, word):
    """Write ``word`` as word ``i`` of an array; in generated modules a word may take two elements."""
    array[i] = word


@inner
def less_word(a, b):
    """Return whether word ``a`` is smaller, hence better, than word ``b``."""
    return a < b


@inner
def same_keys(a, b):
    """Return whether the words ``a`` and ``b`` have equal keys."""
    return (a >> np.uint64(32)) == (b >> np.uint64(32))


@inner
def parent_of(word):
    """Return the parent in ``word``, its lower 32 bits."""
    return np.uint32(word & np.uint64(0xFFFFFFFF))


@inner
def first_key(word):
    """Return the first key in ``word``."""
    return np.uint32(word >> np.uint64(32))


@inner
def arc_weight(weights, i):
    """Return the weight of arc ``i`` of a list, ``weights[i]``; 1 in modules for unweighted graphs."""
    return weights[i]


@inner
def edge(u, v, w, *args):
    """Return the word that ``u`` offers ``v`` along an edge of weight ``w``."""
    return np.uint64(u)


@inner
def commit(v, *args):
    """Return the word with which ``v`` restarts."""
    return identity_word
