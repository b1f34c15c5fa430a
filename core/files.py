"""Writing a file: a regular target is replaced in one step, a special file is written through.

Everything that the package writes goes through :func:`replacing`. A reader of a regular file sees the old content or
the new one, whole; an error leaves the old file as it was. Devices, pipes and sockets are opened and written, never
replaced. Symbolic links are followed: the link stays, and what it points to is replaced or written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_MAX_LINKS = 40  # as in Linux


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing bytes; a regular file takes its place when the block ends without an exception.

    The new file lies beside its target until then. It has the permissions (and, where that is allowed, the owner) of
    the file it replaces, or those of a file made by ``open``. It is on the disk (``fsync``) before it is renamed.

    Raises:
        OSError: ``path`` cannot be written, or a write failed; ``filename`` is ``path``.
    """
    path = Path(path)
    try:
        check_writable(path)
        with _written_through(path) if is_special(path) else _replaced(Path(os.path.realpath(path))) as file:
            yield file
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a failed write or fsync names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def is_special(path: Path) -> bool:
    """Return whether ``path`` is written through: a device, pipe, socket, or an open file such as ``/dev/stdout``."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) or _names_open_file(path)


def check_writable(path: Path) -> None:
    """Raise the ``OSError`` that writing ``path`` would end in, as far as permissions and kinds of files tell."""
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


def _names_open_file(path: Path) -> bool:
    """Return whether ``path`` is a link into ``/proc``, directly or through others: it stands for an open file."""
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            return False
        if Path(os.path.realpath(path.parent)).parts[1:2] == ("proc",):
            return True
        path = path.parent / os.readlink(path)
    return False


def _written_through(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb")  # append: what an open file holds stays


@contextlib.contextmanager
def _replaced(target: Path) -> Iterator[IO[bytes]]:
    part = target.with_name(f".suricate-{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            _take_over_mode(target, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _take_over_mode(target: Path, handle: int) -> None:
    """Give an open file the permissions of ``target`` and, where that is allowed, its owner, if ``target`` exists."""
    with contextlib.suppress(FileNotFoundError):
        old = target.stat()
        with contextlib.suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
