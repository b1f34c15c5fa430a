"""Batches of Parquet and Arrow files whose columns are read as those of text files: ids and times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.io.options import SCAN, FirstRow
from suricate.io.table_reading import Column, is_text, iso_times, load_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


def event_columns(
    path: Path, batch: pa.RecordBatch, roles: Mapping[str, str], first: FirstRow, *, names: bool, texts: bool
) -> pa.RecordBatch:
    """Return ``batch`` with times in ISO 8601 as timestamps, and ids (all of them ``texts``?) as the first row says."""
    pa = load_pyarrow()
    columns = {
        role: Column(path, name, batch.column(name)) for role, name in roles.items() if name in batch.schema.names
    }
    changed = {}
    ends = [columns[role] for role in ("src", "dst") if names and role in columns]
    are_texts = [is_text(column.decoded().type) for column in ends]
    if first.texts is None and ends:
        first.texts = texts or any(are_texts)
    for column, has_texts in zip(ends, are_texts, strict=True):
        if has_texts and not first.texts:
            raise column.error(f"has texts, and the ids before it are integers: {SCAN.texts} takes texts")
        if first.texts and not has_texts and pa.types.is_integer(column.values.type):
            changed[column.name] = column.cast(pa.string())
    time = columns.get("time")
    if time is not None and is_text(time.decoded().type):
        values = pa.chunked_array([time.decoded()])
        filled = time._replace(values=values.drop_null())
        found = np.full(len(values), np.datetime64("NaT", "ns"))
        found[np.asarray(values.is_valid())] = iso_times(filled, first, -1)
        changed[time.name] = pa.array(found)
    for name, values in changed.items():
        batch = batch.set_column(batch.schema.names.index(name), name, values)
    return batch
