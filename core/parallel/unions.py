"""Union-finds on several ranks: each unites the ends of its own edges, then they exchange the unions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.parallel.partition import Partition
    from suricate.state.union_find import UnionFind

PAIR = 2  #: words per union: a former root, its parent


def unite(part: Partition, sets: UnionFind, roots: Array) -> None:
    """Merge the unions that the ranks have made since all had equal sets; flatten the sets. Collective.

    Every union makes a former root the child of another vertex. So ranks exchange former roots and their parents or, if
    that is not more data, the parents of all elements. ``roots``: ``sets.roots()`` from when the sets were equal.
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
