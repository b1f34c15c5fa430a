"""The arithmetic of ``hornet_like``: size classes, and how many slots and free blocks a batch may lead to.

A block of class k has 2^k slots, which were *carved* from the pool. A vertex *migrates* when it moves to a block of
another class; its *pressure* says how soon it may. ``counters`` are those of the store as the host knows them
(``int64[COUNTERS]``); no other arrays are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.backends.hornet_like import layout
from suricate.backends.hornet_like.layout import BLOCKS, CLASSES, FREE, GRAIN, GROW, MIN_CLASS, NONE, SHRINK, USED


class Demand(NamedTuple):
    """What must be allocated: slots of the pool, and per class places on its stack of free blocks (int64[CLASSES])."""

    slots: int
    blocks: np.ndarray


def pressure(degree: np.ndarray, klass: np.ndarray, which: int) -> np.ndarray:
    """Return the counters ``which`` (``GROW`` or ``SHRINK``), int64[RATIOS], for vertices of these degrees and classes.

    A vertex with a block of 2^k slots takes a new one of 2^(k+1) after ``2^k - degree + 1`` insertions, or of 2^(k-1)
    after ``degree - 2^(k-2)`` deletions. Entry r sums the new slots of the vertices that take from 2^r to below 2^(r+1)
    new slots per update.
    """
    owns = klass != NONE if which == GROW else klass > MIN_CLASS
    k, d = klass[owns].astype(np.int64), degree[owns].astype(np.int64)
    if which == GROW:
        slots, cost = np.int64(2) << k, (np.int64(1) << k) - d + 1
    else:
        slots, cost = np.int64(1) << (k - 1), np.maximum(1, d - (np.int64(1) << (k - 2)))
    ratio = np.maximum(1, slots // cost)
    bits = np.frexp(ratio.astype(np.float64))[1] - 1
    result = np.zeros(layout.RATIOS, np.int64)
    np.add.at(result, bits, slots)
    return result


def most_carved(pressures: np.ndarray, edges: int) -> int:
    """Return the most slots that ``edges`` updates can carve by migrations; see :func:`pressure` for ``pressures``."""
    total, bits, slots_of = 0, len(pressures), pressures.tolist()
    while bits and edges > 0:
        slots = slots_of[bits - 1]
        if slots:
            total += min(slots, edges << bits)
            edges -= slots >> bits
        bits -= 1
    return total


def carve_bound(counters: np.ndarray, unseen: np.ndarray, inserted: int, deleted: int, num_vertices: int) -> int:
    """Return an upper bound of the slots carved by updates that ``counters`` do not include yet, and by a batch.

    Those updates are ``unseen`` (insertions and deletions, int64[2]); the batch has ``inserted`` and ``deleted`` edges.
    The graph has ``num_vertices`` vertices.
    """
    inserts, deletes = int(unseen[0]) + inserted, int(unseen[1]) + deleted
    bound = most_carved(counters[GROW:SHRINK], inserts) + most_carved(counters[SHRINK : layout.COUNTERS], deletes)
    if unseen.any():  # a vertex may migrate again, after at least an eighth of its new block in updates
        return bound + 8 * (inserts + deletes) + GRAIN * min(inserts, num_vertices)
    return bound + 2 * inserts + GRAIN * min(inserts, num_vertices)  # one migration each: a block is at most twice full


def stack_bounds(counters: np.ndarray, unseen: np.ndarray, updates: int, num_vertices: int) -> np.ndarray:
    """Return, per class, an upper bound of the free blocks after the unseen updates and a batch (int64[CLASSES]).

    ``counters`` do not include the ``unseen`` updates (insertions and deletions, int64[2]); the batch has ``updates``
    edges. A new block is carved only if none of its class is free, so a class never has more blocks than there are
    vertices; and every migration frees one block and takes an update.
    """
    blocks, free = counters[BLOCKS:FREE], counters[FREE:GROW]
    if not unseen.any():
        return free + np.minimum(blocks - free, updates)  # only blocks in use before the batch can become free
    updates += int(unseen.sum())
    return np.minimum(free + updates, np.minimum(blocks + updates, np.maximum(blocks, num_vertices)))


def worst_demand(counters: np.ndarray, unseen: np.ndarray, inserted: int, deleted: int, num_vertices: int) -> Demand:
    """Return what must be allocated for any batch of ``inserted`` and ``deleted`` edges.

    ``counters`` do not include the ``unseen`` updates (insertions and deletions, int64[2]).
    """
    carved = carve_bound(counters, unseen, inserted, deleted, num_vertices)
    return Demand(int(counters[USED]) + carved, stack_bounds(counters, unseen, inserted + deleted, num_vertices))


def exact_demand(counters: np.ndarray, need: np.ndarray, updates: int, num_vertices: int) -> Demand:
    """Return what must be allocated for a batch of ``updates`` edges that takes ``need[k]`` blocks of each class k.

    ``counters`` must be exact.
    """
    carved = np.maximum(0, need - counters[FREE:GROW])
    slots = int(counters[USED] + (carved << np.arange(CLASSES)).sum())
    return Demand(slots, stack_bounds(counters, np.zeros(2, np.int64), updates, num_vertices))


def reserve_demand(counters: np.ndarray, num_edges: int, num_vertices: int) -> Demand:
    """Return what must be allocated for any ``num_edges`` insertions, in one batch or many; ``counters`` are exact."""
    slots = int(counters[USED]) + most_carved(counters[GROW:SHRINK], num_edges) + (2 + GRAIN) * num_edges
    edges = int(counters[layout.EDGES]) + num_edges
    most = [min(num_edges, num_vertices, edges >> max(0, k - MIN_CLASS)) for k in range(CLASSES)]
    return Demand(slots, counters[BLOCKS:FREE] + np.array(most, np.int64))


def scan_parts(edges: int) -> int:
    """Return an upper bound of the parts into which long adjacencies are cut in a graph of ``edges`` edges.

    An adjacency of d edges has at most 2 d / LONG_DEGREE parts.
    """
    return 2 * (edges // layout.CONSTANTS["LONG_DEGREE"])


def move_chunks(edges: int) -> int:
    """Return the most chunks into which the moved edges of an update are divided, in a graph of ``edges`` edges."""
    return -(-edges // layout.MOVE_CHUNK)


def move_parts(edges: int) -> int:
    """Return the most parts into which the moves of long adjacencies are divided, in a graph of ``edges`` edges."""
    return 2 * (edges // layout.CONSTANTS["LONG_MOVE"])
