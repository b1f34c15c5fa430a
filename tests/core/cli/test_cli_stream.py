"""``suricate stream``: windows from a shell."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from cli_calls import call, rows, shell
from mpi_jobs import start
from patience import PATIENCE

import suricate as su
import suricate.stream as st
from suricate import plugins
from suricate.cli.stream import stream
from suricate.parallel import Comm, run

CPU = ("--device", "cpu")
PAID = "payer,payee,amount,ts\nann,bob,5,2024-01-01\nbob,cid,7,2024-01-02\nann,bob,6,2024-01-02\ncid,dan,1,2024-01-04\n"
TIMED = ("--columns", "src=0,dst=1,time=2")
COLUMNS = ("--names", "--columns", "src=payer,dst=payee,weight=amount,time=ts")


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    file = tmp_path / "paid.csv"
    file.write_text(PAID)
    return file


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A cycle of 0, 1, 2, once per step of time."""
    file = tmp_path / "numbers.txt"
    file.write_text("".join(f"{at % 3} {(at + 1) % 3} {at}\n" for at in range(12)))
    return file


def test_a_line_per_slide_and_the_top_vertices_by_name(paid: Path) -> None:
    result = call("stream", paid, *COLUMNS, *CPU, "--window", "2d", "--slide", "1d", "--track", "wcc", "--top", 1)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line.startswith("2024")]
    assert lines == [
        "2024-01-02T00:00:00  events 1  late 0  vertices 2  edges 1",
        "2024-01-03T00:00:00  events 2  late 0  vertices 3  edges 2",
        "2024-01-04T00:00:00  events 0  late 0  vertices 3  edges 2",
        "2024-01-05T00:00:00  events 1  late 0  vertices 2  edges 1",
    ]
    assert [row[2:] for row in rows(result)] == [["ann", "2"], ["ann", "3"], ["ann", "3"], ["cid", "2"]]
    assert "4 slides, 4 events" in result.stderr


@pytest.mark.parametrize("readers", ["first", "all"])
def test_processes_of_a_launcher_share_the_window_and_the_first_prints(
    readers: str, paid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*COLUMNS, *CPU, "--window", "2d", "--slide", "1d", "--track", "wcc", "--output"]
    given = [str(each) for each in (paid, *options)]
    expected = call("stream", *given, tmp_path / "one.csv").stdout
    shared = [*given, str(tmp_path / "all.csv"), "--comm", "threads", "--readers", readers]
    run(lambda comm: stream.main(shared, standalone_mode=False), 3)
    printed = capsys.readouterr()
    assert printed.out == expected
    assert printed.err.count("4 slides, 4 events") == 1
    assert (tmp_path / "all.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()

    def refused(comm: Comm) -> None:
        with pytest.raises(click.UsageError, match="--html, --plot and --watch are for one process"):
            stream.main([*shared, "--html", str(tmp_path / "page.html")], standalone_mode=False)

    run(refused, 2)
    assert "'none' is unknown: use one of 'auto', 'mpi'" in call("stream", *given, "no.csv", "--comm", "none").stderr


@pytest.mark.slow
@pytest.mark.parametrize("readers", ["first", "all"])
def test_processes_of_mpi_share_the_window(readers: str, paid: Path, tmp_path: Path) -> None:
    """Nothing but the command is imported there."""
    options = [str(paid), *COLUMNS, *CPU, "--window", "2d", "--slide", "1d", "--track", "degree", "--output"]
    expected = call("stream", *options, tmp_path / "one.csv").stdout
    shared = [*options, str(tmp_path / "all.csv"), "--comm", "mpi", "--readers", readers]
    done = start(Path(su.__file__).with_name("__main__.py"), "stream", *shared)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected
    assert (tmp_path / "all.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_attributes_and_names_as_parameters(paid: Path) -> None:
    columns = ("--names", "--columns", "src=payer,dst=payee,time=ts")
    days = ("--window", "2d", "--slide", "1d", "--attribute", "amount=sum")
    tracked = ("--track", "sssp", "--param", "source=ann", "--param", "weight=amount", "--format", "json")
    found = [json.loads(line) for line in call("stream", paid, *columns, *CPU, *days, *tracked).stdout.splitlines()]
    near = [{row["name"]: row["distance"] for row in each["sssp"] if row["name"] != "ann"} for each in found]
    assert near[:2] == [{"bob": 5}, {"bob": 11, "cid": 18}]
    for sources in ("sources=ann", "sources=ann,bob", "sources=['ann','bob']"):
        result = call("stream", paid, *columns, *CPU, *days, "--track", "bfs", "--param", sources, "--format", "json")
        first = json.loads(result.stdout.splitlines()[0])["bfs"]
        assert {row["name"] for row in first if row["level"] == 0} == ({"ann", "bob"} if "bob" in sources else {"ann"})
    result = call("stream", paid, *columns, *CPU, *days, "--track", "wcc", "--param", "weight=amount")
    assert result.exit_code == 2
    assert "nothing that is tracked has 'weight'" in result.output
    result = call("stream", paid, *columns, *CPU, "--slide", "1d", "--attribute", "amount:sum")
    assert "expected NAME=RULE" in result.output


def test_formats(paid: Path, numbers: Path) -> None:
    days = ("--window", "2d", "--slide", "1d", "--combine", "sum")
    found = [json.loads(line) for line in call("stream", paid, *COLUMNS, *CPU, *days, "--track", "pagerank",
                                               "--format", "json").stdout.splitlines()]  # fmt: skip
    assert [each["edges"] for each in found] == [1, 2, 2, 1]
    assert [row["name"] for row in found[0]["pagerank"]] == ["bob", "ann"]
    found = call("stream", numbers, *CPU, "--window", "4", "--slide", "4", "--format", "csv").stdout
    assert found.splitlines() == ["end,events,late,vertices,edges", "4,4,0,3,3", "8,4,0,3,3", "12,4,0,3,3"]
    found = call(
        "stream", paid, *COLUMNS, *CPU, *days, "--track", "wcc", "--track", "pagerank", "--format", "csv"
    ).stdout
    first = [row for row in csv.DictReader(found.splitlines()) if row["end"].startswith("2024-01-02")]
    assert [(row["algorithm"], row["name"]) for row in first] == [
        ("wcc", "ann"),
        ("pagerank", "bob"),
        ("pagerank", "ann"),
    ]
    assert float(first[1]["value"]) > 0.6
    assert [*first[0]] == ["end", "algorithm", "rank", "vertex", "name", "size", "value"]
    assert (first[0]["size"], first[0]["value"], first[1]["size"]) == ("2", "", "")


def test_outputs(paid: Path, tmp_path: Path) -> None:
    common = ("stream", paid, *COLUMNS, *CPU, "--slide", "1d", "--track", "pagerank", "--top", 2)
    whole = call(*common, "--output", "-").stdout
    assert whole.splitlines()[0] == "end,rank,vertex,name,value"
    assert len(whole.splitlines()) == 1 + 2 * 3
    call(*common, "--output", tmp_path / "ranks.csv")
    assert [row["name"] for row in csv.DictReader((tmp_path / "ranks.csv").open())][:2] == ["bob", "ann"]
    call(*common, "--track", "wcc", "--output", tmp_path / "top.jsonl")
    assert len((tmp_path / "top-pagerank.jsonl").read_text().splitlines()) == 6
    assert json.loads((tmp_path / "top-wcc.jsonl").read_text().splitlines()[0])["size"] == 2


@pytest.mark.slow
def test_standard_input_parameters_and_late_events(numbers: Path, tmp_path: Path) -> None:
    lines = numbers.read_text() + "0 1 2\n"
    done = shell("stream", "-", *CPU, *TIMED, "--window", "6s", "--slide", "2s", "--late", tmp_path / "late.csv",
                 "--undirected", "--track", "bfs", "--param", "source=1", "--format", "json", input=lines)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found[-1]["late"] == 1
    assert found[-1]["edges"] == 3
    assert found[-1]["bfs"][0]["level"] == 1
    assert "1 late" in done.stderr
    assert len((tmp_path / "late.csv").read_text().splitlines()) == 2


def test_malformed_rows_and_rows_that_are_not_valid_go_to_one_file(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("src,dst,time\n0,1,1\n0,1\n-7,1,2\n2,3,3\n")
    result = call("stream", tmp_path / "events.csv", *CPU, "--slide", "1s", "--on-error", tmp_path / "bad.csv",
                  "--format", "csv")  # fmt: skip
    assert len(result.stdout.splitlines()) == 3
    assert "2 not valid" in result.stderr
    lines = (tmp_path / "bad.csv").read_text().splitlines()
    assert len(lines) == 3
    assert "events.csv:3: missing column" in lines[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--slide", "1d", "--track", "nothing"), "nothing"),
        (("--slide", "1d", "--track", "pagerank", "--param", "beta=1"), "'beta'"),
        (("--slide", "1d", "--track", "pagerank", "--param", "alpha=7"), "alpha"),
        (("--slide", "one", "--window", "2d"), "slide"),
        (("--slide", "3d", "--window", "2d"), "longer than"),
        (("--slide", "1d", "--output", "x.csv"), "--track"),
        (("--slide", "1d", "--alert-output", "x.csv"), "--alert"),
        (("--slide", "1d", "--names", "--directed", "--track", "kcore"), "undirected"),
        (("--slide", "1d", "--backend", "none"), "none"),
        (("--slide", "1d"), "names=True (--names) takes them"),
        ((), "--slide"),
    ],
)
def test_bad_usage_is_one_line(paid: Path, options: tuple[str, ...], reason: str) -> None:
    result = call("stream", paid, "--columns", "src=payer,dst=payee,time=ts", *CPU, *options)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert reason in result.stderr


@pytest.mark.slow
def test_a_signal_ends_the_slide_and_the_next_call_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "numbers.txt"
    file.write_text("".join(f"{at * 7 % 50} {at * 11 % 50} {at}\n" for at in range(4000)))
    command = ("stream", file, *CPU, *TIMED, "--window", "100s", "--slide", "10s", "--track", "wcc", "--top", "1")
    call(*command, "--output", tmp_path / "whole.csv")
    command = (*command, "--output", tmp_path / "out.csv", "--checkpoint", tmp_path / "state")
    process = subprocess.Popen(
        [sys.executable, "-m", "suricate", *map(str, command)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096,  # nowhere near what is printed: it waits for us
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "ended by SIGTERM" in errors
    assert (tmp_path / "out.csv").stat().st_size < (tmp_path / "whole.csv").stat().st_size
    assert call(*command).exit_code == 0
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_names_are_what_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("src,dst,time\n7,1,5\n007,1,6\n")
    result = call("run", "wcc", file, "--relabel", *CPU)
    assert result.exit_code == 2
    assert "names.csv:3: id '007' is not the text of an integer" in result.stderr
    stream = ["stream", file, "--slide", "10s", "--names", *CPU, "--format", "csv"]
    result = call(*stream)
    assert result.exit_code == 2
    assert "texts=True (--texts) takes texts" in result.stderr
    assert call(*stream, "--texts").stdout.splitlines()[1].split(",")[3:] == ["3", "2"]


def test_encodings(tmp_path: Path) -> None:
    file = tmp_path / "latin.csv"
    file.write_bytes("src,dst,time\nJosé,b,5\n".encode("latin-1"))
    stream = ["stream", file, "--slide", "10s", "--names", *CPU, "--format", "json", "--track", "wcc"]
    for args in (["run", "wcc", file, "--relabel", *CPU], stream):
        result = call(*args)
        assert result.exit_code == 2
        assert "latin.csv:2: byte 0xe9 is not UTF-8: encoding='latin-1' (--encoding latin-1)" in result.stderr
        result = call(*args, "--encoding", "latin-1")
        assert result.exit_code == 0
        assert "Jos" in result.stdout


@pytest.mark.slow
def test_a_followed_folder_with_alerts_and_metrics(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "alerts.csv"
    folder.mkdir()
    command = [sys.executable, "-m", "suricate", "stream", str(folder), "--follow", "--settle", "0s", *COLUMNS, *CPU]
    command += ["--slide", "1d", "--combine", "sum", "--format", "json", "--track", "degree", "--checkpoint"]
    command += [str(tmp_path / "state"), "--checkpoint-every", "1", "--alert", "degree:above=1"]
    command += ["--alert", "edges:grew=2x", "--alert-output", str(out), "--serve", "0"]
    (folder / "p1.csv").write_text(PAID.replace("2024-01-04", "2024-01-03"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        first = json.loads(child.stdout.readline())
        assert first["degree:above=1"] == []
        second = json.loads(child.stdout.readline())
        (tmp_path / "p2.csv").write_text("payer,payee,amount,ts\nbob,dan,3,2024-01-03\ncid,ann,1,2024-01-04\n")
        (tmp_path / "p2.csv").rename(folder / "p2.csv")
        third = json.loads(child.stdout.readline())
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE) == 0
        errors = child.stderr.read()
    assert [each["end"][:10] for each in (first, second, third)] == ["2024-01-02", "2024-01-03", "2024-01-04"]
    assert [row["src"] for row in second["edges:grew=2x"]] == ["ann"]
    assert [row["name"] for row in third["degree:above=1"]] == ["bob"]
    assert "metrics: http://127.0.0.1:" in errors
    assert "ended by SIGINT" in errors
    written = {path.name: path.read_text().splitlines() for path in tmp_path.glob("alerts-*.csv")}
    assert [line.split(",")[2:4] for line in written["alerts-edges-grew-2x.csv"][1:]] == [["ann", "bob"]]
    assert len(written["alerts-degree-above-1.csv"]) == 2


def test_options_of_live_streams_that_do_not_fit(paid: Path, tmp_path: Path) -> None:
    for options, words in (
        (("--alert", "degree:above"), "expected TRACKER:RULE=VALUE"),
        (("--alert", "degree:over=3"), "RULE one of above, below"),
        (("--alert", "degree:above=3"), "--track degree does"),
        (("--settle", "1s"), "--settle is for --follow"),
        (("--follow", "--order", "time"), "not for --follow"),
        (("--follow",), "there is no folder"),
        (("--track", "wcc", "--alert", "wcc:above=3"), "above= is not for wcc"),
    ):
        result = call("stream", paid, *COLUMNS, *CPU, "--slide", "1d", *options)
        assert result.exit_code != 0
        assert words in result.output, result.output


def test_what_a_search_has_not_reached_is_nothing_in_all_formats(paid: Path) -> None:
    """Though results have -1 there, or infinity."""
    for options, algorithms in (
        ((), ("sssp", "bfs")),
        (("--attribute", "amount=sum", "--param", "weight=amount"), ("sssp",)),
    ):
        tracked = [word for name in algorithms for word in ("--track", name)]
        given = (*COLUMNS[:1], "--columns", "src=payer,dst=payee,time=ts", *CPU, "--slide", "9d", *options, *tracked)
        run = [call("stream", paid, *given, "--param", "source=cid", "--format", form) for form in ("json", "csv")]
        found = json.loads(run[0].stdout)
        for name in algorithms:
            reached = {row["name"]: row["distance" if name == "sssp" else "level"] for row in found[name]}
            assert reached == {"ann": None, "bob": None, "cid": 0, "dan": 1}
        for row in csv.DictReader(run[1].stdout.splitlines()):
            near = row["distance" if row["algorithm"] == "sssp" else "level"]
            assert near == "" if row["name"] in ("ann", "bob") else float(near) == (row["name"] == "dan")


def test_addresses_are_those_of_the_installed_sources(paid: Path) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def dice(place: str, *, live: bool, **options: Any) -> Any:
        asked.append((place, {"live": live, **options}))
        return st.scan(paid, **{name: options[name] for name in ("columns", "on_error")})

    class Plugin:
        @su.hookimpl
        def suricate_sources(self) -> list[Any]:
            return [dice]

    plugins.register(Plugin(), "dice")
    try:
        days = (*COLUMNS, *CPU, "--slide", "1d", "--window", "1d")
        for address, live in (("dice://six/a", True), ("dices://:secret@six", False)):
            result = call("stream", address, *days, *["--follow"] * live)
            assert result.exit_code == 0, result.output
            assert result.stdout.count("events") == 4
            columns = {"src": "payer", "dst": "payee", "weight": "amount", "time": "ts"}
            assert asked.pop() == (address, {"live": live, "columns": columns, "on_error": "raise"})
        for address, options, words in (
            ("mqtt://:secret@a", (), "mqtt:// is none of the sources"),
            ("dice://:secret@a", ("--texts",), "are for files, not dice"),
            ("dice://:secret@a", ("--order", "time"), "are for files, not dice"),
            ("dice://:secret@a", ("--follow", "--settle", "1s"), "folders"),
        ):
            result = call("stream", address, *days, *options)
            assert result.exit_code == 2
            assert words in result.output
            assert "secret" not in result.output
    finally:
        plugins.unregister("dice")
