"""``su.wedges`` on every backend and device, against sums over lists of neighbours."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import Device, resolve_device
from suricate.cpu.plain import PLAIN
from suricate.errors import (
    EdgeFunctionError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
)
from suricate.operators import wedges as module

N, BEST = 40, 4
IDS = [3, 7, 3, 0, 39]
EVERY = ("directed", "ids", "skip", "over")


def one(u, v, x, degree):
    """Count wedges."""
    return 1


def inverse(u, v, x, degree):
    """Count wedges by the degree of the middle, which is above 1 where ``x`` is not ``u``; loops do not count."""
    if v == u:
        return 0.0
    return 1.0 / math.log(degree[v]) if v != x else 0.0


def jaccard(u, x, total, degree):
    """The share of common neighbours."""
    return total / (degree[u] + degree[x] - total)


def odd(u, x, total, *others):
    """Of odd vertices alone."""
    return total if x % 2 == 1 else np.nan


def made(device: Device, backend: str | None = None, *, directed: bool = False, m: int = 130) -> su.Graph:
    graph = su.Graph(N, device=device, backend=backend, directed=directed, in_edges=directed)
    graph.insert_edges(*np.random.default_rng(2).integers(0, N, (2, m)))
    return graph


def expected(
    graph: su.Graph, ids: Any, fn: Any, score: Any, degree: Any, skip: Any, over: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and their scores, by a loop over all wedges."""
    rows: dict[str, dict[int, list[int]]] = {"out": defaultdict(list), "in": defaultdict(list)}
    src, dst = (graph.device.to_numpy(part).tolist() for part in su.arcs(graph)[:2])
    for u, v in zip(src, dst, strict=True):
        rows["out"][u].append(v)
        rows["in"][v].append(u)
    labels, scores = np.full((len(ids), BEST), su.EMPTY), np.full((len(ids), BEST), -np.inf)
    for i, u in enumerate(ids):
        totals: dict[int, float] = defaultdict(float)
        for v in rows[over[0]][u]:
            for x in rows[over[1]][v]:
                if x != u and not (skip and x in rows[over[0]][u]):
                    totals[x] += fn(u, v, x, degree)
        points = [(total if score is None else score(u, x, total, degree), x) for x, total in totals.items() if total]
        best = sorted((-value, x) for value, x in points if value == value)[:BEST]
        for at, (value, x) in enumerate(best):
            labels[i, at], scores[i, at] = x, -value
    return labels, scores


@pytest.mark.parametrize(
    EVERY,
    [
        (False, IDS, "neighbors", ("out", "in")), (False, None, None, ("out", "in")),
        (True, IDS, None, ("out", "in")), (True, None, "neighbors", ("in", "in")), (True, IDS, None, ("in", "out")),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("fn", "score"), [(one, jaccard), (inverse, None), (one, odd)])
def test_wedges_are_those_of_lists(
    device: Device, backend: str, directed: bool, ids: Any, skip: Any, over: Any, fn: Any, score: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "SLICE", {"cpu": 60, "cuda": 60})  # several slices, and vertices that have more
    graph = made(device, backend, directed=directed)
    degree = device.to_numpy(graph.degrees()).astype(np.int64) + 2
    found = su.wedges(graph, ids, fn, score, best=BEST, args=(device.xp.asarray(degree),), skip=skip, over=over)
    labels, scores = expected(graph, range(N) if ids is None else ids, fn, score, degree, skip, over)
    np.testing.assert_array_equal(device.to_numpy(found.labels), labels)
    np.testing.assert_allclose(device.to_numpy(found.scores), scores, rtol=1e-12)


def test_a_hub_has_more_wedges_than_vertices() -> None:
    """Of two hubs with the same neighbours each is the best of the other, by as many wedges as these."""
    n = 60 if PLAIN else 3000
    graph = su.Graph(n, device="cpu", directed=False)
    graph.insert_edges(np.repeat([0, 1], n - 2), np.tile(np.arange(2, n), 2))
    weight = np.random.default_rng(1).random(n)
    found = su.wedges(graph, [0, 2], lambda u, v, x, weight: weight[v], best=2, args=(weight,))
    assert found.labels.tolist() == [[1, su.EMPTY], [3, 4]]
    assert found.scores[0, 0] == pytest.approx(weight[2:].sum(), rel=1e-12)


@pytest.mark.slow
def test_columns_closures_and_repeated_calls() -> None:
    graph, factor = made(resolve_device("cpu")), 2
    graph.columns["heat"] = np.arange(N, dtype=np.float64)
    degree = graph.degrees().astype(np.int64)
    for factor in (2, 3):
        found = su.wedges(graph, [1], lambda u, v, x, heat: heat[v] * factor, best=1, args=("heat",))  # noqa: B023
        labels, scores = expected(graph, [1], lambda u, v, x, degree: v * factor, None, degree, True, ("out", "in"))  # noqa: B023
        assert (found.labels[0, 0], found.scores[0, 0]) == (labels[0, 0], scores[0, 0])
    assert su.wedges(graph, [], one, best=2, args=(degree,)).labels.shape == (0, 2)
    graph.delete_vertices([1])
    assert su.wedges(graph, [1], one, best=2, args=(degree,)).labels.tolist() == [[su.EMPTY] * 2]


def test_both_directions_are_for_undirected_graphs() -> None:
    """There they are the one that is; the error on a directed graph says how to make an undirected one."""
    one_way, degree = made(resolve_device("cpu"), directed=True), np.full(N, 3)
    with pytest.raises(RequirementError, match=r"'both' are for undirected graphs: make one, as Graph\.from_coo"):
        su.wedges(one_way, [1], one, best=2, args=(degree,), over=("both", "out"))
    graph = su.Graph.from_coo(one_way.edges().src, one_way.edges().dst, directed=False, device="cpu")
    given = graph, None, inverse, None
    found, right = (su.wedges(*given, best=2, args=(degree,), over=over) for over in (("both", "both"), ("out", "in")))
    assert found.labels.tolist() == right.labels.tolist()
    assert found.labels[0, 0] != su.EMPTY
    with pytest.raises(RequirementError, match=r"undirected graph.*directed=False"):
        one_way.compute("similarity", pairs=([0], [1]))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"best": 0}, ParameterError, "best"), ({"over": "out"}, ShapeError, "pair"),
        ({"over": ("out", "all")}, UnknownNameError, "over"), ({"skip": "all"}, UnknownNameError, "skip"),
        ({"ids": [N]}, VertexRangeError, "ids"), ({"fn": len}, EdgeFunctionError, "plain"),
        ({"fn": lambda u, v: 1}, EdgeFunctionError, "2 parameters"), ({"args": 3}, ParameterError, "tuple"),
    ],
)  # fmt: skip
def test_what_does_not_fit(options: dict[str, Any], error: type[Exception], match: str) -> None:
    graph = made(resolve_device("cpu"))
    given: dict[str, Any] = {"ids": [1], "fn": one, "best": 2, "args": (graph.degrees(),), **options}
    with pytest.raises(error, match=match):
        su.wedges(graph, given.pop("ids"), given.pop("fn"), **given)
