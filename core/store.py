"""The store protocol: what a storage backend implements.

A *store* is one directed out-adjacency on one device. Three methods are required (:meth:`Store.insert`,
:meth:`Store.delete`, :meth:`Store.edges`); every other method has a generic fallback, and
:meth:`Store.capabilities` says which of them a backend brings itself. Input reaches a store validated,
contiguous and on its device: ``src`` and ``dst`` are ``uint32[n]``, ``weight`` is ``weight_dtype[n]`` (or None on an
unweighted store).

Vertices are ids in ``[0, num_vertices)``, and ``num_vertices`` is at most :data:`MAX_VERTICES`: the two top ids are the
sentinels :data:`EMPTY` and :data:`TOMBSTONE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suricate.arrays import move
from suricate.devices import CPU, Array, Device
from suricate.errors import DeviceError, require
from suricate.types import Adjacency, EdgeList, Outcome, StoreView, edge_keys

if TYPE_CHECKING:
    from suricate.cuda.ingest import UnvalidatedBatch


class Store(ABC):
    """Base class of all backends: the protocol, with fallbacks for everything that is not required.

    Args:
        num_vertices: number of vertices, at most :data:`MAX_VERTICES`.
        device: where the arrays live.
        weight_dtype: one of :data:`WEIGHT_DTYPES`, or None for an unweighted store.
        degree_hints: expected out-degree per vertex (``int[num_vertices]``, host or device), or None. Only a hint.
        memory_limit: upper bound in bytes on what the store may allocate, or None.

    Backend options are further keyword arguments of the subclass.
    """

    name: ClassVar[str]
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    #: whether :meth:`insert` and :meth:`delete` honour ``guard``; where not, the graph checks every batch eagerly
    guarded: ClassVar[bool] = False
    #: whether on CUDA the store has :meth:`apply_unvalidated`: kernels that check a batch in the launch that applies
    #: it (see ``core/cuda/ingest.cuh``), which saves small batches a launch
    takes_unvalidated: ClassVar[bool] = False
    #: of the backends that run on a device, the one of highest priority is the default
    priority: ClassVar[int] = 0
    #: backend options worth measuring: ``{option: values}``. ``suricate bench --suite sweep`` varies the first two
    #: together and the others one at a time around the defaults; it takes an option named ``*_bytes`` for the width of
    #: the backend's storage units
    knobs: ClassVar[dict[str, tuple]] = {}

    def __init__(
        self,
        num_vertices: int,
        *,
        device: Device = CPU,
        weight_dtype: np.dtype | None = None,
        degree_hints: Array | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self.num_vertices = num_vertices
        self.device = device
        self.weight_dtype = weight_dtype
        self.memory_limit = memory_limit
        self._marked: EdgeList | None = None

    # -- required ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def insert(self, src: Array, dst: Array, weight: Array | None = None, *, guard: Array | None = None) -> Outcome:
        """Insert edges with set semantics; return per edge ``NEW``, ``REPLACED`` or ``UNCHANGED``.

        An edge that is there takes the new weight (``REPLACED`` if that differs, else ``UNCHANGED``). Of the
        duplicates of an edge inside the batch at most one reports a change, and the weight of the LAST one wins. On a
        weighted store that last one carries the status; on an unweighted one any of them may.

        Memory is reserved before anything is written: on ``CapacityError`` nothing has changed. ``guard``, if given,
        is a device ``uint32[1]``: if it is not zero when the kernels run they change nothing and report ``UNCHANGED``.
        No synchronisation of host and device in the steady state.
        """

    @abstractmethod
    def delete(self, src: Array, dst: Array, *, guard: Array | None = None) -> Outcome:
        """Delete edges; return ``REMOVED`` for each that was there, once per edge however often it is in the batch."""

    @abstractmethod
    def edges(self) -> EdgeList:
        """Return all edges, ordered by source (any order within a source), in arrays of their own."""

    # -- optional: batches that the store checks itself ----------------------------------------------------------------

    def apply_unvalidated(self, batch: UnvalidatedBatch) -> Any:
        """Check a device batch and apply it, in one launch; if any entry is invalid the store stays as it is.

        ``batch.operation`` is ``"insert"``, ``"delete"`` or ``"find"``. The kernel records an invalid entry as
        ``ingest.cuh`` says, and an insertion or deletion calls its ``answer`` as soon as it knows whether the batch is
        valid: an eager graph waits for that only.

        Returns:
            For ``"insert"`` and ``"delete"`` a callable that makes the :class:`~suricate.types.Change` on its first
            use; for ``"find"`` ``(found, weight)`` as :meth:`find` does, invalid edges not found. None, with nothing
            done, if the store declines the batch, for instance because it may not have enough memory reserved: the
            graph then validates the batch and calls :meth:`insert`, :meth:`delete` or :meth:`find`.
        """
        raise NotImplementedError(f"backend {self.name!r} takes no unvalidated batches")

    # -- optional: generic fallbacks -----------------------------------------------------------------------------------

    def find(self, src: Array, dst: Array) -> tuple[Array, Array | None]:
        """Return ``(found, weight)``: ``bool[n]``, and the weights (unspecified where not found) or None."""
        edges, xp = self.edges(), self.device.xp
        keys = edge_keys(edges.src, edges.dst)
        order = xp.argsort(keys)
        keys, wanted = keys[order], edge_keys(src, dst)
        if not len(keys):
            return xp.zeros(len(src), bool), None if edges.weight is None else xp.zeros(len(src), self.weight_dtype)
        at = xp.minimum(xp.searchsorted(keys, wanted), len(keys) - 1)
        return keys[at] == wanted, None if edges.weight is None else edges.weight[order[at]]

    def degrees(self) -> Array:
        """Return the exact out-degrees, ``uint32[num_vertices]``, in an array of the caller's."""
        return self.device.xp.bincount(self.edges().src, minlength=self.num_vertices).astype(np.uint32)

    @property
    def num_edges(self) -> int:
        """Exact number of edges; on CUDA reading it waits for the device."""
        return int(self.degrees().sum(dtype=np.int64))

    def delete_vertices(self, vertices: Array) -> None:
        """Free the out-adjacency of the distinct ``vertices`` (uint32[k]) for reuse; edges into them are left alone."""
        offsets, dst, _ = self.adjacency(vertices)
        self.delete(self.device.xp.repeat(vertices, self.device.to_numpy(offsets[1:] - offsets[:-1]).tolist()), dst)

    def resize(self, num_vertices: int) -> None:
        """Grow to ``num_vertices``; the new vertices have no edges. Edges are not copied."""
        self.num_vertices = num_vertices

    def adjacency(self, vertices: Array) -> Adjacency:
        """Return the out-edges of ``vertices`` (uint32[k], repeats allowed), compact."""
        edges, xp = self.edges(), self.device.xp
        begin = xp.searchsorted(edges.src, vertices, side="left")
        end = xp.searchsorted(edges.src, vertices, side="right")
        offsets = xp.zeros(len(vertices) + 1, np.int64)
        xp.cumsum(end - begin, out=offsets[1:])
        at = xp.arange(int(offsets[-1]))
        owner = xp.searchsorted(offsets, at, side="right") - 1
        at += (begin - offsets[:-1])[owner]
        return Adjacency(offsets, edges.dst[at], None if edges.weight is None else edges.weight[at])

    def mark(self) -> None:
        """Start to remember insertions; forgets those before."""
        self._marked = self.edges()

    @property
    def has_mark(self) -> bool:
        """Whether :meth:`mark` was called, so that :meth:`updated` means less than all edges; override both or none."""
        return self._marked is not None

    def updated(self) -> EdgeList:
        """Return the edges inserted since :meth:`mark` that are still there.

        An edge that was there at the mark, was deleted and came back may be left out. Without a mark: all edges.
        """
        edges = self.edges()
        if self._marked is None:
            return edges
        xp = self.device.xp
        fresh = ~xp.isin(edge_keys(edges.src, edges.dst), edge_keys(self._marked.src, self._marked.dst))
        return EdgeList(edges.src[fresh], edges.dst[fresh], None if edges.weight is None else edges.weight[fresh])

    def view(self) -> StoreView:
        """Return the arrays that kernels walk. The fallback makes a CSR snapshot of :meth:`edges`."""
        from suricate.cursors.contiguous import view_of_edges

        return view_of_edges(self.edges(), self.num_vertices, self.device.xp)

    def reserve(self, num_edges: int) -> None:  # noqa: B027 - doing nothing is the fallback
        """Make sure that inserting any ``num_edges`` edges will not run out of memory; raises ``CapacityError`` now."""

    def compact(self) -> None:  # noqa: B027 - doing nothing is the fallback
        """Flush tombstones and repack; the edges stay as they are."""

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return ``{part: (bytes used, bytes allocated)}``."""
        size = sum(part.nbytes for part in self.edges() if part is not None)
        return {"edges": (size, size)}

    def copy_to(self, device: Device) -> Store:
        """Return a copy of this store on ``device``; the fallback inserts the edges into an empty store."""
        if device.kind not in self.devices:
            raise DeviceError(f"backend {self.name!r} runs on {', '.join(self.devices)}, not on {device}")
        other = type(self)(
            self.num_vertices,
            device=device,
            weight_dtype=self.weight_dtype,
            memory_limit=self.memory_limit,
            **self.options(),
        )
        other.insert(*(None if part is None else move(part, self.device, device) for part in self.edges()))
        return other

    def options(self) -> dict[str, Any]:
        """Return the backend options this store was built with, as keyword arguments."""
        return {}

    def check(self) -> None:
        """Verify every structural invariant on the CPU; the fallback checks the edges and degrees.

        Raises:
            CheckFailed: naming the invariant that does not hold.
        """
        src, dst, _ = self.edges()
        src, dst = self.device.to_numpy(src), self.device.to_numpy(dst)
        require(bool(np.all(src[:-1] <= src[1:])), "edges() is ordered by source")
        keys = np.sort(edge_keys(src, dst))  # np.unique would take ten times as long
        require(bool(np.all(keys[:-1] < keys[1:])), "every edge is stored once")
        require(not len(src) or max(src.max(), dst.max()) < self.num_vertices, "every id is below num_vertices")
        degrees = self.device.to_numpy(self.degrees())
        require(np.array_equal(degrees, np.bincount(src, minlength=self.num_vertices)), "degrees() counts the edges")

    # -- which is which ------------------------------------------------------------------------------------------------

    @classmethod
    def capabilities(cls) -> dict[str, str]:
        """Return ``{operation: "native" | "fallback"}`` for every operation of the protocol."""
        return {op: "native" if getattr(cls, op) is not getattr(Store, op) else "fallback" for op in OPERATIONS}


OPERATIONS = (
    "insert", "delete", "edges", "find", "degrees", "delete_vertices", "resize", "adjacency", "mark", "updated", "view",
    "reserve", "compact", "memory", "copy_to", "check",
)  # fmt: skip
