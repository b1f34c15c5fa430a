"""check() finds every corruption."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from slabhash_cases import (
    first_slabs,
    star_batch,
)

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.cursor import degree_place, head_place
from suricate.backends.slabhash.layout import LISTED_BIT, QUEUED_FLAG, SEVERAL
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.types import EMPTY
from suricate.errors import CheckFailed


def slot_of(store: SlabHashStore, u: int) -> int:
    return int(first_slabs(store)[u]) * store.slabs.words


def put(array: str, at: int, value: int) -> Any:
    """Return what sets a word of an array of a store."""
    return lambda store: getattr(store.slabs, array).__setitem__(at, value)


CORRUPTIONS = {
    "degree": put("vertex", degree_place(1), 77),
    "owner": lambda store: store.slabs.owner.__setitem__(first_slabs(store)[1], 2),
    "tail": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1), EMPTY),
    "range": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1), 5_000),
    "once": lambda store: store.slabs.pool.__setitem__(slot_of(store, 3) + 1, store.slabs.pool[slot_of(store, 3)]),
    "cycle": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1) + store.slabs.keys, first_slabs(store)[1]),
    "clean": put("pool", -3, 1),
    "leak": put("owner", -1, 1),
    "counters": put("counters", layout.FREED, 3),
    "bump": put("counters", layout.BUMP, 10**6),
    "lost": put("vertex", head_place(1), 0),
    "queued": put("buckets", 1, QUEUED_FLAG | 1),
    "several": lambda store: store.slabs.vertex.__setitem__(2, store.slabs.vertex[2] ^ np.uint32(SEVERAL)),
    "buckets": put("buckets", 1, 2),
    "buckets without storage": put("buckets", 9, 2),
    "mark without a key": put("fresh", -1, 1),
    "mark that is not listed": put("fresh", 0, 1),
    "listed without a mark": put("counters", layout.TOUCHED, 3),
    "listed twice": lambda store: store.slabs.touched.__setitem__(0, store.slabs.touched[1]),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_check_finds_corruption(what: str) -> None:
    store = SlabHashStore(200, slab_bytes=32, hashing=False)
    for u in (1, 3):
        store.insert(*star_batch(store, u, 0, 20))
    store.mark()
    store.insert(*star_batch(store, 1, 20, 22))  # the last slot of slab 2, and a new slab
    store.reserve(10)
    store.check()
    CORRUPTIONS[what](store)
    with pytest.raises(CheckFailed):
        store.check()


def test_check_finds_a_mark_on_an_empty_slot() -> None:
    store = SlabHashStore(200, slab_bytes=32)
    store.mark()
    store.insert(*star_batch(store, 1, 0, 2))
    slab = first_slabs(store)[1]
    store.slabs.fresh[slab] |= np.uint32(1 << 2)
    with pytest.raises(CheckFailed, match="filled"):
        store.check()
    store.slabs.fresh[slab] = LISTED_BIT
    store.check()


def test_check_finds_a_key_in_the_wrong_bucket() -> None:
    store = SlabHashStore(200, slab_bytes=32, degree_hints=np.full(200, 40))
    store.insert(*star_batch(store, 1, 0, 1))
    words = store.slabs.pool.reshape(-1, 8)
    row = np.flatnonzero(words[:, 0] == 0)[0]
    words[row, 0] = EMPTY
    words[row - 1 if row > first_slabs(store)[1] else row + 1, 0] = 0
    with pytest.raises(CheckFailed, match="hash"):
        store.check()
