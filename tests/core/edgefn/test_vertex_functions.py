"""Functions of a vertex, which may write to its own entries of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from edgefn_cases import compile_role, in_cxx, in_numba, needs_gxx, needs_nvrtc

from suricate.edgefn import argument_of, compile_function
from suricate.errors import EdgeFunctionError, ParameterError

F32, F64 = np.dtype("float32"), np.dtype("float64")


def typed(fn, *args, leading=("v",), value_dtype=None, role="vertex"):
    arguments = tuple(map(argument_of, args))
    return compile_function(fn, arguments, weight_dtype=None, leading=leading, role=role, value_dtype=value_dtype)


def new_rank(v, value, rank, error, damping):
    """Store a rank and its change; the vertex goes on if that is large."""
    new = damping * value + 0.15
    error[v] = abs(new - rank[v])
    rank[v] = new
    return error[v] > 0.01


def counts(v, hits, flags, times):
    hits[v] += times
    flags[v] = hits[v]


def leaves_early(v, step, level):
    if level[v] < 3:
        return
    level[v] = step
    return True


def says_bits(v, x):
    x[v] -= 1
    if x[v] > 2:
        return 3
    return x[v] > 0


def numbered(i, v, place):
    place[v] = i * 2


def at_position(i, v, walk, next_of):
    walk[i] = next_of[v] + walk[i]
    next_of[v] = 0


RANK, ERROR = np.array([0.5, 0.25, 0.0], np.float32), np.zeros(3, np.float32)
CASES = {
    "epilogue": (new_rank, ("v", "value"), F32, (1, np.float32(0.5)), (RANK, ERROR, 0.85), F32, True),
    "augmented": (counts, ("v",), None, (2,), (np.array([1, 2, 2**32 - 1], np.uint32), np.zeros(3, bool), 3), None, 0),
    "early return": (leaves_early, ("v", "step"), None, (1, 2**40), (np.array([5, 2, 9]),), None, False),
    "step": (leaves_early, ("v", "step"), None, (2, 2**40), (np.array([5, 2, 9]),), None, True),
    "integers": (says_bits, ("v",), None, (1,), (np.array([7, 4, 1], np.int32),), None, 3),
    "integer from bool": (says_bits, ("v",), None, (2,), (np.array([7, 4, 1], np.int32),), None, 0),
    "own position": (at_position, ("i", "v"), None, (1, 2), (np.array([5, 6, 7]), np.array([1, 2, 3])), None, False),
    "position": (numbered, ("i", "v"), None, (2**33, 1), (np.zeros(3, np.int64),), None, False),
}


def expected(case):
    """Run the case in Python; return the result and the arrays."""
    fn, _, _, leading, args, _, result = CASES[case]
    args = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    wide = [arg.astype(np.int64) if getattr(arg, "dtype", None) == np.uint32 else arg for arg in args]
    assert int(fn(*leading, *wide) or 0) == result
    for arg, computed in zip(args, wide, strict=True):
        if isinstance(arg, np.ndarray):
            arg[:] = computed.astype(arg.dtype)
    return result, args


def check(case, translate):
    fn, names, value_dtype, leading, args, _, _ = CASES[case]
    function = typed(fn, *args, leading=names, value_dtype=value_dtype)
    passed = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    leading = [np.uint32(x) if name == "v" else x for name, x in zip(names, leading, strict=True)]
    result, after = expected(case)
    assert int(translate(function)(*leading, *passed)) == result
    for got, wanted in zip(passed, after, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    arrays = [i for i, arg in enumerate(args) if isinstance(arg, np.ndarray)]
    assert sorted(function.writes) == arrays


@pytest.mark.parametrize("case", CASES)
def test_writes_on_numba(case):
    check(case, in_numba)


@needs_gxx
@pytest.mark.parametrize("case", CASES)
def test_writes_in_the_cuda_source(case, build):
    check(case, lambda function: in_cxx(function, build))


@needs_nvrtc
@pytest.mark.parametrize("case", CASES)
def test_the_cuda_source_compiles(case):
    fn, names, value_dtype, _, args, _, _ = CASES[case]
    compile_role(typed(fn, *args, leading=names, value_dtype=value_dtype))


def test_results():
    assert typed(counts, *CASES["augmented"][4]).result == np.bool_
    assert typed(says_bits, CASES["integers"][4][0]).result == np.int64


def test_only_what_is_written_is_not_const():
    function = typed(lambda v, x, y: x[v] > y[v], np.zeros(2), np.zeros(2))
    assert "(unsigned int v, const double* a0, const double* a1)" in function.cuda_source("f")
    assert not function.writes
    function = typed(counts, *CASES["augmented"][4])
    assert "(unsigned int v, unsigned int* a0, bool* a1, long long a2)" in function.cuda_source("f")


def test_a_plain_function_of_an_edge_gets_positions():
    function = typed(lambda i, u, v, w: i + u, leading=("i", "u", "v", "w"), role="edge")
    assert in_numba(function)(2**40, np.uint32(2), np.uint32(0), 1) == 2**40 + 2


def elsewhere(v, x):
    x[x[v]] = 1


def constant_index(v, x):
    x[0] = 1


def moved(v, x):
    v = v + 1
    x[v] = 1


def reads_neighbour(v, x, parent):
    x[v] = x[parent[v]]


def reads_position(i, v, x):
    x[v] = x[i]


def truncates(v, x):
    x[v] = 0.5


def float_result(v, x):
    return x[v] * 0.5


def slice_of(v, x):
    x[v:] = 0


REFUSED = [
    (elsewhere, "only the own vertex can be written: x", 1),
    (constant_index, "only the own vertex", 1),
    (moved, "only the own vertex", 2),
    (reads_neighbour, "can only be read at the own vertex", 1),
    (reads_position, r"own vertex, array\[v\]", 1),
    (truncates, "the array has dtype int64, the value is float64", 1),
    (float_result, "the function returns float64: return whether", 0),
    (slice_of, "one integer as its index", 1),
]


@pytest.mark.parametrize(("fn", "says", "line"), REFUSED)
def test_refusals_name_file_and_line(fn, says, line):
    args = [np.zeros(3, np.int64)] * (2 if fn is reads_neighbour else 1)
    with pytest.raises(EdgeFunctionError, match=says) as caught:
        typed(fn, *args, leading=("i", "v") if fn is reads_position else ("v",))
    assert f"{__file__}:{fn.__code__.co_firstlineno + line}: " in str(caught.value)


def test_value_needs_a_dtype():
    with pytest.raises(ParameterError, match="value_dtype"):
        typed(lambda v, value: value > 0, leading=("v", "value"))


def test_what_is_used_at_other_places_than_the_own_vertex():
    x = np.zeros(4)
    assert not typed(lambda v, x, y: x[v] > y[v], x, x).elsewhere
    assert typed(lambda v, x, y, step: x[v * step] > y[v], x, x, 2).elsewhere == {0}
    assert typed(lambda v, x, y: x[0] + y[v + 1] > 1, x, x).elsewhere == {0, 1}
