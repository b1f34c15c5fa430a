"""Batches that ``suricate.store.Store.apply`` inserts or deletes, and their copies to a CUDA device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import EdgeList, Outcome
from suricate.cuda.batch_memory import LazyChange
from suricate.cuda.pinned import Staging
from suricate.intake.arrays import both_arcs

if TYPE_CHECKING:
    from suricate.intake.ingest import UnvalidatedBatch

#: launches a check and a copy of a batch, to the addresses of src, dst and weight
Copy = Callable[["UnvalidatedBatch", tuple[int, int, int]], None]


@dataclass(slots=True, eq=False)
class DeviceBatch:
    """Edges on a CUDA device that a store inserts or deletes: addresses of the edges, and of the outcome it writes.

    Attributes:
        operation: ``"insert"`` or ``"delete"``.
        size: number of edges; an undirected one counts twice, once for each arc.
        src: address of copies, ``uint32[size]``.
        dst: likewise.
        weight: address of weights of the store's dtype, of an insertion into a weighted store.
        status: address of ``uint8[size]``; the store writes the status of every edge.
        before: address of the weights before the batch, which a weighted store writes.
        guard: address of ``uint32``, not zero if an entry is invalid: then the store must not change.
        waits: whether the host waits for the device in this call anyway.
        alone: whether this is the only store that gets the batch. If not, applying it must not fail.
        unchecked: the batch as the caller gave it, which a launch of the store validates and copies to the addresses
            (see ``core/intake/ingest.cuh``); None: an earlier launch does that.
        done: set by the store when the launch that writes the outcome is queued.
        change: returns the copies and the outcome of the first store as arrays.
        copy: launches the validation and copy of ``unchecked`` to the addresses of src, dst and weight.
    """

    operation: str
    size: int
    src: int
    dst: int
    weight: int
    status: int
    before: int
    guard: int
    waits: bool
    alone: bool
    unchecked: UnvalidatedBatch | None
    change: LazyChange
    copy: Copy
    done: bool = False

    def check(self) -> None:
        """Validate and copy the batch by a separate launch, unless ``unchecked`` is None."""
        if self.unchecked is not None:
            self.copy(self.unchecked, (self.src, self.dst, self.weight))
            self.unchecked = None

    def turned(self) -> DeviceBatch:
        """Return the batch for a second store: src and dst swapped, other memory for the outcome, no validation."""
        status, before = self.change.addresses[5:]
        return DeviceBatch(
            self.operation, self.size, self.dst, self.src, self.weight, status, before, self.guard, self.waits,
            self.alone, None, self.change, self.copy,
        )  # fmt: skip

    def edges(self) -> EdgeList:
        """Return, without copies, the arrays at the addresses ``src``, ``dst`` and ``weight`` (None: no weights)."""
        array, weight = self.change.array, self.change.weight
        ids = array(self.src, np.uint32), array(self.dst, np.uint32)
        return EdgeList(*ids, None if weight is None else array(self.weight, weight))

    def outcome(self) -> Outcome:
        """Return, without copies, the arrays at the addresses ``status`` and ``before`` (None: no weights)."""
        array, held = self.change.array, self.change.before
        return Outcome(array(self.status, np.uint8), None if held is None else array(self.before, held))


def device_batches(
    removed: UnvalidatedBatch | None, added: UnvalidatedBatch | None, held: np.dtype | None, memory: Any,
    offsets: tuple[int, ...], guard: int, copy: Copy, *, paired: bool,
) -> tuple[DeviceBatch | None, DeviceBatch | None]:  # fmt: skip
    """Return the device batches of a deletion and an insertion, for the first store; None for one that is not given.

    Args:
        removed, added: the batches as the caller gave them.
        held: dtype of the store's weights, or None.
        memory: the block of device memory for copies and outcomes.
        offsets: of the arrays in ``memory``, see ``batch_offsets``; each array begins with the deletion's entries.
        guard: address of the guard.
        copy: launches a validation and copy.
        paired: whether a second store gets the batches, too.
    """
    start, width = memory.ptr, 0 if held is None else held.itemsize
    src, dst, weight, status, before, second, old, _ = offsets
    first = (
        start + src, start + dst, start + weight, start + status, start + before, start + second, start + old,
    )  # fmt: skip
    if removed is None:
        return None, None if added is None else _device_batch(added, held, held, memory, first, guard, copy, paired)
    gone, n = _device_batch(removed, None, held, memory, first, guard, copy, paired), removed.size
    if added is None:
        return gone, None
    src, dst, weight, status, before, second, old = first
    behind = (
        src + 4 * n, dst + 4 * n, weight, status + n, before + width * n, second + n, old + width * n,
    )  # fmt: skip
    return gone, _device_batch(added, held, held, memory, behind, guard, copy, paired)


def _device_batch(
    batch: UnvalidatedBatch, weight: np.dtype | None, held: np.dtype | None, memory: Any, addresses: tuple[int, ...],
    guard: int, copy: Copy, paired: bool,
) -> DeviceBatch:  # fmt: skip
    operation, variant, size, _, waits = batch
    change = LazyChange(size, variant.mirrored, weight, held, memory, addresses)
    src, dst, weights, status, before, _, _ = addresses
    return DeviceBatch(
        operation, size, src, dst, weights, status, before, guard, waits, not paired, batch, change, copy
    )


class HostBatch:
    """Checked edges on the host that a store inserts or deletes.

    Args:
        edges: ``uint32`` ids and weights of the store's dtype or None, in NumPy arrays.
        symmetric: whether ``edges`` are undirected: :attr:`arcs` then has both arcs of each.

    Attributes:
        size: number of arcs.
        outcome: set by the store when it has changed: an ``Outcome`` in NumPy arrays.
    """

    __slots__ = ("_arcs", "_edges", "outcome", "size")

    def __init__(self, edges: EdgeList, *, symmetric: bool = False) -> None:
        self._edges, self._arcs = edges, None if symmetric else edges
        self.size: int = len(edges.src) << symmetric
        self.outcome: Outcome | None = None

    @property
    def arcs(self) -> EdgeList:
        """The edges, or both arcs of each edge if they are undirected."""
        if self._arcs is None:
            self._arcs = both_arcs(np, self._edges)
        return self._arcs

    def turned(self) -> HostBatch:
        """Return the batch of the same edges with sources and destinations swapped."""
        src, dst, weight = self.arcs
        return HostBatch(EdgeList(dst, src, weight))


StoreBatch = DeviceBatch | HostBatch  #: what a store is asked to insert or to delete as a whole


MOST_BYTES = 1 << 20  #: of a transfer; larger batches go a column at a time
AT_ONCE = 1 << 16  #: bytes of pageable memory that the driver copies before it returns, without a wait for the device


def lies_on_host(edges: tuple[Any, Any, Any]) -> bool:
    """Return whether all arrays of a batch lie on the host."""
    src, dst, weight = edges
    if not isinstance(src, np.ndarray) or not isinstance(dst, np.ndarray):
        return False
    return weight is None or isinstance(weight, (np.ndarray, np.generic))


def fits_one_transfer(edges: EdgeList) -> bool:
    """Return whether all columns of a batch on the host can be copied by one transfer."""
    return sum(column.nbytes for column in edges if column is not None) <= MOST_BYTES


class Upload:
    """Copies batches from the host to a device without waiting, in a third of the host time of CuPy's transfers."""

    def __init__(self, device: Device) -> None:
        self._cupy, self._staging = device.xp, Staging(device)

    def __call__(self, edges: EdgeList) -> EdgeList:
        """Return ``edges``, a batch in host memory (``uint32`` ids, weights or None), as copies on the device."""
        cupy, (src, dst, weight) = self._cupy, edges
        columns = (src, dst) if weight is None else (src, dst, weight.view(np.uint32))
        n, width, size = len(src), 4 * len(src), 8 * len(src) + (0 if weight is None else weight.nbytes)
        if not 0 < size <= MOST_BYTES:
            return EdgeList(cupy.asarray(src), cupy.asarray(dst), weight if weight is None else cupy.asarray(weight))
        host = np.empty(size, np.uint8) if size <= AT_ONCE else self._staging(size)
        np.concatenate(columns, out=host.view(np.uint32))
        (begin, _), runtime = host.__array_interface__["data"], cupy.cuda.runtime  # ``ctypes`` would make objects of it
        memory, stream = cupy.cuda.alloc(size), cupy.cuda.get_current_stream()
        runtime.memcpyAsync(memory.ptr, begin, size, runtime.memcpyHostToDevice, stream.ptr)
        if size > AT_ONCE:
            self._staging.queued()
        return EdgeList(
            cupy.ndarray((n,), np.uint32, memory),
            cupy.ndarray((n,), np.uint32, memory + width),
            weight if weight is None else cupy.ndarray((n,), weight.dtype, memory + 2 * width),
        )
