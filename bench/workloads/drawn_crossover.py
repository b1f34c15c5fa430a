"""Cells of the crossover map on graphs that are drawn in pieces: those that are too large for the host.

Uses and batches are those of ``suricate.bench.workloads.crossover``, but deleted edges may come twice in a batch.
Answers of algorithms are compared with the same computed anew, as on all large graphs, all else with edges drawn again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench.drawn import DrawnInput
from suricate.bench.fixtures import Batches, Fixture, HostBatch
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import expect, keys_of
from suricate.bench.verify.results import check_same
from suricate.bench.workloads.algorithms import DELETION_SHARES
from suricate.bench.workloads.crossover import QUERY, Crossing, Drawn
from suricate.bench.workloads.drawn_graphs import LargeGraph, existing_edges, sample_of
from suricate.delta import Batch, Delta


class DrawnCrossing(Crossing):
    """A mixed batch and one use of a drawn graph after it, end to end."""

    def __init__(self, fixture: Fixture, use: str, batch: int, sizes: tuple[int, ...] = ()) -> None:
        super().__init__(fixture, use, batch, sizes)
        self.input = DrawnInput.of(fixture)
        self.oracle = "the edges drawn again" + ("; computed anew" if self.subject else "")

    def begin(self) -> None:
        """See :meth:`Crossing.begin`."""
        if self.form != {"weighted": False, "directed": True}:
            raise Skipped("graphs that are drawn in pieces are directed and have no weights")
        super().begin()

    def new_graph(self) -> Any:
        """Return a graph with all edges of the stream."""
        return LargeGraph(self.fixture, in_edges=self.needs_in_edges).graph

    def draw_from(self) -> None:
        """Make the sources of batches."""
        assert self.batch is not None
        self.items, deletions = self.batch, int(self.batch * DELETION_SHARES[self.kind])
        self.inserts = Batches(self.fixture, self.batch - deletions, f"current {self.kind} inserts")
        self.deletions = deletions

    def prepare(self) -> Drawn:
        """Draw a batch, and the pairs that are asked for."""
        rng = self.inserts.rng
        insert, delete = self.inserts.draw("uniform"), existing_edges(self.fixture, rng, self.deletions)
        return insert, delete, self._questions(rng) if self.use == QUERY else None

    def _questions(self, rng: np.random.Generator) -> HostBatch:
        """Return pairs in random order, half of them edges of the stream."""
        known, other = existing_edges(self.fixture, rng, self.items // 2), self.asked.draw("uniform")
        order = rng.permutation(self.items)
        src, dst = np.concatenate((known.src, other.src)), np.concatenate((known.dst, other.dst))
        return HostBatch(self.fixture, src[: self.items][order], dst[: self.items][order], rng, False)

    def apply(self, batch: tuple[HostBatch, HostBatch]) -> Delta:
        """Apply the batch; what it changed is kept to undo it."""
        self.delta = super().apply(batch)
        return self.delta

    def check(self, batch: Drawn, result: Any) -> None:
        """Verify the edges at sampled vertices, and what the use gave."""
        insert, delete, asked = batch
        sample = sample_of(self.fixture)
        keys = sample.after(keys_of(*delete.edges[:2]), keys_of(*insert.edges[:2]))
        sample.check(self.graph, keys)
        if self.subject:
            anew = self.subject.new()
            anew.compute(self.graph)
            check_same(self.subject.kind, self.subject.params, self.tracker.result, anew.result, self.device)
        elif asked is not None:
            sample.check_answers(asked.edges, result, keys)
        elif result is not None:
            right = sample.sums_over(keys, self.x)
            near = self.device.xp.allclose(result[sample.vertices], right, rtol=1e-4)
            expect(near, "crossover: the product is wrong at a sampled vertex")

    def restore(self, batch: Any, result: Any) -> None:
        """Undo what the batch changed."""
        delta = self.delta
        self.graph.apply(Batch(insert=delta.deleted, delete=delta.inserted))
        self.housekeeper.tidy(self.items)

    def finish(self) -> None:
        """Verify the content once more."""
        sample = sample_of(self.fixture)
        sample.check(self.graph, sample.out_keys)
