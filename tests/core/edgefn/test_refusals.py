"""What cannot be translated: every error names its file and line."""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np
import pytest
from edgefn_cases import (
    in_python,
    types_of,
)

from suricate.edgefn import Argument, compile_function
from suricate.errors import EdgeFunctionError

TABLE = {0: 1}


def half_of(x, scale):
    return x / 2 * scale


def loop(u, v, w, i64):
    total = 0
    for i in range(3):
        total += i64[i]
    return total


def while_loop(u, v, w):
    while u > 0:
        u -= 1
    return u


def writes(u, v, w, f64):
    f64[v] = w
    return w


def adds_to(u, v, w, f64):
    f64[v] += w
    return w


def returns_nothing(u, v, w):
    u + 1


def falls_through(u, v, w):
    if u > v:
        return 1


def empty_return(u, v, w):
    return


def unassigned(u, v, w):
    if u > v:
        x = 1
    return x


def unpacks(u, v, w):
    a, b = u, v
    return a + b


def nested(u, v, w):
    def inner():
        return 1

    return inner()


def recursive(u, v, w):
    return recursive(u, v, w)


def statements_helper(x):
    y = x + 1
    return y


def array_parameter(u, v, w, f64):
    f64 = 3
    return f64


def star(u, v, w, *f64):
    return f64


def star_of_helper(*both):
    return both


def keyword_only(u, v, w, *, f64=1):
    return u


UNSUPPORTED = [
    (loop, "a for loop", 2),
    (while_loop, "a while loop", 1),
    (writes, "cannot write to an array", 1),
    (adds_to, "cannot write to an array", 1),
    (returns_nothing, "whose value is not used", 1),
    (falls_through, "no value on some paths", 0),
    (empty_return, "return needs a value", 1),
    (unassigned, "x may have no value here", 3),
    (unpacks, "only a single name", 1),
    (nested, "a nested function", 1),
    (recursive, "nested too deeply", 1),
    (array_parameter, "f64 is an array", 0),
    (star, r"\*f64 is what the function does not use", 1),
    (keyword_only, "keyword-only", 0),
    (lambda u, v, w: [u, v], "a list", 0),
    (lambda u, v, w: (u, v), "a tuple", 0),
    (lambda u, v, w: {u: v}, "a dict", 0),
    (lambda u, v, w: sum(x for x in (u, v)), "sum cannot be called", 0),
    (lambda u, v, w: "text", "'text' is not a number", 0),
    (lambda u, v, w: f"{u}", "an f-string", 0),
    (lambda u, v, w: None, "None is not a number", 0),
    (lambda u, v, w: 1j, "1j is not a number", 0),
    (lambda u, v, w: 2**64, "does not fit 64 bits", 0),
    (lambda u, v, w: 1 // 0, "cannot be computed", 0),
    (lambda u, v, w: (_x := u), "':='", 0),
    (lambda u, v, w: u is v, "'is'", 0),
    (lambda u, v, w: u in (1, 2), "'in'|a tuple", 0),
    (lambda u, v, w: u @ v, "'@'", 0),
    (lambda u, v, w: w.real, "w.real", 0),
    (lambda u, v, w, f64: f64, "f64 is an array", 0),
    (lambda u, v, w, f64: f64.sum(), "f64.sum", 0),
    (lambda u, v, w, f64: f64[u:v], "one integer as its index", 0),
    (lambda u, v, w, f64: f64[u, v], "one integer as its index", 0),
    (lambda u, v, w, f64: f64[w], "must be an integer, not float32", 0),
    (lambda u, v, w, f64: f64[-1], "negative index", 0),
    (lambda u, v, w: TABLE[u], "only an array that is a parameter", 0),
    (lambda u, v, w: TABLE, "TABLE is a dict", 0),
    (lambda u, v, w: missing_name + u, "missing_name is not defined", 0),  # noqa: F821
    (lambda u, v, w: np.missing(u), "np.missing is not defined", 0),
    (lambda u, v, w: np.linalg.norm(u), "np.linalg.norm cannot be called", 0),
    (lambda u, v, w: print(u), "print cannot be called", 0),
    (lambda u, v, w: max(u, v, default=1), "plain positional", 0),
    (lambda u, v, w: math.sqrt(u, v), r"math.sqrt cannot be called with 2 argument", 0),
    (lambda u, v, w: min(u), "min cannot be called with 1 argument", 0),
    (lambda u, v, w: half_of(u), "half_of takes 2 arguments, not 1", 0),
    (lambda u, v, w: statements_helper(u), "single 'return", 0),
    (lambda u, v, w, i64, u64: i64[u] + u64[v], "no common type", 0),
    (lambda u, v, w, u64: u64[u] - -1, "-1 cannot become uint64", 0),
    (lambda u, v, w: w << 1, "<< takes integers, not float32", 0),
    (lambda u, v, w: u | w, "| takes integers, not float32", 0),
    (lambda u, v, w: ~w, "~ takes integers", 0),
    (lambda u, v, w: u << 64, "shift by 64", 0),
    (lambda u, v, w: u**v, "constant exponent", 0),
    (lambda u, v, w: u**-1, "constant exponent", 0),
    (lambda u, v, w: int(np.inf) + u, "inf cannot become int64", 0),
]


@pytest.mark.parametrize(("fn", "says", "line"), UNSUPPORTED)
def test_errors_name_file_and_line(fn, says, line):
    with pytest.raises(EdgeFunctionError, match=says) as caught:
        types_of(fn)
    at = fn.__code__.co_firstlineno + line
    message = str(caught.value)
    assert f"{__file__}:{at}: " in message
    assert message.splitlines()[1].strip() == inspect.getsource(sys.modules[__name__]).splitlines()[at - 1].strip()


@pytest.mark.parametrize("given_args", [0, 2])
def test_wrong_number_of_arguments(given_args):
    fn = lambda u, v, w, dist: dist[u]  # noqa: E731
    arguments = (Argument("array", np.dtype(np.float32)),) * given_args
    with pytest.raises(
        EdgeFunctionError, match=r"takes 4 parameters \(u, v, w, dist\), but is called with [35]: \(u, v, w"
    ):
        compile_function(fn, arguments, weight_dtype=None)


def test_a_helper_takes_no_rest():
    with pytest.raises(EdgeFunctionError, match=r"no \*args"):
        types_of(lambda u, v, w: star_of_helper(u, v))


def test_rest_does_not_stand_for_leading_parameters_alone():
    with pytest.raises(EdgeFunctionError, match=r"takes at least 4 parameters \(u, v, w, x, \*rest\), .* with 3"):
        compile_function(lambda u, v, w, x, *rest: u, (), weight_dtype=None)


@pytest.mark.parametrize("fn", [3, print, np.sqrt, "u + v", type])
def test_not_a_plain_function(fn):
    with pytest.raises(EdgeFunctionError, match="plain Python function"):
        compile_function(fn, (), weight_dtype=None)


def with_bad_default(u, v, w, k="x"):
    return u


def test_default_that_is_no_number():
    with pytest.raises(EdgeFunctionError, match="default value of k"):
        compile_function(with_bad_default, (), weight_dtype=None)


def test_defaults_are_constants():
    fn = lambda u, v, w, k=3: u * k  # noqa: E731
    assert in_python(compile_function(fn, (), weight_dtype=None))(np.uint32(7), np.uint32(0), 1) == 21
    fn.__defaults__ = (4,)
    assert in_python(compile_function(fn, (), weight_dtype=None))(np.uint32(7), np.uint32(0), 1) == 28


def test_missing_source():
    fn = eval("lambda u, v, w: u + v")
    with pytest.raises(EdgeFunctionError, match="put the function into a file"):
        compile_function(fn, (), weight_dtype=None)


def test_changed_source(tmp_path):
    file = tmp_path / "edited.py"
    file.write_text("\n\ndef fn(u, v, w):\n    return u\n")
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("# nothing here\n")
    with pytest.raises(EdgeFunctionError, match="the file has changed"):
        compile_function(names["fn"], (), weight_dtype=None)
