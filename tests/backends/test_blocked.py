"""Chains of blocks: the conformance kit, and what only this backend promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

import suricate as su
from suricate.backends.blocked import ledger
from suricate.backends.blocked.layout import BLOCK_EDGES, EDGES, FREE, HOST, STORE, USED
from suricate.backends.blocked.store import BlockedStore
from suricate.base.devices import Device, resolve_device
from suricate.base.types import EMPTY
from suricate.errors import CheckFailed, ParameterError, VertexRangeError
from suricate.testing import StoreConformance


class TestConformance(StoreConformance):
    backend = BlockedStore
    cuda_marks = (pytest.mark.gpu,)


def star(device: Device, vertex: int, targets: range) -> tuple:
    xp = device.xp
    return xp.full(len(targets), vertex, np.uint32), xp.asarray(np.array(targets, np.uint32))


def counter(store: BlockedStore, which: int) -> int:
    return int(store.counters_array()[which])


def edges_of(store: BlockedStore) -> set:
    src, dst, _ = store.edges()
    return set(zip(store.device.to_numpy(src).tolist(), store.device.to_numpy(dst).tolist(), strict=True))


def devices() -> list:
    return [kind if kind == "cpu" else pytest.param(kind, marks=pytest.mark.gpu) for kind in BlockedStore.devices]


@pytest.fixture(params=devices())
def device(request: pytest.FixtureRequest) -> Device:
    return resolve_device(request.param)


@pytest.mark.parametrize("capacity", BLOCK_EDGES)
def test_chains_grow_and_shrink_by_whole_blocks(device: Device, capacity: int) -> None:
    store, every = BlockedStore(600, device=device, weight_dtype="float32", block_edges=capacity), range(300)
    for degree in (1, 2, 3, 64, 65, 128, 129, 300):
        src, dst = star(device, 3, range(degree))
        store.insert(src, dst, dst.astype(np.float32))
        store.check()
        assert counter(store, USED) == -(-degree // capacity)
    for left in (299, 129, 128, 65, 64, 3, 2, 1, 0):
        store.delete(*star(device, 3, range(left, 300)))
        store.check()
        assert edges_of(store) == {(3, v) for v in range(left)}
        assert counter(store, USED) - counter(store, FREE) == -(-left // capacity)
    src, dst = star(device, 9, every)
    store.insert(src, dst, dst.astype(np.float32))
    assert counter(store, USED) == -(-300 // capacity), "free blocks are taken before new ones"


def test_deleted_slots_are_filled_by_the_last_edges(device: Device) -> None:
    """In the middle, at both ends, in the last block, across blocks; with their weights."""
    rng = np.random.default_rng(3)
    for round_ in range(40):
        store = BlockedStore(100, device=device, weight_dtype="int32", block_edges=4)
        degree = int(rng.integers(1, 40))
        src, dst = star(device, 1, range(degree))
        store.insert(src, dst, 7 * dst.astype(np.int32))
        gone = rng.permutation(degree)[: int(rng.integers(0, degree + 1))].astype(np.uint32)
        store.delete(src[: len(gone)], device.xp.asarray(gone))
        store.check()
        kept = sorted(set(range(degree)) - set(gone.tolist()))
        listed = store.edges()
        order = np.argsort(device.to_numpy(listed.dst))
        assert device.to_numpy(listed.dst)[order].tolist() == kept, round_
        assert device.to_numpy(listed.weight)[order].tolist() == [7 * v for v in kept]


def test_blocks_that_follow_each_other_are_known(device: Device) -> None:
    """A chain built at once is one run; one that grew beside another is not, until it is repacked."""
    store = BlockedStore(100, device=device, block_edges=4)
    store.insert(*star(device, 1, range(10)))
    store.insert(*star(device, 2, range(4)))
    for degree in (12, 13, 30):
        store.insert(*star(device, 1, range(degree)))
        store.insert(*star(device, 2, range(degree)))
    assert store.pool["run"][1:3].tolist() == [3, 3]
    store.delete(*star(device, 1, range(3, 30)))
    assert store.pool["run"][1:3].tolist() == [1, 3]
    store.compact()
    assert store.pool["run"][1:3].tolist() == [1, 8]
    store.check()


def test_vertices_give_their_blocks_back(device: Device) -> None:
    store = BlockedStore(64, device=device, block_edges=8)
    for vertex in range(10):
        store.insert(*star(device, vertex, range(30)))
    store.delete_vertices(device.xp.arange(5, dtype=np.uint32))
    store.check()
    assert (store.num_edges, counter(store, FREE)) == (150, 20)
    for vertex in range(20, 25):
        store.insert(*star(device, vertex, range(30)))
    store.check()
    assert (counter(store, USED), counter(store, FREE)) == (40, 0)


def test_compact_makes_chains_consecutive(device: Device) -> None:
    store, rng = BlockedStore(100, device=device, weight_dtype="float64", block_edges=4), np.random.default_rng(4)
    for _ in range(6):
        src, dst = (device.xp.asarray(rng.integers(0, 100, 800).astype(np.uint32)) for _ in range(2))
        store.insert(src, dst, src * 1000.0 + dst)
        store.delete(src[:600], dst[:600])
    before = edges_of(store)
    store.compact()
    store.check()
    assert edges_of(store) == before
    src, dst, weight = (device.to_numpy(part) for part in store.edges())
    assert np.array_equal(weight, src * 1000.0 + dst)
    link = device.to_numpy(store.pool["link"])
    assert counter(store, FREE) == 0
    assert counter(store, USED) == len(link) == sum(-(-int(d) // 4) for d in store.degrees())
    assert np.all((link == EMPTY) | (link == np.arange(len(link)) + 1))


@pytest.mark.parametrize(
    ("mean", "capacity"), [(0, 8), (0.2, 4), (3, 4), (4, 4), (6, 8), (16, 16), (40, 32), (1e6, 32), (float("nan"), 8)]
)
def test_capacities_suit_the_expected_degree(mean: float, capacity: int) -> None:
    assert ledger.capacity_for(mean) == capacity


def test_the_capacity_is_chosen_once(device: Device) -> None:
    hinted = BlockedStore(100, device=device, degree_hints=np.array([0] * 50 + [16] * 50))
    assert hinted.options()["block_edges"] == 16
    bulk = BlockedStore(40, device=device)
    assert bulk.options()["block_edges"] is None
    src, dst = star(device, 0, range(40))
    bulk.insert(device.xp.tile(device.xp.arange(40, dtype=np.uint32), 30), device.xp.repeat(dst[:30], 40))
    assert bulk.options()["block_edges"] == 32
    small = BlockedStore(40, device=device)
    small.insert(src[:5], dst[:5])
    small.insert(src, dst)
    assert small.options()["block_edges"] == 8
    assert small.copy_to(device).options() == small.options()


@pytest.mark.parametrize("value", [3, 1, 256, 8.0, "8", True])
def test_other_capacities_are_refused(value) -> None:
    with pytest.raises(ParameterError, match="blocked: block_edges must be 2, 4, 8"):
        BlockedStore(10, block_edges=value)


def test_a_bulk_load_takes_little_more_than_it_needs(device: Device) -> None:
    """Its bound, a block per vertex and one per so many edges, would be twice that."""
    rng, store = np.random.default_rng(3), BlockedStore(20_000, device=device, block_edges=8)
    ids = [device.xp.asarray(rng.integers(0, 20_000, ledger.BULK).astype(np.uint32)) for _ in range(2)]
    store.insert(*ids)
    store.check()
    assert counter(store, USED) <= store.pool.blocks <= 9 * counter(store, USED) // 8
    assert not ledger.is_bulk(ledger.BULK - 1, 0)
    assert not ledger.is_bulk(ledger.BULK, 4 * ledger.BULK + 1)


def test_the_most_blocks_that_insertions_take() -> None:
    """Checked against every way to spread the insertions over three vertices."""
    capacity, degrees = 4, np.array([0, 3, 6])
    unused = ledger.slack(degrees, 2)
    assert unused.tolist() == [1, 1, 1, 0]
    for edges in range(15):
        ways = [(a, b, edges - a - b) for a in range(edges + 1) for b in range(edges + 1 - a)]
        most = max(
            sum(-(-int(d + more) // capacity) - -(-int(d) // capacity) for d, more in zip(degrees, way, strict=True))
            for way in ways
        )
        assert ledger.most_taken(unused, edges) == most, edges
        assert ledger.take_bound(edges, len(degrees), 2) >= most
    assert ledger.take_bound(100, 10, 2) == 10 + 90 // capacity


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda a: a["degree"].__setitem__(0, 19), "edges is exact"),
        (lambda a: a["head"].__setitem__(5, 9), "owns blocks if and only if"),
        (lambda a: a["head"].__setitem__(1, a["head"][0]), "in one chain"),
        (lambda a: a["link"].__setitem__(int(~a["head"][0]), ~a["head"][0]), "in one chain, once"),
        (lambda a: a["link"].__setitem__(int(~a["head"][0]), EMPTY), "as many blocks as its edges fill"),
        (lambda a: a["back"].__setitem__(int(~a["head"][0]), ~a["head"][0]), "the first block knows the last"),
        (lambda a: a["back"].__setitem__(int(a["link"][int(~a["head"][0])]), 5), "knows the one before it"),
        (lambda a: a["owner"].__setitem__(int(~a["head"][0]), 1), "knows its vertex"),
        (lambda a: a["run"].__setitem__(0, 4), "a run is a part of its chain"),
        (lambda a: a["run"].__setitem__(3, 2), "follow each other"),
        (lambda a: a["dst"].__setitem__(8 * int(~a["head"][0]), a["dst"][8 * int(~a["head"][0]) + 1]), "stored once"),
        (lambda a: a["dst"].__setitem__(8 * int(~a["head"][0]), 5000), "below num_vertices"),
        (lambda a: a["dst"].__setitem__(8 * int(~a["head"][0]) + 23, 5), "without an edge is empty"),
        (lambda a: a["counters"].__setitem__(FREE, 2), "in a chain or free"),
        (lambda a: a["counters"].__setitem__(USED, 10**9), "holds all blocks"),
        (lambda a: a["counters"].__setitem__(EDGES, 1), "edges is exact"),
        (lambda a: a["free"].__setitem__(0, ~a["head"][0]), "in a chain or free"),
        (lambda a: a["owner"].__setitem__(int(a["free"][0]), 0), "free block has no owner"),
    ],
)
def test_check_finds_damage(device: Device, damage, invariant: str) -> None:
    store = BlockedStore(100, device=device, block_edges=8)
    for vertex in range(3):
        store.insert(*star(device, vertex, range(20)))
    store.insert(*star(device, 3, range(8)))
    store.insert(*star(device, 4, range(8)))
    store.insert(*star(device, 3, range(20)))  # its second block is not behind its first
    store.delete_vertices(device.xp.asarray(np.array([2], np.uint32)))
    store.check()
    damage(store.pool)
    with pytest.raises(CheckFailed, match=invariant):
        store.check()


@pytest.mark.parametrize("size", [1, 11, 12, 128, 129])
@pytest.mark.parametrize("weights", [None, "float64"])
def test_few_pairs_are_looked_up_at_once(size: int, weights: str | None) -> None:
    rng = np.random.default_rng(size)
    src, dst = rng.integers(0, 30, (2, 400), np.uint32)
    held = dict.fromkeys(zip(src.tolist(), dst.tolist(), strict=True))
    held = {edge: float(place) for place, edge in enumerate(held)}
    edges = np.array(list(held), np.uint32).T
    store = BlockedStore(30, weight_dtype=weights, block_edges=4)
    store.insert(*edges, None if weights is None else np.array(list(held.values())))
    for sources in (range(30), range(2)):  # in the second case more pairs of a vertex than a walk for each is for
        asked = rng.choice(list(sources), size).astype(np.uint32), rng.integers(0, 30, size, np.uint32)
        asked = tuple(np.concatenate((part[: size // 2], part[: size - size // 2])) for part in asked)  # twice
        found, weight = store.find(*asked)
        pairs = list(zip(*(part.tolist() for part in asked), strict=True))
        assert found.tolist() == [pair in held for pair in pairs]
        assert (weight is None) == (weights is None)
        if weight is not None:
            assert weight[found].tolist() == [held[pair] for pair in pairs if pair in held]


@pytest.mark.gpu
@pytest.mark.parametrize("weights", [None, "int32"])
def test_few_pairs_are_looked_up_in_the_mirror(weights: str | None) -> None:
    graph = su.Graph(50, backend="blocked", device="cuda", weight_dtype=weights)
    rng, held, number = np.random.default_rng(1), {}, 0
    xp, store = graph.device.xp, graph.store()

    def insert(place: Callable) -> None:
        nonlocal number
        edges = rng.integers(0, 50, (2, 20))
        values = np.arange(number, number + 20, dtype=np.int32)
        graph.insert_edges(*map(place, edges), None if weights is None else place(values))
        held.update(zip(zip(*edges.tolist(), strict=True), values.tolist(), strict=True))
        number += 20

    def ask(place: Callable) -> None:
        pairs = [*held, *zip(*rng.integers(0, 50, (2, 60)).tolist(), strict=True)][-100:]
        asked = tuple(map(place, np.array(pairs).T))
        found = graph.has_edges(*asked)
        assert isinstance(found, xp.ndarray)
        assert found.get().tolist() == [pair in held for pair in pairs]
        if weights is not None:
            right = [held.get(pair, -1) for pair in pairs]
            assert graph.edge_weights(*asked, default=-1).get().tolist() == right

    insert(np.asarray)
    while store._copy is None:  # until the mirror pays off
        insert(np.asarray)
    insert(np.asarray)
    copy = store._copy[0]
    ask(np.asarray)
    assert copy.ahead == HOST, "the device was not needed"
    ask(xp.asarray)
    assert copy.ahead is None
    ask(np.asarray)
    insert(xp.asarray)
    ask(np.asarray)
    assert copy.ahead == STORE, "the mirror was not needed"
    with pytest.raises(VertexRangeError, match=r"dst\[1\] is 50"):
        graph.has_edges([0, 1], [1, 50])


class TestHostConformance(StoreConformance):
    """All batches of a graph on CUDA by way of the mirror."""

    backend = BlockedStore
    options: ClassVar[dict] = {"batches_on": "host", "block_edges": 4}
    devices = ("cuda",)
    weight_dtypes = (None, "float64")
    traced = False
    cuda_marks = (pytest.mark.gpu,)

    def cuda_programs(self, store):
        return ()  # those of TestConformance
