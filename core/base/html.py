"""HTML tables of a few rows, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

VALUES = 5  #: of an array that is shown


def result_html(result: Any) -> str:
    """Return an HTML table of the fields of ``result``, a NamedTuple: name, type, shape and first values of each."""
    rows = [(name, *_described(getattr(result, name))) for name in result._fields]
    return table((type(result).__name__, "type", "values"), rows)


def _described(value: Any) -> tuple[str, str]:
    shape = getattr(value, "shape", ())
    if not shape:
        return type(value).__name__, str(value)
    first = ", ".join(map(str, np.ravel(value[:VALUES])[:VALUES].tolist()))
    return f"{value.dtype}{list(shape)}", f"{first}{', ...' if len(value) > VALUES else ''}"


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table with the header row ``head`` and the body ``rows``; cells become text, None an empty one."""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _text(cell: Any) -> str:
    return "" if cell is None else escape(str(cell))
