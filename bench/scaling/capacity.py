"""The capacity of a graph that is divided among ranks: edges are inserted until a rank has no memory for more.

There is no copy of the graph to verify it against: the stream of edges is drawn a second time.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np

from suricate.base.types import edge_keys
from suricate.bench import constants
from suricate.bench.scaling.workloads import Job, Workload
from suricate.bench.verify.edges import among, expect
from suricate.errors import CapacityError
from suricate.generate.edge_streams import UniformStream
from suricate.plugins import algorithm


class Capacity(Workload):
    """Insert slices of a stream into an empty graph until one does not fit; then update the full graph.

    After a slice that does not fit, smaller ones are tried. Meanwhile some memory is held back for the work on the full
    graph, and the last slice that fitted is deleted again, so that there is memory for a batch. On the full graph a
    batch is inserted and deleted, and the algorithms ``names`` are computed.
    """

    workload = "scaling capacity"
    verified = "edges drawn again, sums of degrees"
    does = (
        "inserts slices of a drawn graph until memory runs out on a rank, drawing included; on the full graph a batch "
        "is inserted and deleted, and algorithms are computed"
    )
    once = True

    def __init__(self, job: Job, names: tuple[str, ...]) -> None:
        super().__init__(job)
        self._names, self._drawn, self._last = names, 0, 0
        self._new: Any = None  # edges that the last slice brought
        self._held_back: Any = None  # memory
        self._extra: dict[str, Any] = {}

    @property
    def items(self) -> int:
        """The number of edges inserted, repeats in the stream included."""
        return self._drawn

    def run(self) -> None:
        """Insert slices into an empty graph until none fits; then delete the new edges of the last one that fitted."""
        job = self.job
        self._held_back = job.device.xp.empty(_held_back(job), np.uint8)
        job.graph = self._graph = job.empty()
        for size in constants.CAPACITY_SLICES:
            while (left := job.data.num_edges - self._drawn) and self._fits(min(size, left)):
                pass
        self._held_back = None
        self._full = self._drawn < job.data.num_edges
        if self._new is None:
            raise CapacityError("not even a small slice fits")
        if self._full and self._drawn == self._last:
            raise CapacityError("only one slice fits: nothing would be left without it")
        if self._full:
            self._delete(self._new)
            self._drawn -= self._last
        self._new = None

    def _fits(self, size: int) -> bool:
        """Insert the next ``size`` edges of the stream, of which each rank passes a part; return whether more may fit.

        None do once a rank had to use the memory held back to list the edges that are new.
        """
        if self._held_back is None:
            return False
        low, high = self.job.part(size)
        edges: Any = None
        with contextlib.suppress(MemoryError):  # on this rank; all must leave the call below out
            edges = self.job.data.edges(self._drawn + low, self._drawn + high, self.job.device.xp)
        if not all(self.job.comm.allgather(edges is not None)):
            return False
        try:
            delta = self._graph.insert_edges(edges.src, edges.dst)
        except CapacityError:
            return False
        self._drawn += size
        self._last = size
        try:
            self._new = delta.inserted
        except MemoryError:  # on this rank; the slice is in, and is the last
            self._held_back = None
            self._new = delta.inserted
        if not all(self.job.comm.allgather(self._held_back is not None)):
            self._held_back = None
        return self._held_back is not None

    def _delete(self, edges: Any) -> None:
        """Delete ``edges``, which are the same on all ranks; each rank passes a part of them."""
        low, high = self.job.part(len(edges.src))
        self._graph.delete_edges(edges.src[low:high], edges.dst[low:high])

    def check(self) -> None:
        """Verify the full graph, change it, compute the algorithms on it, and verify it again."""
        self._check_graph()
        self._extra = {"num_edges": int(self._graph.num_edges), "full": self._full}
        self._extra |= {"memory": {part: int(size[1]) for part, size in self._graph.memory_usage().parts.items()}}
        self._change()
        self._extra["computed"] = {name: self._computed(name) for name in self._names}
        self._check_graph()

    def extra(self) -> dict[str, Any]:
        """Return by name what :meth:`check` found: the number of edges, and whether memory or the stream ended first.

        Further the bytes allocated by part of the store, the seconds to insert and to delete a batch, and seconds and
        sum of each algorithm.
        """
        return self._extra

    def _check_graph(self) -> None:
        """Verify that out- and in-degrees sum to the number of edges, and the answers to queries of some pairs.

        These are inserted edges, random pairs, and edges of the slice that was deleted because the graph was full.
        """
        graph, host = self._graph, self.job.device.to_numpy
        for direction in ("out", "in") if graph.has_in_edges else ("out",):
            total = int(graph.degrees(direction).sum(dtype=np.int64))
            expect(total == graph.num_edges, f"{direction}-degrees sum to {total}, there are {graph.num_edges} edges")
        xp, data, asked = self.job.device.xp, self.job.data, constants.CAPACITY_QUESTIONS
        rng = np.random.default_rng(data.stream.seed)

        def drawn(low: int, high: int) -> Any:
            return data.stream.at(xp.asarray(rng.integers(low, high, asked).astype(np.uint64)), xp)

        if data.stream.distinct:
            expect(graph.num_edges == self._drawn, f"{graph.num_edges} edges instead of {self._drawn}")
        there = drawn(0, self._drawn)
        expect(bool(graph.has_edges(there.src, there.dst).all()), "an edge that was inserted is not there")
        others = {"random pair": xp.asarray(rng.integers(0, data.num_vertices, (2, asked)).astype(np.uint32))}
        if self._full:
            others["pair of the slice that was deleted"] = drawn(self._drawn, self._drawn + self._last)[:2]
        for what, (src, dst) in others.items():
            found = host(graph.has_edges(src, dst))
            expect((found == self._was_drawn(edge_keys(src, dst))).all(), f"an answer about a {what} is wrong")

    def _was_drawn(self, keys: Any) -> np.ndarray:
        """Return which of ``keys`` are inserted edges, ``bool[n]``; each rank draws its part of the stream again."""
        xp = self.job.device.xp
        ascending, found = xp.sort(keys), xp.zeros(len(keys), bool)
        for piece in self.job.data.pieces(*self.job.part(self._drawn), xp):
            drawn = edge_keys(piece.src, piece.dst)
            found[xp.searchsorted(ascending, drawn[among(drawn, ascending, xp)])] = True
        at = xp.searchsorted(ascending, keys)
        return np.any(self.job.comm.allgather(self.job.device.to_numpy(found[at])), axis=0)

    def _change(self) -> None:
        """Insert a batch of uniform pairs and delete its new edges; verify both, and record the seconds of both."""
        job, graph, before = self.job, self._graph, self._graph.num_edges
        batches = UniformStream(job.data.stream.scale, job.data.stream.seed + 1)
        edges = batches.piece(*job.part(constants.CAPACITY_BATCH), job.device.xp)
        seconds, delta = self._timed(lambda: graph.insert_edges(edges.src, edges.dst))
        new, size = delta.inserted, min(constants.CAPACITY_QUESTIONS, constants.CAPACITY_BATCH)
        expect(graph.num_edges == before + len(new.src), "the number of edges is wrong after an insertion")
        asked = batches.piece(0, size, job.device.xp)  # the same on all ranks
        expect(bool(graph.has_edges(asked.src, asked.dst).all()), "an edge of a batch is not there")
        deleted, _ = self._timed(lambda: self._delete(new))
        expect(graph.num_edges == before, "the number of edges is wrong after a deletion")
        expect(not bool(graph.has_edges(new.src, new.dst).any()), "an edge that was deleted is there")
        self._extra |= {"insert_s": seconds, "delete_s": deleted}

    def _computed(self, name: str) -> dict[str, Any]:
        """Compute the algorithm ``name``; return its ``"seconds"`` and the ``"sum"`` of its result.

        The sum is None unless the result is one array of floats.
        """
        kind = algorithm(name)
        params = kind.sample_params(self.job.data.num_vertices, self.job.data.source)
        seconds, result = self._timed(lambda: self._graph.compute(kind, **params))
        parts = result if isinstance(result, tuple) else (result,)
        self.job.comm.same({f"{name}: part {number}": part for number, part in enumerate(parts)})
        is_real = len(parts) == 1 and getattr(result, "dtype", np.dtype(int)).kind == "f"
        return {"seconds": seconds, "sum": float(result.sum(dtype=np.float64)) if is_real else None}

    def _timed(self, call: Any) -> tuple[float, Any]:
        """Return the seconds of ``call()`` on the slowest rank, and what it returned on this rank."""
        self.job.device.synchronize()
        self.job.comm.barrier()
        begin = time.perf_counter()
        found = call()
        self.job.device.synchronize()
        return max(self.job.comm.allgather(time.perf_counter() - begin)), found


def _held_back(job: Job) -> int:
    """Return the bytes to hold back for the results of algorithms, a batch, and the pairs that verify the graph."""
    return 40 * job.data.num_vertices + 64 * constants.CAPACITY_BATCH + 64 * constants.PIECE
