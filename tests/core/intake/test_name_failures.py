"""Names after an interrupt at every line, and after every allocation that fails: as before the call, or as after it."""

from functools import partial
from unittest import mock

import numpy as np
import pytest
from injected import failures, lines

import suricate as su
from suricate.errors import VertexRangeError
from suricate.intake import name_table

pytestmark = pytest.mark.compiled


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
@pytest.mark.parametrize("early", [lines, partial(failures, module=np)], ids=["interrupts", "allocations"])
def test_a_call_that_ends_early_leaves_the_map_as_it_was(what, kind, early):
    make, call = CALLS[what]
    table = make(kind)
    before = view(table)
    call(table, kind)
    after = view(table)
    for table, failed in early(lambda: make(kind), lambda table: call(table, kind)):
        size, length = table.num_ids, len(table)
        table.check()
        assert (size, length) == (table.num_ids, len(table))
        now = view(table)
        assert now in ((before, after) if failed else (after,))
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
