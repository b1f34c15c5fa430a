"""Random walks in time: each step takes a later event of the vertex (Nguyen et al., *Continuous-time dynamic network
embeddings*, 2018).

Draws are by rank among the eligible events, the next one first, by closed forms of the inverse of the distribution in
whole numbers of 64 bits, so that they are the same everywhere: ``bits * c >> 64`` is uniform below c; a triangular
number is inverted by a root; the exponential bias has a table of 45 thresholds, behind which 2^-64 is left.
"""

from __future__ import annotations

from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.algorithms.time.limits import FIRST, LAST, TRIES
from suricate.algorithms.time.paths import _checked
from suricate.base.html import result_html
from suricate.base.mixing import mixed
from suricate.base.parameters import flag, integer, one_of
from suricate.base.types import EMPTY, edge_keys
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.errors import RequirementError
from suricate.operators.sampling import roots_of
from suricate.primitives import out_of_memory

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.events import Events

BIAS = "uniform", "linear", "exponential"
THRESHOLDS = np.array([int((1 - Context(50).exp(Decimal(-i - 1))) * 2**64) for i in range(45)], np.uint64)
MOST = 2**31 - 1  #: steps
THREADS, MOST_BLOCKS = 128, 1 << 13  #: of CUDA, where walks wait for memory
PROGRAM = Program(
    Path(__file__).with_name("walk.cu"), constants({"TRIES": TRIES, "THRESHOLDS": len(THRESHOLDS)})
)  # fmt: skip


class Walks(NamedTuple):
    """Walks in time, a row each: its vertices, and the number and the time of the event of each step.

    Attributes:
        vertex: ``uint32[walks, length + 1]``; ``su.EMPTY`` behind the end of a walk.
        event: ``int64[walks, length]``; -1 behind the end.
        time: ``int64[walks, length]``; 0 behind the end.
    """

    vertex: ReturnedArray
    event: ReturnedArray
    time: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


def temporal_walks(
    log: Events, starts: Any, length: int, *, bias: str = "uniform", seed: int = 0, through: bool = False
) -> Walks:
    """Return random walks by events of ascending time, which they may begin at any time.

    A step draws one of the events of the vertex that are later than the last one. Of c of them, the next first,
    the i-th from 0 has a weight of 1 (``"uniform"``), c - i (``"linear"``) or e^-i (``"exponential"``). Draws
    depend on ``seed``, the start, how many walks of the call began there before, and the step, and on nothing else,
    so that devices draw the same walks.

    Args:
        log: the events, with ``over="out"``, or without direction.
        starts: vertices, one per walk, ids or names; one that comes k times has k walks.
        length: the number of steps; a walk ends before if there is no later event.
        bias: one of these three.
        seed: an integer of 64 bits.
        through: whether a step can take another event of the same time, too.

    Raises:
        ParameterError, DTypeError, ShapeError, VertexRangeError, UnknownNameError: an argument is invalid.
        RequirementError: the log has no rows of the events that vertices send.
        CapacityError: there is not enough memory.
    """
    _checked(log, "temporal_walks")
    if log.directed and log.over != "out":
        raise RequirementError(f"temporal_walks needs su.Events(..., over='out'), this log has over={log.over!r}")
    kind, length = BIAS.index(one_of("bias", bias, BIAS)), integer("length", length, low=0, high=MOST)
    seed, through = integer("seed", seed, low=FIRST, high=LAST), flag("through", through)
    with log._lock:
        begin, full = roots_of(log, starts, "starts"), log.device.xp.full
        shape = len(begin), length
        with out_of_memory("walks"):
            walks = Walks(
                full((len(begin), length + 1), EMPTY, np.uint32), full(shape, -1, np.int64), full(shape, 0, np.int64)
            )
        walks.vertex[:, 0] = begin
        keys = mixed(seed, begin, _turns(log.device.xp, begin))
        (_walk_on_cuda if log.device.is_cuda else _walk)(log, keys, kind, through, walks)
    return walks


def _walk(log: Events, keys: Array, kind: int, through: bool, walks: Walks) -> None:
    """Walk from the first vertices of ``walks`` on; ``keys``: ``int64[walks]``, hashes of the walks."""
    from suricate.algorithms.time.walks_cpu import walk

    walk(log._index.rows, log._record.time, log._record.first, keys, kind, through, THRESHOLDS, *walks)


def _walk_on_cuda(log: Events, keys: Array, kind: int, through: bool, walks: Walks) -> None:
    record, blocks = log._record, min(-(-len(keys) // THREADS), MOST_BLOCKS)
    numbers = record.capacity - 1, record.first, *walks.event.shape, kind, int(through)
    arrays = *log._index.rows, record.time, log.device.xp.asarray(THRESHOLDS), keys, *walks
    if blocks:
        PROGRAM.kernel("walk")((blocks,), (THREADS,), (*arrays, *map(np.int64, numbers)))


def _turns(xp: Any, starts: Array) -> Array:
    """Return for each of ``starts`` how many equal ones stand before it, ``int64[k]``."""
    places = xp.arange(len(starts))
    order = xp.argsort(edge_keys(starts, places))
    ascending, turns = starts[order], xp.empty(len(starts), np.int64)
    turns[order] = places - xp.searchsorted(ascending, ascending)
    return turns
