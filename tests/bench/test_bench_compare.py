"""``suricate compare``: two sides of processes; equal ones report nothing, a planted difference is found."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import mannwhitneyu

from suricate.bench.compare import compare
from suricate.bench.reports import sides

WORKLOADS = [f"insert {number}" for number in range(8)]
PROCESSES = 10  #: with eight rows a least p of 8 * 2 / (20 over 10) = 8.7e-5
SPREAD = 0.05  #: of the medians of processes, as a standard deviation of logarithms


def header(run, second, **changes):
    day, rest = divmod(second, 86_400)
    date = f"2026-11-{1 + day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}+00:00"
    return {
        "type": "environment", "run": run, "date": date, "cpu": "a processor", "cores": 2, "python": "3.11.7",
        "versions": {"suricate": "0.1.0"}, "gpu": None, "git": {"commit": "0" * 40, "dirty": False}, **changes,
    }  # fmt: skip


def row(run, workload, seconds, **changes):
    return {
        "type": "row", "run": run, "graph": "rmat:16", "device": "cpu", "backend": "tutorial", "workload": workload,
        "algorithm": None, "detail": "", "batch": 1024, "status": "ok", "median_s": seconds, "plugins": {}, **changes,
    }  # fmt: skip


def write(path, lines):
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def drawn(tmp_path, name, seconds, start, header_changes={}, **changes):  # noqa: B006
    """Write the file of a side: ``seconds`` by process and workload; a process every two seconds from ``start``."""
    lines = []
    for number, of_process in enumerate(seconds):
        run = f"{name}-{number}"
        lines.append(header(run, start + 2 * number, **header_changes))
        lines += [
            row(run, workload, float(each), **changes) for workload, each in zip(WORKLOADS, of_process, strict=False)
        ]
    return write(tmp_path / f"{name}.jsonl", lines)


def times(rng, count=PROCESSES, rows=8):
    return np.exp(rng.normal(np.arange(rows) - 8, SPREAD, (count, rows)))


def run(*args):
    return CliRunner().invoke(compare, [str(arg) for arg in args], catch_exceptions=False)


def rows_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["rows"]


def test_equal_runs_report_nothing_and_a_planted_difference_is_found(tmp_path):
    rng, found, false = np.random.default_rng(7), 0, 0
    for _ in range(20):
        equal = [sides.side_of(*each) for each in _pair(tmp_path, times(rng), times(rng))]
        false += sum(each.verdict != "no difference" for each in sides.compared(*equal))
        slower = times(rng)
        slower[:, 3] *= 1.2
        planted = sides.compared(*(sides.side_of(*each) for each in _pair(tmp_path, times(rng), slower)))
        found += planted[3].verdict == "slower"
        assert all(each.verdict == "no difference" for each in (*planted[:3], *planted[4:]))
    assert false == 0
    assert found >= 19


def _pair(tmp_path, a, b):
    return [(name, [drawn(tmp_path, name, seconds, at)]) for name, seconds, at in (("A", a, 0), ("B", b, 1))]


def test_the_statistics_are_those_of_the_books():
    a, b = np.array([1.1, 1.2, 1.3, 1.4, 1.5]), np.array([2.1, 2.2, 2.3, 2.4, 2.5])
    assert sides._p_value(a, b) == pytest.approx(2 / 252)
    assert (
        sides._p_value([1, 2, 2, 3, 4], [2, 3, 4, 5, 6])
        == mannwhitneyu([1, 2, 2, 3, 4], [2, 3, 4, 5, 6], method="asymptotic").pvalue
    )
    assert sides.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    pairs = np.sort(np.divide.outer(b, a).ravel())
    assert sides.ratio_of(a, b) == pytest.approx((pairs[12], pairs[2], pairs[22]))  # of 5 and 5 the third from each end
    assert [sides.processes_needed(rows) for rows in (1, 2, 20, 1000)] == [5, 6, 8, 11]


def test_too_few_processes_or_none_by_turns_give_ratio_and_interval_only(tmp_path):
    seconds = np.full((5, 1), 2.0) * np.linspace(1, 1.01, 5)[:, None]
    a, b = drawn(tmp_path, "A", seconds, 0), drawn(tmp_path, "B", 3 * seconds, 1)
    (line,) = rows_of(run(a, b, "--format", "json"))
    assert (line["verdict"], line["ratio"]) == ("slower", pytest.approx(3))
    assert line["p"] == line["p_holm"] == pytest.approx(2 / 252)
    for path, told in {
        drawn(tmp_path, "four", 3 * seconds[:4], 1): "a side has less than 5 processes",
        drawn(tmp_path, "later", 3 * seconds, 1000): "the processes took no turns",
    }.items():
        result = run(a, path, "--format", "json")
        (line,) = rows_of(result)
        assert (line["p"], line["p_holm"], line["verdict"]) == (None, None, "")
        assert line["low"] < line["ratio"] < line["high"]
        assert told in json.loads(result.stdout)["tested"]


def test_it_says_how_many_processes_so_many_rows_need(tmp_path):
    rng = np.random.default_rng(1)
    a, b = drawn(tmp_path, "A", times(rng, 5), 0), drawn(tmp_path, "B", 2 * times(rng, 5), 1)
    result = run(a, b)
    assert "processes needed: 7 per side for 8 rows, here are 5: not every difference can show" in result.stdout
    assert "differences: 0" in result.stdout
    chosen = run(a, b, "--workload", "insert 3")
    assert "processes needed: 5 per side for 1 rows, here are 5" in chosen.stdout
    assert "differences: 1" in chosen.stdout


@pytest.mark.parametrize(
    ("changes", "rows", "kind", "told"),
    [
        ({"cpu": "another"}, {}, "machine", "processor a processor and another"),
        ({"python": "3.12.0"}, {}, "version", "Python 3.11.7 and 3.12.0"),
        ({"git": None}, {}, "version", "commit 0000"),
        ({}, {"plugins": {"backend": {"distribution": "d", "version": "2", "digest": "x"}}}, "version", "(digest x)"),
        ({"limits": {"processor_time": True}}, {}, None, "some times are of the processor"),
        ({}, {"backend": "other"}, "backend", "no row is on both sides"),
    ],
)
def test_sides_that_are_no_match_are_refused_unless_told(tmp_path, changes, rows, kind, told):
    seconds, known = np.ones((5, 1)), {"backend": {"distribution": "d", "version": "1", "digest": "y"}}
    a = drawn(tmp_path, "A", seconds, 0, plugins=known)
    b = drawn(tmp_path, "B", seconds, 1, changes, **{"plugins": known, **rows})
    refused = run(a, b)
    assert refused.exit_code == 2
    assert told in refused.output
    if kind:
        assert len(rows_of(run(a, b, "--across", kind, "--format", "json"))) == 1


def test_a_side_is_one_thing(tmp_path):
    a = drawn(tmp_path, "A", np.ones((5, 1)), 0)
    assert "is on both sides" in run(a, a).output
    mixed = write(tmp_path / "mixed.jsonl", [
        header("x", 1), row("x", "insert", 1.0), row("x", "insert", 2.0, backend="other"),
        header("y", 3, cpu="another"), row("y", "insert", 1.0),
    ])  # fmt: skip
    assert "side B has several machines" in run(a, mixed, "--across", "machine").output
    assert "side B has rows that differ in backend alone" in run(a, mixed, "--across", "backend").output
    headless = write(tmp_path / "headless.jsonl", [row("x", "insert", 1.0)])
    assert "run x has no header" in run(a, headless).output
    assert "has no row with a time" in run(a, write(tmp_path / "none.jsonl", [])).output


def test_folders_and_patterns_are_sides_and_formats_have_numbers(tmp_path):
    seconds = times(np.random.default_rng(2), 5, 2)
    for name, at, factor in (("A", 0, 1), ("B", 1, 2)):
        for number in range(5):
            (tmp_path / name).mkdir(exist_ok=True)
            drawn(tmp_path / name, f"{name}{number}", factor * seconds[number : number + 1], at + 2 * number)
    sources = tmp_path / "A", tmp_path / "B" / "B*.jsonl"
    found = rows_of(run(*sources, "--format", "json"))
    assert [(line["processes_a"], line["processes_b"]) for line in found] == [(5, 5), (5, 5)]
    assert found[0]["b_s"] == 2 * np.median(seconds[:, 0])
    table = [*csv.DictReader(io.StringIO(run(*sources, "--format", "csv").stdout))]
    assert [float(line["ratio"]) for line in table] == [line["ratio"] for line in found]
    markdown = run(*sources, "--format", "markdown").stdout
    assert "| graph | device | backend | workload | batch | processes\\_a |" in markdown
    assert "| --- | --- | --- | --- | ---: | ---: |" in markdown
    latex = run(*sources, "--format", "latex").stdout
    assert r"\begin{tabular}{llllrrrrrrrrrrl}" in latex
    assert r"rmat:16 & cpu & tutorial & insert 0 & 1024 & 5 & 5 &" in latex
    assert r"0.015873" in latex  # p, twice 2 / 252, in full
