"""Workloads on the storage as it stands: insert, delete, query, churn, memory.

Rates are edges of the batch per second: data on the device before, work complete after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.arrays import sorted_distinct
from suricate.bench import constants
from suricate.bench.beds import Batches, Bed, HostBatch, host_keys
from suricate.bench.oracle import EdgeModel, check_content, check_same_keys, expect
from suricate.bench.runner import Skipped, Task
from suricate.bench.states import bytes_per_edge, stage_of
from suricate.types import EdgeList

PAIRS = {"insert": "uniform", "delete": "existing", "query": "mixed", "churn": "uniform"}  #: kind of batch per workload


class BedTask(Task):
    """A task of a backend on its bed."""

    oracle: str | None = "NumPy sorted keys"

    def __init__(self, bed: Bed, batch: int | None = None) -> None:
        self.bed, self.batch, self.backend, self.device = bed, batch, bed.backend, bed.device
        self.hints, self.options, self.setting = bed.hints, bed.options, bed.label
        self.say(self.detail)
        if bed.silent:
            self.oracle = None

    def say(self, *parts: str) -> None:
        """Have the row's detail say ``parts``, and what it has to say of its bed."""
        self.detail = ", ".join(part for part in (*parts, *self.bed.traits) if part)

    def abandon(self) -> None:
        """Have the next task build a new graph."""
        self.bed.reset()


class Operation(BedTask):
    """Base of insert, delete and query: one batch against the shared graph, which is afterwards what it was."""

    def __init__(self, bed: Bed, batch: int, pairs: str | None = None, state: str = "fresh") -> None:
        super().__init__(bed, batch)
        self.pairs, self.batch_size, self.items = pairs or PAIRS[self.workload], batch, batch
        self.state = state
        self.say(f"{self.pairs} pairs", "" if state == "fresh" else f"{state} graph")

    def setup(self) -> None:
        """Get the shared graph and the source of batches."""
        if self.batch_size > len(self.bed.data.model):
            raise Skipped(f"the batch has more edges than the graph ({len(self.bed.data.model)})")
        self.stage = stage_of(self.bed, self.state)
        self.stage.make_room(self.batch_size)
        self.idle_of: EdgeModel | None = None
        self.last: tuple[HostBatch, Any] | None = None  # what has not been undone yet, and what came of it
        self.batches = Batches(self.bed, self.batch_size, self.workload, weighted=self.bed.weighted)

    def idle_batch(self) -> EdgeList:
        """Return a batch that changes nothing, for the calls ahead of a timed one."""
        return self.stage.absent(self.batch_size)

    @property
    def graph(self) -> Any:
        """The graph that the next repeat works on."""
        return self.stage.graph

    @property
    def model(self) -> EdgeModel:
        """The edges that it holds."""
        return self.stage.model

    def prepare(self) -> HostBatch:
        """Undo the last batch, draw one."""
        self.undo()
        if self.idle_of is not self.model:
            self.idle, self.idle_of = self.idle_batch(), self.model
        return self.batches.draw(self.pairs)

    def finish(self) -> None:
        """Check the last repeat as the first one; then the content, once more."""
        if self.last is not None:
            self.check(*self.last)
            self.undo()
        if not self.bed.silent:
            check_content(self.graph, self.model)

    def undo(self) -> None:
        """Have the next repeat meet the graph as the last one did: take the batch back, or make the graph anew.

        The latter where that is quicker, and for a hub: one that took in a batch would be another one ever after.
        """
        if self.last is None:
            return
        (batch, _), self.last = self.last, None
        hub = self.pairs == "hub" and self.workload == "insert"
        if hub or self.batch_size > constants.UNDO_SHARE * len(self.model):
            self.stage.renew()
            self.stage.make_room(self.batch_size)
        else:
            self._put_back(batch)
            self.stage.tidy(self.batch_size)

    def _put_back(self, batch: HostBatch) -> None:
        """Insert those edges of ``batch`` that belong to the input, with the input's weights; delete the others."""
        model, keys = self.model, batch.keys
        known = model.contains(keys)
        if not known.all():
            extra = self.bed.upload(batch.src[~known], batch.dst[~known])
            self.graph.delete_edges(extra.src, extra.dst)
        if known.any():
            weight = model.weights_of(keys[known]) if self.bed.weighted else None
            own = self.bed.upload(batch.src[known], batch.dst[known], weight)
            self.graph.insert_edges(*own)

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge, and how full the store is in the state that says so."""
        return self.stage.facts()


class Insert(Operation):
    """Insert a batch."""

    workload = "insert"
    does = "inserts a fresh batch; then, untimed, takes out again what was new"

    def prepare(self) -> HostBatch:
        """Draw a batch; existing edges are taken out first."""
        batch = super().prepare()
        if self.pairs == "existing":
            self.graph.delete_edges(batch.edges.src, batch.edges.dst)
            self.idle = self.stage.present(self.batch_size, without=batch.keys)
        return batch

    def idle_batch(self) -> EdgeList:
        """Return edges that are there."""
        return self.stage.present(self.batch_size)

    def warm(self) -> None:
        """Insert edges that are there."""
        self.graph.insert_edges(*self.idle)

    def action(self, batch: HostBatch) -> Any:
        """Insert."""
        return self.graph.insert_edges(*batch.edges)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Compare the delta and the edges that are there now."""
        if self.bed.silent:
            return
        model, keys = self.model, sorted_distinct(batch.keys)
        fresh = keys if self.pairs == "existing" else keys[~model.contains(keys)]
        check_same_keys(host_keys(self.device, delta.inserted), fresh, "insert: the delta's inserted edges")
        check_same_keys(host_keys(self.device, self.graph.edges()), model.plus(keys), "insert: content")
        if self.bed.weighted:
            self._check_weights(batch)

    def _check_weights(self, batch: HostBatch) -> None:
        last = EdgeModel(batch.src, batch.dst, batch.weight)
        stored = self.device.to_numpy(self.graph.edge_weights(batch.edges.src, batch.edges.dst))
        expected = last.weights_of(batch.keys)
        expect(np.array_equal(stored, expected), "insert: the last weight of a duplicate did not win")

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Have it undone before the next repeat."""
        self.last = batch, delta


class Delete(Operation):
    """Delete a batch."""

    workload = "delete"
    does = "deletes a fresh batch of edges that are there; then, untimed, puts them back"

    def prepare(self) -> HostBatch:
        """Draw a batch; what is not there is inserted first."""
        batch = super().prepare()
        if self.pairs != "existing":
            self.graph.insert_edges(*batch.edges)
            self.idle = self.stage.absent(self.batch_size, without=batch.keys)
        return batch

    def warm(self) -> None:
        """Delete edges that are not there."""
        self.graph.delete_edges(self.idle.src, self.idle.dst)

    def action(self, batch: HostBatch) -> Any:
        """Delete."""
        return self.graph.delete_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Compare the delta and the edges that are there now."""
        if self.bed.silent:
            return
        model, keys = self.model, sorted_distinct(batch.keys)
        check_same_keys(host_keys(self.device, delta.deleted), keys, "delete: the delta's deleted edges")
        check_same_keys(host_keys(self.device, self.graph.edges()), model.minus(keys), "delete: content")

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Have it undone before the next repeat."""
        self.last = batch, delta


class Query(Operation):
    """Ask for a batch of edges."""

    workload = "query"
    does = "asks whether the edges of a fresh batch are there; half of them are"

    def warm(self) -> None:
        """Ask for edges that are not there."""
        self.graph.has_edges(self.idle.src, self.idle.dst)

    def action(self, batch: HostBatch) -> Any:
        """Query."""
        return self.graph.has_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, found: Any) -> None:
        """Compare every answer."""
        if not self.bed.silent:
            wrong = np.count_nonzero(self.device.to_numpy(found) != self.model.contains(batch.keys))
            expect(wrong == 0, f"query: {wrong} of {self.items} answers are wrong")


class Churn(Operation):
    """Insert and delete without end."""

    workload = "churn"
    does = "inserts a fresh batch of uniform pairs and deletes it again, both timed; nothing is ever compacted"

    def __init__(self, bed: Bed, batch: int, pairs: str | None = None) -> None:
        super().__init__(bed, batch)
        self.items = 2 * batch

    def prepare(self) -> HostBatch:
        """Draw a batch without edges of the input."""
        batch = super().prepare()
        new = ~self.model.contains(batch.keys)
        return HostBatch(self.bed, batch.src[new], batch.dst[new], self.batches.rng, self.bed.weighted)

    def action(self, batch: HostBatch) -> None:
        """Insert and delete."""
        self.graph.insert_edges(*batch.edges)
        self.graph.delete_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, result: None) -> None:
        """Compare the edges that are there now."""
        self.finish()

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge that the graph has come to."""
        return bytes_per_edge(self.graph)


class Memory(BedTask):
    """Bytes per edge."""

    workload = "memory"
    does = "reads the bytes that the graph uses and has allocated, in the state of the operations; not timed"
    timed = False

    def __init__(self, bed: Bed, state: str = "fresh") -> None:
        super().__init__(bed)
        self.state = state
        self.say("" if state == "fresh" else f"{state} graph")

    def setup(self) -> None:
        """Get the shared graph (verified when it was built)."""
        self.stage = stage_of(self.bed, self.state)

    def action(self, state: Any) -> Any:
        """Read nothing here; see :meth:`extra`."""

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge used and allocated."""
        return self.stage.facts()


OPERATIONS = (Insert, Delete, Query)
