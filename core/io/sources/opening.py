"""Sources from what users have: a table, chunks of one, a function, files, or a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from suricate.base.errors import ParameterError
from suricate.base.parameters import shown
from suricate.intake.tables import column_names, is_lazy, is_stream
from suricate.io.sources.all_ranks import Shared
from suricate.io.sources.scan import ordered, scan
from suricate.io.sources.source import Chunks, Function, Source


def source(
    x: Any,
    *,
    columns: Mapping[str, str | int] | None = None,
    time_unit: str | None = None,
    order: str | None = None,
    prefetch: int | None = None,
    on_error: Any = "raise",
    max_wait: Any = None,
    max_rows: int | None = None,
) -> Source:
    """Return a source of events for ``st.Window``.

    >>> import suricate.stream as st
    >>> payments = {"payer": [0, 1], "payee": [1, 2], "time": [1, 2], "eur": [9.5, 3.0]}
    >>> src = st.source(payments, columns={"src": "payer", "dst": "payee", "amount": "eur"}, time_unit="s")
    >>> job = st.Window(src, size="1d", slide="1d", attributes={"amount": "sum"}, graph={"device": "cpu"})
    >>> [w.graph.edge_columns["amount"].tolist() for w in job]
    [[9.5, 3.0]]

    Args:
        x: a dict of arrays, a frame, an Arrow table, or an iterable of them; a function: ``x(position)`` yields
            (position behind the chunk, chunk), and None is the start; files, as ``st.scan`` takes them; partitions of
            a Dask DataFrame, as a job on Dask gets them; or a source.
            In place of chunks there may be rows: dicts of values, tuples ``(time, src, dst, weight, kind)``, of which
            the last two may be missing, or ``(src, dst)``; or lists of rows. Iterables and what functions return may
            be asynchronous. Rows of a live source, and asynchronous sources, are read by a thread, and are silent when
            nothing comes.
        columns: where each value is found: the column of ``src``, ``dst``, ``time``, ``weight``, ``kind`` and of the
            attributes of the window. By default columns are named like that; ends may have other usual names
            (``source`` and ``target``; see docs/formats.md).
        time_unit: the unit of times that are numbers: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; None: there is none, in
            files ``"s"``.
        order: ``"time"`` sorts the events, a finite number, in memory.
        prefetch: about how many slides a thread reads and parses before the loop asks for them, at least one chunk; 0:
            none. None: 2 for files, else 0, as ``x`` is the user's code.
        on_error: what happens to rows that cannot be read and events that the window refuses: ``"raise"``, ``"skip"``
            (``job.skipped`` counts them), or the name of a CSV file to append them to.
        max_wait, max_rows: rows are joined to chunks: for how long one waits for further ones, a duration, by default
            10 ms, and how many are enough, by default 10,000. They change how soon a slide closes, never a slide.

    Raises:
        ParameterError: ``x`` is none of these, or an option is invalid or not for ``x``.
    """
    if isinstance(x, Source):
        if (columns, time_unit, prefetch, on_error, max_wait, max_rows) != (None, None, None, "raise", None, None):
            raise ParameterError("source: give options but order to the source that this wraps: columns, say")
        return ordered(x, order, None)
    given: dict[str, Any] = {"columns": columns, "time_unit": time_unit, "prefetch": prefetch, "on_error": on_error}
    if _is_path(x) or (isinstance(x, list | tuple) and x and all(map(_is_path, x))):
        if (max_wait, max_rows) != (None, None):
            raise ParameterError("source: max_wait and max_rows are for rows, not for files")
        return scan(x, order=order, **given)
    if isinstance(x, Shared):
        if (max_wait, max_rows) != (None, None):
            raise ParameterError("source: max_wait and max_rows are for rows, not for partitions")
        return ordered(x.as_source(**given), order, prefetch)
    given |= {"max_wait": max_wait, "max_rows": max_rows}
    if is_stream(x) or is_lazy(x) or column_names(x) is not None:
        return ordered(Chunks([x], **given), order, prefetch)
    if hasattr(x, "__aiter__"):
        return ordered(Chunks(x, **given), order, prefetch)
    if isinstance(x, Iterable) and getattr(x, "ndim", None) != 0:
        return ordered(Chunks(x, **given), order, prefetch)
    if not callable(x) or isinstance(x, type):
        raise ParameterError(f"a source is a table, an iterable of tables, a function or a file, got {shown(x)}")
    return ordered(Function(x, **given), order, prefetch)


def as_source(x: Any) -> Source:
    """Return ``x`` if it is a source, else ``source(x)``."""
    return x if isinstance(x, Source) else source(x)


def _is_path(x: Any) -> bool:
    return isinstance(x, str | os.PathLike)
