"""The building blocks on CUDA: launches, and a host mirror of device counters that does not wait."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.cuda.program import Program
from suricate.devices import Array
from suricate.primitives import SortedBatch
from suricate.types import EdgeList

HERE = Path(__file__).parent
BLOCK = 256
NULL = np.uint64(0)  #: a null pointer argument


def weight_bits(weight_dtype: np.dtype | None) -> int:
    """Return the macro ``WEIGHT_BITS``: 0 where there are no weights."""
    return 0 if weight_dtype is None else 8 * weight_dtype.itemsize


@cache
def program(bits: int = 0) -> Program:
    """Return the program of ``primitives.cu``."""
    return Program(HERE / "primitives.cu", defines=(("WEIGHT_BITS", bits),))


def launch(code: Program, name: str, threads: int, *args: Any, block: int = BLOCK) -> None:
    """Launch ``threads`` threads of a kernel; nothing for 0. None is passed as a null pointer."""
    if threads:
        grid = (threads + block - 1) // block
        code.kernel(name)((grid,), (block,), tuple(NULL if arg is None else arg for arg in args))


def sort_batch(src: Array, dst: Array, bits: int) -> SortedBatch:
    """See :func:`suricate.primitives.sort_batch`; ids have ``bits`` bits. One key-only sort where all fits one word."""
    import cupy

    m = len(src)
    low = (m - 1).bit_length()
    if 2 * bits + low > 64:
        keys = (src.astype(np.uint64) << np.uint64(32)) | dst
        order = cupy.argsort(keys, kind="stable")
        return SortedBatch(keys[order], order.astype(np.uint32))
    words = cupy.empty(m, np.uint64)
    shape = (np.uint32(bits), np.uint32(low))
    launch(program(), "pack_words", m, np.uint32(m), src, dst, *shape, words)
    words.sort()
    keys, order = cupy.empty(m, np.uint64), cupy.empty(m, np.uint32)
    launch(program(), "unpack_words", m, np.uint32(m), words, *shape, keys, order)
    return SortedBatch(keys, order)


def copy_segments(offsets: Array, begin: Array, target: Array, bound: int, old: EdgeList, new: EdgeList) -> None:
    """See :func:`suricate.primitives.copy_segments`."""
    bits = 0 if old.weight is None else 8 * old.weight.dtype.itemsize
    blocks = (bound + 8 * BLOCK - 1) // (8 * BLOCK)
    launch(
        program(bits), "copy_ranges", blocks * BLOCK, np.int64(len(begin)), offsets, begin, target,
        old.dst, old.weight, new.dst, new.weight, new.src if len(new.src) else None,
    )  # fmt: skip


class Mirror:
    """A host copy of a small device array of counters that is refreshed without waiting.

    Batches charge what they may have added (``unseen``); a copy to pinned memory is queued behind them; when it has
    arrived, :meth:`poll` takes it over and only what was charged after it was queued remains unseen.
    """

    def __init__(self, values: np.ndarray) -> None:
        import cupy
        import cupyx

        self.values = np.array(values, np.int64)  #: the counters as last seen
        self.unseen = np.zeros(2, np.int64)  #: edges inserted, deleted (upper bounds) that ``values`` lacks
        self._later = np.zeros(2, np.int64)
        self._pinned = cupyx.empty_pinned(self.values.shape, np.int64)
        self._event = cupy.cuda.Event(disable_timing=True)
        self._in_flight = False

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:  # names may be gone by then
        if getattr(self, "_in_flight", False) and not finalizing():
            self._event.synchronize()  # the copy is about to be written to host memory that goes away now

    def charge(self, inserted: int, deleted: int) -> None:
        """Note that a batch about to be queued inserts and deletes at most so many edges."""
        self.unseen += (inserted, deleted)
        self._later += (inserted, deleted)

    def post(self, counters: Array) -> None:
        """Queue a copy of the device counters, unless one is under way."""
        if self._in_flight:
            return
        counters.get(out=self._pinned, blocking=False)
        self._event.record()
        self._later[:] = 0
        self._in_flight = True

    def poll(self) -> None:
        """Take over a copy that has arrived; never waits."""
        if self._in_flight and self._event.done:
            self.values[:] = self._pinned
            self.unseen[:] = self._later
            self._in_flight = False

    def read(self, counters: Array) -> None:
        """Read the device counters now; waits for the device."""
        self.values[:] = counters.get()
        self.unseen[:] = 0
        self._later[:] = 0
        self._in_flight = False
