"""Old machine code never runs: a line of a copy of the package is changed, with a warm cache, per kind of module.

``python tests/core/cpu/test_stale_code.py`` prints what each change recompiles, for docs/decisions/code-keys.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]

PLUGIN = """
from typing import NamedTuple
import numpy as np
from numba import types
from numba.extending import intrinsic
from suricate.cpu.jit import allocating_kernel, inner, kernel
import plugin_layout as layout

@intrinsic
def scaled(typing_context, x):
    def codegen(context, builder, signature, arguments):
        return builder.mul(arguments[0], arguments[0].type(10))
    return types.int64(types.int64), codegen

@inner
def shifted(x):
    return x + layout.SHIFT

@kernel
def own(x):
    return shifted(scaled(x))

@allocating_kernel
def apart(x):
    return np.full(2, x).sum()

def edge(u, v, w):
    return layout.FACTOR
"""
SCRIPT = """
import hashlib
import numpy as np
import suricate as su
import plugin
from numba.core import event
from suricate.cpu.jit import MachineCode
from suricate.algorithms.wcc import afforest

class Compiled(event.Listener):
    names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if isinstance(event.data["dispatcher"]._cache, MachineCode):
            module = function.__module__.rsplit("_", function.__module__.startswith("suricate_"))[0]
            self.names.append(f"{module}.{function.__qualname__}")
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
small = su.Graph(9, backend="csr_baseline", device="cpu")
small.insert_edges(np.arange(8), np.arange(1, 9))
print("components", small.compute("wcc").num_components)
print("sums", su.neighbor_reduce(small, None, plugin.edge, reduce='sum').sum())
print("plugin", plugin.own(3), plugin.apart(3))
hashed = su.Graph(100, backend="slabhash", device="cpu")
hashed.insert_edges(np.zeros(99, int), np.arange(1, 100))
print("first", hashed.neighbors(0)[:3].tolist())
program, = afforest.programs(small.view())
print("cuda", hashlib.sha256(program.text.encode()).hexdigest())
print("compiled", *sorted(set(Compiled.names)))
"""


class Edit(NamedTuple):
    """A line of a file that is changed, which line of the script's output changes, and what is compiled again."""

    file: str
    before: str
    after: str
    changes: str
    compiled: frozenset[str]


LOOPS = ("flatten", "most_frequent", "unite_rest", "unite_some")
CONNECT = frozenset(f"suricate_afforest_cpu.{name}" for name in LOOPS)
EDITS = {
    "loop": Edit(
        "suricate/state/union_find_cpu.py", "    return roots\n", "    return roots + 7\n", "components",
        frozenset({"suricate.state.union_find_cpu.compress"}),
    ),
    "inner function": Edit(
        "suricate/state/union_find_cpu.py", "if parent[u] == parent[v]:", "if parent[u] <= parent[v]:",
        "components", frozenset({"suricate_afforest_cpu.unite_rest", "suricate_afforest_cpu.unite_some"}),
    ),
    "template": Edit(
        "suricate/algorithms/wcc/afforest_cpu.py", "            unite_neighbors(h, v, parent, alone)",
        "            pass", "none", CONNECT,
    ),
    "constant of a layout": Edit(
        "suricate/backends/slabhash/layout.py", "0x9E3779B1, 15", "0x9E3779B3, 15", "first",
        frozenset({f"suricate.backends.slabhash.loops.{name}" for name in ("insert_edges", "rehash")}),
    ),
    "header": Edit("suricate/state/union_find.cuh", "{", "{  // changed", "cuda", frozenset()),
    "constant of a plugin": Edit("plugin_layout.py", "SHIFT = 1", "SHIFT = 2", "plugin", frozenset({"plugin.own"})),
    "intrinsic": Edit("plugin.py", "type(10)", "type(20)", "plugin", frozenset({"plugin.own"})),
    "constant of an edge function": Edit(
        "plugin_layout.py", "FACTOR = 3", "FACTOR = 4", "sums", frozenset({"suricate_neighbor_reduce.neighbor_reduce"})
    ),
    "another algorithm": Edit(
        "suricate/algorithms/kcore/core_numbers_cpu.py", "import numpy as np", "import numpy as np\nODD = 1", "none",
        frozenset(),
    ),
    "comment": Edit("suricate/backends/slabhash/loops/__init__.py", '"""', '"""More. ', "none", frozenset()),
}  # fmt: skip


def package(folder: Path) -> None:
    """Copy the sources of suricate into a folder, as they are installed, and a plugin."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "core", folder / "suricate", ignore=ignored)
    for part in ("backends", "algorithms", "bench"):
        shutil.copytree(CHECKOUT / part, folder / "suricate" / part, ignore=ignored)
    (folder / "plugin.py").write_text(PLUGIN)
    (folder / "plugin_layout.py").write_text("SHIFT = 1\nFACTOR = 3\n")


def results(folder: Path, **variables: str) -> dict[str, str]:
    """Return the lines of the script's output by their first words."""
    environment = os.environ | {
        "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "SURICATE_CACHE_DIR": str(folder / "cache"),
        "SURICATE_THREADS": "1",
    } | variables  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return dict(line.partition(" ")[::2] for line in done.stdout.splitlines())


def results_after(folder: Path, *edits: Edit) -> dict[str, str]:
    """Return the results with a line of each of these files changed, which are then as they were."""
    before = {edit.file: (folder / edit.file).read_text() for edit in edits}
    for edit in edits:
        text = (folder / edit.file).read_text()
        assert edit.before in text
        (folder / edit.file).write_text(text.replace(edit.before, edit.after, 1))
    try:
        return results(folder)
    finally:
        for file, text in before.items():
            (folder / file).write_text(text)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """The folder of a copy of the package, and what the script says there with a warm cache."""
    folder = tmp_path_factory.mktemp("stale")
    package(folder)
    cold, warm = results(folder), results(folder)
    assert cold["compiled"]
    assert not warm.pop("compiled")
    assert {**cold, "compiled": ""} == {**warm, "compiled": ""}
    return folder, warm


TOGETHER = (  # edits that do not recompile the same functions, since a process takes seconds to start
    ("loop", "template", "constant of a layout", "constant of a plugin", "another algorithm", "comment"),
    ("inner function", "intrinsic", "constant of an edge function", "header"),
)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", TOGETHER, ids="-".join)
def test_changed_lines_run_and_nothing_else_is_compiled(warm, kinds):
    folder, before = warm
    edits = [EDITS[kind] for kind in kinds]
    after = results_after(folder, *edits)
    assert set(after.pop("compiled").split()) == frozenset().union(*(edit.compiled for edit in edits))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {edit.changes for edit in edits} - {"none"}


@pytest.mark.slow
def test_options_of_numba_count(warm):
    folder, before = warm
    after = results(folder, NUMBA_OPT="2")
    assert {"plugin.own", "suricate.backends.slabhash.loops.insert_edges"} <= set(after.pop("compiled").split())
    assert after == before
    assert not results(folder)["compiled"]


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package(folder)
        everything = results(folder)["compiled"].split()
        print(f"| changed | compiled again, of {len(everything)} functions |\n|---|---|")
        for kind, edit in EDITS.items():
            compiled = results_after(folder, edit)["compiled"].split()
            print(f"| {kind} (`{edit.file}`) | {', '.join(f'`{one}`' for one in compiled) or 'nothing'} |", flush=True)


if __name__ == "__main__":
    main()
