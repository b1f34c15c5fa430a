"""Which translation a call gets: leading parameters, values from outside, the cache, lambdas, arguments."""

from __future__ import annotations

import ast
import gc
import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from edgefn_cases import (
    in_numba,
    in_python,
    types_of,
)

from suricate.edgefn import Argument, argument_of, compile_function, source
from suricate.errors import DTypeError, ShapeError

FACTOR = 3


def half_of(x, scale):
    return x / 2 * scale


def looked_up(array, v):
    """Return an element, through another function."""
    return half_of(array[v], FACTOR)


# -- other leading parameters ------------------------------------------------------------------------------------------


def test_vertex_predicates_and_intersect_callbacks():
    degree = np.array([3, 0, 5], np.uint32)
    predicate = compile_function(lambda v, d: d[v] > 2, (argument_of(degree),), weight_dtype=None, leading=("v",))
    assert predicate.result == np.bool_
    assert [bool(in_numba(predicate)(np.uint32(v), degree)) for v in range(3)] == [True, False, True]
    assert "translated(unsigned int v, const unsigned int* a0)" in predicate.cuda_source("translated")
    callback = compile_function(lambda u, v, x: u + 10 * v + 100 * x, (), weight_dtype=None, leading=("u", "v", "x"))
    assert in_numba(callback)(np.uint32(1), np.uint32(2), np.uint32(3)) == 321


def test_cuda_declarations():
    typed, _ = types_of(lambda u, v, w, f32, flag, k: f32[u] * k if flag[v] else w, np.float32, k=2)
    source = typed.cuda_source("relax")
    assert (
        "float relax(unsigned int u, unsigned int v, float w, const float* a0, const bool* a1, long long a2)" in source
    )
    assert "2.5f" in types_of(lambda u, v, w, f32: f32[u] * 2.5)[0].cuda_source("f")


def test_arguments_that_a_function_does_not_use():
    def first(u, v, w, f32, *others):
        return f32[u]

    arguments = [np.arange(3, dtype=np.float32), np.zeros(3), 7]
    typed = compile_function(first, tuple(map(argument_of, arguments)), weight_dtype=None)
    assert in_numba(typed)(np.uint32(2), np.uint32(0), 1, *arguments) == 2
    assert "const float* a0, const double* a1, long long a2)" in typed.cuda_source("first")


# -- constants from outside, and the cache -----------------------------------------------------------------------------


def scaled(factor):
    return lambda u, v, w: u * factor


def value_of(fn):
    """Return the value for vertex 7; the Numba source is plain Python and runs as such."""
    return in_python(types_of(fn)[0])(np.uint32(7), np.uint32(0), np.float32(0))


def test_closures_are_inlined_by_value():
    assert types_of(scaled(3))[0] is types_of(scaled(3))[0]
    assert [value_of(scaled(k)) for k in (3, 4, 3, 3.0, True)] == [21, 28, 21, 21.0, 7]
    assert types_of(scaled(3))[0].result == np.int64
    assert types_of(scaled(3.0))[0].result == np.float64


def test_variables_of_a_branch_that_is_never_taken_need_no_type():
    def function_of(is_scaled):
        def value(u, v, w):
            total = u * 1
            if is_scaled:
                factor = 3
                total = total * factor
            return total

        return value

    found = [types_of(function_of(is_scaled))[0] for is_scaled in (False, True)]
    assert [in_python(one)(np.uint32(7), np.uint32(0), np.float32(0)) for one in found] == [7, 21]
    assert all("return" in one.cuda_source("f") for one in found)


def test_signs_of_zero_are_told_apart():
    assert math.copysign(1, value_of(scaled(0.0))) == 1
    assert math.copysign(1, value_of(scaled(-0.0))) == -1


def test_globals_are_looked_up_again(monkeypatch):
    fn = lambda u, v, w: u * FACTOR  # noqa: E731
    assert value_of(fn) == 21
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert value_of(fn) == 35


def test_globals_of_helpers_are_looked_up_again(monkeypatch):
    fn = lambda u, v, w, f64: looked_up(f64, u)  # noqa: E731
    before = types_of(fn)[0]
    monkeypatch.setitem(globals(), "FACTOR", 5)
    after = types_of(fn)[0]
    assert "3.0" in before.numba_source("f")
    assert "5.0" in after.numba_source("f")


def test_a_changed_helper_is_noticed(monkeypatch):
    fn = lambda u, v, w: half_of(u, 2)  # noqa: E731
    assert value_of(fn) == 7
    monkeypatch.setitem(globals(), "half_of", lambda x, scale: x * 100 * scale)
    assert value_of(fn) == 1400


def test_constants_may_decide_which_names_are_used():
    def choosing(flag, a, b):
        return lambda u, v, w: u + a if flag else u + b

    assert [value_of(choosing(*case)) for case in [(True, 1, 2), (False, 1, 2), (True, 1, 3), (False, 9, 3)]] == [
        8,
        9,
        8,
        10,
    ]


def test_types_make_different_functions():
    fn = lambda u, v, w, x: x[u]  # noqa: E731
    found = [compile_function(fn, (Argument("array", np.dtype(d)),), weight_dtype=None) for d in ("float32", "float64")]
    assert [str(typed.result) for typed in found] == ["float32", "float64"]
    assert found[0].key != found[1].key


KEY_SCRIPT = """
import numpy as np
from suricate.edgefn import argument_of, compile_function
def fn(u, v, w, x, k):
    return x[u] * k + w
print(compile_function(fn, (argument_of(np.zeros(1, "f4")), argument_of(2.0)), weight_dtype=np.dtype("f8")).key)
"""


def test_keys_are_the_same_in_every_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KEY_SCRIPT)
    run = [
        subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout for _ in range(2)
    ]
    assert run[0] == run[1]
    assert len(run[0].strip()) == 32


def test_lambdas_that_share_a_line():
    first, second = (lambda u, v, w: u + 1), (lambda u, v, w: u + 2)
    third, fourth = lambda u, v, w: 3 if u else v, lambda u, v, w: u * 4
    assert [value_of(fn) for fn in (first, second, third, fourth)] == [8, 9, 3, 28]
    nested = (lambda k: lambda u, v, w: u + k)(5)
    assert value_of(nested) == 12


def test_lambdas_over_several_lines():
    fns = [
        lambda u, v, w: (
            u  # spread
            + 1
        )
    ]
    assert value_of(fns[0]) == 8


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "dtype"),
    [
        (np.zeros(2, np.uint32), "array", "uint32"),
        (np.zeros(2, bool), "array", "bool"),
        (3, "scalar", "int64"),
        (2**63, "scalar", "uint64"),
        (True, "scalar", "bool"),
        (0.5, "scalar", "float64"),
        (np.int8(3), "scalar", "int64"),
        (np.uint64(3), "scalar", "uint64"),
        (np.float32(3), "scalar", "float32"),
        (np.float64(3), "scalar", "float64"),
        (np.bool_(True), "scalar", "bool"),
    ],
)
def test_argument_of(value, kind, dtype):
    assert argument_of(value) == Argument(kind, np.dtype(dtype))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (np.zeros(2, np.complex64), DTypeError),
        (np.zeros(2, np.float16), DTypeError),
        (np.array(["a"]), DTypeError),
        (np.zeros((2, 2, 2)), ShapeError),
        (np.zeros(8)[::2], ShapeError),
        ("text", DTypeError),
        (None, DTypeError),
        (2**64, DTypeError),
        ([1, 2], DTypeError),
        (1j, DTypeError),
    ],
)
def test_argument_of_refuses(value, error):
    with pytest.raises(error):
        argument_of(value)


class Slow:
    """Garbage whose end lets other threads run, wherever it is collected."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self) -> None:
        time.sleep(1e-4)


def test_threads_parse_one_at_a_time() -> None:
    """CPython 3.11 raises ``SystemError`` where a thread parses while another one is interrupted in the middle."""
    text, threshold = Path(source.__file__).read_text(), gc.get_threshold()

    def parse(_: int) -> ast.Module:
        Slow()
        return source.parsed(text)

    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(3) as pool:
            assert len({len(tree.body) for tree in pool.map(parse, range(60))}) == 1
    finally:
        gc.set_threshold(*threshold)
