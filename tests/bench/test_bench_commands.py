"""``suricate demo`` and ``suricate bench`` as a user meets them: tables, files, exit codes."""

import json
import re

import pytest
from click.testing import CliRunner

from suricate import plugins
from suricate.base.devices import CPU
from suricate.bench import constants, drawn, inputs, suites, suricate_commands
from suricate.bench.commands import bench, demo, is_drawn
from suricate.bench.defaults import SUITES
from suricate.bench.reports import listing, results
from suricate.bench.streams.jobs import MadeOnDevice
from suricate.bench.workloads.short.cuda import HostTime

ENVIRONMENT = {"run", "date", "command", "device", "cpu", "cores", "memory_bytes", "python", "versions", "git", "seed"}
QUICK = ["--device", "cpu", "--repeats", "1", "--time-limit", "0"]


def run(command, *args):
    return CliRunner().invoke(command, [str(arg) for arg in args], catch_exceptions=False)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_commands_are_offered():
    assert [command.name for command in suricate_commands()] == ["demo", "bench", "compare"]


@pytest.fixture(scope="module")
def finished_demo(tmp_path_factory, temporal_file):
    """The demo, on a tiny graph."""
    path = tmp_path_factory.mktemp("demo") / "results" / "demo.jsonl"
    return run(demo, *QUICK, "--graph", temporal_file, "--batch", 32, "--output", path), path


@pytest.mark.slow
def test_demo_verifies_every_cell(finished_demo):
    result, path = finished_demo
    assert result.exit_code == 0, result.output
    header, *rows = lines_of(path)
    assert header["type"] == "environment"
    assert header.keys() >= ENVIRONMENT
    assert header["inputs"][0]["graph"] == "tiny"
    backends = [row for row in rows if row["backend"] not in ("scipy", "igraph")]
    assert {row["backend"] for row in backends} == {"slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"}
    shown = [name for name, kind in plugins.algorithms().items() if "demo" in kind.suites]
    assert len(backends) == 5 * (5 + 2 * len(shown))  # build, three operations, stream; from scratch and stream
    for row in backends:
        assert (row["backend"], row["workload"], row["status"], row["reason"]) == (
            row["backend"],
            row["workload"],
            "ok",
            "",
        )
        assert row["verified"]
        assert row["median_s"] > 0
        assert row["repeats"] >= 1
        assert row["run"] == header["run"]


def test_demo_prints_a_line_per_backend(finished_demo):
    result, _ = finished_demo
    title, heading, _, *lines, end = [line for line in result.stdout.splitlines() if line]
    assert "tiny on cpu: ms" in title
    assert {"insert", "delete", "query", "bfs", "bfs kept", "pagerank", "pagerank kept"} <= {*re.split("  +", heading)}
    rows = [*sorted(plugins.backends()), "SciPy"]
    assert [name for line in lines if (name := line.split()[0]) in rows] == rows  # others: igraph, what was not steady
    assert "0 failed" in end


def test_report_reads_what_demo_wrote(finished_demo, tmp_path):
    result = run(bench, "--report", finished_demo[1])
    assert result.exit_code == 0
    assert "from scratch bfs" in result.output
    assert "times as fast as csr_baseline" in result.output
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{\n")
    failed = run(bench, "--report", broken)
    assert failed.exit_code == 2
    assert "broken.jsonl:1" in failed.output


def test_a_broken_backend_shows_fail_no_time_and_exit_code_1(tmp_path, broken_backends):
    path = tmp_path / "results.jsonl"
    args = ["--suite", "operations", "--graph", "uniform:40:300", "--batch", 32, "--output", path]
    result = run(bench, *QUICK, *args, "--backend", "forgetful", "--backend", "gullible", "--backend", "raising")
    assert result.exit_code == 1
    rows = {(row["backend"], row["workload"]): row for row in lines_of(path)[1:]}
    for backend, workload, status in [
        ("forgetful", "bulk build", "FAIL"),
        ("gullible", "query", "FAIL"),
        ("raising", "delete", "ERROR"),
    ]:
        row = rows[backend, workload]
        assert row["status"] == status
        assert row["reason"]
        assert row["verified"] is None
        assert row["edges_per_s"] is None
        assert all(value is None for name, value in row.items() if name.endswith("_s"))
        shown = [line for line in result.output.splitlines() if line.startswith(backend) and workload in line]
        assert any(status in line for line in shown)
        assert not any(" us" in line or " ms" in line for line in shown)
    assert rows["gullible", "bulk build"]["median_s"] > 0


def test_a_right_backend_passes(tmp_path, broken_backends):
    args = ["--suite", "operations", "--graph", "uniform:40:300", "--batch", 32, "--backend", "tutorial"]
    result = run(bench, *QUICK, *args, "--output", tmp_path / "results.jsonl")
    assert result.exit_code == 0, result.output
    assert "dummy (does nothing)" in result.output


@pytest.mark.parametrize("command", [demo, bench])
def test_results_that_cannot_be_written_are_noticed_first(tmp_path, command, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("suricate.bench.session.run_tasks", lambda *_, **__: pytest.fail("work was done"))
    monkeypatch.setattr("suricate.bench.inputs.load", lambda *_, **__: pytest.fail("a graph was loaded"))
    for output in (tmp_path / "file" / "results.jsonl", tmp_path):
        result = run(command, "--device", "cpu", "--output", output)
        assert result.exit_code == 2
        assert "cannot write" in result.output


@pytest.mark.parametrize(
    "args",
    [
        ["--backend", "nosuch"],
        ["--graph", "nosuch"],
        ["--graph", "grid:3"],
        ["--suite", "nosuch"],
        ["--option", "x"],
        ["--batch", "0"],
        ["--report"],
        ["--report", "nosuch.jsonl"],
        ["--repeats", "-1"],
        ["--repeats", "0"],
        ["--repeats", "1.5"],
        ["--repeats", "1001"],
        ["--time-limit", "-1"],
        ["--time-limit", "nan"],
        ["--time-limit", "inf"],
        ["--time-limit", "soon"],
        ["--seed", "-1"],
        ["--batch", "-5"],
        ["--graph", "grid:0x0"],
        ["--graph", "grid:-3x3"],
        ["--graph", "grid:70000x70000"],
        ["--graph", "rmat:60"],
        ["--graph", "rmat:5:0"],
        ["--graph", "uniform:5:26"],
        ["--graph", "uniform:9999999999:5"],
        ["--algorithm", "nosuch"],
        ["--suite", "reduce", "--algorithm", "NAME"],
        ["--suite", "operations", "--knob", "x"],
        ["--suite", "reduce", "--pairs", "hub"],
        ["--suite", "memory", "--scenario", "fresh"],
        ["--suite", "algorithms", "--weighted"],
        ["--suite", "reduce", "--batch", "8"],
        ["--option", "nosuch=1"],
        ["--option", "memory_limit=1"],
        ["--quiet-core"],
        ["--plot", "rates.png"],
        ["--suite", "methods", "--algorithm", "bfs", "--graph", "rmat:4"],
        ["--list", "--graph", "rmat:4"],
        ["--list", "--report"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_run_is_exit_code_2_before_any_work(tmp_path, args, monkeypatch):
    monkeypatch.setattr("suricate.bench.session.run_tasks", lambda *_, **__: pytest.fail("work was done"))
    result = run(bench, "--output", tmp_path / "results.jsonl", "--device", "cpu", *args)
    assert result.exit_code == 2
    assert "Error: " in result.output


def test_a_picture_of_nothing_is_exit_code_2(tmp_path, finished_demo):
    pytest.importorskip("matplotlib")
    result = run(bench, "--report", finished_demo[1], "--plot", tmp_path / "rates.png")
    assert result.exit_code == 2
    assert "rates.png is not written: no operation was measured with batches of several sizes" in result.output


def test_a_graph_without_edges_is_exit_code_2(tmp_path):
    (tmp_path / "empty.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 0\n")
    result = run(bench, "--output", tmp_path / "results.jsonl", "--graph", tmp_path / "empty.mtx")
    assert result.exit_code == 2
    assert "has no edges" in result.output


@pytest.mark.parametrize("command", [demo, bench])
def test_a_quiet_core_that_cannot_be_had_is_exit_code_2(tmp_path, command):
    result = run(command, "--device", "cpu", "--quiet-core", "--output", tmp_path / "results.jsonl")
    assert result.exit_code == 2
    assert "--quiet-core is not possible: backends of the CPU run on all cores" in result.output


def test_the_figures_are_read(tmp_path):
    files = sorted((constants.COLLEGEMSG.parents[1] / "figures").rglob("*.jsonl"))
    assert files
    result = run(bench, "--report", *files)
    assert result.exit_code == 0, result.output
    for word in ("slabhash", "times as fast as csr_baseline", "bytes per edge", "by scheme", "microseconds per batch"):
        assert word in result.output


def test_an_unknown_device_is_exit_code_2():
    result = run(bench, "--device", "tpu")
    assert result.exit_code == 2
    assert "unknown device 'tpu'" in result.output


def test_rows_say_how_their_graphs_differ_from_the_usual(tmp_path):
    """Else a report would show the latest of them only, and --resume would leave the others out."""
    output, rows = tmp_path / "rows.jsonl", []
    common = (
        "--suite operations --graph rmat:4 --backend slabhash --workload query --batch 16 --repeats 1 --time-limit 0"
    )
    for more in ("", "--weighted", "--checks deferred", "--option load_factor=0.5", "--hints"):
        run(bench, *common.split(), *more.split(), "--device", "cpu", "--resume", "--output", output)
        _, rows = results.read([output])
    found = [row["detail"] for row in results.latest(rows) if row["backend"] == "slabhash"]
    assert found == [
        "mixed pairs", "mixed pairs, weighted", "mixed pairs, deferred checks", "mixed pairs, load_factor=0.5",
        "mixed pairs, with hints",
    ]  # fmt: skip


def test_rows_that_are_left_out_are_counted_not_listed(tmp_path):
    args = ["--suite", "operations", "--graph", "rmat:4", "--backend", "slabhash", "--workload", "insert"]
    result = run(bench, *QUICK, *args, "--batch", 8, "--batch", 10**6, "--output", tmp_path / "rows.jsonl")
    assert result.exit_code == 0
    assert "1,000,000" not in result.output
    assert "2 rows left out: the batch has more edges than the graph" in result.output  # slabhash and dummy


def test_workloads_are_chosen_by_name(tmp_path):
    path = tmp_path / "chosen.jsonl"
    args = ["--suite", "reduce", "--graph", "grid:5x4", "--backend", "csr_baseline", "--workload", "propagate"]
    assert run(bench, *QUICK, *args, "--output", path).exit_code == 0
    assert {row["workload"] for row in lines_of(path)[1:]} == {"propagate"}
    assert run(bench, *QUICK, *args, "--workload", "nothing", "--output", path).exit_code == 0  # one of them is enough
    assert run(bench, *QUICK, *args[:-1], "nothing", "--output", path).exit_code == 2


def test_list_shows_workloads_and_capabilities(broken_backends):
    result = run(bench, "--list", "--device", "cpu", "--backend", "tutorial")
    assert result.exit_code == 0
    for word in ("bulk build", "neighbor_reduce", "x[v]", "fallback", "native"):
        assert word in result.output


@pytest.mark.parametrize("suite", SUITES)
def test_list_shows_the_workloads_and_algorithms_of_a_suite(suite):
    selection = suites.Selection(("slabhash",), CPU, updates=(2,))
    data = drawn.load(drawn.spec_of(64, 2)) if is_drawn(suite, 0) else inputs.load(str(constants.COLLEGEMSG))
    tasks = suites.BACKEND_TASKS[suite](selection, selection.fixture("slabhash", data))
    tables = listing.listing((suite,), [], [plugins.algorithm(name) for name in suites.joining((suite,))])
    shown = {table.title: list(table.columns[0].cells) for table in tables}
    on_cuda = {"short": {HostTime.workload}, "stream": {MadeOnDevice.workload}}.get(suite, set())
    assert set(shown["workloads"]) == {type(task).workload for task in tasks} | on_cuda
    assert set(shown.get("algorithms", ())) == {task.algorithm for task in tasks if getattr(task, "algorithm", None)}


def test_list_is_of_the_suite_that_is_given():
    result = run(bench, "--list", "--device", "cpu", "--suite", "reduce")
    assert "propagate" in result.output
    assert "bulk build" not in result.output
    assert "pagerank" not in result.output


def test_a_report_takes_no_options_of_runs(finished_demo):
    result = run(bench, "--report", finished_demo[1], "--suite", "reduce")
    assert result.exit_code == 2
    assert "--suite does not go with --report" in result.output
