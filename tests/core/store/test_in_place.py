"""Arrays that grow where they are: contents, copies, forks, limits, and systems that reserve no addresses."""

from __future__ import annotations

import copy
import mmap
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suricate.errors import CapacityError
from suricate.graph import Graph
from suricate.store import in_place
from suricate.store.in_place import growable, lengthened, reach

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="addresses are reserved on Linux")
SIZE, STEP, BATCHES = 300, 1_500, 24
GROWING = ("slabhash", "hornet_like", "blocked")  # rebuilds of the other stores move all edges anyway


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of a page already get room."""
    monkeypatch.setattr(in_place, "LEAST", 1 << 12)


@ON_LINUX
def test_a_large_array_grows_where_it_is() -> None:
    array = growable(in_place.LEAST // 4, np.uint32)
    array[:] = np.arange(len(array))
    assert reach(array) >= in_place.TIMES * len(array)
    assert reach(array[1:]) == len(array) - 1  # it does not begin there
    assert reach(array.view(np.uint16)) == 2 * reach(array)
    longer = lengthened(array, 3 * len(array))
    longer[len(array) :] = 7
    assert longer.ctypes.data == array.ctypes.data
    assert longer.nbytes == 3 * array.nbytes
    assert longer.dtype == np.uint32
    assert (longer[: len(array)] == np.arange(len(array))).all()
    assert len(lengthened(longer, 5)) == 5
    del array
    assert (longer[-3:] == 7).all()


def test_small_arrays_and_those_of_others_have_no_room() -> None:
    assert reach(growable(100, np.uint8)) == 100
    assert reach(np.zeros(10)) == 10
    with mmap.mmap(-1, 1 << 13) as memory:
        array = np.frombuffer(memory, np.uint8)[:100].view(np.uint32)
        assert reach(array) == 25
        assert len(lengthened(array, 100)) == 25
        del array


@pytest.mark.parametrize("why", ["strict accounting", "no addresses", "no huge pages", "another system"])
def test_without_addresses_an_array_is_a_usual_one(why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(12, "Cannot allocate memory")

    in_place.most_reserved.cache_clear()
    if why == "strict accounting":
        (tmp_path / "mode").write_text("2\n")
        monkeypatch.setattr(in_place, "STRICT", tmp_path / "mode")
    elif why == "no addresses":
        monkeypatch.setattr(in_place, "Reserved", type("Full", (in_place.Reserved,), {"__new__": fail}))
    elif why == "no huge pages":
        monkeypatch.setattr(in_place.Reserved, "ask_for_huge_pages", fail)
    else:
        monkeypatch.setattr(sys, "platform", "win32")
    array = growable(in_place.LEAST, np.uint32)
    in_place.most_reserved.cache_clear()
    assert (len(array), reach(array)) == (in_place.LEAST, in_place.LEAST)
    array[:] = 1


@ON_LINUX
@pytest.mark.parametrize("at_once", [5_000, 10_000])
def test_reserved_addresses_take_no_memory(at_once: int) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    before = resident()
    held = [growable(in_place.LEAST, np.uint8) for _ in range(at_once // 100)]
    assert resident() - before < at_once // 100 * in_place.LEAST // 2
    assert all(reach(array) > 1 << 30 for array in held)


@ON_LINUX
def test_a_forked_child_has_a_copy() -> None:
    array = growable(in_place.LEAST, np.uint8)
    array[:] = 1
    child = os.fork()
    if not child:
        longer = lengthened(array, 2 * len(array))
        longer[:] = 2
        os._exit(0 if longer.sum() == 2 * len(longer) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (lengthened(array, 2 * len(array))[: len(array)] == 1).all()
    assert array.sum() == len(array)


def batches(seed: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(0, SIZE, (2, STEP)).astype(np.uint32)) for _ in range(BATCHES)]


def keys(graph: Graph) -> list[tuple[int, int]]:
    edges = graph.edges()
    return sorted(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))


def pool_of(graph: Graph) -> np.ndarray:
    store: Any = graph.store()
    return store.slabs.pool if hasattr(store, "slabs") else store.pool["dst"]


@ON_LINUX
@pytest.mark.parametrize("backend", GROWING)
def test_a_graph_grows_where_it_is_and_copies_are_apart(early: None, backend: str) -> None:
    graph, expected, places, capacities = Graph(SIZE, backend=backend, device="cpu", self_loops="allow"), set(), [], []
    for src, dst in batches():
        graph.insert_edges(src, dst)
        expected |= set(zip(src.tolist(), dst.tolist(), strict=True))
        places.append(pool_of(graph).ctypes.data)
        capacities.append(len(pool_of(graph)))
    stayed = np.diff(places) == 0
    assert (stayed & (np.diff(capacities) > 0)).any()
    assert stayed[len(stayed) // 2 :].mean() > 0.8  # buckets for all vertices are in a new pool
    assert keys(graph) == sorted(expected)
    twins = [copy.copy(graph), pickle.loads(pickle.dumps(graph)), graph.to("cpu")]
    (src, dst), *others = batches(seed=6)
    twins[0].insert_edges(src, dst)
    twins[1].delete_edges(*batches()[0])
    for more in others:
        twins[2].insert_edges(*more)
    assert keys(graph) == sorted(expected)
    assert keys(twins[0]) == sorted(expected | set(zip(src.tolist(), dst.tolist(), strict=True)))
    for each in (graph, *twins):
        each.check()


@ON_LINUX
@pytest.mark.parametrize("backend", GROWING)
def test_a_limit_counts_what_is_in_use(early: None, backend: str) -> None:
    """Beside an array that grows in place no copy has to fit, and what is reserved does not count."""
    limit, size = 1_000_000, 3_000
    graph, most, rng = Graph(size, backend=backend, device="cpu", memory_limit=limit), 0, np.random.default_rng(3)
    for _ in range(500):
        try:
            graph.insert_edges(*rng.integers(0, size, (2, STEP)))
        except CapacityError:
            break
        most = max(most, graph.store().bytes_held())
    else:
        pytest.fail("everything fits")
    assert 3 * limit // 4 < most <= limit
    graph.check()


@ON_LINUX
def test_slabs_grow_by_pieces(early: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from suricate.backends.slabhash import supply

    monkeypatch.setattr(supply, "PIECE", 1 << 14)
    graph = Graph(20_000, device="cpu", in_edges=False)
    rng = np.random.default_rng(1)
    graph.insert_edges(*rng.integers(0, 20_000, (2, 200_000)))
    sizes = []
    for _ in range(40):
        graph.insert_edges(*rng.integers(0, 20_000, (2, 2_000)))
        sizes.append(graph.store().slabs.pool.nbytes)
    steps = np.diff(np.unique(sizes))
    assert len(steps) > 3
    assert steps.max() < sizes[0] / 8
    graph.check()
