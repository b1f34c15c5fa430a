"""The arithmetic of ``blocked``: the capacity of blocks, and how many blocks a batch may take.

A vertex of degree d has ceil(d / capacity) blocks, whatever batches came before. So the blocks in use after any
insertions and deletions are at most those after the insertions alone.
"""

from __future__ import annotations

import numpy as np

SMALLEST, DEFAULT, LARGEST = 4, 8, 32  #: capacities that are chosen automatically; what is chosen without any hint
BULK = 1 << 16  #: edges of a bulk load, at least
HOST_BATCH = 1 << 8  #: edges of a host batch up to which the mirror is worth while, also where they are those of hubs
SAVING = 60e-6  #: seconds that a small batch takes less on the host than on the device
RATE = 8e9  #: bytes per second that the host takes over
WAIT = 50e-6  #: seconds of a wait for the device


def pays_off(waived: int, behind: int) -> bool:
    """Return whether the host should copy ``behind`` bytes from the device, so that it can apply small batches itself.

    ``waived`` is how many small batches the device has applied since it became the newer side. The host copies once
    these have cost as much as the copy, so both together cost at most twice as much as the better choice.
    """
    return not behind or waived * SAVING >= WAIT + behind / RATE


def capacity_for(mean_degree: float) -> int:
    """Return the number of edges per block for an expected degree: the nearest power of two, within limits.

    A block costs 16 bytes besides its slots, and on average half of the last block of each vertex is unused.
    """
    if not mean_degree > 0:
        return DEFAULT
    return 1 << round(float(np.log2(min(LARGEST, max(SMALLEST, mean_degree)))))


def expected_degree(hints: np.ndarray) -> float:
    """Return the mean of the expected degrees that are not zero; 0 if there are none."""
    positive = hints[hints > 0]
    return float(positive.mean()) if len(positive) else 0.0


def slack(degrees: np.ndarray, shift: int) -> np.ndarray:
    """Return ``int64[2^shift]``: entry s is the number of vertices with s unused slots in their last block.

    ``degrees`` has an entry per vertex; a vertex without edges has no unused slot.
    """
    capacity = 1 << shift
    filled = np.zeros(capacity, np.int64)
    for at in range(0, len(degrees), BULK):  # by parts: what counts them takes 12 bytes a vertex
        filled += np.bincount(degrees[at : at + BULK] & (capacity - 1), minlength=capacity)
    return np.roll(filled[::-1], 1)


def most_taken(unused: np.ndarray, num_edges: int) -> int:
    """Return the most blocks that ``num_edges`` insertions can take, given ``unused`` (see :func:`slack`).

    The first block of a vertex with s unused slots takes s + 1 insertions, every further one as many as it has slots.
    The worst case fills the vertices with the fewest unused slots first.
    """
    taken, left = 0, num_edges
    for cost, vertices in enumerate(unused.tolist(), start=1):
        first = min(vertices, left // cost)
        taken, left = taken + first, left - first * cost
        if first < vertices:
            return taken
    return taken + left // len(unused)


def is_bulk(num_edges: int, stored: int) -> bool:
    """Return whether a batch is a bulk load: at least ``BULK`` edges, and at least a quarter of those ``stored``.

    For a bulk load the host may wait for exact counters.
    """
    return num_edges >= BULK and 4 * num_edges >= stored


def take_bound(num_edges: int, num_vertices: int, shift: int) -> int:
    """Return the most blocks that ``num_edges`` insertions can take, whatever the degrees of the vertices.

    The graph has ``num_vertices`` vertices, a block 2^shift slots. At worst the last block of every vertex is full.
    """
    first = min(num_edges, num_vertices)
    return first + ((num_edges - first) >> shift)
