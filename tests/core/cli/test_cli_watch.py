"""``suricate stream`` for people: pages, sparklines in a terminal, and names that would steer it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_calls import call
from patience import PATIENCE
from rich.cells import cell_len

pytestmark = pytest.mark.plain

EVIL = ["<script>alert(1)</script>", "[red]a[/red]", "\x1b]0;title\x07b", "\x1b[2Jc"]
DAYS = ("--names", "--columns", "src=payer,dst=payee,time=ts", "--device", "cpu", "--window", "2d", "--slide", "1d")
STEERS = re.compile(r"\x1b\[[0-9;?]*([A-Za-z])")  #: what rich writes to move and colour


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    file = tmp_path / "paid.csv"
    rows = [f'"{EVIL[at % 4]}","{EVIL[(at * at + 1) % 4]}",2024-01-{at // 4 + 1:02}\n' for at in range(40)]
    file.write_text("payer,payee,ts\n" + "".join(rows))
    return file


def in_terminal(*arguments: object, columns: int = 80) -> str:
    """Run a command in a terminal; return what it writes there."""
    ours, theirs = pty.openpty()
    environ = os.environ | {"COLUMNS": str(columns), "LINES": "60", "TERM": "xterm", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "suricate", *map(str, arguments)]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # it has ended
        pass
    os.close(ours)
    assert child.wait(PATIENCE) == 0, shown
    return shown.decode()


def test_watching_shows_sparklines_that_fit(paid: Path) -> None:
    shown = in_terminal("stream", paid, *DAYS, "--track", "pagerank", "--track", "wcc", "--watch")
    moves = {found.group(0)[-1] for found in STEERS.finditer(shown)}
    assert moves <= {"A", "K", "h", "l"}, "up, erase, cursor: no colours, and nothing of the names"
    lines = [line for line in STEERS.sub("", shown).replace("\r", "\n").splitlines() if line]
    assert max(map(cell_len, lines)) <= 80
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", STEERS.sub("", shown).replace("\r", ""))
    last = lines[max(at for at, line in enumerate(lines) if line.startswith("newest slide")) :]
    assert last[0].startswith("newest slide 2024-01-11, slides 10, events 40")
    assert re.search("^events per slide +[▁-█]{10} +4$", last[1])
    (script,) = [line for line in last if line.startswith("  <script>alert(1)</scr")]
    assert re.search(r"[▁-█]{9,10} +0\.\d+$", script)
    assert any(line.startswith("  [red]a[/red] ") for line in last)
    assert any(line.startswith(r"  \x1b[2Jc ") for line in last)
    assert any(line.startswith("wcc") for line in last)
    assert "10 slides, 40 events" in last[-1]


def test_watching_needs_a_terminal_and_else_prints_lines(paid: Path) -> None:
    plain, watched = (call("stream", paid, *DAYS, *more) for more in ([], ["--watch"]))
    assert plain.exit_code == watched.exit_code == 0, watched.output
    assert watched.stdout == plain.stdout
    assert "\x1b" not in watched.output
    for more in (("--format", "json"), ("--track", "wcc", "--output", "-")):
        result = call("stream", paid, *DAYS, "--watch", *more)
        assert result.exit_code == 2
        assert "--watch takes the screen" in result.output


def test_a_page_and_its_errors(paid: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = call("stream", paid, *DAYS, "--track", "pagerank", "--html", page)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script" not in text
    assert "\x1b" not in text
    for option, file in (
        ("--html", "none/page.html"),
        ("--plot", "none/a.svg"),
        ("--plot", "paid.csv"),
        ("--html", "paid.csv"),
    ):
        result = call("stream", paid, *DAYS, option, tmp_path / file)
        assert result.exit_code == 2, option
        assert not result.stdout
    result = call("stream", paid, *DAYS, "--html", tmp_path / "a.svg", "--plot", tmp_path / "a.svg")
    assert result.exit_code == 2
    assert not result.stdout


def test_a_long_name_does_not_take_the_screen(tmp_path: Path) -> None:
    file, name = tmp_path / "long.csv", "n" * 3000
    file.write_text(f"time,src,dst\n1,{name},b\n2,b,c\n")
    options = ("--names", "--window", "9s", "--slide", "9s", "--track", "pagerank", "--device", "cpu")
    shown = in_terminal("stream", file, *options).replace("\r", "")
    assert re.search(r"^3 +0 +n{25}… +0\.18", shown, re.MULTILINE)
    assert max(map(len, shown.splitlines())) <= 80
    assert name in call("stream", file, *options).output, "a pipe has all of it"


@pytest.mark.slow
def test_names_do_not_steer_the_terminal(paid: Path) -> None:
    """Tables, CSV in a terminal, and errors; files and pipes have the names as they are."""
    for form in ("table", "csv"):
        shown = in_terminal("stream", paid, *DAYS, "--track", "pagerank", "--format", form, "--top", 4)
        assert "\x1b]0" not in shown
        assert "\x1b[2J" not in shown
        assert r"\x1b[2Jc" in shown
        assert "[red]a[/red]" in shown
    assert "\x1b[2Jc" in call("stream", paid, *DAYS, "--track", "pagerank", "--format", "csv").stdout
    result = call("stream", paid, *DAYS, "--track", "bfs", "--param", "source=\x1b[2J", "--param", "x=\x1b[2J")
    assert "\x1b" not in result.output


def test_frames_and_tables_of_notebooks_escape_names() -> None:
    import numpy as np

    from suricate.graph.frames import Frame

    frame = Frame({"name": np.array(EVIL, object), "value": np.arange(4)})
    assert "\x1b" not in repr(frame)
    assert len(repr(frame).splitlines()) == 5
    assert "<script" not in frame._repr_html_()


@pytest.mark.slow
def test_the_picture_of_the_readme_is_what_its_command_draws(tmp_path: Path) -> None:
    """Its texts are: titles, names, newest values; coordinates may differ with the version of matplotlib."""
    checkout = Path(__file__).parents[3]
    (command,) = re.findall(
        r"^`suricate (stream .*) --plot (\S+)`$", (checkout / "README.md").read_text(), re.MULTILINE
    )
    words = command[0].split()
    words[1] = str(checkout / words[1])
    result = call(*words, "--device", "cpu", "--plot", tmp_path / "new.svg")
    assert result.exit_code == 0, result.output
    old, new = ((re.findall(r"<text [^>]*>([^<]*)</text>", file.read_text())) for file in (
        checkout / command[1], tmp_path / "new.svg"))  # fmt: skip
    assert len(old) > 40
    assert {text for text in old if not text[0].isdigit()} == {text for text in new if not text[0].isdigit()}
    assert sum(text in new for text in old) > 0.9 * len(old)
