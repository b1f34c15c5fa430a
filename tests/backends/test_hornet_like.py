"""Power-of-two blocks: the conformance kit, and what only this backend promises."""

from __future__ import annotations

from typing import ClassVar

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from suricate.backends.hornet_like import layout, ledger, loops
from suricate.backends.hornet_like.layout import BLOCKS, FREE, GROW, NONE, USED
from suricate.backends.hornet_like.store import HornetStore
from suricate.base.devices import CPU, Device
from suricate.errors import CapacityError, CheckFailed
from suricate.testing import StoreConformance


class TestConformance(StoreConformance):
    backend = HornetStore
    cuda_marks = (pytest.mark.gpu,)


class TestConformanceInNoOrder(StoreConformance):
    backend = HornetStore
    options: ClassVar = {"sorted_adjacencies": False}
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)

    def cuda_programs(self, store):
        return ()  # those of TestConformance


def star(device: Device, vertex: int, targets: range) -> tuple:
    xp = device.xp
    return xp.full(len(targets), vertex, np.uint32), xp.asarray(np.array(targets, np.uint32))


def class_of(store: HornetStore, vertex: int) -> int:
    return int(store.pool["klass"][vertex])


def counters(store: HornetStore) -> np.ndarray:
    return store.device.to_numpy(store.pool["counters"])


def edges_of(store: HornetStore) -> set:
    src, dst, _ = store.edges()
    return set(zip(store.device.to_numpy(src).tolist(), store.device.to_numpy(dst).tolist(), strict=True))


def test_blocks_migrate_up_and_down_with_hysteresis(device: Device) -> None:
    store = HornetStore(2000, device=device)
    seen = []
    for degree in (1, 4, 5, 8, 9, 100, 1000):
        store.insert(*star(device, 3, range(degree)))
        store.check()
        seen.append(class_of(store, 3))
    assert seen == [2, 2, 3, 3, 4, 7, 10]
    seen = []
    for degree in (257, 256, 129, 128, 20, 2, 1, 0):
        store.delete(*star(device, 3, range(degree, 1000)))
        store.check()
        assert int(store.degrees()[3]) == degree
        seen.append(class_of(store, 3))
    assert seen == [10, 9, 9, 8, 6, 2, 2, NONE]


def test_the_border_of_two_classes_does_not_thrash(device: Device) -> None:
    store = HornetStore(100, device=device)
    store.insert(*star(device, 1, range(16)))
    edge = star(device, 1, range(50, 51))
    store.insert(*edge)
    block = int(store.pool["begin"][1])
    for _ in range(5):
        store.delete(*edge)
        store.insert(*edge)
        assert int(store.pool["begin"][1]) == block


def test_blocks_are_reused(device: Device) -> None:
    store = HornetStore(300, device=device, weight_dtype="float32")
    rng = np.random.default_rng(5)
    src, dst = (device.xp.asarray(rng.integers(0, 300, 4000).astype(np.uint32)) for _ in range(2))
    weight = device.xp.ones(4000, np.float32)
    store.insert(src, dst, weight)
    store.delete(src, dst)
    assert store.num_edges == 0
    used = None
    for _ in range(6):
        store.insert(src, dst, weight)
        store.delete(src[:3900], dst[:3900])
        store.insert(src[:2000], dst[:2000], weight[:2000])
        store.delete(src, dst)
        store.check()
        used = used or int(counters(store)[USED])
        assert int(counters(store)[USED]) == used
        assert np.array_equal(counters(store)[BLOCKS:FREE], counters(store)[FREE:GROW])


def test_vertices_give_their_blocks_back(device: Device) -> None:
    store = HornetStore(64, device=device)
    for vertex in range(10):
        store.insert(*star(device, vertex, range(30)))
    used = int(counters(store)[USED])
    store.delete_vertices(device.xp.arange(5, dtype=np.uint32))
    store.check()
    assert store.num_edges == 150
    assert int(counters(store)[FREE + 5]) == 5
    for vertex in range(20, 25):
        store.insert(*star(device, vertex, range(30)))
    store.check()
    assert int(counters(store)[USED]) == used


@pytest.mark.parametrize("ascending", [True, False])
def test_hubs_and_long_moves(device: Device, ascending: bool) -> None:
    """Adjacencies beyond every threshold of the kernels: scans and moves in parts, runs of thousands in one batch."""
    store = HornetStore(200_000, device=device, weight_dtype="float64", sorted_adjacencies=ascending)
    rng, model = np.random.default_rng(2), set()
    for size in (300, 5000, 20_000, 100_000, 40_000):
        targets = rng.integers(0, 200_000, size).astype(np.uint32)
        src = np.where(rng.random(size) < 0.9, 7, rng.integers(0, 9, size)).astype(np.uint32)
        store.insert(*(device.xp.asarray(part) for part in (src, targets, rng.random(size))))
        model |= set(zip(src.tolist(), targets.tolist(), strict=True))
        store.check()
        assert edges_of(store) == model
    listed = np.array(sorted(model), np.uint32)
    gone = listed[rng.random(len(listed)) < 0.85]
    status, _ = store.delete(*(device.xp.asarray(np.ascontiguousarray(gone[:, k])) for k in (0, 1)))
    assert bool((device.to_numpy(status) == 1).all())
    model -= set(map(tuple, gone.tolist()))
    store.check()
    assert edges_of(store) == model
    found, _ = store.find(*(device.xp.asarray(np.ascontiguousarray(listed[:, k])) for k in (0, 1)))
    assert device.to_numpy(found).tolist() == [tuple(edge) in model for edge in listed.tolist()]


def test_compact_repacks(device: Device) -> None:
    store = HornetStore(100, device=device, weight_dtype="int32")
    rng = np.random.default_rng(4)
    for _ in range(5):
        src, dst = (device.xp.asarray(rng.integers(0, 100, 800).astype(np.uint32)) for _ in range(2))
        store.insert(src, dst, src.astype(np.int32))
        store.delete(src[:600], dst[:600])
    before, weights = edges_of(store), np.sort(device.to_numpy(store.edges().weight))
    store.compact()
    store.check()
    assert edges_of(store) == before
    assert np.array_equal(np.sort(device.to_numpy(store.edges().weight)), weights)
    degrees = device.to_numpy(store.degrees())
    wanted = [loops.class_of(int(d)) if d else NONE for d in degrees]
    assert device.to_numpy(store.pool["klass"]).tolist() == wanted
    assert int(counters(store)[USED]) == len(store.pool["dst"]) == sum(1 << k for k in wanted if k != NONE)
    assert not counters(store)[FREE:GROW].any()


def test_without_room_to_migrate_down_blocks_stay(device: Device) -> None:
    store = HornetStore(100, device=device)
    store.insert(*star(device, 1, range(100)))
    store.compact()
    store.memory_limit = store.pool.allocated + store.pool.kept_back()
    store.delete(*star(device, 1, range(10, 100)))
    assert class_of(store, 1) == 7
    store.check()
    with pytest.raises(CapacityError):
        store.insert(*star(device, 2, range(3)))
    store.check()
    store.delete(*star(device, 1, range(100)))
    assert class_of(store, 1) == NONE
    store.check()
    store.insert(*star(device, 2, range(100)))  # takes the free block
    store.check()
    store.memory_limit = None
    store.delete(*star(device, 2, range(10, 100)))
    store.compact()
    assert class_of(store, 2) == 4
    store.check()


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda a: a["end"].__setitem__(0, a["end"][0] - 1), "edges is exact"),
        (
            lambda a: a["begin"].__setitem__(0, a["begin"][1]) or a["end"].__setitem__(0, a["end"][1]),
            "exactly one used or free",
        ),
        (lambda a: a["klass"].__setitem__(0, 9), "three quarters empty"),
        (lambda a: a["klass"].__setitem__(0, 2), "fits its block"),
        (lambda a: a["dst"].__setitem__(int(a["begin"][0]), a["dst"][int(a["begin"][0]) + 1]), "stored once"),
        (lambda a: a["dst"].__setitem__(int(a["begin"][0]), 5000), "below num_vertices"),
        (lambda a: a["dst"].__setitem__(int(a["begin"][0]), 99), "ascending"),
        (lambda a: a["counters"].__setitem__(FREE + 5, 2), "blocks are exact|fits its space"),
        (lambda a: a["counters"].__setitem__(USED, 10**9), "carved slots"),
    ],
)
def test_check_finds_damage(device: Device, damage, invariant: str) -> None:
    store = HornetStore(100, device=device)
    for vertex in range(3):
        store.insert(*star(device, vertex, range(20)))
    store.delete_vertices(device.xp.asarray(np.array([2], np.uint32)))
    store.check()
    damage(store.pool)
    with pytest.raises(CheckFailed, match=invariant):
        store.check()


def carved_by(store: HornetStore, updates: list[tuple[str, int, int]]) -> None:
    for kind, vertex, degree in updates:
        present = int(store.degrees()[vertex])
        low = present if kind == "insert" else max(0, present - degree)
        getattr(store, kind)(*star(CPU, vertex, range(low, present + (degree if kind == "insert" else 0))))


UPDATES = st.lists(st.tuples(st.sampled_from(["insert", "delete"]), st.integers(0, 5), st.integers(1, 70)), max_size=25)


@given(before=UPDATES, after=UPDATES)
def test_the_bounds_of_the_host_hold(before: list, after: list) -> None:
    """What CUDA trusts without looking: carved slots and free blocks never exceed what the counters predict."""
    store = HornetStore(4000, device=CPU)
    carved_by(store, before)
    known = store.pool["counters"].copy()
    unseen = np.zeros(2, np.int64)
    for update in after:
        held = int(store.pool["counters"][layout.EDGES])
        carved_by(store, [update])
        change = int(store.pool["counters"][layout.EDGES]) - held
        inserted, deleted = max(0, change), max(0, -change)
        carve = ledger.carve_bound(known, unseen, inserted, deleted, store.num_vertices)
        assert int(store.pool["counters"][USED]) <= int(known[USED]) + carve
        stacks = ledger.stack_bounds(known, unseen, inserted + deleted, store.num_vertices)
        assert np.all(store.pool["counters"][FREE:GROW] <= stacks)
        unseen += (inserted, deleted)
    store.check()
