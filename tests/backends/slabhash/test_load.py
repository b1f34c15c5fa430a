"""Bulk loads on the CPU: sorted edges placed into an empty store, with hubs, duplicates, chains, weights and marks."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.backends.slabhash.loops import load
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import resolve_device
from suricate.cpu import threads
from suricate.testing.draws import draw_weights
from suricate.testing.model import ModelledStore

N, SIZE = 4_000, 40_000


def batch(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return edges that a bulk load takes: spread, or mostly of a hub, of the last vertex, or duplicates."""
    src, dst = rng.integers(0, N, (2, SIZE)).astype(np.uint32)
    if kind == "hub":
        src[: SIZE // 2], dst[: N - 1] = 7, np.arange(N - 1)
    elif kind == "last":
        src[SIZE // 3 :], dst[-1] = N - 1, N - 1
    elif kind == "duplicates":
        src, dst = src % 50, dst % 50
    return src, dst


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the loads, which are cut into parts as if they were large."""
    counts, place = [], load.Load.place
    monkeypatch.setattr(load.Load, "place", lambda self, *given: (counts.append(len(self.parts)), place(self, *given)))
    monkeypatch.setattr(threads, "GRAIN", 300)
    monkeypatch.setenv("SURICATE_THREADS", "2")
    return counts


@pytest.mark.parametrize("weights", [None, "float32", "float64"])
@pytest.mark.parametrize("kind", ["spread", "hub", "last", "duplicates"])
def test_loads_store_what_they_are_given(kind: str, weights: str | None, loads: list[int]) -> None:
    rng, dtype = np.random.default_rng(5), None if weights is None else np.dtype(weights)
    store = SlabHashStore(N, device=resolve_device("cpu"), weight_dtype=dtype)
    model = ModelledStore(store)
    model.insert(*batch(rng, kind), None if dtype is None else draw_weights(rng, SIZE, dtype))
    assert loads == [loads[0]]
    assert loads[0] > 1
    model.verify(rng)
    model.insert(*batch(rng, "spread"), None if dtype is None else draw_weights(rng, SIZE, dtype))
    model.delete(*batch(rng, kind))
    model.verify(rng)
    assert len(loads) == 1


@pytest.mark.parametrize("slab_bytes", [16, 32, 64, 128])
def test_loads_chain_slabs_of_every_size(slab_bytes: int, loads: list[int]) -> None:
    rng = np.random.default_rng(6)
    store = SlabHashStore(N, device=resolve_device("cpu"), slab_bytes=slab_bytes, load_factor=2.0)
    model = ModelledStore(store)
    model.insert(*batch(rng, "hub"), None)
    assert len(loads) == 1
    model.verify(rng)


def test_a_load_behind_a_mark_is_updated(loads: list[int]) -> None:
    rng = np.random.default_rng(7)
    model = ModelledStore(SlabHashStore(N, device=resolve_device("cpu")))
    model.mark()
    model.insert(*batch(rng, "hub"), None)
    assert len(loads) == 1
    model.verify(rng)
