"""A quiet core for timing: which core the thread is on, and where it may run afterwards."""

import os

import pytest

from suricate.base.devices import CPU, Device, resolve_device
from suricate.bench import constants
from suricate.bench.machine import cores
from suricate.bench.runner import Limits, Task, measure

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


def test_why_a_core_cannot_be_chosen(monkeypatch):
    Machine(monkeypatch, 1.0)
    cuda = Device("cuda")
    assert cores.reason_against(cuda) is None
    assert "needs a CUDA device" in cores.reason_against(CPU)

    def forbidden(_, mask):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    assert "may not choose a core" in cores.reason_against(cuda)
    monkeypatch.delattr(os, "sched_setaffinity")
    assert "cannot choose a core on this system" in cores.reason_against(cuda)


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

    def action(self, prepared):
        self.seen["action"] = os.sched_getaffinity(0)

    def restore(self, prepared, result):
        self.seen["restore"] = os.sched_getaffinity(0)


@needs_affinity
def test_by_default_all_cores_may_be_used(device):
    task = Watching(device)
    found = measure(task, Limits())
    assert (found.status, found.quiet) == ("ok", None)
    assert set(map(frozenset, task.seen.values())) == {frozenset(os.sched_getaffinity(0))}


@needs_affinity
def test_rows_of_the_cpu_are_never_timed_on_a_quiet_core():
    assert measure(Watching(CPU), Limits(quiet_core=True)).quiet is None


@pytest.mark.gpu
@needs_affinity
def test_a_quiet_core_is_timed_besides_with_the_calls_before_it():
    every = os.sched_getaffinity(0)
    task = Watching(resolve_device("cuda"))
    found = measure(task, Limits(quiet_core=True))
    assert found.status == "ok"
    assert found.quiet.repeats >= Limits().min_repeats
    assert task.seen["prepare"] == task.seen["restore"] == every
    assert task.seen["action"] == task.seen["warm"]
    assert len(task.seen["action"]) == 1
