"""Sources of jobs that go on: positions, files that grow, merged files, signals and interrupts while they are read."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate.stream as st
from suricate.errors import ParameterError


@pytest.mark.parametrize("position", [np.int64(3), {0: 3, "b": (1, None)}, [1, (2, [3.5])], np.str_("x"), ()])
def test_positions_come_as_they_went(tmp_path: Path, position: Any) -> None:
    asked = []

    def fn(at: Any):
        asked.append(at)
        yield position, {"time": [1, 9], "src": [0, 1], "dst": [1, 2]}

    for _ in range(2):
        next(st.Window(st.source(fn), size="4", slide="2", checkpoint=tmp_path, graph={"device": "cpu"}), None)
        job = st.Window(st.source(fn), size="4", slide="2", checkpoint=tmp_path, graph={"device": "cpu"})
        list(job)
    assert asked[-1] == position
    assert isinstance(asked[-1], type(position if not isinstance(position, np.generic) else position.item()))


def test_positions_of_other_parts_are_refused(tmp_path: Path) -> None:
    source = st.source(lambda _: iter([({1, 2}, {"time": [1, 9], "src": [0, 1], "dst": [1, 2]})]))
    with pytest.raises(ParameterError, match=r"consist of .* got \{1, 2\}"):
        list(st.Window(source, size="4", slide="2", checkpoint=tmp_path / "state", graph={"device": "cpu"}))


def test_folders_and_files_that_grow_go_on_with_their_new_rows(tmp_path: Path) -> None:
    folder, shown = tmp_path / "in", []
    folder.mkdir()

    def slides(bad: str, state: str | None, at_end: str = "close") -> list[tuple]:
        source = st.scan(folder, on_error=tmp_path / bad)
        job = st.Window(source, size="40s", slide="7s", graph={"device": "cpu"}, at_end=at_end,
                        checkpoint=None if state is None else tmp_path / state)  # fmt: skip
        return [(w.end, w.events, w.left, w.graph.num_edges, w.skipped) for w in job]

    for number in range(6):
        path = folder / f"{number // 2}.csv"  # each file is written in two parts, with malformed rows between others
        rows = [f"{at % 7},{at % 5},{at}\n" for at in range(30 * number, 30 * number + 30)]
        head = "src,dst,time\n" if number % 2 == 0 else ""
        with open(path, "a") as file:
            file.write(head + "".join([*rows[:10], f"1,two,{number}\n", *rows[10:]]))
        shown += slides("bad.csv", "state", "hold" if number < 5 else "close")
    whole = slides("other.csv", None)
    assert [row[:4] for row in shown] == [row[:4] for row in whole]
    assert shown[-1] == whole[-1]
    assert (tmp_path / "bad.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    assert whole[-1][4] == 6
    (folder / "2.csv").rename(folder / "4.csv")
    with pytest.raises(ParameterError, match=r"was 2\.csv"):
        slides("bad.csv", "state")


def test_malformed_rows_of_merged_files_count_once(tmp_path: Path) -> None:
    for name, begin in ("a", 0), ("b", 1):
        rows = "".join(f"{at % 7},{at % 5},{at}\n{'1,two,3' if at % 10 == begin else '1,2,3'}\n"
                       for at in range(begin, 200, 2))  # fmt: skip
        (tmp_path / f"{name}.csv").write_text(f"src,dst,time\n{rows}")

    def job(bad: str, folder: Path | None) -> st.Window:
        sources = [st.scan(tmp_path / f"{name}.csv", on_error=tmp_path / f"{name}{bad}.csv") for name in "ab"]
        source = st.merge(*sources, on_error="raise")
        return st.Window(source, size="40s", slide="7s", graph={"device": "cpu"}, checkpoint=folder,
                         checkpoint_every=1)  # fmt: skip

    whole = [(w.end, w.events, w.skipped) for w in job("1", None)]
    assert whole[-1][2] == 40
    seen: dict[Any, tuple] = {}
    for number in range(40):
        for count, w in enumerate(job("2", tmp_path / "state")):
            if count > number % 4:
                break
            seen[w.end] = (w.end, w.events, w.skipped)
    assert [*seen.values()] == whole
    for name in "ab":
        assert (tmp_path / f"{name}1.csv").read_bytes() == (tmp_path / f"{name}2.csv").read_bytes()


def test_signals_end_the_loop_between_slides(tmp_path: Path) -> None:
    """No slide closes for long: the events so far are in the checkpoint, and the next run goes on behind them."""
    asked = []

    def fn(position: int | None):
        asked.append(position)
        for at in range(position or 0, 50):
            if at == 20 and position is None:
                os.kill(os.getpid(), signal.SIGTERM)
            yield at + 1, {"time": [at], "src": [0], "dst": [at]}

    options = {"size": "100", "slide": "100", "graph": {"device": "cpu"}, "checkpoint": tmp_path}
    with st.Window(st.source(fn), **options) as job:
        assert list(job) == []
    assert job.stopped == "SIGTERM"
    assert [(w.end, w.events, w.graph.num_edges) for w in st.Window(st.source(fn), **options)] == [(100, 50, 50)]
    assert asked == [None, 21]


def test_interrupts_in_the_source_end_the_job(tmp_path: Path) -> None:
    """Not as if the source had ended: the checkpoint has what there was before."""
    broken = [True]

    def fn(position: int | None):
        for at in range(position or 0, 40):
            if at == 20 and broken:
                broken.clear()
                raise KeyboardInterrupt
            yield at + 1, {"time": [at], "src": [0], "dst": [at]}

    options = {"size": "9", "slide": "3", "graph": {"device": "cpu"}, "checkpoint_every": 1}
    job = st.Window(st.source(fn), checkpoint=tmp_path, **options)
    seen = []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            seen.extend((w.end, w.events) for w in job)
    again = [(w.end, w.events) for w in st.Window(st.source(fn), checkpoint=tmp_path, **options)]
    whole = [(w.end, w.events) for w in st.Window(st.source(fn), **options)]
    assert len(seen) == 6
    assert seen + again == whole
