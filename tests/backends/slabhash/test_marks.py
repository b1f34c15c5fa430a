"""What was inserted since the mark: the store's list of it, and the cursor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from slabhash_cases import (
    F32,
    F64,
    ids,
    pairs_of,
    random_batch,
    star_batch,
)

from suricate.backends.slabhash import cursor, layout
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import CPU, Device
from suricate.base.types import EMPTY, TOMBSTONE


def test_updated_survives_rehashing(device: Device) -> None:
    """What was inserted since the mark is known although its vertex moved, and although the pool grew."""
    store = SlabHashStore(30_000, device=device, slab_bytes=32)
    store.insert(*star_batch(store, 1, 0, 50))
    store.mark()
    wanted = set()
    for first in range(50, 20_000, 997):
        store.insert(*star_batch(store, 1, first, first + 997))
        wanted |= set(range(first, first + 997))
    store.check()
    updated = store.updated()
    assert len(updated.dst) == len(wanted)
    assert set(device.to_numpy(updated.dst).tolist()) == wanted
    store.compact()
    assert set(device.to_numpy(store.updated().dst).tolist()) == wanted
    store.mark()
    assert len(store.updated().src) == 0
    store.insert(*star_batch(store, 2, 5, 9))
    assert device.to_numpy(store.updated().src).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("dtype", [None, F64], ids=str)
def test_updated_against_a_set(device: Device, dtype: np.dtype | None) -> None:
    """Random updates, with a mark, a compaction or deleted vertices now and then, and tombstones that are reused."""
    store = SlabHashStore(60, device=device, slab_bytes=32, weight_dtype=dtype)
    rng, held, fresh = np.random.default_rng(4), set(), set()
    for step in range(120):
        src, dst = rng.integers(0, 60, (2, 40))
        src[rng.random(40) < 0.5] = 7
        batch = set(zip(src.tolist(), dst.tolist(), strict=True))
        if step % 3 == 2:
            src, dst = np.array(sorted(held))[rng.permutation(len(held))[:50]].T
            store.delete(ids(store, src), ids(store, dst))
            gone = set(zip(src.tolist(), dst.tolist(), strict=True))
            held, fresh = held - gone, fresh - gone
        else:
            store.insert(ids(store, src), ids(store, dst), None if dtype is None else device.xp.ones(40, dtype))
            held, fresh = held | batch, fresh | (batch - held)
        if step % 17 == 11:
            store.compact()
        if step % 19 == 13:
            store.delete_vertices(ids(store, step % 60, 7))
            held, fresh = ({pair for pair in pairs if pair[0] not in (step % 60, 7)} for pairs in (held, fresh))
        if step % 29 == 5:
            store.mark()
            fresh = set()
        store.check()
        assert pairs_of(store.edges(), device) == held
        assert pairs_of(store.updated(), device) == (fresh if step >= 5 else held)


@njit
def walk_updated(g: Any, found: np.ndarray) -> int:
    """Write the edges that the cursor of updated edges meets; return their number."""
    at = 0
    for i in range(cursor.updated_count(g)):
        c = cursor.updated_segment(g, i)
        for slot in range(cursor.begin(g, c), cursor.end(g, c)):
            if cursor.key(g, slot) < TOMBSTONE and cursor.is_fresh(g, slot):
                found[at, 0], found[at, 1] = cursor.segment_owner(g, c), cursor.key(g, slot)
                at += 1
    return at


@pytest.mark.parametrize("slab_bytes", layout.SLAB_BYTES)
@pytest.mark.parametrize("dtype", [None, F32, F64], ids=str)
def test_cursor_of_updated_edges(slab_bytes: int, dtype: np.dtype | None) -> None:
    store = SlabHashStore(300, slab_bytes=slab_bytes, weight_dtype=dtype)

    def insert(src: np.ndarray, dst: np.ndarray) -> None:
        store.insert(src, dst, None if dtype is None else np.ones(len(src), dtype))

    insert(*random_batch(store, 1, 3_000))
    store.mark()
    insert(*random_batch(store, 2, 500))
    insert(*star_batch(store, 7, 0, 250))
    store.delete(*random_batch(store, 2, 200))
    store.delete_vertices(ids(store, 9, 11))
    found = np.zeros((5_000, 2), np.int64)
    walked = found[: walk_updated(store.view().data, found)].tolist()
    assert len(walked) > 500
    assert sorted(map(tuple, walked)) == sorted(pairs_of(store.updated(), CPU))
    assert cursor.segment_owner(store.view().data, store.slabs.capacity - 1) == EMPTY


def test_no_cost_of_marks_without_a_mark(device: Device) -> None:
    store = SlabHashStore(10, device=device)
    store.insert(*random_batch(store, 1, 30))
    assert "marks" not in store.memory()
    assert len(store.slabs.fresh) == 0
    store.mark()
    assert "marks" in store.memory()
