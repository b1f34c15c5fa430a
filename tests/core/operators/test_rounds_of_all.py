"""Rounds of pulls over all vertices: arrays that are exchanged, and loops that they take over from."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.cpu.plain import PLAIN
from suricate.errors import ParameterError, RequirementError, ShapeError

SCALE = 7 if PLAIN else 10  #: of graphs; rounds are as many, and as crowded


def lowest_seen(u, v, w, label, new, seen):
    return label[u]


def in_place(v, value, label, new, seen):
    label[v] = value


def lowest(u, v, w, label, new):
    return label[u]


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
@pytest.mark.parametrize("degree", [3, 16])
def test_arrays_are_exchanged_between_rounds(backend, device, limit, degree):
    """All vertices take part in all rounds, whatever `then` returns, until the total is at most the bound."""
    n = 1 << SCALE
    src, dst, _ = su.generate.rmat(SCALE, degree, seed=5)
    graph = su.Graph(n, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges(src, dst)
    value = np.random.default_rng(1).integers(0, 1000, n)
    xp = graph.device.xp
    label, new, spare = xp.array(value), xp.zeros(n, np.int64), xp.zeros(1, np.int64)
    seen = graph.scalar("sum", "int64")

    def halved(v, value, label, new, seen):
        new[v] = (value + label[v]) // 1000
        seen.add(label[v])

    src, dst, _ = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    totals = []
    while len(totals) < limit and (not totals or totals[-1] > n):
        total = np.zeros(n, np.int64)
        np.add.at(total, dst, value[src])
        totals.append(value.sum())
        value = (total + value) // 1000
    call = {"reduce": "sum", "then": halved, "wake": None, "max_steps": limit, "stop": su.Stop(until=(seen, n))}
    args = (label, new, seen)
    done = su.converge(graph, None, lowest_seen, args=args, swap=[(label, new)], **call)
    assert (done.steps, done.touched, done.converged) == (len(totals), len(totals) * n, False)
    assert seen.read() == totals[-1]
    assert graph.device.to_numpy(label).tolist() == value.tolist()
    for wrong in ({"swap": [(label, spare)]}, {"swap": [(spare, spare)]}):
        with pytest.raises((ParameterError, ShapeError)):
            su.converge(graph, None, lowest_seen, args=args, **call | wrong)
    with pytest.raises(RequirementError, match="all vertices"):
        su.converge(graph, [1], lowest_seen, args=args, swap=[(label, new)], **call)
    with pytest.raises(RequirementError, match="written by then"):
        su.converge(graph, None, lowest_seen, args=args, swap=[(label, new)], **call | {"then": in_place})


def rounds_of_the_least(src, dst, label, active, most, limit):
    """Lower labels round by round; return them, the number of rounds, of vertices, and whether the loop is crowded."""
    rounds, touched, crowded, active = 0, 0, False, set(active)
    while active and rounds < limit and not crowded:
        least = label.copy()
        np.minimum.at(least, dst, label[src])
        new, at = label.copy(), sorted(active)
        new[at] = least[at]
        waking = np.isin(src, np.flatnonzero(new < label))
        rounds, touched = rounds + 1, touched + len(active)
        crowded = len(active) + int(waking.sum()) > most
        active, label = set(dst[waking].tolist()), new
    return label, rounds, touched, crowded


@pytest.mark.parametrize("limit", [0, 1, 2, 4, 99])
@pytest.mark.parametrize(("degree", "most"), [(2, 0), (2, 60), (16, 375 if PLAIN else 3000), (16, 10**6)])
def test_rounds_over_all_vertices_take_over_from_a_crowded_loop(backend, device, degree, most, limit):
    n = 1 << SCALE
    src, dst, _ = su.generate.rmat(SCALE, degree, seed=5)
    graph = su.Graph(n, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges(src, dst)
    src, dst, _ = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    start = np.random.default_rng(2).permutation(n)
    first = np.unique(dst[src == np.bincount(src).argmax()])[:5]
    once, rounds, touched, crowded = rounds_of_the_least(src, dst, start, first, most, limit)
    left = limit - rounds if crowded else 0
    all_of_them = [once, once]  # the last label, and the one before
    swept = 0
    while swept < left and (swept == 0 or (all_of_them[0] != all_of_them[1]).any()):
        new = all_of_them[0].copy()
        np.minimum.at(new, dst, all_of_them[0][src])
        all_of_them, swept = [new, all_of_them[0]], swept + 1

    def take(v, value, label, new, changed):
        new[v] = min(value, label[v])
        changed.add(value < label[v])
        return 2 if value < label[v] else 0

    def publish(v, label, new, changed):
        label[v] = new[v]

    xp = graph.device.xp
    label, new, changed = xp.array(start), xp.zeros(n, np.int64), graph.scalar("sum", "int64")
    call = {"args": (label, new, changed), "reduce": "min", "then": take, "max_steps": limit}
    loop = su.converge(graph, first, lowest_seen, commit=publish, stop=su.Stop(most=most), **call)
    new[:] = -1
    rest = su.converge(
        graph, None, lowest_seen, wake=None, stop=su.Stop(until=changed), swap=[(label, new)], after=loop, **call
    )
    assert (loop.steps, loop.touched, loop.crowded) == (rounds, touched, crowded)
    assert (rest.steps, rest.touched, rest.converged, rest.crowded) == (swept, swept * n, not crowded, False)
    assert graph.device.to_numpy(label).tolist() == all_of_them[0].tolist()
    assert graph.device.to_numpy(new).tolist() == (all_of_them[1].tolist() if swept else [-1] * n)


def test_only_rounds_over_all_vertices_take_over(device):
    graph = su.Graph(4, device=str(device), in_edges=True)
    label, new = (graph.device.xp.zeros(4, np.int64) for _ in range(2))

    def keep(v, value, label, new):
        new[v] = label[v]

    call = {"args": (label, new), "reduce": "min", "then": keep, "wake": None, "max_steps": 1}
    assert su.converge(graph, None, lowest, stop=su.Stop(most=3), **call).crowded
    loop = su.converge(graph, None, lowest, stop=su.Stop(most=4), **call)
    assert not loop.crowded
    with pytest.raises(RequirementError, match="pass swap"):
        su.converge(graph, None, lowest, after=loop, **call)
    with pytest.raises(ParameterError, match="after is 3"):
        su.converge(graph, None, lowest, after=3, swap=[(label, new)], **call)
    with pytest.raises(ParameterError, match="twice"):
        su.converge(graph, None, lowest, swap=[(label, new), (label, new)], **call)
    with pytest.raises(ParameterError, match="most"):
        su.converge(graph, None, lowest, stop=su.Stop(most=-1), **call)
