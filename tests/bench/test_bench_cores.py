"""A quiet core for timing: which core the thread is on, and where it may run afterwards."""

import os
from contextlib import nullcontext

import pytest

from suricate.bench import constants, cores
from suricate.bench.runner import Limits, Task, measure
from suricate.devices import CPU, Device, resolve_device

needs_affinity = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot choose a core here")


class Machine:
    """Cores and what the loop takes on each of them, in place of those of the machine."""

    def __init__(self, monkeypatch, *seconds):
        self.seconds, self.where = dict(enumerate(seconds)), set(range(len(seconds)))
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(self.where), raising=False)
        monkeypatch.setattr(os, "sched_setaffinity", lambda _, mask: setattr(self, "where", set(mask)), raising=False)

    def probe(self):
        (core,) = self.where
        return self.seconds[core]


BUSY = 2 * constants.BUSY_CORE


def test_the_thread_goes_to_a_quiet_core_and_may_leave_it_afterwards(monkeypatch):
    machine = Machine(monkeypatch, BUSY, 1.0, BUSY)
    core = cores.QuietCore(machine.probe)
    assert machine.where == {0, 1, 2}
    with core:
        assert machine.where == {1}
    assert machine.where == {0, 1, 2}


def test_the_thread_leaves_a_core_that_has_become_busy(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.1, 1.0)
    core = cores.QuietCore(machine.probe)
    machine.seconds[0] = machine.seconds[2] = BUSY
    with core:
        assert machine.where == {1}
    machine.seconds = {0: 1.0, 1: 1.1, 2: BUSY}
    with core:
        assert machine.where == {1}, "no reason to go"


def test_where_all_cores_are_busy_each_is_tried_once(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.0, 1.0)
    core = cores.QuietCore(machine.probe)
    machine.seconds = dict.fromkeys(range(3), BUSY)
    visits = []
    core._probe = lambda: visits.append(machine.where) or machine.probe()
    with core:
        assert len(machine.where) == 1
    assert sorted(map(min, visits)) == [0, 1, 2]


def test_after_an_error_the_thread_may_run_anywhere(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.0)
    with pytest.raises(ZeroDivisionError), cores.QuietCore(machine.probe):
        raise ZeroDivisionError
    assert machine.where == {0, 1}
    with pytest.raises(ZeroDivisionError):
        cores.QuietCore(lambda: 1 / 0)
    assert machine.where == {0, 1}


def test_only_what_runs_on_cuda_looks_for_a_core_and_only_where_it_may(monkeypatch):
    Machine(monkeypatch, 1.0)
    cuda = Device("cuda")
    assert isinstance(cores.quiet_core(cuda), cores.QuietCore)
    assert isinstance(cores.quiet_core(CPU), nullcontext)

    def forbidden(_, mask):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    assert isinstance(cores.quiet_core(cuda), nullcontext)
    monkeypatch.delattr(os, "sched_setaffinity")
    assert isinstance(cores.quiet_core(cuda), nullcontext)


@needs_affinity
def test_the_cores_of_this_machine():
    before = os.sched_getaffinity(0)
    with cores.QuietCore():
        (core,) = os.sched_getaffinity(0)
        assert core in before
    assert os.sched_getaffinity(0) == before


class Watching(Task):
    """Notes how many cores the thread may run on, in each part of a repeat."""

    def __init__(self, device):
        self.device, self.seen = device, {}

    def prepare(self):
        self.seen["prepare"] = os.sched_getaffinity(0)

    def warm(self):
        self.seen["warm"] = os.sched_getaffinity(0)

    def action(self, state):
        self.seen["action"] = os.sched_getaffinity(0)

    def restore(self, state, result):
        self.seen["restore"] = os.sched_getaffinity(0)


@needs_affinity
def test_backends_of_the_cpu_keep_all_cores():
    task = Watching(CPU)
    assert measure(task, Limits()).status == "ok"
    assert set(map(frozenset, task.seen.values())) == {frozenset(os.sched_getaffinity(0))}


@pytest.mark.gpu
@needs_affinity
def test_with_cuda_the_timed_part_and_the_calls_ahead_of_it_stay_on_one_core():
    every = os.sched_getaffinity(0)
    task = Watching(resolve_device("cuda"))
    assert measure(task, Limits()).status == "ok"
    assert task.seen["prepare"] == task.seen["restore"] == every
    assert task.seen["action"] == task.seen["warm"]
    assert len(task.seen["action"]) == 1
