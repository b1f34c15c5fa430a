"""Edge functions evaluated in Python, in Numba and, from their CUDA source, in C++; what they are called with."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import itertools
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import suricate.cuda.program
from suricate.base import cache
from suricate.base.devices import resolve_device
from suricate.base.types import StoreView
from suricate.cpu.jit import allocating_kernel
from suricate.cuda.program import HEADERS, Program
from suricate.cuda.structs import view_prelude
from suricate.edgefn import Argument, TypedFunction, argument_of, compile_function
from suricate.testing.nvrtc import compile_program, no_nvrtc

GXX = shutil.which("g++")
needs_gxx = pytest.mark.skipif(GXX is None, reason="g++ is not installed")
N = 40


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
    names = {"np": np, "math": math, "__name__": __name__}  # without a name its code would count as part of Python
    exec(f"{typed.numba_imports}\n{typed.numba_source('translated')}", names)
    return names["translated"]


def in_numba(typed: TypedFunction, made=None):
    """Compile the Numba source (``made`` of it by ``in_python``, if more names were added to its globals)."""
    return allocating_kernel(made or in_python(typed))


SHIM = """
#include <cmath>
#include <cstring>
#define __device__
#define __forceinline__ inline
#define __align__(bytes) alignas(bytes)
#define AS(name, to, from) static to name(from bits) { to x; memcpy(&x, &bits, sizeof x); return x; }
AS(__int_as_float, float, int)
AS(__uint_as_float, float, unsigned int)
AS(__float_as_uint, unsigned int, float)
AS(__longlong_as_double, double, long long)
AS(__double_as_longlong, long long, double)
"""


@functools.cache
def compiler_and_headers() -> str:
    """Return a digest of what a compilation by g++ depends on besides its source."""
    digest = hashlib.sha256(subprocess.run([GXX, "--version"], check=True, capture_output=True).stdout)
    for folder in HEADERS:
        for path in sorted(one for one in Path(folder).rglob("*") if one.suffix in (".h", ".cuh")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def library_of(text: str, path: Path) -> ctypes.CDLL:
    """Return the library that g++ makes of a source, in a file at ``path``; it is kept as machine code is."""
    # -fwrapv is not given: signed overflow must not be left to the compiler
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", *(f"-I{folder}" for folder in HEADERS)]
    name = f"edgefn-{hashlib.sha256(repr((text, flags, compiler_and_headers())).encode()).hexdigest()[:40]}.so"
    path.unlink(missing_ok=True)  # it may be loaded, and is not to change
    if (kept := cache.get(name)) is not None:
        path.write_bytes(kept)
    else:
        source = path.with_suffix(".cpp")
        source.write_text(text)
        subprocess.run([GXX, *flags, str(source), "-o", str(path)], check=True, capture_output=True, text=True)
        cache.put(name, path.read_bytes())
    return ctypes.CDLL(str(path))


def in_cxx(typed: TypedFunction, folder: Path):
    """Compile the CUDA source with g++; return a function of the leading parameters and the arguments."""
    parameters, labels = typed.signature.parameters, typed.signature.labels
    result = suricate.cuda.program.c_type(typed.result or np.int32)
    if typed.result_layout is not None:
        result = f"words::Word{typed.result_layout.bits}"
    outer = ", ".join(f"{one.kernel_type} {label}" for one, label in zip(parameters, labels, strict=True))
    run = f"translated({', '.join(labels)});"
    run = run if typed.result is None and typed.result_layout is None else f"*out = {run}"
    entry = f'extern "C" void entry({outer}, {result}* out) {{ {run} }}'
    text = f"{SHIM}\n{typed.cuda_source('translated')}\n{entry}\n"
    function = library_of(text, folder / f"{typed.key}.so").entry
    function.argtypes = [*map(_ctype, parameters), ctypes.c_void_p]

    def call(*args):
        out = np.zeros(1, typed.result or np.int32) if typed.result_layout is None else np.zeros(2, np.uint64)
        passed = [arg.ctypes.data if isinstance(arg, np.ndarray) else np.asarray(arg).item() for arg in args]
        function(*passed, out.ctypes.data)
        return out[0] if typed.result_layout is None else out

    return call


def _ctype(parameter: Argument):
    if parameter.kind in ("array", "words"):
        return ctypes.c_void_p
    if parameter.layout is not None:
        return ctypes.c_uint64  # a word of 64 bits
    return np.ctypeslib.as_ctypes_type(parameter.dtype or np.dtype(np.int32))


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
    macros = typed.macros
    names = f"""typedef {suricate.cuda.program.c_type(typed.weight_dtype or np.int32)} weight_t;
typedef {suricate.cuda.program.c_type(typed.result)} result_t;"""
    return Program(
        Path(__file__).with_name("edgefn_probe.cu"),
        prelude=f"{names}\n{typed.cuda_source('translated')}",
        defines=(("PARAMETERS", macros["PARAMS"]), ("VALUES", macros["ARGS"])),
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


def _in_front(typed: TypedFunction, view: StoreView | None) -> tuple[str, tuple[Path, ...]]:
    """Return the prelude of a program with ``typed``, and where its headers are."""
    source = typed.cuda_source("translated")
    return (source, ()) if view is None else (f"{view_prelude(view)}\n{source}", (view.header.parent,))


def compile_role(typed: TypedFunction, arch: str = "compute_80", view: StoreView | None = None) -> None:
    """Compile the CUDA source in a kernel with the macros of ``typed``, without a GPU."""
    leading = [
        f"{one.kernel_type} {name}" for one, name in zip(typed.signature.parameters, typed.leading, strict=False)
    ]
    macros = {**typed.macros, "LEADING": ", ".join(leading), "GIVEN": ", ".join(typed.leading)}
    source = Path(__file__).with_name("edgefn_role.cu")
    prelude, include = _in_front(typed, view)
    compile_program(Program(source, prelude, tuple(macros.items()), include), arch)


needs_nvrtc = pytest.mark.skipif(bool(no_nvrtc()), reason=str(no_nvrtc()))


def run_effects(typed: TypedFunction, u, v, args, view: StoreView | None = None) -> None:
    """Run ``typed`` for its effects on every edge, on a GPU."""
    xp = resolve_device("cuda").xp
    source = Path(__file__).with_name("edgefn_effect.cu")
    prelude, include = _in_front(typed, view)
    program = Program(source, prelude, tuple(typed.macros.items()), include)
    passed = [argument.packed(value) for argument, value in zip(typed.arguments, args, strict=True)]
    program.kernel("probe")((8,), (128,), (xp.asarray(u), xp.asarray(v), np.int64(len(u)), *passed))


def gpu():
    """Return CuPy."""
    return resolve_device("cuda").xp
