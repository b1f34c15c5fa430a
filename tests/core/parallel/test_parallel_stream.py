"""Jobs over streams on several ranks: the first reads and writes, all have the windows of one process."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_parallel_graph import listed

import suricate.stream as st
from suricate.errors import LateEventError, RequirementError
from suricate.parallel import Comm, run

pytestmark = pytest.mark.plain
NUMBER, CHUNK = 120, 25


def chunks() -> list[dict[str, Any]]:
    """Events of a stream, some of them late, with weights, and names that come and go."""
    rng = np.random.default_rng(3)
    time = np.arange(NUMBER) // 3
    time[50::17] -= 20
    src, dst = rng.integers(0, 15, (2, NUMBER)) + time // 8
    weight = rng.integers(1, 9, NUMBER)
    columns = {"time": time, "src": src, "dst": dst, "weight": weight}
    return [{name: part[at : at + CHUNK] for name, part in columns.items()} for at in range(0, NUMBER, CHUNK)]


def job(comm: Comm | None, source: Any, **options: Any) -> st.Window:
    graph = {"device": "cpu", "threads": 1, **options.pop("graph", {})} | ({} if comm is None else {"comm": comm})
    return st.Window(source, **{"size": "16", "slide": "4", "combine": "sum", **options}, graph=graph)


def shown(tracker: Any) -> Any:
    return [np.asarray(part).tolist() for part in tracker.result] if isinstance(tracker.result, tuple) else (
        np.round(tracker.result, 9).tolist()
    )  # fmt: skip


def slides(comm: Comm | None, source: Any, **options: Any) -> list[Any]:
    """What a job shows, slide by slide."""
    window = job(comm, source, **options)
    trackers = [window.track("wcc"), window.track("spmv"), window.track("wcc", every=2)]
    if window.graphs.directed:
        trackers.append(window.track("kcore", symmetric=True))
    found = []
    for w in window:
        names = None if w.graph.names is None else [w.graph.names[v] for v in w.graph.live_vertices.tolist()]
        answers = [shown(tracker) for tracker in trackers if tracker.every == 1 or tracker.slides >= tracker.every]
        found.append([w.end, w.events, w.late, listed(w.graph.edges()), listed(w.delta.inserted), names, answers])
    twin = window.graphs.twin
    assert comm is None or twin is None or twin.graph.partition is not None
    return [*found, window.late, window.skipped]


@pytest.mark.parametrize(
    "options", [{}, {"names": True}, {"graph": {"directed": False}, "names": True}, {"size": None, "combine": "last"}]
)
def test_windows_are_those_of_one_process(options: dict[str, Any]) -> None:
    expected = slides(None, chunks(), **copy.deepcopy(options))
    assert len(expected) > 8
    found = run(lambda comm: slides(comm, chunks() if comm.rank == 0 else [], **copy.deepcopy(options)), 3)
    assert found == [expected] * 3


def test_the_first_process_alone_reads_and_writes(tmp_path: Path) -> None:
    calls, seen = [], list[Any]()

    def work(comm: Comm | None, folder: Path) -> None:
        folder.mkdir(exist_ok=True)

        def read() -> Iterator[Any]:
            calls.append(None if comm is None else comm.rank)
            yield from chunks()

        window = job(comm, read(), late=folder / "late.csv")
        ranks = window.track("pagerank")
        out, called = window.sink(folder / "ranks.csv"), window.sink(lambda end, table: seen.append(end))
        with window:
            for _ in window:
                out.write(ranks.top(3))
                called.write(ranks.top(1))

    work(None, tmp_path / "single")
    run(lambda comm: work(comm, tmp_path / "several"), 2)
    assert calls == [None, 0]
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]
    late, ranks = ([tmp_path / of / name for of in ("several", "single")] for name in ("late.csv", "ranks.csv"))
    assert late[0].read_text() == late[1].read_text()
    found, wanted = ([line.split(",") for line in path.read_text().splitlines()] for path in ranks)
    assert [line[:-1] for line in found] == [line[:-1] for line in wanted]  # sums are in the order of the owners
    assert [float(line[-1]) for line in found[1:]] == pytest.approx([float(line[-1]) for line in wanted[1:]], rel=1e-12)


def test_a_job_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """On another number of ranks; what one rank asks to end ends all."""
    options = {"names": True, "checkpoint_every": 1}

    def work(comm: Comm | None, folder: Path, most: int) -> list[Any]:
        source = st.source(lambda position: iter([*enumerate(chunks(), 1)][position or 0 :]))
        window, found = job(comm, source, checkpoint=folder, **options), []
        parts = window.track("wcc")
        for w in window:
            found.append([w.end, listed(w.graph.edges()), shown(parts), w.graph.num_vertices])
            if len(found) == most and (comm is None or comm.rank == comm.size - 1):
                window._stop.set()  # as a signal does
        return found

    whole = work(None, tmp_path / "single", 99)
    begun = run(lambda comm: work(comm, tmp_path / "several", 4), 3)
    assert begun == [whole[:4]] * 3
    assert run(lambda comm: work(comm, tmp_path / "several", 99), 2) == [whole[4:]] * 2


def test_errors_of_the_source_and_of_events_are_raised_on_all() -> None:
    def broken() -> Iterator[Any]:
        yield chunks()[0]
        raise OSError("the disk is gone")

    def work(comm: Comm) -> None:
        with pytest.raises(OSError, match="" if comm.rank == 0 else "rank 0: the disk is gone"):
            slides(comm, broken())
        with pytest.raises(LateEventError):
            slides(comm, chunks(), late="raise")
        with pytest.raises(RequirementError, match="a job of several processes runs in its loop"):
            job(comm, chunks()).start()

    run(work, 2)


def test_steps_that_a_source_marks() -> None:
    source = [each for chunk in chunks() for each in ({k: v for k, v in chunk.items() if k != "time"}, st.MARK)]
    options = {"size": 2, "slide": "step"}
    expected = slides(None, source, **options)
    assert run(lambda comm: slides(comm, source, **options), 2) == [expected] * 2


def test_attributes_of_events_are_columns_of_edges(tmp_path: Path) -> None:
    """Windows of three ranks have the columns that those of one process have; two ranks go on with the job."""

    def columns(comm: Comm | None, stop: int = 100, **options: Any) -> list[Any]:
        made = [{**chunk, "fee": chunk.pop("weight") / 4} for chunk in chunks()]
        window = job(comm, made, combine="last", attributes={"fee": "sum"}, **options)
        near, found = window.track("sssp", source=3, weight="fee"), []
        for w in window:
            found.append([w.end, w.graph.edge_columns["fee"].tolist(), near.result.distance.tolist()])
            w.graph.check()
            if len(found) == stop:
                break
        return found

    expected, kept = columns(None), {"checkpoint": tmp_path, "checkpoint_every": 1}
    assert len(expected) > 8
    begun = run(lambda comm: columns(comm, 4, **kept), 3)
    assert begun == [expected[:4]] * 3
    gone_on = run(lambda comm: columns(comm, **kept), 2)[0]
    assert gone_on == expected[-len(gone_on) :]
    assert len(gone_on) >= len(expected) - 4
