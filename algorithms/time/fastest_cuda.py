"""The fastest paths on CUDA: labels of events, corrected round by round in one launch (``fastest.cu``).

A later path to a vertex may begin a faster one, so a vertex has no single label: each event has one, as of its time.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.time.limits import FIRST, LAST, NONE
from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants
from suricate.primitives import out_of_memory

if TYPE_CHECKING:
    from suricate.algorithms.time.paths import Passed
    from suricate.base.devices import Array, Device

THREADS = 512
WORK = 1 << 12  #: arcs of a block, if there are enough
FASTEST = Struct("Fastest", {
    "begin": "const uint32_t*", "to": "const uint32_t*",  # [arcs]: the ends, in order of time
    "limit": "const uint32_t*",  # [arcs]: those below it come before this one in time
    "order": "const uint32_t*",  # [arcs]: by the vertex that they lead to
    "offset": "const long long*",  # [vertices + 1]: where the row of a vertex begins in ``order``
    "time": "const long long*",  # [events]
    "before": "uint32_t*", "label": "uint32_t*", "taken": "uint64_t*",  # [arcs]: by place, written
    "largest": "uint64_t*",  # [blocks]: written
    "duration": "long long*", "event": "unsigned long long*",  # [vertices]: the answer
    "arrived": "uint32_t*", "rises": "uint32_t*",  # [1], [3]: zeros
    "arcs": "long long", "never": "long long",  # no path departs at the latter
    "source": "uint32_t", "both": "uint32_t", "strict": "uint32_t",
})  # fmt: skip
PROGRAM = Program(
    Path(__file__).with_name("fastest.cu"), f"{constants({'FASTEST_BLOCK': THREADS})}\n{FASTEST.declaration}",
    cooperative=True,
)  # fmt: skip


@cache
def _most_blocks(device: Device) -> int:
    return multiprocessors(device) * PROGRAM.kernel("find_fastest").resident(THREADS)


def find_fastest(passed: Passed, source: int, device: Device, num_vertices: int) -> tuple[Array, Array, Array]:
    """Return what ``Fastest`` has, but for the source itself; ``passed`` are events on the device.

    Raises:
        CapacityError: too little memory, about 60 bytes per event, or twice as many if they lead in both directions.
    """
    xp, time, both = device.xp, passed.time, int(passed.both)
    with out_of_memory("paths"):
        kept = xp.flatnonzero(passed.alive) if len(passed.alive) else None  # waits
        src, dst = passed.src, passed.dst
        if kept is not None:
            time, src, dst = time[kept], src[kept], dst[kept]
        limit = xp.searchsorted(time, time, side="right" if passed.through else "left").astype(np.uint32)
        begin, to = (xp.stack(ends, 1).ravel() if both else ends[0] for ends in ((src, dst), (dst, src)))
        limit = xp.repeat(limit << np.uint32(1), 2) if both else limit
        duration, event = xp.full(num_vertices, LAST, np.int64), xp.full(num_vertices, NONE, np.int64)
        if len(to):
            _launch(device, (time, begin, to, limit), (duration, event), source, both, strict=not passed.through)
    is_led, at = event >= 0, xp.maximum(event, 0)
    departure = xp.full(num_vertices, LAST, np.int64)
    if len(to):
        departure = xp.where(is_led, time[at] - duration, LAST)
        event = xp.where(is_led, passed.first + (at if kept is None else kept[at]), NONE)
    return duration, departure, event


def _launch(device: Device, arcs: Any, answer: tuple[Array, Array], source: int, both: int, *, strict: bool) -> None:
    xp, (time, begin, to, limit) = device.xp, arcs
    count, num_vertices = len(to), len(answer[0])
    order = xp.argsort(to, kind="stable").astype(np.uint32)
    offset = xp.searchsorted(to[order], xp.arange(num_vertices + 1, dtype=np.uint32)).astype(np.int64)
    blocks = max(1, min(_most_blocks(device), count // WORK))
    before, label, zeros = xp.empty(count, np.uint32), xp.empty(count, np.uint32), xp.zeros(4, np.uint32)
    taken, largest = xp.empty(count, np.uint64), xp.empty(blocks, np.uint64)
    arrays = begin, to, limit, order, offset, time, before, label, taken, largest, *answer, zeros, zeros[1:]
    packed = FASTEST.packed(*(array.data.ptr for array in arrays), count, FIRST, source, both, strict)
    PROGRAM.kernel("find_fastest")((blocks,), (THREADS,), (packed,))
