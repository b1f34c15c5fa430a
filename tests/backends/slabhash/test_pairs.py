"""Two stores take an unvalidated batch together: slabs are reserved in both before either changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

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
        self.noted.append(f"delete {self.name}")
        if second is not None:
            second()
        return "change"

    def second_insertion(self, slabs: Any, reservation: Any) -> Any:
        self.attempt("second")
        return lambda: self.noted.append(f"insert {self.name}")

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
    return SimpleNamespace(operation=operation, size=EDGES, waits=False)


@pytest.mark.parametrize("operation", ["insert", "delete"])
def test_both_stores_take_the_batch(operation: str) -> None:
    noted: list[str] = []
    out, into = pair(noted)
    before = into.ledger.inserted
    assert out.apply_unvalidated(unvalidated(operation), into) == "change"
    assert noted == [f"{operation} out", f"{operation} in"]
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
