"""A log against a model of plain lists, through all changes, copies and files; names, columns, and what is refused."""

from __future__ import annotations

import copy
import pickle
import signal
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_log import NUMBERS, OVER, expected_rows, rows_of, starting_at

import suricate as su
from suricate import errors
from suricate.base.files import replacing
from suricate.events import index_cpu, snapshot
from suricate.events.record import MOST, Record

N = 6
BEFORE = st.integers(-3, 12)
VERTEX = st.integers(0, N - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.tuples(st.integers(0, 4), VERTEX, VERTEX))),
        st.tuples(st.just("expire"), BEFORE),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 1 << 20), max_size=4)),
        st.tuples(st.sampled_from(["copy", "pickle", "file", "vertices"]), st.none()),
    ),
    max_size=25,
)  # fmt: skip


class Model:
    """Events (number, time, source, destination, fee) in a list."""

    def __init__(self, first: int) -> None:
        self.events: list[tuple[int, int, int, int, float]] = []
        self.next, self.newest = first, 0

    def append(self, events: list[tuple[int, int, int]]) -> tuple[list[int], list[int], list[int], list[float]]:
        now = [(self.newest + wait, u, v) for wait, u, v in events]
        fees = [float(place) for place in range(len(now))]
        for (time, u, v), fee in sorted(zip(now, fees, strict=True), key=lambda one: one[0][0]):
            self.events.append((self.next, time, u, v, fee))
            self.next, self.newest = self.next + 1, time
        return ([one[k] for one in now] for k in range(3)), fees  # type: ignore[return-value]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("over", OVER)
@settings(max_examples=60, deadline=None)
@given(steps=STEPS, first=st.sampled_from(NUMBERS))
def test_a_log_is_what_a_list_is(
    over: str, device: str, steps: list, first: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log, model, n = starting_at(first, N, over=over, device=device, columns={"fee": "float64"}), Model(first), N
    for step, given_ in steps:
        if step == "append":
            (time, u, v), fees = model.append(given_)
            assert log.append(time, u, v, {"fee": fees}) == range(model.next - len(u), model.next)
        elif step == "expire":
            before = model.newest - given_
            left = [event for event in model.events if event[1] >= before]
            assert log.expire(before) == len(model.events) - len(left)
            model.events = left
        elif step == "remove" and model.events:
            chosen = {model.events[place % len(model.events)][0] for place in given_}
            log.remove([*chosen, *chosen])
            model.events = [event for event in model.events if event[0] not in chosen]
        elif step == "copy":
            log = copy.copy(log)
        elif step == "pickle":
            log = pickle.loads(pickle.dumps(log))
        elif step == "file":
            path = tmp_path_factory.mktemp("logs") / "log"
            log.save(path)
            log = su.Events.load(path, device=device)
        elif step == "vertices":
            assert log.insert_vertices().tolist() == [n]
            n += 1
        log.check()
        assert rows_of(log) == expected_rows([event[:4] for event in model.events], over, n)
        numbers = [event[0] for event in model.events]
        assert (len(log), log.num_vertices, log.next) == (len(numbers), n, model.next)
        assert (log.first, log.oldest) == ((numbers[0], model.events[0][1]) if numbers else (log.next, None))
        for name, place in (("time", 1), ("src", 2), ("dst", 3), ("fee", 4)):
            assert log.at(name, numbers).tolist() == [event[place] for event in model.events]


def test_copies_are_independent() -> None:
    log = su.Events(3, device="cpu", names=["a", "b", "c"])
    log.append([1, 2], ["a", "b"], ["b", "c"])
    other = copy.deepcopy(log)
    log.append([3], ["d"], ["a"])
    other.expire(2)
    assert (len(log), len(other), "d" in log.names, "d" in other.names, "a" in other.names) == (
        3,
        1,
        True,
        False,
        False,
    )
    assert "a" in log.names
    log.check()
    other.check()


def test_undirected_events_are_in_both_rows() -> None:
    log = su.Events(3, device="cpu", directed=False)
    log.append([1, 2], [0, 1], [1, 1])
    assert log.over == "both"
    assert rows_of(log) == [[(1, 0)], [(0, 0), (1, 1)], []]


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_name_is_its_vertex_as_long_as_an_event_is_at_it() -> None:
    log = su.Events(device="cpu", names=True)
    log.append([1, 2, 3], ["a", "b", "b"], ["b", "b", "c"])
    assert log.num_vertices == 3
    assert log.names.find(["a", "b", "c"]).tolist() == [0, 1, 2]
    log.expire(2)
    assert "a" not in log.names
    assert log.names.counts([1, 2]).tolist() == [3, 1]
    with pytest.raises(errors.VertexRangeError, match="no name"):
        log.append([3], [0], [1])
    assert log.append([3], ["new"], ["c"]) == range(3, 4)
    assert log.names.find("new") == 0
    assert log.num_vertices == 3
    log.append([4], [0], [1])  # ids that have a name
    log.remove([1, 2])
    assert log.names.counts([0, 1, 2]).tolist() == [2, 1, 1]
    log.check()


def test_names_that_are_kept() -> None:
    log = su.Events(device="cpu", names=su.Names(keep=True))
    log.append([1], ["a"], ["b"])
    log.expire(2)
    assert log.names.find("a") == 0
    log.append([3], ["c"], [("b")])
    assert log.names.find("c") == 2


def test_a_refused_batch_leaves_no_names() -> None:
    log = su.Events(device="cpu", names=True, memory_limit="10kB")
    log.append([5], ["a"], ["b"])
    for time, error in (([4], errors.LateEventError), ([5, 6], errors.ShapeError), ([5.5], errors.DTypeError)):
        with pytest.raises(error):
            log.append(time, ["x"], ["y"])
    with pytest.raises(errors.ParameterError, match="both be names"):
        log.append([6], ["x"], [1])
    with pytest.raises(errors.CapacityError, match="memory_limit"):
        log.append([6] * 999, ["x"] * 999, ["y"] * 999)
    assert "x" not in log.names
    assert log.num_vertices == 2
    log.check()


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "rule"),
    [
        (([1.0], [0], [1]), errors.DTypeError, "times are integers"),
        ((np.array(["2026"], "datetime64[s]"), [0], [1]), errors.DTypeError, "astype"),
        (([1], [0.5], [1]), errors.DTypeError, "integers are needed"),
        (([1], ["a"], ["b"]), errors.DTypeError, "texts"),
        (([1, 2], [0], [1]), errors.ShapeError, "time has 2 entries for 1 events"),
        (([1], [0], [1, 2]), errors.ShapeError, "one of each"),
        (([[1]], [0], [1]), errors.ShapeError, "one-dimensional"),
        (([1], [0], [3]), errors.VertexRangeError, "ids are 0 to 2"),
        (([1], [-1], [1]), errors.VertexRangeError, "-1"),
        (([1 << 63], [0], [1]), errors.ParameterError, "2\\^63"),
        (([9, 0], [0, 1], [1, 1]), errors.LateEventError, "time 0, before 1, that of the newest event"),
        (([1], [0], [1], {"fee": [1.0]}), errors.UnknownNameError, "no column 'fee'"),
        (([1], [0], [1], [2.0]), errors.ParameterError, "columns must be a dict"),
        (([1], [0], [1], {"note": [1]}), errors.DTypeError, "note"),
        (([1], [0], [1], {"note": ["a", "b"]}), errors.ShapeError, "note"),
    ],
)  # fmt: skip
def test_bad_events_append_nothing(given: tuple[Any, ...], error: type[Exception], rule: str) -> None:
    log = su.Events(3, device="cpu", columns={"note": str})
    plain = su.Events(3, device="cpu")
    for one in (log, plain):
        one.append([1], [0], [1])
    for one in (log, plain) if len(given) == 3 else (log,):
        with pytest.raises(error, match=rule):
            one.append(*given)
        assert (len(one), one.next, one.newest, one.num_vertices) == (1, 1, 1, 3)
        one.check()


def test_what_was_closed_is_late() -> None:
    log = su.Events(2, device="cpu")
    assert log.closed is log.newest is log.oldest is None
    log.close_before(5)
    assert log.closed == 5
    with pytest.raises(errors.LateEventError, match="4, before 5, which close_before"):
        log.append([4], [0], [1])
    log.append([5, 7], [0, 0], [1, 1])
    log.close_before(6)
    assert (log.closed, log.newest, log.oldest) == (7, 7, 5)
    with pytest.raises(errors.ParameterError):
        log.close_before(1.5)
    with pytest.raises(errors.ParameterError):
        log.expire("now")


def test_only_live_events_are_read_and_removed() -> None:
    log = su.Events(2, device="cpu")
    log.append([1, 2, 3, 4], [0] * 4, [1] * 4)
    log.expire(2)
    log.remove([2])
    for numbers in ([0], [2], [4], [-1], [1, 9]):
        for call in (log.remove, lambda numbers: log.at("time", numbers)):
            with pytest.raises(errors.ParameterError, match="live events are 1 to 3"):
                call(numbers)
    with pytest.raises(errors.UnknownNameError, match="it has: time, src, dst"):
        log.at("alive", [1])
    with pytest.raises(errors.DTypeError):
        log.remove([1.5])
    log.remove([1])
    assert (log.first, len(log)) == (3, 1)
    log.check()


def test_bad_options() -> None:
    for options, error in (
        ({"over": "up"}, errors.UnknownNameError), ({"directed": 1}, errors.ParameterError),
        ({"columns": {"time": "int64"}}, errors.ParameterError), ({"columns": ["fee"]}, errors.ParameterError),
        ({"columns": {"fee": "complex128"}}, errors.DTypeError), ({"memory_limit": "much"}, errors.ParameterError),
        ({"comm": object()}, errors.RequirementError), ({"names": ["a", "a"]}, errors.ParameterError),
        ({"memory_limit": 100}, errors.CapacityError),
    ):  # fmt: skip
        with pytest.raises(error):
            su.Events(100, device="cpu", **options)
    with pytest.raises(errors.VertexRangeError):
        su.Events(-1, device="cpu")


def test_too_many_events() -> None:
    log = su.Events(2, device="cpu")
    log._record.next = MOST  # as if so many were kept
    with pytest.raises(errors.CapacityError, match=f"{MOST + 1} events are too many"):
        log.append([1], [0], [1])


def test_what_is_no_file_of_a_log(tmp_path: Path) -> None:
    path, log = tmp_path / "log", su.Events(2, device="cpu")
    log.append([1, 2], [0, 1], [1, 1])
    log.save(path)
    whole = path.read_bytes()
    for data in (b"", b"text", whole[: len(whole) // 2], whole.replace(b'"over": "in"', b'"over": "up"')):
        path.write_bytes(data)
        with pytest.raises(errors.FileFormatError):
            su.Events.load(path, device="cpu")
    su.Graph(2, device="cpu").save(path)
    with pytest.raises(errors.FileFormatError):
        su.Events.load(path, device="cpu")


def test_a_file_has_the_log_at_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = su.Events(9, device="cpu", columns={"fee": "int64"})
    log.append(range(4), range(4), [8] * 4, {"fee": range(4)})

    def after_others(path: Path) -> Any:  # another thread may change the log before the file is written
        log.expire(4)
        log.append(range(4, 8), range(4, 8), [7] * 4, {"fee": [9] * 4})
        return replacing(path)

    monkeypatch.setattr(snapshot, "replacing", after_others)
    log.save(tmp_path / "log")
    held = su.Events.load(tmp_path / "log", device="cpu")
    assert [held.at(name, range(4)).tolist() for name in ("time", "src", "fee")] == [[0, 1, 2, 3]] * 3
    assert held.at("dst", range(4)).tolist() == [8] * 4


# -- memory and interrupts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("over", OVER)
def test_lack_of_memory_loses_nothing(over: str) -> None:
    rng, log, held = np.random.default_rng(3), su.Events(50, device="cpu", over=over, memory_limit="40kB"), 0
    with pytest.raises(errors.CapacityError, match="memory_limit is 40000"):  # noqa: PT012 - one of many calls
        for time in range(999):
            log.append([time] * 40, *rng.integers(0, 50, (2, 40)))
            assert sum(log.memory_usage().values()) <= 40_000
            held += 40
    assert len(log) == held > 300
    log.check()
    log.expire(5)
    log.check()


def test_memory_of_an_endless_window_is_flat() -> None:
    rng, log, found = np.random.default_rng(5), su.Events(300, device="cpu"), []
    for time in range(600):
        log.append([time] * 100, *(300 * rng.random((2, 100)) ** 3).astype(int))
        log.expire(time - 100)
        found.append(log.memory_usage()["index"])
    assert max(found[300:]) <= 24 * 10_100 + 17 * 300
    assert max(found[300:]) == max(found[150:])
    log.check()


@pytest.mark.parametrize("over", ["in", "both"])
def test_many_events_of_one_vertex_are_removed_in_one_pass(over: str) -> None:
    count = 200_000
    log, rng = su.Events(3, device="cpu", over=over), np.random.default_rng(1)
    log.append(np.arange(count), rng.integers(0, 2, count), np.zeros(count, int))
    gone = rng.permutation(count)[: count // 4]
    before = process_time()
    log.remove(gone)
    log.remove(np.setdiff1d(np.arange(count // 2), gone))
    assert process_time() - before < 2  # an event at a time: 20
    assert log.first >= count // 2
    assert len(log) == count - len(np.union1d(gone, np.arange(count // 2)))
    log.check()


def test_few_events_of_a_vertex_leave_large_blocks() -> None:
    log = su.Events(2, device="cpu")
    log.append(np.arange(5000), np.zeros(5000, int), np.zeros(5000, int))
    for time in range(5000, 9000):
        log.append([time], [1], [0])
        log.expire(time - 3)
    log.check()
    assert log._index._size[0] <= 4
    assert len(log) == 4


def test_an_interrupt_comes_before_or_after_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    log = su.Events(3, device="cpu")
    log.append([1], [0], [1])
    enter = index_cpu.Index.append

    def interrupted(*given: Any) -> None:
        enter(*given)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(index_cpu.Index, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.append([2, 3], [1, 2], [2, 0])
    monkeypatch.undo()
    assert len(log) == 3
    log.check()
    monkeypatch.setattr(index_cpu.Index, "expire", lambda *given: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        log.expire(1 << 40)


def test_an_interrupt_comes_after_a_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    log, mark = su.Events(3, device="cpu"), Record.mark_removable
    log.append([1, 2, 3], [0, 1, 2], [1, 2, 0])

    def interrupted(*given: Any) -> None:
        mark(*given)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Record, "mark_removable", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.remove([1])
    assert len(log) == 2
    log.check()
