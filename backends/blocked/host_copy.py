"""The mirror of a store: a copy of its arrays on the host, and the exchange of changes between the two sides.

At most one side is *ahead*: it has changed since both were equal. It flags the blocks and vertices that it changes, and
the other side copies them when it is next used: in one packet of the flagged ones, or all arrays if most are flagged.
Between two uses of a side any number of batches may change the other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from suricate.backends.blocked import cpu
from suricate.backends.blocked.kernels import BlockedKernels
from suricate.backends.blocked.layout import COUNTERS, FREE, HOST, LOWEST, STORE, USED, Packet
from suricate.backends.blocked.pool import BlockedPool
from suricate.base.devices import Array
from suricate.primitives import bits_dtype

if TYPE_CHECKING:
    from suricate.cuda.pinned import Staging

ALIGNMENT = 8  #: of the arrays of a packet, in bytes
Buffer = Callable[[int], Array]  #: returns uint8[size]


class HostCopy:
    """A copy of a store's pool on the host; the newer side flags the blocks and vertices that it has changed.

    Args:
        host: the pool on the host, a copy of ``pool``.
        pool: the pool of the store.
        kernels: kernels of the store's device.
        staging: pinned buffers in which packets for the store's device are made.

    Attributes:
        ahead: ``HOST`` or ``STORE``: the side that has changed since both were equal; or None.
        uploaded: bytes copied from the host to the store so far.
        downloaded: bytes copied from the store to the host so far.
    """

    def __init__(self, host: BlockedPool, pool: BlockedPool, kernels: BlockedKernels, staging: Staging) -> None:
        self.host, self.pool, self._kernels, self._staging = host, pool, kernels, staging
        self.ahead: str | None = None
        self.uploaded = self.downloaded = 0
        host.limit, host.besides = pool.limit, pool.besides
        host.twin = pool
        pool.mirrored = host.allocated
        try:
            host.track()
            pool.track()
        except BaseException:
            pool.untrack()
            raise

    def upload(self) -> None:
        """Copy the blocks and vertices that have changed on the host to the store; does not wait for its device."""
        if self.ahead != HOST:
            return
        host, (blocks, vertices) = self.host, cpu.count_marked(self.host.graph)
        counters = host["counters"]
        if 2 * blocks > counters[USED]:
            host.clear_marks()
            self.uploaded += copy_all(host, self.pool)
        else:
            packet, buffer = new_packet(host, blocks, vertices, counters, self._staging)
            cpu.list_marked(host.graph, packet)
            cpu.pack(host.graph, packet)
            self._kernels.unpack(self.pool.graph, packet)
            self._staging.queued()
            self.uploaded += buffer.nbytes
        self.ahead = None

    def download(self) -> None:
        """Copy the blocks and vertices that have changed in the store to the host; waits on CUDA.

        If it raises ``CapacityError``, nothing has changed.
        """
        if self.ahead != STORE:
            return
        pool, host = self.pool, self.host
        blocks, vertices = self._kernels.count_marked(pool.graph)
        counters = pool.device.to_numpy(pool["counters"]).copy()
        host.ensure(int(counters[USED]))
        if 2 * blocks > counters[USED]:
            pool.clear_marks()
            self.downloaded += copy_all(pool, host)
        else:
            xp = pool.device.xp
            packet, buffer = new_packet(pool, blocks, vertices, counters, lambda size: xp.empty(size, np.uint8))
            self._kernels.list_marked(pool.graph, packet)
            self._kernels.pack(pool.graph, packet)
            arrived = pool.device.to_numpy(buffer)
            on_host, _ = new_packet(host, blocks, vertices, counters, lambda size: arrived)
            cpu.unpack(host.graph, on_host)
            self.downloaded += buffer.nbytes
        self.ahead = None


def new_packet(
    pool: BlockedPool, blocks: int, vertices: int, counters: np.ndarray, buffer: Buffer
) -> tuple[Packet, Array]:
    """Return a packet for ``blocks`` blocks and ``vertices`` vertices of ``pool``, and the buffer of its arrays.

    ``counters`` are those of the pool, on the host; ``buffer(size)`` allocates that many bytes.
    """
    slots, lowest = blocks << pool.shift, int(counters[LOWEST])
    weights = 0 if pool.weight_dtype is None else slots
    shapes: list[tuple[int, type | np.dtype]] = [
        (blocks, np.uint32), (blocks, np.uint32), (blocks, np.uint32), (blocks, np.uint32), (slots, np.uint32),
        (weights, bits_dtype(pool.weight_dtype)), *(4 * [(vertices, np.uint32)]),
        (int(counters[FREE]) - lowest, np.uint32), (COUNTERS, np.int64),
    ]  # fmt: skip
    sizes = [length * np.dtype(dtype).itemsize for length, dtype in shapes]
    begins = np.cumsum([0, *(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)]).tolist()
    memory = buffer(begins[-1])
    parts = (
        memory[begin : begin + size].view(dtype) for begin, size, (_, dtype) in zip(begins, sizes, shapes, strict=False)
    )
    return Packet._make((*parts, lowest)), memory


def copy_all(source: BlockedPool, target: BlockedPool) -> int:
    """Copy vertices, carved blocks and counters of ``source`` to ``target``; return the number of bytes copied."""
    counters, copied = source.device.to_numpy(source["counters"]), 0
    used = int(counters[USED])
    for group, length in (("vertices", len(source["head"])), ("blocks", used), ("edges", used << source.shift),
                          ("counters", COUNTERS)):  # fmt: skip
        spans = source.rows.within(0, length) if group == "vertices" else [(0, length)]
        for name, (begin, end) in product(source.layout[group], spans):
            part = source[name][begin:end]
            copied += part.nbytes
            if len(part):
                _put(source.device.to_numpy(part), target[name][begin:end])
    return copied


def _put(values: np.ndarray, target: Array) -> None:
    if isinstance(target, np.ndarray):
        target[:] = values
    else:
        target.set(values)
