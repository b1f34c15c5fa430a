"""One HTML file with the tables and the pictures of results."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rich.console import Console

WIDTH = 160  #: columns of the tables

PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>suricate bench</title>
<style>
body {{ font-family: sans-serif; margin: 2em }}
pre {{ font-size: 13px }}
svg {{ max-width: 100%; height: auto }}
</style>
</head>
<body>
{tables}
{pictures}
</body>
</html>
"""


def write(path: Path, printed: Console, pictures: dict[str, Any]) -> None:
    """Write an HTML page of everything that the recording console ``printed`` has printed, and of ``pictures`` as SVG.

    ``pictures``: matplotlib figures by name.
    """
    tables = printed.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    path.write_text(PAGE.format(tables=tables, pictures="\n".join(_svg(figure) for figure in pictures.values())))


def recorder() -> Console:
    """Return a console that shows nothing and records what is printed to it, for :func:`write`."""
    return Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue()[text.getvalue().index("<svg") :]
