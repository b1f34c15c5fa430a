"""The examples of streams find what was planted, and write the same whether they are killed or not."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

FOLDER = Path(__file__).parents[3] / "examples" / "payments"


def run(script: str, folder: Path, *options: str) -> list[str]:
    command = [sys.executable, str(FOLDER / script), str(folder), "--device", "cpu", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def rows(file: Path) -> list[dict[str, str]]:
    with open(file, newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.slow
def test_planted_rings_are_found_and_nothing_else(tmp_path: Path) -> None:
    size = "--days", "30", "--per-day", "300", "--accounts", "2000"
    lines = run("payments.py", tmp_path / "killed", *size, "--kill-after", "13")
    at = next(number for number, line in enumerate(lines) if "-- killed" in line)
    assert at == 13
    assert lines[at + 1] in lines[:at]  # slides since the last checkpoint come again
    planted = (tmp_path / "killed" / "rings.txt").read_text().splitlines()
    alerts = rows(tmp_path / "killed" / "alerts.csv")
    assert len(planted) == 3
    assert {row["members"] for row in alerts} == {*planted}
    for ring in planted:
        totals = [float(row["sum"]) for row in alerts if row["members"] == ring]
        assert len(totals) == 7  # a week of slides
        assert len({*totals}) == 1
    run("payments.py", tmp_path / "whole", *size, "--kill-after", "0")
    for name in ("alerts.csv", "payments.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
    ranks = [rows(tmp_path / name / "top.csv") for name in ("whole", "killed")]
    assert [row["end"] for row in ranks[0]] == [row["end"] for row in ranks[1]]
    values = [np.array([float(row["value"]) for row in part]) for part in ranks]
    assert abs(values[0] - values[1]).max() < 1e-5
    pictures = [(tmp_path / name / "picture.svg").read_text() for name in ("whole", "killed")]
    assert all(">pagerank: top 5<" in picture for picture in pictures)
    panels = [picture.split(">pagerank: top 5<")[0] for picture in pictures]  # ranks may differ in last digits
    assert panels[0] == panels[1]


@pytest.mark.slow
def test_messages_are_killed_and_go_on(tmp_path: Path) -> None:
    lines = run("messages.py", tmp_path / "killed")
    assert sum("-- killed" in line for line in lines) == 1
    run("messages.py", tmp_path / "whole", "--kill-after", "0")
    assert len(rows(tmp_path / "whole" / "alerts.csv")) > 20
    assert (tmp_path / "whole" / "alerts.csv").read_bytes() == (tmp_path / "killed" / "alerts.csv").read_bytes()
