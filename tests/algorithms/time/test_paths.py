"""Paths in time against two oracles: Dijkstra over events, and all walks by brute force on small logs."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from data_folder import DATA
from turns import few

import suricate as su
import suricate.stream as st
from suricate import plugins
from suricate.algorithms.time import (
    Arrivals,
    arrivals_cuda,
    earliest_arrival,
    fastest,
    fastest_cuda,
    latest_departure,
    temporal_walks,
)
from suricate.algorithms.time.correcting import arrived
from suricate.base.devices import CPU, Device
from suricate.errors import ParameterError, RequirementError, UnknownNameError, VertexRangeError
from suricate.io import read
from suricate.testing import measure

NEVER, TOO_LATE = 2**63 - 1, -(2**63)
Row = tuple[int, int, int, int]  #: number, time, source, destination


def drawn(seed: int, count: int = 60, n: int = 8, times: int = 25) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(0, times, count)), *rng.integers(0, n, (2, count))


def log_of(columns: Any, n: int = 8, **options: Any) -> su.Events:
    log = su.Events(n, device="cpu", **options)
    log.append(*columns)
    return log


def rows_of(columns: Any, *, directed: bool = True, start: int | None = None, end: int | None = None) -> list[Row]:
    rows = [(i, *row) for i, row in enumerate(zip(*(part.tolist() for part in columns), strict=True))]
    rows = [row for row in rows if (start is None or row[1] >= start) and (end is None or row[1] < end)]
    return rows if directed else rows + [(i, t, v, u) for i, t, u, v in rows]


def by_dijkstra(rows: list[Row], n: int, source: int, *, through: bool) -> list[float]:
    """Earliest arrivals: the heap has vertices by time; of each pair the next event is found by bisection."""
    times: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for _, t, u, v in sorted(rows, key=lambda row: row[1]):
        times[u][v].append(t)
    reached, heap = [float("inf")] * n, [(-float("inf"), source)]
    reached[source] = -float("inf")
    while heap:
        now, u = heapq.heappop(heap)
        if now > reached[u]:
            continue
        for v, known in times[u].items():
            at = (bisect_left if through else bisect_right)(known, now)
            if at < len(known) and known[at] < reached[v]:
                reached[v] = known[at]
                heapq.heappush(heap, (known[at], v))
    return reached


def by_brute_force(rows: list[Row], source: int, *, through: bool) -> dict[int, set[tuple[int, int]]]:
    """All (departure, arrival) of paths from the source, by vertex."""
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    todo = [(v, t, t) for _, t, u, v in rows if u == source]
    while todo:
        at, departed, now = todo.pop()
        if (departed, now) in found[at]:
            continue
        found[at].add((departed, now))
        todo += [(v, departed, t) for _, t, u, v in rows if u == at and (t > now or (through and t == now))]
    return found


def check_path(result: Arrivals, rows: list[Row], source: int, vertex: int, *, through: bool) -> None:
    """Go back from ``vertex`` to the source, event by event."""
    known: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        known[row[0]].append(row)
    at, now, steps = vertex, int(result.time[vertex]), 0
    while at != source:
        event = int(result.event[at])
        _, t, u, _ = next(row for row in known[event] if row[3] == at and (len(known[event]) == 1 or row[2] != at))
        assert t == result.time[at]
        assert steps == 0 or t < now or (through and t == now)
        at, now, steps = u, t, steps + 1
        assert steps <= len(rows)


@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("directed", [True, False])
def test_small_logs(through: bool, directed: bool) -> None:
    for seed in range(40):
        times = (6, 25)[seed % 2]
        columns, limits = drawn(seed, times=times), (None, None) if seed % 4 else (times // 4, times - 2)
        log = log_of(columns, directed=directed)
        rows = rows_of(columns, directed=directed, start=limits[0], end=limits[1])
        options: dict[str, Any] = {"start": limits[0], "end": limits[1], "through": through}
        pairs = by_brute_force(rows, 0, through=through)
        first, quick = earliest_arrival(log, 0, **options), fastest(log, 0, **options)
        right = by_dijkstra(rows, 8, 0, through=through)
        for v in range(1, 8):
            assert first.time[v] == min((t for _, t in pairs[v]), default=NEVER)
            assert first.time[v] == right[v] or (right[v] == float("inf") and first.time[v] == NEVER)
            assert (first.event[v] < 0) == (first.time[v] == NEVER)
            duration = min((t - begun for begun, t in pairs[v]), default=NEVER)
            assert quick.duration[v] == duration
            if duration < NEVER:
                check_path(first, rows, 0, v, through=through)
                departed = int(quick.departure[v])
                assert (departed, departed + duration) in pairs[v]
                last = rows[0] if not rows else next(row for row in rows if row[0] == quick.event[v])
                assert last[1] == departed + duration
                assert v in last[2:]
        begin = columns[0][0] if limits[0] is None else limits[0]
        assert first.time[0] == quick.departure[0] == begin
        assert quick.duration[0] == 0
        assert first.event[0] == quick.event[0] == -1
        reach = latest_departure(log, 0, **options)
        back = {v: by_brute_force(rows, v, through=through)[0] for v in range(1, 8)}
        for v in range(1, 8):
            assert reach.time[v] == max((begun for begun, _ in back[v]), default=TOO_LATE)
            assert (reach.event[v] < 0) == (reach.time[v] == TOO_LATE)
            if reach.event[v] >= 0:
                there = next(row for row in rows if row[0] == reach.event[v])
                assert there[1] == reach.time[v]
                assert v in there[2:]
        assert reach.time[0] == (columns[0][-1] if limits[1] is None else limits[1])


def test_events_of_one_time_in_the_wrong_order() -> None:
    """A chain 0 -> 1 -> ... -> 199 at one time, stored backwards; and shuffled."""
    count = 199
    for order in (np.arange(count)[::-1], np.random.default_rng(1).permutation(count)):
        log = log_of((np.full(count, 5), order, order + 1), count + 1)
        strict, all_through = earliest_arrival(log, 0), earliest_arrival(log, 0, through=True)
        assert (strict.time[2:] == NEVER).all()
        assert strict.time[1] == 5
        assert all_through.time.tolist() == [5] * (count + 1)
        assert fastest(log, 0, through=True).duration.tolist() == [0] * (count + 1)
        assert latest_departure(log, count, through=True).time.tolist() == [5] * (count + 1)
        assert order[all_through.event[1:]].tolist() == list(range(count))


def test_removed_and_expired_events_lead_nowhere() -> None:
    columns = drawn(3, 200, 12, 90)
    log = log_of(columns, 12)
    gone = np.arange(0, 200, 3)
    log.remove(gone)
    log.expire(20)
    rows = [row for row in rows_of(columns, start=20) if row[0] not in set(gone.tolist())]
    for through in (False, True):
        found, right = earliest_arrival(log, 4, through=through), by_dijkstra(rows, 12, 4, through=through)
        for v in set(range(12)) - {4}:
            assert found.time[v] == (NEVER if right[v] == float("inf") else right[v])
            if found.event[v] >= 0:
                assert found.event[v] in {row[0] for row in rows}


def test_numbers_past_32_bits() -> None:
    """A log that has had 2^32 - 50 events: its rings are cut, and numbers do not fit 32 bits."""
    columns = drawn(5, 100)
    log, plain = su.Events(8, device="cpu"), log_of(columns)
    first = 2**32 - 50
    log._record.first = log._record.next = first
    for at in range(0, 100, 10):
        log.append(*(part[at : at + 10] for part in columns))
        log.expire(int(columns[0][max(at - 40, 0)]))
    kept = log._record.first - first
    assert 0 < kept < 60
    assert log._record.next > 2**32
    options = {"start": int(columns[0][kept])}
    for function in (earliest_arrival, latest_departure, fastest):
        found, right = function(log, 2), function(plain, 2, **options)
        assert np.where(found.event < 0, -1, found.event - first).tolist() == right.event.tolist()
        assert found[0].tolist() == right[0].tolist()


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("through", [False, True])
def test_real_logs_equal_dijkstra(through: bool) -> None:
    file = read(DATA / "temporal" / "CollegeMsg.txt.gz")
    columns = tuple(getattr(file, name).astype(np.int64) for name in ("time", "src", "dst"))
    n = int(max(part.max() for part in columns[1:])) + 1
    order = np.argsort(columns[0], kind="stable")
    columns = tuple(part[order] for part in columns)
    log, rows = log_of(columns, n, over="out"), rows_of(columns)
    for source in (int(columns[1][0]), int(columns[1][5000]), int(columns[1][-1])):
        found = earliest_arrival(log, source, through=through)
        right = np.array(by_dijkstra(rows, n, source, through=through))
        right[source] = columns[0][0]
        reached = np.isfinite(right)
        assert (found.time[reached] == right[reached]).all()
        assert (found.time[~reached] == NEVER).all()
        corrected = arrived(log, source, None, None, through=through, backwards=False)
        assert corrected[1].tolist() == found.event.tolist()


def test_the_ends_of_logs() -> None:
    for function in (earliest_arrival, latest_departure, fastest):
        empty = su.Events(3, device="cpu")
        assert function(empty, 1).event.tolist() == [-1] * 3
        assert function(empty, 1, start=4, end=4)[0].shape == (3,)
        log = log_of(([1, 2], [0, 1], [1, 2]), 3)
        assert (function(log, 0, start=5, end=2).event == -1).all()
        assert "event" in function(log, 0)._repr_html_()


def test_what_is_refused() -> None:
    log = log_of(([1, 2], [0, 1], [1, 2]), 3)
    with pytest.raises(ParameterError, match=r"earliest_arrival takes a log of events, su\.Events, got"):
        earliest_arrival(su.Graph(3, device="cpu"), 0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="source is one vertex"):
        earliest_arrival(log, [0, 1])
    with pytest.raises(VertexRangeError):
        fastest(log, 3)
    with pytest.raises(ParameterError, match="start"):
        latest_departure(log, 0, start=0.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="through"):
        latest_departure(log, 0, through=1)  # type: ignore[arg-type]


@pytest.mark.gpu
def test_arrivals_wait_for_nothing() -> None:
    log = su.Events(5, device="cuda", over="out")
    log.append([1, 2, 3], [0, 1, 2], [1, 2, 3])
    su.earliest_arrival(log, 0)
    assert not measure(lambda: su.earliest_arrival(log, 0), log.device).waits
    assert su.earliest_arrival(log, 0).time.get().tolist() == [1, 1, 2, 3, 2**63 - 1]


def corrected_and_passed(
    device: Device, columns: Any, vertex: int, *, n: int, gone: Any = (), before: int = 0, number: int = 0,
    **options: Any
) -> Iterator[tuple[str, list[list[int]], list[list[int]]]]:  # fmt: skip
    """Yield the answers of label correcting on ``device``, and those of one pass over the same log on the CPU."""
    limits = {name: options.pop(name, None) for name in ("start", "end")}
    through, logs = options.pop("through"), []
    for each in (device, CPU):
        log = su.Events(n, device=each, **options)
        log._record.first = log._record.next = number
        log.append(*columns)
        log.remove(np.asarray(gone, np.int64) + number)
        log.expire(before)
        logs.append(log)
    for backwards, function in enumerate((earliest_arrival, latest_departure)):
        right = function(logs[1], vertex, through=through, **limits)
        if device.is_cuda:
            found = function(logs[0], vertex, through=through, **limits)
        else:
            found = Arrivals(*arrived(logs[0], vertex, *limits.values(), through=through, backwards=bool(backwards)))
            found.time[vertex] = right.time[vertex]
        yield function.__name__, [device.to_numpy(part).tolist() for part in found], [part.tolist() for part in right]


KINDS: list[dict[str, Any]] = [{"over": "out"}, {"over": "both"}, {"over": "in"}, {"directed": False}]


@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("kind", few(KINDS), ids=lambda kind: str(*kind.values()))
def test_label_correcting_equals_the_pass(kind: dict[str, Any], through: bool, device: Device) -> None:
    """Times and events: also at the ends of the range of times, past 2^32 events, and with removed events."""
    for seed in range(12):
        times = (3, 25, 6, 1)[seed % 4]
        columns = drawn(seed, 70, 9, times)
        options: dict[str, Any] = {"n": 9, "through": through, **kind}
        if seed % 3 == 1:
            options |= {"start": times // 4, "end": times - 1}
        if seed % 3 == 2:
            options |= {"gone": range(3, 70, 8), "before": times // 3, "number": 2**32 - 30}
        if seed == 3:
            columns[0][:20], columns[0][50:] = TOO_LATE, NEVER
        for name, found, right in corrected_and_passed(device, columns, 0, **options):
            assert found == right, (name, seed)
    none = np.empty(0, np.int64)
    for name, found, right in corrected_and_passed(device, (none, none, none), 2, n=3, through=through, **kind):
        assert found == right, name


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(*kind.values()))
def test_arrivals_over_long_rows_on_cuda_equal_the_pass(
    kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    """Rows that are cut into chunks, and rows that a warp passes together; few and many events at one time."""
    monkeypatch.setattr(arrivals_cuda, "WORK", 20)
    for seed, times in enumerate((40_000, 700, 25)):
        rng = np.random.default_rng(seed)
        ends = (3000 * rng.random((2, 40_000)) ** 4).astype(np.int64)
        columns = np.sort(rng.integers(0, times, 40_000)), *ends
        options = {"n": 3000, "through": False, "start": seed * times // 8, "end": times - seed, **kind}
        for vertex in (0, 5, 1500):
            for name, found, right in corrected_and_passed(device, columns, vertex, **options):
                assert found == right, (name, seed, vertex)


@pytest.mark.gpu
@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("kind", few(KINDS), ids=lambda kind: str(*kind.values()))
def test_fastest_paths_on_cuda_equal_the_pass(
    kind: dict[str, Any], through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Durations, departures and events: of many blocks, past 2^32 events, with removed and expired ones, and none."""
    monkeypatch.setattr(fastest_cuda, "WORK", 20)
    for seed, count in enumerate((70, 70, 70, 0, 6000)):
        columns = drawn(seed, count, 9 if count < 100 else 300, max((3, 25, 6, 1, 2000)[seed], 1))
        found = []
        for device in ("cuda", "cpu"):
            log = su.Events(300, device=device, **kind)
            log._record.first = log._record.next = 2**32 - 30
            log.append(*columns)
            limits = {"start": 1, "end": 20} if seed == 1 else {}
            if seed == 2:
                log.remove(np.arange(3, 70, 8) + 2**32 - 30)
                log.expire(2)
            answer = fastest(log, 2, through=through, **limits)
            found.append([log.device.to_numpy(part).tolist() for part in answer])
        assert found[0] == found[1], seed


@pytest.mark.parametrize("through", [False, True])
def test_the_last_event_of_a_fastest_path_is_the_first_that_is_as_fast(through: bool) -> None:
    """At one time a path arrives from 2, whose event comes before that by which 2 is reached, and from 0 itself."""
    log = log_of(([5, 5, 5], [2, 0, 0], [1, 2, 1]), 3)
    assert fastest(log, 0, through=through).event.tolist() == [-1, 0 if through else 2, 1]


def test_label_correcting_through_a_chain_of_one_time(device: Device) -> None:
    """Turns: a chain that is stored in random order takes many passes over the events of its time."""
    order = np.random.default_rng(1).permutation(60)
    columns = np.full(60, 5), order, order + 1
    for vertex in (0, 60, 31):
        for name, found, right in corrected_and_passed(device, columns, vertex, n=61, through=True, over="out"):
            assert found == right, name


def test_functions_are_found_by_their_hook() -> None:
    assert su.earliest_arrival is plugins.functions()["earliest_arrival"] is earliest_arrival
    assert {"latest_departure", "fastest", "temporal_walks"} <= plugins.functions().keys()


def test_vertices_by_name() -> None:
    log = su.Events(device="cpu", names=True, over="out")
    log.append([1, 2, 3], ["ann", "bob", "cid"], ["bob", "cid", "dan"])
    assert log.names is not None
    ids = {name: int(log.names.find([name])[0]) for name in ("ann", "bob", "cid", "dan")}
    assert earliest_arrival(log, "bob").time[ids["dan"]] == fastest(log, "ann").event[ids["dan"]] + 1 == 3
    assert latest_departure(log, "dan").time[ids["ann"]] == 1
    assert temporal_walks(log, ["ann", "bob"], 3).vertex.tolist() == [
        [ids[name] for name in ("ann", "bob", "cid", "dan")], [ids["bob"], ids["cid"], ids["dan"], int(su.EMPTY)],
    ]  # fmt: skip
    with pytest.raises(UnknownNameError):
        earliest_arrival(log, "eve")


@pytest.mark.parametrize("options", [{}, {"combine": "decay", "half_life": "9s"}])
def test_logs_of_windows(options: dict[str, Any]) -> None:
    """Each slide has the answers of a log with the events of its window; afterwards it has none."""
    columns = drawn(7, 150, 8, 80)
    table = dict(zip(("time", "src", "dst"), columns, strict=True))
    job = st.Window(st.source(table, time_unit="s"), size="30s", slide="10s", events="out", graph={"device": "cpu"},
                    **options)  # fmt: skip
    for slides, w in enumerate(job):
        begin, end = (int(each.astype("M8[s]").astype(int)) for each in (w.start, w.end))
        inside = (columns[0] >= begin) & (columns[0] < end)
        first = int(inside.argmax())
        plain = log_of([(part if at else part * 10**9)[inside] for at, part in enumerate(columns)], over="out")
        for through in (False, True):
            found, right = (earliest_arrival(log, 3, through=through) for log in (w.log, plain))
            n = len(found.time)
            assert found.time.tolist() == right.time[:n].tolist()
            assert found.event.tolist() == np.where(right.event < 0, -1, right.event + first)[:n].tolist()
        walks, others = (temporal_walks(log, range(n), 4, seed=slides) for log in (w.log, plain))
        assert walks.vertex.tolist() == others.vertex.tolist()
    assert slides > 5
    job = st.Window(st.source(table, time_unit="s"), size="30s", slide="10s", events="out", graph={"device": "cpu"})
    old = next(job).log
    next(job)
    with pytest.raises(RequirementError, match="the slide of this log is over"):
        earliest_arrival(old, 3)
