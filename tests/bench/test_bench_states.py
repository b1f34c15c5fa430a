"""The states of a graph: each holds the edges it says, and meets every repeat alike."""

import numpy as np
import pytest
from bench_cases import bed_of

from suricate.arrays import sorted_distinct
from suricate.bench import constants, inputs, matrix, operations
from suricate.bench.oracle import keys_of
from suricate.bench.runner import Limits, measure
from suricate.bench.states import STATES, age, fill_of, stage_of
from suricate.devices import CPU

QUICK = Limits(min_repeats=2, max_repeats=2, time_limit=1.0, warmups=1)


def keys_in(graph):
    edges = graph.edges()
    return np.sort(keys_of(edges.src, edges.dst))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", operations.OPERATIONS)
def test_operations_in_every_state(data, broken_backends, kind, state, weighted):
    bed = bed_of("roomy", data, weighted=weighted)
    task = kind(bed, 32, None, state)
    found = measure(task, QUICK)
    assert (found.status, found.reason) == ("ok", "")
    assert task.extra()["bytes_per_edge"] > 8
    assert np.array_equal(keys_in(task.graph), task.model.keys)
    assert ("fill" in task.extra()) == (state == "full")
    assert ("graph" in task.detail) == (state != "fresh")


@pytest.mark.parametrize("state", STATES)
def test_hub_batches_meet_the_hub_as_it_was(data, broken_backends, state):
    task = operations.Insert(bed_of("roomy", data), 32, "hub", state)
    assert measure(task, QUICK).status == "ok"
    assert int(task.graph.degrees()[data.hub]) == int(np.sum(task.model.src == data.hub))


def test_a_batch_of_the_hub_that_is_too_large_is_left_out(data, broken_backends):
    assert measure(operations.Query(bed_of("tutorial", data), 64, "hub"), QUICK).status == "skip"


@pytest.mark.parametrize("state", ["aged", "full"])
def test_a_broken_backend_does_not_get_past_the_state(data, broken_backends, state):
    found = measure(operations.Query(bed_of("forgetful", data), 32, None, state), QUICK)
    assert found.status == "FAIL"
    assert found.timing is None


def test_ageing_deletes_and_inserts_a_tenth_ten_times(data):
    class Log:
        weight_dtype, calls = None, ()

        def delete_edges(self, src, dst):
            self.calls = (*self.calls, keys_of(src, dst))

        def insert_edges(self, src, dst, weight):
            assert np.array_equal(self.calls[-1], keys_of(src, dst))

    log = Log()
    age(bed_of("any", data), log)
    assert len(log.calls) == constants.AGE_ROUNDS == 10
    assert all(len(keys) == len(data.model) // 10 for keys in log.calls)
    assert np.array_equal(np.sort(np.concatenate(log.calls)), data.model.keys)  # 300 edges: each of them once


def test_a_full_store_is_full_and_made_anew_when_it_has_grown(data, broken_backends, monkeypatch):
    monkeypatch.setattr(constants, "FULL_EXTRA", 2.0)
    stage = stage_of(bed_of("roomy", data), "full")
    assert fill_of(stage.graph) >= constants.FULL
    assert len(stage.model) > len(data.model)
    assert stage.model.contains(data.model.keys).all()
    first = stage.graph
    stage.tidy(32)
    assert stage.graph is first  # nothing happened
    first.insert_edges([0] * 40, range(40))
    first.insert_edges([1] * 40, range(40))
    assert fill_of(first) < constants.FULL
    stage.tidy(32)
    assert stage.graph is not first
    assert fill_of(stage.graph) >= constants.FULL
    assert np.array_equal(keys_in(stage.graph), stage.model.keys)


def test_a_store_that_cannot_be_filled_says_how_far_it_came(data, broken_backends, monkeypatch):
    monkeypatch.setattr(constants, "FULL_EXTRA", 0.0)
    task = operations.Query(bed_of("roomy", data), 32, None, "full")
    assert measure(task, QUICK).status == "ok"
    assert task.extra()["fill"] < constants.FULL
    first = task.graph
    task.stage.tidy(32)
    assert task.graph is first  # it is as full as it was


@pytest.mark.parametrize("state", ["aged", "full"])
def test_a_state_is_never_compacted_away(data, broken_backends, state):
    stage = stage_of(bed_of("roomy", data), state)
    store = stage.graph.store("out")
    before = store.compactions
    stage.keeper.limit = 0  # bloated by definition
    stage.tidy(32)
    assert store.compactions == before
    assert stage.graph.store("out") is not store


@pytest.mark.parametrize("state", STATES)
def test_calls_ahead_of_a_timed_one_change_nothing(data, broken_backends, state):
    bed = bed_of("roomy", data, weighted=True)
    stage = stage_of(bed, state)
    present, absent = stage.present(32), stage.absent(32)
    assert len(present.src) == len(absent.src) == (1 if state == "full" else 32)
    assert len(sorted_distinct(keys_of(*present[:2]))) == (1 if state == "full" else 300 // 64)  # few: caches stay cold
    assert stage.model.contains(keys_of(*present[:2])).all()
    assert np.array_equal(stage.model.weights_of(keys_of(*present[:2])), present.weight)
    assert not stage.model.contains(keys_of(*absent[:2])).any()
    assert len(stage.present(32, without=stage.model.keys).src) == 0
    assert len(stage.absent(32, without=keys_of(*absent[:2])).src) == 0
    version = keys_in(stage.graph), np.sort(stage.graph.edges().weight)
    for kind in operations.OPERATIONS:
        task = kind(bed, 32, None, state)
        task.setup()
        task.prepare()
        task.warm()
    assert np.array_equal(keys_in(stage.graph), version[0])
    assert np.array_equal(np.sort(stage.graph.edges().weight), version[1])


def test_a_complete_graph_has_no_absent_edge(broken_backends):
    every = np.arange(9, dtype=np.uint32)
    complete = inputs.Input("complete", 3, every // 3, every % 3, np.ones(9, np.float32), False, "")
    assert len(stage_of(bed_of("tutorial", complete), "fresh").absent(4).src) == 0
    assert measure(operations.Delete(bed_of("tutorial", complete), 4), QUICK).status == "ok"


def test_a_suite_in_a_state_has_nothing_else(data):
    plan = matrix.Plan(("csr_baseline",), CPU, batches=(32,), state="aged", hints=True)
    tasks = matrix.bench_tasks("operations", plan, data)
    assert [task.workload for task in tasks] == ["memory", "insert", "delete", "query"]
    assert {task.state for task in tasks} == {"aged"}
    assert all("aged graph" in task.detail and "with hints" in task.detail and task.hints for task in tasks)
