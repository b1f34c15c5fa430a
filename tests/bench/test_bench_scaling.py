"""The suite on scaling: rows of one rank and of several, what they exchange, and graphs that grow with the ranks."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from turns import few

from suricate import parallel
from suricate.base.devices import CPU
from suricate.bench import constants, drawn, scaling
from suricate.bench.commands import bench
from suricate.bench.machine.allocations import anonymous_bytes
from suricate.bench.reports import plot
from suricate.bench.reports import scaling as report
from suricate.bench.reports.results import read
from suricate.bench.scaling import workloads
from suricate.bench.scaling.capacity import Capacity
from suricate.bench.scaling.metering import Metered
from suricate.bench.scaling.model import Model
from suricate.bench.scaling.workloads import Compute
from suricate.errors import CapacityError

pytestmark = pytest.mark.plain  # compiled loops have other tests
OPTIONS = ("--suite", "scaling", "--graph", "rmat:6:4", "--device", "cpu", "--batch", "16", "--repeats", "1")


def rows_of(path: Path, *options: str) -> list[dict[str, Any]]:
    before = len(read([path])[1]) if path.is_file() else 0
    done = CliRunner().invoke(bench, [*OPTIONS, "--output", str(path), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return read([path])[1][before:]


def test_rows_of_one_rank_and_of_two(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    alone = rows_of(path, "--ranks", "1")
    assert {row["workload"] for row in alone} == {
        f"scaling {name}" for name in ("build", "insert", "delete", "grow", "compute", "update")
    }
    assert all(row["extra"]["collectives"] == row["extra"]["comm_bytes"] == 0 for row in alone)
    several = [row for row in rows_of(path, "--ranks", "2") if row["workload"] != "scaling collective"]
    assert [row["detail"] for row in several] == ["strong, 2 ranks"] * len(alone) + ["weak, 2 ranks"] * len(alone)
    build = several[0]
    # a rank gets half of the edges, 8 bytes each, and a byte for each edge that the other holds, half of them or more
    assert 256 * 8 // 2 + 256 // 2 <= build["extra"]["comm_bytes"] < 256 * 8 // 2 + 256
    assert build["extra"]["model_s"] > 0
    assert several[len(alone)]["items"] == 2 * build["items"]
    assert all(json.dumps(row["extra"], allow_nan=False) for row in several)


def test_named_workloads_are_counted_without_timing_collectives(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    counted = rows_of(path, "--ranks", "2", "--workload", "insert")
    names = ["scaling build", "scaling insert"]
    assert [row["workload"] for row in counted] == names * 2  # of the graph, and of one that has grown
    assert all(row["extra"]["collectives"] == 2 and row["extra"]["model_s"] is None for row in counted)
    timed = rows_of(path, "--ranks", "2", "--workload", "collective")
    assert {row["workload"] for row in timed} == {"scaling collective", "scaling build"}


BATCH = 8


class Losing(workloads.Graph):
    """A graph that loses an edge of a batch."""

    def insert_edges(self, src: Any, dst: Any = None, weight: Any = None) -> Any:
        few = slice(len(src) - (len(src) == BATCH))
        return super().insert_edges(src[few], dst[few])


def fill(
    path: Path, monkeypatch: pytest.MonkeyPatch, ranks: str, graph: str, limit: int, kind: Any = workloads.Graph
) -> Any:  # fmt: skip
    """Fill graphs of few bytes."""
    monkeypatch.setattr(workloads, "Graph", partial(kind, memory_limit=limit))
    for name, value in (("SLICES", (1024, 160)), ("BATCH", BATCH), ("QUESTIONS", 1000)):
        monkeypatch.setattr(constants, f"CAPACITY_{name}", value)
    options = "--ranks", ranks, "--workload", "capacity", "--algorithm", "pagerank", "--graph", graph
    return CliRunner().invoke(bench, ["--suite", "scaling", "--device", "cpu", *options, "--output", str(path)])


@pytest.mark.parametrize(
    ("graph", "limit"), [("rmat:10:99", 240_000), ("uniform:256:65000", 240_000), ("grid:64x64", 440_000)]
)
@pytest.mark.parametrize("ranks", few(["1", "2"]))
def test_a_graph_is_filled_until_a_slice_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: str, graph: str, limit: int
) -> None:
    done = fill(tmp_path / "rows.jsonl", monkeypatch, ranks, graph, limit // int(ranks))
    assert done.exit_code == 0, done.output
    row = read([tmp_path / "rows.jsonl"])[1][-1]
    assert row["workload"] == "scaling capacity"
    extra = row["extra"]
    assert extra["full"]
    assert row["items"] % 1024  # the last slice was small
    assert 40_000 < sum(extra["memory"].values()) <= limit  # of all ranks
    assert extra["computed"]["pagerank"]["sum"] == pytest.approx(1)
    assert 300 < extra["num_edges"] <= row["items"]
    assert (extra["num_edges"] == row["items"]) != graph.startswith("rmat")


def test_a_graph_that_holds_one_slice_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = fill(tmp_path / "rows.jsonl", monkeypatch, "2", "grid:64x64", 200_000)
    assert done.exit_code == 0, done.output
    assert "left out from here on: only one slice fits" in done.output
    assert not read([tmp_path / "rows.jsonl"])[1]


class Short(workloads.Graph):
    """Lacks the memory to list the new edges of its third slice on one of the ranks, at first."""

    slices = 0

    def insert_edges(self, src: Any, dst: Any = None, weight: Any = None) -> Any:
        delta = super().insert_edges(src, dst, weight)
        self.slices += 1
        if self.slices != 3 or self.partition.comm.rank:
            return delta
        lists = iter([MemoryError(), delta.inserted])

        def inserted(_: Any) -> Any:
            found = next(lists)
            if isinstance(found, MemoryError):
                raise found
            return found

        return type("Lacking", (), {"inserted": property(inserted)})()


def test_filling_ends_on_all_ranks_when_one_lacks_memory_to_list_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = fill(tmp_path / "rows.jsonl", monkeypatch, "2", "rmat:10:99", 1 << 24, Short)
    assert done.exit_code == 0, done.output
    row = read([tmp_path / "rows.jsonl"])[1][-1]
    assert (row["items"], row["extra"]["full"]) == (2 * 1024, True)  # without the last slice


@pytest.mark.parametrize(
    ("scale", "name", "wrong", "what"),
    [
        (8, "_was_drawn", lambda _, keys: np.zeros(len(keys), bool), "an answer about a random pair is wrong"),
        (10, "_delete", lambda *_: None, "an answer about a pair of the slice that was deleted is wrong"),
        (8, None, None, "an edge of a batch is not there"),
    ],
)
def test_a_full_graph_that_is_wrong_has_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: int, name: str | None, wrong: Any, what: str
) -> None:
    if name is not None:
        monkeypatch.setattr(Capacity, name, wrong)
    kind = Losing if name is None else workloads.Graph
    done = fill(tmp_path / "rows.jsonl", monkeypatch, "1", f"rmat:{scale}:99", 200_000, kind)
    assert done.exit_code == 1, done.output
    assert f"FAIL scaling capacity : {what}" in done.output


def test_bytes_of_a_vertex_are_asked_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, held = count(), "suricate.bench.scaling.vertices.anonymous_bytes"
    monkeypatch.setattr("suricate.bench.scaling.vertices.WARM", 1024)
    monkeypatch.setattr(held, lambda: 2**14 * (next(asked) // 2))  # both ranks ask each time
    options = "--ranks", "2", "--workload", "vertices", "--algorithm", "degree", "--graph", "uniform:8192:1"
    path = tmp_path / "rows.jsonl"
    done = CliRunner().invoke(bench, ["--suite", "scaling", "--device", "cpu", *options, "--output", str(path)])
    assert "nothing: 1.0 B a vertex and rank; degree: 2.0 B a vertex and rank" in done.output
    (row,) = read([path])[1]
    assert row["extra"]["bytes_per_vertex"] == {"nothing": 1.0, "degree": 2.0}
    monkeypatch.setattr(held, lambda: None)
    failed = CliRunner().invoke(bench, ["--suite", "scaling", "--device", "cpu", *options, "--output", str(path)])
    assert failed.exit_code == 1
    assert "FAIL scaling vertices : the system does not say what memory a process holds" in failed.output


def test_what_a_process_holds_grows_with_its_arrays() -> None:
    before = anonymous_bytes()
    if before is None:
        pytest.skip("the system does not say what memory a process holds")
    held = np.ones(2**26, np.uint8)
    assert 0.9 * len(held) < anonymous_bytes() - before < 2 * len(held)


def test_a_large_build_takes_several_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_AT_ONCE", 100)
    row = rows_of(tmp_path / "rows.jsonl", "--ranks", "2", "--workload", "build")[-2]
    assert row["extra"]["collectives"] == 3 * 2  # 256 edges


def test_a_graph_that_does_not_fit_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: workloads.Build) -> None:
        raise CapacityError("memory does not suffice")

    monkeypatch.setattr(workloads.Build, "run", full)
    assert [row["graph"] for row in rows_of(tmp_path / "rows.jsonl", "--ranks", "2")] == [""] * 13


def test_tables_and_lists(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for ranks in ("1", "2"):
        rows_of(path, "--ranks", ranks, "--workload", "build", "--workload", "collective")
    shown = CliRunner().invoke(bench, ["--report", str(path)], catch_exceptions=False).output
    assert "rmat:6:4, strong scaling, on cpu" in shown
    assert "rmat:6:4 x 2, weak scaling, on cpu" in shown
    assert "share, 8192 bytes" in shown
    listed = CliRunner().invoke(bench, ["--list", "--suite", "scaling", "--format", "csv"]).output
    assert "scaling update" in listed


def test_a_wrong_answer_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Compute.run

    def off_by_one(self: Compute) -> None:
        run(self)
        self.result = self.result + 1

    monkeypatch.setattr(Compute, "run", off_by_one)
    options = [*OPTIONS, "--output", str(tmp_path / "rows.jsonl"), "--ranks", "1", "--algorithm", "pagerank"]
    done = CliRunner().invoke(bench, [*options, "--workload", "compute"])
    assert done.exit_code == 1, done.output
    assert "FAIL scaling compute pagerank" in done.output


def test_several_backends_are_refused() -> None:
    done = CliRunner().invoke(bench, [*OPTIONS, "--backend", "slabhash", "--backend", "gpma"])
    assert done.exit_code == 2
    assert "measures one backend" in done.output


def test_the_communication_is_counted() -> None:
    def job(comm: parallel.Comm) -> tuple[int, int]:
        metered = Metered(comm, CPU)
        metered.is_timing = comm.size > 1
        assert metered.joined(np.arange(comm.rank + 1)).tolist() == [0, 0, 1]
        metered.share(np.zeros(5, np.int64), np.array([0, 1, 9]))
        metered.merged(np.zeros(3, np.uint8))  # gathered
        metered.smallest(np.zeros(1 << 10, np.uint64))
        assert metered.allgather((np.int64(comm.rank), b"bytes")) == [
            (0, b"bytes"),
            (1, b"bytes"),
        ]  # scalars do not count
        assert metered.spent.seconds > 0
        return metered.spent.calls, metered.spent.received

    assert parallel.run(job, 2) == [(5, 16 + 32 + 3 + (1 << 13) + 5), (5, 8 + 8 + 3 + (1 << 13) + 5)]


def test_graphs_grow_with_the_ranks() -> None:
    data = drawn.load("rmat:6:4")
    grown = scaling.times(data, 3)
    assert (grown.num_edges, grown.num_vertices) == (3 * data.num_edges, 4 * data.num_vertices)
    assert grown.name == "rmat:6:4 x 3"


def test_the_model_divides_work_and_adds_collectives() -> None:
    model = Model.of({1000: 1e-3, 10**6: 1.75, 10: 5e-3, 10**7: 7.505}, 4)
    assert model.latency == 5e-3
    assert model.seconds_per_byte == pytest.approx(1e-6)  # 7.5 s for three quarters of 10^7 bytes
    assert Model(1e-3, 1e-6).expected(2.0, 4, calls=10, received=1000) == pytest.approx(0.5 + 0.01 + 0.001)


def made(detail: str, ranks: int, graph: str, median: float, **others: Any) -> dict[str, Any]:
    row = {
        "suite": "scaling", "status": "ok", "backend": "slabhash", "device": "cuda", "workload": "scaling build",
        "algorithm": None, "batch": None, "graph": graph, "detail": f"{detail}, {ranks} ranks", "median_s": median,
        "items": 100, "edges_per_s": 100 / median, **others,
    }  # fmt: skip
    extra = {"ranks": ranks, "collectives": 10, "comm_bytes": 1000, "comm_s": 0.5, "wait_s": 0.1, "model_s": None}
    return {**row, "extra": extra}


ROWS = [
    made("weak", 2, "g x 2", 5.0, items=200),
    made("strong", 2, "g", 2.5),
    made("strong", 2, "g", 1.0, device="cpu"),  # nothing on one rank to compare with
    made("weak", 2, "g x 2", 5.0, batch=100),
    made("share, 10 bytes", 2, "", 1e-3),
    made("share, 2000 bytes", 2, "", 1.001),
    made("strong", 1, "g", 4.0),
]


def test_speedup_and_model_do_not_depend_on_the_order_of_runs() -> None:
    found = {
        table.title: [[*column.cells] for column in table.columns if column.header in ("of 1 rank", "model")]
        for table in report.of(ROWS)
    }
    assert found["g, strong scaling, on cuda"] == [["1.00x", "1.60x"], ["", "3.01 s"]]  # 4 / 2, 10 x 1 ms, 1 s
    assert found["g x 2, weak scaling, on cuda"] == [["1.60x", ""], ["5.01 s", ""]]
    assert found["g, strong scaling, on cpu"] == [[""], [""]]


def test_the_model_of_the_run_itself_comes_first() -> None:
    row = made("strong", 2, "g", 2.5)
    row["extra"]["model_s"] = 7.0
    table = report.of([*ROWS[4:], row])[-1]
    assert "7 s" in [*next(column for column in table.columns if column.header == "model").cells]


def test_rows_are_compared_with_those_of_their_file() -> None:
    rows = [{**row, "file": name} for name in ("first", "second") for row in ROWS]
    rows[6] = {**rows[6], "median_s": 8.0}
    (table,) = (table for table in report.of(rows) if table.title == "g, strong scaling, on cuda")
    speedups = [*next(column for column in table.columns if column.header == "of 1 rank").cells]
    assert speedups == ["1.00x", "1.00x", "3.20x", "1.60x"]


def test_a_picture_of_speedups(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert plot.plot(ROWS, tmp_path / "scaling.png") == [tmp_path / "scaling.png"]
    assert plot.plot(ROWS[:-1], tmp_path / "none.png") == []  # without the row on one rank
    axes = report.picture(ROWS).axes
    lines = {line.get_label(): [*zip(*line.get_data(), strict=True)] for line in axes[0].lines}
    assert lines["build"] == [(1, 1), (2, 1.6)]
    assert axes[0].get_title() == "bulk build and batches\ng on cuda"
    assert len(axes) == 3
