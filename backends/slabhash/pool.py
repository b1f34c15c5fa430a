"""The arrays of a store: allocated, grown and copied here, within the store's budget."""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.layout import MAX_SLABS, NUM_COUNTERS, REJECTED, Geometry, Slabs
from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY, StoreView
from suricate.errors import CapacityError
from suricate.intake.arrays import fill, move
from suricate.store.in_place import growable_on, lengthened, reach
from suricate.store.own_rows import Rows

VERTEX_BYTES = 10  # head word, degree, bucket code
COUNTER_BYTES = 4 * NUM_COUNTERS
POOL_ALIGNMENT = 128  # bytes
Tables = tuple[Array, Array]  # of all vertices: head words with degrees, bucket codes


class Pool:
    """The arrays of one store, ``slabs``; ``view`` is the store's view of them for kernels, None until it is made.

    ``rows`` says which vertices have memory, ``tables`` are theirs, zeros, or None: new ones. What allocates raises
    ``CapacityError`` before any change.
    """

    slabs: Slabs
    view: StoreView | None

    def __init__(
        self, device: Device, shape: Geometry, budget: Budget, rows: Rows, num_vertices: int, tables: Tables | None
    ) -> None:
        self._device, self._shape, self._budget, self.rows = device, shape, budget, rows
        self.adopt(self.new(num_vertices, 0, tables, marked=False))

    @property
    def vertices(self) -> int:
        """Number of vertices that the arrays have entries for; maybe more than the store has."""
        return len(self.slabs.buckets)

    @property
    def counted(self) -> int:
        """Number of vertices that temporary arrays by vertex take memory for: on the CPU those whose rows are kept."""
        kept = self.rows.within(0, self.vertices)
        return self.vertices if self._device.is_cuda else sum(end - begin for begin, end in kept)

    @property
    def slab_bytes(self) -> int:
        """Size of a slab in bytes."""
        return 4 * self._shape.words

    def degrees(self, count: int) -> Array:
        """Return a copy of the degrees of the first ``count`` vertices, ``uint32[count]``."""
        if self.rows.is_all:
            return self.slabs.vertex[1 : 2 * count : 2].copy()
        found = self.no_degrees(count)
        for begin, end in self.rows.within(0, count):
            found[begin:end] = self.slabs.vertex[2 * begin + 1 : 2 * end : 2]
        return found

    def no_degrees(self, count: int) -> Array:
        """Return the degrees of ``count`` vertices without edges: zeros, ``uint32[count]``."""
        return self._device.xp.zeros(count, np.uint32)

    def adopt(self, slabs: Slabs) -> None:
        """Make ``slabs`` the arrays of the store, count their bytes in the budget, and drop the view."""
        self.slabs, self.view = slabs, None
        self._budget.arrays = self.array_bytes(slabs)

    def array_bytes(self, slabs: Slabs) -> int:
        """Return the total size in bytes of the arrays of ``slabs``."""
        tables = slabs.vertex.nbytes + slabs.buckets.nbytes
        return sum(part.nbytes for part in slabs if not isinstance(part, int)) - tables + self.table_bytes(slabs)

    def table_bytes(self, slabs: Slabs | None = None) -> int:
        """Return the bytes of memory of ``vertex`` and ``buckets`` of ``slabs``; None: of the current arrays."""
        return self._bytes_for(len((slabs or self.slabs).buckets))

    def _bytes_for(self, vertices: int) -> int:
        return self.rows.bytes_of(vertices, 8) + self.rows.bytes_of(vertices, 2)

    def _admit(self, capacity: int, *, marked: bool, besides: int = 0) -> None:
        """Raise ``CapacityError`` unless arrays of ``capacity`` slabs and ``besides`` more bytes can be allocated."""
        if capacity > MAX_SLABS:
            raise CapacityError(f"slabhash cannot have {capacity} slabs of {self.slab_bytes} bytes: use wider ones")
        self._budget.admit(capacity * (self.slab_bytes + (12 if marked else 4)) + besides)  # 4: the owner

    # -- new arrays ----------------------------------------------------------------------------------------------------

    def aligned(self, size: int, alignment: int, *, growing: bool = False) -> Array:
        """Return an uninitialised ``uint32[size]`` whose address is a multiple of ``alignment`` bytes.

        On CUDA it has room to grow only if it is ``growing``: a pool that never grows costs no mapping.
        """
        if self._device.is_cuda and not growing:
            return self._device.xp.empty(size, np.uint32)  # aligned to 512 bytes by CuPy's memory pool
        return growable_on(self._device, size, np.uint32, alignment)

    def filled(self, size: int, alignment: int = 4, kept: Array | None = None, value: int = EMPTY) -> Array:
        """Return ``uint32[size]`` at a multiple of ``alignment`` bytes: ``kept``, if given, then ``value``, all else.

        ``kept`` is made longer where it is, if it has room, or else copied. All bytes of ``value`` are alike.
        """
        begin = 0 if kept is None else len(kept)
        array: Array
        if kept is not None and reach(kept) >= size:
            array = lengthened(kept, size)
        else:
            array = self.aligned(size, alignment, growing=begin > 0)
            if kept is not None:
                array[:begin] = kept
        if self._device.is_cuda and begin < size:
            array[begin:].data.memset_async(value & 0xFF, 4 * (size - begin))
        else:
            fill(array[begin:], value)
        return array

    def tables(self, vertices: int) -> Tables:
        """Return ``vertex`` and ``buckets`` (see ``Slabs``) for ``vertices`` vertices without edges.

        The number of vertices is rounded up to an even one.
        """
        size = vertices + vertices % 2  # CUDA flags bucket codes in words of two
        with self._budget.allocating(self._bytes_for(size)):
            return self.rows.zeros(size, np.uint32, 2), self.rows.zeros(size, np.uint16)

    def blank_tables(self) -> Tables:
        """Return zeros as ``vertex`` and ``buckets`` (see ``Slabs``) for the current vertices, soon to be written."""
        zeros, size = self.rows.zeros, self.vertices
        return zeros(size, np.uint32, 2, written=False), zeros(size, np.uint16, written=False)

    def new(self, vertices: int, capacity: int, tables: Tables | None = None, *, marked: bool) -> Slabs:
        """Return the arrays of a store without edges, for ``capacity`` slabs; ``marked``: with arrays for a mark.

        ``tables`` are the arrays ``vertex`` and ``buckets`` (see ``Slabs``), already counted in the budget; None: new
        ones for ``vertices`` vertices without storage.
        """
        xp, shape = self._device.xp, self._shape
        self._admit(capacity, marked=marked, besides=COUNTER_BYTES + (0 if tables else self._bytes_for(vertices)))
        vertex, buckets = tables or self.tables(vertices)
        marks = capacity if marked else 0
        with self._budget.allocating():
            return Slabs(
                pool=self.filled(capacity * shape.words, POOL_ALIGNMENT),
                owner=self.filled(capacity),
                vertex=vertex,
                buckets=buckets,
                counters=xp.zeros(NUM_COUNTERS, np.uint32),
                free_list=xp.zeros(0, np.uint32),
                fresh=xp.zeros(marks, np.uint32),
                touched=xp.zeros(marks, np.uint32),
                capacity=capacity,
                marked=int(marked),
                words=shape.words,
                keys=shape.keys,
                weight_words=shape.weight_words,
                weight_offset=shape.weight_offset,
            )

    # -- the present arrays, changed -----------------------------------------------------------------------------------

    def grows_in_place(self, capacity: int) -> bool:
        """Return whether the slabs can become ``capacity`` ones where they are; smaller arrays may be copied then."""
        return reach(self.slabs.pool) >= capacity * self.slabs.words

    def grown(self, capacity: int) -> Slabs:
        """Return the current arrays for ``capacity`` slabs: longer where they are if they have room, else copied."""
        slabs, marks = self.slabs, capacity if self.slabs.marked else 0
        kept = {name: getattr(slabs, name) for name in ("fresh", "touched", "owner", "pool")}
        sizes = (marks, marks, capacity, capacity * slabs.words)
        staying = sum(part.nbytes for part, size in zip(kept.values(), sizes, strict=True) if reach(part) >= size)
        self._admit(capacity, marked=bool(marks), besides=-staying)
        with self._budget.allocating():  # the pool last: if memory lacks, what has grown before is small
            fresh, touched = (self.filled(marks, 4, kept[name], 0) for name in ("fresh", "touched"))
            owner = self.filled(capacity, 4, kept["owner"])
            pool = self.filled(capacity * slabs.words, POOL_ALIGNMENT, kept["pool"])
        return slabs._replace(pool=pool, owner=owner, fresh=fresh, touched=touched, capacity=capacity)

    def with_marks(self) -> Slabs:
        """Return the current arrays with zeroed ``fresh`` and ``touched``, which record insertions since a mark."""
        slabs, xp = self.slabs, self._device.xp
        with self._budget.allocating(8 * slabs.capacity):
            return slabs._replace(
                fresh=xp.zeros(slabs.capacity, np.uint32), touched=xp.zeros(slabs.capacity, np.uint32), marked=1
            )

    def with_vertices(self, vertices: int) -> Tables:
        """Return longer copies of ``vertex`` and ``buckets``, for ``vertices`` vertices."""
        slabs = self.slabs
        vertex, buckets = self.tables(vertices)
        self.rows.copy(slabs.vertex, vertex, 2)
        self.rows.copy(slabs.buckets, buckets)
        return vertex, buckets

    def with_free_list(self, length: int) -> Slabs:
        """Return the current arrays with an uninitialised list of ``length`` free slabs."""
        with self._budget.allocating(4 * length):
            return self.slabs._replace(free_list=self._device.xp.empty(length, np.uint32))

    def clear(self) -> None:
        """Free all slabs and drop the pool, so that no vertex has storage; works at the memory limit."""
        slabs, xp = self.slabs, self._device.xp
        none = xp.zeros(0, np.uint32)
        pool = self.aligned(0, POOL_ALIGNMENT)
        for begin, end in self.rows.within(0, self.vertices):
            slabs.vertex[2 * begin : 2 * end].fill(0)
            slabs.buckets[begin:end].fill(0)
        slabs.counters[:] = 0
        self.adopt(slabs._replace(pool=pool, owner=none, free_list=none, fresh=none, touched=none, capacity=0))

    def copied_to(self, other: Pool) -> Slabs:
        """Return copies of the current arrays on the device of pool ``other``, counted in its budget."""
        slabs, device = self.slabs, other._device
        other._budget.admit(self._budget.arrays)
        with other._budget.allocating():
            pool = other.aligned(len(slabs.pool), POOL_ALIGNMENT)
            if self._device == device:
                pool[:] = slabs.pool
            elif self._device.is_cuda:
                slabs.pool.get(out=pool) if not device.is_cuda else pool.set(slabs.pool.get())
            else:
                pool.set(slabs.pool)
            others = {
                name: move(part, self._device, device)
                for name, part in slabs._asdict().items()
                if not isinstance(part, int) and name not in ("pool", "vertex", "buckets")
            }
            others["vertex"], others["buckets"] = other.tables(self.vertices)
            for name in ("vertex", "buckets"):
                width = 2 if name == "vertex" else 1
                for begin, end in self.rows.within(0, self.vertices):
                    part = getattr(slabs, name)[begin * width : end * width]
                    others[name][begin * width : end * width] = move(part, self._device, device)
        others["counters"][REJECTED] = 0  # calls are counted again there
        return slabs._replace(pool=pool, **others)
