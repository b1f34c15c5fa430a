"""The CUDA path from the graph down to the kernels over a stream of batches: on a GPU, and without one on g++."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_programs import GXX

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.algorithms.pagerank import PageRank
from suricate.algorithms.wcc import WCC
from suricate.base.devices import cuda_device_count
from suricate.bench.verify.results import on_host

N = 120


def weigh(u: Any, v: Any, w: Any, x: Any) -> Any:
    return x[u] * w


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline"])
def test_a_stream_with_trackers(backend: str) -> None:
    """Edges come, go and change their weights; results follow, and equal those computed from scratch by SciPy."""
    rng, model = np.random.default_rng(8), {}
    graph = su.Graph(N, backend=backend, device="cuda", weight_dtype="float32", in_edges=True)
    x = rng.integers(0, 9, N).astype(np.float64)
    kinds: dict[Any, dict[str, Any]] = {BFS: {"source": 3}, WCC: {}, PageRank: {"tol": 1e-10}}
    trackers = {kind: graph.track(kind, **params) for kind, params in kinds.items()}
    for size in (150, 40, 5):
        src, dst, weight = *rng.integers(0, N, (2, size)), rng.integers(1, 5, size).astype(np.float32)
        graph.insert_edges(src, dst, weight)
        model.update(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))
        gone = [edge for edge in model if rng.random() < 0.1]
        graph.delete_edges(*np.array(gone).T)
        for edge in gone:
            del model[edge]
        u, v = np.array([*model]).T
        w = np.array([*model.values()], np.float32)
        total = su.neighbor_reduce(graph, None, weigh, args=(graph.device.xp.asarray(x),), reduce="sum", over="in")
        assert total.get().tolist() == np.bincount(v, x[u] * w, N).tolist()
        for kind, tracker in trackers.items():
            right = kind.reference(u, v, w, N, True, **kinds[kind])
            assert kind.mismatch(on_host(tracker.result, graph.device), right, **kinds[kind]) is None


@pytest.mark.slow
@pytest.mark.skipif(GXX is None or cuda_device_count() > 0, reason="needs g++ on x86-64, and no GPU")
def test_without_a_gpu() -> None:
    """The same on the emulated device, in a process of its own; prepared calls of operators, too."""
    prepared = Path(__file__).parents[1] / "operators" / "test_prepared.py"
    options = ["-q", "-m", "gpu", "-p", "no:cacheprovider", "-k", "stream or outside or held or anew or refused"]
    command = [sys.executable, "-m", "pytest", *options, __file__, str(prepared)]
    environment = {**os.environ, "SURICATE_EMULATED_CUDA": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "6 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(GXX is None or cuda_device_count() > 0, reason="needs g++ on x86-64, and no GPU")
def test_as_a_plugin_of_pytest(tmp_path: Path) -> None:
    """Packages of their own are tested on the emulated device."""
    test = tmp_path / "test_elsewhere.py"
    test.write_text(
        "import suricate as su\n\n\ndef test_device():\n"
        "    graph = su.Graph(3, device='cuda')\n"
        "    graph.insert_edges([0, 1], [1, 2])\n"
        "    assert graph.degrees().get().tolist() == [1, 1, 0]\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "emulated_cuda", str(test)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "support")}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
