"""Names after an interrupt at every line, and after every allocation that fails: as before the call, or as after it."""

import sys
from collections import Counter
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

import suricate as su
from suricate.errors import VertexRangeError
from suricate.intake import name_state, name_table, name_values, names

MODULES = (names, name_table, name_values, name_state)
ALLOCATE = ("empty", "zeros", "full", "concatenate", "ascontiguousarray", "flatnonzero", "sort", "cumsum", "fromiter")
pytestmark = pytest.mark.compiled


class At:
    """Raises ``error`` at the step ``number``; ``steps`` is how many there were."""

    def __init__(self, number, error):
        self.number, self.error, self.steps = number, error, 0

    def step(self):
        self.steps += 1
        if self.steps == self.number:
            raise self.error


class Lines(At):
    """Inside it each line of the modules is a step, the first times that it runs; compiled loops run to their end."""

    def __enter__(self):
        files, times = {module.__file__ for module in MODULES}, Counter()

        def trace(frame, event, _):
            if frame.f_code.co_filename not in files:
                return None
            if event == "line":
                place = frame.f_code, frame.f_lineno
                times[place] += 1
                if times[place] <= 3:
                    self.step()
            return trace

        self.before = sys.gettrace()
        sys.settrace(trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


class Allocations(At):
    """Inside it each call that makes an array is a step."""

    def __enter__(self):
        def counted(function):
            def call(*args, **kwargs):
                self.step()
                return function(*args, **kwargs)

            return call

        numpy = SimpleNamespace(**{name: getattr(np, name) for name in np.__all__ if hasattr(np, name)})
        for name in ALLOCATE:
            setattr(numpy, name, counted(getattr(np, name)))
        self.patches = [mock.patch.object(module, "np", numpy) for module in MODULES]
        for patch in self.patches:
            patch.start()
        return self

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()


def named(kind, first, last):
    numbers = range(first, last)
    return [f"{'é' * (k % 3)}{k}" for k in numbers] if kind == "text" else np.array(numbers) * 2**40 - 7


def view(table):
    """Return all that a map tells."""
    ids = np.arange(table.num_ids)
    state = {name: part.tolist() for name, part in table.state().items()}
    return repr(table), state, [part.tolist() for part in table.forgotten()], table.since(ids[table.has(ids)]).tolist()


def many(kind):
    """Return a map whose arrays are all nearly full."""
    table = su.Names()
    table.add(named(kind, 0, 1000))
    return table


def holes(kind):
    """Return a map with free ids, ids that the next slide frees, and bytes that no name uses."""
    table = many(kind)
    table.forget(range(0, 900, 2))
    table.next_slide()
    table.intern(named(kind, 2000, 2100))
    table.release(range(1, 200, 2))
    return table


def kept(kind):
    table = su.Names(kind, keep=True)
    table.add(named(kind, 0, 100))
    return table


CALLS = {
    "intern the first": (lambda kind: su.Names(), lambda table, kind: table.intern(named(kind, 0, 10))),
    "grow": (many, lambda table, kind: table.intern(named(kind, 900, 2600))),
    "reuse and grow": (holes, lambda table, kind: table.add(named(kind, 3000, 4400))),
    "pairs": (holes, lambda table, kind: table.intern_pairs(named(kind, 0, 40), named(kind, 3000, 3040), count=True)),
    "release": (many, lambda table, kind: table.release(range(500, 800))),
    "release kept": (kept, lambda table, kind: table.release([5, 6])),
    "retain": (holes, lambda table, kind: table.retain([301, 301, 303])),
    "forget": (holes, lambda table, kind: table.forget([301, 303], reuse=False)),
    "withdraw": (holes, lambda table, kind: table.withdraw(table.find(named(kind, 2050, 2100)))),
    "skip": (holes, lambda table, kind: table.skip(5000)),
    "next slide": (holes, lambda table, kind: table.next_slide()),
    "copy": (holes, lambda table, kind: table.copy().check()),
    "find": (holes, lambda table, kind: table.find(named(kind, 0, 20))),
    "names of ids": (holes, lambda table, kind: table[[301, 303]]),
}


@pytest.mark.parametrize("kind", ["text", "int64"])
@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize(("steps", "error"), [(Lines, KeyboardInterrupt), (Allocations, MemoryError)])
def test_a_call_that_ends_early_leaves_the_map_as_it_was(what, kind, steps, error):
    make, call = CALLS[what]
    table = make(kind)
    before = view(table)
    with steps(0, None) as every:
        call(table, kind)
    after = view(table)
    assert every.steps or what == "next slide"
    for number in range(1, every.steps + 1):
        table = make(kind)
        with pytest.raises(error), steps(number, error()):
            call(table, kind)
        size, length = table.num_ids, len(table)
        table.check()
        assert (size, length) == (table.num_ids, len(table))
        now = view(table)
        assert now in (before, after)
        if now == before:
            call(table, kind)
            assert view(table) == after
        table.check()


def test_two_interrupts_and_another_call_between():
    """What the first call has left is undone by whatever comes next, and that may be interrupted, too."""
    table = holes("text")
    before = view(table)
    for error in (KeyboardInterrupt, MemoryError):
        with mock.patch.object(type(table), "_keep", side_effect=error), pytest.raises(error):
            table.add(named("text", 3000, 4400))
    assert len(table) == len(before[1]["ids"])
    assert table.find("3001") == -1
    assert view(table) == before
    table.check()


def test_names_beyond_the_last_id_are_refused_as_a_whole(monkeypatch):
    monkeypatch.setattr(name_table, "MAX_VERTICES", 1024)
    table = many("int64")
    before = view(table)
    with pytest.raises(VertexRangeError):
        table.add(named("int64", 990, 1100))
    assert view(table) == before
    assert table.intern(named("int64", 1000, 1024)).tolist() == list(range(1000, 1024))
