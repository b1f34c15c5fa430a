"""The slab hash: its layout, chains, re-bucketing, reuse of slabs, memory; and the conformance kit over it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suricate.backends.slabhash import cuda, layout
from suricate.backends.slabhash.store import SlabHashStore
from suricate.devices import CPU, Device
from suricate.errors import CapacityError, CheckFailed
from suricate.store import EMPTY, NEW, REMOVED, REPLACED, TOMBSTONE, UNCHANGED
from suricate.testing import STEPS, ModelledStore, StoreConformance

F32, F64 = np.dtype("float32"), np.dtype("float64")


class TestConformance(StoreConformance):
    engine = SlabHashStore
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceWithoutHashing(StoreConformance):
    engine = SlabHashStore
    options = {"slab_bytes": 32, "hashing": False}  # noqa: RUF012
    weight_dtypes = (None, "float64")
    examples = 8
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceWithOverfullBuckets(StoreConformance):
    engine = SlabHashStore
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
    """A code stands for at least the count it was made of, exactly below 2048, and hardly more above."""
    from suricate.backends.slabhash.cpu import encode
    from suricate.backends.slabhash.cursor import decode

    for count in [*range(1, 5000), 10**5, 2**20 - 1, 2**20, 2**20 + 1, 67_000_000]:
        code = encode(count)
        assert 0 < code < 1 << 15
        assert count <= decode(code) <= count * (1 if count < 2048 else 1.001)


def test_width_by_the_first_bulk_load(device: Device) -> None:
    """Without hints the first batch decides, if it is a bulk load; afterwards the width stays."""
    for edges, width in ((100, 64), (1_000, 32), (2_000, 32), (12_000, 64)):
        store = SlabHashStore(1_000, device=device)
        store.insert(*random_batch(store, 1, edges))
        assert store.slab_bytes == width, edges
        store.insert(*random_batch(store, 2, 3_000))
        assert store.slab_bytes == width
        store.check()
    store = SlabHashStore(1_000, device=device, slab_bytes=64)
    store.insert(*random_batch(store, 1, 1_000))
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
    first, buckets = (device.to_numpy(part) for part in (store.slabs.first_slab, store.slabs.buckets))
    assert buckets.tolist() == [1, 1, 3, 1, 7, 1]
    assert first.tolist() == [EMPTY, 0, 1, EMPTY, 4, 11]
    assert store.memory()["slabs"] == (12 * 32, 12 * 32)


def test_vertices_without_edges_take_no_slab(device: Device) -> None:
    store = SlabHashStore(10_000, device=device)
    assert store.memory()["slabs"] == (0, 0)
    store.insert(ids(store, 5), ids(store, 6))
    assert store.memory()["slabs"][0] == store.slab_bytes
    store.check()


def test_chains_grow_in_order_and_keep_holes(device: Device) -> None:
    """One bucket: keys fill slot after slot, tombstones stay, new keys go to the tail."""
    store = SlabHashStore(100, device=device, slab_bytes=32, hashing=False)
    store.insert(*hub_batch(store, 3, 0, 20))
    assert store.memory()["slabs"][0] == 3 * 32
    store.delete(*hub_batch(store, 3, 0, 7))
    store.insert(*hub_batch(store, 3, 50, 51))
    words = device.to_numpy(store.slabs.pool).reshape(-1, 8)[:3, :7]
    assert (words == TOMBSTONE).sum() == 7
    assert (words == EMPTY).sum() == 0
    assert sorted(words[words < TOMBSTONE].tolist()) == [*range(7, 20), 50]
    store.check()


def test_hub_without_hints_is_rebucketed(device: Device) -> None:
    """The chains of a growing vertex stay short, whether it grows by large batches or by small ones."""
    for step in (37, 500, 40_000):
        store = SlabHashStore(50_000, device=device, slab_bytes=32)
        store.insert(*random_batch(store, 1, 100_000))
        for first in range(0, 40_000 if step > 100 else 4_000, step):
            store.insert(*hub_batch(store, 7, first, first + step))
        store.check()
        degree, code = int(store.degrees()[7]), int(store.slabs.buckets[7])
        buckets = (code & 0x7FF) << (code >> 11)
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
    """A sliding window over one vertex: chains are flushed by themselves."""
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
    assert sizes[-1] <= 4 * max(sizes[:3])


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
    assert allocated[-1] <= 1.6 * allocated[0]


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


def test_no_cost_of_marks_without_a_mark(device: Device) -> None:
    store = SlabHashStore(10, device=device)
    store.insert(*random_batch(store, 1, 30))
    assert "marks" not in store.memory()
    assert len(store.slabs.stamp) == 0
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
    return int(store.slabs.first_slab[u]) * store.slabs.words


CORRUPTIONS = {
    "degree": lambda store: store.slabs.degree.__setitem__(1, 77),
    "owner": lambda store: store.slabs.owner.__setitem__(int(store.slabs.first_slab[1]), 2),
    "tail": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1), EMPTY),
    "range": lambda store: store.slabs.pool.__setitem__(slot_of(store, 1), 5_000),
    "once": lambda store: store.slabs.pool.__setitem__(slot_of(store, 3) + 1, store.slabs.pool[slot_of(store, 3)]),
    "cycle": lambda store: store.slabs.pool.__setitem__(
        slot_of(store, 1) + store.slabs.keys, store.slabs.first_slab[1]
    ),
    "clean": lambda store: store.slabs.pool.__setitem__(-3, 1),
    "leak": lambda store: store.slabs.owner.__setitem__(-1, 1),
    "counters": lambda store: store.slabs.counters.__setitem__(layout.FREED, 3),
    "bump": lambda store: store.slabs.counters.__setitem__(layout.BUMP, 10**6),
    "lost": lambda store: store.slabs.first_slab.__setitem__(1, EMPTY),
    "queued": lambda store: store.slabs.buckets.__setitem__(1, 0x8001),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_check_finds_corruption(what: str) -> None:
    store = SlabHashStore(200, slab_bytes=32, hashing=False)
    for u in (1, 3):
        store.insert(*hub_batch(store, u, 0, 20))
    store.reserve(10)
    store.check()
    CORRUPTIONS[what](store)
    with pytest.raises(CheckFailed):
        store.check()


def test_check_finds_a_key_in_the_wrong_bucket() -> None:
    store = SlabHashStore(200, slab_bytes=32, degree_hints=np.full(200, 40))
    store.insert(*hub_batch(store, 1, 0, 1))
    words = store.slabs.pool.reshape(-1, 8)
    row = np.flatnonzero(words[:, 0] == 0)[0]
    words[row, 0] = EMPTY
    words[row - 1 if row > store.slabs.first_slab[1] else row + 1, 0] = 0
    with pytest.raises(CheckFailed, match="hash"):
        store.check()


@pytest.mark.parametrize("dtype", [None, F32, F64], ids=str)
def test_cuda_sources_are_complete(dtype: np.dtype | None) -> None:
    """Every kernel that is launched is in the sources; they can be assembled without CuPy."""
    programs = cuda.programs(SlabHashStore(4, weight_dtype=dtype))
    text = "\n".join(program.text for program in programs)
    launches = (layout_file := cuda.HERE / "cuda.py").read_text()
    assert layout_file.is_file()
    for name in ("claim_last", "insert", "settle", "erase", "find", "count_sources", "plan_buckets", "place_heads",
                 "count_edges", "sum_slabs", "move_edges", "free_vertices", "list_free", "gather", "gather_all",
                 "gather_touched"):  # fmt: skip
        assert f'"{name}"' in launches
        assert f" {name}(" in text or f"\n{name}(" in text, name
