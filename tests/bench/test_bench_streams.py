"""The suite on streams: right backends pass, broken ones fail; windows are those of sets; tables and picture."""

import itertools
import json

import numpy as np
import pytest
from bench_cases import fixture_of, text_of
from click.testing import CliRunner

from suricate.base.types import edge_keys
from suricate.bench import constants, inputs
from suricate.bench.commands import bench
from suricate.bench.reports import plot, streams
from suricate.bench.reports.results import Row, to_line
from suricate.bench.runner import Limits, Timing, measure
from suricate.bench.streams import curve, jobs, slides
from suricate.bench.streams.events import EventStream, slide_of

QUICK = Limits(min_repeats=3, max_repeats=3, time_limit=1.0, warmups=0)


def few(task):
    """The same task with few slides."""
    task.least_repeats = 0
    return task


@pytest.mark.parametrize("directed", [True, False])
def test_the_window_is_that_of_sets(temporal_file, directed):
    data = inputs.load(str(temporal_file))
    stream = EventStream(data, directed=directed)

    def window():
        numbers = [at % len(data.src) for at in range(stream.end - stream.window, stream.end)]
        pairs = zip(data.src[numbers].tolist(), data.dst[numbers].tolist(), strict=True)
        return {pair if directed or pair[0] <= pair[1] else pair[::-1] for pair in pairs}

    held = window()
    for size in itertools.islice(itertools.cycle((1, 3, 7, stream.window)), 60):
        gone, new = (set(zip((keys >> np.uint64(32)).tolist(), (keys & np.uint64(2**32 - 1)).tolist(), strict=True))
                     for keys in stream.slide(size))  # fmt: skip
        after = window()
        assert (gone, new) == (held - after, after - held)
        held = after
        assert np.array_equal(stream.model().keys, edge_keys(*stream.content()))
    assert slide_of(data, 1e-9) == 1


@pytest.mark.slow
def test_slides_on_every_backend_and_device(data, backend, device):
    fixture = fixture_of(backend, data, device)
    tasks = [kind(fixture, 5, name) for kind in (slides.Slide, slides.JobSlide) for name in (None, "wcc", "bfs")]
    tasks += [curve.CurveSlide(fixture, 5, "pagerank", way) for way in curve.WAYS]
    tasks += [jobs.FromCsv(fixture, 8), jobs.FromParquet(fixture, 8), jobs.JobAlone(fixture, 8)]
    tasks += [jobs.LongJob(fixture, 64, 20_000), jobs.MadeOnDevice(fixture, 64, 500, 20_000)]
    for task in tasks:
        found = measure(few(task), QUICK)
        assert (task.workload, task.detail, found.status, found.reason) == (task.workload, task.detail, "ok", "")
    assert sum(tasks[1].extra()[name] for name in ("updated", "computed")) >= 6


@pytest.mark.parametrize("name", ["forgetful", "raising"])
def test_broken_backends_have_no_rows_of_slides(data, broken_backends, name):
    fixture = fixture_of(name, data)
    for task in (slides.Slide(fixture, 5, "wcc"), slides.JobSlide(fixture, 5, "wcc"), jobs.FromCsv(fixture, 8)):
        assert measure(few(task), QUICK).status in ("FAIL", "ERROR")
        assert measure(few(task), QUICK).timing is None


def test_an_answer_that_is_wrong_is_no_row(data, monkeypatch):
    task = few(slides.Slide(fixture_of("csr_baseline", data), 50, "bfs", slides.CURRENT))
    monkeypatch.setattr(task.subject.kind, "update", lambda self, graph, delta: None)
    monkeypatch.setattr(task.subject.kind, "should_recompute", lambda self, graph, delta: False)
    found = measure(task, QUICK)
    assert found.status == "FAIL"
    assert "bfs" in found.reason


def test_tables_and_the_picture_of_the_curve(data):
    fixture, rows = fixture_of("slabhash", data), []
    tasks = [curve.CurveSlide(fixture, size, "wcc", way) for size in (2, 20) for way in curve.WAYS]
    tasks += [*curve.peers_of(fixture, 5, "wcc"), slides.Slide(fixture, 5), jobs.FromCsv(fixture, 8)]
    tasks += [jobs.JobAlone(fixture, 8), jobs.LongJob(fixture, 64, 20_000)]
    for task in tasks:
        task.suite = "stream"
        rows.append(to_line(Row.of("r", "tiny", task, measure(few(task), QUICK))))
    good = [row for row in rows if row["status"] == "ok"]  # igraph may not be installed
    assert len(good) >= len(rows) - 1
    text = text_of(*streams.of(good))
    for words in ("wcc, ms per slide", "kept current", "SciPy, built from scratch", "slide store alone", "long job",
                  "from CSV with names"):  # fmt: skip
        assert words in text
    other = [{**row, "device": "cuda:0"} for row in good if row["backend"] == "slabhash"]
    both = streams.curves_of([*good, *other])
    assert {place[2] for place in both} == {"cpu", "cuda:0"}
    assert both["tiny", "wcc", "cuda:0"] == both["tiny", "wcc", "cpu"] == streams.curves_of(good)["tiny", "wcc", "cpu"]
    lines = streams.curves_of(good)["tiny", "wcc", "cpu"]
    assert [share for share, _ in lines["kept current"]] == [2 / len(data.src), 20 / len(data.src)]
    assert {*plot.pictures(good, {}, {})} == {"curve", "memory"}
    assert all(moment["process"] > moment["allocated"] for moment in good[-1]["extra"]["moments"])


def test_far_quantiles_need_a_thousand_repeats():
    assert Timing.of([1.0] * 999).far_tail is None
    assert Timing.of([*range(1, 1001)]).far_tail == pytest.approx(999, abs=1)


def test_a_short_run_from_the_command_line(temporal_file, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "QUICK_SLIDES", 3)
    path = tmp_path / "rows.jsonl"
    options = ["--suite", "stream", "--quick", "--processor-time", "--device", "cpu", "--backend", "csr_baseline"]
    options += ["--graph", str(temporal_file), "--repeats", "1", "--time-limit", "0", "--output", str(path)]
    done = CliRunner().invoke(bench, options, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    header, *rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["limits"]["processor_time"]
    assert {row["workload"] for row in rows} == {
        "slide", "slide of a job", "curve", "from CSV with names", "from Parquet", "job beside batches", "long job"
    }  # fmt: skip
    assert all(row["verified"] for row in rows if row["backend"] == "csr_baseline")
    assert "ms per slide" in done.output
    wrong = CliRunner().invoke(bench, ["--suite", "operations", "--quick"])
    assert wrong.exit_code == 2
