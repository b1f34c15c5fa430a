"""What happens to a stream's files between two runs: the bytes of one run, or an error that names the file."""

from __future__ import annotations

import gc
import gzip
import itertools
import os
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from window_of import window_of

import suricate.stream as st
from suricate.errors import ParameterError
from suricate.io import files
from suricate.io.sources import identity

pytestmark = [pytest.mark.plain, pytest.mark.filterwarnings("ignore:.* events read so far are late")]
ROWS = 60  #: of each part


def rows_of(number: int) -> list[str]:
    rng = random.Random(number)
    return [f"{at},n{rng.randrange(9)},n{rng.randrange(9)},{rng.randrange(100)}\n" if at % 17 else f"{at},odd\n"
            for at in range(ROWS * number, ROWS * (number + 1))]  # fmt: skip


def write_csv(path: Path, rows: list[str]) -> None:
    path.write_text("".join(["time,src,dst,weight\n", *rows]))


def write_gz(path: Path, rows: list[str]) -> None:
    text = "".join(["time,src,dst,weight\n", *rows]).encode()
    path.write_bytes(gzip.compress(text[:999]) + gzip.compress(text[999:]))


def write_parquet(path: Path, rows: list[str]) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    whole = [row.strip().split(",") for row in rows if "odd" not in row]
    time, src, dst, weight = zip(*whole, strict=True)
    columns = {"time": [*map(int, time)], "src": src, "dst": dst, "weight": [*map(int, weight)]}
    pq.write_table(pa.table(columns), path, row_group_size=16)


WRITERS: dict[str, Callable[[Path, list[str]], None]] = {"csv": write_csv, "csv.gz": write_gz, "parquet": write_parquet}


class Stream:
    """A folder with parts in one format, and a job over them that stops after some slides."""

    def __init__(self, folder: Path, kind: str, parts: int = 3) -> None:
        self.folder, self.kind, self.out = folder, kind, folder / "out.csv"
        (folder / "in").mkdir(parents=True)
        for number in range(parts):
            self.write(number, rows_of(number))

    def part(self, number: int) -> Path:
        return self.folder / "in" / f"p{9 + number}.{self.kind}"

    def write(self, number: int, rows: list[str]) -> None:
        WRITERS[self.kind](self.part(number), rows)

    def run(self, most: int = 10**6, at_end: str = "close", **scan: Any) -> list[Any]:
        source = st.scan(self.folder / "in", on_error=self.folder / "bad.csv", **scan)
        job = st.Window(
            source, size="40s", slide="10s", names=True, combine="sum", at_end=at_end, late=self.folder / "late.csv",
            checkpoint=self.folder / "state", checkpoint_every=1, graph={"device": "cpu"},
        )  # fmt: skip
        out, found = job.sink(self.out), []
        with job:
            for w in job:
                if len(found) == most:
                    break
                found.append(w.end)
                src, dst, weight = w.graph.edges()
                rows = sorted(zip(job.names[src].tolist(), job.names[dst].tolist(), weight.tolist(), strict=True))
                columns = [*zip(*rows, strict=True)] or [()] * 3
                out.write(dict(zip(("src", "dst", "weight"), columns, strict=True))
                          | {"late": [w.late] * len(rows), "skipped": [w.skipped] * len(rows)})  # fmt: skip
        self.job = job
        return found

    def written(self) -> dict[str, bytes]:
        names = "out.csv", "bad.csv", "late.csv"
        found = {name: (self.folder / name).read_bytes() for name in names if (self.folder / name).exists()}
        return {name: text.replace(bytes(self.folder), b"") for name, text in found.items() if text}


def undisturbed(tmp_path: Path, kind: str, parts: int = 3) -> dict[str, bytes]:
    stream = Stream(tmp_path / f"whole{parts}", kind, parts)
    stream.run()
    return stream.written()


def first_of(text: bytes, old: bytes, new: bytes) -> bytes:
    assert old in text
    return text.replace(old, new, 1)


def other(rows: list[str]) -> list[str]:
    """Rows of the same lengths, of which one of the first says something else."""
    changed = next(at for at, row in enumerate(rows) if at > 3 and "odd" not in row)
    end = rows[changed].rstrip("\n")
    return [*rows[:changed], end[:-1] + str((int(end[-1]) + 1) % 10) + "\n", *rows[changed + 1 :]]


def break_sink(stream: Stream) -> None:
    os.truncate(stream.out, stream.out.stat().st_size // 2)


def other_sink(stream: Stream) -> None:
    stream.out.write_bytes(stream.out.read_bytes()[::-1])


def rename(stream: Stream) -> None:
    stream.part(0).rename(stream.folder / "in" / f"p1000.{stream.kind}")


ERRORS: dict[str, tuple[Callable[[Stream], Any], str]] = {
    "done part replaced": (lambda stream: stream.write(0, other(rows_of(0))), "p9"),
    "current part replaced": (lambda stream: stream.write(1, other(rows_of(1))), "p10"),
    "current part by another": (lambda stream: stream.write(1, rows_of(7)), "p10"),
    "current part cut": (lambda stream: stream.write(1, rows_of(1)[:9]), "p10"),
    "done part cut": (lambda stream: stream.write(0, rows_of(0)[:9]), "p9"),
    "done part grown": (lambda stream: stream.write(0, rows_of(0) + rows_of(5)), "p9"),
    "head cut, rows added": (lambda stream: stream.write(1, rows_of(1)[20:] + rows_of(2)), "p10"),
    "part renamed": (rename, "p9"),
    "part removed": (lambda stream: stream.part(0).unlink(), "p9"),
    "part added before": (lambda stream: shutil.copy(stream.part(2), stream.folder / "in" / f"p1.{stream.kind}"), "p9"),
    "sink cut": (break_sink, "out.csv"),
    "sink replaced": (other_sink, "out.csv"),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("fault", ERRORS)
def test_faults_that_are_errors(tmp_path: Path, fault: str, kind: str) -> None:
    stream, (break_it, name) = Stream(tmp_path, kind), ERRORS[fault]
    stream.run(8)
    break_it(stream)
    for _ in range(2):
        with pytest.raises(ParameterError, match=rf"\b{name}\b"):
            stream.run()


def touch(stream: Stream) -> None:
    for path in (stream.folder / "in").iterdir():
        os.utime(path, (1, 1))


def copy_all(stream: Stream) -> None:
    """Other files with the same content."""
    for path in [*(stream.folder / "in").iterdir()]:
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)


def damage(stream: Stream) -> None:
    newest = max((stream.folder / "state").glob("*.npz"))
    newest.write_bytes(newest.read_bytes()[:-300])


def extend_sink(stream: Stream) -> None:
    with open(stream.out, "a") as file:
        file.write("half a row of a slide that coun")


def extend_refusals(stream: Stream) -> None:
    with open(stream.folder / "bad.csv", "a") as file:
        file.write("x")


HARMLESS: dict[str, Callable[[Stream], Any]] = {
    "nothing": lambda stream: None, "touched": touch, "copied": copy_all, "checkpoint damaged": damage,
    "sink extended": extend_sink, "refusals extended": extend_refusals,
    "part of a checkpoint": lambda stream: (stream.folder / "state" / ".suricate-0-x.part").write_bytes(b"PK"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("fault", HARMLESS)
@pytest.mark.filterwarnings("ignore:.*the one before is used")
def test_faults_that_change_nothing(tmp_path: Path, fault: str, kind: str) -> None:
    whole = undisturbed(tmp_path, kind)
    assert len(whole["out.csv"]) > 3000
    stream = Stream(tmp_path / "broken", kind)
    for most in (3, 0, 5, 2):
        stream.run(most)
        HARMLESS[fault](stream)
    stream.run()
    assert stream.written() == whole


@pytest.mark.parametrize("kind", WRITERS)
def test_parts_that_are_added_behind_are_read(tmp_path: Path, kind: str) -> None:
    whole = undisturbed(tmp_path, kind, 4)
    stream = Stream(tmp_path / "broken", kind, 1)
    for number in range(1, 4):
        stream.run(at_end="hold")
        stream.write(number, rows_of(number))
    stream.run()
    assert stream.written() == whole


def test_a_file_that_grows_is_that_of_one_run_wherever_it_is_cut(tmp_path: Path) -> None:
    """Bytes come one after the other; the compressed file gets members, of which the last is half there."""
    whole = undisturbed(tmp_path, "csv", 1)
    text = (tmp_path / "whole1" / "in" / "p9.csv").read_bytes()
    rng = random.Random(5)
    for kind in ("csv", "csv.gz"):
        stream = Stream(tmp_path / kind, kind, 0)
        cuts = [0, 7, 20, 21, *sorted(rng.sample(range(22, len(text)), 9)), len(text)]
        parts = [text[a:b] for a, b in itertools.pairwise(cuts)]
        members = [gzip.compress(part) for part in parts] if kind == "csv.gz" else parts
        data = b"".join(members)
        if kind == "csv.gz":
            cuts = [0, 1, 5, *sorted(rng.sample(range(6, len(data)), 9)), len(data)]
        for end in cuts:
            stream.part(0).write_bytes(data[:end])
            stream.run(at_end="hold")
        stream.run()
        assert stream.written() == {
            name: rows.replace(b"p9.csv", f"p9.{kind}".encode()) for name, rows in whole.items()
        }


def test_a_line_that_was_read_without_its_end_may_not_go_on(tmp_path: Path) -> None:
    stream = Stream(tmp_path, "csv", 1)
    stream.part(0).write_text("time,src,dst,weight\n1,a,b,1\n50,a,b,1")
    stream.run()
    with open(stream.part(0), "a") as file:
        file.write("23\n60,a,b,1\n")
    with pytest.raises(ParameterError, match=r"p9.csv was read without its end.*at_end='hold'"):
        stream.run()
    stream.part(0).write_text("time,src,dst,weight\n1,a,b,1\n50,a,b,1\n160,a,b,1\n")
    assert len(stream.run()) > 1


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("fault", ["other rows", "cut", "another", "done part", "renamed"])
def test_a_restart_reads_the_new_file_and_keeps_the_window(tmp_path: Path, kind: str, fault: str) -> None:
    stream, number = Stream(tmp_path, kind), {"done part": 0}.get(fault, 1)
    before = stream.run(8)
    kept, rows = stream.job.names, rows_of(9)
    if fault == "renamed":
        stream.part(0).unlink()
    elif fault == "other rows":
        rows = other(rows_of(1))
    elif fault == "cut":
        rows = rows_of(1)[:5]
    if fault != "renamed":
        stream.write(number, rows)
    after = stream.run(on_replaced="restart")
    assert after[0] > before[-1]
    assert {*kept} <= {*stream.job.names} | {f"n{at}" for at in range(9)}
    lines = stream.out.read_text().splitlines()
    assert sum(line.startswith("end") for line in lines) == 1
    again = sum("odd" not in row for row in rows)  # of the new file: taken or late
    plain = [sum("odd" not in row for row in rows_of(at)) for at in range(3)]
    assert stream.job.past.events + stream.job.late >= sum(plain[at] for at in range(3) if at != number)
    if fault in ("another", "done part"):
        assert stream.job.past.events + stream.job.late >= sum(plain) - plain[number] + again
    assert stream.run(on_replaced="restart") == []


def test_rotated_files_are_seen(tmp_path: Path) -> None:
    """A log that is replaced, shortened in place, or has the same size and times."""
    log, day = tmp_path / "e.csv", [(4 * at, at) for at in range(8)]

    def run(name: str, at_end: str, **scan: Any) -> int:
        job = st.Window(st.scan(log, **scan), size="10s", slide="10s", checkpoint=tmp_path / name, at_end=at_end,
                        checkpoint_every=1, graph={"device": "cpu"})  # fmt: skip
        return sum(w.events for w in job)

    def write(rows: list[tuple[int, int]]) -> None:
        log.write_text("time,src,dst\n" + "".join(f"{time},{src},{src + 1}\n" for time, src in rows))

    later = [(40 + 4 * at, 10 + at) for at in range(12)]
    for number, rows in enumerate((later, later[:5], day[4:] + later[:3], [], [(time, 9 - src) for time, src in day])):
        write(day)
        begun = run(f"{number}", "hold")
        times = log.stat()
        write(rows)
        os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))
        with pytest.raises(ParameterError, match=r"e\.csv has .* on_replaced='restart'"):
            run(f"{number}", "close")
        taken = run(f"{number}", "close", on_replaced="restart")
        if rows and rows[0][0] >= 40:
            assert begun + taken == len(day) + len(rows)


def test_lists_of_chunks_are_those_that_were_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    time, (src, dst) = np.arange(200), rng.integers(0, 9, (2, 200))

    def chunks(cut: int, **columns: Any) -> list[dict[str, Any]]:
        every = {"time": time, "src": src, "dst": dst} | columns
        return [{name: values[at : at + cut] for name, values in every.items()} for at in range(0, 200, cut)]

    def run(source: Any, name: str, most: int, **options: Any) -> list[Any]:
        job, found = window_of(source, size="20", slide="10", checkpoint=tmp_path / name, checkpoint_every=1,
                               graph={"device": "cpu"}, **options), []  # fmt: skip
        for w in job:
            if len(found) == most:
                break
            found.append((w.end, w.events, sorted(zip(*(part.tolist() for part in w.graph.edges()[:2]), strict=True))))
        return found

    changed = np.where(time == 30, src + 1, src)
    for name, make in {
        "list": lambda cut, **columns: chunks(cut, **columns),
        "merge": lambda cut, **columns: st.merge(chunks(cut, **columns), chunks(50)),
        "chain": lambda cut, **columns: st.chain(chunks(cut, **columns), [
            {"time": [300], "src": [0], "dst": [1]}, {"time": [400], "src": [0], "dst": [1]}]),
    }.items():  # fmt: skip
        whole = run(make(7), name + "whole", 999)
        for most in (6, len(whole) - 1):
            begun = run(make(7), f"{name}{most}", most)
            shutil.copytree(tmp_path / f"{name}{most}", tmp_path / f"{name}{most} changed")
            with pytest.raises(ParameterError, match=r"checkpoint: the (list of chunks|source) has"):
                run(make(7, src=changed), f"{name}{most} changed", 999)
            assert begun + run(make(13), f"{name}{most}", 999) == whole  # the same rows, cut otherwise
    options = {"order": "time"}
    begun = run(chunks(7), "sorted", 5, **options)
    shutil.copytree(tmp_path / "sorted", tmp_path / "sorted changed")
    with pytest.raises(ParameterError, match="checkpoint: the list of chunks has"):
        run(chunks(7, src=changed), "sorted changed", 999, **options)
    assert begun + run(chunks(7), "sorted", 999, **options) == run(chunks(7), "sorted whole", 999, **options)


def test_a_history_that_is_replaced_behind_a_live_source_is_seen(tmp_path: Path) -> None:
    history, live = tmp_path / "h.csv", tmp_path / "l.csv"
    history.write_text("time,src,dst\n" + "".join(f"{at},0,1\n" for at in range(30)))
    live.write_text("time,src,dst\n" + "".join(f"{at},0,2\n" for at in range(30, 60)))

    def run(name: str, most: int, how: Callable[..., Any]) -> int:
        job = st.Window(how(st.scan(history), st.scan(live)), size="10s", slide="5s", checkpoint=tmp_path / name,
                        checkpoint_every=1, graph={"device": "cpu"})  # fmt: skip
        for _ in job:
            if job.slides > most:
                break
        return job.slides

    for how in (st.chain, st.merge):
        run(how.__name__, 8, how)
        shutil.copytree(tmp_path / how.__name__, tmp_path / f"{how.__name__}2")
        assert run(f"{how.__name__}2", 99, how) == run(f"{how.__name__}3", 99, how)
        before = history.read_text()
        history.write_text(before.replace("3,0,1", "3,1,0", 1))
        with pytest.raises(ParameterError, match=r"h\.csv"):
            run(how.__name__, 99, how)
        history.write_text(before)


def test_event_files_wait_for_the_end_of_a_step(tmp_path: Path) -> None:
    for form, steps in {
        "window": "# window a\nI 0 1\nI 1 2\n# window b\nI 2 3\nD 0 1\n# window c\nI 3 4\n",
        "snapshot": "+ 0 1 1.5\n+ 1 2 1\n@ a 3 2\n+ 2 3 1\n- 0 1\n@ b 3 2\n+ 3 4 1\n@ c 4 3\n",
    }.items():
        file, expected = tmp_path / f"{form}.events.txt", []

        def run(state: str, at_end: str, file: Path = file) -> list[Any]:
            job = st.Window(st.scan(file, format="events"), size=2, slide="step", at_end=at_end,
                            checkpoint=tmp_path / state, checkpoint_every=1, graph={"device": "cpu"})  # fmt: skip
            return [(w.end, w.events, w.left, w.graph.num_edges) for w in job]

        file.write_text(steps)
        expected = run(f"{form} whole", "close")
        assert len(expected) == 3
        found = []
        for end in range(len(steps)):
            file.write_text(steps[:end])
            found += run(form, "hold")
        file.write_text(steps)
        assert found + run(form, "close") == expected
        file.write_text(steps.replace("1 2", "1 3", 1))
        with pytest.raises(ParameterError, match=rf"{form}\.events\.txt has other rows"):
            run(form, "close")


def test_a_resume_reads_what_it_has_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that was begun once, files before it not at all unless they were touched, and then once."""
    monkeypatch.setattr(identity, "RECENT", 0)
    real, read = files.ByteSource._read, dict[str, int]()

    def counted(self: Any, *given: Any) -> bytes:
        piece = real(self, *given)
        read[self.path.name] = read.get(self.path.name, 0) + len(piece)
        return piece

    monkeypatch.setattr(files.ByteSource, "_read", counted)
    for touched in (False, True):
        stream = Stream(tmp_path / str(touched), "csv")
        sizes = {stream.part(number).name: stream.part(number).stat().st_size for number in range(3)}
        others = set(threading.enumerate())
        stream.run(8)
        if touched:
            os.utime(stream.part(0))
        readers = [thread for thread in {*threading.enumerate()} - others if thread.name == "suricate reader"]
        del stream.job  # with it ends its reader, which may be reading ahead
        gc.collect()
        for reader in readers:
            reader.join(PATIENCE)
        read.clear()
        stream.run()
        assert read == {name: size for name, size in sizes.items() if touched or name != "p9.csv"}


def test_runs_that_end_while_they_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a row of the sink, at each flush to the disk; ``test_kill_points.py`` kills processes."""
    whole = undisturbed(tmp_path, "csv")
    stream, fsync = Stream(tmp_path / "broken", "csv"), os.fsync

    class Ended(BaseException):
        pass

    for at in range(1, 24, 3):
        calls = iter(range(1000))

        def ends(handle: int, at: int = at, calls: Any = calls) -> None:
            if next(calls) == at:
                with open(stream.out, "a") as file:
                    file.write("half a r")
                raise Ended
            fsync(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", ends)
            with pytest.raises(Ended):
                stream.run()
    stream.run()
    assert stream.written() == whole


def test_a_file_in_utf_16_grows_by_bytes(tmp_path: Path) -> None:
    """Half a character waits, as half a line does."""
    data = "time,src,dst\n1,Zoë,b\n11,\U0001f40d,b\n21,c,Zoë\n31,c,d\n".encode("utf-16")
    file, found = tmp_path / "e.csv", []

    def run(at_end: str) -> list[Any]:
        source = st.scan(file, src="src", dst="dst", time="time", encoding="utf-16")
        job = st.Window(source, size="10s", slide="10s", names=True, checkpoint=tmp_path / "state", at_end=at_end,
                        checkpoint_every=1, graph={"device": "cpu"})  # fmt: skip
        return [sorted(job.names) for _ in job]

    for end in (40, 41, 57, 60, 62, 63, 64, len(data) - 2):
        file.write_bytes(data[:end])
        found += run("hold")
    file.write_bytes(data)
    assert found + run("close") == [["Zoë", "b"], ["b", "\U0001f40d"], ["Zoë", "c"], ["c", "d"]]
