"""Workloads on the storage of an existing graph: insert, delete, query, churn, memory.

Rates are edges of the batch per second. The batch is on the device before the clock starts, and the device has
completed its work when it stops.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import EdgeList
from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, HostBatch, host_keys
from suricate.bench.runner import Skipped
from suricate.bench.scenarios import bytes_per_edge, scenario_of
from suricate.bench.verify.edges import EdgeModel, ExpectedChange, check_content, check_same_keys, expect
from suricate.bench.workloads.base import FixtureTask
from suricate.intake.arrays import sorted_distinct

PAIRS = {"insert": "uniform", "delete": "existing", "query": "mixed", "churn": "uniform"}  #: kind of batch per workload


class Operation(FixtureTask):
    """Base of insert, delete and query: one batch on a shared graph, whose edges are restored before the next repeat.

    Args:
        fixture: backend and input.
        batch: number of edges of a batch.
        pairs: kind of the batches, one of ``fixtures.PAIRS``; None: the workload's default.
        scenario: the condition of the graph, "fresh", "aged" or "full".
    """

    def __init__(self, fixture: Fixture, batch: int, pairs: str | None = None, scenario: str = "fresh") -> None:
        super().__init__(fixture, batch)
        self.pairs, self.batch_size, self.items = pairs or PAIRS[self.workload], batch, batch
        self.scenario = scenario
        self.label_row(f"{self.pairs} pairs", "" if scenario == "fresh" else f"{scenario} graph")

    def setup(self) -> None:
        """Get the shared graph of the scenario; make the generator of batches."""
        if self.batch_size > len(self.fixture.data.model):
            raise Skipped(f"the batch has more edges than the graph ({len(self.fixture.data.model)})")
        self.subject = scenario_of(self.fixture, self.scenario)
        self.subject.reserve(self.batch_size)
        self.warm_edges_of: EdgeModel | None = None
        self.last: tuple[HostBatch, Any] | None = None  # what has not been undone yet, and what came of it
        self.batches = Batches(self.fixture, self.batch_size, self.workload, weighted=self.fixture.weighted)

    def warm_batch(self) -> EdgeList:
        """Return a batch that changes nothing, for the warm calls: here, edges that the graph does not have."""
        return self.subject.absent(self.batch_size)

    @property
    def graph(self) -> Any:
        """The graph of the scenario, which the next repeat works on."""
        return self.subject.graph

    @property
    def model(self) -> EdgeModel:
        """The edges that the graph must have before a batch."""
        return self.subject.model

    def prepare(self) -> HostBatch:
        """Undo the batch of the last repeat; return a new one."""
        self.undo()
        if self.warm_edges_of is not self.model:
            self.warm_edges, self.warm_edges_of = self.warm_batch(), self.model
        return self.batches.draw(self.pairs)

    def finish(self) -> None:
        """Verify the last timed repeat; then undo its batch, and verify the edges of the graph."""
        if self.last is not None:
            self.check(*self.last)
            self.undo()
        if not self.fixture.silent:
            check_content(self.graph, self.model)

    def undo(self) -> None:
        """Restore the graph for the next repeat: undo the batch, or build a new graph.

        A new graph is built if that is faster. It is also built after insertions at the hub, since that vertex would
        keep its larger storage.
        """
        if self.last is None:
            return
        (batch, _), self.last = self.last, None
        hub = self.pairs == "hub" and self.workload == "insert"
        if hub or self.batch_size > constants.UNDO_SHARE * len(self.model):
            self.subject.rebuild()
            self.subject.reserve(self.batch_size)
        else:
            self._put_back(batch)
            self.subject.tidy(self.batch_size)

    def _put_back(self, batch: HostBatch) -> None:
        """Undo ``batch``: insert those of its edges that the model has, with the model's weights; delete the others."""
        model, keys = self.model, batch.keys
        known = model.contains(keys)
        if not known.all():
            extra = self.fixture.upload(batch.src[~known], batch.dst[~known])
            self.graph.delete_edges(extra.src, extra.dst)
        if known.any():
            weight = model.weights_of(keys[known]) if self.fixture.weighted else None
            own = self.fixture.upload(batch.src[known], batch.dst[known], weight)
            self.graph.insert_edges(*own)

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge, and in the scenario "full" the used share of the store's largest part, by name."""
        return self.subject.facts()


class Insert(Operation):
    """Insert a batch into the shared graph."""

    workload = "insert"
    does = "inserts a fresh batch; then, untimed, takes out again what was new"

    def prepare(self) -> HostBatch:
        """Undo the batch of the last repeat and return a new one; if its kind is "existing", delete its edges first."""
        batch = super().prepare()
        if self.pairs == "existing":
            self.graph.delete_edges(batch.edges.src, batch.edges.dst)
            self.warm_edges = self.subject.present(self.batch_size, without=batch.keys)
        return batch

    def warm_batch(self) -> EdgeList:
        """Return edges that the graph has, for the warm calls: inserting them changes nothing."""
        return self.subject.present(self.batch_size)

    def warm(self) -> None:
        """Insert edges that the graph has: nothing changes."""
        self.graph.insert_edges(*self.warm_edges)

    def action(self, batch: HostBatch) -> Any:
        """Insert ``batch``; return the delta."""
        return self.graph.insert_edges(*batch.edges)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Compare the delta, and the edges and weights of the graph, with what the model on the host expects."""
        if self.fixture.silent:
            return
        model, keys = self.model, sorted_distinct(batch.keys)
        fresh = keys if self.pairs == "existing" else keys[~model.contains(keys)]
        check_same_keys(host_keys(self.device, delta.inserted), fresh, "insert: the delta's inserted edges")
        check_content(self.graph, ExpectedChange(model, keys[:0], keys), "insert: content")
        if self.fixture.weighted:
            self._check_weights(batch)

    def _check_weights(self, batch: HostBatch) -> None:
        last = EdgeModel(batch.src, batch.dst, batch.weight)
        stored = self.device.to_numpy(self.graph.edge_weights(batch.edges.src, batch.edges.dst))
        expected = last.weights_of(batch.keys)
        expect(np.array_equal(stored, expected), "insert: the last weight of a duplicate did not win")

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Record the batch and its delta, to be undone before the next repeat."""
        self.last = batch, delta


class Delete(Operation):
    """Delete a batch from the shared graph."""

    workload = "delete"
    does = "deletes a fresh batch of edges that are there; then, untimed, puts them back"

    def prepare(self) -> HostBatch:
        """Undo the batch of the last repeat; return a new one, after inserting those of its edges that are missing."""
        batch = super().prepare()
        if self.pairs != "existing":
            self.graph.insert_edges(*batch.edges)
            self.warm_edges = self.subject.absent(self.batch_size, without=batch.keys)
        return batch

    def warm(self) -> None:
        """Delete edges that the graph does not have: nothing changes."""
        self.graph.delete_edges(self.warm_edges.src, self.warm_edges.dst)

    def action(self, batch: HostBatch) -> Any:
        """Delete ``batch``; return the delta."""
        return self.graph.delete_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Compare the delta, and the edges of the graph, with what the model on the host expects."""
        if self.fixture.silent:
            return
        model, keys = self.model, sorted_distinct(batch.keys)
        check_same_keys(host_keys(self.device, delta.deleted), keys, "delete: the delta's deleted edges")
        check_content(self.graph, ExpectedChange(model, keys, keys[:0]), "delete: content")

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Record the batch and its delta, to be undone before the next repeat."""
        self.last = batch, delta


class Query(Operation):
    """Look up whether the edges of a batch are in the shared graph."""

    workload = "query"
    does = "asks whether the edges of a fresh batch are there; half of them are"

    def warm(self) -> None:
        """Query edges that the graph does not have: nothing changes."""
        self.graph.has_edges(self.warm_edges.src, self.warm_edges.dst)

    def action(self, batch: HostBatch) -> Any:
        """Query ``batch``; return which of its edges the graph has, ``bool[n]`` on the device."""
        return self.graph.has_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, found: Any) -> None:
        """Compare every answer in ``found`` (bool[n]) with the model's answer for the same edge of ``batch``."""
        if not self.fixture.silent:
            wrong = np.count_nonzero(self.device.to_numpy(found) != self.model.contains(batch.keys))
            expect(wrong == 0, f"query: {wrong} of {self.items} answers are wrong")


class Churn(Operation):
    """Insert a batch and delete it again, repeat after repeat, without ever compacting the graph."""

    workload = "churn"
    does = "inserts a fresh batch of uniform pairs and deletes it again, both timed; nothing is ever compacted"

    def __init__(self, fixture: Fixture, batch: int, pairs: str | None = None) -> None:
        super().__init__(fixture, batch)
        self.items = 2 * batch

    def prepare(self) -> HostBatch:
        """Draw a batch of uniform pairs; return those that are not edges of the graph."""
        batch = super().prepare()
        new = ~self.model.contains(batch.keys)
        return HostBatch(self.fixture, batch.src[new], batch.dst[new], self.batches.rng, self.fixture.weighted)

    def action(self, batch: HostBatch) -> None:
        """Insert ``batch``, then delete it."""
        self.graph.insert_edges(*batch.edges)
        self.graph.delete_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, result: None) -> None:
        """Verify that the graph has the edges that it had before the batch."""
        self.finish()

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge of the graph after the last batch."""
        return bytes_per_edge(self.graph)


class Memory(FixtureTask):
    """Read the bytes per edge of the shared graph of a scenario."""

    workload = "memory"
    does = "reads the bytes that the graph uses and has allocated, in the scenario of the operations; not timed"
    timed = False

    def __init__(self, fixture: Fixture, scenario: str = "fresh") -> None:
        super().__init__(fixture)
        self.scenario = scenario
        self.label_row("" if scenario == "fresh" else f"{scenario} graph")

    def setup(self) -> None:
        """Get the shared graph of the scenario, which was verified when it was built."""
        self.subject = scenario_of(self.fixture, self.scenario)

    def action(self, prepared: Any) -> Any:
        """Do nothing: the bytes are read in :meth:`extra`."""

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge used and allocated, by name."""
        return self.subject.facts()


OPERATIONS = (Insert, Delete, Query)
