"""The command line: what it prints, where, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest
from cli_calls import call, rows
from click.testing import CliRunner

import suricate as su
from suricate import plugins
from suricate.cli import cli, main
from suricate.errors import CapacityError, CheckFailed, PluginError, VertexRangeError

# -- the group ---------------------------------------------------------------------------------------------------------


def test_version() -> None:
    assert call("--version").output.strip() == f"suricate, version {su.__version__}"


def test_help_lists_built_in_and_plugged_in_commands() -> None:
    output = call("--help").output
    for name in ("plugins", "info", "run", "convert", "demo", "bench"):
        assert f"\n  {name} " in output
    assert "Exit codes: 0 done, 1 the run failed, 2 bad usage" in output


def test_help_of_no_command_is_cut_in_a_terminal_of_80_columns() -> None:
    output = CliRunner().invoke(cli, ["--help"], env={"COLUMNS": "80"}, terminal_width=80).output
    assert "..." not in output.split("Commands:")[1]


@pytest.mark.parametrize("command", ["plugins", "info", "run", "convert", "demo", "bench"])
def test_every_command_has_help(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.output


USAGE_ERRORS = {
    ("fly",): "No such command 'fly'",
    ("--fly",): "No such option",
    ("run",): "Missing argument 'ALGORITHM'",
    ("run", "bfs"): "Missing argument 'FILE'",
    ("run", "bfs", "FILE", "more"): "unexpected extra argument (more)",
    ("run", "bfs", "FILE", "--device"): "requires an argument",
    ("run", "bfs", "FILE", "--top", "x"): "'x' is not a valid integer",
    ("run", "bfs", "FILE", "--param", "foo=1"): "the parameters of BFS are: source",
    ("run", "pagerank", "FILE", "--param", "alpha='x'"): "alpha",
    ("run", "pagerank", "FILE", "--param", "dtype=foo"): "dtype",
    ("run", "bfs", "FILE", "--param", "source=" + "9" * 5000): "source",
    ("run", "bfs", "FILE", "--param", "source=" + "(" * 300): "source",
    ("run", "bfs", "FILE", "--output", "values.parquet"): "'values.parquet' ends in .parquet",
    ("run", "bfs", "FILE", "--columns", "src"): "expected ROLE=COLUMN",
    ("run", "bfs", "FILE", "--columns", "src=0,src=1"): "each role once",
    ("run", "bfs", "FILE", "--columns", "source=0,dst=1"): "unknown column role 'source'",
    ("run", "bfs", "FILE", "--columns", "src=payer,dst=1"): "has no column 'payer'",
    ("run", "bfs", "FILE", "--columns", "src=0,dst=9999"): "there is no column 9999",
    ("run", "bfs", "FILE", "--device", "cuda:99"): "cuda",
    ("run", "bfs", "/"): "is a directory",
    ("convert",): "Missing argument 'IN'",
    ("convert", "FILE"): "Missing argument 'OUT'",
    (
        "convert",
        "FILE",
        "out.data",
    ): "unknown extension '.data' of out.data: name the format, or use one of .arrow, .arrows, .csv,",
    ("convert", "FILE", "/"): "directory",
    ("convert", "FILE", "out.txt", "--to", "png"): "unknown format 'png'",
    ("info", "none.txt"): "'none.txt' does not exist",
    ("info", "FILE", "--relabel=yes"): "'yes' is not one of 'auto', 'text'",
    ("info", "FILE", "--from", "png"): "unknown format 'png'",
    ("info", "FILE", "--format", "png"): "'png' is not one of 'table', 'csv', 'json'",
    ("plugins", "x"): "unexpected extra argument (x)",
    ("bench", "--fly"): "No such option",
    ("demo", "x"): "unexpected extra argument (x)",
}


@pytest.mark.parametrize("args", USAGE_ERRORS, ids=lambda args: " ".join(args)[:60])
def test_usage_errors_are_one_line(path_graph: Path, args: tuple[str, ...]) -> None:
    result = call(*[path_graph if arg == "FILE" else arg for arg in args])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("Error: ")
    assert USAGE_ERRORS[args] in result.stderr


def test_usage_errors_name_the_help() -> None:
    assert call("fly").stderr == "Error: No such command 'fly'. (see 'suricate --help')\n"
    assert call("run").stderr == "Error: Missing argument 'ALGORITHM'. (see 'suricate run --help')\n"


def test_names_with_brackets_are_no_markup(path_graph: Path) -> None:
    (path_graph.parent / "[red]x[").mkdir()
    odd = path_graph.rename(path_graph.parent / "[red]x[" / "y].txt")
    facts = dict(rows(call("info", odd)))
    assert facts["file"].endswith("[red]x[/y].txt")
    assert call("run", "bfs", odd, "--device", "cpu").exit_code == 0


def test_main_ends_with_the_exit_code() -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    with pytest.raises(SystemExit) as end:
        main(["fly"])
    assert end.value.code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (VertexRangeError("vertex 9 is\n  out of range"), 2),
        (FileNotFoundError(2, "No such file", "x"), 2),
        (CapacityError("out of memory"), 1),
        (MemoryError(), 1),
        (CheckFailed("broken"), 1),
        (PluginError("plugin x failed"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_one_line_on_stderr(error: Exception, code: int) -> None:
    def fail() -> None:
        raise error

    command = click.Command("fail", callback=fail)
    plugin = type("Failing", (), {"suricate_commands": staticmethod(su.hookimpl(lambda: [command]))})()
    name = plugins.register(plugin)
    try:
        result = call("fail")
    finally:
        plugins.unregister(name)
    assert result.exit_code == code
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")


# -- plugins -----------------------------------------------------------------------------------------------------------


def test_plugins_lists_all() -> None:
    result = call("plugins")
    assert result.exit_code == 0
    table = {row[0]: row[1:] for row in rows(result) if len(row) == 5}
    assert table["slabhash"] == [su.__version__, "suricate", "suricate_backends", "ok"]
    assert table["bfs"] == [su.__version__, "suricate", "suricate_algorithms", "ok"]
    assert table["bench"] == [su.__version__, "suricate", "suricate_commands", "ok"]


def test_plugins_says_how_each_algorithm_is_updated() -> None:
    found = json.loads(call("plugins", "--format", "json").stdout)
    table = {row["algorithm"]: [row["update"], row["which"]] for row in found["algorithms"]}
    assert [row["name"] for row in found["plugins"]] == [plugin.name for plugin in plugins.installed()]
    assert set(table) == set(plugins.algorithms())
    assert table["bfs"] == ["dynamic", "the work follows the change, for insertions and deletions"]
    divided = {row["algorithm"]: row["of several processes"] for row in found["algorithms"]}
    assert {name for name, said in divided.items() if said != "the same"} == {"msf", "wcc"}
    for name, algorithm in plugins.algorithms().items():
        assert table[name][0] == algorithm.update_kind
        assert (algorithm.update_kind == "recompute") == (algorithm.update is su.Algorithm.update), name


def test_plugins_fails_if_one_failed() -> None:
    environ = {**os.environ, "SURICATE_PLUGINS": "bfs,absent", "COLUMNS": "160"}
    done = subprocess.run([sys.executable, "-m", "suricate", "plugins"], capture_output=True, text=True, env=environ)
    assert done.returncode == 1
    assert "failed: PluginError: no plugin or distribution of this name" in done.stdout
    assert done.stderr == ""


def test_a_failed_plugin_warns_in_one_line(path_graph: Path) -> None:
    environ = {**os.environ, "SURICATE_PLUGINS": "absent"}
    command = [sys.executable, "-m", "suricate", "run", "bfs", str(path_graph)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    assert done.returncode == 2
    warning, error = done.stderr.splitlines()
    assert warning.startswith("suricate: warning: suricate plugin 'absent'")
    assert error.startswith("Error: no algorithm 'bfs' is installed (there are: none); plugin 'absent' failed")


# -- run ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def test_run(path_graph: Path, backend: str) -> None:
    result = call("run", "bfs", path_graph, "--backend", backend, "--device", "cpu", "--top", 2)
    assert result.exit_code == 0, result.stderr
    assert f"4 vertices, 3 edges, directed, unweighted; {backend} on cpu" in result.stdout
    assert rows(result) == [["3", "3", "2"], ["2", "2", "1"]]


def test_run_with_parameters(path_graph: Path) -> None:
    result = call("run", "bfs", path_graph, "--param", "source=2", "--device", "cpu", "--top", 1)
    assert rows(result) == [["3", "1", "2"]]
    undirected = call("run", "bfs", path_graph, "--param", "source=3", "--undirected", "--device", "cpu", "--top", 1)
    assert rows(undirected) == [["0", "3", "1"]]
    assert ", undirected, " in undirected.stdout


def test_a_single_vertex_where_there_may_be_several(path_graph: Path) -> None:
    result = call("run", "bfs", path_graph, "--param", "sources=2", "--device", "cpu", "--top", 1)
    assert rows(result) == [["3", "1", "2"]]
    wrong = call("run", "bfs", path_graph, "--param", "sources=9", "--device", "cpu")
    assert "sources[0] is 9, but ids are 0 to 3" in wrong.stderr


def test_values_of_edges_are_a_list_of_edges(path_graph: Path) -> None:
    found = json.loads(call("run", "msf", path_graph, "--device", "cpu", "--format", "json").stdout)
    assert "vertices" not in found
    assert found["edges"][0] == {"src": 0, "dst": 1, "weight": 1}


@pytest.mark.parametrize("value", ["true", "False", "TRUE"])
def test_flags_of_an_algorithm(weighted: Path, value: str) -> None:
    result = call("run", "pagerank", weighted, "--relabel", "--param", f"weighted={value}", "--device", "cpu")
    assert result.exit_code == 0, result.stderr


@pytest.mark.slow
def test_lines_that_repeat_an_edge(tmp_path: Path) -> None:
    path = tmp_path / "payments.txt"
    path.write_text("0 1 5\n0 1 7\n1 0 4\n")
    command = [sys.executable, "-m", "suricate", "run", "sssp", str(path), "--device", "cpu", "--format", "csv"]
    done = subprocess.run([*command, "--undirected"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "suricate: warning: 2 of 3 edges repeat an edge with another weight" in done.stderr
    for rule, distance in (("sum", 12), ("min", 5), ("weight=count", 2)):
        result = call("run", "sssp", path, "--device", "cpu", "--combine", rule, "--format", "json")
        assert json.loads(result.stdout)["vertices"][0]["distance"] == distance, result.stdout
        assert "warning" not in result.stderr
    assert "must be one of last, first" in call("run", "sssp", path, "--combine", "mean").stderr


def test_run_keeps_the_original_ids(weighted: Path, tmp_path: Path) -> None:
    output = tmp_path / "values.csv"
    result = call("run", "bfs", weighted, "--relabel", "--device", "cpu", "--top", 1, "--output", output)
    assert result.exit_code == 0, result.stderr
    assert rows(result) == [["cid", "2", "bob"]]
    assert output.read_text().splitlines() == [
        "vertex,name,level,parent,parent_name", "0,ann,0,0,ann", "1,bob,1,0,ann", "2,cid,2,1,bob",
    ]  # fmt: skip
    assert "float64 weights" in result.stdout


def test_a_source_is_named_by_its_original_id(weighted: Path, tmp_path: Path) -> None:
    options = ("--relabel", "--device", "cpu", "--top", 1)
    assert rows(call("run", "bfs", weighted, *options, "--param", "source=bob")) == [["cid", "1", "bob"]]
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("70 50\n50 60\n")
    assert rows(call("run", "bfs", numbers, *options, "--param", "source=50")) == [["60", "1", "50"]]
    for file, wrong in ((weighted, "dan"), (weighted, "1"), (numbers, "1"), (numbers, "ann"), (numbers, "5.5")):
        result = call("run", "bfs", file, *options, "--param", f"source={wrong}")
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert "has no vertex" in result.stderr


def test_run_writes_arrays(path_graph: Path, tmp_path: Path) -> None:
    output = tmp_path / "values.npz"
    result = call("run", "pagerank", path_graph, "--param", "dtype=float32", "--device", "cpu", "--output", output)
    assert result.exit_code == 0, result.stderr
    ranks = np.load(output)["value"]
    assert ranks.dtype == np.float32
    assert ranks.sum() == pytest.approx(1, abs=1e-4)
    assert ranks.argmax() == 3


def test_run_prints_and_writes_what_has_no_value_per_vertex(path_graph: Path, tmp_path: Path) -> None:
    output = tmp_path / "walks.npz"
    result = call("run", "random_walks", path_graph, "--device", "cpu", "--top", 2, "--output", output)
    assert rows(result) == [["0", "0 1 2 3"], ["1", "1 2 3"]]
    with np.load(output) as found:
        assert found["value"].shape == (4, 11)
    text = tmp_path / "walks.csv"
    assert call("run", "random_walks", path_graph, "--device", "cpu", "--output", text).exit_code == 2
    assert not text.exists()


def test_run_on_a_snapshot(path_graph: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "path.npz"
    assert call("convert", path_graph, snapshot).exit_code == 0
    result = call("run", "bfs", snapshot, "--device", "cpu", "--backend", "csr_baseline", "--top", 1)
    assert rows(result) == [["3", "3", "2"]]
    assert "csr_baseline" in result.stdout
    refused = call("run", "bfs", snapshot, "--undirected")
    assert refused.exit_code == 2
    assert "snapshot" in refused.stderr


def test_run_leaves_deleted_vertices_out(tmp_path: Path) -> None:
    graph = su.Graph(6, device="cpu", directed=False)
    graph.insert_edges([0, 0, 2], [1, 2, 3])
    graph.delete_vertices([1, 4])
    snapshot, text, arrays = (tmp_path / name for name in ("graph.npz", "values.csv", "arrays.npz"))
    graph.save(snapshot)
    result = call("run", "kcore", snapshot, "--device", "cpu", "--output", text)
    assert rows(result) == [["0", "1"], ["2", "1"], ["3", "1"], ["5", "0"]]
    assert "4 vertices (and 2 deleted), 2 edges" in result.stdout
    assert text.read_text() == "vertex,core\n0,1\n2,1\n3,1\n5,0\n"
    call("run", "kcore", snapshot, "--device", "cpu", "--output", arrays)
    with np.load(arrays) as found:
        assert (found["vertex"].tolist(), found["core"].tolist()) == ([0, 2, 3, 5], [1, 1, 1, 0])
    walks = call("run", "random_walks", snapshot, "--device", "cpu", "--param", "length=0", "--top", 3)
    assert rows(walks) == [["0", "0"], ["2", "2"], ["3", "3"]]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nope", "FILE"], "no algorithm 'nope' is installed (there are: betweenness, bfs, "),
        (["bfs", "FILE", "--backend", "nope"], "no backend 'nope' is installed"),
        (["bfs", "FILE", "--device", "tpu"], "unknown device 'tpu'"),
        (["bfs", "FILE", "--param", "sauce=1"], "there is no 'sauce'; the parameters of BFS are: source"),
        (["random_walks", "FILE", "--output", "x.csv"], "name a file that ends in .npz"),
        (["bfs", "FILE", "--param", "source"], "NAME=VALUE"),
        (["bfs", "FILE", "--param", "source=99"], "99"),
        (["pagerank", "FILE", "--param", "alpha=7"], "alpha must be in [0, 1)"),
        (["bfs", "missing.txt"], "does not exist"),
        (["bfs", "FILE", "--format", "nope"], "nope"),
        (["bfs", "FILE", "--top", "-1"], "-1"),
        (["bfs", "FILE", "--output", "no/such/folder/x.csv"], "No such file or directory: 'no/such/folder/x.csv'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_run_refuses_bad_input(path_graph: Path, args: list[str], message: str) -> None:
    result = call("run", *[str(path_graph) if arg == "FILE" else arg for arg in args])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_run_names_the_line_of_a_malformed_file(tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("0 1\n1 x\n")
    result = call("run", "bfs", file)
    assert result.exit_code == 2
    assert f"{file}:2: " in result.stderr


# -- warmup ------------------------------------------------------------------------------------------------------------


def test_warmup(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def warm_up(*, report: Callable[[str, float], None], **options: object) -> float:
        asked.update(options)
        report("a step", 1.25)
        return 2.5

    monkeypatch.setattr("suricate.cli.precompile.warm_up", warm_up)
    result = call("warmup", "--device", "cpu", "--backend", "csr_baseline")
    assert asked == {"backend": "csr_baseline", "device": "cpu", "parts": ()}
    lines = result.stdout.splitlines()
    assert lines[0] == "   1.2 s  a step"
    assert lines[1].startswith("   2.5 s  in all; kept in ")


def test_warmup_refuses_unknown_names() -> None:
    for option, name in (("--backend", "nope"), ("--device", "tpu")):
        result = call("warmup", option, name)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert name in result.stderr


# -- convert and info --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.mtx", "out.gr", "out.csv", "out.txt", "out.txt.gz", "out.npz"])
def test_convert_there_and_back(path_graph: Path, tmp_path: Path, name: str) -> None:
    there, back = tmp_path / name, tmp_path / "back.txt"
    result = call("convert", path_graph, there)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr.strip() == f"{there} is written"
    assert call("convert", there, back).exit_code == 0
    again = su.read(back)
    assert set(zip(again.src.tolist(), again.dst.tolist(), strict=True)) == {(0, 1), (1, 2), (2, 3)}


def test_convert_chooses_the_format(path_graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.data"
    assert call("convert", path_graph, out, "--to", "csv").exit_code == 0
    assert out.read_text().splitlines()[:2] == ["src,dst", "0,1"]
    assert call("convert", path_graph, out, "--to", "nope").exit_code == 2
    assert out.read_text().startswith("src,dst")


def test_convert_relabels(weighted: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert "without the original ids" in call("convert", weighted, out, "--relabel").stderr
    assert out.read_text().splitlines()[1:] == ["0,1,0.5", "1,2,1.5", "2,2,2.0"]
    assert call("convert", weighted, out, "--relabel", "--labels").exit_code == 0
    assert out.read_text().splitlines()[1].startswith("ann,bob,0.5")
    assert call("convert", weighted, out, "--labels").exit_code == 2
    refused = call("convert", weighted, tmp_path / "out.mtx", "--relabel", "--labels")
    assert refused.exit_code == 2
    assert not (tmp_path / "out.mtx").exists()


def test_convert_and_run_on_columns_and_parquet(tmp_path: Path) -> None:
    payments, table, back = tmp_path / "payments.csv", tmp_path / "payments.parquet", tmp_path / "back.csv"
    payments.write_text("payer,payee,amount,ts\nbob,ann,1.5,2024-05-17T13:45:00\nann,cid,2,2024-05-18\n")
    columns = ("--relabel", "--columns", "src=payer,dst=payee,weight=amount,time=3")
    assert call("convert", payments, table, "--labels", *columns).exit_code == 0
    assert call("convert", table, back, "--relabel", "--labels").exit_code == 0
    assert back.read_text().splitlines()[1] == "bob,ann,1.5,2024-05-17T13:45:00.000000Z"
    facts = dict(rows(call("info", table, "--relabel")))
    assert facts["times"].endswith("us (2024-05-17T13:45:00.000000Z to 2024-05-18T00:00:00.000000Z)")
    for file, options in ((payments, columns), (table, ("--relabel",))):
        result = call("run", "bfs", file, "--device", "cpu", "--top", 1, *options)
        assert rows(result) == [["cid", "2", "ann"]]


def test_info_of_a_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "suricate", "info", "/dev/stdin"]
    done = subprocess.run(command, input="0 1\n", capture_output=True, text=True)
    assert "1 (1 distinct, 0 self-loops)" in done.stdout
    assert "sha256" not in done.stdout


def test_damaged_snapshot(path_graph: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "path.npz"
    call("convert", path_graph, snapshot)
    snapshot.write_bytes(snapshot.read_bytes()[:100])
    for args in (("info", snapshot), ("run", "bfs", snapshot), ("convert", snapshot, tmp_path / "x.txt")):
        result = call(*args)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert "snapshot" in result.stderr


def test_convert_into_a_missing_folder(path_graph: Path, tmp_path: Path) -> None:
    result = call("convert", path_graph, tmp_path / "missing" / "out.csv")
    assert result.exit_code == 2
    assert f"No such file or directory: '{tmp_path / 'missing' / 'out.csv'}'" in result.stderr


def test_convert_to_a_full_device(path_graph: Path) -> None:
    result = call("convert", path_graph, "/dev/full")
    assert result.exit_code == 2
    assert result.stderr == "Error: [Errno 28] No space left on device: '/dev/full'\n"
    assert Path("/dev/full").is_char_device()


def test_convert_into_a_pipeline(path_graph: Path) -> None:
    command = [sys.executable, "-m", "suricate", "convert", str(path_graph), "/dev/stdout", "--to", "csv"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "src,dst\n0,1\n1,2\n2,3\n2,3\n"
    assert done.stderr == "/dev/stdout is written\n"


def test_info_of_the_machine() -> None:
    result = call("info")
    assert result.exit_code == 0
    facts = dict(row for row in rows(result) if len(row) == 2)  # a long list goes on in rows of one cell
    assert facts["suricate"] == su.__version__
    assert facts["numpy"] == np.__version__
    assert facts["default backend"] == plugins.default_backend(su.Device(facts["default device"].split(":")[0])).name
    assert "betweenness" in facts["algorithms"]


def test_info_of_a_file(path_graph: Path, weighted: Path) -> None:
    facts = dict(rows(call("info", path_graph)))
    assert facts["format"] == "snap"
    assert facts["vertices"] == "4"
    assert facts["edges"] == "4 (3 distinct, 0 self-loops)"
    assert facts["weights"] == "none"
    facts = dict(rows(call("info", weighted, "--relabel")))
    assert facts["weights"] == "float64, 0.5 to 2.0"
    assert facts["edges"] == "3 (3 distinct, 1 self-loops)"


def test_info_of_an_empty_file(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    facts = dict(rows(call("info", empty)))
    assert facts["vertices"] == "0"
    assert facts["edges"] == "0 (0 distinct, 0 self-loops)"


def test_info_of_a_snapshot(path_graph: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "path.npz"
    call("convert", path_graph, snapshot)
    facts = dict(rows(call("info", snapshot)))
    assert facts["format"] == "snapshot"
    assert facts["graph"].startswith("4 vertices, 3 edges, directed, unweighted")
