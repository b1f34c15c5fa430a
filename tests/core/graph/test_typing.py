"""What type checkers say of programs: nothing of valid ones, and something of each invalid one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow

HEAD = "import numpy as np\n\nimport suricate as su\n\ng = su.Graph(3, device='cpu', weight_dtype='float32')\n"
VALID = [
    "def follow(graph: su.Graph, algorithm: str) -> object:\n    return graph.track(algorithm).result",
    "g.track('my_plugin_algorithm', depth=3)",
    "for name in ('bfs', 'wcc', 'a plugin of mine'):\n    print(g.compute(name))",
    "settings: dict[str, object] = {'alpha': 0.9}\nprint(g.compute('page' + 'rank', **settings))",
    "def run(graph: su.Graph, kind: str | type[su.Algorithm]) -> None:\n    graph.track(kind).close()",
    "g.track(su.algorithm('mine'), anything=1)",
    "depths: list[int] = g.track('bfs', source=0).result.level.tolist()",
    "cores: int = g.compute('kcore').degeneracy + 1",
    "g.compute('pagerank', alpha=0.9, personalization={'ann': 1.0}).max()",
    "g.track('bfs', sources={'ann', 'bob'})\ng.track('bfs', sources=np.arange(2))",
    "g.track('spmv', x=[1.0, 2.0, 3.0])",
    "g.compute('pagerank', nstart=np.ones(3), dangling=[1.0, 2.0], norm='linf', dtype='float32')",
    "g.track('sssp', sources=['ann', 'bob'], weight='cost')",
    "other = su.Graph(3, device=g.device, weight_dtype=np.float64).to('cuda:1')",
    "su.Graph(3, self_loops='drop', checks='deferred').degrees('out').astype(int)",
    "g.edges().each(np.copy).src.sum()",
    "made = su.Graph.from_coo([0, 1], np.array([1, 2]), num_vertices=3)\nprint(made.num_edges + 1)",
    "def count(graph: su.Graph, sources: list[int]) -> list[object]:\n"
    "    return [graph.track('bfs', source=source).result for source in sources]",
    "named = su.Graph(2, names=['ann', 'bob'])\nnamed.insert_edges(['ann'], ['bob'])\nnamed.track('bfs', source='ann')",
    "delta = g.insert_edges([0], [1], [2.5])\nprint(delta.revived_vertices.tolist())",
    "print(su.generate.rmat(4).src, su.stream.DELETE, su.stream.Window, su.networkx.DiGraph, su.parallel.connect())",
    "from suricate.kernels import find, kernel, packed\nfrom suricate.testing import StoreConformance, measure",
]
INVALID = [
    "su.Graphs(3)",
    "su.stream.Windows",
    "su.generate.rmat(4).src.shapes",
    "from suricate.testing import StoresConformance",
    "g.compute('pagerank').shapes",
    "g.compute('bfs').level.shapes",
    "g.track('bfs', source=0).result.distance",
    "g.compute('kcore').degeneracy.upper()",
    "g.neighbors(0).names",
    "g.degrees('both')",
    "g.edges().src.shapes",
    "g.adjacency([0]).offsets.shapes",
    "g.insert_edges([0], [1]).revived_vertices.shapes",
    "su.Graph(3, self_loops='maybe')",
    "su.Graph(3, checks='lazy')",
    "su.Graph(3, device='gpu')",
    "su.Graph(3, weight_dtype='float16')",
    "g.to('gpu')",
    "g.track(3)",
    "g.compute(None)",
    "g.track()",
    "g.track(su.Graph)",
    "g.num_edges('all')",
    "su.Graph('three')",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as it is installed, and each program in a file of its own."""
    made = tmp_path_factory.mktemp("programs")
    package = made / "suricate"
    package.mkdir()
    for entry in [*(CHECKOUT / "core").iterdir(), *(CHECKOUT / name for name in ("backends", "algorithms", "bench"))]:
        (package / entry.name).symlink_to(entry)
    for kind, programs in (("valid", VALID), ("invalid", INVALID)):
        for number, program in enumerate(programs):
            (made / f"{kind}_{number}.py").write_text(f"{HEAD}{program}\n")
    return made


def by_mypy(folder: Path) -> set[str]:
    files = sorted(map(str, folder.glob("*valid_*.py")))
    config = ["--strict", "--config-file", str(CHECKOUT / "pyproject.toml"), "--follow-imports=silent"]
    environ = {**os.environ, "MYPYPATH": str(folder)}
    command = [sys.executable, "-m", "mypy", *config, *files]
    found = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environ)
    return {Path(line.split(":")[0]).stem for line in found.stdout.splitlines() if ": error:" in line}


def by_pyright(folder: Path) -> set[str]:
    command = shutil.which("pyright", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if command is None:
        pytest.skip("pyright is not installed")
    settings = {"include": ["*valid_*.py"], "extraPaths": ["."], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    where = ["--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    found = subprocess.run([command, *where], capture_output=True, text=True, cwd=folder)
    if not found.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here, it downloads itself at first: {found.stderr[-300:]}")
    diagnostics = json.loads(found.stdout)["generalDiagnostics"]
    return {Path(each["file"]).stem for each in diagnostics if each["severity"] == "error"}


@pytest.mark.parametrize("checker", [by_mypy, by_pyright], ids=["mypy", "pyright"])
def test_valid_programs_pass_and_invalid_ones_do_not(folder: Path, checker: object) -> None:
    assert (len(set(VALID)), len(set(INVALID))) == (22, 24)
    assert checker(folder) == {f"invalid_{number}" for number in range(len(INVALID))}  # type: ignore[operator]


def test_mypy_knows_the_results(folder: Path) -> None:
    calls = ("g.track('bfs', source=0)", "g.compute('kcore').degeneracy", "g.compute('pagerank')", "g.compute('mine')")
    (folder / "revealed.py").write_text(HEAD + "".join(f"reveal_type({call})\n" for call in calls))
    command = [sys.executable, "-m", "mypy", "--config-file", str(CHECKOUT / "pyproject.toml"), "revealed.py"]
    environ = {**os.environ, "MYPYPATH": str(folder)}
    found = subprocess.run(
        [*command, "--follow-imports=silent"], capture_output=True, text=True, cwd=folder, env=environ
    )
    shown = [line for line in found.stdout.splitlines() if "Revealed type" in line]
    expected = ("fallback=suricate.algorithms.bfs.BFSResult", '"int"', '"numpy.ndarray[Any, Any]"', '"Any"')
    assert len(shown) == 4
    assert all(kind in line for kind, line in zip(expected, shown, strict=True)), shown
