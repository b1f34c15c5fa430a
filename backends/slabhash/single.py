"""Single edges of a store on the CPU: slabs for a loop over events, and what the ledger learns of it afterwards."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from suricate.backends.slabhash.layout import DENIED
from suricate.base.errors import CapacityError
from suricate.store.single import SingleEdges

if TYPE_CHECKING:
    from suricate.backends.slabhash.store import SlabHashStore

MODULE = "suricate.backends.slabhash.loops.single"
KEPT = 64  #: slabs that are not used for rehashing


def single(store: SlabHashStore, num_edges: int) -> SingleEdges | None:
    """See :meth:`suricate.store.Store.single`."""
    from suricate.backends.slabhash.loops.single import Edges

    if store.device.is_cuda:
        return None
    store.plan(num_edges)
    edges = num_edges
    while edges:
        try:
            store.supply.provide_for(edges)
            break
        except CapacityError:
            edges //= 2
    store.pool.slabs.counters[DENIED] = 0
    store.supply.read()
    options = store.options()
    arrays = Edges(store.pool.slabs, options["hashing"], options["load_factor"] * store.geometry.keys, KEPT)
    return SingleEdges(MODULE, arrays, np.dtype(np.uint32))


def end_single(store: SlabHashStore, inserted: int, deleted: int) -> None:
    """See :meth:`suricate.store.Store.end_single`."""
    store.supply.read()
    with suppress(CapacityError):
        store.supply.changed(inserted, deleted)
