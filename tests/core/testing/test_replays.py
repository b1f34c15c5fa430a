"""The kit for results that depend on the history: a right algorithm passes it, one that forgets a change does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.testing import ReplayedConformance, Snapshot, Variant
from suricate.testing.changes import Changer


class Touched(su.Algorithm):
    """How often an edge at each vertex was inserted or deleted since the first computation."""

    name = "touched"

    def compute(self, graph: su.Graph) -> None:
        self._times = graph.device.xp.zeros(graph.num_vertices, np.int64)

    def update(self, graph: su.Graph, delta: Any) -> None:
        xp = graph.device.xp
        self._times = xp.concatenate([self._times, xp.zeros(graph.num_vertices - len(self._times), np.int64)])
        ends = [end for kind in ("inserted", "deleted") for end in delta.arcs(kind).read()[:2]]
        self._times[xp.unique(xp.concatenate(ends))] += 1

    @property
    def result(self) -> Any:
        return self._times.copy()


class Forgetful(Touched):
    """Overlooks deletions."""

    def update(self, graph: su.Graph, delta: Any) -> None:
        if len(delta.inserted.src) or graph.num_vertices > len(self._times):
            super().update(graph, delta)


class TestTouched(ReplayedConformance):
    algorithm = Touched
    examples = 2
    cuda_marks = (pytest.mark.gpu,)

    def verify(self, result: Any, num_vertices: int, *arcs: Any, live: np.ndarray, **params: Any) -> None:
        assert result.shape == (num_vertices,)

    def begin(self, first: Snapshot, **params: Any) -> np.ndarray:
        return np.zeros(first.num_vertices, np.int64)

    def follow_on(self, state: np.ndarray, before: Snapshot, after: Snapshot, **params: Any) -> np.ndarray:
        state = np.concatenate([state, np.zeros(after.num_vertices - len(state), np.int64)])
        state[after.changed(before)] += 1
        return state

    def answer(self, state: np.ndarray, **params: Any) -> np.ndarray:
        return state


def test_a_change_that_is_forgotten_is_noticed() -> None:
    kit = TestTouched()
    graph = kit.build(su.plugins.backend("csr_baseline"), "cpu", Variant())
    trackers = [graph.track(kind) for kind in (Touched, Forgetful)]
    for kind in ("insert", "delete"):
        Changer(graph, (1,), 3).change(kind, 10)
    kit.judge(trackers[0].result, graph, {})
    with pytest.raises(AssertionError, match="not that of a replay"):
        kit.judge(trackers[1].result, graph, {})
