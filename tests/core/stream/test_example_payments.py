"""The examples of streams find what was planted, and write the same whether they are killed or not."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import suricate.stream as st

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
    assert (tmp_path / "killed" / "picture.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_messages_are_killed_and_go_on(tmp_path: Path) -> None:
    lines = run("messages.py", tmp_path / "killed")
    assert sum("-- killed" in line for line in lines) == 1
    run("messages.py", tmp_path / "whole", "--kill-after", "0")
    assert len(rows(tmp_path / "whole" / "alerts.csv")) > 20
    assert (tmp_path / "whole" / "alerts.csv").read_bytes() == (tmp_path / "killed" / "alerts.csv").read_bytes()


class Consumer:
    """What the recipe uses of Kafka's consumer, over lists of messages by partition."""

    def __init__(self, messages: dict[int, list[dict[str, Any]]]) -> None:
        self._messages, self._at = messages, dict.fromkeys(messages, 0)

    def assign(self, places: list[SimpleNamespace]) -> None:
        self._at = {place.partition: max(place.offset, 0) for place in places}

    def consume(self, most: int, timeout: float) -> list[SimpleNamespace]:
        """Three of each partition, now and then with an error among them."""
        found = []
        for number, at in self._at.items():
            for offset in range(at, min(at + 3, len(self._messages[number]))):
                text = json.dumps(self._messages[number][offset])
                facts = {"value": text, "partition": number, "offset": offset, "error": None}
                found.append(SimpleNamespace(**{name: lambda value=value: value for name, value in facts.items()}))
                self._at[number] = offset + 1
        return [*found, SimpleNamespace(error=lambda: "a broker is gone")]


def test_events_from_kafka_go_on_from_their_offsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = lambda topic, partition, offset: SimpleNamespace(partition=partition, offset=offset)  # noqa: E731
    stub = SimpleNamespace(OFFSET_BEGINNING=-2, TopicPartition=place)
    monkeypatch.setitem(sys.modules, "confluent_kafka", stub)
    monkeypatch.syspath_prepend(FOLDER)
    from from_kafka import messages

    parts = {
        number: [{"time": at, "src": f"n{at % 7}", "dst": f"n{at % 5}", "weight": at} for at in range(number, 120, 2)]
        for number in (0, 1)
    }

    def slides(folder: Path, most: int) -> list[tuple[Any, ...]]:
        source = messages(Consumer(parts), "payments", [0, 1])
        job = st.Window(source, size="20s", slide="5s", lateness="10s", combine="sum", names=True,
                        graph={"device": "cpu"}, checkpoint=folder, checkpoint_every=1)  # fmt: skip
        with job:
            return [(w.end, w.events, w.graph.num_edges) for w, _ in zip(job, range(most), strict=False)]

    whole = slides(tmp_path / "whole", 20)
    assert sum(events for _, events, _ in whole) == 100
    assert [row for _ in range(5) for row in slides(tmp_path / "parts", 4)] == whole
