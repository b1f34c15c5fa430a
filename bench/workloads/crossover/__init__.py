"""Workloads of the crossover map: a batch is stored, then the graph is used; by backend, size of graph and batch.

A use is an algorithm of the suite that is kept current, or nothing, or a query of as many pairs as the batch has edges,
or a product of the adjacency matrix and a vector, as in Marrow-Graph's experiment. Cells with the same backend, graph
and use share their graph. All backends get the same batches, so expected answers are computed once. All of that lies on
the device (``suricate.bench.workloads.crossover.graphs``).

``batch`` is what ``prepare`` returned for the repeat: edges to insert, edges to delete, and pairs to query (or None).
``result`` is what ``action`` returned.
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
    """Return the power of two nearest to ``number`` (at least 1) by their ratio."""
    return 1 << round(math.log2(number))


class Crossing(Batched):
    """A cell of the crossover map: a mixed batch and one use of the graph after it, timed together.

    ``use``: one of ``USES`` or the name of an algorithm; ``sizes``: the batch sizes of all cells of this graph and use.
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
        """Whether the cell's graph is weighted, whether it is directed, and whether it stores in-edges."""
        return (*self.form.values(), self.needs_in_edges)

    @property
    def placed(self) -> DeviceInput:
        """The input's edges on the device, weighted and directed as this cell needs; cells of equal needs share it."""
        return DeviceInput.of(self.fixture, **self.form)

    @cached_property
    def host_model(self) -> EdgeModel:
        """The set of the input's edges on the host; only for small inputs."""
        return self.fixture.model(**self.form)

    def setup(self) -> None:
        """Get the graph that cells of this backend, graph and use share; it is tracked if the use is an algorithm."""
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
        """Make the generator of batches, and the arrays of the product.

        Raises ``Over`` if a smaller batch took longer than the limit, ``Skipped`` if the cell cannot be measured.
        """
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
        """Make the generator of batches; raise ``Skipped`` if a batch is too large for the graph.

        It may have at most as many edges as the power of two nearest to the graph's number of edges.
        """
        assert self.batch is not None
        if self.batch > power_near(self.fixture.data.edges_given):
            raise Skipped("the batch is larger than the graph")
        self.items = self.batch
        self.batches = Batches(self.placed, self.batch, int(self.batch * DELETION_SHARES[self.kind]))

    def exceeded(self) -> None:
        """Record that this batch size took longer than the limit, so that larger ones of this use are skipped."""
        self.fixture.cache["over", self.backend, self.use] = self.batch

    def abandon(self) -> None:
        """Drop the shared graph, since it may be wrong after a failure; the next cell builds a new one."""
        self.graph = None
        if DeviceInput.current is not None:
            DeviceInput.current.graph = None

    def prepare(self) -> Drawn:
        """Return a new batch; if the use is a query, it includes pairs to query."""
        return self.batches.draw(asks=self.use == QUERY)

    def action(self, batch: Drawn) -> Any:
        """Apply ``batch`` to the graph, then use the graph; return the result of :meth:`ask`."""
        self.delta = self.graph.apply(Batch(insert=batch.insert.edges, delete=batch.delete.edges[:2]))
        return self.ask(batch)

    def ask(self, batch: Drawn) -> Any:
        """Use the graph once; return the answers to the query (bool[n]) or the product (float32[n]).

        For other uses return None: the tracker has updated an algorithm's result with the batch.
        """
        if batch.asked is not None:
            return self.graph.has_edges(*batch.asked.edges[:2])
        if self.use == PRODUCT:
            return neighbor_reduce(self.graph, None, value, args=(self.x,), reduce="sum", out=self.out)
        return None

    def answer(self, result: Any) -> Any:
        """Return the algorithm's result after the action: that of the tracker; ``result`` is not used here."""
        return self.tracker.result

    def check(self, batch: Drawn, result: Any) -> None:
        """Verify the edges of the graph after ``batch``, and the answer of the use."""
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
        """Undo the batch by the inverse of its delta; :meth:`finish` verifies the edges after all repeats."""
        self.graph.apply(inverse(self.delta, self.device.xp))
        self.housekeeper.tidy(self.items)

    def finish(self) -> None:
        """Verify the edges of the graph after the last repeat."""
        check_digest(self.graph, self.placed.model)

    def extra(self) -> dict[str, Any]:
        """Return the use, the sizes of the graph, and the seconds of the update alone if it was timed, by name."""
        data = self.fixture.data
        alone: dict[str, float] = {} if self.update_s is None else {"update_s": self.update_s}
        return {"use": self.use, "num_vertices": data.num_vertices, "num_edges": data.edges_given, **alone}

    def _seconds_to_store(self) -> dict[int, float]:
        """Return the median seconds to apply a batch to a graph of this form without a tracker, by batch size."""
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
        """Return the set of edges after ``batch``, made once for all cells; only small graphs are verified by it."""
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
    """A cell of the crossover map in which the graph is built, and an answer computed, from scratch after each batch.

    Programs with static data structures work like this. The list of edges after the batch is made untimed, and all
    repeats have the same batch.
    """

    def __init__(self, fixture: Fixture, use: str, batch: int, sizes: tuple[int, ...] = ()) -> None:
        super().__init__(fixture, use, batch, sizes)
        self.backend = REBUILD
        if self.subject:
            self.needs_in_edges = self.subject.kind.requires.in_edges

    def setup(self) -> None:
        """Draw the batch, and list the edges of the graph after it, on the device."""
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
        """Drop the graph of the last repeat; return the batch, which is the same for all repeats."""
        self.graph = None
        return self.batch_drawn

    def action(self, batch: Drawn) -> Any:
        """Build a graph of the edges after ``batch``, and use it; return the algorithm's or :meth:`ask`'s result."""
        self.graph = self.fixture.empty_graph(in_edges=self.needs_in_edges, **self.form)
        self.graph.insert_edges(*self.edges)
        if not self.subject:
            return self.ask(batch)
        instance = self.subject.new()
        instance.compute(self.graph)
        return instance.result

    def answer(self, result: Any) -> Any:
        """Return ``result``, the algorithm's result that the action computed."""
        return result

    def restore(self, batch: Any, result: Any) -> None:
        """Do nothing: the next repeat builds another graph."""

    def finish(self) -> None:
        """Do nothing: each graph is used in one repeat only."""
