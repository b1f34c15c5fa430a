"""Workloads on algorithms: computed from scratch, kept current by a tracker, and the update alone.

Parameters, references and requirements come from the algorithms' classes; nothing here names an algorithm.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from suricate.base.types import ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, HostBatch, Housekeeper
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import EdgeModel, check_content
from suricate.bench.verify.results import check_result
from suricate.bench.workloads.base import FixtureTask
from suricate.cuda.compiler import POOL
from suricate.errors import ParameterError
from suricate.graph.delta import Batch, Delta
from suricate.plugins import algorithm as algorithm_named
from suricate.plugins.algorithm import Algorithm


class Subject:
    """An algorithm with the parameters that it is measured with on one input.

    ``variant``: one of the algorithm's ``variants()``, whose parameters are added; None: none. ``params``: further
    parameters. ``weighted``, ``directed``: whether the graphs that it runs on are; True may be given where the
    algorithm needs no weights.
    """

    def __init__(
        self, fixture: Fixture, name: str, variant: str | None = None, params: Mapping[str, Any] = MappingProxyType({}),
        *, weighted: bool = False,
    ) -> None:  # fmt: skip
        if fixture.silent:
            raise ValueError("a store that does nothing has no algorithms")
        self.fixture, self.kind = fixture, algorithm_named(name)
        self.params = self.kind.sample_params(fixture.data.num_vertices, fixture.data.source)
        if variant is not None:
            self.params = {**self.params, **self.kind.variants()[variant]}
        self.params = {**self.params, **params}
        self.weighted = weighted or self.kind.requires.weighted is True
        self.directed = self.kind.requires.undirected is not True
        self.oracle = f"reference() of {name}"

    @property
    def form(self) -> dict[str, bool]:
        """The arguments ``weighted`` and ``directed`` for graphs that the algorithm runs on.

        Graphs are weighted if the algorithm needs weights, and directed unless it needs undirected ones.
        """
        return {"weighted": self.weighted, "directed": self.directed}

    @property
    def model(self) -> EdgeModel:
        """The set of the input's edges, weighted and directed as the algorithm needs."""
        return self.fixture.model(**self.form)

    def demand(self) -> None:
        """Raise ``Skipped`` if the algorithm has no ``reference()``, or refuses its sample parameters."""
        if not self.kind.has_reference():
            raise Skipped(f"{self.kind.name} brings no reference() to verify it against")
        self.new()

    def new(self) -> Algorithm:
        """Return a new instance of the algorithm; raise ``Skipped`` if it refuses its sample parameters."""
        try:
            return self.kind.create(self.params)
        except ParameterError as error:
            raise Skipped(f"sample_params() of the algorithm do not suffice: {error}") from error

    def check(self, result: Any, model: EdgeModel, live: np.ndarray | None = None) -> float | None:
        """Raise ``Mismatch`` unless ``result`` is right for the edges of ``model``.

        Returns its numerical error, None if the algorithm defines none. ``live``: the mask of live vertices,
        ``bool[n]``; None: all are.
        """
        num_vertices, device = self.fixture.data.num_vertices, self.fixture.device
        return check_result(self.kind, self.params, result, model, num_vertices, device, live)


class FromScratch(FixtureTask):
    """Compute an algorithm from scratch, on a graph that stores in-edges."""

    workload = "from scratch"
    does = "computes the algorithm on the whole graph"

    def __init__(
        self, fixture: Fixture, algorithm: str, params: Mapping[str, Any] = MappingProxyType({}),
        *, weighted: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(fixture)
        self.algorithm, self.subject = algorithm, Subject(fixture, algorithm, params=params, weighted=weighted)
        self.oracle = self.subject.oracle
        self.label_row(*["with weights"] * weighted, *(f"{name}={value}" for name, value in params.items()))

    def setup(self) -> None:
        """Get the shared graph with in-edges, weighted and directed as the algorithm needs."""
        self.subject.demand()
        self.graph = self.fixture.graph(in_edges=True, **self.subject.form)
        self.items = len(self.subject.model)

    def prepare(self) -> Algorithm:
        """Return a new instance of the algorithm, not yet computed."""
        self.instance = self.subject.new()
        return self.instance

    def action(self, instance: Algorithm) -> Any:
        """Compute ``instance`` on the graph; return its result."""
        instance.compute(self.graph)
        return instance.result

    def check(self, instance: Algorithm, result: Any) -> None:
        """Verify ``result`` against the algorithm's reference on the edges of the input."""
        self.subject.check(result, self.subject.model)

    def traffic(self) -> int | None:
        """Return the least bytes that the last computation had to move, as the algorithm states, or None if unknown."""
        return self.instance.traffic(self.graph)

    def extra(self) -> dict[str, Any]:
        """Return the number of iterations, if the algorithm iterates."""
        return {} if self.instance.iterations is None else {"iterations": self.instance.iterations}


MIXED, INSERTIONS, DELETIONS = "mixed", "insertions", "deletions"
DELETION_SHARES = {MIXED: constants.DELETE_SHARE, INSERTIONS: 0.0, DELETIONS: 1.0}  #: by kind of batch


class Batched(FixtureTask):
    """Base of tasks that apply a new batch to a graph in each repeat, and undo it afterwards.

    ``kind`` is "mixed", "insertions" or "deletions" (:data:`DELETION_SHARES`). With an ``algorithm`` the graph has the
    form that it needs, and stores in-edges. The parameter ``batch`` of methods is what :meth:`prepare` returned: a pair
    of the edges to insert and the edges to delete; deletions are applied first.
    """

    def __init__(
        self, fixture: Fixture, batch: int | None = None, kind: str = MIXED, algorithm: str | None = None
    ) -> None:
        super().__init__(fixture, batch)
        self.kind, self.algorithm = kind, algorithm
        self.subject = Subject(fixture, algorithm) if algorithm else None
        self.needs_in_edges = self.subject is not None

    @property
    def form(self) -> dict[str, bool]:
        """The arguments ``weighted`` and ``directed`` for graphs; False and True unless there is an algorithm."""
        return self.subject.form if self.subject else {"weighted": False, "directed": True}

    def load(self) -> None:
        """Make the generators of batches and a graph with all edges of the input, which no other task shares."""
        self.draw_from()
        self.graph = self.new_graph()
        self.housekeeper = Housekeeper(self.graph)

    def new_graph(self) -> Any:
        """Return a new graph with all edges of the input."""
        graph = self.fixture.empty_graph(in_edges=self.needs_in_edges, **self.form)
        graph.insert_edges(*self.fixture.all_edges(weighted=self.form["weighted"]))
        return graph

    def draw_from(self) -> None:
        """Make the generators of the edges that each batch inserts and deletes."""
        assert self.batch is not None
        form, deletions = self.form, int(self.batch * DELETION_SHARES[self.kind])
        self.items, self.input_model = self.batch, self.fixture.model(**form)
        self.inserts = Batches(self.fixture, self.batch - deletions, f"current {self.kind} inserts", **form)
        self.deletes = Batches(self.fixture, deletions, f"current {self.kind} deletes", directed=form["directed"])

    def prepare(self) -> Any:
        """Return a new batch ``(to insert, to delete)``: uniform pairs, and edges of the input."""
        return self.inserts.draw("uniform"), self.deletes.draw("existing")

    def apply(self, batch: tuple[HostBatch, HostBatch]) -> Delta:
        """Apply ``batch``, a pair ``(to insert, to delete)``, deletions first; return the delta."""
        insert, delete = batch
        if self.kind == INSERTIONS:
            return self.graph.insert_edges(*insert.edges)
        if self.kind == DELETIONS:
            return self.graph.delete_edges(delete.edges.src, delete.edges.dst)
        return self.graph.apply(Batch(insert=insert.edges, delete=delete.edges))

    def model_after(self, batch: tuple[HostBatch, HostBatch]) -> EdgeModel:
        """Return the set of edges, on the host, that the graph must have after ``batch``."""
        insert, delete = batch
        return self.input_model.updated(delete.keys, insert.src, insert.dst, insert.weight)

    def restore(self, batch: tuple[HostBatch, HostBatch], result: Any) -> None:
        """Undo ``batch``; compact the graph if deleted edges have bloated it."""
        self.graph.apply(self.inverse(batch))
        self.housekeeper.tidy(self.items)

    def inverse(self, batch: tuple[HostBatch, HostBatch]) -> Batch:
        """Return the batch that undoes ``batch``: after it the graph has the input's edges and weights again."""
        (insert, delete), model = batch, self.input_model
        known = model.contains(insert.keys)
        lost = delete.keys if insert.weight is None else np.unique(np.concatenate((delete.keys, insert.keys[known])))
        weight = None if insert.weight is None else model.weights_of(lost)
        extra = self.fixture.upload(insert.src[~known], insert.dst[~known])
        return Batch(insert=self.fixture.upload(*ends_of(lost), weight), delete=extra)


class KeptCurrent(Batched):
    """Apply a batch to a graph with a tracker: the time of the store and of the algorithm's update together."""

    workload = "kept current"
    does = (
        "applies a fresh batch (uniform insertions, deletions, or 80 % / 20 % of them) with a tracker on; "
        "then, untimed, its inverse"
    )
    subject: Subject

    def __init__(self, fixture: Fixture, algorithm: str, batch: int | None = None, kind: str = MIXED) -> None:
        super().__init__(fixture, batch, kind, algorithm)
        self.oracle = self.subject.oracle
        self.label_row(kind)

    def setup(self) -> None:
        """Build a graph and track the algorithm on it."""
        self.subject.demand()
        self.load()
        self.tracker = self.graph.track(self.subject.kind, **self.subject.params)

    def action(self, batch: tuple[HostBatch, HostBatch]) -> Any:
        """Apply ``batch``, by which the tracker's result is updated, too; return the delta."""
        return self.apply(batch)

    def check(self, batch: tuple[HostBatch, HostBatch], delta: Any) -> None:
        """Verify the edges of the graph and the tracker's result after ``batch``."""
        self.verify(self.model_after(batch))

    def verify(self, model: EdgeModel) -> None:
        """Verify the graph's edges and the current result against ``model``; store the result's error in ``error``."""
        check_content(self.graph, model)
        self.error = self.subject.check(self.current(), model)

    def current(self) -> Any:
        """Return the result to verify: that of the tracker."""
        return self.tracker.result

    def finish(self) -> None:
        """Verify the edges of the graph and the result after the last repeat."""
        self.verify(self.input_model)


class UpdateAlone(KeptCurrent):
    """Update an algorithm's result by the delta of a batch that the graph has already stored; storing is not timed.

    There is no tracker: the task has an ``instance`` of the algorithm, and calls its ``update``.
    """

    workload = "update alone"
    does = "brings the algorithm's result up to date with a fresh batch (as 'kept current') that is already stored"

    def setup(self) -> None:
        """Build a graph and compute the algorithm on it; there is no tracker."""
        self.subject.demand()
        self.load()
        self.instance = self.subject.new()
        self.instance.compute(self.graph)

    def prepare(self) -> tuple[HostBatch, HostBatch]:
        """Draw a batch, apply it to the graph and return it."""
        batch = super().prepare()
        self.delta = self.apply(batch)
        return batch

    def action(self, batch: tuple[HostBatch, HostBatch]) -> None:
        """Update the result of the algorithm by the delta of the batch."""
        self.instance.update(self.graph, self.delta)

    def current(self) -> Any:
        """Return the result to verify: that of the updated instance."""
        return self.instance.result

    def extra(self) -> dict[str, Any]:
        """Return the algorithm's update kind, and the iterations of the last update if it iterates, by name."""
        steps = {} if self.instance.iterations is None else {"iterations": self.instance.iterations}
        return {"update_kind": self.subject.kind.update_kind, **steps}

    def restore(self, batch: tuple[HostBatch, HostBatch], result: Any) -> None:
        """Undo ``batch`` and update the result accordingly; compact the graph if deleted edges have bloated it."""
        self.instance.update(self.graph, self.graph.apply(self.inverse(batch)))
        self.housekeeper.tidy(self.items)


class TenBatches(KeptCurrent):
    """Meerkat's speed-up over ten batches: the seconds to compute from scratch divided by the seconds to update.

    The graph applies each batch before either is timed. Batches are not undone, so the graph grows or shrinks.
    """

    workload = "ten batches"
    does = "ten batches in a row: seconds from scratch over seconds to update (Meerkat's speed-up), with quartiles"
    timed = False

    def setup(self) -> None:
        """Build a graph and compute the algorithm on it twice, so that all is compiled; there is no tracker."""
        self.subject.demand()
        self.load()
        self.model = self.input_model
        self.instance = self.subject.new()
        self.instance.compute(self.graph)
        self.subject.new().compute(self.graph)  # compiles whatever only a first computation needs

    def action(self, batch: tuple[HostBatch, HostBatch]) -> None:
        """Apply ``batch`` and ten further ones; time the update by each and a computation from scratch after it.

        The seconds of both are recorded, except those of ``batch`` itself, which warms up.
        """
        self.update_s, self.scratch_s = list[float](), list[float]()
        for turn in range(1 + constants.SPEEDUP_BATCHES):
            batch = batch if turn == 0 else self.prepare()
            updated = self._seconds(partial(self.instance.update, self.graph, self.apply(batch)))
            seconds = self._seconds(partial(self.subject.new().compute, self.graph))
            insert, delete = batch
            self.model = self.model.updated(delete.keys, insert.src, insert.dst, insert.weight)
            if turn:
                self.update_s.append(updated)
                self.scratch_s.append(seconds)

    def check(self, batch: tuple[HostBatch, HostBatch], result: Any) -> None:
        """Verify the edges of the graph and the updated result after the last batch."""
        self.verify(self.model)

    def restore(self, batch: tuple[HostBatch, HostBatch], result: Any) -> None:
        """Do nothing: there is one repeat."""

    def finish(self) -> None:
        """Do nothing: the result was verified after the last batch."""

    def current(self) -> Any:
        """Return the result to verify: that of the updated instance."""
        return self.instance.result

    def extra(self) -> dict[str, Any]:
        """Return median and quartiles of ten speed-ups, and total seconds of updates and of computations, by name."""
        ratios = np.array(self.scratch_s) / np.array(self.update_s)
        low, speedup, high = np.quantile(ratios, (0.25, 0.5, 0.75)).tolist()
        sums = {"update_s": sum(self.update_s), "scratch_s": sum(self.scratch_s)}
        return {"speedup": speedup, "speedup_low": low, "speedup_high": high, **sums}

    def _seconds(self, work: Callable[[], None]) -> float:
        wait = self.device.synchronize
        POOL.wait()  # for final builds
        wait()
        start = time.perf_counter()
        work()
        wait()
        return time.perf_counter() - start
