"""The CUDA kernels of ``gpma``, run on the CPU: after every batch the graph is that of a dict, and invariants hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from emulated import GXX, EmulatedSorter, EmulatedStructKernel, launch
from emulated_store import Twin, batches_of, unchecked

from suricate.backends.gpma import cuda, ledger
from suricate.backends.gpma.layout import EDGES, MOVED
from suricate.backends.gpma.store import GpmaStore
from suricate.base.devices import CPU
from suricate.base.types import REMOVED
from suricate.primitives import cuda as shared
from suricate.store import batch_store
from suricate.store.batch_store import BatchStore

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits are lower than on a GPU, so that small batches reach all parts of the kernels."""
    for module in (cuda, shared):
        monkeypatch.setattr(module, "launch", launch)
    monkeypatch.setattr(cuda, "StructKernel", EmulatedStructKernel)
    monkeypatch.setattr(cuda, "WALKERS", 512)
    for name, value in {"MOST_WALKED": 64, "LISTED": 8, "FEW": 1, "BY_BLOCK": 6}.items():
        monkeypatch.setitem(cuda.CONSTANTS, name, value)
    cuda.program.cache_clear()
    yield
    cuda.program.cache_clear()


class GpmaTwin(Twin):
    """Also verifies what updates leave behind."""

    def __init__(self, num_vertices: int, weight_dtype: str | None, deletion: str, **options: Any) -> None:
        super().__init__(GpmaStore, num_vertices, weight_dtype, deletion=deletion, **options)

    def compare(self) -> None:
        super().compare()
        assert int(self.store.pool["counters"][EDGES]) == len(self.model)
        assert not np.asarray(self.store.pool["planned"]).any()
        assert not np.asarray(self.store.pool["work"])[1:].any()


@pytest.mark.parametrize("valid", [True, False])
def test_batches_that_nobody_has_checked(monkeypatch: pytest.MonkeyPatch, valid: bool) -> None:
    """Queries, and lazy deletions of both arcs; an invalid batch deletes nothing, and says so."""
    rng, n = np.random.default_rng(2), 300
    twin = GpmaTwin(n, "float64", "lazy")
    monkeypatch.setitem(sys.modules, "cupy", twin.device.xp)
    src, dst = rng.integers(0, n, (2, 4000)).astype(np.uint32)
    twin.insert(np.append(src, dst), np.append(dst, src), rng)
    src, dst = src[::5].astype(np.int64), np.where(np.arange(800) % 2, dst[::5], 7)
    src[:90] = src[90:180]
    src[500] = src[500] if valid else n
    batch, _ = unchecked("find", src, dst, n, mirrored=False)
    found, weight = twin.store.query(batch)
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    assert found.tolist() == [pair in twin.model for pair in pairs]
    assert all(weight[i] == twin.model[pair] for i, pair in enumerate(pairs) if found[i])
    batch, kept = unchecked("delete", src, dst, n, mirrored=True)
    removed, _ = batches_of(twin.device, batch, None, twin.dtype)
    twin.store.apply(removed, None)()
    change = removed.change()
    assert int(kept[1][1]) == (1 << 1 | (not valid))
    assert removed.done
    removed = np.asarray(change.outcome.status) == REMOVED
    both = [*map(sorted, pairs)]
    arcs = [(u, v) for u, v in both] + [(v, u) for u, v in both]
    gone = set(arcs) & twin.model.keys() if valid else set()
    assert sorted(arcs[i] for i in np.flatnonzero(removed)) == sorted(gone)
    assert all(change.outcome.weight[i] == twin.model[arcs[i]] for i in np.flatnonzero(removed))
    for arc in gone:
        del twin.model[arc]
    twin.compare()


@pytest.mark.parametrize(
    ("weight_dtype", "deletion", "marked"),
    [(None, "strict", True), ("float64", "strict", False), ("float64", "lazy", True)],
)
def test_random_batches(weight_dtype: str | None, deletion: str, marked: bool) -> None:
    rng, n = np.random.default_rng(1), 900
    twin = GpmaTwin(n, weight_dtype, deletion)
    if marked:
        twin.store.mark()
    for step in range(14):
        size = int(rng.choice([1, 40, 700, 2000])) if step else 9000
        src, dst = rng.integers(0, n, (2, size)).astype(np.uint32)
        if step % 3 == 1:
            src[:] = 5 + step  # much in one place: segments larger than a page
        if step % 5 == 4:
            src, dst = src % 40, dst % 3  # mostly duplicates
        if step % 4 == 3:
            known = np.array(sorted(twin.model), np.uint32)
            begin = int(rng.integers(len(known)))
            known = known[begin : begin + int(rng.choice([30, 3000]))]
            src, dst = np.append(src, known[:, 0]), np.append(dst, known[:, 1])
            twin.delete(src, dst)
        else:
            twin.insert(src, dst, rng)
    assert int(twin.store.pool["counters"][MOVED]) > 0


def test_rows_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The range with guards becomes longer at either end, shorter, and has rows that are not kept."""
    rng, n = np.random.default_rng(4), 600
    twin = GpmaTwin(n, "float64", "lazy", rows=np.array([[200, 400]]))
    monkeypatch.setitem(sys.modules, "cupy", twin.device.xp)
    monkeypatch.setattr(batch_store, "_sorter", lambda device: EmulatedSorter(device) if device.is_cuda else None)
    edges = BatchStore.edges
    monkeypatch.setattr(
        GpmaStore, "edges", lambda store: edges(store.copy_to(CPU)).each(twin.device.put)
    )  # by no cursor
    for rows in ([[200, 400]], [[200, 500]], [[100, 500]], [[100, 150], [300, 350]], [[0, 50], [320, 600]]):
        twin.keep(rows, rng)


def test_leaves_without_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few entries are left that most leaves get none; searches still find their way."""
    monkeypatch.setattr(ledger, "too_empty", lambda leaves, entries: False)  # else the array would shrink
    rng, n = np.random.default_rng(3), 40
    twin = GpmaTwin(n, None, "strict")
    src, dst = (part.ravel().astype(np.uint32) for part in np.indices((n, n)))
    twin.insert(src, dst, rng)
    for kept in (3, 0):
        twin.delete(*np.array(sorted(twin.model), np.uint32)[kept:].T.copy())
        assert not np.asarray(twin.store.pool["count"])[: twin.store.pool.leaves].all()
    twin.insert(src[::3], dst[::3], rng)
