"""Memory: growth, reserve(), the limit, and what happens when there is none left."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from slabhash_cases import F32, F64, random_batch

from suricate.backends.slabhash import budget as budgets
from suricate.backends.slabhash import supply
from suricate.backends.slabhash.budget import Budget, available_memory, memory_left
from suricate.backends.slabhash.loops.maintain import cut_evenly
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import CPU, Device, resolve_device
from suricate.cuda.mapped import GROWING, Addresses
from suricate.errors import CapacityError
from suricate.graph import Graph
from suricate.store import in_place


def test_hints_beyond_the_limit_are_ignored(device: Device) -> None:
    store = SlabHashStore(100, device=device, degree_hints=np.full(100, 10_000), memory_limit=20_000)
    assert store.memory()["slabs"] == (0, 0)
    store.insert(*random_batch(store, 1, 200))
    store.check()


def test_vertices_beyond_the_limit(device: Device) -> None:
    with pytest.raises(CapacityError):
        SlabHashStore(100_000, device=device, memory_limit=100_000)
    store = SlabHashStore(100, device=device, memory_limit=10_000)
    with pytest.raises(CapacityError):
        store.resize(100_000)
    assert store.num_vertices == 100
    store.check()


def test_running_out_of_memory_changes_nothing(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SlabHashStore(500, device=device, weight_dtype=F32)
    src, dst = random_batch(store, 1, 2_000)
    store.insert(src, dst, device.xp.ones(2_000, F32))
    before = store.num_edges

    def fail(*_: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(store.pool, "filled", fail)
    src, dst = random_batch(store, 2, 40_000)
    with pytest.raises(CapacityError):
        store.insert(src, dst, device.xp.ones(40_000, F32))
    with pytest.raises(CapacityError):
        store.reserve(10**6)
    monkeypatch.undo()
    assert store.num_edges == before
    store.check()
    store.insert(src, dst, device.xp.ones(40_000, F32))
    store.check()


def test_reserved_edges_need_no_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """After reserve() so many edges need no memory, even if there is none."""
    store = SlabHashStore(300, device=device)
    store.insert(*random_batch(store, 1, 10))
    store.reserve(5_000)

    def fail(*_: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(store.pool, "filled", fail)
    for seed in range(2, 7):
        store.insert(*random_batch(store, seed, 900))
        store.check()


def test_growth_by_large_batches_sizes_ahead(device: Device) -> None:
    """A growing graph sizes all buckets again now and then, not with every batch; one that only churns does not."""
    store, batches, pools = SlabHashStore(4_000, device=device, slab_bytes=64), [], []
    for seed in range(12):
        batches.append(random_batch(store, seed, 4_000))
        store.insert(*batches[-1])
        store.check()
        if not pools or store.slabs.pool is not pools[-1]:
            pools.append(store.slabs.pool)
    assert len(pools) <= 4
    store.compact()
    allocated = lasting_bytes(store)
    for batch in batches[:6]:
        store.delete(*batch[:2])
        store.insert(*batch)
        store.check()
    # CUDA takes trimmed slabs again only when a pool this small has grown, by bounds that are as large as itself
    assert lasting_bytes(store) <= (2.5 if device.is_cuda else 2.2) * allocated


def test_growth_on_the_cpu_asks_for_half_more_than_is_used_at_most() -> None:
    store, rng = SlabHashStore(1 << 13), np.random.default_rng(3)
    src, dst = rng.integers(0, 1 << 13, (2, 160_000)).astype(np.uint32)
    for at in range(0, len(src), 4_000):
        store.insert(src[at : at + 4_000], dst[at : at + 4_000])
        used, allocated = (sum(sizes) for sizes in zip(*store.memory().values(), strict=True))
        assert allocated <= 1.5 * used or at < 16_000, at


def lasting_bytes(store: SlabHashStore) -> int:
    """Return what is allocated, but for what the next batch may use as scratch."""
    return sum(allocated for part, (_, allocated) in store.memory().items() if part != "scratch")


@pytest.mark.gpu
def test_scratch_memory_is_reported_bounded_and_given_back() -> None:
    """Batches share scratch memory, within ``memory_limit``, until ``compact()``."""
    device = resolve_device("cuda")
    free, bound = (SlabHashStore(500, device=device, memory_limit=limit) for limit in (None, 200_000))
    for store in (free, bound):
        store.insert(*random_batch(store, 1, 2_000))
        store.insert(*random_batch(store, 2, 2_000))
        store.check()
    kept = free.memory()["scratch"]
    assert kept[0] == 0 < kept[1] < 1 << 20
    assert sum(allocated for _, allocated in bound.memory().values()) <= 200_000
    free.compact()
    assert free.memory()["scratch"] == (0, 0)
    free.reserve(3_000)
    ready = free.memory()["scratch"]
    free.insert(*random_batch(free, 3, 3_000))
    assert free.memory()["scratch"] == ready > (0, 0)


@pytest.mark.gpu
@pytest.mark.parametrize("weight_dtype", [None, F64])
def test_a_large_pool_grows_where_it_is(monkeypatch: pytest.MonkeyPatch, weight_dtype: Any) -> None:
    device = resolve_device("cuda")
    if not in_place.maps(device):
        pytest.skip("the driver maps no memory")
    monkeypatch.setattr(in_place, "LARGE", 1 << 16)
    store, model = SlabHashStore(500, device=device, weight_dtype=weight_dtype), set[tuple[int, int]]()
    places, capacities = set[int](), set[int]()
    for seed in range(60):
        src, dst = random_batch(store, seed, 1_000 if seed else 40_000)
        store.insert(src, dst, None if weight_dtype is None else device.xp.ones(len(src), weight_dtype))
        model |= {*zip(src.tolist(), dst.tolist(), strict=True)}
        store.check()
        if seed:
            places.add(store.slabs.pool.data.ptr)
            capacities.add(store.slabs.capacity)
    edges = store.edges()
    assert {*zip(edges.src.tolist(), edges.dst.tolist(), strict=True)} == model
    assert len(places) <= 2 < len(capacities)
    assert GROWING.get(store.slabs.pool.data.ptr) is not None


@pytest.mark.gpu
def test_a_pool_that_lacks_memory_to_grow_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    device = resolve_device("cuda")
    if not in_place.maps(device):
        pytest.skip("the driver maps no memory")
    monkeypatch.setattr(in_place, "LARGE", 1 << 16)
    graph = Graph(500, backend="slabhash", device="cuda")
    rng = device.xp.random.default_rng(1)
    graph.insert_edges(*rng.integers(0, 500, (2, 20_000)))

    asked = list[Any]()

    def refuse(addresses: Addresses, count: int, size: int) -> list[int]:
        raise MemoryError("none left")

    def fill() -> None:
        for _ in range(200):
            asked.append((graph.num_edges, rng.integers(0, 500, (2, 1_000))))
            graph.insert_edges(*asked[-1][1])

    with monkeypatch.context() as patched:
        patched.setattr(Addresses, "created", refuse)
        with pytest.raises(CapacityError):
            fill()
        before, batch = asked[-1]
        assert graph.num_edges == before
        graph.check()
    graph.insert_edges(*batch)
    assert graph.has_edges(*batch).all()
    graph.check()


@pytest.mark.gpu
def test_memory_for_the_next_batch_counts() -> None:
    """Memory for the copies of the next batch is reported, within ``memory_limit``, and given back."""
    taken = []
    for limit in (None, 200_000):
        graph = Graph(500, backend="slabhash", device="cuda", memory_limit=limit)
        ids = graph.device.xp.arange(500)
        for shift in range(4):
            graph.insert_edges(ids, (ids + shift) % 500)
        taken.append(graph.memory_usage().parts["out.scratch"][1])
        assert limit is None or graph.memory_usage().allocated <= limit
        graph.compact()
        assert graph.memory_usage().parts["out.scratch"] == (0, 0)
    assert taken[0] > taken[1]


@pytest.mark.parametrize("limit", [None, 1000])
def test_budget_counts_everything_at_once(limit: int | None) -> None:
    budget = Budget(limit, CPU)
    budget.arrays, budget.cached = 500, 100
    with budget.allocating(300):
        assert budget.held == 900
        assert budget.allows(100)
        assert budget.allows(101) == (limit is None)
    assert budget.held == 600
    if limit is not None:
        with pytest.raises(CapacityError, match="1001 bytes, memory_limit is 1000"):
            budget.admit(401)
    with pytest.raises(CapacityError, match="cannot allocate"), budget.allocating(10):
        raise MemoryError("none left")
    assert budget.held == 600


def test_more_than_the_machine_has_left_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CapacityError):
        SlabHashStore(2**32 - 2, memory_limit=2**34)
    assert available_memory() > 0
    monkeypatch.setattr("suricate.backends.slabhash.budget.available_memory", lambda: 1 << 30)
    tracemalloc.start()
    with pytest.raises(CapacityError, match="the machine has 1073741824 left"):
        SlabHashStore(2**32 - 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.gpu
def test_more_than_a_device_has_left_is_refused_without_an_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool of CuPy is not asked: it would collect garbage first, for each of many slices of a batch."""
    device = resolve_device("cuda")
    pool = device.xp.get_default_memory_pool()
    monkeypatch.setattr(budgets, "LARGE", 1 << 10)
    store = SlabHashStore(1_000, device=device)
    store.insert(*random_batch(store, 1, 1_000))
    left = memory_left(device, 0)
    assert left is not None
    assert 0 < left <= device.xp.cuda.runtime.memGetInfo()[1]
    pool.set_limit(size=pool.used_bytes() + (1 << 22))  # and what garbage gives back
    try:
        assert memory_left(device, 0) < left
        monkeypatch.setattr("suricate.backends.slabhash.pool.Pool.aligned", None)
        with pytest.raises(CapacityError, match=r"the device has \d+ left"):
            store.reserve(1 << 22)
    finally:
        pool.set_limit(size=0)
    monkeypatch.undo()
    assert store.num_edges > 0
    store.check()
    with device.xp.cuda.using_allocator(lambda size: pool.malloc(size)):
        assert memory_left(device, 0) is None


def bytes_of_objects() -> int:
    """Return how much of what is traced are Python objects, as after a compilation many are: arrays have a domain."""
    objects = tracemalloc.DomainFilter(False, np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([objects]).traces)


@pytest.mark.parametrize("weight_dtype", [None, F32, F64], ids=str)
@pytest.mark.parametrize("extra", [200_000, 2_000_000])
def test_what_is_allocated_stays_below_the_limit(weight_dtype: np.dtype | None, extra: int) -> None:
    """Both pools while one grows, free lists, marks and scratch memory included; only outcomes do not count."""
    slack = 32 << 10  # Python objects that an operation makes and frees
    batches = [random_batch(SlabHashStore(2_000), seed, 1_000) for seed in range(60)]
    weight = None if weight_dtype is None else np.ones(1_000, weight_dtype)
    limit = 20_000 + extra
    options: dict[str, Any] = {"weight_dtype": weight_dtype, "memory_limit": limit, "slab_bytes": 64}

    def operations(store: SlabHashStore) -> Iterator[tuple[int, Any]]:
        """(bytes that belong to the caller, operation)"""
        outcome = 1_000 * (1 + 8)
        for number, batch in enumerate(batches):
            yield outcome, partial(store.insert, *batch, weight)
            if number % 7 == 3:
                yield outcome, partial(store.delete, *batches[number // 2])
            if number % 11 == 5:
                yield 0, store.compact
            if number % 13 == 7:
                yield 0, partial(store.resize, store.num_vertices + 500)
            if number == 20:
                yield 0, store.mark
            if number % 17 == 9:
                yield 0, partial(store.reserve, 3_000)
        yield 0, partial(store.delete_vertices, np.arange(500, dtype=np.uint32))
        yield outcome, partial(store.insert, *batches[0], weight)

    for _, operation in operations(SlabHashStore(2_000, **options)):
        with suppress(CapacityError):
            operation()  # compiles what is needed
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        store, done = SlabHashStore(2_000, **options), 0
        for theirs, operation in operations(store):
            tracemalloc.reset_peak()
            edges = store.num_edges
            try:
                operation()
                done += 1
            except CapacityError:
                assert store.num_edges == edges
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak - bytes_of_objects() <= limit + theirs + slack, operation
            assert sum(size for _, size in store.memory().values()) <= limit
        store.check()
    finally:
        tracemalloc.stop()
    assert done > 10


@pytest.mark.parametrize("degrees", [[0] * 9, [9] + [0] * 8, [0, 4, 4, 1, 0, 0, 0, 3, 3], [1] * 9])
def test_ranges_of_vertices_have_about_equally_many_edges(degrees: list[int]) -> None:
    """Found in one pass, in memory that does not grow with the number of threads: a limit counts it."""
    words = np.array([(0, degree) for degree in degrees], np.uint32).ravel()
    cuts = np.empty((4, 2), np.int64)
    cut_evenly(words, len(degrees), sum(degrees), cuts)
    begins, before = cuts.T.tolist()
    assert begins[0] == before[0] == 0
    assert begins == sorted(begins)
    assert before == [sum(degrees[:begin]) for begin in begins]
    shares = np.diff([*before, sum(degrees)])
    assert all(share < sum(degrees) / 4 + max(degrees) for share in shares if share)


def test_reserving_beyond_the_limit_changes_nothing() -> None:
    store = SlabHashStore(300, memory_limit=100_000, weight_dtype=F32)
    store.insert(*random_batch(store, 1, 500), np.ones(500, F32))
    before, edges = store.memory(), store.edges()
    with pytest.raises(CapacityError):
        store.reserve(50_000)
    assert store.memory() == before
    assert store.supply.ledger.promised == 0
    assert all(np.array_equal(one, two) for one, two in zip(edges, store.edges(), strict=True))
    store.check()


def test_an_empty_store_is_compacted_at_the_limit() -> None:
    """Where nothing is to be moved nothing is allocated."""
    store = SlabHashStore(2_000, memory_limit=90_000, slab_bytes=64)
    batch = random_batch(store, 1, 700)
    store.insert(*batch)
    store.mark()
    store.delete(*batch)
    store.budget.borrowed = 90_000 - store.budget.held  # as if all of the limit were in use
    store.compact()
    store.budget.borrowed = 0
    assert store.memory()["slabs"] == (0, 0)
    assert store.has_mark
    store.check()
    store.insert(*batch)
    store.check()


def test_no_reference_cycle_keeps_the_parts_of_a_store() -> None:
    store = SlabHashStore(300, degree_hints=np.full(300, 5))
    store.insert(*random_batch(store, 1, 3_000))
    parts = [weakref.ref(part) for part in (store, store.pool, store.supply.ledger, store.supply, store.kernels)]
    gc.disable()
    try:
        del store
        assert [part() for part in parts] == [None] * 5
    finally:
        gc.enable()


def test_a_view_stays_as_long_as_the_arrays_are_the_same(device: Device) -> None:
    store = SlabHashStore(500, device=device)
    store.insert(*random_batch(store, 1, 2_000))
    store.reserve(10_000)
    view = store.view()
    store.insert(*random_batch(store, 2, 10))
    store.delete(*random_batch(store, 1, 10))
    assert store.view() is view
    store.reserve(100_000)
    larger = store.view()
    assert larger is not view
    assert larger.most_edges > view.most_edges
    store.resize(500 + 1)
    assert store.view().num_vertices == 501


@pytest.mark.parametrize("size", [3_700_000, 5_500_000])
def test_a_pool_that_is_packed_within_the_first_batch_has_room_for_its_edges(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    within, packed = supply.Supply.rebuild, []

    def rebuild(self: supply.Supply, sizing: supply.Sizing) -> int:
        if sizing.batch is None:
            packed.append((int(sizing.expected.sum()), sizing.stored))
        return within(self, sizing)

    monkeypatch.setattr(supply.Supply, "rebuild", rebuild)
    leaves = np.arange(1, 20_000)
    src, dst = np.concatenate([0 * leaves, leaves]), np.concatenate([leaves, 0 * leaves])
    graph = Graph(20_000, device="cpu", backend="slabhash", threads=1, in_edges=True, memory_limit=size)
    graph.insert_edges(src, dst)
    assert packed, "the limit does not make the pool be packed"
    assert all(expected == stored > 0 for expected, stored in packed)
    graph.check()
    assert graph.num_edges == len(src)
