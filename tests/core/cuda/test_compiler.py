"""Builds of CUDA programs: from the disk, from a process beside this one, or compiled here; without a GPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from patience import PATIENCE

from suricate.base import cache
from suricate.base.devices import CPU
from suricate.cuda import compiler, nvrtc
from suricate.cuda.clock import DeviceClock
from suricate.cuda.compiler import FINAL, LOCAL, OPTION, SMALL, Compilation, Pool, levels
from suricate.cuda.nvrtc import CompileError
from suricate.testing.nvrtc import library_file, no_nvrtc

pytestmark = pytest.mark.skipif(bool(no_nvrtc()), reason=str(no_nvrtc()))

OPTIONS = ("-std=c++17",)
MAX, MID = f"{OPTION}max", f"{OPTION}mid"


def text_of(value: int, before: str = "/*" + SMALL * "." + "*/") -> str:
    """Return a program that differs from others by a number, and is not small."""
    return f'{before}\nextern "C" __global__ void put(int* at) {{ at[threadIdx.x] = {value} * threadIdx.x; }}'


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple[str, ...]]]:
    """Compile for one architecture with the library of the wheel, into an empty cache; lists what this process did."""
    calls: list[tuple[str, ...]] = []

    def here(text: str, name: str, options: tuple[str, ...]) -> bytes:
        calls.append(options)
        return nvrtc.compile_text(str(library_file()), text, name, options)

    monkeypatch.setenv("SURICATE_AHEAD", "1")
    monkeypatch.setenv("SURICATE_BUILDS", "final")
    monkeypatch.setattr(compiler, "compile_here", here)
    monkeypatch.setattr(compiler, "library_path", lambda: str(library_file()))
    monkeypatch.setattr(compiler, "nvrtc_version", lambda: (12, 9))
    monkeypatch.setattr(compiler, "target_options", lambda: ("-arch=sm_80",))
    monkeypatch.setattr(cache, "_folders", lambda: [tmp_path])
    monkeypatch.setattr(cache, "put", lambda name, content: entry(tmp_path, name, content))
    pool = Pool()
    monkeypatch.setattr(compiler, "POOL", pool)
    yield calls
    pool.close()


def entry(folder: Path, name: str, content: bytes) -> None:
    """Write an entry as the cache does."""
    import hashlib

    (folder / name).write_bytes(cache.MAGIC + hashlib.sha256(content).digest() + content)


def test_a_quick_build_comes_first_and_the_final_one_from_a_process(compiled: list[tuple[str, ...]]) -> None:
    arrived, came = threading.Event(), list[str]()

    def note(build: bytes, level: str) -> None:
        came.append(level)
        arrived.set()

    one = Compilation(text_of(1), "put.cu", OPTIONS)
    quick, level = one.soon(note)
    assert level == "mid"
    assert arrived.wait(PATIENCE)  # its process has the lowest priority
    assert one.ready() not in (None, quick)
    assert came == [FINAL]
    assert compiled == [(*OPTIONS, "-arch=sm_80", MID)], "this process made the quick build only"


def test_each_program_takes_the_levels_of_its_class(compiled: list[tuple[str, ...]]) -> None:
    assert levels("") == ()
    assert levels(SMALL * "." + ".") == ("mid",)
    assert levels(f"{SMALL * '.'}\n#define COMPILES_FOR_SECONDS\n") == ("max", "mid")
    assert Compilation(text_of(20, ""), "put.cu", OPTIONS).soon(forget)[1] == FINAL
    assert compiled == [(*OPTIONS, "-arch=sm_80")], "a small program gets no quick build"


def test_a_slow_program_gets_better_builds_one_after_another(
    monkeypatch: pytest.MonkeyPatch, compiled: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(compiler, "cores", lambda: 1)
    came: list[tuple[bytes, str]] = []
    one = Compilation(text_of(21, "#define COMPILES_FOR_SECONDS"), "put.cu", OPTIONS)
    first = one.soon(lambda *build: came.append(build))
    assert first[1] == "max"
    compiler.POOL.wait()
    assert [level for _, level in came] == ["mid", FINAL]
    assert came[1][0] == one.ready()
    assert first[0] != one.ready()
    assert compiled == [(*OPTIONS, "-arch=sm_80", MAX)]


def test_what_is_launched_is_compiled_first_and_of_that_quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """One compiler process: the program that is launched most, then the other, then what a rehearsal has asked for."""
    goes_on, order = threading.Event(), list[tuple[str, str]]()

    def run(command: list[str], text: bytes) -> bytes:
        goes_on.wait(PATIENCE)
        order.append((command[5], command[-1].removeprefix(OPTION) if OPTION in command[-1] else FINAL))
        return b"build"

    monkeypatch.setattr(compiler, "cores", lambda: 1)
    monkeypatch.setattr(compiler.POOL, "run", run)
    monkeypatch.setattr(compiler, "compile_here", lambda *given: b"quick")
    compiler.POOL.add(lambda: goes_on.wait(PATIENCE) and None)  # the only thread is busy
    made = {name: Compilation(text_of(i, "#define COMPILES_FOR_SECONDS"), name, OPTIONS)
            for i, name in enumerate(("rehearsed.cu", "seldom.cu", "often.cu"), 30)}  # fmt: skip
    monkeypatch.setattr(LOCAL, "rehearsing", True)
    made["rehearsed.cu"].soon(forget)
    monkeypatch.setattr(LOCAL, "rehearsing", False)
    made["seldom.cu"].soon(forget)
    made["often.cu"].soon(forget)
    made["often.cu"].use()
    goes_on.set()
    compiler.POOL.wait()
    assert order == [
        ("often.cu", "mid"), ("seldom.cu", "mid"), ("often.cu", FINAL), ("seldom.cu", FINAL),
        ("rehearsed.cu", "mid"), ("rehearsed.cu", FINAL),
    ]  # fmt: skip


def test_a_caller_compiles_at_once_while_all_processes_make_what_was_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, compiling = threading.Event(), list[tuple[str, threading.Thread]]()

    def here(text: str, name: str, options: tuple[str, ...]) -> bytes:
        compiling.append((name, threading.current_thread()))
        return b"quick"

    monkeypatch.setattr(compiler, "cores", lambda: 2)
    monkeypatch.setattr(compiler.POOL, "run", lambda command, text: goes_on.wait(PATIENCE) and b"final")
    monkeypatch.setattr(compiler, "compile_here", here)
    monkeypatch.setattr(LOCAL, "rehearsing", True)
    for i in range(4):
        Compilation(text_of(40 + i), "rehearsed.cu", OPTIONS).soon(forget)
    monkeypatch.setattr(LOCAL, "rehearsing", False)
    ahead = threading.Event()
    compiler.POOL.add(ahead.set)  # as Program.prepare does: it waits for a free thread, and nobody for it
    assert Compilation(text_of(50), "called.cu", OPTIONS).soon(forget) == (b"quick", "mid")
    assert compiling[-1] == ("called.cu", threading.main_thread())
    assert not goes_on.is_set()
    goes_on.set()
    assert compiler.POOL.wait(PATIENCE)
    assert ahead.is_set()


def test_work_without_a_turn_comes_first_and_waiting_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, order = threading.Event(), list[int]()
    monkeypatch.setattr(compiler, "cores", lambda: 1)
    compiler.POOL.add(lambda: goes_on.wait(PATIENCE) and None)
    for i, turn in enumerate(((3,), (1,), (1,), ())):
        compiler.POOL.add(lambda i=i: order.append(i), lambda turn=turn: turn)  # type: ignore[misc]
    assert not compiler.POOL.wait(0.01)
    goes_on.set()
    assert compiler.POOL.wait(PATIENCE)
    assert order == [3, 1, 2, 0]


def forget(build: bytes, level: str) -> None:
    """Take a better build, and do nothing with it."""


def test_spans_count_once_launches_take_final_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suricate.cuda.clock.PinnedCounters", lambda *_: SimpleNamespace(words=[0, 0], busy=False))
    clock, goes_on = DeviceClock(CPU), threading.Event()

    def launch() -> None:
        clock._pinned.words[:] = 1, 5_000_000_001  # as if both had run

    clock._stamps = [SimpleNamespace(launch=launch)] * 2  # type: ignore[list-item]

    def span() -> float | None:
        assert clock.start()
        clock.stop()
        return clock.seconds()

    assert span() == 5
    run = compiler.POOL.run
    monkeypatch.setattr(compiler.POOL, "run", lambda *given: run(*given) if goes_on.wait(PATIENCE) else None)
    assert Compilation(text_of(12), "put.cu", OPTIONS).soon(forget)[1] == "mid"
    assert span() == 0, "launches take the quick build"
    assert clock.start()
    goes_on.set()
    compiler.POOL.wait()
    clock.stop()
    assert clock.seconds() == 0, "they did when the span began"
    assert span() == 5


def test_a_second_process_finds_the_final_build(compiled: list[tuple[str, ...]]) -> None:
    first = Compilation(text_of(2), "put.cu", OPTIONS).final()
    assert Compilation(text_of(2), "put.cu", OPTIONS).soon(forget) == (first, FINAL)
    assert Compilation(text_of(3), "put.cu", OPTIONS).ready() is None, "another text is another program"
    assert Compilation(text_of(2), "put.cu", ("-std=c++14",)).ready() is None, "and so are other options"
    assert len(compiled) == 1


def test_what_is_prepared_is_there_without_compiling_here(compiled: list[tuple[str, ...]]) -> None:
    one = Compilation(text_of(4), "put.cu", OPTIONS)
    one.prepare()
    compiler.POOL.wait()
    assert one.soon(forget)[1] == FINAL
    assert compiled == []


def test_a_damaged_file_is_made_again(compiled: list[tuple[str, ...]], tmp_path: Path) -> None:
    one = Compilation(text_of(5), "put.cu", OPTIONS)
    binary = one.final()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    assert Compilation(text_of(5), "put.cu", OPTIONS).final() == binary
    assert len(compiled) == 2


@pytest.mark.parametrize("ahead", ["0", "1"])
def test_an_error_of_the_program_is_raised_with_its_line(monkeypatch: pytest.MonkeyPatch, ahead: str) -> None:
    monkeypatch.setenv("SURICATE_AHEAD", ahead)
    wrong = Compilation("__global__ void broken() { undefined_name; }", "broken.cu", OPTIONS)
    with pytest.raises(CompileError, match=r'broken.cu\(1\).*"undefined_name" is undefined'):
        wrong.soon(forget)


def test_without_compiling_ahead_there_is_one_final_build(
    monkeypatch: pytest.MonkeyPatch, compiled: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("SURICATE_AHEAD", "0")
    one = Compilation(text_of(6), "put.cu", OPTIONS)
    one.prepare()
    assert one.soon(forget)[1] == FINAL
    assert compiled == [(*OPTIONS, "-arch=sm_80")]


def test_an_nvrtc_without_quick_builds_makes_the_final_one(
    monkeypatch: pytest.MonkeyPatch, compiled: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(compiler, "nvrtc_version", lambda: (12, 4))
    assert Compilation(text_of(7), "put.cu", OPTIONS).soon(forget)[1] == FINAL
    assert compiled == [(*OPTIONS, "-arch=sm_80")]


def test_quick_builds_in_place_of_final_ones(monkeypatch: pytest.MonkeyPatch, compiled: list[tuple[str, ...]]) -> None:
    final = Compilation(text_of(9), "put.cu", OPTIONS).final()
    monkeypatch.setenv("SURICATE_BUILDS", "quick")
    binary, level = Compilation(text_of(9), "put.cu", OPTIONS).soon(forget)
    assert level == FINAL
    assert binary != final, "the build of users was not taken"
    assert Compilation(text_of(9), "put.cu", OPTIONS).ready() == binary, "it is kept"
    assert compiled == [(*OPTIONS, "-arch=sm_80"), (*OPTIONS, "-arch=sm_80", MAX)]
    monkeypatch.setattr(compiler, "nvrtc_version", lambda: (12, 4))
    assert Compilation(text_of(10), "put.cu", OPTIONS).soon(forget)[1] == FINAL
    assert compiled[2:] == [(*OPTIONS, "-arch=sm_80")]


def test_what_several_need_at_the_same_time_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch, compiled: list[tuple[str, ...]]
) -> None:
    """As in processes that start together: a compilation of their own in each, one folder."""
    monkeypatch.setenv("SURICATE_AHEAD", "0")
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(Compilation(text_of(11), "put.cu", OPTIONS).final()))
               for _ in range(3)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 3
    assert len(compiled) == 1


def test_where_no_process_starts_callers_compile(
    monkeypatch: pytest.MonkeyPatch, compiled: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    one = Compilation(text_of(8), "put.cu", OPTIONS)
    one.prepare()
    compiler.POOL.wait()
    assert not compiler.POOL.usable
    assert one.soon(forget)[1] == FINAL
    assert compiled == [(*OPTIONS, "-arch=sm_80")]


def test_the_end_of_the_process_waits_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "library_path", lambda: "/dev/null")
    begun, pool = threading.Event(), compiler.POOL

    def slow() -> None:
        begun.set()
        assert pool.run([sys.executable, "-c", "import time; time.sleep(100)"], b"") is None

    pool.add(slow)
    begun.wait()
    pool.close()
    pool.wait()
    waiting = Compilation(text_of(9), "put.cu", OPTIONS)
    waiting._state = "running"  # its process was ended
    waiting._ended.set()
    with pytest.raises(CompileError, match="this process ends"):
        waiting.final()
