"""Weights beside columns of edges: they mean the same as without columns, everywhere; rows have a name of their own."""

import pickle

import numpy as np
import pytest

import suricate as su
from suricate.errors import DTypeError, EdgeFunctionError, ParameterError, RequirementError, WeightError
from suricate.state.words import make_words

DTYPES = ["float32", "float64", "int32", "uint32", None]
ENDS = [0, 1, 0, 2], [1, 3, 2, 3]


def pair(dtype, device, **options):
    """Two graphs of the same edges and weights: without columns and with them."""
    options = {"device": device, "weight_dtype": dtype, "in_edges": True, **options}
    plain, wide = su.Graph(4, **options), su.Graph(4, edge_columns={"km": "int16", "road": str}, **options)
    weights = [] if dtype is None else [[2, 1, 5, 1]]
    given = {"km": [10, 20, 30, 40], "road": list("abcd"), **dict(zip(["weight"], weights, strict=False))}
    plain.insert_edges(*ENDS, *weights)
    wide.insert_edges(*ENDS, given)
    return plain, wide


def shown(edges):
    """Edges as a dictionary, whatever their order; the values are weights."""
    weight = [None] * len(edges.src) if edges.weight is None else edges.weight.tolist()
    return dict(zip(zip(edges.src.tolist(), edges.dst.tolist(), strict=True), weight, strict=True))


def lists(delta):
    old = delta.arcs("replaced_old").read()
    return [shown(part) for part in (delta.inserted, delta.deleted, delta.replaced, old)]


@pytest.mark.plain
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_are_those_of_a_graph_without_columns(dtype, directed, backend, device):
    plain, wide = pair(dtype, device, backend=backend, directed=directed)
    assert plain.weight_dtype == wide.weight_dtype or dtype is None is wide.weight_dtype
    for step in range(3):
        if step == 1:  # weights change, and with the last edge only a column
            for graph in (plain, wide):
                graph.mark()
            src, dst, weight = [3, 0, 1], [0, 1, 3], [7, 9, 1]
            weights = [] if dtype is None else [weight]
            one = plain.insert_edges(src, dst, *weights)
            given = {"km": [1, 10, 21], "road": ["e", "a", "b"], **({} if dtype is None else {"weight": weight})}
            other = wide.insert_edges(src, dst, given)
            old = wide.edge_columns.at_rows("km", other.replaced_old_row).tolist()
            assert dict(zip(other.replaced.dst.tolist(), old, strict=True)) == (
                {3: 20} if dtype is None else {1: 10, 3: 20}
            )
            found = lists(other)
            for key in [(1, 3)] if directed else [(1, 3), (3, 1)]:
                assert found[3].pop(key) == (None if dtype is None else 1)
            assert found[2].pop((1, 3)) == (None if dtype is None else 1)
            assert found == lists(one)
            assert lists(pickle.loads(pickle.dumps(other))) == lists(other)
        if step == 2:
            one, other = (graph.delete_edges([0, 2], [2, 3]) for graph in (plain, wide))
            wide.insert_edges([2], [0], {"km": 1, "road": "f", **({} if dtype is None else {"weight": 4})})
            plain.insert_edges([2], [0], *([] if dtype is None else [4]))
            assert lists(one) == lists(other)  # read after the next change
        wide.check()
        for name in ("edges", "updated"):
            one, other = getattr(plain, name)(), getattr(wide, name)()
            assert shown(one) == shown(other)
            assert one.row is None
            assert len(other.row) == len(other.src)
        for direction in ("out", "in"):
            one, other = (graph.adjacency(range(4), direction) for graph in (plain, wide))
            rows = [[sorted(zip(adj.dst[a:b].tolist(), [0] * 9 if adj.weight is None else adj.weight[a:b].tolist(),
                                strict=False)) for a, b in zip(adj.offsets[:-1].tolist(), adj.offsets[1:].tolist(),
                                                               strict=True)] for adj in (one, other)]  # fmt: skip
            assert rows[0] == rows[1]
        assert plain.to_csr().weight is wide.to_csr().weight is None or (
            plain.to_csr().weight.tolist() == wide.to_csr().weight.tolist()
        )
        ask = [0, 1, 3], [1, 3, 3]
        if dtype is None:
            with pytest.raises(WeightError, match="the graph has no weights"):
                wide.edge_weights(*ask)
        else:
            xp = device.xp
            for default in ({}, {"default": 5}):
                one, other = (device.to_numpy(graph.edge_weights(*ask, **default)) for graph in (plain, wide))
                np.testing.assert_array_equal(one, other)
                assert one.dtype == other.dtype
            assert shown(su.EdgeList(*xp.asarray(wide.to_edge_index()[0]), wide.to_edge_index()[1])) == shown(
                su.EdgeList(*xp.asarray(plain.to_edge_index()[0]), plain.to_edge_index()[1])
            )
        for algorithm, params in (("sssp", {"source": 0}), ("pagerank", {}), ("spmv", {}), ("bfs", {"source": 0})):
            one, other = (graph.compute(algorithm, **params) for graph in (plain, wide))
            for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (one, other)), strict=True):
                np.testing.assert_allclose(device.to_numpy(a), device.to_numpy(b), rtol=1e-6)


def add(u, v, w, row, into, km):
    su.atomic.add(into, v, w * km[row])


def by_place(i, u, v, w, row, into, km):
    su.atomic.add(into, i, w * km[row])


WEIGHT_ROW = su.EdgeFunction(cuda="w * km[row]", numba=lambda u, v, w, row, km: w * km[row], result="float64")
ROW = su.EdgeFunction(cuda="return km[row];", numba=lambda u, v, row, km: km[row], result="int64")


@pytest.mark.plain
@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
def test_functions_take_the_weight_the_row_or_both(dtype, backend, device):
    kinds = {"km": "int16", **({"weight": "int64"} if dtype == "int64" else {})}
    given = None if dtype == "int64" else dtype
    graph = su.Graph(4, device=device, backend=backend, in_edges=True, weight_dtype=given, edge_columns=kinds)
    w = np.array([2, 1, 5, 1] if dtype else [1] * 4)
    graph.insert_edges(*ENDS, {"km": [10, 20, 30, 40], **({"weight": w} if dtype else {})})
    xp, out = device.xp, device.xp.zeros(4)

    def into(values):
        return [0, values[0], values[2], values[1] + values[3]]

    km = np.array([10, 20, 30, 40])
    for fn, args, right in [
        (lambda u, v, w: w * 1.0, (), w), (lambda u, v, row, km: km[row] * 1.0, ("km",), km),
        (lambda u, v, w, row, km: km[row] * w * 1.0, ("km",), km * w), (WEIGHT_ROW, ("km",), km * w),
        (ROW, ("km",), km), (lambda u, v, w, row, km: km[row] * 1.0, ("km",), km),
    ]:  # fmt: skip
        su.neighbor_reduce(graph, None, fn, args=args, reduce="sum", out=out, over="in")
        assert out.tolist() == into(right)
    far = xp.full(4, np.inf)
    far[0] = 0
    su.propagate(
        graph, [0], lambda u, v, w, row, far, km: far[u] + w * km[row], out=far, reduce="min", args=(far, "km")
    )
    cost = (w * km).tolist()
    assert far.tolist() == [0, cost[0], cost[2], min(cost[0] + cost[1], cost[2] + cost[3])]
    near = make_words(4, {"far": "float64"}, {"by": "uint32"}, device=device)
    su.neighbor_reduce(graph, None, lambda u, v, w, row, km: (1.0 * km[row] * w, u), args=("km",), reduce="argmin",
                       over="in", out=near)  # fmt: skip
    assert device.to_numpy(near.by)[1:].tolist() == [0, 0, 1 if cost[1] <= cost[3] else 2]
    delta = graph.insert_edges([3], [1], {"km": 3, **({"weight": 6} if dtype else {})})
    for edges, right in [
        (None, cost),
        (graph.edges(), cost),
        (delta.inserted, None),
        (delta.arcs("inserted"), None),
        (delta.arcs("inserted").read(), None),
    ]:
        sums = xp.zeros(4)
        su.edge_map(graph, edges, add, args=(sums, "km"))
        more = 18 if dtype else 3
        expected = into(right) if right else [0] * 4
        expected[1] += more
        assert sums.tolist() == expected
    sums = xp.zeros(1)
    su.edge_map(graph, delta.inserted, by_place, args=(sums, "km"))
    assert sums.tolist() == [more]


def test_a_column_called_weight_is_the_weights(device, tmp_path):
    graph = su.Graph(3, device=device, edge_columns={"weight": ("int32", 4), "road": str})
    assert graph.weight_dtype == np.int32
    graph.insert_edges([0, 1], [1, 2], {"road": "a"})
    assert graph.edges().weight.tolist() == [4, 4]
    assert graph.to(device).weight_dtype == np.int32
    graph.save(tmp_path / "g.npz")
    assert su.Graph.load(tmp_path / "g.npz", device=device).edges().weight.tolist() == [4, 4]
    assert graph.to_pandas_edgelist(weight="cost").columns.tolist() == ["source", "target", "cost", "road"]
    with pytest.raises(ParameterError, match="weight_dtype='float64' and a column of edges called 'weight' of dtype i"):
        su.Graph(3, device=device, weight_dtype="float64", edge_columns={"weight": "int32"})
    for dtype in (str, bool, "float16"):
        with pytest.raises(DTypeError, match=r"called .weight. is the weights: it cannot be (texts|of dtype)"):
            su.Graph(3, device=device, edge_columns={"weight": dtype})
    assert su.Graph(3, device=device, weight_dtype="int32", edge_columns={"weight": "int32"}).weight_dtype == np.int32


def test_what_weights_and_rows_refuse(device):
    graph = su.Graph(3, device=device, weight_dtype="int32", edge_columns={"km": "float32"})
    for weight in (2.5, [np.inf], 2**40, np.nan):
        with pytest.raises(WeightError, match=r"weight(\[0\])? is"):
            graph.insert_edges([0], [1], {"weight": weight})
    with pytest.raises(DTypeError, match="weights are numbers"):
        graph.insert_edges([0], [1], {"weight": "x"})
    floating = su.Graph(3, device=device, edge_columns={"weight": "float32"})
    with pytest.raises(WeightError, match="weight is missing"):
        floating.insert_edges([0], [1])
    graph.insert_edges([0], [1], {"weight": 3, "km": 4})
    assert graph.version == 1
    with pytest.raises(ParameterError, match="'km' is a column of edges, which a function indexes by row"):
        su.neighbor_reduce(graph, None, lambda u, v, w, km: km[w], args=("km",), reduce="sum")
    with pytest.raises(RequirementError, match="the edges have no rows"):
        su.edge_map(graph, su.EdgeList([0], [1]), add, args=(device.xp.zeros(3), "km"))
    delta = graph.insert_edges([1], [2], {"weight": 3})
    with pytest.raises(RequirementError, match="an edge set has no rows"):
        su.edge_map(graph, delta.edge_set("inserted"), add, args=(device.xp.zeros(3), "km"))
    plain = su.Graph(3, device=device, weight_dtype="int32")
    for fn in (lambda u, v, row: row, su.EdgeFunction(cuda="row", numba=lambda u, v, row: row, result="int64")):
        with pytest.raises(EdgeFunctionError, match="row is the row of an edge in the columns of edges"):
            su.neighbor_reduce(plain, None, fn, reduce="sum")
