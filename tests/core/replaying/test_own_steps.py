"""Steps of third parties."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import suricate as su
from suricate.kernels.walking import loops_over
from suricate.replaying.event_loops import loop_over
from suricate.testing import check_replay

TEMPLATE = Path(__file__).parents[2] / "support" / "larger_neighbours_loops.py"


class State(NamedTuple):
    """What the template works on."""

    count: np.ndarray
    refused: np.ndarray


class LargerNeighbours(su.Algorithm):
    """The number of neighbours with a larger id; the step refuses what happens at vertex 2."""

    name: ClassVar[str] = "larger neighbours"

    def compute(self, graph: su.Graph) -> None:
        src, dst, _ = graph.edges()
        larger = dst > src if graph.directed else dst != src
        self.count = np.bincount(np.minimum(src, dst)[larger], minlength=graph.num_vertices)

    @property
    def result(self) -> np.ndarray:
        return self.count.copy()

    def event_step(self, graph: su.Graph) -> su.Step:
        state = State(self.count, np.arange(graph.num_vertices) == 2)
        module = loops_over(graph.view(), TEMPLATE)
        return su.Step(module, state, lambda n, k: (np.empty((n, k), np.int64),), lambda made: made[0], "vertex 2")


@pytest.mark.compiled
@pytest.mark.parametrize("directed", [True, False])
def test_a_step_of_ones_own_is_followed_and_may_refuse(directed: bool) -> None:
    rng = np.random.default_rng(4)
    events: Any = *rng.integers(0, 7, (2, 300)), rng.random(300) < 0.6

    def build() -> su.Graph:
        return su.Graph(7, device="cpu", directed=directed)

    answered, counted = check_replay(build, events, LargerNeighbours)
    assert answered.reasons.keys() == {"vertex 2"}
    assert answered.compiled == counted.compiled == 300 - answered.reasons["vertex 2"]
    assert answered.compiled > 150
    assert answered.most_work <= 7


class Unweighted(LargerNeighbours):
    """The same by a step that says that it reads no weights."""

    def event_step(self, graph: su.Graph) -> su.Step:
        return super().event_step(graph)._replace(weighted=False)


@pytest.mark.compiled
def test_one_loop_serves_graphs_with_weights_of_all_types_if_the_step_reads_none() -> None:
    rng, loops = np.random.default_rng(6), set()
    for dtype in ("float32", "float64", "int32"):
        events: Any = *rng.integers(0, 7, (2, 200)), rng.random(200) < 0.7, rng.integers(1, 5, 200).astype(dtype)

        def build(dtype: str = dtype) -> su.Graph:
            return su.Graph(7, device="cpu", weight_dtype=dtype)

        answered, _ = check_replay(build, events, Unweighted)
        assert answered.compiled > 100
        g = build()
        single, step = g.store().single(3), g.track(Unweighted).algorithm.event_step(g)
        loops.add(loop_over(single.module, step.module.__name__, False).run)
    assert len(loops) == 1
    assert len(loops.pop().signatures) == 1
