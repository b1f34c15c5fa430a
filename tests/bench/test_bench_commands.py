"""``suricate demo`` and ``suricate bench`` as a user meets them: tables, files, exit codes."""

import json

import pytest
from click.testing import CliRunner

from suricate.bench import constants, suricate_commands
from suricate.bench.commands import bench, demo

ENVIRONMENT = {"run", "date", "command", "device", "cpu", "cores", "memory_bytes", "python", "versions", "git", "seed"}
QUICK = ["--device", "cpu", "--repeats", "1", "--time-limit", "0"]


def run(command, *args):
    return CliRunner().invoke(command, [str(arg) for arg in args], catch_exceptions=False)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_commands_are_offered():
    assert [command.name for command in suricate_commands()] == ["demo", "bench"]


@pytest.fixture(scope="module")
def finished_demo(tmp_path_factory, temporal_file):
    """The demo, on a tiny graph in place of CollegeMsg."""
    path = tmp_path_factory.mktemp("demo") / "results" / "demo.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "COLLEGEMSG", temporal_file)
        return run(demo, *QUICK, "--batch", 32, "--output", path), path


def test_demo_verifies_every_cell(finished_demo):
    result, path = finished_demo
    assert result.exit_code == 0, result.output
    header, *cells = lines_of(path)
    assert header["type"] == "environment"
    assert header.keys() >= ENVIRONMENT
    assert header["inputs"][0]["graph"] == "tiny"
    backends = [cell for cell in cells if cell["backend"] != "scipy"]
    assert {cell["backend"] for cell in backends} == {"slabhash", "hornet_like", "csr_baseline"}
    assert len(backends) == 3 * 9
    for cell in backends:
        assert (cell["backend"], cell["workload"], cell["status"], cell["reason"]) == (
            cell["backend"],
            cell["workload"],
            "ok",
            "",
        )
        assert cell["verified"]
        assert cell["median_s"] > 0
        assert cell["repeats"] >= 1
        assert cell["run"] == header["run"]


def test_demo_prints_a_matrix(finished_demo):
    result, _ = finished_demo
    for word in ("bulk build", "insert", "stream pagerank", "from scratch bfs", "hornet_like", "0 failed"):
        assert word in result.output


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
    cells = {(cell["backend"], cell["workload"]): cell for cell in lines_of(path)[1:]}
    for backend, workload, status in [
        ("forgetful", "bulk build", "FAIL"),
        ("gullible", "query", "FAIL"),
        ("raising", "delete", "ERROR"),
    ]:
        cell = cells[backend, workload]
        assert cell["status"] == status
        assert cell["reason"]
        assert cell["verified"] is None
        assert cell["edges_per_s"] is None
        assert all(value is None for name, value in cell.items() if name.endswith("_s"))
        shown = [line for line in result.output.splitlines() if line.startswith(backend) and workload in line]
        assert any(status in line for line in shown)
        assert not any(" us" in line or " ms" in line for line in shown)
    assert cells["gullible", "bulk build"]["median_s"] > 0


def test_a_right_backend_passes(tmp_path, broken_backends):
    args = ["--suite", "operations", "--graph", "uniform:40:300", "--batch", 32, "--backend", "tutorial"]
    result = run(bench, *QUICK, *args, "--output", tmp_path / "results.jsonl")
    assert result.exit_code == 0, result.output
    assert "dummy (does nothing)" in result.output


@pytest.mark.parametrize("command", [demo, bench])
def test_results_that_cannot_be_written_are_noticed_first(tmp_path, command, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("suricate.bench.matrix.run_tasks", lambda *_, **__: pytest.fail("work was done"))
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
        ["--device", "tpu"],
        ["--suite", "nosuch"],
        ["--option", "x"],
        ["--batch", "0"],
        ["--report"],
        ["--report", "nosuch.jsonl"],
    ],
)
def test_what_cannot_be_run_is_exit_code_2(tmp_path, args):
    result = run(bench, "--output", tmp_path / "results.jsonl", *args)
    assert result.exit_code == 2
    assert "Error" in result.output


def test_workloads_are_chosen_by_name(tmp_path):
    path = tmp_path / "chosen.jsonl"
    args = ["--suite", "reduce", "--graph", "grid:5x4", "--backend", "csr_baseline", "--workload", "propagate"]
    assert run(bench, *QUICK, *args, "--output", path).exit_code == 0
    assert {cell["workload"] for cell in lines_of(path)[1:]} == {"propagate"}
    assert run(bench, *QUICK, *args, "--workload", "nothing", "--output", path).exit_code == 0  # one of them is enough
    assert run(bench, *QUICK, *args[:-1], "nothing", "--output", path).exit_code == 2


def test_list_shows_workloads_and_capabilities(broken_backends):
    result = run(bench, "--list", "--device", "cpu", "--backend", "tutorial")
    assert result.exit_code == 0
    for word in ("bulk build", "neighbor_reduce", "x[v]", "fallback", "native"):
        assert word in result.output
