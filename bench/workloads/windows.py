"""Workload of the window suite: many edges through a sliding window, with rate and memory over time.

The stream is drawn in pieces on the device, so memory does not limit its length. Its edges are distinct, so the window
has exactly the edges whose numbers are in a range. In tasks ``prepared`` is what ``prepare``
returned, here None, and ``result`` what ``action`` returned.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from suricate.base.types import edge_keys
from suricate.bench import constants
from suricate.bench.drawn import DrawnInput
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.bench.scenarios import bytes_per_edge
from suricate.bench.verify.edges import digest, expect
from suricate.bench.workloads.base import FixtureTask
from suricate.cuda.compiler import POOL
from suricate.generate.edge_streams import UniformStream
from suricate.graph.delta import Batch


class LongWindow(FixtureTask):
    """Insert all edges of a stream, slide by slide; each slide also deletes as many of the oldest edges."""

    workload = "long window"
    does = "inserts a stream slide by slide, each time deleting as many of the oldest edges; rate and bytes over time"
    timed = False
    oracle = "numbers of the stream's edges"

    def __init__(self, fixture: Fixture, batch: int | None = None) -> None:
        self.input = DrawnInput.of(fixture)
        self.window = max(1, int(constants.WINDOW_SHARE * self.input.num_edges))
        self.slide = min(self.window, batch or max(1, int(constants.SLIDE_SHARE * self.window)))
        super().__init__(fixture, self.slide)

    def setup(self) -> None:
        """Raise ``Skipped`` if the stream repeats edges or is too short; fill the window with its first edges."""
        if not isinstance(self.input.stream, UniformStream):
            raise Skipped("the stream repeats edges, so what a window holds would not be known; use uniform:N:M")
        self.stream, xp = self.input.stream, self.device.xp
        self.rng = self.fixture.rng("long window", self.slide)
        self.slides = (self.input.num_edges - self.window) // self.slide
        if not self.slides:
            raise Skipped("the stream is too short for a window")
        self.graph = self.fixture.empty_graph(weighted=False)
        for begin in range(0, self.window, self.slide):
            self.graph.insert_edges(*self.input.edges(begin, min(begin + self.slide, self.window), xp)[:2])
        self.seconds, self.moments = 0.0, [self._moment(0, 0.0)]

    def action(self, prepared: Any) -> None:
        """Move the window to the end of the stream; record rate and bytes, and verify the graph, at some slides."""
        seconds, since = 0.0, 0
        for number in range(self.slides):
            seconds, since = seconds + self._advance(number * self.slide), since + 1
            if _is_moment(number, self.slides, constants.WINDOW_MOMENTS):
                self.moments.append(self._moment(number + 1, 2 * since * self.slide / seconds))
                self.seconds, seconds, since = self.seconds + seconds, 0.0, 0
            if _is_moment(number, self.slides, constants.WINDOW_CHECKS):
                self.verify((number + 1) * self.slide)

    def _advance(self, begin: int) -> float:
        """Move the window, whose first edge has the number ``begin``, by one slide; return the seconds that it took."""
        xp, end = self.device.xp, begin + self.window
        insert = self.input.edges(end, end + self.slide, xp)
        delete = self.input.edges(begin, begin + self.slide, xp)
        POOL.wait()  # for final builds
        self.device.synchronize()
        start = time.perf_counter()
        self.graph.apply(Batch(insert=insert, delete=delete))
        self.device.synchronize()
        return time.perf_counter() - start

    def _moment(self, slides: int, updates_per_s: float) -> dict[str, Any]:
        usage = self.graph.memory_usage()
        return {
            "edges": self.window + slides * self.slide, "updates_per_s": updates_per_s, "used": usage.used,
            "allocated": usage.allocated, "workspace": usage.workspace,
        }  # fmt: skip

    def verify(self, begin: int) -> None:
        """Compare the graph with the window whose first edge has the number ``begin``.

        The number of edges, the digest of their keys, and the answers to some queries must be right.
        """
        edges, end = self.graph.edges(), begin + self.window
        expect(len(edges.src) == self.window == self.graph.num_edges, "long window: the number of edges is wrong")
        drawn = sum(digest(edge_keys(*piece[:2])) for piece in self.input.pieces(begin, end, self.device.xp)) % 2**64
        expect(
            digest(edge_keys(edges.src, edges.dst)) == drawn, "long window: the right number of edges, but other ones"
        )
        near = self.rng.integers(max(0, begin - self.window), end, constants.QUESTIONS).astype(np.uint64)
        found = self.device.to_numpy(self.graph.has_edges(*self.stream.at(near)[:2]))
        expect(np.array_equal(found, near >= begin), "long window: the answer to a question is wrong")

    def check(self, prepared: Any, result: Any) -> None:
        """Have the backend check its invariants, if the window is small; :meth:`action` has verified the edges."""
        if self.window <= constants.CHECK_BY_REFERENCE:
            self.graph.store("out").check()

    def extra(self) -> dict[str, Any]:
        """Return by name the edges of window, slide and stream, the mean rate, and the bytes per edge at the end.

        ``"moments"``: rate and bytes over time.
        """
        sizes = {"window": self.window, "slide": self.slide, "edges": self.moments[-1]["edges"]}
        overall = {"updates_per_s": 2 * self.slides * self.slide / self.seconds}
        return {**sizes, **overall, **bytes_per_edge(self.graph), "moments": self.moments}


def _is_moment(number: int, count: int, moments: int) -> bool:
    """Return whether step ``number`` is the last of a part, if ``count`` steps are cut into ``moments`` equal parts."""
    return (number + 1) * moments // count > number * moments // count
