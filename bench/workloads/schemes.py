"""Workloads on the iteration schemes of the operators: the same pass (one call of an operator) by each scheme.

A pass starts from the whole graph, from a few vertices, or from the edges that were inserted since a mark. In tasks
``drawn`` is the start of the repeat, a :class:`Pass`, and ``result`` what ``action`` returned.

Edge functions get the source ``u``, the destination ``v`` and the weight ``w`` of an edge, then further arguments;
what a text does not mention is not used.
"""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

import numpy as np

from suricate.base.types import ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture, Housekeeper
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import check_content, expect
from suricate.bench.workloads.base import FixtureTask
from suricate.bench.workloads.operators import FAR, value
from suricate.errors import RequirementError
from suricate.intake.arrays import sorted_distinct
from suricate.operators import advance, neighbor_reduce
from suricate.plugins.algorithm import pull_bytes


class Start(NamedTuple):
    """What a pass starts from.

    ``kind``: ``"whole"`` (the graph), ``"random"`` or ``"hubs"`` (``size`` vertices), ``"marked"`` (the edges of a
    batch of ``size`` inserted since a mark).
    """

    kind: str
    size: int = 0

    def __str__(self) -> str:
        return "whole graph" if self.kind == "whole" else f"{self.size:,} {self.kind}"


WHOLE = Start("whole")
FEW = (*(Start("random", size) for size in constants.FRONTIERS), Start("hubs", constants.HUBS))
MARKED = tuple(Start("marked", size) for size in constants.MARKED_BATCHES)
SCHEMES = {"whole": ("auto", "vertex", "bucket", "scan"), "marked": ("auto", "updated")}  #: per kind of start
FEW_SCHEMES = ("auto", "vertex", "bucket")


def own(u, v, w, x):
    """Edge function: return the value ``x[u]`` of the source."""
    return x[u]


class Pass(NamedTuple):
    """The start of one repeat: a frontier, or edges inserted since the mark, or (with neither) the whole graph.

    ``frontier``: vertices on the device, or None; ``vertices``: the same on the host, ascending; ``new``: the keys of
    the edges that were inserted since the mark.
    """

    frontier: Any = None
    vertices: np.ndarray | None = None
    new: np.ndarray = np.empty(0, np.uint64)  # keys of the edges since the mark


class SchemeTask(FixtureTask):
    """Base of the workloads: one call of an operator, with ``scheme`` (a text) from ``start`` (see :class:`Start`)."""

    def __init__(self, fixture: Fixture, scheme: str, start: Start) -> None:
        super().__init__(fixture, start.size if start.kind == "marked" else None)
        self.scheme, self.start = scheme, start
        self.label_row(str(start), scheme)

    def setup(self) -> None:
        """Get the shared graph; make the arrays, and a frontier for warm calls."""
        self.n, self.model = self.fixture.data.num_vertices, self.fixture.data.model
        if self.start.kind in ("random", "hubs") and self.start.size > self.n:
            raise Skipped(f"the graph has {self.n} vertices only")
        self.graph = self.fixture.graph(weighted=False)
        self.housekeeper = Housekeeper(self.graph)
        self.rng = self.fixture.rng("scheme", self.start)
        self.batches = Batches(self.fixture, self.start.size, "marked")
        self.other = None
        if self.start.kind in ("random", "hubs"):
            self.other = self.graph.frontier(self.rng.choice(self.n, self.start.size, replace=False))
        self.counts: list[int] = []
        self.make_arrays()

    def make_arrays(self) -> None:
        """Allocate and fill the arrays of vertex values on the device."""

    def prepare(self) -> Pass:
        """Return the start of a repeat: the whole graph, a frontier, or a batch inserted after setting a mark."""
        if self.start.kind == "whole":
            return self._counted(Pass(), len(self.model))
        if self.start.kind == "marked":
            return self._marked()
        if self.start.kind == "random":
            vertices = np.sort(self.rng.choice(self.n, self.start.size, replace=False))
        else:
            vertices = np.sort(np.argpartition(self.fixture.data.out_degrees, -self.start.size)[-self.start.size :])
        drawn = Pass(self.graph.frontier(vertices), vertices)
        return self._counted(drawn, int(self.fixture.data.out_degrees[vertices].sum()))

    def _marked(self) -> Pass:
        self.graph.mark()
        batch = self.batches.draw("uniform")
        self.graph.insert_edges(*batch.edges)
        keys = sorted_distinct(batch.keys)
        new = keys[~self.model.contains(keys)]
        return self._counted(Pass(new=new), len(new) if self.scheme == "updated" else len(self.model) + len(new))

    def _counted(self, drawn: Pass, edges: int) -> Pass:
        self.counts.append(edges)
        self.items = int(statistics.median(self.counts))
        return drawn

    def warm(self) -> None:
        """Run the operator on another frontier or on the marked edges; do nothing if it starts from the whole graph."""
        if self.start.kind != "whole":
            self.call(self.other, self.scheme, discarded=True)

    def action(self, drawn: Pass) -> Any:
        """Run the operator once from the start ``drawn``; return its result."""
        try:
            return self.call(drawn.frontier, self.scheme)
        except RequirementError as error:
            raise Skipped(str(error)) from error

    def call(self, frontier: Any, scheme: str, *, discarded: bool = False) -> Any:
        """Call the operator by ``scheme`` from ``frontier`` (None: no frontier); return its result.

        ``discarded``: True for warm calls, which write to an array that nothing reads.
        """
        raise NotImplementedError

    def edges_of(self, drawn: Pass) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations, on the host, of the edges that a pass from the start ``drawn`` visits."""
        if self.scheme == "updated":
            return ends_of(drawn.new)
        if drawn.vertices is not None:
            member = np.zeros(self.n, bool)
            member[drawn.vertices] = True
            return ends_of(self.model.keys[member[self.model.src]])
        return ends_of(self.model.plus(drawn.new))

    def restore(self, drawn: Pass, result: Any) -> None:
        """Delete the edges inserted since the mark, if there are any."""
        if len(drawn.new):
            self.graph.delete_edges(*self.fixture.upload(*ends_of(drawn.new))[:2])
            self.housekeeper.tidy(self.start.size)

    def finish(self) -> None:
        """If batches were inserted, verify that the graph has the input's edges again."""
        if self.start.kind == "marked":
            check_content(self.graph, self.model)

    def extra(self) -> dict[str, Any]:
        """Return the texts of start and scheme, by name, for the tables."""
        return {"start": str(self.start), "scheme": self.scheme}


class Pull(SchemeTask):
    """``neighbor_reduce``: for each vertex, the sum of a vertex array over its out-neighbours."""

    workload = "pull"
    does = "neighbor_reduce by one scheme: sums float32 x[v] over the out-neighbours"
    oracle = "NumPy sums over the raw edges"

    def make_arrays(self) -> None:
        """Draw the values to sum; allocate the arrays of results."""
        self.values = self.rng.uniform(0.5, 1.5, self.n).astype(np.float32)
        self.x = self.device.xp.asarray(self.values)
        length = self.start.size if self.start.kind in ("random", "hubs") else self.n
        self.out, self.scrap = (self.device.xp.zeros(length, np.float32) for _ in range(2))

    def call(self, frontier: Any, scheme: str, *, discarded: bool = False) -> Any:
        """Return the sums over the out-neighbours of the vertices in ``frontier`` (None: of all), by ``scheme``.

        ``discarded``: True for warm calls, which write to an array that nothing reads.
        """
        out = self.scrap if discarded else self.out
        return neighbor_reduce(self.graph, frontier, value, args=(self.x,), reduce="sum", out=out, scheme=scheme)

    def check(self, drawn: Pass, result: Any) -> None:
        """Compare the sums ``result`` with sums over the visited edges in float64 on the host."""
        src, dst = self.edges_of(drawn)
        expected = np.bincount(src, self.values[dst].astype(np.float64), self.n)
        if drawn.vertices is not None:
            expected = expected[drawn.vertices]
        tolerance = 64 * np.finfo(np.float32).eps * max(1.0, np.log2(max(2, len(src))))
        close = np.allclose(self.device.to_numpy(result), expected, rtol=tolerance, atol=0)
        expect(close, "neighbor_reduce differs from the sums over the raw edges")

    def traffic(self) -> int | None:
        """Return the least bytes that a pass over the whole graph moves; None for other starts."""
        whole = self.start.kind == "whole"
        return pull_bytes(self.n, len(self.model), self.values.itemsize) if whole else None


class Push(SchemeTask):
    """``advance``: for each vertex, the least value of its in-neighbours in the frontier, into a cleared array."""

    workload = "push"
    does = "advance by one scheme: int32 minimum of x[u] into out[v]; returns the vertices that changed"
    oracle = "NumPy minima over the raw edges"

    def make_arrays(self) -> None:
        """Draw the values to push; allocate the arrays of results."""
        self.values = self.rng.integers(0, FAR, self.n, np.int32)
        self.x = self.device.xp.asarray(self.values)
        self.out, self.scrap = (self.device.xp.full(self.n, FAR, np.int32) for _ in range(2))

    def prepare(self) -> Pass:
        """Clear the array of results; return the start of a repeat."""
        self.out.fill(FAR)
        return super().prepare()

    def call(self, frontier: Any, scheme: str, *, discarded: bool = False) -> Any:
        """Push the values of ``frontier`` (None: of all vertices) by ``scheme``; return the frontier of changes.

        ``discarded``: True for warm calls, which write to an array that nothing reads.
        """
        out = self.scrap if discarded else self.out
        return advance(self.graph, frontier, own, out=out, args=(self.x,), reduce="min", scheme=scheme)

    def check(self, drawn: Pass, changed: Any) -> None:
        """Compare all minima, and the frontier ``changed``, with those over the visited edges on the host."""
        src, dst = self.edges_of(drawn)
        expected = np.full(self.n, FAR, np.int32)
        np.minimum.at(expected, dst, self.values[src])
        expect(np.array_equal(self.device.to_numpy(self.out), expected), "advance differs from the minima")
        found = np.sort(self.device.to_numpy(changed.vertices))
        expect(np.array_equal(found, np.flatnonzero(expected < FAR)), "advance returned other vertices than changed")


def scheme_tasks(fixture: Fixture, marked: Fixture) -> list[FixtureTask]:
    """Return the tasks of a backend; those that insert edges use the fixture ``marked``, the others ``fixture``."""
    tasks: list[FixtureTask] = []
    for kind in (Pull, Push):
        tasks += [kind(fixture, scheme, WHOLE) for scheme in SCHEMES["whole"]]
        tasks += [kind(fixture, scheme, start) for start in FEW for scheme in FEW_SCHEMES]
        tasks += [kind(marked, scheme, start) for start in MARKED for scheme in SCHEMES["marked"]]
    return tasks
