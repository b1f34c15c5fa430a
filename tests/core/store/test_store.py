"""The store protocol: what backends that implement little get, and what the core checks of their outcomes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from suricate_tutorial import TutorialStore

from suricate.backends.csr_baseline.store import CsrStore
from suricate.backends.slabhash.store import SlabHashStore
from suricate.base.devices import CPU, Device
from suricate.base.types import Outcome
from suricate.errors import BackendError, CapacityError
from suricate.store import Store, checked_outcome

STATUS = np.zeros(3, np.uint8)
WEIGHT = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(STATUS[:2], WEIGHT), r"'tutorial' reported status as uint8\(2,\) instead of uint8\(3,\) on cpu"),
        (Outcome(STATUS.astype(np.int64), WEIGHT), "status as int64"),
        (Outcome([0, 0, 0], WEIGHT), "status as list"),
        (None, "returned NoneType instead of an Outcome"),
        ((STATUS, WEIGHT, 1), "returned tuple instead of an Outcome"),
        (Outcome(STATUS, None), "weight as NoneType"),
        (Outcome(STATUS, WEIGHT.astype(np.float64)), "weight as float64"),
        (Outcome(STATUS, WEIGHT[:0]), "weight as float32"),
        (Outcome(np.full(3, 3, np.uint8), WEIGHT), "status 3, which does not exist"),
    ],
)
def test_an_outcome_that_breaks_the_protocol_is_refused(outcome: Outcome, message: str) -> None:
    store = TutorialStore(4, weight_dtype=np.dtype("float32"))
    with pytest.raises(BackendError, match=message):
        checked_outcome(store, outcome, 3)


def test_outcomes_of_deletions_and_of_unweighted_stores() -> None:
    store = TutorialStore(4)
    assert checked_outcome(store, Outcome(STATUS), 3).status is STATUS
    with pytest.raises(BackendError, match="and the store has none"):
        checked_outcome(store, Outcome(STATUS, WEIGHT), 3)
    replaced = Outcome(np.full(3, 2, np.uint8))
    checked_outcome(store, replaced, 3)
    with pytest.raises(BackendError, match="status 2"):
        checked_outcome(store, replaced, 3, deletion=True)


def star(device: Device, count: int, first: int = 0) -> tuple:
    xp = device.xp
    return xp.zeros(count, np.uint32), xp.arange(first, first + count, dtype=np.uint32)


def test_a_copy_keeps_the_mark(device: Device) -> None:
    store = TutorialStore(100, device=device)
    store.insert(*star(device, 30))
    store.mark()
    store.insert(*star(device, 30, first=20))
    copy = store.copy_to(CPU)
    assert copy.has_mark
    assert sorted(copy.updated().dst.tolist()) == list(range(30, 50))
    assert copy.num_edges == 50


def test_inserted_edges_come_from_the_iterator_of_the_cursor(device: Device) -> None:
    """A backend that marks insertions by itself, and whose cursor iterates over them, needs no updated()."""

    class Minimal(SlabHashStore):
        updated = Store.updated

        def edges(self):
            raise AssertionError("edges() was called")

    store = Minimal(100, device=device, weight_dtype=np.dtype("float32"))
    ones = device.xp.ones(30, np.float32)
    store.insert(*star(device, 30), ones)
    store.mark()
    store.insert(*star(device, 30, first=20), 2 * ones)
    src, dst, weight = (device.to_numpy(part) for part in store.updated())
    assert sorted(dst.tolist()) == list(range(30, 50))
    assert not src.any()
    assert (weight == 2).all()


def test_a_mark_counts_as_memory(device: Device) -> None:
    store = TutorialStore(1000, device=device)
    store.insert(*star(device, 1000))
    store.mark()
    assert store.memory()["mark"] == (8000, 8000)
    store.memory_limit = sum(size for _, size in store.memory().values())
    with pytest.raises(CapacityError, match="memory_limit"):
        store.mark()
    assert store.has_mark


def test_degrees_of_a_vertex_do_not_read_all_edges() -> None:
    """A backend with a cursor answers adjacency() without a list of its edges."""

    class Minimal(CsrStore):
        find, degrees, adjacency = TutorialStore.find, TutorialStore.degrees, TutorialStore.adjacency

        def edges(self):
            raise AssertionError("edges() was called")

    store = Minimal(300_000)
    ids = np.arange(300_000, dtype=np.uint32)
    store.insert(ids, ids)
    assert store.find(ids[:2], ids[:2])[0].all()
    assert store.adjacency(ids[:3]).dst.tolist() == [0, 1, 2]
    tracemalloc.start()
    store.find(ids[:2], ids[:2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_admit_before_there_is_anything_to_add_up_says_so() -> None:
    class TooEarly(TutorialStore):
        def __init__(self, num_vertices: int, **options: Any) -> None:
            super().__init__(num_vertices, **options)
            self.admit(8 * num_vertices)
            self._degree = np.zeros(num_vertices, np.int64)

        def memory(self) -> dict[str, tuple[int, int]]:
            return {"degrees": (self._degree.nbytes, self._degree.nbytes)}

    with pytest.raises(
        AttributeError, match=r"TooEarly: admit\(\) was called before memory\(\) .*_degree.*empty arrays"
    ):
        TooEarly(3, memory_limit=1000)
