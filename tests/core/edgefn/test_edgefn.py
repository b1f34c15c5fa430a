"""Edge functions: what they compute (Python against Numba against the CUDA source), their types, their errors."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import math
import shutil
import subprocess
import sys
from math import sqrt
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import suricate.cuda.program
from suricate.cuda.program import Program
from suricate.devices import resolve_device
from suricate.edgefn import Argument, EdgeFunction, TypedFunction, argument_of, compile_function
from suricate.errors import DTypeError, EdgeFunctionError, ShapeError

GXX = shutil.which("g++")
needs_gxx = pytest.mark.skipif(GXX is None, reason="g++ is not installed")

N = 40
FACTOR = 3
HALF = np.float32(0.5)
BIG = 0x9E3779B97F4A7C15
WITH_BONUS = True


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    """Return one array per dtype, with values that are easy to get wrong."""
    rng = np.random.default_rng(seed)
    near_top = np.array([0, 1, 2**32 - 1, 2**32 - 2], np.uint32)
    f32 = (rng.standard_normal(N) * 8).astype(np.float32)
    f32[:6] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 0.1]
    f64 = rng.standard_normal(N) * 8
    f64[4:10] = [np.nan, 0.0, -0.0, np.inf, 0.1, -np.inf]
    return {
        "u32": np.concatenate((near_top, rng.integers(0, 2**32, N - 4, dtype=np.uint32))),
        "i32": rng.integers(-9, 10, N, dtype=np.int32),
        "i64": rng.integers(-100, 100, N),
        "u64": rng.integers(0, 2**64, N, dtype=np.uint64),
        "u8": rng.integers(0, 3, N, dtype=np.uint8),
        "f32": f32,
        "f64": f64,
        "flag": rng.random(N) < 0.5,
    }


def types_of(fn, weight_dtype=np.float32, **scalars) -> tuple[TypedFunction, list]:
    """Translate ``fn`` with the arrays and scalars its further parameters name."""
    values = {**arrays(), **scalars}
    args = [values[name] for name in list(inspect.signature(fn).parameters)[3:]]
    weight = None if weight_dtype is None else np.dtype(weight_dtype)
    return compile_function(fn, tuple(map(argument_of, args)), weight_dtype=weight), args


def in_python(typed: TypedFunction):
    names = {"np": np, "math": math}
    exec(typed.numba_source("translated"), names)
    return names["translated"]


def in_numba(typed: TypedFunction):
    return numba.njit(in_python(typed))


SHIM = """
#include <cmath>
#include <cstring>
#define __device__
#define __forceinline__ inline
static float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
static double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
"""


def in_cxx(typed: TypedFunction, folder: Path):
    """Compile the CUDA source with g++; return a function of ``(u, v, w, *args)``."""
    source, library = folder / f"{typed.key}.cpp", folder / f"{typed.key}.so"
    result = suricate.cuda.program.c_type(typed.result)
    arguments = [
        ctypes.c_void_p if kind == "array" else np.ctypeslib.as_ctypes_type(dtype) for kind, dtype in typed.arguments
    ]
    weight = suricate.cuda.program.c_type(typed.weight_dtype or np.int32)
    outer = ["unsigned int u, unsigned int v", f"{weight} w"]
    for i, (kind, dtype) in enumerate(typed.arguments):
        outer.append(f"{suricate.cuda.program.c_type(dtype)}{'*' if kind == 'array' else ''} a{i}")
    inner = ", ".join(["u", "v", "w", *(f"a{i}" for i in range(len(arguments)))])
    entry = f'extern "C" void entry({", ".join(outer)}, {result}* out) {{ *out = translated({inner}); }}'
    source.write_text(f"{SHIM}\n{typed.cuda_source('translated')}\n{entry}\n")
    include = Path(suricate.cuda.__file__).parent
    # -fwrapv is not given: signed overflow must not be left to the compiler
    command = [
        GXX,
        "-O1",
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        f"-I{include}",
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    function = ctypes.CDLL(str(library)).entry
    weight_type = np.ctypeslib.as_ctypes_type(typed.weight_dtype or np.dtype(np.int32))
    function.argtypes = [ctypes.c_uint32, ctypes.c_uint32, weight_type, *arguments, ctypes.c_void_p]

    def call(u, v, w, *args):
        out = np.zeros(1, typed.result)
        passed = [arg.ctypes.data if isinstance(arg, np.ndarray) else arg for arg in args]
        function(int(u), int(v), w.item(), *passed, out.ctypes.data)
        return out[0]

    return call


def widened(value):
    """Return ``value`` as the rules see it, for Python to compute with."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or value.dtype == np.uint64:
        return value
    return value.astype(np.int64)


def same(a, b, dtype, ulps: int = 4) -> bool:
    if np.dtype(dtype).kind != "f":
        return int(a) == int(b)
    if np.isnan(a) or np.isnan(b):
        return bool(np.isnan(a) and np.isnan(b))
    ulp = np.spacing(np.abs(np.dtype(dtype).type(b)))
    return bool(a == b or abs(float(a) - float(b)) <= ulps * float(ulp))


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


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return tmp_path_factory.mktemp("edgefn")


def pairs(count: int = 60):
    """Return vertex pairs that reach every special value."""
    rng = np.random.default_rng(5)
    return itertools.chain(zip(range(12), range(12), strict=True), rng.integers(0, N, (count, 2)).tolist())


def edges_of(weight_dtype):
    """Return ``(u, v, w)`` for many edges."""
    u, v = np.array(list(pairs()), np.uint32).T.copy()
    if weight_dtype is None:
        return u, v, np.ones(len(u), np.int32)
    return u, v, (u - 3.25 if weight_dtype == np.float32 else u).astype(weight_dtype)


def check(fn, result, weight_dtype, scalars, evaluate, ulps: int = 4) -> None:
    """Compare Python with ``evaluate(typed, u, v, w, args)`` for many edges."""
    typed, args = types_of(fn, weight_dtype, **scalars)
    assert typed.result == np.dtype(result)
    u, v, w = edges_of(weight_dtype)
    found = evaluate(typed, u, v, w, args)
    wide = [widened(arg) for arg in args]
    weights = [1] * len(u) if weight_dtype is None else widened(w)
    for edge in zip(u.astype(np.int64), v.astype(np.int64), weights, found, strict=True):
        with np.errstate(all="ignore"):
            expected = fn(*edge[:3], *wide)
        assert same(edge[3], expected, result, ulps), (edge, expected)


def one_by_one(translate):
    """Return an evaluation of all edges by ``translate(typed)``, a function of one edge."""

    def evaluate(typed, u, v, w, args):
        function = translate(typed)
        return [function(*edge, *args) for edge in zip(u, v, w, strict=True)]

    return evaluate


def probe(typed: TypedFunction) -> Program:
    """Return a program whose kernel evaluates ``typed`` for many edges."""
    declared = "".join(
        f", {suricate.cuda.program.c_type(dtype)}{'*' if kind == 'array' else ''} a{i}"
        for i, (kind, dtype) in enumerate(typed.arguments)
    )
    passed = "".join(f", a{i}" for i in range(len(typed.arguments)))
    names = f"""typedef {suricate.cuda.program.c_type(typed.weight_dtype or np.int32)} weight_t;
typedef {suricate.cuda.program.c_type(typed.result)} result_t;"""
    return Program(
        Path(__file__).parents[2] / "support" / "edgefn_probe.cu",
        prelude=f"{names}\n{typed.cuda_source('translated')}",
        defines=(("PARAMETERS", declared), ("VALUES", passed)),
    )


def on_gpu(typed, u, v, w, args):
    xp = resolve_device("cuda").xp
    out = xp.zeros(len(u), typed.result)
    passed = [xp.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    passed = [
        arg if isinstance(arg, xp.ndarray) else a.dtype.type(arg)
        for arg, a in zip(passed, typed.arguments, strict=True)
    ]
    edges = [xp.asarray(part) for part in (u, v, w)]
    probe(typed).kernel("probe")((1,), (256,), (*edges, out, np.int64(len(u)), *passed))
    return out.get()


@pytest.mark.parametrize("case", TABLE)
def test_numba_agrees_with_python(case):
    check(*TABLE[case], one_by_one(in_numba))


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
@given(text=EXPRESSIONS)
def test_random_expressions_agree(text, build):
    """The two sources give the same value, bit for bit, wherever both are compiled."""
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
        (np.zeros((2, 2)), ShapeError),
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


# -- what cannot be translated -----------------------------------------------------------------------------------------


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


def star(u, v, *rest):
    return u


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
    (star, r"no \*args", 0),
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


# -- given by an expert ------------------------------------------------------------------------------------------------


def mixing_twin(u, v, w, f32):
    """Mix."""
    total = 0.0
    for i in range(FACTOR):
        total += f32[(u + i) % 40] * w
    return total


MIXING = """
    float total = 0.0f;
    for (int i = 0; i < 3; ++i) total += f32[(u + i) % 40] * w;
    return total;
"""


def test_expert_function_on_numba():
    fn = EdgeFunction(cuda=MIXING, numba=mixing_twin, result="float32")
    typed, (f32,) = (
        compile_function(fn, (argument_of(arrays()["f32"]),), weight_dtype=np.dtype("float32")),
        [arrays()["f32"]],
    )
    assert typed.result == np.float32
    assert "FACTOR" not in typed.numba_source("f")
    got = in_numba(typed)(8, 1, np.float32(2), f32)
    assert got == pytest.approx(2 * f32[8:11].sum(), rel=1e-6)
    assert typed is compile_function(fn, typed.arguments, weight_dtype=np.dtype("float32"))


@needs_gxx
def test_expert_function_on_cuda(build):
    f32 = arrays()["f32"]
    body = EdgeFunction(cuda=MIXING, numba=mixing_twin, result="float32")
    expression = EdgeFunction(cuda="f32[u] * w", numba=lambda u, v, w, f32: f32[u] * w, result=np.float64)
    for fn in (body, expression):
        typed = compile_function(fn, (argument_of(f32),), weight_dtype=np.dtype("float32"))
        expected = in_numba(typed)(8, 1, np.float32(2), f32)
        assert in_cxx(typed, build)(8, 1, np.float32(2), f32) == pytest.approx(expected)


def test_expert_function_without_value():
    fn = EdgeFunction(cuda="atomicAdd(&i32[v], 1)", numba=adds_one)
    typed = compile_function(fn, (argument_of(arrays()["i32"]),), weight_dtype=None)
    assert typed.result is None
    assert "void f(unsigned int u, unsigned int v, int w, int* i32) {\natomicAdd(&i32[v], 1);" in typed.cuda_source("f")
    counts = np.zeros(3, np.int32)
    in_numba(typed)(0, 2, 1, counts)
    assert counts.tolist() == [0, 0, 1]


def adds_one(u, v, w, i32):
    i32[v] += 1


def uses_a_table(u, v, w):
    return TABLE[u]


def test_expert_function_errors():
    with pytest.raises(EdgeFunctionError, match="TABLE is a dict"):
        EdgeFunction(cuda="u", numba=uses_a_table, result="int64")
    with pytest.raises(EdgeFunctionError, match="not int32"):
        EdgeFunction(cuda="u", numba=lambda u, v, w: u, result="int32")
    fn = EdgeFunction(cuda="u", numba=lambda u, v, w: u, result="int64")
    with pytest.raises(EdgeFunctionError, match="takes 3 parameters"):
        compile_function(fn, (argument_of(1),), weight_dtype=None)
