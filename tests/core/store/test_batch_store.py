"""What backends on sorted batches share: outcomes bit for bit, the bounded log, memory limits, copies."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from sorted_backend import SortedStore

from suricate.backends.blocked.store import BlockedStore
from suricate.backends.csr_baseline.store import CsrStore
from suricate.backends.hornet_like.store import HornetStore
from suricate.base.devices import Device
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED, edge_keys
from suricate.errors import CapacityError, ParameterError
from suricate.store.batch_store import BatchStore

SUBNORMAL = {"float32": np.float32(1e-45), "float64": np.float64(5e-324)}


@pytest.fixture(params=[CsrStore, HornetStore, BlockedStore, SortedStore], ids=lambda cls: cls.name)
def backend(request: pytest.FixtureRequest) -> type[BatchStore]:
    return request.param


def edges(device: Device, *pairs: tuple[int, int]) -> tuple:
    return tuple(device.xp.asarray(np.array(part, np.uint32)) for part in zip(*pairs, strict=True))


def random_edges(device: Device, count: int, num_vertices: int, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    return tuple(device.xp.asarray(part) for part in rng.integers(0, num_vertices, (2, count)).astype(np.uint32))


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_compared_and_kept_bit_for_bit(backend: type[BatchStore], device: Device, dtype: str) -> None:
    store = backend(4, device=device, weight_dtype=np.dtype(dtype))
    one, tiny = edges(device, (1, 2)), SUBNORMAL[dtype]
    sequence = np.array(
        [0.0, -0.0, -0.0, 0.0, tiny, 2 * tiny, 1.0, np.nextafter(dtype_one := np.dtype(dtype).type(1), 2)]
    )
    sequence = sequence.astype(dtype)
    sequence[-1] = np.nextafter(dtype_one, np.dtype(dtype).type(2))
    before = None
    for weight in sequence:
        status, old = store.insert(*one, device.xp.asarray(np.array([weight])))
        same = before is not None and before.tobytes() == weight.tobytes()
        assert int(status[0]) == (NEW if before is None else UNCHANGED if same else REPLACED)
        if int(status[0]) == REPLACED:
            assert device.to_numpy(old).tobytes() == before.tobytes()
        assert device.to_numpy(store.edges().weight).tobytes() == weight.tobytes()
        assert device.to_numpy(store.find(*one)[1]).tobytes() == weight.tobytes()
        before = weight
    _, old = store.delete(*one)
    assert device.to_numpy(old).tobytes() == before.tobytes()


def test_the_last_of_thousands_of_duplicates_wins(backend: type[BatchStore], device: Device) -> None:
    store, xp, count = backend(50, device=device, weight_dtype=np.dtype("int32")), device.xp, 5000
    src, dst = random_edges(device, count, 4)
    weight = xp.arange(count, dtype=np.int32)
    for wanted in (NEW, REPLACED):
        status = device.to_numpy(store.insert(src, dst, weight).status)
        keys = device.to_numpy(src).astype(np.int64) * 50 + device.to_numpy(dst)
        last = {int(key): i for i, key in enumerate(keys)}
        assert sorted(np.flatnonzero(status)) == sorted(last.values())
        assert set(status[list(last.values())]) == {wanted}
        found, stored = store.find(src, dst)
        assert bool(found.all())
        base = int(weight[0])
        assert device.to_numpy(stored).tolist() == [last[int(key)] + base for key in keys]
        weight = weight + 1
    status = device.to_numpy(store.delete(src, dst).status)
    assert sorted(np.flatnonzero(status == REMOVED)) == sorted(last.values())


def test_outcomes_belong_to_the_caller(backend: type[BatchStore], device: Device) -> None:
    store = backend(100, device=device, weight_dtype=np.dtype("float32"))
    src, dst = random_edges(device, 500, 100)
    weight = device.xp.ones(500, np.float32)
    outcomes = [store.insert(src, dst, weight), store.insert(src, dst, 2 * weight), store.delete(src, dst)]
    copies = [[device.to_numpy(part).copy() for part in outcome] for outcome in outcomes]
    store.insert(*random_edges(device, 800, 100, seed=1), device.xp.zeros(800, np.float32))
    store.delete(src, dst)
    for outcome, copy in zip(outcomes, copies, strict=True):
        for part, wanted in zip(outcome, copy, strict=True):
            assert device.to_numpy(part).tobytes() == wanted.tobytes()


# -- the log of insertions ---------------------------------------------------------------------------------------------


def test_batches_that_change_nothing_do_not_make_the_log_longer(backend: type[BatchStore], device: Device) -> None:
    store = backend(1000, device=device, memory_limit=2_000_000)
    batch = random_edges(device, 5000, 1000)
    store.mark()
    for _ in range(100):
        store.insert(*batch)
    used, allocated = store.memory()["log"]
    assert used == 8 * store.num_edges
    assert allocated <= 10 * 8 * 5000
    assert len(store.updated().src) == store.num_edges


def test_the_log_is_no_longer_than_the_edges(backend: type[BatchStore], device: Device) -> None:
    """The same edges come and go: the log holds each once."""
    store = backend(1000, device=device)
    batch = random_edges(device, 2000, 1000)
    store.mark()
    for _ in range(40):
        store.insert(*batch)
        store.delete(batch[0][100:], batch[1][100:])
    assert store.memory()["log"][1] <= 8 * 12 * 2000
    held, updated = (edge_keys(*part[:2]) for part in (store.edges(), store.updated()))
    assert np.array_equal(np.sort(device.to_numpy(held)), np.sort(device.to_numpy(updated)))


def test_the_log_counts_against_the_limit(backend: type[BatchStore], device: Device) -> None:
    store = backend(100, device=device)
    store.insert(*random_edges(device, 3000, 100))
    store.mark()
    store.delete(*random_edges(device, 3000, 100))
    store.memory_limit = store.pool.allocated + store.pool.kept_back() + 1000
    before = store.num_edges
    with pytest.raises(CapacityError, match="memory_limit"):
        store.insert(*random_edges(device, 3000, 100))
    assert store.num_edges == before
    assert store.has_mark
    store.check()


def test_a_new_mark_forgets_the_log(backend: type[BatchStore], device: Device) -> None:
    store = backend(100, device=device)
    store.mark()
    store.insert(*random_edges(device, 500, 100))
    store.mark()
    assert len(store.updated().src) == 0
    assert store.memory()["log"] == (0, 0)


def test_a_copy_keeps_mark_and_limit(backend: type[BatchStore], device: Device) -> None:
    store = backend(100, device=device, memory_limit=10**6)
    store.insert(*random_edges(device, 300, 100))
    store.mark()
    store.insert(*random_edges(device, 300, 100, seed=1))
    copy = store.copy_to(device)
    assert copy.memory_limit == 10**6
    assert copy.has_mark
    copy.insert(*edges(device, (99, 99)))
    assert len(copy.updated().src) == len(store.updated().src) + 1
    store.copy_to(device).check()


# -- memory ------------------------------------------------------------------------------------------------------------


def churn(store: BatchStore, size: int) -> Iterator[tuple[str, bool]]:
    """Do what may allocate, in turns; yield each operation, and whether it was refused."""
    rng = np.random.default_rng(5)
    for i in range(400):
        src, dst = rng.integers(0, 500, (2, size)).astype(np.uint32)
        weight = None if store.weight_dtype is None else rng.random(size)
        operation = ("insert", "insert", "insert", "mark", "reserve", "resize", "compact", "delete")[i % 8]
        arguments = {
            "insert": (src, dst, weight), "delete": (src, dst), "reserve": (3000,),
            "resize": (store.num_vertices + 1,), "mark": (), "compact": (),
        }[operation]  # fmt: skip
        try:
            getattr(store, operation)(*arguments)
        except CapacityError:
            yield operation, True
        else:
            yield operation, False


@pytest.mark.parametrize("weight_dtype", [None, "float64"])
def test_traced_memory_stays_below_the_limit(backend: type[BatchStore], weight_dtype: str | None) -> None:
    size, dtype = 2000, None if weight_dtype is None else np.dtype(weight_dtype)
    list(churn(backend(500, weight_dtype=dtype), size))  # compiles the loops
    limit = 600_000 + sum(allocated for _, allocated in backend(500, weight_dtype=dtype).memory().values())
    tracemalloc.start()
    try:
        store, refused = backend(500, weight_dtype=dtype, memory_limit=limit), set()
        for operation, was_refused in churn(store, size):
            peak = tracemalloc.get_traced_memory()[1]
            assert peak < limit + 64 * size + 65_536, f"{peak} bytes were held during {operation}"
            assert sum(allocated for _, allocated in store.memory().values()) <= limit
            refused |= {operation} if was_refused else set()
            tracemalloc.reset_peak()
        assert {"insert", "reserve"} <= refused <= {"insert", "reserve", "resize"}
        store.check()
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_vertices": -1}, "num_vertices must be at least 0"),
        ({"num_vertices": 2**32 - 1}, "num_vertices must be at most"),
        ({"num_vertices": 1.5}, "num_vertices must be an integer"),
        ({"weight_dtype": "float16"}, "weight_dtype must be float32"),
        ({"weight_dtype": "foo"}, "weight_dtype must be float32"),
        ({"memory_limit": "1GB"}, "memory_limit must be an integer"),
        ({"memory_limit": -1}, "memory_limit must be at least 0"),
        ({"memory_limit": float("nan")}, "memory_limit must be an integer"),
    ],
)
def test_arguments_of_the_wrong_type_or_range(backend: type[BatchStore], arguments: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=f"{backend.name}: {message}"):
        backend(**{"num_vertices": 10, **arguments})


def test_an_empty_store_that_does_not_fit(backend: type[BatchStore]) -> None:
    if backend is SortedStore:
        pytest.skip("takes no memory per vertex")
    with pytest.raises(CapacityError, match=f"{backend.name} needs"):
        backend(1000, memory_limit=100)
