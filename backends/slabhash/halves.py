"""Both halves of an unvalidated batch on CUDA: the deletion checks itself, behind a copy of what is inserted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from suricate.cuda.batch_memory import LazyChange, batch_offsets, memory_of_batch

if TYPE_CHECKING:
    from suricate.backends.slabhash.store import SlabHashStore
    from suricate.base.types import Change
    from suricate.intake.ingest import LaunchCopy, UnvalidatedBatch

Step = Callable[[], "Callable[[], Change]"]


def prepared(
    out: SlabHashStore, removed: UnvalidatedBatch, added: UnvalidatedBatch, copy: LaunchCopy, into: SlabHashStore | None
) -> tuple[Step, Step] | None:
    """Set slabs aside for an insertion, check and copy it; return the two steps. See ``Store.halves``."""
    stores = [out] if into is None else [out, into]
    demands = [demand for store in stores if (demand := store.usual_demand(added)) is not None]
    if len(demands) < len(stores):
        return None
    held = out.weight_dtype
    new = memory_of_batch(out.device, added, held, batch_offsets(added.size, "insert", held, paired=into is not None))
    reservations = [store.ledger.reserve(demand) for store, demand in zip(stores, demands, strict=True)]

    def cancel() -> None:
        for store, reservation in zip(stores, reservations, strict=True):
            store.ledger.cancel(reservation)

    try:
        launches = [
            store.fused.second_insertion(store.slabs, reservation, turned=store is into)
            for store, reservation in zip(stores, reservations, strict=True)
        ]
    except MemoryError:
        cancel()
        raise
    copy(added, new.batch.addresses[:3])

    def delete() -> Callable[[], Change]:
        try:
            return out.delete_unvalidated(removed, into)
        except MemoryError:
            cancel()
            raise

    def insert() -> LazyChange:
        for store, launch, demand in zip(stores, launches, demands, strict=True):
            launch(new.batch.addresses, added.guard)
            store.queued(demand)
        out.trim(removed.size, into)
        return new

    return delete, insert
