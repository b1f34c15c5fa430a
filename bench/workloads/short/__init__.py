"""Short calls: the processor time of one small insertion, and the number of Python calls in it.

``batches`` are those of all calls of a repeat, in order: tuples of sources, destinations and, if weighted, weights.
"""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

import numpy as np

from suricate.base.types import edge_keys
from suricate.bench import constants
from suricate.bench.fixtures import Batches, Fixture
from suricate.bench.verify.edges import ExpectedChange, check_content
from suricate.bench.workloads.base import FixtureTask
from suricate.plugins import algorithm
from suricate.plugins.algorithm import Requirements

QUANTILES = {"cpu_p50_s": 0.5, "cpu_p99_s": 0.99, "cpu_p999_s": 0.999}


class ShortCalls(FixtureTask):
    """Consecutive insertions of small batches of NumPy arrays, including growth and rehashing.

    Args:
        fixture: backend and graph.
        batch: number of edges of a call.
        name: an algorithm to track on the graph, or None.
        in_edges: store in-edges even if the algorithm needs none.
    """

    workload = "short calls"
    does = (
        "inserts many small batches of host arrays, one by one: quantiles of the thread's processor time per call, and "
        "the calls and files of Python in one of them"
    )
    timed = False

    def __init__(self, fixture: Fixture, batch: int, name: str | None = None, *, in_edges: bool = False) -> None:
        super().__init__(fixture, batch)
        self.size, self.algorithm, self.in_edges = batch, name, in_edges
        self.label_row(*(["with in-edges"] if in_edges else []))

    def setup(self) -> None:
        """Build a graph with all edges of the input; track the algorithm if there is one."""
        self.graph, self.trackers = self._new_graph(), list[Any]()
        self.graph.insert_edges(*self.fixture.all_edges(weighted=self.graph.weight_dtype is not None))
        if self.algorithm is not None:
            kind = algorithm(self.algorithm)
            params = kind.sample_params(self.fixture.data.num_vertices, self.fixture.data.source)
            self.trackers.append(self.graph.track(kind, **params))

    def _new_graph(self, **settings: Any) -> Any:
        needs = Requirements() if self.algorithm is None else algorithm(self.algorithm).requires
        in_edges, weighted = self.in_edges or needs.in_edges, bool(needs.weighted)
        return self.fixture.empty_graph(weighted=weighted, in_edges=in_edges, directed=not needs.undirected, **settings)

    def prepare(self) -> list[tuple[np.ndarray, ...]]:
        """Return the batches of all calls, in arrays on the host."""
        return self.draw(constants.SHORT_CALLS + 1)

    def draw(self, count: int) -> list[tuple[np.ndarray, ...]]:
        """Return ``count`` batches: tuples of sources and destinations, int64, and weights if the graph has them."""
        batches = Batches(self.fixture, self.size, f"short calls, {self.detail}")
        drawn = [batches.draw("uniform") for _ in range(count)]
        weights = [np.ones(self.size, self.graph.weight_dtype)] if self.graph.weight_dtype is not None else []
        return [(one.src.astype(np.int64), one.dst.astype(np.int64), *weights) for one in drawn]

    def action(self, batches: list[tuple[np.ndarray, ...]]) -> None:
        """Insert the batches one by one; record the processor time of each call, and the Python calls in the last."""
        seconds, insert, clock = [], self.graph.insert_edges, time.thread_time_ns
        for batch in batches[:-1]:
            began = clock()
            insert(*batch)
            seconds.append(1e-9 * (clock() - began))
        self.graph.synchronize()
        self.seconds = seconds[len(seconds) // 20 :]
        self.files = files_of_calls(lambda: insert(*batches[-1]))

    def check(self, batches: list[tuple[np.ndarray, ...]], result: None) -> None:
        """If the graph is directed, compare its edges with those of the input and of ``batches``."""
        if self.graph.directed:
            src, dst = (np.concatenate([batch[i] for batch in batches]) for i in (0, 1))
            model, keys = self.fixture.model(), edge_keys(src, dst)
            check_content(self.graph, ExpectedChange(model, keys[:0], keys), "short calls: content")

    def finish(self) -> None:
        """Drop the graph and its trackers, to free their memory."""
        self.graph, self.trackers = None, []

    def extra(self) -> dict[str, Any]:
        """Return quantiles of the seconds of a call, and how many Python calls, in how many files, one of them made."""
        times = {name: float(np.quantile(self.seconds, share)) for name, share in QUANTILES.items()}
        return {**times, "calls": len(self.files), "files": len(set(self.files))}


def files_of_calls(action: Any) -> list[str]:
    """Run ``action()``; return for each Python call in it the name of the file that the called code is in."""
    files: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            files.append(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return files[1:]  # without the action itself
