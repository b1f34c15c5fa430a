"""Jobs in threads: questions between slides and while the source waits, exceptions, ends by calls and by signals."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from scipy import sparse
from scipy.sparse import csgraph

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError

CPU = {"device": "cpu"}


def chunks(number: int = 40, size: int = 25) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [{"src": rng.integers(0, 30, size), "dst": rng.integers(0, 30, size)} for _ in range(number)]


def job_of(source: Any, **options: Any) -> st.Window:
    return st.Window(source, size=100, slide=20, graph=CPU, **options)


def facts(w: st.Slide) -> tuple:
    return w.end, w.graph.num_edges, sorted(zip(*(part.tolist() for part in w.graph.edges()[:2]), strict=True))


@cache
def whole() -> list[tuple]:
    """What is known after each slide; computed when a test runs, not when it is collected."""
    return [facts(w) for w in job_of(chunks())]


def test_questions_meet_whole_slides() -> None:
    seen: list[tuple] = []
    parts, answered, enough = chunks(), count(1), threading.Event()

    def source() -> Iterator[dict[str, np.ndarray]]:
        yield from parts[:20]
        assert enough.wait(PATIENCE)  # however fast the slides are, questions meet some of them
        yield from parts[20:]

    job = job_of(source())
    components = job.track("wcc")
    with job, ThreadPoolExecutor(4) as pool:
        done = job.start(lambda w: seen.append(facts(w)))

        def ask(number: int) -> list[tuple]:
            found = []
            for _ in range(50):
                found.append(job.query(lambda w: (*facts(w), components.result.num_components)).result(PATIENCE))
                if next(answered) == 12:
                    enough.set()
            return found

        answers = [row for part in pool.map(ask, range(4)) for row in part]
        assert done.result(PATIENCE) is None
    assert seen == whole()
    assert len(answers) >= 12
    counts: dict[int, int] = {}
    for *row, number in answers:
        assert tuple(row) in whole()
        assert counts.setdefault(row[0], number) == number
    assert job.query(facts).result(0) == whole()[-1]  # that of the last slide
    assert job.query(lambda w: job.query(facts)).result(0).result(0) == whole()[-1]


def test_questions_are_answered_while_the_source_waits() -> None:
    more, parts = threading.Event(), chunks()

    def source() -> Iterator[dict[str, np.ndarray]]:
        yield from parts[:8]
        assert more.wait(PATIENCE)
        yield from parts[8:]

    with job_of(source()) as job:
        done = job.start()
        early = job.query(lambda w: w.end)  # waits for the first slide
        assert early.result(PATIENCE) in range(20, 201, 20)
        deadline = time.monotonic() + PATIENCE
        while job.query(lambda w: w.end).result(PATIENCE) < 200:
            assert time.monotonic() < deadline
        assert job.query(facts).result(PATIENCE) == whole()[9]
        with pytest.raises(ZeroDivisionError):
            job.query(lambda w: 1 // 0).result(PATIENCE)
        more.set()
        assert done.result(PATIENCE) is None
        assert facts(job.current) == whole()[-1]


def test_what_a_callback_raises_ends_the_loop(tmp_path: Path) -> None:
    ends: list[int] = []

    def callback(w: st.Slide) -> None:
        ends.append(w.end)
        if w.end == 300:
            raise LookupError("mine")

    job = job_of(chunks(), checkpoint=tmp_path, checkpoint_every=1)
    with job:
        done = job.start(callback)
        with pytest.raises(LookupError, match="mine"):
            done.result(PATIENCE)
        with pytest.raises(LookupError, match="mine"):
            job.stop()
    again = job_of(chunks(), checkpoint=tmp_path)
    rest = [facts(w) for w in again]
    assert rest == whole()[14:]  # the slide that was not done comes again
    assert ends == [row[0] for row in whole()[:15]]


def test_a_merge_with_a_silent_source_stops_and_answers() -> None:
    """The second source gives chunks without rows, as a poll that timed out; the first one gives events."""

    def silent(_: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        while not job._stop.is_set():
            yield 0, {"time": [], "src": [], "dst": []}

    first = {"time": np.arange(100), "src": np.arange(100) % 7, "dst": np.arange(100) % 5}
    job = st.Window(st.merge(st.source(silent), first), size="9", slide="3", graph=CPU)
    with job:
        job.start()
        assert not job.stop(PATIENCE)
    seen = []
    parts = [{"time": [], "src": [], "dst": []}, {"time": [7, 8], "src": [1, 2], "dst": [3, 4]}, {"src": [], "dst": []}]
    for both in (parts, first), (first, parts), (parts, parts):
        merged = st.merge(*both)
        chunks = [(position, chunk) for position, chunk in merged.read() if len(chunk["src"])]
        times = [time for _, chunk in chunks for time in np.asarray(chunk["time"]).tolist()]
        assert times == sorted(times)
        for position, _ in chunks:
            rest = [time for _, chunk in merged.read(position) for time in np.asarray(chunk.get("time", ())).tolist()]
            seen.append(rest)
            assert rest == times[len(times) - len(rest) :]
    assert min(map(len, seen)) == 0
    (w,) = st.Window(st.source(st.merge(first, parts), order="time"), slide="200", graph=CPU)
    assert w.events == 102


def test_to_leave_the_block_raises_what_nobody_has_seen() -> None:
    def wrong(_: st.Slide) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"), job_of(chunks()) as job:
        job.start(wrong)
    with job_of(chunks()) as job:
        assert isinstance(job.start(wrong).exception(PATIENCE), LookupError)
    with pytest.raises(ZeroDivisionError), job_of(chunks()) as job:  # what the block itself raises goes first
        print(job.start(wrong), 1 // 0)


def test_slides_are_taken_by_one_thread() -> None:
    inside, asked = threading.Event(), threading.Event()

    def source() -> Iterator[dict[str, np.ndarray]]:
        inside.set()
        assert asked.wait(PATIENCE)
        yield from chunks()

    def refused(job: Any) -> None:
        assert inside.wait(PATIENCE)
        try:
            with pytest.raises(RequirementError, match="another thread"):
                next(job)
        finally:
            asked.set()

    with job_of(source()) as job:  # while the loop waits for its source
        done = job.start()
        refused(job)
        done.result(PATIENCE)
    assert facts(job.current) == whole()[-1]

    for event in inside, asked:
        event.clear()
    job, seen = job_of(source()), []
    other = threading.Thread(target=lambda: seen.extend(facts(w) for w in job))
    other.start()
    refused(job)
    other.join(PATIENCE)
    assert seen == whole()


def test_what_the_source_raises_reaches_the_caller() -> None:
    def source() -> Iterator[dict[str, np.ndarray]]:
        yield from chunks()[:3]
        raise OSError("the line is down")

    job = job_of(source())
    with pytest.raises(RequirementError, match="wait: start the job first"):
        job.wait()
    job.start()
    for _ in range(2):
        with pytest.raises(OSError, match="the line is down"):
            job.wait(PATIENCE)
    assert job.query(facts).result(0) == whole()[2]  # what was done before the error


def test_stops_keep_a_checkpoint(tmp_path: Path) -> None:
    def many() -> list[Any]:
        job = job_of(chunks(), checkpoint=tmp_path, checkpoint_every="1h")
        seen: list[tuple] = []

        def callback(w: st.Slide) -> None:
            seen.append(facts(w))
            if len(seen) == 7:
                job.stop()  # in a callback it does not wait

        with job:
            job.start(callback).result(PATIENCE)
        return seen

    assert [row for _ in range(6) for row in many()] == whole()[:42]

    endless, reached = iter(lambda: chunks(1)[0], None), threading.Event()
    job = job_of(endless)
    job.start(lambda w: reached.set())
    assert reached.wait(PATIENCE)
    left = job.query(lambda w: job.stop() or "asked to stop")
    assert left.result(PATIENCE) == "asked to stop"
    job.stop(PATIENCE)
    with job_of(iter(lambda: chunks(1)[0], None)) as other:  # to leave the block stops, too
        done = other.start()
    assert done.done()


def test_questions_of_jobs_without_slides() -> None:
    with job_of([]) as job:
        held = threading.Event()
        with pytest.raises(RequirementError, match="start the job first"):
            job.query(facts)
        job = job_of(iter(lambda: held.wait(PATIENCE) and None, None))
        done = job.start()
        answer = job.query(facts)
        held.set()
        done.result(PATIENCE)
        with pytest.raises(RequirementError, match="ended before"):
            answer.result(PATIENCE)
        with pytest.raises(RequirementError, match="ended before"):
            job.query(facts)


def test_misuse_is_an_error() -> None:
    job = job_of(chunks())
    for wrong in (3, "fn"):
        with pytest.raises(ParameterError, match="start: callback"):
            job.start(wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="query takes"):
            job.query(wrong)  # type: ignore[arg-type]
    next(job)
    with pytest.raises(RequirementError, match="has begun"):
        job.start()
    job = job_of(chunks())
    job.start().result(PATIENCE)
    with pytest.raises(RequirementError, match="has begun"):
        job.start()


@pytest.mark.gpu
def test_questions_on_cuda_meet_whole_slides() -> None:
    parts, answered = chunks(), threading.Event()

    def source() -> Iterator[dict[str, np.ndarray]]:
        yield from parts[:20]
        assert answered.wait(PATIENCE)
        yield from parts[20:]

    job = st.Window(source(), size=100, slide=20, graph={"device": "cuda"})
    components = job.track("wcc")

    def shown(w: st.Slide) -> tuple:
        src, dst = (w.graph.device.to_numpy(part).tolist() for part in w.graph.edges()[:2])
        label = w.graph.device.to_numpy(components.result.label)
        matrix = sparse.coo_array((np.ones(len(src)), (src, dst)), shape=(len(label), len(label)))
        right = csgraph.connected_components(matrix, connection="weak")[0]
        assert len(np.unique(label)) == right == int(components.result.num_components)
        return w.end, w.graph.num_edges, sorted(zip(src, dst, strict=True))

    answers = []
    with job:
        done = job.start()
        while not done.done():
            answers.append(job.query(shown).result(PATIENCE))
            answered.set()
        done.result(PATIENCE)
    assert answers
    assert set(map(repr, answers)) <= set(map(repr, whole()))


SCRIPT = """
import sys, time
import numpy as np
import suricate.stream as st

def source(position):
    for at in range(position or 0, 10_000):  # minutes, unless it is ended
        if at > 30:
            time.sleep(0.02)
            print("waiting", flush=True)
        yield at + 1, {"src": [at % 9, at % 7], "dst": [at % 5, at % 4]}

job = st.Window(st.source(source), size=20, slide=4, graph={"device": "cpu"}, checkpoint=sys.argv[1],
                checkpoint_every="1h")
with job:
    job.start(lambda w: print("slide", w.end, w.graph.num_edges, flush=True)).result()
print("stopped by", job.stopped, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_thread_with_a_checkpoint(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        lines = []
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line.strip())
            if line.startswith("waiting") and lines.count("waiting") == 3:
                child.send_signal(number)
        assert child.wait(PATIENCE) == 0
    assert lines[-1] == f"stopped by {number.name}"
    last = max(int(line.split()[1]) for line in lines if line.startswith("slide"))
    job = st.Window(st.source(lambda position: iter([])), size=20, slide=4, graph=CPU, checkpoint=tmp_path)
    assert job.slides == last // 4


def test_a_pipe_gives_what_was_written_and_a_silent_one_stops(tmp_path: Path) -> None:
    """Each row closes the slide of the one before, though nothing follows it; then nobody writes."""
    os.mkfifo(tmp_path / "pipe")
    seen = queue.Queue[int]()

    def write() -> None:
        with open(tmp_path / "pipe", "w") as file:
            file.write("time,src,dst\n0,0,1\n")
            for at in range(1, 6):
                file.write(f"{at},0,1\n")
                file.flush()
                if at > 1:  # the first two rows say how they are read
                    assert seen.get(timeout=PATIENCE) == at
            job.stop(PATIENCE)

    job = st.Window(st.scan(tmp_path / "pipe", time="time", src="src", dst="dst"), size="2s", slide="1s", graph=CPU)
    with job:
        writer = threading.Thread(target=write)
        writer.start()
        job.start(lambda w: seen.put(int(w.end.astype("M8[s]").astype(int))) if w.end > np.datetime64(1, "s") else None)
        writer.join(PATIENCE)
        assert not writer.is_alive()
        assert job.query(lambda w: w.end).result(0) == np.datetime64(5, "s")
        job.wait(PATIENCE)


def test_a_job_whose_source_takes_long_stops_where_a_thread_reads_ahead() -> None:
    silent = threading.Event()

    def source() -> Iterator[dict[str, np.ndarray]]:
        yield from chunks()[:8]
        assert silent.wait(PATIENCE)

    with job_of(st.source(source(), prefetch=1)) as job:
        job.start()
        assert job.query(lambda w: w.end).result(PATIENCE) > 0
        job.stop(PATIENCE)
        silent.set()
