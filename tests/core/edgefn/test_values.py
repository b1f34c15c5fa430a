"""What edge functions compute: Python against Numba against the CUDA source, a table and random expressions."""

from __future__ import annotations

import math
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from edgefn_cases import (
    check,
    in_cxx,
    in_numba,
    needs_gxx,
    on_gpu,
    one_by_one,
    types_of,
)
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from suricate.errors import EdgeFunctionError

FACTOR = 3
HALF = np.float32(0.5)
BIG = 0x9E3779B97F4A7C15
WITH_BONUS = True


def half_of(x, scale):
    return x / 2 * scale


def looked_up(array, v):
    """Return an element, through another function."""
    return half_of(array[v], FACTOR)


def statements(u, v, w, i64, f32):
    """Locals, branches, early returns."""
    best = i64[u]
    if best < 0:
        best = -best
    elif best == 0 or f32[v] > 100:
        return 0
    else:
        best += 2
        best *= FACTOR
    w = min(w, best)
    if WITH_BONUS:
        w += 1
    else:
        w = undefined_name  # noqa: F821 - a constant decides that this is not reached
    return w - best


def widening_local(u, v, w, u32, f64):
    x = 0
    if u32[u] & 1:
        x = u32[v]
        x = x + f64[u]
    return x


def nested_paths(u, v, w, i32):
    if i32[u] > 0:
        if i32[v] > 0:
            return 1
        kind = 2
    else:
        kind = 3
    return kind * i32[u]


# (function, result dtype, weight dtype, scalars); Python itself is the oracle
TABLE = {
    "distance": (lambda u, v, w, u32: u32[u] + 1, "int64", None, {}),
    "no wrap": (lambda u, v, w, u32: u32[u] + u32[v] + w, "int64", np.uint32, {}),
    "unweighted": (lambda u, v, w, f32: f32[u] + w, "float32", None, {}),
    "weighted": (lambda u, v, w, f32: f32[u] + w, "float32", np.float32, {}),
    "integer weight": (lambda u, v, w, i64: i64[u] * w, "int64", np.int32, {}),
    "int and float32": (lambda u, v, w, f32, u32: f32[u] / u32[v], "float64", None, {}),
    "ids": (lambda u, v, w: (u << 32) | v, "int64", None, {}),
    "weak literal": (lambda u, v, w, f32: 2 * f32[u] + 0.1, "float32", None, {}),
    "weak scalar": (lambda u, v, w, f32, alpha, k: alpha * f32[u] + k, "float32", None, {"alpha": 0.85, "k": 3}),
    "strong scalar": (lambda u, v, w, f64, h: f64[u] * h, "float64", None, {"h": np.float32(0.1)}),
    "uint64 scalar": (lambda u, v, w, u64, k: (u64[u] ^ k) >> 3, "uint64", None, {"k": np.uint64(2**63 + 5)}),
    "bool scalar": (lambda u, v, w, on: u if on else v, "int64", None, {"on": True}),
    "true division": (lambda u, v, w, i32: i32[u] / 4, "float64", None, {}),
    "floor constant": (lambda u, v, w, i32: i32[u] // 4 + i32[u] % 4 * 100, "int64", None, {}),
    "floor negative": (lambda u, v, w, i32: i32[u] // -4 + i32[u] % -4 * 100, "int64", None, {}),
    "floor unsigned": (lambda u, v, w, u64: u64[u] // 7 + u64[v] % 10, "uint64", None, {}),
    "floor float": (lambda u, v, w, f64: f64[u] // 0.1, "float64", None, {}),
    "floor floats": (lambda u, v, w, f64: f64[u] // f64[v], "float64", None, {}),
    "mod floats": (lambda u, v, w, f32: f32[u] % f32[v], "float32", None, {}),
    "division by zero": (lambda u, v, w, f32: f32[u] / f32[v], "float32", None, {}),
    "shifts": (lambda u, v, w, i32: (i32[u] << 5) ^ (i32[v] >> 1), "int64", None, {}),
    "shift by ids": (lambda u, v, w: (1 << (u & 31)) + (2**40 >> v), "int64", None, {}),
    "unsigned shift": (lambda u, v, w, u64: (u64[u] >> 63) | (u64[v] << 1), "uint64", None, {}),
    "hash": (lambda u, v, w, u64: (u64[u] ^ (u64[v] >> 31)) * BIG, "uint64", None, {}),
    "bits": (lambda u, v, w, i32: ~i32[u] & 0xFF | i32[v] ^ -2, "int64", None, {}),
    "bools": (lambda u, v, w, flag: (flag[u] & ~flag[v]) | (u == v), "bool", None, {}),
    "bool arithmetic": (lambda u, v, w, f32: (u < v) * f32[u] + (u > 3), "float32", None, {}),
    "negation": (lambda u, v, w, i32, f32: -i32[u] * -f32[v] + +u, "float64", None, {}),
    "chain": (lambda u, v, w, i32: -3 < i32[u] <= i32[v] != 5, "bool", None, {}),
    "logic": (lambda u, v, w, i32, flag: not (flag[u] and i32[v] > 0) or i32[u] == 0, "bool", None, {}),
    "truth": (lambda u, v, w, u8, f64: 1 if u8[u] and f64[v] else 2, "int64", None, {}),
    "or gives a value": (lambda u, v, w, i32: i32[u] or v, "int64", None, {}),
    "and gives a value": (lambda u, v, w, i32: i32[u] and v, "int64", None, {}),
    "conditional": (lambda u, v, w, f32, i32: f32[u] if i32[u] > i32[v] else 0, "float32", None, {}),
    "infinity": (lambda u, v, w, f32: np.inf if f32[u] != f32[u] else -math.inf, "float64", None, {}),
    "nan": (lambda u, v, w, f32: f32[u] + math.nan, "float32", None, {}),
    "min max": (lambda u, v, w, i32: min(i32[u], i32[v], 3) + max(i32[u], -2) * 100, "int64", None, {}),
    "min of nan": (lambda u, v, w, f32: min(f32[u], f32[v]), "float32", None, {}),
    "max of nan": (lambda u, v, w, f64: max(1.0, f64[u], f64[v]), "float64", None, {}),
    "minimum": (lambda u, v, w, f32: np.minimum(f32[u], f32[v]), "float32", None, {}),
    "maximum": (lambda u, v, w, f64: np.maximum(f64[u], f64[v]), "float64", None, {}),
    "abs": (lambda u, v, w, i32, f32: abs(i32[u]) + abs(f32[v]) + math.fabs(i32[v]), "float64", None, {}),
    "casts": (lambda u, v, w, f32: np.float64(f32[5]) * np.float32(0.1), "float64", None, {}),
    "wrap to width": (lambda u, v, w, i32: np.int64(i32[u]) * 1000 & 0xFFFF | bool(i32[v]), "int64", None, {}),
    "closure types": (lambda u, v, w, f32: f32[u] * HALF + FACTOR, "float32", None, {}),
    "sqrt": (lambda u, v, w, f32: np.sqrt(abs(f32[u])), "float32", None, {}),
    "imported sqrt": (lambda u, v, w, u8: sqrt(u8[u]), "float64", None, {}),
    "functions": (lambda u, v, w, f64: np.exp(-abs(f64[u])) + np.log1p(abs(f64[v])), "float64", None, {}),
    "atan2": (lambda u, v, w, f64: np.arctan2(f64[u], f64[v]) + np.hypot(f64[u], 2), "float64", None, {}),
    "float functions": (lambda u, v, w, f32: np.tanh(f32[u] if w else f32[v]), "float32", None, {}),
    "predicates": (
        lambda u, v, w, f32: np.isnan(f32[u]) + 2 * np.isinf(f32[u]) + 4 * np.isfinite(f32[u]),
        "int64",
        None,
        {},
    ),
    "rounding": (
        lambda u, v, w, u8: math.floor(u8[u] / 2) + math.ceil(u8[v] / 2) + math.trunc(-1.5),
        "int64",
        None,
        {},
    ),
    "float floor": (lambda u, v, w, f32: np.floor(f32[u]) + np.ceil(f32[v]), "float32", None, {}),
    "powers": (lambda u, v, w, i32, f32: i32[u] ** 3 + f32[v] ** 2, "float64", None, {}),
    "root power": (lambda u, v, w, f64: abs(f64[u]) ** 0.5 + abs(f64[v]) ** 1.5, "float64", None, {}),
    "where": (lambda u, v, w, f32, i32: np.where(i32[u] > 0, f32[u], f32[v]), "float32", None, {}),
    "constants": (lambda u, v, w: 7 // 2 + 2**40 // 3 + (5 & 3) + (1 if 0.1 + 0.2 == 0.3 else 2), "int64", None, {}),
    "helpers": (lambda u, v, w, f32: looked_up(f32, u) + half_of(v, w), "float64", None, {}),
    "default": (lambda u, v, w, f32, scale=FACTOR: f32[u] * scale, "float32", None, {"scale": 5}),
    "index by data": (lambda u, v, w, u8, f64: f64[u8[u] + v // 2], "float64", None, {}),
    "statements": (statements, "float64", np.float32, {}),
    "widening local": (widening_local, "float64", None, {}),
    "nested paths": (nested_paths, "int64", None, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TABLE)
def test_numba_agrees_with_python(case):
    check(*TABLE[case], one_by_one(in_numba))


@pytest.mark.slow
@needs_gxx
@pytest.mark.parametrize("case", TABLE)
def test_cuda_source_agrees_with_python(case, build):
    check(*TABLE[case], one_by_one(lambda typed: in_cxx(typed, build)))


@pytest.mark.gpu
@pytest.mark.parametrize("case", TABLE)
def test_cuda_agrees_with_python(case):
    check(*TABLE[case], on_gpu, ulps=64)


# -- random expressions ------------------------------------------------------------------------------------------------

LEAVES = [
    "u",
    "v",
    "w",
    "i32[u]",
    "i32[v]",
    "u32[u]",
    "i64[v]",
    "f32[u]",
    "f64[v]",
    "flag[u]",
    "u8[v]",
    "3",
    "-2",
    "0.5",
    "True",
]


def operation(inner):
    """Extend expressions by every operator that takes any number."""
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(st.sampled_from(["-", "not ", "abs", "bool"]), inner).map(lambda t: f"({t[0]}({t[1]}))"),
    )


EXPRESSIONS = st.recursive(st.sampled_from(LEAVES), operation, max_leaves=6)


def typed_from(text: str, folder: Path, weight_dtype=np.float64):
    """Write a function that returns ``text`` to a file, import it, and translate it."""
    file = folder / f"expression_{abs(hash(text))}.py"
    file.write_text(f"def random(u, v, w, i32, u32, i64, f32, f64, flag, u8):\n    return {text}\n")
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return types_of(names["random"], weight_dtype)


@needs_gxx
@settings(max_examples=4)  # each is compiled twice, and never again
@given(text=EXPRESSIONS)
def test_a_few_random_expressions_agree(text, build):
    """The two sources give the same value, bit for bit, wherever both are compiled."""
    check_random(text, build)


@pytest.mark.slow
@needs_gxx
@given(text=EXPRESSIONS)
def test_random_expressions_agree(text, build):
    """So for more of them."""
    check_random(text, build)


def check_random(text, build):
    """Compare the values that the two sources give."""
    try:
        typed, args = typed_from(text, build)
    except EdgeFunctionError as error:
        if "this constant cannot be computed" not in str(error):  # 1 / 0 of literals
            raise
        reject()
    by_numba, by_cxx = in_numba(typed), in_cxx(typed, build)
    for u, v in [(0, 3), (4, 2), (5, 5), (7, 30), (11, 12)]:
        w = np.float64(u - 2.5)
        a, b = by_numba(np.uint32(u), np.uint32(v), w, *args), by_cxx(np.uint32(u), np.uint32(v), w, *args)
        assert a == b or (a != a and b != b), (text, u, v, a, b)
