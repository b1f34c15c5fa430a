"""Pulls of columns: k values per vertex, where k is known at run time; against NumPy, column by column."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from emulated import GXX, kernel
from launches import FakeArray, array, fake_cupy
from operator_launches import FakeGraph, call_of
from turns import few

import suricate as su
from suricate.cuda.program import Program
from suricate.edgefn import bounds
from suricate.errors import EdgeFunctionError, RequirementError, ShapeError, VertexRangeError
from suricate.operators import binding, rounds
from suricate.operators.call import Start
from suricate.operators.cpu import driver as cpu
from suricate.operators.cuda import driver, launches
from suricate.operators.cuda.pull import columns
from suricate.state.frontier import Frontier

N = 60
NEUTRAL = {"sum": 0, "or": 0, "min": np.iinfo(np.int64).max, "max": np.iinfo(np.int64).min}
FOLDS = {"sum": np.add, "or": np.bitwise_or, "min": np.minimum, "max": np.maximum}


def read(u, v, w, j, x, scale, *others):
    return x[u, j] * scale[j] + int(w) * v


def a_graph(backend: str, device: Any, **options: Any) -> tuple[su.Graph, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    graph = su.Graph(N, backend=backend, device=str(device), weight_dtype="float32", **options)
    src, dst = rng.integers(0, N, (2, 400))
    src[:50] = 3
    graph.insert_edges(src, dst, rng.integers(1, 9, 400).astype(np.float32))
    graph.delete_edges(src[::5], dst[::5])
    return graph, *(graph.device.to_numpy(part) for part in su.arcs(graph)[:3])


def pulled(u: Any, v: Any, values: Any, over: str, reduce: str) -> np.ndarray:
    """The reduction of ``values(u, v)``, an array (arcs, k), by NumPy."""
    found = np.full((N, values.shape[1]), NEUTRAL[reduce], np.int64)
    fold = FOLDS[reduce]
    fold.at(found, u if over == "out" else v, values)
    return found


@pytest.mark.parametrize("k", few([1, 5, 40, 300]))
@pytest.mark.parametrize("reduce", few(["sum", "min", "max", "or"]))
@pytest.mark.parametrize("over", ["out", "in"])
def test_values_have_columns(backend, device, over, reduce, k):
    graph, u, v, w = a_graph(backend, device, in_edges=True)
    rng, xp = np.random.default_rng(k), graph.device.xp
    x, scale = rng.integers(0, 50, (N, k)), rng.integers(0, 9, k)
    args = xp.asarray(x), xp.asarray(scale)
    wanted = pulled(u, v, x[u] * scale + (w.astype(np.int64) * v)[:, None], over, reduce)
    found = su.neighbor_reduce(graph, None, read, args=args, reduce=reduce, over=over)
    assert graph.device.to_numpy(found).tolist() == wanted.tolist()
    ids, out = np.array([7, 3, 3, 59]), xp.empty((4, k), np.int64)
    assert su.neighbor_reduce(graph, xp.asarray(ids), read, out=out, args=args, reduce=reduce, over=over) is out
    assert graph.device.to_numpy(out).tolist() == wanted[ids].tolist()
    kept = su.neighbor_reduce(graph, None, read, args=(*args, xp.zeros((N, k), np.int64)), reduce="sum", over=over,
                              then=lambda v, value, j, *others: j == 0 and v % 3 == 0)  # fmt: skip
    assert sorted(device.to_numpy(kept.vertices).tolist()) == list(range(0, N, 3))


def test_both_directions_see_a_loop_once(backend, device):
    graph = su.Graph(4, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges([0, 1, 1, 2], [1, 0, 1, 3])
    x = graph.device.xp.asarray(np.array([[1, 10], [2, 20], [4, 40], [8, 80]]))
    found = su.neighbor_reduce(graph, None, lambda u, v, w, j, x: x[u, j], args=(x,), reduce="sum", over="both")
    assert graph.device.to_numpy(found).tolist() == [[4, 40], [4, 40], [8, 80], [4, 40]]


def next_level(u, v, w, j, level, new):
    return level[u, j] + 1 if level[u, j] >= 0 else 1 << 30


def take(v, value, j, level, new):
    if value < 1 << 30 and (level[v, j] < 0 or value < level[v, j]):
        new[v, j] = value
        return 2
    new[v, j] = level[v, j]
    return 0


def publish(v, j, level, new):
    level[v, j] = new[v, j]


def begin(v, j, level, source):
    level[v, j] = 0 if v == source[j] else -1
    return v == source[j]


def searches(graph: su.Graph, sources: np.ndarray) -> np.ndarray:
    """Levels of breadth-first searches from all ``sources``, by one loop of rounds."""
    xp, shape = graph.device.xp, (graph.num_vertices, len(sources))
    level, new = xp.empty(shape, np.int64), xp.empty(shape, np.int64)
    started = su.vertex_map(graph, None, begin, args=(level, xp.asarray(sources)))
    assert sorted(graph.device.to_numpy(started.vertices).tolist()) == sorted(set(sources.tolist()))
    first = su.advance(graph, started, lambda u, v, w: 1, out=xp.zeros(len(level), np.int64), reduce="max")
    done = su.converge(
        graph, first, next_level, args=(level, new), reduce="min", over="in", then=take, commit=publish, wake="out"
    )
    assert done.converged
    return np.asarray(graph.device.to_numpy(level))


@pytest.mark.slow
@pytest.mark.parametrize("by_host", [False, True])
def test_a_vertex_wakes_others_if_it_does_in_any_column(monkeypatch, backend, device, by_host):
    """Rounds in one loop, and those that the host makes, as for CUDA; also with the indices checked."""
    graph, sources = a_graph(backend, device, in_edges=True)[0], np.array([3, 8, 59, 3])
    if by_host:
        monkeypatch.setattr(cpu, "converge", rounds.converge)
    found = searches(graph, sources)
    for j, source in enumerate(sources.tolist()):
        assert found[:, j].tolist() == graph.device.to_numpy(graph.compute("bfs", source=source).level).tolist()
    with bounds.checking():
        assert searches(graph, sources).tolist() == found.tolist()


def share(u, v, w, j, x, y, inverse, source, moved):
    return x[u, j] * inverse[u]


def rank(v, value, j, x, y, inverse, source, moved):
    y[v, j] = 0.85 * value + (0.15 if v == source[j] else 0.0)
    moved.add(abs(y[v, j] - x[v, j]))


def ranks_of(graph: su.Graph, sources: np.ndarray, steps: int) -> tuple[np.ndarray, float, int]:
    xp, n = graph.device.xp, graph.num_vertices
    x = np.zeros((n, len(sources)))
    x[sources, np.arange(len(sources))] = 1
    degrees = np.maximum(graph.device.to_numpy(graph.degrees()), 1)
    moved, x, y = graph.scalar("sum", "float64"), xp.asarray(x), xp.empty((n, len(sources)))
    done = su.converge(
        graph, None, share, args=(x, y, xp.asarray(1 / degrees), xp.asarray(sources), moved), reduce="sum", over="in",
        then=rank, wake=None, swap=[(x, y)], max_steps=steps, stop=su.Stop(until=(moved, 0.01)),
    )  # fmt: skip
    return np.asarray(graph.device.to_numpy(x)), float(moved.read()), done.steps


@pytest.mark.parametrize("by_host", [False, True])
@pytest.mark.parametrize("steps", [3, 100])
def test_ranks_of_several_sources(monkeypatch, backend, device, steps, by_host):
    graph, u, v, _ = a_graph(backend, device, in_edges=True)
    if by_host:
        monkeypatch.setattr(cpu, "converge", rounds.converge)
    sources = np.array([3, 8, 0, 59, 30])
    found, moved, made = ranks_of(graph, sources, steps)
    matrix, wanted, total, number = np.zeros((N, N)), np.zeros((N, 5)), 1.0, 0
    matrix[v, u] = 1 / np.maximum(np.bincount(u, minlength=N), 1)[u]
    wanted[sources, np.arange(5)] = 1
    while number < steps and total > 0.01:
        after = 0.85 * matrix @ wanted
        after[sources, np.arange(5)] += 0.15
        total, wanted, number = abs(after - wanted).sum(), after, number + 1
    assert made == number
    np.testing.assert_allclose(found, wanted, atol=1e-14)
    assert moved == pytest.approx(total)


@pytest.mark.parametrize("ranks", few([2, 3]))
def test_columns_of_a_divided_graph(backend, ranks):
    sources = np.array([3, 8, 59])

    def job(comm):
        alone = a_graph(backend, "cpu", in_edges=True)[0]
        graph = su.Graph(N, backend=backend, device="cpu", weight_dtype="float32", in_edges=True, comm=comm)
        src, dst, weight = (part if comm.rank == 0 else part[:0] for part in su.arcs(alone)[:3])
        graph.insert_edges(src, dst, weight)
        x = np.arange(2 * N).reshape(N, 2) % 7
        ids = np.array([9, 3, 50], np.uint32)
        pulls = [
            su.neighbor_reduce(each, chosen, read, args=(x, np.array([2, 3])), reduce="sum", over="in").tolist()
            for each in (alone, graph)
            for chosen in (None, ids)
        ]
        assert pulls[:2] == pulls[2:]
        assert searches(graph, sources).tolist() == searches(alone, sources).tolist()
        np.testing.assert_allclose(ranks_of(graph, sources, 9)[0], ranks_of(alone, sources, 9)[0], atol=1e-14)

    su.parallel.run(job, ranks)


def test_rows_of_edge_columns(device):
    graph = su.Graph(3, device=str(device), edge_columns={"cost": "float64"})
    graph.insert_edges([0, 0, 1], [1, 2, 2], {"cost": np.array([1.0, 2.0, 4.0])})
    x = graph.device.xp.asarray(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))

    def priced(u, v, w, row, j, cost, x):
        return cost[row] * x[v, j]

    found = su.neighbor_reduce(graph, None, priced, args=("cost", x), reduce="sum")
    assert graph.device.to_numpy(found).tolist() == [[13.0, 16.0], [20.0, 24.0], [0.0, 0.0]]


def test_what_is_wrong_is_said_before_anything_changes(device):
    graph = su.Graph(3, device=str(device))
    graph.insert_edges([0, 0, 1], [1, 2, 2])
    xp = graph.device.xp
    x, flat = xp.ones((3, 2)), xp.ones(3)

    def pull(fn, *args, reduce="sum", **options):
        return su.neighbor_reduce(graph, options.pop("frontier", None), fn, args=args, reduce=reduce, **options)

    def column(u, v, w, j, x):
        return x[v, j]

    for message, call in (
        ("only a pull takes columns", lambda: pull(lambda u, v, w, x: 1, x)),
        ("only a pull takes columns", lambda: su.vertex_map(graph, None, lambda v, x: True, args=(x,))),
        ("not: no array with columns", lambda: pull(lambda u, v, w, j, y: y[v], flat)),
        ("not: 0", lambda: pull(column, xp.ones((3, 0)))),
        ("not: 2, 3", lambda: pull(column, x, out=xp.ones((3, 3)))),
        (r"of shape \(3, 2\), not of shape \(2, 2\)", lambda: pull(column, x, out=xp.ones((2, 2)))),
        ("one or two dimensions", lambda: pull(column, xp.ones((3, 2, 2)))),
        ("one or two dimensions", lambda: pull(column, xp.ones((3, 4))[:, ::2])),
    ):
        with pytest.raises(ShapeError, match=message):
            call()
    for message, options in (
        ("reduce='mode' has no columns", {"reduce": "mode"}),
        ("scheme 'bucket' has no columns", {"scheme": "bucket"}),
        ("no columns: a function with j takes sum", {"reduce": "vote"}),
    ):
        with pytest.raises(RequirementError, match=message):
            pull(column, x, **options)
    layers = su.propagate(graph, [0], lambda u, v, w, y: y[u], out=flat, args=(flat,), reduce="max", layers=True).layers
    with pytest.raises(RequirementError, match="layer by layer"):
        pull(column, x, frontier=layers)
    for message, fn in (
        (r"indexed by a vertex and the column: x\[v, j\]", lambda u, v, w, j, x: x[v]),
        (r"indexed by a vertex and the column: x\[v, j\]", lambda u, v, w, j, x: x[v, 0]),
        ("an array takes one integer as its index", lambda u, v, w, j, x, y: y[v, j] + x[v, j]),
    ):
        with pytest.raises(EdgeFunctionError, match=message):
            pull(fn, *([x, flat] if fn.__code__.co_argcount == 6 else [x]))

    def stores(v, value, j, x, y):
        y[v] = value
        return True

    def both(u, v, w, j, x, y):
        return x[v, j]

    with pytest.raises(EdgeFunctionError, match="written once for every column j"):
        pull(both, x, flat, then=stores)
    with bounds.checking(), pytest.raises(VertexRangeError, match=r"args\[0\] out of its range"):
        pull(column, xp.ones((2, 2)))


@pytest.mark.slow
@pytest.mark.skipif(GXX is None, reason="g++ is not installed")
@pytest.mark.parametrize("k", [1, 4, 7, 16, 45])
@pytest.mark.parametrize(("name", "over"), [("slabhash", "in"), ("csr_baseline", "out"), ("blocked", "in")])
def test_kernels(monkeypatch, name, over, k):
    """The CUDA kernels, run on the CPU: hubs are served by blocks, and lists may repeat vertices."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    monkeypatch.setattr(launches, "multiprocessors", lambda device: 1)
    monkeypatch.setattr(columns, "full_grid", lambda device: 2)
    monkeypatch.setattr(columns, "HEAVY", 9)
    graph, u, v, w = a_graph(name, "cpu", in_edges=True)
    x, scale = np.random.default_rng(k).integers(0, 50, (N, k)), np.arange(k)
    wanted = pulled(u, v, x[u] * scale + (w.astype(np.int64) * v)[:, None], over, "sum")
    fake, ids = FakeGraph(graph), np.array([3, 3, 10, 59], np.uint32)
    out, some = array((N, k), np.int64), array((4, k), np.int64)
    call = call_of(fake, binding.bind_pull(graph, read, (x, scale), "sum", None, None, None))
    driver.neighbor_reduce(fake, call, None, out, over, "auto")
    driver.neighbor_reduce(fake, call, ids.view(FakeArray), some, over, "auto")
    assert out.tolist() == wanted.tolist()
    assert some.tolist() == wanted[ids].tolist()

    def store(v, value, j, x, scale):
        x[v, j] = value
        return value > 900

    y = x.copy()
    call = call_of(
        fake, binding.bind_pull(graph, lambda u, v, w, j, x, scale: v + j, (y, scale), "sum", None, None, store)
    )
    everybody = Start((Frontier._of_all(fake.device, N),))
    kept = driver.neighbor_reduce(fake, call, everybody, None, over, "auto")
    wanted = pulled(u, v, v[:, None] + np.arange(k), over, "sum")
    assert y.tolist() == wanted.tolist()
    assert sorted(np.asarray(kept.vertices).tolist()) == np.flatnonzero((wanted > 900).any(1)).tolist()


def test_repeated_calls_take_columns(backend, device):
    graph, _, v, _ = a_graph(backend, device, in_edges=True)
    xp, moved = graph.device.xp, graph.scalar("sum", "float64")
    x, y, repeated = xp.ones((N, 2)), xp.zeros((N, 2)), su.Repeated(graph)

    def one(u, v, w, j, x, y, moved):
        return x[u, j]

    def keep(v, value, j, x, y, moved):
        y[v, j] = value + j
        moved.add(1.0)

    def clear(v, j, x):
        x[v, j] = 1

    for _ in range(3):
        repeated.vertex_map(clear, args=(x,))
        repeated.passes(
            one, args=(x, y, moved), then=keep, dtype="float64", max_steps=1, stop=su.Stop(until=(moved, 0)),
            swap=((x, y),),
        )  # fmt: skip
        assert graph.device.to_numpy(x).tolist() == [[d, d + 1] for d in np.bincount(v, minlength=N).tolist()]
