"""Compression of whole files; other binary formats are only recognised, so that error messages can name them."""

from __future__ import annotations

import contextlib
import importlib
import zlib
from pathlib import Path
from typing import IO, Any

from suricate.base.errors import MissingLibraryError

MAGIC = {
    ".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh",
    ".zst": b"\x28\xb5\x2f\xfd", ".lz4": b"\x04\x22\x4d\x18",
}  # fmt: skip
_ALIASES = {".zstd": ".zst"}
_LIBRARIES = {
    ".zst": (("compression.zstd", "backports.zstd", "zstandard"), "backports.zstd"),
    ".lz4": (("lz4.frame",), "lz4"),
}  #: modules, and the package to install

#: what files start with that are no graph files, or compressed in a way that is not read here
_OTHERS = {
    b"PK\x03\x04": "a ZIP archive (unpack it first; a snapshot is loaded with Graph.load)",
    b"PK\x05\x06": "an empty ZIP archive",
    b"\x1f\x9d": "compressed by compress (.Z): decompress it first",
    b"\x5d\x00\x00": "compressed by LZMA (.lzma): decompress it first",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it first",
    b"Rar!\x1a": "a RAR archive: unpack it first",
    b"LZIP\x01": "compressed by lzip: decompress it first",
    b"\x89LZO": "compressed by lzop: decompress it first",
    b"\xff\x06\x00\x00sN": "compressed by Snappy: decompress it first",
    b"\x02\x21\x4c\x18": "compressed by LZ4 of the old kind: decompress it first",
    b"\xff\xfe\0\0": "text in UTF-32, and not in UTF-8: encoding='utf-32' (--encoding utf-32) reads edges in it",
    b"\xff\xfe": "text in UTF-16, and not in UTF-8: encoding='utf-16' (--encoding utf-16) reads edges in it",
    b"\xfe\xff": "text in UTF-16, and not in UTF-8: encoding='utf-16' (--encoding utf-16) reads edges in it",
    b"\x93NUMPY": "an array of NumPy: read it with numpy.load, then Graph.from_coo",
    b"\x89HDF": "an HDF5 file",
    b"SQLite f": "a database of SQLite",
    b"\x80\x04\x95": "a pickle of Python",
    b"\x80\x05\x95": "a pickle of Python",
    b"Obj\x01": "an Avro file: convert it to Parquet",
    b"\x7fELF": "a program, not a text file",
    b"%PDF-": "a PDF document",
    b"\x89PNG": "a picture",
}
_UNREAD = (".br", ".lzo", ".lz", ".sz", ".snappy", ".z", ".lzma", ".zip", ".7z", ".rar")  #: compression by names


class _Decompressor:
    """Gives decompressors of ``zlib`` and of the package ``zstandard`` the interface of those of ``lzma`` and ``bz2``.

    The package cannot limit the size of its output, so each call decompresses at most ``step`` bytes of input.
    """

    def __init__(self, stream: Any, step: int | None = None) -> None:
        self._stream, self._step, self._waiting = stream, step, b""

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._stream.unused_data) + self._waiting

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    def decompress(self, data: bytes, max_length: int) -> bytes:
        data = self._waiting + data
        if self._step is None:
            made = self._stream.decompress(data, max_length)
            self._waiting = self._stream.unconsumed_tail
            return made
        step, self._waiting = data[: self._step], data[self._step :]
        return bytes(self._stream.decompress(step))


def decompressor(kind: str) -> Any:
    """Return a decompressor, like ``bz2.BZ2Decompressor``, for a member of a file of this ``kind`` (``".gz"`` ...)."""
    if kind == ".gz":
        return _Decompressor(zlib.decompressobj(wbits=31))
    if kind == ".xz":
        return importlib.import_module("lzma").LZMADecompressor()
    if kind == ".bz2":
        return importlib.import_module("bz2").BZ2Decompressor()
    if kind == ".lz4":
        return _library(kind).LZ4FrameDecompressor()
    library = _library(kind)
    made = library.ZstdDecompressor()
    return _Decompressor(made.decompressobj(), 1 << 14) if library.__name__ == "zstandard" else made


def compressed(raw: IO[bytes], kind: str) -> Any:
    """Return a stream that compresses to ``raw`` as ``kind`` (".gz" ...); it is also a context manager.

    When the stream is closed, ``raw`` stays open. The stream uses fast presets, and writes neither name nor time, so
    that equal graphs give equal files.

    Raises:
        MissingLibraryError: the package for it is not installed.
    """
    if kind == ".gz":
        gzip = importlib.import_module("gzip")
        return gzip.GzipFile(filename="", mode="wb", compresslevel=3, fileobj=raw, mtime=0)
    if kind == ".xz":
        return importlib.import_module("lzma").LZMAFile(raw, "wb", preset=1)
    if kind == ".bz2":
        return importlib.import_module("bz2").BZ2File(raw, "wb")
    if kind == ".lz4":
        return _library(kind).LZ4FrameFile(raw, "wb")
    library = _library(kind)
    if library.__name__ == "zstandard":
        return library.ZstdCompressor(write_content_size=False).stream_writer(raw, closefd=False)
    return library.ZstdFile(raw, "w")


def _library(kind: str) -> Any:
    """Return the first installed module that reads and writes ``.zst`` or ``.lz4``."""
    names, package = _LIBRARIES[kind]
    for name in names:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise MissingLibraryError(f"{kind[1:]} files need the package {package}: pip install 'suricate[{kind[1:]}]'")


def kind_of(start: bytes) -> str:
    """Return the extension of a file's compression, by its first bytes ``start``; ``""`` if it is unknown."""
    return next((kind for kind, magic in MAGIC.items() if start.startswith(magic)), "")


def other_kind(path: Path, start: bytes) -> str | None:
    """Return which unsupported format a file has, by its first bytes or its extension; None if none is recognised."""
    if start[257:262] == b"ustar":
        return "a tar archive: unpack it first"
    known = next((words for magic, words in _OTHERS.items() if start.startswith(magic)), None)
    if known is None and path.suffix.lower() in _UNREAD and not start.isascii():
        return f"compressed as {path.suffix}, which is not read here: decompress it first"
    return known


def split_suffix(path: Path) -> tuple[str, str]:
    """Return the extensions of a file's format and compression: ``(".txt", ".gz")``; ``""`` for one that is missing."""
    last = path.suffix.lower()
    compression = _ALIASES.get(last, last) if _ALIASES.get(last, last) in MAGIC else ""
    return (Path(path.stem) if compression else path).suffix.lower(), compression
