"""Edge functions given as CUDA C++ with a Numba twin."""

from __future__ import annotations

import numpy as np
import pytest
from edgefn_cases import (
    arrays,
    in_cxx,
    in_numba,
    needs_gxx,
)

from suricate.edgefn import EdgeFunction, argument_of, compile_function
from suricate.errors import EdgeFunctionError

FACTOR = 3


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


TABLE = {0: 1}


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
