"""Functions with effects, accumulators and sets: in Numba, compiled for CUDA, and on a GPU."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from edgefn_cases import compile_role, gpu, in_numba, needs_nvrtc, run_effects

import suricate as su
from suricate import atomic
from suricate.edgefn import EDGE, argument_of, compile_function
from suricate.errors import EdgeFunctionError
from suricate.state.words import make_words

N, EDGES = 50, 3000
DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def typed(fn, *args, role="effect", leading=EDGE):
    return compile_function(fn, tuple(map(argument_of, args)), weight_dtype=None, leading=leading, role=role)


def edges():
    rng = np.random.default_rng(8)
    return rng.integers(0, N, (2, EDGES)).astype(np.uint32)


def adds(u, v, w, out, x):
    su.atomic.add(out, v, x[u])


def lowers(u, v, w, out, x):
    if u != v:
        atomic.min(out, v, x[u])


def raises(u, v, w, out, x):
    su.atomic.max(out, (u + v) // 2, x[u])


def joins(u, v, w, out, x):
    su.atomic.or_(out, v, 1 << (u % 31))


def marks(u, v, w, out, x):
    su.atomic.or_(out, v, x[u] > 3)


def values(dtype):
    x = np.random.default_rng(4).integers(0 if dtype[0] == "u" else -40, 40, N).astype(dtype)
    if dtype[0] == "f":
        x[:4] = [np.nan, -0.0, np.inf, 0.5]
    return x


def expected(fn, out, x):
    out, (u, v) = out.copy(), edges()
    with np.errstate(all="ignore"):
        if fn is adds:
            np.add.at(out, v, x[u])
        if fn is lowers:
            np.fmin.at(out, v[u != v], x[u[u != v]])
        if fn is raises:
            np.fmax.at(out, (u + v) // 2, x[u])
        if fn is joins:
            np.bitwise_or.at(out, v, (1 << (u % 31)).astype(out.dtype))
        if fn is marks:
            np.logical_or.at(out, v, x[u] > 3)
    return out


CASES = [(fn, dtype) for fn in (adds, lowers, raises) for dtype in DTYPES]
CASES += [(joins, dtype) for dtype in DTYPES[:4]] + [(marks, "bool")]


def start(fn, dtype):
    x = values("float64" if dtype == "bool" else dtype)
    if fn is adds and dtype[0] == "f":
        x[:4] = 1
    return np.full(N, {adds: 0, lowers: 9, raises: 9}.get(fn, 0), dtype), x


@pytest.mark.parametrize(("fn", "dtype"), CASES)
def test_effects_on_numba(fn, dtype):
    out, x = start(fn, dtype)
    wanted = expected(fn, out, x)
    function = typed(fn, out, x)
    assert function.result is None
    assert function.writes == {0}
    compiled = in_numba(function)
    for u, v in edges().T:
        compiled(u, v, 1, out, x)
    np.testing.assert_allclose(out, wanted, rtol=1e-5)


@needs_nvrtc
@pytest.mark.parametrize(("fn", "dtype"), CASES)
def test_effects_compile(fn, dtype):
    compile_role(typed(fn, *start(fn, dtype)))


@pytest.mark.gpu
@pytest.mark.parametrize(("fn", "dtype"), CASES)
def test_effects_on_cuda(fn, dtype):
    out, x = start(fn, dtype)
    wanted = expected(fn, out, x)
    out, x = (gpu().asarray(array) for array in (out, x))
    run_effects(typed(fn, out, x), *edges(), (out, x))
    np.testing.assert_allclose(out.get(), wanted, rtol=1e-4)


def test_the_kind_of_effect_is_known():
    assert typed(raises, *start(raises, "int32")).effects == {0: "max"}


# -- accumulators ------------------------------------------------------------------------------------------------------


def totals(u, v, w, total, least, most, seen, x):
    total.add(x[u] - total.value)
    least.add(x[u])
    if u < v:
        most.add(v)
    seen.add(1 << (u & 7))
    return


def scalars(device):
    return [
        su.Scalar._of("sum", "float64", device, value=0.5),
        su.Scalar._of("min", "float32", device),
        su.Scalar._of("max", "uint32", device, value=7),
        su.Scalar._of("or", "int64", device),
    ]


def check_totals(found, x):
    u, v = edges()
    assert found[0].read() == pytest.approx((x[u] - 0.5).sum())
    assert found[1].read() == np.float32(x[u].min())
    assert found[2].read() == v[u < v].max()
    assert found[3].read() == 255


def test_accumulators_on_numba():
    x = np.random.default_rng(1).random(N)
    found = scalars("cpu")
    function = typed(totals, *found, x)
    assert not function.writes
    passed = [argument.numba_value(value) for argument, value in zip(function.arguments, (*found, x), strict=True)]
    compiled = in_numba(function)
    for u, v in edges().T:
        compiled(u, v, 1, *passed)
    check_totals(found, x)


@needs_nvrtc
@pytest.mark.parametrize("role", ["effect", "vertex"])
def test_accumulators_compile(role):
    compile_role(typed(totals, *scalars("cpu"), np.zeros(N), role=role))
    fn = lambda u, v, w, total: total.value + w  # noqa: E731
    compile_role(typed(fn, scalars("cpu")[1], role="edge"))


@pytest.mark.gpu
def test_accumulators_on_cuda():
    x = np.random.default_rng(1).random(N)
    found = scalars("cuda")
    for _ in range(2):
        for one in found:
            one.set(0.5 if one.op == "sum" else 0)
        args = (*found, gpu().asarray(x))
        run_effects(typed(totals, *args), *edges(), args)
        check_totals(found, x)


def test_macros_of_accumulators():
    macros = typed(totals, *scalars("cpu"), np.zeros(N)).macros
    assert macros["PARAMS"].startswith(", Slots<double> a0_slots, Slots<float> a1_slots")
    assert macros["FORMALS"].startswith(", Accumulator<FOLD_SUM, double>& a0, Accumulator<FOLD_MIN, float>& a1")
    assert macros["LOCALS"].startswith("Accumulator<FOLD_SUM, double> a0(a0_slots); ")
    assert macros["FINISH"].startswith("a0.flush(a0_slots.write); a1.flush(a1_slots.write);")
    assert macros["ARGS"] == ", a0, a1, a2, a3, a4"


# -- sets --------------------------------------------------------------------------------------------------------------


def unites(u, v, w, sets, allowed):
    if allowed[u]:
        su.unite(sets, u, v)


def test_unions_on_numba():
    sets, allowed = su.UnionFind._of(6), np.array([1, 1, 0, 1, 1, 1], bool)
    function = typed(unites, sets, allowed)
    assert function.effects == {0: "unite"}
    compiled = in_numba(function)
    for u, v in [(4, 5), (2, 3), (1, 5), (3, 3)]:
        compiled(np.uint32(u), np.uint32(v), 1, sets.parent, allowed)
    assert sets.labels().tolist() == [0, 1, 2, 3, 1, 1]


@needs_nvrtc
def test_unions_compile():
    compile_role(typed(unites, su.UnionFind._of(6), np.ones(6, bool)))


@pytest.mark.gpu
def test_unions_on_cuda():
    host, sets = su.UnionFind._of(N), su.UnionFind._of(N, "cuda")
    u, v = edges()[:, :30]
    allowed = gpu().ones(N, bool)
    host.union(u, v)
    run_effects(typed(unites, sets, allowed), u, v, (sets, allowed))
    assert sets.labels().get().tolist() == host.labels().tolist()


# -- refusals ----------------------------------------------------------------------------------------------------------


def reads_too(u, v, w, out, x):
    su.atomic.add(out, v, out[u])


def two_kinds(u, v, w, out, x):
    su.atomic.add(out, v, 1)
    su.atomic.min(out, u, 1)


def truncates(u, v, w, out, x):
    su.atomic.add(out, v, 0.5)


def not_an_array(u, v, w, out, x):
    su.atomic.add(3, v, 1)


def too_few(u, v, w, out, x):
    su.atomic.add(out, v)


def narrow(u, v, w, out, x):
    su.atomic.add(x, v, 1)


def some_paths(u, v, w, out, x):
    if u > v:
        return 1


def plain_write(u, v, w, out, x):
    out[v] = 1


def no_sets(u, v, w, out, x):
    su.unite(out, u, v)


def prints(u, v, w, out, x):
    print(u)


def unused(u, v, w, out, x):
    u + 1


def as_value(u, v, w, out, x):
    return su.atomic.add(out, v, 1)


def float_index(u, v, w, out, x):
    su.atomic.add(out, 0.5, 1)


REFUSED = [
    (reads_too, "neither read nor written in the same function"),
    (two_kinds, "one kind of effect per array"),
    (truncates, "the array has dtype int64, the value is float64"),
    (not_an_array, "changes an array that is a parameter"),
    (too_few, r"su.atomic.add takes 3 arguments, not 2"),
    (narrow, "takes arrays of int32, .*, not uint8"),
    (some_paths, "no value on some paths"),
    (plain_write, "use su.atomic.add"),
    (no_sets, "su.unite takes a UnionFind"),
    (prints, "whose value is not used"),
    (unused, "whose value is not used"),
    (as_value, "su.atomic.add has no value"),
    (float_index, "an index must be an integer"),
]


@pytest.mark.parametrize(("fn", "says"), REFUSED)
def test_refusals(fn, says):
    with pytest.raises(EdgeFunctionError, match=says) as caught:
        typed(fn, np.zeros(3, np.int64), np.zeros(3, np.uint8))
    assert __file__ in str(caught.value)


def test_effects_are_not_for_functions_whose_values_are_reduced():
    with pytest.raises(EdgeFunctionError, match=r"whose values are reduced.*: call it in then or commit, or in"):
        typed(adds, *start(adds, "int64"), role="edge")


def writes_too(v, out, x):
    su.atomic.add(out, x[v], 1)
    out[v] = 0


def test_a_vertex_function_has_effects_on_what_it_does_not_write():
    x = np.zeros(3, np.int64)
    function = typed(lambda v, out, x: out[v] > 0, x, x, role="vertex", leading=("v",))
    assert (function.stores, function.reads, function.effects) == (frozenset(), {0}, {})
    function = typed(adds_at, x, x, role="vertex", leading=("v",))
    assert (function.stores, function.reads, function.effects) == ({1}, {1}, {0: "sum"})
    with pytest.raises(EdgeFunctionError, match="neither read nor written in the same function"):
        typed(writes_too, x, x, role="vertex", leading=("v",))


def adds_at(v, out, x):
    x[v] += 1
    su.atomic.add(out, x[v], 1)


# -- words -------------------------------------------------------------------------------------------------------------

WIDTHS = {"64": {"keys": {"w": "float32", "a": "uint32"}}, "128": {"keys": {"w": "float64"}, "payload": {"a": "int64"}}}


def takes_word(u, v, w, best, x):
    su.atomic.min(best, v, (x[u], u))


@pytest.mark.parametrize("bits", WIDTHS)
def test_words_on_numba(bits):
    best, x, (u, v) = make_words(N, **WIDTHS[bits]), np.random.default_rng(4).integers(-3, 3, N) / 2, edges()
    x[:3] = [np.nan, -0.0, np.inf]
    function = typed(takes_word, best, x)
    assert (function.effects, function.writes) == ({0: "argmin"}, {0})
    compiled = in_numba(function)
    for one, other in zip(u, v, strict=True):
        compiled(one, other, 1, best.data, x)
    for c in range(N):
        offers = [(x[one] + 0.0, int(one)) for one in u[v == c] if x[one] == x[one]]
        assert (best.w[c], best.a[c]) == min(offers)


@needs_nvrtc
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("role", ["effect", "vertex"])
def test_words_compile(bits, role):
    compile_role(typed(takes_word, make_words(N, **WIDTHS[bits]), np.zeros(N), role=role))


def adds_word(u, v, w, best):
    su.atomic.add(best, v, (w, u))


def one_value(u, v, w, best):
    su.atomic.min(best, v, w)


def three_values(u, v, w, best):
    su.atomic.min(best, v, (w, u, v))


def float_payload(u, v, w, best):
    su.atomic.min(best, v, (w, 0.5))


def reads_word(u, v, w, best):
    su.atomic.min(best, v, (best.w[u], u))


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (adds_word, "su.atomic.add takes an array: of words, su.atomic.min keeps the smallest"),
        (one_value, r"a tuple with one value per field, \(w, a\): w"),
        (three_values, r"a tuple with one value per field, \(w, a\): \(w, u, v\)"),
        (float_payload, "field a has dtype uint32, the value is float64"),
        (reads_word, "neither read nor written in the same function"),
    ],
)
def test_misused_words(fn, says):
    with pytest.raises(EdgeFunctionError, match=says):
        typed(fn, make_words(3, **WIDTHS["64"]))


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda u, v, w, s: s + 1, "s is a Scalar, use its .add"),
        (lambda u, v, w, s: s.total, "s.total: the argument is a Scalar"),
        (lambda u, v, w, s: s.add(1), r"s.add\(1\): the argument is a Scalar"),
        (lambda u, v, w, s: s[u], "only an array"),
    ],
)
def test_misused_scalars(fn, says):
    with pytest.raises(EdgeFunctionError, match=says):
        typed(fn, su.Scalar._of(), role="edge")


def adds_float(u, v, w, s):
    s.add(0.5)
    return 1


def test_a_float_does_not_fit_a_scalar_of_integers():
    with pytest.raises(EdgeFunctionError, match="s has dtype int64, the value is float64"):
        typed(adds_float, su.Scalar._of("sum", "int64"), role="edge")


@pytest.mark.parametrize("function", [atomic.add, atomic.min, atomic.max, atomic.or_, su.unite])
def test_effects_raise_in_plain_python(function):
    with pytest.raises(EdgeFunctionError, match="can only be called in functions of operators"):
        function(np.zeros(3), 1, 1)


def test_scalars_are_arguments_by_reduction_and_type():
    one, other = su.Scalar._of("sum", "int64"), su.Scalar._of("sum", "int64")
    assert argument_of(one) == argument_of(other) == argument_of(copy.copy(one))
    assert argument_of(one) != argument_of(su.Scalar._of("max", "int64"))
