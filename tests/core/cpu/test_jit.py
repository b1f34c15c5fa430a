"""Compiled CPU loops: what the decorators do, and the line on stderr while a machine compiles for the first time."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import ffi
from numba import literal_unroll, njit
from numba.core import event
from numba.core.errors import TypingError

from suricate.base import cache, notice
from suricate.base.notice import CompilationNotice, compiling
from suricate.cpu import jit
from suricate.cpu.jit import EntryPoints, inner, kernel


@inner
def twice(x):
    """Return 2 x."""
    return 2 * x


@inner
def half(x):
    """Return x / 2."""
    return x / 2


@kernel
def double_all(values):
    """Double all values in place."""
    for i in range(len(values)):
        values[i] = twice(values[i])


def test_a_kernel_compiles_the_inner_functions_it_calls():
    values = np.arange(4)
    double_all(values)
    assert values.tolist() == [0, 2, 4, 6]
    assert len(double_all.signatures) == 1


def test_where_memory_is_short_a_kernel_raises_before_llvm_ends_the_process(monkeypatch):
    def refused(_place, size):
        raise OSError(f"no {size} bytes")

    values = np.arange(4, dtype=np.int16)
    with monkeypatch.context() as patch:
        patch.setattr(jit.mmap, "mmap", refused)
        with pytest.raises(MemoryError, match="MiB"):
            double_all(values)
    double_all(values)
    assert values.tolist() == [0, 2, 4, 6]


def test_an_entry_point_runs_a_kernel_on_the_types_of_the_first_arguments():
    values, codes = np.arange(4), EntryPoints()
    code = codes.look_up("int64", double_all, (values,))
    assert codes["int64"] is code
    code(values)
    assert values.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError):  # the kernel itself would be compiled for them
        code(np.arange(4, dtype=np.int8))


class Compiled(event.Listener):
    """Notes the names of the functions that Numba compiles."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


def test_an_inner_function_is_compiled_once_for_kernels_and_inner_functions(monkeypatch):
    monkeypatch.setattr(cache, "get", lambda name: None)

    @inner
    def quarter(x):
        return x / 4.0

    @inner
    def eighth(x):
        return quarter(x) / 2.0

    @kernel
    def both(x):
        return quarter(x) + eighth(x)

    @njit(fastmath=True)
    def fast(x):
        return quarter(x)

    with event.install_listener("numba:compile", Compiled()) as compiled:
        assert both(8.0) == 3.0
        assert compiled.names.count("quarter") == 1
        assert fast(8.0) == 2.0
        assert compiled.names.count("quarter") == 2, "options that it takes over from its caller make another function"


def test_of_a_kernel_from_disk_what_others_inline_is_parsed_when_one_does(monkeypatch):
    entries: dict[str, bytes] = {}
    monkeypatch.setattr(cache, "get", entries.get)
    monkeypatch.setattr(cache, "put", entries.__setitem__)

    def halve_all(values):
        for i in range(len(values)):
            values[i] = half(values[i])

    values = np.array([8.0, 4.0])
    kernel(halve_all)(values)
    assert len(entries) == 1
    loaded = kernel(halve_all)
    loaded(values)
    (known,) = loaded.overloads.values()
    assert (values.tolist(), len(entries)) == ([2, 1], 1)
    assert known.library._shared_module is None

    @kernel
    def halve_twice(values):
        loaded(values)
        loaded(values)

    halve_twice(values)
    assert values.tolist() == [0.5, 0.25]
    assert known.library._shared_module is not None


def test_kernels_may_have_closures_and_literal_arguments():
    @kernel
    def closed(x):
        def above(y):
            return y > x

        return above(3), above(1)

    @kernel
    def unrolled(x):
        total = 0.0
        for each in literal_unroll((1, 2.5, x)):
            total += each
        return total

    assert closed(2) == (True, False)
    assert unrolled(np.float32(4)) == 7.5


def test_compiling_frees_the_pass_managers_of_llvm(monkeypatch):
    managers = pytest.importorskip("llvmlite.binding.newpassmanagers")
    made, freed = [], []
    for one in (managers.ModulePassManager, managers.FunctionPassManager):
        init, dispose = one.__init__, one._dispose
        assert dispose is not ffi.ObjectRef._dispose  # which does nothing
        monkeypatch.setattr(one, "__init__", lambda self, *ptr, init=init: (made.append(1), init(self, *ptr))[1])
        monkeypatch.setattr(one, "_dispose", lambda self, dispose=dispose: (freed.append(1), dispose(self)))

    @njit
    def added(a, b):
        return a + b

    assert added(2, 3) == 5
    gc.collect()
    assert len(made) == len(freed) > 0


def test_the_garbage_collector_rests_while_kernels_are_compiled(monkeypatch):
    seen = []
    start = notice.NOTICE.start
    monkeypatch.setattr(notice.NOTICE, "start", lambda: (seen.append(gc.isenabled()), start()))
    monkeypatch.setattr(cache, "get", lambda name: None)

    @inner
    def thrice(x):
        return 3 * x

    @kernel
    def summed(values):
        total = 0
        for value in values:
            total += thrice(value)
        return total

    @kernel
    def impossible(values):
        return values.no_such_attribute

    assert summed(np.arange(3)) == 9
    assert seen == [True, False]
    with pytest.raises(TypingError):
        impossible(np.arange(3))
    assert gc.isenabled()
    gc.disable()
    assert summed(np.arange(3.0)) == 9
    assert not gc.isenabled()
    gc.enable()


@inner
def checked(x):
    """Return x, which must not be negative."""
    if x < 0:
        raise ValueError("negative")
    return x


@njit
def through_plain(x):
    return checked(x)


@kernel
def through_kernel(x):
    return checked(x)


@pytest.mark.parametrize("function", [through_plain, through_kernel])
def test_inner_functions_raise(function):
    assert function(2) == 2
    with pytest.raises(ValueError, match="negative"):
        function(-3)


def test_an_inner_function_is_plain_python_outside_of_kernels():
    assert twice(1.5) == 3.0
    assert twice("ab") == "abab"


@pytest.fixture
def clock(monkeypatch):
    """The time that notices see; set ``clock[0]``."""
    now = [0.0]
    monkeypatch.setattr(notice.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(notice, "_told", set())
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    return now


def test_the_line_comes_once_after_a_second_in_all(clock, capsys):
    made = CompilationNotice()
    for _ in range(3):  # 0.4 s each, half of it nested
        made.start()
        clock[0] += 0.2
        made.start()
        clock[0] += 0.2
        made.end()
        made.end()
        clock[0] += 10  # between compilations time does not count
    assert capsys.readouterr().err == ""
    assert made.seconds == pytest.approx(1.2)
    for _ in range(2):
        made.start()
        made.end()
    assert capsys.readouterr().err == notice.LINE + "\n"


def test_the_line_comes_while_the_first_compilation_goes_on(clock, capsys):
    made = CompilationNotice()
    made.start()
    clock[0] += 1.5
    made.start()
    assert capsys.readouterr().err == notice.LINE + "\n"


def test_quiet(clock, capsys, monkeypatch):
    monkeypatch.setenv("SURICATE_QUIET", "1")
    made = CompilationNotice()
    made.start()
    clock[0] += 5
    made.start()
    assert capsys.readouterr().err == ""


def test_a_failed_compilation_ends_as_well():
    before = notice.NOTICE._depth
    with pytest.raises(ZeroDivisionError), compiling():
        1 / 0  # noqa: B018
    assert notice.NOTICE._depth == before


SCRIPT = """
from llvmlite.binding import ffi
from suricate.base import cache, notice
notice.PATIENCE = 0
import suricate as su
g = su.Graph(3, backend="csr_baseline", device="cpu")
print(su.neighbor_reduce(g, None, lambda u, v, w: v, reduce="sum").tolist())
print(notice.NOTICE.seconds > 0)
"""


@pytest.mark.slow
def test_only_compiling_is_announced_not_loading_from_disk(tmp_path):
    folder = str(tmp_path)
    environment = {"SURICATE_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder, "PATH": ""}
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    runs = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["[0,", "0,", "0]", "True"], ["[0,", "0,", "0]", "False"]]
    assert [run.stderr for run in runs] == [notice.LINE + "\n", ""]
