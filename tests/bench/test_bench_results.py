"""Results on disk and the tables made of them."""

import csv
import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from bench_cases import text_of
from rich.console import Console

import suricate as su
from suricate import plugins
from suricate.base.devices import CPU
from suricate.bench import session
from suricate.bench.inputs import Input
from suricate.bench.machine import sources
from suricate.bench.machine.environment import environment
from suricate.bench.reports import comparison, plot, results, tables, text
from suricate.bench.runner import Measurement, Task, Timing


class Example(Task):
    workload, backend, batch, items, oracle = "insert", "slabhash", 1024, 1024, "an oracle"

    def traffic(self):
        return 4096


def row(backend="slabhash", median=0.001, status="ok", **changes):
    task = Example()
    task.backend = backend
    for name, value in changes.items():
        setattr(task, name, value)
    timing = Timing.of([median, median * 2, median]) if status == "ok" else None
    found = Measurement(status, "" if status == "ok" else "it differs", timing, median * 3, median * 2)
    return results.to_line(results.Row.of("run1", "tiny", task, found, peak=8.192e6))


def test_a_cell_has_everything_in_it():
    line = row()
    assert line["median_s"] == 0.001
    assert line["max_s"] == 0.002
    assert line["repeats"] == 3
    assert line["iqr_s"] == pytest.approx(0.0005)
    assert line["edges_per_s"] == pytest.approx(1024 / 0.001)
    assert line["bytes_per_s"] == pytest.approx(4.096e6)
    assert line["bandwidth_share"] == pytest.approx(0.5)
    assert line["verified"] == "an oracle"
    assert json.loads(json.dumps(line)) == line


def test_a_failed_cell_has_no_time_and_is_not_verified():
    line = row(status="FAIL")
    assert line["status"] == "FAIL"
    assert line["reason"] == "it differs"
    assert line["verified"] is None
    assert all(value is None for name, value in line.items() if name.endswith("_s"))


def test_times_on_a_quiet_core_stand_beside_those_of_users_and_are_labelled():
    timing, quiet = Timing.of([0.001]), Timing.of([0.0008])
    found = Measurement("ok", "", timing, 0.003, 0.002, quiet)
    line = results.to_line(results.Row.of("run1", "tiny", Example(), found))
    assert (line["median_s"], line["quiet_core_median_s"]) == (0.001, 0.0008)
    assert line["edges_per_s"] == pytest.approx(1024 / 0.001)
    assert text.line(line).endswith("an oracle; on a quiet core 800 us")
    assert "1000.0 (1000.0 - 1000.0); quiet core 800.0 (800.0 - 800.0)" in text_of(*tables.latencies([line]))
    assert row()["quiet_core_median_s"] is None
    assert "quiet" not in text.line(row()) + text_of(*tables.latencies([row()]))


def test_early_files_call_a_row_a_cell(tmp_path):
    path = tmp_path / "early.jsonl"
    early = {**row(), "type": "cell", "state": "aged"}
    del early["scenario"]
    path.write_text(json.dumps(early) + "\n")
    assert results.read([path])[1][0]["scenario"] == "aged"


def test_lines_are_appended_and_read_back(tmp_path):
    path = tmp_path / "deep" / "results.jsonl"
    for _ in range(2):
        file = results.ResultsFile(path)
        file.append({"type": "environment", "run": "run1"})
        file.append(row())
        file.close()
    headers, rows = results.read([path])
    assert len(headers) == len(rows) == 2
    assert rows[0] == row()


def test_a_folder_that_is_a_file_is_noticed_on_opening(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        results.ResultsFile(tmp_path / "file" / "results.jsonl")


@pytest.mark.parametrize("wrong", ["{", "[]", '{"type": "other"}', "{}"])
def test_a_malformed_line_is_named(tmp_path, wrong):
    path = tmp_path / "results.jsonl"
    path.write_text('{"type": "environment"}\n' + wrong + "\n")
    with pytest.raises(ValueError, match=r"results\.jsonl:2"):
        results.read([path])


def test_environment_names_the_machine_and_the_software():
    model = np.array([0, 1], np.uint32)
    data = Input("tiny", 3, model, model + 1, np.ones(2, np.float32), False, "digest")
    header = environment("run1", CPU, 7, [data.describe()], None)
    assert header["type"] == "environment"
    assert header["seed"] == 7
    assert header["inputs"][0]["sha256"] == "digest"
    assert header["inputs"][0]["num_edges"] == 2
    for name in ("cpu", "cores", "memory_bytes", "python", "versions", "date", "command"):
        assert header[name], name
    assert header["versions"]["numpy"] == np.__version__
    assert header["gpu"] is None
    json.dumps(header, allow_nan=False)


def test_tables_show_rates_failures_and_ratios():
    rows = [
        row("csr_baseline", 0.002),
        row("slabhash", 0.0005),
        row("hornet_like", status="FAIL"),
        row("scipy", 0.001, oracle=None),
    ]
    shown = text_of(*comparison.matrix(rows))
    assert "500 us (2.05 M/s)" in shown
    assert "FAIL" in shown
    assert shown.index("slabhash") < shown.index("scipy (reference, CPU)")
    assert "4.00 / 2.00" in text_of(*comparison.ratios(rows))
    assert "FAIL" in text.line(rows[2])
    assert "it differs" in text.line(rows[2])
    assert "reference: not verified" in text.line(rows[3])


def test_the_overview_marks_what_loses():
    times = {
        ("a", "insert", None): 4e-3, ("a", "from scratch", "x"): 2e-3, ("a", "stream", "x"): 1e-3,
        ("b", "insert", None): 3e-3, ("b", "from scratch", "x"): 5e-4, ("b", "stream", "x"): 6e-4,
        ("scipy", "from scratch", "x"): 1.5e-3,
    }  # fmt: skip
    rows = [
        {"run": 1, "graph": "g", "device": "cpu", "backend": backend, "workload": workload, "algorithm": algorithm,
         "batch": 8, "median_s": seconds, "status": "ok"}
        for (backend, workload, algorithm), seconds in times.items()
    ]  # fmt: skip
    (found,) = comparison.overview(rows)
    assert "edges of a batch: 8 (others), 8 (kept)" in found
    assert [line.split() for line in found.splitlines()[1:]] == [
        ["insert", "x", "x", "kept"], ["-----", "------", "---", "------"],
        ["a", "4", "2*", "1"], ["b", "3", "0.5", "0.6*"], ["SciPy", "1.5"],
    ]  # fmt: skip


def test_lines_of_rows_that_were_left_out_are_not_shown():
    rows = [row(batch=1024), row("csr_baseline", batch=1024, status="skip"), row(batch=4096, status="skip")]
    shown = text_of(*comparison.matrix(rows))
    assert "1,024" in shown
    assert "4,096" not in shown
    assert not comparison.matrix(rows[2:])


def test_cells_are_never_cut():
    table = text.new_table("a title", "option", [f"a column of numbers {i}" for i in range(8)])
    table.add_row("load_factor=0.35, hashing=True", *("12.3 us (4.56 G/s)" for _ in range(8)))
    console = Console(width=80, file=io.StringIO())
    console.print(table)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)


def test_high_noise_is_flagged():
    assert text.noise(0.02) == "2.0 %"
    assert text.noise(0.2) == "20.0 %!"


def test_files_with_the_same_rows_are_told_apart(tmp_path):
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    for path, medians in ((before, (1.0, 2.0)), (after, (3.0,))):
        path.write_text("".join(json.dumps(row(median=median)) + "\n" for median in medians))
    _, rows = results.latest_of_files([before, after])
    assert [(line["file"], line["median_s"]) for line in rows] == [("before", 2.0), ("after", 3.0)]
    assert [results.what(line).split(":")[0] for line in rows] == ["before", "after"]
    assert "file" not in results.latest_of_files([before])[1][0]
    after.write_text("x")
    with pytest.raises(ValueError, match="after"):
        results.latest_of_files([before, after])


def test_the_latest_of_equal_rows_is_reported():
    assert [line["median_s"] for line in results.latest([row(median=1.0), row(median=2.0), row("other", 3.0)])] == [
        2.0,
        3.0,
    ]


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    plot.plot([row(batch=1024), row(batch=4096), row("csr_baseline")], tmp_path / "rates.png")
    assert (tmp_path / "rates.png").stat().st_size > 1000


def test_pictures_fit_a_screen_and_leave_out_what_has_one_size():
    pytest.importorskip("matplotlib")
    rows = [row(batch=batch, workload=f"insert {i}") for i in range(14) for batch in (1024, 4096)]
    made = plot.pictures([*rows, row(batch=1024, workload="growth")], {}, {})
    assert [sum(axes.axison for axes in figure.axes) for figure in made.values()] == [12, 2]
    assert not plot.pictures([row(batch=1024, workload="growth")], {}, {})


def test_the_limit_of_the_memory_is_a_line():
    pytest.importorskip("matplotlib")
    rows = [row(batch=batch, workload=name) for name in ("query", "insert", "churn") for batch in (1024, 4096)]
    (figure,) = plot.pictures(rows, {}, {"run1": 7.2e11}).values()
    limits = [[line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"] for axes in figure.axes[:3]]
    assert limits == [[pytest.approx(1.8e10)], [pytest.approx(1e10)], []]
    (figure,) = plot.pictures(rows, {}, {}).values()
    assert all(len(axes.lines) == 1 for axes in figure.axes[:3])


@pytest.mark.parametrize(
    ("value", "shown"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.2e-6, "4.2 us"), (1.0, "1 s"), (0.001, "1 ms")]
)
def test_seconds(value, shown):
    assert text.seconds(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, ""), (12.3e6, "12.3 M/s"), (1.5e9, "1.5 G/s"), (900.0, "0.9 k/s")])
def test_rate(value, shown):
    assert text.rate(value) == shown


class Brought(su.Algorithm):
    """An algorithm of a plugin, whose source the tests change."""

    name = "brought"

    def compute(self, graph):
        """Do nothing."""

    @property
    def result(self):
        return None


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """Return a function that makes rows of the algorithm of a plugin with a given source."""

    def rows(source):
        (tmp_path / "a_plugin.py").write_text(source)
        monkeypatch.setitem(sys.modules, "a_plugin", SimpleNamespace(__file__=str(tmp_path / "a_plugin.py")))
        monkeypatch.setattr(Brought, "__module__", "a_plugin")
        sources._identity.cache_clear()
        return [row(workload="compute", algorithm="brought")]

    plugins.register(Brought, "a plugin")
    yield rows
    plugins.unregister("a plugin")
    sources._identity.cache_clear()


def written(path, rows):
    path.write_text("".join(json.dumps(line) + "\n" for line in rows))
    return path


def test_a_row_says_which_code_was_measured(brought):
    first, second = brought("one = 1"), brought("two = 2")
    assert {**first[0]["plugins"]["backend"]} == {**row()["plugins"]["backend"]}
    assert first[0]["plugins"]["backend"]["version"] == su.__version__
    digests = [line["plugins"]["algorithm"]["digest"] for line in (*first, *second, *brought("one = 1"))]
    assert digests[0] == digests[2] != digests[1]
    assert all(len(digest) == 16 for digest in digests)
    assert row(backend="scipy")["plugins"] == {}


def test_rows_of_two_versions_are_not_put_together(brought, tmp_path):
    """Neither by a run into the same file, nor by a report of a file that has both."""
    old, path, task = brought("one = 1"), tmp_path / "old.jsonl", [("slabhash", "brought")]
    results.check_versions(path, task)  # there is no file yet
    early = row()
    del early["plugins"]  # which says nothing
    written(path, [early, *old])
    results.check_versions(path, task)
    new = brought("two = 2")
    with pytest.raises(
        ValueError, match=r"old.jsonl: 'algorithm brought' was measured as .* \(digest .*another --output"
    ):
        results.check_versions(path, task)
    results.check_versions(path, [("slabhash", None)])
    other = written(tmp_path / "new.jsonl", [{**line, "batch": 2048} for line in new])
    assert [line["file"] for line in results.latest_of_files([path, other])[1]] == ["old", "old", "new"]
    with pytest.raises(ValueError, match=r"old.jsonl: 'algorithm brought' was measured as .*divide the file"):
        results.latest_of_files([written(path, [*old, *new])])


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_report_for_programs_has_numbers_with_all_digits(format, tmp_path, capsys):
    quiet = {**row(median=0.1 + 0.2), "noise": 0.01, "extra": {"fill": 1 / 3, "moments": [1]}}
    path = written(tmp_path / "some.jsonl", [quiet, {**row(backend="gpma"), "noise": 0.5}])
    session.report([path], {}, Console(file=io.StringIO()), format)
    text = capsys.readouterr().out
    first, second = json.loads(text) if format == "json" else csv.DictReader(io.StringIO(text))
    assert [float(each["median_s"]) for each in (first, second)] == [0.1 + 0.2, 0.001]
    assert float(first["edges_per_s"]) == 1024 / (0.1 + 0.2)
    assert float(first["extra.fill"]) == 1 / 3
    assert json.loads(first["extra.moments"]) == [1]
    assert int(first["batch"]) == 1024
    assert [str(each["noisy"]) for each in (first, second)] == ["False", "True"]
    assert [first["plugins.backend.version"], second["backend"]] == [su.__version__, "gpma"]
    assert "type" not in first
    assert list(first) == list(second)
