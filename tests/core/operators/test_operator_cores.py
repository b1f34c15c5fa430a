"""Operators on one thread and on several give the same answers, whatever the backend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from operator_cases import make_case
from turns import few

import suricate as su
from suricate.algorithms.sssp import SSSP
from suricate.base.devices import CPU
from suricate.cpu import threads
from suricate.plugins import backends
from suricate.repair.cpu import search as forest_near

pytestmark = pytest.mark.compiled
COUNTS = (1, 2, 3)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "GRAIN", 64)


@pytest.fixture(params=few(["slabhash", "csr_baseline"]))
def name(request) -> str:
    assert "cpu" in backends()[request.param].devices
    return request.param


def counted(make) -> Iterator:
    """Yield ``make()`` with each number of threads; with several, they must have been used."""
    for count in COUNTS:
        before = threads.shared
        with threads.Limited(count):
            yield make()
        assert (threads.shared > before) == (count > 1)


def same(make) -> None:
    """Check that ``make()``, which returns a list of arrays, gives the same bits with each number of threads."""
    first, *others = counted(make)
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)


def product(u, v, w, x):
    return x[v] * w


def distance(u, v, w, x):
    return x[u] + 1


@pytest.mark.parametrize("over", ["out", "both"])
@pytest.mark.parametrize("reduce", few(["sum", "min"]))
def test_neighbor_reduce(name, over, reduce):
    graph = make_case(name, CPU, "float32", in_edges=True).graph
    x = np.random.default_rng(0).random(graph.num_vertices)
    ids = np.random.default_rng(1).integers(0, graph.num_vertices, 900)
    same(lambda: [su.neighbor_reduce(graph, chosen, product, args=(x,), reduce=reduce, over=over)
                  for chosen in (None, ids)])  # fmt: skip


def test_second_phase_of_a_pull(name):
    graph = make_case(name, CPU, "int32").graph
    n = graph.num_vertices

    def run():
        total, y = su.Scalar._of("sum", "int64"), np.zeros(n, np.int64)

        def then(v, value, x, y, total):
            y[v] = 2 * value
            total.add(value)
            return value % 3 == 0

        def of(u, v, w, x, y, total):
            return x[v] * w

        x = np.arange(n)
        joined = su.neighbor_reduce(graph, None, of, args=(x, y, total), reduce="sum", then=then)
        return [joined.vertices, y, total.read()]

    same(run)


def test_few_vertices_stay_on_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "GRAIN", 1 << 15)
    graph = make_case("csr_baseline", CPU).graph
    before = threads.shared
    with threads.Limited(3):
        su.neighbor_reduce(graph, None, product, args=(np.ones(graph.num_vertices),), reduce="sum")
    assert threads.shared == before


def arrays(case_graph, start):
    """Return the distances of a search from ``start``, unreached vertices far away."""
    far = np.full(case_graph.num_vertices, 10**9, np.int64)
    far[start] = 0
    return far


def hops(u, v, w, x):
    return x[u] + 1


def reached(v, step, x):
    return v % 7 != 3


@pytest.mark.slow
@pytest.mark.parametrize("over", ["out", "both"])
def test_advance(name, over):
    graph = make_case(name, CPU, in_edges=True).graph
    n = graph.num_vertices
    starts = [graph.frontier(), np.arange(0, n, 2, dtype=np.uint32)]

    def run():
        found = []
        for start in starts:
            for reduce, then in (("min", None), ("sum", None), ("max", reached), ("or", None)):
                x = np.arange(n) % 50
                out = x.copy()
                joined = su.advance(graph, start, product_of, out=out, args=(x,), reduce=reduce, over=over, then=then)
                found += [out, np.sort(joined.vertices)]
        return found

    same(run)


def product_of(u, v, w, x):
    return (x[u] * 31 + v) % 1000 - 200


@pytest.mark.parametrize("options", few([{}, {"layers": True}, {"then": reached}, {"once": True}, {"once": "equal"}]))
@pytest.mark.parametrize("over", ["out", "both"])
def test_propagate(name, over, options):
    graph = make_case(name, CPU, in_edges=True).graph

    def run():
        x = arrays(graph, [0, 1])
        done = su.propagate(graph, [0, 1], hops, out=x, reduce="min", args=(x,), over=over, **options)
        layers = [] if done.layers is None else [done.layers.offsets[: done.steps + 1]]
        return [x, np.array([done.steps, done.touched, done.converged]), *layers]

    # without phases, vertices may see values of the same step, so that the number of steps differs
    same(run if options else lambda: run()[:1])


def step(u, v, w, s):
    return (s.hops[u] + 1,)


def step_from(u, v, w, s):
    return (s.hops[u] + 1, u)


def path_from(u, v, w, s):
    return (s.distance[u] + w, s.hops[u] + 1, u)


@pytest.mark.parametrize("function", [step, step_from, path_from])
def test_parents(name, function):
    """Words of 64 and of 128 bits: the parent of each vertex is the same, whoever offered first."""
    graph = make_case(name, CPU, "float32", in_edges=True).graph
    keys = {"distance": "float32", "hops": "uint32"} if function is path_from else {"hops": "uint32"}
    payload = {} if function is step else {"parent": "uint32"}

    def run():
        s = graph.words(keys=keys, payload=payload)
        s.set([0, 1], **{field: [0, 0] for field in (*keys, *payload)})
        su.propagate(graph, [0, 1], function, out=s, args=(s,), reduce="argmin")
        return [s.data]

    same(run)


def test_totals_in_pushes(name):
    graph = make_case(name, CPU, in_edges=True).graph

    def run():
        total, most = su.Scalar._of("sum", "int64"), su.Scalar._of("max", "float64")

        def offer(u, v, w, x, total, most):
            total.add(u)
            return x[u] + 1

        def then(v, step, x, total, most):
            most.add(v / 2)
            return True

        x = arrays(graph, [0])
        su.propagate(graph, [0], offer, out=x, reduce="min", args=(x, total, most), then=then)
        return [x, total.read(), most.read()]

    same(run)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.parametrize("directed", few([True, False]))
def test_forests(name, algorithm, directed):
    """Searches with parents, from scratch and repaired."""
    rng = np.random.default_rng(0)
    weight = "float32" if algorithm == "sssp" else None
    case = make_case(name, CPU, weight, directed=directed)
    gone = rng.permutation(len(case.src))[:3000]

    def run():
        graph = case.graph.to("cpu")
        tracker = graph.track(algorithm, source=0)
        found = [*tracker.result]
        graph.delete_edges(case.src[gone], case.dst[gone])
        found += [*tracker.result]
        graph.insert_edges(case.src[gone], case.dst[gone], None if weight is None else case.weight[gone])
        return [*found, *tracker.result]

    same(run)


@pytest.mark.parametrize("kept", [8, 1 << 16])
def test_shortest_paths_on_a_grid(monkeypatch, kept):
    """Words of 128 bits, thin frontiers: rounds that reach far, in pools that are large enough or not."""
    monkeypatch.setattr(forest_near, "KEPT", kept)
    rounds, run_one = [], forest_near.Near._push
    monkeypatch.setattr(forest_near.Near, "_push", lambda *given: rounds.append(given) or run_one(*given))
    ids = np.arange(3600).reshape(60, 60)
    src, dst = (np.concatenate([ids[:, part].ravel(), ids[part].ravel()]) for part in (slice(-1), slice(1, None)))
    weight = np.random.default_rng(0).integers(0, 9, len(src)) / 4
    graph = su.Graph(ids.size, backend="csr_baseline", device="cpu", weight_dtype="float64", directed=False)
    graph.insert_edges(src, dst, weight)
    same(lambda: graph.compute("sssp", source=0))
    assert len(rounds) > 4
    arcs = np.concatenate((src, dst)), np.concatenate((dst, src)), np.tile(weight, 2)
    best = SSSP.reference(*arcs, ids.size, True, source=0)
    assert SSSP.mismatch(graph.compute("sssp", source=0), best) is None


def is_odd(v, x):
    x[v] = 3 * v
    return v % 2 == 1


def count_and_join(u, v, w, count, most, some, total, sets, seen):
    su.atomic.add(count, v % 10, w)
    su.atomic.max(most, v, u)
    su.atomic.min(some, u, v / 2)
    su.atomic.add(total, v, 0.5)
    su.unite(sets, u, v)
    seen.add(1)


def test_maps(name):
    graph = make_case(name, CPU, "int32", in_edges=True).graph
    n = graph.num_vertices

    def run():
        x, seen = np.zeros(n, np.int64), su.Scalar._of("sum", "int64")
        odd = su.vertex_map(graph, None, is_odd, args=(x,))
        arrays = [np.zeros(10, np.int64), np.zeros(n, np.uint32), np.full(n, 1e9, np.float32), np.zeros(n)]
        sets = su.UnionFind._of(n)
        su.edge_map(graph, odd, count_and_join, args=(*arrays, sets, seen), over="both")
        su.edge_map(graph, su.arcs(graph), count_and_join, args=(*arrays, sets, seen))
        return [odd.vertices, x, *arrays, sets.labels(), seen.read()]

    same(run)


@pytest.mark.parametrize("directed", [True, False])
def test_components(name, directed):
    case = make_case(name, CPU, directed=directed)
    gone = np.random.default_rng(0).permutation(len(case.src))[:4000]

    def run():
        graph = case.graph.to("cpu")
        tracker = graph.track("wcc")
        found = [*tracker.result]
        graph.delete_edges(case.src[gone], case.dst[gone])
        return [*found, *tracker.result]

    same(run)


def test_union_find():
    src, dst = np.random.default_rng(0).integers(0, 9000, (2, 6000))

    def run():
        sets = su.UnionFind._of(9000)
        sets.union(src, dst)
        return [sets.connected(src, dst[::-1]), sets.labels(), sets.num_components]

    same(run)


def one_each(u, v, x, seen):
    seen.add(1)
    return u + v + x


@pytest.mark.parametrize("oriented", ["degree", "id"])
def test_triangles(name, oriented):
    graph = make_case(name, CPU, directed=False).graph

    def run():
        seen, corners = su.Scalar._of("sum", "int64"), np.zeros(graph.num_vertices, np.int64)
        total = su.intersect(graph, fn=one_each, args=(seen,), oriented=oriented)
        return [total, seen.read(), su.intersect(graph, oriented=oriented, out=corners)]

    same(run)


def neighbours_share(u, v, w, x, y, changes):
    return x[u] * w


def take_share(v, value, x, y, changes):
    y[v] = (x[v] + value) % 97
    changes.add(1)
    return (1 if v % 3 == 0 else 0) + (2 if y[v] % 5 == 0 else 0)


def show_share(v, x, y, changes):
    x[v] = y[v]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("over", "reduce"),
    few([("in", "sum"), ("both", "sum"), ("both", "mode"), ("both", "hindex")], lambda over, _: over),
)
def test_converge(name, over, reduce):
    graph = make_case(name, CPU, "int32", in_edges=True).graph
    n = graph.num_vertices

    def run():
        x, y, changes = np.arange(n) % 50, np.zeros(n, np.int64), su.Scalar._of("sum", "int64")
        done = su.converge(
            graph, None, neighbours_share, args=(x, y, changes), reduce=reduce, over=over, then=take_share,
            commit=show_share, wake="both", max_steps=9,
        )  # fmt: skip
        modes = (
            []
            if reduce != "mode"
            else [su.neighbor_reduce(graph, None, product_of, args=(x,), reduce="mode", over=over)]
        )
        return [x, y, changes.read(), np.array([done.steps, done.touched, done.converged]), *modes]

    same(run)


def test_triangles_of_no_vertices():
    graph, none = su.Graph(0, device="cpu", directed=False), np.zeros(0, np.int64)
    assert len(su.intersect(graph, oriented="degree", out=none)) == 0


def counted_at(v, value, x, total, best):
    su.atomic.add(total, v % 7, value)
    su.atomic.min(best, v % 7, (value, v, v))
    return 2 if v < 20 else 0


def counted_later(v, x, total, best):
    su.atomic.add(total, 7 + v % 7, x[v])


def tallied(v, x, total, best):
    su.atomic.add(total, 14 + v % 3, x[v])


@pytest.mark.slow
def test_effects_of_vertices(name) -> None:
    case = make_case(name, CPU, "int32", in_edges=True)
    x = np.arange(case.n) % 5

    def make():
        total, best = np.zeros(20, np.int64), case.graph.words(keys={"w": "int64", "a": "uint32", "b": "uint32"})
        args = (x, total, best)
        fn = lambda u, v, w, x, *others: x[u] * w  # noqa: E731
        su.vertex_map(case.graph, None, tallied, args=args)
        su.neighbor_reduce(case.graph, None, fn, args=args, reduce="sum", then=counted_at)
        su.converge(case.graph, None, fn, args=args, reduce="sum", then=counted_at, commit=counted_later, max_steps=2)
        return total, best.data

    same(make)
    assert make()[0][14:17].tolist() == np.bincount(np.arange(case.n) % 3, x).tolist()
