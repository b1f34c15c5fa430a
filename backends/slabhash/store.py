"""The backend ``slabhash``: the store protocol. README.md says what is stored, ``layout.py`` how.

The store owns a ``Pool`` of arrays, a ``Budget`` of bytes, the ``Kernels`` of its device, and the ``Supply``, which
changes the arrays by all of these and knows how many slabs are free. None of them holds the store.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from suricate.backends.slabhash.budget import Budget
from suricate.backends.slabhash.kernels import GuardedBatch
from suricate.backends.slabhash.layout import DENIED, SLAB_BYTES, Slabs, SlabView, fitting_slab, geometry, macros
from suricate.backends.slabhash.ledger import BULK_LOAD, FEW, Ledger
from suricate.backends.slabhash.options import IN_FLIGHT, REFERENCE_BYTES, Options
from suricate.backends.slabhash.pool import VERTEX_BYTES, Pool, Tables
from suricate.backends.slabhash.programs import cursor_declarations
from suricate.backends.slabhash.supply import Sizing, Supply
from suricate.base.devices import CPU, Array, Device
from suricate.base.types import MAX_VERTICES, Adjacency, EdgeList, Outcome, StoreView
from suricate.errors import CapacityError, DeviceError, ShapeError
from suricate.intake.batches import HostBatch
from suricate.store import Store, StoreArguments
from suricate.store.own_rows import Rows, joined, without
from suricate.store.single import SingleEdges, reserve_some

if TYPE_CHECKING:
    from suricate.backends.slabhash.cpu import CpuKernels
    from suricate.backends.slabhash.cuda import CudaKernels
    from suricate.intake.batches import StoreBatch
    from suricate.intake.ingest import UnvalidatedBatch

HEADER = Path(__file__).parent / "device" / "cursor.cuh"
KEPT = 64  #: slabs that are not used for rehashing while single edges are inserted


class SlabHashStore(Store):
    """One hash table of slabs per vertex. See :class:`suricate.store.Store` for the common arguments.

    Args:
        slab_bytes: 16, 32, 64, 128, or ``"auto"``: by the mean of the degree hints; without hints by that of the first
            batch, if it has at least twice as many edges as there are vertices.
        load_factor: edges per key slot for which buckets are sized.
        hashing: False gives every vertex one bucket and never rehashes: denser slabs for traversal, but queries are
            linear searches.
        in_flight: edges of a query that a tile of CUDA lanes works on at a time: 1, 2, 4, or ``"auto"``.
        reference: the scheme of the papers, for comparison: slabs of 128 bytes, on CUDA each served by a full warp
            with 4 bytes to a lane, one edge at a time.

    ``memory_limit`` bounds everything that the store allocates at any time: both pools while one grows, free list,
    marks and scratch memory. Results, and temporary arrays of queries, do not count.

    Raises:
        ParameterError: an option is of the wrong type or out of range.
        ShapeError: the hints are not one per vertex.
        CapacityError: the arrays of the vertices do not fit (degree hints that do not fit are ignored).
    """

    name: ClassVar[str] = "slabhash"
    limited: ClassVar[str] = "budget"
    guarded: ClassVar[bool] = True
    priority: ClassVar[int] = 10
    knobs: ClassVar[dict[str, tuple[Any, ...]]] = {
        "load_factor": (0.35, 0.5, 0.7, 0.9, 1.2, 2.0, 4.0),
        "hashing": (True, False),
        "slab_bytes": SLAB_BYTES,
        "in_flight": IN_FLIGHT,
        "reference": (False, True),
    }
    budget: Budget
    pool: Pool
    kernels: CpuKernels | CudaKernels
    supply: Supply
    fused: CudaKernels  # the same, on CUDA

    def __init__(
        self,
        num_vertices: int,
        *,
        slab_bytes: int | str = "auto",
        load_factor: float = 0.7,
        hashing: bool = True,
        in_flight: int | str = "auto",
        reference: bool = False,
        **common: Unpack[StoreArguments],
    ) -> None:
        super().__init__(num_vertices, **common)
        self._options = options = Options.checked(
            slab_bytes=slab_bytes, load_factor=load_factor, hashing=hashing, in_flight=in_flight, reference=reference
        )
        self._few = not self.device.is_cuda
        hints = self._checked_hints(common.get("degree_hints"))
        width: int | str = REFERENCE_BYTES if options.reference else options.slab_bytes
        self._width_is_open = width == "auto" and hints is None
        if width == "auto":
            width = fitting_slab(_mean_degree(hints), self.weight_dtype)
        self._start(int(width), num_vertices)
        if hints is not None:
            with suppress(CapacityError):
                self.supply.rebuild(Sizing(hints, 0))

    def _start(self, slab_bytes: int, vertices: int, before: Pool | None = None) -> None:
        """Build an empty store with slabs of ``slab_bytes`` bytes, and entries for ``vertices`` vertices.

        ``before``: a pool without slabs, whose entries of vertices it takes over; None: new ones.
        """
        device, options = self.device, self._options
        shape = geometry(slab_bytes, self.weight_dtype, warp=options.reference)
        budget = Budget(self.memory_limit, device, self.besides)
        kernels: CpuKernels | CudaKernels
        if device.is_cuda:
            from suricate.backends.slabhash.cuda import CudaKernels

            kernels = self.fused = CudaKernels(device, budget, shape, self.weight_dtype, options)
        else:
            from suricate.backends.slabhash.cpu import CpuKernels

            per_bucket = options.load_factor * shape.keys
            kernels = CpuKernels(budget, shape.weight_words, shape.keys, per_bucket, hashing=options.hashing)
        rows, tables = Rows(device, self.kept_rows), None
        if before is not None:
            rows, tables = before.rows, (before.slabs.vertex, before.slabs.buckets)
        pool = Pool(device, shape, budget, rows, vertices, tables)
        self.budget, self.pool, self.kernels, self.geometry = budget, pool, kernels, shape
        ledger = Ledger(shape.keys, self.num_vertices, hashing=options.hashing, warps=kernels.warps)
        self.supply = Supply(pool, ledger, budget, kernels)

    def plan(self, num_edges: int) -> None:
        """Choose the slab width for a first batch of ``num_edges`` edges if it is a bulk load.

        Do nothing unless the width is still open: ``slab_bytes="auto"`` was given without degree hints. See
        :meth:`suricate.store.Store.plan`.
        """
        if not self._width_is_open:
            return
        self._width_is_open = False
        few = not num_edges or num_edges < BULK_LOAD * self.num_vertices
        if few or self.slabs.capacity or self.slabs.marked:
            return
        width = max(32, fitting_slab(num_edges / self.num_vertices, self.weight_dtype))  # more may come than this batch
        if width != self.slab_bytes:
            with suppress(CapacityError):
                self._start(width, self.pool.vertices, self.pool)

    @property
    def slab_bytes(self) -> int:
        """Size of a slab in bytes."""
        return self.pool.slab_bytes

    @property
    def slabs(self) -> Slabs:
        """All arrays of the store as kernels take them."""
        return self.pool.slabs

    def options(self) -> dict[str, Any]:
        """Return the backend options by name; ``slab_bytes`` is the slab width that was chosen."""
        return asdict(replace(self._options, slab_bytes=self.slab_bytes))

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called, so that insertions are recorded."""
        return bool(self.slabs.marked)

    def reserve(self, num_edges: int) -> None:
        """Reserve slabs and scratch memory for any ``num_edges`` edges; raises ``CapacityError`` now."""
        if self.weight_dtype is not None or not self.supply.ledger.keeps(num_edges):
            self.supply.reserve(num_edges)

    def reserve_for(self, src: Array) -> None:
        """Plan, and reserve memory for edges with the sources ``src``, as :meth:`reserve` does."""
        if self._width_is_open:
            self.plan(len(src))
        if self.weight_dtype is not None or not self.supply.ledger.keeps(len(src)):
            self.supply.reserve(len(src))

    def compact(self) -> None:
        """Flush tombstones, give every vertex buckets for its degree, and cut the pool to that, if memory allows it."""
        with suppress(CapacityError):
            self.supply.compact()

    def bytes_held(self) -> int:
        """Return the bytes that count against the memory limit; does not wait."""
        return self.budget.held

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return bytes used and allocated by kind of array, ``{kind: (used, allocated)}``; waits for a CUDA device."""
        self.supply.read()
        slabs, ledger = self.slabs, self.supply.ledger
        kept = sum(end - begin for begin, end in self.pool.rows.within(0, self.num_vertices))
        used = ledger.used
        parts = {
            "slabs": (used * self.slab_bytes, slabs.pool.nbytes),
            "owners": (used * 4, slabs.owner.nbytes),
            "vertices": (kept * VERTEX_BYTES, self.pool.table_bytes()),
            "free list": (ledger.listed * 4, slabs.free_list.nbytes),
            "counters": (slabs.counters.nbytes, slabs.counters.nbytes),
            "scratch": (0, self.budget.cached),
        }
        if slabs.marked:
            parts["marks"] = (used * 4 + ledger.touched * 4, slabs.fresh.nbytes + slabs.touched.nbytes)
        return parts

    # -- updates and queries -------------------------------------------------------------------------------------------

    def _edge_arrays(self, size: int) -> EdgeList:
        xp = self.device.xp
        weight = None if self.weight_dtype is None else xp.empty(size, self.weight_dtype)
        return EdgeList(xp.empty(size, np.uint32), xp.empty(size, np.uint32), weight)

    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges and return their outcome; see :meth:`suricate.store.Store.insert`."""
        edges = len(src)
        supply = self.supply
        if edges <= FEW and self._few and guard is None and (few := supply.insert_few(src, dst, weight)):
            return few
        outcome = self.budget.made(self.new_outcome, edges)
        if edges and not self.is_invalid(guard):
            self.plan(edges)
            self.supply.insert(GuardedBatch(src, dst, weight, guard), outcome)
        return outcome

    def single(self, num_edges: int) -> SingleEdges | None:
        """Return the arrays and the module with which a loop changes up to ``num_edges`` single edges; None on CUDA.

        See :meth:`suricate.store.Store.single`.
        """
        from suricate.backends.slabhash.loops.single import Edges

        if self.device.is_cuda:
            return None
        self.plan(num_edges)
        reserve_some(self.supply.provide_for, num_edges)
        self.slabs.counters[DENIED] = 0
        self.supply.read()
        arrays = Edges(self.slabs, self._options.hashing, self._options.load_factor * self.geometry.keys, KEPT)
        return SingleEdges("suricate.backends.slabhash.loops.single", arrays, np.dtype(np.uint32))

    def end_single(self, inserted: int, deleted: int) -> None:
        """Read the counters after a loop has changed this many single edges, and trim if it deleted many."""
        self.supply.read()
        with suppress(CapacityError):
            self.supply.changed(inserted, deleted)

    def apply(self, delete: StoreBatch | None, insert: StoreBatch | None) -> Callable[[], None] | None:
        """Prepare to delete and insert batches on CUDA (each may be None); return the function that does that, or None.

        None is returned if too few slabs are free for the worst case, a batch is on the host, or the slab width
        is not chosen yet (see :meth:`plan`). One launch validates and applies a batch. If there are both kinds, the
        insertion is validated before the deletion is applied. See :meth:`suricate.store.Store.apply`.
        """
        if isinstance(delete, HostBatch) or isinstance(insert, HostBatch):
            return None
        if insert is not None and self._width_is_open:
            return None
        return self.supply.prepare(delete, insert)

    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges and return their outcome; see :meth:`suricate.store.Store.delete`."""
        if 0 < len(src) <= FEW and self._few and guard is None:
            return self.supply.delete_few(src, dst, self.weight_dtype)
        outcome = self.budget.made(self.new_outcome, len(src))
        if len(src) and not self.is_invalid(guard):
            self.supply.delete(GuardedBatch(src, dst, None, guard), outcome)
        return outcome

    def query(self, edges: UnvalidatedBatch | EdgeList) -> tuple[Array, Array | None] | None:
        """Validate and look up an unvalidated batch in one launch; return found flags and weights.

        None is returned for an :class:`EdgeList`. See :meth:`suricate.store.Store.query`.
        """
        if isinstance(edges, EdgeList):
            return None
        found, weight = self.new_answer(edges.size)
        self.fused.find_unvalidated(self.pool.slabs, edges, found, weight)
        return found, weight

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return whether edges (``src``, ``dst``) are stored, bool[n], and their weights or None; see ``Store``."""
        found, weight = self.budget.made(self.new_answer, len(src))
        if len(src):
            self.kernels.find(self.slabs, src, dst, found, weight)
        return found, weight

    def degrees(self) -> Array:
        """Return the exact out-degrees, ``uint32[num_vertices]``, a copy."""
        return self.pool.degrees(self.num_vertices)

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.kernels.count_edges(self.pool.slabs))

    # -- vertices ------------------------------------------------------------------------------------------------------

    def delete_vertices(self, vertices: Array) -> None:
        """Free the slabs of the distinct ``vertices`` (uint32[k]), which have no out-edges then."""
        if len(vertices):
            self.supply.free_vertices(vertices)

    def resize(self, num_vertices: int) -> None:
        """Change the number of vertices: new ones get slabs with their first edges, slabs of removed ones are freed."""
        self.resizing(num_vertices)()

    def resizing(self, num_vertices: int) -> Callable[[], None]:
        """Prepare :meth:`resize`, see :meth:`suricate.store.Store.resizing`."""
        removed = self.budget.made(self.device.xp.arange, num_vertices, self.num_vertices, 1, np.uint32)
        return partial(self._take_vertices, num_vertices, removed, self.supply.with_vertices(num_vertices))

    def _take_vertices(self, num_vertices: int, removed: Array, tables: Tables | None) -> None:
        self.delete_vertices(removed)
        self.supply.resize(num_vertices, tables)
        self.num_vertices = num_vertices

    def keep_rows(self, rows: Array) -> None:
        """Keep the rows of vertices in ``rows`` (int64[k, 2]) only; see :meth:`suricate.store.Store.keep_rows`."""
        held, slabs = self.pool.rows, self.slabs
        if self.kept_rows is not None and np.array_equal(self.kept_rows, rows):
            return
        more, size = Rows(self.device, rows), self.pool.vertices
        self.budget.admit(max(0, sum(more.bytes_of(size, each) - held.bytes_of(size, each) for each in (8, 2))))
        gone = without(held.kept.clip(0, self.num_vertices), joined(rows))
        arange = partial(self.device.xp.arange, dtype=np.uint32)
        for begin, end in gone.tolist():
            self.delete_vertices(self.budget.made(arange, begin, end))
        self.budget.made(held.keep, rows, (slabs.vertex, 2), (slabs.buckets, 1))
        self.kept_rows, self.budget.arrays = rows, self.pool.array_bytes(slabs)

    # -- traversal -----------------------------------------------------------------------------------------------------

    def view(self) -> StoreView:
        """Return the arrays that cursors read (``cursor.py``, ``cursor.cuh``): the same object until one changes."""
        held = self.pool.view
        if held is None or held.num_vertices != self.num_vertices:
            held = self.pool.view = self._new_view()
        return held

    def _new_view(self) -> StoreView:
        slabs, n, shape = self.slabs, self.num_vertices, self.geometry
        weight = slabs.pool if self.weight_dtype is None else slabs.pool.view(self.weight_dtype)
        arrays = slabs._replace(vertex=slabs.vertex[: 2 * n], buckets=slabs.buckets[:n])._asdict() | {"weight": weight}
        return StoreView(
            data=SlabView(**{name: arrays[name] for name in SlabView._fields}),
            cursor="suricate.backends.slabhash.cursor",
            header=HEADER,
            num_vertices=n,
            weight_dtype=self.weight_dtype,
            constants=macros(shape),
            declarations=cursor_declarations(),
            can_scan=True,
            has_updated=True,
            find="hash",
        )

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k], repeats allowed), those of one vertex after the other."""
        xp = self.device.xp
        offsets = xp.zeros(len(vertices) + 1, np.int64)
        xp.cumsum(self.slabs.vertex[1::2][vertices], dtype=np.int64, out=offsets[1:])
        _, dst, weight = self.budget.made(self._edge_arrays, int(offsets[-1]))
        if len(dst):
            self.kernels.gather(self.slabs, vertices, offsets, dst, weight)
        return Adjacency(offsets, dst, weight)

    def edges(self) -> EdgeList:
        """Return all edges, ordered by source."""
        edges = self.budget.made(self._edge_arrays, self.num_edges)
        if len(edges.src):
            self.kernels.gather_all(self.slabs, self.num_vertices, *edges)
        return edges

    def mark(self) -> None:
        """Start to record insertions for :meth:`updated`; from the first mark on that takes 8 bytes per slab."""
        if not self.has_mark:
            self.kernels.forget()
            self.pool.adopt(self.pool.with_marks())
        self.kernels.forget_touched(self.slabs)

    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still there; visits only the slabs they went into."""
        if not self.has_mark:
            return self.edges()
        self.supply.read()
        touched = self.supply.ledger.touched
        edges = self.budget.made(self._edge_arrays, touched * self.geometry.keys)
        count = self.kernels.gather_touched(self.slabs, touched, *edges) if touched else 0
        weight = None if edges.weight is None else edges.weight[:count].copy()
        return EdgeList(edges.src[:count].copy(), edges.dst[:count].copy(), weight)

    # -- copies and checks ---------------------------------------------------------------------------------------------

    def copy_to(self, device: Device) -> SlabHashStore:
        """Return a copy of this store on ``device``: its arrays, as they are, with its mark, limit and options."""
        if device.kind not in self.devices:
            raise DeviceError(f"backend {self.name!r} runs on {', '.join(self.devices)}, not on {device}")
        limit, options = self.memory_limit, self.options()
        options |= {"weight_dtype": self.weight_dtype, "memory_limit": limit, "rows": self.kept_rows}
        other = type(self)(0, device=device, **options)
        other.pool.adopt(self.pool.copied_to(other.pool))
        other.num_vertices = self.num_vertices
        other.supply.ledger.continue_from(self.supply.ledger)
        other.supply.read()
        return other

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        from suricate.backends.slabhash.check import verify

        store = self.copy_to(CPU) if self.device.is_cuda else self
        verify(store.slabs, self.num_vertices, store.pool.rows)

    # -- hints ---------------------------------------------------------------------------------------------------------

    def _checked_hints(self, hints: Array | None) -> Array | None:
        if hints is None:
            return None
        xp = self.device.xp
        hints = xp.asarray(hints)
        if hints.shape != (self.num_vertices,):
            raise ShapeError(f"degree_hints has shape {hints.shape}, not ({self.num_vertices},)")
        return xp.clip(hints.astype(np.int64), 0, MAX_VERTICES).astype(np.uint32)


def _mean_degree(hints: Array | None) -> float:
    """Return the mean of the hints that are not zero; 0 if there are none."""
    if hints is None or not len(hints):
        return 0.0
    with_edges = int((hints > 0).sum())
    return float(hints.sum(dtype=np.float64)) / with_edges if with_edges else 0.0
