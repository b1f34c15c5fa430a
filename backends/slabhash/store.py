"""The backend ``slabhash``: what is common to both devices. The layout is in ``layout.py``, the reasons in README.md.

Slabs never run out inside a kernel: before every insertion the host makes sure that there are as many as the batch can
need at most. It knows a lower bound of the free ones (``_room``) and reads the device's counters only when that bound
does not suffice. Then, in this order: a growing store on CUDA is sized anew for batches to come, free slabs are listed
for reuse, the pool grows geometrically, or the batch is counted exactly and the pool grows by what it really needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suricate.arrays import move
from suricate.backends.slabhash.layout import (
    BUMP,
    FREED,
    LISTED,
    MAX_SLABS,
    NUM_COUNTERS,
    REFUSED,
    SLAB_BYTES,
    TAKEN,
    TOUCHED,
    WANTED,
    Slabs,
    SlabView,
    fitting_slab,
    geometry,
    macros,
)
from suricate.devices import CPU, Array, Device
from suricate.errors import CapacityError, DeviceError, ShapeError
from suricate.store import Store
from suricate.types import EMPTY, MAX_VERTICES, Adjacency, EdgeList, Outcome, StoreView

if TYPE_CHECKING:
    from suricate.cuda.ingest import UnvalidatedBatch
    from suricate.types import Change

HERE = Path(__file__).parent
MIN_SLABS = 64
BULK_LOAD = 2  # edges per vertex from which on a first batch is taken for all of a graph
VERTEX_BYTES = 10
Batch = tuple[Array, Array, Array | None]  # src, dst, guard
Tables = tuple[Array, Array]  # of vertices: head words with degrees, bucket codes
IN_FLIGHT, DEFAULT_IN_FLIGHT = (1, 2, 4), 1
BULK_SHARE = 32  # a batch of this share of the edges is large for a store ...
BATCHES_AHEAD = 16  # ... which is then sized for this many more of them,
EDGES_AHEAD = 1 << 24  # but for no more than this many edges, or half as many again
LOOK_AFTER = 16  # batches without a look at the counters, which also say what re-buckets lack
LARGE_VERTEX = 1 << 12  # slabs that the re-bucketing of a hub may take, in a small batch too
SLACK = 32  # an exactly counted pool is made 1 / SLACK larger


@dataclass(slots=True, eq=False)
class Grant:
    """What a batch may use: ``need`` slabs for its ``edges``, and ``quota`` for re-buckets.

    ``least`` slabs must be free for that: what is promised to later batches as well. If ``ample`` are, some can be
    taken in advance, and maybe in vain.
    """

    edges: int
    need: int
    quota: int
    least: int
    ample: int


NO_GRANT = Grant(0, 0, 0, 0, 0)


class SlabHashStore(Store):
    """One hash table of slabs per vertex. See :class:`suricate.store.Store` for the common arguments.

    Args:
        slab_bytes: 32, 64, 128, or ``"auto"``: by the mean of the degree hints; without hints by that of the first
            batch, if this is a bulk load (twice as many edges as vertices or more).
        load_factor: edges per key slot for which buckets are sized.
        hashing: False gives every vertex one bucket: denser slabs for traversal, linear search for queries; chains are
            then never re-bucketed.
        in_flight: edges of a query that a tile of CUDA lanes works on at a time: 1, 2, 4, or ``"auto"``.
        reference: the scheme of the papers, for comparison: slabs of 128 bytes, on CUDA each served by a full warp with
            4 bytes to a lane, one edge at a time.

    ``memory_limit`` bounds what the store holds between calls; while a pool grows, the old one is there as well.

    Raises:
        ValueError: an option is out of range, or the hints are not one per vertex.
        CapacityError: the arrays of the vertices do not fit (degree hints that do not fit are ignored).
    """

    name: ClassVar[str] = "slabhash"
    guarded: ClassVar[bool] = True
    takes_unvalidated: ClassVar[bool] = True
    priority: ClassVar[int] = 10
    knobs: ClassVar[dict[str, tuple[Any, ...]]] = {
        "load_factor": (0.35, 0.5, 0.7, 0.9, 1.2, 2.0, 4.0),
        "hashing": (True, False),
        "slab_bytes": SLAB_BYTES,
        "in_flight": IN_FLIGHT,
        "reference": (False, True),
    }

    def __init__(
        self,
        num_vertices: int,
        *,
        device: Device = CPU,
        weight_dtype: np.dtype | None = None,
        degree_hints: Array | None = None,
        memory_limit: int | None = None,
        slab_bytes: int | str = "auto",
        load_factor: float = 0.7,
        hashing: bool = True,
        in_flight: int | str = "auto",
        reference: bool = False,
    ) -> None:
        dtype = None if weight_dtype is None else np.dtype(weight_dtype)
        super().__init__(num_vertices, device=device, weight_dtype=dtype, memory_limit=memory_limit)
        if slab_bytes not in ("auto", *SLAB_BYTES):
            raise ValueError(f"slab_bytes must be 32, 64, 128 or 'auto', not {slab_bytes!r}")
        if not 0 < load_factor <= 16:
            raise ValueError(f"load_factor must be above 0 and at most 16, not {load_factor!r}")
        if in_flight not in ("auto", *IN_FLIGHT):
            raise ValueError(f"in_flight must be 1, 2, 4 or 'auto', not {in_flight!r}")
        if reference and slab_bytes not in ("auto", 128):
            raise ValueError(f"reference=True has slabs of 128 bytes, not {slab_bytes!r}")
        hints = self._hints(degree_hints)
        self.load_factor, self.hashing = float(load_factor), bool(hashing)
        self.in_flight, self.reference = in_flight, bool(reference)
        self.edges_in_flight = int(in_flight) if in_flight != "auto" else DEFAULT_IN_FLIGHT
        slab_bytes = 128 if reference else slab_bytes
        self._width_is_open = slab_bytes == "auto" and hints is None
        if slab_bytes == "auto":
            slab_bytes = fitting_slab(_mean_degree(hints), dtype, load_factor)
        self._set_width(int(slab_bytes))
        self._promised = 0  # edges of reserve() that are still to come
        self._bound_edges = 0  # upper bound of the edges inserted since the buckets were last sized for all
        self._has_deleted = False  # since the buckets were last sized for all
        self._marked_arrays = False
        self._usual_grant = NO_GRANT  # what an unvalidated batch of that size gets, whatever is in it
        with self.reserving():
            self.slabs = self._new_slabs(num_vertices, 0)
        self._read_counters()
        if hints is not None:
            self._try_hints(hints)

    def _set_width(self, slab_bytes: int) -> None:
        self.slab_bytes = slab_bytes
        self.geometry = geometry(slab_bytes, self.weight_dtype, warp=self.reference)
        self.per_bucket = self.load_factor * self.geometry.keys
        self.kernels = self._make_kernels()

    def _choose_width(self, edges: int) -> None:
        """Before the first batch of an empty store: choose the slab width if the batch is a bulk load."""
        self._width_is_open = False
        if edges < BULK_LOAD * self.num_vertices or self.slabs.capacity or self._marked_arrays:
            return
        before, width = self.slab_bytes, fitting_slab(edges / self.num_vertices, self.weight_dtype, self.load_factor)
        if width == before:
            return
        self._set_width(width)
        try:
            with self.reserving():
                self.slabs = self._new_slabs(self._vertices_allocated, 0)
        except CapacityError:
            self._set_width(before)
        self._read_counters()

    def _make_kernels(self) -> Any:
        if self.device.is_cuda:
            from suricate.backends.slabhash.cuda import CudaKernels

            return CudaKernels(self)
        from suricate.backends.slabhash.cpu import CpuKernels

        return CpuKernels(self)

    def options(self) -> dict[str, Any]:
        """Return the backend options, with the slab width that was chosen."""
        return {
            "slab_bytes": self.slab_bytes,
            "load_factor": self.load_factor,
            "hashing": self.hashing,
            "in_flight": self.in_flight,
            "reference": self.reference,
        }

    @property
    def slabs(self) -> Slabs:
        """All arrays of the store."""
        return self._slabs

    @slabs.setter
    def slabs(self, slabs: Slabs) -> None:
        self._slabs, self._usual_grant = slabs, NO_GRANT
        if self.device.is_cuda:
            self.kernels.forget_arrays()

    @property
    def _vertices_allocated(self) -> int:
        return len(self.slabs.buckets)

    @property
    def has_mark(self) -> bool:
        """Whether there was a mark."""
        return self._marked_arrays

    # -- memory --------------------------------------------------------------------------------------------------------

    @contextmanager
    def reserving(self) -> Iterator[None]:
        """Turn running out of real memory into ``CapacityError``; nothing may be mutated inside."""
        try:
            yield
        except CapacityError:
            raise
        except MemoryError as error:
            raise self.out_of_memory(error) from error

    def out_of_memory(self, error: MemoryError) -> CapacityError:
        """Return what to raise where real memory has run out."""
        return CapacityError(f"slabhash cannot allocate memory on {self.device}: {error}")

    def _bytes(self, capacity: int, vertices: int, listed: int) -> int:
        per_slab = self.slab_bytes + (12 if self._marked_arrays else 4)
        return capacity * per_slab + VERTEX_BYTES * vertices + 4 * (listed + NUM_COUNTERS)

    def may_keep(self, size: int) -> bool:
        """Return whether ``memory_limit`` allows to hold ``size`` bytes besides the present arrays."""
        if self.memory_limit is None:
            return True
        slabs = self.slabs
        held = self._bytes(slabs.capacity, self._vertices_allocated, len(slabs.free_list))
        return held + size <= self.memory_limit

    def _admit(self, capacity: int, vertices: int, listed: int = 0) -> None:
        size = self._bytes(capacity, vertices, listed)
        if self.memory_limit is not None and size > self.memory_limit:
            raise CapacityError(f"slabhash needs {size} bytes, memory_limit is {self.memory_limit}")
        if capacity > MAX_SLABS:
            raise CapacityError(f"slabhash cannot have {capacity} slabs of {self.slab_bytes} bytes: use wider ones")
        if not self.device.is_cuda and size > _physical_memory():
            raise CapacityError(f"slabhash needs {size} bytes, the machine has {_physical_memory()}")

    def _aligned(self, size: int, alignment: int) -> Array:
        """Return an uninitialised uint32[size] at a multiple of ``alignment``."""
        if self.device.is_cuda:
            return self.device.xp.empty(size, np.uint32)  # aligned to 512 bytes by CuPy's memory pool
        raw = np.empty(4 * size + alignment, np.uint8)
        start = -raw.ctypes.data % alignment
        return raw[start : start + 4 * size].view(np.uint32)

    def _filled(self, size: int, alignment: int = 4, kept: Array | None = None) -> Array:
        """Return uint32[size] at a multiple of ``alignment``: a copy of ``kept``, if given, and EMPTY behind it."""
        array = self._aligned(size, alignment)
        begin = 0 if kept is None else len(kept)
        if kept is not None:
            array[:begin] = kept
        if self.device.is_cuda and begin < size:
            array[begin:].data.memset_async(EMPTY & 0xFF, 4 * (size - begin))  # all bytes of EMPTY are alike
        else:
            array[begin:] = EMPTY
        return array

    def _new_slabs(self, vertices: int, capacity: int, tables: Tables | None = None) -> Slabs:
        """Return the arrays of a store without edges; raises ``CapacityError`` or ``MemoryError``.

        ``tables`` are the words and the bucket codes of ``vertices``; None: those of vertices without storage.
        """
        self._admit(capacity, vertices)
        xp, shape = self.device.xp, self.geometry
        marks = capacity if self._marked_arrays else 0
        vertex, buckets = tables or self._no_tables(vertices)
        return Slabs(
            pool=self._filled(capacity * shape.words, 128),
            owner=self._filled(capacity),
            vertex=vertex,
            buckets=buckets,
            counters=xp.zeros(NUM_COUNTERS, np.uint32),
            free_list=xp.zeros(0, np.uint32),
            fresh=xp.zeros(marks, np.uint32),
            touched=xp.zeros(marks, np.uint32),
            capacity=capacity,
            marked=int(self._marked_arrays),
            words=shape.words,
            keys=shape.keys,
            weight_words=shape.weight_words,
            weight_offset=shape.weight_offset,
        )

    def _no_tables(self, vertices: int) -> Tables:
        """Return the words and the bucket codes of vertices without storage."""
        words = self._filled(2 * _even(vertices), 8)
        words[1::2] = 0
        return words, self.device.xp.ones(_even(vertices), np.uint16)

    def _resized(self, capacity: int) -> Slabs:
        """Return the present arrays with room for ``capacity`` slabs; raises before anything changed."""
        slabs, xp = self.slabs, self.device.xp
        self._admit(capacity, self._vertices_allocated, len(slabs.free_list))
        with self.reserving():
            pool, owner = self._filled(capacity * slabs.words, 128, slabs.pool), self._filled(capacity, 4, slabs.owner)
            marks = [xp.zeros(capacity if self._marked_arrays else 0, np.uint32) for _ in range(2)]
        for new, old in zip(marks, (slabs.fresh, slabs.touched), strict=True):
            new[: len(old)] = old
        marked = int(self._marked_arrays)
        return slabs._replace(
            pool=pool, owner=owner, fresh=marks[0], touched=marks[1], capacity=capacity, marked=marked
        )

    def _read_counters(self) -> None:
        """Read the counters of the device (waits for it) and learn the exact number of free slabs."""
        self._counters = self.device.to_numpy(self.slabs.counters).astype(np.int64)
        counters = self._counters.tolist()
        listed = max(0, counters[LISTED] - counters[TAKEN])
        room = self.slabs.capacity - counters[BUMP] + listed
        self._set_room(room, counters[BUMP] - listed - counters[FREED], counters[WANTED])
        if self.device.is_cuda:
            self.kernels.forget_pending()

    def _set_room(self, room: int, used: int, wanted: int) -> None:
        """Note the slabs that are free, those in use, and those that re-buckets have asked for in vain."""
        self._room, self._used, self._wanted = room, used, wanted

    def _need_at_most(self, edges: int) -> int:
        """Return how many slabs any ``edges`` edges can need: each bucket can be full, or each vertex without one."""
        return self._bound(edges, self.slabs.capacity - self._room + self.num_vertices)

    def _bound(self, edges: int, chains: int) -> int:
        return min(edges, chains + edges // self.geometry.keys)

    def _make_room(self, src: Array, dst: Array, guard: Array | None) -> tuple[int, int]:
        """Make sure that there are slabs for a batch; return how many it may use, and how many re-buckets may."""
        edges = len(src)
        if self.device.is_cuda:
            self.kernels.refresh()
        need, extra = self._need_at_most(edges), self._extra(edges)
        if self._room >= need + extra and not self._wanted:
            return need, extra
        self._read_counters()
        need, extra = self._need_at_most(edges), self._extra(edges)
        space = self.slabs.capacity - int(self._counters[BUMP])
        if self._room >= need + extra and (not self._wanted or space >= extra):
            self._forget_wanted()
            return need, extra
        if self.device.is_cuda and self._make_ample_room(src, guard):
            return self._need_at_most(edges), self._extra(edges)
        if self.device.is_cuda and need + extra <= self.slabs.capacity and self._make_loose_room(need + extra):
            return self._need_at_most(edges), extra
        return self._make_exact_room(src, dst, guard, extra), extra

    def _make_ample_room(self, src: Array, guard: Array | None) -> bool:
        """In a graph that grows by batches that are large for it: size all buckets for several more of them.

        There is room until then, so that few vertices are re-bucketed one by one, and few batches end up here. Where
        edges have been deleted there may be room enough.
        """
        if not self.hashing or self._has_deleted:
            return False
        edges = len(src)
        try:
            with self.reserving():
                expected, stored = self._present()
            if 2 * stored < edges or edges * BULK_SHARE < stored:
                return False
            coming = min(BATCHES_AHEAD * edges, max(stored // 2, EDGES_AHEAD - stored))
            spare = edges + sum(self.kernels.slabs_ahead(edges)) + coming // self.geometry.keys
            spare += (self.slabs.capacity + spare) // 8  # a larger pool keeps more for re-buckets
            self.kernels.count_sources(src, guard, expected)
            self._rebuild(expected, stored, spare=spare, room=1 + coming / (stored + edges))
        except CapacityError:
            return False
        if self._room < self._need_at_most(edges) + self._extra(edges):
            self._read_counters()
        return self._room >= self._need_at_most(edges) + self._extra(edges)

    def _make_loose_room(self, slabs: int) -> bool:
        """Get ``slabs`` free slabs without counting what a batch needs; the counters have just been read."""
        space = self.slabs.capacity - int(self._counters[BUMP])
        lacks_space = self._wanted > 0 and space < slabs  # heads do not come from the free list
        self._forget_wanted()
        if self._repack(slabs):
            return True
        if not lacks_space and self._sweep(slabs):
            return True
        return self._grow_or_not(self._room + slabs - space if lacks_space else slabs)

    def _make_exact_room(self, src: Array, dst: Array, guard: Array | None, extra: int) -> int:
        """Count the slabs that a batch needs, and get them and ``extra`` ones; the counters have just been read."""
        need = self.kernels.count_slabs(self.slabs, int(self._counters[BUMP]), src, dst, guard, False)
        if self._room < need and self._repack(need + self.slabs.capacity // 8):
            need = self.kernels.count_slabs(self.slabs, int(self._counters[BUMP]), src, dst, guard, False)
        if not self._sweep(need):
            share = 4 if self._bound_edges else SLACK  # the first batch is a bulk build: no more than it takes
            self._grow(need, wanted=need + self.slabs.capacity // share + MIN_SLABS)
        lack = need + extra - self._room
        if self._wanted:
            lack = max(lack, extra - self.slabs.capacity + int(self._counters[BUMP]))  # heads come from the end
        if lack > 0 and self._bound_edges and self.device.is_cuda:
            self._grow_or_not(self._room + lack, self._room + lack)
        self._forget_wanted()
        return need

    def _extra(self, edges: int) -> int:
        """Return how many slabs to keep for re-buckets in a batch of ``edges`` edges."""
        if not self.hashing:
            return 0
        wanted = 2 * min(self._wanted, self._used + edges)  # refused requests come again, and are counted again
        for_hubs = min(self.slabs.capacity // 32, max(edges // 4, LARGE_VERTEX))
        return sum(self.kernels.slabs_ahead(edges)) + for_hubs + wanted

    def more_quota(self, edges: int, need: int) -> tuple[int, int]:
        """CPU, inside a batch with ``edges`` edges to go that ``need`` slabs suffice for: get slabs for re-buckets.

        Returns how many there are, -1 for none, and what the edges need now.
        """
        self._read_counters()
        extra = self._extra(edges)
        if self._repack(self._need_at_most(edges) + extra):
            need = self._need_at_most(edges)
            return max(-1, min(extra, self._room - need)), need
        space = self.slabs.capacity - int(self._counters[BUMP])
        if space < need + extra and not self._grow_or_not(self._room + need + extra - space):
            return -1, need
        self._forget_wanted()
        return extra, need

    def _forget_wanted(self) -> None:
        if self._wanted:
            self.slabs.counters[WANTED] = self._wanted = 0

    def _grow_or_not(self, least: int, wanted: int = 0) -> bool:
        """Try to grow the pool until ``wanted`` slabs (0: ``least`` and a quarter of the pool), or at least ``least``,
        are free; return whether it did.
        """
        try:
            self._grow(least, wanted=wanted or least + self.slabs.capacity // 4)
        except CapacityError:
            return False
        return True

    def _repack(self, spare: int) -> bool:
        """Where most of the pool is holes, which heads cannot use, move all edges to a new one with ``spare`` slabs."""
        holes = int(self._counters[BUMP]) - self._used
        if holes <= self._used + MIN_SLABS:
            return False
        try:
            self._rebuild(*self._present(), spare=spare)
        except CapacityError:
            return False
        self._read_counters()
        return True

    def _grow(self, minimum: int, wanted: int) -> None:
        """Grow the pool until ``wanted`` slabs are free, or at least ``minimum``; the room is exact."""
        capacity, room = self.slabs.capacity, self._room
        try:
            self.slabs = self._resized(capacity + max(0, wanted - room))
        except CapacityError:
            self.slabs = self._resized(capacity + minimum - room)
        self._room += self.slabs.capacity - capacity

    def _sweep(self, need: int) -> bool:
        """List the free slabs for reuse if they are many; return whether there are ``need`` now. The room is exact."""
        freed, left = int(self._counters[FREED]), max(0, int(self._counters[LISTED] - self._counters[TAKEN]))
        if freed and (self._room + freed >= need or 8 * freed >= self.slabs.capacity):
            try:
                self._admit(self.slabs.capacity, self._vertices_allocated, freed + left)
                with self.reserving():
                    free_list = self.device.xp.empty(freed + left, np.uint32)
            except CapacityError:
                return self._room >= need
            self.kernels.list_free(free_list)
            self.slabs = self.slabs._replace(free_list=free_list)
            counters = self.slabs.counters
            counters[LISTED], counters[TAKEN], counters[FREED] = freed + left, 0, 0
            self._read_counters()
        return self._room >= need

    def reserve(self, num_edges: int) -> None:
        """Make room for any ``num_edges`` edges, at their worst; raises ``CapacityError`` now."""
        if self.device.is_cuda:
            self.kernels.refresh()
        if self._room < self._need_at_most(num_edges) + self._extra(num_edges):
            self._read_counters()
            need = self._need_at_most(num_edges) + self._extra(num_edges)
            if not self._sweep(need):
                self._grow(need, wanted=need + max(need, self.slabs.capacity) // 16)  # so that few calls make it grow
        self._promised, self._usual_grant = max(self._promised, num_edges), NO_GRANT
        if self.device.is_cuda:
            self.kernels.prepare(num_edges)

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return ``{part: (bytes used, bytes allocated)}``; on CUDA reading it waits for the device."""
        self._read_counters()
        slabs, used = self.slabs, self._used
        left = max(0, int(self._counters[LISTED] - self._counters[TAKEN]))
        vertices, allocated = self.num_vertices, self._vertices_allocated
        parts = {
            "slabs": (used * self.slab_bytes, slabs.pool.nbytes),
            "owners": (used * 4, slabs.owner.nbytes),
            "vertices": (vertices * VERTEX_BYTES, allocated * VERTEX_BYTES),
            "free list": (left * 4, slabs.free_list.nbytes),
            "counters": (slabs.counters.nbytes, slabs.counters.nbytes),
        }
        if self.device.is_cuda:
            parts["scratch"] = (0, self.kernels.scratch_bytes)
        if self._marked_arrays:
            touched = int(self._counters[TOUCHED])
            parts["marks"] = (used * 4 + touched * 4, slabs.fresh.nbytes + slabs.touched.nbytes)
        return parts

    # -- buckets for all vertices --------------------------------------------------------------------------------------

    def _hints(self, hints: Array | None) -> Array | None:
        if hints is None:
            return None
        hints = self.device.xp.asarray(hints).astype(np.int64)
        if hints.shape != (self.num_vertices,):
            raise ShapeError(f"degree_hints has shape {hints.shape}, not ({self.num_vertices},)")
        return self.device.xp.clip(hints, 0, MAX_VERTICES).astype(np.uint32)

    def _try_hints(self, hints: Array) -> None:
        with suppress(CapacityError):
            self._rebuild(hints, 0)

    def _present(self) -> tuple[Array, int]:
        """Return the degrees (a copy) and the number of edges; on CUDA this waits."""
        degrees = self.degrees()
        return degrees, int(degrees.sum(dtype=np.int64))

    def _is_large(self, edges: int) -> bool:
        """Return whether a batch has more edges than there is storage in use for, so that all is sized anew first."""
        return self.hashing and edges > (self.slabs.capacity - self._room) * self.geometry.keys

    def _presize(self, src: Array, dst: Array, guard: Array | None) -> int | None:
        """Before a batch that is larger than all storage: give every vertex buckets for the edges it will have.

        Returns the slabs that the batch needs at most, or None if nothing was done.
        """
        if not self._is_large(len(src)):
            return None
        try:
            with self.reserving():
                expected, stored = self._present() if self._bound_edges else (self.degrees(), 0)
                self.kernels.count_sources(src, guard, expected)
            later = max(0, self._promised - len(src))
            return self._rebuild(expected, stored, (src, dst, guard), later=later)
        except CapacityError:
            return None

    def _rebuild(
        self,
        expected: Array,
        stored: int,
        batch: Batch | None = None,
        spare: int = 0,
        later: int = 0,
        room: float = 1.0,
    ) -> int:
        """Move all edges to a new pool with buckets for ``room`` times the ``expected`` degrees, and slabs for a batch.

        ``stored`` is the number of edges, ``spare`` are slabs and ``later`` edges to keep room for besides.
        Returns the slabs that the batch may need; raises ``CapacityError`` before anything changed. Does not look at
        the counters again: the room is that which moving all edges leaves at least.
        """
        old, vertices = self.slabs, self._vertices_allocated
        with self.reserving():
            codes, heads = self.kernels.plan(expected, room)
            ends = self.device.xp.cumsum(heads)
            total = int(ends[-1]) if len(ends) else 0
            tables = self._aligned(2 * vertices, 8), self.device.xp.empty(vertices, np.uint16)
            self.kernels.write_tables(codes, heads, ends, old.vertex, *tables)
            spare += self._bound(later, total + self.num_vertices) + self._extra(later) if later else 0
            new = self._with_heads(tables, total, stored, batch, spare, exact=room == 1)
            need = new.capacity - total - spare
        self.kernels.place_heads(new.owner, heads, ends, total)
        if stored:
            self.kernels.move_edges(old, new)
        self.slabs, self._bound_edges, self._has_deleted = new, stored, False
        used = total + min(need, stored // self.geometry.keys)
        self._set_room(new.capacity - used, used, 0)
        if self.device.is_cuda:
            self.kernels.forget_pending()
        return min(need, self._room)

    def _with_heads(
        self, tables: Tables, total: int, stored: int, batch: Batch | None, spare: int, *, exact: bool
    ) -> Slabs:
        """Return new arrays with ``total`` heads, and with slabs for ``stored`` edges, a batch, and ``spare``.

        With ``exact`` they are counted, unless stored edges meet a batch, or it is no bulk load: then more will come.
        """
        vertices = self._vertices_allocated
        plan = self.slabs._replace(vertex=tables[0], buckets=tables[1])
        slack = 0
        coming = 0 if batch is None else len(batch[0])
        overflow = (stored + coming) // self.geometry.keys  # a bucket of c edges has at most c / keys more
        if stored and batch is None and exact:
            edges = self.edges()
            overflow = self.kernels.count_slabs(plan, total, edges.src, edges.dst, None, True)
        elif batch is not None and not stored:
            if coming >= BULK_LOAD * self.num_vertices:
                overflow = self.kernels.count_slabs(plan, total, *batch, True)
            slack = (total + overflow) // SLACK + MIN_SLABS
        size = total + overflow + spare
        try:
            new = self._new_slabs(vertices, size + slack, tables)
        except CapacityError:
            new = self._new_slabs(vertices, size, tables)
        new.counters[BUMP] = total
        return new

    def compact(self) -> None:
        """Flush tombstones, give every vertex buckets for its degree, and cut the pool to what that takes."""
        self._rebuild(*self._present())
        self._read_counters()

    # -- updates and queries -------------------------------------------------------------------------------------------

    def _weights(self, size: int) -> Array | None:
        return None if self.weight_dtype is None else self.device.xp.empty(size, self.weight_dtype)

    def _outcome(self, size: int) -> Outcome:
        """Return the arrays of an outcome: CUDA kernels write every status, those of the CPU only changes."""
        xp = self.device.xp
        return Outcome((xp.empty if self.device.is_cuda else xp.zeros)(size, np.uint8), self._weights(size))

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges; see :meth:`suricate.store.Store.insert`."""
        edges = len(src)
        with self.reserving():
            outcome = self._outcome(edges)
        if not edges or self._held_back(guard):
            return outcome
        if self._width_is_open:
            self._choose_width(edges)
        need, extra = self._presize(src, dst, guard), self._extra(edges)
        sized = need is not None
        if need is None:
            need, extra = self._make_room(src, dst, guard)
        self.kernels.insert(src, dst, weight, guard, self._grant(edges, need, extra), *outcome)
        if not self.device.is_cuda:
            self._read_counters()
        self._count_batch(edges)
        if sized:
            self._shed_duplicates()
        return outcome

    def _shed_duplicates(self) -> None:
        """After a batch that all was sized for: compact if most of it were duplicates (events that repeat an edge)."""
        if 2 * self.num_edges < self._bound_edges:
            with suppress(CapacityError):
                self.compact()

    def _grant(self, edges: int, need: int, extra: int) -> Grant:
        """Grant a batch what it needs, with what is promised to later ones, and re-buckets up to ``extra``."""
        kept = max(need, self._need_at_most(self._promised)) if self._promised else need
        _, in_advance = self.kernels.slabs_ahead(edges)
        quota = max(0, min(self._room - kept, extra - in_advance))
        return Grant(edges, need, quota, kept + quota, kept + quota + in_advance)

    def _count_batch(self, edges: int) -> None:
        self._bound_edges += edges
        if self._promised:
            self._promised = max(0, self._promised - edges)

    def apply_unvalidated(self, batch: UnvalidatedBatch) -> Any:
        """Check and apply a device batch in one launch; see :meth:`suricate.store.Store.apply_unvalidated`."""
        operation = batch.operation
        if operation == "insert":
            return self._insert_unvalidated(batch)
        if operation == "delete":
            self._has_deleted = True
            return self.kernels.delete_unvalidated(batch)
        found, weight = self._answer(batch.size)
        self.kernels.find_unvalidated(batch, found, weight)
        return found, weight

    def _insert_unvalidated(self, batch: UnvalidatedBatch) -> Callable[[], Change] | None:
        """Insert the batch if enough slabs are free whatever is in it; otherwise return None."""
        edges = batch.size
        grant = self._raw_grant(edges)
        if grant is None and batch.waits and self.kernels.pending:
            self._read_counters()
            grant = self._raw_grant(edges)
        if grant is None:
            return None
        held = self.kernels.insert_unvalidated(batch, grant)
        self._count_batch(edges)
        if self._room < grant.ample or self.kernels.behind >= LOOK_AFTER:
            self.kernels.refresh()  # now, while the device is busy with this batch, see what those before it have left
        return held

    def _raw_grant(self, edges: int) -> Grant | None:
        """Grant a batch what any so many edges need; None if there are too few slabs for that."""
        grant: Grant | None = self._usual_grant
        if self._usual_grant.edges != edges or self._wanted:
            grant = self._new_grant(edges)
        if grant is None or self._room < grant.ample:
            self.kernels.refresh()  # there may be more than was known
            if grant is not self._usual_grant or self._room < grant.least or self._wanted:
                grant = self._new_grant(edges)
        return grant

    def _new_grant(self, edges: int) -> Grant | None:
        """Grant an unvalidated batch what it needs of what is known to be free."""
        need = self._need_at_most(edges)
        if self._wanted or self._room < need or self._width_is_open or self._is_large(edges):
            return None
        grant = self._grant(edges, need, self._extra(edges))
        if need == edges and self._room > grant.least:  # neither can become more
            self._usual_grant = grant
        return grant

    def _answer(self, size: int) -> tuple[Array, Array | None]:
        try:
            return self.device.xp.empty(size, bool), self._weights(size)
        except MemoryError as error:
            raise self.out_of_memory(error) from error

    def _held_back(self, guard: Array | None) -> bool:
        return guard is not None and not self.device.is_cuda and bool(guard[0])

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges; see :meth:`suricate.store.Store.delete`."""
        with self.reserving():
            outcome = self._outcome(len(src))
        if len(src) and not self._held_back(guard):
            self._has_deleted = True
            self.kernels.delete(src, dst, guard, *outcome)
        return outcome

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return ``(found, weight)``; see :meth:`suricate.store.Store.find`."""
        found, weight = self._answer(len(src))
        if len(src):
            self.kernels.find(src, dst, found, weight)
        return found, weight

    def degrees(self) -> Array:
        """Return the exact out-degrees, ``uint32[num_vertices]``, a copy."""
        return self.slabs.vertex[1 : 2 * self.num_vertices : 2].copy()

    # -- vertices ------------------------------------------------------------------------------------------------------

    def delete_vertices(self, vertices: Array) -> None:
        """Free the out-adjacency of the distinct ``vertices`` (uint32[k]); their slabs are used again."""
        if len(vertices):
            self._has_deleted = True
            self.kernels.free_vertices(vertices)
            if not self.device.is_cuda:
                self._read_counters()

    def resize(self, num_vertices: int) -> None:
        """Grow to ``num_vertices``; the new vertices take no slab until they have edges."""
        allocated = self._vertices_allocated
        if num_vertices > allocated:
            try:
                self.slabs = self._more_vertices(max(num_vertices, allocated + allocated // 4))
            except CapacityError:
                self.slabs = self._more_vertices(num_vertices)
        self.num_vertices = num_vertices

    def _more_vertices(self, size: int) -> Slabs:
        slabs = self.slabs
        self._admit(slabs.capacity, size, len(slabs.free_list))
        with self.reserving():
            vertex, buckets = self._no_tables(size)
        vertex[: len(slabs.vertex)], buckets[: len(slabs.buckets)] = slabs.vertex, slabs.buckets
        return slabs._replace(vertex=vertex, buckets=buckets)

    # -- traversal -----------------------------------------------------------------------------------------------------

    def view(self) -> StoreView:
        """Return the arrays for kernels; see ``cursor.py`` and ``cursor.cuh``."""
        slabs, n, shape = self.slabs, self.num_vertices, self.geometry
        data = SlabView(
            pool=slabs.pool,
            weight=slabs.pool if self.weight_dtype is None else slabs.pool.view(self.weight_dtype),
            owner=slabs.owner,
            vertex=slabs.vertex[: 2 * n],
            buckets=slabs.buckets[:n],
            counters=slabs.counters,
            fresh=slabs.fresh,
            touched=slabs.touched,
            words=shape.words,
            keys=shape.keys,
            weight_offset=shape.weight_offset,
        )
        return StoreView(
            data=data,
            cursor="suricate.backends.slabhash.cursor",
            header=HERE / "cursor.cuh",
            num_vertices=n,
            weight_dtype=self.weight_dtype,
            constants=macros(shape),
            can_scan=True,
            has_updated=True,
            find="hash",
        )

    def _edge_arrays(self, size: int) -> EdgeList:
        with self.reserving():
            xp = self.device.xp
            return EdgeList(xp.empty(size, np.uint32), xp.empty(size, np.uint32), self._weights(size))

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k], repeats allowed), compact."""
        xp = self.device.xp
        offsets = xp.zeros(len(vertices) + 1, np.int64)
        xp.cumsum(self.slabs.vertex[1::2][vertices], dtype=np.int64, out=offsets[1:])
        _, dst, weight = self._edge_arrays(int(offsets[-1]))
        if len(dst):
            self.kernels.gather(vertices, offsets, dst, weight)
        return Adjacency(offsets, dst, weight)

    def edges(self) -> EdgeList:
        """Return all edges, ordered by source."""
        xp = self.device.xp
        offsets = xp.zeros(self.num_vertices + 1, np.int64)
        xp.cumsum(self.degrees(), dtype=np.int64, out=offsets[1:])
        edges = self._edge_arrays(int(offsets[-1]))
        if len(edges.src):
            self.kernels.gather_all(offsets, *edges)
        return edges

    def mark(self) -> None:
        """Start to remember insertions: 8 bytes per slab from the first mark on."""
        if not self._marked_arrays:
            self._marked_arrays = True
            try:
                self.slabs = self._resized(self.slabs.capacity)
            except CapacityError:
                self._marked_arrays = False
                raise
        self.kernels.forget_touched()

    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still there; visits only the slabs they went into."""
        if not self._marked_arrays:
            return self.edges()
        self._read_counters()
        touched = int(self._counters[TOUCHED])
        edges = self._edge_arrays(touched * self.geometry.keys)
        count = self.kernels.gather_touched(touched, *edges) if touched else 0
        weight = None if edges.weight is None else edges.weight[:count].copy()
        return EdgeList(edges.src[:count].copy(), edges.dst[:count].copy(), weight)

    # -- copies and checks ---------------------------------------------------------------------------------------------

    def copy_to(self, device: Device) -> SlabHashStore:
        """Return a copy of this store on ``device``: its arrays, as they are."""
        if device.kind not in self.devices:
            raise DeviceError(f"backend {self.name!r} runs on {', '.join(self.devices)}, not on {device}")
        other = type(self)(
            self.num_vertices,
            device=device,
            weight_dtype=self.weight_dtype,
            memory_limit=self.memory_limit,
            slab_bytes=self.slab_bytes,
            load_factor=self.load_factor,
            hashing=self.hashing,
            in_flight=self.in_flight,
            reference=self.reference,
        )
        other._marked_arrays, other._bound_edges = self._marked_arrays, self._bound_edges
        other._has_deleted = self._has_deleted
        with self.reserving():
            arrays = {
                name: move(part, self.device, device)
                for name, part in self.slabs._asdict().items()
                if hasattr(part, "dtype") and name != "pool"
            }
            pool = other._filled(len(self.slabs.pool), 128)
            pool[:] = device.xp.asarray(self.device.to_numpy(self.slabs.pool))
        other.slabs = self.slabs._replace(pool=pool, **arrays)
        other.slabs.counters[REFUSED] = 0  # calls are counted anew there
        other._read_counters()
        return other

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; see ``check.py``."""
        from suricate.backends.slabhash.check import verify

        store = self.copy_to(CPU) if self.device.is_cuda else self
        verify(store.slabs, self.num_vertices, self._marked_arrays)


def _even(vertices: int) -> int:
    return vertices + vertices % 2  # CUDA flags bucket codes in words of two


def _mean_degree(hints: Array | None) -> float:
    """Return the mean of the hints that are not zero; 0 if there are none."""
    if hints is None or not len(hints):
        return 0.0
    with_edges = int((hints > 0).sum())
    return float(hints.sum(dtype=np.float64)) / with_edges if with_edges else 0.0


def _physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
