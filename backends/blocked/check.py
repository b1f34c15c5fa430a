"""The invariants of ``blocked``, verified on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.backends.blocked.layout import COUNTERS, EDGES, FREE, USED, Graph
from suricate.backends.blocked.pool import BlockedPool
from suricate.errors import require
from suricate.types import EMPTY


def check(pool: BlockedPool, num_vertices: int) -> None:
    """Verify the arrays of a store; raises ``CheckFailed``."""
    arrays: dict[str, Any] = pool.graph._asdict()
    arrays = {name: part if name == "shift" else pool.device.to_numpy(part) for name, part in arrays.items()}
    g = Graph(**arrays)
    require(len(g.head) == len(g.degree) == num_vertices, "there is one entry per vertex")
    require(len(g.link) == len(g.back) == len(g.owner) == len(g.free), "there is one entry per block")
    require(len(g.dst) == len(g.link) << g.shift, "every block has 2^shift slots")
    slots = 0 if pool.weight_dtype is None else len(g.dst)
    require(len(g.weight) == slots, "every slot of a weighted store has a weight")
    require(len(g.counters) == COUNTERS, "there are as many counters as the layout has")
    used, free = int(g.counters[USED]), int(g.counters[FREE])
    require(0 <= free <= used <= len(g.link), "the pool holds all blocks")
    require(int(g.counters[EDGES]) == int(g.degree.sum(dtype=np.int64)), "the counter of edges is exact")
    require(bool(np.all((g.head != EMPTY) == (g.degree > 0))), "a vertex owns blocks if and only if it has edges")
    position = check_chains(g, used)
    check_free(g, used, position)
    check_edges(g, used, position, num_vertices)


def check_chains(g: Graph, used: int) -> np.ndarray:
    """Verify the chains; return per block its number in its chain, -1 if it is in none."""
    position, number = np.full(used, -1, np.int64), 0
    owner = np.flatnonzero(g.head != EMPTY)
    block, before = g.head[owner].astype(np.int64), np.zeros(0, np.int64)
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


def check_free(g: Graph, used: int, position: np.ndarray) -> None:
    """Verify that every carved block is in a chain or free."""
    stack = g.free[: int(g.counters[FREE])]
    require(np.array_equal(np.sort(stack), np.flatnonzero(position < 0)), "every carved block is in a chain or free")
    require(bool(np.all(g.owner[stack] == EMPTY)), "a free block has no owner")


def check_edges(g: Graph, used: int, position: np.ndarray, num_vertices: int) -> None:
    """Verify which slots hold edges, and the ids in them."""
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
