"""Jobs that are killed at random points and at each call that writes, or find the disk full, end as one run does."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

SUPPORT = Path(__file__).parents[2] / "support"
PROGRAM = [sys.executable, str(SUPPORT / "killed_job.py")]
GCC = shutil.which("gcc") or shutil.which("cc")
ENVIRON = {**os.environ, "SURICATE_THREADS": "1", "SURICATE_AHEAD": "0"}  # no threads: the program forks


def served(folder: Path, which: str, **plan: Any) -> dict[str, int]:
    """What happened when a plan was carried out on the CPU, every end of a job compared with one run."""
    environ = dict(ENVIRON)
    if plan["calls"][1]:
        library = folder / "killing.so"
        command = [str(GCC), "-shared", "-fPIC", "-O1", "-o", str(library), str(SUPPORT / "killing.c"), "-ldl"]
        subprocess.run(command, check=True)
        environ["LD_PRELOAD"] = str(library)
    command = [*PROGRAM, "serve", str(folder / "jobs"), "cpu", which, json.dumps(plan)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_jobs_killed_at_random_points_end_as_one_run(tmp_path: Path) -> None:
    found = served(tmp_path, "few", random=10, share=0.5, calls=[0, 0])
    assert found["kills"] >= 10
    assert found["whole"] >= 1


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_jobs_killed_at_calls_that_write_end_as_one_run(tmp_path: Path) -> None:
    found = served(tmp_path, "few", random=0, share=0, calls=[0, 60, 4])
    assert found["kills"] == found["refused"] == 15
    assert found["whole"] >= 3


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="there is no C compiler")
def test_jobs_with_all_trackers_killed_everywhere_end_as_one_run(tmp_path: Path) -> None:
    """At 100 random points, once at each of the first 120 calls that write, and with a disk that is full from there on.

    A checkpoint has some thirty such calls, so these are several of them, with the files of results and refused events.
    """
    found = served(tmp_path, "all", random=100, share=0.25, calls=[0, 120])
    assert found["kills"] >= 220
    assert found["refused"] == 120
    assert found["whole"] >= 3


@pytest.mark.gpu
@pytest.mark.slow
def test_jobs_on_cuda_killed_at_random_points_end_as_one_run(tmp_path: Path) -> None:
    """The same with a process each time: what has used CUDA cannot fork. Files of one run on the CPU are the model."""
    whole, killed, rng = tmp_path / "whole", tmp_path / "killed", random.Random(1)
    subprocess.run([*PROGRAM, "run", str(whole), "cpu", "all"], check=True, env=ENVIRON)
    command, kills = [*PROGRAM, "run", str(killed), "cuda", "all"], 0

    def newest() -> int:
        return sum(int(path.stem) for path in killed.glob("state/*.npz"))

    while kills < 30:
        with subprocess.Popen(command, env=ENVIRON) as process:
            begin, goal = newest(), rng.randrange(1, 9)
            while process.poll() is None and newest() < begin + goal:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.05))
            process.kill()
        kills += process.returncode == -signal.SIGKILL
        assert process.returncode in (0, -signal.SIGKILL)
        if process.returncode == 0:
            compare(whole, killed)
            shutil.rmtree(killed)
    subprocess.run(command, check=True, env=ENVIRON)
    compare(whole, killed)


def compare(whole: Path, killed: Path) -> None:
    """Compare all files."""
    for path in (*whole.rglob("*.csv"), *whole.rglob("found.json")):
        assert (killed / path.relative_to(whole)).read_bytes() == path.read_bytes(), path.name


def live(folder: Path, kills: int) -> None:
    """Kill a job over merged, watched folders, with alerts and idle closes, so often, and compare with one run."""
    command = [sys.executable, str(SUPPORT / "live_job.py"), str(folder), str(kills)]
    done = subprocess.run(command, env=ENVIRON, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"kills": kills, "idle": True}


@pytest.mark.slow
def test_ten_kills_of_a_live_job_end_as_one_run(tmp_path: Path) -> None:
    live(tmp_path, 10)


@pytest.mark.soak
def test_a_hundred_kills_of_a_live_job_end_as_one_run(tmp_path: Path) -> None:
    live(tmp_path, 100)
