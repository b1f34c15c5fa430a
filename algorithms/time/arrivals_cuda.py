"""Earliest arrivals on CUDA over rows of what vertices send: one launch (``arrivals.cu``), no wait of the host."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.algorithms.time.limits import LAST
from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants
from suricate.primitives import out_of_memory

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.events import Events

THREADS = 512
SHORT, CHUNK = 256, 1024  #: slots that a warp passes with others; of a block at a time, where a vertex has more
WORK = 1 << 12  #: vertices and slots of a block, if there are enough
ARRIVALS = Struct("Arrivals", {
    "begin": "const long long*", "end": "const long long*",  # [vertices]: rows of what vertices send, or get
    "other": "const uint32_t*", "number": "const uint32_t*",  # by slot
    "time": "const long long*", "sender": "const uint32_t*",  # event n at n & mask; who has an event of its row
    "label": "uint32_t*", "listed": "uint32_t*", "passed": "uint32_t*",  # [vertices]: written
    "list": "uint32_t*",  # [2 * vertices]: written
    "chunks": "Chunk*",  # [slots / SHORT + slots / CHUNK + 1]: written
    "counts": "uint32_t*", "arrived": "uint32_t*",  # [5], [1]: zeros
    "arrival": "long long*", "event": "long long*",  # [vertices]: the answer
    "first": "long long", "mask": "long long", "from": "long long", "upto": "long long",  # the latter two: places
    "vertices": "long long", "never": "long long",
    "source": "uint32_t", "backwards": "uint32_t", "part": "uint32_t", "checked": "uint32_t",
})  # fmt: skip
CHUNKS = "struct Chunk {\n    long long slot;\n    uint32_t vertex, slots;\n};"
NAMES = {"ARRIVALS_BLOCK": THREADS, "ARRIVALS_SHORT": SHORT, "ARRIVALS_CHUNK": CHUNK}
PROGRAM = Program(
    Path(__file__).with_name("arrivals.cu"), f"{constants(NAMES)}\n{CHUNKS}\n{ARRIVALS.declaration}", cooperative=True
)


@cache
def _most_blocks(device: Device) -> int:
    return multiprocessors(device) * PROGRAM.kernel("find_arrivals").resident(THREADS)


def find_arrivals(
    log: Events, vertex: int, start: int | None, end: int | None, *, backwards: bool
) -> tuple[Array, Array]:
    """Return times and last events of earliest arrivals from ``vertex``, ``int64[n]`` each; see ``paths``.

    The log has the rows of the vertices that are left: of what they get, if ``backwards``.

    Raises:
        CapacityError: there is not enough memory, 28 bytes per vertex and less than one per event.
    """
    record, rows, n, xp = log._record, log._index.rows, log.num_vertices, log.device.xp
    first, upto = log._numbers_between(start, end)
    slots = len(rows.other)
    with out_of_memory("paths"):
        words, zeros = xp.empty(5 * n, np.uint32), xp.zeros(6, np.uint32)
        chunks = xp.empty(2 * (slots // SHORT + slots // CHUNK + 1), np.int64)
        answer = xp.empty(n, np.int64), xp.empty(n, np.int64)
    label, work = words.data.ptr, (record.next - record.first + n) // WORK
    packed = ARRIVALS.packed(
        *(array.data.ptr for array in rows), record.time.data.ptr,
        (record.targets if backwards else record.sources).data.ptr, *(label + 4 * n * k for k in range(4)),
        chunks.data.ptr, zeros.data.ptr, zeros.data.ptr + 20, *(array.data.ptr for array in answer),
        record.first, record.capacity - 1, first - record.first, upto - record.first, n, ~LAST if backwards else LAST,
        vertex, backwards, start is not None or end is not None, log.directed and log.over == "both",
    )  # fmt: skip
    blocks = max(1, min(_most_blocks(log.device), work))
    PROGRAM.kernel("find_arrivals")((blocks,), (THREADS,), (packed,))
    return answer
