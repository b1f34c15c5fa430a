"""Results on disk and the tables made of them."""

import json

import numpy as np
import pytest
from bench_cases import text_of

from suricate.bench import report, results
from suricate.bench.inputs import Input
from suricate.bench.runner import Measurement, Task, Timing
from suricate.devices import CPU


class Example(Task):
    workload, backend, batch, items, oracle = "insert", "slabhash", 1024, 1024, "an oracle"

    def traffic(self):
        return 4096


def cell(backend="slabhash", median=0.001, status="ok", **changes):
    task = Example()
    task.backend = backend
    for name, value in changes.items():
        setattr(task, name, value)
    timing = Timing.of([median, median * 2, median]) if status == "ok" else None
    found = Measurement(status, "" if status == "ok" else "it differs", timing, median * 3, median * 2)
    return results.to_line(results.Cell.of("run1", "tiny", task, found, peak=8.192e6))


def test_a_cell_has_everything_in_it():
    line = cell()
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
    line = cell(status="FAIL")
    assert line["status"] == "FAIL"
    assert line["reason"] == "it differs"
    assert line["verified"] is None
    assert all(value is None for name, value in line.items() if name.endswith("_s"))


def test_lines_are_appended_and_read_back(tmp_path):
    path = tmp_path / "deep" / "results.jsonl"
    for _ in range(2):
        file = results.ResultsFile(path)
        file.append({"type": "environment", "run": "run1"})
        file.append(cell())
        file.close()
    headers, cells = results.read([path])
    assert len(headers) == len(cells) == 2
    assert cells[0] == cell()


def test_a_folder_that_is_a_file_is_noticed_on_opening(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        results.ResultsFile(tmp_path / "file" / "results.jsonl")


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "other"}', "{}"])
def test_a_malformed_line_is_named(tmp_path, text):
    path = tmp_path / "results.jsonl"
    path.write_text('{"type": "environment"}\n' + text + "\n")
    with pytest.raises(ValueError, match=r"results\.jsonl:2"):
        results.read([path])


def test_environment_names_the_machine_and_the_software():
    model = np.array([0, 1], np.uint32)
    data = Input("tiny", 3, model, model + 1, np.ones(2, np.float32), False, "digest")
    header = results.environment("run1", CPU, 7, [data.describe()], None)
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
    cells = [
        cell("csr_baseline", 0.002),
        cell("slabhash", 0.0005),
        cell("hornet_like", status="FAIL"),
        cell("scipy", 0.001, oracle=None),
    ]
    shown = text_of(*report.matrix(cells))
    assert "500 us (2.05 M/s)" in shown
    assert "FAIL" in shown
    assert shown.index("slabhash") < shown.index("scipy (reference, CPU)")
    assert "4.00 / 2.00" in text_of(*report.ratios(cells))
    assert "FAIL" in report.line(cells[2])
    assert "it differs" in report.line(cells[2])
    assert "reference: not verified" in report.line(cells[3])


def test_high_noise_is_flagged():
    assert report.noise(0.02) == "2.0 %"
    assert report.noise(0.2) == "20.0 %!"


def test_the_latest_of_equal_cells_is_reported():
    assert [line["median_s"] for line in report.latest([cell(median=1.0), cell(median=2.0), cell("other", 3.0)])] == [
        2.0,
        3.0,
    ]


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    report.plot([cell(batch=1024), cell(batch=4096), cell("csr_baseline")], tmp_path / "rates.png")
    assert (tmp_path / "rates.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("value", "shown"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.2e-6, "4.2 us"), (1.0, "1 s"), (0.001, "1 ms")]
)
def test_seconds(value, shown):
    assert report.seconds(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, ""), (12.3e6, "12.3 M/s"), (1.5e9, "1.5 G/s"), (900.0, "0.9 k/s")])
def test_rate(value, shown):
    assert report.rate(value) == shown
