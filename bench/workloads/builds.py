"""Workloads that fill an empty graph: all edges at once, or batch after batch.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from suricate.base.types import edge_keys
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.bench.scenarios import bytes_per_edge
from suricate.bench.verify.edges import EdgeModel, check_content
from suricate.bench.workloads.base import FixtureTask

ORDERS = ("as given", "sorted", "shuffled")  #: of the edges in a bulk build


def ordered(fixture: Fixture, order: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return sources, destinations and weights (or None) of the fixture's input, in the given order.

    ``order``: "as given", "sorted" by (source, destination), or "shuffled".
    """
    data, weight = fixture.data, fixture.data.weight if fixture.weighted else None
    if order == "as given":
        return data.src, data.dst, weight
    if order == "sorted":
        at = np.argsort(edge_keys(data.src, data.dst), kind="stable")
    else:
        at = fixture.rng("shuffled").permutation(len(data.src))
    return data.src[at], data.dst[at], None if weight is None else weight[at]


class Build(FixtureTask):
    """Insert all edges of the input into an empty graph, in one batch; ``order``: one of :data:`ORDERS`."""

    workload = "bulk build"
    does = "makes a graph and inserts all edges of the input, as one batch: in the order of the file, sorted, shuffled"

    def __init__(self, fixture: Fixture, order: str = "as given") -> None:
        super().__init__(fixture)
        self.order = order
        self.label_row("" if order == "as given" else f"{order} edges")

    def setup(self) -> None:
        """Put the edges into this task's order, and copy them to the device."""
        self.host = ordered(self.fixture, self.order)
        self.items = len(self.host[0])
        self.edges = self.fixture.upload(*self.host)

    def action(self, prepared: Any) -> Any:
        """Insert all edges into a new graph; return the graph."""
        graph = self.fixture.empty_graph()
        graph.insert_edges(*self.edges)
        return graph

    def check(self, prepared: Any, result: Any) -> None:
        """Compare the edges of the graph ``result`` with the input; have the backend check its invariants."""
        if self.fixture.silent:
            return
        check_content(result, self.fixture.model() if self.order == "as given" else EdgeModel(*self.host))
        result.store("out").check()
        self.facts = bytes_per_edge(result)

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge of the built graph."""
        return {} if self.fixture.silent else self.facts


class Growth(FixtureTask):
    """Insert all edges of the input, shuffled, batch after batch into an empty graph."""

    workload = "growth"
    does = "inserts all edges of the input, shuffled, batch after batch into an empty graph, waiting after each"

    def setup(self) -> None:
        """Shuffle the edges, divide them into batches on the device; raise ``Skipped`` if there are too few for one."""
        assert self.batch is not None
        self.host = ordered(self.fixture, "shuffled")
        self.items = len(self.host[0])
        if self.items < self.batch:
            raise Skipped(f"a batch of {self.batch} edges is more than all {self.items}")
        whole = self.fixture.upload(*self.host)
        bounds = range(0, self.items, self.batch)
        self.batches = [[None if part is None else part[at : at + self.batch] for part in whole] for at in bounds]
        self.slowest: list[float] = []
        self.median: list[float] = []

    def prepare(self) -> Any:
        """Return a new graph without edges."""
        return self.fixture.empty_graph()

    def action(self, graph: Any) -> list[float]:
        """Insert batch after batch into ``graph``; return the clock's time, in seconds, at the start and after each."""
        wait, moments = self.device.synchronize, [time.perf_counter()]
        for batch in self.batches:
            graph.insert_edges(*batch)
            wait()
            moments.append(time.perf_counter())
        return moments

    def check(self, graph: Any, moments: Any) -> None:
        """Compare the edges of ``graph`` with the input; have the backend check its invariants."""
        if self.fixture.silent:
            return
        check_content(graph, EdgeModel(*self.host))
        graph.store("out").check()
        self.facts = bytes_per_edge(graph)

    def restore(self, graph: Any, moments: list[float]) -> None:
        """Record the seconds of the slowest and of the median batch; ``moments``: what the action returned."""
        seconds = np.diff(moments)
        self.slowest.append(float(seconds.max()))
        self.median.append(float(np.median(seconds)))

    def extra(self) -> dict[str, Any]:
        """Return the seconds of the slowest and the median batch (medians over the repeats), and bytes per edge."""
        batches = {
            "batches": len(self.batches),
            "slowest_batch_s": statistics.median(self.slowest),
            "median_batch_s": statistics.median(self.median),
        }
        return batches if self.fixture.silent else {**batches, **self.facts}
