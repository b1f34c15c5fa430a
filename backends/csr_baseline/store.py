"""The backend ``csr_baseline``: compressed sparse rows, merged into new arrays by every batch.

Layout: ``offsets`` int64[n + 1], ``dst`` uint32, ``weight``; one entry per edge, by source, then destination. The
arrays of edges may be longer than ``offsets[n]``. On CUDA the exact number of edges lives on the device; the host knows
an upper bound of it and allocates for that.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from suricate.arrays import move
from suricate.devices import CPU, Array, Device
from suricate.errors import CapacityError, DeviceError, require
from suricate.primitives import InsertLog, copy_segments, empty_edges, out_of_memory
from suricate.store import Store
from suricate.types import Adjacency, EdgeList, Outcome, StoreView


class CsrStore(Store):
    """Sorted CSR. See :class:`suricate.store.Store` for the arguments; ``degree_hints`` are of no use here.

    A rebuild holds old and new arrays at once, so at most half of ``memory_limit`` is used between updates; what a
    batch needs while it is sorted is not counted.
    """

    name: ClassVar[str] = "csr_baseline"
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
        self._admit(num_vertices, 0)
        self.offsets = device.xp.zeros(num_vertices + 1, np.int64)
        _, self.dst, self.weight = empty_edges(self)
        self.spare: EdgeList | None = None  #: the other pair of arrays after :meth:`reserve`
        self._log: InsertLog | None = None
        self._mirror: Any = None
        if device.is_cuda:
            from suricate.primitives.cuda import Mirror

            self._mirror = Mirror(np.zeros(1))

    # -- the number of edges -------------------------------------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        if self._mirror is None:
            return int(self.offsets[-1])
        self._mirror.read(self.offsets[-1:])
        return int(self._mirror.values[0])

    def bound(self) -> int:
        """Return an upper bound of the number of edges (exact on the CPU); waits only when it got loose."""
        if self._mirror is None:
            return self.num_edges
        self._mirror.poll()
        bound = int(self._mirror.values[0] + self._mirror.unseen[0])
        return bound if bound <= 2 * int(self._mirror.values[0]) + (1 << 22) else self.num_edges

    # -- memory --------------------------------------------------------------------------------------------------------

    def edge_bytes(self) -> int:
        """Return the bytes of one stored edge."""
        return 4 + (0 if self.weight_dtype is None else self.weight_dtype.itemsize)

    def _admit(self, num_vertices: int, edges: int) -> None:
        size = 2 * (8 * (num_vertices + 1) + edges * self.edge_bytes())
        if self.memory_limit is not None and size > self.memory_limit:
            raise CapacityError(
                f"csr_baseline needs {size} bytes to rebuild {edges} edges of {num_vertices} vertices,"
                f" memory_limit is {self.memory_limit}"
            )

    def target(self, size: int) -> EdgeList:
        """Return arrays for a rebuild with ``size`` edges; raises ``CapacityError``."""
        self._admit(self.num_vertices, size)
        if self.spare is not None and len(self.spare.dst) >= size:
            return self.spare
        with out_of_memory(self.name):
            return empty_edges(self, size, owners=False)

    def replace(self, offsets: Array, edges: EdgeList) -> None:
        """Let a rebuilt graph take the place of the present one."""
        self.spare = None if self.spare is None else self._stored()
        self.offsets, self.dst, self.weight = offsets, edges.dst, edges.weight

    def queued(self, inserted: int) -> None:
        """Tell the mirror (CUDA) that at most ``inserted`` edges were added by what has just been queued."""
        self._mirror.charge(inserted, 0)
        self._mirror.post(self.offsets[-1:])

    def reserve(self, num_edges: int) -> None:
        """Make two sets of arrays with room for ``num_edges`` more edges; updates swap them until they are full."""
        if self.spare is not None and min(len(self.spare.dst), len(self.dst)) >= self.bound() + num_edges:
            return
        count = self.num_edges
        size = count + count // 4 + num_edges  # so that the next batches find room as well
        self._admit(self.num_vertices, size)
        with out_of_memory(self.name):
            edges, spare = empty_edges(self, size, owners=False), empty_edges(self, size, owners=False)
        edges.dst[:count] = self.dst[:count]
        if edges.weight is not None and self.weight is not None:
            edges.weight[:count] = self.weight[:count]
        self.dst, self.weight, self.spare = edges.dst, edges.weight, spare

    def compact(self) -> None:
        """Give back what was reserved and cut the arrays to the number of edges."""
        count = self.num_edges
        self.spare = None
        if len(self.dst) > count:
            self.dst = self.dst[:count].copy()
            self.weight = None if self.weight is None else self.weight[:count].copy()

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return ``{part: (bytes used, bytes allocated)}``."""
        spare = 0 if self.spare is None else len(self.spare.dst)
        return {
            "offsets": (self.offsets.nbytes, self.offsets.nbytes),
            "edges": (self.num_edges * self.edge_bytes(), len(self.dst) * self.edge_bytes()),
            "spare": (0, spare * self.edge_bytes()),
        }

    # -- updates and queries -------------------------------------------------------------------------------------------

    def _kernels(self) -> ModuleType:
        if self.device.is_cuda:
            from suricate.backends.csr_baseline import cuda as kernels
        else:
            from suricate.backends.csr_baseline import cpu as kernels  # type: ignore[no-redef]
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
        """See :meth:`suricate.store.Store.find`; a binary search per edge."""
        return self._kernels().find(self, src, dst)

    def degrees(self) -> Array:
        """Return the exact out-degrees, ``uint32[num_vertices]``."""
        return (self.offsets[1:] - self.offsets[:-1]).astype(np.uint32)

    def edges(self) -> EdgeList:
        """Return all edges by source, then destination, in arrays of their own; on CUDA waits for the device."""
        edges = empty_edges(self, self.num_edges)
        begin = self.offsets[:-1]
        copy_segments(self.device, self.offsets, begin, begin, len(edges.dst), self._stored(), edges)
        return edges

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k]), each adjacency ascending; on CUDA waits for the device."""
        xp = self.device.xp
        begin = self.offsets[:-1][vertices]
        offsets = xp.zeros(len(vertices) + 1, np.int64)
        xp.cumsum(self.offsets[1:][vertices] - begin, out=offsets[1:])
        edges = empty_edges(self, int(offsets[-1]), owners=False)
        copy_segments(self.device, offsets, begin, offsets[:-1], len(edges.dst), self._stored(), edges)
        return Adjacency(offsets, edges.dst, edges.weight)

    def _stored(self) -> EdgeList:
        return EdgeList(self.dst[:0], self.dst, self.weight)

    def delete_vertices(self, vertices: Array) -> None:
        """See :meth:`suricate.store.Store.delete_vertices`; one rebuild."""
        xp, bound = self.device.xp, self.bound()
        degrees = self.offsets[1:] - self.offsets[:-1]
        degrees[vertices] = 0
        offsets = xp.zeros(self.num_vertices + 1, np.int64)
        xp.cumsum(degrees, out=offsets[1:])
        edges = self.target(bound)
        copy_segments(self.device, offsets, self.offsets[:-1], offsets[:-1], bound, self._stored(), edges)
        self.replace(offsets, edges)
        if self.device.is_cuda:
            self.queued(0)

    def resize(self, num_vertices: int) -> None:
        """See :meth:`suricate.store.Store.resize`; copies the offsets."""
        self._admit(num_vertices, self.bound())
        offsets = self.device.xp.empty(num_vertices + 1, np.int64)
        offsets[: self.num_vertices + 1] = self.offsets
        offsets[self.num_vertices + 1 :] = self.offsets[-1:]
        self.offsets, self.num_vertices = offsets, num_vertices

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
        """Return a contiguous view with ascending adjacencies."""
        from suricate.cursors.contiguous import contiguous_view

        return contiguous_view(self.offsets[:-1], self.offsets[1:], self.dst, self.weight, ascending=True)

    def copy_to(self, device: Device) -> Store:
        """Return a copy on ``device``: the arrays, cut to the number of edges, nothing rebuilt."""
        if device.kind not in self.devices:
            raise DeviceError(f"backend {self.name!r} runs on {', '.join(self.devices)}, not on {device}")
        count = self.num_edges
        other = type(self)(
            self.num_vertices, device=device, weight_dtype=self.weight_dtype, memory_limit=self.memory_limit
        )
        other.offsets = move(self.offsets, self.device, device)
        other.dst = move(self.dst[:count], self.device, device)
        other.weight = None if self.weight is None else move(self.weight[:count], self.device, device)
        if device.is_cuda:
            other._mirror.values[0] = count
        return other

    def check(self) -> None:
        """Verify every invariant of the layout on the CPU; raises ``CheckFailed``."""
        offsets, dst = self.device.to_numpy(self.offsets), self.device.to_numpy(self.dst)
        bound = self.bound()
        require(len(offsets) == self.num_vertices + 1, "offsets has one entry per vertex and one more")
        require(offsets.dtype == np.int64 and dst.dtype == np.uint32, "offsets are int64, destinations uint32")
        require(offsets[0] == 0, "offsets begin at 0")
        require(bool(np.all(offsets[:-1] <= offsets[1:])), "offsets are monotone")
        count = int(offsets[-1])
        require(count <= len(dst), "the arrays hold all edges")
        require(count <= bound, "the host's bound is not below the number of edges")
        ids = dst[:count]
        require(not count or int(ids.max()) < self.num_vertices, "every destination is below num_vertices")
        inside = np.ones(count, bool)
        inside[offsets[:-1][offsets[:-1] < count]] = False  # the first edge of a vertex has no predecessor
        require(bool(np.all((ids[1:] > ids[:-1])[inside[1:]])), "every adjacency is ascending without repeats")
        weighted = self.weight_dtype is not None
        for edges in filter(None, [self._stored(), self.spare]):
            require((edges.weight is not None) == weighted, "there are weights exactly on a weighted store")
            if edges.weight is not None:
                require(len(edges.weight) == len(edges.dst), "every slot has a weight")
                require(edges.weight.dtype == self.weight_dtype, "weights have the dtype of the store")
