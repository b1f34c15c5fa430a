"""Tables as Markdown, for pull requests, and as LaTeX, for papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

from suricate.cli.grids import Grid, rounded

LATEX = str.maketrans(
    {name: f"\\{name}" for name in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
)


def marked_up(format: str, grids: Sequence[Grid], facts: Mapping[str, Any]) -> str:
    """Return facts and tables as text in a ``format``, "markdown" or "latex"; columns of numbers are on the right."""
    if format == "markdown":
        lines = [f"{_plain(name)}: {_plain(value)}" for name, value in facts.items()]
        return "\n\n".join(["  \n".join(lines)] * bool(lines) + [_markdown(grid) for grid in grids]) + "\n"
    lines = [f"% {name}: {rounded(value)}" for name, value in facts.items()]
    return "\n".join([*lines, *(_latex(grid) for grid in grids)]) + "\n"


def _markdown(grid: Grid) -> str:
    rows = [list(map(_plain, row)) for row in (grid.columns, *grid.rows)]
    rule = ["---:" if right else "---" for right in _numeric(grid)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _plain(value: Any) -> str:
    """Return a value as text that Markdown shows as it is, in one line."""
    text = " ".join(rounded(value).split())
    for special in "\\`*_|<[":
        text = text.replace(special, f"\\{special}")
    return text


def _latex(grid: Grid) -> str:
    """Return a table that needs no package."""
    kinds = "".join("r" if right else "l" for right in _numeric(grid))
    rows = [" & ".join(map(_escaped, row)) + r" \\" for row in (grid.columns, *grid.rows)]
    lines = [r"\begin{table}", rf"\caption{{{_escaped(grid.name)}}}", rf"\begin{{tabular}}{{{kinds}}}", r"\hline"]
    return "\n".join([*lines, rows[0], r"\hline", *rows[1:], r"\hline", r"\end{tabular}", r"\end{table}"])


def _escaped(value: Any) -> str:
    text = rounded(value)
    if isinstance(value, float) and "e" in text:
        digits, _, power = text.partition("e")
        return rf"${digits} \cdot 10^{{{int(power)}}}$"
    return text.translate(LATEX)


def _numeric(grid: Grid) -> list[bool]:
    """Return of each column whether it holds numbers, and nothing else."""
    held = [[value for value in column if value is not None] for column in zip(*grid.rows, strict=True)]
    held = held or [[] for _ in grid.columns]
    return [bool(column) and all(isinstance(value, Number) for value in column) for column in held]
