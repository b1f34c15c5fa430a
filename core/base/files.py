"""Writing a file: a regular file is replaced in one step, a special file (device, pipe, socket) is written in place.

All files that the package writes for users go through :func:`replacing`. A reader of a regular file sees either the old
or the new content, never a mixture; after an error the old file is unchanged. Symbolic links are followed: the link
stays, and its target is replaced or written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from suricate.base.errors import ParameterError
from suricate.base.parameters import shown

_MAX_LINKS = 40  # as in Linux
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


def as_path(path: Any) -> Path:
    """Return ``path`` as a ``Path``; ``ParameterError`` if it is neither text nor a path, or has a zero character."""
    try:
        name = os.fsdecode(path)
    except (TypeError, UnicodeError):
        name = "\0"
    if "\0" in name:
        raise ParameterError(f"path must be the name of a file, got {shown(path)}")
    return Path(name)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing bytes; it replaces ``path`` if the block ends without an exception.

    It lies beside ``path``; one left by a killed process is removed by the next call for the same path. It gets the
    permissions (and, if allowed, the owner) of the file it replaces, or those of a file made by ``open``. It is flushed
    to disk (``fsync``) before it is renamed. If ``path`` is not a regular file, it is written directly.

    Raises:
        OSError: ``path`` cannot be written, or a write failed; ``filename`` is ``path``.
    """
    path = as_path(path)
    with in_errors(str(path)):
        check_writable(path)
        with _written_through(path) if is_special(path) else _replaced(Path(os.path.realpath(path))) as file:
            yield file


@contextlib.contextmanager
def in_errors(path: str) -> Iterator[None]:
    """Set ``filename`` of an ``OSError`` from the ``with`` block to ``path``, if it has none and there is a path."""
    try:
        yield
    except OSError as error:
        if path and error.filename is None and error.errno is not None:
            error.filename = path
        raise


def open_for_reading(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file, or an open socket of this process (``/dev/stdin``), for unbuffered reading."""
    number = _own_descriptor(Path(path))
    if number is not None and stat.S_ISSOCK(os.fstat(number).st_mode):
        return os.fdopen(os.dup(number), "rb", buffering=0)
    return open(path, "rb", buffering=0)


def is_special(path: Path) -> bool:
    """Return whether ``path`` is written in place: a device, pipe, socket, or an open file such as ``/dev/stdout``."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) or _names_open_file(path)


def check_writable(path: Path) -> None:
    """Raise the ``OSError`` with which writing ``path`` would fail, judged by permissions and types of files."""
    if path.is_dir():
        code = errno.EISDIR
    elif path.exists() and not os.access(path, os.W_OK):
        code = errno.EACCES
    elif is_special(path):
        return
    else:
        folder = Path(os.path.realpath(path)).parent
        if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return
        code = errno.EACCES if folder.is_dir() else errno.ENOTDIR if folder.exists() else errno.ENOENT
    raise OSError(code, os.strerror(code), str(path))


def _own_descriptor(path: Path) -> int | None:
    """Return the file descriptor of this process to which ``path`` leads (``/dev/stdout``: 1), or None."""
    found = (_DESCRIPTOR.fullmatch(str(each.absolute())) for each in _links(path))
    return next((int(each[1]) for each in found if each), None)


def _names_open_file(path: Path) -> bool:
    """Return whether ``path`` leads, by symbolic links, to a link in ``/proc``, which stands for an open file."""
    links = (each for each in _links(path) if each.is_symlink())
    return any(Path(os.path.realpath(each.parent)).parts[1:2] == ("proc",) for each in links)


def _links(path: Path) -> Iterator[Path]:
    """Yield ``path``, then the target of each symbolic link on the way from it, one after the other."""
    for _ in range(_MAX_LINKS):
        yield path
        if not path.is_symlink():
            return
        path = path.parent / os.readlink(path)


def _written_through(path: Path) -> IO[bytes]:
    """Open a special file for writing in place; an open file of this process at its current position."""
    number = _own_descriptor(path)
    if number is None:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb")  # append: what an open file holds stays
    for stream in (sys.stdout, sys.stderr):  # what they were told to print comes first
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    return os.fdopen(os.dup(number), "wb")


@contextlib.contextmanager
def _replaced(target: Path) -> Iterator[IO[bytes]]:
    _remove_abandoned(target)
    part, opened = _open_part(target)
    try:
        with opened as file:
            _take_over_mode(target, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync(target.parent)  # so that the new name lasts


def _part_prefix(target: Path) -> str:
    """Return the prefix of the names of temporary files for ``target``: a digest, as its name may be too long."""
    return f".suricate-{hashlib.blake2b(os.fsencode(target.name), digest_size=6).hexdigest()}-"


def _open_part(target: Path) -> tuple[Path, IO[bytes]]:
    """Create a locked temporary file in the folder of ``target``; return its path and the open file."""
    while True:
        part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(8)}.part")
        file = open(part, "xb")  # noqa: SIM115 - closed by the caller
        with contextlib.suppress(OSError):  # file systems without locks: abandoned files stay there, see below
            fcntl.flock(file, fcntl.LOCK_EX)
        if part.exists():  # else another process took it for abandoned before it was locked
            return part, file
        file.close()


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files for ``target`` that are not locked: the processes that wrote them were killed."""
    prefix, abandoned = _part_prefix(target), list[str]()
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        abandoned += [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".part")]
    for path in abandoned:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails for a file in use, and where there are no locks
            os.unlink(path)


def _take_over_mode(target: Path, handle: int) -> None:
    """Give the open file with descriptor ``handle`` the permissions of ``target`` and, if allowed, its owner."""
    with contextlib.suppress(FileNotFoundError):
        old = target.stat()
        with contextlib.suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def sync(path: Path) -> int:
    """Flush the file or folder ``path`` to disk (``fsync``); return its size in bytes."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        return os.fstat(handle).st_size
    finally:
        os.close(handle)
