"""Graphs of ranks with a GPU each, which exchange by NCCL, over the emulated one."""

from __future__ import annotations

from typing import Any

import pytest
from nccl_ranks import by_nccl, gpus_of_threads
from test_parallel_algorithms import N, follow

import suricate as su
from suricate.parallel import run

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    return gpus_of_threads(monkeypatch)


@pytest.mark.parametrize("name", ["pagerank", "bfs", "wcc"])
def test_results_are_those_of_one_process(gpus: Any, name: str) -> None:
    kind = su.plugins.algorithm(name)
    run(lambda host: follow(by_nccl(host), kind, kind.sample_params(N, 0), directed=True, device="cuda"), 3)
