"""Checked indices (SURICATE_CHECKS=1): both devices name the argument, and nothing out of range is touched."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from edgefn_cases import compile_role, in_numba, needs_nvrtc

import suricate as su
from suricate.edgefn import argument_of, bounds, compile_function
from suricate.errors import VertexRangeError
from suricate.state.words import make_words


@pytest.fixture
def checked(monkeypatch):
    monkeypatch.setattr(bounds, "CHECKED", True)


def typed(fn, *args, role="edge", leading=("u", "v", "w")):
    return compile_function(fn, tuple(map(argument_of, args)), weight_dtype=None, leading=leading, role=role)


def counts(u, v, w, out, s):
    su.atomic.add(out, s.k[u], 1)


def moves(v, s, out):
    out[v] = 1
    s.k[v] = 3


def indexes(u, v, w, x, y):
    return x[u] + y[v + 2]


def words():
    s = make_words(4, {"k": "uint32"}, {"p": "float64"})
    s.set(range(4), k=[0, 1, 9, 2])
    return s


def test_reads_are_checked_on_numba(checked):
    x, y = np.arange(4), np.arange(3)
    run = in_numba(typed(indexes, x, y))
    assert run(np.uint32(3), np.uint32(0), 1, x, y) == 5
    with pytest.raises(VertexRangeError, match=r"a function indexes args\[1\] out of its range"):
        run(np.uint32(3), np.uint32(1), 1, x, y)
    with pytest.raises(VertexRangeError, match=r"args\[0\]"):
        run(np.uint32(4), np.uint32(0), 1, x, y)


def test_effects_and_writes_are_checked_on_numba(checked):
    out, s = np.zeros(3, np.int32), words()
    run = in_numba(typed(counts, out, s, role="effect"))
    for u in (0, 1, 3):
        run(np.uint32(u), np.uint32(0), 1, out, s.data)
    assert out.tolist() == [1, 1, 1]
    with pytest.raises(VertexRangeError, match=r"args\[0\]"):
        run(np.uint32(2), np.uint32(0), 1, out, s.data)
    with pytest.raises(VertexRangeError, match=r"args\[1\]"):
        run(np.uint32(4), np.uint32(0), 1, out, s.data)
    run = in_numba(typed(moves, s, out, role="vertex", leading=("v",)))
    with pytest.raises(VertexRangeError, match=r"args\[1\]"):
        run(np.uint32(3), s.data, out)
    assert s.k.tolist() == [0, 1, 9, 2]


@needs_nvrtc
def test_checked_sources_compile(checked):
    function = typed(counts, np.zeros(3, np.int32), words(), role="effect")
    assert function.macros["PARAMS"] == ", bounds::Checked<int> a0, bounds::Checked<words::Word128> a1"
    assert function.macros["LOCALS"] == "a0.argument = 0; a1.argument = 1;"
    compile_role(function)
    compile_role(typed(moves, words(), np.zeros(3, np.int64), role="vertex", leading=("v",)))
    compile_role(typed(indexes, np.arange(4), np.arange(3)))


SCRIPT = """
import sys
import numpy as np
import suricate as su
g = su.Graph(3, backend="slabhash", device=sys.argv[1])
g.insert_edges([0, 1], [1, 2])
x = g.device.xp.arange(3)
def shifted(u, v, w, x):
    return x[v + 1]
print(su.neighbor_reduce(g, None, lambda u, v, w, x: x[v], args=(x,), reduce="sum").tolist())
try:
    su.neighbor_reduce(g, None, shifted, args=(x,), reduce="sum")
except su.errors.VertexRangeError as error:
    print(error)
print(su.neighbor_reduce(g, None, lambda u, v, w, x: x[v], args=(x,), reduce="sum").tolist())
"""


@pytest.mark.slow
def test_operators_raise(device, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "SURICATE_CHECKS": "1"}
    command = [sys.executable, str(script), str(device)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    first, error, last = done.stdout.splitlines()
    assert first == last == "[1, 2, 0]"
    assert error.startswith("a function indexes args[0] out of its range")
    if str(device) != "cpu":
        assert error.endswith(": at 3, of 3 entries")


def test_unchecked_functions_stay_as_they_are():
    function = typed(indexes, np.arange(4), np.arange(3))
    assert "inside" not in function.numba_source("f") + function.numba_imports
    assert function.macros["LOCALS"] == ""
