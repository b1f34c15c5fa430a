"""Rollback of a change of a store that is at its memory limit."""

from __future__ import annotations

import weakref
from contextlib import suppress

import numpy as np
import pytest

from suricate import plugins
from suricate.base.devices import Device
from suricate.base.types import EdgeList
from suricate.errors import CapacityError
from suricate.graph import rollback
from suricate.graph.rollback import delete_from, in_parts, insert_into
from suricate.store import Store

N = 80


def held_by(store: Store) -> int:
    return sum(allocated for _, allocated in store.memory().values())


def test_edges_fit_again_where_arrays_cannot_grow_within_the_limit(every_backend: str, device: Device) -> None:
    src, dst = (device.xp.asarray(part, np.uint32) for part in divmod(np.random.default_rng(0).permutation(N * N), N))
    store = plugins.backend(every_backend)(N, device=device)
    batches = (EdgeList(src[at : at + 100], dst[at : at + 100], None) for at in range(0, N * N, 100))
    for _ in range(8):
        insert_into(store, next(batches))
    limit = store.memory_limit = held_by(store) * 5 // 4
    with suppress(CapacityError):
        for edges in batches:
            insert_into(store, edges)
    with pytest.raises(CapacityError):
        insert_into(store, edges)
    before = store.num_edges
    in_parts(store, insert_into, edges, None, 0)
    assert store.num_edges == before + 100
    assert store.memory_limit == limit
    store.check()
    in_parts(store, delete_from, edges, None, 0)
    assert store.num_edges == before


def test_undoing_has_the_memory_that_errors_hold() -> None:
    """Those that led to the error, too, even if they go in circles; and addresses that are held back again."""
    gone = list[weakref.ref[np.ndarray]]()

    def lacks() -> None:
        array = np.zeros(10)
        gone.append(weakref.ref(array))
        raise MemoryError

    def ends() -> None:
        try:
            lacks()
        except MemoryError as error:
            raise CapacityError("no memory") from error

    with pytest.raises(CapacityError) as caught:
        ends()
    assert caught.value.__cause__ is not None
    caught.value.__cause__.__cause__ = caught.value
    with rollback.memory_to_undo(caught.value):
        assert gone[0]() is None
        assert not rollback._spare
    assert rollback._spare
