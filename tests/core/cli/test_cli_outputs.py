"""What the command line writes where: formats of tables, pipes, names of vertices, parts of files."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from cli_calls import call, rows, shell

import suricate as su
from suricate.cli import cli, main
from suricate.cli.terminal import show_rich


def test_vertices_go_by_their_names(tmp_path: Path) -> None:
    """In every column of a printed table, and in parameters, where a name may look like a literal of Python."""
    file = tmp_path / "named.csv"
    file.write_text("src,dst\n1e3,true\ntrue,ann\n")
    found = call("run", "bfs", file, "--relabel", "--device", "cpu", "--param", "source=1e3", "--format", "csv").stdout
    assert found.splitlines()[-3:] == ["2,ann,2,1,true", "1,true,1,0,1e3", "0,1e3,0,0,1e3"]
    found = call("run", "bfs", file, "--relabel", "--device", "cpu", "--param", "source=true", "--format", "csv").stdout
    assert found.splitlines()[-1] == "0,1e3,,,"


def test_snapshots_keep_the_names_of_a_file(weighted: Path, tmp_path: Path) -> None:
    snapshot, output = tmp_path / "named.npz", tmp_path / "out.csv"
    assert call("convert", weighted, snapshot, "--relabel").exit_code == 0
    options = ("--device", "cpu", "--param", "source=bob", "--format", "csv", "--output", output)
    found = call("run", "bfs", snapshot, *options).stdout
    assert found.splitlines()[-3:] == ["2,cid,1,1,bob", "1,bob,0,1,bob", "0,ann,,,"]
    assert output.read_text().splitlines() == ["vertex,name,level,parent,parent_name", *found.splitlines()[-1:-4:-1]]
    refused = call("run", "bfs", snapshot, "--device", "cpu", "--param", "source=eve")
    assert (refused.exit_code, "has no vertex 'eve'" in refused.stderr) == (2, True)
    found = call("run", "bfs", snapshot, "--device", "cpu", "--param", "source=1", "--format", "csv").stdout
    assert found.splitlines()[-2] == "1,bob,0,1,bob"  # a number is an id


@pytest.mark.slow
def test_names_are_in_the_output_of_every_algorithm(weighted: Path, tmp_path: Path) -> None:
    for algorithm, second in (("pagerank", "0,ann,"), ("wcc", "0,ann,0")):
        done = shell("run", algorithm, "-", "--relabel", "--device", "cpu", "--output", "-", stdin=weighted.open())
        assert done.stdout.splitlines()[1].startswith(second), done.stderr
        assert len(done.stdout.splitlines()) == 4
    assert "4 edges" in done.stderr or "3 edges" in done.stderr
    call("run", "wcc", weighted, "--relabel", "--device", "cpu", "--output", tmp_path / "wcc.npz")
    with np.load(tmp_path / "wcc.npz") as found:
        assert (found["name"].tolist(), found["label"].tolist()) == (["ann", "bob", "cid"], [0, 0, 0])


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_stream_is_the_null_device(path_graph: Path, monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["run", "bfs", str(path_graph), "--device", "cpu"])
    getattr(sys, stream).close()


@pytest.mark.slow
def test_names_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_bytes(b"a\xff b\n")
    output = tmp_path / "out.csv"
    file, options = tmp_path / "odd.txt", ("--relabel", "--encoding", "bytes", "--device", "cpu")
    done = shell("run", "bfs", file, *options, "--output", output)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes().splitlines()[1] == b"0,a\xff,0,0,a\xff"
    assert "a\ufffd" in done.stdout


def test_the_largest_components_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "parts.txt"
    file.write_text("z y\na b\nb c\nk l\n")
    result = call("run", "wcc", file, "--relabel", "text", "--device", "cpu", "--top", 2)
    assert "num_components: 3" in result.stdout
    assert rows(result) == [["a", "3"], ["z", "2"]]
    found = json.loads(call("run", "scc", file, "--relabel", "--device", "cpu", "--format", "json").stdout)
    assert found["num_components"] == 7
    assert found["groups"][0] == {"label": "z", "vertices": 1}


def test_fields_that_were_not_asked_for_are_left_out(path_graph: Path, tmp_path: Path) -> None:
    """What a result has as None is neither shown nor written."""
    for params, has in (((), False), (("--param", "levels=true"), True)):
        args = "run", "leiden", path_graph, "--device", "cpu", *params, "--output", tmp_path / "leiden.npz"
        shown = call(*args).stdout
        assert "None" not in shown
        assert ("levels" in shown) is has
        with np.load(tmp_path / "leiden.npz") as found:
            assert {"vertex", "label", "quality"} <= {*found}
            assert ("levels" in found) is has


def test_formats_of_tables(path_graph: Path) -> None:
    options = ("run", "pagerank", path_graph, "--device", "cpu", "--top", 1)
    found = list(csv.DictReader(io.StringIO(call(*options, "--format", "csv").stdout)))
    assert [row["vertex"] for row in found] == ["3"]
    assert len(found[0]["value"]) > 10  # all digits
    found = json.loads(call(*options, "--format", "json").stdout)
    assert "4 vertices" in found["graph"]
    assert found["vertices"][0]["vertex"] == 3
    unreached = call("run", "sssp", path_graph, "--param", "source=3", "--device", "cpu", "--format", "json")
    assert [row["distance"] for row in json.loads(unreached.stdout)["vertices"]] == [0, None, None, None]
    facts = {row["what"]: row["value"] for row in json.loads(call("info", path_graph, "--format", "json").stdout)}
    assert facts["vertices"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["", "80", "30", "7"])
def test_piped_tables_are_plain_and_obey_columns(columns: str) -> None:
    environ = {**os.environ, "COLUMNS": columns, "FORCE_COLOR": "1"}
    lines = shell("plugins", env=environ).stdout.splitlines()
    assert not {"\x1b", "│", "…"} & set("".join(lines))
    assert max(map(len, lines)) <= {"": 10**6, "80": 80, "30": 30, "7": 21}[columns]  # a word may be longer than 7
    words = {word for line in lines for word in line.split()}
    assert {"suricate_algorithms", "label_propagation", "insertions", "processes"} <= {
        word.strip(":") for word in words
    }


@pytest.mark.parametrize("width", [70, 40, 12])
def test_tables_on_a_terminal_are_broken_between_words(width: int) -> None:
    from rich.console import Console
    from rich.table import Table

    words = ["suricate_algorithms", "computes", "from_scratch_after", "deletions"]
    table = Table("name", "which is long", title="t")
    table.add_row(" ".join(words), " ".join(reversed(words)))
    stream = io.StringIO()
    show_rich(Console(file=stream, force_terminal=True, color_system=None, width=width), table)
    shown = stream.getvalue()
    assert {*words, "name", "which"} <= {word.strip(":") for word in re.split(r"[\s│┃]+", shown)}
    assert ("│" in shown) == (width > 2 * 19 + 7)


def test_relabel_may_stand_before_a_file(weighted: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("src,dst\n07,7\n")
    options = ("--device", "cpu", "--top", 5)
    assert {row[0] for row in rows(call("run", "bfs", "--relabel", weighted, *options))} == {"ann", "bob", "cid"}
    assert {row[0] for row in rows(call("run", "bfs", "--relabel", "text", numbers, *options))} == {"07", "7"}
    assert {row[0] for row in rows(call("run", "bfs", numbers, "--relabel", *options))} == {"07", "7"}
    numbers.write_text("src,dst\n8,7\n")
    assert {row[0] for row in rows(call("run", "bfs", numbers, "--relabel", *options))} == {"8", "7"}


def test_parts_are_one_file(tmp_path: Path) -> None:
    su.write(([0], [1]), tmp_path / "part-0.parquet")
    su.write(([1], [2]), tmp_path / "part-1.parquet")
    for source in (tmp_path, tmp_path / "*.parquet"):
        assert rows(call("run", "bfs", source, "--device", "cpu", "--top", 1)) == [["2", "2", "1"]]
    assert call("info", tmp_path).exit_code == 0
    assert call("info", tmp_path / "*.arrow").exit_code == 2


@pytest.mark.slow
def test_standard_input_and_output_may_be_files_and_sockets(path_graph: Path, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        for command in (("convert", "-", "-", "--to", "csv"), ("run", "bfs", "-", "--device", "cpu", "--output", "-")):
            out.write("#\n")
            out.flush()
            subprocess.run(
                [sys.executable, "-m", "suricate", *command],
                stdin=path_graph.open(),
                stdout=out,
                stderr=subprocess.DEVNULL,
            )
    lines = (tmp_path / "out").read_text().splitlines()
    assert (lines[:3], lines[6], lines[7:9]) == (["#", "src,dst", "0,1"], "#", ["vertex,level,parent", "0,0,0"])
    here, there = socket.socketpair()
    with here, there:
        here.sendall(path_graph.read_bytes())
        here.shutdown(socket.SHUT_WR)
        command = [sys.executable, "-m", "suricate", "convert", "-", "-", "--to", "csv"]
        subprocess.run(command, stdin=there, stdout=there, stderr=subprocess.DEVNULL)
        assert here.recv(1000).startswith(b"src,dst\n0,1\n")


def test_convert_from_and_to_a_pipe(path_graph: Path) -> None:
    done = shell("convert", "-", "-", "--from", "snap", "--to", "csv", stdin=path_graph.open())
    assert done.stdout.splitlines()[:2] == ["src,dst", "0,1"]
    assert not Path("-").exists()


def test_columns_of_edges(tmp_path: Path) -> None:
    """From a file to the algorithm that has one for weights, and from file to file."""
    file, table, snapshot = tmp_path / "trips.csv", tmp_path / "out.csv", tmp_path / "out.npz"
    file.write_text("src,dst,km,line\nann,bob,5,A\nbob,cid,1.5,B\nann,cid,9,A\n")
    options = ("--relabel", "--edge-columns", "km,road=3")
    asked = ("--device", "cpu", "--param", "source=ann", "--param", "weight=km", "--format", "csv")
    assert call("run", "sssp", file, *options, *asked).stdout.splitlines()[-3] == "2,cid,6.5,1,bob"
    assert call("convert", file, table, *options, "--labels").exit_code == 0
    assert table.read_text() == "src,dst,km,road\nann,bob,5.0,A\nbob,cid,1.5,B\nann,cid,9.0,A\n"
    assert call("convert", file, snapshot, *options).exit_code == 0
    assert call("run", "sssp", snapshot, *asked).stdout.splitlines()[-3] == "2,cid,6.5,1,bob"
    for wrong, message in [
        (("run", "sssp", snapshot, *options, *asked), "--relabel, --edge-columns cannot be used with it"),
        (("run", "sssp", file, "--relabel", *asked), "there is no 'weight'"),
        (("run", "bfs", file, *options, *asked), "there is no 'weight'"),
        (("run", "sssp", file, *options, *asked[:-3], "weight=road"), "the column has texts"),
        (("run", "sssp", file, *options, *asked[:-3], "weight=toll"), "toll"),
        (("convert", file, table, "--relabel", "--edge-columns", "km,km"), "each role once"),
    ]:
        refused = call(*wrong)
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize("name", sorted(cli.list_commands(click.Context(cli))))
def test_help_fits_80_columns(name: str) -> None:
    for command in ((name, "--help"), ("--help",)):
        assert max(map(len, call(*command).stdout.splitlines())) <= 80


def test_advice_as_a_table_of_numbers() -> None:
    asked = ("advise", "--vertices", 100_000, "--edges", 1_600_000, "--batch", 1000, "--device", "cpu")
    advice = su.advise(100_000, 1_600_000, 1000, device="cpu")
    found = json.loads(call(*asked, "--format", "json").stdout)
    rows = {row["backend"]: row for row in found["backends"]}
    assert {choice.backend: choice.ms for choice in advice.choices} == {
        name: row["ms_per_batch"] for name, row in rows.items() if name != "rebuild"
    }
    first = rows[advice.backend]
    assert first["times_the_fastest"] == 1
    estimate = su.estimate_memory(100_000, 1_600_000, backend=advice.backend)
    assert (first["low_bytes"], first["high_bytes"]) == (estimate.low, estimate.high)
    assert found["num_edges"] == 1_600_000
    table = [*csv.DictReader(io.StringIO(call(*asked, "--format", "csv").stdout))]
    assert [float(row["ms_per_batch"]) for row in table] == [row["ms_per_batch"] for row in rows.values()]
