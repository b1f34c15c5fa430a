"""Calls of operators that come again on CUDA are prepared: they do what the ordinary way does, and hold no arrays."""

from __future__ import annotations

import enum
import gc
import weakref

import numpy as np
import pytest

import suricate as su
from suricate.errors import DeviceError, DTypeError, RequirementError, ShapeError, UnknownNameError, VertexRangeError
from suricate.operators.prepared import MOST, NUMBERS, PreparedCalls

pytestmark = [pytest.mark.gpu, pytest.mark.parametrize("device", ["cuda"], indirect=True)]

N, TIMES = 6000, 5
FACTOR = 3


class Bound(enum.IntEnum):
    """Numbers of a type of their own."""

    ONE = 1


def nearer(u, v, w, x, step):
    return x[u] + step


def weighed(u, v, w, x, factor):
    return x[v] * factor


def times_factor(u, v, w, x):
    return x[v] * FACTOR


def above(v, x, bound):
    return x[v] > bound


def noted(i, v, x, out, bound):
    out[i] = x[v] + i
    return x[v] > bound


def add_up(u, v, w, total, factor):
    su.atomic.add(total, v, factor)


def hub_graph(backend, device, **options):
    """Return a graph of vertices of few, some hundred and 5,000 neighbours, and its arcs as NumPy arrays."""
    rng = np.random.default_rng(5)
    graph = su.Graph(N, backend=backend, device=device, **options)
    src, dst = rng.integers(0, N, (2, 3 * N))
    src[:5000], dst[:5000], src[5000:5300] = 7, np.arange(5000), 11
    graph.insert_edges(device.xp.asarray(src), device.xp.asarray(dst))
    return graph


def arcs_of(graph):
    """Return sources and destinations."""
    found = su.arcs(graph)
    return graph.device.to_numpy(found.src).astype(int), graph.device.to_numpy(found.dst).astype(int)


def frontiers(graph, rng):
    """Yield frontiers of known and unknown size, some with the hubs, all vertices, and one with repeated ids."""
    xp = graph.device.xp
    for size in (1, 8, 3000):
        yield graph.frontier(np.unique(np.append(rng.choice(graph.num_vertices, size), [7, 11])))
    x = xp.asarray(rng.integers(0, 2, graph.num_vertices))
    yield su.vertex_map(graph, None, above, args=(x, 0))
    yield None
    yield graph.frontier(xp.asarray([3, 7, 3], dtype=np.uint32), trusted=True, distinct=False)


def vertices_of(graph, frontier):
    """Return the vertices of a frontier as a NumPy array."""
    return np.arange(graph.num_vertices) if frontier is None else graph.device.to_numpy(frontier.vertices).astype(int)


def made(graph):
    """Return the prepared calls of a graph."""
    return [one for one in graph.workspace.state(PreparedCalls).made.values() if one]


def changed_between(graph, rng):
    """Change the graph: the kernels walk another view then."""
    graph.insert_edges(*graph.device.xp.asarray(rng.integers(0, graph.num_vertices, (2, 50))))


def test_advance(backend, device):
    graph, rng, xp = hub_graph(backend, device), np.random.default_rng(1), device.xp
    x, out = xp.asarray(rng.integers(0, 1000, N)), xp.empty(N, np.int64)
    for turn in range(TIMES):
        for frontier in frontiers(graph, rng):
            out.fill(10**6)
            changed = su.advance(graph, frontier, nearer, out=out, args=(x, turn), reduce="min")
            (src, dst), start = arcs_of(graph), vertices_of(graph, frontier)
            expected = np.full(N, 10**6)
            taken = np.isin(src, start)
            np.minimum.at(expected, dst[taken], device.to_numpy(x)[src[taken]] + turn)
            np.testing.assert_array_equal(device.to_numpy(out), expected)
            assert sorted(changed.vertices.tolist()) == np.flatnonzero(expected < 10**6).tolist()
        changed_between(graph, rng)
    assert sum(one.uses for one in made(graph)) > 2 * TIMES


def test_neighbor_reduce(backend, device):
    graph, rng, xp = hub_graph(backend, device, in_edges=True), np.random.default_rng(2), device.xp
    x, given = xp.asarray(rng.integers(0, 1000, N)), xp.empty(N, np.int64)
    for turn in range(TIMES):
        for frontier in frontiers(graph, rng):
            for over, whole in (("out", None), ("in", given if frontier is None else None)):
                out = su.neighbor_reduce(
                    graph,
                    frontier,
                    weighed if over == "out" else nearer,
                    args=(x, turn),
                    reduce="sum",
                    over=over,
                    out=whole,
                )
                assert whole is None or out is whole
                (src, dst), values = arcs_of(graph), device.to_numpy(x)
                expected = np.zeros(N, int)
                np.add.at(expected, *((src, values[dst] * turn) if over == "out" else (dst, values[src] + turn)))
                np.testing.assert_array_equal(device.to_numpy(out), expected[vertices_of(graph, frontier)])
        changed_between(graph, rng)
    assert sum(one.uses for one in made(graph)) > 2 * TIMES


def test_maps(backend, device):
    graph, rng, xp = hub_graph(backend, device), np.random.default_rng(3), device.xp
    x, total = xp.asarray(rng.integers(0, 1000, N)), xp.empty(N, np.int64)
    for turn in range(TIMES):
        for frontier in frontiers(graph, rng):
            start, bound = vertices_of(graph, frontier), 100 * turn
            kept = su.vertex_map(graph, frontier, above, args=(x, bound))
            expected = {int(v) for v in start if device.to_numpy(x)[v] > bound}
            assert sorted(kept.vertices.tolist()) == sorted(expected)
            total.fill(0)
            su.edge_map(graph, frontier, add_up, args=(total, turn))
            src, dst = arcs_of(graph)
            np.testing.assert_array_equal(
                device.to_numpy(total), turn * np.bincount(dst[np.isin(src, start)], minlength=N)
            )
        changed_between(graph, rng)
    assert sum(one.uses for one in made(graph)) > 4 * TIMES


def test_maps_with_positions(backend, device):
    graph, rng, xp = hub_graph(backend, device), np.random.default_rng(4), device.xp
    x, out, lists = xp.asarray(rng.integers(0, 1000, N)), xp.zeros(N, np.int64), (rng.integers(0, N, N), np.full(9, 7))
    for turn in range(TIMES):
        for ids in lists:
            values = device.to_numpy(x)[ids]
            places = su.Frontier._of(device, xp.asarray(ids.astype(np.uint32)), num_vertices=N, distinct=False)
            kept = su.vertex_map(graph, places, noted, args=(x, out, 100 * turn))
            np.testing.assert_array_equal(device.to_numpy(out)[: len(ids)], values + np.arange(len(ids)))
            assert sorted(kept.vertices.tolist()) == sorted(ids[values > 100 * turn].tolist())
            assert not kept.distinct
        changed_between(graph, rng)
    assert sum(one.uses for one in made(graph)) > TIMES


def test_what_a_function_sees_from_outside_may_change(device, monkeypatch):
    graph, x = hub_graph("csr_baseline", device), device.xp.arange(N)
    some = graph.frontier([7, 11])

    def found():
        return int(su.neighbor_reduce(graph, some, times_factor, args=(x,), reduce="sum").sum())

    first = [found() for _ in range(4)]
    monkeypatch.setattr("test_prepared.FACTOR", 6)
    assert [found() for _ in range(4)] == [2 * one for one in first]
    closures = [lambda u, v, w, x, factor=factor: x[v] * factor for factor in (3, 6)]
    for fn, factor in zip(2 * closures, (1, 2, 1, 2), strict=True):
        assert int(su.neighbor_reduce(graph, some, fn, args=(x,), reduce="sum").sum()) == factor * first[0]


def test_arrays_are_not_held(device):
    graph, xp = hub_graph("csr_baseline", device), device.xp
    some, out, x = graph.frontier([7, 11]), xp.zeros(N, np.int64), xp.ones(N, np.int64)
    for _ in range(8):
        su.advance(graph, some, nearer, out=out, args=(x, 1), reduce="sum")
        su.neighbor_reduce(graph, None, weighed, args=(x, 1), reduce="sum")
    assert len(made(graph)) == 2
    gone = [weakref.ref(out), weakref.ref(x)]
    del out, x
    gc.collect()
    assert [one() for one in gone] == [None, None]
    assert made(graph) == []


def test_no_reference_cycle_keeps_the_memory_of_a_graph(device):
    graph, xp = hub_graph("csr_baseline", device), device.xp
    out, x = xp.zeros(N, np.int64), xp.ones(N, np.int64)
    for _ in range(4):
        su.advance(graph, None, nearer, out=out, args=(x, 1), reduce="sum")
    assert len(made(graph)) == 1
    calls = weakref.ref(graph.workspace.state(PreparedCalls))
    gc.collect()
    gc.disable()
    try:
        del graph
        assert calls() is None
    finally:
        gc.enable()


def test_arrays_that_are_made_anew_cost_no_preparation(device):
    graph, xp = hub_graph("csr_baseline", device), device.xp
    some, degree = graph.frontier([7]), int((arcs_of(graph)[0] == 7).sum())
    for turn in range(20):
        x = xp.full(N, turn)
        assert su.neighbor_reduce(graph, some, weighed, args=(x, 2), reduce="sum")[0] == 2 * turn * degree
        del x
    assert made(graph) == []


def test_wrong_arguments_are_refused_as_at_first(device):
    graph, other, xp = hub_graph("csr_baseline", device), su.Graph(2 * N, device=device), device.xp
    some, out = graph.frontier([7, 11]), xp.zeros(N, np.int64)
    for _ in range(4):
        su.advance(graph, some, nearer, out=out, reduce="min", args=(out, 1))
        su.vertex_map(graph, some, above, args=(out, 1))
    with pytest.raises(VertexRangeError, match="the frontier is one of 12000 vertices"):
        su.advance(graph, other.frontier(), nearer, out=out, reduce="min", args=(out, 1))
    with pytest.raises(DeviceError, match="the frontier is on cpu"):
        su.advance(graph, su.Graph(N, device="cpu").frontier(), nearer, out=out, reduce="min", args=(out, 1))
    with pytest.raises(DTypeError, match="does not fit 64 bits"):
        su.advance(graph, some, nearer, out=out, reduce="min", args=(out, 2**64))
    with pytest.raises(UnknownNameError, match=r"reduce=.* is unknown"):
        su.advance(graph, some, nearer, out=out, args=(out, 1), reduce=["min"])
    graph.insert_vertices(10)
    with pytest.raises(ShapeError, match="out has 6000 entries, but there are 6010 vertices"):
        su.advance(graph, some, nearer, out=out, reduce="min", args=(out, 1))
    scan = [su.vertex_map(graph, some, above, args=(xp.zeros(N + 10, np.int64), number)) for number in (0, 0.5, True)]
    assert [len(one) for one in scan] == [0, 0, 0]


def test_a_scan_is_of_all_vertices(device):
    graph, out = hub_graph("slabhash", device), device.xp.zeros(N, np.int64)
    some = graph.frontier([7])
    for _ in range(4):
        su.advance(graph, None, nearer, out=out, args=(out, 0), reduce="max", scheme="scan")
    assert len(made(graph)) == 1
    with pytest.raises(RequirementError, match="scheme 'scan' walks the whole graph"):
        su.advance(graph, some, nearer, out=out, args=(out, 0), reduce="max", scheme="scan")


def test_loops_are_recorded_and_not_prepared(device):
    graph, xp = hub_graph("csr_baseline", device), device.xp
    x, moved = xp.arange(N), su.Scalar._of("sum", np.int64, device)

    def lower(v, x, moved):
        x[v] = max(x[v] - 1, 0)
        moved.add(int(x[v] > 0))

    def read(v, x):
        return x[v] > 0

    for _ in range(4):
        su.vertex_map(graph, None, read, args=(x,))

    def body():
        su.vertex_map(graph, None, read, args=(x,))
        su.vertex_map(graph, None, lower, args=(x, moved))

    assert su.iterate(body, until=moved, max_steps=2 * N) == N - 1
    assert int(x.sum()) == 0


def test_at_most_so_many_are_kept(device):
    graph, xp = hub_graph("csr_baseline", device), device.xp
    arrays = [xp.zeros(N, np.int64) for _ in range(MOST + 3)]
    for array in arrays:
        su.vertex_map(graph, None, above, args=(array, 0))
    assert len(graph.workspace.state(PreparedCalls).made) == 3


@pytest.mark.parametrize("kind", sorted(NUMBERS, key=str))
def test_types_of_numbers(device, kind):
    graph = hub_graph("csr_baseline", device)
    x = device.xp.arange(N, dtype=np.uint64 if kind is np.uint64 else np.int64)
    for value in (0, 1, 1, 0, 1, 1):
        kept = su.vertex_map(graph, None, above, args=(x, kind(value)))
        assert len(kept) == N - 1 - value
    assert [one.uses for one in made(graph)] == [4]


def test_numbers_of_other_types_are_not_prepared(device):
    """They would be found by their identity, which the next number may have."""
    graph, x = hub_graph("csr_baseline", device), device.xp.arange(N)
    for kind in 4 * [np.int16, np.uint8, Bound]:
        assert len(su.vertex_map(graph, None, above, args=(x, kind(1)))) == N - 2
    assert made(graph) == []
