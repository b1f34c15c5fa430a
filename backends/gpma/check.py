"""The invariants of ``gpma``, verified on the CPU. A leaf is 32 slots, a guard the entry behind a vertex's edges."""

from __future__ import annotations

import numpy as np

from suricate.backends.gpma.layout import EDGES, GUARD, HIGH, LEAF, LOW, Graph
from suricate.backends.gpma.ledger import holds
from suricate.backends.gpma.pool import GpmaPool
from suricate.base.types import EMPTY
from suricate.errors import require


def check(pool: GpmaPool, num_vertices: int, bound: int) -> None:
    """Verify the arrays ``pool`` of a store with ``num_vertices`` vertices; raises ``CheckFailed``.

    ``bound`` is the host's upper bound of the number of entries.
    """
    g = Graph._make([*(pool.device.to_numpy(part) for part in pool.graph[:-1]), pool.leaves])
    check_lengths(pool, g, num_vertices)
    dst = g.dst[: LEAF * g.leaves]
    at = np.flatnonzero(dst != EMPTY)  # the slots of all entries
    is_guard = dst[at] == GUARD
    low, high = pool.low, pool.high
    require(list(g.counters[[LOW, HIGH]]) == [low, high], "the device knows which vertices have guards")
    require(int(is_guard.sum()) == high - low, "there is one guard per vertex")
    require(low == high or g.guard[low] == -1, "the row of the first vertex begins at slot 0")
    require(np.array_equal(g.guard[low + 1 : high + 1], at[is_guard]), "guard knows the slots of the guards")
    pool.check_rows(num_vertices)
    require(not len(at) or bool(is_guard[-1]), "no entry comes after the last guard")
    owner = low + np.cumsum(is_guard) - is_guard
    check_edges(g, dst[at], is_guard, owner, num_vertices)
    check_leaves(g, dst, at, is_guard, owner)
    entries = len(at)
    require(entries <= bound, "the host's bound is not below the number of entries")
    require(holds(g.leaves, entries), "the array is not too full")
    check_fresh(g, at[~is_guard])


def check_lengths(pool: GpmaPool, g: Graph, num_vertices: int) -> None:
    """Verify the lengths of the arrays ``g`` of ``pool``, whose store has ``num_vertices`` vertices."""
    require(len(g.guard) == num_vertices + 1, "guard has one entry per vertex and one more")
    require(len(g.degree) == num_vertices, "there is one degree per vertex")
    require(1 <= g.leaves <= pool.capacity, "the arrays hold all leaves")
    require(
        all(len(part) == pool.capacity for part in (g.owner, g.guards, g.head, g.count)), "of each leaf all is kept"
    )
    require(len(g.dst) == LEAF * pool.capacity, "every leaf has its slots")
    require(len(g.weight) == (0 if pool.weight_dtype is None else len(g.dst)), "every slot has its weight, if any")
    marks = pool.capacity if pool.marked else 0
    require(len(g.fresh) == len(g.touched) == marks, "with a mark every leaf has its fresh edges")


def check_edges(g: Graph, dst: np.ndarray, is_guard: np.ndarray, owner: np.ndarray, num_vertices: int) -> None:
    """Verify the order of the entries, the degrees, and the counter of edges.

    ``dst``, ``is_guard`` and ``owner`` are, in order, the destination of each entry, whether it is a guard, and its
    source.
    """
    edges = dst[~is_guard]
    require(not len(edges) or int(edges.max()) < num_vertices, "every destination is below num_vertices")
    keys = (owner.astype(np.uint64) << np.uint64(32)) | dst
    require(bool(np.all(keys[1:] > keys[:-1])), "entries ascend by source and destination, without repeats")
    require(int(g.counters[EDGES]) == len(edges), "the counter of edges is exact")
    degrees = np.bincount(owner[~is_guard], minlength=num_vertices)
    require(np.array_equal(g.degree, degrees), "degrees are exact")


def check_leaves(g: Graph, dst: np.ndarray, at: np.ndarray, is_guard: np.ndarray, owner: np.ndarray) -> None:
    """Verify the arrays per leaf: counts, heads, guards and owners.

    ``dst`` are all slots; ``at``, ``is_guard`` and ``owner`` are, in order, the slot of each entry, whether it is a
    guard, and its source.
    """
    leaves, leaf = g.leaves, at // LEAF
    counts = np.bincount(leaf, minlength=leaves)
    require(np.array_equal(g.count[:leaves], counts), "the counts of the leaves are exact")
    masks = np.zeros(leaves, np.uint32)
    np.bitwise_or.at(masks, leaf[is_guard], np.uint32(1) << (at[is_guard] % LEAF).astype(np.uint32))
    require(np.array_equal(g.guards[:leaves], masks), "the leaves know their guards")
    before = g.counters[LOW] + np.concatenate([[0], np.cumsum(np.bincount(leaf[is_guard], minlength=leaves))])[:-1]
    require(np.array_equal(g.owner[:leaves], before), "the leaves know the source of their first entry")
    check_heads(g, dst, at, owner)


def check_heads(g: Graph, dst: np.ndarray, at: np.ndarray, owner: np.ndarray) -> None:
    """Verify that the heads of the leaves divide the rows: a search for a destination ends in the right leaf.

    ``dst`` are all slots; ``at`` and ``owner`` are, in order, the slot and the source of each entry.
    """
    leaf, leaves = at // LEAF, np.arange(g.leaves)
    inside = owner == g.owner[leaf]
    require(bool(np.all(dst[at][inside] >= g.head[leaf][inside])), "no entry is below the head of its leaf")
    before = np.searchsorted(at, leaves * LEAF) - 1  # the last entry before each leaf
    goes_on = before >= 0
    goes_on[goes_on] = owner[before[goes_on]] == g.owner[leaves[goes_on]]
    earlier = dst[at[before[goes_on]]]
    require(bool(np.all(earlier < g.head[leaves[goes_on]])), "no entry is beyond the head of the next leaf")
    begin = (np.append(g.guard, g.guard[-1])[g.owner[: g.leaves]] + 1) // LEAF  # where the row of the leaf begins
    both = (leaves > begin)[:-1] & (g.owner[: g.leaves - 1] == g.owner[1 : g.leaves])
    require(bool(np.all((g.head[: g.leaves - 1] <= g.head[1 : g.leaves])[both])), "the heads of a row ascend")


def check_fresh(g: Graph, edges: np.ndarray) -> None:
    """Verify that only slots in ``edges``, those of all edges, are recorded as inserted since the mark."""
    if not len(g.fresh):
        return
    bits = (g.fresh[: g.leaves, None] >> np.arange(LEAF, dtype=np.uint32)) & np.uint32(1)
    marked = np.flatnonzero(bits.ravel())
    require(bool(np.isin(marked, edges).all()), "only edges are fresh")
