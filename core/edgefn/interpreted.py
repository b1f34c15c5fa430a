"""Find the source of a function that was typed into an interpreter: Python 3.13 keeps it, before, the history has it.

What is found in the history is compiled and compared with the function, so it is never another one.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

NEWEST, LONGEST = 2000, 60  #: lines of the history that are searched, and of a statement


def typed_lines(code: CodeType) -> tuple[str, ...]:
    """Return the lines of the statement with the function of ``code``; empty if it was not typed, or is forgotten."""
    kept: Any = getattr(linecache, "_getlines_from_code", None)
    if kept is not None and (lines := kept(code)):
        return tuple(lines)
    history, facts = _history(), _facts(code)
    word = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    for place in reversed(range(len(history))):
        begin = place + 1 - code.co_firstlineno
        for end in range(place + 1, min(begin + LONGEST, len(history)) + 1) if begin >= 0 else ():
            lines = tuple(f"{line}\n" for line in history[begin:end])
            if any(word in line for line in lines) and facts in map(_facts, _functions("".join(lines))):
                return lines
    return ()


def _history() -> list[str]:
    """Return the newest lines that were typed into the interpreter, if it has a history."""
    readline: Any = sys.modules.get("readline")
    if readline is None:
        return []
    length = readline.get_current_history_length()
    entries = [readline.get_history_item(at) for at in range(max(1, length - NEWEST), length + 1)]
    return [line for entry in entries for line in (entry or "").splitlines()]


def _functions(text: str) -> Iterator[CodeType]:
    """Yield the code of all functions in ``text``, if it is Python."""
    try:
        found = [compile(text, "<stdin>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return
    while found:
        inner = [part for part in found.pop().co_consts if isinstance(part, CodeType)]
        yield from inner
        found += inner


def _facts(code: CodeType) -> tuple[Any, ...]:
    return code.co_name, code.co_code, code.co_consts, code.co_names, code.co_varnames, tuple(code.co_positions())
