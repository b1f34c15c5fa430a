"""Answers after every event of a slide: against a model of live events in Python, and NetworkX."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError, UnknownNameError

CPU = {"device": "cpu"}
RULES: dict[str, Any] = {
    "last": lambda values: values[-1], "first": lambda values: values[0], "sum": sum, "count": len, "min": min,
    "max": max,
}  # fmt: skip


def events(kinds: bool, seed: int = 1, count: int = 240) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    names = np.array([f"n{i}" for i in range(14)], object)
    src, dst = names[rng.integers(0, 14, (2, count))]
    table = {"time": np.sort(rng.integers(0, 60, count)), "src": src, "dst": dst, "weight": rng.integers(1, 9, count)}
    return table | {"kind": rng.choice([1, 1, 1, 0, -1], count)} if kinds else table


def apply(live: list[Any], event: Any) -> list[Any]:
    _, src, dst, _, kind = event
    if kind < 1:
        same = [one for one in live if one[1:3] == (src, dst)]
        gone = same[-1:] if kind < 0 else same
        live = [one for one in live if not any(one is other for other in gone)]
    return live if kind < 0 else [*live, event]


def distance(live: list[Any], combine: str, target: str) -> float:
    weights: dict[Any, list[int]] = {}
    for _, src, dst, weight, _ in live:
        weights.setdefault((src, dst), []).append(weight)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((*edge, RULES[combine](values)) for edge, values in weights.items())
    try:
        return nx.shortest_path_length(graph, "n0", target, "weight")
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return np.inf


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [False, True])
@pytest.mark.parametrize("combine", RULES)
def test_distances_after_every_event_are_those_of_the_model(kinds: bool, combine: str) -> None:
    table = events(kinds)
    job = st.Window(table, size="20", slide="10", names=True, combine=combine, graph=CPU)
    paths = job.track("sssp", source="n0")
    rows = [*zip(*(part.tolist() for part in table.values()), strict=True)]
    rows = rows if kinds else [(*row, 1) for row in rows]
    live: list[Any] = []
    compared = 0
    for w in job:
        live = [one for one in live if one[0] >= w.start]
        if w.graph.names.find(["n3"])[0] < 0:
            continue
        wanted = [(-1, distance(live, combine, "n3"))]
        arriving = [row for row in rows if w.end - 10 <= row[0] < w.end]
        for event in arriving:
            live = apply(live, event)
            wanted.append((len(wanted) - 1, distance(live, combine, "n3")))
        found = w.replay(paths, at="n3")
        if len(found) == len(wanted):  # else names that no event of the slide leaves are not there
            assert [row[0] for row in found] == [row[0] for row in wanted]
            reached = [np.inf if each == -1 else each for each in found["distance"].tolist()]
            assert reached == [row[1] for row in wanted]
            shown = [(*row[:3], ("delete", "set", "insert")[row[4] + 1]) for row in arriving]
            assert [row[1:5] for row in found][1:] == shown
            compared += 1
        assert found["distance"][-1] == paths.at(names="n3").distance
    assert compared >= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "directed"),
    [*itertools.product(("wcc", "degree", "bfs"), (True, False)), ("kcore", False), ("triangles", False)],
)
def test_the_last_answers_are_those_of_the_slide(name: str, directed: bool) -> None:
    table = events(True, seed=4)
    job = st.Window(table, size="20", slide="5", names=True, combine="sum", graph={**CPU, "directed": directed})
    tracker = job.track(name, **({"source": "n0"} if name == "bfs" else {}))
    for w in job:
        names = [*w.graph.names]
        last = w.replay(tracker, at=names).to_arrow().to_pylist()[-len(names) :]
        now = tracker.at(names=names)
        field = {"wcc": "label", "degree": "value", "bfs": "level", "kcore": "core", "triangles": "clustering"}[name]
        assert [row[field] for row in last] == np.asarray(now if name == "degree" else getattr(now, field)).tolist()
        number = {"wcc": "num_components", "kcore": "degeneracy", "triangles": "transitivity"}.get(name)
        if number is not None:
            assert last[0][number] == getattr(tracker.result, number)


def test_what_is_refused() -> None:
    job = st.Window(events(False), size="20", slide="10", names=True, combine="sum", graph=CPU)
    ranks, degree = job.track("hits"), job.track("degree", weighted=True)
    w = next(job)
    with pytest.raises(RequirementError, match="hits has no step"):
        w.replay(ranks, at="n0")
    with pytest.raises(RequirementError, match="degree has no step for sums of weights"):
        w.replay(degree, at="n0")
    with pytest.raises(UnknownNameError, match="nobody"):
        w.replay(degree, at="nobody")
    with pytest.raises(ParameterError, match=r"a tracker of job\.track"):
        w.replay(None, at="n0")
    next(job)
    with pytest.raises(RequirementError, match="is over"):
        w.replay(ranks, at="n0")
