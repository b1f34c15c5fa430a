"""``csr_baseline`` on CUDA: launches of the kernels in ``csr.cu``; see ``kernels.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from suricate.backends.csr_baseline.layout import CONSTANTS, Graph, Rebuild
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.devices import Array
from suricate.primitives import cuda as shared
from suricate.primitives.cuda import BLOCK, bits_of, launch, packed_batch, weight_bits
from suricate.primitives.located import PRELUDE, LocatedBatch, Report
from suricate.store import Store

HERE = Path(__file__).parent
DELETES_IN_PLACE = False


@cache
def program(bits: int) -> Program:
    """Return the backend's kernels for weights of this many bits."""
    prelude = f"{constants(CONSTANTS)}\n{PRELUDE}"
    return Program(HERE / "device" / "csr.cu", prelude, defines=(("WEIGHT_BITS", bits),), include=(shared.HERE,))


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    return [program(weight_bits(store.weight_dtype)), *shared.programs(store.weight_dtype)]


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`CsrKernels.locate`."""
    launch(program(bits_of(graph.weight)), "locate", len(batch), packed_batch(batch), graph.offsets, graph.dst)
    shared.rank(batch, kind)


def insert(graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """See :meth:`CsrKernels.insert`."""
    assert rebuild is not None
    target = rebuild.target
    _rebuild(graph, rebuild, batch, "merge_old", 1)
    launch(
        program(bits_of(graph.weight)), "merge_new", len(batch),
        packed_batch(batch), graph.weight, weight, target.dst, target.weight, *report,
    )  # fmt: skip


def delete(graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`CsrKernels.delete`."""
    assert rebuild is not None
    shared.report_deletion(batch, graph.weight, report)
    _rebuild(graph, rebuild, batch, "compact_old", -1)


def find(graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
    """See :meth:`CsrKernels.find`."""
    m = len(src)
    code = program(bits_of(graph.weight))
    launch(code, "find_edges", m, np.uint32(m), src, dst, *graph, found, weight)


def _rebuild(graph: Graph, rebuild: Rebuild, batch: LocatedBatch, kernel: str, sign: int) -> None:
    """Queue the new offsets and the copy of the old edges."""
    (target, bound), code, data = rebuild, program(bits_of(graph.weight)), packed_batch(batch)
    vertices = np.int64(len(graph.offsets) - 1)
    launch(code, "shift_offsets", len(graph.offsets), vertices, data, graph.offsets, np.int64(sign), target.offsets)
    blocks = -(-bound // (CONSTANTS["ITEMS"] * BLOCK))
    launch(
        code, kernel, blocks * BLOCK,
        vertices, data, graph.offsets, graph.dst, graph.weight, target.dst, target.weight,
    )  # fmt: skip
