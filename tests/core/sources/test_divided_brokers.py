"""Partitions of a broker that several ranks read, over scripts in place of one, against a job on one process."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_broker import Script, Scripted, ScriptedLog, is_readable, script_of

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError
from suricate.parallel import Comm, run
from suricate.sources.broker import Partition

pytestmark = pytest.mark.plain


def job_over(source: Any, folder: Path, comm: Comm | None, **options: Any) -> st.Window:
    graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
    given = {"size": "12s", "slide": "4s", "lateness": "3s", "late": folder / "late.csv", "names": True}
    given |= {"checkpoint": folder / "state", "checkpoint_every": 1, "readers": "all", "combine": "sum"}
    return st.Window(source, graph=graph, **{**given, **options})


def follow(job: st.Window, folder: Path, most: int = 10**6) -> tuple[bool, int, int]:
    """Write what a job finds; return whether it came to its end, and how many events it read and skipped."""
    parts, out = job.track("wcc"), job.sink(folder / "out.csv")
    with job:
        for number, w in enumerate(job):
            if number == most:
                return False, 0, 0
            ids = w.graph.live_vertices.tolist()
            names = w.graph.names[ids].tolist()
            edges = sorted(zip(*(part.tolist() for part in w.graph.edges()), strict=True))
            out.write({"events": w.events, "late": w.late, "skipped": w.skipped, "parts": parts.result.num_components,
                       "names": " ".join(names), "edges": str(edges), "by": w.closed_by})  # fmt: skip
    return True, job.read, job.skipped


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


def scripts(seed: int, partitions: int, count: int) -> Script:
    script = [*script_of(seed, count), *script_of(seed + 1, count)][:partitions]
    if partitions > 2:
        script[2][-4:] = [each for each in script[1] if is_readable(each)][:4]  # too old: late
    return script


@pytest.mark.parametrize(("ranks", "partitions"), [(2, 3), (4, 2), (3, 6)])
def test_files_are_those_of_one_process_also_if_the_job_goes_on_with_other_ranks(
    ranks: int, partitions: int, tmp_path: Path
) -> None:
    script, whole = scripts(ranks, partitions, 40), tmp_path / "whole"
    whole.mkdir()
    expected = follow(job_over(Scripted(script, on_error=whole / "bad.csv"), whole, None), whole)
    assert expected[0]
    assert expected[2] > 0
    for turn, stops in enumerate(((99,), (2, 1, 3, 99))):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for number, most in enumerate(stops):

            def work(comm: Comm, most: int = most, folder: Path = folder) -> tuple[bool, int, int]:
                source = Scripted(script, random.Random().randrange(99), on_error=folder / "bad.csv")
                return follow(job_over(source, folder, comm), folder, most)

            size = 1 + (ranks - 1 + number) % 4
            found = run(work, size)
            assert found == found[:1] * size
        assert found[0] == expected
        assert files_of(folder) == files_of(whole)


class Clock:
    """Seconds that go on where a source has nothing, for all ranks, and how often they were asked."""

    def __init__(self, most: int) -> None:
        self.now, self.left = 0.0, most


class Fed(Scripted):
    """A live source whose partitions grow while they are read; a broker that is gone ends it."""

    def __init__(self, parts: Script, script: Script, clock: Clock, seed: int) -> None:
        super().__init__(script, seed, live=True)
        self.parts, self.clock, self.max_wait = parts, clock, 0.0

    def log(self, begin: Any, ends: Any) -> ScriptedLog:
        return FedLog(self, begin)


class FedLog(ScriptedLog):
    def poll(self, partitions: Sequence[Partition], full: set[int], seconds: float) -> Iterable[tuple[Partition, Any]]:
        source: Any = self.source
        source.clock.left -= 1
        if source.clock.left < 0:
            raise RequirementError("the broker is gone")
        for part in partitions:
            here, whole = source.script[part.number], source.parts[part.number]
            if source.rng.random() < 0.2 and len(here) < len(whole):
                here += whole[len(here) :][: source.rng.randrange(1, 6)]
            elif source.rng.random() < 0.5:
                source.clock.now += source.rng.choice((0.1, 1.0))
        return super().poll(partitions, full, seconds)


@pytest.mark.parametrize(("seed", "ranks", "others"), [(0, 2, 3), (1, 3, 1), (2, 2, 1)])
def test_slides_that_the_clock_closed_are_repeated_by_other_ranks(
    seed: int, ranks: int, others: int, tmp_path: Path
) -> None:
    """The run that ends has one checkpoint, from before its first event, and notes of what the clock did."""
    parts = [[each for each in part if is_readable(each)] for part in script_of(seed, 30)]
    script: Script = [[] for _ in parts]

    def slides_of(comm: Comm, clock: Clock, source: Any, most: int) -> int:
        job = job_over(source, tmp_path, comm, idle="2s", checkpoint_every="1h")
        job.silence.clock = lambda: clock.now
        out = job.sink(tmp_path / "out.csv")
        with job, contextlib.suppress(RequirementError):
            for _, w in zip(range(most), job, strict=False):
                edges = sorted(zip(*(w.graph.names[ends].tolist() for ends in w.graph.edges()[:2]), strict=True))
                out.write({"events": w.events, "late": w.late, "by": w.closed_by, "edges": str(edges)})
        return job.slides

    clock = Clock(400)
    counts = run(lambda comm: slides_of(comm, clock, Fed(parts, script, clock, 10 * seed + comm.rank), 10**6), ranks)
    assert counts == counts[:1] * ranks
    assert counts[0] > 5
    whole = files_of(tmp_path)
    assert b",idle," in whole["out.csv"]
    again = run(lambda comm: slides_of(comm, Clock(0), Scripted(script, 7 + comm.rank, live=True), counts[0]), others)
    assert again == counts[:1] * others
    found = files_of(tmp_path)
    assert found["out.csv"] == whole["out.csv"]
    assert whole.get("late.csv", b"").startswith(found.get("late.csv", b""))  # it ends with the last slide


def test_messages_that_cannot_be_read_raise_on_all_ranks_behind_the_events_before_them(tmp_path: Path) -> None:
    event = b'{"time": %d, "src": "a", "dst": "b", "weight": 1}'
    script: Script = [[event % at for at in (1, 9, 30)], [event % 2, None], [event % at for at in (3, 5, 8, 40)]]

    def ends(comm: Comm | None, readers: str) -> list[Any]:
        job, found = job_over(Scripted(script), tmp_path, comm, readers=readers, checkpoint=None, lateness=0), []
        with pytest.raises(ParameterError, match=r"script 's', partition 1, offset 1: .*: None; on_error='skip'"):
            found.extend((w.end, w.events) for w in job)
        return [*found, job.read]

    assert run(lambda comm: ends(comm, "all"), 3) == [ends(None, "first")] * 3
    script[1][1] = event % 50
    script[0][1:1] = [b'{"time": 7, "src": "a", "dst": "b"}']

    def misfit(comm: Comm | None, readers: str) -> list[Any]:
        job, found = job_over(Scripted(script), tmp_path, comm, readers=readers, checkpoint=None, lateness=0), []
        with pytest.raises(ParameterError, match="partition 0, offset 1: it has no weight, the first event had one"):
            found.extend((w.end, w.events) for w in job)
        return [*found, job.read]

    expected = misfit(None, "first")
    assert expected[0][1] == 3
    assert run(lambda comm: misfit(comm, "all"), 2) == [expected] * 2


def test_partitions_that_ranks_see_differently_are_an_error(tmp_path: Path) -> None:
    event = [b'{"time": 1, "src": "a", "dst": "b"}']

    def refused(comm: Comm) -> None:
        job = job_over(Scripted([event] * (2 + comm.rank)), tmp_path, comm, checkpoint=None)
        with pytest.raises(RequirementError, match="script 's' has other partitions for some ranks"):
            next(job)

    run(refused, 2)


def test_topics_inside_a_merge_are_refused_with_idle(tmp_path: Path) -> None:
    source = st.merge(Scripted([[]]), st.source({"time": [1], "src": [0], "dst": [1]}, time_unit="s"))

    def refused(comm: Comm | None) -> None:
        with pytest.raises(RequirementError, match=r"readers='all' with idle=: .* give all to one st.merge"):
            job_over(source, tmp_path, comm, idle="2s", checkpoint=None)

    refused(None)
    run(refused, 2)
