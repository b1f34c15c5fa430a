"""Functions per vertex, and iterated operators, against the plain Python model."""

from __future__ import annotations

import numpy as np
import pytest
from operator_cases import DEGREES, make_case
from operator_model import KINDS, small
from operator_model import N as SMALL

import suricate as su
from suricate.base.types import ArcList
from suricate.errors import ParameterError, RequirementError, ShapeError, WeightError

N = 300


@pytest.fixture
def graph(device):
    return su.Graph(N, backend="csr_baseline", device=device)


def host(graph, frontier):
    return sorted(graph.device.to_numpy(frontier.vertices).tolist())


def test_functions_write_at_their_vertex(graph):
    x, y = graph.device.xp.arange(N), graph.device.xp.zeros(N)

    def double(v, x, y, scale):
        y[v] = x[v] * scale
        return x[v] >= 297

    found = su.vertex_map(graph, None, double, args=(x, y, 2))
    assert graph.device.to_numpy(y).tolist() == [2 * v for v in range(N)]
    assert host(graph, found) == [297, 298, 299]
    nothing = su.vertex_map(graph, ([1, 1], [2], graph.frontier([2, 3])), add_one, args=(y,))
    assert graph.device.to_numpy(y)[:6].tolist() == [0, 3, 5, 7, 8, 10]
    assert len(nothing) == 0


def add_one(v, y):
    y[v] += 1


def adds_in_branches(v, x, total, most, seen, least, out):
    out[v] = total.value  # that of the operator before, also after something was added
    if x[v] < 0:
        total.add(-x[v])
        least.add(v)
        return
    total.add(x[v])
    most.add(x[v])
    if v % 2:
        seen.add(1 << v % 20)
        return x[v] > 90


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_totals_of_scalars_in_branches(device, dtype, threads):
    """On the CPU a loop carries them along in registers, and writes them at its end."""
    n = 1 << 17
    graph = su.Graph(n, device=device, threads=threads)
    xp, x = graph.device.xp, np.random.default_rng(4).integers(-99, 100, n).astype(np.int32)
    bits = dtype if "int" in dtype else "int64"
    total, most, least = (graph.scalar(op, dtype) for op in ("sum", "max", "min"))
    seen, out = graph.scalar("or", bits), xp.zeros(n)
    total.set(7)
    found = su.vertex_map(graph, None, adds_in_branches, args=(xp.asarray(x), total, most, seen, least, out))
    ids = np.arange(n)
    assert (graph.device.to_numpy(out) == 7).all()
    assert float(total) == np.abs(x).sum()
    assert (float(most), float(least)) == (x.max(), np.flatnonzero(x < 0)[0])
    assert int(seen) == np.bitwise_or.reduce(1 << ids[(x >= 0) & (ids % 2 == 1)] % 20)
    assert host(graph, found) == np.flatnonzero((x > 90) & (ids % 2 == 1)).tolist()


def test_positions(graph):
    """With a parameter i a function is called for every position, repeated ids too, and writes there."""
    xp = graph.device.xp
    walkers, out = np.array([5, 9, 5, 5, 0]), xp.zeros(5, np.int64)

    def step(i, v, out):
        out[i] = 10 * v + i
        return v == 5

    found = su.vertex_map(graph, walkers, step, args=(out,))
    assert graph.device.to_numpy(out).tolist() == [50, 91, 52, 53, 4]
    assert host(graph, found) == [5, 5, 5]
    assert not found.distinct
    once = su.vertex_map(graph, found, lambda v: True)
    assert host(graph, once) == [5]
    squares = xp.zeros(N, np.int64)

    def square(i, v, squares):
        squares[i] = i * v
        return False

    su.vertex_map(graph, None, square, args=(squares,))
    assert graph.device.to_numpy(squares).tolist() == [v * v for v in range(N)]
    with pytest.raises(RequirementError, match="i is a position"):
        su.vertex_map(graph, ([1], [2]), square, args=(squares,))


def test_edges_stand_for_their_ends(graph):
    y = graph.device.xp.zeros(N)
    ends = su.vertex_map(graph, (su.EdgeList([3, 0, 3], [1, 1, 3]), [1, 4]), add_one_and_stay, args=(y,))
    assert host(graph, ends) == [0, 1, 3, 4]
    assert ends.distinct
    assert graph.device.to_numpy(y)[:6].tolist() == [1, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("columns", [None, {"kind": "int32"}])
def test_ends_need_no_weights(device, columns):
    """Edges without weights, and those of a set without values, start maps and loops of graphs with weights or rows."""
    graph = su.Graph(6, device=device, weight_dtype="float32", edge_columns=columns, directed=False)
    graph.insert_edges([0, 1, 4], [1, 2, 5], 1.0)
    xp = device.xp
    src, dst = xp.asarray([1, 4], np.uint32), xp.asarray([2, 4], np.uint32)
    for some in (su.EdgeList(src, dst), ArcList.of(su.EdgeList(src, dst)), graph.edge_set(src, dst)):
        y = xp.zeros(6)
        assert host(graph, su.vertex_map(graph, some, add_one_and_stay, args=(y,))) == [1, 2, 4]
        label, seen = xp.arange(6), xp.zeros(6, np.int64)
        su.converge(
            graph, (some, [0]), label_of if columns is None else label_of_row, args=(label, seen), reduce="max",
            then=keep_value, wake=None, max_steps=1,
        )  # fmt: skip
        assert graph.device.to_numpy(seen).tolist() == [1, 2, 1, 0, 5, 0], columns
    with pytest.raises(WeightError):
        su.edge_map(graph, su.EdgeList(src, dst), count_ends, args=(y, graph.scalar("sum", "int64")))


def label_of(u, v, w, label, seen):
    return label[u]


def label_of_row(u, v, w, row, label, seen):
    return label[u]


def keep_value(v, value, label, seen):
    seen[v] = value


def add_one_and_stay(v, y):
    y[v] += 1
    return True


def test_edges_have_no_positions_of_vertices(graph):
    with pytest.raises(RequirementError, match="vertices, not edges"):
        su.vertex_map(graph, su.EdgeList([0], [1]), lambda i, v: True)


# -- effects -----------------------------------------------------------------------------------------------------------


def count_ends(u, v, w, out, total):
    su.atomic.add(out, v, u + 2 * w)
    total.add(1)


def expected_ends(arcs):
    found = np.zeros(SMALL, np.int64)
    for u, v, w in arcs:
        found[v] += u + 2 * w
    return found.tolist()


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("over", ["out", "in", "both"])
def test_effects_of_edges(backend, device, kind, over):
    case = small(backend, device, kind, "int32")
    total = case.graph.scalar("sum", "int64")
    few = [3, 5, 5, 7]
    for given, arcs in (
        (None, case.seen(over)),
        (few, list(case.offers(few, over))),
        (case.graph.edge_set([0], [1], np.array([4], np.int32)), [(0, 1, 4), (1, 0, 4)][: 1 + (kind != "directed")]),
    ):
        out = case.array(np.zeros(SMALL, np.int64))
        assert su.edge_map(case.graph, given, count_ends, args=(out, total), over=over) is None
        assert case.host(out).tolist() == expected_ends(arcs)
        assert total.read() == len(arcs)


def sum_ends(i, u, v, w, ends, number):
    su.atomic.add(ends, i, 3 * u + v + w)
    su.atomic.add(number, i, 1)


@pytest.fixture
def hubs(backend, device):
    return make_case(backend, device, "int32", in_edges=True)


@pytest.mark.compiled
@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("repeated", [False, True])
def test_hubs_are_served_like_others(hubs, over, repeated):
    """Vertices of every degree class, some with more neighbours than a block serves, and repeated in a list."""
    walkers = np.arange(hubs.n) if not repeated else np.array([*DEGREES, 0, 0, 1, hubs.n - 1, 5])
    ends, number = (hubs.array(np.zeros(len(walkers), np.int64)) for _ in range(2))
    su.edge_map(hubs.graph, walkers if repeated else None, sum_ends, args=(ends, number), over=over)
    wanted, count = np.zeros(hubs.n, np.int64), np.zeros(hubs.n, np.int64)
    for u, v in ((hubs.src, hubs.dst),) * (over != "in") + ((hubs.dst, hubs.src),) * (over != "out"):
        once = (u != v) | (u is hubs.src) | (over == "in")  # a self-loop counts once
        np.add.at(wanted, u[once], (3 * u + v + hubs.weight)[once])
        np.add.at(count, u[once], 1)
    assert over == "in" or count.max() > 4096
    assert hubs.host(ends).tolist() == wanted[walkers].tolist()
    assert hubs.host(number).tolist() == count[walkers].tolist()


def test_positions_of_edges(backend, device):
    case = small(backend, device)

    def place(i, u, v, w, out):
        su.atomic.add(out, i, 1000 * u + v)

    edges = su.EdgeList(case.array(np.array([4, 5, 4], np.uint32)), case.array(np.array([7, 8, 7], np.uint32)))
    out = case.array(np.zeros(3, np.int64))
    su.edge_map(case.graph, edges, place, args=(out,))
    assert case.host(out).tolist() == [4007, 5008, 4007]
    out, walkers = case.array(np.zeros(3, np.int64)), [3, 9, 3]
    su.edge_map(case.graph, walkers, place, args=(out,))
    assert case.host(out).tolist() == [sum(1000 * u + v for u, v, _ in case.offers([a], "out")) for a in walkers]


def test_functions_ask_the_graph(backend, device):
    """Whether the reverse arc is there, and degrees."""
    case = small(backend, device)

    def reciprocal(u, v, w, graph):
        return graph.degree(v) if (v, u) in graph else 0

    arcs = {(u, v) for u, v, _ in case.arcs}
    degree = np.bincount([u for u, _ in arcs], minlength=SMALL)
    found = su.neighbor_reduce(case.graph, None, reciprocal, args=(case.graph,), reduce="sum")
    expected = np.zeros(SMALL, np.int64)
    for u, v in arcs:
        expected[u] += degree[v] if (v, u) in arcs else 0
    assert case.host(found).tolist() == expected.tolist()
    other = su.Graph(SMALL, backend=backend, device=device)
    with pytest.raises(ParameterError, match="another graph"):
        su.neighbor_reduce(case.graph, None, reciprocal, args=(other,), reduce="sum")


# -- repetition --------------------------------------------------------------------------------------------------------


def test_a_loop_of_operators(backend, device):
    """Power iteration: ranks change places after each round, until a norm is small enough."""
    case = small(backend, device)
    xp, n = device.xp, SMALL
    norm = case.graph.scalar("sum", "float64")
    degree = np.bincount([u for u, _, _ in case.arcs], minlength=n)
    matrix = np.zeros((n, n))
    for u, v, _ in case.arcs:
        matrix[v, u] = 1 / degree[u]

    def share(u, v, w, old, new, degree, norm):
        return old[u] / degree[u]

    def rank(v, value, old, new, degree, norm):
        new[v] = 0.15 / 60 + 0.85 * value
        norm.add(abs(new[v] - old[v]))
        return False

    old, new = xp.full(n, 1 / n), xp.zeros(n)
    args = (old, new, case.array(np.maximum(degree, 1)), norm)

    def body():
        su.neighbor_reduce(case.graph, None, share, args=args, reduce="sum", over="in", then=rank)

    steps = su.iterate(body, until=(norm, 1e-6), max_steps=100, swap=[(old, new)])
    expected, rounds, change = np.full(n, 1 / n), 0, 1.0
    while change > 1e-6:
        following = 0.15 / 60 + 0.85 * matrix @ expected
        expected, change, rounds = following, abs(following - expected).sum(), rounds + 1
    assert steps == rounds
    np.testing.assert_allclose(case.host(old), expected, rtol=1e-10)
    assert su.iterate(body, until=norm, max_steps=2, swap=[(old, new)]) == 2


def test_wrong_repetitions(graph):
    xp = graph.device.xp
    x, y, scalar = xp.zeros(3), xp.zeros(3), graph.scalar("sum", "int64")
    for options, error, says in (
        ({"until": 0}, ParameterError, "Scalar"),
        ({"until": (scalar, "x")}, ParameterError, "bound"),
        ({"max_steps": -1}, ParameterError, "max_steps"),
        ({"swap": [(xp.zeros(3), xp.zeros(4))]}, ShapeError, "one dtype and shape"),
        ({"swap": [xp.zeros(3)]}, ParameterError, "pairs"),
        ({"swap": 5}, ParameterError, "pairs"),
        ({"swap": [(x, y), (x, y)]}, ParameterError, "twice"),
        ({"swap": [(x, y), (y, xp.zeros(3))]}, ParameterError, "twice"),
        ({"swap": [(x, x)]}, ParameterError, "twice"),
        ({"swap": [(x[:2], x[1:])]}, ParameterError, "share memory"),
    ):
        with pytest.raises(error, match=says):
            su.iterate(lambda: None, **{"until": scalar, "max_steps": 3, **options})


def looks_only(u, v, w, seen):
    return seen[u] + w


def test_an_edge_map_without_effect_is_an_error():
    graph = su.Graph(3, device="cpu")
    with pytest.raises(ParameterError, match="looks_only has no effect, so edge_map would do nothing"):
        su.edge_map(graph, None, looks_only, args=(np.zeros(3),))
    with pytest.raises(ParameterError, match="no effect"):
        su.edge_map(graph, None, lambda u, v, w: w)
