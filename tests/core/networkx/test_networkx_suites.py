"""NetworkX's own tests of the functions that the backend serves, by NetworkX as installed and by the oldest one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from networkx_calls import FROM_3_5
from patience import PATIENCE

from suricate.networkx.info import offered

CHECKOUT = Path(__file__).resolve().parents[3]
OLDEST = "3.4"
pytestmark = [pytest.mark.slow, pytest.mark.compiled]

MODULES = [
    f"networkx.algorithms.{name}"
    for name in (
        "centrality.tests.test_betweenness_centrality", "centrality.tests.test_closeness_centrality",
        "centrality.tests.test_degree_centrality", "centrality.tests.test_eigenvector_centrality",
        "centrality.tests.test_harmonic_centrality", "centrality.tests.test_katz_centrality",
        "community.tests.test_label_propagation", "components", "link_analysis", "shortest_paths", "tests.test_cluster",
        "tests.test_core", "tests.test_dag", "tests.test_distance_measures", "tests.test_efficiency", "tests.test_mis",
        "tests.test_reciprocity", "traversal.tests.test_bfs",
    )
]  # fmt: skip
ACCEPTED = {  #: tests of NetworkX that fail, and why that is right
    "test_random_seed": "independent sets are others with the same seed",
    "TestStronglyConnected::test_condensation_mapping_and_members": "strong components come in another order",
    "TestBellmanFordAndGoldbergRadzik::test_zero_cycle_smoke": "a negative weight that Dijkstra reaches is an error",
}


def run(folder: Path, oldest: Path | None, *, fallback: bool) -> dict[str, Any]:
    """What became of NetworkX's tests."""
    paths = [*([str(oldest)] if oldest else []), str(CHECKOUT / "tests" / "support")]
    environ = {
        **os.environ, "NETWORKX_TEST_BACKEND": "suricate", "NETWORKX_COUNT_FILE": str(folder / "counts.json"),
        "PYTHONPATH": os.pathsep.join(paths), "SURICATE_QUIET": "1", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    environ.pop("NETWORKX_FALLBACK_TO_NX", None)
    if fallback:
        environ["NETWORKX_FALLBACK_TO_NX"] = "1"
    options = ["-q", "-p", "networkx_count", "-p", "no:cacheprovider", "--pyargs", *MODULES]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads((folder / "counts.json").read_text())


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the oldest NetworkX that is supported, from the registry of packages."""
    folder = tmp_path_factory.mktemp("oldest")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*command, f"networkx=={OLDEST}"], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        pytest.skip(f"NetworkX {OLDEST} cannot be installed here: {done.stderr[-300:]}")
    return folder


def check(found: dict[str, Any], *, fallback: bool) -> None:
    """Nothing fails but what is accepted, and every function of the backend was called."""
    assert set(found["failed"]) <= ACCEPTED.keys()
    assert found["outcomes"]["passed"] > (600 if fallback else 100)  # NetworkX 3.4 has half as many as 3.6
    if fallback:
        assert found["outcomes"].get("xfailed", 0) < 20
        called = {name for name, calls in found["served"].items() if calls}
        assert called >= offered().keys()


@pytest.mark.parametrize("fallback", [True, False], ids=["with fallback", "without"])
def test_the_installed_version(tmp_path: Path, fallback: bool) -> None:
    check(run(tmp_path, None, fallback=fallback), fallback=fallback)


@pytest.mark.skipif(not FROM_3_5, reason="the oldest version is the installed one")
@pytest.mark.parametrize("fallback", [True, False], ids=["with fallback", "without"])
def test_the_oldest_version(tmp_path: Path, oldest: Path, fallback: bool) -> None:
    check(run(tmp_path, oldest, fallback=fallback), fallback=fallback)


@pytest.mark.skipif(not FROM_3_5, reason="the oldest version is the installed one")
def test_our_tests_by_the_oldest_version(oldest: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(oldest), "NUMBA_DISABLE_JIT": "1"}
    files = [str(Path(__file__).with_name(f"test_networkx_{name}.py")) for name in ("dispatch", "live")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:]
