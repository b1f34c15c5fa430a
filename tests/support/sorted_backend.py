"""A backend on ``BatchStore``, for both devices: all edges in one ascending array of keys, the weights beside it.

It shows how little a layout needs above its cursor (``sorted_cursor``): the arrays, what a change reserves, and how it
is carried out. Batches are sorted, located by the cursor, reported and logged by the base class; queries, adjacencies,
copies, marks and memory come with it. Its updates are written in ``xp`` (NumPy or CuPy) and wait for the device.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import StoreView
from suricate.primitives.located import ABSENT, PRESENT, LocatedBatch, Report
from suricate.store.array_manager import WEIGHT, ArrayManager, Layout
from suricate.store.batch_store import BatchStore

LAYOUT: Layout = {"edges": {"keys": np.uint64, "weight": WEIGHT}}


class SortedPool(ArrayManager):
    """The arrays; memory for a deletion is kept back: its new arrays, and the selection of the old ones."""

    def kept_back(self) -> int:
        """See :meth:`ArrayManager.kept_back`."""
        return 2 * (self["keys"].nbytes + self["weight"].nbytes)


class Merge(NamedTuple):
    """New arrays, where the old edges go in them, where the new ones, and which entries of the batch these are."""

    arrays: dict[str, Array]
    old: Array
    new: Array
    entries: Array


class SortedStore(BatchStore[Merge, tuple[dict[str, Array], Array]]):
    """One ascending array of edge keys, merged again by every batch."""

    name: ClassVar[str] = "sorted"
    num_counters: ClassVar[int] = 1

    def __init__(self, num_vertices: int, **options: Any) -> None:
        super().__init__(num_vertices, **options)
        self._count = self.device.xp.zeros(1, np.int64)

    def make_pool(self) -> SortedPool:
        """See :meth:`BatchStore.make_pool`."""
        return SortedPool(self.name, self.device, self.weight_dtype, self.memory_limit, LAYOUT)

    def counters_array(self) -> Array:
        """Return the number of edges, written in place: a change that is under way allocates nothing."""
        self._count[0] = self.num_edges
        return self._count

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.pool["keys"])

    def used(self) -> dict[str, int]:
        """See :meth:`BatchStore.used`."""
        return {}

    def view(self) -> StoreView:
        """Return the arrays, and the cursor that searches them."""
        from sorted_cursor import SortedView

        keys, weight = self.pool["keys"], self.pool["weight"]
        typed = weight if self.weight_dtype is None else weight.view(self.weight_dtype)
        return StoreView(
            data=SortedView(keys, typed, len(keys)),
            cursor="sorted_cursor",
            header=Path(__file__).with_name("sorted_cursor.cuh"),
            num_vertices=self.num_vertices,
            weight_dtype=self.weight_dtype,
            ascending=True,
            find="sorted",
        )

    def reserve_edges(self, num_edges: int) -> None:
        """See :meth:`BatchStore.reserve_edges`: every batch allocates, so this only asks whether it could."""
        self.pool.admit(3 * num_edges * self.pool.entry_bytes("edges"))

    def reserve_insertion(self, batch: LocatedBatch) -> Merge:
        """See :meth:`BatchStore.reserve_insertion`; waits for the device."""
        xp, count = self.device.xp, batch.count()
        self.reserve_edges(count)
        entries = xp.flatnonzero(batch.kind == ABSENT)
        new = xp.searchsorted(self.pool["keys"], batch.keys[entries]) + xp.arange(count)
        is_old = xp.ones(self.num_edges + count, bool)
        is_old[new] = False
        return Merge(self.pool.allocate("edges", len(is_old)), xp.flatnonzero(is_old), new, entries)

    def apply_insertion(self, batch: LocatedBatch, reservation: Merge, weight: Array, report: Report) -> None:
        """See :meth:`BatchStore.apply_insertion`."""
        self.report_insertion(batch, weight, report)
        arrays, old, new, entries = reservation
        fresh = {"keys": batch.keys[entries], "weight": weight[batch.order[entries]] if len(weight) else weight}
        for name, array in arrays.items():
            if len(array):
                array[old], array[new] = self.pool[name], fresh[name]
        self.pool.attach(arrays)

    def reserve_deletion(self, batch: LocatedBatch) -> tuple[dict[str, Array], Array]:
        """See :meth:`BatchStore.reserve_deletion`: the arrays that are left, and which edges stay; waits."""
        stays = self.device.xp.ones(self.num_edges, bool)
        stays[batch.slot[batch.kind == PRESENT]] = False
        return self.pool.allocate("edges", self.num_edges - batch.count()), stays

    def apply_deletion(self, batch: LocatedBatch, reservation: tuple[dict[str, Array], Array], report: Report) -> None:
        """See :meth:`BatchStore.apply_deletion`."""
        self.report_deletion(batch, report)
        arrays, stays = reservation
        for name, array in arrays.items():
            if len(array):
                array[:] = self.pool[name][stays]
        self.pool.attach(arrays)
