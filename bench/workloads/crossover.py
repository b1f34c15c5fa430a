"""Workloads of the crossover map: a batch stored, and then the graph used, by backend, size of graph and batch.

A use is an algorithm of the suite that is kept current, or nothing, a query of as many pairs, or a product of the
adjacency matrix and a vector, as Marrow-Graph's experiment has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, HostBatch
from suricate.bench.verify.edges import EdgeModel, check_content, check_digest, expect
from suricate.bench.verify.results import check_same
from suricate.bench.workloads.algorithms import MIXED, Batched
from suricate.bench.workloads.operators import value
from suricate.operators import neighbor_reduce

UPDATE, QUERY, PRODUCT = "update only", "query", "matrix-vector product"
USES = (UPDATE, QUERY, PRODUCT)  #: those without an algorithm


class Crossing(Batched):
    """A mixed batch and one use of the graph after it, end to end. ``use`` is one of ``USES`` or an algorithm."""

    workload = "crossover"
    does = "applies a fresh batch (80 % insertions) and uses the graph once; then, untimed, the inverse of the batch"
    limit = constants.CROSSOVER_LIMIT

    def __init__(self, fixture: Fixture, use: str, batch: int) -> None:
        super().__init__(fixture, batch, MIXED, None if use in USES else use)
        self.use = use
        self.large = len(fixture.data.src) > constants.CHECK_BY_REFERENCE
        if self.subject:
            self.oracle = f"{self.oracle}; {'computed anew' if self.large else self.subject.oracle}"
        else:
            self.label_row(use)

    def setup(self) -> None:
        """Build a graph of its own, and what the use needs."""
        if self.subject:
            self.subject.demand()
        self.load()
        xp, n = self.device.xp, self.fixture.data.num_vertices
        if self.subject:
            self.tracker = self.graph.track(self.subject.kind, **self.subject.params)
        elif self.use == QUERY:
            self.asked = Batches(self.fixture, self.items, "crossover queries")
        elif self.use == PRODUCT:
            self.values = self.fixture.rng("values").uniform(0.5, 1.5, n).astype(np.float32)
            self.x, self.out = xp.asarray(self.values), xp.zeros(n, np.float32)

    def prepare(self) -> tuple[HostBatch, HostBatch, HostBatch | None]:
        """Draw a batch, and the pairs that are asked for."""
        insert, delete = super().prepare()
        return insert, delete, self.asked.draw("mixed") if self.use == QUERY else None

    def action(self, batch: tuple[HostBatch, HostBatch, HostBatch | None]) -> Any:
        """Apply the batch and use the graph."""
        insert, delete, asked = batch
        self.apply((insert, delete))
        if asked is not None:
            return self.graph.has_edges(asked.edges.src, asked.edges.dst)
        if self.use == PRODUCT:
            return neighbor_reduce(self.graph, value, args=(self.x,), reduce="sum", out=self.out)
        return None

    def check(self, batch: tuple[HostBatch, HostBatch, HostBatch | None], result: Any) -> None:
        """Verify the content, and what the use gave."""
        insert, delete, asked = batch
        model = self.model_after((insert, delete))
        self._check_content(model)
        if self.subject:
            self._check_answer(model)
        elif asked is not None:
            wrong = np.count_nonzero(self.device.to_numpy(result) != model.contains(asked.keys))
            expect(wrong == 0, f"crossover: {wrong} of {self.items} answers are wrong")
        elif self.use == PRODUCT:
            right = model.csr(len(self.values), np.float64) @ self.values.astype(np.float64)
            expect(np.allclose(self.device.to_numpy(result), right, rtol=1e-4), "crossover: the product is wrong")

    def restore(self, batch: Any, result: Any) -> None:
        """Apply the inverse."""
        super().restore(batch[:2], result)

    def finish(self) -> None:
        """Verify the content once more."""
        self._check_content(self.input_model)

    def extra(self) -> dict[str, Any]:
        """Return the use, and the size of the graph."""
        data = self.fixture.data
        return {"use": self.use, "num_vertices": data.num_vertices, "num_edges": len(data.src)}

    def _check_content(self, model: EdgeModel) -> None:
        (check_digest if self.large else check_content)(self.graph, model)

    def _check_answer(self, model: EdgeModel) -> None:
        assert self.subject is not None
        if not self.large:
            self.subject.check(self.tracker.result, model)
            return
        anew = self.subject.new()
        anew.compute(self.graph)
        check_same(self.subject.kind, self.subject.params, self.tracker.result, anew.result, self.device)
