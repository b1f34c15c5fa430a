"""The launches of :class:`suricate.state.edges.edge_set.EdgeSet` on CUDA; none waits for the device."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.launch import StructKernel, address, multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct
from suricate.state.edges.edge_hash import DECLARATIONS, EdgeTable

THREADS, MAX_BLOCKS = 256, 2048
FILL = Struct("Fill", {
    "key": "unsigned long long*",  # [capacity], all bits set
    "entry": "uint32_t*",  # [capacity], all bits set
    "src": "const uint32_t*",  # [size]
    "dst": "const uint32_t*",  # [size]
    "status": "const uint8_t*",  # [size], or null: all arcs count
    "mark": "uint8_t*",  # [size] ones, cleared where a later entry has the same edge; or null: each is there once
    "size": "long long",
    "half": "long long",  # 0, or with marks: entries of both arcs of undirected edges, the second so far behind
    "wanted": "uint32_t",
    "directed": "uint32_t",
    "capacity": "uint32_t",
})  # fmt: skip
NET = Struct("Net", {
    "key": "const unsigned long long*",  # the table of the removed arcs
    "entry": "const uint32_t*",
    "removed_status": "uint8_t*",
    "removed_old": "const uint32_t*",  # weights are ``words`` words each
    "src": "const uint32_t*",  # [size]: the added arcs
    "dst": "const uint32_t*",
    "status": "uint8_t*",
    "weight": "const uint32_t*",
    "old": "uint32_t*",
    "size": "long long",
    "capacity": "uint32_t",
    "words": "uint32_t",
})  # fmt: skip
ROWS = Struct("Rows", {
    "source": "uint32_t*",  # [slots], all bits set
    "row": "uint32_t*",  # [slots], all bits set
    "counters": "uint32_t*",  # [2], all bits set: blocks that have arrived at a barrier; words of ``rows`` taken
    "rows": "uint32_t*",  # a word per arc and one per source
    "src": "const uint32_t*",  # [size]
    "status": "const uint8_t*",  # [size], or null
    "size": "long long",
    "slots": "uint32_t",
    "wanted": "uint32_t",
})  # fmt: skip
_KERNELS = {
    "fill_table": ("edge_set.cu", FILL),
    "net_change": ("edge_set.cu", NET),
    "fill_rows": ("edge_rows.cu", ROWS),
}


@cache
def program(source: str) -> Program:
    """Return the CUDA program of the source file of this name in this folder."""
    structs = {"edge_set.cu": (FILL, NET), "edge_rows.cu": (ROWS,)}[source]
    prelude = "\n".join([DECLARATIONS, *(struct.declaration for struct in structs)])
    return Program(Path(__file__).with_name(source), prelude, cooperative=source == "edge_rows.cu")


def programs() -> list[Program]:
    """Return all programs of this module, for the check that they compile."""
    return [program("edge_set.cu"), program("edge_rows.cu")]


class _Kernels(threading.local):
    """A thread's kernels, by device and name; each has its own buffer for the argument of a launch."""

    def __init__(self) -> None:
        self.made: dict[tuple[int, str], tuple[StructKernel, int]] = {}

    def of(self, device: Device, name: str) -> tuple[StructKernel, int]:
        """Return the kernel ``name`` for ``device``, and how many blocks of it are resident on the whole device."""
        found = self.made.get((device.index, name))
        if found is None:
            source, struct = _KERNELS[name]
            kernel = StructKernel(program(source), name, struct.size)
            found = self.made[device.index, name] = kernel, multiprocessors(device) * kernel.resident(THREADS)
        return found


_kernels = _Kernels()


def _launch(device: Device, name: str, threads: int, *words: int) -> None:
    kernel, resident = _kernels.of(device, name)
    _KERNELS[name][1].packer.pack_into(kernel.buffer, 0, *words)
    most = resident if name == "fill_rows" else MAX_BLOCKS
    kernel.launch(min((threads + THREADS - 1) // THREADS, most), THREADS)


def all_bits_set(device: Device, words: int) -> Array:
    """Return ``uint32[words]`` with all bits set."""
    array = device.xp.empty(words, np.uint32)
    array.data.memset_async(0xFF, 4 * words)
    return array


def ones(device: Device, size: int) -> Array:
    """Return ``uint8[size]`` of ones."""
    array = device.xp.empty(size, np.uint8)
    array.data.memset_async(1, size)
    return array


def fill_table(
    device: Device, table: EdgeTable, src: Array, dst: Array, status: Array | None, wanted: int, mark: Array | None
) -> None:
    """Fill the hash table ``table`` as the function of this name in ``edge_set_cpu`` does."""
    key, entry, _, directed = table
    size = len(src)
    half = 0 if directed else size // 2
    _launch(device, "fill_table", size, address(key), address(entry), address(src), address(dst), address(status),
        address(mark), size, half, wanted, directed, len(key),
    )  # fmt: skip


def net_change(
    device: Device, table: EdgeTable, removed: tuple[Array, Array | None], src: Array, dst: Array, status: Array,
    weight: Array | None, old: Array | None,
) -> None:  # fmt: skip
    """Change statuses as the function of this name in ``edge_set_cpu`` does."""
    words = 0 if weight is None else weight.dtype.itemsize // 4
    _launch(device, "net_change", len(src), address(table.key), address(table.entry), *map(address, removed),
        *map(address, (src, dst, status, weight, old)), len(src), len(table.key), words,
    )  # fmt: skip


def fill_rows(
    device: Device, table: Array, slots: int, rows: Array, src: Array, status: Array | None, wanted: int
) -> None:
    """Write rows as the CPU's; two counters lie behind ``table``: a barrier's, and the end of the rows."""
    start = table.data.ptr
    _launch(device, "fill_rows", max(len(src), slots), start, start + 4 * slots, start + 8 * slots, rows.data.ptr,
        src.data.ptr, address(status), len(src), slots, wanted,
    )  # fmt: skip
