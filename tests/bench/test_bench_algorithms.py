"""Algorithms in the benchmark: built in or from a plugin, weighted or not, right, wrong, or impossible to verify."""

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
from bench_cases import fixture_of, text_of
from scipy.sparse import csr_array
from turns import few

import suricate as su
from suricate import bench, plugins
from suricate.base.devices import CPU
from suricate.bench import inputs, peers, suites
from suricate.bench.reports import comparison, dynamic
from suricate.bench.reports.results import Row, to_line
from suricate.bench.runner import Limits, measure
from suricate.bench.verify.edges import EdgeModel, Mismatch
from suricate.bench.verify.results import check_result
from suricate.bench.workloads import qualities
from suricate.bench.workloads.algorithms import (
    DELETIONS,
    INSERTIONS,
    FromScratch,
    KeptCurrent,
    TenBatches,
    UpdateAlone,
)
from suricate.bench.workloads.operators import Propagate, Reduce
from suricate.bench.workloads.references import USUAL, Against, Peer
from suricate.bench.workloads.streams import Stream, Window
from suricate.bench.workloads.vertices import KeptCurrentWithout

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=0)
STREAM = Limits(min_repeats=7, max_repeats=7, warmups=1)  # past the end of a stream of five batches
BUILT_IN = [plugin.name for plugin in plugins.installed() if plugin.source == "suricate"]
BUILT_IN_ALGORITHMS = [name for name in plugins.algorithms() if name in BUILT_IN]


class Strength(su.Algorithm):
    """The sum of the weights of the out-edges, computed from scratch after every batch."""

    name = "strength"
    requires = su.Requirements(weighted=True)

    def compute(self, graph: su.Graph) -> None:
        src, _, weight = graph.store("out").edges()
        self._sums = np.bincount(src, weight, graph.num_vertices)

    @property
    def result(self) -> np.ndarray:
        return self._sums.copy()

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live=None, **params):
        assert directed
        matrix = EdgeModel(src, dst, weight).csr(num_vertices, np.float64)
        return matrix @ np.ones(num_vertices)


class Frozen(Strength):
    """Does not follow the graph."""

    name = "frozen"

    def update(self, graph: su.Graph, delta: su.Delta) -> None:
        """Do nothing."""


class Unverified(Strength):
    """Brings no reference."""

    name = "unverified"
    reference = su.Algorithm.reference


class Undirected(Strength):
    """The same, of undirected graphs."""

    name = "undirected"
    requires = su.Requirements(undirected=True, weighted=True)

    @classmethod
    def reference(cls, src, dst, weight, num_vertices, directed, live=None, **params):
        assert not directed
        return np.bincount(src, weight, num_vertices)


class Demanding(Strength):
    """Needs a parameter that it gives no sample of."""

    name = "demanding"

    def __init__(self, power: int) -> None:
        self.power = power


class Elsewhere(Strength):
    """Joins the demo only."""

    name = "elsewhere"
    suites: ClassVar = ("demo",)


def joins(name: str, suite: str) -> bool:
    return suite in plugins.algorithm(name).suites


@pytest.fixture
def strange():
    kinds = (Strength, Frozen, Unverified, Undirected, Demanding, Elsewhere)
    names = [plugins.register(kind, name=f"test {kind.name}") for kind in kinds]
    yield
    for name in names:
        plugins.unregister(name)


# -- which algorithms --------------------------------------------------------------------------------------------------


def test_triangles_of_large_matrices_are_counted_in_parts(monkeypatch):
    matrix = csr_array(1 - np.eye(40, dtype=np.int64))
    monkeypatch.setattr("suricate.bench.peers.scipy.CHUNK", 50)
    assert peers.library("scipy").count(matrix) == 40 * 39 * 38 // 6


def test_code_names_no_backend_and_no_algorithm():
    things = [name for name in (*plugins.backends(), *plugins.algorithms()) if name in BUILT_IN and name != "degree"]
    assert len(things) >= 5
    pattern = re.compile(rf"(?<![a-z])({'|'.join(things)})(?![a-z])", re.IGNORECASE)
    root = Path(bench.__file__).parent
    for file in (file for file in root.rglob("*.py") if file.parent != root / "peers"):  # which say what they have
        for number, line in enumerate(file.read_text().splitlines(), 1):
            assert not pattern.search(line), f"{file}:{number} names {pattern.search(line).group()}"


def test_suites_ask_the_algorithms(data, strange):
    selection = suites.Selection(("csr_baseline",), CPU, updates=(8,))
    timed = {task.algorithm for task in suites.bench_tasks("algorithms", selection, data)}
    assert timed == {*BUILT_IN_ALGORITHMS, "strength", "frozen", "unverified", "undirected", "demanding"}
    shown = {task.algorithm for task in suites.demo_tasks(selection, data)}
    assert shown == {None, "elsewhere", *(name for name in BUILT_IN_ALGORITHMS if joins(name, "demo"))}
    chosen = suites.Selection(("csr_baseline",), CPU, updates=(8,), algorithms=("elsewhere",))
    assert {task.algorithm for task in suites.bench_tasks("algorithms", chosen, data)} == {"elsewhere"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("unverified", "unverified brings no reference() to verify it against"),
        ("demanding", "missing a required argument: 'power'"),
    ],
)
def test_what_cannot_be_verified_or_run_is_skipped(data, temporal_file, strange, name, reason):
    temporal = inputs.load(str(temporal_file))
    fixture = fixture_of("csr_baseline", data)
    tasks = [FromScratch(fixture, name), *(kind(fixture, name, 20) for kind in (KeptCurrent, UpdateAlone))]
    for task in (*tasks, Stream(fixture_of("csr_baseline", temporal), name, 5)):
        found = measure(task, QUICK)
        assert found.status == "skip"
        assert reason in found.reason


# -- what is measured --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_algorithms_and_operators_on_every_backend_and_device(data, backend, device):
    fixture = fixture_of(backend, data, device)
    kinds = {KeptCurrent: 20, UpdateAlone: 20, KeptCurrentWithout: 5}
    tasks = [kind(fixture, name, batch) for name in BUILT_IN_ALGORITHMS for kind, batch in kinds.items()]
    timed = [FromScratch(fixture, name) for name in BUILT_IN_ALGORITHMS]
    timed += [Reduce(fixture, "sum", "float32"), Reduce(fixture, "product", "float64"), Propagate(fixture)]
    for task in (*tasks, *timed):
        found = measure(task, QUICK)
        name = f"{task.workload} {task.algorithm} {task.detail}"
        if isinstance(task, KeptCurrentWithout) and task.algorithm == "similarity":  # its pairs are of all vertices
            assert (found.status, found.reason) == ("skip", "the parameters of the algorithm may name most vertices")
            continue
        assert (name, found.status, found.reason) == (name, "ok", "")
    assert all(task.traffic() > 0 for task in timed)


def test_vertices_that_parameters_name_are_not_deleted(data):
    task = KeptCurrentWithout(fixture_of("csr_baseline", data), "random_walks", data.num_vertices // 2)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("skip", "the parameters of the algorithm may name most vertices")
    assert task.others.tolist() == [*range(data.num_vertices // 2 + 1, data.num_vertices)]


@pytest.mark.parametrize("hints", [False, True])
@pytest.mark.parametrize("name", ["strength", "undirected"])
def test_algorithms_of_plugins_are_verified_on_the_graphs_they_need(data, temporal_file, strange, name, hints):
    fixture = fixture_of("csr_baseline", data, hints=hints)
    model = data.model_of(weighted=True, directed=name == "strength")
    for task in (
        FromScratch(fixture, name),
        KeptCurrent(fixture, name, 40),
        UpdateAlone(fixture, name, 40),
        KeptCurrentWithout(fixture, name, 15),
    ):
        found = measure(task, QUICK)
        assert (found.status, found.reason) == ("ok", "")
        assert task.graph.directed == (name == "strength")
        assert task.graph.weight_dtype == np.float32
        assert task.oracle == f"reference() of {name}"
        assert task.traffic() is None
        assert np.array_equal(np.sort(task.graph.edges().weight), np.sort(model.weight))
    for kind in (Stream, Window):
        task = kind(fixture_of("csr_baseline", inputs.load(str(temporal_file))), name, 5)
        found = measure(task, STREAM)
        assert (found.status, found.reason) == ("ok", "")


def test_a_wrong_update_is_noticed(data, temporal_file, strange):
    fixture = fixture_of("csr_baseline", data)
    assert measure(FromScratch(fixture, "frozen"), QUICK).status == "ok"
    temporal = fixture_of("csr_baseline", inputs.load(str(temporal_file)))
    wrong = [kind(fixture, "frozen", 40) for kind in (KeptCurrent, UpdateAlone, TenBatches, KeptCurrentWithout)]
    for task in (*wrong, Stream(temporal, "frozen", 5)):
        found = measure(task, QUICK)
        assert (found.status, found.timing) == ("FAIL", None)
        assert re.search(r"frozen: \d+ of 40 values of result differ", found.reason)


@pytest.mark.parametrize("kind", [INSERTIONS, DELETIONS])
def test_batches_of_one_kind_and_meerkats_speed_up(data, strange, kind):
    fixture = fixture_of("csr_baseline", data)
    lines = []
    for task in (
        FromScratch(fixture, "strength"),
        KeptCurrent(fixture, "strength", 20, kind),
        UpdateAlone(fixture, "strength", 20, kind),
        TenBatches(fixture, "strength", 20, kind),
    ):
        found = measure(task, QUICK)
        assert (found.status, found.reason) == ("ok", "")
        lines.append(to_line(Row.of("run", "tiny", task, found)))
    edges = len(data.model)
    assert task.graph.num_edges < edges if kind == DELETIONS else task.graph.num_edges > edges
    extra = lines[-1]["extra"]
    assert 0 < extra["speedup_low"] <= extra["speedup"] <= extra["speedup_high"]
    times, *losses = dynamic.of(lines)
    assert (times.row_count, times.columns[3].header) == (1, "+20" if kind == INSERTIONS else "-20")
    assert (times.columns[2].header, losses) == ("from scratch", [])  # it computes every answer from scratch
    shown = f"{extra['speedup']:.2g}x ({extra['speedup_low']:.2g}-{extra['speedup_high']:.2g})"
    cells = [shown, "-"] if kind == INSERTIONS else ["-", shown]
    assert list(times.columns[-1].cells) == [" / ".join(cells)]
    del extra["speedup_low"]  # an early file: one run without spread is not shown
    assert list(dynamic.of(lines)[0].columns[-1].cells) == ["- / -"]


def test_updates_that_lose_to_computing_anew_are_listed(data, strange):
    fixture = fixture_of("csr_baseline", data)
    tasks = FromScratch(fixture, "strength"), KeptCurrent(fixture, "strength", 20), UpdateAlone(fixture, "strength", 20)
    lines = [to_line(Row.of("run", "tiny", task, measure(task, QUICK))) for task in tasks]
    lines[2]["extra"]["update_kind"] = "dynamic"
    lines[0]["median_s"] = lines[2]["median_s"] / 2
    assert "2.00" in text_of(dynamic.of(lines)[1])
    lines[0]["median_s"] = lines[2]["median_s"] * 2
    assert dynamic.of(lines)[1].row_count == 0


class Rounded(Strength):
    """Has a variant that rounds to whole numbers, and says by how much it errs."""

    name = "rounded"

    def __init__(self, digits: int = 9) -> None:
        self.digits = digits

    @property
    def result(self) -> np.ndarray:
        return np.round(self._sums, self.digits)

    @classmethod
    def mismatch(cls, result, reference, **params):
        return None if np.abs(result - reference).max() <= 10.0 ** -params.get("digits", 9) else "too far"

    @classmethod
    def variants(cls):
        return {"fine": {}, "coarse": {"digits": 0}}

    @classmethod
    def error(cls, result, reference):
        return float(np.abs(result - reference).max())


def test_variants_are_compared_by_time_and_error(data, temporal_file):
    name = plugins.register(Rounded, name="test rounded")
    try:
        selection = suites.Selection(("csr_baseline",), CPU, algorithms=("rounded",))
        lines = []
        for graph in (data, inputs.load(str(temporal_file))):
            for task in suites.bench_tasks("methods", selection, graph):
                found = measure(task, QUICK)
                assert (found.status, found.reason) == ("ok", "")
                lines.append(to_line(Row.of("run", graph.name, task, found)))
        assert [line["batch"] for line in lines[:1]] == [1]
        errors = {line["detail"]: line["extra"]["error"] for line in lines}
        assert 0 <= errors["fine"] < 1e-8 < errors["coarse"] <= 0.5
        first, second = dynamic.of(lines)
        assert (first.row_count, second.row_count, len(second.columns)) == (2, 2, 3)
    finally:
        plugins.unregister(name)


@pytest.mark.parametrize("library", peers.MODULES)
def test_answers_of_other_libraries_are_right(data, library, monkeypatch):
    """They are verified like ours, on the same edges; a library that is not installed has none."""
    with monkeypatch.context() as absent:
        absent.setattr("importlib.util.find_spec", lambda name: None)
        assert peers.libraries_of(plugins.algorithm("bfs"), (library,)) == []
        with pytest.raises(su.errors.MissingLibraryError, match=f"{library} is not installed"):
            peers.library(library)
    if not peers.installed(library):
        pytest.skip(f"{library} is not installed")
    answers = peers.library(library).ANSWERS
    assert answers.keys() <= {*BUILT_IN_ALGORITHMS}
    for name, answer in answers.items():
        assert peers.libraries_of(plugins.algorithm(name), (library,)) == [library] * (not answer.labels)
        if not answer.labels:
            task = Peer(fixture_of("csr_baseline", data), name, library)
            found = measure(task, Limits(1, 1, warmups=0))
            assert (name, found.status, found.reason, task.oracle) == (name, "ok", "", f"reference() of {name}")


def test_a_wrong_answer_of_another_library_fails(data, monkeypatch):
    fixture, known = fixture_of("csr_baseline", data), peers.library("scipy").ANSWERS
    for wrong, told in ((lambda found, params: {"level": found[1]}, "values of its level differ from the reference"),
                        (lambda found, params: {"level": found[0][:3]}, "its level has shape")):  # fmt: skip
        monkeypatch.setitem(known, "bfs", known["bfs"]._replace(fields=wrong))
        for task in (Peer(fixture, "bfs", "scipy"), Against(fixture, "bfs", "scipy")):
            found = measure(task, QUICK)
            assert found.status == "FAIL"
            assert found.reason.startswith("scipy: ")
            assert told in found.reason
    kind = plugins.algorithm("pagerank")
    with pytest.raises(Mismatch, match="the L1 distance to the exact ranks"):
        peers.check(kind, peers.Answer(min, peers.field()), np.full(2, 0.5), np.array([0.4, 0.6]), {})


def test_algorithms_take_turns_with_a_library(data):
    """Both are timed at every repeat, by the same clock; a backend and a library have a cell of the table."""
    pytest.importorskip("igraph")
    selection = suites.Selection(("csr_baseline",), CPU, against=("scipy", "igraph"), algorithms=("bfs", "kcore"))
    tasks = suites.bench_tasks("algorithms", selection, data)
    assert [(task.algorithm, task.detail) for task in tasks] == [
        ("bfs", "against scipy"), ("bfs", "against igraph"), ("kcore", "against igraph"),
    ]  # fmt: skip
    lines = [to_line(Row.of("r", data.name, task, measure(task, QUICK))) for task in tasks]
    assert [(line["status"], line["reason"]) for line in lines] == [("ok", "")] * 3
    for line in lines:
        extra = line["extra"]
        assert extra["times_beside"] == extra["beside_s"] / extra["ours_s"]
    (table,) = comparison.against(lines)
    assert [column.header for column in table.columns][1:] == ["csr_baseline / scipy", "csr_baseline / igraph"]
    assert [*table.columns[0].cells] == ["bfs", "kcore"]
    assert [*table.columns[1].cells][1] == ""
    paths = suites.bench_tasks("gapbs", replace(selection, algorithms=("sssp",)), data)
    assert [measure(task, QUICK).status for task in paths] == ["ok", "ok"]
    assert {task.detail.partition(",")[0] for task in paths} == {"with weights"}
    with pytest.raises(ValueError, match="scipy has none of these algorithms"):
        suites.bench_tasks("algorithms", replace(selection, algorithms=("kcore",)), data)


@pytest.mark.parametrize("suite", ["gapbs", "graphalytics"])
def test_suites_of_kernels_measure_six_algorithms(data, suite):
    tasks = suites.bench_tasks(suite, suites.Selection(("csr_baseline",), CPU), data)
    assert len(tasks) == 6
    assert {"bfs", "pagerank", "wcc", "sssp", "triangles"} < {task.algorithm for task in tasks}
    assert {task.workload for task in tasks} == {"from scratch"}
    last = next(task for task in tasks if task.algorithm in ("betweenness", "label_propagation"))
    paths = next(task for task in tasks if task.algorithm == "sssp")
    assert (paths.subject.weighted, paths.detail) == (True, "with weights")
    assert measure(paths, QUICK).status == "ok"
    assert last.detail == ("synchronous=True, max_iter=10" if suite == "graphalytics" else "")
    assert measure(last, QUICK).status == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("counts", [False, True])
def test_qualities_are_means_over_seeds(counts, temporal_file):
    """Every repeat counts, with a seed of its own; so does each event of a pair, where events are weights."""
    data, kind = inputs.load(str(temporal_file), seed=1), plugins.algorithm("leiden")
    fixture, graph = fixture_of("slabhash", data), nx.Graph()
    for u, v in zip(data.src.tolist(), data.dst.tolist(), strict=True):
        graph.add_edge(u, v, weight=1 + (graph.get_edge_data(u, v, {"weight": 0})["weight"] if counts else 0))
    libraries = peers.libraries_of(kind, USUAL, labels=True)
    for library in (None, *libraries):
        made = qualities.tasks_of(fixture, "leiden", peers=library is not None)
        task = made[counts * (len(made) // 2) + (libraries.index(library) if library else 0)]
        assert task.detail == ", ".join(["leiden"] * (library is None) + ["counts as weights"] * counts)
        found = measure(task, Limits(max_repeats=qualities.SEEDS, time_limit=1.0, warmups=0))
        assert (task.backend, found.status, found.reason) == (library or "slabhash", "ok", "")
        assert len({*task.found}) > 1
        assert len(task.found) == 1 + qualities.SEEDS
        assert task.extra() == {"quality": pytest.approx(np.mean(task.found)), "lowest": min(task.found)}
        result = task.action(0)
        label = np.asarray(result.label if library is None else result)
        groups = [{*np.flatnonzero(label == each).tolist()} & {*graph} for each in np.unique(label)]
        task.restore(0, result)
        assert task.found[-1] == pytest.approx(nx.community.modularity(graph, [each for each in groups if each]))


def test_communities_of_libraries_are_good_with_refinement_and_without():
    club = nx.karate_club_graph()
    src, dst = np.array(club.edges, np.uint32).T
    for library in ("igraph", "networkit"):
        pytest.importorskip(library)
        graph = peers.library(library).build(src, dst, None, 34, False)
        for refine in (True, False):
            label = np.array(peers.library(library).ANSWERS["leiden"].compute(graph, refine=refine))
            groups = [set(np.flatnonzero(label == each).tolist()) for each in np.unique(label)]
            assert 0.37 < nx.community.modularity(club, groups, weight=None) < 0.46


def test_graphs_of_libraries_have_all_edges_and_weights(data):
    for directed in (True, False):
        model = data.model_of(weighted=True, directed=directed)
        matrix = peers.library("scipy").build(model.src, model.dst, model.weight, data.num_vertices, directed)
        assert (matrix != model.csr(data.num_vertices, np.float32)).nnz == 0
        for library in ("networkx", "igraph", "networkit"):
            pytest.importorskip(library)
            graph = peers.library(library).build(model.src, model.dst, model.weight, data.num_vertices, directed)
            count = {"networkx": "size", "igraph": "ecount", "networkit": "numberOfEdges"}[library]
            assert getattr(graph, count)() == len(model)
    bare = peers.without_loops(model)
    assert len(bare) == len(model) - np.count_nonzero(model.src == model.dst)


def test_references_are_computed_once(data, monkeypatch):
    calls = []
    monkeypatch.setattr(
        Strength, "reference", classmethod(lambda cls, *_, **params: calls.append(params) or np.zeros(2))
    )
    model = EdgeModel(np.array([0], np.uint32), np.array([1], np.uint32))
    for power in (1, 1, 2):
        check_result(Strength, {"power": power}, np.zeros(2), model, 2, CPU)
    assert calls == [{"power": 1}, {"power": 2}]


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("kind", few([Stream, Window]))
@pytest.mark.parametrize("algorithm", [None, *BUILT_IN_ALGORITHMS])
def test_streams(temporal_file, kind, algorithm):
    data = inputs.load(str(temporal_file))
    task = kind(fixture_of("csr_baseline", data), algorithm, 5)
    assert task.verified_repeats == 5
    assert task.batch == 8
    found = measure(task, STREAM)
    assert (found.status, found.reason) == ("ok", "")


def test_a_stream_needs_time_stamps(data):
    assert measure(Stream(fixture_of("csr_baseline", data)), QUICK).status == "skip"


# -- operators ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [1, -1])
def test_wrong_levels_are_noticed(data, change):
    class Wrong(Propagate):
        def action(self, prepared):
            level = super().action(prepared)
            level[np.flatnonzero(level == level[level < 99].max())[0]] += change
            return level

    assert measure(Wrong(fixture_of("csr_baseline", data)), QUICK).status == "FAIL"


def test_levels_of_a_cycle_that_is_not_reached(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n0 2\n3 4\n4 3\n")
    task = Propagate(fixture_of("csr_baseline", inputs.load(str(tmp_path / "edges.txt"))))
    assert measure(task, QUICK).status == "ok"
    task.level[3:] = [7, 8]
    with pytest.raises(Exception, match="levels are not those of the in-neighbours plus 1"):
        task.check(None, task.level)
