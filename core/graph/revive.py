"""Deleted vertices at which a device batch inserts edges: marked as live in the stream, behind the insertion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suricate.base.devices import Array, Device
from suricate.base.types import NEW, EdgeList
from suricate.cuda.launch import StructKernel, address
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct

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
