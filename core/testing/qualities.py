"""The conformance kit of algorithms with many right answers, which differ in quality, as communities do.

A certificate, ``mismatch()``, is not enough: communities whose vertices only move pass it after every window of a
stream, while their quality falls further and further behind. So updates are compared with computations from scratch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from suricate.plugins import backends
from suricate.plugins.algorithm import Algorithm
from suricate.testing.algorithms import as_parts, on_host
from suricate.testing.draws import demand_class

if TYPE_CHECKING:
    from suricate.graph import Graph

WINDOWS, LAST, SEEDS = 40, 10, 3  #: windows of a script; the last ones, whose quality counts; seeds from scratch
CHANGED = 0.1  #: largest share of labels that may change per window of one percent, on average
BELOW = 0.99  #: of the quality of another program, what a computation from scratch must have on average
GAIN = 1e-9  #: what no single step may gain after a computation from scratch
GROUPS, SIZE = 12, 25  #: of the planted partition


def planted_events(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of ``count`` events in groups of vertices, of which one moves to another group now and then."""
    rng = np.random.default_rng(seed)
    n = GROUPS * SIZE
    group, found = np.arange(n) % GROUPS, np.empty((2, count), np.int64)
    for i in range(count):
        if i % 20 == 0:
            group[rng.integers(n)] = rng.integers(GROUPS)
        u = rng.integers(n)
        same = np.flatnonzero(group == group[u])
        found[:, i] = u, rng.choice(same) if rng.random() < 0.75 else rng.integers(n)
    found = found[:, found[0] != found[1]]
    return found[0], found[1]


class QualityConformance:
    """The kit of an algorithm with ``quality_within``; its result has labels, in the array that ``groups`` names.

    It comes besides ``AlgorithmConformance``. A subclass named ``Test...`` sets ``algorithm``.

    Attributes:
        algorithm: the class under test.
        params: its parameters, of which ``seed`` gives another right answer.
        streams: (sources, destinations, length of the window, slide) of events of real streams, in their order.
    """

    algorithm: ClassVar[type[Algorithm]]
    params: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    streams: ClassVar[tuple[tuple[np.ndarray, np.ndarray, int, int], ...]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Demand an algorithm."""
        demand_class(self, "algorithm")

    def rival(self, graph: Graph) -> float | None:
        """Return the mean quality on ``graph`` of another program, None: there is none to compare with."""
        return None

    def windows(self, src: np.ndarray, dst: np.ndarray, size: int, slide: int) -> Iterator[tuple[Graph, float]]:
        """Yield a graph of the last ``size`` events, again after each slide; how often a pair comes is its weight."""
        from suricate.graph import Graph
        from suricate.graph.delta import Batch

        n = int(max(src.max(), dst.max())) + 1
        pair = np.minimum(src, dst).astype(np.int64) * n + np.maximum(src, dst)
        graph = Graph(n, device="cpu", directed=False, weight_dtype="float64")
        pairs, times = np.unique(pair[:size], return_counts=True)
        graph.insert_edges(pairs // n, pairs % n, times)
        yield graph, 0.0
        for begin in range(slide, min(WINDOWS * slide, len(pair) - size) + 1, slide):
            window = np.sort(pair[begin : begin + size])
            touched = np.unique(
                np.concatenate((pair[begin - slide : begin], pair[begin + size - slide : begin + size]))
            )
            times = np.searchsorted(window, touched, "right") - np.searchsorted(window, touched)
            gone, kept = touched[times == 0], touched[times > 0]
            graph.apply(Batch(delete=(gone // n, gone % n), insert=(kept // n, kept % n, times[times > 0])))
            yield graph, slide / size

    def labels(self, result: Any) -> np.ndarray:
        """Return the labels in ``result``, host arrays."""
        return np.asarray(result if self.algorithm.groups == "value" else getattr(result, self.algorithm.groups))

    def certificate(self, result: Any, graph: Graph) -> tuple[Any, str | None]:
        """Return ``reference()`` of ``graph``, and what is wrong with ``result``, a text or None."""
        arcs = graph.store("out").edges()
        right = self.algorithm.reference(*arcs, graph.num_vertices, False, live=graph.live, **self.params)
        return right, self.algorithm.mismatch(result, right, **self.params)

    def from_scratch(self, graph: Graph) -> float:
        """Return the mean quality of computations on ``graph`` with ``SEEDS`` seeds."""
        results = [graph.compute(self.algorithm, **{**self.params, "seed": seed}) for seed in range(SEEDS)]
        return float(np.mean([self.algorithm.quality(result, graph, **self.params) for result in results]))

    def follow_windows(self, stream: tuple[np.ndarray, np.ndarray, int, int]) -> None:
        """Follow the windows of a stream; assert that quality stays, labels last, and no update computes."""
        tracker, before, gaps, changed, moved = None, None, [], [], 0.0
        for number, (graph, share) in enumerate(self.windows(*stream)):
            tracker = graph.track(self.algorithm, **self.params) if tracker is None else tracker
            result = on_host(tracker.result, graph)
            now, wrong = self.labels(result), self.certificate(result, graph)[1]
            assert wrong is None, wrong
            if before is not None:
                changed.append(np.mean((now != before)[graph.degrees() > 0]))
                moved += share
            before = now
            if number > WINDOWS - LAST:
                gaps.append(1 - self.algorithm.quality(result, graph, **self.params) / self.from_scratch(graph))
        assert tracker is not None
        assert tracker.updates.computed == 1, f"updates of small batches computed from scratch: {tracker.updates}"
        limit = CHANGED * 100 * moved / len(changed)
        assert np.mean(changed) <= limit, (
            f"{np.mean(changed):.3f} of the labels change per window: more than {limit:.3f}"
        )
        within, gap = self.algorithm.quality_within, float(np.mean(gaps))
        assert within is not None
        assert gap <= within, f"the quality after updates is {100 * gap:.1f} % below that from scratch"

    # -- tests ---------------------------------------------------------------------------------------------------------

    def test_quality_of_planted_communities(self) -> None:
        """Updates keep the quality while planted communities change, and labels last."""
        size = 100 * GROUPS
        self.follow_windows((*planted_events(1, 2 * size), size, size // 100))

    def test_quality_of_streams(self) -> None:
        """Updates keep the quality over windows of real events, and labels last."""
        if not self.streams:
            pytest.skip("the kit names no streams")
        for stream in self.streams:
            self.follow_windows(stream)

    def test_quality_from_scratch(self) -> None:
        """From scratch the quality is that of another program at least, and no single step gains."""
        for graph, _ in list(self.windows(*planted_events(2, 1500), 1400, 100))[:1]:
            rival = self.rival(graph)
            found = self.from_scratch(graph)
            assert rival is None or found >= BELOW * rival, f"quality {found:.4f}, of another program {rival:.4f}"
            result = graph.compute(self.algorithm, **self.params)
            gain = self.algorithm.gains(result, self.certificate(result, graph)[0], **self.params)
            assert gain <= GAIN, f"a single step gains {gain}"

    def test_same_answer_everywhere(self) -> None:
        """With one seed the answer is the same on every backend, in every order of edges, and on 1 to 3 ranks."""
        from suricate.graph import Graph
        from suricate.parallel import run

        n, (src, dst) = GROUPS * SIZE, planted_events(3, 1200)
        _, first = np.unique(np.minimum(src, dst) * n + np.maximum(src, dst), return_index=True)
        rng = np.random.default_rng(0)
        weight = rng.random(len(src))

        def answer(backend: Any, order: np.ndarray, comm: Any = None) -> Any:
            graph = Graph(n, backend=backend, device="cpu", directed=False, weight_dtype="float64", comm=comm)
            mine = order if comm is None or comm.rank == 0 else order[:0]
            graph.insert_edges(src[mine], dst[mine], weight[mine])
            tracker = graph.track(self.algorithm, **self.params)
            found = [tracker.result]
            gone = first[::9][: len(mine)]
            graph.delete_edges(src[gone], dst[gone])
            return [*found, tracker.result]

        right = answer(None, first)
        others = [answer(backend, rng.permutation(first)) for backend in backends().values()]
        others += [each for ranks in (1, 3) for each in run(lambda comm: answer(None, first, comm), ranks=ranks)]
        for number, other in enumerate(others):
            for one, same in zip(right, other, strict=True):
                for part, wanted in zip(as_parts(one), as_parts(same), strict=True):
                    assert np.array_equal(part, wanted), f"answer {number} is another one"

    def test_labels_stay(self) -> None:
        """What changes nothing, or only within one community, changes no label outside; a vertex in a tie stays."""
        for graph, _ in list(self.windows(*planted_events(4, 1300), 1200, 100))[:1]:
            tracker = graph.track(self.algorithm, **self.params)
            before = self.labels(on_host(tracker.result, graph))
            edges = graph.edges()
            graph.insert_edges(*edges)
            graph.insert_edges([], [], [])
            assert np.array_equal(self.labels(on_host(tracker.result, graph)), before), "an empty change"
            label, count = np.unique(before, return_counts=True)
            inside = np.flatnonzero(before == label[np.argmax(count)])[:4]
            graph.insert_edges(inside[:3], inside[1:], np.ones(3))
            now = self.labels(on_host(tracker.result, graph))
            assert np.array_equal(now, before), "edges within one community changed labels"
        self.stays_in_a_tie()

    def stays_in_a_tie(self) -> None:
        """Assert that a vertex that two communities draw alike keeps its label, whichever came first."""
        from suricate.graph import Graph

        ends = [(u, v) for part in (0, 5) for u in range(part, part + 5) for v in range(part, u)]
        graph = Graph(11, device="cpu", directed=False)
        graph.insert_edges(*np.array([*ends, (10, 5), (10, 6), (10, 0)]).T)
        tracker = graph.track(self.algorithm, **self.params)
        before = self.labels(tracker.result).tolist()
        assert before[10] == before[5] != before[0]
        graph.insert_edges([10], [1])
        assert self.labels(tracker.result).tolist() == before, "a vertex moved without gain"
