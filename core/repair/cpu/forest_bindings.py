"""The names that the template ``forest`` takes from its surroundings.

With this module it runs over contiguous views and words of 64 bits, whose lower half is the parent. For any other
combination ``suricate.repair.cpu.repairs`` puts the cursor and the functions of words and of the call in its place.
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
    """Return word ``i`` of an array; replaced where a word takes two elements."""
    return array[i]


@inner
def load_whole(array, i):
    """Return word ``i`` of an array as it was at one moment, though other threads may replace it."""
    return array[i]


@inner
def store_word(array, i, word):
    """Write ``word`` to place ``i`` of an array; replaced where a word takes two elements."""
    array[i] = word


@inner
def less_word(a, b):
    """Return whether ``a`` is the better word."""
    return a < b


@inner
def same_keys(a, b):
    """Return whether the words ``a`` and ``b`` have equal keys."""
    return (a >> np.uint64(32)) == (b >> np.uint64(32))


@inner
def parent_of(word):
    """Return the parent that a word holds, in its lower 32 bits."""
    return np.uint32(word & np.uint64(0xFFFFFFFF))


@inner
def first_key(word):
    """Return the first key in a word."""
    return np.uint32(word >> np.uint64(32))


@inner
def arc_weight(weights, i):
    """Return the weight of arc ``i`` of a list: ``weights[i]``, or 1 where edges have no weights."""
    return weights[i]


@inner
def edge(u, v, w, *args):
    """Return the word that ``u`` offers ``v``; replaced by the user's function."""
    return np.uint64(u)


@inner
def commit(v, *args):
    """Return the word that ``v`` starts with when its own became invalid; replaced by the user's function."""
    return identity_word
