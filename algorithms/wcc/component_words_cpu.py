"""Words of the forest of components on the CPU: what needs no graph; ``component_labels.cu`` is the CUDA twin.

``at`` is a ``component_words.Layout``.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.wcc.component_words import MIX
from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel


@inner
def length(v, at):
    """Return how far ``v`` is from whatever supports it: a number from 1 on that depends on ``v`` alone."""
    return 1 + (((np.int64(v) * MIX) >> 16) & at.length_mask)


@inner
def root_word(v, rank, at):
    """Return the word of ``v`` as a root of class ``rank``."""
    mixed = (np.int64(v) * MIX) & ((1 << at.root_bits) - 1)
    mixed ^= mixed >> (at.root_bits >> 1)
    return ((np.int64(rank) << at.root_bits) | mixed) << at.root_shift


@inner
def root_of(word, at):
    """Return the root that a word names: the scrambling of its id undone."""
    mask, half = (1 << at.root_bits) - 1, at.root_bits >> 1
    mixed = (word >> at.root_shift) & mask
    return ((mixed ^ (mixed >> half) ^ (mixed >> (2 * half))) * at.unmix) & mask


@kernel
def make_roots(word, parent, start, at):
    """Make the vertices from ``start`` on, which are new and have no edges yet, roots of the worst class."""
    for v in range(start, len(word)):
        word[v], parent[v] = root_word(v, at.last_rank, at), EMPTY


@kernel
def write_labels(word, smallest, label, at):
    """Write the smallest member of each vertex's component; return the number of components."""
    roots = 0
    for v in range(len(word)):
        smallest[v] = EMPTY
        roots += (word[v] & ((1 << at.root_shift) - 1)) == 0
    for v in range(len(word)):
        root = root_of(word[v], at)
        if smallest[root] == EMPTY:
            smallest[root] = v
        label[v] = smallest[root]
    return roots
