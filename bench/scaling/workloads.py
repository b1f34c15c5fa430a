"""What the suite on scaling measures: each workload makes what it needs, runs once per repeat, and is verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.bench.constants import CHECK_BY_REFERENCE
from suricate.bench.drawn import DrawnInput
from suricate.bench.verify.edges import expect
from suricate.generate.edge_streams import UniformStream
from suricate.graph import Graph
from suricate.parallel import Comm
from suricate.plugins import algorithm

MOST_AT_ONCE = 2**28  #: edges of a call of the bulk build


@dataclass
class Job:
    """A graph to measure on, divided among the ranks of ``comm``.

    Attributes:
        comm: the communication of the ranks; with one rank, the graph is an ordinary one.
        data: the input; each rank draws its part of the edges.
        device: the device of this rank.
        backend: name of the backend.
        options: of the graph, besides ``in_edges=True``.
        graph: the graph; None until it is built.
        drawn: how many edges have been drawn for batches so far.
    """

    comm: Comm
    data: DrawnInput
    device: Device
    backend: str
    options: Mapping[str, Any] = field(default_factory=dict)
    graph: Graph | None = None
    drawn: int = 0
    batches: UniformStream = field(init=False)

    def __post_init__(self) -> None:
        self.batches = UniformStream(self.data.stream.scale, self.data.stream.seed + 1)

    @property
    def built(self) -> Graph:
        """The graph, which must have been built (``graph`` is not None), else ``AssertionError``."""
        assert self.graph is not None
        return self.graph

    def empty(self, count: int | None = None) -> Graph:
        """Return a new graph of ``count`` vertices (None: all), divided among the ranks, with in-edges by default."""
        options = {"in_edges": True, "device": self.device, "backend": self.backend, **self.options}
        if self.comm.size > 1:
            options["comm"] = self.comm
        return Graph(self.data.num_vertices if count is None else count, **options)

    def part(self, size: int) -> tuple[int, int]:
        """Return ``(begin, end)``: which of the ``size`` edges of a collective call this rank passes to it."""
        comm = self.comm
        return size * comm.rank // comm.size, size * (comm.rank + 1) // comm.size


class Workload:
    """Base of the workloads, each of which gives one row.

    A repeat is ``prepare`` (untimed), ``run`` (timed) and ``restore`` (untimed); ``check`` is called once after the
    repeats.
    """

    workload, does = "", ""
    algorithm: str | None = None
    batch: int | None = None
    verified = ""
    once = False  #: whether it runs once

    def __init__(self, job: Job) -> None:
        self.job = job

    @property
    def items(self) -> int:
        """The number of edges that a run processes."""
        return self.batch or self.job.data.num_edges

    def prepare(self) -> None:
        """Make what a run needs, untimed."""

    def run(self) -> None:
        """Do the timed work."""

    def restore(self) -> None:
        """Undo the changes of a run, untimed."""

    def check(self) -> None:
        """Raise ``Mismatch`` if a result is wrong."""

    def extra(self) -> dict[str, Any]:
        """Return further facts for the row, by name; called after :meth:`check`."""
        return {}

    def said(self) -> str:
        """Return what the line of the row says besides times; called after :meth:`check`."""
        return ""


class Build(Workload):
    """Insert all edges of the input into an empty graph; the other workloads use the graph of the last repeat."""

    workload, verified = "scaling build", "sums of degrees"
    does = "inserts all edges of a drawn graph, of which each rank passes a part, at most 2^28 in a call"

    def prepare(self) -> None:
        """Draw this rank's part of the edges, and make an empty graph."""
        self.job.graph = None
        self.edges = self.job.data.edges(*self.job.part(self.job.data.num_edges), self.job.device.xp)
        self.made = self.job.empty()

    def run(self) -> None:
        """Insert this rank's edges in several calls, as every rank has all edges of a call in memory for a while."""
        size = len(self.edges.src)
        calls = -(-self.items // MOST_AT_ONCE)
        for number in range(calls):
            at = slice(size * number // calls, size * (number + 1) // calls)
            self.made.insert_edges(self.edges.src[at], self.edges.dst[at])

    def restore(self) -> None:
        """Store the built graph in the job, where the other workloads find it; free the drawn edges."""
        self.job.graph, self.edges, self.made = self.made, None, None  # type: ignore[assignment]

    def check(self) -> None:
        """Verify that the out-degrees and the in-degrees sum to the number of edges."""
        graph = self.job.built
        for direction in ("out", "in"):
            total = int(graph.degrees(direction).sum(dtype=np.int64))
            expect(total == graph.num_edges, f"{direction}-degrees sum to {total}, there are {graph.num_edges} edges")


class Grow(Workload):
    """Add vertices to an empty graph in 20 batches, each with edges from the new vertices to any."""

    workload, verified = "scaling grow", "sums of degrees"
    does = "adds a twentieth of the vertices to an empty graph, then edges out of them, twenty times"
    STEPS = 20

    def prepare(self) -> None:
        """Draw this rank's part of the edges, and make an empty graph."""
        job, size = self.job, self.job.data.num_edges // self.STEPS
        begin, end = job.part(size)
        draw, xp = job.batches.piece, job.device.xp
        self.parts = [draw(k * size + begin, k * size + end, xp) for k in range(self.STEPS)]
        self.made = job.empty(0)

    def run(self) -> None:
        """Insert vertices and edges in turn."""
        for src, dst, *_ in self.parts:
            before, count = self.made.num_vertices, -(-self.job.data.num_vertices // self.STEPS)
            self.made.insert_vertices(count)
            self.made.insert_edges(src % count + before, dst % (before + count))

    def check(self) -> None:
        """Verify that the out-degrees and the in-degrees sum to the number of edges."""
        for direction in ("out", "in"):
            total = int(self.made.degrees(direction).sum(dtype=np.int64))
            expect(total == self.made.num_edges > 0, f"{direction}-degrees sum to {total}")


class Insert(Workload):
    """Insert a batch of random pairs; after the timed call, delete those that were new."""

    workload, verified = "scaling insert", "questions for the batch"
    does = (
        "inserts a fresh batch of uniform pairs, of which each rank passes a part; then, untimed, deletes what was new"
    )

    def __init__(self, job: Job, batch: int) -> None:
        super().__init__(job)
        self.batch = batch

    def prepare(self) -> None:
        """Draw this rank's part of a new batch."""
        job, size = self.job, self.items
        begin, end = job.part(size)
        self.edges = job.batches.piece(job.drawn + begin, job.drawn + end, job.device.xp)
        job.drawn += size

    def run(self) -> None:
        """Insert the batch."""
        self.delta = self.job.built.insert_edges(self.edges.src, self.edges.dst)

    def restore(self) -> None:
        """Delete the edges that were new in the batch."""
        new, (begin, end) = self.delta.inserted, self.job.part(self.delta.num_inserted)
        self.job.built.delete_edges(new.src[begin:end], new.dst[begin:end])

    def check(self) -> None:
        """Verify that the edges that were new in the last batch are not in the graph after their deletion."""
        new = self.delta.inserted
        expect(len(new.src) > 0, "nothing of a fresh batch was new")
        expect(not bool(self.job.built.has_edges(new.src, new.dst).any()), "an edge that was deleted is there")


class Delete(Insert):
    """Insert a batch, untimed; then delete those of its edges that were new."""

    workload = "scaling delete"
    does = "deletes what was new of a batch that was inserted, untimed"

    def prepare(self) -> None:
        """Insert a batch; store this rank's part of the edges that were new, which :meth:`run` deletes."""
        super().prepare()
        super().run()
        new, (begin, end) = self.delta.inserted, self.job.part(self.delta.num_inserted)
        self.gone = new.src[begin:end], new.dst[begin:end]

    def run(self) -> None:
        """Delete the edges that were new in the batch."""
        self.job.built.delete_edges(*self.gone)

    def restore(self) -> None:
        """Do nothing: the graph is as it was before the batch."""


class Compute(Workload):
    """Compute an algorithm from scratch."""

    workload = "scaling compute"
    does = "computes an algorithm from scratch, on the graph divided among the ranks"

    def __init__(self, job: Job, name: str) -> None:
        super().__init__(job)
        self.algorithm, self.kind = name, algorithm(name)
        self.params = self.kind.sample_params(job.data.num_vertices, job.data.source)

    def run(self) -> None:
        """Compute the algorithm on the graph."""
        self.result = self.job.built.compute(self.kind, **self.params)

    @property
    def verified(self) -> str:  # type: ignore[override]
        """A text: what the result is compared with."""
        return "the reference" if self.is_small else "the answers of all ranks"

    @property
    def is_small(self) -> bool:
        """Whether the graph is small enough to compute the algorithm's reference on it."""
        return self.job.data.num_edges <= CHECK_BY_REFERENCE

    def check(self) -> None:
        """Verify that all ranks have the same result; on a small graph, also that it agrees with the reference."""
        parts = self.result if isinstance(self.result, tuple) else (self.result,)
        self.job.comm.same({f"part {number} of the answer": part for number, part in enumerate(parts)})
        if not self.is_small:
            return
        kind, graph, host = self.kind, self.job.built, self.job.device.to_numpy
        src, dst, _ = graph.edges()
        wanted = kind.reference(host(src), host(dst), None, graph.num_vertices, graph.directed, **self.params)
        found = [host(part) if hasattr(part, "shape") else part for part in parts]
        given = self.result._make(found) if hasattr(self.result, "_make") else found[0]
        wrong = kind.mismatch(given, wanted, **self.params)
        expect(wrong is None, f"{self.algorithm}: {wrong}")


class Update(Insert):
    """Insert a batch while a tracker keeps an algorithm current."""

    workload, verified = "scaling update", "computed from scratch"
    does = "inserts a batch and brings an algorithm up to date; then, untimed, deletes what was new"

    def __init__(self, job: Job, name: str, batch: int) -> None:
        super().__init__(job, batch)
        self.algorithm, self.kind = name, algorithm(name)
        self.params = self.kind.sample_params(job.data.num_vertices, job.data.source)
        self.tracker: Any = None

    def prepare(self) -> None:
        """Draw a batch; at the first call, start tracking the algorithm."""
        if self.tracker is None:
            self.tracker = self.job.built.track(self.kind, **self.params)
        super().prepare()

    def run(self) -> None:
        """Insert the batch, and read the tracker's result."""
        super().run()
        self.result = self.tracker.result

    def check(self) -> None:
        """Compare the tracker's result with one computed from scratch, then close the tracker."""
        host = self.job.device.to_numpy
        found, wanted = (
            [host(part) if hasattr(part, "shape") else part for part in (each if isinstance(each, tuple) else (each,))]
            for each in (self.tracker.result, self.job.built.compute(self.kind, **self.params))
        )
        for one, other in zip(found, wanted, strict=True):
            is_real = np.asarray(one).dtype.kind == "f"
            same = np.allclose(one, other, rtol=1e-3, atol=1e-6) if is_real else np.array_equal(one, other)
            expect(same, f"{self.algorithm} that was kept current is not that from scratch")
        self.tracker.close()
