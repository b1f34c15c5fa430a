"""Runs ``broker_job.py`` in processes, to their end or until they are killed."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from patience import PATIENCE

PROGRAM = Path(__file__).with_name("broker_job.py")


def started(folder: Path, given: dict[str, Any]) -> subprocess.Popen[str]:
    """Start a job; what it prints is text."""
    command = [sys.executable, "-P", str(PROGRAM), str(folder), json.dumps(given)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], code: int = 0) -> list[str]:
    """Wait for the end of a job; return the lines that it printed."""
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, output + errors
    return output.splitlines()


def run(folder: Path, given: dict[str, Any], code: int = 0) -> list[str]:
    """Run a job; return the lines that it printed."""
    return ended(started(folder, given), code)


def killed(folder: Path, given: dict[str, Any], kills: int, seed: int = 1) -> int:
    """Kill a job at random moments after it began, again and again; return how often.

    When it comes to its end, its files must be those of FOLDER/whole, and it begins again.
    """
    rng, done, target = random.Random(seed), 0, folder / "killed"
    while done < kills:
        process = started(target, given)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(("ready", "slide")) and rng.random() < 0.3:
                break
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
        assert process.returncode in (0, -signal.SIGKILL)
        done += process.returncode != 0
        if process.returncode == 0 or done == kills:
            run(target, given)
            assert files_of(target) == files_of(folder / "whole")
            shutil.rmtree(target)
    return done


def files_of(folder: Path) -> dict[str, bytes]:
    """The files that a job wrote, by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}
