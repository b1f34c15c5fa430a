"""Progress is shown on stderr after two seconds, in a terminal or a notebook, and never in a pipe."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from patience import PATIENCE
from rich.console import Console

from suricate.base import progress
from suricate.base.progress import DISPLAY, Display, worked, working

pytestmark = pytest.mark.plain

SCRIPT = """
import sys, time
from suricate.base import progress
progress.PATIENCE, progress.TICK = 0.0, 0.01
def shown():
    while work.row is None and sys.stderr.isatty() and not QUIET:
        time.sleep(0.01)
    time.sleep(0.1)
import os
QUIET = bool(os.environ.get("SURICATE_QUIET"))
with progress.working("reading [red]a\\x1b[2J") as work:
    work(1, 4)
    shown()
    print("a line")
with progress.working("short") as other:
    pass
print("the end")
"""


def text_of(work: working) -> str:
    return work.what if isinstance(work.what, str) else work.what()


def run(script: str, *, stdout: bool, stderr: bool, **environ: str) -> tuple[str, str]:
    """Run a script with each of the two streams in the terminal, or in a pipe; return what came on both."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "SURICATE_QUIET"}
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=theirs if stdout else subprocess.PIPE,
        stderr=theirs if stderr else subprocess.PIPE, env=inherited | {"TERM": "xterm", "COLUMNS": "80"} | environ,
    )  # fmt: skip
    os.close(theirs)
    piped: list[bytes] = []
    pipes = [each for each in (child.stdout, child.stderr) if each is not None]
    threads = [threading.Thread(target=lambda pipe=pipe: piped.append(pipe.read())) for pipe in pipes]
    for thread in threads:
        thread.start()
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:
        pass
    os.close(ours)
    for thread in threads:
        thread.join()
    assert child.wait(PATIENCE) == 0, (shown, piped)
    return shown.decode(), b"".join(piped).decode()


def test_in_a_terminal_it_is_shown_and_goes() -> None:
    shown, _ = run(SCRIPT, stdout=True, stderr=True)
    assert r"reading [red]a\x1b[2J" in shown
    assert "25%" in shown
    assert "short" not in shown
    assert "\x1b[2J" not in shown
    assert "a line" in re.split(r"\x1b\[2K|\r|\n", shown), "not behind what is erased later"
    assert shown.rindex("the end") > shown.rindex("reading")


def test_what_is_printed_stays_in_its_pipe() -> None:
    shown, piped = run(SCRIPT, stdout=False, stderr=True)
    assert "reading" in shown
    assert piped == "a line\nthe end\n"


@pytest.mark.parametrize("environ", [{}, {"SURICATE_QUIET": "1"}])
def test_in_pipes_and_in_quiet_nothing_is_shown(environ: dict[str, str]) -> None:
    shown, piped = run(SCRIPT, stdout=False, stderr=bool(environ), **environ)
    assert (shown, piped) == ("", "a line\nthe end\n")


def test_nothing_is_shown_before_two_seconds_and_then_all_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock of its own, and without the thread."""
    now, display = [100.0], Display()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(display, "_is_watched", True)
    outer = working("outer")
    outer.began = now[0]
    display.add(outer)
    now[0] += 1.9
    display.refresh()
    assert outer.row is None
    inner = working(lambda: "inner")
    inner.began = now[0]
    display.add(inner)
    now[0] += 0.2
    display.refresh()
    assert outer.row is not None
    assert inner.row is None
    rows: Any = display._rows
    outer(3, 4)
    outer.what = "other words"
    now[0] += 2
    display.refresh()
    assert [(row.description, row.completed, row.total) for row in rows.tasks] == [
        ("other words, 4 s", 3, 4),
        ("inner, 2 s", 0, None),
    ]
    display.remove(inner)
    assert [row.description for row in rows.tasks] == ["other words, 4 s"]
    display.remove(outer)
    assert display._rows is None
    assert not rows.live.is_started


def test_what_has_the_screen_has_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_notebook", lambda: True)
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    assert progress.can_show()
    monkeypatch.setattr(DISPLAY, "is_hidden", True)
    assert not progress.can_show()


def test_a_notebook_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type("OutStream", (), {"__module__": "ipykernel.iostream", "isatty": lambda self: False})
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    monkeypatch.setattr(sys, "stderr", kind())
    assert progress.can_show()
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress.can_show()


def test_the_thread_ends_when_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    display = Display()
    monkeypatch.setattr(progress, "TICK", 0.001)
    works = [working("a"), working("b")]
    for work in works:
        work.began = time.monotonic()
        display.add(work)
    thread = next(each for each in threading.enumerate() if each.name == "suricate progress")
    for work in works:
        display.remove(work)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not display._is_watched


def test_long_work_says_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Files, large batches, computations from scratch, and slides of jobs."""
    import numpy as np

    import suricate as su
    import suricate.graph
    import suricate.stream as st

    said: list[str] = []
    monkeypatch.setattr(progress, "can_show", lambda: True)
    monkeypatch.setattr("suricate.stream.window.can_show", lambda: True)
    monkeypatch.setattr(sys.modules["suricate.plugins.algorithm"], "can_show", lambda: True)  # a function's name, too
    monkeypatch.setattr(DISPLAY, "add", lambda work: said.append(text_of(work)))
    monkeypatch.setattr(DISPLAY, "remove", lambda work: said.append("."))
    monkeypatch.setattr(suricate.graph, "BULK", 3)
    graph = su.Graph(4, device="cpu")
    graph.insert_edges(np.array([0, 1]), np.array([1, 2]))
    graph.insert_edges(np.array([0, 1, 2]), np.array([1, 2, 3]))
    assert graph.compute("wcc").num_components == 1
    su.write(graph, tmp_path / "a.csv")
    su.read(tmp_path / "a.csv")
    graph.save(tmp_path / "a.npz")
    su.Graph.load(tmp_path / "a.npz", device="cpu")
    job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
    assert len([*job]) == 2
    outer = [text for text in said if text != "."]
    assert said.count(".") == len(outer)
    first = {text: outer.index(text) for text in reversed(outer)}
    expected = ["inserting 3 edges", "computing wcc from scratch", "writing a.csv", "reading a.csv", "writing a.npz",
                "loading a.npz", "building the graph of a.npz", "slide 1: 0 events read"]  # fmt: skip
    assert sorted(expected, key=first.__getitem__) == expected
    assert any(text.startswith("slide 2: ") for text in outer)


def test_progress_of_ones_own_takes_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    import suricate as su

    (tmp_path / "a.txt").write_text("0 1\n1 2\n")
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(progress, "can_show", lambda: pytest.fail("shown"))
    su.read(tmp_path / "a.txt", progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (8, 8)


def test_a_function_that_is_decorated_is_work_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "can_show", lambda: True)
    seen: list[working] = []
    monkeypatch.setattr(DISPLAY, "add", seen.append)
    monkeypatch.setattr(DISPLAY, "remove", lambda work: None)

    @worked("counting")
    def count(most: int) -> int:
        return most and 1 + count(most - 1)

    assert count(3) == 3
    assert len({*map(id, seen)}) == 4
    assert {work.what for work in seen} == {"counting"}


def test_a_child_of_fork_prints_to_what_its_parent_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of ``rich`` replace the two streams while they are shown, by objects that need the lock of its console."""
    monkeypatch.setattr(progress, "is_terminal", lambda stream: True)
    plain = io.StringIO(), io.StringIO()
    for name, stream in zip(("stdout", "stderr"), plain, strict=True):
        monkeypatch.setattr(sys, name, stream)
    display, now = Display(), time.monotonic()
    monkeypatch.setattr(display, "_is_watched", True)
    monkeypatch.setattr(Console, "is_terminal", True)  # it asks the stream, once
    work = working("reading")
    work.began = now - 10
    display.add(work)
    display.refresh()
    rows = display._rows
    assert (sys.stdout, sys.stderr) != plain
    display.forget()
    assert (sys.stdout, sys.stderr) == plain
    assert rows is not None
    rows.stop()
    monkeypatch.setattr(sys, "stdout", None)
    display.forget()


class Gone(io.StringIO):
    """A terminal that was closed while a program writes to it."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_work_goes_on_when_its_terminal_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    display, failed = Display(), list[Any]()
    monkeypatch.setattr(progress, "DISPLAY", display)
    monkeypatch.setattr(progress, "TICK", 0.01)
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with working("reading"):
        deadline = time.monotonic() + PATIENCE
        while not display.is_hidden and time.monotonic() < deadline:
            time.sleep(0.01)
    assert display.is_hidden
    assert not failed


def test_what_takes_the_place_of_stderr_need_be_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SURICATE_QUIET", raising=False)
    closed = io.StringIO()
    closed.close()
    for other in (None, closed, object()):
        monkeypatch.setattr(sys, "stderr", other)
        with working("reading"):
            assert not progress.can_show()
