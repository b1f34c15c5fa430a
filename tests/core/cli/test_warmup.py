"""Compiling ahead: after `suricate warmup` nothing compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from first_calls import PARTS

from suricate import plugins
from suricate.base.devices import resolve_device
from suricate.cli import precompile
from suricate.errors import DeviceError, SuricateError, UnknownNameError

SUPPORT = Path(__file__).resolve().parents[2] / "support"
PART = """
import compiled, first_calls
from suricate.base.devices import resolve_device
from suricate.cli import precompile
from suricate.cli.precompile import steps

precompile.WEIGHTS = None, "float32"
made = [run() for what, run in steps("slabhash", resolve_device("cpu"), ("graphs",)) if what == "slabhash: degree"]
assert len(made) == 1
found = compiled.Compiled()
for directed in (True, False):
    for weights in (None, "float32"):
        first_calls.graphs(directed, weights, ("degree",))
assert not found.found, found.found
"""
STEPS = """
from suricate.base import cache
from suricate.cli import precompile

def steps(backend, device, parts=()):
    def first(): cache.USED["portable"] = "own"
    def second(): print("no answer")
    def third(): 1 / 0
    return [("first", first), ("second", second), ("third", third), ("fourth", first)]

precompile.steps = steps
"""


def run(*command: object, **variables: str) -> str:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(SUPPORT), **variables}
    done = subprocess.run(
        [sys.executable, *map(str, command)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.compiled
def test_an_algorithm_compiles_nothing_after_its_step():
    run("-c", PART)


@pytest.mark.slow
def test_nothing_compiles_after_warming_up(tmp_path):
    pytest.importorskip("networkx")
    run("-m", "suricate", "warmup", "--device", "cpu", SURICATE_AHEAD="0")
    log = tmp_path / "compiled"
    for part in PARTS:
        run(SUPPORT / "first_calls.py", part, COMPILED_LOG=str(log), SURICATE_AHEAD="0", SURICATE_QUIET="1")
    assert not log.exists(), log.read_text()


def test_parts_have_steps_of_their_own():
    pytest.importorskip("networkx")
    cpu = resolve_device("cpu")
    labels = {part: [what for what, _ in precompile.steps("csr_baseline", cpu, (part,))] for part in precompile.PARTS}
    assert "csr_baseline: bfs" in labels["graphs"]
    assert "stream: names weight combine=sum" in labels["stream"]
    assert {"replay: degrees", "replay: wcc"} < {*labels["replay"]}
    assert "networkx: pagerank" in labels["networkx"]
    trackers = {f"stream: {name}" for name in plugins.algorithms()}  # graphs follow by the same ones
    assert "stream: wcc" in {what.partition(",")[0] for what in labels["stream"]}
    others = [what for part in precompile.PARTS[1:] for what in labels[part] if what.partition(",")[0] not in trackers]
    assert [what for what, _ in precompile.steps("csr_baseline", cpu)] == [*dict.fromkeys([*labels["graphs"], *others])]


def test_steps_that_no_process_is_left_to_make_have_failed(tmp_path, monkeypatch):
    (tmp_path / "python").write_text("#!/bin/sh\nread step\nexit 3\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(precompile.sys, "executable", str(tmp_path / "python"))
    helpers = precompile._Helpers(2, [], ["one", "two", "three"], lambda what, seconds: None)
    with pytest.raises(SuricateError) as error:
        helpers.wait()
    assert sorted(str(error.value).splitlines()) == [
        "one: the process ended", "three: no process was left to make it", "two: the process ended",
    ]  # fmt: skip


@pytest.mark.slow
def test_processes_share_the_steps_and_say_which_failed(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(STEPS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        precompile, "steps", lambda *_: [(name, len) for name in ("first", "second", "third", "fourth")]
    )
    monkeypatch.setattr(precompile.threads, "limit", lambda: 2)
    used: dict[str, str] = {}
    monkeypatch.setattr(precompile.cache, "USED", used)
    reported: list[str] = []
    with pytest.raises(SuricateError, match=r"^third: ZeroDivisionError\('division by zero'\)$"):
        precompile.warm_up(device="cpu", report=lambda what, seconds: reported.append(what))
    assert sorted(reported) == ["first", "fourth", "second", "third"]
    assert used == {"portable": "own"}


def test_unknown_names():
    with pytest.raises(UnknownNameError):
        precompile.warm_up(backend="nothing")
    with pytest.raises(DeviceError):
        precompile.warm_up(device="tpu")
