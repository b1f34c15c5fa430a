"""``csr_baseline`` on CUDA: launches of the kernels in ``csr.cu`` and ``merge.cu``; see ``kernels.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from suricate.backends.csr_baseline.layout import CONSTANTS, MERGE, Graph, Rebuild
from suricate.cuda.barrier import GridBarrier
from suricate.cuda.launch import StructKernel
from suricate.cuda.program import Program
from suricate.cuda.structs import constants
from suricate.devices import Array, Device
from suricate.primitives import cuda as shared
from suricate.primitives import sorter
from suricate.primitives.changing import CHANGE_BLOCK, CHANGING, Scratch, scratch_offsets, values
from suricate.primitives.cuda import bits_of, launch, packed_batch, weight_bits
from suricate.primitives.located import PRELUDE, LocatedBatch, Report
from suricate.store import Store

HERE = Path(__file__).parent
BARRIERS = 2  #: of the grid in a merge


@cache
def program(bits: int) -> Program:
    """Return the kernels of ``csr.cu`` for weights of this many bits."""
    return Program(HERE / "device" / "csr.cu", PRELUDE, defines=(("WEIGHT_BITS", bits),), include=(shared.HERE,))


@cache
def merge_program(bits: int) -> Program:
    """Return the kernel of ``merge.cu`` for weights of this many bits."""
    prelude = "\n".join([constants(CONSTANTS), PRELUDE, '#include "bits.cuh"', CHANGING.declaration, MERGE.declaration])
    defines = (("WEIGHT_BITS", bits),)
    return Program(HERE / "device" / "merge.cu", prelude, defines, include=(shared.HERE,), cooperative=True)


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    dtype = store.weight_dtype
    own = [program(weight_bits(dtype)), merge_program(weight_bits(dtype))]
    return [*own, *sorter.programs(dtype), *shared.programs(dtype)]


class CsrCuda:
    """The functions of :class:`CsrKernels` for one store."""

    DELETES_IN_PLACE = False

    def __init__(self, device: Device, weight_dtype: np.dtype | None) -> None:
        self._device, self._bits = device, weight_bits(weight_dtype)
        self._barrier, self._scratch = GridBarrier(device), Scratch(device)
        self._merge: StructKernel | None = None
        self._blocks = 0

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """See :meth:`CsrKernels.locate`; a merge does so itself, so this is for those that must know more before."""
        launch(program(bits_of(graph.weight)), "locate", len(batch), packed_batch(batch), graph.offsets, graph.dst)
        shared.rank(batch, kind)

    def insert(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """See :meth:`CsrKernels.insert`."""
        assert rebuild is not None
        self._merge_batch(graph, rebuild, batch, weight, report, deleting=False)

    def delete(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
        """See :meth:`CsrKernels.delete`."""
        assert rebuild is not None
        self._merge_batch(graph, rebuild, batch, report.before, report, deleting=True)

    def _merge_batch(
        self, graph: Graph, rebuild: Rebuild, batch: LocatedBatch, weight: Array, report: Report, *, deleting: bool
    ) -> None:
        merge, size, new = self._merge, len(batch), rebuild.target
        if merge is None:
            merge = self._merge = StructKernel(merge_program(self._bits), "merge_batch", MERGE.size)
            processors = self._device.xp.cuda.Device(self._device.index).attributes["MultiProcessorCount"]
            self._blocks = processors * merge.resident(CHANGE_BLOCK)
        scratch, _memory = self._scratch((size,), lambda: scratch_offsets(size, self._blocks, 4 * size))
        offsets = graph.offsets.data.ptr
        rows = offsets, offsets + 8, graph.dst.data.ptr, graph.weight.data.ptr
        MERGE.packer.pack_into(
            merge.buffer, 0, *values(batch, rows, weight, report, scratch[:5]),
            self._barrier.address, self._barrier.expected(self._blocks, BARRIERS), deleting,
            len(graph.offsets) - 1, new.offsets.data.ptr, new.dst.data.ptr, new.weight.data.ptr, scratch[5],
        )  # fmt: skip
        merge.launch(self._blocks, CHANGE_BLOCK)

    def find(self, graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
        """See :meth:`CsrKernels.find`."""
        m = len(src)
        code = program(bits_of(graph.weight))
        launch(code, "find_edges", m, np.uint32(m), src, dst, *graph, found, weight)
