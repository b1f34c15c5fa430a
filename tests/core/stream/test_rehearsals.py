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
DAY = 86_400

def steady(count):
    return np.sort(np.random.default_rng(count).integers(0, 10 * DAY, count))

def uneven():
    '''Times of events in days that are full, hold a few or none; one has a hundred thousand.'''
    counts = 2_000, 3, 3, 0, 9_000, 1, 0, 0, 0, 0, 0, 0, 0, 0, 500, 40, 100_000, 2, 30_000, 60, 7
    rng = np.random.default_rng(1)
    return np.concatenate([DAY * day + np.sort(rng.integers(0, DAY, count)) for day, count in enumerate(counts)])

def run(time, slide, tracked, *, vertices=1_000, names=False, weights=False, size="7d", **options):
    count = len(time)
    rng = np.random.default_rng(count)
    src, dst = rng.integers(0, vertices, (2, count))
    events = {"time": time, "src": src, "dst": dst}
    if names:
        events |= {end: [f"account {n}" for n in events[end]] for end in ("src", "dst")}
    if weights:
        events["weight"] = rng.integers(1, 50_000, count)
    parts = [{name: each[at : at + 5_000] for name, each in events.items()} for at in range(0, count, 5_000)]
    source = st.source(iter(parts), time_unit="s")
    job = st.Window(source, size=size, slide=slide, names=names or None, graph={"device": "cpu"}, **options)
    trackers = [job.track(name, **given) for name, given in tracked]
    slides, before = 0, None
    for w in job:
        for tracker in trackers:
            assert tracker.result is not None
        slides += 1
        if before is None:
            before = len(looked_up)
    assert slides > 3
    assert not REHEARSALS.failed, REHEARSALS.failed
    assert looked_up[before:] == [], (count, size, slide, tracked, looked_up[before:])
"""
QUICK = """
for slide in "1d", "6h", "1h":
    run(steady(20_000), slide, [("wcc", {})])
run(uneven(), "1d", [("wcc", {})])
assert not REHEARSALS.failed, REHEARSALS.failed
"""
SLOW = """
for time, slide in (steady(20_000), "1d"), (steady(20_000), "6h"), (steady(3_000), "1h"), (uneven(), "1d"):
    run(time, slide, {call})
assert not REHEARSALS.failed, REHEARSALS.failed
"""
CALLS = {  #: trackers, with their parameters, and options
    "the example of the README": "[('pagerank', {}), ('wcc', {})], names=True, weights=True, combine='sum'",
    "searches": "[('bfs', {'source': 0}), ('sssp', {'source': 0})], weights=True",
    "undirected": "[('kcore', {'symmetric': True}), ('triangles', {'symmetric': True})], vertices=20_000",
    "no window": "[('pagerank', {}), ('degree', {})], size=None",
}


def run(script: str) -> None:
    environment = {**os.environ, "SURICATE_AHEAD": "1", "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_nothing_is_looked_up_behind_the_first_slide() -> None:
    run(SCRIPT + QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_looked_up_behind_the_first_slide_of_larger_jobs(name: str) -> None:
    run(SCRIPT + SLOW.replace("{call}", CALLS[name]))
