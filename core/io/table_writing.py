"""Writing Parquet and Arrow IPC files, through pyarrow."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.intake.tables import DIRECTED
from suricate.io.edge_file import EdgeFile
from suricate.io.formats import STREAM_SUFFIX
from suricate.io.table_reading import VERTICES, load_pyarrow


def write_table(file: IO[bytes], format: str, edges: EdgeFile) -> None:
    """Write ``edges`` to an open file, with original ids if they have labels; times of a known unit in UTC."""
    pa = load_pyarrow()
    columns = {"src": edges.src, "dst": edges.dst, "weight": edges.weight, "time": edges.time, **edges.columns}
    arrays = {name: pa.array(values) for name, values in columns.items() if values is not None}
    metadata = {DIRECTED: str(edges.directed).lower()}
    if edges.labels is None:
        metadata[VERTICES] = str(edges.num_vertices)
    else:
        known = _label_array(edges.labels)
        arrays |= {name: known.take(arrays[name]) for name in ("src", "dst")}
    if edges.time_unit is not None and "time" in arrays:
        arrays["time"] = arrays["time"].cast(pa.timestamp(edges.time_unit, "UTC"))
    table = pa.table(arrays).replace_schema_metadata(metadata)
    if format == "parquet":
        pa.parquet.write_table(table, file)
        return
    is_stream = edges.path.suffix.lower() == STREAM_SUFFIX
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table)


def _label_array(labels: np.ndarray) -> Any:
    pa = load_pyarrow()
    if labels.dtype.kind in "iu":
        return pa.array(labels)
    try:
        return pa.array([str(label) for label in labels], pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException) as error:
        raise ParameterError("ids that are not valid UTF-8 fit into text formats only") from error
