"""Sorting the batches of a store on CUDA, and validating and copying unvalidated ones in the same launch.

One cooperative launch sorts a batch of up to :data:`MOST_LARGE` edges. Small batches are sorted by tiles in shared
memory, larger ones by buckets (a sample sort), and the largest by digits (a radix sort), where a sample would be too
large. Batches beyond that are sorted by CuPy, between a launch that packs edges into words and one that unpacks them.
Nothing waits for the device. ``num_vertices``, of the graph, tells how many bits of an id count. A *variant* is what
kernels are compiled for: the dtypes of a batch, whether both arcs of edges are in it, and what self-loops are.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.batch_memory import offsets_of
from suricate.cuda.launch import GridBarrier, StructKernel, address, multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants, joined
from suricate.intake.ingest import COPIES, UNVALIDATED, BatchKind, UnvalidatedBatch, sample_variants
from suricate.primitives import cuda
from suricate.primitives.located import KEPT

HERE = Path(__file__).parent
INCLUDE = (cuda.HERE,)
THREADS = 512
TILE = 2 * THREADS  #: words that a block sorts in shared memory
LANES = 4  #: threads that look for the place of a word
MOST_SMALL = 1 << 15  #: edges of a batch that is sorted by tiles,
MOST_BUCKETED = 1 << 18  #: of one that is sorted by buckets,
MOST_WIDE = 1 << 21  #: also if it has words of more than 64 bits, for which there is nothing else,
MOST_LARGE = 1 << 24  #: and of one that is sorted by digits: CuPy's sort looks at all 64 bits
BUCKET = 1 << 10  #: words of a bucket, about
MOST_BUCKETS = 1 << 11
BUCKET_BARRIERS = 5
SAMPLE_RATE = 32  #: words of the sample per bucket
MOST_OF_BLOCK = (1 << 16) - 1  #: words that a block puts into buckets
DIGIT_BITS = 8
DIGIT_GROUP = 16  #: blocks whose words of a digit are summed
MOST_BLOCKS = 2048  #: of a grid-stride loop
MOST_FINDING = 1 << 16  #: the same, where more of them hide more latency
CONSTANTS = {
    "SORT_BLOCK": THREADS, "SORT_TILE": TILE, "SORT_LANES": LANES,
    "MOST_BUCKETS": MOST_BUCKETS, "SAMPLE_RATE": SAMPLE_RATE,
    "BUCKET_WORDS": 1 << 12,  # that are sorted in shared memory
    "DIGIT_BITS": DIGIT_BITS, "DIGIT_GROUP": DIGIT_GROUP, "DIGIT_ITEMS": 8,
}  # fmt: skip

SORTING = Struct("Sorting", {
    "words": "uint64_t*",  # [size], of a small batch rounded up to whole tiles
    "keys": "uint64_t*", "order": "uint32_t*",  # [size]: the result
    "middle": "uint32_t*",  # [size], if words have more than 64 bits: the places between two passes
    "buffer": "uint64_t*", "place": "uint32_t*",  # [size] (buffer as words); place, sample and splitters: for buckets
    "sample": "uint64_t*", "splitters": "uint64_t*",  # [SAMPLE_RATE * buckets], [buckets]
    "totals": "uint32_t*",  # [buckets], or by block and digit
    "offsets": "uint32_t*",  # [buckets], or by pass, group of blocks, and digit
    "arrived": "uint32_t*", "expected": "uint32_t",  # of the barrier; see grid_barrier.cuh
    "bits": "uint32_t", "low": "uint32_t",  # of an id in a word, of the place in the batch
    "buckets": "uint32_t",  # a power of two
})  # fmt: skip
EDGE_SORTING = Struct(
    "EdgeSorting", {"size": "long long", "src": "const uint32_t*", "dst": "const uint32_t*"}, base=SORTING
)
FINDING = Struct("Finding", {
    "begin": "const long long*", "end": "const long long*",  # by vertex: first slot, one past the last
    "dst": "const uint32_t*", "weight": "const bits_t*",  # by slot
    "found": "bool*", "result": "bits_t*",  # [n]
})  # fmt: skip
FINDING_ARGUMENTS = joined(FINDING.packer, UNVALIDATED)
ARGUMENTS = joined(COPIES.packer, SORTING.packer, UNVALIDATED)


@cache
def taking_program(variant: BatchKind, *, cooperative: bool) -> Program:
    """Return the program that validates, copies and sorts batches of a variant."""
    prelude = f"{constants(CONSTANTS)}\n{SORTING.declaration}"
    return Program(HERE / "take.cu", prelude, variant.defines(), INCLUDE, cooperative)


@cache
def sorting_program() -> Program:
    """Return the program ``sort.cu``, which sorts valid edges."""
    prelude = f"{constants(CONSTANTS)}\n{SORTING.declaration}\n{EDGE_SORTING.declaration}"
    return Program(HERE / "sort.cu", prelude, include=INCLUDE, cooperative=True)


@cache
def finding_program(variant: BatchKind, bits: int) -> Program:
    """Return the program that validates and looks up batches of a variant; a weight has ``bits`` bits."""
    prelude = f'#include "bits.cuh"\n{FINDING.declaration}'
    return Program(HERE / "find_sorted.cu", prelude, (*variant.defines(), ("WEIGHT_BITS", bits)), INCLUDE)


def programs(weight_dtype: np.dtype | None) -> list[Program]:
    """Return programs for typical variants of batches, to check that they compile."""
    plain = sample_variants(None)
    weighted = [] if weight_dtype is None else sample_variants(weight_dtype.name)
    variants = [plain[0], *weighted[:2]]
    taking = (taking_program(variant, cooperative=together) for variant in variants for together in (True, False))
    finding = (finding_program(variant, cuda.weight_bits(weight_dtype)) for variant in plain[:2])
    return [sorting_program(), *taking, *finding, *cuda.programs(weight_dtype)]


class SortMemory(NamedTuple):
    """Memory of a sorting launch: values of the struct ``Sorting``, and arrays that keep the memory alive.

    Attributes:
        blocks: number of blocks of the launch.
        barriers: number of grid-wide barriers that it passes.
        keys, order: the result: ``uint64[size]``, ``uint32[size]``.
        places: the first values of the struct, addresses; the address and the count of the barrier follow.
        sizes: its last values: bits of an id and of a position in the batch, number of buckets.
    """

    blocks: int
    barriers: int
    keys: Array
    order: Array
    places: tuple[int, ...]  #: the values up to the address of the barrier
    sizes: tuple[int, ...]  #: those behind its count


class Taking(NamedTuple):
    """The kernel and the memory for batches of one size, operation and variant, used by one batch after the other.

    Attributes:
        traits: number of vertices, and variant of the batch.
        kernel, sorting: the kernel and its memory; both None for huge batches, which CuPy sorts.
    """

    traits: tuple[int, BatchKind]
    kernel: StructKernel | None  #: None: huge ones are sorted by CuPy
    sorting: SortMemory | None


class Sorter:
    """Sorts the batches of one store, and validates and copies unvalidated ones, all in one stream.

    Results are the keys of the edges, ``uint64[m]``: ``src << 32 | dst``, ascending, and their order, ``uint32[m]``:
    the position of each in the batch.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._barrier = GridBarrier(device)
        self._kernels: dict[tuple[str, BatchKind | None], StructKernel] = {}
        self._resident: dict[StructKernel, int] = {}
        self._kept: dict[tuple[int, str], Taking] = {}
        self._kept_sorting: dict[tuple[int, int, str], tuple[StructKernel, SortMemory]] = {}
        self._multiprocessors = multiprocessors(device)

    def takes(self, size: int, num_vertices: int) -> bool:
        """Return whether :meth:`take` can sort ``size`` edges: False for huge batches of graphs with large ids."""
        return self.is_sorted_here(size, num_vertices) or not _is_wide(size, num_vertices)

    def is_sorted_here(self, size: int, num_vertices: int) -> bool:
        """Return whether a cooperative launch of this module sorts ``size`` edges; False if CuPy must."""
        if _is_wide(size, num_vertices):
            return size <= min(MOST_WIDE, 2 * self._multiprocessors * MOST_OF_BLOCK)
        return size <= MOST_LARGE

    def take(self, batch: UnvalidatedBatch, copies: tuple[int, int, int], num_vertices: int) -> tuple[Array, Array]:
        """Validate, copy and sort a batch for which :meth:`takes` is true; return keys and order.

        ``copies``: addresses to which src, dst and weight (0: none) are copied. The result for a small batch is
        overwritten by the next batch of the same size and operation.
        """
        key, traits = (batch.size, batch.operation), (num_vertices, batch.variant)
        taking = self._kept.get(key)
        if taking is None or taking.traits != traits:
            taking = self._taking_of(*key, traits)
        if taking.kernel is None or taking.sorting is None:
            return self._take_huge(batch, copies, num_vertices)
        sorting = taking.sorting
        self._launch(taking.kernel, ARGUMENTS, copies, sorting, batch.words)
        return sorting.keys, sorting.order

    def _taking_of(self, size: int, operation: str, traits: tuple[int, BatchKind]) -> Taking:
        """Return kernel and memory for batches of this size, operation and ``traits``; cache those of small sizes."""
        num_vertices, variant = traits
        if not self.is_sorted_here(size, num_vertices):
            return Taking(traits, None, None)
        kernel = self._kernel(f"take_{_way(size, num_vertices, 'sorted')}", variant)
        taking = Taking(traits, kernel, self._memory_for(kernel, size, num_vertices))
        if size <= MOST_SMALL:
            if len(self._kept) == KEPT:
                self._kept.clear()
            self._kept[size, operation] = taking
        return taking

    def _launch(
        self, kernel: StructKernel, packer: struct.Struct, first: Any, sorting: SortMemory, last: tuple[int, ...]
    ) -> None:
        barrier, blocks = self._barrier, sorting.blocks
        count = barrier.expected(blocks, sorting.barriers)
        packer.pack_into(
            kernel.buffer, 0, *first, *sorting.places, barrier.address, count, *sorting.sizes, *last
        )  # fmt: skip
        kernel.launch(blocks, THREADS)

    def _take_huge(
        self, batch: UnvalidatedBatch, copies: tuple[int, int, int], num_vertices: int
    ) -> tuple[Array, Array]:
        size, empty = batch.size, self._device.xp.empty
        words, keys, order = empty(size, np.uint64), empty(size, np.uint64), empty(size, np.uint32)
        bits, low, places = _id_bits(num_vertices), (size - 1).bit_length(), map(address, (words, keys, order))
        values = (*copies, *places, *(0,) * 9, bits, low, 0, *batch.words)
        for name in ("take_words", "unpack_words"):
            kernel = self._kernel(name, batch.variant)
            ARGUMENTS.pack_into(kernel.buffer, 0, *values)
            kernel.launch(MOST_BLOCKS, THREADS)
            if name == "take_words":
                words.sort()
        return keys, order

    def sort(self, src: Array, dst: Array, num_vertices: int) -> tuple[Array, Array]:
        """Sort valid edges, ``src`` and ``dst`` of ``uint32[m]``; return keys and order."""
        size = len(src)
        if not self.is_sorted_here(size, num_vertices):
            return cuda.sort_batch(src, dst, _id_bits(num_vertices))
        return self.sort_at(size, src.data.ptr, dst.data.ptr, num_vertices)

    def sort_at(self, size: int, src: int, dst: int, num_vertices: int, kept: str = "") -> tuple[Array, Array]:
        """Sort ``size`` valid edges at the addresses ``src`` and ``dst``; return keys and order.

        :meth:`is_sorted_here` must be true. With a name ``kept``, the result for few edges is overwritten by the next
        sort of the same size and name.
        """
        found = self._kept_sorting.get((size, num_vertices, kept)) if kept else None
        if found is None:
            kernel = self._kernel(f"sort_{_way(size, num_vertices, 'tiles')}", None)
            found = kernel, self._memory_for(kernel, size, num_vertices)
            if kept and size <= MOST_SMALL:
                if len(self._kept_sorting) == KEPT:
                    self._kept_sorting.clear()
                self._kept_sorting[size, num_vertices, kept] = found
        kernel, sorting = found
        self._launch(kernel, EDGE_SORTING.packer, (), sorting, (size, src, dst))
        return sorting.keys, sorting.order

    def _memory_for(self, kernel: StructKernel, size: int, num_vertices: int) -> SortMemory:
        """Return new memory for a launch of ``kernel`` that sorts ``size`` edges."""
        resident = self._resident.get(kernel)
        if resident is None:
            resident = self._resident[kernel] = self._multiprocessors * kernel.resident(THREADS)
        wide, padded = _is_wide(size, num_vertices), 8 * (-(-size // TILE) * TILE)
        if size <= MOST_SMALL:
            blocks = 1 if size <= TILE else min(resident, -(-size * LANES // THREADS))
            buckets, barriers = 0, 4 if wide else int(blocks > 1)
            places = offsets_of(8 * size, 4 * size, padded, wide * 4 * size, wide * padded)
        elif not _is_bucketed(size, num_vertices):
            blocks, buckets, passes = resident, 0, -(-2 * _id_bits(num_vertices) // DIGIT_BITS)
            barriers, groups = 2 * passes, -(-blocks // DIGIT_GROUP)
            row = 4 << DIGIT_BITS
            places = offsets_of(
                8 * size, 4 * size, padded, 0, padded, 0, 0, 0, blocks * row, passes * groups * row
            )  # fmt: skip
        else:
            blocks, buckets = resident, min(MOST_BUCKETS, 1 << ((size - 1) // BUCKET).bit_length())
            barriers, sample = BUCKET_BARRIERS << wide, 8 * SAMPLE_RATE * buckets
            places = offsets_of(
                8 * size, 4 * size, padded, wide * 4 * size, padded, 4 * size,
                sample, 8 * buckets, 4 * buckets, 4 * buckets,
            )  # fmt: skip
        ndarray, memory = self._device.xp.ndarray, self._device.xp.cuda.alloc(places[-1])
        keys, order = ndarray((size,), np.uint64, memory), ndarray((size,), np.uint32, memory + places[1])
        start = memory.ptr
        words, middle, *addresses = (*(start + place for place in places[2:-1]), *(0,) * 6)[:8]
        values = words, start, start + places[1], middle if wide else 0, *addresses
        sizes = _id_bits(num_vertices), (size - 1).bit_length(), buckets
        return SortMemory(blocks, barriers, keys, order, values, sizes)

    def find(self, batch: UnvalidatedBatch, rows: tuple[Array | int, ...], found: Array, result: Array) -> None:
        """Validate a batch and look up its edges in ``rows``, the result of :meth:`BatchStore.rows`.

        Writes to ``found`` (``bool[n]``) which edges are stored, and to ``result`` the bits of their weights. Invalid
        edges are not found.
        """
        variant, bits = batch.variant, cuda.bits_of(result)
        kernel = self._kernels.get(("find_sorted", variant))
        if kernel is None:
            kernel = StructKernel(finding_program(variant, bits), "find_sorted", FINDING_ARGUMENTS.size)
            self._kernels["find_sorted", variant] = kernel
        FINDING_ARGUMENTS.pack_into(kernel.buffer, 0, *map(address, (*rows, found, result)), *batch.words)
        kernel.launch(min(MOST_FINDING, -(-batch.size // cuda.BLOCK)), cuda.BLOCK)

    def _kernel(self, name: str, variant: BatchKind | None) -> StructKernel:
        kernel = self._kernels.get((name, variant))
        if kernel is None:
            if variant is None:
                kernel = StructKernel(sorting_program(), name, EDGE_SORTING.size)
            else:
                cooperative = name in ("take_sorted", "take_buckets", "take_digits")
                kernel = StructKernel(taking_program(variant, cooperative=cooperative), name, ARGUMENTS.size)
            self._kernels[name, variant] = kernel
        return kernel


def _id_bits(num_vertices: int) -> int:
    return max(1, (num_vertices - 1).bit_length())


def _is_bucketed(size: int, num_vertices: int) -> bool:
    """Return whether ``size`` edges that are not sorted as a small batch are sorted by buckets, not by digits."""
    return size <= MOST_BUCKETED or _is_wide(size, num_vertices)


def _way(size: int, num_vertices: int, small: str) -> str:
    """Return the last part of the name of the kernel that sorts ``size`` edges: ``small``, "buckets" or "digits"."""
    if size <= MOST_SMALL and not _is_wide(size, num_vertices):
        return small
    return "buckets" if _is_bucketed(size, num_vertices) else "digits"


def _is_wide(size: int, num_vertices: int) -> bool:
    """Return whether source, destination and position of an edge take more than 64 bits, the size of a word to sort."""
    return 2 * _id_bits(num_vertices) + (size - 1).bit_length() > 64
