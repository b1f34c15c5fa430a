"""A job over a live source compiles before its first slide what later ones call: all is looked up on disk by then."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
import suricate.stream as st
from suricate.base import cache
from suricate.cpu.jit import MachineCode
from suricate.graph.ahead import REHEARSALS

get, load, looked_up = cache.get, MachineCode.load_overload, []
cache.get = lambda name: None if name.startswith("rehearsed-") else get(name)  # as if no process had rehearsed

def look_up(self, signature, context):
    looked_up.append(f"{self._dispatcher.py_func.__module__}.{self._dispatcher.py_func.__qualname__} {signature}"[:300])
    return load(self, signature, context)

MachineCode.load_overload = look_up

def run(count, span, slide, tracked, *, names, weights, **options):
    rng = np.random.default_rng(count)
    src, dst = rng.integers(0, 1_000, (2, count))
    events = {"time": np.sort(rng.integers(0, span, count)), "src": src, "dst": dst}
    if names:
        events |= {end: [f"account {n}" for n in events[end]] for end in ("src", "dst")}
    if weights:
        events["weight"] = rng.integers(1, 50_000, count)
    parts = [{name: each[at : at + 5_000] for name, each in events.items()} for at in range(0, count, 5_000)]
    source = st.source(iter(parts), time_unit="s")
    job = st.Window(source, size="7d", slide=slide, names=names or None, graph={"device": "cpu"}, **options)
    trackers = [job.track(name, **given) for name, given in tracked]
    slides, before = 0, None
    for w in job:
        for tracker in trackers:
            assert tracker.result is not None
        slides += 1
        if before is None:
            before = len(looked_up)
    assert slides > 3
    assert looked_up[before:] == [], (count, span, slide, looked_up[before:])

DAY = 86_400
"""
QUICK = """
for slide in "1d", "6h", "1h":
    run(20_000, 10 * DAY, slide, [("wcc", {})], names=False, weights=False)
assert not REHEARSALS.failed, REHEARSALS.failed
"""
SLOW = """
for slide in "1d", "6h", "1h":
    run(20_000, 10 * DAY, slide, [("pagerank", {}), ("wcc", {})], names=True, weights=True, combine="sum")
assert not REHEARSALS.failed, REHEARSALS.failed
"""


def run(script: str) -> None:
    environment = {**os.environ, "SURICATE_AHEAD": "1", "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_nothing_is_looked_up_behind_the_first_slide() -> None:
    run(SCRIPT + QUICK)


@pytest.mark.slow
def test_nothing_is_looked_up_behind_the_first_slide_of_the_example_of_the_readme() -> None:
    run(SCRIPT + SLOW)
