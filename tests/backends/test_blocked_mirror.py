"""The mirror of ``blocked``: two pools on the CPU take over from each other what changed, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from suricate.backends.blocked import check, cpu, ledger
from suricate.backends.blocked.host_copy import HostCopy
from suricate.backends.blocked.layout import BLOCKS, COUNTERS, FREE, HOST, LOWEST, STORE
from suricate.backends.blocked.store import BlockedStore
from suricate.base.devices import CPU
from suricate.base.types import EdgeList
from suricate.errors import CapacityError, CheckFailed, ParameterError
from suricate.intake.batches import HostBatch

N = 200


class Plain:
    """Ordinary memory instead of pinned memory."""

    def __init__(self) -> None:
        self.waiting = 0

    def __call__(self, size: int) -> np.ndarray:
        self.waiting += 1
        return np.empty(size, np.uint8)

    def queued(self) -> None:
        self.waiting = 0


class Pair:
    """A store and its mirror, both on the CPU."""

    def __init__(self, weight_dtype: str | None = None, *, edges: int = 3000, capacity: int = 8, **more) -> None:
        dtype = None if weight_dtype is None else np.dtype(weight_dtype)
        self.rng = np.random.default_rng(7)
        self.store = BlockedStore(N, weight_dtype=dtype, block_edges=capacity, **more)
        self.change(self.store, edges)
        self.host = self.store.copy_to(CPU)
        self.host.memory_limit = None
        self.memory = Plain()
        self.copy = HostCopy(self.host.pool, self.store.pool, cpu, self.memory)

    def change(self, store: BlockedStore, size: int) -> None:
        rng = self.rng
        src, dst = (rng.integers(0, N, size).astype(np.uint32) for _ in range(2))
        weight = None if store.weight_dtype is None else rng.integers(0, 4, size).astype(store.weight_dtype)
        store.insert(src, dst, weight)

    def delete(self, store: BlockedStore, size: int) -> None:
        edges = store.edges()
        gone = self.rng.permutation(len(edges.src))[:size]
        store.delete(edges.src[gone], edges.dst[gone])

    def verify(self) -> None:
        check.check_copy(self.copy)
        (self.copy.upload if self.copy.ahead == HOST else self.copy.download)()
        assert self.copy.ahead is None
        assert self.memory.waiting == 0
        check.check_equal(self.copy)
        check.check_copy(self.copy)
        self.host.check()
        self.store.check()
        for mine, other in zip(self.host.edges(), self.store.edges(), strict=True):
            assert mine is other is None or np.array_equal(mine, other)


@pytest.mark.parametrize("weight_dtype", [None, "float32", "float64"])
def test_each_side_takes_over_what_the_other_changed(weight_dtype: str | None) -> None:
    pair = Pair(weight_dtype)
    for turn in range(30):
        side, store = ((HOST, pair.host), (STORE, pair.store))[int(pair.rng.integers(2))]
        pair.copy.ahead = side
        for _ in range(int(pair.rng.integers(1, 4))):
            pair.change(store, int(pair.rng.integers(1, 60)))
            pair.delete(store, int(pair.rng.integers(0, 80)))
            if turn % 5 == 4:
                store.delete_vertices(pair.rng.permutation(N)[:9].astype(np.uint32))
            check.check_copy(pair.copy)
        pair.verify()
    assert pair.copy.uploaded > 0
    assert pair.copy.downloaded > 0


@pytest.mark.parametrize("side", [HOST, STORE])
def test_large_changes_are_taken_over_as_a_whole(side: str) -> None:
    pair = Pair(edges=100)
    pair.copy.ahead = side
    pair.change(pair.host if side == HOST else pair.store, 20_000)  # both pools grow
    pair.verify()


def test_bytes_uploaded_are_those_of_the_changed_blocks() -> None:
    """A batch of k edges of distinct vertices costs at most 3 blocks, a vertex and a free block each, and counters."""
    pair, capacity = Pair("float32", edges=20_000, capacity=16), 16
    block, vertex = 4 * (4 + 2 * capacity), 16
    for size in (1, 10, 50):
        before, pair.copy.ahead = pair.copy.uploaded, HOST
        src = pair.rng.permutation(N)[:size].astype(np.uint32)
        dst = pair.rng.integers(0, N, size).astype(np.uint32)
        pair.host.insert(src, dst, np.ones(size, np.float32))
        marked = int(pair.host.pool["counters"][BLOCKS])
        pair.copy.upload()
        uploaded = pair.copy.uploaded - before
        assert marked <= 3 * size
        assert uploaded <= marked * block + size * (vertex + 4) + 8 * COUNTERS + 11 * 8
        pair.verify()
    before, pair.copy.ahead = pair.copy.uploaded, HOST
    pair.host.insert(src, dst, np.ones(50, np.float32))  # changes nothing
    pair.copy.upload()
    assert pair.copy.uploaded - before == 8 * COUNTERS
    pair.copy.upload()
    assert pair.copy.uploaded - before == 8 * COUNTERS, "nothing is uploaded twice"


def test_several_batches_upload_a_block_once() -> None:
    pair, one = Pair(edges=20_000, capacity=16), np.ones(1, np.uint32)
    pair.copy.ahead = HOST
    for round_ in range(20):
        (pair.host.insert if round_ % 2 else pair.host.delete)(3 * one, 5 * one)
    before = pair.copy.uploaded
    pair.verify()
    assert pair.copy.uploaded - before <= 3 * (16 + 64) + 16 + 8 * COUNTERS + 11 * 8


def test_the_stack_of_free_blocks_is_taken_over_from_its_lowest_height_on() -> None:
    pair, all_of_them = Pair(edges=20_000), np.arange(N, dtype=np.uint32)
    pair.copy.ahead = HOST
    pair.host.delete_vertices(all_of_them[:50])
    pair.verify()
    height = int(pair.host.pool["counters"][FREE])
    pair.copy.ahead = STORE
    pair.change(pair.store, 300)
    assert int(pair.store.pool["counters"][LOWEST]) < height
    pair.delete(pair.store, 2000)
    pair.verify()


def test_both_sides_share_one_memory_limit() -> None:
    pair = Pair()
    held = pair.host.pool.allocated + pair.store.pool.allocated
    pair.store.memory_limit = pair.host.memory_limit = held + 20_000
    pair.copy.ahead = HOST
    refused = False
    for _ in range(100):
        try:
            pair.change(pair.host, 500)
        except CapacityError:
            refused = True
        assert pair.store.pool.blocks >= pair.host.pool.blocks
        assert pair.host.pool.allocated + pair.store.pool.allocated <= held + 20_000
    assert refused
    pair.verify()


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda host, store: host["dst"].__setitem__(0, 7), "blocks that differ are marked"),
        (lambda host, store: host["degree"].__setitem__(0, 7), "vertices that differ are marked"),
        (lambda host, store: host["block_mark"].__setitem__(0, 1), "what is marked is listed"),
        (lambda host, store: store["vertex_mark"].__setitem__(0, 1), "what is marked is listed|only the side"),
        (lambda host, store: host["counters"].__setitem__(LOWEST, -1), "lowest height"),
    ],
)
def test_check_finds_differences(damage, invariant: str) -> None:
    pair = Pair()
    pair.copy.ahead = HOST
    pair.change(pair.host, 3)
    check.check_copy(pair.copy)
    damage(pair.host.pool, pair.store.pool)
    with pytest.raises(CheckFailed, match=invariant):
        check.check_copy(pair.copy)


def test_check_finds_that_something_was_not_taken_over() -> None:
    pair = Pair()
    pair.copy.ahead = HOST
    pair.change(pair.host, 3)
    with pytest.raises(CheckFailed, match="same"):
        check.check_equal(pair.copy)


def test_the_host_takes_over_when_small_batches_have_cost_as_much() -> None:
    assert ledger.pays_off(0, 0)
    assert not ledger.pays_off(0, 1000)
    assert ledger.pays_off(1, 1000)
    behind = 10**8
    turn = next(waived for waived in range(10**6) if ledger.pays_off(waived, behind))
    assert turn * ledger.SAVING == pytest.approx(ledger.WAIT + behind / ledger.RATE, abs=ledger.SAVING)


@pytest.mark.parametrize("value", ["cpu", None, 1, "HOST"])
def test_other_places_are_refused(value) -> None:
    with pytest.raises(ParameterError, match="blocked: batches_on must be 'auto', 'host' or 'device'"):
        BlockedStore(10, batches_on=value)


@pytest.mark.parametrize("where", ["auto", "host", "device"])
def test_on_the_cpu_there_is_no_mirror(where: str) -> None:
    store = BlockedStore(N, batches_on=where)
    five = np.arange(5, dtype=np.uint32)
    assert store.apply(None, HostBatch(EdgeList(five, five))) is None
    store.insert(np.ones(3, np.uint32), np.arange(3, dtype=np.uint32))
    assert store.options()["batches_on"] == where
    assert not store.pool.is_tracked
