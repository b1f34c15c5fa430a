"""Slides that the wall clock closes while a source is silent, against a plain model; and that a resumed job repeats."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import suricate.stream as st
from suricate.errors import ParameterError

pytestmark = [pytest.mark.plain, pytest.mark.filterwarnings("ignore:.* events read so far are late")]
GRAPH = {"device": "cpu", "weight_dtype": None}
NO_ROWS: dict[str, Any] = {"src": [], "dst": []}
SIZE, SLIDE, LATENESS, IDLE = 12, 4, 3, 2
Script = list[Any]  # of events (time, src, dst), and of numbers: so many seconds without one


class Live:
    """A source that follows a script with a clock of its own; a position is a number of events."""

    def __init__(self, script: Script) -> None:
        self.script, self.now, self.reached = script, 0.0, 0

    def read(self, position: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield at once what had come before, then one event or second after the other."""
        events = [each for each in self.script[: self.reached] if not isinstance(each, int)]
        known = events[position or 0 :]
        if known:
            yield len(events), dict(zip(("time", "src", "dst"), zip(*known, strict=True), strict=True))
        done = len(events)
        while self.reached and isinstance(self.script[self.reached - 1], int):
            self.reached -= 1  # the silence in which the job ended begins again
        for at in range(self.reached, len(self.script)):
            self.reached, each = at + 1, self.script[at]
            if isinstance(each, int):
                for _ in range(each):
                    self.now += 1
                    yield done, NO_ROWS
            else:
                done += 1
                yield done, dict(zip(("time", "src", "dst"), ([value] for value in each), strict=True))

    @property
    def read_so_far(self) -> int:
        return sum(not isinstance(each, int) for each in self.script[: self.reached])

    def job(self, **options: Any) -> st.Window:
        """Return a job over the script, whose clock is that of the script."""
        source = st.source(self.read, time_unit="s")
        seconds = {"size": f"{SIZE}s", "slide": f"{SLIDE}s", "lateness": f"{LATENESS}s", "idle": f"{IDLE}s"}
        job = st.Window(source, **{"graph": GRAPH, "names": True} | seconds | options)
        job.silence.clock = lambda: self.now
        return job


def facts(w: st.Slide, names: Any) -> tuple[Any, ...]:
    src, dst = w.graph.edges()[:2]
    edges = sorted(zip(names[src].tolist(), names[dst].tolist(), strict=True))
    return int(w.end.astype("M8[s]").astype(int)), w.closed_by, w.events, w.late, edges


def model(script: Script) -> list[tuple[Any, ...]]:
    """Every slide by the words of the rule, event by event and second by second; nothing is shared with the library."""
    taken: list[tuple[int, int, int]] = []
    found: list[tuple[Any, ...]] = []
    late, last, mark = 0, None, -(10**9)

    def close(limit: int, by: str) -> None:
        nonlocal last
        end = SLIDE * (min(time for time, _, _ in taken) // SLIDE + 1) if last is None else last + SLIDE
        while end <= limit:
            entered = [each for each in taken if (last is None or each[0] >= last) and each[0] < end]
            left = last is not None and any(last - SIZE <= each[0] < end - SIZE for each in taken if each[0] < last)
            if entered or left:
                edges = sorted({each[1:] for each in taken if end - SIZE <= each[0] < end})
                found.append((end, by, len(entered), late, edges))
                last = end
            elif by == "events":
                last = end  # for what comes late; nothing is handed out
            end += SLIDE

    for each in script:
        if isinstance(each, int):
            for seconds in range(IDLE, each + 1):
                if taken:
                    newest = max(time for time, _, _ in taken)
                    close((newest - LATENESS + seconds) // SLIDE * SLIDE, "idle")
                    mark = max(mark, last if last is not None else mark)
        elif last is not None and each[0] < last:
            late += 1
        else:
            taken.append(each)
            mark = max(mark, each[0] - LATENESS)
            close(mark, "events")
    if taken:
        close(max(time for time, _, _ in taken) // SLIDE * SLIDE + SLIDE, "end")
    return found


def random_script(seed: int, *, events: int = 30) -> Script:
    rng, time = random.Random(seed), 100
    script: Script = []
    for _ in range(events):
        if rng.random() < 0.3:
            script.append(seconds := rng.randint(1, 25))
            time += seconds - rng.randint(0, 3)
        time += rng.randint(0, 3)
        script.append((time - rng.randint(0, 5), rng.randint(0, 4), rng.randint(5, 9)))
    return script


def test_the_clock_closes_slides_from_the_newest_event_on() -> None:
    live = Live([(101, 1, 2), 6, (110, 2, 3), 1, (111, 3, 4), 40])
    job = live.job()
    moments = [(*facts(w, job.names)[:3], live.now) for w in job]
    # 101 waits until 104 + lateness, 6 s after it; it is silent for 1 s only behind 110
    assert moments[0] == (104, "idle", 1, 6.0)
    assert moments[1] == (112, "idle", 2, 7.0 + 4)  # 111 and 4 seconds are 112 + 3
    assert moments[2] == (116, "idle", 0, 7.0 + 8)  # 101 leaves
    assert moments[3] == (124, "idle", 0, 7.0 + 16)  # the others do
    assert job.current.closed_by == "idle"
    assert len(moments) == 4
    assert live.job(idle=None).__next__().closed_by == "events"


def test_an_event_behind_a_close_is_late() -> None:
    job = (live := Live([(101, 1, 2), 9, (103, 1, 3), (104, 1, 4), (113, 1, 5)])).job(late="drop")
    ends = [facts(w, job.names)[:4] for w in job]
    assert ends == [(104, "idle", 1, 0), (108, "events", 1, 1), (116, "end", 1, 1)]
    read_again = [each for each in live.script if not isinstance(each, int)]
    job = Live(read_again).job()
    assert next(facts(w, job.names)[2:4] for w in job) == (2, 0)  # a file has no silence, and nothing is late


def whole(script: Script, folder: Path | None, most: int = 10**6, live: Live | None = None, **options: Any) -> Live:
    live = live or Live(script)
    job = live.job(**({} if folder is None else {"checkpoint": folder / "state"}), **options)
    out = job.sink(str((folder or Path()) / "out.csv")) if folder else None
    with job:
        for w in job:
            if out is not None:
                _, by, *counts, edges = facts(w, job.names)
                out.write({"by": by, "events": counts[0], "late": counts[1], "edges": str(edges)})
            most -= 1
            if most < 0:
                break
    return live


@pytest.mark.parametrize("seed", range(12))
def test_slides_are_those_of_the_model(seed: int) -> None:
    script = random_script(seed)
    job = Live(script).job()
    assert [facts(w, job.names) for w in job] == model(script)


@pytest.mark.parametrize("every", [1, 3])
def test_a_resumed_job_closes_at_the_same_events(tmp_path: Path, every: int) -> None:
    script = random_script(100 + every, events=16)
    whole(script, tmp_path, checkpoint_every=every)
    expected = (tmp_path / "out.csv").read_bytes()
    assert b"idle" in expected
    number = len(expected.splitlines()) - 1
    for at in range(number):
        folder = tmp_path / str(at)
        folder.mkdir()
        live = whole(script, folder, at, checkpoint_every=every)  # the slide counts as not done
        whole(script, folder, (number - at) // 2, live, checkpoint_every=every)  # and once more
        whole(script, folder, live=live, checkpoint_every=every)
        assert (folder / "out.csv").read_bytes() == expected, at


def test_closes_are_on_the_disk_before_their_slide(tmp_path: Path) -> None:
    live = Live([(101, 1, 2), 6, (110, 2, 3), (111, 2, 3), 40])
    job = live.job(checkpoint=tmp_path, checkpoint_every="1h")
    for _ in range(2):
        next(job)
        (path,) = tmp_path.glob("*.idle")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[-1] == [live.read_so_far, int(job.current.end.astype("M8[ns]").astype(int)), live.read_so_far]
    assert [line[0] for line in lines] == [1, 3]
    with open(path, "a") as file:
        file.write("[3, 99")  # a line that a crash has cut was not handed out
    assert [*live.job(checkpoint=tmp_path).silence.closes] == lines


def merged(first: Live, second: Live, **options: Any) -> st.Window:
    source = st.merge(*(st.source(each.read, time_unit="s") for each in (first, second)))
    seconds = {"size": f"{SIZE}s", "slide": f"{SLIDE}s", "lateness": f"{LATENESS}s"}
    job = st.Window(source, graph=GRAPH, names=True, **seconds | options)
    job.silence.clock = lambda: first.now + second.now
    return job


def test_a_merge_waits_for_a_silent_source_until_it_is_idle() -> None:
    busy = [(time, 0, time % 7) for time in range(100, 140)]
    quiet = [(100, 1, 2), 30, (104, 1, 3), (139, 1, 4), 5]
    waits = merged(Live(busy), Live(quiet))
    together = sorted([*busy, *(each for each in quiet if not isinstance(each, int))])
    assert [facts(w, waits.names) for w in waits] == model(together)
    job = merged(Live(busy), Live(quiet), idle=f"{IDLE}s")
    found = [facts(w, job.names) for w in job]
    assert found[0][:4] == (104, "events", 5, 0)
    assert (job.late, job.read) == (
        2,
        len(together),
    )  # the other source was at its end, and the clock has closed its slides
    assert sum(each[2] for each in found) == len(together) - 2
    assert [each[1] for each in found[-5:]] == ["events"] + ["idle"] * 4


@pytest.mark.parametrize("seed", range(6))
def test_a_resumed_job_merges_in_the_same_order(tmp_path: Path, seed: int) -> None:
    """From the first checkpoint, all that was read comes at once; the slides handed out before come again."""
    scripts = random_script(200 + seed, events=14), random_script(300 + seed, events=14)
    for most in (1, 3, 6):
        lives, folder = [Live(script) for script in scripts], tmp_path / str(most)
        options = {"idle": f"{IDLE}s", "checkpoint": folder, "checkpoint_every": 10**6}
        job, found = merged(*lives, **options), []
        for w in job:
            found.append(facts(w, job.names))
            if len(found) > most:
                break
        again = merged(*lives, **options)
        repeated = [facts(w, again.names) for w, _ in zip(again, found, strict=False)]
        assert repeated == found, most
        assert again.slides >= min(len(found), most)


@pytest.mark.parametrize("idle", [0.05, 0.7, 3.0])
def test_an_alert_for_the_last_event_comes_when_the_clock_has_reached_it(idle: float) -> None:
    """Within the longer one of ``idle``, and the rest of its slide with ``lateness``, and two polls of 20 ms."""
    for last in (10.01, 10.5, 10.99):
        now, arrived, fired = [9.0], [0.0], list[float]()

        def read(position: int | None, last: float = last, now: Any = now, arrived: Any = arrived) -> Iterator[Any]:
            for number, time in enumerate((9.0, 9.4, last)):
                while now[0] < time:
                    now[0] += 0.02
                    yield number, NO_ROWS
                arrived[0] = now[0]
                yield number + 1, {"time": [time], "src": ["a"], "dst": [f"b{number}"]}
            while now[0] < 20:
                now[0] += 0.02
                yield 3, NO_ROWS

        source = st.source(read, time_unit="s")
        job = st.Window(source, size="10s", slide="1s", lateness="300ms", idle=f"{idle * 1000:.0f}ms", graph=GRAPH,
                        names=True)  # fmt: skip
        job.silence.clock = lambda now=now: now[0]  # type: ignore[misc]
        busy = job.alert(job.track("degree"), above=2)
        for _ in job:
            fired += [now[0]] * len(busy.fired)
        (moment,) = fired
        assert moment - arrived[0] <= max(idle, 11 - last + 0.3) + 0.05


def test_bad_input_is_refused() -> None:
    events = {"time": [1, 2], "src": [0, 1], "dst": [1, 2]}
    for wrong in ("0s", "fast", -1, 3):
        with pytest.raises(ParameterError, match="idle"):
            st.Window(events, size="3s", slide="1s", idle=wrong)
    with pytest.raises(ParameterError, match="idle is for windows of time"):
        st.Window(events, size=2, slide=1, idle="2s")
    with pytest.raises(ParameterError, match="idle: times have no unit"):
        next(st.Window(events, size="3", slide="1", idle="2s", graph=GRAPH))


@pytest.mark.gpu
def test_the_clock_closes_slides_on_cuda() -> None:
    script = [(101, 1, 2), 6, (110, 2, 3), (113, 3, 4), 40]
    job = Live(script).job(names=None, graph=GRAPH | {"device": "cuda"})
    found = [(int(w.end.astype("M8[s]").astype(int)), w.closed_by, w.events, w.graph.num_edges) for w in job]
    assert found == [(end, by, events, len(edges)) for end, by, events, _, edges in model(script)]
