"""Events one by one: rows of every form, joined to chunks by a thread, and asynchronous sources and loops."""

from __future__ import annotations

import asyncio
import datetime
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from patience import PATIENCE

import suricate.stream as st
from suricate.errors import ParameterError, RequirementError, WeightError

GRAPH = {"device": "cpu"}
COLUMNS = ("time", "src", "dst", "weight")


class Payment(NamedTuple):
    amount: int
    payee: int
    payer: int
    ts: int


def events(number: int = 300) -> list[tuple[int, int, int, int]]:
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 20, (2, number)).tolist()
    return [*zip(range(number), *ends, rng.integers(1, 9, number).tolist(), strict=True)]


def facts(w: st.Slide) -> tuple[Any, ...]:
    return w.end, w.events, sorted(zip(*(part.tolist() for part in w.graph.edges()), strict=True))


def slides(source: Any) -> list[tuple[Any, ...]]:
    return [facts(w) for w in st.Window(source, size="40", slide="10", combine="sum", graph=GRAPH)]


@pytest.fixture(scope="module")
def whole() -> list[tuple[Any, ...]]:
    return slides(dict(zip(COLUMNS, map(list, zip(*events(), strict=True)), strict=True)))


def forms() -> dict[str, list[Any]]:
    dicts = [dict(zip(COLUMNS, each, strict=True)) for each in events()]
    return {
        "tuples": events(),
        "dicts": dicts,
        "lists": [dicts[at : at + 7] for at in range(0, 300, 7)],
        "lists of tuples": [events()[at : at + 7] for at in range(0, 300, 7)],
        "mixed": [*dicts[:100], {name: [each[name] for each in dicts[100:200]] for name in COLUMNS}, *dicts[200:]],
        "kinds": [each | ({"kind": "insert"} if each["time"] % 3 else {}) for each in dicts],
    }


@pytest.mark.parametrize("form", forms())
@pytest.mark.parametrize("max_rows", [1, 10, None])
def test_rows_give_the_slides_of_columns(form: str, max_rows: int | None, whole: list[Any]) -> None:
    items = forms()[form]
    for x in (items, iter(items), lambda position: zip(range(10**6), items, strict=False)):
        assert slides(st.source(x, max_rows=max_rows)) == whole


def test_rows_say_where_values_are(whole: list[Any]) -> None:
    named = [Payment(weight, dst, src, time) for time, src, dst, weight in events()]
    by_name = {"time": "ts", "src": "payer", "dst": "payee", "weight": "amount"}
    assert slides(st.source(iter(named), columns=by_name)) == whole
    plain = [tuple(each) for each in named]
    assert slides(st.source(plain, columns={"time": 3, "src": 2, "dst": 1, "weight": 0})) == whole
    other = [{"time": time, "source": src, "target": dst, "weight": weight} for time, src, dst, weight in events()]
    assert slides(iter(other)) == whole
    pairs = [(src, dst) for _, src, dst, _ in events()]
    (w,) = st.Window(iter(pairs), slide=300, graph=GRAPH)
    assert w.events == 300
    dates = [(datetime.datetime(2026, 1, 1 + day), 0, day) for day in range(3)]
    assert [w.events for w in st.Window(iter(dates), slide="1d", graph=GRAPH)] == [1, 1, 1]


def test_bad_rows_are_refused() -> None:
    rows = [(1, 0, 1, 5), (2, 1, 2, 2.5)]
    for cut in (1, 2):
        with pytest.raises(WeightError, match="whole numbers so far"):
            slides(st.source(iter(rows), max_rows=cut))
    with pytest.raises(ParameterError, match="a row has 3 values, the first one has 4"):
        slides(iter([(1, 0, 1, 5), (2, 1, 2)]))
    with pytest.raises(ParameterError, match="a row is"):
        slides(iter([(1,)]))
    with pytest.raises(ParameterError, match="no column 'src'"):
        slides(iter([{"time": 1, "dst": 2}]))
    lacking = st.source(iter([{"time": 1, "src": 0, "dst": 2}, {"time": 2, "src": 1}]), on_error="skip")
    job = st.Window(lacking, slide="10", graph=GRAPH)
    assert [w.events for w in job] == [1]
    assert job.skipped == 1
    for wrong in ({"max_rows": 0}, {"max_wait": "soon"}, {"max_wait": -1}):
        with pytest.raises(ParameterError, match="max_"):
            st.source(iter([]), **wrong)
    with pytest.raises(ParameterError, match="not for files"):
        st.source("a.csv", max_rows=3)


def test_a_silent_stream_of_rows_stops_and_a_slow_loop_holds_it_back() -> None:
    read, go_on = [], threading.Event()

    def endless() -> Iterator[tuple[int, int, int]]:
        for at in range(100):
            read.append(at)
            yield at, 0, 1
        assert go_on.wait(PATIENCE)

    job = st.Window(st.source(endless(), max_rows=10), slide="1", graph=GRAPH)
    first = next(job)
    assert first.end == 1
    assert len(read) <= 10 + 10 + 10  # in the queue, in the chunk, and that it is at
    job = st.Window(st.source(endless(), max_rows=10), slide="1", graph=GRAPH)
    with job:
        job.start()
        assert job.query(lambda w: w.end).result(PATIENCE) >= 1
        job.stop(PATIENCE)  # though the source gives nothing any more
    go_on.set()


def test_what_a_row_source_raises_comes_behind_its_rows(whole: list[Any]) -> None:
    def broken() -> Iterator[Any]:
        yield from events()[:100]
        raise OSError("the line is down")

    job, seen = st.Window(broken(), size="40", slide="10", combine="sum", graph=GRAPH), []
    with pytest.raises(OSError, match="the line is down"):
        seen.extend(facts(w) for w in job)
    assert seen == whole[: len(seen)]


async def slow(items: Any) -> AsyncIterator[Any]:
    for number, each in enumerate(items):
        if number % 50 == 0:
            await asyncio.sleep(0)
        yield each


@pytest.mark.parametrize("form", ["tuples", "lists", "mixed"])
def test_asynchronous_sources_give_the_same_slides(form: str, whole: list[Any]) -> None:
    assert slides(slow(forms()[form])) == whole
    assert slides(lambda position: slow(zip(range(10**6), forms()[form], strict=False))) == whole


def test_an_asynchronous_loop_leaves_the_event_loop_free(whole: list[Any]) -> None:
    async def main() -> list[Any]:
        asked = asyncio.Event()

        async def source() -> AsyncIterator[Any]:
            for each in events():
                yield each

        async def other() -> str:
            asked.set()
            return "done meanwhile"

        found, job = [], st.Window(source(), size="40", slide="10", combine="sum", graph=GRAPH)
        task = asyncio.create_task(other())
        async for w in job:
            found.append(facts(w))
            await asked.wait()
        assert await task == "done meanwhile"
        return found

    assert asyncio.run(main()) == whole


def test_cancelling_stops_the_job_with_a_checkpoint(tmp_path: Path, whole: list[Any]) -> None:
    def source(position: int | None) -> Iterator[Any]:
        for at in range(position or 0, len(events()) if position else 200):
            yield at + 1, events()[at]
        while not position:
            yield 200, []

    def job() -> st.Window:
        return st.Window(
            st.source(source), size="40", slide="10", combine="sum", graph=GRAPH, checkpoint=tmp_path,
            checkpoint_every="1h",
        )  # fmt: skip

    async def main() -> list[Any]:
        found, waits = [], asyncio.Event()

        async def loop() -> None:
            async for w in job():
                found.append(facts(w))
                if w.end == 190:
                    waits.set()

        task = asyncio.create_task(loop())
        await waits.wait()
        await asyncio.sleep(0)  # the loop asks for the slide that does not come
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return found

    found = asyncio.run(main())
    again = job()
    assert again.slides == len(found)
    assert found + [facts(w) for w in again] == whole


def test_rows_with_positions_are_resumed_where_they_were(tmp_path: Path, whole: list[Any]) -> None:
    def source(position: int | None) -> Iterator[Any]:
        for at in range(position or 0, 300, 3):
            yield at + 3, events()[at : at + 3]

    found: list[Any] = []
    for most in (4, 9, 99):
        job = st.Window(
            st.source(source, max_rows=5), size="40", slide="10", combine="sum", graph=GRAPH, checkpoint=tmp_path,
            checkpoint_every=1,
        )  # fmt: skip
        for w in job:
            if job.slides > most:
                break
            found.append(facts(w))
    assert found == whole


def test_two_loops_cannot_take_slides() -> None:
    async def main() -> None:
        job = st.Window(iter(events()), size="40", slide="10", graph=GRAPH)
        job.start().result(PATIENCE)
        with pytest.raises(RequirementError, match="has begun"):
            job.start()
        assert [w async for w in job] == []

    asyncio.run(main())


def test_a_row_costs_little() -> None:
    """A chunk of one row takes 176 us of host time; here rows are joined. The least of three runs, with room."""
    rows = events(20_000)

    def seconds() -> float:
        begin = time.perf_counter()
        assert sum(w.events for w in st.Window(iter(rows), slide="5000", graph=GRAPH)) == 20_000
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(3)) < 20_000 * 100e-6
