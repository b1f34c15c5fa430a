"""Union-finds of several ranks: each unites what its edges join, then they exchange which sets are no longer apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.parallel.partition import Partition
    from suricate.state.union_find import UnionFind

PAIR = 2  #: words that say of a root what it is hooked under


def unite(part: Partition, sets: UnionFind, roots: Array) -> None:
    """Unite in the sets of every rank what any rank has united since all had the same sets; they are flat afterwards.

    Every union hooks an element that was a root. So it takes those and their parents, or, where they are many, the
    parents of all elements.

    Args:
        part: how the graph is divided.
        sets: the sets of this rank.
        roots: what ``sets.roots()`` returned when all ranks had the same.
    """
    xp, comm, size = part.xp, part.comm, sets.num_elements
    hooked = xp.flatnonzero(roots & ~sets.roots()).astype(np.uint32)
    everything = PAIR * sum(comm.allgather(len(hooked))) >= size * comm.size
    sent = sets.parent if everything else xp.concatenate((hooked, sets.parent[hooked]))
    found, ids = comm.allgatherv(sent), xp.arange(size if everything else 0, dtype=np.uint32)
    for each in found[: comm.rank] + found[comm.rank + 1 :]:
        pairs = (ids, each) if everything else xp.split(each, PAIR)
        sets.union(*pairs, trusted=True)
    sets.flatten()
