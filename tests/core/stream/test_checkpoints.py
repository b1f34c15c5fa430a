"""Jobs that end anywhere go on as if they had not: slides, graphs, counters and files are those of one run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from window_model import Event, model

import suricate as su
import suricate.stream as st
from suricate.errors import FileFormatError, ParameterError, RequirementError

CPU = {"device": "cpu", "weight_dtype": "float64"}
RULE = {"size": "40", "slide": "7", "lateness": "3", "combine": "sum"}


def events(seed: int, count: int = 300) -> list[Event]:
    rng = random.Random(seed)
    now = 0
    found = []
    for _ in range(count):
        now += rng.choice([0, 0, 1, 2])
        found.append(Event(now - rng.randrange(9), rng.randrange(6), rng.randrange(6), rng.randrange(-3, 4),
                           rng.choice([1, 1, 1, -1, 0])))  # fmt: skip
    return found


def chunks(found: list[Event], size: int = 23) -> list[dict[str, np.ndarray]]:
    parts = [found[at : at + size] for at in range(0, len(found), size)]
    names = ("time", "src", "dst", "weight", "kind")
    return [dict(zip(names, np.array(part, np.int64).T, strict=True)) for part in parts]


def job_of(folder: Path, source: Any, **options: Any) -> st.Window:
    options = {"checkpoint": folder / "state", "checkpoint_every": 3, "late": folder / "late.csv", **RULE, **options}
    return st.Window(source, graph=CPU, **options)


def edges_of(graph: su.Graph) -> dict[tuple[int, int], float]:
    src, dst, weight = graph.edges()
    return dict(zip(zip(src.tolist(), dst.tolist(), strict=True), weight.tolist(), strict=True))


def run(job: st.Window, folder: Path, most: int | None = None) -> list[tuple]:
    """Take slides, at most so many, and write to a file what they show."""
    degrees, often, out = job.track("wcc"), job.track("wcc", every=4), job.sink(folder / "out.csv")
    seen = []
    for w in job:
        if len(seen) == most:
            return seen
        slow = often.result.num_components if job.slides >= 4 else -1
        seen.append((w.end, w.events, w.left, w.taken, w.unmatched, w.late, degrees.result.num_components, slow,
                     edges_of(w.graph)))  # fmt: skip
        out.write({"edges": w.graph.num_edges, "often": slow})
        job._ring.check()
    out.close()
    return seen


def test_jobs_go_on_after_any_number_of_slides(tmp_path: Path) -> None:
    found = events(1)
    whole = run(job_of(tmp_path, chunks(found)), tmp_path)
    assert [(row[0], row[-1]) for row in whole] == [
        (each.end, each.edges) for each in model(found, size=40, slide=7, lateness=3, combine="sum")
    ]
    assert whole[-1][5] > 5  # late ones, and deletions that find nothing
    files = {name: (tmp_path / name).read_bytes() for name in ("out.csv", "late.csv")}
    for seed in range(6):
        rng, folder = random.Random(seed), tmp_path / str(seed)
        folder.mkdir()
        seen: dict[int, tuple] = {}
        for _ in range(200):
            job = job_of(folder, chunks(found))
            part = run(job, folder, rng.choice([0, 1, 2, 4, 9]))
            for row in part:
                assert seen.setdefault(row[0], row) == row
            if job.slides == len(whole) and len(seen) == len(whole) and not run(job_of(folder, chunks(found)), folder):
                break
        assert [*seen.values()] == whole
        assert {name: (folder / name).read_bytes() for name in files} == files
        assert len(list((folder / "state").glob("*.npz"))) == 2


def test_a_failure_at_each_write_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = events(2, 120)
    whole = run(job_of(tmp_path, chunks(found)), tmp_path)
    file = (tmp_path / "out.csv").read_bytes()
    failures = 0
    for name in ("fsync", "replace"):
        for at in range(40):
            folder, calls, real = tmp_path / f"{name}{at}", iter(range(1000)), getattr(os, name)
            folder.mkdir()

            def fails(*args: Any, at: int = at, calls: Any = calls, real: Any = real) -> Any:
                if next(calls) == at:
                    raise OSError(28, "No space left on device")
                return real(*args)

            with monkeypatch.context() as patch:
                patch.setattr(os, name, fails)
                try:
                    run(job_of(folder, chunks(found)), folder)
                    break  # there are fewer calls
                except OSError:
                    failures += 1
            run(job_of(folder, chunks(found)), folder)
            assert (folder / "out.csv").read_bytes() == file
    assert failures > 20
    assert len(whole) > 10


def test_damaged_checkpoints_are_passed_over(tmp_path: Path) -> None:
    found = events(3)
    whole = run(job_of(tmp_path, chunks(found)), tmp_path)
    for path in (tmp_path / "state").iterdir():
        path.unlink()
    run(job_of(tmp_path, chunks(found)), tmp_path, 10)
    newest = max((tmp_path / "state").glob("*.npz"))
    data = newest.read_bytes()
    for damaged in (data[: len(data) // 2], b"", data.replace(b"about", b"ab_ut")):
        newest.write_bytes(damaged)
        with pytest.warns(UserWarning, match="the one before is used"):
            job = job_of(tmp_path, chunks(found))
        assert job.slides < 10
    seen = run(job, tmp_path)
    assert seen == whole[-len(seen) :]
    for path in (tmp_path / "state").glob("*.npz"):
        path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="is whole"), pytest.warns(UserWarning, match="damaged"):
        job_of(tmp_path, chunks(found))


def test_checkpoints_of_other_jobs_are_refused(tmp_path: Path) -> None:
    found = events(4)
    run(job_of(tmp_path, chunks(found)), tmp_path, 5)
    for options in ({"size": "41"}, {"combine": "max"}, {"lateness": "4"}):
        with pytest.raises(ParameterError, match="window"):
            job_of(tmp_path, chunks(found), **options)
    with pytest.raises(ParameterError, match="source"):
        job_of(tmp_path, st.source(lambda _: iter(())))
    with pytest.raises(RequirementError, match="cannot go on"):
        job_of(tmp_path, iter(chunks(found)))
    with pytest.raises(ParameterError, match="is a file"):
        job_of(tmp_path, chunks(found), checkpoint=tmp_path / "out.csv")
    (tmp_path / "out.csv").write_text("")
    with pytest.raises(ParameterError, match="0 bytes"):
        run(job_of(tmp_path, chunks(found)), tmp_path)


def test_checkpoints_of_later_versions_are_refused(tmp_path: Path) -> None:
    job_folder = tmp_path / "state"
    run(job_of(tmp_path, chunks(events(4))), tmp_path, 5)
    newest = max(job_folder.glob("*.npz"))
    arrays = dict(np.load(newest))
    about = json.loads(bytes(arrays.pop("about")))
    text = json.dumps({**about, "version": 99}).encode()
    np.savez(newest, about=np.frombuffer(text, np.uint8), **arrays)
    with pytest.raises(FileFormatError, match="format version 99"):
        job_of(tmp_path, chunks(events(4)))


def test_what_the_end_of_a_source_has_closed_stays_closed(tmp_path: Path) -> None:
    """A source that has grown goes on behind its partial slide; what belongs before is late."""
    first = {"time": [1, 5, 12], "src": [0, 1, 2], "dst": [1, 2, 3], "weight": [1, 1, 1]}
    more = {"time": [13, 14, 30], "src": [0, 4, 5], "dst": [1, 5, 6], "weight": [1, 1, 1]}
    assert [row[0] for row in run(job_of(tmp_path, [first]), tmp_path)] == [7, 14]
    seen = run(job_of(tmp_path, [first, more]), tmp_path)
    assert [(row[0], row[1], row[5]) for row in seen] == [(21, 1, 1), (35, 1, 1)]


def test_sorted_sources_steps_and_merges_go_on(tmp_path: Path) -> None:
    found = sorted(events(5), key=lambda event: event.time)
    marked = [part for chunk in chunks(found) for part in (chunk, st.MARK)]
    cases = {
        "sorted": (chunks(events(5)), {"order": "time"}),
        "steps": (marked, {"size": 3, "slide": "step", "lateness": 0}),
        "merged": (st.merge(chunks(found[::2]), st.chain(chunks(found[1:99:2]), chunks(found[99::2]))), {}),
        "counts": (chunks(found), {"size": 50, "slide": 20, "lateness": 0}),
    }
    for name, (source, options) in cases.items():
        (tmp_path / name).mkdir()
        whole = run(job_of(tmp_path / name, source, checkpoint=None, **options), tmp_path / name)
        seen: dict[Any, tuple] = {}
        for _ in range(4):
            part = run(job_of(tmp_path / name, source, checkpoint_every=1, **options), tmp_path / name, 3)
            seen.update({row[0]: row for row in part})
        seen.update({row[0]: row for row in run(job_of(tmp_path / name, source, **options), tmp_path / name)})
        assert [*seen.values()] == whole, name


def test_names_and_their_ids_go_on(tmp_path: Path) -> None:
    """Texts, ids that were freed and given out again, deleted vertices, and names of events that wait."""
    rng = np.random.default_rng(5)
    near = np.arange(400) // 20  # names come and go
    src, dst = (np.char.add("n", (near + rng.integers(0, 6, 400)).astype(str)) for _ in range(2))
    source = [{"time": np.arange(at, at + 50) // 3, "src": src[at : at + 50], "dst": dst[at : at + 50]}
              for at in range(0, 400, 50)]  # fmt: skip
    options = {
        "size": "20",
        "slide": "4",
        "combine": "count",
        "lateness": "5",
        "names": True,
        "graph": {"device": "cpu"},
    }

    def slides(job: st.Window, most: int | None = None) -> list[tuple]:
        parts, seen = job.track("wcc"), []
        for w in job:
            if len(seen) == most:
                break
            names, graph = job.names, w.graph
            seen.append((w.end, dict(zip(names.ids.tolist(), names, strict=True)), edges_of(graph), graph.num_live,
                         parts.to_pandas().values.tolist(), names.version))  # fmt: skip
            names.check()
        return seen

    whole = slides(st.Window(source, **options))
    assert max(len(row[1]) for row in whole) < max(max(row[1]) for row in whole) + 2 < len(np.unique(src))
    seen = []
    for number in range(99):
        job = st.Window(source, checkpoint=tmp_path / "state", checkpoint_every=1, **options)
        assert job.slides == len(seen)
        seen += slides(job, number % 3)
        if len(seen) == len(whole):
            break
    assert seen == whole
    with pytest.raises(ParameterError, match="vertices"):
        st.Window(source, checkpoint=tmp_path / "state", **{**options, "names": None})


PROGRAM = """
    import sys
    import suricate.stream as st

    source = st.scan(sys.argv[1] + "/events.csv", time_unit="s")
    job = st.Window(source, size="400s", slide="10s", combine="count", checkpoint=sys.argv[1] + "/state",
                    checkpoint_every=2, graph={"device": "cpu"})
    parts, out = job.track("wcc"), job.sink(sys.argv[1] + "/out.jsonl")
    with job:
        for w in job:
            out.write({"edges": w.graph.num_edges, "parts": parts.result.num_components})
"""


@pytest.mark.slow
def test_killed_processes_go_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 50, (2, 20_000))
    rows = np.stack([src, dst, np.arange(20_000) // 2], 1)
    np.savetxt(tmp_path / "events.csv", rows, "%d", delimiter=",", header="src,dst,time", comments="")
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)]
    subprocess.run(command, check=True)
    whole = (tmp_path / "out.jsonl").read_bytes()
    assert whole.count(b"\n") == 1000
    for path in (tmp_path / "state").iterdir():
        path.unlink()
    kills = 0
    for _ in range(30):
        process = subprocess.Popen(command)
        begin = {path.name for path in (tmp_path / "state").iterdir()}
        while process.poll() is None and {path.name for path in (tmp_path / "state").iterdir()} == begin:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        if process.returncode == 0:
            break
    subprocess.run(command, check=True)
    assert kills > 2
    assert (tmp_path / "out.jsonl").read_bytes() == whole
