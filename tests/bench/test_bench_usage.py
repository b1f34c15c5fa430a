"""The suites on usage and ablations: right backends pass, broken ones fail; peaks of memory are what was allocated."""

import networkx as nx
import numpy as np
import pytest
from bench_cases import fixture_of, text_of

from suricate.base.devices import CPU, resolve_device
from suricate.base.types import edge_keys
from suricate.bench import constants
from suricate.bench.machine.allocations import metering
from suricate.bench.reports import tables
from suricate.bench.reports.results import Row, to_line
from suricate.bench.runner import Limits, measure
from suricate.bench.suites import Selection, bench_tasks
from suricate.bench.workloads import ablations, replays, short, usage
from suricate.bench.workloads.short import cuda as short_cuda
from suricate.errors import RequirementError
from suricate.operators.closed_triples import closed_triples

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=0)
SCHEMES = [*ablations.ABLATIONS, ablations.ComponentsByEdges]


def ablation(kind, fixture, scheme="auto"):
    return kind(
        fixture,
        kind.schemes[0] if scheme == "auto" else scheme,
        32 if issubclass(kind, ablations.ComponentsByEdges) else None,
    )


# -- usage -------------------------------------------------------------------------------------------------------------


def test_usage_on_every_backend_and_device(data, backend, device):
    fixture = fixture_of(backend, data, device)
    tasks = [*(usage.ReadsAndWrites(fixture, 32, share) for share in usage.READ_SHARES)]
    tasks += [usage.Peak(fixture, "bulk build"), *(usage.Peak(fixture, kind, 32) for kind in usage.PEAKS)]
    for task in tasks:
        found = measure(task, QUICK)
        assert (task.workload, task.detail, found.status, found.reason) == (task.workload, task.detail, "ok", "")
    assert (tasks[0].asked, tasks[0].written, tasks[1].asked, tasks[1].written) == (16, 8, 30, 1)
    edges = fixture.cache["fresh"].graph.edges()
    assert np.array_equal(np.sort(edge_keys(*map(device.to_numpy, edges[:2]))), data.model.keys)
    assert all(task.extra()["peak_bytes_per_edge"] > 0 for task in tasks[2:])


@pytest.mark.parametrize(
    ("backend", "turns", "peak"), [("tutorial", "ok", "ok"), ("forgetful", "FAIL", "FAIL"), ("gullible", "FAIL", "ok")]
)
def test_broken_backends_have_no_rows_of_usage(data, broken_backends, backend, turns, peak):
    fixture = fixture_of(backend, data)
    assert measure(usage.ReadsAndWrites(fixture, 32, 0.5), QUICK).status == turns
    assert measure(usage.Peak(fixture, "insert", 32), QUICK).status == peak


def test_short_calls_are_timed_and_counted(data, broken_backends, monkeypatch):
    monkeypatch.setattr(constants, "SHORT_CALLS", 40)
    rows = [short.ShortCalls(fixture_of("slabhash", data), 3, *given) for given in ((), ("bfs",), ("kcore",))]
    for task in (*rows, short.ShortCalls(fixture_of("slabhash", data), 3, in_edges=True)):
        found = measure(task, QUICK)
        assert (found.status, found.reason) == ("ok", "")
        told = task.extra()
        assert 0 < told["cpu_p50_s"] <= told["cpu_p99_s"] <= told["cpu_p999_s"]
        assert 0 < told["files"] < told["calls"]
    assert rows[1].extra()["calls"] > rows[0].extra()["calls"]
    assert measure(short.ShortCalls(fixture_of("forgetful", data), 3), QUICK).status == "FAIL"


@pytest.mark.gpu
def test_short_calls_of_a_device_are_timed_between_other_work(data, monkeypatch):
    monkeypatch.setattr(constants, "BESIDE_CALLS", 12)
    for given in ((), ("bfs",)):
        task = short_cuda.HostTime(fixture_of("slabhash", data, resolve_device("cuda")), 16, *given)
        found = measure(task, QUICK)
        assert (found.status, found.reason) == ("ok", "")
        told = task.extra()
        assert 0 < told["host_p50_s"] <= told["host_p99_s"] <= told["host_p999_s"]
        assert 0 < told["files"] < told["calls"]


@pytest.mark.plain
def test_replays_are_verified_and_counted(data, broken_backends):
    rows = [replays.Replay(fixture_of("slabhash", data), name, 64) for name in (None, "bfs")]
    rows.append(replays.Replay(fixture_of("tutorial", data), "wcc", 16))
    for task in rows:
        found = measure(task, QUICK)
        assert (found.status, found.reason) == ("ok", "")
    assert [row.extra()["most_work"] > 0 for row in rows] == [False, True, False]
    assert ["single calls" in row.detail for row in rows] == [False, False, True]
    assert measure(replays.Replay(fixture_of("forgetful", data), None, 16), QUICK).status == "FAIL"


def test_batches_that_are_too_large(data):
    for task in (
        usage.ReadsAndWrites(fixture_of("any", data), 999, 0.5),
        usage.Peak(fixture_of("any", data), "insert", 999),
    ):
        assert measure(task, QUICK).status == "skip"


def test_a_peak_is_what_was_held_at_once(device):
    xp, kept = device.xp, []
    size = 1 << 20
    with metering(device) as peak_of:
        kept.append(xp.zeros(4 * size, np.uint8))

        def work():
            kept.append(xp.zeros(size, np.uint8))
            xp.zeros(3 * size, np.uint8)
            kept.append(xp.zeros(size, np.uint8))

        peak = peak_of(work)
        assert 4 * size <= peak < 4.1 * size
        assert peak_of(kept.clear) < size / 10


def test_a_single_edge_is_timed_often_enough_for_a_tail(data):
    selection = Selection(("csr_baseline",), CPU, updates=(16,))
    tasks = bench_tasks("usage", selection, data)
    single = [task for task in tasks if task.batch == 1]
    assert [task.workload for task in single] == ["insert", "delete", "query"]
    found = measure(single[2], Limits(min_repeats=1, time_limit=5.0, warmups=0, target_error=1.0))
    assert found.timing.repeats >= 200
    shown = text_of(*tables.of([to_line(Row.of("run", "tiny", single[2], found))]))
    assert "p99" in shown
    assert {task.workload for task in tasks} >= {
        "insert vertices",
        "delete vertices",
        "reads and writes",
        "peak memory",
    }
    assert {task.detail for task in tasks} >= {"hub pairs", "sorted pairs", "50% reads", "95% reads", "bulk build"}


# -- ablations ---------------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("kind", [*SCHEMES, ablations.NewDegrees])
@pytest.mark.parametrize("backend", ["slabhash", "hornet_like"])  # these have the schemes; the CPU has one loop for all
def test_every_scheme_of_every_algorithm(data, backend, device, kind):
    fixture = fixture_of(backend, data, device)
    for scheme in kind.schemes:
        found = measure(ablation(kind, fixture, scheme), QUICK)
        assert (scheme, found.reason) == (scheme, "") or found.status == "skip"


@pytest.mark.parametrize("kind", [*SCHEMES, ablations.NewDegrees])
def test_a_wrong_answer_is_noticed(data, broken_backends, kind):
    class Wrong(kind):
        def run(self, prepared):
            result = super().run(prepared)
            if result is None and hasattr(self, "sets"):
                self.sets.parent[39] = 39 if self.sets.labels()[39] != 39 else 0
            elif hasattr(self, "distance"):
                self.distance[self.fixture.data.source] = 1
            else:
                result[0] += 1
            return result

    assert measure(ablation(Wrong, fixture_of("tutorial", data)), QUICK).status == "FAIL"


def test_a_scheme_that_a_backend_cannot_do_is_left_out(data, broken_backends):
    class Refused(ablations.RankByScheme):
        def run(self, prepared):
            raise RequirementError("this backend cannot scan")

    assert measure(ablation(Refused, fixture_of("tutorial", data)), QUICK).status == "skip"


def test_the_count_of_triangles_is_networkx_s(data):
    model = data.model_of(directed=False)
    graph = nx.Graph(zip(model.src.tolist(), model.dst.tolist(), strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    found = closed_triples(model.src, model.dst, 40)
    triangles = nx.triangles(graph)
    assert found.sum() > 0
    assert found.tolist() == [triangles.get(vertex, 0) for vertex in range(40)]
    assert closed_triples(*model.arcs()[:2], 40).tolist() == found.tolist()
    assert not closed_triples(model.src[:0], model.dst[:0], 3).any()


def test_answers_of_oracles_are_made_once(data, device, monkeypatch):
    made = []
    data.cache.clear()
    original = ablations.Ablation.right
    monkeypatch.setattr(
        ablations.Ablation, "right",
        lambda task, make, *names: original(task, lambda: made.append(task.workload) or make(), *names),
    )  # fmt: skip
    for backend in ("slabhash", "csr_baseline"):
        for kind in SCHEMES:
            for scheme in ("auto", *kind.schemes[:2]):
                measure(ablation(kind, fixture_of(backend, data, device), scheme), QUICK)
    assert sorted(made) == sorted({kind.workload for kind in SCHEMES})


def test_ablations_are_shown_by_option(data):
    rows = []
    for setting in ("defaults", "hashing=False"):
        task = ablation(ablations.RankByScheme, fixture_of("slabhash", data, label=setting))
        task.suite = "ablations"
        rows.append(to_line(Row.of("run", "tiny", task, measure(task, QUICK))))
    (table,) = tables.of(rows)
    assert (table.row_count, len(table.columns)) == (1, 4)
    assert "ranks by scheme auto " in text_of(table)


def test_ablations_switch_every_option_that_is_on_or_off(data, knob_store):
    tasks = bench_tasks("ablations", Selection(("knobs",), CPU, updates=(32,)), data)
    assert {task.setting for task in tasks} == {"defaults", "hashed=False"}  # as it is by default: left out
    workloads = {(task.workload, task.algorithm) for task in tasks}
    assert workloads >= {("insert", None), ("from scratch", "triangles"), ("update alone", "wcc")}
    assert {kind.workload for kind in SCHEMES} <= {workload for workload, _ in workloads}
    assert measure(next(task for task in tasks if task.setting == "hashed=False"), QUICK).status == "ok"
