"""The backend ``hornet_like``: each adjacency in one block of power-of-two capacity, after Hornet.

Hornet: Busato, Green, Bombieri, Bader, "Hornet: An Efficient Data Structure for Dynamic Sparse Graphs and Matrices on
GPUs", HPEC 2018. Layout: one pool (``dst`` uint32, ``weight``) from which block arrays are carved; ``begin``, ``end``
int64[n] and ``klass`` uint8[n] per vertex; one stack of free blocks per size class; ``counters`` (see ``layout.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from suricate.arrays import move
from suricate.backends.hornet_like.layout import (
    BLOCKS,
    CLASSES,
    COUNTERS,
    EDGES,
    FREE,
    GRAIN,
    GROW,
    MAX_SLOTS,
    MIN_CLASS,
    NONE,
    SHRINK,
    USED,
    carve_bound,
    most_carved,
    pressure,
    stack_bounds,
)
from suricate.devices import CPU, Array, Device
from suricate.errors import CapacityError, DeviceError, require
from suricate.primitives import InsertLog, copy_segments, empty_edges, out_of_memory, power_class
from suricate.store import Store
from suricate.types import Adjacency, EdgeList, Outcome, StoreView


class HornetStore(Store):
    """Power-of-two blocks. See :class:`suricate.store.Store` for the arguments.

    ``degree_hints`` are ignored: a block is carved when the first edges of its vertex arrive, in the size they need.
    ``memory_limit`` covers the arrays of the store, old and new pool together while the pool grows; what a batch needs
    while it is sorted is not counted.
    """

    name: ClassVar[str] = "hornet_like"
    guarded: ClassVar[bool] = True

    def __init__(
        self,
        num_vertices: int,
        *,
        device: Device = CPU,
        weight_dtype: np.dtype | None = None,
        degree_hints: Array | None = None,
        memory_limit: int | None = None,
    ) -> None:
        super().__init__(
            num_vertices,
            device=device,
            weight_dtype=None if weight_dtype is None else np.dtype(weight_dtype),
            memory_limit=memory_limit,
        )
        xp = device.xp
        self._admit(17 * num_vertices + 8 * (COUNTERS + CLASSES + 1))
        self.begin, self.end = xp.zeros(num_vertices, np.int64), xp.zeros(num_vertices, np.int64)
        self.klass = xp.full(num_vertices, NONE, np.uint8)
        _, self.dst, self.weight = empty_edges(self)
        self.counters = xp.zeros(COUNTERS, np.int64)
        self.stacks = xp.empty(0, np.uint32)  #: free blocks (begin / GRAIN), class after class
        self.stack_begin = xp.zeros(CLASSES + 1, np.int64)
        self.stack_limits = np.zeros(CLASSES + 1, np.int64)  #: the host's copy of ``stack_begin``
        self._tight = True  # no block was left too large for want of memory
        self._log: InsertLog | None = None
        self.mirror: Any = None  #: the host's view of ``counters`` on CUDA
        if device.is_cuda:
            from suricate.primitives.cuda import Mirror

            self.mirror = Mirror(np.zeros(COUNTERS))

    # -- memory --------------------------------------------------------------------------------------------------------

    def edge_bytes(self) -> int:
        """Return the bytes of one slot."""
        return 4 + (0 if self.weight_dtype is None else self.weight_dtype.itemsize)

    def allocated(self) -> int:
        """Return the bytes of all arrays."""
        index = self.begin.nbytes + self.end.nbytes + self.klass.nbytes
        small = self.counters.nbytes + self.stack_begin.nbytes
        return index + small + self.stacks.nbytes + len(self.dst) * self.edge_bytes()

    def _admit(self, extra: int, slots: int = 0) -> None:
        """Refuse ``extra`` more bytes, with a pool of ``slots`` among them, beyond the limit.

        Besides, room stays for stacks that hold every block of the pool (4 bytes per block of at least 4 slots), so
        that a deletion is never refused.
        """
        held, pool = (self.allocated(), len(self.dst)) if hasattr(self, "stack_begin") else (0, 0)
        size = extra + held + max(slots, pool)
        if self.memory_limit is not None and size > self.memory_limit:
            raise CapacityError(f"hornet_like needs {size} bytes, memory_limit is {self.memory_limit}")

    def _allocate_pool(self, slots: int) -> EdgeList:
        if slots > MAX_SLOTS:
            raise CapacityError(f"hornet_like addresses {MAX_SLOTS} slots, {slots} are needed")
        self._admit(slots * self.edge_bytes(), slots)
        with out_of_memory(self.name):
            return empty_edges(self, slots, owners=False)

    def ensure_pool(self, slots: int) -> None:
        """Grow the pool to ``slots`` or, where memory allows it, by a quarter; raises ``CapacityError``."""
        held = len(self.dst)
        if slots <= held:
            return
        try:
            pool = self._allocate_pool(max(slots, held + held // 4))
        except CapacityError:
            pool = self._allocate_pool(slots)
        pool.dst[:held] = self.dst
        if pool.weight is not None:
            pool.weight[:held] = self.weight
        self.dst, self.weight = pool.dst, pool.weight

    def ensure_stacks(self, blocks: np.ndarray) -> None:
        """Make room for ``blocks`` free blocks per class (int64[CLASSES]); raises ``CapacityError``."""
        held = np.diff(self.stack_limits)
        if np.all(blocks <= held):
            return
        sizes = np.where(blocks <= held, held, np.maximum(blocks, held + held // 2))
        self._admit(4 * int(sizes.sum()))
        self._lay_out_stacks(sizes, held)

    def ensure_all_blocks_fit_stacks(self) -> None:
        """Give every stack room for all blocks of its class, from the memory that is kept for it."""
        held, blocks = np.diff(self.stack_limits), self._known()[BLOCKS:FREE]
        if np.any(blocks > held):
            self._lay_out_stacks(blocks, np.minimum(held, blocks))

    def _lay_out_stacks(self, sizes: np.ndarray, held: np.ndarray) -> None:
        """Give the stack of each class ``sizes`` places and copy the first ``held`` entries of the old ones."""
        limits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        with out_of_memory(self.name):
            stacks, stack_begin = self.device.xp.empty(int(limits[-1]), np.uint32), self.device.xp.asarray(limits)
        for k in np.flatnonzero(held):
            old, new, size = self.stack_limits[k], limits[k], held[k]
            stacks[new : new + size] = self.stacks[old : old + size]
        self.stacks, self.stack_begin, self.stack_limits = stacks, stack_begin, limits

    def room_to_shrink(self, reserve: Callable[[], None]) -> bool:
        """Return whether there is room to migrate down; if not, blocks may stay too large until :meth:`compact`."""
        try:
            reserve()
        except CapacityError:
            self._tight = False
            return False
        return True

    def reserve_batch(self, inserted: int, deleted: int) -> None:
        """Make room for any batch of this size, from what the host knows (CUDA); raises ``CapacityError``."""
        slots, blocks = self._bounds(inserted, deleted)
        self.ensure_pool(slots)
        self.ensure_stacks(blocks)

    def _bounds(self, inserted: int, deleted: int) -> tuple[int, np.ndarray]:
        """Return the slots of the pool and the free blocks per class that any batch of this size may lead to (CUDA)."""
        known, unseen = self.mirror.values, self.mirror.unseen
        carved = carve_bound(known, unseen, inserted, deleted, self.num_vertices)
        return int(known[USED]) + carved, stack_bounds(known, unseen, inserted + deleted, self.num_vertices)

    def reserve(self, num_edges: int) -> None:
        """Make room for ``num_edges`` more edges wherever they go; on CUDA waits where there may be too little."""
        if self.mirror is not None and self._has_room(num_edges):
            return
        counters = self._known()
        grow = pressure(self._degrees_on_host(), self.device.to_numpy(self.klass), GROW)
        edges = int(counters[EDGES]) + num_edges
        self.ensure_pool(int(counters[USED]) + most_carved(grow, num_edges) + (2 + GRAIN) * num_edges)
        most = [min(num_edges, self.num_vertices, edges >> max(0, k - MIN_CLASS)) for k in range(CLASSES)]
        self.ensure_stacks(counters[BLOCKS:FREE] + np.array(most, np.int64))

    def _has_room(self, num_edges: int) -> bool:
        """Return whether, from what the host knows (CUDA), there is room for any such batch."""
        self.mirror.poll()
        slots, blocks = self._bounds(num_edges, 0)
        return slots <= len(self.dst) and bool(np.all(blocks <= np.diff(self.stack_limits)))

    def compact(self) -> None:
        """Repack: every block as small as its degree allows, block arrays by size, no free blocks, no spare pool.

        Stacks keep their size. Old and new pool exist side by side for a moment; waits for the device.
        """
        xp, device = self.device.xp, self.device
        degrees = self.end - self.begin
        klass = xp.maximum(power_class(degrees, xp), np.uint8(MIN_CLASS))
        klass[degrees == 0] = NONE
        counts = device.to_numpy(xp.bincount(klass, minlength=256))[:CLASSES].astype(np.int64)
        sizes = counts << np.arange(CLASSES)
        firsts = np.concatenate([[0], np.cumsum(sizes)])
        begin = xp.zeros(self.num_vertices, np.int64)
        for k in np.flatnonzero(counts):
            members = xp.flatnonzero(klass == k)
            begin[members] = int(firsts[k]) + (xp.arange(len(members), dtype=np.int64) << int(k))
        offsets = xp.zeros(self.num_vertices + 1, np.int64)
        xp.cumsum(degrees, out=offsets[1:])
        pool = self._allocate_pool(int(firsts[-1]))
        self.ensure_stacks(counts)
        copy_segments(device, offsets, self.begin, begin, int(offsets[-1]), self._stored(), pool)
        self.begin[:], self.end[:], self.klass[:] = begin, begin + degrees, klass
        self.dst, self.weight = pool.dst, pool.weight
        counters = np.zeros(COUNTERS, np.int64)
        counters[USED], counters[EDGES], counters[BLOCKS:FREE] = firsts[-1], int(offsets[-1]), counts
        self._tight = True
        self._set_counters(counters)

    def _set_counters(self, counters: np.ndarray) -> None:
        if self.mirror is not None:
            degrees, klass = self._degrees_on_host(), self.device.to_numpy(self.klass)
            counters[GROW:SHRINK] = pressure(degrees, klass, GROW)
            counters[SHRINK:] = pressure(degrees, klass, SHRINK)
        self.counters = self.device.xp.asarray(counters)
        if self.mirror is not None:
            self.mirror.read(self.counters)

    def _known(self) -> np.ndarray:
        """Return the exact counters; on CUDA waits for the device."""
        if self.mirror is None:
            return self.counters
        self.mirror.read(self.counters)
        return self.mirror.values

    def _degrees_on_host(self) -> np.ndarray:
        return self.device.to_numpy(self.end) - self.device.to_numpy(self.begin)

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return ``{part: (bytes used, bytes allocated)}``; on CUDA waits for the device."""
        counters = self._known()
        index = self.begin.nbytes + self.end.nbytes + self.klass.nbytes
        small = self.counters.nbytes + self.stack_begin.nbytes
        return {
            "index": (index, index),
            "blocks": (int(counters[EDGES]) * self.edge_bytes(), len(self.dst) * self.edge_bytes()),
            "free stacks": (4 * int(counters[FREE:GROW].sum()), self.stacks.nbytes),
            "counters": (small, small),
        }

    # -- updates and queries -------------------------------------------------------------------------------------------

    def _kernels(self) -> ModuleType:
        if self.device.is_cuda:
            from suricate.backends.hornet_like import cuda as kernels
        else:
            from suricate.backends.hornet_like import cpu as kernels  # type: ignore[no-redef]
        return kernels

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """See :meth:`suricate.store.Store.insert`; the last duplicate carries the status."""
        with out_of_memory(self.name):
            outcome = self._kernels().insert(self, src, dst, weight, guard)
        if self._log is not None:
            self._log.add(src, dst, outcome.status)
        return outcome

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """See :meth:`suricate.store.Store.delete`; the last duplicate carries the status."""
        with out_of_memory(self.name):
            return self._kernels().delete(self, src, dst, guard)

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """See :meth:`suricate.store.Store.find`."""
        return self._kernels().find(self, src, dst)

    def delete_vertices(self, vertices: Array) -> None:
        """See :meth:`suricate.store.Store.delete_vertices`; no edge is touched."""
        self._kernels().delete_vertices(self, vertices)

    def degrees(self) -> Array:
        """Return the exact out-degrees, ``uint32[num_vertices]``."""
        return (self.end - self.begin).astype(np.uint32)

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.counters[EDGES])

    def edges(self) -> EdgeList:
        """Return all edges by source, in arrays of their own; on CUDA waits for the device."""
        xp = self.device.xp
        offsets = xp.zeros(self.num_vertices + 1, np.int64)
        xp.cumsum(self.end - self.begin, out=offsets[1:])
        edges = empty_edges(self, int(offsets[-1]))
        copy_segments(self.device, offsets, self.begin, offsets[:-1], len(edges.dst), self._stored(), edges)
        return edges

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k]), compact; on CUDA waits for the device."""
        xp = self.device.xp
        begin = self.begin[vertices]
        offsets = xp.zeros(len(vertices) + 1, np.int64)
        xp.cumsum(self.end[vertices] - begin, out=offsets[1:])
        edges = empty_edges(self, int(offsets[-1]), owners=False)
        copy_segments(self.device, offsets, begin, offsets[:-1], len(edges.dst), self._stored(), edges)
        return Adjacency(offsets, edges.dst, edges.weight)

    def _stored(self) -> EdgeList:
        return EdgeList(self.dst[:0], self.dst, self.weight)

    def resize(self, num_vertices: int) -> None:
        """See :meth:`suricate.store.Store.resize`; copies the index, not the edges."""
        self._admit(17 * num_vertices)
        xp, old = self.device.xp, self.num_vertices
        begin, end = xp.zeros(num_vertices, np.int64), xp.zeros(num_vertices, np.int64)
        klass = xp.full(num_vertices, NONE, np.uint8)
        begin[:old], end[:old], klass[:old] = self.begin, self.end, self.klass
        self.begin, self.end, self.klass, self.num_vertices = begin, end, klass, num_vertices

    def mark(self) -> None:
        """Start to log insertions; forgets those before."""
        self._log = InsertLog()

    @property
    def has_mark(self) -> bool:
        """Whether insertions are being logged."""
        return self._log is not None

    def updated(self) -> EdgeList:
        """See :meth:`suricate.store.Store.updated`; visits the logged batches only."""
        return self.edges() if self._log is None else self._log.edges(self)

    # -- views, copies, checks -----------------------------------------------------------------------------------------

    def view(self) -> StoreView:
        """Return a contiguous view; adjacencies are in no order."""
        from suricate.cursors.contiguous import contiguous_view

        return contiguous_view(self.begin, self.end, self.dst, self.weight)

    def copy_to(self, device: Device) -> Store:
        """Return a copy on ``device``: the same blocks at the same places."""
        if device.kind not in self.devices:
            raise DeviceError(f"backend {self.name!r} runs on {', '.join(self.devices)}, not on {device}")
        counters = self._known()
        used = int(counters[USED])
        other = type(self)(
            self.num_vertices, device=device, weight_dtype=self.weight_dtype, memory_limit=self.memory_limit
        )
        other.begin, other.end, other.klass, other.dst = (
            move(part, self.device, device) for part in (self.begin, self.end, self.klass, self.dst[:used])
        )
        other.weight = None if self.weight is None else move(self.weight[:used], self.device, device)
        other._tight = self._tight
        held = np.diff(self.stack_limits)
        other.stacks, other.stack_limits = move(self.stacks, self.device, device), self.stack_limits
        other._lay_out_stacks(np.maximum(held, counters[BLOCKS:FREE]), held)
        moved = counters.copy()
        moved[GROW:] = 0
        other._set_counters(moved)
        return other

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        host = self.device.to_numpy
        begin, end, klass, dst, counters, stacks, stack_begin = (
            host(part)
            for part in (self.begin, self.end, self.klass, self.dst, self.counters, self.stacks, self.stack_begin)
        )
        n, degree = self.num_vertices, end - begin
        require(len(begin) == len(end) == len(klass) == n, "there is one index entry per vertex")
        require(begin.dtype == end.dtype == np.int64 and klass.dtype == np.uint8, "begin, end: int64, class: uint8")
        require((self.weight is not None) == (self.weight_dtype is not None), "weights exactly on a weighted store")
        require(self.weight is None or len(self.weight) == len(dst), "every slot has a weight")
        owns = klass != NONE
        require(bool(np.all((degree > 0) == owns)), "a vertex owns a block if and only if it has edges")
        require(not begin[~owns].any(), "a vertex without edges begins at 0")
        k, d = klass[owns].astype(np.int64), degree[owns]
        require(bool(np.all((k >= MIN_CLASS) & (k < CLASSES))), "every class is one of the size classes")
        require(bool(np.all(d <= (np.int64(1) << k))), "every adjacency fits its block")
        tight = (k == MIN_CLASS) | (4 * d > (np.int64(1) << k))
        require(not self._tight or bool(np.all(tight)), "no block is three quarters empty")
        self._check_blocks(begin[owns], k, counters, stacks, stack_begin)
        require(int(counters[EDGES]) == int(d.sum()), "the counter of edges is exact")
        owner = np.repeat(np.arange(n), degree)
        slots = np.arange(len(owner)) + (begin - (np.cumsum(degree) - degree))[owner]
        ids = dst[slots]
        require(not len(ids) or int(ids.max()) < n, "every destination is below num_vertices")
        keys = np.sort((owner.astype(np.uint64) << np.uint64(32)) | ids)
        require(bool(np.all(keys[1:] != keys[:-1])), "every edge is stored once")
        if self.mirror is None:
            return
        require(np.array_equal(counters[GROW:SHRINK], pressure(degree, klass, GROW)), "the pressure to grow is exact")
        require(np.array_equal(counters[SHRINK:], pressure(degree, klass, SHRINK)), "the pressure to shrink is exact")
        known, unseen = self.mirror.values, self.mirror.unseen
        bound = known[USED] + carve_bound(known, unseen, 0, 0, n)
        require(int(counters[USED]) <= bound, "the host's bound is not below the slots used")

    def _check_blocks(
        self, begin: np.ndarray, klass: np.ndarray, counters: np.ndarray, stacks: np.ndarray, stack_begin: np.ndarray
    ) -> None:
        require(np.array_equal(stack_begin, self.stack_limits), "host and device agree on the places of the stacks")
        free = counters[FREE:GROW]
        require(bool(np.all((free >= 0) & (free <= np.diff(stack_begin)))), "every free stack fits its room")
        entries = [stacks[at : at + size] for at, size in zip(stack_begin[:-1], free, strict=True)]
        starts = np.concatenate([begin, *(GRAIN * part.astype(np.int64) for part in entries)])
        classes = np.concatenate([klass, np.repeat(np.arange(CLASSES), free)])
        counts = np.bincount(classes, minlength=CLASSES)
        require(np.array_equal(counts, counters[BLOCKS:FREE]), "the counters of blocks are exact")
        order = np.argsort(starts, kind="stable")
        starts, sizes = starts[order], np.int64(1) << classes[order]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        require(np.array_equal(starts, ends[:-1]), "every carved slot is in exactly one used or free block")
        require(int(ends[-1]) == int(counters[USED]), "the counter of carved slots is exact")
        require(int(counters[USED]) <= len(self.dst), "the pool holds all blocks")
