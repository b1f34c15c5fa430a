"""Folders that parts are added to: which parts count, in which order, what is refused, and going on from a position."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from patience import PATIENCE

import suricate.stream as st
from suricate.errors import FileFormatError, ParameterError, RequirementError
from suricate.io.sources import folder as folders
from suricate.io.sources.rows import NOTHING, WAITING

pytestmark = pytest.mark.plain
GRAPH = {"device": "cpu", "weight_dtype": None}
Row = tuple[int, int, int]


def rows_of(number: int, count: int = 20) -> list[Row]:
    rng = random.Random(number)
    return [(number * count + at, rng.randrange(9), rng.randrange(9)) for at in range(count)]


def text_of(rows: list[Row], head: bool = True) -> str:
    return "time,src,dst\n" * head + "".join(f"{time},{src},{dst}\n" for time, src, dst in rows)


def table_of(rows: list[Row]) -> Any:
    return pa.table(dict(zip(("time", "src", "dst"), zip(*rows, strict=True), strict=True)))


WRITERS: dict[str, Callable[[Path, list[Row]], Any]] = {
    "csv": lambda path, rows: path.write_text(text_of(rows)),
    "csv.gz": lambda path, rows: path.write_bytes(gzip.compress(text_of(rows).encode())),
    "parquet": lambda path, rows: pa.parquet.write_table(table_of(rows), path),
    "arrow": lambda path, rows: pa.feather.write_feather(table_of(rows), path),
}


def put(path: Path, rows: list[Row], *, hidden: str = ".new") -> None:
    """Write a part aside, and rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(hidden)
    WRITERS[path.name.partition(".")[2]](aside, rows)
    os.utime(aside, (1, 1))  # so that the file was written before it is renamed, whatever the clock's steps
    aside.rename(path)


class Watched:
    """A watched folder and its clock: each wait calls the next of ``happens``, behind the last one it ends."""

    def __init__(self, folder: Path, *happens: Callable[[], Any], settle: str = "1h", **options: Any) -> None:
        self.source: Any = st.files(folder, watch=True, settle=settle, **options)
        self.now, self.happens = 0.0, iter(happens)
        self.source.clock, self.source.sleep = lambda: self.now, self.sleep

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        event = next(self.happens, None)
        if event is None:
            raise StoppedError
        event()

    def read(self, position: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield positions with times, or the chunk without rows."""
        try:
            for after, chunk in self.source.read(position):
                yield after, chunk if chunk is NOTHING or chunk is WAITING else chunk["time"].tolist()
        except StoppedError:
            return


class StoppedError(Exception):
    """Nothing more happens."""


def times(rows: list[Row]) -> list[float]:
    return [row[0] for row in rows]


def wait() -> None:
    """Nothing happens."""


@pytest.mark.parametrize("kind", WRITERS)
def test_parts_are_read_in_the_order_of_their_names_as_they_come(tmp_path: Path, kind: str) -> None:
    put(tmp_path / f"p9.{kind}", rows_of(0))
    (tmp_path / "_SUCCESS").touch()
    watched = Watched(
        tmp_path,
        lambda: put(tmp_path / f"p10.{kind}", rows_of(1), hidden="_new"),
        wait,
        lambda: [put(tmp_path / f"p{number}.{kind}", rows_of(number), hidden="new.tmp") for number in (12, 11)],
    )
    found = [chunk for _, chunk in watched.read() if chunk is not NOTHING]
    assert found == [times(rows_of(number)) for number in (0, 1, 11, 12)]


def test_subfolders_by_key_are_read_and_others_are_not(tmp_path: Path) -> None:
    for name, number in (("day=2", 2), ("day=1", 1), ("_day=0", 0), ("other", 3), (".day=4", 4)):
        put(tmp_path / name / "a.csv", rows_of(number))
    (tmp_path / "sub").mkdir()
    assert [chunk for _, chunk in Watched(tmp_path).read()] == [times(rows_of(1)), times(rows_of(2))]
    assert st.files(tmp_path).reads(tmp_path / "day=3" / "b.csv")


def test_a_part_that_is_being_written_counts_when_it_has_rested(tmp_path: Path) -> None:
    path, rows = tmp_path / "p1.csv", rows_of(1)
    path.write_text(text_of(rows[:5]))
    put(tmp_path / "p2.csv", rows_of(2))

    def append(begin: int, end: int) -> Callable[[], Any]:
        def write() -> None:
            with open(path, "a") as file:
                file.write(text_of(rows[begin:end], head=False))
            state = path.stat()
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**18))  # no rename since it was written

        return write

    watched = Watched(tmp_path, *(append(at, at + 5) for at in (5, 10, 15)), *[wait] * 12, settle="1s")
    found = list(watched.read())
    silent = [chunk for _, chunk in found]
    at = silent.index(times(rows))
    assert silent[:at] == [WAITING] * at  # p2 waits for it, and this is no silence
    assert 3 + 9 <= at <= 3 + 11  # a second after the last change
    assert silent[at + 1] == times(rows_of(2))
    assert all(chunk is NOTHING for chunk in silent[at + 2 :])


def test_silence_is_that_of_parts_that_do_not_come(tmp_path: Path) -> None:
    """The clock closes slides behind a folder that gets no parts, not while one is being written."""
    put(tmp_path / "p1.csv", [(101, 0, 1)])
    slow = tmp_path / "p2.csv"

    def grow() -> None:
        with open(slow, "a") as file:
            file.write("time,src,dst\n" if not slow.stat().st_size else "102,1,2\n")
        os.utime(slow, (10**10, 10**10))

    slow.touch()
    watched = Watched(tmp_path, *[grow] * 50, *[wait] * 400, settle="1s", prefetch=0)
    job = st.Window(watched.source, size="20s", slide="5s", idle="2s", graph=GRAPH)
    job.silence.clock = lambda: watched.now
    w = next(job)
    assert (w.events, w.closed_by, job.late) == (50, "idle", 0)
    # 50 writes, rest, then 105 is 3 s behind the newest event; a look waits a tenth of a second
    assert 5 + 1 + 3 <= watched.now < 5 + 1 + 3 + 0.5


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "removed": (lambda folder: (folder / "p2.csv").unlink(), r"p2\.csv has vanished"),
    "cut": (lambda folder: (folder / "p1.csv").write_text("time,src,dst\n"), r"p1\.csv has shrunk"),
    "last cut": (lambda folder: (folder / "p3.csv").write_text("time,src,dst\n"), r"p3\.csv has shrunk"),
    "grown": (lambda folder: (folder / "p1.csv").write_text(text_of(rows_of(1, 90))), r"p1\.csv has grown, but parts"),
    "before": (lambda folder: put(folder / "p0.csv", rows_of(0)), r"p0\.csv sorts before p3\.csv"),
    "between": (lambda folder: put(folder / "p2b.csv", rows_of(0)), r"p2b\.csv sorts before p3\.csv"),
    "link": (lambda folder: (folder / "p5.csv").symlink_to(folder.parent / "x.csv"), r"p5\.csv is a link out of the"),
    "pipe": (lambda folder: os.mkfifo(folder / "p5.csv"), r"p5\.csv is a pipe, a socket or a device"),
    "folder": (lambda folder: (folder / "a=1").symlink_to(folder.parent / "a=1"), "a=1 is a link out of the folder"),
}


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_parts_that_change_are_errors_or_refused(
    tmp_path: Path, change: str, resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "NAMED", 1)  # the first part is not named in positions
    put(tmp_path / "x.csv", rows_of(7))
    (tmp_path / "a=1").mkdir()
    for on_error in ("raise", tmp_path / "bad.csv"):
        folder = tmp_path / f"in{on_error == 'raise'}"
        for number in (1, 2, 3):
            put(folder / f"p{number}.csv", rows_of(number))
        happen, message = CHANGES[change]
        later = lambda folder=folder: put(folder / "p9.csv", rows_of(9))  # noqa: E731
        position = None
        if resumed:
            position = [after for after, _ in Watched(folder).read()][-1]
            happen(folder)
        first = [] if resumed else [lambda folder=folder, happen=happen: happen(folder)]
        watched = Watched(folder, *first, later, wait, on_error=on_error)
        if on_error == "raise":
            if resumed and change in ("cut", "grown"):
                message = r"has other parts before p3\.csv than the 2 that were read"
            with pytest.raises(ParameterError, match=message):
                list(watched.read(position))
            continue
        chunks = [chunk for _, chunk in watched.read(position) if chunk is not NOTHING]
        assert chunks[-1] == times(rows_of(9))
        assert len(chunks) == (1 if resumed else 4)
        assert len(watched.source.refusals[0].held) == 1


def test_a_refused_change_is_told_once_also_by_the_run_that_goes_on(tmp_path: Path) -> None:
    for number in range(1, 6):
        put(tmp_path / "in" / f"p{number}.csv", rows_of(number))

    def run(*happens: Callable[[], Any]) -> st.Window:
        source = Watched(tmp_path / "in", *happens, on_error=tmp_path / "bad.csv", prefetch=0).source
        job = st.Window(source, size="40s", slide="10s", graph=GRAPH, checkpoint=tmp_path / "state")
        with pytest.raises(StoppedError):
            list(job)
        return job

    def keep(job: st.Window) -> int:
        job._keep(job._number_due(at_once=True))
        return job.skipped

    assert keep(run((tmp_path / "in" / "p2.csv").unlink, lambda: put(tmp_path / "in" / "p0.csv", rows_of(0)))) == 2
    assert keep(run(wait, wait)) == 2
    assert keep(run(lambda: put(tmp_path / "in" / "p6.csv", rows_of(6)), wait)) == 2
    assert len((tmp_path / "bad.csv").read_text().splitlines()) == 3


def test_the_last_part_may_grow_and_others_may_not_be_replaced(tmp_path: Path) -> None:
    rows = rows_of(1, 60)
    path = tmp_path / "p1.csv"

    def write(end: int) -> None:
        path.write_text(text_of(rows[:end]))
        os.utime(path, (1, 1))

    write(20)
    watched = Watched(tmp_path, lambda: write(40), lambda: write(60), wait)
    chunks = [(after, chunk) for after, chunk in watched.read() if chunk is not NOTHING]
    assert [chunk for _, chunk in chunks] == [times(rows[at : at + 20]) for at in (0, 20, 40)]
    path.write_text(text_of(rows_of(5, 90)))
    os.utime(path, (1, 1))
    checked = Watched(tmp_path)
    checked.source.checked = True
    position = chunks[-1][0]
    position = (*position[:2], (position[2][0], 12345, position[2][2]), position[3])
    with pytest.raises(ParameterError, match=r"p1\.csv has other bytes than the"):
        list(checked.read(position))


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_part_that_a_longer_one_replaces_is_no_continuation(tmp_path: Path, on_error: str) -> None:
    """Also in a job without checkpoints; cut within a line, or not."""
    path = tmp_path / "p1.csv"
    for other in (rows_of(5, 90), [(time, src + 1, dst) for time, src, dst in rows_of(1, 40)]):
        put(path, rows_of(1, 20))
        later = [lambda rows=other: put(path, rows), lambda: put(tmp_path / "p2.csv", rows_of(9)), wait]
        source = Watched(tmp_path, *later, on_error=on_error, prefetch=0).source
        job = st.Window(source, size="40s", slide="10s", graph=GRAPH)
        with pytest.raises(
            ParameterError if on_error == "raise" else StoppedError,
            match="other bytes" if on_error == "raise" else None,
        ):
            list(job)
        assert job.read == (20 if on_error == "raise" else 20 + 1 + 20)
        for part in tmp_path.iterdir():
            part.unlink()


HEAD, LINES = "time,src,dst,weight,fee\n", "{0},1,2,3,4\n{0},2,3,4,5\n"
OTHERS: dict[str, tuple[str, int]] = {  # parts of other columns, and how many rows each counts for if it is left out
    "no source": ("time,payer,dst,weight,fee\n15,1,2,3,4\n16,1,2,3,4\n", 1),
    "no time": ("when,src,dst,weight,fee\n15,1,2,3,4\n16,1,2,3,4\n", 2),
    "no weight": ("time,src,dst,fee\n15,1,2,4\n16,1,2,4\n", 2),
    "no attribute": ("time,src,dst,weight\n15,1,2,3\n16,1,2,3\n", 1),
    "nothing": ("a,b\n1,2\n", 1),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("other", OTHERS)
def test_a_part_with_other_columns_is_an_error_that_names_it_or_left_out(tmp_path: Path, other: str, kind: str) -> None:
    text, skipped = OTHERS[other]
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in (("p1", HEAD + LINES.format(5)), ("p2", text), ("p3", HEAD + LINES.format(25))):
        (folder / f"{name}.csv").write_text(content)
        if kind == "parquet":
            pa.parquet.write_table(pa.csv.read_csv(folder / f"{name}.csv"), folder / f"{name}.parquet")
            (folder / f"{name}.csv").unlink()
    options = {"size": "10s", "slide": "10s", "attributes": {"fee": "sum"}, "graph": {"device": "cpu"}}
    bad = tmp_path / "bad.csv"
    job = st.Window(st.files(folder, settle="0s", on_error=bad), **options)
    assert [w.events for w in job] == [2, 0, 2]
    assert job.skipped == skipped
    (_, line) = bad.read_text().splitlines()
    assert f"p2.{kind}" in line
    with pytest.raises((ParameterError, FileFormatError, RequirementError), match=rf"p2\.{kind}"):
        list(st.Window(st.files(folder, settle="0s"), **options))


def test_a_keyword_of_files_that_it_does_not_have_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"files\(attributes=\.\.\.\) is written columns="):
        st.files(tmp_path, attributes=["fee"])  # type: ignore[call-arg]


def test_a_malformed_part_is_an_error_or_refused_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "p1.parquet").write_bytes(b"PAR1 and no more")
    os.utime(tmp_path / "p1.parquet", (1, 1))
    put(tmp_path / "p2.parquet", rows_of(2))
    with pytest.raises(FileFormatError, match=r"p1\.parquet"):
        list(Watched(tmp_path).read())
    watched = Watched(tmp_path, wait, on_error="skip")
    found = list(watched.read())
    assert [chunk for _, chunk in found if chunk is not NOTHING] == [times(rows_of(2))]
    assert "p1.parquet" in watched.source.refusals[0].held[0][-1]
    assert [chunk for _, chunk in Watched(tmp_path, on_error="skip").read(found[0][0])] == []


def slides(source: Any, **options: Any) -> st.Window:
    return st.Window(source, size="40s", slide="10s", names=True, combine="count", graph={"device": "cpu"}, **options)


def lines_of(job: st.Window, out: Path, most: int = 10**6) -> None:
    sink = job.sink(out)
    with job:
        for w in job:
            if w.end and most == 0:
                return
            most -= 1
            src, dst, weight = (part.tolist() for part in w.graph.edges())
            sink.write({"events": w.events, "edges": str(sorted(zip(src, dst, weight, strict=True)))})


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_a_job_goes_on_where_it_was_as_if_one_run_had_read_all(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "NAMED", 2)
    rng, folder = random.Random(3), tmp_path / "in"
    for number in range(12):
        put(tmp_path / "all" / f"p{number}.{kind}", rows_of(number))
    lines_of(slides(st.scan(tmp_path / "all")), tmp_path / "whole.csv")
    for number in range(12):
        put(folder / f"p{number}.{kind}", rows_of(number))
        job = slides(
            st.files(folder), checkpoint=tmp_path / "state", checkpoint_every=1,
            at_end="hold" if number < 11 else "close",
        )  # fmt: skip
        lines_of(job, tmp_path / "out.csv", rng.randrange(3))
    lines_of(slides(st.files(folder), checkpoint=tmp_path / "state"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert len(job._position[3][2]) == 2
    shutil.rmtree(tmp_path / "state")


def test_a_watching_job_stops_between_parts_and_goes_on_without_watching(tmp_path: Path) -> None:
    put(tmp_path / "in" / "p1.csv", rows_of(1))
    watching = slides(st.files(tmp_path / "in", watch=True), checkpoint=tmp_path / "state")
    with watching:
        watching.start()
        assert watching.query(lambda w: w.events).result(PATIENCE) > 0
        watching.stop(PATIENCE)
    assert watching.read == 20
    put(tmp_path / "in" / "p2.csv", rows_of(2))
    ended = slides(st.files(tmp_path / "in"), checkpoint=tmp_path / "state")
    assert sum(w.events for w in ended) + watching.past.events == 40


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    for wrong in (tmp_path / "none", tmp_path / "a.csv"):
        with pytest.raises(ParameterError, match="files: there is no folder"):
            st.files(wrong)
    for options in ({"settle": "soon"}, {"settle": 3}, {"watch": 1}, {"format": "xls"}, {"on_error": 3}):
        with pytest.raises((ParameterError, KeyError), match=r"settle|watch|format|on_error"):
            st.files(tmp_path, **options)
    with pytest.raises(ParameterError, match="order='time' sorts all events of a source"):
        st.source(st.chain(st.scan(tmp_path / "a.csv"), st.files(tmp_path, watch=True)), order="time")
