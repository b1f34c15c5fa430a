"""A plain Numba loop that samples trees as ``log.sample`` does, over contiguous rows: an oracle and a yardstick."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from suricate.base.mixing import mixed

GOLDEN, FIRST, SECOND = (
    np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)  # fmt: skip
HALF, LOW = np.uint64(32), np.uint64(2**32 - 1)


@njit(nogil=True)
def step(x):
    """A step of SplitMix64."""
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


@njit(nogil=True)
def entry(table, v):
    """Where vertex ``v`` is in a table of (vertex, place), or goes."""
    at = (v * 0x9E3779B1 >> 7) & (len(table) - 1)
    while table[at, 0] >= 0 and table[at, 0] != v:
        at = (at + 1) & (len(table) - 1)
    return at


@njit(nogil=True)
def sample(begin, end, other, number, times, roots, keys, cuts, fan, recent):
    """Sample hop by hop, tree by tree, each vertex and each event after the other; ``number`` counts from 0."""
    most, total, widest = len(roots), len(roots), 1
    tree = 1
    for k in fan:
        most *= k
        widest *= k
        total += most
        tree += widest
    node, batch, starts = (
        np.empty(total, np.uint32),
        np.empty(total, np.int64),
        np.empty((len(fan) + 1, len(roots) + 1), np.int64),
    )
    row, col = np.empty(total, np.int64), np.empty(total, np.int64)
    event, when = np.empty(total, np.int64), np.empty(total, np.int64)
    chosen = np.empty(fan.max(), np.int64)
    size = 1
    while size < 2 * tree:
        size *= 2
    table = np.empty((size, 2), np.int64)
    for b in range(len(roots)):
        node[b], batch[b], starts[0, b] = roots[b], b, b
    nodes, edges = len(roots), 0
    starts[0, len(roots)] = nodes
    for hop in range(len(fan)):
        for b in range(len(roots)):
            table[:, 0] = -1
            for level in range(hop + 1):
                for i in range(starts[level, b], starts[level, b + 1]):
                    at = entry(table, np.int64(node[i]))
                    table[at, 0], table[at, 1] = node[i], i
            starts[hop + 1, b] = nodes
            for i in range(starts[hop, b], starts[hop, b + 1]):
                v = node[i]
                low, high = begin[v], end[v]
                while low < high:
                    middle = (low + high) // 2
                    if number[middle] < cuts[b]:
                        low = middle + 1
                    else:
                        high = middle
                n = low - begin[v]
                k = min(fan[hop], n)
                if recent or k == n:
                    for j in range(k):
                        chosen[j] = k - 1 - j
                else:
                    bits = step(keys[b] ^ (np.uint64(hop) << HALF | np.uint64(v)))
                    for j in range(k):
                        drawn, below = step(bits + np.uint64(j) * GOLDEN), np.uint64(n - k + j + 1)
                        age = np.int64(((drawn >> HALF) * below + ((drawn & LOW) * below >> HALF)) >> HALF)
                        for before in chosen[:j]:
                            if before == age:
                                age = n - k + j
                                break
                        at = j
                        while at > 0 and chosen[at - 1] < age:
                            chosen[at] = chosen[at - 1]
                            at -= 1
                        chosen[at] = age
                for j in range(k):
                    slot = low - 1 - chosen[j]
                    u = other[slot]
                    at = entry(table, np.int64(u))
                    if table[at, 0] < 0:
                        table[at, 0], table[at, 1] = u, nodes
                        node[nodes], batch[nodes] = u, b
                        nodes += 1
                    row[edges], col[edges] = table[at, 1], i
                    event[edges], when[edges] = number[slot], times[number[slot]]
                    edges += 1
        starts[hop + 1, len(roots)] = nodes
    return node[:nodes], row[:edges], col[:edges], event[:edges], when[:edges], batch[:nodes]


def rows_of(src: np.ndarray, dst: np.ndarray, num_vertices: int) -> tuple[np.ndarray, ...]:
    """Return the rows of events by destination: begin, end, sources and numbers."""
    order, degree = np.argsort(dst, kind="stable"), np.bincount(dst, minlength=num_vertices)
    end = np.cumsum(degree)
    return end - degree, end, src[order].astype(np.uint32), order.astype(np.uint32)


def sampled(
    rows: Any, times: np.ndarray, roots: np.ndarray, at: np.ndarray, fan: list[int], take: str
) -> tuple[np.ndarray, ...]:
    """Sample as ``log.sample(roots, fan, at=at, take=take)``: return node, row, col, event, time and batch."""
    cuts = np.searchsorted(times, at).astype(np.uint32)
    keys = mixed(0, roots, at).view(np.uint64)
    found: tuple[np.ndarray, ...] = sample(*rows, times, roots, keys, cuts, np.array(fan), take == "recent")
    return found
