"""Fields of words in functions: read by one load, returned as a tuple, written at the own vertex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from edgefn_cases import compile_role, in_cxx, in_numba, needs_gxx, needs_nvrtc

from suricate.edgefn import EdgeFunction, argument_of, compile_function
from suricate.errors import EdgeFunctionError
from suricate.state.words import make_words

KEYS, PAYLOAD = {"distance": "float32", "hops": "uint32"}, {"parent": "uint32"}


def tree():
    """Return words of 96 bits with values that are easy to get wrong."""
    s = make_words(5, KEYS, PAYLOAD)
    s.set(
        range(5), distance=[0.0, -2.5, 7.0, np.inf, 1e-3], hops=[0, 3, 2**32 - 1, 7, 1], parent=[1, 2**32 - 1, 0, 3, 4]
    )
    return s


def small():
    s = make_words(5, {"hops": "int32"}, {"parent": "uint32"})
    s.set(range(5), hops=[0, -3, 2**31 - 1, -(2**31), 5], parent=[4, 2**32 - 1, 0, 3, 1])
    return s


def straddling():
    s = make_words(5, {"k": "int32"}, {"x": "float64", "p": "uint32"})
    s.set(range(5), k=[1, -1, 0, 5, -9], x=[0.1, -np.inf, -1e300, 2.5, 0.0], p=[0, 1, 2**32 - 1, 3, 4])
    return s


def typed(fn, *args, layout=None, leading=("u", "v", "w"), role="edge", value_dtype=None):
    return compile_function(
        fn, tuple(map(argument_of, args)), weight_dtype=None, leading=leading, role=role, value_dtype=value_dtype,
        result_layout=layout,
    )  # fmt: skip


def relaxed(u, v, w, s):
    return s.distance[u] + w, s.hops[u] + 1, u


def relaxed_if(u, v, w, s, flags):
    if not flags[v] and s.hops[u] > 2:
        return math.inf, 0, v
    return (s.distance[u] + w, s.hops[u] + 1, u) if s.parent[u] != v else (s.distance[v], s.hops[v], s.parent[v])


def sums(u, v, w, s):
    return s.distance[u] * (s.hops[v] if s.parent[u] < 5 else -1) + s.parent[v]


def guarded(u, v, w, s, next_of):
    k = next_of[u]
    return s.parent[k] if 0 <= k < 5 and s.hops[k] else -1


def chased(u, v, w, s):
    x = u
    x = s.parent[x] if s.parent[x] < 5 else v
    x = s.parent[x] if s.parent[x] < 5 else v
    return x


def straddled(u, v, w, s):
    return s.x[u] if s.k[u] > s.k[v] else s.x[v] + s.p[u]


NEXT = np.array([3, -1, 2**40, 4, 0])
FLAGS = np.array([True, False, True, False, False])
CASES = {
    "tuple": (relaxed, tree, (), True),
    "tuples on several paths": (relaxed_if, tree, (FLAGS,), True),
    "fields": (sums, tree, (), False),
    "guarded index": (guarded, tree, (NEXT,), False),
    "chain of loads": (chased, tree, (), False),
    "across the halves": (straddled, straddling, (), False),
    "64 bits": (lambda u, v, w, s: s.hops[u] * s.parent[v] - s.hops[v], small, (), False),
    "tuple of 64 bits": (lambda u, v, w, s: (s.hops[u] - w, v), small, (), True),
}


class Decoded:
    """Words as Python computes with them: an array per field, integers wide."""

    def __init__(self, s):
        for field in s.layout.fields:
            values = getattr(s, field.name)
            setattr(self, field.name, values if field.dtype.kind == "f" else values.astype(np.int64))


def check(case, translate):
    fn, make, more, is_tuple = CASES[case]
    s = make()
    function = typed(fn, s, *more, layout=s.layout if is_tuple else None)
    compiled = translate(function)
    for u in range(5):
        for v in range(5):
            with np.errstate(all="ignore"):
                expected = fn(u, v, 1, Decoded(s), *more)
            found = compiled(np.uint32(u), np.uint32(v), 1, s.data, *more)
            if is_tuple:
                fields = zip(s.layout.fields, expected, strict=True)
                expected = [x if field.dtype.kind == "f" else np.int64(x).astype(field.dtype) for field, x in fields]
                found = decoded(s, found)
            np.testing.assert_array_equal(found, expected, err_msg=f"{u} {v}")


def decoded(s, word):
    """Return the values of the fields of a word that a function returned."""
    one = type(s)._of(s.layout, s.device)
    one.resize(1)
    one.data[0] = word if s.layout.bits == 128 else np.ravel(word)[0]
    return [getattr(one, field.name)[0] for field in s.layout.fields]


@pytest.mark.parametrize("case", CASES)
def test_reads_on_numba(case):
    check(case, in_numba)


@needs_gxx
@pytest.mark.parametrize("case", CASES)
def test_reads_in_the_cuda_source(case, build):
    check(case, lambda function: in_cxx(function, build))


@needs_nvrtc
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("arch", ["compute_70", "compute_90"])
def test_the_cuda_source_compiles(case, arch):
    fn, make, more, is_tuple = CASES[case]
    s = make()
    compile_role(typed(fn, s, *more, layout=s.layout if is_tuple else None), arch)


def test_a_word_is_loaded_once():
    function = typed(relaxed, tree(), layout=tree().layout)
    assert function.cuda_source("f").count("words::load(") == 1
    assert function.numba_source("f").count("load_pair(a0, u)") == 1
    both = typed(lambda u, v, w, s: s.hops[u] + s.parent[u] * (s.hops[v] if s.hops[u] else s.parent[v]), tree())
    assert both.cuda_source("f").count("words::load(") == 3  # that of v in the branch that needs it


# -- writes ------------------------------------------------------------------------------------------------------------


def adopts(v, s, best):
    s.hops[v] += 1
    if s.hops[v] > 3:
        s.parent[v] = best[v]
        s.distance[v] = s.distance[v] * 0.5
    return s.parent[v] == best[v]


@pytest.mark.parametrize("translate", [in_numba, pytest.param(in_cxx, marks=needs_gxx)])
def test_fields_are_written_at_the_own_vertex(translate, build):
    s, best = tree(), np.arange(5)[::-1].copy()
    function = typed(adopts, s, best, leading=("v",), role="vertex")
    assert function.writes == {0}
    compiled = translate(function) if translate is in_numba else translate(function, build)
    chosen = [bool(compiled(np.uint32(v), s.data, best)) for v in range(5)]
    assert chosen == [False, True, False, True, False]
    assert s.hops.tolist() == [1, 4, 0, 8, 2]
    assert s.parent.tolist() == [1, 3, 0, 1, 4]
    assert s.distance.tolist() == [0, -1.25, 7, np.inf, np.float32(1e-3)]


def takes_value(v, hops, parent, label):
    label[v] = hops * 10 + parent
    return hops > 0


@pytest.mark.parametrize("translate", [in_numba, pytest.param(in_cxx, marks=needs_gxx)])
def test_a_reduced_word_is_given_as_its_fields(translate, build):
    s, label = small(), np.zeros(5, np.int64)
    function = typed(takes_value, label, leading=("v", "value"), role="vertex", value_dtype=s.layout)
    compiled = translate(function) if translate is in_numba else translate(function, build)
    assert [bool(compiled(np.uint32(v), s.data[v], label)) for v in (0, 4)] == [False, True]
    assert label.tolist() == [4, 0, 0, 0, 51]


@needs_nvrtc
def test_words_compile_in_functions_of_vertices():
    compile_role(typed(adopts, tree(), np.arange(5), leading=("v",), role="vertex"), "compute_90")
    fn = lambda v, distance, hops, parent, x: parent == v  # noqa: E731
    compile_role(typed(fn, 1, leading=("v", "value"), role="vertex", value_dtype=tree().layout))


def test_wrong_number_of_fields_of_the_value():
    with pytest.raises(EdgeFunctionError, match=r"called with 4: \(v, hops, parent, int64 array\)"):
        typed(lambda v, value, label: 1, NEXT, leading=("v", "value"), role="vertex", value_dtype=small().layout)


# -- refusals ----------------------------------------------------------------------------------------------------------

LAYOUT = "layout"
REFUSED = [
    (lambda u, v, w, s: s.far[u], {}, "s has no field far: it has distance, hops, parent"),
    (lambda u, v, w, s: s[u], {}, r"s has fields: name one, s.distance\[v\]"),
    (lambda u, v, w, s: s, {}, r"s has fields: only one of an element can be used, s.distance\[v\]"),
    (lambda u, v, w, s: s.hops, {}, "s.hops"),
    (lambda u, v, w, s: (1, 2, 3), {}, "a tuple cannot be used"),
    (
        lambda u, v, w, s: (1.0, 2),
        {LAYOUT: True},
        r"returns 2 values: return one per field, \(dist",
    ),
    (lambda u, v, w, s: 1.0, {LAYOUT: True}, "returns 1 values"),
    (lambda u, v, w, s: (1, 2.5, 3), {LAYOUT: True}, "field hops has dtype uint32, the value is float64"),
    (lambda u, v, w, s: (1, 2, 3) + 1, {LAYOUT: True}, "a tuple can only be returned"),
    (lambda u, v, w, s: (1, 2, 3) if u else 1, {LAYOUT: True}, "a tuple and a number"),
]


@pytest.mark.parametrize(("fn", "how", "says"), REFUSED)
def test_refusals(fn, how, says):
    s = tree()
    with pytest.raises(EdgeFunctionError, match=says):
        typed(fn, s, layout=s.layout if how else None)


def writes_elsewhere(v, s):
    s.hops[s.parent[v]] = 1


def writes_and_reads(v, s):
    s.hops[v] = s.hops[s.parent[v]]


def float_into_integer(v, s):
    s.hops[v] = 0.5


def assigned(v, s):
    s = 1
    return s


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (writes_elsewhere, "only the own vertex can be written: s.hops"),
        (writes_and_reads, "can only be read at"),
        (float_into_integer, "field hops has dtype uint32, the value is float64"),
        (assigned, "s is no number and cannot be assigned to"),
    ],
)
def test_refusals_of_writes(fn, says):
    with pytest.raises(EdgeFunctionError, match=says):
        typed(fn, tree(), leading=("v",), role="vertex")


def test_functions_by_hand_take_no_words():
    fn = EdgeFunction(cuda="u", numba=lambda u, v, w, s: u, result="int64")
    with pytest.raises(EdgeFunctionError, match="not words"):
        typed(fn, tree())
