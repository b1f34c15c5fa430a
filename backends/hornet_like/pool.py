"""The arrays of ``hornet_like``: index, pool of blocks, stacks of free blocks, counters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Self

import numpy as np

from suricate.backends.hornet_like import layout
from suricate.backends.hornet_like.layout import BLOCKS, CLASSES, COUNTERS, EDGES, NONE, SHRINK, USED, PlacedGraph
from suricate.backends.hornet_like.ledger import Demand, pressure
from suricate.base.devices import Array, Device
from suricate.base.types import EdgeList
from suricate.errors import CapacityError
from suricate.primitives import copy_segments, out_of_memory, power_class
from suricate.store.array_manager import ArrayManager, first_that_fits

HEADROOM = 1.125  #: a pool that must grow gets so much more than is needed
COMPACT_BYTES = 64  #: scratch memory of a vertex while the blocks are repacked, its new index included


class HornetPool(ArrayManager[PlacedGraph]):
    """The arrays of a store.

    Memory for stacks that can hold every block of the pool (4 bytes per block of at least 4 slots) is reserved from the
    start, so a deletion is never refused.
    """

    by_row = ("index",)

    def __init__(
        self,
        backend: str,
        num_vertices: int,
        device: Device,
        weight_dtype: np.dtype | None,
        limit: int | None,
        rows: Array | None = None,
    ) -> None:
        super().__init__(backend, device, weight_dtype, limit, layout.LAYOUT, rows)
        self.admit(self.group_bytes("index", num_vertices) + 8 * (COUNTERS + CLASSES + 1))
        self.attach(self.allocate("index", num_vertices))
        self.attach(self.allocate("counters", COUNTERS, 0))
        self.attach(self.allocate("stack limits", CLASSES + 1, 0))
        self.set_stack_limits(np.zeros(CLASSES + 1, np.int64))
        self.tight = True  #: whether no block was left too large for want of memory

    def set_stack_limits(self, limits: np.ndarray) -> None:
        """Take ``limits`` as the host's copy of ``stack_begin`` (int64[CLASSES + 1]), and compute the stacks' sizes."""
        self.stack_limits, self.stack_sizes = limits, np.diff(limits)

    def new_graph(self) -> PlacedGraph:
        """Return the current arrays as a :class:`PlacedGraph`."""
        return PlacedGraph(*(self._arrays[name] for name in PlacedGraph._fields))

    def kept_back(self) -> int:
        """Return the bytes reserved for stacks that can hold every block; see :meth:`ArrayManager.kept_back`."""
        return len(self["dst"])

    def ensure(self, *demands: Demand) -> int:
        """Grow the pool and the stacks to the first of ``demands`` for which there is memory; return its index.

        Raises ``CapacityError`` if there is memory for none of them.
        """
        for place, demand in enumerate(demands[:-1]):
            with suppress(CapacityError):
                self._ensure(demand)
                return place
        self._ensure(demands[-1])
        return len(demands) - 1

    def _ensure(self, demand: Demand) -> None:
        if demand.slots > len(self["dst"]):
            self.attach(first_that_fits(self._longer_blocks, int(HEADROOM * demand.slots), demand.slots))
        self.ensure_stacks(demand.blocks)

    def ensure_stacks(self, blocks: np.ndarray) -> None:
        """Make the stack of each class k long enough for ``blocks[k]`` free blocks; raises ``CapacityError``."""
        held = self.stack_sizes
        if (blocks <= held).all():
            return
        sizes = np.where(blocks <= held, held, np.maximum(blocks, held + held // 2))
        try:
            self.admit(4 * int(sizes.sum()))
        except CapacityError:
            sizes = np.maximum(blocks, held)
            self.admit(4 * int(sizes.sum()))
        self._lay_out_stacks(sizes, held)

    def fit_all_blocks(self, blocks: np.ndarray) -> None:
        """Give the stack of each class k space for ``blocks[k]`` blocks, from the memory reserved for that."""
        held = self.stack_sizes
        if (blocks > held).any():
            self._lay_out_stacks(blocks, np.minimum(held, blocks))

    def resized_vertices(self, num_vertices: int) -> Mapping[str, Array]:
        """Return copies of the arrays of vertices with ``num_vertices`` entries; raises ``CapacityError``."""
        return self.filled(self.new("index", num_vertices))

    def compact(self) -> None:
        """Repack: every block as small as its degree allows, blocks in order of size, and no other slots in the pool.

        Old and new pool exist at the same time; if memory is too short for both, ``CapacityError`` is raised and
        nothing has changed. On CUDA waits for the device.
        """
        xp, device, rows = self.device.xp, self.device, self.rows
        old = rows.picked(self["begin"])
        self.admit(COMPACT_BYTES * len(old))
        degrees = rows.picked(self["end"]) - old
        klass = xp.maximum(power_class(degrees, xp), np.uint8(layout.MIN_CLASS))
        klass[degrees == 0] = NONE
        counts = device.to_numpy(xp.bincount(klass, minlength=CLASSES)).astype(np.int64)
        counts[NONE] = 0
        firsts = np.concatenate([[0], np.cumsum(counts << np.arange(CLASSES))])
        begin = xp.zeros(len(klass), np.int64)
        for k in np.flatnonzero(counts):
            members = xp.flatnonzero(klass == k)
            begin[members] = int(firsts[k]) + (xp.arange(len(members), dtype=np.int64) << int(k))
        offsets = xp.zeros(len(klass) + 1, np.int64)
        xp.cumsum(degrees, out=offsets[1:])
        index = self.new("index", len(self["begin"]))
        for name, values in (("begin", begin), ("end", begin + degrees), ("klass", klass)):
            rows.put(values, index[name])
        counters = np.zeros(COUNTERS, np.int64)
        counters[USED], counters[EDGES], counters[BLOCKS : BLOCKS + CLASSES] = firsts[-1], int(offsets[-1]), counts
        for which, end in ((layout.GROW, SHRINK), (SHRINK, COUNTERS)):
            counters[which:end] = pressure(device.to_numpy(degrees), device.to_numpy(klass), which)
        on_device = xp.asarray(counters)
        self.ensure_stacks(counts)
        self.admit(COMPACT_BYTES * len(klass) + int(firsts[-1]) * self.entry_bytes("blocks"))
        blocks = self._new_blocks(int(firsts[-1]))
        stored, packed = (EdgeList(part["dst"][:0], part["dst"], part["weight"]) for part in (self, blocks))
        copy_segments(device, offsets, old, begin, int(offsets[-1]), stored, packed)
        self.attach({**index, **blocks, "counters": on_device})
        self.tight = True

    def copy_from(self, other: Self, lengths: Mapping[str, int]) -> None:
        """Copy the first ``lengths[group]`` entries of each group of arrays of ``other``; see the base class.

        The host's copy of the stack limits is set to those copied.
        """
        super().copy_from(other, lengths)
        self.tight = other.tight
        self.set_stack_limits(self.device.to_numpy(self["stack_begin"]).copy())

    def _longer_blocks(self, slots: int) -> dict[str, Array]:
        self._check_slots(slots)
        return self.longer({"blocks": slots}, max(0, slots - self.kept_back()))

    def _check_slots(self, slots: int) -> None:
        if slots > layout.MAX_SLOTS:
            raise CapacityError(f"{self.backend} addresses {layout.MAX_SLOTS} slots, {slots} are needed")

    def _new_blocks(self, slots: int) -> dict[str, Array]:
        self._check_slots(slots)
        self.admit(slots * self.entry_bytes("blocks") + max(0, slots - self.kept_back()))
        return self.allocate("blocks", slots, growing=True)

    def _lay_out_stacks(self, sizes: np.ndarray, held: np.ndarray) -> None:
        """Make new stacks for ``sizes`` blocks per class, and copy the first ``held`` entries of each old stack."""
        limits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        with out_of_memory(self.backend):
            stacks, stack_begin = self.device.xp.empty(int(limits[-1]), np.uint32), self.device.xp.array(limits)
        for k in np.flatnonzero(held):
            old, new, size = self.stack_limits[k], limits[k], held[k]
            stacks[new : new + size] = self["stacks"][old : old + size]
        self.attach({"stacks": stacks, "stack_begin": stack_begin})
        self.set_stack_limits(limits)
