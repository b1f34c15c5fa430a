"""Searches from scratch on GPUs of several ranks, level by level: the answers of one graph, few collectives a level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_parallel_bottom_up import grid, made, skewed

import suricate as su
from suricate.comm.threads import ThreadComm
from suricate.parallel import Comm, run, search

pytestmark = pytest.mark.gpu
UNDIRECTED, DIRECTED = {"directed": False}, {"directed": True, "in_edges": True}


def answers(graph: su.Graph, source: int) -> list[np.ndarray]:
    """Levels and parents from one source, and from several of which one is isolated."""
    host, n = graph.device.to_numpy, graph.num_vertices
    found = [graph.compute("bfs", source=source), graph.compute("bfs", sources=[source, n - 1, 3])]
    return [host(part) for each in found for part in each]


class Noted:
    """What ranks do in the levels of their searches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
        from suricate.repair.cuda.levels import Levels

        self.steps: list[list[str]] = [[] for _ in range(ranks)]
        for name in ("start", "pull", "push"):
            self._spy(monkeypatch, Levels, name)

    def _spy(self, monkeypatch: pytest.MonkeyPatch, kind: Any, name: str) -> None:
        inner, steps = getattr(kind, name), self.steps

        def noted(self: Any, *args: Any) -> None:
            steps[self._fixed[3]].append(name)
            inner(self, *args)

        monkeypatch.setattr(kind, name, noted)


@pytest.mark.parametrize("options", [UNDIRECTED, DIRECTED, DIRECTED | {"weight_dtype": "float32"}])
@pytest.mark.parametrize(("given", "ranks"), [(skewed, 2), (grid, 3)])
def test_searches_are_those_of_one_graph(
    given: Any, ranks: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    n, edges, source = given()
    wanted, noted = answers(made(None, n, edges, options | {"device": "cpu"}), source), Noted(monkeypatch, ranks)
    monkeypatch.setattr(search, "ALPHA", 4)

    def job(comm: Comm) -> None:
        for one, other in zip(answers(made(comm, n, edges, options | {"device": "cuda"}), source), wanted, strict=True):
            np.testing.assert_array_equal(one, other)

    run(job, ranks)
    assert all(steps == noted.steps[0] for steps in noted.steps)
    assert {"start", "push", "pull"} == set(noted.steps[0])


def test_levels_are_exchanged_without_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks of NCCL meet on the host ahead of a search, however many levels it has."""
    from nccl_ranks import by_nccl, gpus_of_threads

    gpus, noted, met = gpus_of_threads(monkeypatch), Noted(monkeypatch, 2), list[tuple[int, str]]()
    n, edges, source = skewed()
    gather = ThreadComm.gather

    def meet(self: ThreadComm, name: str, value: Any) -> list[Any]:
        met.append((self.rank, name))
        return gather(self, name, value)

    monkeypatch.setattr(ThreadComm, "gather", meet)

    def job(host: Comm) -> list[str]:
        graph = made(by_nccl(host), n, edges, UNDIRECTED | {"device": "cuda"})
        before = len(met)
        graph.compute("bfs", source=source)
        return [name for rank, name in met[before:] if rank == host.rank]

    names = run(job, 2)
    steps, calls = noted.steps[0], [call[1] for call in gpus.CALLS if call[0] == 0]
    assert len(steps) > 10
    assert all(len(each) < 5 for each in names), names
    assert calls.count("allReduce") == len(steps) + 1  # that of the batch
    assert calls.count("allGather") >= steps.count("push") > 10
