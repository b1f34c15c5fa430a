"""advance against NumPy: reductions, types, frontiers of every kind, explicit edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from operator_cases import make_case, reduce_at, schemes

import suricate as su

DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def value_of(u, v, w, x):
    return x[u] * w + v


def hop(u, v, w, level):
    return level[u] + 1


def bit(u, v, w, x):
    return 1 << (x[u] & 31)


def check(case, frontier, out, before, expected):
    """The values are right, and the frontier is exactly the vertices that changed, each once."""
    after = case.host(out)
    np.testing.assert_array_equal(after, expected)
    changed = case.host(frontier.vertices)
    assert changed.dtype == np.uint32
    np.testing.assert_array_equal(np.sort(changed), np.flatnonzero(expected != before))


def starts(case, device):
    """Yield (frontier, boolean array of its vertices): none, few, many, all, and all listed."""
    rng = np.random.default_rng(7)
    few = [0, 3, 5, case.n - 1]
    many = rng.permutation(case.n)[: case.n // 2]
    for given in (
        few,
        many,
        case.array(many.astype(np.uint32)),
        case.graph.frontier(np.arange(case.n)),
    ):
        ids = given.vertices if isinstance(given, su.Frontier) else case.array(given)
        inside = np.zeros(case.n, bool)
        inside[case.host(ids)] = True
        yield given, inside
    yield None, np.ones(case.n, bool)
    yield case.graph.frontier(), np.ones(case.n, bool)
    yield [], np.zeros(case.n, bool)


@pytest.mark.parametrize("weight_dtype", [None, "int32", "float32"])
def test_frontiers_of_every_kind(backend, device, weight_dtype):
    case = make_case(backend, device, weight_dtype)
    x = np.random.default_rng(8).integers(0, 1000, case.n)
    kind = np.float64 if weight_dtype == "float32" else np.int64
    before = np.random.default_rng(9).integers(0, 20000, case.n).astype(kind)
    for given, inside in starts(case, device):
        active = inside[case.src]
        each = x[case.src[active]] * case.weight[active] + case.dst[active]
        expected = reduce_at("min", before, case.dst[active], each)
        whole = given is None or (isinstance(given, su.Frontier) and given.is_all)
        for scheme in schemes(case, whole=whole):
            out = case.array(before.copy())
            result = su.advance(
                case.graph, given, value_of, out=out, reduce="min", args=(case.array(x),), scheme=scheme
            )
            check(case, result, out, before, expected)


@pytest.mark.parametrize("reduce", ["min", "max", "sum"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_reduction_and_type(device, dtype, reduce):
    case = make_case("csr_baseline", device)
    rng = np.random.default_rng(10)
    x = rng.integers(0 if dtype.startswith("u") else -1000, 1000, case.n)
    before = rng.integers(0, 1000, case.n).astype(dtype)
    expected = reduce_at(reduce, before, case.dst, x[case.src] + case.dst)
    out = case.array(before.copy())
    values = x.astype(dtype if dtype.startswith("f") else np.int64)
    result = su.advance(case.graph, None, value_of, out=out, args=(case.array(values),), reduce=reduce)
    check(case, result, out, before, expected)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_or(device, dtype):
    case = make_case("csr_baseline", device)
    x = np.random.default_rng(11).integers(0, 31, case.n)
    before = np.zeros(case.n, dtype)
    expected = reduce_at("or", before, case.dst, 1 << x[case.src])
    out = case.array(before.copy())
    check(case, su.advance(case.graph, None, bit, out=out, args=(case.array(x),), reduce="or"), out, before, expected)


def test_negative_floats_and_signed_zeros(device):
    """Integer atomics on the bits of floats keep the order of floats of both signs."""
    rng = np.random.default_rng(12)
    values = np.concatenate((rng.normal(size=400), [0.0, -0.0, np.inf, -np.inf, 1e-310, -1e-310]))
    for dtype in (np.float32, np.float64):
        x = values.astype(dtype)
        n = len(x)
        graph = su.Graph(n, backend="csr_baseline", device=device)
        src, dst = rng.integers(0, n, 5000), rng.integers(0, n, 5000)
        graph.insert_edges(src, dst)
        for reduce in ("min", "max"):
            before = rng.permutation(x)
            out = device.xp.asarray(before.copy())
            su.advance(graph, None, lambda u, v, w, x: x[u], out=out, args=(device.xp.asarray(x),), reduce=reduce)
            np.testing.assert_array_equal(device.to_numpy(out), reduce_at(reduce, before, dst, x[src]))


def test_nan_never_wins(device):
    graph = su.Graph(3, backend="csr_baseline", device=device)
    graph.insert_edges([0, 1], [2, 2])
    x = device.xp.asarray(np.array([np.nan, 4.0, 0.0]))
    for reduce in ("min", "max"):
        out = device.xp.full(3, 5.0 if reduce == "min" else 3.0)
        frontier = su.advance(graph, None, lambda u, v, w, x: x[u], out=out, args=(x,), reduce=reduce)
        assert device.to_numpy(out)[2] == 4.0
        assert device.to_numpy(frontier.vertices).tolist() == [2]


def test_steps_make_breadth_first_levels(backend, device):
    """Frontiers are passed on from call to call, without the host knowing how long they are."""
    case = make_case(backend, device)
    level = device.xp.full(case.n, 10**6, np.int32)
    level[0] = 0
    scheme_of = itertools.cycle(schemes(case, whole=False))
    expected = np.full(case.n, 10**6)
    expected[0] = 0
    frontier, wave = case.graph.frontier([0]), np.array([0])
    for step in range(1, 8):
        frontier = su.advance(case.graph, frontier, hop, out=level, args=(level,), reduce="min", scheme=next(scheme_of))
        reached = np.unique(case.dst[np.isin(case.src, wave)])
        wave = reached[expected[reached] > step]
        expected[wave] = step
    np.testing.assert_array_equal(case.host(level), expected)
    np.testing.assert_array_equal(np.sort(case.host(frontier.vertices)), wave)


@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_explicit_edges(backend, device, weight_dtype):
    """The function is applied to exactly these edges, with their weights, even if the graph has no such edge."""
    case = make_case(backend, device, weight_dtype)
    rng = np.random.default_rng(13)
    src, dst = rng.integers(0, case.n, 3000), rng.integers(0, 50, 3000)
    weight = None if weight_dtype is None else rng.integers(1, 9, 3000).astype(weight_dtype)
    x = rng.integers(0, 1000, case.n)
    before = rng.integers(0, 3000, case.n).astype(np.float64)
    expected = reduce_at("min", before, dst, x[src] * (1 if weight is None else weight) + dst)
    out = case.array(before.copy())
    given = su.EdgeList(*(None if part is None else case.array(part) for part in (src, dst, weight)))
    check(
        case,
        su.advance(case.graph, given, value_of, out=out, reduce="min", args=(case.array(x),)),
        out,
        before,
        expected,
    )
    ids = su.EdgeList(case.array(src.astype(np.uint32)), case.array(dst.astype(np.uint32)), given.weight)
    out = case.array(before.copy())
    check(
        case, su.advance(case.graph, ids, value_of, out=out, reduce="min", args=(case.array(x),)), out, before, expected
    )


def test_no_edges_at_all(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    out = device.xp.zeros(4, np.int32)
    assert len(su.advance(graph, None, hop, out=out, args=(out,), reduce="min")) == 0
    assert (
        len(
            su.advance(
                graph,
                su.EdgeList(device.xp.empty(0, np.uint32), device.xp.empty(0, np.uint32)),
                hop,
                out=out,
                args=(out,),
                reduce="min",
            )
        )
        == 0
    )
    empty = su.Graph(0, backend=backend, device=device)
    assert len(su.advance(empty, None, hop, out=out[:0], args=(out[:0],), reduce="min")) == 0


def test_stamps_survive_growth_of_the_graph(backend, device):
    graph = su.Graph(3, backend=backend, device=device)
    graph.insert_edges([0, 1], [1, 2])
    for n in (3, 40, 700):
        if n > graph.num_vertices:
            graph.insert_vertices(n - graph.num_vertices)
            graph.insert_edges([n - 2], [n - 1])
        out = device.xp.full(n, 100, np.int64)
        out[n - 2] = 0
        assert device.to_numpy(
            su.advance(graph, [n - 2], hop, out=out, args=(out,), reduce="min").vertices
        ).tolist() == [n - 1]
        assert int(out[n - 1]) == 1


def test_many_calls_share_the_scratch(device):
    """More calls than there are counters in one allocation."""
    graph = su.Graph(2, backend="csr_baseline", device=device)
    graph.insert_edges([0, 1], [1, 0])
    out = device.xp.zeros(2, np.int64)
    frontier = graph.frontier()
    for _ in range(2500):
        frontier = su.advance(graph, frontier, lambda u, v, w: 1, out=out, args=(), reduce="sum")
    assert device.to_numpy(out).tolist() == [2500, 2500]
    assert len(frontier) == 2
