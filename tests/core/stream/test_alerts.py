"""Alerts by name: against a model in Python and NetworkX, over recycled ids, slides left out, kills and other rules."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError

CPU = {"device": "cpu"}


def events(seed: int, count: int = 400, names: int = 40, ends: int = 12) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    alphabet = np.array([f"n{i}" for i in range(names)], object)
    src, dst = alphabet[np.minimum(rng.geometric(0.15, (2, count)), names) - 1]
    time = np.sort(rng.integers(0, ends * 10, count))
    return {"time": time, "src": src, "dst": dst, "weight": rng.integers(1, 9, count)}


def window(table: dict[str, Any], **options: Any) -> st.Window:
    return st.Window(table, **{"size": "20", "slide": "10", "names": True, "combine": "sum", "graph": CPU, **options})


def edges_of(table: dict[str, Any], w: Any) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for time, src, dst, weight in zip(*(part.tolist() for part in table.values()), strict=True):
        if w.start <= time < w.end:
            found[src, dst] = found.get((src, dst), 0) + weight
    return found


def fan_out(edges: dict[tuple[str, str], int]) -> dict[str, int]:
    found = {name: 0 for edge in edges for name in edge}
    for src, _ in edges:
        found[src] += 1
    return found


def fires(rule: dict[str, Any], new: float, old: float | None) -> bool:
    ((kind, bound),) = rule.items()
    if kind in ("above", "below"):
        sign = 1 if kind == "above" else -1
        return sign * new > sign * bound and not (old is not None and sign * old > sign * bound)
    if old is None:
        return False
    more, less = (new, old) if kind == "grew" else (old, new)
    return old > 0 and more >= float(bound[:-1]) * less if isinstance(bound, str) else more - less >= bound


RULES: list[dict[str, Any]] = [{"above": 3}, {"below": 2}, {"grew": 2}, {"shrank": 2}, {"grew": "2x"}, {"shrank": "3x"}]


@pytest.mark.parametrize("every", [1, 3])
def test_values_fire_by_name_as_the_model_says(every: int) -> None:
    table = events(1)
    job = window(table)
    tracker = job.track("degree", every=every)
    alerts = [job.alert(tracker, **rule) for rule in RULES]
    heavy = [job.alert("edges", **rule) for rule in RULES]
    before: dict[str, int] = {}
    edges_before: dict[tuple[str, str], int] = {}
    numbers = np.zeros((2, len(RULES)), int)
    left = 0
    for w in job:
        edges = edges_of(table, w)
        now = fan_out(edges)
        computed = job.slides % every == 0
        before = {name: value for name, value in before.items() if name in now}  # a name that left is a new one
        for at, rule in enumerate(RULES):
            wanted = {(name, value, before.get(name)) for name, value in now.items()
                      if computed and fires(rule, value, before.get(name))}  # fmt: skip
            rows = [*alerts[at].fired]
            assert {row[-3:] for row in rows} == wanted
            assert len(rows) == len(wanted)
            changed = {(*edge, value, edges_before.get(edge)) for edge, value in edges.items()
                       if value != edges_before.get(edge) and fires(rule, value, edges_before.get(edge))}  # fmt: skip
            assert {row[1:] for row in heavy[at].fired} == changed
            numbers[:, at] += len(rows), len(changed)
        left += len(w.delta.deleted_vertices)
        before, edges_before = now if computed else before, edges
    assert numbers.all()
    assert left > 10


def components(edges: dict[tuple[str, str], int]) -> list[set[str]]:
    return [*nx.connected_components(nx.Graph([*edges]))]


def test_groups_fire_as_networkx_finds_them() -> None:
    table = events(5, count=170, names=80)
    job = window(table)
    parts = job.track("wcc")
    large, merged = job.alert(parts, size_above=6), job.alert(parts, merged=3)
    before: list[set[str]] = []
    seen = np.zeros(2, int)
    for w in job:
        now = components(edges_of(table, w))
        grown = {(min(group), len(group)) for group in now
                 if len(group) > 6 and not any(len(old) > 6 and old & group for old in before)}  # fmt: skip
        assert {row[1:3] for row in large.fired} == grown
        joined = {(min(group), len(group), min(old), len(old)) for group in now
                  for olds in [[old for old in before if len(old) >= 3 and old & group]]
                  if len(olds) > 1 for old in olds}  # fmt: skip
        assert {row[1:] for row in merged.fired} == joined
        seen += len(grown), len(joined)
        before = now
    assert seen.all()


def test_groups_join_after_a_slide_of_a_graph_without_vertices() -> None:
    table = {"time": [0, 10, 11, 20], "src": ["a", "a", "c", "b"], "dst": ["b", "b", "d", "c"], "kind": [-1, 1, 1, 1]}
    job = window(table, size="30", combine="last")
    merged = job.alert(job.track("wcc"), merged=1)
    found = [[row[1:] for row in merged.fired] for _ in job]
    assert found == [[], [], [("a", 4, "a", 2), ("a", 4, "c", 2)]]


def test_sinks_after_kills_are_those_of_one_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(folder: Any, most: int) -> None:
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        job = window(events(2), checkpoint="state", checkpoint_every=1)
        out = job.sink("values.csv")
        tracker = job.track("degree")
        job.alert(tracker, above=3, sink=out)
        job.alert(tracker, grew="2x", sink=out)
        job.alert(job.track("wcc"), merged=2, sink="merged.jsonl")
        job.alert("edges", grew=4, sink="edges.csv")
        with job:
            for _ in job:
                if job.slides > most:
                    break

    run("once", 99)
    for most in range(1, 15):
        run("killed", most)
    for name in ("values.csv", "merged.jsonl", "edges.csv"):
        wanted = (tmp_path / "once" / name).read_text()
        assert wanted.count("\n") > 1
        assert (tmp_path / "killed" / name).read_text() == wanted


def test_another_rule_or_tracker_is_refused_on_going_on(tmp_path: Any) -> None:
    def job(**rule: Any) -> st.Window:
        made = window(events(2), checkpoint=tmp_path / "state", checkpoint_every=1)
        tracker = made.track("degree", over=rule.pop("over", "out"))
        if rule:
            made.alert(tracker, **rule)
        return made

    first = job(above=3)
    next(first), next(first)
    next(job(above=3))
    for other in ({"above": 4}, {"below": 3}, {}, {"above": 3, "over": "in"}):
        with pytest.raises(ParameterError, match=r"alerts were degree above=3, and are"):
            next(job(**other))


def test_a_search_that_reaches_nothing_has_no_value() -> None:
    job = st.Window({"src": [0, 3, 0, 1], "dst": [1, 4, 2, 3]}, size=4, slide=1, graph=CPU)
    near = job.alert(job.track("bfs", source=0), below=3)
    found = [[row[1:] for row in near.fired] for _ in job]
    assert found == [[(0, 0, None), (1, 1, None)], [], [(2, 1, None)], [(3, 2, None)]]


def test_what_is_refused() -> None:
    job = window(events(1))
    degree, parts, other = job.track("degree"), job.track("wcc"), window(events(1)).track("degree")
    for rule, message in (
        ({}, "one of above=, below=, grew=, shrank=, size_above=, merged=, got 0"),
        ({"above": 1, "below": 2}, "got 2 of them"),
        ({"above": "5x"}, "above must be a number"),
        ({"grew": "fast"}, "grew must be a number"),
        ({"grew": "ax"}, "a ratio such as '5x', got 'ax'"),
        ({"grew": 0}, "grew must be in"),
        ({"merged": 2}, "merged= is not for degree: above, below, grew, shrank are, where there is a value per vertex"),
    ):
        with pytest.raises(ParameterError, match=message):
            job.alert(degree, **rule)
    with pytest.raises(ParameterError, match="above= is not for wcc: size_above, merged are"):
        job.alert(parts, above=3)
    with pytest.raises(ParameterError, match=r"a tracker of job\.track, or 'edges'"):
        job.alert(other, above=3)
    next(job)
    with pytest.raises(RequirementError, match="before the loop begins"):
        job.alert(degree, above=3)
    walks = window(events(1))
    walks.alert(walks.track("random_walks"), above=3)
    with pytest.raises(ParameterError, match="random_walks gives no value per vertex"):
        next(walks)
    for name, params, message in (
        (
            "edge_betweenness",
            {},
            "edge_betweenness gives no value per vertex: an alert compares such values",
        ),
        (
            "personalized_pagerank",
            {"sources": [events(1)["src"][0]]},
            "no value per vertex alone, but one for each source: an alert",
        ),
    ):
        job = window(events(1))
        job.alert(job.track(name, **params), above=3)
        with pytest.raises(ParameterError, match=message):
            next(job)
    plain = st.Window({"src": [0], "dst": [1]}, size=1, slide=1, graph=CPU)
    plain.alert("edges", above=3)
    with pytest.raises(RequirementError, match="combine='count' makes some"):
        next(plain)


def test_a_tracker_computed_once_in_a_while_has_rows_by_name(tmp_path: Any) -> None:
    """As of the last slide for which it was computed, without names that have left since; also on going on."""
    table, seen = events(1), 0
    job = window(table, checkpoint=tmp_path, checkpoint_every=1)
    tracker, then = job.track("degree", every=3), dict[str, int]()
    with pytest.raises(RequirementError, match="no result before slide 3"):
        tracker.top(2)
    for _ in range(2):
        for w in job:
            now = fan_out(edges_of(table, w))
            then = now if job.slides % 3 == 0 else {name: value for name, value in then.items() if name in now}
            if job.slides < 3:
                continue
            frame = tracker.top(100)
            assert dict(zip(frame["name"], frame["value"].tolist(), strict=True)) == then
            assert frame["value"].tolist() == sorted(then.values(), reverse=True)
            assert set(tracker.to_arrow().column("name").to_pylist()) == set(then)
            name = min(then)
            assert (tracker.at(names=name), tracker.at(name)) == (then[name], then[name])
            for other in now.keys() - then.keys():
                with pytest.raises(RequirementError, match="a vertex came after the last slide"):
                    tracker.at(other)
                seen += 1
            changed = tracker.changed()
            assert set(changed["name"][changed["change"] != "left"]) <= set(then)
            assert job.slides % 3 == 0 or set(changed["change"]) <= {"left"} or job.slides in (3, 7)
            if job.slides == 6:
                break
        job = window(table, checkpoint=tmp_path, checkpoint_every=1)
        tracker = job.track("degree", every=3)
    assert seen > 0


@pytest.mark.gpu
def test_trackers_computed_once_in_a_while_and_alerts_on_cuda_are_those_on_the_cpu() -> None:
    def slides(device: str) -> list[Any]:
        job = window(events(3, count=120, ends=5), graph={"device": device})
        often, degree = job.track("degree", every=2), job.track("degree")
        busy, found = job.alert(degree, above=2), list[Any]()
        for _ in job:
            found.append(sorted(row[2:] for row in busy.fired))
            if job.slides > 1:
                changed = often.changed()
                found += [[*often.top(3)], sorted(zip(changed["name"], changed["change"], strict=True))]
                found.append(int(often.at(names=often.top(1)["name"][0])))
        return found

    assert slides("cuda") == slides("cpu")
