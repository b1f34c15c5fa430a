"""Every field of every slide against a plain model, however the source is cut into chunks, and after any resume."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_calls import call, shell
from hypothesis import given, settings
from hypothesis import strategies as hs
from replay_model import Replay, Shown

import suricate.stream as st
from suricate.errors import ParameterError

pytestmark = [pytest.mark.plain, pytest.mark.filterwarnings("ignore:.* events read so far are late")]
GRAPH = {"device": "cpu", "weight_dtype": "float64"}
TIMES = hs.one_of(hs.integers(0, 30), hs.integers(-90, 90), hs.sampled_from([400, 401, 800, -400]))
EVENT = hs.tuples(
    TIMES,
    hs.integers(0, 3),
    hs.integers(0, 3),
    hs.one_of(hs.integers(-3, 3), hs.none()),
    hs.sampled_from([1, 1, -1, 0]),
)


def chunks(events: list[tuple], cut: int) -> list[dict[str, Any]]:
    parts = [events[at : at + cut] for at in range(0, len(events), cut)]
    names = ("time", "src", "dst", "weight", "kind")
    columns = [dict(zip(names, zip(*part, strict=True), strict=True)) for part in parts]
    return [each | {"weight": np.array(each["weight"], float)} for each in columns]


def options_of(size: int | None, slide: int, lateness: int, ahead: int | None, combine: str) -> dict[str, Any]:
    given = {"size": size, "slide": slide, "lateness": lateness, "ahead": ahead}
    texts = {name: None if value is None else str(value) for name, value in given.items()}
    return texts | {"combine": combine, "names": True, "graph": GRAPH}


def shown(job: st.Window, most: int = 10**6) -> list[Shown]:
    found = []
    for w in job:
        if len(found) == most:
            break
        names = job.names
        src, dst, weight = w.graph.edges()
        pairs = zip(names[src].tolist(), names[dst].tolist(), strict=True)
        counts = w.left, w.taken, w.unmatched, w.partial, w.late, w.skipped, w.lag
        ids = dict(zip(names, names.ids.tolist(), strict=True))
        found.append(Shown(w.end, w.events, *counts, dict(zip(pairs, weight.tolist(), strict=True)), ids))
    return found


@settings(max_examples=150, deadline=None)
@given(
    events=hs.lists(EVENT, max_size=40), size=hs.one_of(hs.none(), hs.integers(1, 25)), slide=hs.integers(1, 9),
    lateness=hs.one_of(hs.just(0), hs.integers(0, 15)), ahead=hs.one_of(hs.none(), hs.integers(1, 60)),
    combine=hs.sampled_from(["last", "first", "sum", "count", "min", "max"]),
)  # fmt: skip
def test_every_field_is_that_of_the_model(events, size, slide, lateness, ahead, combine) -> None:
    slide = slide if size is None else min(slide, size)
    ahead = None if ahead is None else lateness + ahead
    model = Replay(size, slide, lateness, 0, ahead, combine)
    expected = model.run(events)
    for cut in (1, 2, 7, max(len(events), 1)):
        job = st.Window(
            st.source(chunks(events, cut), on_error="skip"), **options_of(size, slide, lateness, ahead, combine)
        )
        assert shown(job) == expected
        assert (job.late, job.skipped, job.read) == (len(model.late), len(model.skipped), len(events))
        assert job.history["late"].tolist() == [each.late for each in expected] if expected else not job.slides


@pytest.mark.parametrize("seed", range(12))
def test_resumed_jobs_have_the_same_fields(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    clocks = [0, 0, 0, 0, 0, 0, 3000, -3000]  # of devices, one of them is far ahead
    events, now = [], 0
    for at in range(120):
        now += rng.choice([0, 1, 2, 300 if at % 40 == 39 else 0])
        weight = rng.choice([1, 2, None]) if rng.random() < 0.1 else 1
        events.append((now - rng.randrange(6) + rng.choice(clocks), rng.randrange(4), rng.randrange(4), weight, 1))
    model = Replay(30, 10, 3, 0, 60, "sum")
    expected = model.run(events)
    assert len(expected) > 4
    assert model.skipped
    found: dict[int, Shown] = {}
    for most in (1, 0, 2, 1, 0, 3, 10**6):
        source = st.source(chunks(events, 5), on_error="skip")
        job = st.Window(source, checkpoint=tmp_path, checkpoint_every=1, **options_of(30, 10, 3, 60, "sum"))
        for each in shown(job, most):
            assert found.setdefault(each.end, each) == each
    assert [*found.values()] == expected


def slides(times: list[Any], ahead: str = "1d", **options: Any) -> tuple[list[tuple[str, int]], int]:
    events = {"time": np.array(times, "M8[s]"), "src": range(len(times)), "dst": range(1, len(times) + 1)}
    source, graph = st.source(events, on_error="skip"), GRAPH | {"weight_dtype": None}
    job = st.Window(source, size="1d", slide="1d", ahead=ahead, graph=graph, **options)
    return [(str(w.end)[:10], w.events) for w in job if w.events], job.skipped


def test_the_clock_goes_on_after_a_quiet_time() -> None:
    weekend = ["2026-01-02T10:00", "2026-01-02T20:00", "2026-01-05T08:00", "2026-01-05T09:00", "2026-01-06T10:00",
               "2026-01-07T10:00", "2026-02-07T10:00"]  # fmt: skip
    days = [("2026-01-03", 2), ("2026-01-06", 2), ("2026-01-07", 1), ("2026-01-08", 1)]
    assert slides(weekend) == (days, 1)  # nothing says that the last one is right
    week = [f"2026-01-0{day}T{hour:02}:00" for day in (2, 6) for hour in range(24)]
    assert slides(week) == ([("2026-01-03", 24), ("2026-01-07", 24)], 0)
    sparse = [f"2026-{month:02}-01" for month in range(1, 13)]  # never two within a day
    assert slides(sparse)[1] == 1


def test_the_first_event_does_not_set_the_clock_alone() -> None:
    day = ["2026-01-01T00:00", "2026-01-02T01:00", "2026-01-03T01:00"]
    days = [("2026-01-02", 1), ("2026-01-03", 1), ("2026-01-04", 1)]
    assert slides(["2036-01-01", *day]) == (days, 1)
    assert slides(["1970-01-01", *day]) == ([("1970-01-02", 1), *days], 0)
    assert slides(["1970-01-01", day[0], "2026-01-01T01:00", day[1]]) == (
        [("1970-01-02", 1), ("2026-01-02", 2), ("2026-01-03", 1)], 0
    )  # fmt: skip
    assert slides(day[:1]) == (days[:1], 0)


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_wrong_clocks_do_not_move_the_window(share: float) -> None:
    rng = np.random.default_rng(7)
    times = np.arange(2000) * 30
    wrong = rng.random(2000) < share  # two in a row after the first four
    assert (wrong[4:-1] & wrong[5:]).any() == (share == 0.1)
    wrong[:4] = wrong[-1] = False
    times[wrong] += 10**9
    found, skipped = slides(times.tolist())
    assert skipped == wrong.sum()
    assert sum(events for _, events in found) == 2000 - skipped


def test_a_limit_within_the_lateness_is_refused() -> None:
    for ahead in ("2h", "1h"):
        with pytest.raises(ParameterError, match=r"ahead=.* must be longer than lateness="):
            st.Window({"time": [0], "src": [0], "dst": [0]}, size="1d", slide="1d", lateness="2h", ahead=ahead)


def test_a_tenth_of_late_events_is_told_once(tmp_path: Path) -> None:
    def job(number: int, of: int, **options: Any) -> st.Window:
        times = [0, 100] + [0] * number + [101] * (of - number - 2)
        chunks = [{"time": times[at : at + 50], "src": [0] * 50, "dst": [1] * 50} for at in range(0, of, 50)]
        return st.Window(chunks, size="10", slide="10", graph=GRAPH | {"weight_dtype": None}, **options)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        list(job(15, 150))
        assert not told
        list(job(16, 150))
        list(job(160, 1500, late=tmp_path / "late.csv"))
    assert [str(each.message).split(" read")[0] for each in told] == ["16 of 150 events", "160 of 1000 events"]


def test_commands_tell_of_late_events(tmp_path: Path) -> None:
    file = tmp_path / "clock.csv"
    rows = [f"2026-01-01T00:{minute:02}:00Z,{minute},0" for minute in range(50)]
    rows[12] = rows[12].replace("2026", "2099")
    file.write_text("\n".join(["time,src,dst", *rows, ""]))
    base = ["stream", file, "--window", "1h", "--slide", "30min", "--device", "cpu"]
    found = shell(*base)
    assert found.returncode == 0
    assert "warning: 37 of 50 events read so far are late" in found.stderr
    for share, code in ("0.8", 0), ("0.74", 0), ("0.73", 1), ("0", 1):
        assert call(*base, "--max-late", share).exit_code == code
    assert "37 of 50 events are late, more than --max-late 0.1" in call(*base, "--max-late", "0.1").stderr
    good = call(*base, "--ahead", "1d", "--on-error", "skip", "--max-late", "0")
    assert (good.exit_code, "warning" in good.stderr) == (0, False)
    assert "1 not valid" in good.stderr
    refused = call(*base, "--ahead", "1d")
    assert refused.exit_code == 2
    assert "further ahead of the watermark" in refused.stderr
