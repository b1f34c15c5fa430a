"""Rows of a graph in the order of their neighbours' ids, for algorithms that choose the i-th neighbour.

Backends keep rows in orders of their own, some of which depend on the history of the graph. The i-th neighbour in
ascending order is the same on every backend and device, and reading it takes one id, not the whole row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.base.types import EMPTY
from suricate.intake.arrays import on_host, sorted_distinct
from suricate.kernels import loops_over, without_weights
from suricate.store.fallbacks import CONTIGUOUS

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph

TRANSPOSED = Path(__file__).parent / "transposed_cpu.py"
AT_A_TIME = 1 << 25  #: arcs that are sorted together; they take 28 bytes each meanwhile


class AscendingRows:
    """Copies of the rows of a graph, each sorted by neighbour.

    On a divided graph these are the rows of this rank's vertices. A row is copied when it is first needed. Copies take
    4 bytes per edge, and 12 per vertex of the graph.

    Args:
        graph: must not change while the rows are in use.
        all_at_once: copy all rows now; :meth:`choose` then does not wait for the device.

    Attributes:
        dst: ``uint32``, the neighbours in all copied rows, row by row; longer than these by at least one entry.
        offsets: if all are copied, row ``u`` is ``dst[offsets[u]:offsets[u + 1]]``; else None.
    """

    def __init__(self, graph: Graph, *, all_at_once: bool) -> None:
        self._store = (graph if graph.partition is None else graph.partition.follow()).store("out")
        self._xp = graph.device.xp
        self._count = self._store.degrees()
        self._begin = self._xp.full(graph.num_vertices, -1, np.int64)
        self._used, self.dst = 0, self._xp.zeros(1, np.uint32)  # one more place, so that an empty row has an index
        self.offsets: Array | None = None
        if all_at_once:
            self._copy_all(graph)

    def choose(self, vertices: Array, bits: Array) -> Array:
        """Return a random neighbour of each of ``vertices``, ``uint32[k]``; EMPTY if this rank has none.

        Args:
            vertices: ids, ``uint32[k]``, repeats allowed.
            bits: random numbers, ``uint64[k]``: the upper 32 bits choose the neighbour.
        """
        if self.offsets is None:
            self._copy(sorted_distinct(vertices[self._begin[vertices] < 0], self._xp))
        count = self._count[vertices].astype(np.uint64)
        place = self._begin[vertices] + (count * (bits >> np.uint64(32)) >> np.uint64(32)).astype(np.int64)
        return self._xp.where(count > 0, self.dst[place], np.uint32(EMPTY))

    def _copy_all(self, graph: Graph) -> None:
        xp, num_vertices = self._xp, graph.num_vertices
        if not graph.device.is_cuda and graph.partition is None and self._take_rows(graph):
            return
        if graph.most_arcs > AT_A_TIME:
            self._copy(xp.arange(num_vertices, dtype=np.uint32))
            self.offsets = xp.append(self._begin, self._used)
            return
        src, dst, _ = self._store.edges()
        self.dst = xp.zeros(len(dst) + 1, np.uint32)
        self.dst[:-1] = xp.sort(src.astype(np.uint64) << np.uint64(32) | dst)
        self._list_offsets()

    def _list_offsets(self) -> None:
        self.offsets = self._xp.zeros(len(self._count) + 1, np.int64)
        self._xp.cumsum(self._count, dtype=np.int64, out=self.offsets[1:])
        self._begin = self.offsets[:-1]

    def _take_rows(self, graph: Graph) -> bool:
        """Take the rows without sorting, if they are stored in ascending order, or there are in-edges; return whether.

        In a pass over the in-edges of all vertices, each one comes last in the rows of its in-neighbours.
        """
        view = graph.view("out")
        is_sorted = view.cursor == CONTIGUOUS and view.ascending
        if is_sorted and np.array_equal(view.data.begin[1:], view.data.end[:-1]) and view.num_vertices:
            begin, end, dst = view.data[:3]
            self.offsets, self.dst = np.append(begin, end[-1]), np.append(dst[: end[-1]], np.uint32(0))
            self._begin = begin
        elif graph.has_in_edges:
            self._list_offsets()
            into = graph.view("in")
            self.dst = np.zeros(int(self._count.sum(dtype=np.int64)) + 1, np.uint32)
            loops_over(into, TRANSPOSED).transpose(
                without_weights(into), graph.num_vertices, self._begin.copy(), self.dst
            )
        return self.offsets is not None

    def _copy(self, vertices: Array) -> None:
        xp = self._xp
        for some in self._slices(vertices):
            offsets, dst, _ = self._store.adjacency(some)
            row = xp.searchsorted(offsets, xp.arange(len(dst)), side="right") - 1
            keys = xp.sort(row.astype(np.uint64) << np.uint64(32) | dst)
            end = self._used + len(keys)
            if end >= len(self.dst):
                longer = xp.zeros(max(end + 1, 2 * self._used), np.uint32)
                longer[: self._used] = self.dst[: self._used]
                self.dst = longer
            self.dst[self._used : end] = keys.astype(np.uint32)
            self._begin[some] = self._used + offsets[:-1]
            self._used = end

    def _slices(self, vertices: Array) -> Iterator[Array]:
        """Yield ``vertices`` in parts whose rows have at most :data:`AT_A_TIME` arcs in all, or that are one vertex."""
        ends = on_host(self._xp.cumsum(self._count[vertices], dtype=np.int64))
        begin = 0
        while begin < len(vertices):
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + AT_A_TIME, side="right")))
            yield vertices[begin:end]
            begin = end
