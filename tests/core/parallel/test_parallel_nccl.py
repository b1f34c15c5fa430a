"""Graphs of ranks with a GPU each, which exchange by NCCL, over the emulated one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nccl_ranks import by_nccl, gpus_of_threads
from test_parallel_algorithms import N, follow

import suricate as su
from suricate.parallel import Comm, pushes, run

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    return gpus_of_threads(monkeypatch)


@pytest.mark.parametrize("name", ["pagerank", "bfs", "wcc"])
def test_results_are_those_of_one_process(gpus: Any, name: str) -> None:
    kind = su.plugins.algorithm(name)
    run(lambda host: follow(by_nccl(host), kind, kind.sample_params(N, 0), directed=True, device="cuda"), 3)


def nearer(u: Any, v: Any, w: Any, words: Any) -> Any:
    return words.level[u] + 1, u


def test_ranks_look_for_altered_words_each_in_its_way(gpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One compares all words, as it has many edges to push along; the other has none, and compares none."""
    monkeypatch.setattr(pushes, "WHOLE", 0)

    def job(host: Comm) -> list[int]:
        graph, ends = su.Graph(100, device="cuda", comm=by_nccl(host)), np.arange(1, 31 if host.rank == 0 else 1)
        graph.insert_edges(np.zeros_like(ends), ends)
        words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        words.fill(level=0, parent=9)
        words.set([0, 3, 5], level=[1, 50, 50], parent=[0, 9, 9])
        su.advance(graph, [0], nearer, out=words, args=(words,), reduce="argmin")
        found: list[int] = words.level.tolist()
        return found

    assert run(job, 2) == [[1, 0, 0, 2, 0, 2] + [0] * 94] * 2
