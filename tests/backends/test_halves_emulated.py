"""Batches of both halves for a CUDA device, whose kernels run on the CPU: all is applied, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated import GXX, EmulatedDevice, EmulatedStructKernel, launch

from suricate.backends.blocked import cuda as blocked
from suricate.backends.blocked.store import BlockedStore
from suricate.backends.csr_baseline import cuda as csr
from suricate.backends.csr_baseline.store import CsrStore
from suricate.backends.gpma import cuda as gpma
from suricate.backends.gpma.store import GpmaStore
from suricate.backends.hornet_like import cuda as hornet_cuda
from suricate.backends.hornet_like import cuda_sorted as hornet
from suricate.backends.hornet_like.store import HornetStore
from suricate.base.devices import CPU
from suricate.base.types import NEW, REMOVED, Change
from suricate.errors import VertexRangeError
from suricate.graph.delta import Delta
from suricate.graph.options import GraphOptions
from suricate.graph.update import Updater
from suricate.intake import ingest
from suricate.primitives import cuda as shared
from suricate.store import sorter

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]
N = 60


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for module in (blocked, gpma, hornet_cuda, shared):
        monkeypatch.setattr(module, "launch", launch)
    for module in (blocked, csr, gpma, hornet, sorter, ingest):
        monkeypatch.setattr(module, "StructKernel", EmulatedStructKernel)
    monkeypatch.setattr(ingest, "cuda_device_count", lambda: 1)
    made: Any = EmulatedDevice()
    made.xp.cuda.get_current_stream = lambda: SimpleNamespace(synchronize=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", made.xp)
    return made


def edges(held: Any) -> dict[tuple[int, int], float]:
    src, dst, weight = held.copy_to(CPU).edges()
    return dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))


def changed(half: Change, status: int, weight: Any) -> dict[tuple[int, int], float]:
    """Return the arcs of a status with these weights, each of which is there once."""
    (src, dst, _), outcome, _ = half
    places = np.flatnonzero(np.asarray(outcome.status) == status)
    found = {(int(src[i]), int(dst[i])): float(weight[i]) for i in places}
    assert len(found) == len(places)
    return found


IN_EDGES, UNDIRECTED = {"in_edges": True, "checks": "deferred"}, {"directed": False}


@pytest.mark.parametrize(
    ("kind", "options"),
    [(CsrStore, IN_EDGES), (GpmaStore, IN_EDGES), (HornetStore, UNDIRECTED), (BlockedStore, UNDIRECTED)],
)
def test_both_halves_or_nothing(device: Any, kind: type, options: dict[str, Any]) -> None:
    rng, chosen = np.random.default_rng(4), GraphOptions(kind, weight_dtype="float64", **options)
    stores = [kind(N, device=device, weight_dtype=chosen.weight_dtype) for _ in range(1 + chosen.in_edges)]
    updater = Updater(tuple(stores), chosen, ingest.Ingest(device, chosen))
    model: dict[tuple[int, int], float] = {}

    def key(u: int, v: int) -> tuple[int, int]:
        return (u, v) if chosen.directed else (min(u, v), max(u, v))

    def compare() -> None:
        out = edges(updater.stores[0])
        assert {key(*arc): weight for arc, weight in out.items()} == model
        if updater.into is None:
            assert out == {(v, u): weight for (u, v), weight in out.items()}
        else:
            assert edges(updater.into) == {(v, u): weight for (u, v), weight in out.items()}

    def settle(halves: Any) -> Delta:
        delta = updater.apply(*halves, parts=(1, 2))
        updater.raise_pending()
        return delta

    for step, bad in enumerate(("", "", "delete", "insert", "both", "")):
        gone, new = rng.integers(0, N, (2, 300 if step else 1)), rng.integers(0, N, (2, 500))
        new[:, :80] = gone[:, :80]
        weight = rng.integers(0, 5, 500).astype(np.float64)
        if bad in ("delete", "both"):
            gone[1, -1] = N
        if bad in ("insert", "both"):
            new[0, 7] = -3
        halves = (*map(device.put, gone), None), tuple(map(device.put, (*new, weight)))
        arcs = edges(updater.stores[0])
        if bad:
            with pytest.raises(VertexRangeError, match="insert" if bad == "insert" else "delete"):
                settle(halves)
            compare()
            continue
        delta = settle(halves)
        for u, v in gone.T.tolist():
            model.pop(key(u, v), None)
        model |= {key(u, v): w for (u, v), w in zip(new.T.tolist(), weight.tolist(), strict=True)}
        compare()
        removed, added = (half() for half in delta._changes[:2])
        there = set(zip(*removed.edges[:2], strict=True)) & arcs.keys()
        assert changed(removed, REMOVED, removed.outcome.weight) == {arc: arcs[arc] for arc in there}
        now = edges(updater.stores[0])
        assert changed(added, NEW, added.edges.weight) == {
            arc: now[arc] for arc in set(zip(*added.edges[:2], strict=True)) - (arcs.keys() - there)
        }


def test_hornet_reserves_for_both_halves_of_later_batches(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's bounds cover them: it waits neither for counters nor for what a kernel says about memory."""
    rng, n, waits = np.random.default_rng(5), 5000, []
    store = HornetStore(n, device=device)
    updater = Updater((store,), GraphOptions(HornetStore), ingest.Ingest(device, GraphOptions(HornetStore)))

    def ids(size: int) -> tuple[Any, Any]:
        return device.put((rng.random(size) ** 3 * n).astype(np.int64)), device.put(rng.integers(0, n, size))

    updater.apply(None, (*ids(30_000), None))
    for kind, name in ((HornetStore, "known"), (hornet.HornetSorted, "_was_applied")):
        own = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda self, own=own, name=name: waits.append(name) or own(self))
    counts = []
    for _ in range(12):
        updater.apply((*ids(100), None), (*ids(100), None))
        counts.append(len(waits))
    assert waits.count("known") <= 1
    assert counts[-1] == counts[0]
