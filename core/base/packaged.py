"""Compiled code of a release: the packages ``suricate-code-cpu`` and ``suricate-code-cuda``, if they are installed.

Each is a module of a fixed name with one file, an archive as ``suricate warmup --save`` writes it, or one in which many
entries lie in a block: packed together, programs that differ little take half of the bytes. It is looked for where
packages are installed, never in the working directory or the folder of a script. Entries are trusted as the Python
files beside them are, and only read.
"""

from __future__ import annotations

import json
import os
import site
import sysconfig
import zlib
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

ENTRIES, ABOUT = "entries", "about.json"  #: in an archive: the folder of the entries, and what they were made with
INDEX = "blocks.json"  #: in an archive with blocks: by the name of an entry its block, its first byte, its length
RECENT = 8  #: blocks that are kept unpacked
ARCHIVE = "code.zip"
MODULES = {".nbc": "suricate_code_cpu", ".cubin": "suricate_code_cuda"}  #: by the end of the names of entries
HEADER = 30  #: bytes of a member's header, before its name
STORED, LZMA = 0, 14  #: codes of members that are not packed, and of those that take two thirds of zlib's bytes
LENGTH_UNKNOWN = b"\xff" * 8  #: in the header of LZMA's own files


class Archive:
    """The entries of the archive at ``path``; threads and forks may read it at the same time."""

    def __init__(self, path: Path) -> None:
        from zipfile import ZipFile  # loads lzma

        self.path = path
        with ZipFile(path) as archive:
            self._members = {each.filename: each for each in archive.infolist()}
        self._block = lru_cache(RECENT)(self._read)
        index: dict[str, tuple[str, int, int]] = json.loads(self._read(INDEX) or b"{}")
        self._packed = index

    def read(self, member: str) -> bytes | None:
        """Return the bytes of ``member``; None if it is absent or does not unpack."""
        if member not in self._packed:
            return self._read(member)
        name, begin, length = self._packed[member]
        block = self._block(name)
        return None if block is None else block[begin : begin + length]

    def _read(self, member: str) -> bytes | None:
        known = self._members.get(member)
        if known is None:
            return None
        try:
            with open(self.path, "rb") as file:
                file.seek(known.header_offset)
                header = file.read(HEADER)
                file.seek(
                    int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR
                )
                data = file.read(known.compress_size)
            return _unpacked(data, known.compress_type)
        except (OSError, ValueError, zlib.error):
            return None

    @property
    def about(self) -> dict[str, Any]:
        """What the entries were made with, by name; empty if the archive does not say it."""
        try:
            found = json.loads(self.read(ABOUT) or b"{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def names(self) -> list[str]:
        """Return the names of all entries in the archive, with their folder."""
        return [name for name in (*self._members, *self._packed) if name.startswith(f"{ENTRIES}/")]


def _unpacked(data: bytes, how: int) -> bytes:
    if how != LZMA:
        return data if how == STORED else zlib.decompress(data, -zlib.MAX_WBITS)
    import lzma

    try:  # after a version: two bytes for the length of the properties, which are five
        return lzma.decompress(data[4:9] + LENGTH_UNKNOWN + data[9:], format=lzma.FORMAT_ALONE)
    except (MemoryError, lzma.LZMAError) as error:
        raise ValueError(str(error)) from error


def read(name: str) -> bytes | None:
    """Return the file of the entry ``name``, as a package has it; None if no package does."""
    module = MODULES.get(name[name.rfind(".") :])
    found = None if module is None else installed(module)
    return None if found is None else found.read(f"{ENTRIES}/{name}")


@cache
def installed(module: str) -> Archive | None:
    """Return the archive of ``module``; None if it is not installed or cannot be read."""
    for folder in _folders():
        path = Path(folder) / module / ARCHIVE
        if path.exists():
            from zipfile import BadZipFile  # loads lzma

            with suppress(OSError, BadZipFile, ValueError):  # a damaged one counts as none
                return Archive(path)
    return None


def _folders() -> list[str]:
    """Return the folders where packages are installed."""
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        found.append(site.getusersitepackages())
    return [each for each in dict.fromkeys(found) if os.path.isabs(each)]
