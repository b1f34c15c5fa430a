"""The options of ``read``, validated once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from suricate.base.errors import ParameterError
from suricate.base.parameters import dtype, flag, integer, shown
from suricate.base.types import MAX_VERTICES, WEIGHT_DTYPES
from suricate.io.encodings import UTF8, checked_encoding

#: the column of a role, by its name in the header or its position from 0
Columns = Mapping[str, str | int]


class Advice(NamedTuple):
    """What messages advise: options that the function has which the user called."""

    texts: str  #: how ids are read as texts
    columns: str  #: how columns are chosen
    numbers: str  #: what takes any integers as ids, in brackets
    events: str  #: how event files are read


READ = Advice(
    "relabel='text' (--relabel text)", "columns={'src': 0, 'dst': 1} (--columns)",
    " (relabel maps any 64-bit ids to 0..n-1)", "suricate.io.read_events",
)  # fmt: skip
SCAN = Advice(
    "texts=True (--texts)", "src=0, dst=1 (--columns src=0,dst=1)", "", "format='events' (--from events)"
)  # fmt: skip


@dataclass
class FirstRow:
    """What the first row of a source says about all its files: None: nothing yet."""

    texts: bool | None = None  #: whether ids are texts
    zoned: bool | None = None  #: whether its times in ISO 8601 have a zone


@dataclass(frozen=True)
class ReadOptions:
    """The options of ``suricate.read``, and some for windows, validated; ``ParameterError`` for wrong ones."""

    relabel: bool | Literal["text"] = False
    columns: Columns | None = None
    delimiter: str | None = None
    first_id: int | None = None
    num_vertices: int | None = None
    weight_dtype: DTypeLike | None = None
    directed: bool | None = None
    edge_columns: Mapping[str, str | int] | Sequence[str] = ()
    encoding: str = UTF8
    time_scale: int = 0  #: nanoseconds per unit of times that are numbers, maybe with fractions; 0: whole numbers
    names: bool | None = None  #: whether ids become names, so that ``007`` is not ``7``; None: if they are mapped
    first: FirstRow = field(default_factory=FirstRow)  #: known for the later files of a source
    advice: Advice = READ

    def __post_init__(self) -> None:
        object.__setattr__(self, "edge_columns", _named_columns(self.edge_columns))
        object.__setattr__(self, "encoding", checked_encoding(self.encoding))
        if not isinstance(self.relabel, bool | str) or self.relabel not in (True, False, "text"):
            raise ParameterError(f"relabel must be True, False or 'text', got {self.relabel!r}")
        check_columns(self.columns)
        _check_delimiter(self.delimiter)
        for name, most in (("first_id", 2**64 - 1), ("num_vertices", MAX_VERTICES)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, integer(name, getattr(self, name), low=0, high=most))
        if self.weight_dtype is not None:
            dtype("weight_dtype", self.weight_dtype, [known.name for known in WEIGHT_DTYPES])
        if self.directed is not None:
            flag("directed", self.directed)

    @property
    def further(self) -> dict[str, str | int]:
        """The columns of edges to read: a dict from name to the column of the file, by name or position."""
        assert isinstance(self.edge_columns, dict)
        return self.edge_columns

    @property
    def dtype(self) -> np.dtype | None:
        """The dtype that the user chose for the weights; None: it depends on the weights."""
        return None if self.weight_dtype is None else np.dtype(self.weight_dtype)


def _named_columns(given: object) -> dict[str, str | int]:
    """Return the option ``edge_columns`` as a dict from name to name or position in the file."""
    if isinstance(given, Mapping):
        columns = dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        columns = {name: name for name in given}
    else:
        form = "a list of names, or a dict such as {'fee': 3}"
        raise ParameterError(f"edge_columns must be {form}, got {shown(given)}")
    for name, place in columns.items():
        if not isinstance(name, str) or not name:
            raise ParameterError(f"edge_columns: {shown(name)} is no name")
        if not isinstance(place, str):
            integer(f"edge_columns[{name!r}]", place, low=0)
    return columns


def check_columns(columns: object) -> None:
    """Raise ``ParameterError`` unless ``columns`` is None, or a dict to names or positions of columns."""
    if columns is None:
        return
    if not isinstance(columns, Mapping):
        raise ParameterError(f"columns must be a dictionary such as {{'src': 'payer', 'dst': 1}}, got {columns!r}")
    for role, place in columns.items():
        if not isinstance(place, str):
            integer(f"columns[{role!r}]", place, low=0)


def _check_delimiter(delimiter: object) -> None:
    if delimiter is None:
        return
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ParameterError(f"delimiter must be one ASCII character, no quote or newline, got {delimiter!r}")
