"""``st.Window(events=...)``: ``w.log`` has the events of the rule, by vertex, and lasts until the next slide."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from test_windows import EVENTS, chunks_of
from window_model import model

import suricate as su
import suricate.stream as st
from suricate.base.devices import resolve_device
from suricate.errors import ParameterError, RequirementError, UnknownNameError
from suricate.stream.window_log import followed
from suricate.testing import measure

SIZE = 30


def messages(count: int = 400, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, SIZE, (2, count))
    return {"time": np.sort(rng.integers(0, 200, count)), "src": src, "dst": dst}


def events_of(log: su.Events, names: Any = None) -> list[tuple[int, ...]]:
    """The live events of a log by number: number, time, and ends, by name if there are names."""
    numbers = np.arange(log.first, log.next)
    alive = log._record.alive
    if alive is not None:
        numbers = numbers[log.device.to_numpy(alive[numbers & (log._record.capacity - 1)]) != 0]
    time, src, dst = (log.device.to_numpy(log.at(name, numbers)).tolist() for name in ("time", "src", "dst"))
    if names is not None:
        src, dst = (names[np.array(ends, np.uint32)].tolist() for ends in (src, dst))
    return list(zip(numbers.tolist(), time, src, dst, strict=True))


RULES = {
    "events": EVENTS, "cuts": hs.lists(hs.integers(0, 40), max_size=5), "slide": hs.integers(1, 7),
    "size": hs.one_of(hs.none(), hs.integers(1, 17)), "lateness": hs.integers(0, 12), "directed": hs.booleans(),
    "named": hs.booleans(),
}  # fmt: skip


@pytest.mark.parametrize("over", ["in", "out", "both"])
def test_the_log_has_the_events_of_the_rule(device, over) -> None:
    @settings(max_examples=20)
    @given(hs.fixed_dictionaries(RULES))
    def run(drawn: dict[str, Any]) -> None:
        check_rule(device, over, **drawn)

    run()


def check_rule(device, over, *, events, cuts, size, slide, lateness, directed, named) -> None:
    slide = slide if size is None else min(slide, size)
    expected = model(events, size=size, slide=slide, lateness=lateness, directed=directed)
    job = st.Window(
        chunks_of(events, cuts), size=None if size is None else str(size), slide=str(slide), lateness=str(lateness),
        names=named or None, events=over, graph={"device": device, "directed": directed},
    )  # fmt: skip
    seen: dict[int, tuple[int, ...]] = {}
    slides = [*zip(job_logs(job), expected, strict=True)]
    assert len(slides) == len(expected)
    for (end, over_of_log, found), each in slides:
        assert end == each.end
        assert over_of_log == (over if directed else "both")
        ends = [ends if directed else tuple(sorted(ends)) for *_, ends in found]
        assert ends == [pair if directed else tuple(sorted(pair)) for pair in each.live]
        assert [time for _, time, _ in found] == sorted(time for _, time, _ in found)
        for number, time, _ in found:
            assert seen.setdefault(number, (time,)) == (time,)


def job_logs(job: st.Window) -> Any:
    for w in job:
        w.log.check()
        assert w.log.closed == w.end
        listed = events_of(w.log, w.log.names)
        yield w.end, w.log.over, [(number, time, (int(u), int(v))) for number, time, u, v in listed]


def test_a_log_is_over_with_its_slide_and_a_copy_lasts(device) -> None:
    job = st.Window(messages(), size="50", slide="10", events="in", graph={"device": device})
    first = [next(job) for _ in range(3)][-1]
    log, kept = first.log, copy.copy(first.log)
    held = events_of(kept)
    assert held == events_of(log)
    sample = log.sample(range(SIZE), [3, 2])
    second = next(job)
    for asked in (lambda: len(log), lambda: log.sample([1]), lambda: log.at("time", [0]), lambda: copy.copy(log)):
        with pytest.raises(RequirementError, match="is over"):
            asked()
    with pytest.raises(RequirementError, match="is over"):
        _ = first.log
    assert len(sample.event) == len(sample.time) > 0
    kept.check()
    assert events_of(kept) == held
    assert kept.append([10**6], [0], [1]) == range(kept.next - 1, kept.next)
    assert len(second.log) == len(events_of(second.log))
    for change in (
        lambda: second.log.append([10**6], [0], [1]), lambda: second.log.expire(5), lambda: second.log.remove([0]),
        lambda: second.log.close_before(10**6),
    ):  # fmt: skip
        with pytest.raises(RequirementError, match="only the window's slides"):
            change()


def test_a_pickle_and_a_file_are_ordinary_logs(tmp_path) -> None:
    job = st.Window({**messages(), "kind": np.resize([1, 1, 1, -1], 400)}, size="50", slide="10", events="both",
                    graph={"device": "cpu"})  # fmt: skip
    log = [w.log for w in job][-1]
    log.save(tmp_path / "log.npz")
    for made in (pickle.loads(pickle.dumps(log)), su.Events.load(tmp_path / "log.npz", device="cpu")):
        assert type(made) is su.Events
        made.check()
        assert events_of(made) == events_of(log)


def test_weights_and_attributes_are_columns_of_the_log(device) -> None:
    data = messages()
    fee, kind = data["time"] * 0.5, np.array([f"kind {n % 3}" for n in range(400)], object)
    job = st.Window(
        {**data, "weight": np.arange(400.0), "fee": fee, "sort": kind}, size="50", slide="10", events="in",
        attributes={"fee": "sum", "sort": "last"}, graph={"device": device},
    )  # fmt: skip
    for w in job:
        numbers = np.arange(w.log.first, w.log.next)
        assert set(w.log.columns) == {"weight", "fee", "sort"}
        for log in (w.log, copy.copy(w.log)):
            assert device.to_numpy(log.at("weight", numbers)).tolist() == numbers.tolist()
            assert device.to_numpy(log.at("fee", numbers)).tolist() == fee[numbers].tolist()
            assert log.at("sort", numbers).tolist() == kind[numbers].tolist()


def test_operators_walk_the_events_of_a_slide(device) -> None:
    data = messages()
    views = []
    for w in st.Window(data, size="50", slide="10", events="in", graph={"device": device, "num_vertices": SIZE}):
        views.append(w.log.between(w.start, w.end))
        found = su.neighbor_reduce(views[-1], None, newest_event, over="in", reduce="max", args=("time",))
        newest = device.to_numpy(found)
        here = (data["time"] >= w.end - 50) & (data["time"] < w.end)
        wanted = np.full(SIZE, -1)
        np.maximum.at(wanted, data["dst"][here], data["time"][here])
        assert newest[wanted >= 0].tolist() == wanted[wanted >= 0].tolist()
    with pytest.raises(RequirementError, match="is over"):
        su.neighbor_reduce(views[0], None, newest_event, over="in", reduce="max", args=("time",))


def newest_event(u, v, event, time):
    return time[event]


def test_weights_that_decay_are_no_column(device) -> None:
    data = {**messages(), "weight": np.arange(400.0)}
    data["time"] = data["time"] * 10**9
    job = st.Window(
        st.source(data, time_unit="ns"), size="50s", slide="10s", combine="decay", half_life="20s", events="in",
        graph={"device": device},
    )  # fmt: skip
    for w in job:
        assert w.log.columns == ()
        with pytest.raises(UnknownNameError, match="weight"):
            w.log.at("weight", [w.log.first])


@pytest.mark.parametrize("kinds", [False, True])
@pytest.mark.parametrize("names", [False, True])
def test_a_resumed_job_has_the_same_log(device, tmp_path, names, kinds) -> None:
    data = messages()
    if kinds:
        data["kind"] = np.resize([1, 1, -1, 1, 0], 400)

    def job(**options: Any) -> st.Window:
        return st.Window(
            data, size="50", slide="10", events="out", names=names or None, graph={"device": device}, **options
        )

    whole = [(w.end, events_of(w.log), w.log.sample(roots_of(w.log), [3, 3]).event.tolist()) for w in job()]
    found = []
    for _ in range(3):
        with job(checkpoint=tmp_path, checkpoint_every=1) as part:
            for w, _ in zip(part, range(6), strict=False):
                w.log.check()
                found.append((w.end, events_of(w.log), w.log.sample(roots_of(w.log), [3, 3]).event.tolist()))
                if len(found) % 6 == 0:
                    break
    by_end = {end: rest for end, *rest in found}
    assert set(by_end) <= {end for end, *_ in whole}
    assert len(by_end) > 12
    assert all(by_end[end] == rest for end, *rest in whole if end in by_end)


def roots_of(log: su.Events) -> np.ndarray:
    ids = np.arange(log.num_vertices)
    return ids if log.names is None else ids[log.names.has(ids)]


def test_answers_to_queries_are_those_made_at_the_slide() -> None:
    data = messages(4000)
    offline = {}
    for w in st.Window(data, size="50", slide="5", events="in", graph={"device": "cpu", "num_vertices": SIZE}):
        offline[w.end] = w.log.sample(range(SIZE), [4, 4]).event.tolist()

    chunks = [{name: part[at : at + 50] for name, part in data.items()} for at in range(0, 4000, 50)]
    asked = []
    with st.Window(chunks, size="50", slide="5", events="in", graph={"device": "cpu", "num_vertices": SIZE}) as job:
        job.start()
        while not job._has_ended and len(asked) < 200:
            asked.append(job.query(lambda w: (w.end, w.log.sample(range(SIZE), [4, 4]).event.tolist())))
            asked[-1].result()
        job.wait()
    answers = [each.result() for each in asked]
    assert len(answers) > 0
    assert all(offline[end] == events for end, events in answers)


def test_what_a_window_cannot_show() -> None:
    job = st.Window(messages(), size="50", slide="10", graph={"device": "cpu"})
    with pytest.raises(RequirementError, match="events='in'"):
        _ = next(job).log
    with pytest.raises(ParameterError, match="events"):
        st.Window(messages(), size="50", slide="10", events="all")

    def divided(comm: Any) -> None:
        with pytest.raises(RequirementError, match="several processes"):
            st.Window(messages(), size="50", slide="10", events="in", graph={"device": "cpu", "comm": comm})

    su.parallel.run(divided, ranks=2)


def test_a_slide_waits_for_a_thread_that_reads_the_log(device) -> None:
    job = st.Window(messages(), size="50", slide="10", events="in", graph={"device": device})
    log = next(job).log
    slide = threading.Thread(target=next, args=(job,))
    with log._lock:
        slide.start()
        slide.join(0.2)
        assert slide.is_alive()
        assert len(log) > 0
    slide.join()
    with pytest.raises(RequirementError, match="is over"):
        len(log)


def test_a_copy_goes_on_by_itself_as_a_log(device) -> None:
    """Names count events there, and pairs in a window; columns of which nothing is given have missing values."""
    data = {**messages(), "weight": np.ones(400), "count": np.arange(400), "sort": np.resize(["x", "y"], 400)}
    job = st.Window(
        {**data, "kind": np.resize([1, 1, 1, -1], 400)}, size="50", slide="10", events="both", names=True,
        attributes={"count": "last", "sort": "last"}, graph={"device": device},
    )  # fmt: skip
    for w, _ in zip(job, range(12), strict=False):
        log = copy.copy(w.log)
    assert log.names is not None
    live = {end for *_, u, v in events_of(log, log.names) for end in (u, v)}
    assert {int(name) for name in log.names} == {int(end) for end in live}
    log.append([10**6], [0], [1])
    added = [log.next - 1]
    assert np.isnan(float(log.at("weight", added)[0]))
    assert (int(log.at("count", added)[0]), log.at("sort", added)[0]) == (0, "")
    for before in (*range(w.end - 50, w.end, 7), 10**6, 10**6 + 1):
        log.expire(before)
        log.check()
    assert len(log) == len(log.names) == 0
    assert len(job.names) > 0


@pytest.mark.gpu
@pytest.mark.parametrize("timed", [False, True])
def test_slides_with_events_wait_and_launch_no_more_than_without(timed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that only the device knows get rows; times of positions are made there, others copied by threads."""
    monkeypatch.setattr(followed, "LARGE", 1)
    xp, rng, lengths = resolve_device("cuda").xp, np.random.default_rng(4), ("120", "40") if timed else (120, 40)
    drawn = [rng.integers(0, 12 * (at + 1), (2, 40)).astype(np.uint32) for at in range(9)]
    chunks = [dict(zip(("src", "dst"), map(xp.asarray, ends), strict=True)) for ends in drawn]
    for at, chunk in enumerate(chunks) if timed else ():
        chunk["time"] = np.arange(40 * at, 40 * at + 40)
    given: dict[str, Any] = {"size": lengths[0], "slide": lengths[1], "graph": {"device": "cuda"}}
    jobs = [st.Window(chunks, **given, **options) for options in ({"events": "in"}, {})]
    for slide in range(8):
        costs = [measure(lambda: next(job), resolve_device("cuda")) for job in jobs]  # noqa: B023
        if slide > 3:
            costs[0].waits.pop("Event.synchronize", None)  # until a buffer of the copies is free, as it is
            assert costs[0].waits == costs[1].waits
            assert costs[0].launches <= costs[1].launches
        if slide in (4, 7):  # merges those of several slides
            log = jobs[0].current.log  # type: ignore[union-attr]
            log.check()
            ends = np.concatenate(drawn[slide - 2 : slide + 1], axis=1).T.tolist()
            numbers = range(40 * (slide - 2), 40 * (slide + 1))
            assert events_of(log) == [(at, at, *pair) for at, pair in zip(numbers, ends, strict=True)]
