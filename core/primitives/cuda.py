"""The building blocks on CUDA: kernel launches. ``cpu.py`` specifies those for located batches, by the same names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EdgeList
from suricate.cuda.launch import address
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants
from suricate.primitives.located import LOCATED, PRELUDE, LocatedBatch, Report

HERE = Path(__file__).parent
BLOCK = 256
NULL = np.uint64(0)  #: a null pointer argument
RANK_IN_BLOCK = 1 << 14  #: entries up to which one block ranks them: a launch of the host takes longer
WEIGHT_BITS = {1: 0, 4: 32, 8: 64}  #: the macro by the bytes of a bit pattern; an absent weight has one byte


def weight_bits(weight_dtype: np.dtype | None) -> int:
    """Return the value of the C++ macro ``WEIGHT_BITS``: the bits of ``weight_dtype``, 0 for None (no weights)."""
    return 0 if weight_dtype is None else 8 * weight_dtype.itemsize


def store_program(
    source: Path, bits: int, numbers: Mapping[str, int], structs: Iterable[Struct], *, cooperative: bool = False,
    defines: tuple[tuple[str, int | str], ...] = (),
) -> Program:  # fmt: skip
    """Return the CUDA program of a store; its kernels can take located batches.

    Args:
        source: the ``.cu`` file; headers are searched for in its folder and in that of this module.
        bits: bits of a weight, 0 if there are none.
        numbers, structs: constants, by name, and structs to declare in C++ as in Python.
        cooperative: whether kernels are launched cooperatively.
        defines: further macros, as pairs of name and value.
    """
    declared = (struct.declaration for struct in structs)
    prelude = "\n".join([constants(numbers), PRELUDE, '#include "bits.cuh"', *declared])
    return Program(source, prelude, (("WEIGHT_BITS", bits), *defines), include=(HERE,), cooperative=cooperative)


@cache
def program(bits: int = 0) -> Program:
    """Return the program of ``primitives.cu`` for weights of ``bits`` bits, 0: no weights."""
    return Program(HERE / "primitives.cu", defines=(("WEIGHT_BITS", bits),))


@cache
def batch_program(bits: int) -> Program:
    """Return the program of ``batch.cu`` for weights of ``bits`` bits, 0: no weights."""
    return Program(HERE / "batch.cu", PRELUDE, defines=(("WEIGHT_BITS", bits),))


def programs(weight_dtype: np.dtype | None) -> list[Program]:
    """Return all CUDA programs of the building blocks for weights of ``weight_dtype``, None: no weights."""
    bits = weight_bits(weight_dtype)
    return [program(), program(bits), batch_program(bits)]


def launch(code: Program, name: str, threads: int, *args: Any, block: int = BLOCK) -> None:
    """Launch kernel ``name`` with at least ``threads`` threads (0: none) in blocks; None is a null pointer."""
    if threads:
        grid = (threads + block - 1) // block
        code.kernel(name)((grid,), (block,), tuple(NULL if arg is None else arg for arg in args))


def packed(struct: Struct, *values: Any) -> Any:
    """Return ``struct`` with the fields ``values``, to be passed to a kernel; arrays become addresses, None null."""
    return np.array(tuple(map(address, values)), struct.dtype)[()]


def packed_batch(batch: LocatedBatch) -> Any:
    """Return ``batch`` as the C++ struct ``LocatedBatch``, packed once per batch."""
    if batch.packed is None:
        b = batch
        b.packed = packed(LOCATED, b.keys, b.order, b.kind, b.slot, b.rank, b.guard, len(b.keys))
    return batch.packed


def sort_batch(src: Array, dst: Array, bits: int) -> tuple[Array, Array]:
    """Sort the edges ``src[i] -> dst[i]``, whose ids have ``bits`` bits, by source, then destination."""
    import cupy

    m = len(src)
    low = (m - 1).bit_length()
    if 2 * bits + low > 64:
        keys = (src.astype(np.uint64) << np.uint64(32)) | dst
        order = cupy.argsort(keys, kind="stable")
        return keys[order], order.astype(np.uint32)
    words = cupy.empty(m, np.uint64)
    shape = (np.uint32(bits), np.uint32(low))
    launch(program(), "pack_words", m, np.uint32(m), src, dst, *shape, words)
    words.sort()
    keys, order = cupy.empty(m, np.uint64), cupy.empty(m, np.uint32)
    launch(program(), "unpack_words", m, np.uint32(m), words, *shape, keys, order)
    return keys, order


def copy_segments(offsets: Array, begin: Array, target: Array, bound: int, old: EdgeList, new: EdgeList) -> None:
    """Launch the kernel that copies ranges of slots from the arrays of ``old`` to those of ``new``."""
    bits = 0 if new.weight is None or not len(new.weight) else 8 * new.weight.dtype.itemsize
    blocks = (bound + 8 * BLOCK - 1) // (8 * BLOCK)
    launch(
        program(bits), "copy_ranges", blocks * BLOCK, np.int64(len(begin)), offsets, begin, target,
        old.dst, old.weight if bits else None, new.dst, new.weight if bits else None,
        new.src if len(new.src) else None,
    )  # fmt: skip


def rank(batch: LocatedBatch, kind: int) -> None:
    """Write to ``batch.rank[i]`` how many of the entries up to and including ``i`` have the kind ``kind``."""
    size, kind_arg = len(batch), np.uint32(kind)
    if size <= RANK_IN_BLOCK:
        launch(batch_program(0), "rank_in_block", 1, packed_batch(batch), kind_arg, batch.rank, block=1024)
        return
    import cupy

    flags = cupy.empty(size, np.int32)
    launch(batch_program(0), "flag", size, packed_batch(batch), kind_arg, flags)
    flags.cumsum(dtype=np.int32, out=batch.rank)


def report_insertion(batch: LocatedBatch, weight: Array, batch_weight: Array, report: Report) -> None:
    """Write the outcome of inserting ``batch`` to ``report``, in the caller's order; replace stored weights in place.

    ``weight`` (by slot) and ``batch_weight`` (by position in the caller's batch) are bit patterns. Every status is
    written.
    """
    code = batch_program(bits_of(weight))
    launch(code, "report_insertion", len(batch), packed_batch(batch), weight, batch_weight, *report)


def report_deletion(batch: LocatedBatch, weight: Array, report: Report) -> None:
    """Write status and old weight of each edge of ``batch``, a deletion, to ``report``, in the caller's order."""
    code = batch_program(bits_of(weight))
    launch(code, "report_deletion", len(batch), packed_batch(batch), weight, *report)


def answer(batch: LocatedBatch, weight: Array, found: Array, result: Array) -> None:
    """Write which edges of ``batch`` are stored, and the bits of their weights, in the caller's order."""
    launch(batch_program(bits_of(weight)), "answer", len(batch), packed_batch(batch), weight, found, result)


def log_new(src: Array, dst: Array, status: Array, count: Array, log: Array) -> None:
    """Append the keys ``src << 32 | dst`` of all edges whose ``status`` is ``NEW`` to ``log`` (uint64), in any order.

    ``src``, ``dst`` and ``status`` have one entry per edge of the batch. ``count``, ``uint64[1]``, is the number of
    keys in ``log``, and is increased in place.
    """
    m = len(src)
    launch(batch_program(0), "log_new", m, np.uint32(m), src, dst, status, count, log)


def bits_of(weight: Array) -> int:
    """Return the value of the C++ macro ``WEIGHT_BITS`` for the array ``weight`` of bit patterns: 0, 32 or 64."""
    return WEIGHT_BITS[weight.itemsize]
