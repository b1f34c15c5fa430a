"""On CUDA only: slabs taken in advance, reservations, polled counters, unvalidated batches."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from slabhash_cases import (
    first_slabs,
    pairs_of,
)

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.layout import FREED
from suricate.backends.slabhash.ledger import POLL_AFTER
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import resolve_device
from suricate.base.types import EMPTY
from suricate.errors import VertexRangeError
from suricate.graph import Graph


@pytest.mark.gpu
@pytest.mark.parametrize("taken_by", [{"CHUNK_FROM": 1}, {"SMALL_SHARE": 0}], ids=["warps", "lanes"])
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_lanes_race_to_start_a_vertex(
    weight_dtype: str | None, taken_by: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With slabs taken in advance the first edge of a vertex is counted with its head: once, whoever inserts it."""
    for name, value in taken_by.items():
        monkeypatch.setattr(f"suricate.backends.slabhash.ledger.{name}", value)
    n, size, rng = 2_000, 20_000, np.random.default_rng(3)
    hints = np.where(np.arange(n) % 2, 40, 0)  # buckets for odd vertices, nothing for even ones
    graph = Graph(n, backend="slabhash", device="cuda", weight_dtype=weight_dtype, degree_hints=hints)
    xp = graph.device.xp
    graph.reserve(3 * size)
    even = xp.arange(0, n, 2)
    for some in (1, 30, n // 2):
        src, dst = 2 * rng.integers(0, some, size), rng.integers(0, 40, size)
        assert (first_slabs(graph.store())[src] == EMPTY).all()
        delta = graph.insert_edges(xp.asarray(src), xp.asarray(dst), None if weight_dtype is None else 1)
        expected = set(zip(src.tolist(), dst.tolist(), strict=True))
        assert pairs_of(delta.inserted, graph.device) == pairs_of(graph.edges(), graph.device) == expected
        graph.check()
        assert int(graph.store().slabs.counters[FREED]) > 0  # taken in advance and not used
        graph.delete_vertices(even)
        dst[-1] = n
        with pytest.raises(VertexRangeError):
            graph.insert_edges(xp.asarray(src), xp.asarray(dst), None if weight_dtype is None else 1)
        graph.check()


@pytest.mark.gpu
@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_slabs_are_reserved_once(checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the host has not heard of a batch, its slabs count as used; small batches may take them in advance."""
    monkeypatch.setattr("suricate.backends.slabhash.ledger.SMALL_SHARE", 1)
    n, rng = 5_000, np.random.default_rng(5)
    graph = Graph(n, backend="slabhash", device="cuda", checks=checks, slab_bytes=32)
    graph.reserve(2_000)
    store, model = graph.store(), set()
    assert isinstance(store, SlabHashStore)
    monkeypatch.setattr(store.kernels, "poll", lambda: None)
    frees = []
    for _ in range(60):
        src, dst = rng.integers(0, n, (2, 100))
        graph.insert_edges(*map(graph.device.xp.asarray, (src, dst)))
        model.update(zip(src.tolist(), dst.tolist(), strict=True))
        frees.append(store.supply.ledger.free)
        counters = graph.device.to_numpy(store.slabs.counters).astype(int)
        listed = max(0, counters[layout.LISTED] - counters[layout.TAKEN])
        assert store.supply.ledger.free <= store.slabs.capacity - counters[layout.BUMP] + listed
    assert min(np.diff(frees)) < 0 < max(np.diff(frees))  # reserved, and read where that was not enough
    graph.check()
    assert pairs_of(graph.edges(), graph.device) == model


@pytest.mark.gpu
@pytest.mark.parametrize("spread", [1, 7, 64, 1000])
def test_what_a_small_batch_takes_in_advance(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one slab per edge, and what its edges fill: also where every second one extends a chain that is full."""
    monkeypatch.setattr("suricate.backends.slabhash.ledger.SMALL_SHARE", 0)
    n, half, rng = 20_000, 1000, np.random.default_rng(spread)
    graph = Graph(n, backend="slabhash", device="cuda", slab_bytes=32, hashing=False)
    xp, store = graph.device.xp, graph.store()
    assert isinstance(store, SlabHashStore)
    keys = store.geometry.keys
    full, ids = np.repeat(np.arange(half), keys), np.tile(np.arange(keys), half)
    graph.insert_edges(xp.asarray(full), xp.asarray(ids))
    graph.reserve(20 * half)
    for first in range(half, n - 1000, 3000):
        src = np.concatenate((np.arange(half), first + rng.integers(0, spread, half)))
        order, dst = rng.permutation(2 * half), rng.integers(keys, n, 2 * half)
        before, free = int(store.slabs.counters[layout.BUMP]), store.supply.ledger.free
        graph.insert_edges(xp.asarray(src[order]), xp.asarray(dst[order]))
        taken = int(store.slabs.counters[layout.BUMP]) - before
        assert half < taken <= min(free - store.supply.ledger.free, 2 * half + 2 * half // keys + 1)
        graph.delete_edges(xp.asarray(src[order]), xp.asarray(dst[order]))
        graph.delete_vertices(xp.arange(half, n))
        graph.compact()
        graph.reserve(20 * half)
    graph.check()


@pytest.mark.gpu
def test_counters_are_polled_now_and_then() -> None:
    """With slabs in abundance no batch needs to know the counters, but what rehashing lacks must not stay unnoticed."""
    graph = Graph(1_000, backend="slabhash", device="cuda")
    graph.reserve(500_000)
    store, ids = graph.store(), graph.device.xp.arange(100)
    assert isinstance(store, SlabHashStore)
    behind = []
    for shift in range(3 * POLL_AFTER):
        graph.insert_edges(ids, ids + shift)
        behind.append(store.supply.ledger.behind)
    assert POLL_AFTER // 2 < max(behind) <= POLL_AFTER + 2


@pytest.mark.gpu
def test_a_rejection_is_forgotten_by_a_copy() -> None:
    """Calls are counted per graph: a copy must not take its own calls for one that was refused before."""
    graph = Graph(100, backend="slabhash", device="cuda")
    xp = graph.device.xp
    for bad in (False, True, True):
        ids = xp.asarray([1, 2, 100 if bad else 3])
        with pytest.raises(VertexRangeError) if bad else nullcontext():
            graph.insert_edges(ids, ids)
    other = graph.to("cpu").to("cuda")
    for count in range(10):
        ids = xp.arange(10 * count, 10 * count + 10)
        other.insert_edges(ids, ids)
        assert other.has_edges(ids, ids).all()
    other.delete_edges(ids, ids)
    assert other.num_edges == 90
    other.check()


@pytest.mark.gpu
def test_deltas_keep_their_own_memory() -> None:
    """Memory is allocated for the next batch: never that of a delta that somebody still has."""
    graph = Graph(1_000, backend="slabhash", device="cuda")
    xp = graph.device.xp
    ids = [xp.arange(first, first + 50) for first in range(0, 500, 50)]
    inserted = [graph.insert_edges(src, src) for src in ids]
    deleted = [graph.delete_edges(src, src) for src in ids]
    for src, new, gone in zip(ids, inserted, deleted, strict=True):
        assert sorted(new.inserted.dst.tolist()) == sorted(gone.deleted.src.tolist()) == src.tolist()


@pytest.mark.gpu
def test_a_reservation_asks_for_more_slabs_only_where_the_worst_case_lacks_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slabs for rehashing are optional: without them nothing waits, and nothing grows, if scratch memory is there."""
    n, rng = 400, np.random.default_rng(6)
    store = SlabHashStore(n, device=resolve_device("cuda"))
    xp, ledger = store.device.xp, store.supply.ledger
    keys = rng.permutation(n * n)
    first, others = keys[:3000], keys[3000:]
    store.insert(*(xp.asarray(part.astype(np.uint32)) for part in (first // n, first % n)))
    store.supply.read()
    spare = [size for size in range(1, ledger.free) if ledger.worst_case(size) <= ledger.free]
    size, capacity = spare[-1], store.slabs.capacity
    assert ledger.worst_case(size) + ledger.allowance(size) > ledger.free
    store.kernels.cache_scratch(store.slabs, size)
    with monkeypatch.context() as patch:
        patch.setattr(store.kernels, "read_counters", None)  # which waits
        store.reserve(size)
        store.insert(*(xp.asarray(part[:size].astype(np.uint32)) for part in (others // n, others % n)))
    assert store.slabs.capacity == capacity
    assert store.num_edges == 3000 + size
    store.check()
    store.supply.read()
    store.kernels.forget()
    store.reserve(ledger.free)
    assert store.slabs.capacity > capacity
