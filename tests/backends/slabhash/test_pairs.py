"""Two stores take an unvalidated batch together: slabs are reserved in both before either changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suricate.backends.slabhash import halves
from suricate.backends.slabhash.store import SlabHashStore
from suricate.errors import CapacityError

EDGES = 40


class Launches:
    """Kernels that note what was launched, and may run out of memory."""

    def __init__(self, noted: list[str], name: str, *, fails: str = "") -> None:
        self.noted, self.name, self.fails = noted, name, fails

    def attempt(self, operation: str) -> None:
        if self.fails == operation:
            raise CapacityError(operation)

    def insert_unvalidated(self, slabs: Any, batch: Any, reservation: Any, second: Any = None) -> str:
        self.attempt("insert")
        self.noted.append(f"insert {self.name}")
        if second is not None:
            second()
        return "change"

    def delete_unvalidated(self, slabs: Any, batch: Any, second: Any = None) -> str:
        self.attempt("delete")
        self.noted.append(f"delete {self.name}")
        if second is not None:
            second()
        return "change"

    def second_insertion(self, slabs: Any, reservation: Any, *, turned: bool = True) -> Any:
        self.attempt("second")
        return lambda *_: self.noted.append(f"insert {self.name}{' turned' * turned}")

    def second_deletion(self, slabs: Any, edges: int) -> Any:
        return lambda: self.noted.append(f"delete {self.name}")


def pair(noted: list[str], *, free: tuple[bool, bool] = (True, True), fails: tuple[str, str] = ("", "")) -> Any:
    """Stores of out- and in-edges, with free slabs or without."""
    stores = [SlabHashStore(100, slab_bytes=64) for _ in range(2)]
    for store, name, has_slabs, failing in zip(stores, ("out", "in"), free, fails, strict=True):
        if has_slabs:
            store.insert(np.arange(50, dtype=np.uint32), np.arange(50, dtype=np.uint32))
            store.reserve(1000)
        store.fused = Launches(noted, name, fails=failing)  # type: ignore[assignment]
    return stores


def state(store: SlabHashStore) -> tuple[int, int, int, int]:
    ledger = store.ledger
    return ledger.free, ledger.pending, ledger.behind, ledger.inserted


def unvalidated(operation: str) -> Any:
    return SimpleNamespace(operation=operation, size=EDGES, waits=False, guard=0)


@pytest.mark.parametrize("operation", ["insert", "delete"])
def test_both_stores_take_the_batch(operation: str) -> None:
    noted: list[str] = []
    out, into = pair(noted)
    before = into.ledger.inserted
    assert out.apply_unvalidated(unvalidated(operation), into) == "change"
    assert noted == [f"{operation} out", f"{operation} in" + " turned" * (operation == "insert")]
    assert out.ledger.has_deleted == into.ledger.has_deleted == (operation == "delete")
    if operation == "insert":
        assert into.ledger.inserted == before + EDGES
        assert out.ledger.pending == into.ledger.pending > 0


@pytest.mark.parametrize("free", [(True, False), (False, True)])
def test_neither_store_changes_if_one_declines(free: tuple[bool, bool]) -> None:
    noted: list[str] = []
    out, into = pair(noted, free=free)
    before = state(out), state(into)
    assert out.apply_unvalidated(unvalidated("insert"), into) is None
    assert (state(out), state(into)) == before
    assert not noted


@pytest.mark.parametrize("fails", [("insert", ""), ("", "second")])
def test_reservations_are_taken_back_if_memory_runs_out(fails: tuple[str, str]) -> None:
    noted: list[str] = []
    out, into = pair(noted, fails=fails)
    before = state(out), state(into)
    with pytest.raises(CapacityError):
        out.apply_unvalidated(unvalidated("insert"), into)
    assert (state(out), state(into)) == before
    assert not noted


@pytest.mark.parametrize("fails", [("", ""), ("delete", ""), ("second", ""), ("", "second")])
@pytest.mark.parametrize("free", [(True, True), (False, True), (True, False)])
def test_both_halves_of_a_batch(
    monkeypatch: pytest.MonkeyPatch, free: tuple[bool, bool], fails: tuple[str, str]
) -> None:
    """The insertion is copied first, and slabs are set aside for it; they are given back if nothing is inserted."""
    noted: list[str] = []
    out, into = pair(noted, free=free, fails=fails)
    before = state(out), state(into)
    change = SimpleNamespace(batch=SimpleNamespace(addresses=tuple(range(7))))
    monkeypatch.setattr(halves, "memory_of_batch", lambda *args: change)
    halved = unvalidated("delete"), unvalidated("insert"), lambda batch, addresses: noted.append(f"copy to {addresses}")
    if not all(free):
        assert out.halves(*halved, into) is None
        assert (state(out), state(into)) == before
        return
    if any(fails):
        with pytest.raises(CapacityError):
            out.halves(*halved, into)[0]()
        assert (state(out), state(into)) == before
        return
    delete, insert = out.halves(*halved, into)
    assert (delete(), insert()) == ("change", change)
    assert noted == ["copy to (0, 1, 2)", "delete out", "delete in", "insert out", "insert in turned"]
    assert out.ledger.inserted == before[0][-1] + EDGES
