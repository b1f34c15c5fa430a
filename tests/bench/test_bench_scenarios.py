"""The scenarios of a graph: each holds the edges it says, and meets every repeat alike."""

import numpy as np
import pytest
from bench_cases import fixture_of

from suricate.base.devices import CPU
from suricate.base.types import edge_keys
from suricate.bench import constants, inputs, suites
from suricate.bench.runner import Limits, measure
from suricate.bench.scenarios import SCENARIOS, age, fill_of, scenario_of
from suricate.bench.workloads import operations
from suricate.intake.arrays import sorted_distinct

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=1)


def keys_in(graph):
    edges = graph.edges()
    return np.sort(edge_keys(edges.src, edges.dst))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", operations.OPERATIONS)
def test_operations_in_every_state(data, broken_backends, kind, scenario, weighted):
    fixture = fixture_of("roomy", data, weighted=weighted)
    task = kind(fixture, 32, None, scenario)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("ok", "")
    assert task.extra()["bytes_per_edge"] > 8
    assert np.array_equal(keys_in(task.graph), task.model.keys)
    assert ("fill" in task.extra()) == (scenario == "full")
    assert ("graph" in task.detail) == (scenario != "fresh")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_hub_batches_meet_the_hub_as_it_was(data, broken_backends, scenario):
    task = operations.Insert(fixture_of("roomy", data), 32, "hub", scenario)
    assert measure(task, QUICK).status == "ok"
    assert int(task.graph.degrees()[data.hub]) == int(np.sum(task.model.src == data.hub))


def test_a_batch_of_the_hub_that_is_too_large_is_left_out(data, broken_backends):
    assert measure(operations.Query(fixture_of("tutorial", data), 64, "hub"), QUICK).status == "skip"


@pytest.mark.parametrize("scenario", ["aged", "full"])
def test_a_broken_backend_does_not_get_past_the_scenario(data, broken_backends, scenario):
    found = measure(operations.Query(fixture_of("forgetful", data), 32, None, scenario), QUICK)
    assert found.status == "FAIL"
    assert found.timing is None


def test_ageing_deletes_and_inserts_a_tenth_ten_times(data):
    class Log:
        weight_dtype, calls = None, ()

        def delete_edges(self, src, dst):
            self.calls = (*self.calls, edge_keys(src, dst))

        def insert_edges(self, src, dst, weight):
            assert np.array_equal(self.calls[-1], edge_keys(src, dst))

    log = Log()
    age(fixture_of("any", data), log)
    assert len(log.calls) == constants.AGE_ROUNDS == 10
    assert all(len(keys) == len(data.model) // 10 for keys in log.calls)
    assert np.array_equal(np.sort(np.concatenate(log.calls)), data.model.keys)  # 300 edges: each of them once


def test_a_full_store_is_full_and_built_anew_when_it_has_grown(data, broken_backends, monkeypatch):
    monkeypatch.setattr(constants, "FULL_EXTRA", 2.0)
    scenario = scenario_of(fixture_of("roomy", data), "full")
    assert fill_of(scenario.graph) >= constants.FULL
    assert len(scenario.model) > len(data.model)
    assert scenario.model.contains(data.model.keys).all()
    first = scenario.graph
    scenario.tidy(32)
    assert scenario.graph is first  # nothing happened
    first.insert_edges([0] * 40, range(40))
    first.insert_edges([1] * 40, range(40))
    assert fill_of(first) < constants.FULL
    scenario.tidy(32)
    assert scenario.graph is not first
    assert fill_of(scenario.graph) >= constants.FULL
    assert np.array_equal(keys_in(scenario.graph), scenario.model.keys)


def test_a_store_that_cannot_be_filled_says_how_far_it_came(data, broken_backends, monkeypatch):
    monkeypatch.setattr(constants, "FULL_EXTRA", 0.0)
    task = operations.Query(fixture_of("roomy", data), 32, None, "full")
    assert measure(task, QUICK).status == "ok"
    assert task.extra()["fill"] < constants.FULL
    first = task.graph
    task.subject.tidy(32)
    assert task.graph is first  # it is as full as it was


@pytest.mark.parametrize("name", ["aged", "full"])
def test_a_scenario_is_never_compacted_away(data, broken_backends, name):
    scenario = scenario_of(fixture_of("roomy", data), name)
    store = scenario.graph.store("out")
    before = store.compactions
    scenario.housekeeper.limit = 0  # bloated by definition
    scenario.tidy(32)
    assert store.compactions == before
    assert scenario.graph.store("out") is not store


@pytest.mark.parametrize("name", SCENARIOS)
def test_calls_before_a_timed_one_change_nothing(data, broken_backends, name):
    fixture = fixture_of("roomy", data, weighted=True)
    scenario = scenario_of(fixture, name)
    present, absent = scenario.present(32), scenario.absent(32)
    assert len(present.src) == len(absent.src) == (1 if name == "full" else 32)
    assert len(sorted_distinct(edge_keys(*present[:2]))) == (
        1 if name == "full" else 300 // 64
    )  # few: caches stay cold
    assert scenario.model.contains(edge_keys(*present[:2])).all()
    assert np.array_equal(scenario.model.weights_of(edge_keys(*present[:2])), present.weight)
    assert not scenario.model.contains(edge_keys(*absent[:2])).any()
    assert len(scenario.present(32, without=scenario.model.keys).src) == 0
    assert len(scenario.absent(32, without=edge_keys(*absent[:2])).src) == 0
    version = keys_in(scenario.graph), np.sort(scenario.graph.edges().weight)
    for kind in operations.OPERATIONS:
        task = kind(fixture, 32, None, name)
        task.setup()
        task.prepare()
        task.warm()
    assert np.array_equal(keys_in(scenario.graph), version[0])
    assert np.array_equal(np.sort(scenario.graph.edges().weight), version[1])


def test_a_complete_graph_has_no_absent_edge(broken_backends):
    every = np.arange(9, dtype=np.uint32)
    complete = inputs.Input("complete", 3, every // 3, every % 3, np.ones(9, np.float32), False, "")
    assert len(scenario_of(fixture_of("tutorial", complete), "fresh").absent(4).src) == 0
    assert measure(operations.Delete(fixture_of("tutorial", complete), 4), QUICK).status == "ok"


def test_a_suite_in_a_scenario_has_nothing_else(data):
    selection = suites.Selection(("csr_baseline",), CPU, batches=(32,), scenario="aged", hints=True)
    tasks = suites.bench_tasks("operations", selection, data)
    assert [task.workload for task in tasks] == ["memory", "insert", "delete", "query"]
    assert {task.scenario for task in tasks} == {"aged"}
    assert all("aged graph" in task.detail and "with hints" in task.detail and task.hints for task in tasks)
