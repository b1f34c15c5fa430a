"""Small insertions on the CPU: as few calls of Python as possible, where no slabs have to be got first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.backends.slabhash.kernels import Batch
from suricate.backends.slabhash.ledger import Reservation
from suricate.base.devices import Array
from suricate.base.errors import CapacityError
from suricate.base.types import Outcome

if TYPE_CHECKING:
    from suricate.backends.slabhash.store import SlabHashStore


def insert_few(store: SlabHashStore, src: Array, dst: Array, weight: Array | None) -> Outcome | None:
    """Insert a small batch into a store on the CPU; None, and nothing has changed, without free slabs.

    Raises:
        CapacityError: there is no memory for the outcome, or for scratch arrays.
    """
    edges, ledger = len(src), store.ledger
    quota = ledger.quota_of_few(edges)
    if quota < 0:
        return None
    slabs, before, scratch = store.pool.slabs, None, None
    kernels: Any = store.kernels  # those of the CPU
    try:
        status = np.zeros(edges, np.uint8)
        if weight is not None:
            before, scratch = np.empty(edges, weight.dtype), kernels.scratch(slabs, edges)
    except CapacityError:
        raise
    except MemoryError as error:
        raise store.budget.out_of_memory(error) from error
    outcome = Outcome(status, before)
    done = kernels.insert_few(slabs, src, dst, weight, quota, outcome, scratch)
    if done < edges:
        _insert_rest(store, Batch(src, dst, weight, None), quota, outcome, scratch, done)
        slabs = store.pool.slabs
    if scratch is not None:
        kernels.release(scratch)
    ledger.queued(edges)
    ledger.record(slabs.counters.tolist(), slabs.capacity)
    return outcome


def _insert_rest(store: SlabHashStore, batch: Batch, quota: int, outcome: Outcome, scratch: Any, done: int) -> None:
    """Go on behind an edge whose vertex has outgrown its buckets."""
    edges, kernels = len(batch.src), store.kernels
    reservation = Reservation(edges, edges + quota, quota, 0, 0)
    kept, done = edges, kernels.insert(store.pool.slabs, batch, reservation, outcome, scratch, done)
    while done < edges:
        kept, reservation.quota = store.supply.provide_more(edges - done, min(kept, edges - done))
        done = kernels.insert(store.pool.slabs, batch, reservation, outcome, scratch, done)
