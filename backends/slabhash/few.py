"""Small insertions on the CPU: as few calls of Python as possible, where no slabs have to be got first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.backends.slabhash.kernels import Batch
from suricate.backends.slabhash.ledger import Reservation
from suricate.base.devices import Array
from suricate.base.types import Outcome

if TYPE_CHECKING:
    from suricate.backends.slabhash.store import SlabHashStore


def insert_few(store: SlabHashStore, src: Array, dst: Array) -> Outcome | None:
    """Insert a small batch into a store without weights on the CPU; None, and nothing has changed, without free slabs.

    Raises:
        CapacityError: there is no memory for the outcome.
    """
    edges, ledger = len(src), store.ledger
    quota = ledger.quota_of_few(edges)
    if quota < 0:
        return None
    try:
        status = np.zeros(edges, np.uint8)
    except MemoryError as error:
        raise store.budget.out_of_memory(error) from error
    outcome, slabs = Outcome(status), store.pool.slabs
    kernels: Any = store.kernels  # those of the CPU
    done = kernels.insert_few(slabs, src, dst, quota, status)
    if done < edges:
        _insert_rest(store, Batch(src, dst, None, None), quota, outcome, done)
        slabs = store.pool.slabs
    ledger.queued(edges)
    ledger.record(slabs.counters.tolist(), slabs.capacity)
    return outcome


def _insert_rest(store: SlabHashStore, batch: Batch, quota: int, outcome: Outcome, done: int) -> None:
    """Go on behind an edge whose vertex has outgrown its buckets."""
    edges, kernels = len(batch.src), store.kernels
    scratch: Any = kernels.scratch(store.pool.slabs, edges)
    reservation = Reservation(edges, edges + quota, quota, 0, 0)
    kept, done = edges, kernels.insert(store.pool.slabs, batch, reservation, outcome, scratch, done)
    while done < edges:
        kept, reservation.quota = store.supply.provide_more(edges - done, min(kept, edges - done))
        done = kernels.insert(store.pool.slabs, batch, reservation, outcome, scratch, done)
