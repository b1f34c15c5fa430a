"""Windows over real temporal graphs, against sets that are made for each slide from all events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_folder import DATA

import suricate.stream as st
from suricate.io import read, read_events

pytestmark = pytest.mark.usefixtures("data_dir")
CPU = {"device": "cpu"}
DAY, HOUR = 86_400, 3600
GRAPHS = {
    "CollegeMsg": (7 * DAY, DAY),
    "email-Eu-core-temporal": (30 * DAY, 7 * DAY),
    "sx-mathoverflow": (100 * DAY, 30 * DAY),
}


def events_of(name: str, step: int = 1) -> tuple[np.ndarray, ...]:
    """The events of a graph as they come, or one in so many: source, destination, time."""
    file = read(DATA / "temporal" / f"{name}.txt.gz")
    return tuple(column[::step].astype(np.int64) for column in (file.src, file.dst, file.time))


def file_with(tmp_path: Path, columns: tuple[np.ndarray, ...]) -> Path:
    """A text file with these events."""
    np.savetxt(tmp_path / "events.txt", np.stack(columns, 1), fmt="%d")
    return tmp_path / "events.txt"


def check_slides(job: st.Window, src: np.ndarray, dst: np.ndarray, time: np.ndarray, size: int) -> int:
    """Compare each slide with the pairs of the events in its window; return the number of slides."""
    slides = 0
    for w in job:
        slides += 1
        end = int(w.end.astype(np.int64)) // 10**9
        inside = (time >= end - size) & (time < end)
        expected = np.unique(src[inside] << 32 | dst[inside])
        found = w.graph.edges()
        assert np.array_equal(np.sort(found.src.astype(np.int64) << 32 | found.dst.astype(np.int64)), expected), w.end
    return slides


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_events_in_order(name: str, tmp_path: Path) -> None:
    size, slide = GRAPHS[name]
    src, dst, time = events_of(name)
    path = file_with(tmp_path, (src, dst, time))
    source = st.scan(path, src=0, dst=1, time=2)
    job = st.Window(st.source(source, order="time"), size=f"{size}s", slide=f"{slide}s", graph=CPU)
    assert check_slides(job, src, dst, time, size) > 10
    assert job.late == 0


@pytest.mark.parametrize("name", ["email-Eu-core-temporal", "sx-mathoverflow"])
def test_events_as_they_come(name: str, tmp_path: Path) -> None:
    size, slide = GRAPHS[name]
    lateness = 3 * HOUR
    src, dst, time = events_of(name, 7)
    kept, closed, mark, oldest = [], None, None, None
    for t in time.tolist():  # who is in time
        in_time = closed is None or t >= closed
        kept.append(in_time)
        if in_time:
            mark = t - lateness if mark is None else max(mark, t - lateness)
            oldest = t if oldest is None else min(oldest, t)
            if closed is not None or mark >= oldest // slide * slide + slide:
                closed = mark // slide * slide
    kept = np.array(kept)
    job = st.Window(
        st.scan(file_with(tmp_path, (src, dst, time)), src=0, dst=1, time=2),
        size=f"{size}s", slide=f"{slide}s", lateness=f"{lateness}s", graph=CPU,
    )  # fmt: skip
    check_slides(job, src[kept], dst[kept], time[kept], size)
    assert job.late == np.count_nonzero(~kept) > 0


def test_steps_of_mail() -> None:
    """Deletions and insertions of 19 windows; the numbers of arcs are those of the data's description."""
    folder = DATA / "dynamic"
    source = st.chain(
        st.scan(folder / "enron-dynamic.base.txt.gz", src=0, dst=1),
        st.scan(folder / "enron-dynamic.updates.txt.gz", format="events"),
    )
    job = st.Window(_pairs_only(source), slide="step", graph=CPU)
    arcs = [w.graph.num_edges for w in job]
    assert arcs == [
        32190, 35488, 36060, 36239, 34686, 31549, 33789, 38155, 36531, 39229, 37362, 37811, 37811, 33492, 28255, 26066,
        25012, 23788, 26891,
    ]  # fmt: skip
    assert job.current is not None
    assert job.current.unmatched == 0


def _pairs_only(source: st.Source):
    for _, chunk in source.read():
        yield chunk if chunk is st.MARK else {name: chunk[name] for name in chunk.keys() & {"src", "dst", "kind"}}


@pytest.mark.slow
def test_snapshots_of_the_internet() -> None:
    """Weights change with sets; the file gives the number of arcs of each snapshot."""
    path = DATA / "dynamic" / "as-caida.events.txt.xz"
    job = st.Window(st.scan(path, format="events"), slide="step", graph=CPU)
    model: dict[tuple[int, int], int] = {}
    for number, (w, step) in enumerate(zip(job, read_events(path), strict=True)):
        assert (w.end, w.graph.num_edges) == (number + 1, step.num_edges)
        for op, u, v, weight in zip(
            step.op.tolist(), step.src.tolist(), step.dst.tolist(), step.weight.tolist(), strict=True
        ):
            if op == ord("-"):
                del model[u, v]
            else:
                model[u, v] = weight
        if number % 40 == 0:
            found = w.graph.edges()
            pairs = zip(found.src.tolist(), found.dst.tolist(), strict=True)
            assert dict(zip(pairs, found.weight.tolist(), strict=True)) == model
