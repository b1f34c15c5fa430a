"""The arrays of ``gpma``: of slots, leaves (32 slots each) and vertices, counters, and edges inserted since a mark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Self

import numpy as np

from suricate.backends.gpma.layout import COUNTERS, GUARDS, HIGH, LAYOUT, LEAF, LOW, PAGE, WORK, Graph
from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY
from suricate.store.array_manager import GROWTH, ArrayManager, first_that_fits
from suricate.store.own_rows import Rows, joined

BY_LEAF = {"slots": LEAF, "leaves": 1, "fresh": 1, "pages": 1 / PAGE}  #: entries per leaf in each group of arrays


class GpmaPool(ArrayManager[Graph]):
    """The arrays of a store.

    Attributes:
        leaves: number of leaves in use; the arrays may have more. A rebuild sets it before it replaces the arrays.
        low, high: the vertices that have guards, a range.
        marked: whether inserted edges are recorded for ``updated()``.
    """

    by_row = ("rows", "vertices")

    def __init__(
        self, backend: str, device: Device, weight_dtype: np.dtype | None, limit: int | None, rows: Array | None = None
    ) -> None:
        super().__init__(backend, device, weight_dtype, limit, LAYOUT, None if rows is None else spanned(rows))
        self.leaves, self.marked, self.low, self.high = 0, False, 0, 0
        self.attach(self.new("counters", COUNTERS, 0))
        if device.is_cuda:
            self.attach(self.new("work", len(WORK.fields), 0))

    def new_graph(self) -> Graph:
        """Return the current arrays as a :class:`Graph`."""
        return self._graph_of(self._arrays, self.leaves)

    def _graph_of(self, arrays: Mapping[str, Array], leaves: int) -> Graph:
        return Graph._make([*(arrays.get(name, self._arrays[name]) for name in Graph._fields[:-1]), leaves])

    def target(self, leaves: Iterable[int]) -> Graph:
        """Return a graph in new arrays, all gaps, with the first number of ``leaves`` for which there is memory."""
        return first_that_fits(lambda number: self._graph_of(self._new_leaves(number), number), *leaves)

    def replace(self, graph: Graph) -> None:
        """Make the arrays of ``graph``, into which all entries have been merged, the current ones."""
        self.leaves = graph.leaves
        self.attach(dict(zip(Graph._fields[:-1], graph, strict=False)))

    def mark(self) -> None:
        """Start to record inserted edges for ``updated()``, or forget those recorded; raises ``CapacityError``."""
        if not self.marked:
            self.admit(self.capacity * self.entry_bytes("fresh"))
            self.attach(self.allocate("fresh", self.capacity, 0))
            self.marked = True
        self["fresh"][:] = 0

    @property
    def capacity(self) -> int:
        """Number of leaves that are allocated, in use or not."""
        return len(self["count"])

    def ensure_leaves(self, leaves: int) -> None:
        """Make the arrays long enough for ``leaves`` leaves; raises ``CapacityError``."""
        if leaves > self.capacity:
            ample = max(leaves, int(GROWTH * self.capacity))
            self.carry_over(first_that_fits(self._new_leaves, ample, leaves))

    def resized_vertices(self, num_vertices: int) -> dict[str, Array]:
        """Return copies of the arrays of vertices with ``num_vertices`` entries; raises ``CapacityError``."""
        lengths = {"rows": num_vertices + 1, "vertices": num_vertices}
        self.admit(sum(self.group_bytes(group, length) for group, length in lengths.items()))
        arrays: dict[str, Array] = {}
        for group, length in lengths.items():
            arrays |= self.allocate(group, length)
        return {**self.filled(arrays)}

    def admit_copy(self, rows: Array, vertices: int, edges: int) -> None:
        """Raise ``CapacityError`` if a copy with guards of ``vertices`` vertices, those of ``rows``, is too much."""
        kept, leaves = Rows(self.device, spanned(rows)), -(-vertices // GUARDS) + -(-edges // LEAF)
        slots = sum(ceil(2 * leaves * entries) * self.entry_bytes(group) for group, entries in BY_LEAF.items())
        self.admit(slots + sum(self.group_bytes(group, self.length(group), kept) for group in self.by_row))

    def set_range(self, low: int, high: int) -> None:
        """Note that the vertices from ``low`` on, below ``high``, have guards."""
        self.low, self.high = low, high
        if low < high:
            self["guard"][low] = -1
        self["counters"][LOW], self["counters"][HIGH] = low, high

    def copy_from(self, other: Self, lengths: Mapping[str, int]) -> None:
        """Copy the first ``lengths[group]`` entries of each group of arrays of ``other``; see the base class.

        Arrays that only updates on CUDA use are not copied; the copy gets new ones.
        """
        work, kept = self["work"], other.rows
        self.rows = Rows(self.device, None if kept.is_all else kept.kept)  # which may be more than the copy would keep
        super().copy_from(other, {**lengths, "pages": 0, "work": 0})
        self.leaves, self.marked, self.low, self.high = other.leaves, other.marked, other.low, other.high
        if self.device.is_cuda:
            self.attach({"work": work, **self.new("pages", -(-self.capacity // PAGE), 0)})

    def _new_leaves(self, leaves: int) -> dict[str, Array]:
        """Return arrays of ``leaves`` leaves, all slots being gaps; raises ``CapacityError``."""
        left_out = {"fresh": not self.marked, "pages": not self.device.is_cuda}
        lengths = {group: ceil(leaves * entries) for group, entries in BY_LEAF.items() if not left_out.get(group)}
        self.admit(sum(length * self.entry_bytes(group) for group, length in lengths.items()))
        arrays: dict[str, Array] = {}
        for group, length in lengths.items():
            arrays |= self.allocate(group, length, 0 if group in ("fresh", "pages") else None)
        arrays["dst"][:] = np.uint32(EMPTY)
        return arrays


def spanned(rows: Array) -> Array:
    """Return which entries of arrays by row the guards of the vertices of ``rows`` need: one range, ``int64[1, 2]``."""
    kept = joined(rows)
    return np.array([[kept[0, 0], kept[-1, 1] + 1] if len(kept) else [0, 1]])
