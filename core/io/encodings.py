"""Text that is not UTF-8: which encodings there are, and their bytes as UTF-8."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path

from suricate.base.errors import FileFormatError, ParameterError
from suricate.base.parameters import shown

UTF8, BYTES = "utf-8", "bytes"  #: the default; any bytes, unchanged


def checked_encoding(encoding: object) -> str:
    """Return the name of a codec for texts, of Python's, or :data:`BYTES`; raise ``ParameterError`` for others."""
    if isinstance(encoding, str) and encoding == BYTES:
        return BYTES
    try:
        found = codecs.lookup(encoding) if isinstance(encoding, str) else None
        "".encode(found.name if found else "hex")  # LookupError: a codec, but not for texts
        if found and found.name not in ("idna", "punycode", "undefined"):
            return UTF8 if found.name in ("utf-8", "utf-8-sig") else found.name
    except (LookupError, ValueError, UnicodeError):
        pass
    raise ParameterError(f"encoding must be 'utf-8', 'latin-1', 'cp1252', ... or 'bytes', got {shown(encoding)}")


def as_utf8(pieces: Iterator[bytes], encoding: str, path: Path, *, open_ended: bool = False) -> Iterator[bytes]:
    """Yield ``pieces`` of the file ``path`` as UTF-8; bytes that are no text become sequences that UTF-8 has not.

    So they matter only in texts that are read (:func:`first_wrong`). ``open_ended``: half a character is left out.
    """
    decoder, lines = codecs.getincrementaldecoder(encoding)("surrogateescape"), 1
    for piece in itertools.chain(pieces, [b""]):
        try:
            text = decoder.decode(piece, final=not (piece or open_ended))
        except UnicodeError as error:
            lines += getattr(error, "object", b"")[: getattr(error, "start", 0)].decode(encoding, "ignore").count("\n")
            raise FileFormatError(path, lines, f"no text in {encoding}: {error}") from error
        lines += text.count("\n")
        if text:
            yield text.encode("utf-8", "surrogatepass")


def first_wrong(chunk: bytes, comments: bytes) -> tuple[int, int] | None:
    """Return where the first line of ``chunk`` that is not UTF-8 begins, and its wrong byte; None if all are.

    Lines that begin with one of ``comments`` may have any bytes.
    """
    begin = 0
    while not chunk.isascii():
        try:
            str(memoryview(chunk)[begin:], "utf-8")
        except UnicodeDecodeError as error:
            at = begin + error.start
        else:
            break
        start, end = chunk.rfind(b"\n", 0, at) + 1, chunk.find(b"\n", at) + 1
        if chunk[start:at].lstrip(b" \t")[:1] not in [bytes([byte]) for byte in comments]:
            return start, at
        if not end:
            break
        begin = end
    return None


def why_wrong(chunk: bytes, at: int, encoding: str) -> str:
    """Return why the byte at ``at`` of ``chunk``, UTF-8 or made by :func:`as_utf8`, is wrong."""
    if encoding != UTF8:
        code = ord(chunk[at : at + 3].decode("utf-8", "surrogatepass")) - 0xDC00
        return f"byte 0x{code:02x} is no text in {encoding}"
    advice = "encoding='latin-1' (--encoding latin-1), say, reads another encoding, encoding='bytes' takes any bytes"
    return f"byte 0x{chunk[at]:02x} is not UTF-8: {advice}"
