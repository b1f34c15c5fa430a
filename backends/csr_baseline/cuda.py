"""``csr_baseline`` on CUDA: launches of the kernels in ``merge.cu`` and ``both.cu``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.backends.csr_baseline.layout import CONSTANTS, MERGE, MERGE_BOTH, Graph, Rebuild
from suricate.base.devices import Array, Device
from suricate.cuda.launch import GridBarrier, StructKernel, multiprocessors
from suricate.cuda.program import Program
from suricate.primitives.cuda import store_program, weight_bits
from suricate.primitives.located import CHANGE_BLOCK, CHANGING, LocatedBatch, Report, Scratch, scratch_offsets, values
from suricate.store import Store, sorter

HERE = Path(__file__).parent / "device"
BARRIERS = 2  #: of the grid in a merge


@cache
def merge_program(bits: int, *, both: bool = False) -> Program:
    """Return the program of ``merge.cu``, or of ``both.cu``, for weights of ``bits`` bits (0: unweighted)."""
    source, structs = HERE / ("both.cu" if both else "merge.cu"), (CHANGING, MERGE, MERGE_BOTH)
    return store_program(source, bits, CONSTANTS, structs, cooperative=True, defines=(("BOTH", int(both)),))


def programs(store: Store) -> list[Program]:
    """Return all programs that ``store`` launches."""
    dtype = store.weight_dtype
    bits = weight_bits(dtype)
    return [merge_program(bits), merge_program(bits, both=True), *sorter.programs(dtype)]


class CsrCuda:
    """The functions of :class:`CsrKernels` for one store: a launch locates a batch and merges it into new arrays.

    ``graph`` has the old arrays; ``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before
    sorting; status and old weight of each edge are written to ``report``.
    """

    def __init__(self, device: Device, weight_dtype: np.dtype | None) -> None:
        self._device, self._bits = device, weight_bits(weight_dtype)
        self._barrier, self._scratch = GridBarrier(device), Scratch(device)
        self._kernels: dict[bool, tuple[StructKernel, int]] = {}  # with the blocks of a launch

    def insert(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """Launch the merge of ``graph`` and the absent entries of a batch into ``rebuild.target``."""
        assert rebuild is not None
        self._merge_batch(graph, rebuild, batch, weight, report, deleting=False)

    def delete(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
        """Launch the copy of ``graph`` without the present entries of a batch to ``rebuild.target``."""
        assert rebuild is not None
        self._merge_batch(graph, rebuild, batch, report.before, report, deleting=True)

    def change(
        self, graph: Graph, rebuild: Rebuild, batch: LocatedBatch, deletes: int, weight: Array, report: Report
    ) -> None:
        """Delete the first ``deletes`` edges of a batch and insert the others, in one merge into ``rebuild.target``.

        ``weight`` has only the weights of the inserted edges.
        """
        kernel, blocks = self._kernel(both=True)
        size = len(batch)
        scratch, _memory = self._scratch(
            (size, blocks), lambda: scratch_offsets(size, blocks, 4 * size, 4 * size, 4 * blocks, 4 * size)
        )
        merge = self._values(graph, rebuild, batch, weight, report, scratch, blocks, deleting=False)
        MERGE_BOTH.packer.pack_into(kernel.buffer, 0, *merge, deletes, *scratch[6:])
        kernel.launch(blocks, CHANGE_BLOCK)

    def _merge_batch(
        self, graph: Graph, rebuild: Rebuild, batch: LocatedBatch, weight: Array, report: Report, *, deleting: bool
    ) -> None:
        kernel, blocks = self._kernel(both=False)
        size = len(batch)
        scratch, _memory = self._scratch((size,), lambda: scratch_offsets(size, blocks, 4 * size))
        merge = self._values(graph, rebuild, batch, weight, report, scratch, blocks, deleting=deleting)
        MERGE.packer.pack_into(kernel.buffer, 0, *merge)
        kernel.launch(blocks, CHANGE_BLOCK)

    def _kernel(self, *, both: bool) -> tuple[StructKernel, int]:
        """Return the kernel of ``merge.cu``, or if ``both`` of ``both.cu``, and the number of blocks of a launch."""
        if both not in self._kernels:
            name, struct = ("merge_both", MERGE_BOTH) if both else ("merge_batch", MERGE)
            kernel = StructKernel(merge_program(self._bits, both=both), name, struct.size)
            self._kernels[both] = kernel, multiprocessors(self._device) * kernel.resident(CHANGE_BLOCK)
        return self._kernels[both]

    def _values(
        self, graph: Graph, rebuild: Rebuild, batch: LocatedBatch, weight: Array, report: Report,
        scratch: tuple[int, ...], blocks: int, *, deleting: bool,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the values of the struct ``Merge`` for one merge, in order."""
        new, offsets = rebuild.target, graph.offsets.data.ptr
        rows = offsets, offsets + 8, graph.dst.data.ptr, graph.weight.data.ptr
        return (
            *values(batch, rows, weight, report, scratch[:5]),
            self._barrier.address, self._barrier.expected(blocks, BARRIERS), deleting,
            len(graph.offsets) - 1, new.offsets.data.ptr, new.dst.data.ptr, new.weight.data.ptr, scratch[5],
        )  # fmt: skip
