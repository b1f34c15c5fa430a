"""The suite on events: logs, samples, walks and windows run on small inputs, and wrong results are told."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bench_cases import fixture_of
from click.testing import CliRunner

from suricate.base.devices import Device
from suricate.bench import constants, inputs
from suricate.bench.commands import bench, default_graphs
from suricate.bench.fixtures import Fixture
from suricate.bench.logs.passes import EarliestArrival, TimeWalks, WindowWithLog
from suricate.bench.logs.tasks import LogAppend, LogBuild, LogSample, LogSingles, LogSlide
from suricate.bench.runner import Limits, measure
from suricate.bench.verify.edges import Mismatch
from suricate.plugins import default_backend

QUICK = Limits(min_repeats=3, max_repeats=3, time_limit=1.0, warmups=0)


@pytest.fixture
def fixture(temporal_file: Path, device: Device) -> Fixture:
    """A fixture on 400 events between 40 vertices, three of them at each time."""
    return fixture_of(default_backend(device).name, inputs.load(str(temporal_file)), device)


def tasks_of(fixture: Fixture) -> list[Any]:
    """A task of each kind."""
    tasks = [LogBuild(fixture, over) for over in ("in", "out")] + [LogAppend(fixture, 30), LogSingles(fixture)]
    tasks += [LogSlide(fixture, 64, over) for over in ("in", "out")]
    tasks += [LogSample(fixture, 30, [4, 2], take) for take in ("uniform", "recent")] + [WindowWithLog(fixture, 20)]
    return [*tasks, EarliestArrival(fixture), *(TimeWalks(fixture, 30, 5, bias) for bias in ("uniform", "exponential"))]


@pytest.mark.slow
def test_every_task_is_verified(fixture: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "SINGLE_EVENTS", 10)
    for task in tasks_of(fixture):
        task.least_repeats = 0
        found = measure(task, QUICK)
        assert (task.workload, task.detail, found.status, found.reason) == (task.workload, task.detail, "ok", "")
        extra = task.extra()
        assert ("times_beside" in extra) == (getattr(task, "beside", False))
        if isinstance(task, LogSlide | LogBuild | WindowWithLog):
            assert extra["index_bytes_per_event"] >= 8


def test_times_are_those_of_the_file_and_later_in_each_round(fixture: Fixture) -> None:
    task = LogBuild(fixture)
    time, src, dst = task.events(399, 803)
    assert np.array_equal(time, 1_082_000_000 + np.array([133, *(np.arange(400) // 3 + 134), 268, 268, 268]))
    assert np.array_equal(src[1:4], src[401:404])
    assert np.array_equal(dst[1:401], fixture.data.dst)


def test_a_plain_loop_appends_the_same_rows(fixture: Fixture) -> None:
    task = LogAppend(fixture, 30)
    task.setup()
    rows = task.other([tuple(map(task.device.to_numpy, batch)) for batch in task.draw()])
    order = np.argsort(fixture.data.dst, kind="stable")
    assert [part.tolist() for part in rows] == [fixture.data.src[order].tolist(), order.tolist()]


def test_wrong_logs_are_told(fixture: Fixture) -> None:
    task = LogSlide(fixture, 64)
    task.setup()
    entering = task.prepare()
    with pytest.raises(Mismatch, match="numbers"):
        task.verify(task.log, 0, 399)
    task.action(entering)
    task.check(entering, None)
    rows = task.log._index.rows
    rows.other[int(rows.begin.argmax())] ^= 1
    with pytest.raises(Mismatch, match="another vertex"):
        task.check(entering, None)


def test_wrong_samples_walks_and_arrivals_are_told(fixture: Fixture) -> None:
    task = LogSample(fixture, 30, [4, 2], "uniform")
    task.setup()
    given = task.prepare()
    sample = task.action(given)
    names = "node", "row", "col", "event", "time", "batch"
    wrong = SimpleNamespace(**{name: getattr(sample, name) for name in names})
    wrong.event = sample.event + 1
    with pytest.raises(Mismatch, match="event of the trees"):
        task.check(given, wrong)
    arrival = EarliestArrival(fixture)
    arrival.setup()
    result = arrival.action(None)
    arrival.check(None, result)
    result.time[int(result.time.argmin())] += 1
    with pytest.raises(Mismatch, match="another time"):
        arrival.check(None, result)
    walk = TimeWalks(fixture, 30, 5, "uniform")
    walk.setup()
    starts = walk.prepare()
    walks = walk.action(starts)
    walk.check(starts, walks)
    walks.event[:, 0] = -1
    with pytest.raises(Mismatch):
        walk.check(starts, walks)


def test_both_calls_are_made_by_turns(fixture: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for name in ("ours", "other"):
        monkeypatch.setattr(LogSample, name, lambda self, given, name=name: calls.append(name))
    task = LogSample(fixture, 30, [4, 2], "uniform")
    task.setup()
    task.beside = True
    for _ in range(4):
        given = task.prepare()
        task.restore(given, task.action(given))
    assert calls == ["other", "ours", "ours", "other"] * 2
    found = task.compared()
    assert found["times_beside"] == pytest.approx(found["beside_s"] / found["ours_s"])


def test_from_the_command_line(temporal_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SINGLE_EVENTS": 5, "EVENT_SEEDS": (20,), "WALKS": (10, 3)}.items():
        monkeypatch.setattr(constants, name, value)
    path = tmp_path / "rows.jsonl"
    options = ["--suite", "events", "--processor-time", "--device", "cpu", "--graph", str(temporal_file)]
    options += ["--batch", "16", "--repeats", "1", "--time-limit", "0", "--output", str(path)]
    done = CliRunner().invoke(bench, options, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert {row["workload"] for row in rows} == {
        "log bulk load", "log single appends", "log append", "log slide", "log sample", "slide with events",
        "earliest arrival", "walks in time",
    }  # fmt: skip
    assert all(row["status"] == "ok" and row["verified"] for row in rows)
    assert "times as fast as the other by turns" in done.output
    listed = CliRunner().invoke(bench, ["--suite", "events", "--list"])
    assert "walk by events of ascending time" in " ".join(listed.output.split())


def test_further_graphs_on_cuda() -> None:
    cuda = SimpleNamespace(is_cuda=True)
    assert "rmat:20" in default_graphs("events", device=cuda)
    assert "rmat:20" not in default_graphs("events")
