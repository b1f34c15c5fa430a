"""Constants of the layout, and the host's arithmetic on it: size classes, counters, how much a batch may carve."""

from __future__ import annotations

import numpy as np

MIN_CLASS = 2  #: the smallest block holds 4 edges: 16 bytes of destinations
MAX_CLASS = 32
CLASSES = MAX_CLASS + 1  #: a block of class k has 2^k slots
NONE = 255  #: class of a vertex without edges: it owns no block
GRAIN = 1 << MIN_CLASS  #: blocks begin at multiples of this; free stacks hold begin / GRAIN as uint32
MAX_SLOTS = GRAIN << 32  #: slots that such an entry can address

# The counters: one int64 array, the same on both devices.
USED = 0  #: slots of the pool carved into blocks so far
EDGES = 1  #: edges stored
BLOCKS = 2  #: blocks of each class, free ones included
FREE = BLOCKS + CLASSES  #: free blocks of each class: height of its stack
GROW = FREE + CLASSES  #: pressure to migrate up, by ratio (see ``pressure``); kept on CUDA only
RATIOS = 40
SHRINK = GROW + RATIOS  #: pressure to migrate down
COUNTERS = SHRINK + RATIOS


def class_of(degree: int) -> int:
    """Return the smallest class whose blocks hold ``degree`` (at least 1) edges."""
    return max(MIN_CLASS, (degree - 1).bit_length())


def pressure(degree: np.ndarray, klass: np.ndarray, which: int) -> np.ndarray:
    """Return the counters ``GROW`` or ``SHRINK`` (int64[RATIOS]) of vertices with these degrees and classes.

    A vertex that overflows its block of 2^k slots carves one of 2^(k + 1), and needs ``2^k - degree + 1`` insertions
    for it; one that shrinks carves 2^(k - 1), after ``degree - 2^(k - 2)`` deletions. Entry r sums the slots that could
    be carved by vertices for which floor(slots / edges) has r + 1 bits.
    """
    owns = klass != NONE if which == GROW else (klass != NONE) & (klass > MIN_CLASS)
    k, d = klass[owns].astype(np.int64), degree[owns].astype(np.int64)
    if which == GROW:
        slots, cost = np.int64(2) << k, (np.int64(1) << k) - d + 1
    else:
        slots, cost = np.int64(1) << (k - 1), np.maximum(1, d - (np.int64(1) << (k - 2)))
    ratio = np.maximum(1, slots // cost)
    bits = np.frexp(ratio.astype(np.float64))[1] - 1
    result = np.zeros(RATIOS, np.int64)
    np.add.at(result, bits, slots)
    return result


def most_carved(pressures: np.ndarray, edges: int) -> int:
    """Return how many slots the first migrations of ``edges`` updates can carve: the dearest first, per edge."""
    total = 0
    for ratio in range(RATIOS - 1, -1, -1):
        slots = int(pressures[ratio])
        total += min(slots, edges << (ratio + 1))
        edges -= slots >> (ratio + 1)
        if edges <= 0:
            break
    return total


def carve_bound(counters: np.ndarray, unseen: np.ndarray, inserted: int, deleted: int, num_vertices: int) -> int:
    """Return an upper bound of the slots carved by the unseen updates and a batch, from counters seen before them."""
    inserts, deletes = int(unseen[0]) + inserted, int(unseen[1]) + deleted
    bound = most_carved(counters[GROW:SHRINK], inserts) + most_carved(counters[SHRINK:COUNTERS], deletes)
    if unseen.any():  # a vertex may migrate again, after at least an eighth of its new block in updates
        return bound + 8 * (inserts + deletes) + GRAIN * min(inserts, num_vertices)
    return bound + 2 * inserts + GRAIN * min(inserts, num_vertices)  # one migration each: a block is at most twice full


def stack_bounds(counters: np.ndarray, unseen: np.ndarray, updates: int, num_vertices: int) -> np.ndarray:
    """Return per class an upper bound of the free blocks after the unseen updates and a batch (int64[CLASSES]).

    A block is carved only when none of its class is free, so there are never more blocks of a class than vertices; and
    every migration frees one block and takes an update.
    """
    blocks, free = counters[BLOCKS:FREE], counters[FREE:GROW]
    if not unseen.any():
        return free + np.minimum(blocks - free, updates)  # only blocks in use before the batch can become free
    updates += int(unseen.sum())
    return np.minimum(free + updates, np.minimum(blocks + updates, np.maximum(blocks, num_vertices)))
