"""Writing Parquet and Arrow IPC files, through pyarrow."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.intake.tables import DIRECTED
from suricate.io.table_reading import VERTICES, load_pyarrow


def write_table(
    file: IO[bytes], format: str, columns: dict[str, np.ndarray], labels: np.ndarray | None, **facts: Any
) -> None:
    """Write columns (``src``, ``dst``, maybe ``weight`` and ``time``) to an open file, with original ids if given.

    ``facts``: ``num_vertices``, ``directed``, ``time_unit`` (``time`` becomes a timestamp in UTC), and ``stream``
    (Arrow's stream format instead of its file format).
    """
    pa = load_pyarrow()
    arrays = {name: pa.array(values) for name, values in columns.items()}
    if labels is not None:
        known = _label_array(labels)
        for name in ("src", "dst"):
            arrays[name] = known.take(arrays[name])
    if "time" in arrays and facts["time_unit"] is not None:
        arrays["time"] = arrays["time"].cast(pa.timestamp(facts["time_unit"], "UTC"))
    metadata = {DIRECTED: str(facts["directed"]).lower()}
    if labels is None:
        metadata[VERTICES] = str(facts["num_vertices"])
    table = pa.table(arrays).replace_schema_metadata(metadata)
    if format == "parquet":
        pa.parquet.write_table(table, file)
    else:
        with (pa.ipc.new_stream if facts["stream"] else pa.ipc.new_file)(file, table.schema) as writer:
            writer.write_table(table)


def _label_array(labels: np.ndarray) -> Any:
    pa = load_pyarrow()
    if labels.dtype.kind in "iu":
        return pa.array(labels)
    try:
        return pa.array([str(label) for label in labels], pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException) as error:
        raise ParameterError("ids that are not valid UTF-8 fit into text formats only") from error
