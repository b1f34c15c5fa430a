"""Processes that compile ahead on the CPU: they fill the cache, nobody waits for them, they end with the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from suricate.cpu import workers

SCRIPT = """
import os, sys
import numpy as np
import suricate as su
from numba.core import event
from suricate.cpu import workers
from suricate.cpu.jit import MachineCode

class Compiled(event.Listener):
    count = 0
    def on_start(self, event):
        Compiled.count += isinstance(event.data["dispatcher"]._cache, MachineCode)
    def on_end(self, event):
        pass

workers.cores = lambda: 4
event.register("numba:compile", Compiled())
class Mine(su.Graph):
    pass
Mine(9, backend="csr_baseline", device="cpu")  # which no other process can import
g = su.Graph(100, backend="csr_baseline", device="cpu")
if sys.argv[1] == "wait":
    workers.WORKERS.wait()
else:
    print(workers.WORKERS._processes[0].pid)
    sys.exit()
src, dst = np.arange(40), np.arange(1, 41)
g.insert_edges(src, dst)
g.delete_edges(src[:9], dst[:9])
print(g.has_edges(src[:2], dst[:2]).tolist(), Compiled.count)
g = su.Graph(100, backend="csr_baseline", device="cpu")  # noted on disk
print(len(workers.WORKERS._processes))
"""


def run_script(tmp_path: Path, *arguments: str) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"SURICATE_AHEAD": "1", "SURICATE_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, script, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
def test_what_a_graph_needs_is_compiled_by_another_process(tmp_path):
    assert run_script(tmp_path, "wait") == ["[False, False] 0", "0"]


def test_a_process_ends_with_the_program(tmp_path):
    (pid,) = run_script(tmp_path, "leave")
    assert not Path("/proc", pid).exists()


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 5)
    monkeypatch.setattr(workers, "MOST", 2)
    made = workers.Workers()
    yield made
    made.stop()


def test_tasks_run_in_other_processes_of_low_priority(own, tmp_path):
    for i in range(3):
        own.submit(f"task {i}", write_priority, str(tmp_path / f"{i}"))
    own.submit("task 0", write_priority, str(tmp_path / "again"))
    assert len(own._processes) == 2
    own.wait()
    found = {file.name: file.read_text().split() for file in tmp_path.iterdir() if file.name in "012"}
    assert sorted(found) == ["0", "1", "2"]
    assert {priority for _, priority in found.values()} == {"19"}
    assert str(os.getpid()) not in {pid for pid, _ in found.values()}
    assert not (tmp_path / "again").exists()


def write_priority(path: str) -> None:
    Path(path).write_text(f"{os.getpid()} {os.getpriority(os.PRIO_PROCESS, 0)}")


def test_a_process_without_work_ends_and_a_task_that_fails_does_not_end_it(own, tmp_path, monkeypatch):
    begin = tmp_path / "begin"
    os.mkfifo(begin)
    script = f"open({str(begin)!r}).read(); from suricate.cpu import workers; workers.IDLE = 0.1; workers.main()"
    monkeypatch.setattr(workers, "SCRIPT", script)
    monkeypatch.setattr(workers, "MOST", 1)
    own.submit("one", os.stat, "/no such file")
    own.submit("two", write_priority, str(tmp_path / "two"))
    begin.write_text("now, since both have been asked")
    process = own._processes[0]
    assert process.wait(PATIENCE) == 0  # it has the lowest priority
    assert (tmp_path / "two").exists()
    own.submit("three", write_priority, str(tmp_path / "three"))
    assert own._processes[0].pid != process.pid
    begin.write_text("now")
    own.wait()
    assert (tmp_path / "three").exists()


def test_what_cannot_be_sent_is_not(own, monkeypatch):
    own.submit("a lambda", lambda: None)
    own.submit("much", print, "x" * workers.MOST_ASKED)
    monkeypatch.setattr(workers, "cores", lambda: 3)
    own.submit("on few cores", print)
    monkeypatch.setattr(workers, "cores", lambda: 5)
    monkeypatch.setattr(sys, "executable", "")
    own.submit("without Python", print)
    assert own._processes == []
