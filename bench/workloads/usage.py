"""Workloads of the usage suite: queries and updates in alternation, and the peak of memory during an update.

``rounds`` are the rounds of one repeat, in order; ``batch`` is the batch of an update, None for a bulk build.
``answers`` and ``result`` are what ``action`` returned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, HostBatch
from suricate.bench.machine.allocations import metering
from suricate.bench.runner import Skipped
from suricate.bench.scenarios import bytes_per_edge, scenario_of
from suricate.bench.verify.edges import ExpectedChange, among, check_content, expect
from suricate.bench.workloads.base import FixtureTask
from suricate.graph.delta import Batch


class Round(NamedTuple):
    """One round: pairs to query first, then edges to insert and to delete in one update."""

    asked: HostBatch
    insert: HostBatch
    delete: HostBatch


class ReadsAndWrites(FixtureTask):
    """Rounds of a batch of queries, then an update; ``reads``: the share of queries among the edges of a round."""

    workload = "reads and writes"
    does = "eight rounds: asks for some pairs, then inserts new edges and deletes those of the round before, at once"

    def __init__(self, fixture: Fixture, batch: int, reads: float) -> None:
        super().__init__(fixture, batch)
        self.asked = max(1, round(reads * batch))
        self.written = max(1, (batch - self.asked) // 2)
        self.items = constants.ROUNDS * (self.asked + 2 * self.written)
        self.size = batch
        self.label_row(f"{reads:.0%} reads")

    def setup(self) -> None:
        """Get the shared graph; make the generators of pairs."""
        if self.size > len(self.fixture.data.model):
            raise Skipped(f"the batch has more edges than the graph ({len(self.fixture.data.model)})")
        self.subject = scenario_of(self.fixture, "fresh")
        self.subject.reserve(self.size)
        half = self.asked // 2
        self.known = Batches(self.fixture, half, f"known, {self.detail}")
        self.other = Batches(self.fixture, self.asked - half, f"other, {self.detail}")
        self.written_pairs = Batches(self.fixture, self.written, f"written, {self.detail}")

    def prepare(self) -> list[Round]:
        """Return the rounds of a repeat; insert the batch that the first round deletes."""
        before, rounds = self._new(), []
        self.subject.graph.insert_edges(*before.edges)
        for _ in range(constants.ROUNDS):
            insert = self._new()
            rounds.append(Round(self._questions(before), insert, before))
            before = insert
        return rounds

    def _new(self) -> HostBatch:
        """Return a batch of uniform pairs that are not edges of the graph."""
        drawn = self.written_pairs.draw("uniform")
        new = ~self.subject.model.contains(drawn.keys)
        return HostBatch(self.fixture, drawn.src[new], drawn.dst[new], self.written_pairs.rng, self.fixture.weighted)

    def _questions(self, before: HostBatch) -> HostBatch:
        """Return pairs to query, shuffled: half from the input, up to a quarter from ``before``, the others uniform."""
        known, other, own = self.known.draw("existing"), self.other.draw("uniform"), self.asked // 4
        order = self.other.rng.permutation(self.asked)
        src, dst = (
            np.concatenate((a, b[:own], c))[: self.asked][order]
            for a, b, c in ((known.src, before.src, other.src), (known.dst, before.dst, other.dst))
        )
        return HostBatch(self.fixture, src, dst, self.other.rng, False)

    def action(self, rounds: list[Round]) -> list[Any]:
        """Query and update, round after round; return the answers of each round, a list of bool[n]."""
        graph, answers = self.subject.graph, []
        for asked, insert, delete in rounds:
            answers.append(graph.has_edges(asked.edges.src, asked.edges.dst))
            graph.apply(Batch(insert=insert.edges, delete=delete.edges))
        return answers

    def check(self, rounds: list[Round], answers: list[Any]) -> None:
        """Compare the ``answers`` of each round with the edges stored at that time; then verify the graph's edges."""
        model = self.subject.model
        for (asked, _, before), found in zip(rounds, answers, strict=True):
            right = model.contains(asked.keys) | among(asked.keys, np.sort(before.keys))
            wrong = np.count_nonzero(self.device.to_numpy(found) != right)
            expect(wrong == 0, f"reads and writes: {wrong} of {self.asked} answers of a round are wrong")
        new = rounds[-1].insert.keys
        check_content(self.subject.graph, ExpectedChange(model, new[:0], new), "reads and writes: content")

    def restore(self, rounds: list[Round], answers: list[Any]) -> None:
        """Delete the edges that the last round inserted."""
        last = rounds[-1].insert.edges
        self.subject.graph.delete_edges(last.src, last.dst)
        self.subject.tidy(self.size)

    def finish(self) -> None:
        """Verify the edges of the graph after the last repeat."""
        check_content(self.subject.graph, self.subject.model)

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge of the shared graph."""
        return self.subject.facts()


class Peak(FixtureTask):
    """The most bytes that are allocated at any time during an update; they include those of the graph before it.

    ``kind``: ``"bulk build"`` (into an empty graph), ``"insert"`` (uniform pairs) or ``"delete"`` (existing edges). No
    memory is reserved. An equal update of another graph runs first, so that nothing is compiled during the measurement.
    """

    workload = "peak memory"
    does = "measures the bytes that are allocated at the peak of an update, which reserves nothing; not timed"
    timed = False

    def __init__(self, fixture: Fixture, kind: str, batch: int | None = None) -> None:
        super().__init__(fixture, batch)
        self.kind = kind
        self.label_row(kind)

    def setup(self) -> None:
        """Copy the edges of the input to the device."""
        self.model = self.fixture.model()
        if self.batch is not None and self.batch > len(self.model):
            raise Skipped(f"the batch has more edges than the graph ({len(self.model)})")
        self.edges = self.fixture.all_edges()

    def prepare(self) -> HostBatch | None:
        """Draw the batch (None for a bulk build), apply it to another graph of the same edges, and return it."""
        batch = None
        if self.batch is not None:
            batches = Batches(self.fixture, self.batch, f"peak {self.kind}", weighted=self.fixture.weighted)
            batch = batches.draw("uniform" if self.kind == "insert" else "existing")
        self._update(self._start(), batch)
        return batch

    def _start(self) -> Any:
        graph = self.fixture.empty_graph()
        if self.kind != "bulk build":
            graph.insert_edges(*self.edges)
        return graph

    def _update(self, graph: Any, batch: HostBatch | None) -> None:
        if batch is None:
            graph.insert_edges(*self.edges)
        elif self.kind == "insert":
            graph.insert_edges(*batch.edges)
        else:
            graph.delete_edges(batch.edges.src, batch.edges.dst)
        graph.synchronize()

    def action(self, batch: HostBatch | None) -> None:
        """Build a graph, apply the update to it, and record the largest number of bytes allocated meanwhile."""
        with metering(self.device) as peak_of:
            self.graph = self._start()
            self.at_rest = {} if self.kind == "bulk build" else bytes_per_edge(self.graph)
            self.peak = self.graph.memory_usage().allocated + peak_of(lambda: self._update(self.graph, batch))

    def check(self, batch: HostBatch | None, result: None) -> None:
        """Compare the edges of the graph after the update with the expected ones; record its allocated bytes."""
        keys = self.model.keys[:0] if batch is None else batch.keys
        halves = (keys[:0], keys) if self.kind == "insert" else (keys, keys[:0])
        check_content(self.graph, ExpectedChange(self.model, *halves), f"peak memory: content after {self.kind}")
        self.after = self.graph.memory_usage().allocated
        self.at_rest = self.at_rest or bytes_per_edge(self.graph)

    def finish(self) -> None:
        """Free the graph."""
        self.graph = None

    def extra(self) -> dict[str, Any]:
        """Return by name the bytes per edge that the graph uses and has allocated, at the peak, and after the update.

        The first ones are those before the update; of a bulk build, which begins with an empty graph, those after it.
        """
        edges = len(self.model) + (self.batch if self.batch and self.kind == "insert" else 0)
        return {
            **self.at_rest, "peak_bytes_per_edge": self.peak / edges, "bytes_per_edge_after": self.after / edges,
        }  # fmt: skip


READ_SHARES = (0.5, 0.95)
PEAKS = ("insert", "delete")
