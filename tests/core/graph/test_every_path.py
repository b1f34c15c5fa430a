"""Every loop of the default store is called by `suricate warmup`: none compiles when a vertex outgrows its table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[2] / "support"
SCRIPT = """
import importlib, pkgutil
import compiled
import numpy as np
import suricate as su
from numba.core.dispatcher import Dispatcher
from suricate.base.devices import resolve_device
from suricate.cli.precompile import steps

cpu = resolve_device("cpu")
store = su.plugins.default_backend(cpu)
package = importlib.import_module(store.__module__.rpartition(".")[0])
for what, run in steps(store.name, cpu, ("graphs",)):
    if "updates and queries, unweighted" in what or "updates and queries, float32" in what:
        run()
loops = {}
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    try:
        module = importlib.import_module(found.name)
    except ImportError:  # of CuPy
        continue
    for name, each in vars(module).items():
        if isinstance(each, Dispatcher) and each.py_func.__module__ == found.name:
            loops[f"{found.name}.{name}"] = each
assert len(loops) > 20
inner = {name for each in loops.values() for name in each.py_func.__code__.co_names}  # which other loops include
called = {name: each for name, each in loops.items() if each.py_func.__name__ not in inner and ".check." not in name}
never = [name for name, each in called.items() if not each.signatures]
assert not never, never

listener = compiled.Compiled()
rng, stored = np.random.default_rng(4), set()
for weights in (None, "float32"):
    g = su.Graph(100, device="cpu", weight_dtype=weights)
    stored.clear()
    for size in (1, 5, 300, 2, 20_000, 7, 90_000, 3):
        g.insert_vertices(size % 50)
        src, dst = rng.integers(0, g.num_vertices, (2, size))
        src[: size // 2] = 5  # a vertex outgrows one table after the other
        weight = () if weights is None else (np.ones(size, weights),)
        g.insert_edges(src, dst, *weight)
        stored |= set(zip(src.tolist(), dst.tolist()))
        gone = rng.random(size) < 0.7
        g.delete_edges(src[gone], dst[gone])
        stored -= set(zip(src[gone].tolist(), dst[gone].tolist()))
        g.compact()
        g.mark()
        g.insert_edges([5] * 40, range(40), *(() if weights is None else ([1.0] * 40,)))
        stored |= {(5, vertex) for vertex in range(40)}
        assert g.num_edges == len(stored)
        assert len(g.updated().src) <= 40
    found = g.edges()
    assert set(zip(found[0].tolist(), found[1].tolist())) == stored
assert not listener.found, listener.found
"""


@pytest.mark.slow
@pytest.mark.compiled
def test_nothing_compiles_on_any_path_of_the_store() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(SUPPORT)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
