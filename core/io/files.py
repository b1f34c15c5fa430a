"""Graph files as bytes: plain or compressed input in chunks of whole lines, and plain or compressed output."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.base.files import as_path, is_special, open_for_reading, replacing
from suricate.io.compression import MAGIC, compressed, decompressor, kind_of, other_kind, split_suffix
from suricate.io.encodings import BYTES, UTF8, as_utf8

CHUNK = 1 << 20  #: bytes that are read, decompressed and parsed at a time
TAIL = 1 << 12  #: bytes at a time in which the end of the last line of a stretch is looked for
SMALL = CHUNK  #: bytes (uncompressed) up to which a file is read without compiled code
MAX_LINE = 1 << 20  #: a longer line means that the file is not an edge list

Progress = Callable[[int, int], object]  #: called with (bytes of the file consumed, bytes of the file)

MARK_OF_ORDER = b"\xef\xbb\xbf"  #: what some programs write ahead of UTF-8
_START = 8  # bytes that tell compression and binary formats


class _DamagedError(Exception):
    """The compressed data is damaged."""


class ByteSource:
    """The uncompressed bytes of a file, in order; compression is recognised by the first bytes.

    :meth:`fetch` may read ahead in another thread than the one that uses the bytes; everything else, calls of
    ``progress`` included, happens in the latter. Memory is bounded, whatever the size of the file.

    Args:
        progress: called with (bytes of the file consumed, bytes of the file); None: nothing is called.
        encoding: what :meth:`chunks` translates to UTF-8; ``"utf-8"`` and ``"bytes"``: nothing.
        open_ended: the file may grow: a last line without its end, and the end of compressed data, wait.
        span: read the lines that begin in these bytes of the file, which is not compressed; None: all.

    Attributes:
        start: the first bytes of the file. compression: the extension of its compression, or ``""``. size: its bytes.
        consumed: up to which byte it was read. end: lines that begin behind this byte are not read.
        longest_line: bytes allowed in a line. lines: complete lines returned by :meth:`chunks` so far.

    Raises:
        FileFormatError: compressed data is damaged or ends too early, or a line is longer than ``longest_line``.
    """

    def __init__(
        self, path: str | os.PathLike[str], progress: Progress | None = None, encoding: str = UTF8, *,
        open_ended: bool = False, span: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.path, self._encoding, self._open_ended = as_path(path), encoding, open_ended
        self.lines, self.longest_line = 0, MAX_LINE
        self._progress = progress
        self.consumed, self.end = (0, sys.maxsize) if span is None else (max(span[0] - 1, 0), span[1])
        self._begins = span is None or span[0] == 0
        self._raw: IO[bytes] = open_for_reading(self.path)
        try:
            self.size = os.fstat(self._raw.fileno()).st_size
            self.start = self._ahead = self._read_start() if self._begins else b""
            self.compression = self._find_compression() if self._begins else ""
            self._fetched: deque[bytes | str] = deque()  # pieces, then "" or what is wrong with the next one
            if not self._begins:
                self._raw.seek(self.consumed)
            self._pieces = self._inflated() if self.compression else self._lines()
        except BaseException:
            self._raw.close()
            raise

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def _read_start(self) -> bytes:
        start = b""
        while len(start) < _START and (more := self._raw.read(_START - len(start))):
            start += more
        return start

    def _find_compression(self) -> str:
        kind = kind_of(self.start)
        by_name = split_suffix(self.path)[1]
        if self._open_ended and by_name and not kind and MAGIC[by_name].startswith(self.start):
            return by_name
        if by_name and by_name != kind:
            raise FileFormatError(self.path, 1, f"the name ends in {by_name}, but the file is not of that format")
        return kind

    def pieces(self) -> Iterator[bytes]:
        """Yield the uncompressed bytes in pieces of at most :data:`CHUNK` bytes, and the rest of a line."""
        while True:
            if not self._fetched:
                self.fetch(1)
            piece = self._fetched.popleft()
            if isinstance(piece, str):
                break
            yield piece
            self._report()
        if piece:
            raise FileFormatError(self.path, self.lines + 1, piece)
        self._report()

    def fetch(self, number: int) -> None:
        """Read and decompress until ``number`` pieces are ready, fetched ones too; of a pipe only one is awaited."""
        while len(self._fetched) < number and not (self._fetched and isinstance(self._fetched[-1], str)):
            if number > 1 and not self._has_input():
                return
            try:
                self._fetched.append(next(self._pieces, ""))
            except _DamagedError as error:
                self._fetched.append(str(error))

    def is_ready(self) -> bool:
        """Return whether the next bytes are there: whoever writes to a pipe may take long."""
        return bool(self._fetched) or self._has_input()

    def _has_input(self) -> bool:
        return not is_special(self.path) or bool(select.select([self._raw], [], [], 0)[0])

    def _read(self, most: int = 0) -> bytes:
        """Return the next bytes of the file; the first call begins with those read to recognise the compression.

        At most ``most`` bytes, by default those before :attr:`end`, and some behind it.
        """
        most = most or max(self.end - self.consumed, TAIL)
        piece, self._ahead = self._ahead + self._raw.read(max(min(CHUNK, most) - len(self._ahead), 0)), b""
        self.consumed += len(piece)
        return piece

    def _lines(self) -> Iterator[bytes]:
        """Yield the bytes of the lines that begin before :attr:`end`, of which the last may end behind it."""
        skips, is_end = not self._begins, True  # skips: to the end of a line that began before
        while self.consumed < self.end:
            piece = self._read(self.end - self.consumed)
            if not piece:
                return
            if self.consumed >= self.end:
                piece = self._with_last_line(piece)
            is_end = piece.endswith(b"\n")
            if skips:
                skips = b"\n" not in piece
                piece = b"" if skips else piece[piece.index(b"\n") + 1 :]
            if piece:
                yield piece
        if not (skips or is_end):  # the end was said when the last piece was read
            yield self._with_last_line(b"")

    def _with_last_line(self, piece: bytes) -> bytes:
        """Return a piece with the rest of its last line, unless that is too long."""
        parts, length = [piece], 0
        while not parts[-1].endswith(b"\n") and length <= self.longest_line and (more := self._read(TAIL)):
            parts.append(more[: more.find(b"\n") + 1 or None])
            length += len(more)
        return b"".join(parts)

    def report_end(self) -> None:
        """Call ``progress`` with the whole size of the file (for readers that do not use :meth:`pieces`)."""
        self.consumed = self.size
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self.consumed, self.size)

    def _inflated(self) -> Iterator[bytes]:
        stream, data = decompressor(self.compression), b""
        while True:
            if stream.eof:  # another member may follow, or zeros that pad a tape block
                data = (stream.unused_data or self._read()).lstrip(b"\0")
                if not data:
                    return
                stream = decompressor(self.compression)
            elif stream.needs_input and not data:
                data = self._read()
                if not data:
                    if self._open_ended:
                        return
                    raise _DamagedError(f"the {self.compression[1:]} data ends too early")
            try:
                piece = stream.decompress(data, CHUNK)
            except Exception as error:  # zlib.error, lzma.LZMAError, OSError: lzma must not be imported to name it
                raise _DamagedError(f"the {self.compression[1:]} data is damaged ({error})") from error
            data = b""
            if piece:
                yield piece

    def chunks(self) -> Iterator[bytes]:
        """Yield chunks that end with a line; only the last may lack its newline, none of an ``open_ended`` file."""
        carry, pieces = b"", self.pieces()
        if self._encoding not in (UTF8, BYTES):
            pieces = as_utf8(pieces, self._encoding, self.path, open_ended=self._open_ended)
        for number, piece in enumerate(pieces):
            if number == 0 and self._begins:
                self._refuse_binary(piece)
                piece = piece.removeprefix(MARK_OF_ORDER)
            cut = piece.rfind(b"\n") + 1
            if cut:
                chunk = carry + piece[:cut]
                carry = piece[cut:]
                yield self._with_line_feeds(chunk)
                self.lines += newlines(chunk)
            else:
                carry += piece
            if len(carry) > self.longest_line:
                reason = f"not a text file: a line of more than {self.longest_line} bytes"
                raise FileFormatError(self.path, self.lines + 1, reason)
        if carry and not self._open_ended:
            yield self._with_line_feeds(carry)

    def _refuse_binary(self, start: bytes) -> None:
        known = other_kind(self.path, start)
        if known is not None:
            raise FileFormatError(self.path, 1, f"not a text file: {known}")
        zero = start.find(b"\0")
        if zero >= 0:
            raise FileFormatError(self.path, start.count(b"\n", 0, zero) + 1, "not a text file: it has zero bytes")

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        """Return ``chunk``; raise ``FileFormatError`` if a carriage return alone ends a line."""
        if b"\r" in chunk and chunk.count(b"\r") != chunk.count(b"\r\n"):
            alone = re.search(rb"\r(?!\s*(?:\n|\Z))", chunk)
            if alone:
                line = self.lines + chunk.count(b"\n", 0, alone.start()) + 1
                reason = "a carriage return within the line: lines must end with \\n or \\r\\n"
                raise FileFormatError(self.path, line, reason)
        return chunk


def newlines(chunk: bytes) -> int:
    """Return the number of newlines; ten times as fast as ``bytes.count`` if lines are short."""
    return int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == ord("\n")))


def rest_of(chunks: Iterator[bytes], head: bytes) -> tuple[Iterator[bytes], bool]:
    """Return the chunks that follow, and whether the file is small (:data:`SMALL`); ``head``: the bytes read so far."""
    ahead = next(chunks, b"")
    return itertools.chain([ahead], chunks) if ahead else chunks, not ahead and len(head) <= SMALL


def sha256(paths: Iterable[Path]) -> str:
    """Return the hex SHA-256 of the uncompressed bytes of files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with ByteSource(path) as source:
            for piece in source.pieces():
                digest.update(piece)
    return digest.hexdigest()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces ``path`` at the end without an exception, compressed if its name says so."""
    kind = split_suffix(path)[1]
    with replacing(path) as raw:
        if not kind:
            yield raw
            return
        with compressed(raw, kind) as stream:
            yield stream
