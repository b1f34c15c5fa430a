"""Trimming: what deletions have left behind is freed, and everything else stays as it was."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from emulated import GXX, EmulatedArray, launch
from slabhash_cases import F64, bucket_counts, head_words, ids, star_batch

from suricate.backends.slabhash import ledger as ledger_module
from suricate.backends.slabhash.cpu import CpuKernels
from suricate.backends.slabhash.layout import Slabs, geometry
from suricate.backends.slabhash.ledger import DELETIONS_PER_SLAB, TRIMMED_AT_ONCE, Arrived, Ledger
from suricate.backends.slabhash.programs import BLOCK, VIEW, backend_programs
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import resolve_device
from suricate.base.types import EMPTY
from suricate.errors import CapacityError
from suricate.graph import Graph

MANY_BUCKETS, TRIM_LIST = 64, 1 + 2048 * 5  # of trim.cu, and of its list
EMULATED = pytest.param("cuda", marks=pytest.mark.skipif(GXX is None, reason="g++ is not installed"))


@pytest.fixture(params=["cpu", EMULATED])
def trimmed_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The code that trims: that of the CPU, or the CUDA kernels, run on the CPU over the same arrays."""
    if request.param == "cuda":
        monkeypatch.setattr(CpuKernels, "trim", trim_by_kernels)
    return request.param


def trim_by_kernels(kernels: CpuKernels, slabs: Slabs, quota: int, begin: int, end: int) -> None:
    """Stands for ``CpuKernels.trim``; see ``CudaKernels.trim``."""
    arrays = Slabs(*(part.view(EmulatedArray) if isinstance(part, np.ndarray) else part for part in slabs))
    shape = geometry(4 * slabs.words, np.dtype(f"V{4 * slabs.weight_words}") if slabs.weight_words else None)
    code, view, part = backend_programs(shape)["trim.cu"], VIEW.pack(arrays), (np.int64(begin), np.int64(end))
    numbers = np.float64(kernels._per_bucket), np.uint32(quota)
    listed = np.zeros(TRIM_LIST, np.uint32).view(EmulatedArray)
    launch(code, "trim_vertices", end - begin, view, *numbers, listed, *part, block=BLOCK)
    launch(code, "trim_listed", 4 * BLOCK, view, listed, block=BLOCK)
    launch(code, "trim_chains", end - begin, view, listed, *part, block=BLOCK)
    assert listed[0] == 0


def trim(store: SlabHashStore, quota: int = 1 << 20) -> None:
    """Trim all slabs."""
    store.kernels.trim(store.slabs, quota, 0, store.supply.ledger.capacity - store.supply.ledger.space)
    store.supply.read()
    store.check()


def test_a_vertex_without_edges_gives_up_its_storage(trimmed_by: str) -> None:
    store = SlabHashStore(1000, slab_bytes=32)
    batches = [star_batch(store, v, 0, size) for v, size in ((3, 5), (4, 300))]
    for batch in batches:
        store.insert(*batch)
    store.insert(*star_batch(store, 5, 0, 1))
    for batch in batches:
        store.delete(*batch)
    trim(store)
    assert head_words(store)[[3, 4]].tolist() == [EMPTY, EMPTY]
    assert bucket_counts(store)[4] == 1
    assert store.memory()["slabs"][0] == 32
    store.insert(*batches[1])
    store.check()
    assert store.num_edges == 301


def test_many_large_vertices_are_trimmed(trimmed_by: str) -> None:
    store = SlabHashStore(2000, slab_bytes=32)
    store.reserve(100_000)
    src, dst = np.repeat(np.arange(70), 1300), np.tile(np.arange(1300), 70)
    store.insert(ids(store, src), ids(store, dst))
    assert bucket_counts(store)[:70].min() >= MANY_BUCKETS
    gone = (dst >= 100) | (src % 2 == 0)
    store.delete(ids(store, src[gone]), ids(store, dst[gone]))
    trim(store)
    assert (head_words(store)[:70:2] == EMPTY).all()
    assert bucket_counts(store)[:70].max() <= 40
    edges = store.edges()
    held = src[~gone] * 2000 + dst[~gone]
    assert np.array_equal(np.sort(edges.src.astype(np.int64) * 2000 + edges.dst), held)


@pytest.mark.gpu
def test_an_interrupt_waits_until_moved_edges_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from suricate.backends.slabhash.cuda import CudaKernels

    launches, names = CudaKernels._launch, list[str]()

    def interrupted(kernels: CudaKernels, name: str, *args: Any) -> None:
        names.append(name)
        if name == "trim_chains":
            signal.raise_signal(signal.SIGINT)
        launches(kernels, name, *args)

    graph = Graph(2000, backend="slabhash", device="cuda", slab_bytes=32)
    graph.insert_edges(np.zeros(1300, np.int64), np.arange(1300))
    graph.delete_edges(np.zeros(1200, np.int64), np.arange(100, 1300))
    store: Any = graph.store()
    monkeypatch.setattr(CudaKernels, "_launch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.kernels.trim(store.slabs, 1 << 20, 0, store.supply.ledger.capacity - store.supply.ledger.space)
    assert names == ["trim_vertices", "trim_listed", "trim_chains"]
    store.supply.read()
    graph.check()
    assert sorted(graph.neighbors(0).tolist()) == list(range(100))


def test_a_chain_is_closed_up(trimmed_by: str) -> None:
    """One bucket of 70 keys in 10 slabs: 15 that are left take three."""
    store = SlabHashStore(100, slab_bytes=32, hashing=False)
    src, dst = star_batch(store, 3, 0, 70)
    store.insert(src, dst)
    store.delete(src[:55], dst[:55])
    trim(store)
    assert store.memory()["slabs"][0] == 3 * 32
    assert sorted(store.edges().dst.tolist()) == list(range(55, 70))


@pytest.mark.parametrize("quota", [0, 1000])
def test_a_vertex_with_few_edges_for_its_buckets_gets_fewer(trimmed_by: str, quota: int) -> None:
    """If there are slabs for what may be in the way; chains are closed up in any case."""
    store = SlabHashStore(10_000, slab_bytes=32)
    src, dst = star_batch(store, 1, 0, 4000)
    store.insert(src, dst)
    before = bucket_counts(store)[1]
    store.delete(src[:3900], dst[:3900])
    used = store.memory()["slabs"][0]
    trim(store, quota)
    after = bucket_counts(store)[1]
    assert before >= MANY_BUCKETS
    assert after == before if quota == 0 else after <= 40
    assert store.memory()["slabs"][0] < used
    found, _ = store.find(src, dst)
    assert not found[:3900].any()
    assert found[3900:].all()


@pytest.mark.parametrize("dtype", [None, F64], ids=str)
@pytest.mark.parametrize("slab_bytes", [32, 64])
def test_edges_weights_and_marks_stay(trimmed_by: str, slab_bytes: int, dtype: np.dtype | None) -> None:
    """Against a dictionary: random updates with a heavy vertex, a mark now and then, and a trimmed range after each."""
    store = SlabHashStore(60, slab_bytes=slab_bytes, weight_dtype=dtype)
    rng = np.random.default_rng(6)
    held: dict[tuple[int, int], float] = {}
    fresh: set[tuple[int, int]] = set()
    for step in range(150):
        src, dst = rng.integers(0, 60, (2, 60))
        src[rng.random(60) < 0.5] = 7
        if step % 50 < 25:
            weight = rng.random(60)
            store.insert(ids(store, src), ids(store, dst), None if dtype is None else weight)
            new = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))
            fresh |= new.keys() - held.keys()
            held.update(new)
        else:
            gone = [list(held)[i] for i in rng.permutation(len(held))[:60]]
            if gone:
                store.delete(*(ids(store, part) for part in np.array(gone).T))
            for edge in gone:
                del held[edge]
            fresh -= set(gone)
        trim(store, quota=step % 3 * 10)
        edges = store.edges()
        pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
        assert len(pairs) == len(held)
        assert set(pairs) == held.keys()
        if edges.weight is not None:
            assert [held[pair] for pair in pairs] == edges.weight.tolist()
        if store.has_mark:
            updated = store.updated()
            assert set(zip(updated.src.tolist(), updated.dst.tolist(), strict=True)) == fresh
        if step % 37 == 36:
            store.mark()
            fresh = set()


def test_a_sliding_window_stops_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without trimming, slabs in use would grow by a third over three windows, and on."""
    monkeypatch.setattr(ledger_module, "TRIMMED_AT_ONCE", 32)
    store, rng, size = SlabHashStore(1 << 11), np.random.default_rng(3), 310
    window = [rng.integers(0, 1 << 11, (2, size), dtype=np.uint32) for _ in range(100)]
    used = []
    for batch in window:
        store.insert(*batch)
    for step in range(300):
        window.append(rng.integers(0, 1 << 11, (2, size), dtype=np.uint32))
        store.insert(*window[-1])
        store.delete(*window[step])
        used.append(store.memory()["slabs"][0])
    assert max(used[200:]) <= 1.2 * used[0]
    assert max(used[200:]) <= 1.02 * max(used[100:200])
    store.check()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_pool_that_cannot_grow_is_trimmed_as_a_whole(device: str) -> None:
    """Few deletions pay for no trimming: their slabs are the only ones left for edges of other vertices."""
    n, rng = 120, np.random.default_rng(3)
    store = SlabHashStore(n, device=resolve_device(device), memory_limit=30_000 if device == "cpu" else 45_000)
    xp = store.device.xp

    def insert(first: int) -> None:
        src, dst = rng.integers(first, first + n // 2, 100), rng.integers(0, n, 100)
        store.insert(xp.asarray(src.astype(np.uint32)), xp.asarray(dst.astype(np.uint32)))

    def fill() -> None:
        while True:
            insert(0)

    with pytest.raises(CapacityError):
        fill()
    held, count = store.edges(), store.num_edges
    assert 500 < count < DELETIONS_PER_SLAB * TRIMMED_AT_ONCE
    store.delete(held.src, held.dst)
    while store.num_edges < count // 2:
        insert(n // 2)
    store.check()


def test_what_deletions_pay_for() -> None:
    """Ranges go round the pool; few deletions are put together; one that a new pool makes useless is forgotten."""
    ledger, step = Ledger(10, 100, hashing=True), DELETIONS_PER_SLAB * TRIMMED_AT_ONCE
    ledger.record([3000] + [0] * 63, 4000)
    assert ledger.trimming(step - 1) == (0, 0)
    assert ledger.trimming(1) == (0, 1024)
    assert ledger.trimming(3 * step) == (1024, 3000)
    assert ledger.trimming(0) == (0, 1096)
    assert ledger.credit == 0
    ledger.trimming(step - 1)
    ledger.rebuilt(5000, 2000, 2000)
    assert ledger.trimming(step) == (0, 1024)


def test_slabs_that_are_promised_are_not_taken() -> None:
    ledger = Ledger(10, 100, hashing=True)
    ledger.record([3000] + [0] * 63, 4000)
    assert ledger.spend(1) == 1000
    ledger.promise(400)
    assert ledger.spend(1) == 600
    assert ledger.free == 1000


def test_slabs_for_trimming_on_cuda_are_unknown_until_a_later_batch() -> None:
    ledger = Ledger(10, 100, hashing=True, warps=100)
    ledger.record([3000] + [0] * 63, 4600)
    assert (ledger.spend(20), ledger.spend(1000)) == (20, 98)
    assert (ledger.free, ledger.pending) == (1482, 118)
    ticket = ledger.reserve(ledger.demand(50)).ticket
    ledger.take_over(Arrived(ticket, 1550, 3000, 0))
    assert (ledger.free, ledger.pending) == (1550, 0)


@pytest.mark.parametrize(
    ("batch", "share"), [(4_000, 1.0), pytest.param(1_000, 1.0, marks=pytest.mark.slow),
                         pytest.param(500, 0.85, marks=pytest.mark.slow)]
)  # fmt: skip
def test_edges_take_at_most_30_bytes_after_churn(batch: int, share: float) -> None:
    """Five times its edges come and go, of a graph that keeps its size or shrinks; unasked, with in-edges."""
    first = np.random.default_rng(1)
    graph = Graph(1 << 13, device="cpu", in_edges=True)

    def rmat(rng: np.random.Generator) -> np.ndarray:
        rows = rng.choice(4, (batch, 13), p=(0.57, 0.19, 0.19, 0.05))
        return ((rows[..., None] >> np.arange(2) & 1) << np.arange(13)[:, None]).sum(1).T.astype(np.uint32)

    while graph.num_edges < 100_000:
        graph.insert_edges(*rmat(first))
    edges, gone, rng = graph.num_edges, 0, np.random.default_rng(2)
    least = int(share * edges)
    while gone < 5 * edges:
        stored = graph.edges()
        picked = rng.integers(0, len(stored.src), batch)
        gone += len(graph.delete_edges(stored.src[picked], stored.dst[picked]).deleted.src)
        for _ in range(4):
            if graph.num_edges < least:
                graph.insert_edges(*rmat(rng))
    held = sum(graph.store(over).bytes_held() for over in ("out", "in"))
    assert graph.num_edges >= 0.8 * least
    assert held <= 30 * graph.num_edges
    graph.check()
