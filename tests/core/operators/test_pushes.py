"""Pushes against the plain Python model: unions, arcs, directions, second phases, layers, words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from operator_model import KINDS, N, push, small

import suricate as su
from suricate.base.types import ArcList
from suricate.cpu.plain import PLAIN
from suricate.errors import DeviceError, DTypeError, ParameterError, RequirementError, ShapeError, UnknownNameError
from suricate.state.words import make_words

FAR = 10**6
both_kinds = pytest.mark.parametrize("kind", sorted(KINDS))


def value_of(u, v, w, x):
    return 3 * x[u] + w - v


def one(u, v, w, out, level):
    return 1


def hop(u, v, w, level):
    return level[u] + 1


def values(seed=1):
    return np.random.default_rng(seed).integers(0, 50, N)


# -- one step ----------------------------------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("reduce", ["min", "sum"])
def test_directions(backend, device, kind, over, reduce):
    """u is the vertex of the frontier, v the receiver; over both a reciprocal arc offers twice, a self-loop once."""
    case = small(backend, device, kind, "int32")
    x, start = values(), [0, 3, 7, 8, 9, 10, 40]
    expected = values(2).tolist()
    altered = push(reduce, expected, [(v, 3 * x[u] + w - v) for u, v, w in case.offers(start, over)])
    out = case.array(values(2))
    reached = su.advance(case.graph, start, value_of, out=out, args=(case.array(x),), reduce=reduce, over=over)
    assert case.host(out).tolist() == expected
    assert case.members(reached) == sorted(altered)


def starts(case):
    """Yield what a push may start from, its vertices, and arcs beside them."""
    graph = case.graph
    few = graph.frontier([1, 3, 5])
    arcs = [(0, 50), (3, 4), (3, 4), (59, 0)]
    src, dst = (case.array(np.array(part, np.uint32)) for part in zip(*arcs, strict=True))
    weight = case.array(np.array([2, 4, 4, 6], np.int32))
    edges = [(u, v, w) for (u, v), w in zip(arcs, (2, 4, 4, 6), strict=True)]
    yield [3, 3, 7, 3], {3, 7}, []
    yield ([3, 7], few, few), {1, 3, 5, 7}, []
    yield (few, graph.frontier()), set(range(N)), []
    yield (), set(), []
    yield su.EdgeList(src, dst, weight), set(), edges
    yield ([3, 3], su.EdgeList(src, dst, weight), few), {1, 3, 5}, edges
    status = case.array(np.array([1, 0, 1, 1], np.uint8))
    some = su.EdgeList(src[:1], dst[:1], weight[:1]), ArcList(src, dst, weight, status, 1, 4)
    yield some, set(), [edges[0], edges[0], edges[2], edges[3]]
    yield case.array(np.array([9, 2, 9], np.int64)), {2, 9}, []


@pytest.mark.parametrize("number", range(8))
def test_unions(backend, device, number):
    case = small(backend, device, weight_dtype="int32")
    given, inside, arcs = list(starts(case))[number]
    x, expected = values(), values(2).tolist()
    offers = [*case.offers(inside, "out"), *arcs]
    altered = push("sum", expected, [(v, 3 * x[u] + w - v) for u, v, w in offers])
    out = case.array(values(2))
    reached = su.advance(case.graph, given, value_of, out=out, args=(case.array(x),), reduce="sum")
    assert case.host(out).tolist() == expected
    assert case.members(reached) == sorted(altered)


def test_edge_sets_as_frontiers(backend, device):
    for kind in KINDS:
        case = small(backend, device, kind)
        edges = case.graph.edge_set([1, 2, 5], [2, 9, 5])
        both = [(1, 2), (2, 9), (5, 5)] + ([(2, 1), (9, 2)] if kind == "undirected" else [])
        out = case.array(np.zeros(N, np.int64))
        su.advance(case.graph, edges, lambda u, v, w: 1, out=out, args=(), reduce="sum")
        assert case.host(out).tolist() == np.bincount([v for _, v in both], minlength=N).tolist()


def test_the_second_phase(backend, device):
    """It runs once for each vertex that was altered, and for no other, and says who joins."""
    case = small(backend, device)
    out, calls = case.array(np.full(N, 5, np.int64)), case.array(np.zeros(N, np.int64))

    def then(v, step, out, calls):
        calls[v] += 1
        out[v] = out[v] + 100 * step
        return v % 2 == 0

    start = [0, 3, 7, 8, 9, 10]
    expected = [5] * N
    altered = push("sum", expected, [(v, 1) for _, v, _ in case.offers(start, "out")])
    reached = su.advance(case.graph, start, one, out=out, args=(out, calls), reduce="sum", then=then)
    assert case.host(out).tolist() == [value + 100 * (v in altered) for v, value in enumerate(expected)]
    assert case.host(calls).tolist() == [int(v in altered) for v in range(N)]
    assert case.members(reached) == [v for v in sorted(altered) if v % 2 == 0]


# -- many steps --------------------------------------------------------------------------------------------------------


def joined_in_steps(case, start, over):
    """Return the vertices that a breadth-first search meets, step by step."""
    level = dict.fromkeys(start, 0)
    layers = [sorted(level)]
    while layers[-1]:
        met = {v for _, v, _ in case.offers(layers[-1], over)} - level.keys()
        level.update(dict.fromkeys(met, len(layers)))
        layers.append(sorted(met))
    return layers


def mark(v, step, seen, level):
    if level[v] < FAR:
        return False
    level[v] = step
    return True


@both_kinds
@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("once", [False, True, "equal"])
def test_levels_by_steps(backend, device, kind, over, once):
    case = small(backend, device, kind)
    for start in ([0], [3, 17, 3]):
        level, seen = np.full(N, FAR, np.int64), case.array(np.zeros(N, np.int32))
        level[start] = 0
        level = case.array(level)
        done = su.propagate(
            case.graph,
            start,
            one,
            out=seen,
            args=(seen, level),
            reduce="max",
            over=over,
            then=mark,
            layers=True,
            once=once,
        )
        layers = joined_in_steps(case, start, over)
        expected = np.full(N, FAR)
        for step, vertices in enumerate(layers):
            expected[vertices] = step
        assert case.host(level).tolist() == expected.tolist()
        assert (done.steps, done.touched, done.converged) == (len(layers) - 1, sum(map(len, layers)), True)
        assert [sorted(case.host(done.layers[i]).tolist()) for i in range(len(done.layers))] == layers[:-1]
        turned = done.layers.reversed
        assert case.host(turned[0]).tolist() == case.host(done.layers[-1]).tolist()
        assert len(turned) == len(layers) - 1
        with pytest.raises(IndexError):
            turned[len(layers)]


@both_kinds
@pytest.mark.parametrize("once", [False, True, "equal"])
def test_levels_without_a_second_phase(backend, device, kind, once):
    """On a graph of which most vertices are met in two steps, so that a device may pull."""
    n = 400
    graph = su.Graph(n, backend=backend, device=device, **KINDS[kind])
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, n - 3, (2, 6000))
    graph.insert_edges(src, dst)
    level = device.xp.full(n, FAR, np.int32)
    level[5] = 0
    done = su.propagate(graph, [5], hop, out=level, args=(level,), reduce="min", once=once)
    expected, wave = np.full(n, FAR), [5]
    expected[5] = 0
    if kind == "undirected":
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
    for step in range(1, 20):
        met = np.unique(dst[np.isin(src, wave)])
        wave = met[expected[met] == FAR]
        expected[wave] = step
    assert device.to_numpy(level).tolist() == expected.tolist()
    assert done.converged
    assert done.touched == (expected < FAR).sum()


def offer_paths(u, v, w, paths, level):
    return paths[u] if level[v] == FAR else 0


def reach_some(v, step, paths, level):
    level[v] = step
    return v % 7 != 3


def reach(v, step, paths, level):
    level[v] = step
    return True


def hop_from(u, v, w, words):
    return words.level[u] + 1, u


@both_kinds
@pytest.mark.parametrize("over", ["out", "in"])
def test_promises_change_no_result(backend, device, kind, over):
    """Frontiers large enough that steps pull; some vertices are altered but do not join."""
    n = 300 if PLAIN else 3000
    graph = su.Graph(n, backend=backend, device=device, **KINDS[kind])
    src, dst = np.random.default_rng(4).integers(0, n - 20, (2, 25 * n // 3))
    hub = np.arange(5 * n // 6)
    graph.insert_edges(np.append(src, np.full(len(hub), 9)), np.append(dst, hub))
    found = []
    for once in (False, True):
        paths, level = device.xp.zeros(n, np.int64), device.xp.full(n, FAR, np.int32)
        paths[7], level[7] = 1, 0
        args = paths, level
        done = su.propagate(
            graph, [7], offer_paths, out=paths, args=args, reduce="sum", over=over, then=reach_some, once=once
        )
        words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        words.fill(level=FAR, parent=FAR)
        words.set([7], level=0, parent=7)
        alike = su.propagate(graph, [7], hop_from, out=words, args=(words,), reduce="argmin", over=over, once=once)
        arrays = paths, level, words.level, words.parent
        found.append(([device.to_numpy(one).tolist() for one in arrays], *counts(done), *counts(alike)))
    assert found[0] == found[1]
    assert (level != FAR).sum() > 2 * n // 3
    assert done.steps < 12


def counts(done):
    return done.steps, done.touched, done.converged


@both_kinds
def test_equal_offers_are_all_added(backend, device, kind):
    """The number of shortest paths through complete layers: all offers of a step are equal, and each of them counts."""
    sizes = (1, 3, 20, 30, 4) if PLAIN else (1, 3, 200, 300, 40)
    ends = np.cumsum(sizes)
    layers = [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    pairs = [np.meshgrid(a, b) for a, b in pairwise(layers)]
    src, dst = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in range(2))
    graph = su.Graph(int(ends[-1]), backend=backend, device=device, **KINDS[kind])
    graph.insert_edges(src, dst)
    paths, level = device.xp.zeros(ends[-1], np.int64), device.xp.full(int(ends[-1]), FAR, np.int32)
    paths[0], level[0] = 1, 0
    su.propagate(graph, [0], offer_paths, out=paths, args=(paths, level), reduce="sum", then=reach, once="equal")
    expected = np.repeat(np.cumprod((1, 1, *sizes[1:-1])), sizes)
    assert device.to_numpy(paths).tolist() == expected.tolist()


def test_sums_over_paths(backend, device):
    """The number of shortest paths: a vertex offers once per step, all offers of a step before the next."""
    case = small(backend, device)

    def paths(u, v, w, sigma, level):
        return sigma[u] if level[v] == FAR else 0

    def reach(v, step, sigma, level):
        level[v] = step
        return True

    level, sigma = np.full(N, FAR, np.int64), np.zeros(N)
    level[0], sigma[0] = 0, 1
    given = case.array(level), case.array(sigma)
    done = su.propagate(
        case.graph, [0], paths, out=given[1], args=(given[1], given[0]), reduce="sum", then=reach, layers=True
    )
    for vertices in joined_in_steps(case, [0], "out")[:-1]:
        offers = [(v, sigma[u]) for u, v, _ in case.offers(vertices, "out") if level[v] == FAR]
        for v, paths_to_u in offers:
            sigma[v] += paths_to_u
        level[[v for v, _ in offers]] = 0
    assert case.host(given[1]).tolist() == sigma.tolist()
    assert sum(len(done.layers[i]) for i in range(len(done.layers))) == (sigma > 0).sum()


def test_layers_hold_a_vertex_once(device):
    graph = su.Graph(2, backend="csr_baseline", device=device)
    graph.insert_edges([0, 1], [1, 0])
    out = device.xp.zeros(2, np.int64)

    def repeat():
        done = su.propagate(graph, [0], lambda u, v, w: 1, out=out, args=(), reduce="sum", layers=True, max_steps=9)
        assert done.steps  # on CUDA it is raised when a number is read

    with pytest.raises(su.errors.CapacityError, match="several times"):
        repeat()


def test_from_arcs_on(backend, device):
    """The first step is the given arcs; then it goes on along the edges of the graph."""
    case = small(backend, device)
    level = np.full(N, FAR, np.int64)
    level[0] = 0
    out = case.array(level)
    arcs = su.EdgeList(case.array(np.array([0, 0], np.uint32)), case.array(np.array([30, 3], np.uint32)))
    done = su.propagate(case.graph, (arcs, [0]), hop, out=out, args=(out,), reduce="min")
    wave = {30, 3} | {v for u, v, _ in case.arcs if u == 0}
    step = 1
    while wave:
        level[list(wave)] = np.minimum(level[list(wave)], step)
        step += 1
        wave = {v for u, v, _ in case.arcs if u in wave and level[v] > step}
    assert case.host(out).tolist() == level.tolist()
    assert done.converged


def test_the_last_step_allowed(backend, device):
    case = small(backend, device)
    level = np.full(N, FAR, np.int64)
    level[0] = 0
    layers = joined_in_steps(case, [0], "out")
    for limit in (0, 1, 2, len(layers)):
        out, seen = case.array(level), case.array(np.zeros(N, np.int32))
        done = su.propagate(
            case.graph, [0], one, out=seen, args=(seen, out), reduce="max", then=mark, max_steps=limit, layers=True
        )
        assert (done.steps, done.converged) == (min(limit, len(layers) - 1), limit >= len(layers) - 1)
        found = case.host(out)
        assert (found < FAR).sum() == sum(map(len, layers[: limit + 1]))


# -- words -------------------------------------------------------------------------------------------------------------


def relax(u, v, w, s):
    return s.distance[u] + w, s.hops[u] + 1, u


def shortest(case, source):
    """Return (distance, hops, parent) of every vertex, by relaxing until nothing changes."""
    best = {source: (0.0, 0, source)}
    changed = True
    while changed:
        changed = False
        for u, v, w in case.arcs:
            if u in best:
                offer = (best[u][0] + w, best[u][1] + 1, u)
                if v not in best or offer < best[v]:
                    best[v], changed = offer, True
    return best


@both_kinds
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_smallest_word_wins(backend, device, kind, dtype):
    """Distances, hops and parents where weights may be zero; 96 or 128 bits."""
    case = small(backend, device, kind, "float32")
    words = case.graph.words(keys={"distance": dtype, "hops": "uint32"}, payload={"parent": "uint32"})
    words.set([2], distance=0, hops=0, parent=2)
    su.propagate(case.graph, [2], relax, out=words, args=(words,), reduce="argmin")
    expected = shortest(case, 2)
    found = zip(*(case.host(part).tolist() for part in (words.distance, words.hops, words.parent)), strict=True)
    far = (np.inf, 2**32 - 1, 2**32 - 1)
    assert list(found) == [expected.get(v, far) for v in range(N)]


def test_a_change_of_the_payload_alone_moves_nothing(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    graph.insert_edges([0, 1, 2], [2, 2, 3])
    words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
    words.set([0, 1], level=0, parent=[0, 1])

    def below(u, v, w, s):
        return s.level[u] + 1, u

    first = su.advance(graph, [1], below, out=words, args=(words,), reduce="argmin")
    again = su.advance(graph, [0], below, out=words, args=(words,), reduce="argmin")
    assert device.to_numpy(first.vertices).tolist() == [2]
    assert len(again) == 0
    assert device.to_numpy(words.parent).tolist() == [0, 1, 0, 2**32 - 1]


# -- wrong calls -------------------------------------------------------------------------------------------------------


def test_wrong_calls(device):
    graph = su.Graph(N, backend="csr_baseline", device=device)
    graph.insert_edges([0, 1], [1, 2])
    out = device.xp.zeros(N, np.int32)
    words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
    few = make_words(3, keys={"level": "uint32"}, device=device)
    for options, error, says in (
        ({"over": "across"}, UnknownNameError, "over='across'"),
        ({"over": "in"}, RequirementError, "in-edges"),
        ({"over": "both"}, RequirementError, "in-edges"),
        ({"reduce": "mode"}, UnknownNameError, "reduce='mode'"),
        ({"reduce": "argmin"}, DTypeError, "Words"),
        ({"then": lambda v, step, level: 0.5}, su.errors.EdgeFunctionError, "float"),
    ):
        for call in (su.advance, su.propagate):
            with pytest.raises(error, match=says):
                call(graph, [0], hop, **{"out": out, "args": (out,), "reduce": "min"} | options)
    for wrong, error, says in ((few, ShapeError, "3 entries"), (out, DTypeError, "Words")):
        with pytest.raises(error, match=says):
            su.advance(graph, [0], lambda u, v, w: (1, 2), out=wrong, args=(), reduce="argmin")
    with pytest.raises(DTypeError, match="only reduce='argmin'"):
        su.advance(graph, [0], hop, out=words, reduce="min", args=(out,))
    for options, says in (
        ({"once": "maybe"}, "once"),
        ({"layers": 1}, "layers"),
    ):
        with pytest.raises(ParameterError, match=says):
            su.propagate(graph, [0], hop, out=out, args=(out,), reduce="min", **options)
    other = su.Graph(N, backend="csr_baseline", device=device, weight_dtype="float32")
    with pytest.raises(su.errors.WeightError, match="weights"):
        su.advance(other, graph.edge_set([0], [1]), hop, out=out, args=(out,), reduce="min")
    large = su.Graph(N + 1, backend="csr_baseline", device=device)
    with pytest.raises(su.errors.VertexRangeError, match="61 vertices"):
        su.advance(graph, ([0], large.edge_set([0], [60])), hop, out=out, args=(out,), reduce="min")
    assert device.to_numpy(out).tolist() == [0] * N
    if device.is_cuda:
        with pytest.raises(DeviceError):
            su.advance(
                graph, [0], hop, out=out, reduce="min", args=(make_words(N, keys={"level": "uint32"}, device="cpu"),)
            )
