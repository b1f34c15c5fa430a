"""A filter before the window: which events enter, the watermark, positions after a stop, names, counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate.stream as st
from suricate.errors import LateEventError, ParameterError, ShapeError

CPU = {"device": "cpu"}
EVENTS = {
    "time": [1, 2, 9, 4, 12, 3, 21, 22], "src": list("abcdabcd"), "dst": list("bcdabcda"),
    "weight": [7, 1, 2, 8, 9, 9, 1, 6],
}  # fmt: skip


def large(chunk: Any) -> Any:
    return chunk["weight"] > 5


def found(source: Any, **options: Any) -> list[Any]:
    job = st.Window(source, **{"size": "10", "slide": "10", "names": True, "combine": "sum", "graph": CPU, **options})
    return [(w.end, w.events, w.late, sorted(w.delta.to_arrow()["src"].to_pylist()), w.graph.num_live) for w in job]


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_events_left_out_move_the_watermark(rows: int) -> None:
    pytest.importorskip("pyarrow")
    chunks = [{name: column[at : at + rows] for name, column in EVENTS.items()} for at in range(0, 8, rows)]
    # by hand: 12 closes the slide at 10, so 3 is late; 21, left out, closes that at 20
    wanted = [(10, 2, 0, ["a", "d"], 3), (20, 1, 1, ["a", "d"], 2), (30, 1, 1, ["a", "d"], 2)]
    assert found(st.where(chunks, large)) == wanted
    plain = {name: np.array(column)[np.array(EVENTS["weight"]) > 5].tolist() for name, column in EVENTS.items()}
    assert [row[1] for row in found(plain)] == [2, 1, 1]  # without 21 the slide at 20 closes by 22


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_one_left_out_closes_a_slide_for_one_that_is_kept(rows: int) -> None:
    table = {"time": [1, 15, 2], "src": ["a", "x", "b"], "dst": ["b", "y", "c"], "weight": [9, 1, 9]}
    chunks = [{name: column[at : at + rows] for name, column in table.items()} for at in range(0, 3, rows)]
    job = st.Window(st.where(chunks, large), size="10", slide="10", names=True, graph=CPU, late="raise")
    with pytest.raises(LateEventError, match="b -> c at 2"):
        list(job)
    job = st.Window(st.where(chunks, lambda chunk: ~large(chunk)), size="10", slide="10", names=True, graph=CPU)
    assert [(w.end, w.events) for w in job] == [(20, 1)]
    assert job.late == 1  # left out, yet late; no error with late="raise"
    assert [*job.names] == ["x", "y"]  # others were never vertices
    assert len(job.contents.names._tokens) == 0  # nor do their names stay anywhere


def test_windows_of_counts_do_not_see_them() -> None:
    table = {"src": list(range(9)), "dst": list(range(1, 10)), "weight": [9, 1] * 4 + [9]}
    job = st.Window(st.where([table], large), size=2, slide=2, graph=CPU)
    assert [(w.end, sorted(w.graph.edges().src.tolist())) for w in job] == [(2, [0, 2]), (4, [4, 6]), (6, [8])]


def test_invalid_values_of_events_left_out_are_nobodys() -> None:
    table = {"time": [1, 2, 3], "src": [0, -5, 2], "dst": [1, 2, 0], "weight": [9.0, float("nan"), 8.0]}
    job = st.Window(st.where([table], lambda chunk: chunk["src"] >= 0), size="9", slide="9", graph=CPU)
    assert [(w.events, w.skipped) for w in job] == [(2, 0)]


def test_positions_pass_through_so_that_a_job_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, 99, 300)), *rng.integers(0, 9, (3, 300))
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("time,src,dst,weight\n" + "\n".join(rows) + "\n")

    def run(folder: str, most: int) -> list[Any]:
        options = {"names": True, "combine": "sum", "checkpoint": tmp_path / folder, "checkpoint_every": 1}
        job = st.Window(st.where(st.scan(path), large), size="20s", slide="10s", graph=CPU, **options)
        seen = []
        for w in job:
            if job.slides > most:
                break
            edges = zip(*(part.tolist() for part in w.graph.edges()), strict=True)
            seen.append((w.end, w.events, sorted(edges)))
        return seen

    whole = run("whole", 99)
    assert run("parts", 4) + run("parts", 99) == whole
    assert sum(row[1] for row in whole) == sum(int(row.split(",")[3]) > 5 for row in rows)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="fn must be a function"):
        st.where(EVENTS, "weight > 5")
    for fn in (lambda chunk: chunk["weight"], lambda chunk: [True], lambda chunk: True):
        with pytest.raises(ShapeError, match="a bool for each of 8 events"):
            found(st.where(EVENTS, fn))
