"""The examples of flows and transfers, against pandas and NetworkX: fan-out, scanners, heavy changes, the transfer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.plain
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES / request.param[0])
    monkeypatch.delitem(sys.modules, request.param[1], raising=False)
    return __import__(request.param[1])


def windows(frame: pd.DataFrame, size: int, slide: int) -> Any:
    """The events of each window, by the rule: the first end behind the oldest event, the last one behind the newest."""
    first, last = frame.time.min() // slide + 1, frame.time.max() // slide + 1
    for end in range(first * slide, (last + 1) * slide, slide):
        yield end, frame[(frame.time >= end - size) & (frame.time < end)]


@pytest.mark.parametrize("example", [("flows", "flows")], indirect=True)
def test_fan_out_and_scanners_are_those_that_pandas_finds(tmp_path: Path, example: Any) -> None:
    example.main([str(tmp_path), "--device", "cpu"])
    frame = pd.DataFrame(example.flows(), columns=["time", "src", "dst", "size"])
    top, fired = pd.read_csv(tmp_path / "top.csv"), pd.read_csv(tmp_path / "scanners.csv")
    seconds = pd.to_datetime(top.end).astype("int64") // 10**9
    for end, events in windows(frame, 300, 60):
        out = events.groupby("src").dst.nunique().sort_values(ascending=False)
        rows = top[seconds == end]
        assert rows.value.tolist() == out.head(3).tolist()
        assert all(out[int(name.split(".")[-1])] == value for name, value in zip(rows.name, rows.value, strict=True))
    expected, before = set(), set[int]()
    for end, events in windows(frame, 300, 60):
        out = events[events["size"] < example.PROBE].groupby("src").dst.nunique()
        now = set(out[out > 15].index)
        expected |= {(end, f"10.0.0.{host}", out[host]) for host in now - before}
        before = now
    ends = pd.to_datetime(fired.end).astype("int64") // 10**9
    assert {*zip(ends, fired.name, fired.value, strict=True)} == expected
    assert {*fired.name} == {"10.0.0.33", "10.0.0.90"}


@pytest.mark.parametrize("example", [("payments", "transfers")], indirect=True)
def test_jumps_of_sums_and_the_planted_transfer_are_found(
    tmp_path: Path, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main([str(tmp_path), "--device", "cpu"])
    day, frame = example.DAY, pd.DataFrame(example.payments(), columns=["time", "src", "dst", "cents"])
    expected, joins, before, groups = set(), list[int](), pd.Series(dtype=float), list[Any]()
    for end, events in windows(frame, 3 * day, day):
        sums = events.groupby(["src", "dst"]).cents.sum()
        both = sums.index.intersection(before.index)
        expected |= {(end, *pair) for pair in both if sums[pair] >= 20 * before[pair]}
        now = [*nx.connected_components(nx.Graph([*sums.index]))]
        joins += [end for group in now if sum(len(old) >= 10 and bool(old & group) for old in groups) > 1]
        before, groups = sums, now
    fired = pd.read_csv(tmp_path / "heavy.csv")
    ends = pd.to_datetime(fired.end).astype("int64") // 10**9
    assert {*zip(ends, fired.src, fired.dst, strict=True)} == expected
    assert example.JUMP in {pair[1:] for pair in expected}
    time, payer, payee, _ = example.TRANSFER
    assert joins == [(time // day + 1) * day]
    lines = [line for line in capsys.readouterr().out.splitlines() if "joined two groups" in line]
    assert lines == [f"{np.datetime64(time, 's').astype('M8[ns]')}: {payer} paid {payee}, and joined two groups"]
