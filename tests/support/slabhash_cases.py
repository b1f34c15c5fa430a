"""What the tests of the slab hash share: batches, and views of its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.backends.slabhash.cursor import bucket_of, decode
from suricate.backends.slabhash.layout import SEVERAL
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import Device
from suricate.base.types import EMPTY

F32, F64 = np.dtype("float32"), np.dtype("float64")


def ids(store: SlabHashStore, *values: Any) -> Any:
    return store.device.xp.array(np.concatenate([np.atleast_1d(v) for v in values]), np.uint32)


def star_batch(store: SlabHashStore, source: int, first: int, last: int) -> tuple[Any, Any]:
    xp = store.device.xp
    return xp.full(last - first, source, np.uint32), xp.arange(first, last, dtype=np.uint32)


def random_batch(store: SlabHashStore, seed: int, size: int) -> tuple[Any, Any]:
    pairs = np.random.default_rng(seed).integers(0, store.num_vertices, (2, size))
    return tuple(store.device.xp.array(part, np.uint32) for part in pairs)


def colliding(store: SlabHashStore, size: int, place: int = 0) -> np.ndarray:
    """Return keys that share a bucket wherever there are 1024 or fewer; ``place`` is which of 1024 that is."""
    keys = np.flatnonzero(bucket_of(np.arange(store.num_vertices), 1024) == place)
    assert len(keys) >= size
    return keys[:size]


def head_words(store: SlabHashStore) -> np.ndarray:
    return ~store.device.to_numpy(store.slabs.vertex)[: 2 * store.num_vertices : 2]


def first_slabs(store: SlabHashStore) -> np.ndarray:
    """Return the first slab of each vertex."""
    words = head_words(store)
    return np.where(words == EMPTY, words, words & np.uint32(SEVERAL - 1))


def bucket_counts(store: SlabHashStore) -> np.ndarray:
    """Return the number of buckets of each vertex."""
    codes = store.device.to_numpy(store.slabs.buckets)[: store.num_vertices]
    return np.array([max(decode(code), 1) for code in codes])


def pairs_of(edges: Any, device: Device) -> set[tuple[int, int]]:
    """Return edges as pairs; there are no duplicates."""
    src, dst = device.to_numpy(edges.src), device.to_numpy(edges.dst)
    pairs = set(zip(src.tolist(), dst.tolist(), strict=True))
    assert len(pairs) == len(src)
    return pairs
