"""Two stores take a batch on CUDA together: both have slabs and scratch memory before either changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suricate.backends.slabhash.store import SlabHashStore
from suricate.errors import CapacityError
from suricate.graph.stores import Stores

EDGES = 40


class Launches:
    """Kernels that note what was launched, and may run out of memory."""

    def __init__(self, noted: list[str], name: str, *, fails: str = "") -> None:
        self.noted, self.name, self.fails = noted, name, fails

    def prepare_insertion(self, slabs: Any, batch: Any) -> str:
        if self.fails == "prepare":
            raise CapacityError("prepare")
        return self.name

    def insert_batch(self, batch: Any, prepared: str, reservation: Any) -> None:
        assert reservation.edges == batch.size
        self.launch("insert", batch)

    def prepare_deletion(self, slabs: Any, batch: Any) -> str:
        return self.name

    def delete_batch(self, slabs: Any, batch: Any, prepared: str) -> None:
        self.launch("delete", batch)

    def poll(self) -> None:
        """No counters have arrived."""

    def launch(self, operation: str, batch: Any) -> None:
        if self.fails == operation:
            raise RuntimeError(operation)
        self.noted.append(f"{operation} {self.name}{' turned' * batch.is_turned}")
        batch.done = True


class Batch(SimpleNamespace):
    """A batch on CUDA, of which the kernels above read nothing else."""

    def check(self) -> None:
        self.noted.append(f"check {self.operation}")

    def turned(self) -> Batch:
        return Batch(**{**vars(self), "is_turned": True, "done": False})

    def change(self) -> str:
        return f"the outcome of {self.operation}"


def batch(noted: list[str], operation: str) -> Any:
    return Batch(noted=noted, operation=operation, size=EDGES, waits=False, is_turned=False, done=False)


def pair(noted: list[str], *, free: tuple[bool, bool] = (True, True), fails: tuple[str, str] = ("", "")) -> Stores:
    """Stores of out- and in-edges, with free slabs or without."""
    stores = tuple(SlabHashStore(100, slab_bytes=64) for _ in range(2))
    for store, name, has_slabs, failing in zip(stores, ("out", "in"), free, fails, strict=True):
        if has_slabs:
            store.insert(np.arange(50, dtype=np.uint32), np.arange(50, dtype=np.uint32))
            store.reserve(1000)
        store.supply._kernels = Launches(noted, name, fails=failing)
    return Stores(stores, symmetric=False)


def state(stores: Stores) -> list[tuple[int, int, int, int]]:
    ledgers = [store.supply.ledger for store in stores.all]  # type: ignore[attr-defined]
    return [(ledger.free, ledger.pending, ledger.behind, ledger.inserted) for ledger in ledgers]


@pytest.mark.parametrize("operation", ["insert", "delete"])
def test_both_stores_take_the_batch(operation: str) -> None:
    noted: list[str] = []
    stores, given = pair(noted), batch(noted, operation)
    removed, added = (given, None) if operation == "delete" else (None, given)
    before = state(stores)
    steps = stores.prepare(removed, added)
    assert (len(steps or ()), noted, state(stores)) == (2, [], before)
    stores.carry_out(steps or [], removed, added)
    assert noted == [f"{operation} out", f"{operation} in turned"]
    for (*_, inserted), (free, pending, _, now), store in zip(before, state(stores), stores.all, strict=True):
        assert store.supply.ledger.has_deleted == (operation == "delete")  # type: ignore[attr-defined]
        assert now == inserted + EDGES * (operation == "insert")
        assert (pending > 0) == (operation == "insert")
        assert free > 0


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("free", [(True, False), (False, True)])
def test_neither_store_changes_if_one_declines(free: tuple[bool, bool], both: bool) -> None:
    noted: list[str] = []
    stores = pair(noted, free=free)
    before = state(stores)
    assert stores.prepare(batch(noted, "delete") if both else None, batch(noted, "insert")) is None
    assert state(stores) == before
    assert noted == ["check insert"] * (both and free[0])


@pytest.mark.parametrize("fails", [("prepare", ""), ("", "prepare")])
def test_neither_store_changes_if_memory_runs_out(fails: tuple[str, str]) -> None:
    noted: list[str] = []
    stores = pair(noted, fails=fails)
    before = state(stores)
    with pytest.raises(CapacityError):
        stores.prepare(None, batch(noted, "insert"))
    assert (state(stores), noted) == (before, [])


@pytest.mark.parametrize("fails", ["", "delete", "insert"])
def test_a_deletion_and_an_insertion(monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """The insertion is checked first. If a launch fails, what is queued in the store of out-edges is undone."""
    noted: list[str] = []
    stores, undone = pair(noted, fails=(fails, "")), []
    removed, added = batch(noted, "delete"), batch(noted, "insert")
    monkeypatch.setattr(stores, "undo", lambda gone, new, error: undone.append((gone, new)))
    steps = stores.prepare(removed, added)
    assert steps is not None
    if fails:
        with pytest.raises(RuntimeError, match=fails):
            stores.carry_out(steps, removed, added)
        assert undone == [("the outcome of delete" if fails == "insert" else None, None)]
        return
    stores.carry_out(steps, removed, added)
    assert noted == ["check insert", "check insert", "delete out", "insert out", "delete in turned", "insert in turned"]
    assert not undone
