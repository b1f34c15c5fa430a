"""The slab hash: its layout, chains, re-bucketing, reuse of slabs, memory; and the conformance kit over it."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from suricate.backends.slabhash import cursor, layout, programs
from suricate.backends.slabhash.cursor import bucket_of, decode, degree_place, head_place
from suricate.backends.slabhash.layout import FREED, LISTED_BIT, QUEUED_FLAG, SEVERAL
from suricate.backends.slabhash.store import LOOK_AFTER, Grant, SlabHashStore
from suricate.devices import CPU, Device, resolve_device
from suricate.errors import CapacityError, CheckFailed, VertexRangeError
from suricate.graph import Graph
from suricate.testing import STEPS, ModelledStore, StoreConformance
from suricate.types import EMPTY, NEW, REMOVED, REPLACED, TOMBSTONE, UNCHANGED

F32, F64 = np.dtype("float32"), np.dtype("float64")


class TestConformance(StoreConformance):
    backend = SlabHashStore
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceWithoutHashing(StoreConformance):
    backend = SlabHashStore
    options = {"slab_bytes": 32, "hashing": False}  # noqa: RUF012
    weight_dtypes = (None, "float64")
    examples = 8
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceWithOverfullBuckets(StoreConformance):
    backend = SlabHashStore
    options = {"slab_bytes": 32, "load_factor": 6.0}  # noqa: RUF012
    weight_dtypes = (None, "float32")
    examples = 8
    cuda_marks = (pytest.mark.gpu,)


@pytest.mark.parametrize("slab_bytes", layout.SLAB_BYTES)
@pytest.mark.parametrize("hashing", [True, False])
@pytest.mark.parametrize("dtype", [None, F32, F64], ids=str)
def test_random_operations_with_few_vertices(
    device: Device, slab_bytes: int, hashing: bool, dtype: np.dtype | None
) -> None:
    @settings(max_examples=6)
    @given(num_vertices=st.sampled_from((1, 3, 200)), steps=STEPS)
    def run(num_vertices: int, steps: list[Any]) -> None:
        options = {"slab_bytes": slab_bytes, "hashing": hashing}
        model = ModelledStore(SlabHashStore(num_vertices, device=device, weight_dtype=dtype, **options), walks=False)
        for step in steps:
            model.step(*step)

    run()


def ids(store: SlabHashStore, *values: Any) -> Any:
    return store.device.xp.array(np.concatenate([np.atleast_1d(v) for v in values]), np.uint32)


def hub_batch(store: SlabHashStore, source: int, first: int, last: int) -> tuple[Any, Any]:
    xp = store.device.xp
    return xp.full(last - first, source, np.uint32), xp.arange(first, last, dtype=np.uint32)


def random_batch(store: SlabHashStore, seed: int, size: int) -> tuple[Any, Any]:
    pairs = np.random.default_rng(seed).integers(0, store.num_vertices, (2, size))
    return tuple(store.device.xp.array(part, np.uint32) for part in pairs)


def colliding(store: SlabHashStore, size: int, place: int = 0) -> np.ndarray:
    """Return keys that share a bucket wherever there are 1024 or fewer; ``place`` is which of 1024 that is."""
    keys = np.flatnonzero(bucket_of.py_func(np.arange(store.num_vertices), 1024) == place)
    assert len(keys) >= size
    return keys[:size]


def head_words(store: SlabHashStore) -> np.ndarray:
    return store.device.to_numpy(store.slabs.vertex)[: 2 * store.num_vertices : 2]


def first_slabs(store: SlabHashStore) -> np.ndarray:
    """Return the first slab of each vertex."""
    words = head_words(store)
    return np.where(words == EMPTY, words, words & np.uint32(SEVERAL - 1))


def bucket_counts(store: SlabHashStore) -> np.ndarray:
    """Return the number of buckets of each vertex."""
    codes = store.device.to_numpy(store.slabs.buckets)[: store.num_vertices]
    return np.array([decode.py_func(code) for code in codes])


def pairs_of(edges: Any, device: Device) -> set[tuple[int, int]]:
    """Return edges as pairs; there are no duplicates."""
    src, dst = device.to_numpy(edges.src), device.to_numpy(edges.dst)
    pairs = set(zip(src.tolist(), dst.tolist(), strict=True))
    assert len(pairs) == len(src)
    return pairs


def test_geometry() -> None:
    """Keys, next pointer and weights share a slab as documented."""
    expected = {
        (32, None): (7, 0), (64, None): (15, 0), (128, None): (31, 0),
        (32, F32): (3, 4), (64, F32): (7, 8), (128, F32): (15, 16),
        (32, F64): (2, 4), (64, F64): (5, 6), (128, F64): (10, 12),
    }  # fmt: skip
    for (slab_bytes, dtype), (keys, offset) in expected.items():
        shape = layout.geometry(slab_bytes, dtype)
        assert shape.keys == keys
        if dtype is not None:
            assert shape.weight_offset == offset
            assert offset + keys * shape.weight_words <= shape.words
            assert offset % shape.weight_words == 0
        assert 4 * shape.lanes > shape.keys  # the lanes load the next pointer as well
        assert shape.lanes in (1, 2, 4, 8)


def test_bucket_codes() -> None:
    """A code stands for at least the count it was made of, exactly below 64, and for little more above."""
    from suricate.backends.slabhash.cpu import encode

    for count in [*range(1, 5000), 10**5, 2**20 - 1, 2**20, 2**20 + 1, 67_000_000]:
        code = encode(count)
        assert 0 < code < 1 << 10
        assert count <= decode(code) <= count * (1 if count < 64 else 1 + 2 / 64)


def test_width_by_the_first_bulk_load(device: Device) -> None:
    """Without hints the first batch decides, if it is a bulk load; afterwards the width stays."""
    for edges, width in ((100, 64), (1_999, 64), (2_000, 32), (12_000, 64)):
        store = SlabHashStore(1_000, device=device)
        store.insert(*random_batch(store, 1, edges))
        assert store.slab_bytes == width, edges
        store.insert(*random_batch(store, 2, 3_000))
        assert store.slab_bytes == width
        store.check()
    store = SlabHashStore(1_000, device=device, slab_bytes=64)
    store.insert(*random_batch(store, 1, 2_000))
    assert store.slab_bytes == 64


def test_width_by_expected_degree() -> None:
    n = 1000
    assert SlabHashStore(n).slab_bytes == 64
    assert SlabHashStore(n, degree_hints=np.full(n, 4)).slab_bytes == 32
    assert SlabHashStore(n, degree_hints=np.full(n, 16)).slab_bytes == 64
    assert SlabHashStore(n, degree_hints=np.full(n, 2000)).slab_bytes == 128
    assert SlabHashStore(n, degree_hints=np.full(n, 3), weight_dtype=F64).slab_bytes == 64
    assert SlabHashStore(n, degree_hints=np.full(n, 4), weight_dtype=F64).slab_bytes == 128
    assert SlabHashStore(n, weight_dtype=F64).slab_bytes == 128
    assert SlabHashStore(n, degree_hints=np.full(n, 4), slab_bytes=128).slab_bytes == 128


@pytest.mark.parametrize(
    "options", [{"slab_bytes": 16}, {"slab_bytes": "wide"}, {"load_factor": 0}, {"load_factor": 99}]
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        SlabHashStore(4, **options)


def test_heads_are_contiguous_and_sized_by_hints(device: Device) -> None:
    hints = np.array([0, 1, 14, 0, 30, 1])
    store = SlabHashStore(6, device=device, degree_hints=hints, slab_bytes=32, load_factor=0.7)
    assert bucket_counts(store).tolist() == [1, 1, 3, 1, 7, 1]
    assert first_slabs(store).tolist() == [EMPTY, 0, 1, EMPTY, 4, 11]
    assert store.memory()["slabs"] == (12 * 32, 12 * 32)


def test_vertices_without_edges_take_no_slab(device: Device) -> None:
    store = SlabHashStore(10_000, device=device)
    assert store.memory()["slabs"] == (0, 0)
    store.insert(ids(store, 5), ids(store, 6))
    assert store.memory()["slabs"][0] == store.slab_bytes
    store.check()


def test_a_key_takes_the_first_free_slot(device: Device) -> None:
    """One bucket: keys fill slot after slot, and new ones the tombstones in front of the tail."""
    store = SlabHashStore(100, device=device, slab_bytes=32, hashing=False)
    store.insert(*hub_batch(store, 3, 0, 20))
    assert store.memory()["slabs"][0] == 3 * 32
    store.delete(*hub_batch(store, 3, 0, 7))

    def words() -> np.ndarray:
        return device.to_numpy(store.slabs.pool).reshape(-1, 8)[:3, :7].ravel()

    holes = np.flatnonzero(words() == TOMBSTONE)
    assert len(holes) == 7
    for key, hole in zip(range(50, 57), holes, strict=True):
        store.insert(*hub_batch(store, 3, key, key + 1))
        assert words()[hole] == key
    store.insert(*hub_batch(store, 3, 60, 61))
    assert sorted(words().tolist()) == [*range(7, 20), *range(50, 57), 60]
    assert store.memory()["slabs"][0] == 3 * 32
    store.check()


def test_an_edge_behind_a_tombstone_is_found(device: Device) -> None:
    """A free slot is no reason to stop: the key may be further down its chain."""
    store = SlabHashStore(100, device=device, slab_bytes=32, hashing=False, weight_dtype=F32)
    src, dst = hub_batch(store, 3, 0, 30)
    for i in range(30):
        store.insert(src[i : i + 1], dst[i : i + 1], device.xp.ones(1, F32))
    store.delete(src[:25], dst[:25])
    outcome = store.insert(src, device.xp.ascontiguousarray(dst[::-1]), device.xp.full(30, 2, F32))
    assert device.to_numpy(outcome.status).tolist() == [REPLACED] * 5 + [NEW] * 25
    assert store.num_edges == 30
    store.check()


def test_hub_without_hints_is_rebucketed(device: Device) -> None:
    """The chains of a growing vertex stay short, whether it grows by large batches or by small ones."""
    for step in (37, 500, 40_000):
        store = SlabHashStore(50_000, device=device, slab_bytes=32)
        store.insert(*random_batch(store, 1, 100_000))
        for first in range(0, 40_000 if step > 100 else 4_000, step):
            store.insert(*hub_batch(store, 7, first, first + step))
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
        store.insert(*hub_batch(store, 1, first, first + 100))
        if first >= 500:
            store.delete(*hub_batch(store, 1, first - 500, first - 400))
        if first % 6_000 == 0:
            store.check()
            sizes.append(store.memory()["slabs"][0])
    assert store.num_edges == 500
    assert sizes[-1] <= 1.5 * max(sizes[:3])


@pytest.mark.parametrize("hashing", [True, False])
def test_colliding_keys_come_and_go(device: Device, hashing: bool) -> None:
    """All keys of a hub in one bucket, round after round: its chain grows no more, and nor does the pool."""
    store = SlabHashStore(200_000, device=device, slab_bytes=32, hashing=hashing)
    keys, rng = colliding(store, 150), np.random.default_rng(1)
    hub, others = np.full(100, 5), np.arange(100, 110)
    store.insert(ids(store, hub, others), ids(store, keys[:100], others))
    held, used = set(keys[:100].tolist()), None
    for _ in range(30):
        gone = rng.choice(sorted(held), 60, replace=False)
        store.delete(ids(store, hub[:60]), ids(store, gone))
        new = rng.choice(sorted(set(keys.tolist()) - held), 50, replace=False)
        back = gone[:10]
        store.insert(ids(store, hub[:60]), ids(store, new, back))
        held = held - set(gone.tolist()) | set(new.tolist()) | set(back.tolist())
        store.check()
        used = used or store.memory()["slabs"]
        assert store.memory()["slabs"] == used
        assert set(device.to_numpy(store.adjacency(ids(store, 5)).dst).tolist()) == held
    assert int(store.degrees()[5]) == 100


def test_colliding_keys_never_outrun_the_pool(device: Device) -> None:
    """Batch after batch, with tombstones, vertices that are re-bucketed, and a pool cut to what it takes."""
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


@pytest.mark.parametrize("quota", [0, 20, 30, 40, 60, 70, 80, 200])
def test_rebuckets_leave_what_the_batch_needs(quota: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
    batch = ids(store, np.full(len(keys), 5)), ids(store, keys)
    bump = int(store.slabs.counters[layout.BUMP])
    need = store.kernels.count_slabs(store.slabs, bump, *batch, None, False)
    assert need == 5  # 29 of the 300 edges do not fit into the chains that there are
    store.slabs = store._resized(bump + need + quota + 1_000)
    monkeypatch.setattr(store, "more_quota", lambda edges, need: (-1, need))
    grant = Grant(len(keys), need, quota, least=need + quota, ample=need + quota)
    store.kernels.insert(*batch, None, None, grant, np.zeros(len(keys), np.uint8), None)
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
    store.insert(*hub_batch(store, 0, 0, 200))
    store.insert(*hub_batch(store, 1, 0, 3))
    several()
    store.compact()
    assert several() == 1
    store.delete(*hub_batch(store, 0, 2, 200))
    store.compact()
    assert several() == 0
    store.insert(*hub_batch(store, 2, 0, 250))
    assert several() == 1
    store.delete_vertices(ids(store, 2))
    assert several() == 0
    store.resize(1_000)
    store.insert(*hub_batch(store, 900, 0, 250))
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


def test_updated_survives_rebucketing(device: Device) -> None:
    """What was inserted since the mark is known although its vertex moved, and although the pool grew."""
    store = SlabHashStore(30_000, device=device, slab_bytes=32)
    store.insert(*hub_batch(store, 1, 0, 50))
    store.mark()
    wanted = set()
    for first in range(50, 20_000, 997):
        store.insert(*hub_batch(store, 1, first, first + 997))
        wanted |= set(range(first, first + 997))
    store.check()
    updated = store.updated()
    assert len(updated.dst) == len(wanted)
    assert set(device.to_numpy(updated.dst).tolist()) == wanted
    store.compact()
    assert set(device.to_numpy(store.updated().dst).tolist()) == wanted
    store.mark()
    assert len(store.updated().src) == 0
    store.insert(*hub_batch(store, 2, 5, 9))
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
    insert(*hub_batch(store, 7, 0, 250))
    store.delete(*random_batch(store, 2, 200))
    store.delete_vertices(ids(store, 9, 11))
    found = np.zeros((5_000, 2), np.int64)
    met = found[: walk_updated(store.view().data, found)].tolist()
    assert len(met) > 500
    assert sorted(map(tuple, met)) == sorted(pairs_of(store.updated(), CPU))
    assert cursor.segment_owner(store.view().data, store.slabs.capacity - 1) == EMPTY


def test_no_cost_of_marks_without_a_mark(device: Device) -> None:
    store = SlabHashStore(10, device=device)
    store.insert(*random_batch(store, 1, 30))
    assert "marks" not in store.memory()
    assert len(store.slabs.fresh) == 0
    store.mark()
    assert "marks" in store.memory()


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


def test_weights_are_compared_bit_for_bit(device: Device) -> None:
    store = SlabHashStore(2, device=device, weight_dtype=F64)
    edge = ids(store, 0), ids(store, 1)
    store.insert(*edge, device.xp.array([0.0]))
    outcome = store.insert(*edge, device.xp.array([-0.0]))
    assert int(outcome.status[0]) == REPLACED


def test_bytes_per_edge_of_a_grid(device: Device) -> None:
    """A road-like graph with degree hints: at most 12 bytes per edge, everything included."""
    side = 300
    at = np.arange(side * side).reshape(side, side)
    pairs = [(at[:, 1:], at[:, :-1]), (at[1:], at[:-1])]
    src = np.concatenate([np.concatenate([a.ravel(), b.ravel()]) for a, b in pairs]).astype(np.uint32)
    dst = np.concatenate([np.concatenate([b.ravel(), a.ravel()]) for a, b in pairs]).astype(np.uint32)
    hints = np.bincount(src, minlength=side * side)
    store = SlabHashStore(side * side, device=device, degree_hints=hints)
    store.insert(device.xp.array(src), device.xp.array(dst))
    assert store.num_edges == len(src)
    assert sum(allocated for _, allocated in store.memory().values()) / len(src) <= 12


def test_bytes_per_edge_of_a_skewed_graph(device: Device) -> None:
    n, rng = 1 << 14, np.random.default_rng(3)
    src = (n * rng.random(16 * n) ** 3).astype(np.uint32)
    keys = np.unique(src.astype(np.uint64) << np.uint64(32) | rng.integers(0, n, len(src)).astype(np.uint64))
    src, dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    hints = np.bincount(src, minlength=n)
    store = SlabHashStore(n, device=device, degree_hints=hints)
    store.insert(device.xp.array(src), device.xp.array(dst))
    assert sum(allocated for _, allocated in store.memory().values()) / len(src) <= 11


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

    monkeypatch.setattr(store, "_filled", fail)
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


def test_reserve_makes_room(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """After reserve() so many edges need no memory, even if there is none."""
    store = SlabHashStore(300, device=device)
    store.insert(*random_batch(store, 1, 10))
    store.reserve(5_000)

    def fail(*_: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(store, "_filled", fail)
    for seed in range(2, 7):
        store.insert(*random_batch(store, seed, 900))
        store.check()


def test_copy_has_the_same_arrays(device: Device) -> None:
    store = SlabHashStore(40, device=device, slab_bytes=32, weight_dtype=F64)
    src, dst = random_batch(store, 1, 500)
    store.insert(src, dst, device.xp.arange(500, dtype=F64))
    store.mark()
    store.insert(dst, src, device.xp.arange(500, dtype=F64))
    copy = store.copy_to(CPU)
    for name, part in store.slabs._asdict().items():
        assert np.array_equal(part if isinstance(part, int) else device.to_numpy(part), getattr(copy.slabs, name)), name
    copy.delete_vertices(np.arange(40, dtype=np.uint32))
    store.check()
    assert store.num_edges > 0


def slot_of(store: SlabHashStore, u: int) -> int:
    return int(first_slabs(store)[u]) * store.slabs.words


def put(array: str, at: int, value: int) -> Any:
    """Return what sets a word of an array of a store."""
    return lambda store: getattr(store.slabs, array).__setitem__(at, value)


CORRUPTIONS = {
    "degree": put("vertex", degree_place.py_func(1), 77),
    "owner": lambda store: store.slabs.owner.__setitem__(first_slabs(store)[1], 2),
    "tail": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1), EMPTY),
    "range": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1), 5_000),
    "once": lambda store: store.slabs.pool.__setitem__(slot_of(store, 3) + 1, store.slabs.pool[slot_of(store, 3)]),
    "cycle": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1) + store.slabs.keys, first_slabs(store)[1]),
    "clean": put("pool", -3, 1),
    "leak": put("owner", -1, 1),
    "counters": put("counters", layout.FREED, 3),
    "bump": put("counters", layout.BUMP, 10**6),
    "lost": put("vertex", head_place.py_func(1), EMPTY),
    "queued": put("buckets", 1, QUEUED_FLAG | 1),
    "several": lambda store: store.slabs.vertex.__setitem__(2, store.slabs.vertex[2] | np.uint32(SEVERAL)),
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
        store.insert(*hub_batch(store, u, 0, 20))
    store.mark()
    store.insert(*hub_batch(store, 1, 20, 22))  # the last slot of slab 2, and a new slab
    store.reserve(10)
    store.check()
    CORRUPTIONS[what](store)
    with pytest.raises(CheckFailed):
        store.check()


def test_check_finds_a_mark_on_an_empty_slot() -> None:
    store = SlabHashStore(200, slab_bytes=32)
    store.mark()
    store.insert(*hub_batch(store, 1, 0, 2))
    slab = first_slabs(store)[1]
    store.slabs.fresh[slab] |= np.uint32(1 << 2)
    with pytest.raises(CheckFailed, match="filled"):
        store.check()
    store.slabs.fresh[slab] = LISTED_BIT
    store.check()


def test_check_finds_a_key_in_the_wrong_bucket() -> None:
    store = SlabHashStore(200, slab_bytes=32, degree_hints=np.full(200, 40))
    store.insert(*hub_batch(store, 1, 0, 1))
    words = store.slabs.pool.reshape(-1, 8)
    row = np.flatnonzero(words[:, 0] == 0)[0]
    words[row, 0] = EMPTY
    words[row - 1 if row > first_slabs(store)[1] else row + 1, 0] = 0
    with pytest.raises(CheckFailed, match="hash"):
        store.check()


@pytest.mark.parametrize("dtype", [None, F32, F64], ids=str)
def test_cuda_sources_are_complete(dtype: np.dtype | None) -> None:
    """Every kernel that is launched is in the sources; they can be assembled without CuPy."""
    text = "\n".join(program.text for program in programs.programs(SlabHashStore(4, weight_dtype=dtype)))
    launches = re.findall(r'(?:_launch|_plan)\("(\w+)"', (programs.HERE / "cuda.py").read_text())
    kernels = re.findall(r"__global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(", text)
    assert len(launches) > 12
    assert {"insert", "erase", "find"} <= set(launches)
    assert set(launches) <= set(kernels)


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
def test_hub_batches_with_duplicates(device: Device, weight_dtype: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.gpu
@pytest.mark.parametrize("taken_by", [{"CHUNK_FROM": 1}, {"SMALL_SHARE": 0}], ids=["warps", "lanes"])
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_lanes_race_to_start_a_vertex(
    weight_dtype: str | None, taken_by: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With slabs taken in advance the first edge of a vertex is counted with its head: once, whoever inserts it."""
    for name, value in taken_by.items():
        monkeypatch.setattr(f"suricate.backends.slabhash.cuda.{name}", value)
    n, size, rng = 2_000, 20_000, np.random.default_rng(3)
    hints = np.where(np.arange(n) % 2, 40, 0)  # room on odd vertices, nothing on even ones
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
        assert int(graph.store().slabs.counters[FREED]) > 0  # what was taken in advance in vain
        graph.delete_vertices(even)
        dst[-1] = n
        with pytest.raises(VertexRangeError):
            graph.insert_edges(xp.asarray(src), xp.asarray(dst), None if weight_dtype is None else 1)
        graph.check()


@pytest.mark.gpu
@pytest.mark.parametrize("checks", ["eager", "deferred"])
def test_slabs_are_granted_once(checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the host has not heard of a batch, its slabs count as used; small batches may take them in advance."""
    monkeypatch.setattr("suricate.backends.slabhash.cuda.SMALL_SHARE", 1)
    n, rng = 5_000, np.random.default_rng(5)
    graph = Graph(n, backend="slabhash", device="cuda", checks=checks, slab_bytes=32)
    graph.reserve(2_000)
    store, model = graph.store(), set()
    assert isinstance(store, SlabHashStore)
    monkeypatch.setattr(store.kernels, "refresh", lambda: None)
    rooms = []
    for _ in range(60):
        src, dst = rng.integers(0, n, (2, 100))
        graph.insert_edges(*map(graph.device.xp.asarray, (src, dst)))
        model.update(zip(src.tolist(), dst.tolist(), strict=True))
        rooms.append(store._room)
        counters = graph.device.to_numpy(store.slabs.counters).astype(int)
        listed = max(0, counters[layout.LISTED] - counters[layout.TAKEN])
        assert store._room <= store.slabs.capacity - counters[layout.BUMP] + listed
    assert min(np.diff(rooms)) < 0 < max(np.diff(rooms))  # granted, and read where that was not enough
    graph.check()
    assert pairs_of(graph.edges(), graph.device) == model


@pytest.mark.gpu
@pytest.mark.parametrize("spread", [1, 7, 64, 1000])
def test_what_a_small_batch_takes_in_advance(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one slab per edge, and what its edges fill: also where every second one extends a chain that is full."""
    monkeypatch.setattr("suricate.backends.slabhash.cuda.SMALL_SHARE", 0)
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
        before, room = int(store.slabs.counters[layout.BUMP]), store._room
        graph.insert_edges(xp.asarray(src[order]), xp.asarray(dst[order]))
        taken = int(store.slabs.counters[layout.BUMP]) - before
        assert half < taken <= min(room - store._room, 2 * half + 2 * half // keys + 1)
        graph.delete_edges(xp.asarray(src[order]), xp.asarray(dst[order]))
        graph.delete_vertices(xp.arange(half, n))
        graph.compact()
        graph.reserve(20 * half)
    graph.check()


@pytest.mark.gpu
def test_counters_are_looked_at_now_and_then() -> None:
    """With slabs in abundance no batch needs to know the counters, but what re-buckets lack must not stay unnoticed."""
    graph = Graph(1_000, backend="slabhash", device="cuda")
    graph.reserve(500_000)
    store, ids = graph.store(), graph.device.xp.arange(100)
    assert isinstance(store, SlabHashStore)
    behind = []
    for shift in range(3 * LOOK_AFTER):
        graph.insert_edges(ids, ids + shift)
        behind.append(store.kernels.behind)
    assert LOOK_AFTER // 2 < max(behind) <= LOOK_AFTER + 2


def test_growth_by_large_batches_makes_room_ahead(device: Device) -> None:
    """A growing graph sizes all buckets anew now and then, not with every batch; one that only churns does not."""
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
    assert lasting_bytes(store) <= 2.2 * allocated


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
def test_what_is_laid_aside_counts() -> None:
    """Memory for the copies of the next batch is reported, within ``memory_limit``, and given back."""
    taken = []
    for limit in (None, 60_000):
        graph = Graph(500, backend="slabhash", device="cuda", memory_limit=limit)
        ids = graph.device.xp.arange(500)
        for shift in range(4):
            graph.insert_edges(ids, (ids + shift) % 500)
        taken.append(graph.memory_usage().parts["out.scratch"][1])
        assert limit is None or graph.memory_usage().allocated <= limit
        graph.compact()
        assert graph.memory_usage().parts["out.scratch"] == (0, 0)
    assert taken[0] > taken[1]


@pytest.mark.gpu
def test_a_refusal_is_forgotten_by_a_copy() -> None:
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
    """Memory is laid aside for the next batch: never that of a delta that somebody still has."""
    graph = Graph(1_000, backend="slabhash", device="cuda")
    xp = graph.device.xp
    ids = [xp.arange(first, first + 50) for first in range(0, 500, 50)]
    inserted = [graph.insert_edges(src, src) for src in ids]
    deleted = [graph.delete_edges(src, src) for src in ids]
    for src, new, gone in zip(ids, inserted, deleted, strict=True):
        assert sorted(new.inserted.dst.tolist()) == sorted(gone.deleted.src.tolist()) == src.tolist()
