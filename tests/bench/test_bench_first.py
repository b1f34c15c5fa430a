"""The suite of first calls: three states of the caches, and examples as the README has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from suricate.base.devices import resolve_device
from suricate.bench import first
from suricate.bench.commands import bench

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from one_loop import doubled
assert doubled(2) == 4
told["answer_s"] = 0.5
"""
LOOP = """
from suricate.cpu.jit import kernel

@kernel
def doubled(x):
    return 2 * x
"""

pytestmark = pytest.mark.compiled


def test_examples_stand_in_the_readme():
    text = (CHECKOUT / "README.md").read_text()
    assert f"```python\n{first.SCRIPTS['first_block']}```" in text
    assert f"```python\n{first.SCRIPTS['second_block']}```" in text
    assert 'slide="6h"' in first.cases("cpu", 20)["the same, slides of 6h"]
    assert "(2, 300_000)" in first.cases("cpu", 20)["window of 300,000 named events"]


def test_scripts_are_python_on_both_devices():
    for device in "cpu", "cuda:0":
        for name, script in first.cases(device, 12).items():
            compile(first.AROUND.format(packages=True, script=script, save="x"), name, "exec")
            assert f'"{device}"' in script or name == "first replay"
    assert len(first.cases("cuda:0", 12)) == 5 + len(first.SCRIPTS["calls"])


@pytest.mark.slow
def test_each_state_compiles_what_it_has_not(tmp_path, monkeypatch):
    (tmp_path / "one_loop.py").write_text(LOOP)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    monkeypatch.setattr(
        first, "cases", lambda device, scale: {"doubled": SCRIPT.format(folder=str(tmp_path)), "b": "!"}
    )
    lines: list[str] = []
    grid = first.run(resolve_device("cpu"), tmp_path / "rows.jsonl", 20, ("double",), lines.append)
    compilations = dict(row[1:5:3] for row in grid.rows)
    assert compilations == {"empty": 1, "ahead": 0, "warm": 0}
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["state"] for row in rows] == list(first.STATES)
    assert all(row["answer_s"] == 0.5 and row["cpu_s"] > 0 < row["wall_s"] for row in rows)
    assert lines[0].startswith("doubled, empty: answer_s 0.5, cpu_s ")


def test_a_case_that_fails_is_a_row(monkeypatch):
    monkeypatch.setattr(first, "cases", lambda device, scale: {"broken": "1 / 0"})
    done = CliRunner().invoke(bench, ["--suite", "first", "--device", "cpu", "--output", "-", "--format", "csv"])
    assert done.exit_code == 1
    assert "broken,empty,,,,,,,ZeroDivisionError: division by zero" in done.stdout


def test_only_generated_graphs_are_taken():
    done = CliRunner().invoke(bench, ["--suite", "first", "--graph", "grid:8x8"])
    assert done.exit_code == 2
    assert "suite 'first' draws its graph" in done.output
