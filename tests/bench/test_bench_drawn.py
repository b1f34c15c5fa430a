"""Graphs drawn in pieces: the crossover map and long windows on them, with right backends and broken ones."""

import json

import numpy as np
import pytest
from bench_cases import text_of
from click.testing import CliRunner

from suricate.base.devices import CPU
from suricate.base.types import edge_keys
from suricate.bench import constants, drawn, inputs
from suricate.bench.commands import bench, is_drawn
from suricate.bench.defaults import SUITES
from suricate.bench.reports import tables
from suricate.bench.runner import Limits, measure
from suricate.bench.suites import Selection, bench_tasks
from suricate.bench.verify.edges import EdgeModel
from suricate.bench.workloads import crossover, windows
from suricate.errors import UnknownNameError

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=0)
UNIFORM, RMAT = drawn.load("uniform:64:600", seed=1), drawn.load("rmat:6:10", seed=1)


def fixture(backend, data, device=CPU, **options):
    return drawn.DrawnFixture(backend, data, device, seed=9, **options)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces that do not divide the graphs, and few questions."""
    monkeypatch.setattr(constants, "PIECE", 97)
    monkeypatch.setattr(constants, "FILL_BATCH", 101)
    monkeypatch.setattr(constants, "QUESTIONS", 64)


# -- inputs ------------------------------------------------------------------------------------------------------------


def test_a_drawn_graph_is_its_stream():
    assert (UNIFORM.num_edges, RMAT.num_edges, RMAT.num_vertices) == (600, 640, 64)
    edges, whole = RMAT.edges(13, 500), RMAT.stream.piece(13, 500)
    assert np.array_equal(edge_keys(*edges[:2]), edge_keys(*whole[:2]))
    assert sum(len(piece.src) for piece in RMAT.pieces(0, 640)) == 640
    assert UNIFORM.describe()["sha256"] != drawn.load("uniform:64:600", seed=2).describe()["sha256"]
    degrees = drawn.drawn_degrees(fixture("any", RMAT))
    assert np.array_equal(degrees, np.bincount(RMAT.stream.piece(0, 640).src, minlength=64))


@pytest.mark.parametrize("edges", [16, 65536, 10**10])
def test_graphs_of_a_size(edges):
    found = drawn.load(drawn.spec_of(edges, SUITES["window"].edges_per_vertex))
    assert found.num_edges == edges
    assert 4 * edges <= found.num_vertices**2
    assert 64 <= edges / found.num_vertices <= 256 or edges <= 65536


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("grid:3x3", ValueError, "powers of two"),
        ("grid:2x8", ValueError, "at most twice the height"),
        ("uniform:60:600", ValueError, "power of two"),
        ("uniform:8:65", ValueError, "only 64 different"),
        ("nosuch", UnknownNameError, "rmat:SCALE"),
    ],
)
def test_graphs_that_cannot_be_drawn(spec, error, message):
    with pytest.raises(error, match=message):
        drawn.load(spec)


# -- the crossover map ----------------------------------------------------------------------------------------------


def cells(backend, device=CPU, data=RMAT, **changes):
    tasks = bench_tasks("crossover", Selection((backend,), device, updates=(32,), **changes), data)
    return [task for task in tasks if task.workload == "crossover"]


def test_cells_of_the_map_on_drawn_graphs(device):
    tasks = cells("csr_baseline", device)
    for task in tasks:
        found = measure(task, QUICK)
        assert (task.use, found.status, found.reason) == (task.use, "ok", "")
    assert {task.backend for task in tasks} == {"csr_baseline", "rebuild"}
    assert {"update only", "query", "matrix-vector product", "wcc", "triangles"} < {task.use for task in tasks}
    assert tasks[0].extra()["num_edges"] == 640
    edges = tasks[0].graph.edges()
    stream = EdgeModel(*RMAT.stream.piece(0, 640)[:2])
    assert np.array_equal(np.sort(edge_keys(*map(device.to_numpy, edges[:2]))), stream.keys)


@pytest.mark.parametrize(("backend", "wrong"), [("forgetful", 3), ("gullible", 1), ("tutorial", 0)])
def test_wrong_cells_are_noticed(broken_backends, backend, wrong):
    found = [measure(task, QUICK).status for task in cells(backend, algorithms=())[:3]]
    assert found.count("FAIL") == wrong


def test_a_wrong_product_is_noticed(broken_backends):
    class Wrong(crossover.Crossing):
        def ask(self, batch):
            out = super().ask(batch)
            out[1] += 1
            return out

    assert "product" in measure(Wrong(fixture("tutorial", RMAT), "matrix-vector product", 32), QUICK).reason


def test_the_map_draws_large_graphs():
    drawn_ones = [("crossover", 1 << 28), ("window", 1)]
    others = [("crossover", 1 << 25), ("operations", 1 << 30), ("all", 1)]
    assert [is_drawn(*each) for each in (*drawn_ones, *others)] == [True] * 2 + [False] * 3
    assert [inputs.size_of(inputs.parse(spec)) for spec in ("rmat:24", "uniform:8:20", "grid:3x3")] == [1 << 28, 20, 0]


# -- windows -----------------------------------------------------------------------------------------------------------


def test_windows_on_every_backend_and_device(backend, device):
    task = windows.LongWindow(fixture(backend, UNIFORM, device), 8)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("ok", "")
    extra = task.extra()
    assert (extra["window"], extra["slide"], extra["edges"]) == (75, 8, 75 + 65 * 8)
    assert len(extra["moments"]) == 17
    assert extra["moments"][-1]["edges"] == extra["edges"]
    assert all(moment["used"] <= moment["allocated"] for moment in extra["moments"])
    assert extra["updates_per_s"] > 0


@pytest.mark.parametrize("backend", ["forgetful", "gullible"])
def test_a_wrong_window_is_noticed(broken_backends, backend):
    assert measure(windows.LongWindow(fixture(backend, UNIFORM), 8), QUICK).status == "FAIL"


def test_streams_without_a_window():
    assert "repeats edges" in measure(windows.LongWindow(fixture("slabhash", RMAT)), QUICK).reason
    assert "too short" in measure(windows.LongWindow(fixture("slabhash", drawn.load("uniform:4:1"))), QUICK).reason


# -- the command -------------------------------------------------------------------------------------------------------


def run(*args):
    return CliRunner().invoke(bench, [str(arg) for arg in ("--device", "cpu", *args)], catch_exceptions=False)


def test_the_command_draws_graphs_of_a_size(tmp_path):
    path = tmp_path / "drawn.jsonl"
    quick = ["--backend", "csr_baseline", "--repeats", 1, "--time-limit", 0, "--output", path]
    done = run("--suite", "window", "--edges", 2048, *quick)
    assert done.exit_code == 0, done.output
    rows = [row for row in map(json.loads, path.read_text().splitlines()) if row["type"] == "row"]
    assert {row["graph"] for row in rows} == {"uniform:128:2048"}
    assert "edges so far" in text_of(*tables.of(rows))


@pytest.mark.parametrize(
    "args", [("--suite", "reduce", "--edges", 99), ("--suite", "window", "--edges", 99, "--graph", "rmat:4"),
             ("--suite", "window", "--graph", "grid:3x3")]
)  # fmt: skip
def test_sizes_and_graphs_that_do_not_fit(args):
    assert run(*args).exit_code == 2
