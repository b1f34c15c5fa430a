"""Workloads of the suite on large graphs: built in batches, updated, queried and ranked, beyond what a host can hold.

Nothing is verified against a copy of the graph, there is none: the edges are drawn again, a piece at a time. All edges
at a sample of the vertices, those whose hash is a multiple of a number, must be exactly those of the stream (of graphs
of up to 2^24 edges these are all vertices); of all vertices the degrees are compared, and all sums.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from suricate.arrays import sorted_distinct
from suricate.bench import constants
from suricate.bench.drawn import DrawnInput, drawn_degrees
from suricate.bench.fixtures import Batches, Fixture, HostBatch
from suricate.bench.runner import Skipped
from suricate.bench.scenarios import bytes_per_edge
from suricate.bench.verify.edges import expect, keys_of
from suricate.bench.workloads.base import FixtureTask
from suricate.devices import Device
from suricate.edge_streams import mixed
from suricate.errors import CapacityError
from suricate.graph import Graph
from suricate.operators import advance
from suricate.types import EdgeList

ALPHA = 0.85


def own(u, v, w, x):
    """Return the share of the source."""
    return x[u]


class Sample:
    """The sampled vertices of a drawn graph, in ascending order, and all its edges at them, drawn again.

    ``out_keys`` and ``in_keys`` are the keys of the edges that leave and that reach them, distinct and ascending. All
    are on the device.
    """

    def __init__(self, data: DrawnInput, xp: Any) -> None:
        self.data, self.xp = data, xp
        self.stride = np.uint64(max(1, data.num_edges // constants.SAMPLE_EDGES))
        begins = range(0, data.num_vertices, constants.PIECE)
        self.vertices = xp.concatenate([self._vertices(begin) for begin in begins])
        leaving, reaching = [], []
        for src, dst, _ in data.pieces(0, data.num_edges, xp):
            keys = keys_of(src, dst)
            leaving.append(keys[self.has(src)])
            reaching.append(keys[self.has(dst)])
        self.out_keys, self.in_keys = (sorted_distinct(xp.concatenate(parts), xp) for parts in (leaving, reaching))

    def has(self, ids: Any) -> Any:
        """Return which vertices are in the sample."""
        return mixed(ids.astype(np.uint64)) % self.stride == 0

    def _vertices(self, begin: int) -> Any:
        ids = self.xp.arange(begin, min(begin + constants.PIECE, self.data.num_vertices), dtype=np.uint32)
        return ids[self.has(ids)]

    def keys_in(self, graph: Any) -> Any:
        """Return the keys of the edges that leave sampled vertices in ``graph``, ascending."""
        xp, found = self.xp, graph.adjacency(self.vertices)
        owner = xp.searchsorted(found.offsets, xp.arange(len(found.dst)), side="right") - 1
        return xp.sort(keys_of(self.vertices[owner], found.dst))

    def sums_into(self, x: Any) -> Any:
        """Return, for each sampled vertex, the sum of ``x`` over the sources of the edges that reach it, float64."""
        src, dst = self.in_keys >> np.uint64(32), (self.in_keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        place = self.xp.searchsorted(self.vertices, dst)
        return self.xp.bincount(place, weights=x[src.astype(np.int64)], minlength=len(self.vertices))


class LargeGraph:
    """The graph of a drawn input, built in batches with memory reserved ahead; ``seconds`` of each batch."""

    def __init__(self, fixture: Fixture) -> None:
        data, device = DrawnInput.of(fixture), fixture.device
        size = max(1, min(constants.LARGE_BATCH, data.num_edges // constants.GROWTH_BATCHES))
        self.graph: Any = fixture.empty_graph(weighted=False)
        self.reserved = self._reserve(data.num_edges)
        self.seconds: list[float] = []
        self._compile(fixture, min(size, data.num_vertices))
        for begin in range(0, data.num_edges, size):
            self._insert(data.edges(begin, min(begin + size, data.num_edges), device.xp), device)
        self.sample = Sample(data, device.xp)
        self.sizes = bytes_per_edge(self.graph)

    def _reserve(self, num_edges: int) -> bool:
        """Reserve memory for all edges; return whether it was to be had. Without, the graph grows."""
        try:
            self.graph.reserve(num_edges)
        except CapacityError:
            return False
        return True

    def _compile(self, fixture: Fixture, size: int) -> None:
        """Insert into a small graph, so that the first batch waits for no compilation."""
        ids = fixture.device.xp.arange(size, dtype=np.uint32)
        Graph(size, **fixture.settings).insert_edges(ids, ids)

    def _insert(self, edges: EdgeList, device: Device) -> None:
        device.synchronize()
        start = time.perf_counter()
        self.graph.insert_edges(*edges[:2])
        device.synchronize()
        self.seconds.append(time.perf_counter() - start)

    @classmethod
    def of(cls, fixture: Fixture) -> LargeGraph:
        """Return the one that the tasks of ``fixture`` share."""
        if "large" not in fixture.cache:
            try:
                fixture.cache["large"] = cls(fixture)
            except CapacityError as error:
                raise Skipped(f"it does not fit: {error}") from error
        return fixture.cache["large"]


class Large(FixtureTask):
    """Base of the tasks on the shared graph."""

    oracle = "the edges drawn again"

    def __init__(self, fixture: Fixture, batch: int | None = None) -> None:
        super().__init__(fixture, batch)
        self.input = DrawnInput.of(fixture)

    def setup(self) -> None:
        """Get the graph."""
        self.shared = LargeGraph.of(self.fixture)
        self.graph, self.sample = self.shared.graph, self.shared.sample
        if self.batch is not None:
            self.items = self.batch
            self.graph.reserve(self.batch)
            self.batches = Batches(self.fixture, self.batch, self.workload)

    def existing(self, size: int) -> HostBatch:
        """Return random edges of the stream, drawn again."""
        numbers = self.batches.rng.integers(0, self.input.num_edges, size).astype(np.uint64)
        return HostBatch(self.fixture, *self.input.stream.at(numbers)[:2], self.batches.rng, False)

    def verify(self, out_keys: Any) -> None:
        """Compare the edges that leave sampled vertices with ``out_keys``, their number with the sum of the degrees."""
        found = self.sample.keys_in(self.graph)
        expect(len(found) == len(out_keys), f"{len(found)} edges leave sampled vertices instead of {len(out_keys)}")
        expect((found == out_keys).all(), "the right number of edges leaves sampled vertices, but other ones")
        degrees = int(self.graph.degrees().sum(dtype=np.uint64))
        expect(degrees == self.graph.num_edges, f"the degrees sum to {degrees}, num_edges is {self.graph.num_edges}")

    def finish(self) -> None:
        """Verify the graph once more: it holds the stream's edges again."""
        self.verify(self.sample.out_keys)
        self.check_degrees()

    def check_degrees(self) -> None:
        """Compare all degrees with how often the vertex was drawn: repeats count once, so a degree may be less."""
        degrees, drawn = self.graph.degrees(), drawn_degrees(self.fixture)
        if self.input.stream.distinct:
            expect((degrees == drawn).all(), "degrees differ from the number of edges drawn")
        else:
            fits = ((degrees <= drawn) & ((degrees > 0) == (drawn > 0))).all()
            expect(fits, "degrees do not fit the number of edges drawn")

    def extra(self) -> dict[str, Any]:
        """Return the size of the graph."""
        return {"num_vertices": self.input.num_vertices, "num_edges": self.graph.num_edges}


class LargeBuild(Large):
    """All edges, batch after batch."""

    workload = "large build"
    does = "inserts all edges of a drawn graph, batch after batch, with memory reserved ahead; once"
    timed = False

    def action(self, prepared: Any) -> None:
        """Do nothing here: the shared graph is built in :meth:`setup`."""

    def check(self, prepared: Any, result: None) -> None:
        """Verify the graph in :meth:`finish`, before any other task changes it."""

    def extra(self) -> dict[str, Any]:
        """Return the seconds of the whole and of batches, and the bytes per edge."""
        seconds = self.shared.seconds
        built = {
            "edges_per_s": self.input.num_edges / sum(seconds), "median_batch_s": statistics.median(seconds),
            "slowest_batch_s": max(seconds), "batches": len(seconds), "reserved": self.shared.reserved,
        }  # fmt: skip
        return {**super().extra(), **built, **self.shared.sizes}


class LargeInsert(Large):
    """A batch of uniform pairs."""

    workload = "large insert"
    does = "inserts a fresh batch of uniform pairs into a drawn graph; then, untimed, deletes what was new"

    def prepare(self) -> HostBatch:
        """Draw a batch."""
        return self.batches.draw("uniform")

    def action(self, batch: HostBatch) -> Any:
        """Insert."""
        return self.graph.insert_edges(*batch.edges)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Verify that the batch is there, and all edges that leave sampled vertices."""
        src, dst, _ = batch.edges
        expect(self.graph.has_edges(src, dst).all(), "large insert: an edge of the batch is not there")
        here = keys_of(src, dst)[self.sample.has(src)]
        xp = self.device.xp
        self.verify(sorted_distinct(xp.concatenate((self.sample.out_keys, here)), xp))

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Delete what was new."""
        self.graph.delete_edges(*delta.inserted[:2])


class LargeDelete(Large):
    """A batch of edges that are there."""

    workload = "large delete"
    does = "deletes a fresh batch of edges of a drawn graph; then, untimed, inserts them again"

    def prepare(self) -> HostBatch:
        """Draw some edges again."""
        assert self.batch is not None
        return self.existing(self.batch)

    def action(self, batch: HostBatch) -> Any:
        """Delete."""
        return self.graph.delete_edges(*batch.edges[:2])

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Verify that the batch is not there, and all edges that leave sampled vertices."""
        src, dst, _ = batch.edges
        expect(not self.graph.has_edges(src, dst).any(), "large delete: an edge of the batch is still there")
        xp, known = self.device.xp, self.sample.out_keys
        gone = xp.sort(keys_of(src, dst))
        self.verify(known[gone[xp.minimum(xp.searchsorted(gone, known), len(gone) - 1)] != known])

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Insert the batch again."""
        self.graph.insert_edges(*batch.edges[:2])


class LargeQuery(Large):
    """A batch of questions."""

    workload = "large query"
    does = "asks a drawn graph for a fresh batch of pairs; half of them are edges drawn again"

    def prepare(self) -> tuple[EdgeList, np.ndarray]:
        """Draw pairs in random order; return them, and which are edges for sure."""
        assert self.batch is not None
        known = self.existing(self.batch // 2)
        other = self.batches.draw("uniform")
        order = self.batches.rng.permutation(self.batch)
        pairs = (known.src, other.src), (known.dst, other.dst)
        ends = [np.concatenate(pair)[: self.batch][order] for pair in pairs]
        return self.fixture.upload(*ends), order < len(known.src)

    def action(self, asked: tuple[EdgeList, np.ndarray]) -> Any:
        """Ask."""
        return self.graph.has_edges(*asked[0][:2])

    def check(self, asked: tuple[EdgeList, np.ndarray], found: Any) -> None:
        """Verify every answer about an edge for sure, and about a sampled source."""
        (src, dst, _), sure = asked
        xp, known = self.device.xp, self.sample.out_keys
        expect(self.device.to_numpy(found)[sure].all(), "large query: an edge was not found")
        here = self.sample.has(src)
        keys = keys_of(src, dst)[here]
        there = known[xp.minimum(xp.searchsorted(known, keys), len(known) - 1)] == keys if len(known) else keys != keys
        expect((found[here] == there).all(), "large query: an answer about a sampled vertex is wrong")


class LargeRank(Large):
    """A step of ranks (a power iteration with jumps) along the out-edges, which takes no in-edges."""

    workload = "large rank step"
    does = "makes one step of a power iteration over a drawn graph, from the ranks of the step before (float64)"

    def setup(self) -> None:
        """Start from equal ranks."""
        super().setup()
        xp, n = self.device.xp, self.input.num_vertices
        self.items = self.graph.num_edges
        self.divisor = xp.maximum(self.graph.degrees(), np.uint32(1))
        self.rank, self.share, self.sums = xp.full(n, 1 / n), xp.empty(n), xp.empty(n)

    def action(self, prepared: Any) -> None:
        """Make a step; vertices without edges leave their rank to all."""
        xp, n = self.device.xp, len(self.rank)
        xp.divide(self.rank, self.divisor, out=self.share)
        self.sums.fill(0)
        advance(self.graph, None, own, self.sums, args=(self.share,), reduce="sum")
        xp.multiply(self.sums, ALPHA, out=self.rank)
        self.rank += (1 - ALPHA * self.sums.sum()) / n

    def check(self, prepared: Any, result: None) -> None:
        """Compare the sums of sampled vertices with those over edges drawn again, and the sum of all with what left."""
        found, right = self.sums[self.sample.vertices], self.sample.sums_into(self.share)
        expect(self.device.xp.allclose(found, right, rtol=1e-9, atol=0), "the rank of a sampled vertex is wrong")
        left, arrived = (float(x.sum()) for x in (self.share * self.graph.degrees(), self.sums))
        expect(abs(left - arrived) <= 1e-9 * left, f"ranks of {left} left, of {arrived} arrived")

    def finish(self) -> None:
        """Verify the last step."""
        self.check(None, None)


LARGE_OPERATIONS = (LargeInsert, LargeDelete, LargeQuery)
