"""The generic operations over every cursor, against NumPy; and the CUDA programs they launch."""

from __future__ import annotations

import numpy as np
import pytest
from packed_cursor import packed_view
from turns import few

import suricate as su
from suricate.base.devices import CPU, Device
from suricate.base.types import EdgeList, StoreView
from suricate.store import fallbacks
from suricate.testing.nvrtc import compile_program, no_nvrtc

needs_nvrtc = pytest.mark.skipif(no_nvrtc() is not None, reason="NVRTC is not installed")
BACKENDS = ("csr_baseline", "hornet_like", "slabhash", "blocked", "gpma", "packed", "snapshot")
N = 60


def some_edges(weight_dtype: str | None) -> EdgeList:
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(0, N * N, 700))
    keys = keys[keys // N != 3]  # a vertex without edges
    weight = None if weight_dtype is None else rng.permutation(len(keys)).astype(weight_dtype)
    return EdgeList((keys // N).astype(np.uint32), (keys % N).astype(np.uint32), weight)


def view_of(backend: str, device: Device, edges: EdgeList, inserted: np.ndarray) -> StoreView:
    if backend == "packed":
        return packed_view(edges, N, inserted)
    on_device = EdgeList(*(None if part is None else device.xp.asarray(part) for part in edges))
    if backend == "snapshot":
        order = np.random.default_rng(2).permutation(len(edges.src))
        return fallbacks.snapshot(EdgeList(*(part if part is None else part[order] for part in on_device)), N, device)
    dtype = None if edges.weight is None else edges.weight.dtype
    store = su.plugins.backends()[backend](N, device=device, weight_dtype=dtype)
    store.insert(*(part if part is None else part[~inserted] for part in on_device))
    store.mark()
    store.insert(*(part if part is None else part[inserted] for part in on_device))
    return store.view()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, device: Device) -> str:
    if request.param == "packed" and device.is_cuda:
        pytest.skip("the packed view lies on the host")
    return request.param


def ordered(device: Device, edges: EdgeList) -> list[np.ndarray]:
    parts = [device.to_numpy(part) for part in edges if part is not None]
    order = np.lexsort((parts[1], parts[0]))
    return [part[order] for part in parts]


@pytest.mark.parametrize("weight_dtype", few([None, "float32", "float64"]))
def test_generic_operations(
    device: Device, backend: str, weight_dtype: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges, xp = some_edges(weight_dtype), device.xp
    inserted = np.random.default_rng(3).random(len(edges.src)) < 0.2
    view = view_of(backend, device, edges, inserted)
    degrees = fallbacks.degrees(view, device)
    assert degrees.dtype == np.uint32
    assert np.array_equal(device.to_numpy(degrees), np.bincount(edges.src, minlength=N))

    src, dst = (xp.asarray(part.ravel().astype(np.uint32)) for part in np.indices((N, N)))
    found, weight = fallbacks.find(view, device, src, dst)
    keys = np.flatnonzero(device.to_numpy(found))
    assert np.array_equal(keys, edges.src.astype(np.int64) * N + edges.dst)
    assert (weight is None) == (weight_dtype is None)
    if weight is not None:
        assert weight.dtype == weight_dtype
        assert np.array_equal(device.to_numpy(weight)[keys], edges.weight)

    for teams in (1, 3 * N, fallbacks.TEAMS):  # on CUDA a row is listed by a warp, by a few teams, by many
        monkeypatch.setattr(fallbacks, "TEAMS", teams)
        offsets, every = fallbacks.edges_of(view, device)
        assert np.array_equal(device.to_numpy(offsets), np.searchsorted(edges.src, np.arange(N + 1)))
        assert np.array_equal(device.to_numpy(every.src), edges.src)
        for got, wanted in zip(ordered(device, every), [part for part in edges if part is not None], strict=True):
            assert np.array_equal(got, wanted)

    vertices = np.array([5, 3, 5, 0], np.uint32)
    some = fallbacks.adjacency(view, device, xp.asarray(vertices))
    bounds = device.to_numpy(some.offsets)
    assert bounds.dtype == np.int64
    for i, u in enumerate(vertices):
        lo, hi = bounds[i], bounds[i + 1]
        assert np.array_equal(np.sort(device.to_numpy(some.dst[lo:hi])), edges.dst[edges.src == u])

    if view.has_updated:
        got = fallbacks.updated(view, device)
        for part, wanted in zip(ordered(device, got), [part for part in edges if part is not None], strict=True):
            assert np.array_equal(part, wanted[inserted])


def test_nothing(device: Device, backend: str) -> None:
    """No vertices asked for, no edges looked up, none stored."""
    edges, none = EdgeList(*(np.zeros(0, np.uint32) for _ in range(2))), device.xp.zeros(0, np.uint32)
    view = view_of(backend, device, edges, np.zeros(0, bool))
    found, weight = fallbacks.find(view, device, none, none)
    assert (len(found), weight) == (0, None)
    assert len(fallbacks.adjacency(view, device, none).offsets) == 1
    assert len(fallbacks.edges_of(view, device)[1].src) == 0
    assert int(fallbacks.degrees(view, device).sum()) == 0


@needs_nvrtc
@pytest.mark.parametrize("weight_dtype", [None, "float32", "float64"])
@pytest.mark.parametrize("name", BACKENDS)
def test_programs_compile(name: str, weight_dtype: str | None) -> None:
    edges = some_edges(weight_dtype)
    view = view_of(name, CPU, edges, np.zeros(len(edges.src), bool))
    compile_program(fallbacks.program(view), "sm_80")
