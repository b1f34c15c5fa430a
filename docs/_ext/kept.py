"""Run notebooks that need a GPU, and keep in the page what their cells print: ``python docs/_ext/kept.py PAGE...``.

A page that the site does not execute (``execution_mode: "off"``) has the outputs of its cells as ``text`` blocks
behind them, and a line that says when and where they were made, with a digest of the cells: a cell that was changed
since shows in the tests. It needs nothing but suricate and what the cells import. All pages are run before any is
written. ``--check`` runs them and writes nothing; ``--forget`` removes the outputs of cells that have been changed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import hashlib
import io
import linecache
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
STATE = re.compile(r"^> (?:Run on|Not run) .*\n", re.MULTILINE)
NOT_RUN = "> Not run on a GPU since the last change of its cells, so without outputs.\n"


def cells(text: str) -> list[str]:
    """Return the code of the cells of a page."""
    return [found[1] for found in CELL.finditer(text)]


def digest(text: str) -> str:
    """Return what tells the cells of a page from others."""
    return hashlib.sha256("\0".join(cells(text)).encode()).hexdigest()[:12]


def printed(code: str, name: str, namespace: dict[str, Any]) -> str:
    """Run a cell; return what it prints, and the value of its last expression, as a notebook shows it."""
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name  # edge functions need their source
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
            if value is not None:
                print(repr(value))
    return out.getvalue()


def outputs(page: Path) -> Iterator[str]:
    """Run the cells of a page in one namespace, and yield the output of each."""
    namespace = {"__name__": "__main__"}
    for number, code in enumerate(cells(page.read_text()), 1):
        print(f"{page.name}: cell {number}", file=sys.stderr)
        yield printed(code, f"<{page.stem}-{number}>", namespace)


def place() -> str:
    """Return the date, the cards and versions of this machine."""
    import cupy

    import suricate

    count, version = cupy.cuda.runtime.getDeviceCount(), cupy.cuda.runtime.runtimeGetVersion()
    card = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    day = datetime.datetime.now(datetime.UTC).date()
    numbers = f"CUDA {version // 1000}.{version % 1000 // 10}, Python {platform.python_version()}"
    return f"{day.day} {day:%B %Y} on {count} x {card} ({numbers}, suricate {suricate.__version__})"


def kept(text: str, outputs: list[str], where: str) -> str:
    """Return a page with other outputs, and the line that says where they come from."""
    parts = iter(outputs)

    def cell(found: re.Match[str]) -> str:
        out = next(parts).rstrip("\n")
        return f"```{{code-cell}} python\n{found[1]}```\n" + (f"\n```text\n{out}\n```\n" if out else "")

    line = f"> Run on {where}; the outputs below are of that day, cells `{digest(text)}`.\n" if where else NOT_RUN
    return STATE.sub(lambda _: line, CELL.sub(cell, text), count=1)


def stands(text: str) -> bool:
    """Return whether the outputs of a page are those of its cells, or it has none and says so."""
    line = STATE.search(text)
    if line is None:
        return False
    if line[0] == NOT_RUN:
        return all(found[2] is None for found in CELL.finditer(text))
    return f"cells `{digest(text)}`" in line[0]


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="run, and write nothing")
    parser.add_argument("--forget", action="store_true", help="run nothing; remove outputs of other cells")
    options = parser.parse_args(arguments)
    if options.forget:
        for page in options.pages:
            if not stands(text := page.read_text()):
                page.write_text(kept(text, [""] * len(cells(text)), ""))
        return
    made = {page: list(outputs(page)) for page in options.pages}
    for page, found in made.items():
        if options.check:
            print("\n".join(f"-- {page.name}, cell {n}\n{out}" for n, out in enumerate(found, 1)))
        else:
            page.write_text(kept(page.read_text(), found, place()))


if __name__ == "__main__":
    main()
