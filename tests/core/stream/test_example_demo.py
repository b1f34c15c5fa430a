"""``make demo`` tells a story: a line a week with real dates, alerts, a killed process that goes on, a summary."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from patience import PATIENCE
from scipy.sparse import csr_matrix

FOLDER = Path(__file__).parents[3] / "examples" / "demo"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the example."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("demo")


def test_alerts_name_who_is_new_in_the_top_ten(demo: Any) -> None:
    graph = SimpleNamespace(device=SimpleNamespace(to_numpy=np.asarray), num_live=1234)
    slide = SimpleNamespace(end=np.datetime64("2015-10-23T00:00"), graph=graph)
    facts = slide, np.array([1303, 600, 500]), SimpleNamespace(num_components=7), SimpleNamespace(level=[0, 1, -1])
    first = demo.line_of(*facts, [], [5, 4, 3, 2])
    assert " ".join(first.split()) == "2015-10-23 1,303 600 500 1,234 7 2 (first: users 5, 4, 3)"
    assert demo.line_of(*facts, [5, 4, 3, 2], [5, 9, 4, 8]).endswith("  user 9 is no. 2, user 8 is no. 4")
    assert demo.line_of(*facts, [5, 4], [4, 5]).split()[-1] == "2"
    assert max(map(len, (demo.HEADING, first))) <= 100


def test_pagerank_of_the_comparison_leaves_out_deleted_vertices(demo: Any) -> None:
    star = csr_matrix((np.ones(3), ([0, 1, 2], [3, 3, 3])), (5, 5))
    found = demo.pagerank(star, np.array([True, True, True, True, False]))
    end = 1 / (4 + 3 * 0.85)  # of the three leaves, all that they have comes from jumps and the end's ranks
    assert np.allclose(found, [end, end, end, end * (1 + 3 * 0.85), 0], atol=1e-5)


def test_summary_and_picture_are_of_the_weeks_that_were_measured(demo: Any, tmp_path: Path) -> None:
    days = demo.DAYS + 7 * demo.WEEKS
    seconds = np.full(days, 0.002)
    seconds[: demo.DAYS] = 9
    end = np.datetime64("2013-10-19") + np.arange(days)
    history = {"end": end, "events": np.full(days, 100), "graph": seconds, "total": 2 * seconds}
    week = {"scratch": 1.5, "scipy": 6.0, "ranks": 20.0, "scipy ranks": 30.0, "difference": 3e-6}
    text = demo.summary(SimpleNamespace(history=history), [week, week])
    assert "14,000 messages in 140 slides of a day; 25,000 a second" in text
    assert re.findall(r"every day +(\S+) +(\S+) +(\S+)", text) == [("2.00*", "1.50", "6.00")]  # a star at what loses
    assert "PageRank within 3e-06" in text
    demo.draw(history, [week, week], tmp_path / "picture.svg")
    lines = [each for each in ElementTree.parse(tmp_path / "picture.svg").iter() if each.tag.endswith("polyline")]
    assert [len(line.attrib["points"].split()) for line in lines] == [14, 2, 2]


@pytest.mark.slow
def test_the_demo_tells_twenty_weeks_and_compares_them_with_scipy(tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / "demo.py"), str(tmp_path), "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    weeks = [line for line in lines if re.match(r"\d{4}-\d\d-\d\d ", line)]
    expected = np.datetime64("2015-10-23") + 7 * np.arange(20)
    assert [line[:10] for line in weeks] == expected.astype(str).tolist()
    assert len({tuple(line.split()[1:4]) for line in weeks}) == 20
    assert sum("is no." in line for line in weeks) > 2
    at = next(number for number, line in enumerate(lines) if "killed (SIGKILL)" in line)
    assert lines[at - 1] == weeks[9]
    assert "came out the same" in lines[at]
    assert "verified after every week against SciPy" in done.stdout
    assert len(lines) <= 35
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")
