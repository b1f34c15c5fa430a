"""The invariants of ``blocked``, verified on the CPU. A *mirror* is a copy of a store's arrays on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.backends.blocked.layout import BLOCKS, COUNTERS, EDGES, FREE, LOWEST, STORE, USED, VERTICES, Graph
from suricate.backends.blocked.pool import BlockedPool
from suricate.base.types import EMPTY
from suricate.errors import require

if TYPE_CHECKING:
    from suricate.backends.blocked.host_copy import HostCopy


def check(pool: BlockedPool, num_vertices: int) -> None:
    """Verify the arrays ``pool`` of a store with ``num_vertices`` vertices; raises ``CheckFailed``."""
    g = on_host(pool)
    require(len(g.head) == len(g.degree) == len(g.run) == num_vertices, "there is one entry per vertex")
    require(len(g.link) == len(g.back) == len(g.owner) == len(g.free), "there is one entry per block")
    require(len(g.dst) == len(g.link) << g.shift, "every block has 2^shift slots")
    slots = 0 if pool.weight_dtype is None else len(g.dst)
    require(len(g.weight) == slots, "every slot of a weighted store has a weight")
    require(len(g.counters) == COUNTERS, "there are as many counters as the layout has")
    pool.check_rows(num_vertices)
    used, free = int(g.counters[USED]), int(g.counters[FREE])
    require(0 <= free <= used <= len(g.link), "the pool holds all blocks")
    require(int(g.counters[EDGES]) == int(g.degree.sum(dtype=np.int64)), "the counter of edges is exact")
    require(bool(np.all((g.head > 0) == (g.degree > 0))), "a vertex owns blocks if and only if it has edges")
    position = check_chains(g, used)
    check_runs(g, position)
    check_free(g, position)
    check_edges(g, used, position, num_vertices)


def on_host(pool: BlockedPool) -> Graph:
    """Return the arrays of ``pool``, copied to the host if they are on a device."""
    return Graph._make(part if isinstance(part, int) else pool.device.to_numpy(part) for part in pool.graph)


def check_marks(pool: BlockedPool) -> None:
    """Verify the flags of changed blocks and vertices in a pool with a mirror; on the CPU also the lists of these."""
    g = on_host(pool)
    require(len(g.block_mark) == len(g.link) and len(g.vertex_mark) == len(g.head), "blocks and vertices have marks")
    require(0 <= int(g.counters[LOWEST]) <= int(g.counters[FREE]), "the lowest height of the stack is not above it")
    if pool.device.is_cuda:
        return
    for mark, listed, count in ((g.block_mark, g.block_list, BLOCKS), (g.vertex_mark, g.vertex_list, VERTICES)):
        entries = np.sort(listed[: int(g.counters[count])])
        require(np.array_equal(entries, np.flatnonzero(mark)), "what is marked is listed, once")


def check_copy(copy: HostCopy) -> None:
    """Verify that mirror and store, the two pools of ``copy``, differ only in blocks and vertices that are flagged."""
    for pool in (copy.host, copy.pool):
        check_marks(pool)
    require(copy.host.blocks <= copy.pool.blocks, "what fits the host fits the device")
    ahead, other = (copy.pool, copy.host) if copy.ahead == STORE else (copy.host, copy.pool)
    g, h = on_host(ahead), on_host(other)
    require(not h.block_mark.any() and not h.vertex_mark.any(), "only the side that is ahead has marks")
    used, lowest = int(h.counters[USED]), int(g.counters[LOWEST])
    same = ~g.block_mark[:used].astype(bool)
    slots = np.repeat(same, 1 << g.shift)
    for name, kept in (("link", same), ("back", same), ("owner", same), ("dst", slots), ("weight", slots)):
        a, b = (np.asarray(getattr(side, name)[: len(kept)]) for side in (g, h))
        require(np.array_equal(a[kept[: len(a)]], b[kept[: len(b)]]), "blocks that differ are marked")
    kept = ~g.vertex_mark.astype(bool)
    for name in ("head", "degree", "run"):
        require(np.array_equal(getattr(g, name)[kept], getattr(h, name)[kept]), "vertices that differ are marked")
    require(np.array_equal(g.free[:lowest], h.free[:lowest]), "free blocks below the lowest height are the same")


def check_equal(copy: HostCopy) -> None:
    """Verify that mirror and store, the two pools of ``copy``, are equal, after one has copied the other's changes."""
    g, h = on_host(copy.host), on_host(copy.pool)
    used, counters = int(g.counters[USED]), [USED, EDGES, FREE, LOWEST]
    require(np.array_equal(g.counters[counters], h.counters[counters]), "both sides have the same counters")
    lengths = {
        "head": len(g.head), "degree": len(g.head), "run": len(g.head), "link": used, "back": used, "owner": used,
        "free": int(g.counters[FREE]), "dst": used << g.shift, "weight": used << g.shift,
    }  # fmt: skip
    for name, length in lengths.items():
        same = np.array_equal(getattr(g, name)[:length], getattr(h, name)[:length])
        require(same, f"{name} is the same on the host and on the device")
    require(not g.block_mark.any() and not h.block_mark.any(), "nothing is marked when both sides are the same")


def check_chains(g: Graph, used: int) -> np.ndarray:
    """Verify the chains of blocks in ``g``; return the position of each block in its chain, -1 for a free block.

    The result is ``int64[used]``; ``used`` is the number of blocks that have been carved from the pool, free ones
    included.
    """
    position, number = np.full(used, -1, np.int64), 0
    owner = np.flatnonzero(g.head)
    block, before = (~g.head[owner]).astype(np.int64), np.zeros(0, np.int64)
    degree, first = g.degree[owner].astype(np.int64), block
    while len(block):
        require(bool(np.all(block < used)), "every block of a chain is carved")
        require(bool(np.all(position[block] < 0)), "every block is in one chain, once")
        position[block] = number
        require(bool(np.all(position[block] == number)) and len(np.unique(block)) == len(block),
                "every block is in one chain, once")  # fmt: skip
        require(np.array_equal(g.owner[block], owner.astype(np.uint32)), "every block of a chain knows its vertex")
        require(not number or np.array_equal(g.back[block], before), "every block knows the one before it")
        number += 1
        goes_on = (number << g.shift) < degree
        link = g.link[block]
        require(bool(np.all((link != EMPTY) == goes_on)), "a chain has as many blocks as its edges fill")
        require(np.array_equal(g.back[first[~goes_on]], block[~goes_on]), "the first block knows the last")
        owner, degree, first = owner[goes_on], degree[goes_on], first[goes_on]
        before, block = block[goes_on], link[goes_on].astype(np.int64)
    return position


def check_runs(g: Graph, position: np.ndarray) -> None:
    """Verify ``g.run``: the number of blocks at the start of each chain that are consecutive in memory.

    ``position`` is the result of :func:`check_chains`.
    """
    chained = np.flatnonzero(position >= 0)
    owner = g.owner[chained]
    inside = position[chained] < g.run[owner]
    require(
        np.array_equal(chained[inside], ~g.head[owner[inside]] + position[chained][inside]),
        "the first blocks of a chain follow each other, as many as its vertex says",
    )
    blocks = (g.degree.astype(np.int64) + ((1 << g.shift) - 1)) >> g.shift
    require(bool(np.all((g.run <= blocks) & ((g.run > 0) == (blocks > 0)))), "a run is a part of its chain")


def check_free(g: Graph, position: np.ndarray) -> None:
    """Verify that every carved block is in a chain or free; ``position`` is the result of :func:`check_chains`."""
    stack = g.free[: int(g.counters[FREE])]
    require(np.array_equal(np.sort(stack), np.flatnonzero(position < 0)), "every carved block is in a chain or free")
    require(bool(np.all(g.owner[stack] == EMPTY)), "a free block has no owner")


def check_edges(g: Graph, used: int, position: np.ndarray, num_vertices: int) -> None:
    """Verify that the edges of a chain fill its first slots, that ids are valid, and that no edge is stored twice.

    ``used`` is the number of carved blocks, ``position`` the result of :func:`check_chains`.
    """
    width = 1 << g.shift
    owner = g.owner[:used].astype(np.int64)
    left = np.zeros(used, np.int64)
    chained = position >= 0
    left[chained] = g.degree[owner[chained]] - (position[chained] << g.shift)
    holds = np.arange(width) < left[:, None]
    ids = g.dst[: used << g.shift].reshape(used, width)
    require(bool(np.all(ids[~holds] == EMPTY)), "a slot without an edge is empty")
    stored = ids[holds]
    require(not len(stored) or int(stored.max()) < num_vertices, "every destination is below num_vertices")
    keys = np.sort((np.repeat(owner, holds.sum(axis=1)).astype(np.uint64) << np.uint64(32)) | stored)
    require(bool(np.all(keys[1:] != keys[:-1])), "every edge is stored once")
