"""Arrays by row of which a store keeps some: in a graph of several processes, the rows of its process's vertices.

An array has an entry for every vertex, so that ids index it, and zeros at rows that are not kept: they read as empty.
It lies in blocks of ``BLOCK`` bytes, and blocks without a kept row take no memory: on the CPU the system gives memory
to what is written, on CUDA such blocks show one block of zeros (``suricate.cuda.mapped``). Arrays that are smaller than
a block, and all where the system reserves no addresses, are usual ones.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from suricate.base.devices import Array, Device
from suricate.intake.arrays import fill
from suricate.store.in_place import NO_RESERVE, Reserved, most_reserved

BLOCK = 1 << 21  #: bytes: a huge page, which is also the least that CUDA maps
ALL = np.array([[0, np.iinfo(np.int64).max >> 8]])  #: all rows


class Rows:
    """Which rows a store on ``device`` keeps: those in the ranges ``kept``, ``int64[k, 2]``; None: all."""

    def __init__(self, device: Device, kept: np.ndarray | None) -> None:
        self._device, self.kept = device, ALL if kept is None else joined(kept)
        self._mapped: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by address, on CUDA

    @property
    def is_all(self) -> bool:
        """Whether all rows are kept."""
        return self.kept is ALL

    def within(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the ranges of kept rows from ``begin`` on, below ``end``."""
        cut = self.kept.clip(begin, end).tolist()
        return [(low, high) for low, high in cut if low < high]

    def zeros(self, length: int, dtype: Any, width: int = 1, *, written: bool = True) -> Array:
        """Return an array of zeros, ``width`` entries for each of ``length`` rows.

        Kept rows have memory; unless ``written``, on the CPU they may get it when they are first written.
        """
        kind = np.dtype(dtype)
        size = length * width * kind.itemsize
        if self._device.is_cuda:
            if self.is_all or size < BLOCK or not maps_blocks(self._device):
                return self._device.xp.zeros(length * width, kind)
            from suricate.cuda.mapped import Mapping

            mapping = Mapping(self._device, size, BLOCK, self._blocks(self.kept, width * kind.itemsize, size))
            self._mapped[mapping.address] = mapping
            return mapping.array(length * width, kind)
        array = _untouched(size).view(kind)
        if written:
            for begin, end in self.within(0, length):
                fill(array[begin * width : end * width], 0)
        return array

    def bytes_of(self, length: int, row_bytes: int) -> int:
        """Return the bytes of memory of an array of ``length`` rows of ``row_bytes`` bytes."""
        size = length * row_bytes
        if self.is_all or size < BLOCK or (self._device.is_cuda and not maps_blocks(self._device)):
            return size
        return int(np.diff(self._blocks(self.kept, row_bytes, size)).sum())

    def copy(self, source: Array, target: Array, width: int = 1) -> None:
        """Copy the kept rows of ``source`` to ``target``, both of ``width`` entries a row."""
        for begin, end in self.within(0, min(len(source), len(target)) // width):
            target[begin * width : end * width] = source[begin * width : end * width]

    def picked(self, array: Array) -> Array:
        """Return the entries of the kept rows of ``array``, one a row, in order; if all are kept the array itself."""
        parts = [array[begin:end] for begin, end in self.within(0, len(array))]
        return array if self.is_all else self._device.xp.concatenate([array[:0], *parts])

    def put(self, values: Array, array: Array) -> None:
        """Write ``values``, one for each kept row in order, to those rows of ``array``."""
        at = 0
        for begin, end in self.within(0, len(array)):
            array[begin:end] = values[at : at + end - begin]
            at += end - begin

    def keep(self, kept: np.ndarray, *arrays: tuple[Array, int]) -> None:
        """Keep other rows of ``arrays``, each with its entries of a row: rows that are not kept any more are zeros.

        Raises ``MemoryError`` on CUDA if memory lacks for rows that are kept now; then nothing has changed.
        """
        before, self.kept = self.kept, joined(kept)
        try:
            for array, width in arrays:
                self._keep(array, array.itemsize * width)
        except MemoryError:
            self.kept = before
            for array, width in arrays:
                self._keep(array, array.itemsize * width)
            raise

    def _keep(self, array: Array, row_bytes: int) -> None:
        blocks = self._blocks(self.kept, row_bytes, array.nbytes)
        if self._device.is_cuda:
            mapping = self._mapped.get(array.data.ptr)
            if mapping is not None:
                mapping.keep(blocks)
        elif isinstance(memory := getattr(getattr(array.base, "base", None), "obj", None), Reserved):
            begin = array.ctypes.data - array.base.ctypes.data
            ends = [0, *blocks.ravel().tolist(), array.nbytes]
            for low, high in zip(ends[::2], ends[1::2], strict=True):
                if high > low:
                    memory.madvise(mmap.MADV_DONTNEED, begin + low, high - low)

    @staticmethod
    def _blocks(kept: np.ndarray, row_bytes: int, size: int) -> np.ndarray:
        """Return where the blocks of an array of ``size`` bytes lie that have kept rows: ``int64[k, 2]``, in bytes."""
        begin, end = kept[:, 0] * row_bytes // BLOCK * BLOCK, -(-kept[:, 1] * row_bytes // BLOCK) * BLOCK
        return joined(np.stack((begin, end), axis=1).clip(0, size))


def joined(ranges: np.ndarray) -> np.ndarray:
    """Return ``ranges``, begin and end (exclusive) of each, ascending and without those that are empty or touch."""
    ranges = ranges[ranges[:, 0] < ranges[:, 1]]
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ranges[:, 1])
    first = np.flatnonzero(np.append(True, ranges[1:, 0] > ends[:-1])[: len(ranges)])
    return np.stack((ranges[first, 0], np.append(ends[first[1:] - 1], ends[-1:])), axis=1)


def without(ranges: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the parts of ``ranges`` that are in none of ``others``; both ascending and disjoint, ``int64[k, 2]``."""
    cuts = np.unique(np.concatenate((ranges.ravel(), others.ravel())))
    begin = cuts[:-1]
    inside = [np.searchsorted(each.ravel(), begin, side="right") % 2 == 1 for each in (ranges, others)]
    return np.stack((begin, cuts[1:]), axis=1)[inside[0] & ~inside[1]]


def _untouched(size: int) -> np.ndarray:
    """Return ``size`` bytes, zeros, at a multiple of ``BLOCK`` and of huge pages if the system reserves addresses."""
    if size >= BLOCK and most_reserved():
        with suppress(OSError, ValueError, OverflowError):  # no addresses left, or no huge pages in this system
            memory = Reserved(-1, size + BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
            memory.ask_for_huge_pages()
            whole = np.frombuffer(memory, np.uint8)
            begin = -whole.ctypes.data % BLOCK
            return whole[begin : begin + size]
    return np.zeros(size, np.uint8)


def maps_blocks(device: Device) -> bool:
    """Return whether the driver of a CUDA device maps memory to addresses by blocks of ``BLOCK`` bytes."""
    from suricate.cuda.mapped import least_block

    return 0 < least_block(device) <= BLOCK
