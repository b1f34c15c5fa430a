"""The crossover map: cells are verified, those over the limit are results, and tables and pictures name the winner."""

import json
import re

import numpy as np
import pytest
from bench_cases import fixture_of
from click.testing import CliRunner
from rich.console import Console

import suricate as su
from suricate.base.devices import CPU
from suricate.base.types import edge_keys, ends_of
from suricate.bench import constants, runner, suites
from suricate.bench.defaults import BASELINE
from suricate.bench.reports import colours, crossover, maps, plot
from suricate.bench.reports.results import measured
from suricate.bench.runner import Limits, measure
from suricate.bench.verify.edges import EdgeModel, ExpectedChange, Mismatch, check_content, check_digest, digest
from suricate.bench.workloads.crossover import PRODUCT, QUERY, REBUILD, UPDATE, USES, Crossing, Rebuilding
from suricate.bench.workloads.crossover.graphs import Batches, DeviceInput, inverse
from suricate.cli import cli
from suricate.graph.delta import Batch

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=0)


def algorithms_of_the_map():
    return [name for name, kind in su.plugins.algorithms().items() if "crossover" in kind.suites]


def test_the_map_has_the_algorithms_of_the_papers():
    assert sorted(algorithms_of_the_map()) == ["bfs", "pagerank", "triangles", "wcc"]


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("use", [*USES, "bfs", "triangles"])
def test_cells_are_verified(data, backend, device, use, large, monkeypatch):
    if large:
        monkeypatch.setattr(constants, "CHECK_BY_REFERENCE", 1)
    task = Crossing(fixture_of(backend, data, device), use, 16)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("ok", "")
    assert task.extra() == {"use": use, "num_vertices": data.num_vertices, "num_edges": len(data.src)}
    assert (task.algorithm, task.detail) == ((None, use) if use in USES else (use, ""))


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize(("wrong", "use"), [("forgetful", UPDATE), ("gullible", QUERY), ("forgetful", PRODUCT)])
def test_broken_backends_have_no_cell(data, broken_backends, wrong, use, large, monkeypatch):
    if large:
        monkeypatch.setattr(constants, "CHECK_BY_REFERENCE", 1)
    assert measure(Crossing(fixture_of(wrong, data), use, 64), QUICK).status == "FAIL"


def test_an_answer_that_differs_from_one_computed_from_scratch_has_no_cell(data, monkeypatch):
    monkeypatch.setattr(constants, "CHECK_BY_REFERENCE", 1)
    task = Crossing(fixture_of("slabhash", data), "bfs", 64)
    monkeypatch.setattr(task.subject.kind, "update", lambda self, graph, delta: None)
    found = measure(task, QUICK)
    assert found.status == "FAIL"
    assert "computed from scratch" in found.reason


def test_a_cell_over_the_limit_is_a_result_without_a_time(data, monkeypatch):
    task = Crossing(fixture_of("slabhash", data), UPDATE, 16)
    task.limit = 0.0
    found = measure(task, QUICK)
    assert (found.status, found.timing, found.failed) == ("over", None, False)
    assert found.over > 0
    monkeypatch.setattr(runner, "once", lambda task, clock: pytest.fail("a task without a limit is probed"))
    task = Crossing(fixture_of("slabhash", data), UPDATE, 16)
    task.limit = None
    task.timed = False
    assert measure(task, QUICK).status == "ok"


def test_the_digest_tells_sets_of_edges_apart(data, device):
    graph = su.Graph(data.num_vertices, device=device, backend="csr_baseline")
    graph.insert_edges(device.xp.asarray(data.src), device.xp.asarray(data.dst))
    check_digest(graph, data.model)
    keys = data.model.keys
    assert digest(keys[::-1].copy()) == digest(keys)
    other = EdgeModel(np.append(data.src[1:], 0), np.append(data.dst[1:], 0))
    with pytest.raises(Mismatch):
        check_digest(graph, other)
    with pytest.raises(Mismatch):
        check_digest(graph, EdgeModel(data.src[:-1], data.dst[:-1]))


def test_cells_have_all_uses_and_batches_up_to_the_size_of_the_graph_and_rebuilding_is_among_them(data):
    selection = suites.Selection(("slabhash", BASELINE), CPU)
    tasks = suites.bench_tasks("crossover", selection, data)
    assert {task.batch for task in tasks} == {1, 16, 256}  # of 300 edges
    assert {task.use for task in tasks} == {*USES, *algorithms_of_the_map()}
    assert list(dict.fromkeys(task.backend for task in tasks)) == ["slabhash", BASELINE, REBUILD]
    others = suites.bench_tasks("crossover", suites.Selection(("slabhash",), CPU), data)
    assert {task.backend for task in others} == {"slabhash"}


@pytest.mark.parametrize("backend", ["slabhash", REBUILD])
def test_batches_that_are_asked_for_and_larger_than_the_graph_are_skipped(data, backend):
    selection = suites.Selection(("slabhash", BASELINE), CPU, updates=(16, 512))
    tasks = [task for task in suites.bench_tasks("crossover", selection, data) if task.backend == backend]
    found = {task.batch: measure(task, QUICK) for task in tasks if task.use == UPDATE}
    assert [(size, one.status) for size, one in found.items()] == [(16, "ok"), (512, "skip")]
    assert found[512].reason == "the batch is larger than the graph"


@pytest.mark.parametrize("use", [UPDATE, QUERY, PRODUCT, "bfs"])
def test_rebuilding_is_verified(data, device, use):
    task = Rebuilding(fixture_of(BASELINE, data, device), use, 16)
    found = measure(task, QUICK)
    assert (found.status, found.reason, task.backend) == ("ok", "", REBUILD)


def test_cells_of_a_use_share_a_graph_and_say_what_the_update_alone_takes(data):
    fixture, sizes = fixture_of("slabhash", data), (1, 16)
    tasks = [Crossing(fixture, use, size, sizes) for use in (UPDATE, "bfs") for size in sizes]
    assert [measure(task, QUICK).status for task in tasks] == ["ok"] * 4
    first, second, third, fourth = (task.graph for task in tasks)
    assert first is second
    assert second is not third
    assert third is fourth
    assert ["update_s" in task.extra() for task in tasks] == [False, False, True, True]


def test_larger_batches_than_one_over_the_limit_are_left_out(data):
    fixture = fixture_of("slabhash", data)
    tasks = [Crossing(fixture, use, size) for use, size in ((UPDATE, 1), (UPDATE, 16), (QUERY, 16))]
    tasks[0].limit = 0.0
    found = [measure(task, QUICK) for task in tasks]
    assert [each.status for each in found] == ["over", "over", "ok"]
    assert found[0].over > 0
    assert (found[1].over, found[1].reason) == (None, "batches of 1 edges are over the limit")


def test_memory_that_does_not_suffice_is_a_result_and_others_are_measured(data, monkeypatch):
    fixture = fixture_of("slabhash", data)
    tasks = [Crossing(fixture, use, size) for use, size in ((UPDATE, 1), (UPDATE, 16), (QUERY, 16))]
    with monkeypatch.context() as patch:
        patch.setattr(fixture, "empty_graph", lambda **form: np.empty(1 << 60, np.uint8))
        found = [measure(task, QUICK) for task in tasks[:2]]
    assert [each.status for each in found] == ["over", "over"]
    assert "memory does not suffice" in found[0].reason
    assert "update_s" not in tasks[0].extra()
    assert measure(tasks[2], QUICK).status == "ok"


def test_all_backends_meet_the_same_batches_and_answers_are_computed_once(data, monkeypatch):
    monkeypatch.setattr(constants, "CHECK_BY_REFERENCE", 1)
    tasks = [Crossing(fixture_of(name, data), "wcc", 16) for name in ("slabhash", "gpma")]
    tasks.append(Rebuilding(fixture_of(BASELINE, data), "wcc", 16))
    computed = []
    fresh = Crossing._computed_from_scratch
    monkeypatch.setattr(Crossing, "_computed_from_scratch", lambda task: computed.append(task) or fresh(task))
    assert [measure(task, QUICK).status for task in tasks] == ["ok"] * 3
    assert computed == tasks[:1]
    sources = [task.fixture for task in tasks[:2]]
    first, second = (Batches(DeviceInput.of(each, weighted=False, directed=True), 16, 3) for each in sources)
    drawn = first.draw(asks=True), second.draw(asks=True), second.draw(asks=True)
    keys = [np.concatenate([part.keys for part in batch[:3]]) for batch in drawn]
    assert np.array_equal(keys[0], keys[1])
    assert not np.array_equal(keys[1], keys[2])
    assert 0 < data.model.contains(drawn[0].asked.keys).sum() < 16
    assert data.model.contains(drawn[0].delete.keys).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_what_cells_share_is_the_input(data, device, weighted, directed):
    fixture = fixture_of("csr_baseline", data, device)
    placed, host = DeviceInput.of(fixture, weighted=weighted, directed=directed), device.to_numpy
    model = data.model_of(weighted=weighted, directed=directed)
    assert DeviceInput.of(fixture, weighted=weighted, directed=directed) is placed
    assert np.array_equal(host(placed.model.keys), model.keys)
    assert placed.model.digest == model.digest
    order = np.argsort(host(placed.shuffled))
    assert np.array_equal(host(placed.shuffled)[order], model.keys)
    assert not weighted or np.array_equal(host(placed.weight)[order], model.weight)
    batch = Batches(placed, 64, 12).draw()
    after = model.updated(host(batch.delete.keys), *(None if x is None else host(x) for x in batch.insert.edges))
    change, values = placed.change(batch), host(placed.values)
    assert (len(change), change.digest) == (len(after), after.digest)
    assert np.array_equal(np.sort(edge_keys(*map(host, placed.after(change)[:2]))), after.keys)
    product = np.bincount(after.src, values[after.dst].astype(np.float64), data.num_vertices)
    assert np.allclose(host(placed.product(change)), product)
    assert values.min() >= 0.5
    assert values.max() < 1.5
    graph = fixture.empty_graph(weighted=weighted, directed=directed)
    placed.fill(graph)
    undone = inverse(graph.apply(Batch(insert=batch.insert.edges, delete=batch.delete.edges[:2])), device.xp)
    graph.apply(undone)
    check_content(graph, model)


def test_cells_come_form_by_form_and_backend_by_backend(data):
    tasks = suites.bench_tasks("crossover", suites.Selection(("slabhash", BASELINE), CPU, updates=(16,)), data)
    order = [(task.use, task.backend) for task in tasks]
    names = ["slabhash", BASELINE, REBUILD]
    tracked = [use for use in algorithms_of_the_map() if use != "triangles"]
    expected = [(use, name) for uses in (USES, tracked, ["triangles"]) for name in names for use in uses]
    assert order == expected


def test_a_change_tells_what_a_batch_leaves():
    rng = np.random.default_rng(3)
    keys = rng.permutation(400).astype(np.uint64)
    model = EdgeModel(*ends_of(keys[:200]))
    deleted, inserted = rng.choice(keys, 150), rng.choice(keys, 150)
    change, after = ExpectedChange(model, deleted, inserted), model.updated(deleted, *ends_of(inserted))
    assert (len(change), change.digest) == (len(after), after.digest)
    assert np.array_equal(change.contains(keys), after.contains(keys))
    assert not model.contains(change.new).any()
    assert model.contains(change.lost).all()


# -- reports -----------------------------------------------------------------------------------------------------------


def row(backend, seconds, batch=16, *, status="ok", use=UPDATE, device="cpu", edges=1 << 20):
    return {
        "workload": "crossover", "status": status, "device": device, "graph": "rmat:16", "backend": backend,
        "batch": batch, "median_s": seconds, "algorithm": None, "detail": use, "suite": "crossover",
        "extra": {"use": use, "num_edges": edges, "num_vertices": 1 << 16}, "edges_per_s": 1.0,
    }  # fmt: skip


ROWS = [
    row("slabhash", 2e-6), row("csr_baseline", 8e-6), row("hornet_like", None, status="over"),
    row("slabhash", 3e-3, 256), row("csr_baseline", 1e-3, 256), row("slabhash", None, 4096, status="over"),
]  # fmt: skip


def test_winner_and_lead():
    first, second, third = crossover.cells(ROWS)
    assert (first.times[0], first.lead, first.over) == ((2e-6, "slabhash"), pytest.approx(4), ["hornet_like"])
    assert (second.times[0][1], second.lead) == ("csr_baseline", pytest.approx(3))
    assert (third.times, third.over) == ([], ["slabhash"])


def test_tables_name_winners_and_losses():
    console = Console(record=True, width=80)
    for table in crossover.of(ROWS):
        console.print(table)
    printed = console.export_text()
    for part in (
        "2 us, 4x",
        "1 ms, 3x",
        "over the limit",
        "1 of 2",
        "4x slabhash: update only, rmat",
        "3x csr_baseline",
    ):
        assert part in " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 80


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    more = [row("slabhash", 1e-3, device="cuda:0"), row("csr_baseline", 2e-3, use=QUERY)]
    files = plot.plot([*ROWS, *more], tmp_path / "map.png")
    assert [file.name for file in files] == ["map-map-cpu.png", "map-map-cuda0.png"]
    assert all(file.stat().st_size > 5000 for file in files)
    (file,) = plot.plot(ROWS, tmp_path / "map.svg")
    text = file.read_text()
    assert text.count('<g id="axes_') == 1
    assert file.name == "map.svg"


HEADER = {
    "device": "cpu", "gpu": None, "cpu": "an abacus", "cores": 2, "cores_usable": 2, "git": None, "run": "1",
    "date": "2026-11-23T00:00:00",
}  # fmt: skip


def test_the_map_as_data_says_what_share_the_update_has(tmp_path):
    tracked = row("slabhash", 1e-5, use="bfs")
    tracked["extra"]["update_s"] = 4e-6
    rows = [*ROWS, row("slabhash", 8e-6, use=QUERY), tracked]
    path = tmp_path / "maps" / "map.json"
    maps.save(path, [HEADER], rows)
    found = su.advise(1 << 16, 1 << 20, 16, device="cpu", map=path)
    assert (found.backend, found.lead, found.update_share) == ("slabhash", pytest.approx(4), 1)
    assert (found.choices[-1].backend, found.choices[-1].ms) == ("hornet_like", float("inf"))
    assert (found.machine, found.date) == ("an abacus, 2 cores", "2026-11-23")
    shares = [su.advise(1 << 16, 1 << 20, 16, use, device="cpu", map=path) for use in ("query", "bfs")]
    assert [each.update_share for each in shares] == [0.25, 0.4]
    with pytest.raises(ValueError, match="of cpu, cuda:0"):
        maps.save(tmp_path / "both.json", [HEADER], [*rows, row("slabhash", 1e-3, device="cuda:0")])


def test_the_page_states_what_each_loses(tmp_path):
    pytest.importorskip("matplotlib")
    won = [row(REBUILD, 1e-3, 65536), row("slabhash", 2e-3, 65536)]
    files = maps.write_page(tmp_path / "map.md", [HEADER], [*ROWS, *won])
    assert [file.name for file in files] == [
        "map.md", "map-cells.md", "map-cpu.svg", "map-cpu.png", "map-cells-cpu.svg", "map-cells-cpu.png",
    ]  # fmt: skip
    text = files[0].read_text() + files[1].read_text()
    for part in (
        "## an abacus, 2 cores",
        "![what to choose](map-cpu.png)",
        "](map-cells-cpu.png)",
        "| `slabhash` | 1; 1.82x |",
        "- update only, rmat, 2^20 edges: batches of 2^16; at most 2 times ahead.",
        "### Where `csr_baseline` loses",
        "- update only: loses 1 of 2 cells (batches of 2^4); at most 4 times as long as `slabhash` (rmat, 2^20 edges",
        "- over the limit: update only, rmat, 2^20 edges, batches of 2^4.",
        "| 2^4 | slabhash 2 us, 4x |",
    ):
        assert part in text


def test_what_to_choose_is_a_mean_of_uses_and_small_leads_are_grey():
    rows = [row("slabhash", 1e-3), row("csr_baseline", 1e-3 * 1.1), row("slabhash", 2e-3, use=QUERY)]
    rows += [row("csr_baseline", 2e-3 * 1.21, use=QUERY), row(REBUILD, 1e-6), row("slabhash", 1e-3, use="bfs")]
    plain, kept = crossover.choice(crossover.cells(rows))
    assert (plain.use, kept.use) == (crossover.PLAIN, crossover.KEPT)
    assert [name for _, name in plain.times] == ["slabhash", "csr_baseline"]  # without rebuilding
    assert plain.lead == pytest.approx((1.1 * 1.21) ** 0.5)
    assert colours.shade("slabhash", plain.lead) == colours.GREY
    assert colours.shade("slabhash", kept.lead) == colours.pale("slabhash") != colours.GREY
    assert all(re.fullmatch("#[0-9a-f]{6}", colours.pale(name)) for name in ("slabhash", REBUILD, "of a third party"))


def test_run_resume_report_and_page(tmp_path):
    pytest.importorskip("matplotlib")
    output, page = tmp_path / "map.jsonl", tmp_path / "map.html"
    command = ["bench", "--suite", "crossover", "--graph", "rmat:6", "--backend", "csr_baseline", "--device", "cpu",
               "--repeats", "1", "--time-limit", "0", "--algorithm", "bfs", "--output", str(output)]  # fmt: skip
    assert CliRunner().invoke(cli, [*command, "--batch", "16"]).exit_code == 0
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["environment", "row", "row"]
    again = CliRunner().invoke(cli, [*command, "--batch", "16", "--batch", "64", "--resume"])
    assert again.exit_code == 0, again.output
    rows = [json.loads(line) for line in output.read_text().splitlines() if '"row"' in line]
    assert [(line["backend"], line["batch"], line["status"]) for line in rows] == [
        (backend, batch, "ok") for batch in (16, 64) for backend in (BASELINE, REBUILD)
    ]
    assert len(measured(output)) == 4
    done = CliRunner().invoke(cli, ["bench", "--report", str(output), "--html", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert text.count("<svg") == 2
    assert 'th")) head.onclick' in text
    assert f'<td style="background: {colours.GREY}">' in text or colours.pale("csr_baseline") in text
    assert not re.search("(?:src|href)=", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)), "one file"
    assert CliRunner().invoke(cli, ["bench", "--html", str(page)]).exit_code == 2


def test_a_row_that_failed_is_measured_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [{**row("slabhash", 1e-6), "type": "row", "status": status} for status in ("ok", "FAIL")]
    lines[1]["batch"] = 64
    path.write_text("\n".join(map(json.dumps, lines)))
    assert measured(path) == {("rmat:16", "cpu", "slabhash", "crossover", None, UPDATE, 16)}
