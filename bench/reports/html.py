"""One HTML file with the tables and the pictures of results; it asks for nothing else. Tables are sorted by a click."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from suricate.bench.reports.colours import GREY, NO_DIFFERENCE, pale, shade
from suricate.bench.reports.text import label
from suricate.cli.terminal import Grid

LEADER = re.compile(r"(?P<backend>.+)\n.*?(?:(?P<lead>[\d.]+)x|alone)")  #: a cell of the crossover map
EMPTY = "empty: not measured, as the batch is larger than the graph, or nothing there computes it; -: left out"

PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>suricate bench</title>
<style>
body {{ font-family: sans-serif; margin: 2em; color-scheme: light; background: white; color: black }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }}
div {{ overflow-x: auto }}
h2 {{ font-size: 16px; margin: 2em 0 .5em }}
th {{ cursor: pointer; text-align: left; vertical-align: bottom; border-bottom: 2px solid #888 }}
th, td {{ padding: .2em .7em }}
td {{ border-bottom: 1px solid #ddd }}
td + td {{ text-align: right }}
td:empty {{ background: repeating-linear-gradient(45deg, #fff 0 5px, #f3f3f3 5px 10px) }}
.legend span {{ padding: .2em .7em; margin-right: .5em }}
svg {{ max-width: 100%; height: auto }}
</style>
</head>
<body>
<h1>suricate bench</h1>
<details><summary>machines, versions and runs</summary><pre>{about}</pre></details>
<p class="legend">{legend}</p>
<p>{empty}. A click on the head of a column sorts by it, another one the other way.</p>
{pictures}
{tables}
<script>
const units = {{ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9}};
function value(cell) {{
  const text = cell.innerText.trim(), found = text.match(/^([-+]?[\\d,]*\\.?\\d+(?:e[-+]?\\d+)?)\\s*([a-zA-Z]*)/);
  const power = text.match(/^2\\^(\\d+)$/);
  if (power) return 2 ** Number(power[1]);
  if (text === "-") return "";
  return found ? Number(found[1].replaceAll(",", "")) * (units[found[2]] ?? 1) : text;
}}
function order(a, b, sign) {{
  if ((a === "") !== (b === "")) return a === "" ? 1 : -1;
  return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
}}
for (const head of document.querySelectorAll("th")) head.onclick = () => {{
  const body = head.closest("table").tBodies[0], sign = head.dataset.up === "1" ? -1 : 1;
  head.dataset.up = sign === 1 ? "1" : "0";
  const rows = [...body.rows].map(row => [value(row.cells[head.cellIndex]), row]);
  rows.sort((a, b) => order(a[0], b[0], sign)).forEach(row => body.append(row[1]));
}};
</script>
</body>
</html>
"""


def write(path: Path, about: str, backends: Iterable[str], grids: Iterable[Grid], pictures: dict[str, Any]) -> None:
    """Write an HTML page of tables and of ``pictures``, matplotlib figures by name, as SVG.

    ``about``: text on the runs; ``backends``: those of the legend.
    """
    names = {label(name): name for name in backends}
    legend = [_patch(pale(name), told) for told, name in names.items()]
    legend.append(_patch(GREY, f"no difference: less than {NO_DIFFERENCE:g} times as fast as the next"))
    tables = "\n".join(_table(grid, names) for grid in grids)
    shown = "\n".join(_svg(figure) for figure in pictures.values())
    text = PAGE.format(
        about=escape(about), legend=" ".join(legend), empty=EMPTY.capitalize(), pictures=shown, tables=tables
    )
    path.write_text(text)


def _patch(shown: str, text: str) -> str:
    return f'<span style="background: {shown}">{escape(text)}</span>'


def _table(grid: Grid, names: dict[str, str]) -> str:
    heads = "".join(f"<th{_colour(names, name)}>{escape(name)}</th>" for name in grid.columns)
    rows = ["".join(_cell(names, str(cell)) for cell in row) for row in grid.rows]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    table = f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f"<h2>{escape(grid.name)}</h2>\n<div>{table}</div>"


def _cell(names: dict[str, str], text: str) -> str:
    found = LEADER.fullmatch(text)
    told = _colour(names, text)
    if found and found["backend"] in names:
        lead = float(found["lead"] or "inf")
        told = f' style="background: {shade(names[found["backend"]], lead)}"'
    return f"<td{told}>{'<br>'.join(map(escape, text.splitlines()))}</td>"


def _colour(names: dict[str, str], text: str) -> str:
    return f' style="background: {pale(names[text])}"' if text in names else ""


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue()[text.getvalue().index("<svg") :]
