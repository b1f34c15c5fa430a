"""Files in stretches, so that several processes read one: bytes of text in which lines begin, groups of rows of tables.

No field of a text file has a line end, so every line end is one between lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from suricate.io import files
from suricate.io.compression import kind_of, split_suffix
from suricate.io.encodings import BYTES, UTF8
from suricate.io.formats import Layout, first_row, head_and_layout, table_format
from suricate.io.options import ReadOptions

HEAD = 1 << 15  #: bytes of a text file that processes read to learn how its lines are built
FINE = 1 << 18  #: bytes of a stretch of text with names, which take so long that those of a slide are to be divided
WHOLE = 1 << 24  #: bytes up to which a table is one stretch: what it says of its groups need not be read by all
TEXT, ALL = "text", "all"  #: kinds of stretches, besides the formats of tables; ``ALL``: a file that is not divided


class Stretch(NamedTuple):
    """A part of the file ``path``: lines that begin in bytes, or groups of rows, from ``begin`` to before ``end``."""

    path: Path
    kind: str
    begin: int = 0
    end: int = 0


def stretches_of(
    path: Path, format: str | None, encoding: str, groups_of: Callable[[Path, str], int], most: int = files.CHUNK
) -> Iterator[Stretch]:
    """Yield the stretches of a file in order, at least one; ``format`` and ``encoding`` as for ``st.scan``.

    ``groups_of(path, format)`` returns the number of groups of rows of a table, 0 if it is not divided; ``most``: bytes
    of a stretch of text.
    """
    with open(path, "rb", buffering=0) as file:
        start, size = file.read(8), path.stat().st_size
    table = None if format == "events" else table_format(path, start, format)
    if format == "events" or size <= (files.CHUNK if table is None else WHOLE) or is_compressed(path, start):
        yield Stretch(path, ALL)
    elif table is not None:
        groups = range(groups_of(path, table))
        yield from [Stretch(path, table, at, at + 1) for at in groups] or [Stretch(path, ALL)]
    elif not is_cut_at_lines(encoding):
        yield Stretch(path, ALL)
    else:
        step = min(files.CHUNK, most)
        for begin in range(0, size, step):
            yield Stretch(path, TEXT, begin, min(begin + step, size))


def is_compressed(path: Path, start: bytes) -> bool:
    """Return whether a file that starts with ``start`` is compressed as a whole."""
    return bool(kind_of(start) or split_suffix(path)[1])


def is_cut_at_lines(encoding: str) -> bool:
    """Return whether text can be decoded from any line on: each byte is a character, or lines end as in UTF-8."""
    if encoding in (UTF8, BYTES):
        return True
    return len(bytes(range(256)).decode(encoding, "replace")) == 256 and b"\n".decode(encoding, "replace") == "\n"


def begin_of(path: Path, format: str | None, options: ReadOptions) -> tuple[Layout, int]:
    """Return how the lines of a text file are built, and how many bytes are before the first one behind the header."""
    most = HEAD
    while True:
        with files.ByteSource(path, None, options.encoding, span=(0, most)) as source:
            head, layout = head_and_layout(path, source.chunks(), format, options)
            if first_row(layout, head) is not None or most >= source.size:
                header = head[: layout.header_bytes]
                if header and options.encoding in (UTF8, BYTES):
                    return layout, len(header) + 3 * source.start.startswith(files.MARK_OF_ORDER)
                return layout, len(header.decode("utf-8", "surrogatepass"))
        most *= 16


class LineCount:
    """The number of line ends before a byte of a file, counted when it is asked for, from the last one asked for on."""

    def __init__(self) -> None:
        self._path, self._at, self._lines = Path(), 0, 0

    def before(self, path: Path, at: int) -> int:
        """Return the number of line ends in the first ``at`` bytes of the file ``path``."""
        if path != self._path or at < self._at:
            self._path, self._at, self._lines = path, 0, 0
        with open(path, "rb", buffering=0) as file:
            file.seek(self._at)
            while self._at < at and (piece := file.read(min(files.CHUNK, at - self._at))):
                self._at, self._lines = self._at + len(piece), self._lines + files.newlines(piece)
        return self._lines
