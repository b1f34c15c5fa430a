"""Workloads on the storage: bulk build, insert, delete, query, memory.

Rates are edges of the batch per second: data on the device before, work complete after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench.beds import Batches, Bed, HostBatch, host_keys
from suricate.bench.oracle import check_content, check_same_keys, expect
from suricate.bench.runner import Skipped, Task

PAIRS = {"insert": "uniform", "delete": "existing", "query": "mixed", "churn": "uniform"}  #: kind of batch per workload


class BedTask(Task):
    """A task of an engine on its bed."""

    oracle: str | None = "NumPy sorted keys"

    def __init__(self, bed: Bed, batch: int | None = None) -> None:
        self.bed, self.batch, self.engine, self.device = bed, batch, bed.engine, bed.device
        if bed.silent:
            self.oracle = None

    def abandon(self) -> None:
        """Have the next task build a new graph."""
        self.bed.reset()


class Build(BedTask):
    """All edges of the input into an empty graph, in one batch."""

    workload = "bulk build"
    does = "makes a graph and inserts all edges of the input, as one batch in the order of the file"

    def setup(self) -> None:
        """Put the input on the device."""
        self.items = len(self.bed.data.src)
        self.edges = self.bed.all_edges()

    def action(self, state: Any) -> Any:
        """Build."""
        graph = self.bed.empty_graph()
        graph.insert_edges(*self.edges)
        return graph

    def check(self, state: Any, result: Any) -> None:
        """Compare the content; have the engine check its invariants."""
        if not self.bed.silent:
            check_content(result, self.bed.model())
            result.store("out").check()


class Operation(BedTask):
    """Base of insert, delete and query: one batch against the shared graph, which is afterwards what it was."""

    def __init__(self, bed: Bed, batch: int, pairs: str | None = None) -> None:
        super().__init__(bed, batch)
        self.pairs, self.batch_size, self.items = pairs or PAIRS[self.workload], batch, batch
        self.detail = f"{self.pairs} pairs"

    def setup(self) -> None:
        """Get the shared graph and the source of batches."""
        if self.batch_size > len(self.bed.data.model):
            raise Skipped(f"the batch has more edges than the graph ({len(self.bed.data.model)})")
        self.graph = self.bed.graph()
        self.model = self.bed.model()
        self.batches = Batches(self.bed, self.batch_size, self.workload, weighted=self.bed.weighted)
        self.housekeeper = self.bed.keeper_of(self.graph)

    def prepare(self) -> HostBatch:
        """Draw a batch."""
        return self.batches.draw(self.pairs)

    def finish(self) -> None:
        """Compare the content with the input's once more."""
        if not self.bed.silent:
            check_content(self.graph, self.model)

    def put_back(self, batch: HostBatch) -> None:
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
        self.housekeeper.tidy(self.batch_size)


class Insert(Operation):
    """Insert a batch."""

    workload = "insert"
    does = "inserts a fresh batch; then, untimed, takes out again what was new"

    def prepare(self) -> HostBatch:
        """Draw a batch; existing edges are taken out first."""
        batch = super().prepare()
        if self.pairs == "existing":
            self.graph.delete_edges(batch.edges.src, batch.edges.dst)
        return batch

    def action(self, batch: HostBatch) -> Any:
        """Insert."""
        return self.graph.insert_edges(*batch.edges)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Compare the delta and the edges that are there now."""
        if self.bed.silent:
            return
        model, keys = self.model, np.unique(batch.keys)
        fresh = keys if self.pairs == "existing" else keys[~model.contains(keys)]
        check_same_keys(host_keys(self.device, delta.inserted), fresh, "insert: the delta's inserted edges")
        check_same_keys(host_keys(self.device, self.graph.edges()), np.union1d(model.keys, keys), "insert: content")
        if self.bed.weighted:
            self._check_weights(batch)

    def _check_weights(self, batch: HostBatch) -> None:
        assert batch.weight is not None
        last = dict(zip(batch.keys.tolist(), batch.weight.tolist(), strict=True))
        stored = self.device.to_numpy(self.graph.edge_weights(batch.edges.src, batch.edges.dst))
        expected = np.array([last[key] for key in batch.keys.tolist()], stored.dtype)
        expect(np.array_equal(stored, expected), "insert: the last weight of a duplicate did not win")

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Undo."""
        self.put_back(batch)


class Delete(Operation):
    """Delete a batch."""

    workload = "delete"
    does = "deletes a fresh batch of edges that are there; then, untimed, puts them back"

    def prepare(self) -> HostBatch:
        """Draw a batch; what is not there is inserted first."""
        batch = super().prepare()
        if self.pairs != "existing":
            self.graph.insert_edges(*batch.edges)
        return batch

    def action(self, batch: HostBatch) -> Any:
        """Delete."""
        return self.graph.delete_edges(batch.edges.src, batch.edges.dst)

    def check(self, batch: HostBatch, delta: Any) -> None:
        """Compare the delta and the edges that are there now."""
        if self.bed.silent:
            return
        model, keys = self.model, np.unique(batch.keys)
        check_same_keys(host_keys(self.device, delta.deleted), keys, "delete: the delta's deleted edges")
        left = np.setdiff1d(model.keys, keys, assume_unique=True)
        check_same_keys(host_keys(self.device, self.graph.edges()), left, "delete: content")

    def restore(self, batch: HostBatch, delta: Any) -> None:
        """Undo."""
        self.put_back(batch)


class Query(Operation):
    """Ask for a batch of edges."""

    workload = "query"
    does = "asks whether the edges of a fresh batch are there; half of them are"

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
    does = "reads the bytes that the graph uses and has allocated, after the bulk build; not timed"
    timed = False

    def setup(self) -> None:
        """Get the shared graph (verified when it was built)."""
        self.graph = self.bed.graph()

    def action(self, state: Any) -> Any:
        """Read nothing here; see :meth:`extra`."""

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge used and allocated."""
        return bytes_per_edge(self.graph)


def bytes_per_edge(graph: Any) -> dict[str, Any]:
    """Return what a graph uses and has allocated for its out-edges."""
    parts, edges = graph.store("out").memory().values(), max(1, graph.num_edges)
    return {
        "bytes_per_edge": sum(used for used, _ in parts) / edges,
        "bytes_per_edge_allocated": sum(allocated for _, allocated in parts) / edges,
    }


OPERATIONS = (Insert, Delete, Query)
