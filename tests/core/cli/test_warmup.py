"""Compiling ahead: what `suricate warmup` has called, later processes load."""

from __future__ import annotations

import subprocess
import sys

import pytest

from suricate.cli.precompile import warm_up
from suricate.errors import DeviceError, UnknownNameError

SCRIPT = """
from numba.core import event
from suricate.cli.precompile import warm_up

class Compiled(event.Listener):
    names = []

    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("suricate"):
            self.names.append(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, event):
        pass

steps = []
warm_up(backend="csr_baseline", device="cpu", report=lambda what, seconds: steps.append(what))
print(*steps, sep="\\n")
event.register("numba:compile", Compiled())
import numpy as np
import suricate as su
g = su.Graph(1_000, backend="csr_baseline", device="cpu")
reach, ranks = g.track("bfs", source=0), g.track("pagerank")
src, dst = np.random.default_rng(1).integers(0, 1_000, (2, 100_000))
g.insert_edges(src[:2_000], dst[:2_000])
g.delete_edges(src[:100], dst[:100])
g.has_edges(src[:2_000], dst[:2_000])
g.insert_edges(src, dst)
g.delete_edges(src[:50_000], dst[:50_000])
ranks.result, reach.result
names = su.Names()
ids = names.add([f"name {number}" for number in range(3_000)])
names.release(ids[:2_000])
assert names[ids[2_000:]][0] == "name 2000" and names.copy().find("name 1") == -1
assert not Compiled.names, Compiled.names
"""

DISPATCHED = """
from numba.core import event
from suricate.base.devices import resolve_device
from suricate.cli import precompile
from suricate.networkx import info

names, all_of_them = ("pagerank", "core_number", "bfs_edges"), info.offered()
info.offered.cache_clear()
info.offered = lambda: {name: all_of_them[name] for name in names}
steps = precompile._functions_of_networkx(resolve_device("cpu"))
for what, run in steps:
    run()
    print(what)

class Compiled(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        assert not function.__module__.startswith("suricate"), function

    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
import networkx as nx
for size in (3_000, 20_000), (30_000, 200_000):
    graph = nx.gnm_random_graph(*size, seed=5, directed=True)
    for name, given in zip(names, ((), (), (1,))):
        assert len(list(getattr(nx, name)(graph, *given, backend="suricate"))) > 1_000
"""


@pytest.mark.slow
def test_functions_of_networkx_compile_nothing_after_warming_up(tmp_path):
    pytest.importorskip("networkx")
    script = tmp_path / "script.py"
    script.write_text(DISPATCHED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == [f"networkx: {name}" for name in ("pagerank", "core_number", "bfs_edges")]


@pytest.mark.slow
def test_the_first_example_compiles_nothing_after_warming_up(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps = done.stdout.splitlines()
    assert "csr_baseline: updates and queries, unweighted" in steps
    assert "csr_baseline: bfs" in steps
    assert "csr_baseline: pagerank" in steps
    assert steps[-2:] == ["reading edge lists and CSV files", "names of vertices"]


def test_unknown_names():
    with pytest.raises(UnknownNameError):
        warm_up(backend="nothing")
    with pytest.raises(DeviceError):
        warm_up(device="tpu")
