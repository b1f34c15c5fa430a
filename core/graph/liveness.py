"""Live vertices: which vertices of a graph count, and which of them a batch revives.

A vertex is live until it is deleted, and again once its id is recycled or an edge is inserted at it; it then stays live
when its edges go. Deleted vertices have no edges.

The host keeps an upper bound of the number of deleted vertices. While it is 0 nothing is done and no arrays are made.
While it is above 0, a launch behind each insertion of a device batch marks the ends of its edges as live
(``suricate.graph.liveness``), unless the batch is invalid. The number of live vertices is then copied to pinned memory,
which the host polls at the next insertion; when it waits anyway it reads the number.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device, ReturnedArray
from suricate.base.errors import require
from suricate.base.types import NEW, EdgeList
from suricate.cuda.launch import StructKernel, address
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct
from suricate.intake.arrays import sorted_distinct
from suricate.state.column import unlimited
from suricate.state.locks import on_graph_device

THREADS, MAX_BLOCKS = 256, 2048

REVIVE = Struct(
    "Revive",
    {
        "src": "const uint32_t*",  # [size], of the edges of a batch
        "dst": "const uint32_t*",  # [size]
        "guard": "const uint32_t*",  # not zero: the batch is invalid; may be null
        "mask": "uint32_t*",  # a byte per vertex, 1: live
        "count": "uint32_t*",  # number of live vertices
        "revived": "uint32_t*",  # how many were revived, then which ones, in any order
        "size": "long long",
    },
)
PROGRAM = Program(Path(__file__).with_name("revive.cu"), REVIVE.declaration)


class Reviver:
    """Launches the kernel that marks vertices as live when a batch inserts edges at them; one per graph."""

    def __init__(self) -> None:
        self._kernel: StructKernel | None = None

    def launch(self, inserted: Any, guard: Array | None, mask: Array, count: Array, revived: Array) -> None:
        """Mark the ends of edges as live; does not wait.

        Args:
            inserted: the edges, as an ``EdgeList`` on the device or a ``LazyChange``.
            guard: ``uint32[1]``; if not zero, nothing is done. Or None.
            mask: ``bool[num_vertices]``, True: live; its memory is a multiple of 4 bytes.
            count: ``uint32[1]``, the number of live vertices.
            revived: ``uint32``, written: the number of revived vertices, zero before, and their ids; long enough.
        """
        if self._kernel is None:
            self._kernel = StructKernel(PROGRAM, "revive", REVIVE.size)
        src, dst, size, _kept = _ends(inserted)
        REVIVE.packer.pack_into(
            self._kernel.buffer, 0, src, dst, address(guard), mask.data.ptr, count.data.ptr,
            revived.data.ptr, size,
        )  # fmt: skip
        if size:
            self._kernel.launch(min(-(-size // THREADS), MAX_BLOCKS), THREADS)


def _ends(inserted: Any) -> tuple[int, int, int, Any]:
    """Return addresses of sources and of destinations, the number of edges, and the object that owns the memory."""
    placed = getattr(inserted, "placed", None)
    if placed is not None:  # no array is made
        arcs = placed(NEW, gone=False)
        return arcs.addresses[0], arcs.addresses[1], arcs.size, arcs
    edges: Any = inserted if isinstance(inserted, EdgeList) else inserted().edges
    return edges.src.data.ptr, edges.dst.data.ptr, len(edges.src), edges


class Revived:
    """When called, returns the vertices that a batch has revived; ``found``: their number and ids, on the device."""

    def __init__(self, device: Device, found: Array) -> None:
        self._device, self._found = device, found

    def __call__(self) -> Array:
        """Return the ids of the revived vertices, ``uint32``, ascending, on the device; waits for the device."""
        number = int(self._device.to_numpy(self._found[:1])[0])
        return self._device.xp.sort(self._found[1 : 1 + number])


if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.state.column import Column

SMALLEST_MASK = 64  #: bytes; a multiple of 4, as kernels change whole words


class Live(NamedTuple):
    """Which vertices are live, in the arrays that the graph itself keeps, for kernels; not to be written to.

    Attributes:
        mask: ``bool[num_vertices]``, on the graph's device; valid until vertices are added.
        count: ``uint32[1]``, on the graph's device: the number of live vertices. Always the same array.
    """

    mask: Array
    count: Array


class Edit(NamedTuple):
    """A prepared change of the set of live vertices, which :meth:`LiveVertices.apply` makes."""

    at: Array  #: ``int64``, on the graph's device: the vertices that change
    live: bool  #: what they become
    left: np.ndarray | None  #: the deleted ids afterwards, if they are known
    ids: np.ndarray | None = None  #: ``at`` on the host, of a deletion


class LiveVertices:
    """The live vertices of one graph, and their columns; used under its lock.

    Args:
        device: the graph's device.
        num_vertices: its number of vertices, all of them live.

    Attributes:
        most_deleted: an upper bound of the number of deleted vertices, known without a wait; exact on the CPU.
        columns: the columns of the vertices by name; they have a value per vertex at any time.
    """

    def __init__(self, device: Device, num_vertices: int) -> None:
        self.device, self.num_vertices, self.most_deleted = device, num_vertices, 0
        self.columns: dict[str, Column] = {}
        self.admit: Callable[[int], None] = unlimited  # raises ``CapacityError`` if so many bytes are too many
        self._buffer: Array = None  # bool, True behind num_vertices; made when first needed
        self._live: Live | None = None  # of this buffer and size
        self._count: Array = None
        self._ids: np.ndarray | None = np.empty(0, np.uint32)  # deleted ones, ascending; None: the mask tells
        self._unread = False  # whether launches may have revived vertices since the host read the number
        self._pinned: PinnedCounters | None = None  # the number behind the last of these launches
        self._pinned_vertices = 0  # number of vertices at that launch
        self._reviver = Reviver() if device.is_cuda else None

    # -- questions -----------------------------------------------------------------------------------------------------

    def arrays(self) -> Live:
        """Return the graph's own arrays, not copies: the mask of live vertices and their number; does not wait."""
        if self._live is None:
            if self._buffer is None:
                self._make(self.num_vertices)
            self._live = Live(self._buffer[: self.num_vertices], self._count)
        return self._live

    def refresh(self) -> None:
        """Read the number of live vertices if it may have changed on the device; waits for the device then."""
        if not self._unread:
            return
        if not self._poll():
            self._learn(int(self.device.to_numpy(self._count)[0]))

    def _poll(self) -> bool:
        """Read the number of live vertices from pinned memory if it has arrived there; return whether it has."""
        arrived = self._pinned is not None and self._pinned.has_arrived()
        if arrived and self._pinned is not None:
            self._learn(self._pinned.words[0] + self.num_vertices - self._pinned_vertices)
        return arrived

    def _learn(self, num_live: int) -> None:
        deleted = self.num_vertices - num_live
        if deleted != self.most_deleted:
            self._ids = None
        self.most_deleted, self._unread = deleted, False

    def num_live(self) -> int:
        """Return the number of live vertices; waits for the device if it may have changed there."""
        self.refresh()
        return self.num_vertices - self.most_deleted

    def deleted_ids(self) -> np.ndarray:
        """Return the deleted ids, ``uint32``, ascending, on the host; this array never changes."""
        self.refresh()
        if self._ids is None:
            deleted = self.device.xp.flatnonzero(~self.arrays().mask)
            self._ids = self.device.to_numpy(deleted).astype(np.uint32)
        return self._ids

    def among(self, ids: np.ndarray) -> np.ndarray:
        """Return the live ones of ``ids`` (on the host); waits for the device if any vertex may be deleted."""
        self.refresh()
        if not self.most_deleted:
            return ids
        mask = self.arrays().mask[self.device.xp.asarray(ids.astype(np.int64))]
        return ids[self.device.to_numpy(mask)]

    # -- changes -------------------------------------------------------------------------------------------------------

    def reserve(self, num_vertices: int) -> None:
        """Allocate the memory for :meth:`resize` to ``num_vertices``, so that it cannot fail; changes nothing else."""
        for column in self.columns.values():
            column.reserve(num_vertices, self.admit)
        if self._buffer is not None and num_vertices > len(self._buffer):
            self.admit(max(num_vertices, len(self._buffer) * 3 // 2))
            self._make(num_vertices)

    def resize(self, num_vertices: int) -> None:
        """Set the number of vertices. Vertices that are added are live; those that are removed, the last, were live."""
        for column in self.columns.values():
            column.resize(num_vertices)
        added, self.num_vertices, self._live = num_vertices - self.num_vertices, num_vertices, None
        if self._count is not None and added:
            self._count += np.uint32(added & 0xFFFFFFFF)

    def deletion(self, ids: np.ndarray) -> Edit:
        """Prepare to delete live, distinct ``ids`` (``uint32``, host), for :meth:`apply`; may raise ``MemoryError``."""
        self.arrays()
        host = ids.astype(np.int64)
        return Edit(self.device.xp.asarray(host), False, None, host)

    def recycling(self, count: int) -> Edit:
        """Prepare to revive the lowest ``count`` deleted ids, for :meth:`apply`; may wait, or raise ``MemoryError``."""
        known = self.deleted_ids()
        self.arrays()
        return Edit(self.device.xp.asarray(known[:count].astype(np.int64)), True, known[count:])

    def apply(self, edit: Edit) -> None:
        """Apply ``edit``. No other edit may have been applied since it was prepared."""
        self._buffer[edit.at] = edit.live
        deleted = self.most_deleted + (-len(edit.at) if edit.live else len(edit.at))
        self._ids, self.most_deleted = edit.left, deleted
        self._count.fill(self.num_vertices - deleted)

    def forget_values(self, edit: Edit) -> None:
        """Set the values of deleted vertices in all columns to missing, once the deletion can no longer fail."""
        for column in self.columns.values():
            column.reset(edit.at if column.device.is_cuda else edit.ids)

    def inherit(self, deleted: np.ndarray) -> None:
        """Take over the deleted ids (``uint32``, distinct) of the graph that this one is a copy of."""
        if len(deleted):
            self.apply(self.deletion(deleted))

    def revival(self, src: Array, dst: Array) -> Any:
        """Prepare to revive vertices by an insertion of edges; pass the result to :meth:`revive`. Does not wait.

        On the CPU the edges must be valid. On CUDA only their number is used. Returns None if every vertex turns
        out to be live: there is nothing to revive.

        Raises:
            MemoryError: there is not enough memory.
        """
        if self._reviver is None:
            mask = self.arrays().mask
            return sorted_distinct(np.concatenate((src[~mask[src]], dst[~mask[dst]])))
        if self._unread and self._poll() and not self.most_deleted:
            return None
        size = getattr(src, "size", None)
        most = 2 * size if isinstance(size, int) else self.most_deleted
        return self.device.xp.zeros(1 + min(most, self.most_deleted), np.uint32)

    def revive(self, revival: Any, inserted: Any, guard: Array | None = None) -> Array | Callable[[], Array]:
        """Mark the ends of inserted edges as live; return those that were deleted, or a function that reads them.

        Args:
            revival: what :meth:`revival` returned.
            inserted: the edges as an ``EdgeList``, or a function that returns the ``Change``; valid unless ``guard`` is
                set.
            guard: ``uint32[1]`` on the device; if not zero, nothing is revived. None: the edges are valid.
        """
        if self._reviver is None:
            if len(revival):
                self.apply(Edit(revival, True, None))
            return revival
        mask, count = self.arrays()
        if isinstance(inserted, EdgeList):
            inserted = EdgeList(self.device.xp.asarray(inserted.src), self.device.xp.asarray(inserted.dst))
        self._reviver.launch(inserted, guard, mask, count, revival)
        if self._pinned is None:
            self._pinned = PinnedCounters(self.device, 1, np.uint32)
        self._pinned.copy_from(count)
        self._pinned_vertices, self._unread = self.num_vertices, True
        return Revived(self.device, revival)

    def memory(self) -> tuple[int, int]:
        """Return the bytes used and allocated for the arrays of :class:`Live`, ``(0, 0)`` before they are made."""
        if self._buffer is None:
            return 0, 0
        return self.num_vertices + self._count.nbytes, self._buffer.nbytes + self._count.nbytes

    def _make(self, num_vertices: int) -> None:
        """Allocate the mask and the number of live vertices, or later a larger mask with unused space at its end."""
        xp, old = self.device.xp, self._buffer
        size = max(SMALLEST_MASK, num_vertices if old is None else max(num_vertices, len(old) * 3 // 2))
        buffer = xp.ones((size + 3) // 4 * 4, np.uint8).view(bool)
        if old is None:
            self._count = xp.full(1, self.num_vertices, np.uint32)
        else:
            buffer[: len(old)] = old
        self._buffer, self._live = buffer, None

    def check(self) -> None:
        """Verify that the mask, the number of live vertices and the deleted ids agree; raises ``CheckFailed``."""
        ids = self.deleted_ids()
        require(self.most_deleted == len(ids), "the bound of the number of deleted vertices is exact after a wait")
        if self._buffer is not None:
            live, count = (self.device.to_numpy(part) for part in (self._buffer, self._count))
            require(np.array_equal(np.flatnonzero(~live), ids), "the mask of live vertices agrees with the list")
            require(int(count[0]) == self.num_vertices - len(ids), "the number of live vertices agrees with the list")


# -- what a graph tells ------------------------------------------------------------------------------------------------


@on_graph_device
def live(graph: Graph) -> ReturnedArray:
    """``bool[num_vertices]`` on the graph's device, a copy: which vertices are live.

    A vertex is live until it is deleted, and again once its id is recycled or an edge is inserted at it.
    """
    return graph._updater.live.arrays().mask.copy()


@on_graph_device
def live_arrays(graph: Graph) -> Live:
    """Mask (``bool[num_vertices]``) and number (``uint32[1]``) of live vertices on the graph's device, for kernels.

    These are the graph's own arrays: do not write to them. Later changes of the graph change them, on CUDA in the
    stream, so that functions of operators can read them without a wait. ``count`` stays the same array; ``mask`` is
    valid until vertices are added. They are made on first use, so skip them while :attr:`most_deleted` is 0.
    """
    return graph._updater.live.arrays()


@on_graph_device
def num_live(graph: Graph) -> int:
    """Number of live vertices. On CUDA reading it waits for the device if an insertion may have revived some."""
    return graph._updater.live.num_live()


@on_graph_device
def live_vertices(graph: Graph) -> ReturnedArray:
    """Ids of the live vertices, ascending, ``uint32[num_live]``, on the graph's device. Waits for the device."""
    live, xp = graph._updater.live, graph.device.xp
    if not live.most_deleted:
        return xp.arange(graph.num_vertices, dtype=np.uint32)
    return xp.flatnonzero(live.arrays().mask).astype(np.uint32)


@on_graph_device
def deleted_vertices(graph: Graph) -> np.ndarray:
    """Ids of the deleted vertices, ascending, ``uint32``, on the host; a copy. Waits as :attr:`num_live` does."""
    return graph._updater.live.deleted_ids().copy()


def most_deleted(graph: Graph) -> int:
    """An upper bound of the number of deleted vertices, known without a wait; 0: every vertex is live."""
    return graph._updater.live.most_deleted
