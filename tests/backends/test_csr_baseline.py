"""Sorted CSR: the conformance kit, and what only this backend promises."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from suricate.backends.csr_baseline.store import CsrStore
from suricate.base.devices import CPU, Device
from suricate.errors import CapacityError, CheckFailed, ParameterError
from suricate.testing import StoreConformance


class TestConformance(StoreConformance):
    backend = CsrStore
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceByUpload(StoreConformance):
    """On the CPU there is nothing to upload."""

    backend = CsrStore
    options: ClassVar = {"rebuild": "upload"}
    devices = ("cuda",)
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)

    def cuda_programs(self, store):
        return ()  # those of TestConformance


def filled(device: Device, num_vertices: int = 50, edges: int = 400, **options) -> CsrStore:
    store = CsrStore(num_vertices, device=device, **options)
    rng = np.random.default_rng(7)
    src, dst = (device.xp.asarray(rng.integers(0, num_vertices, edges).astype(np.uint32)) for _ in range(2))
    weight = None if store.weight_dtype is None else device.xp.asarray(rng.random(edges).astype(store.weight_dtype))
    store.insert(src, dst, weight)
    return store


def address(array) -> int:
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def test_view_is_csr_in_order(device: Device) -> None:
    store = filled(device)
    src, dst, _ = (None if part is None else device.to_numpy(part) for part in store.edges())
    order = np.lexsort((dst, src))
    assert np.array_equal(order, np.arange(len(src)))
    view = store.view()
    assert view.data.ascending == 1
    begin, end = device.to_numpy(view.data.begin), device.to_numpy(view.data.end)
    assert np.array_equal(end - begin, np.bincount(src, minlength=50))
    assert np.array_equal(begin[1:], end[:-1])


def test_reserved_arrays_are_swapped(device: Device) -> None:
    store = filled(device)
    count = store.num_edges
    store.reserve(1000)
    held = {len(store.pool["dst"]), len(store.pool["reserve_dst"])}
    assert held == {count + count // 4 + 1000}
    one = device.xp.zeros(1, np.uint32)
    first = address(store.pool["dst"])
    for _ in range(2):
        store.insert(one, one)
        store.delete(one, one)
        store.insert(one, one)
        store.check()
    assert {len(store.pool["dst"]), len(store.pool["reserve_dst"])} == held
    assert first in (address(store.pool["dst"]), address(store.pool["reserve_dst"]))
    store.compact()
    assert len(store.pool["reserve_dst"]) == 0
    assert len(store.pool["dst"]) == store.num_edges
    store.check()


def test_memory_never_exceeds_the_limit_even_while_it_rebuilds(device: Device) -> None:
    limit = 2 * (8 * 51 + 4 * 300)
    store = CsrStore(50, device=device, memory_limit=limit)
    ids = np.arange(2500, dtype=np.uint32)
    src, dst = device.xp.asarray(ids // 50), device.xp.asarray(ids % 50)
    store.insert(src[:300], dst[:300])
    version = store.pool["dst"]
    with pytest.raises(CapacityError):
        store.insert(src[250:350], dst[250:350])
    assert store.pool["dst"] is version
    assert store.num_edges == 300
    store.insert(src[200:300], dst[200:300])  # all there: nothing more is needed, though the host's bound says so
    store.delete(src[:100], dst[:100])  # a deletion is never refused
    store.insert(src[300:400], dst[300:400])
    assert store.num_edges == 300
    with pytest.raises(CapacityError):
        store.resize(1000)
    assert store.num_vertices == 50
    store.check()


def test_growth_of_vertices_beside_reserved_arrays_obeys_the_limit(device: Device) -> None:
    store = CsrStore(50, device=device, memory_limit=2 * (8 * 51 + 4 * 500))
    ids = device.xp.arange(20, dtype=np.uint32)
    store.insert(ids, ids)
    store.reserve(450)
    with pytest.raises(CapacityError):
        store.resize(600)
    assert len(store.pool["reserve_dst"]) >= 450  # nothing has changed
    store.resize(200)
    assert store.num_vertices == 200
    assert sum(allocated for _, allocated in store.memory().values()) <= store.memory_limit
    assert [device.to_numpy(part).tolist() for part in store.edges()[:2]] == [list(range(20))] * 2
    store.check()
    store.insert(ids + 180, ids)
    store.delete(ids, ids)
    assert store.num_edges == 20
    store.check()


def test_growth_of_vertices_keeps_the_arrays_of_edges(device: Device) -> None:
    store = filled(device, weight_dtype="float32")
    dst, weight = store.pool["dst"], store.pool["weight"]
    store.resize(500)
    assert store.pool["dst"] is dst
    assert store.pool["weight"] is weight
    store.check()


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda a: a["offsets"].__setitem__(3, 10**6), "monotone"),
        (lambda a: a["dst"].__setitem__(slice(0, 2), a["dst"][1]), "ascending"),
        (lambda a: a["dst"].__setitem__(int(a["offsets"][1]) - 1, 77), "below num_vertices"),
        (lambda a: a.attach({"dst": a["dst"][:5]}), "hold all edges"),
    ],
)
def test_check_finds_damage(device: Device, damage, invariant: str) -> None:
    store = filled(device)
    store.check()
    damage(store.pool)
    with pytest.raises(CheckFailed, match=invariant):
        store.check()


def test_many_batches_without_waiting(device: Device) -> None:
    """The host's bound of the edge count is an upper bound however far the device lags behind."""
    store = CsrStore(200, device=device, weight_dtype="float64")
    rng, model = np.random.default_rng(3), {}
    for _ in range(40):
        src, dst = (rng.integers(0, 200, 500).astype(np.uint32) for _ in range(2))
        weight = rng.random(500)
        store.insert(*(device.xp.asarray(part) for part in (src, dst, weight)))
        store.delete(*(device.xp.asarray(part[:200]) for part in (src, dst)))
        gone = set(zip(src[:200].tolist(), dst[:200].tolist(), strict=True))
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        model = {**model, **dict(zip(pairs, weight.tolist(), strict=True))}
        model = {edge: w for edge, w in model.items() if edge not in gone}
    store.check()
    src, dst, weight = (device.to_numpy(part).tolist() for part in store.edges())
    assert dict(zip(zip(src, dst, strict=True), weight, strict=True)) == model


def test_what_rebuild_may_be() -> None:
    with pytest.raises(ParameterError, match="rebuild must be 'merge' or 'upload', got 'copy'"):
        CsrStore(5, rebuild="copy")
    assert CsrStore(5, rebuild="upload").copy_to(CPU).rebuild == "upload"


@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_batches_are_applied_on_the_host_and_uploaded(weight_dtype: str | None) -> None:
    """The logic of ``rebuild="upload"`` without a GPU: both copies are on the host."""
    store, other = (CsrStore(40, weight_dtype=weight_dtype) for _ in range(2))
    store._host = CsrStore(40, weight_dtype=weight_dtype)
    store.mark()
    rng = np.random.default_rng(6)
    for size in (30, 500, 1, 0, 300):
        src, dst = (rng.integers(0, 40, size).astype(np.uint32) for _ in range(2))
        weight = None if weight_dtype is None else rng.random(size).astype(weight_dtype)
        for count in (size // 5, 0):
            same(store.insert(src, dst, weight), other.insert(src, dst, weight))
            store.check()
            same(store.delete(src[:count], dst[:count]), other.delete(src[:count], dst[:count]))
    for one in (store, other):
        one.resize(50)
        one.delete_vertices(np.array([3, 4], np.uint32))
        one.compact()
        one.check()
    same(store.edges(), other.edges())
    assert len(store.updated().src) == store.num_edges
    one = np.zeros(1, np.uint32)
    held_back = store.insert(one, one, None if weight_dtype is None else np.ones(1, weight_dtype), guard=one + 1)
    assert held_back.status.tolist() == [0]
    store.check()


def same(one: tuple, other: tuple) -> None:
    assert all(a is b or np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_batch_that_does_not_fit_leaves_both_copies_as_they_are() -> None:
    store = CsrStore(50, memory_limit=2 * (8 * 51 + 4 * 300))
    store._host = CsrStore(50)
    ids = np.arange(400, dtype=np.uint32)
    store.insert(ids[:300] // 50, ids[:300] % 50)
    with pytest.raises(CapacityError):
        store.insert(ids // 50, ids % 50)
    store.check()
    assert store.num_edges == store._host.num_edges == 300
