"""Workloads of the crossover map: a batch stored, and then the graph used, by backend, size of graph and batch.

A use is an algorithm of the suite that is kept current, or nothing, a query of as many pairs, or a product of the
adjacency matrix and a vector, as Marrow-Graph's experiment has it. Cells of one backend and graph share what they are
measured on, and all backends meet the same batches, so answers to compare with are made once.
"""

from __future__ import annotations

import gc
import math
import statistics
from typing import Any

import numpy as np

from suricate.advice import REBUILD
from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, HostBatch, Housekeeper
from suricate.bench.runner import Over, once
from suricate.bench.verify.edges import Change, EdgeModel, check_content, check_digest, ends_of, expect
from suricate.bench.verify.results import check_same, on_host
from suricate.bench.workloads.algorithms import MIXED, Batched
from suricate.bench.workloads.operators import value
from suricate.operators import neighbor_reduce

UPDATE, QUERY, PRODUCT = "update only", "query", "matrix-vector product"
USES = (UPDATE, QUERY, PRODUCT)  #: those without an algorithm

Drawn = tuple[HostBatch, HostBatch, HostBatch | None]  #: what to insert, to delete, and to ask for


def power_near(number: int) -> int:
    """Return the power of two that is nearest to a number of at least 1, by their ratio."""
    return 1 << round(math.log2(number))


class SharedGraph:
    """The graph of a backend's cells of one use, tracked if the use is an algorithm."""

    def __init__(self, cell: Crossing) -> None:
        self.use, subject = cell.use, cell.subject
        self.graph = cell.new_graph()
        self.tracker = self.graph.track(subject.kind, **subject.params) if subject else None
        self.housekeeper = Housekeeper(self.graph)


class Crossing(Batched):
    """A mixed batch and one use of the graph after it, end to end. ``use`` is one of ``USES`` or an algorithm.

    ``sizes`` are those of the batches that cells of the same graph have.
    """

    workload = "crossover"
    does = "applies a fresh batch (80 % insertions) and uses the graph once; then, untimed, the inverse of the batch"
    limit = constants.CROSSOVER_LIMIT

    def __init__(self, fixture: Fixture, use: str, batch: int, sizes: tuple[int, ...] = ()) -> None:
        super().__init__(fixture, batch, MIXED, None if use in USES else use)
        self.use, self.sizes, self.update_s = use, sizes, None
        self.large = fixture.data.edges_given > constants.CHECK_BY_REFERENCE
        if self.subject:
            self.oracle = f"{self.oracle}; {'computed anew' if self.large else self.subject.oracle}"
        else:
            self.label_row(use)

    @property
    def graph_form(self) -> tuple[bool, ...]:
        """What tells the graphs of cells apart: weights, direction, in-edges."""
        return (*self.form.values(), self.needs_in_edges)

    def setup(self) -> None:
        """Get the shared graph, tracked if the use is an algorithm."""
        self.begin()
        cache = self.fixture.cache
        if SharedGraph not in cache or cache[SharedGraph].use != self.use:
            cache.pop(SharedGraph, None)
            gc.collect()  # its memory is free before there is another one
            if self.subject and self.graph_form not in cache:
                cache[self.graph_form] = self._seconds_to_store()
            cache[SharedGraph] = SharedGraph(self)
        shared = cache[SharedGraph]
        self.graph, self.tracker, self.housekeeper = shared.graph, shared.tracker, shared.housekeeper
        self.update_s = cache.get(self.graph_form, {}).get(self.batch)

    def begin(self) -> None:
        """Make what the cell does not share; raise ``Over`` if a smaller batch was over the limit."""
        smaller = self.fixture.cache.get(("over", self.backend, self.use))
        if smaller is not None:
            raise Over(f"batches of {smaller} edges are over the limit")
        if self.subject:
            self.subject.demand()
        self.draw_from()
        xp = self.device.xp
        if self.use == QUERY:
            self.asked = Batches(self.fixture, self.items, "crossover queries")
        elif self.use == PRODUCT:
            n = self.fixture.data.num_vertices
            self.values = self.fixture.rng("values").uniform(0.5, 1.5, n).astype(np.float32)
            self.x, self.out = xp.asarray(self.values), xp.zeros(n, np.float32)

    def exceeded(self) -> None:
        """Leave out larger batches of this use."""
        self.fixture.cache["over", self.backend, self.use] = self.batch

    def prepare(self) -> Drawn:
        """Draw a batch, and the pairs that are asked for."""
        insert, delete = super().prepare()
        return insert, delete, self.asked.draw("mixed") if self.use == QUERY else None

    def action(self, batch: Drawn) -> Any:
        """Apply the batch and use the graph."""
        self.apply(batch[:2])
        return self.ask(batch)

    def ask(self, batch: Drawn) -> Any:
        """Use the graph; an algorithm is current already."""
        asked = batch[2]
        if asked is not None:
            return self.graph.has_edges(asked.edges.src, asked.edges.dst)
        if self.use == PRODUCT:
            return neighbor_reduce(self.graph, value, args=(self.x,), reduce="sum", out=self.out)
        return None

    def answer(self, result: Any) -> Any:
        """Return what the algorithm says, given what the action returned."""
        return self.tracker.result

    def check(self, batch: Drawn, result: Any) -> None:
        """Verify the content, and what the use gave."""
        insert, delete, asked = batch
        change = Change(self.input_model, delete.keys, insert.keys)
        if self.large:
            check_digest(self.graph, change)
        else:
            check_content(self.graph, self._model(batch, change))
        if self.subject:
            self._check_answer(batch, change, self.answer(result))
        elif asked is not None:
            wrong = np.count_nonzero(self.device.to_numpy(result) != change.contains(asked.keys))
            expect(wrong == 0, f"crossover: {wrong} of {self.items} answers are wrong")
        elif self.use == PRODUCT:
            right = self._product(change)
            expect(np.allclose(self.device.to_numpy(result), right, rtol=1e-4), "crossover: the product is wrong")

    def restore(self, batch: Any, result: Any) -> None:
        """Apply the inverse."""
        super().restore(batch[:2], result)

    def finish(self) -> None:
        """Verify the content once more."""
        check_digest(self.graph, self.input_model)

    def extra(self) -> dict[str, Any]:
        """Return the use, the size of the graph, and the seconds of the update alone if it was timed apart."""
        data = self.fixture.data
        alone: dict[str, float] = {} if self.update_s is None else {"update_s": self.update_s}
        return {"use": self.use, "num_vertices": data.num_vertices, "num_edges": data.edges_given, **alone}

    def _seconds_to_store(self) -> dict[int, float]:
        """Return the median seconds of storing a batch of each size on a graph of the form that nothing tracks."""
        graph, found = self.new_graph(), {}
        housekeeper = Housekeeper(graph)
        for size in self.sizes:
            cell = type(self)(self.fixture, self.use, size)
            cell.draw_from()
            cell.graph, cell.housekeeper = graph, housekeeper
            found[size] = statistics.median([once(cell) for _ in range(1 + constants.CROSSOVER_REPEATS)][1:])
        return found

    def _shared(self, name: str, change: Change, make: Any) -> Any:
        """Return what is the same for all backends after a batch, made on first use."""
        cache, place = self.fixture.data.cache, (name, self.graph_form, change.digest)
        if place not in cache:
            cache[place] = make()
        return cache[place]

    def _model(self, batch: Drawn, change: Change) -> EdgeModel:
        return self._shared("model", change, lambda: self.model_after(batch[:2]))

    def _check_answer(self, batch: Drawn, change: Change, answer: Any) -> None:
        assert self.subject is not None
        if not self.large:
            self.subject.check(answer, self._model(batch, change))
            return
        anew = self._shared(f"answer of {self.use}", change, self._computed_anew)
        check_same(self.subject.kind, self.subject.params, answer, anew, self.device)

    def _computed_anew(self) -> Any:
        assert self.subject is not None
        anew = self.subject.new()
        anew.compute(self.graph)
        return on_host(anew.result, self.device)

    def _product(self, change: Change) -> np.ndarray:
        """Return the product with the matrix of the input's edges, and what the batch makes of it."""
        cache, n, values = self.fixture.data.cache, len(self.values), self.values.astype(np.float64)
        if "product" not in cache:
            cache["product"] = self.input_model.csr(n, np.float64) @ values
        (more, to), (less, gone) = ends_of(change.new), ends_of(change.lost)
        return cache["product"] + np.bincount(more, values[to], n) - np.bincount(less, values[gone], n)


class Rebuilding(Crossing):
    """The same with a graph that is built anew for every batch, and an algorithm that is computed anew on it.

    That is what programs over static structures do. The edges that the batch leaves are listed already, which is not
    timed; all repeats have the same batch.
    """

    def __init__(self, fixture: Fixture, use: str, batch: int, sizes: tuple[int, ...] = ()) -> None:
        super().__init__(fixture, use, batch, sizes)
        self.backend = REBUILD
        if self.subject:
            self.needs_in_edges = self.subject.kind.requires.in_edges

    def setup(self) -> None:
        """Draw the batch, and list the edges after it."""
        self.begin()
        self.batch_drawn = super().prepare()
        model = self.model_after(self.batch_drawn[:2])
        order = self.fixture.rng("rebuilt").permutation(len(model))
        weight = None if model.weight is None else model.weight[order]
        self.edges = self.fixture.upload(*ends_of(model.keys[order]), weight)

    def prepare(self) -> Drawn:
        """Free the graph of the repeat before."""
        self.graph = None
        return self.batch_drawn

    def action(self, batch: Drawn) -> Any:
        """Build the graph, and use it."""
        self.graph = self.fixture.empty_graph(in_edges=self.needs_in_edges, **self.form)
        self.graph.insert_edges(*self.edges)
        if not self.subject:
            return self.ask(batch)
        instance = self.subject.new()
        instance.compute(self.graph)
        return instance.result

    def answer(self, result: Any) -> Any:
        """Return what the action returned."""
        return result

    def restore(self, batch: Any, result: Any) -> None:
        """Leave it: the next repeat builds another graph."""

    def finish(self) -> None:
        """Verify nothing more."""
