"""Jobs that end anywhere go on as if they had not: slides, graphs, counters and files are those of one run."""

from __future__ import annotations

import datetime
import json
import os
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ring_check import check_ring
from window_model import Event, model
from window_of import window_of

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
        check_ring(job.contents.ring)
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


@pytest.mark.slow
def test_a_failure_at_each_write_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = events(2, 120)
    whole = run(job_of(tmp_path, chunks(found)), tmp_path)
    file = (tmp_path / "out.csv").read_bytes()
    failures = 0
    for module, name in ((os, "fsync"), (os, "replace"), (os, "unlink"), (np, "savez")):
        for at in range(40):
            folder, calls, real = tmp_path / f"{name}{at}", iter(range(1000)), getattr(module, name)
            folder.mkdir()

            def fails(*args: Any, at: int = at, calls: Any = calls, real: Any = real, **options: Any) -> Any:
                if next(calls) == at:
                    if hasattr(args[0], "write"):
                        args[0].write(b"PK half of it")
                    raise OSError(28, "No space left on device")
                return real(*args, **options)

            with monkeypatch.context() as patch:
                patch.setattr(module, name, fails)
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
    saved = int(newest.stem)
    assert run(job, tmp_path, 0) == []
    files = {path.name for path in (tmp_path / "state").iterdir()}
    assert files == {
        "owner",
        f"{saved - 1:08}.npz",
        f"{saved + 1:08}.npz",
    }  # the one that was used, not the damaged one
    seen = run(job_of(tmp_path, chunks(found)), tmp_path)
    assert seen == whole[-len(seen) :]
    for path in (tmp_path / "state").glob("*.npz"):
        path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="is whole"), pytest.warns(UserWarning, match="damaged"):
        job_of(tmp_path, chunks(found))


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    rng = random.Random(1)
    source = [{"time": [at, at], "src": ["a", f"n{at}"], "dst": [f"n{at + 1}", "b"]} for at in range(40)]

    def job() -> st.Window:
        return st.Window(source, size="8", slide="2", names=True, graph={"device": "cpu"}, checkpoint=tmp_path,
                         checkpoint_every=1)  # fmt: skip

    for w in job():
        if w.end == 20:
            break
    slides, newest = job().slides, max(tmp_path.glob("*.npz"))
    data = newest.read_bytes()
    warned = 0
    for _ in range(200):
        at = rng.randrange(len(data))
        newest.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            other = job()
        found = [each for each in found if issubclass(each.category, UserWarning)]  # not those of other tests' files
        assert other.slides == slides - bool(found)  # without a warning it is no part of the content
        warned += bool(found)
        assert len(other.names) > 2
    assert warned > 100


def test_windows_of_many_pairs_go_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    source = [{name: rng.integers(0, 300, 4000) for name in ("src", "dst", "weight")} for _ in range(6)]
    for combine in ("sum", "count", "last"):

        def slides(folder: Path | None, most: int, combine: str = combine) -> list[tuple]:
            job = st.Window(source, size=9000, slide=3000, combine=combine, checkpoint=folder, checkpoint_every=1,
                            graph={"device": "cpu", "weight_dtype": "float64"})  # fmt: skip
            return [(w.end, edges_of(w.graph)) for w, _ in zip(job, range(most), strict=False)]

        whole = slides(None, 99)
        assert len(whole[-1][1]) > 8000
        assert [row for _ in range(8) for row in slides(tmp_path / combine, 2)] == whole


def test_equal_options_in_other_words_go_on(tmp_path: Path) -> None:
    first = {"size": "2min", "slide": "1min", "lateness": "90s"}
    other = {"size": datetime.timedelta(minutes=2), "slide": "60s", "lateness": np.timedelta64(90, "s")}
    graph = {"device": "cpu", "weight_dtype": "float32"}
    source = [{"time": [at, at + 50], "src": [0, 1], "dst": [1, 2], "weight": [1, 2]} for at in range(0, 900, 30)]
    job = st.Window(st.source(source, time_unit="s"), checkpoint=tmp_path, graph=graph, **first)
    assert len(list(job)) > 9
    graph = {**graph, "directed": True, "weight_dtype": np.float32, "num_vertices": 2}
    again = st.Window(st.source(source, time_unit="s"), checkpoint=tmp_path, graph=graph, **other)
    assert list(again) == []
    assert edges_of(again.graph) == edges_of(job.graph)
    assert again.graph.num_live == job.graph.num_live
    assert [*again.history] == [*job.history]
    assert again.past.events == 60
    for options in ({"time_unit": "ms"}, {"empty": "emit"}, {"names": True}, {"origin": "1s"}, {"ahead": "1d"}):
        with pytest.raises(ParameterError, match=f"{'vertices' if 'names' in options else next(iter(options))} was"):
            window_of(source, **{"time_unit": "s", "checkpoint": tmp_path, "graph": graph, **first, **options})


def test_files_that_the_checkpoint_does_not_know_stay(tmp_path: Path) -> None:
    found = events(6)
    run(job_of(tmp_path, chunks(found)), tmp_path, 6)
    for name in ("mine.csv", "late2.csv"):
        (tmp_path / name).write_text("precious\n" * 99)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part-000000.parquet").write_text("precious")
    job = job_of(tmp_path, chunks(found), late=tmp_path / "late2.csv")
    for name in ("mine.csv", "parts"):
        with pytest.raises(ParameterError, match="no sink of the job"):
            job.sink(tmp_path / name)
    new = job.sink(tmp_path / "new.csv")
    for w in job:
        new.write({"events": w.events})
    assert (tmp_path / "mine.csv").read_text() == "precious\n" * 99
    assert (tmp_path / "late2.csv").read_text().startswith("precious\n" * 99)
    assert (tmp_path / "new.csv").stat().st_size > 9
    job_of(tmp_path, chunks(found), late=tmp_path / "late2.csv").sink(tmp_path / "new.csv")  # now it is known


def test_pipes_take_late_events(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    for _ in range(2):
        next(job_of(tmp_path, chunks(events(1)), late=f"/dev/fd/{writing}"))
    os.close(reading)
    os.close(writing)


def test_results_of_other_parameters_are_not_taken_over(tmp_path: Path) -> None:
    def job(source: int) -> tuple[st.Window, Any]:
        made = job_of(tmp_path, chunks(events(1)), checkpoint_every=1)
        return made, made.track("bfs", source=source, every=3)

    first, tracker = job(0)
    for _ in range(5):
        next(first)
    second, same = job(0)
    next(second)
    assert same.result.level.tolist() == tracker.result.level.tolist()
    second, other = job(1)
    next(second)
    with pytest.raises(RequirementError, match="before slide 3"):
        assert other.result


def test_of_two_jobs_over_one_folder_the_later_one_goes_on(tmp_path: Path) -> None:
    seen: list[list[Any]] = [[], []]

    def job(number: int) -> st.Window:
        made = job_of(tmp_path, chunks(events(1)), checkpoint_every=1)
        sink = made.sink(lambda end, columns: seen[number].append((end, columns["edges"].tolist())))
        for w in made:
            sink.write({"edges": w.graph.num_edges})
            if made.slides == 5 + 5 * number:
                break
        return made

    first = job(0)
    job(1)
    for _ in range(2):
        with pytest.raises(RequirementError, match="another job has gone on"):
            next(first)
    assert seen[0][4] == seen[1][0]  # a slide that is not done comes again
    assert len(seen[1]) == 6


def test_the_earlier_of_two_jobs_writes_nothing_once_the_later_one_has_cut_its_files(tmp_path: Path) -> None:
    def made() -> tuple[st.Window, Any]:
        job = job_of(tmp_path, chunks(events(1)), checkpoint_every=4)
        return job, job.sink(tmp_path / "out.csv")

    first, out = made()
    with pytest.raises(RequirementError, match="another job has gone on"):  # noqa: PT012 - in the loop, at the row
        for w in first:
            if first.slides == 7:
                second, other = made()
            out.write({"edges": w.graph.num_edges})
    with pytest.raises(RequirementError, match="another job has gone on"):
        next(first)
    for w in second:
        other.write({"edges": w.graph.num_edges})
    ends = [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert len(ends) == len(set(ends)) == second.slides > 7


def test_kept_results_of_named_sources_go_on(tmp_path: Path) -> None:
    source = [{"time": [at, at], "src": [f"n{at // 4}", "a"], "dst": [f"n{at // 4 + 1}", f"n{at // 4}"]}
              for at in range(80)]  # fmt: skip

    def slides(folder: Path | None, most: int) -> list[tuple]:
        job = st.Window(source, size="10", slide="3", names=True, checkpoint=folder, checkpoint_every=1,
                        graph={"device": "cpu"})  # fmt: skip
        reached, seen = job.track("bfs", source="a", every=3), []
        for w in job:
            if len(seen) == most:
                break
            seen.append((w.end, reached.result.level.tolist() if job.slides >= 3 else None))
        return seen

    whole = slides(None, 99)
    assert [row for _ in range(20) for row in slides(tmp_path, 2)] == whole


@pytest.mark.gpu
def test_jobs_on_cuda_go_on_and_may_change_to_the_cpu(tmp_path: Path) -> None:
    parts = chunks(events(7))

    def slides(folder: str, device: str, most: int) -> list[tuple]:
        job = st.Window(parts, size="40", slide="7", lateness="3", combine="sum", names=True, checkpoint_every=1,
                        checkpoint=tmp_path / folder, graph={**CPU, "device": device})  # fmt: skip
        parts_now, often, seen = job.track("wcc"), job.track("bfs", source=3, every=3), []
        for w in job:
            if len(seen) == most:
                break
            level = job.graph.device.to_numpy(often.result.level).tolist() if job.slides >= 3 else []
            seen.append((w.end, w.late, job.names.ids.tolist(), w.graph.num_live,
                         int(parts_now.result.num_components), level))  # fmt: skip
        return seen

    whole = slides("one", "cpu", 99)
    seen = [row for device in ("cuda", "cuda", "cpu", "cuda") for row in slides("two", device, 7)]
    assert len(seen) == 28
    assert seen == whole[:28]


def test_checkpoints_of_other_jobs_are_refused(tmp_path: Path) -> None:
    found = events(4)
    run(job_of(tmp_path, chunks(found)), tmp_path, 5)
    for options in ({"size": "41"}, {"combine": "max"}, {"lateness": "4"}):
        with pytest.raises(ParameterError, match="it is of another job"):
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


def test_checkpoints_of_other_versions_are_refused(tmp_path: Path) -> None:
    job_folder = tmp_path / "state"
    run(job_of(tmp_path, chunks(events(4))), tmp_path, 5)
    newest = max(job_folder.glob("*.npz"))
    arrays = dict(np.load(newest))
    about = json.loads(bytes(arrays.pop("about")))
    for version, reason in ((99, "use another folder$"), (2, "use another folder$")):
        text = json.dumps({**about, "version": version}).encode()
        np.savez(newest, about=np.frombuffer(text, np.uint8), **arrays)
        with pytest.raises(FileFormatError, match=f"format version {version}, this suricate .*{reason}"):
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
        "sorted": (st.source(chunks(events(5)), order="time"), {}),
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
