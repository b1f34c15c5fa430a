"""The invariants of ``hornet_like``, verified on the CPU. *Carved* slots are those that blocks have been made of."""

from __future__ import annotations

import numpy as np

from suricate.backends.hornet_like import layout
from suricate.backends.hornet_like.layout import BLOCKS, CLASSES, EDGES, FREE, GROW, MIN_CLASS, SHRINK, USED, Graph
from suricate.backends.hornet_like.ledger import carve_bound, pressure
from suricate.backends.hornet_like.pool import HornetPool
from suricate.errors import require
from suricate.primitives.counters import Counters


def check(pool: HornetPool, num_vertices: int, known: Counters, *, ascending: bool) -> None:
    """Verify the arrays ``pool`` of a store with ``num_vertices`` vertices; raises ``CheckFailed``.

    ``known``: the counters that the host has read last; on CUDA the bound of used slots that follows from them must
    hold. ``ascending``: rows must be ordered.
    """
    g = Graph(*(pool.device.to_numpy(part) for part in pool.graph))
    degree, counters = g.end - g.begin, g.counters
    require(len(g.begin) == len(g.end) == len(g.klass) == num_vertices, "there is one index entry per vertex")
    require(g.begin.dtype == g.end.dtype == np.int64 and g.klass.dtype == np.uint8, "begin, end: int64, class: uint8")
    pool.check_rows(num_vertices)
    slots = 0 if pool.weight_dtype is None else len(g.dst)
    require(len(g.weight) == slots, "every slot of a weighted store has a weight")
    owns = g.klass != layout.NONE
    require(bool(np.all((degree > 0) == owns)), "a vertex owns a block if and only if it has edges")
    require(not g.begin[~owns].any(), "a vertex without edges begins at 0")
    k, d = g.klass[owns].astype(np.int64), degree[owns]
    require(bool(np.all((k >= MIN_CLASS) & (k < CLASSES))), "every class is one of the size classes")
    require(bool(np.all(d <= (np.int64(1) << k))), "every adjacency fits its block")
    well_filled = (k == MIN_CLASS) | (4 * d > (np.int64(1) << k))
    require(not pool.tight or bool(np.all(well_filled)), "no block is three quarters empty")
    check_blocks(g, g.begin[owns], k, pool.stack_limits)
    require(int(counters[EDGES]) == int(d.sum()), "the counter of edges is exact")
    check_edges(g, degree, num_vertices, ascending=ascending)
    require(np.array_equal(counters[GROW:SHRINK], pressure(degree, g.klass, GROW)), "the pressure to grow is exact")
    require(np.array_equal(counters[SHRINK:], pressure(degree, g.klass, SHRINK)), "the pressure to shrink is exact")
    if not pool.device.is_cuda:
        return
    bound = known.values[USED] + carve_bound(known.values, known.unseen, 0, 0, num_vertices)
    require(int(counters[USED]) <= bound, "the host's bound is not below the slots used")


def check_edges(g: Graph, degree: np.ndarray, num_vertices: int, *, ascending: bool) -> None:
    """Check the destinations: each below ``num_vertices``, once per source, and in order if ``ascending`` is set.

    ``degree`` has an entry per vertex of ``g``.
    """
    owner = np.repeat(np.arange(num_vertices), degree)
    ids = g.dst[np.arange(len(owner)) + (g.begin - (np.cumsum(degree) - degree))[owner]]
    require(not len(ids) or int(ids.max()) < num_vertices, "every destination is below num_vertices")
    listed = (owner.astype(np.uint64) << np.uint64(32)) | ids
    keys = np.sort(listed)
    require(bool(np.all(keys[1:] != keys[:-1])), "every edge is stored once")
    require(not ascending or np.array_equal(keys, listed), "every adjacency is ascending")


def check_blocks(g: Graph, begin: np.ndarray, klass: np.ndarray, stack_limits: np.ndarray) -> None:
    """Verify that the blocks in use and the free ones together cover the carved slots of ``g``, each slot once.

    ``begin`` and ``klass`` are the first slot and the class of each block in use; ``stack_limits`` is the host's copy
    of ``g.stack_begin``.
    """
    counters = g.counters
    require(np.array_equal(g.stack_begin, stack_limits), "host and device agree on the places of the stacks")
    free = counters[FREE:GROW]
    require(bool(np.all((free >= 0) & (free <= np.diff(stack_limits)))), "every free stack fits its space")
    entries = [g.stacks[at : at + size] for at, size in zip(stack_limits[:-1], free, strict=True)]
    starts = np.concatenate([begin, *(layout.GRAIN * part.astype(np.int64) for part in entries)])
    classes = np.concatenate([klass, np.repeat(np.arange(CLASSES), free)])
    counts = np.bincount(classes, minlength=CLASSES)
    require(np.array_equal(counts, counters[BLOCKS:FREE]), "the counters of blocks are exact")
    order = np.argsort(starts, kind="stable")
    starts, sizes = starts[order], np.int64(1) << classes[order]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    require(np.array_equal(starts, ends[:-1]), "every carved slot is in exactly one used or free block")
    require(int(ends[-1]) == int(counters[USED]), "the counter of carved slots is exact")
    require(int(counters[USED]) <= len(g.dst), "the pool holds all blocks")
