"""Effects of ``vertex_map``, ``then`` and ``commit``, and of words, beside what plain Python makes of the same arcs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from operator_model import N, Small, small

import suricate as su
from suricate.errors import EdgeFunctionError, RequirementError

few_draws = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
draws = given(seed=st.integers(0, 2**32 - 1), groups=st.integers(1, 9))
LAYOUTS = {
    "64 bits": {"keys": {"w": "uint32"}, "payload": {"a": "uint32"}},
    "128 bits": {"keys": {"w": "float64"}, "payload": {"a": "uint32", "b": "int32"}},
}


@pytest.fixture(params=["directed", "undirected"])
def case(backend: Any, device: Any, request: pytest.FixtureRequest) -> Small:
    return small(backend, device, request.param, "int32")


class Drawn:
    """Arrays by vertex, on the device of a case, and what they hold."""

    def __init__(self, case: Small, seed: int, groups: int) -> None:
        rng = np.random.default_rng(seed)
        self.case, self.groups = case, groups
        self.label, self.x = rng.integers(0, groups, N), rng.integers(-9, 9, N)
        self.ids = rng.permutation(N)[: rng.integers(0, N)]

    def on_device(self, *names: str) -> list[Any]:
        return [self.case.array(getattr(self, name)) for name in names]

    def zeros(self, dtype: Any = np.int64) -> Any:
        return self.case.array(np.zeros(max(N, self.groups), dtype))


def all_kinds(v, label, x, total, least, most, bits, sets):
    su.atomic.add(total, label[v], x[v])
    su.atomic.min(least, label[v], x[v])
    if x[v] > 0:
        su.atomic.max(most, label[v], v)
    su.atomic.or_(bits, v % 3, 1 << label[v])
    su.unite(sets, v, label[v])
    return x[v] > 0


@few_draws
@draws
def test_vertex_map(case, seed, groups):
    drawn, graph = Drawn(case, seed, groups), case.graph
    label, x = drawn.on_device("label", "x")
    found = [drawn.zeros(), drawn.zeros(np.int32), drawn.zeros(np.uint32), drawn.zeros(np.uint64)]
    sets = graph.union_find()
    kept = su.vertex_map(graph, drawn.ids, all_kinds, args=(label, x, *found, sets))
    total, least, most, bits = np.zeros((4, N), int)
    parent = list(range(N))

    def root(v):
        return v if parent[v] == v else root(parent[v])

    for v in drawn.ids.tolist():
        c = drawn.label[v]
        total[c] += drawn.x[v]
        least[c] = min(least[c], drawn.x[v])
        most[c] = max(most[c], v) if drawn.x[v] > 0 else most[c]
        bits[v % 3] |= 1 << c
        low, high = sorted((root(v), root(int(c))))
        parent[high] = low
    for array, right in zip(found, (total, least, most, bits), strict=True):
        assert case.host(array).tolist() == right.tolist()
    assert case.host(sets.labels()).tolist() == [root(v) for v in range(N)]
    assert case.members(kept) == sorted(v for v in drawn.ids.tolist() if drawn.x[v] > 0)


def by_position(i, v, label, count):
    su.atomic.add(count, label[v], i + 1)


@few_draws
@draws
def test_positions_of_repeated_vertices(case, seed, groups):
    drawn = Drawn(case, seed, groups)
    ids, count = np.concatenate((drawn.ids, drawn.ids)), drawn.zeros()
    su.vertex_map(case.graph, ids, by_position, args=(*drawn.on_device("label"), count))
    expected = np.zeros(N, int)
    np.add.at(expected, drawn.label[ids], np.arange(len(ids)) + 1)
    assert case.host(count).tolist() == expected.tolist()


# -- words -------------------------------------------------------------------------------------------------------------


def least_pair(v, label, x, best):
    su.atomic.min(best, label[v], (x[v] + 9, v))


def least_three(v, label, x, best):
    su.atomic.min(best, label[v], (x[v] / 2, v // 2, -v))


@pytest.mark.parametrize("layout", LAYOUTS)
@few_draws
@draws
def test_words_keep_the_smallest(case, layout, seed, groups):
    drawn, pairs = Drawn(case, seed, groups), layout == "64 bits"
    best = case.graph.words(**LAYOUTS[layout])
    fn = least_pair if pairs else least_three
    su.vertex_map(case.graph, None, fn, args=(*drawn.on_device("label", "x"), best))
    offers = defaultdict(list)
    for v in range(N):
        x = int(drawn.x[v])
        offers[int(drawn.label[v])].append((x + 9, v) if pairs else (x / 2, v // 2, -v))
    fields = [
        case.host(getattr(best, name)).tolist() for name in ("w", "a", "b")[: len(LAYOUTS[layout]["payload"]) + 1]
    ]
    for c, found in enumerate(zip(*fields, strict=True)):
        if c in offers:
            assert found == min(offers[c])
        else:
            assert found[1] == 2**32 - 1


def lightest(u, v, w, comp, best):
    if comp[u] != comp[v]:
        su.atomic.min(best, comp[u], (w, min(u, v), max(u, v)))


def nearest(u, v, x, comp, best):
    su.atomic.min(best, comp[x], (u + v, u, v))


@few_draws
@draws
def test_words_of_edges_and_of_common_neighbours(case, seed, groups):
    drawn, graph = Drawn(case, seed, groups), case.graph
    (label,), keys = drawn.on_device("label"), {"w": "int32", "a": "uint32", "b": "uint32"}
    best, closest = graph.words(keys=keys), graph.words(keys=keys)
    su.edge_map(graph, None, lightest, args=(label, best))
    su.intersect(graph, u=[3, 5, 7], v=[4, 3, 3], fn=nearest, args=(label, closest))
    offers, common = defaultdict(list), defaultdict(list)
    neighbors = defaultdict(set)
    for u, v, w in case.arcs:
        neighbors[u].add(v)
        if drawn.label[u] != drawn.label[v]:
            offers[int(drawn.label[u])].append((w, min(u, v), max(u, v)))
    for u, v in ((3, 4), (5, 3), (7, 3)):
        for x in neighbors[u] & neighbors[v]:
            common[int(drawn.label[x])].append((u + v, u, v))
    for words, right in ((best, offers), (closest, common)):
        fields = zip(*(case.host(getattr(words, name)).tolist() for name in ("w", "a", "b")), strict=True)
        for c, found in enumerate(fields):
            assert found == min(right[c], default=(2**31 - 1, 2**32 - 1, 2**32 - 1))


# -- the second and third phases ---------------------------------------------------------------------------------------


def farther(u, v, w, level, per_level, label, last):
    return level[u] + 1


def count_level(v, step, level, per_level, label, last):
    su.atomic.add(per_level, step, 1)
    su.atomic.max(last, label[v], step)
    return True


@few_draws
@draws
def test_then_of_pushes(case, seed, groups):
    drawn, graph, source = Drawn(case, seed, groups), case.graph, seed % N
    level = np.full(N, 99)
    level[source] = 0
    level, per_level, last, (label,) = case.array(level), drawn.zeros(), drawn.zeros(), drawn.on_device("label")
    args = (level, per_level, label, last)
    su.propagate(graph, [source], farther, out=level, args=args, reduce="min", then=count_level)
    reached, front, counts, latest = {source}, {source}, [0] * N, [0] * N
    for step in range(1, N):
        front = {v for u, v, _ in case.arcs if u in front} - reached
        reached |= front
        counts[step] = len(front)
        for v in front:
            latest[drawn.label[v]] = step
    assert case.host(per_level).tolist()[:N] == counts
    assert case.host(last).tolist()[:N] == latest
    once, (label,) = drawn.zeros(), drawn.on_device("label")
    level = case.array(np.where(np.arange(N) == source, 0, 99))
    su.advance(
        graph, [source], farther, out=level, args=(level, once, label, drawn.zeros()), reduce="min", then=count_level
    )
    assert int(once[1]) == counts[1]


def weighed(u, v, w, x, label, total, least):
    return x[u] * w


def total_of_label(v, value, x, label, total, least):
    su.atomic.add(total, label[v], value)
    su.atomic.min(least, label[v], (value, v))
    return value > 0


@pytest.mark.parametrize("everything", [True, False])
@few_draws
@draws
def test_then_of_a_pull(case, everything, seed, groups):
    drawn, graph = Drawn(case, seed, groups), case.graph
    x, label = drawn.on_device("x", "label")
    total, least = drawn.zeros(), graph.words(keys={"w": "int64"}, payload={"v": "uint32"})
    given = None if everything else drawn.ids
    kept = su.neighbor_reduce(
        graph, given, weighed, args=(x, label, total, least), reduce="sum", over="in", then=total_of_label
    )
    sums, chosen = [0] * N, range(N) if everything else drawn.ids.tolist()
    for u, v, w in case.arcs:
        sums[v] += int(drawn.x[u]) * w
    right = [0] * N
    for v in chosen:
        right[drawn.label[v]] += sums[v]
    assert case.host(total).tolist()[:N] == right
    assert case.members(kept) == sorted(v for v in chosen if sums[v] > 0)
    found = list(zip(case.host(least.w).tolist(), case.host(least.v).tolist(), strict=True))
    for c in range(groups):
        offers = [(sums[v], v) for v in chosen if drawn.label[v] == c]
        assert found[c] == min(offers, default=(2**63 - 1, 2**32 - 1))


def smallest_label(u, v, w, label, wanted, size, moved):
    return label[u] + size[label[u]] * 0 if u != v else label[v]


def choose(v, value, label, wanted, size, moved):
    wanted[v] = min(value, label[v])
    if value < label[v]:
        su.atomic.add(moved, value, 1)
        return 2
    return 0


def move(v, label, wanted, size, moved):
    if wanted[v] != label[v]:
        su.atomic.add(size, label[v], -1)
        su.atomic.add(size, wanted[v], 1)
        label[v] = wanted[v]


@few_draws
@draws
def test_commit_keeps_totals(case, seed, groups):
    """Labels move to the smallest beside them, and the sizes of the labels with them, which functions read."""
    drawn, graph, rounds = Drawn(case, seed, groups), case.graph, 1 + seed % 4
    label, wanted, moved = case.array(drawn.label), case.array(drawn.label), drawn.zeros()
    size = case.array(np.bincount(drawn.label, minlength=N))
    args = (label, wanted, size, moved)
    su.converge(
        graph, None, smallest_label, args=args, reduce="min", over="in", then=choose, commit=move, wake="out",
        max_steps=rounds,
    )  # fmt: skip
    right, active, into = drawn.label.tolist(), set(range(N)), [0] * N
    for _ in range(rounds):
        best = {v: min([right[u] for u, x, _ in case.arcs if x == v], default=2**62) for v in active}
        movers = {v: c for v, c in best.items() if c < right[v]}
        for v, c in movers.items():
            right[v] = c
            into[c] += 1
        active = {v for u, v, _ in case.arcs if u in movers}
    assert case.host(label).tolist() == right
    assert case.host(size).tolist() == np.bincount(right, minlength=N).tolist()
    assert case.host(moved).tolist()[:N] == into


# -- bad calls ---------------------------------------------------------------------------------------------------------


def reads_moved(u, v, w, label, wanted, size, moved):
    return moved[label[u]]


def test_what_is_read_meanwhile_takes_no_effects(case):
    graph, zeros = case.graph, case.array(np.zeros(N, np.int64))
    args = tuple(zeros.copy() for _ in range(4))
    with pytest.raises(RequirementError, match=r"args\[3\]: then has effects on it, and the edge function reads it"):
        su.converge(graph, None, reads_moved, args=args, reduce="min", over="out", then=choose)
    with pytest.raises(RequirementError, match=r"args\[1\] is out"):
        su.advance(graph, None, farther, out=args[1], args=args, reduce="min", then=count_level)
    with pytest.raises(RequirementError, match=r"args\[3\] is in swap"):
        su.converge(
            graph, None, smallest_label, args=args, reduce="min", over="out", then=choose, wake=None, max_steps=1,
            swap=[(args[0], args[3])],
        )  # fmt: skip
    with pytest.raises(EdgeFunctionError, match="cannot be called in a function whose values are reduced"):
        su.neighbor_reduce(graph, None, lightest, args=args[:2], reduce="min")
    assert all(not case.host(array).any() for array in args)
