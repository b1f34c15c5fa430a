"""Workloads of the crossover map: a batch stored, and then the graph used, by backend, size of graph and batch.

A use is an algorithm of the suite that is kept current, or nothing, a query of as many pairs, or a product of the
adjacency matrix and a vector, as Marrow-Graph's experiment has it. Cells of one backend, graph and use share what they
are measured on, and all backends meet the same batches, so answers to compare with are made once; all of that lies on
the device (``suricate.bench.workloads.crossover.graphs``).
"""

from __future__ import annotations

import math
import statistics
from functools import cached_property
from typing import Any

import numpy as np

from suricate.base.types import EdgeList, ends_of
from suricate.bench import constants
from suricate.bench.drawn import DrawnInput
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Over, Skipped, once
from suricate.bench.verify.edges import EdgeModel, ExpectedChange, check_content, check_digest, expect
from suricate.bench.verify.results import check_same
from suricate.bench.workloads.algorithms import DELETION_SHARES, MIXED, Batched
from suricate.bench.workloads.crossover.graphs import Batches, DeviceInput, Drawn, SharedGraph, inverse
from suricate.bench.workloads.operators import value
from suricate.graph.delta import Batch
from suricate.operators import neighbor_reduce
from suricate.plugins.advice import REBUILD

UPDATE, QUERY, PRODUCT = "update only", "query", "matrix-vector product"
USES = (UPDATE, QUERY, PRODUCT)  #: those without an algorithm


def power_near(number: int) -> int:
    """Return the power of two that is nearest to a number of at least 1, by their ratio."""
    return 1 << round(math.log2(number))


class Crossing(Batched):
    """A mixed batch and one use of the graph after it, timed together. ``use`` is one of ``USES`` or an algorithm.

    ``sizes``: the batch sizes of all cells of this graph.
    """

    workload = "crossover"
    does = "applies a fresh batch (80 % insertions) and uses the graph once; then, untimed, the inverse of the batch"
    limit = constants.CROSSOVER_LIMIT

    def __init__(self, fixture: Fixture, use: str, batch: int, sizes: tuple[int, ...] = ()) -> None:
        super().__init__(fixture, batch, MIXED, None if use in USES else use)
        self.use, self.sizes, self.update_s = use, sizes, None
        self.drawn = isinstance(fixture.data, DrawnInput)
        self.large = self.drawn or fixture.data.edges_given > constants.CHECK_BY_REFERENCE
        if self.subject:
            self.oracle = "sorted keys; " + ("computed from scratch" if self.large else self.subject.oracle)
        else:
            self.label_row(use)

    @property
    def graph_form(self) -> tuple[bool, ...]:
        """What distinguishes graphs of cells: whether they have weights, are directed, and have in-edges."""
        return (*self.form.values(), self.needs_in_edges)

    @property
    def placed(self) -> DeviceInput:
        """The input on the device in the form of this cell; all cells of that form share it."""
        return DeviceInput.of(self.fixture, **self.form)

    @cached_property
    def host_model(self) -> EdgeModel:
        """The edges of a small input, on the host."""
        return self.fixture.model(**self.form)

    def setup(self) -> None:
        """Get the shared graph, tracked if the use is an algorithm."""
        self.begin()
        placed, cache = self.placed, self.fixture.cache
        shared = placed.graph
        if shared is None or (shared.fixture, shared.use) != (self.fixture, self.use):
            placed.clear()
            if self.subject and self.graph_form not in cache:
                cache[self.graph_form] = self._seconds_to_store()
            shared = placed.graph = SharedGraph(placed, self.fixture, self.use, self.needs_in_edges)
            if self.subject:
                shared.tracker = shared.graph.track(self.subject.kind, **self.subject.params)
        self.graph, self.tracker, self.housekeeper = shared.graph, shared.tracker, shared.housekeeper
        self.update_s = cache.get(self.graph_form, {}).get(self.batch)

    def begin(self) -> None:
        """Make the objects of this cell; raise ``Over`` if a smaller batch was over the limit, or ``Skipped``."""
        smaller = self.fixture.cache.get(("over", self.backend, self.use))
        if smaller is not None:
            raise Over(f"batches of {smaller} edges are over the limit")
        if self.drawn and self.form["weighted"]:
            raise Skipped("graphs that are drawn in pieces have no weights")
        if self.subject:
            self.subject.demand()
        self.draw_from()
        if self.use == PRODUCT:
            self.x, self.out = self.placed.values, self.device.xp.zeros(self.fixture.data.num_vertices, np.float32)

    def draw_from(self) -> None:
        """Make the generator of batches; raise ``Skipped`` if the batch is larger than the graph."""
        assert self.batch is not None
        if self.batch > power_near(self.fixture.data.edges_given):
            raise Skipped("the batch is larger than the graph")
        self.items = self.batch
        self.batches = Batches(self.placed, self.batch, int(self.batch * DELETION_SHARES[self.kind]))

    def exceeded(self) -> None:
        """Record that this size is over the limit: larger batches of the use are left out."""
        self.fixture.cache["over", self.backend, self.use] = self.batch

    def abandon(self) -> None:
        """Drop the shared graph after a failure, so that the next cell builds a new one."""
        self.graph = None
        if DeviceInput.current is not None:
            DeviceInput.current.graph = None

    def prepare(self) -> Drawn:
        """Return a new batch, with pairs to query if that is the use."""
        return self.batches.draw(asks=self.use == QUERY)

    def action(self, batch: Drawn) -> Any:
        """Apply ``batch`` and use the graph; return what the use returns."""
        self.delta = self.graph.apply(Batch(insert=batch.insert.edges, delete=batch.delete.edges[:2]))
        return self.ask(batch)

    def ask(self, batch: Drawn) -> Any:
        """Use the graph: return the answers to a query, the product, or None (an algorithm is current already)."""
        if batch.asked is not None:
            return self.graph.has_edges(*batch.asked.edges[:2])
        if self.use == PRODUCT:
            return neighbor_reduce(self.graph, value, args=(self.x,), reduce="sum", out=self.out)
        return None

    def answer(self, result: Any) -> Any:
        """Return the algorithm's answer after the action, that of the tracker."""
        return self.tracker.result

    def check(self, batch: Drawn, result: Any) -> None:
        """Verify the edges of the graph after ``batch``, and the answer."""
        xp, change = self.device.xp, self.placed.change(batch)
        if self.large:
            check_digest(self.graph, change)
        else:
            check_content(self.graph, self._model(batch))
        if self.subject:
            self._check_answer(batch, change, self.answer(result))
        elif batch.asked is not None:
            wrong = int(xp.count_nonzero(result != change.contains(batch.asked.keys)))
            expect(wrong == 0, f"crossover: {wrong} of {self.items} answers are wrong")
        elif self.use == PRODUCT:
            expect(xp.allclose(result, self.placed.product(change), rtol=1e-4), "crossover: the product is wrong")

    def restore(self, batch: Any, result: Any) -> None:
        """Undo the batch, by its delta; :meth:`finish` verifies that the edges are those from before."""
        self.graph.apply(inverse(self.delta, self.device.xp))
        self.housekeeper.tidy(self.items)

    def finish(self) -> None:
        """Verify the edges of the graph after the last repeat."""
        check_digest(self.graph, self.placed.model)

    def extra(self) -> dict[str, Any]:
        """Return the use, the size of the graph, and the seconds of the update alone if it was timed apart."""
        data = self.fixture.data
        alone: dict[str, float] = {} if self.update_s is None else {"update_s": self.update_s}
        return {"use": self.use, "num_vertices": data.num_vertices, "num_edges": data.edges_given, **alone}

    def _seconds_to_store(self) -> dict[int, float]:
        """Return, by batch size, the median seconds of applying a batch to a graph without a tracker."""
        shared, found = SharedGraph(self.placed, self.fixture, UPDATE, self.needs_in_edges), {}
        for size in self.sizes:
            cell = type(self)(self.fixture, self.use, size)
            cell.draw_from()
            cell.graph, cell.housekeeper = shared.graph, shared.housekeeper
            found[size] = statistics.median([once(cell) for _ in range(1 + constants.CROSSOVER_REPEATS)][1:])
            if found[size] > constants.CROSSOVER_LIMIT:
                break
        return found

    def _model(self, batch: Drawn) -> EdgeModel:
        """Return the edges of a small graph after ``batch``, made once for all cells."""
        return self.placed.shared(("model", batch.place), lambda: self._model_after(batch))

    def _model_after(self, batch: Drawn) -> EdgeModel:
        host, (src, dst, weight) = self.device.to_numpy, batch.insert.edges
        weights = None if weight is None else host(weight)
        return self.host_model.updated(host(batch.delete.keys), host(src), host(dst), weights)

    def _check_answer(self, batch: Drawn, change: ExpectedChange, answer: Any) -> None:
        assert self.subject is not None
        if not self.large:
            self.subject.check(answer, self._model(batch))
            return
        fresh = self.placed.shared((self.use, change.digest), self._computed_from_scratch)
        check_same(self.subject.kind, self.subject.params, answer, fresh, self.device)

    def _computed_from_scratch(self) -> Any:
        assert self.subject is not None
        fresh = self.subject.new()
        fresh.compute(self.graph)
        return fresh.result


class Rebuilding(Crossing):
    """A cell of the crossover map whose graph is rebuilt for every batch, with the answer computed from scratch.

    Programs over static structures do that. Listing the edges after the batch is not timed; all repeats have the same
    batch.
    """

    def __init__(self, fixture: Fixture, use: str, batch: int, sizes: tuple[int, ...] = ()) -> None:
        super().__init__(fixture, use, batch, sizes)
        self.backend = REBUILD
        if self.subject:
            self.needs_in_edges = self.subject.kind.requires.in_edges

    def setup(self) -> None:
        """Draw the batch, and list the edges after it on the device."""
        self.begin()
        if self.placed.graph is not None:
            self.placed.clear()
        self.batch_drawn = super().prepare()
        self.edges = self._edges_after(self.batch_drawn)

    def _edges_after(self, batch: Drawn) -> EdgeList:
        if not self.form["weighted"]:
            return self.placed.after(self.placed.change(batch))
        model = self._model_after(batch)
        order = self.fixture.rng("rebuilt").permutation(len(model))
        assert model.weight is not None
        return self.fixture.upload(*ends_of(model.keys[order]), model.weight[order])

    def prepare(self) -> Drawn:
        """Drop the graph of the last repeat; return the batch."""
        self.graph = None
        return self.batch_drawn

    def action(self, batch: Drawn) -> Any:
        """Build a graph of the edges after ``batch``, and use it; return the answer."""
        self.graph = self.fixture.empty_graph(in_edges=self.needs_in_edges, **self.form)
        self.graph.insert_edges(*self.edges)
        if not self.subject:
            return self.ask(batch)
        instance = self.subject.new()
        instance.compute(self.graph)
        return instance.result

    def answer(self, result: Any) -> Any:
        """Return ``result``, which is the answer."""
        return result

    def restore(self, batch: Any, result: Any) -> None:
        """Do nothing: the next repeat builds another graph."""

    def finish(self) -> None:
        """Do nothing: each graph is of one repeat."""
