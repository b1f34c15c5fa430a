"""The sweep over backend options and the table of bytes, with a backend whose options do nothing."""

import json

import pytest
from click.testing import CliRunner

from suricate.base.devices import Device
from suricate.bench import inputs
from suricate.bench.commands import bench
from suricate.bench.workloads import sweeps
from suricate.errors import UnknownNameError

QUICK = ["--device", "cpu", "--repeats", "1", "--time-limit", "0", "--graph", "uniform:40:300"]


def run(*args):
    return CliRunner().invoke(bench, [str(arg) for arg in args], catch_exceptions=False)


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


def test_the_first_two_knobs_are_a_pair_and_the_others_go_one_at_a_time(knob_store):
    assert sweeps.settings(knob_store, {}) == [
        {},  # load=0.7, hashed=True, lanes=1
        {"load": 0.5, "hashed": True}, {"load": 0.5, "hashed": False}, {"load": 0.7, "hashed": False},
        {"line_bytes": 32}, {"line_bytes": 64}, {"lanes": 2}, {"lanes": 3},
    ]  # fmt: skip


def test_options_that_are_given_are_the_defaults(knob_store):
    changes = sweeps.settings(knob_store, {"lanes": 2, "load": 0.5})
    assert {"lanes": 2} not in changes
    assert {"lanes": 1} in changes
    assert {"load": 0.5, "hashed": True} not in changes
    assert {"load": 0.7, "hashed": True} in changes


def test_knobs_are_chosen_by_name(knob_store):
    assert sweeps.settings(knob_store, {}, ("lanes",)) == [{}, {"lanes": 2}, {"lanes": 3}]
    assert len(sweeps.settings(knob_store, {}, ("hashed",))) == 4
    with pytest.raises(UnknownNameError, match=r"no knob nosuch.*lanes"):
        sweeps.settings(knob_store, {}, ("nosuch",))


def test_widths(knob_store):
    assert sweeps.widths(knob_store, {}) == [{}, {"line_bytes": 32}, {"line_bytes": 64}]
    assert sweeps.widths(knob_store, {"line_bytes": 32}) == [{}, {"line_bytes": 64}]


def test_an_backend_without_knobs_has_its_defaults():
    from suricate.plugins import backend

    assert sweeps.settings(backend("csr_baseline"), {}) == [{}] == sweeps.widths(backend("csr_baseline"), {})


def test_labels():
    assert sweeps.label({}) == "defaults"
    assert sweeps.label({"load": 0.5, "hashed": False}) == "load=0.5, hashed=False"


def test_the_sweep_builds_with_every_setting_and_gives_bytes_beside_rates(tmp_path, knob_store):
    path = tmp_path / "sweep.jsonl"
    args = ["--suite", "sweep", "--backend", "knobs", "--backend", "csr_baseline", "--hints", "--batch", 16]
    result = run(*QUICK, *args, "--output", path)
    assert result.exit_code == 0, result.output
    rows = rows_of(path)
    mine = [row for row in rows if row["backend"] == "knobs"]
    refused = [row for row in mine if row["setting"] == "lanes=3"]
    assert {row["status"] for row in refused} == {"skip"}
    assert "power of two" in refused[0]["reason"]
    assert all(row["status"] == "ok" for row in rows if row not in refused)
    workloads = {"bulk build", "memory", "neighbor_reduce", "insert", "delete", "query"}
    for setting in ("defaults", "load=0.5, hashed=False", "line_bytes=32", "lanes=2"):
        assert {row["workload"] for row in mine if row["setting"] == setting} == workloads
    assert {row["setting"] for row in rows if row["backend"] == "csr_baseline"} == {"defaults"}
    built = set(knob_store.made)
    assert {(0.5, False, "auto", 1, True), (0.7, True, 64, 1, True), (0.7, True, "auto", 2, True)} <= built
    assert {row["suite"] for row in rows} == {"sweep"}
    sizes = next(row for row in mine if row["workload"] == "memory")["extra"]
    assert (sizes["bytes_per_edge"], sizes["utilisation"]) == (8.0, 0.5)
    shown = run("--report", path).output
    for word in ("rates and memory by option", "load=0.5, hashed=False", "B/edge, allocated", "batches of 16", "50%"):
        assert word in shown


def test_a_knob_that_is_not_there_is_exit_code_2(tmp_path, knob_store):
    args = ["--suite", "sweep", "--backend", "knobs", "--knob", "nosuch", "--output", tmp_path / "sweep.jsonl"]
    assert run(*QUICK, *args).exit_code == 2


def test_the_memory_suite_takes_every_width_and_churns(tmp_path, knob_store):
    path = tmp_path / "memory.jsonl"
    result = run(*QUICK, "--suite", "memory", "--backend", "knobs", "--graph", "grid:5x4", "--output", path)
    assert result.exit_code == 0, result.output
    rows = rows_of(path)
    assert {(row["graph"], row["setting"]) for row in rows} == {
        (graph, setting)
        for graph in ("uniform:40:300", "grid:5x4")
        for setting in ("defaults", "line_bytes=32", "line_bytes=64")
    }
    extra = rows[0]["extra"]
    assert (extra["vertices"], extra["edges"], extra["mean_degree"]) == (40, 300, 7.5)
    assert extra["parts"] == extra["churned"]["parts"] == {"edges": [2400, 2400]}
    assert rows[0]["verified"]
    for word in ("as built and after churn", "line_bytes=64", "edges 8.00/8.00", "grid:5x4"):
        assert word in result.output


def test_an_backend_that_loses_edges_in_churn_has_no_bytes(tmp_path, broken_backends):
    path = tmp_path / "memory.jsonl"
    result = run(*QUICK, "--suite", "memory", "--backend", "forgetful", "--backend", "raising", "--output", path)
    assert result.exit_code == 1
    rows = {row["backend"]: row for row in rows_of(path)}
    assert [rows[name]["status"] for name in ("forgetful", "raising")] == ["FAIL", "ERROR"]
    assert not rows["raising"]["extra"]


def test_the_memory_suite_reads_all_real_graphs(tmp_path, monkeypatch):
    from suricate.bench import commands

    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "tiny.txt").write_text("0 1\n1 2\n")
    monkeypatch.setenv("SURICATE_DATA", str(tmp_path))
    assert [inputs.load(spec).name for spec in commands.default_graphs("memory")] == ["tiny"]
    assert commands.default_graphs("operations") == commands.default_graphs("all") == ("rmat:16",)
    monkeypatch.setenv("SURICATE_DATA", str(tmp_path / "nowhere"))
    assert commands.default_graphs("memory") == ("rmat:16",)
    few, many = (commands.default_graphs("crossover", None, Device(kind, 0)) for kind in ("cpu", "cuda"))
    assert many[: len(few)] == few
    sizes = [inputs.size_of(inputs.parse(graph)) for graph in many]
    assert sizes == sorted(sizes)
    assert (len(few), len(many), sizes[0], sizes[-1]) == (6, 12, 1 << 20, 1 << 30)


def test_the_list_names_the_knobs(knob_store):
    shown = run("--list", "--device", "cpu", "--backend", "knobs").output
    for word in ("line_bytes", "32, 64", "growth", "reads and writes", "footprint"):
        assert word in shown
