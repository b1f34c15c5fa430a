"""Workloads of the suite on large graphs: built in batches, updated, queried and ranked, too large for a host.

``suricate.bench.workloads.drawn.graphs`` describes how a sample of the vertices is verified; here the degrees of all
vertices are compared, too.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from suricate.base.types import EdgeList, edge_keys
from suricate.bench.drawn import DrawnInput, drawn_degrees
from suricate.bench.fixtures import Batches, Fixture, HostBatch
from suricate.bench.verify.edges import expect
from suricate.bench.workloads.base import FixtureTask
from suricate.bench.workloads.drawn.graphs import LargeGraph, existing_edges, sample_of
from suricate.operators import advance

ALPHA = 0.85


def own(u, v, w, x):
    """Edge function: return ``x[u]``, the share of the rank that the source passes on; ``v`` and ``w`` are not used."""
    return x[u]


class Large(FixtureTask):
    """Base of the tasks on one large graph, which they share."""

    oracle = "the edges drawn again"

    def __init__(self, fixture: Fixture, batch: int | None = None) -> None:
        super().__init__(fixture, batch)
        self.input = DrawnInput.of(fixture)

    def setup(self) -> None:
        """Get the shared graph and the sample of its vertices; make the generator of batches."""
        self.shared = LargeGraph.of(self.fixture)
        self.graph, self.sample = self.shared.graph, sample_of(self.fixture)
        if self.batch is not None:
            self.items = self.batch
            self.graph.reserve(self.batch)
            self.batches = Batches(self.fixture, self.batch, self.workload)

    def finish(self) -> None:
        """Verify, after the last repeat, that the graph has the stream's edges again."""
        self.sample.check(self.graph, self.sample.out_keys)
        self.check_degrees()

    def check_degrees(self) -> None:
        """Compare the degree of each vertex with the number of its edges in the stream.

        If the stream repeats edges, a degree may be smaller than that number, but is 0 only if the number is.
        """
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
    """Insert all edges of the stream into an empty graph, in batches; it runs before the other tasks."""

    workload = "large build"
    does = "inserts all edges of a drawn graph, batch after batch, with memory reserved ahead; once"
    timed = False

    def action(self, prepared: Any) -> None:
        """Do nothing: :meth:`setup` has built the shared graph, and recorded the times."""

    def check(self, prepared: Any, result: None) -> None:
        """Do nothing: :meth:`finish` verifies the graph, before any other task changes it."""

    def extra(self) -> dict[str, Any]:
        """Return the rate of the build, the seconds of the median and slowest batch, and the bytes per edge."""
        seconds = self.shared.seconds
        built = {
            "edges_per_s": self.input.num_edges / sum(seconds), "median_batch_s": statistics.median(seconds),
            "slowest_batch_s": max(seconds), "batches": len(seconds), "reserved": self.shared.reserved,
        }  # fmt: skip
        return {**super().extra(), **built, **self.shared.sizes}


class LargeInsert(Large):
    """Insert a batch of uniform pairs."""

    workload = "large insert"
    does = "inserts a fresh batch of uniform pairs into a drawn graph; then, untimed, deletes what was new"

    def prepare(self) -> HostBatch:
        """Return a new batch of uniform pairs."""
        return self.batches.draw("uniform")

    def action(self, batch: HostBatch) -> Any:
        """Insert ``batch``; return the delta."""
        return self.graph.insert_edges(*batch.edges)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Verify that the graph has the edges of ``batch``, and the right edges at all sampled vertices."""
        src, dst, _ = batch.edges
        expect(self.graph.has_edges(src, dst).all(), "large insert: an edge of the batch is not there")
        self.sample.check(self.graph, self.sample.after((), edge_keys(src, dst)))

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Delete the edges that were new in the batch."""
        self.graph.delete_edges(*delta.inserted[:2])


class LargeDelete(Large):
    """Delete a batch of edges of the stream."""

    workload = "large delete"
    does = "deletes a fresh batch of edges of a drawn graph; then, untimed, inserts them again"

    def prepare(self) -> HostBatch:
        """Return a batch of random edges of the stream."""
        assert self.batch is not None
        return existing_edges(self.fixture, self.batches.rng, self.batch)

    def action(self, batch: HostBatch) -> Any:
        """Delete ``batch``; return the delta."""
        return self.graph.delete_edges(*batch.edges[:2])

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Verify that the graph has no edge of ``batch``, and the right edges at all sampled vertices."""
        src, dst, _ = batch.edges
        expect(not self.graph.has_edges(src, dst).any(), "large delete: an edge of the batch is still there")
        keys = edge_keys(src, dst)
        self.sample.check(self.graph, self.sample.after(keys, keys[:0]))

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Insert the edges of the batch again."""
        self.graph.insert_edges(*batch.edges[:2])


class LargeQuery(Large):
    """Query a batch of pairs, half of which are edges of the stream.

    ``asked`` is what :meth:`prepare` returned: the pairs, and a mask that is True for pairs that are surely edges.
    ``found`` are the answers, ``bool[n]``.
    """

    workload = "large query"
    does = "asks a drawn graph for a fresh batch of pairs; half of them are edges drawn again"

    def prepare(self) -> tuple[EdgeList, np.ndarray]:
        """Return ``(pairs on the device, mask on the host)``; the mask is True for edges drawn from the stream."""
        assert self.batch is not None
        known = existing_edges(self.fixture, self.batches.rng, self.batch // 2)
        other = self.batches.draw("uniform")
        order = self.batches.rng.permutation(self.batch)
        pairs = (known.src, other.src), (known.dst, other.dst)
        ends = [np.concatenate(pair)[: self.batch][order] for pair in pairs]
        return self.fixture.upload(*ends), order < len(known.src)

    def action(self, asked: tuple[EdgeList, np.ndarray]) -> Any:
        """Query the pairs ``asked[0]``; return which of them are edges, ``bool[n]`` on the device."""
        return self.graph.has_edges(*asked[0][:2])

    def check(self, asked: tuple[EdgeList, np.ndarray], found: Any) -> None:
        """Verify that ``found`` is True for the pairs drawn as edges, and right for all pairs with a sampled source."""
        pairs, sure = asked
        expect(self.device.to_numpy(found)[sure].all(), "large query: an edge was not found")
        self.sample.check_answers(pairs, found, self.sample.out_keys)


class LargeRank(Large):
    """One step of ranks (a power iteration with random jumps), pushed along the out-edges: in-edges are not needed."""

    workload = "large rank step"
    does = "makes one step of a power iteration over a drawn graph, from the ranks of the step before (float64)"

    def setup(self) -> None:
        """Get the shared graph; set all ranks to the same value."""
        super().setup()
        xp, n = self.device.xp, self.input.num_vertices
        self.items = self.graph.num_edges
        self.divisor = xp.maximum(self.graph.degrees(), np.uint32(1))
        self.rank, self.share, self.sums = xp.full(n, 1 / n), xp.empty(n), xp.empty(n)

    def action(self, prepared: Any) -> None:
        """Replace the ranks by those one step later; vertices without out-edges divide theirs among all vertices."""
        xp, n = self.device.xp, len(self.rank)
        xp.divide(self.rank, self.divisor, out=self.share)
        self.sums.fill(0)
        advance(self.graph, None, own, out=self.sums, args=(self.share,), reduce="sum")
        xp.multiply(self.sums, ALPHA, out=self.rank)
        self.rank += (1 - ALPHA * self.sums.sum()) / n

    def check(self, prepared: Any, result: None) -> None:
        """Verify the sums at sampled vertices by edges drawn again, and that all sums add up to what was pushed."""
        found, right = self.sums[self.sample.vertices], self.sample.sums_into(self.share)
        expect(self.device.xp.allclose(found, right, rtol=1e-9, atol=0), "the rank of a sampled vertex is wrong")
        left, arrived = (float(x.sum()) for x in (self.share * self.graph.degrees(), self.sums))
        expect(abs(left - arrived) <= 1e-9 * left, f"ranks of {left} left, of {arrived} arrived")

    def finish(self) -> None:
        """Verify the ranks after the last step: the sums at sampled vertices, and the total of all sums."""
        self.check(None, None)


LARGE_OPERATIONS = (LargeInsert, LargeDelete, LargeQuery)
