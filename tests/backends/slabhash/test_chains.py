"""Chains: free slots, tombstones, rehashing, duplicates and weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from slabhash_cases import (
    F32,
    F64,
    bucket_counts,
    colliding,
    head_words,
    ids,
    random_batch,
    star_batch,
)

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.cpu import AHEAD
from suricate.backends.slabhash.kernels import GuardedBatch
from suricate.backends.slabhash.layout import FREED, SEVERAL
from suricate.backends.slabhash.ledger import Reservation
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import Device
from suricate.base.types import EMPTY, NEW, REMOVED, REPLACED, TOMBSTONE, UNCHANGED, Outcome
from suricate.cpu import threads
from suricate.graph import Graph


def test_a_key_takes_the_first_free_slot(device: Device) -> None:
    """One bucket: keys fill slot after slot, and new ones the tombstones in front of the tail."""
    store = SlabHashStore(100, device=device, slab_bytes=32, hashing=False)
    store.insert(*star_batch(store, 3, 0, 20))
    assert store.memory()["slabs"][0] == 3 * 32
    store.delete(*star_batch(store, 3, 0, 7))

    def words() -> np.ndarray:
        return device.to_numpy(store.slabs.pool).reshape(-1, 8)[:3, :7].ravel()

    holes = np.flatnonzero(words() == TOMBSTONE)
    assert len(holes) == 7
    for key, hole in zip(range(50, 57), holes, strict=True):
        store.insert(*star_batch(store, 3, key, key + 1))
        assert words()[hole] == key
    store.insert(*star_batch(store, 3, 60, 61))
    assert sorted(words().tolist()) == [*range(7, 20), *range(50, 57), 60]
    assert store.memory()["slabs"][0] == 3 * 32
    store.check()


def test_an_edge_behind_a_tombstone_is_found(device: Device) -> None:
    """A free slot is no reason to stop: the key may be further down its chain."""
    store = SlabHashStore(100, device=device, slab_bytes=32, hashing=False, weight_dtype=F32)
    src, dst = star_batch(store, 3, 0, 30)
    for i in range(30):
        store.insert(src[i : i + 1], dst[i : i + 1], device.xp.ones(1, F32))
    store.delete(src[:25], dst[:25])
    outcome = store.insert(src, device.xp.ascontiguousarray(dst[::-1]), device.xp.full(30, 2, F32))
    assert device.to_numpy(outcome.status).tolist() == [REPLACED] * 5 + [NEW] * 25
    assert store.num_edges == 30
    store.check()


def test_heavy_vertex_without_hints_is_rehashed(device: Device) -> None:
    """The chains of a growing vertex stay short, whether it grows by large batches or by small ones."""
    for step in (37, 500, 40_000):
        store = SlabHashStore(50_000, device=device, slab_bytes=32)
        store.insert(*random_batch(store, 1, 100_000))
        for first in range(0, 40_000 if step > 100 else 4_000, step):
            store.insert(*star_batch(store, 7, first, first + step))
        store.check()
        degree, buckets = int(store.degrees()[7]), bucket_counts(store)[7]
        assert degree <= 2.5 * buckets * 7, f"{degree} edges in {buckets} buckets after batches of {step}"


def test_growth_without_hints(device: Device) -> None:
    """Batch after batch, chains stay short for all vertices and memory stays in proportion."""
    store = SlabHashStore(2_000, device=device)
    for seed in range(20):
        store.insert(*random_batch(store, seed, 4_000))
    store.check()
    per_edge = store.memory()["slabs"][0] / store.num_edges
    assert per_edge < 4 / 0.7 / 0.25
    store.compact()
    store.check()
    assert sum(size for _, size in store.memory().values()) / store.num_edges < 9


def test_tombstones_do_not_pile_up(device: Device) -> None:
    """A sliding window over one vertex: new keys go where old ones were."""
    store = SlabHashStore(100_000, device=device, slab_bytes=32)
    sizes = []
    for first in range(0, 60_000, 100):
        store.insert(*star_batch(store, 1, first, first + 100))
        if first >= 500:
            store.delete(*star_batch(store, 1, first - 500, first - 400))
        if first % 6_000 == 0:
            store.check()
            sizes.append(store.memory()["slabs"][0])
    assert store.num_edges == 500
    assert sizes[-1] <= 1.5 * max(sizes[:3])


@pytest.mark.parametrize("hashing", [True, False])
def test_colliding_keys_come_and_go(device: Device, hashing: bool) -> None:
    """All keys of a heavy vertex in one bucket, round after round: its chain grows no more, and nor does the pool."""
    store = SlabHashStore(200_000, device=device, slab_bytes=32, hashing=hashing)
    keys, rng = colliding(store, 150), np.random.default_rng(1)
    heavy, others = np.full(100, 5), np.arange(100, 110)
    store.insert(ids(store, heavy, others), ids(store, keys[:100], others))
    held, used = set(keys[:100].tolist()), None
    for _ in range(30):
        gone = rng.choice(sorted(held), 60, replace=False)
        store.delete(ids(store, heavy[:60]), ids(store, gone))
        new = rng.choice(sorted(set(keys.tolist()) - held), 50, replace=False)
        back = gone[:10]
        store.insert(ids(store, heavy[:60]), ids(store, new, back))
        held = held - set(gone.tolist()) | set(new.tolist()) | set(back.tolist())
        store.check()
        used = used or store.memory()["slabs"]
        assert store.memory()["slabs"] == used
        assert set(device.to_numpy(store.adjacency(ids(store, 5)).dst).tolist()) == held
    assert int(store.degrees()[5]) == 100


def test_colliding_keys_never_outrun_the_pool(device: Device) -> None:
    """Batch after batch, with tombstones, vertices that are rehashed, and a pool cut to what it takes."""
    store = SlabHashStore(100_000, device=device, slab_bytes=32, load_factor=0.4)
    keys, rng = colliding(store, 80), np.random.default_rng(5)
    for step in range(50):
        src, dst = rng.integers(0, 40, 400), rng.choice(keys, 400)
        spread = rng.random(400) < 0.3
        dst[spread] = rng.integers(0, store.num_vertices, int(spread.sum()))
        store.insert(ids(store, src), ids(store, dst))
        store.check()
        edges = store.edges()
        gone = ids(store, np.flatnonzero(rng.random(len(edges.src)) < 0.6))
        store.delete(edges.src[gone], edges.dst[gone])
        if step % 5 == 0:
            store.compact()
        store.check()


def test_tombstones_do_not_move(device: Device) -> None:
    """Neither to more buckets, when a vertex outgrows its own, nor when all storage is made again."""
    store = SlabHashStore(2000, device=device, slab_bytes=32)

    def tombstones() -> int:
        return int(np.count_nonzero(device.to_numpy(store.slabs.pool) == TOMBSTONE))

    store.insert(*star_batch(store, 7, 0, 60))
    store.delete(*star_batch(store, 7, 0, 40))
    before = bucket_counts(store)[7]
    assert tombstones() == 40
    store.insert(*star_batch(store, 7, 1000, 1400))
    assert bucket_counts(store)[7] > before
    assert tombstones() == 0
    store.delete(*star_batch(store, 7, 1000, 1200))
    assert tombstones() == 200
    store.compact()
    assert tombstones() == 0
    assert store.num_edges == 220
    store.check()


@pytest.mark.slow
@pytest.mark.parametrize("quota", [0, 20, 30, 40, 60, 70, 80, 200])
def test_rehashing_leaves_what_the_batch_needs(quota: int) -> None:
    """Slots that a batch was counted to use are gone when its vertex moves: the quota has to cover that as well."""
    hints = np.where(np.arange(200_000) < 20, 56, 0)  # four buckets of 14
    store = SlabHashStore(200_000, slab_bytes=32, load_factor=2.0, degree_hints=hints)
    groups = [colliding(store, 120, place) for place in (100, 350, 600, 850)]
    for group in groups:  # in turns, so that each chain has 13 slabs; the last one keeps its keys
        held = store.adjacency(ids(store, 5)).dst
        store.delete(np.full(len(held), 5, np.uint32), held)
        store.insert(ids(store, np.full(90, 5)), ids(store, group[:90]))
    assert bucket_counts(store)[5] == 4
    keys = np.concatenate([groups[3][90:], *(group[:90] for group in groups[:3])])
    batch = GuardedBatch(ids(store, np.full(len(keys), 5)), ids(store, keys), None, None)
    bump = int(store.slabs.counters[layout.BUMP])
    need = store.kernels.count_batch(store.slabs, bump, batch, fresh=False)
    assert need == 5  # 29 of the 300 edges do not fit into the chains that there are
    slabs = store.pool.grown(bump + need + quota + 1_000)
    store.pool.adopt(slabs)
    reservation, outcome = Reservation(len(keys), need + quota, quota, 0, 1), Outcome(np.zeros(len(keys), np.uint8))
    done = store.kernels.insert(slabs, batch, reservation, outcome, store.kernels.scratch(slabs, len(keys)))
    while done < len(keys):
        done = store.kernels.insert_rest(slabs, -1, outcome)
    store.check()
    assert int(store.slabs.counters[layout.BUMP]) <= bump + need + quota
    assert (bucket_counts(store)[5] > 4) == (quota >= 70)


def test_heads_say_whether_there_are_several_buckets(device: Device) -> None:
    """Whatever gives a vertex its buckets: hints, growth, compaction, deletion; and new vertices."""
    store = SlabHashStore(300, device=device, slab_bytes=32, degree_hints=np.arange(300) % 40)

    def several() -> int:
        heads, counts = head_words(store), bucket_counts(store)
        stored = heads != EMPTY
        assert np.array_equal(heads[stored] & SEVERAL != 0, counts[stored] > 1)
        store.check()
        return int((counts > 1).sum())

    assert several() > 200
    store.insert(*star_batch(store, 0, 0, 200))
    store.insert(*star_batch(store, 1, 0, 3))
    several()
    store.compact()
    assert several() == 1
    store.delete(*star_batch(store, 0, 2, 200))
    store.compact()
    assert several() == 0
    store.insert(*star_batch(store, 2, 0, 250))
    assert several() == 1
    store.delete_vertices(ids(store, 2))
    assert several() == 0
    store.resize(1_000)
    store.insert(*star_batch(store, 900, 0, 250))
    assert several() == 1


def test_deleted_vertices_leave_their_slabs_to_others(device: Device) -> None:
    store = SlabHashStore(1_000, device=device, slab_bytes=64)
    store.insert(*random_batch(store, 1, 20_000))
    store.insert(*random_batch(store, 2, 20_000))
    half = ids(store, np.arange(500))
    allocated = []
    for seed in range(3, 15):
        store.delete_vertices(half)
        store.check()
        assert int(store.degrees()[:500].sum()) == 0
        src, dst = random_batch(store, seed, 20_000)
        store.insert(src // 2, dst)
        store.check()
        allocated.append(store.memory()["slabs"][1])
    assert allocated[-1] <= 2 * allocated[0]  # a pool is repacked when half of it are holes


def test_last_duplicate_wins(device: Device) -> None:
    store = SlabHashStore(5, device=device, weight_dtype=F32)
    xp = device.xp
    outcome = store.insert(ids(store, [1, 1, 2, 1]), ids(store, [3, 3, 3, 3]), xp.array([1, 2, 3, 4], F32))
    assert device.to_numpy(outcome.status).tolist() == [UNCHANGED, UNCHANGED, NEW, NEW]
    outcome = store.insert(ids(store, [1, 2, 1]), ids(store, [3, 3, 3]), xp.array([9, 3, 5], F32))
    assert device.to_numpy(outcome.status).tolist() == [UNCHANGED, UNCHANGED, REPLACED]
    assert float(outcome.weight[2]) == 4
    outcome = store.delete(ids(store, [1, 1]), ids(store, [3, 3]))
    assert sorted(device.to_numpy(outcome.status).tolist()) == [UNCHANGED, REMOVED]


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_weights_are_compared_bit_for_bit(device: Device, dtype: np.dtype) -> None:
    """-0.0 replaces 0.0, and one subnormal number another; the old weight is what it was."""
    least = np.finfo(dtype).smallest_subnormal
    weights = np.array([0.0, -0.0, least, 2 * least, -least, 0.0], dtype)
    bits = weights.view(f"u{dtype.itemsize}")
    store = SlabHashStore(2, device=device, weight_dtype=dtype)
    edge = ids(store, 0), ids(store, 1)
    store.insert(*edge, device.xp.array(weights[:1]))
    for before, now in itertools.pairwise(bits):
        weight = device.xp.array(np.array([now]).view(dtype))
        outcome = store.insert(*edge, weight)
        assert int(outcome.status[0]) == REPLACED
        assert device.to_numpy(outcome.weight).view(bits.dtype)[0] == before
        assert device.to_numpy(store.edges().weight).view(bits.dtype)[0] == now
        assert int(store.insert(*edge, weight).status[0]) == UNCHANGED


def test_a_load_of_duplicates_takes_no_more_than_its_edges(device: Device) -> None:
    """A stream of events repeats edges: storage is sized for the edges that are left."""
    src, dst = random_batch(SlabHashStore(100, device=device), 1, 2_000)
    xp = device.xp
    once, often = (SlabHashStore(100, device=device, slab_bytes=64) for _ in range(2))
    once.insert(src, dst)
    once.compact()
    outcome = often.insert(xp.tile(src, 20), xp.tile(dst, 20))
    assert int((outcome.status == 1).sum()) == often.num_edges == once.num_edges
    assert often.memory()["slabs"] == once.memory()["slabs"]
    often.check()


@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_batches_of_a_heavy_vertex_with_duplicates(
    device: Device, weight_dtype: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges that wait until their vertex has more buckets are counted, inserted and weighted once."""
    if device.is_cuda:
        monkeypatch.setattr("suricate.backends.slabhash.cuda.CHAIN_LIMIT", 1)
    rng, model = np.random.default_rng(5), {}
    graph = Graph(3_000, backend="slabhash", device=device, weight_dtype=weight_dtype)
    for size in (10, 3_000, 50_000):
        src, dst, weight = rng.integers(0, 3_000, size), rng.integers(0, 3_000, size), rng.integers(1, 5, size)
        src[: 3 * size // 4] = 7
        before, keys = dict(model), list(zip(src.tolist(), dst.tolist(), strict=True))
        model.update(zip(keys, weight.tolist(), strict=True))
        batch = (device.xp.asarray(part) for part in (src, dst, weight)[: 2 if weight_dtype is None else 3])
        delta = graph.insert_edges(*batch)
        assert len(delta.inserted.src) == len(model) - len(before)
        changed = sum(model[key] != value for key, value in before.items())
        assert len(delta.replaced.src) == (0 if weight_dtype is None else changed)
        assert graph.num_edges == len(model)
        graph.check()
    edges = graph.edges()
    found = zip(device.to_numpy(edges.src).tolist(), device.to_numpy(edges.dst).tolist(), strict=True)
    weights = [1] * len(model) if edges.weight is None else device.to_numpy(edges.weight).tolist()
    expected = dict.fromkeys(model, 1) if weight_dtype is None else model
    assert dict(zip(found, weights, strict=True)) == expected


@pytest.mark.parametrize("batches", [1, 3])
def test_slabs_that_threads_took_ahead_are_free_again(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    monkeypatch.setattr("suricate.cpu.threads.GRAIN", 1000)
    graph, rng = Graph(40_000, backend="slabhash", device="cpu", threads=3), np.random.default_rng(3)
    expected = set()
    for turn in range(batches + 1):
        src, dst = rng.integers(0, 40_000, (2, 40_000))
        if turn == 0:
            src %= 100  # all others have no storage yet
        graph.insert_edges(src, dst)
        graph.reserve(80_000)
        expected |= set(zip(src.tolist(), dst.tolist(), strict=True))
        graph.check()
    assert 0 < graph.store("out").slabs.counters[FREED] < batches * threads.EACH * 3 * AHEAD
    assert set(zip(*(part.tolist() for part in graph.edges()[:2]), strict=True)) == expected


def test_vertices_outgrow_their_buckets_in_the_middle_of_batches() -> None:
    graph = Graph(50, backend="slabhash", device="cpu")
    graph.insert_edges(range(50), range(50))
    graph.insert_edges([0] * 48, range(2, 50))  # beyond what a small batch was sized for
    src, dst = np.divmod(np.arange(50 * 50), 50)
    for begin in range(0, 2500, 100):
        graph.insert_edges(src[begin : begin + 100], dst[begin : begin + 100])
    graph.check()
    assert graph.num_edges == 2500
    assert (graph.store("out").slabs.buckets > 1).any()
