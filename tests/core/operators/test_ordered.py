"""Ordered propagations: shortest paths by near and far, core numbers in one call, and what waits when it ends."""

from __future__ import annotations

import numpy as np
import pytest
from operator_model import KINDS, N, small

import suricate as su

both_kinds = pytest.mark.parametrize("kind", sorted(KINDS))


def relax(u, v, w, distance):
    return distance[u] + w


def distances(case, sources):
    """Return the distances by relaxing until nothing changes."""
    best = dict.fromkeys(sources, 0)
    changed = True
    while changed:
        changed = False
        for u, v, w in case.arcs:
            if u in best and (v not in best or best[u] + w < best[v]):
                best[v], changed = best[u] + w, True
    return best


@both_kinds
@pytest.mark.parametrize("delta", [1, 3, 1000])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_near_and_far(backend, device, kind, delta, dtype):
    case = small(backend, device, kind, "float32" if dtype.startswith("f") else "int32")
    far = np.inf if dtype.startswith("f") else 10**9
    for sources in ([2], [2, 17, 40]):
        start = np.full(N, far, dtype)
        start[sources] = 0
        out, bound = case.array(start), case.array(np.zeros(1, dtype))
        done = su.propagate(case.graph, sources, relax, out, order=(out, bound, delta), layers=False)
        best = distances(case, sources)
        assert case.host(out).tolist() == [best.get(v, far) for v in range(N)]
        assert done.converged
        last = max(best.values())
        assert case.host(bound)[0] == -(-last // delta) * delta


def test_nobody_goes_before_the_bound(backend, device):
    """On a path of weights 1 and 10, the vertices of each step lie below the bound of that step."""
    graph = su.Graph(6, backend=backend, device=device, weight_dtype="int32")
    graph.insert_edges([0, 0, 1, 2, 3, 4], [1, 5, 2, 3, 4, 5], [1, 50, 10, 1, 10, 1])
    xp = device.xp
    distance, bound, at = xp.full(6, 999, np.int64), xp.zeros(1, np.int64), xp.zeros(6, np.int64)
    distance[0] = 0

    def then(v, step, distance, bound, at):
        if distance[v] <= bound[0]:
            at[v] = bound[0]
        return True

    def offer(u, v, w, distance, bound, at):
        return distance[u] + w

    args = (distance, bound, at)
    done = su.propagate(graph, [0], offer, distance, args=args, then=then, order=(distance, bound, 5))
    assert device.to_numpy(distance).tolist() == [0, 1, 11, 12, 22, 23]
    assert device.to_numpy(at).tolist() == [0, 5, 15, 15, 25, 25]
    assert (done.steps, done.touched) == (6, 6)


def core_numbers(case):
    degree = dict.fromkeys(range(N), 0)
    for u, v, _ in case.arcs:
        degree[u] += u != v
    core, k, left = {}, 0, set(degree)
    while left:
        v = min(left, key=lambda v: (degree[v], v))
        k = max(k, degree[v])
        core[v] = k
        left.remove(v)
        for u, x, _ in case.arcs:
            if u == v and x in left:
                degree[x] -= 1
    return [core[v] for v in range(N)]


def test_core_numbers_in_one_call(backend, device):
    """All vertices wait at first; a removed one takes one off the degrees of its neighbours."""
    case = small(backend, device, "undirected")

    def less(u, v, w, degree, bound, core):
        return -1 if core[v] < 0 and u != v else 0

    def remove(v, step, degree, bound, core):
        if core[v] >= 0:
            return False
        if degree[v] <= bound[0]:
            core[v] = bound[0]
        return True

    loops = np.zeros(N, np.int64)
    np.add.at(loops, [u for u, v, _ in case.arcs if u == v], 1)
    degree = case.array(case.host(case.graph.degrees()).astype(np.int64) - loops)
    bound, core = case.array(np.full(1, -1)), case.array(np.full(N, -1))
    args = (degree, bound, core)
    done = su.propagate(
        case.graph, None, less, degree, args=args, reduce="sum", then=remove, order=(degree, bound, 1), layers=True
    )
    assert case.host(core).tolist() == core_numbers(case)
    assert done.converged
    assert sum(len(done.layers[i]) for i in range(len(done.layers))) == done.touched == N


def test_what_waits_at_the_last_step(backend, device):
    """It is put off for good: the next call starts afresh."""
    case = small(backend, device, weight_dtype="int32")
    best = distances(case, [2])
    for limit in (0, 1, 2, 3):
        start = np.full(N, 10**9)
        start[2] = 0
        out, bound = case.array(start), case.array(np.zeros(1, np.int64))
        done = su.propagate(case.graph, [2], relax, out, order=(out, bound, 2), max_steps=limit)
        assert (done.steps, done.converged) == (limit, False)
        done = su.propagate(case.graph, np.flatnonzero(case.host(out) < 10**9), relax, out, order=(out, bound, 2))
        assert done.converged
        assert case.host(out).tolist() == [best.get(v, 10**9) for v in range(N)]


def test_from_arcs_in_order(backend, device):
    """Vertices and arcs to start from, some of the vertices above the bound."""
    case = small(backend, device, weight_dtype="int32")
    start = np.full(N, 10**9)
    start[[2, 17]] = 0, 7
    out, bound = case.array(start), case.array(np.zeros(1, np.int64))
    arcs = su.EdgeList(*(case.array(np.array(part, dtype)) for part, dtype in (([2], "u4"), ([17], "u4"), ([3], "i4"))))
    su.propagate(case.graph, (arcs, [2, 17]), relax, out, order=(out, bound, 4))
    best = distances(small_with(case, (2, 17, 3)), [2])
    assert case.host(out).tolist() == [best.get(v, 10**9) for v in range(N)]


def small_with(case, arc):
    return case._replace(arcs=[*case.arcs, arc])


def test_a_bound_of_minus_infinity(backend, device):
    case = small(backend, device, weight_dtype="float32")
    start = np.full(N, np.inf)
    start[2] = -4.5
    out, bound = case.array(start), case.array(np.full(1, -np.inf))
    su.propagate(case.graph, None, relax, out, order=(out, bound, 0.7))
    best = distances(case, [2])
    assert case.host(out).tolist() == [best[v] - 4.5 if v in best else np.inf for v in range(N)]
