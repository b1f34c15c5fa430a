"""Single edges of a store on the CPU: blocks for a loop over events, and what the host learns of it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.errors import CapacityError
from suricate.store.single import SingleEdges

if TYPE_CHECKING:
    from suricate.backends.blocked.store import BlockedStore


def single(store: BlockedStore, num_edges: int) -> SingleEdges | None:
    """See :meth:`suricate.store.Store.single`; not while insertions are logged."""
    if store.device.is_cuda or store.has_mark:
        return None
    while num_edges:
        try:
            store.reserve(num_edges)
            break
        except CapacityError:
            num_edges //= 2
    graph = store.pool.graph
    return SingleEdges("suricate.backends.blocked.single_loops", graph, graph.weight.dtype)


def end_single(store: BlockedStore, inserted: int, deleted: int) -> None:
    """See :meth:`suricate.store.Store.end_single`."""
    store.known()
