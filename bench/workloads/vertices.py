"""Workloads on vertices: deletion with all their edges, and insertion that recycles the ids of deleted vertices.

``ids`` are those of the vertices that a repeat deletes, ``uint32[n]`` on the device; ``delta`` is the change of edges
that their deletion made. ``result`` is what ``action`` returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import check_content, expect
from suricate.bench.verify.results import takes_live
from suricate.bench.workloads.algorithms import KeptCurrent
from suricate.bench.workloads.base import FixtureTask
from suricate.graph.delta import Delta


class DeleteVertices(FixtureTask):
    """Delete random vertices with all their out-edges and in-edges."""

    workload = "delete vertices"
    does = (
        "deletes distinct random vertices, with all their edges, from a graph with in-edges; then, untimed, undoes it"
    )

    def __init__(self, fixture: Fixture, batch: int) -> None:
        super().__init__(fixture, batch)
        self.size = self.items = batch

    def setup(self) -> None:
        """Build a graph with in-edges."""
        n = self.fixture.data.num_vertices
        if self.size > n:
            raise Skipped(f"the batch has more vertices than the graph ({n})")
        self.rng, self.model = self.fixture.rng(self.workload, self.size), self.fixture.model()
        self.graph = self.fixture.empty_graph(in_edges=True)
        self.graph.insert_edges(*self.fixture.all_edges())

    def prepare(self) -> Array:
        """Return distinct random vertices, ``uint32[n]`` on the device."""
        chosen = self.rng.choice(self.fixture.data.num_vertices, self.size, replace=False)
        return self.device.xp.asarray(chosen.astype(np.uint32))

    def action(self, ids: Array) -> Any:
        """Delete the vertices ``ids``; return the delta."""
        return self.graph.delete_vertices(ids)

    def check(self, ids: Array, result: Any) -> None:
        """Verify that the graph has the input's edges, except those from or to the vertices ``ids``."""
        gone = np.zeros(self.fixture.data.num_vertices, bool)
        gone[self.device.to_numpy(ids)] = True
        stays = ~gone[self.model.src] & ~gone[self.model.dst]
        check_content(self.graph, self.model.only(stays))

    def restore(self, ids: Array, result: Any) -> None:
        """Insert the vertices ``ids`` again, and the edges that the delta ``result`` lists as deleted."""
        self.graph.insert_vertices(self.size, recycle=True)
        self.graph.insert_edges(*result.deleted)

    def finish(self) -> None:
        """Verify the edges of the graph after the last repeat."""
        check_content(self.graph, self.model)


class InsertVertices(DeleteVertices):
    """Insert vertices, which get the ids of deleted ones; the deletion before that is not timed."""

    workload = "insert vertices"
    does = "gives the ids of deleted vertices out again, which have no edges then; then, untimed, undoes it"

    def prepare(self) -> Any:
        """Delete random vertices; return the delta, which has the edges deleted with them."""
        return self.graph.delete_vertices(super().prepare())

    def action(self, delta: Any) -> Array:
        """Insert as many vertices as were deleted; return their ids."""
        return self.graph.insert_vertices(self.size, recycle=True)

    def check(self, delta: Any, result: Array) -> None:
        """Verify that the ids ``result`` are distinct and all recycled, and that the vertices have no edges."""
        found = self.device.to_numpy(result)
        expect(len(np.unique(found)) == self.size, "insert vertices: ids are given out twice")
        expect(self.graph.num_vertices == self.fixture.data.num_vertices, "insert vertices: ids were not recycled")
        expect(not self.device.to_numpy(self.graph.degrees())[found].any(), "insert vertices: one of them has edges")

    def restore(self, delta: Any, result: Any) -> None:
        """Insert the edges that were deleted with the vertices."""
        self.graph.insert_edges(*delta.deleted)


class KeptCurrentWithout(KeptCurrent):
    """Delete random vertices from a graph with a tracker; those that the algorithm's parameters may name stay."""

    workload = "kept current without vertices"
    does = (
        "deletes distinct random vertices, with all their edges, with a tracker on; then, untimed, undoes it. The "
        "result is compared with that of a graph without them"
    )

    def __init__(self, fixture: Fixture, algorithm: str, batch: int) -> None:
        super().__init__(fixture, algorithm, batch)
        self.label_row()

    def setup(self) -> None:
        """Build a graph and track the algorithm on it."""
        if not takes_live(self.subject.kind):
            raise Skipped(f"reference() of {self.algorithm} does not take the mask of live vertices")
        super().setup()

    def draw_from(self) -> None:
        """Make the generator of vertices; list those that are not the value of any integer parameter."""
        assert self.batch is not None
        self.items = self.batch
        values = [np.ravel(value) for value in self.subject.params.values()]
        named = [np.empty(0, int), *(value for value in values if value.dtype.kind in "iu")]
        self.others = np.setdiff1d(np.arange(self.fixture.data.num_vertices), np.concatenate(named))
        if len(self.others) < self.batch:
            raise Skipped("the parameters of the algorithm may name most vertices")
        self.rng, self.input_model = self.fixture.rng(self.workload, self.batch), self.fixture.model(**self.form)

    def prepare(self) -> Array:
        """Return distinct random vertices that no parameter names, ``uint32[n]`` on the device."""
        return self.device.xp.asarray(self.rng.choice(self.others, self.batch, replace=False).astype(np.uint32))

    def apply(self, ids: Array) -> Delta:
        """Delete the vertices ``ids``, by which the tracker's result is updated, too; return the delta."""
        return self.graph.delete_vertices(ids)

    def check(self, ids: Array, delta: Delta) -> None:
        """Verify that the graph has the edges without those at ``ids``, and the result for the live vertices."""
        live = np.ones(self.fixture.data.num_vertices, bool)
        live[self.device.to_numpy(ids)] = False
        model = self.input_model.only(live[self.input_model.src] & live[self.input_model.dst])
        check_content(self.graph, model)
        self.error = self.subject.check(self.current(), model, live)

    def restore(self, ids: Array, delta: Delta) -> None:
        """Insert the vertices ``ids`` again, and the edges that were deleted with them."""
        self.graph.insert_vertices(len(ids), recycle=True)
        self.graph.insert_edges(*delta.deleted)
        self.housekeeper.tidy(self.items)


VERTEX_TASKS = (InsertVertices, DeleteVertices)
