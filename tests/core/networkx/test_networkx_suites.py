"""NetworkX's own tests: all by priority; those of served functions in its test mode, also by its oldest version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
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
        "community.tests.test_label_propagation", "community.tests.test_leiden", "community.tests.test_louvain",
        "community.tests.test_quality", "components", "link_analysis", "shortest_paths", "tests.test_cluster",
        "tests.test_core", "tests.test_dag", "tests.test_distance_measures", "tests.test_efficiency",
        "tests.test_isolate", "tests.test_link_prediction", "tests.test_lowest_common_ancestors", "tests.test_mis",
        "tests.test_reciprocity", "tests.test_tournament", "bipartite.tests.test_centrality", "operators",
        "traversal.tests.test_bfs", "tree", "connectivity.tests.test_edge_augmentation",
    )
]  # fmt: skip
UNCALLED = {"generic_bfs_edges"}  #: by NetworkX's tests, with what is served: they give it functions of neighbours
GROUPS = "other communities of as high modularity; multigraphs are left to NetworkX"
ACCEPTED = {  #: tests of NetworkX that fail, and why that is right
    "test_random_seed": "independent sets are others with the same seed",
    **dict.fromkeys(
        ("test_karate_club_partition", "test_undirected_selfloops", "test_none_weight_param", "test_multigraph"), GROUPS
    ),
    "TestStronglyConnected::test_condensation_mapping_and_members": "strong components come in another order",
}
BY_THE_OLDEST = {  #: likewise
    **ACCEPTED,
    "TestSquareClustering::test_self_loops_square_clustering": "self-loops count, which later versions ignore",
}
CACHE = "the test writes G[u][v][...] between two calls, which NetworkX's cache of conversions does not notice"
CYCLES = "another one of several shortest paths, hence another one of several shortest cycles"
SIZES = "the number of communities by label propagation, which are others"
BY_PRIORITY = {  #: likewise, where NetworkX keeps conversions, and its functions call served ones
    **ACCEPTED,
    **dict.fromkeys(
        (f"TestWeightedPath::test_all_pairs_dijkstra{end}" for end in ("", "_path", "_path_length")), CACHE
    ),
    **{
        f"TestMinimumCycleBasis::test_{name}": CYCLES
        for name in ("unweighted_diamond", "weighted_diamond", "petersen_graph", "gh6787_and_edge_attribute_names")
    },
    "test_quality": "Leiden's method of a multigraph, which neither has: NotImplementedError",
    **dict.fromkeys((f"test_non_randomness[None-{end}]" for end in ("None-7.21", "weight-25.45")), SIZES),
}
PARTS = 8  #: of the whole suite: its packages by turns


def run(folder: Path, modules: list[str], oldest: Path | None = None, **environ: str) -> dict[str, Any]:
    """What became of NetworkX's tests."""
    paths = [*([str(oldest)] if oldest else []), str(CHECKOUT / "tests" / "support")]
    unset = ("NETWORKX_FALLBACK_TO_NX", "NETWORKX_TEST_BACKEND", "NETWORKX_BACKEND_PRIORITY")
    environ = {
        **{name: value for name, value in os.environ.items() if name not in unset}, **environ,
        "NETWORKX_COUNT_FILE": str(folder / "counts.json"), "PYTHONPATH": os.pathsep.join(paths), "SURICATE_QUIET": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    options = ["-q", "-p", "networkx_count", "-p", "no:cacheprovider", "--pyargs", *modules]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads((folder / "counts.json").read_text())


def packages() -> list[str]:
    """All packages of tests that NetworkX has; for a folder of tests that is none the package around it."""
    root = Path(nx.__file__).parent
    folders = [path for path in sorted(root.rglob("tests")) if path.is_dir()]
    parts = (path if (path / "__init__.py").exists() else path.parent for path in folders)
    return [".".join(("networkx", *path.relative_to(root).parts)) for path in parts]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_whole_suite_by_priority(tmp_path: Path, part: int) -> None:
    chosen = packages()[part::PARTS]
    found = run(tmp_path, chosen, NETWORKX_BACKEND_PRIORITY="suricate", NETWORKX_FROM_FIRST="1")
    assert found["failed"].keys() <= BY_PRIORITY.keys()
    raised = {found["failed"][name] for name in found["failed"] if name != "test_quality"}
    assert raised <= {"AssertionError"}  # no exception that NetworkX does not raise
    assert found["outcomes"]["passed"] > 100
    assert sum(found["served"].values()) > 100


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the oldest NetworkX that is supported, from the registry of packages."""
    folder = tmp_path_factory.mktemp("oldest")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*command, f"networkx=={OLDEST}"], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        pytest.skip(f"NetworkX {OLDEST} cannot be installed here: {done.stderr[-300:]}")
    return folder


def has(root: Path, module: str) -> bool:
    """Whether the NetworkX below ``root`` has a module or package: the oldest lacks tests of what is newer."""
    path = root.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def check(folder: Path, oldest: Path | None, *, fallback: bool) -> None:
    """Nothing fails but what is accepted; with NetworkX to fall back to every function that both have is called."""
    environ = {"NETWORKX_TEST_BACKEND": "suricate", **({"NETWORKX_FALLBACK_TO_NX": "1"} if fallback else {})}
    root = oldest or Path(nx.__file__).parents[1]
    found = run(folder, [name for name in MODULES if has(root, name)], oldest, **environ)
    assert found["failed"].keys() <= (BY_THE_OLDEST if oldest else ACCEPTED).keys()
    assert found["outcomes"]["passed"] > (600 if fallback else 900 if oldest is None else 300)
    if fallback:
        assert found["outcomes"].get("xfailed", 0) < 20
        called = {name for name, calls in found["served"].items() if calls}
        assert called >= (offered().keys() & found["functions"]) - UNCALLED


@pytest.mark.parametrize("fallback", [True, False], ids=["with fallback", "without"])
def test_the_installed_version(tmp_path: Path, fallback: bool) -> None:
    check(tmp_path, None, fallback=fallback)


@pytest.mark.skipif(not FROM_3_5, reason="the oldest version is the installed one")
@pytest.mark.parametrize("fallback", [True, False], ids=["with fallback", "without"])
def test_the_oldest_version(tmp_path: Path, oldest: Path, fallback: bool) -> None:
    check(tmp_path, oldest, fallback=fallback)


@pytest.mark.skipif(not FROM_3_5, reason="the oldest version is the installed one")
def test_our_tests_by_the_oldest_version(oldest: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(oldest), "NUMBA_DISABLE_JIT": "1"}
    files = [str(Path(__file__).with_name(f"test_networkx_{name}.py")) for name in ("dispatch", "live", "refusals")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:]
