"""``csr_baseline`` on CUDA: launches of the kernels in ``csr.cu``; see ``kernels.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from suricate.backends.csr_baseline.layout import CONSTANTS, Graph
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.devices import Array
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import BLOCK, bits_of, launch, packed_batch, weight_bits
from suricate.primitives.located import PRELUDE, LocatedBatch
from suricate.store import Store

HERE = Path(__file__).parent
DELETES_IN_PLACE = False


@cache
def program(bits: int) -> Program:
    """Return the backend's kernels for weights of so many bits."""
    prelude = f"{constants(CONSTANTS)}\n{PRELUDE}"
    return Program(HERE / "device" / "csr.cu", prelude, defines=(("WEIGHT_BITS", bits),), include=(shared.HERE,))


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    return [program(weight_bits(store.weight_dtype)), *shared.programs(store.weight_dtype)]


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`CsrKernels.locate`."""
    import cupy

    flags = cupy.empty(len(batch), np.int32)
    launch(
        program(bits_of(graph.weight)), "locate", len(batch),
        packed_batch(batch), graph.offsets, graph.dst, np.uint32(kind), flags,
    )  # fmt: skip
    flags.cumsum(dtype=np.int32, out=batch.rank)


def insert(graph: Graph, target: Graph, batch: LocatedBatch, weight: Array, bound: int) -> None:
    """See :meth:`CsrKernels.insert`."""
    _rebuild(graph, target, batch, bound, "merge_old", 1)
    launch(
        program(bits_of(graph.weight)), "merge_new", len(batch),
        packed_batch(batch), weight, target.dst, target.weight,
    )  # fmt: skip


def delete(graph: Graph, target: Graph, batch: LocatedBatch, bound: int) -> None:
    """See :meth:`CsrKernels.delete`."""
    _rebuild(graph, target, batch, bound, "compact_old", -1)


def _rebuild(graph: Graph, target: Graph, batch: LocatedBatch, bound: int, kernel: str, sign: int) -> None:
    """Queue the new offsets and the copy of the old edges."""
    code, data = program(bits_of(graph.weight)), packed_batch(batch)
    vertices = np.int64(len(graph.offsets) - 1)
    launch(code, "shift_offsets", len(graph.offsets), vertices, data, graph.offsets, np.int64(sign), target.offsets)
    blocks = -(-bound // (CONSTANTS["ITEMS"] * BLOCK))
    launch(
        code, kernel, blocks * BLOCK,
        vertices, data, graph.offsets, graph.dst, graph.weight, target.dst, target.weight,
    )  # fmt: skip
