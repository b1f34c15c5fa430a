"""How loops become machine code: what a call takes and refuses, and arrays in the functions that loops inline."""

from __future__ import annotations

import gc
from collections import namedtuple

import numpy as np
import pytest
from numba.core import event, types
from numba.core.errors import TypingError

from suricate.cpu import jit, lowering, shortcuts
from suricate.cpu.jit import inner, kernel

pytestmark = pytest.mark.compiled
Pair = namedtuple("Pair", "first second")
Empty = namedtuple("Empty", "")


@inner
def both(pair, i):
    """Return the sum of two entries; a negative ``i`` counts from the end."""
    return pair.first[i] + pair.second[0, i]


@kernel
def add_entries(pair, i, into):
    """Add two entries to ``into``; return how many entries it has, and its number of dimensions."""
    into[-1] += both(pair, i)
    return into.size, into.strides[0]


@kernel
def echo(number, flag, real, nothing, empty):
    """Return the numbers."""
    if number == 7:
        raise ValueError("seven")
    return number, flag, real


def arrays(dtype=np.int64):
    return Pair(np.arange(5, dtype=dtype), np.arange(10, 20, dtype=dtype).reshape(2, 5))


@pytest.mark.parametrize("i", [1, -2])
def test_a_loop_reads_what_numpy_reads(i):
    pair, into = arrays(), np.zeros(3, np.int64)
    assert add_entries(pair, i, into) == (3, 8)
    assert into.tolist() == [0, 0, pair.first[i] + pair.second[0, i]]


def test_a_loop_reads_arrays_with_gaps_and_of_any_shape():
    spread, into = np.arange(10)[::2], np.zeros(6, np.int64)[::3]
    assert add_entries(Pair(spread, np.arange(4).reshape(1, 4)[:, ::-1]), 1, into) == (2, 24)
    assert into.tolist() == [0, 2 + 2]


def test_a_loop_takes_subclasses_of_arrays():
    class Mine(np.ndarray):
        pass

    into = np.zeros(2, np.int64)
    add_entries(Pair(*(each.view(Mine) for each in arrays())), 2, into)
    assert into.tolist() == [0, 14]


def test_numbers_and_flags_come_back_as_they_went():
    given = (np.uint64(2**64 - 1), True, 0.5)
    assert echo(*given, None, Empty()) == given
    assert echo(-1, False, np.float32(0.25), None, Empty()) == (-1, False, 0.25)
    with pytest.raises(ValueError, match="seven"):
        echo(7, True, 0.5, None, Empty())


@pytest.mark.parametrize(
    "given",
    [
        (Pair([1], [2]), 0, np.zeros(1, np.int64)),
        ((np.arange(3),), 0, np.zeros(1, np.int64)),
        (3, 0, np.zeros(1, np.int64)),
        (arrays(np.int32), 0, np.zeros(1, np.int64)),
        (Pair(*arrays()[::-1]), 0, np.zeros(1, np.int64)),
        (arrays(), 0),
        (arrays(), "one", np.zeros(1, np.int64)),
        (arrays(), 2**70, np.zeros(1, np.int64)),
    ],
)
def test_a_call_of_the_code_for_some_types_refuses_others(given):
    code = add_entries.compile(tuple(map(add_entries.typeof_pyval, (arrays(), 0, np.zeros(1, np.int64)))))
    with pytest.raises((TypeError, ValueError, OverflowError)):
        code(*given)


def test_fields_are_where_cpython_and_numpy_keep_them(monkeypatch):
    assert lowering.IS_KNOWN
    assert Pair.__flags__ >> lowering.TUPLES & 1
    assert not list.__flags__ >> lowering.TUPLES & 1
    for name in ("TYPE", "DATA", "NDIM", "DTYPE", "SIZE", "ITEMSIZE", "FLAGS"):
        with monkeypatch.context() as other:
            other.setattr(lowering, name, getattr(lowering, name) + 8)
            assert not lowering._are_fields_known(), name


def test_where_fields_are_elsewhere_numba_reads_the_arguments(monkeypatch):
    monkeypatch.setattr(lowering, "IS_KNOWN", False)

    @kernel
    def add(pair, i, into):
        into[0] += both(pair, i)
        return len(into)

    add._cache.disable()
    into = np.zeros(2, np.int64)
    assert add(arrays(), -1, into) == 2
    assert into.tolist() == [4 + 14, 0]


def test_numba_is_as_before_after_a_loop_does_not_compile():
    @kernel
    def wrong(values):
        return values.nothing_of_this_name

    jit._modules.add(wrong.py_func.__module__)
    with pytest.raises(TypingError):
        wrong(np.arange(3))
    assert "get_call_type" not in vars(types.Function)
    assert not shortcuts._restore
    assert gc.isenabled()


def test_numba_is_as_before_after_a_loop_is_compiled():
    seen = []

    class Watch(event.Listener):
        def on_start(self, event):
            seen.append(types.Function.get_call_type is shortcuts._call_type)

        def on_end(self, event):
            pass

    @kernel
    def fill(values):
        for i in range(len(values)):
            values[i] = max(values[i], 3)

    before = types.Function.get_call_type
    with event.install_listener("numba:run_pass", Watch()):
        fill.py_func.__module__ = echo.py_func.__module__
        values = np.arange(5)
        jit._modules.add(fill.py_func.__module__)
        fill._cache.disable()
        fill(values)
    assert values.tolist() == [3, 3, 3, 3, 4]
    assert all(seen)
    assert seen
    assert types.Function.get_call_type is before
    assert "get_call_type" not in vars(types.Function)
    assert not shortcuts._restore
