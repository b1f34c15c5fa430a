"""The launches that apply batches to ``hornet_like``, ``csr_baseline`` and ``blocked`` on CUDA, run on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from emulated import GXX, EmulatedStructKernel, launch
from emulated_store import Twin

from suricate.backends.blocked import cuda as blocked
from suricate.backends.blocked.store import BlockedStore
from suricate.backends.csr_baseline import cuda as csr
from suricate.backends.csr_baseline import layout as csr_layout
from suricate.backends.csr_baseline.store import CsrStore
from suricate.backends.hornet_like import cuda as hornet_cuda
from suricate.backends.hornet_like import cuda_sorted as hornet
from suricate.backends.hornet_like import layout as hornet_layout
from suricate.backends.hornet_like.store import HornetStore
from suricate.base.types import EdgeList
from suricate.primitives import cuda as shared

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chunks and windows are smaller than on a GPU, so that small batches have many."""
    for module in (blocked, hornet_cuda, shared):
        monkeypatch.setattr(module, "launch", launch)
    for module in (blocked, csr, hornet):
        monkeypatch.setattr(module, "StructKernel", EmulatedStructKernel)
    for name, value in {"MOVE_ITEMS": 1, "MOVE_CHUNK": 512}.items():
        monkeypatch.setitem(hornet_layout.SORTED_CONSTANTS, name, value)
    monkeypatch.setattr(hornet_layout, "MOVE_CHUNK", 512)
    monkeypatch.setattr(blocked, "SCANNED", 2)
    monkeypatch.setitem(csr_layout.CONSTANTS, "MERGE_WINDOW", 64)
    programs = (hornet_cuda.sorted_program, csr.merge_program)
    for program in programs:
        program.cache_clear()
    yield
    for program in programs:
        program.cache_clear()


def batch(rng: np.random.Generator, twin: Twin, size: int, n: int, known: float) -> tuple[np.ndarray, np.ndarray]:
    """Return edges: a third of a hub, a share that is in the store, with duplicates."""
    src, dst = (rng.random(size) ** 3 * n).astype(np.uint32), rng.integers(0, n, size).astype(np.uint32)
    src[rng.random(size) < 1 / 3] = 1
    if twin.model:
        old, of_old = np.array(list(twin.model), np.uint32), rng.random(size) < known
        picked = old[rng.integers(0, len(old), size)]
        src[of_old], dst[of_old] = picked[of_old].T
    return src, dst


@pytest.mark.parametrize("weight_dtype", [None, "float64"])
@pytest.mark.parametrize(
    ("kind", "options"), [(HornetStore, {}), (CsrStore, {}), (BlockedStore, {"block_edges": 4})]
)  # fmt: skip
def test_random_batches(kind: type, options: dict, weight_dtype: str | None) -> None:
    rng, n = np.random.default_rng(1), 2000
    twin = Twin(kind, n, weight_dtype, **options)
    for step, size in enumerate((9000, 700, 2500, 1, 1024, 200, 3000)):
        twin.insert(*batch(rng, twin, size, n, 0.3), rng)
        if step % 2:
            twin.delete(*batch(rng, twin, size, n, 0.8))
    twin.refuse(*batch(rng, twin, 1000, n, 0.8))
    twin.delete(*(part[:3000] for part in np.array([edge for edge in twin.model if edge[0] < 40], np.uint32).T.copy()))
    twin.delete(*np.array(list(twin.model), np.uint32).T.copy())


@pytest.mark.parametrize(("kind", "options"), [(HornetStore, {}), (BlockedStore, {"block_edges": 4})])
def test_rows_that_are_kept(monkeypatch: pytest.MonkeyPatch, kind: type, options: dict) -> None:
    rng, n = np.random.default_rng(4), 600
    twin = Twin(kind, n, "float64", rows=np.array([[200, 400]]), **options)
    monkeypatch.setitem(sys.modules, "cupy", twin.device.xp)
    for rows in ([[200, 400]], [[100, 500]], [[100, 150], [300, 350]], [[0, 50], [320, 600]]):
        twin.keep(rows, rng)


def test_both_halves_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges that a batch deletes, also more than once, and inserts again."""
    rng, n = np.random.default_rng(2), 500
    twin = Twin(CsrStore, n, "float64")
    monkeypatch.setitem(sys.modules, "cupy", twin.device.xp)
    twin.insert(*batch(rng, twin, 3000, n, 0), rng)
    for size in (1, 100, 2000):
        removed, added = (batch(rng, twin, size, n, 0.6) for _ in range(2))
        again = [np.append(mine, its[: size // 2]) for mine, its in zip(added, removed, strict=True)]
        twin.change(EdgeList(*removed), EdgeList(*again, twin.weights(len(again[0]), rng)))


@pytest.mark.parametrize("scanned", [1, 1 << 20])
def test_queries_of_chains(monkeypatch: pytest.MonkeyPatch, scanned: int) -> None:
    """Along the chains of their vertices, or in one pass over the pool."""
    rng, n = np.random.default_rng(3), 500
    twin = Twin(BlockedStore, n, "float64", block_edges=4)
    twin.insert(*batch(rng, twin, 3000, n, 0), rng)
    monkeypatch.setattr(blocked, "SCANNED", scanned)
    monkeypatch.setitem(sys.modules, "cupy", twin.device.xp)
    src, dst = batch(rng, twin, 900, n, 0.5)
    found, weight = twin.store.find(twin.device.put(src), twin.device.put(dst))
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    assert found.tolist() == [pair in twin.model for pair in pairs]
    assert all(weight[i] == twin.model[pair] for i, pair in enumerate(pairs) if found[i])
