"""neighbor_reduce against NumPy: every reduction, type, scheme, direction and backend."""

from __future__ import annotations

import math

import numpy as np
import pytest
from operator_cases import make_case, neutral, reduce_at, schemes
from scipy.sparse import csr_array
from turns import few

import suricate as su
from suricate.errors import RequirementError

DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def product(u, v, w, x):
    return w * x[v]


def heavy(u, v, w, x):
    return w * math.exp(x[v])


def product_of_source(u, v, w, x):
    return w * x[u]


def heavy_of_source(u, v, w, x):
    return w * math.exp(x[u])


def of_source(u, v, w, x):
    return x[u] + w


def mixed(u, v, w, x, factor):
    return x[v] * factor - u + 3 * v


@pytest.mark.parametrize("weight_dtype", [None, "float32", "float64", "int32"])
def test_weighted_sum_over_out_edges(backend, device, weight_dtype):
    case = make_case(backend, device, weight_dtype)
    x = np.random.default_rng(2).random(case.n)
    expected = np.bincount(case.src, case.weight * x[case.dst], case.n)
    for scheme in schemes(case):
        result = su.neighbor_reduce(case.graph, None, product, args=(case.array(x),), reduce="sum", scheme=scheme)
        assert result.dtype == np.float64
        np.testing.assert_allclose(case.host(result), expected, rtol=1e-12)


def test_sum_over_in_edges_sees_edges_as_stored(backend, device):
    case = make_case(backend, device, "float32", in_edges=True)
    x = np.random.default_rng(2).random(case.n)
    expected = np.bincount(case.dst, case.weight + x[case.src], case.n)
    for scheme in schemes(case):
        result = su.neighbor_reduce(
            case.graph, None, of_source, args=(case.array(x),), reduce="sum", over="in", scheme=scheme
        )
        np.testing.assert_allclose(case.host(result), expected, rtol=1e-12)


@pytest.mark.parametrize("reduce", few(["sum", "min", "max"]))
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_reduction_and_type(device, dtype, reduce):
    case = make_case("csr_baseline", device)
    x = np.random.default_rng(3).integers(-1000, 1000, case.n)
    values = case.array(x.astype(dtype if dtype.startswith("f") else np.int64))
    each = x[case.dst] * 5 - case.src + 3 * case.dst
    kind = np.dtype(dtype)
    expected = reduce_at(reduce, np.full(case.n, neutral(reduce, kind)), case.src, each)
    for scheme in schemes(case):
        out = case.array(np.full(case.n, 77, kind))
        result = su.neighbor_reduce(case.graph, None, mixed, args=(values, 5), reduce=reduce, out=out, scheme=scheme)
        assert result is out
        # Hubs sum up to more than 2**24, where float32 depends on the order.
        rounding = 1e-6 if dtype == "float32" and reduce == "sum" else 0
        np.testing.assert_allclose(case.host(out), expected, rtol=rounding, atol=0)


@pytest.mark.parametrize("reduce", ["sum", "min", "max"])
def test_every_reduction_on_every_backend(backend, device, reduce):
    case = make_case(backend, device)
    x = np.random.default_rng(3).integers(-1000, 1000, case.n)
    each = x[case.dst] * 5 - case.src + 3 * case.dst
    expected = reduce_at(reduce, np.full(case.n, neutral(reduce, np.dtype(np.int64))), case.src, each)
    for scheme in schemes(case):
        result = su.neighbor_reduce(case.graph, None, mixed, args=(case.array(x), 5), reduce=reduce, scheme=scheme)
        np.testing.assert_array_equal(case.host(result), expected)


@pytest.mark.parametrize("over", ["out", "both"])
@pytest.mark.parametrize("weight_dtype", [None, "float64"])
def test_float_sums_over_rows_of_each_length(backend, over, weight_dtype):
    n = 40
    src = np.repeat(np.arange(n), np.arange(n))
    dst = src - np.concatenate([np.arange(count) for count in range(n)])  # a self-loop in each row but the first
    weight = np.random.default_rng(1).random(len(src)) if weight_dtype else np.ones(len(src))
    graph = su.Graph(n, device="cpu", backend=backend, in_edges=True, weight_dtype=weight_dtype, self_loops="allow")
    graph.insert_edges(src, dst, weight if weight_dtype else None)
    gone = np.arange(len(src)) % 5 == 4
    graph.delete_edges(src[gone], dst[gone])
    matrix, x = np.zeros((n, n)), np.linspace(-1, 1, n)
    matrix[src[~gone], dst[~gone]] = weight[~gone]
    matrix += matrix.T * (1 - np.eye(n)) * (over == "both")
    some = np.array([7, 3, 39, 0], np.uint32)
    functions = (product, heavy) if over == "out" else (product_of_source, heavy_of_source)
    for fn, values in zip(functions, (x, np.exp(x)), strict=True):
        for chosen in (None, some):
            found = su.neighbor_reduce(graph, chosen, fn, args=(x,), reduce="sum", over=over, dtype="float64")
            wanted = matrix @ values
            np.testing.assert_allclose(found, wanted if chosen is None else wanted[chosen], rtol=1e-12, atol=1e-12)


def test_chosen_vertices_in_their_order(backend, device):
    case = make_case(backend, device)
    x = np.random.default_rng(4).random(case.n)
    chosen = np.random.default_rng(5).integers(0, case.n, 700)
    chosen[:12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, case.n - 1, 0]
    expected = np.bincount(case.src, x[case.dst], case.n)[chosen]
    for scheme in ("auto", "vertex", "bucket"):
        result = su.neighbor_reduce(case.graph, chosen, product, args=(case.array(x),), reduce="sum", scheme=scheme)
        np.testing.assert_allclose(case.host(result), expected, rtol=1e-12)
    frontier = case.graph.frontier(chosen)
    result = su.neighbor_reduce(case.graph, frontier, product, args=(case.array(x),), reduce="sum")
    np.testing.assert_allclose(case.host(result), np.bincount(case.src, x[case.dst], case.n)[np.unique(chosen)])


def test_float32_stays_float32(device):
    case = make_case("csr_baseline", device, "float32")
    x = np.random.default_rng(2).random(case.n).astype(np.float32)
    result = su.neighbor_reduce(case.graph, None, product, args=(case.array(x),), reduce="sum")
    assert result.dtype == np.float32
    expected = np.bincount(case.src, case.weight * x[case.dst], case.n)
    np.testing.assert_allclose(case.host(result), expected, rtol=1e-4)


def test_an_infinite_value_survives_a_minimum(device):
    graph = su.Graph(3, backend="csr_baseline", device=device)
    graph.insert_edges([0, 1], [1, 2])
    x = device.xp.asarray(np.array([0, np.inf, 5.0]))
    result = su.neighbor_reduce(graph, None, product, args=(x,), reduce="min")
    assert device.to_numpy(result).tolist() == [np.inf, 5.0, np.inf]


def test_undirected_graphs_have_both_directions(backend, device):
    case = make_case(backend, device, directed=False)
    expected = np.bincount(case.src, case.dst, case.n)
    x = case.array(np.arange(case.n))
    for over in ("out", "in"):
        fn = product if over == "out" else of_target_source
        result = su.neighbor_reduce(case.graph, None, fn, args=(x,), reduce="sum", over=over)
        np.testing.assert_array_equal(case.host(result), expected)


def of_target_source(u, v, w, x):
    return x[u]


@pytest.mark.parametrize("over", ["out", "in"])
def test_rounds_count_walks_as_powers_of_the_matrix_do(backend, device, over):
    case = make_case(backend, device, in_edges=True)
    a = csr_array((np.ones(len(case.src), np.int64), (case.src, case.dst)), (case.n, case.n))
    a = a if over == "out" else a.T
    fn = of_neighbor if over == "out" else of_target_source
    walks, wanted = case.array(np.ones(case.n, np.int64)), np.ones(case.n, np.int64)
    for _ in range(4):
        walks = su.neighbor_reduce(case.graph, None, fn, args=(walks,), reduce="sum", over=over)
        wanted = a @ wanted
        assert walks.dtype == np.int64
        np.testing.assert_array_equal(case.host(walks), wanted)
    assert wanted.max() > 10**6


def of_neighbor(u, v, w, x):
    return x[v]


def test_empty_graphs(backend, device):
    x = device.xp.ones(3)
    result = su.neighbor_reduce(su.Graph(3, backend=backend, device=device), None, product, args=(x,), reduce="sum")
    assert device.to_numpy(result).tolist() == [0, 0, 0]
    assert (
        len(su.neighbor_reduce(su.Graph(0, backend=backend, device=device), None, product, args=(x[:0],), reduce="sum"))
        == 0
    )
    nobody = su.neighbor_reduce(su.Graph(3, backend=backend, device=device), [], product, args=(x,), reduce="sum")
    assert len(nobody) == 0


def test_single_entry_arrays_are_numbers_on_the_device(device):
    graph = su.Graph(3, backend="csr_baseline", device=device)
    graph.insert_edges([0, 0, 1], [1, 2, 2])
    share = device.xp.asarray(np.array([0.25]))
    result = su.neighbor_reduce(graph, None, lambda u, v, w, share: share[0], args=(share,), reduce="sum")
    assert device.to_numpy(result).tolist() == [0.5, 0.25, 0]


def test_in_edges_are_required(backend, device):
    graph = su.Graph(3, backend=backend, device=device)
    with pytest.raises(RequirementError, match="in_edges"):
        su.neighbor_reduce(graph, None, product, args=(device.xp.ones(3),), reduce="sum", over="in")


@pytest.mark.gpu
def test_scan_needs_an_backend_that_can(device):
    if not device.is_cuda:
        pytest.skip("the CPU has one loop for all schemes")
    graph = su.Graph(3, backend="csr_baseline", device=device)
    with pytest.raises(RequirementError, match="scan"):
        su.neighbor_reduce(graph, None, product, args=(device.xp.ones(3),), reduce="sum", scheme="scan")
