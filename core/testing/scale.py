"""Tests of sizes: large ids, large batches, batches and adjacencies around the powers of two.

Functions that take a ``model`` expect it empty, with the number of vertices that their docstring names.
"""

from __future__ import annotations

import numpy as np

from suricate.testing.draws import draw_weights, edge_weights
from suricate.testing.model import ModelledStore

MANY_VERTICES = 70_000  #: more than 16 bits can tell apart
FEW_VERTICES = 3000

BATCH_SIZES = (255, 256, 257, 301, 511, 513, 1023, 1024, 1025, 2049, 4097)
FULL_CHECKS = (64, 96, 128, 129, 192, 200, 256, 257)  # degrees


def weights_for(model: ModelledStore, rng: np.random.Generator, count: int) -> np.ndarray | None:
    """Return ``count`` random weights of the store's dtype, many of them equal; None if the store has no weights."""
    dtype = model.store.weight_dtype
    return None if dtype is None else draw_weights(rng, count, dtype)


def ids_beyond_16_bits(model: ModelledStore) -> None:
    """Insert and delete edges between ids on both sides of 2**16, in a store of ``MANY_VERTICES`` vertices."""
    rng = np.random.default_rng(20)
    ids = np.array([0, 1, 4463, 4464, 32767, 32768, 65534, 65535, 65536, 65537, MANY_VERTICES - 1], np.uint32)
    src, dst = np.repeat(ids, len(ids)), np.tile(ids, len(ids))
    model.insert(src, dst, weights_for(model, rng, len(src)))
    model.verify(rng)
    half = rng.permutation(len(src))[::2]
    model.delete(src[half], dst[half])
    model.verify(rng)
    model.mark()
    model.insert(src[half[::2]], dst[half[::2]], weights_for(model, rng, len(half[::2])))
    model.delete_vertices(ids[1::3])
    model.verify(rng)
    model.resize(2 * MANY_VERTICES)
    model.insert(ids, ids + np.uint32(MANY_VERTICES), weights_for(model, rng, len(ids)))
    model.verify(rng)


def batch_sizes(model: ModelledStore) -> None:
    """Insert and delete batches of all ``BATCH_SIZES``, with duplicates, in a store of ``FEW_VERTICES`` vertices."""
    rng = np.random.default_rng(21)
    for size in BATCH_SIZES:
        src, dst = (rng.integers(0, FEW_VERTICES, size // 2 + 1).astype(np.uint32) for _ in range(2))
        at = rng.integers(0, len(src), size)
        model.insert(src[at], dst[at], weights_for(model, rng, size))
        model.insert(src[at], dst[at], weights_for(model, rng, size))
        model.delete(src[at[::2]], dst[at[::2]])
    model.verify(rng)


def large_batch(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random ``(src, dst)``, ``uint32[count]``, below ``MANY_VERTICES``.

    A quarter of the edges are duplicates, and half of them start at one of 12 vertices.
    """
    distinct = count - count // 4
    src, dst = (rng.integers(0, MANY_VERTICES, distinct) for _ in range(2))
    src[::2] = src[::2] % 12 * 5833
    at = rng.permutation(np.concatenate([np.arange(distinct), rng.integers(0, distinct, count - distinct)]))
    return src[at].astype(np.uint32), dst[at].astype(np.uint32)


def large_batches(model: ModelledStore) -> None:
    """Insert and delete batches of up to 70,000 edges with duplicates, in a store of ``MANY_VERTICES`` vertices."""
    rng = np.random.default_rng(22)
    first, other = large_batch(rng, 40_000), large_batch(rng, 70_000)
    model.insert(*first, weights_for(model, rng, 40_000))
    model.verify(rng)
    model.mark()
    src, dst = (np.concatenate([b[:30_000], a[::4]]) for a, b in zip(first, other, strict=True))
    model.insert(src, dst, weights_for(model, rng, len(src)))
    model.delete(*(part[:40_000] for part in other))
    model.verify(rng)
    model.insert(*other, weights_for(model, rng, 70_000))
    model.delete_vertices(np.arange(0, MANY_VERTICES, 307, dtype=np.uint32))
    model.verify(rng)
    model.delete(*other)
    model.verify(rng)


def one_edge_at_a_time(model: ModelledStore) -> None:
    """Grow three adjacencies to about 250 edges and shrink one, an edge per batch; ``FEW_VERTICES`` vertices."""
    rng = np.random.default_rng(23)
    hubs = np.array([3, 64, 2999], np.uint32)
    targets = rng.permutation(FEW_VERTICES)[:260].astype(np.uint32)
    for hub in hubs:
        model.insert(np.full(60, hub), targets[:60], weights_for(model, rng, 60))
    for degree in range(61, 261):
        hub = hubs[degree % 3] if degree < 250 else hubs[0]
        missing = np.setdiff1d(targets[:degree], neighbours(model, hub))
        for target in missing:
            change_one(model, rng, hub, target, "insert")
        if degree in FULL_CHECKS:
            model.verify(rng)
    for degree in range(259, 59, -1):
        change_one(model, rng, hubs[0], targets[degree], "delete")
        if degree in FULL_CHECKS:
            model.verify(rng)


def neighbours(model: ModelledStore, vertex: int) -> np.ndarray:
    """Return the destinations of the edges out of ``vertex`` in the model's table, ``uint32[k]``."""
    _, at = model.table.slices(np.array([vertex], np.uint32))
    return model.table.keys[at].astype(np.uint32)


def change_one(model: ModelledStore, rng: np.random.Generator, source: int, target: int, operation: str) -> None:
    """Insert or delete (``operation``) one edge; compare the adjacency of ``source`` and all degrees."""
    src, dst = np.array([source], np.uint32), np.array([target], np.uint32)
    if operation == "insert":
        model.insert(src, dst, weights_for(model, rng, 1))
    else:
        model.delete(src, dst)
    model.compare_adjacency(src)
    model.verify_degrees()


def every_replacement(model: ModelledStore) -> None:
    """Replace every weight of :func:`edge_weights` by each of them, in a store of ``FEW_VERTICES`` vertices."""
    rng = np.random.default_rng(24)
    assert model.store.weight_dtype is not None
    values = edge_weights(model.store.weight_dtype)
    before, after = np.repeat(values, len(values)), np.tile(values, len(values))
    src = rng.permutation(len(before)).astype(np.uint32)
    dst = (FEW_VERTICES - 1 - src).astype(np.uint32)
    model.insert(src, dst, before)
    model.verify(rng)
    model.insert(src, dst, after)
    model.verify(rng)
    model.insert(src, dst, after)
    model.delete(src[::2], dst[::2])
    model.verify(rng)
