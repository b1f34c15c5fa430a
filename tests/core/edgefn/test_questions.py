"""Questions of functions to the graph and to edge sets, and the bits of numbers."""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest
from edgefn_cases import (
    check,
    compile_role,
    gpu,
    in_cxx,
    in_numba,
    in_python,
    needs_gxx,
    needs_nvrtc,
    one_by_one,
    run_effects,
    types_of,
)

import suricate as su
from suricate.edgefn import argument_of, compile_function
from suricate.errors import EdgeFunctionError

BACKENDS = ("csr_baseline", "hornet_like", "slabhash", "blocked", "gpma")
SRC, DST = [0, 0, 1, 3, 3, 3, 4], [1, 2, 2, 0, 4, 3, 0]


def typed(fn, *args, role="edge", leading=("u", "v", "w")):
    return compile_function(fn, tuple(map(argument_of, args)), weight_dtype=None, leading=leading, role=role)


def graph(backend="csr_baseline"):
    g = su.Graph(5, backend=backend, device="cpu")
    g.insert_edges(SRC, DST)
    return g


def batch(dtype="float32", **options):
    g = su.Graph(5, device="cpu", **options)
    values = None if dtype is None else np.arange(1, 8, dtype=dtype)
    return g.edge_set(SRC, DST, values)


def on_numba(function, args):
    """Return the function of (u, v), compiled; cursors of the graph are imported as generated modules do."""
    made = in_python(function)
    for argument in args:
        if isinstance(argument, su.Graph):
            cursor = importlib.import_module(argument.view().cursor)
            made.__globals__.update({name: getattr(cursor, name) for name in function.cursor_names})
    passed = [one.numba_value(value) for one, value in zip(function.arguments, args, strict=True)]
    compiled = in_numba(function, made)
    return lambda u, v: compiled(np.uint32(u), np.uint32(v), 1, *passed)


ARCS = set(zip(SRC, DST, strict=True))
PAIRS = list(itertools.product(range(5), range(5)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_graph_is_asked(backend):
    g = graph(backend)
    asked = on_numba(typed(lambda u, v, w, g: (u, v) in g, g), (g,))
    assert [bool(asked(u, v)) for u, v in PAIRS] == [pair in ARCS for pair in PAIRS]
    assert not any(asked(u, v) for u in range(5) for v in (5, 4_000, 0xFFFFFFFE, 0xFFFFFFFF))  # ids of no vertex
    absent = on_numba(typed(lambda u, v, w, g: (v, (u + 1) % 5) not in g, g), (g,))
    assert [bool(absent(u, v)) for u, v in PAIRS] == [(v, (u + 1) % 5) not in ARCS for u, v in PAIRS]
    degrees = on_numba(typed(lambda u, v, w, g, x: x[v] / g.degree(v), g, np.ones(5)), (g, np.ones(5)))
    assert [degrees(0, v) for v in range(5)] == [0.5, 1, np.inf, 1 / 3, 1]


@pytest.mark.parametrize("directed", [True, False])
def test_edge_sets_are_asked(directed):
    s = batch(directed=directed)
    arcs = ARCS if directed else ARCS | {(v, u) for u, v in ARCS}
    asked = on_numba(typed(lambda u, v, w, s: (u, v) in s, s), (s,))
    assert [bool(asked(u, v)) for u, v in PAIRS] == [pair in arcs for pair in PAIRS]
    got = on_numba(typed(lambda u, v, w, s: s.get(u, v, -1), s), (s,))
    for u, v in PAIRS:
        value = got(u, v)
        assert (value == -1) == ((u, v) not in arcs)
        if (u, v) in ARCS and (v, u) not in ARCS:
            assert value == 1 + list(zip(SRC, DST, strict=True)).index((u, v))


@pytest.mark.parametrize(("dtype", "result"), [("float32", "float32"), ("int32", "int64"), ("uint64", "uint64")])
def test_types_of_values(dtype, result):
    s = batch(dtype)
    assert typed(lambda u, v, w, s: s.get(u, v, 0), s).result == np.dtype(result)
    assert argument_of(s) == argument_of(batch(dtype, directed=False))
    assert argument_of(s) != argument_of(batch(None))


def counts(u, v, w, g, s, hits):
    if (v, u) in g and (u, v) not in s:
        su.atomic.add(hits, u, g.degree(v))


def test_questions_in_functions_with_effects():
    g, s, hits = graph(), batch(None), np.zeros(5, np.int32)
    function = typed(counts, g, s, hits, role="effect")
    assert function.needs_view
    assert function.writes == {2}
    run = on_numba(function, (g, s, hits))
    for u, v in PAIRS:
        run(u, v)
    assert hits.tolist() == [4, 2, 3, 0, 3]


@needs_nvrtc
@pytest.mark.parametrize("backend", BACKENDS)
def test_questions_compile(backend):
    g = graph(backend)
    compile_role(typed(counts, g, batch(None), np.zeros(5, np.int32), role="effect"), view=g.view())
    fn = lambda u, v, w, s, t: s.get(u, v, 1) + t.get(v, u + 1, 2.5)  # noqa: E731
    compile_role(typed(fn, batch("int64"), batch("float64")))


@pytest.mark.gpu
def test_questions_on_cuda():
    g, host = su.Graph(5, backend="slabhash", device="cuda"), graph("slabhash")
    g.insert_edges(SRC, DST)
    made = [one.edge_set(SRC, DST, None) for one in (g, host)]
    hits = gpu().zeros(5, np.int32)
    args = (g, made[0], hits)
    function = typed(counts, *args, role="effect")
    u, v = np.array(PAIRS, np.uint32).T.copy()
    run_effects(function, u, v, args, view=g.view())
    assert hits.get().tolist() == [4, 2, 3, 0, 3]
    assert argument_of(g).packed(g) is argument_of(g).packed(g)


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda u, v, w, g, s: u in g, "ask for one edge: .u, x. in g"),
        (lambda u, v, w, g, s: (u, v, w) in g, "ask for one edge"),
        (lambda u, v, w, g, s: (u, 0.5) in s, "a vertex id must be an integer, not float"),
        (lambda u, v, w, g, s: s.get(u, v, 1), "s has no values"),
        (lambda u, v, w, g, s: s.get(u, v), r"s.get\(u, v\): the argument is an EdgeSet"),
        (lambda u, v, w, g, s: g.neighbors(u), "g.neighbors.u.: the argument is a graph"),
        (lambda u, v, w, g, s: g, "g is a graph, use"),
        (lambda u, v, w, g, s: g.degree, "g.degree: the argument is a graph"),
        (lambda u, v, w, g, s: u in (1, 2), "'in' can only be used to ask"),
    ],
)
def test_refusals(fn, says):
    with pytest.raises(EdgeFunctionError, match=says):
        typed(fn, graph(), batch(None))


# -- bits --------------------------------------------------------------------------------------------------------------


def hashed(u, v, w, f32):
    bits = f32[u].view(np.uint32)
    return bits ^ (bits >> 16)


BITS = {
    "float32": (lambda u, v, w, f32: np.float32(f32[u] + 1).view(np.uint32), "int64"),
    "signed": (lambda u, v, w, f32: np.float32(f32[u] + 1).view(np.int32), "int64"),
    "float64": (lambda u, v, w, f64: np.float64(f64[u]).view(np.uint64) >> 3, "uint64"),
    "back": (lambda u, v, w, f64: (np.float64(f64[u]).view(np.int64) ^ 5).view(np.float64), "float64"),
    "of an element": (lambda u, v, w, u32: np.uint32(u32[u]).view(np.float32), "float32"),
    "of a constant": (lambda u, v, w: np.float32(1.5).view(np.uint32) + u, "int64"),
    "two casts": (lambda u, v, w, u64: np.uint64(u64[u] & 7).view(np.float64), "float64"),
}


@pytest.mark.parametrize("case", BITS)
def test_bits_on_numba(case):
    check(*BITS[case], None, {}, one_by_one(in_numba), ulps=0)


@needs_gxx
@pytest.mark.parametrize("case", BITS)
def test_bits_in_the_cuda_source(case, build):
    check(*BITS[case], None, {}, one_by_one(lambda function: in_cxx(function, build)), ulps=0)


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda u, v, w, f64: f64[u].view(np.uint32), "has 64 bits and np.uint32 32: convert it first"),
        (lambda u, v, w, u32: u32[u].view(np.uint64), "has 32 bits and np.uint64 64"),
        (lambda u, v, w, u32: u.view(np.float32), "has 64 bits"),
        (lambda u, v, w, f64: f64[u].view(np.uint8), "bits can be seen as np.uint32"),
        (lambda u, v, w, f64: f64[u].view(float), "bits can be seen as np.uint32"),
    ],
)
def test_refused_views(fn, says):
    with pytest.raises(EdgeFunctionError, match=says):
        types_of(fn)


def test_elements_are_as_wide_as_their_array():
    assert types_of(hashed)[0].result == np.int64
    assert types_of(lambda u, v, w, u32: u32[u].view(np.float32))[0].result == np.float32
