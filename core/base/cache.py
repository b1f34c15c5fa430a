"""Files of compiled code: entries that are checked when they are read, in a folder that not everyone can write.

The folder is ``$SURICATE_CACHE_DIR``, else ``$XDG_CACHE_HOME/suricate``, else ``~/.cache/suricate``. An entry's name
says all that it depends on, so an entry never changes. It is written in one step, so processes need no locks, but
:func:`alone` prevents two of them from making the same entry at the same time. An entry begins with a digest of its
content: a damaged one counts as absent. Entries are code that will run, so a folder that everyone can write, or that
belongs to a user other than this one and root, is not used.

If the folder cannot be written, its entries are still read, and new entries go to a private temporary folder, which is
removed when the process ends. One line on stderr says so.

Entries that were not used for :data:`KEPT_DAYS` days are removed, and if all together take more than :data:`MOST_BYTES`
bytes (or ``SURICATE_CACHE_SIZE`` MiB) also the least recently used ones. A process checks this with the first entry
that it writes, at most once a day, and after every :data:`LOOK_AFTER` entries.

Code made elsewhere has *portable* names (:func:`find`), which name what it can run on in place of this machine. It lies
in the cache folder, into which ``suricate warmup --load`` writes it, in the folder ``$SURICATE_CODE``, or in a package
(``suricate.base.packaged``); the last two are only read: nothing there is written, touched or removed.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import secrets
import stat
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from suricate.base import packaged
from suricate.base.forks import renewed
from suricate.base.notice import tell
from suricate.base.packaged import ENTRIES

MAGIC = b"suricate entry 1\n"
DIGEST_BYTES = 32
KEPT_DAYS = 60  #: since an entry was used
MOST_BYTES = 2 << 30  #: of all entries
LOOK_AFTER = 500  #: entries written by one process
DAY = 86_400  #: seconds; the last use of an entry is known to the day
PRUNED = "pruned"  #: a file whose time says when entries were pruned
LOCKS, LOCK_FILES = "locks", 1024  #: the folder of the files that :func:`alone` locks, and their number
PATIENCE = 60.0  #: seconds that a process waits for another one which makes the same entry

#: the entries that this process has found or written: the own name of each, by its first portable name
USED: dict[str, str] = {}

_lock = renewed(threading.Lock())  # of the number of entries written, and of making the private folder
_written = 0


def get(name: str) -> bytes | None:
    """Return the content of the entry ``name``; None if it is absent or damaged."""
    for folder in _folders():
        found = _read(folder / name)
        if found is not None:
            content, age = found
            if age > DAY:
                with contextlib.suppress(OSError):
                    os.utime(folder / name)
            return content
    return None


def find(name: str, portable: Sequence[str]) -> tuple[str, bytes] | None:
    """Return name and content of the entry ``name``, or of the first of the ``portable`` names that there is; or None.

    Those are looked for in the cache folder, then in ``$SURICATE_CODE``, then in packages.
    """
    for each in (name, *portable):
        content = get(each) if each == name else get(each) or shipped(each)
        if content is not None:
            note_use(name, portable)
            return each, content
    return None


def note_use(name: str, portable: Sequence[str]) -> None:
    """Note that the entry ``name`` is used, which has ``portable`` names, so that ``suricate warmup`` can save it."""
    if portable:
        USED[portable[0]] = name


def shipped(name: str) -> bytes | None:
    """Return the content of the entry ``name`` of ``$SURICATE_CODE`` or a package; None if absent or damaged."""
    folder, _ = code_folder()
    found = None if folder is None else _read(folder / ENTRIES / name)
    if found is None:
        packed = packaged.read(name)
        return None if packed is None else unwrapped(packed)
    return found[0]


@cache
def code_folder() -> tuple[Path | None, str]:
    """Return the folder ``$SURICATE_CODE``, None if it is not used, and the reason for that."""
    named = os.environ.get("SURICATE_CODE", "")
    if not named:
        return None, "SURICATE_CODE names no folder"
    folder = Path(named)
    if not folder.is_absolute():
        return None, f"{named} depends on the working directory: give an absolute path"
    if not (folder / ENTRIES).is_dir():
        return None, f"{named} has no folder {ENTRIES}"
    if not (_is_trusted(folder) and _is_trusted(folder / ENTRIES)):
        return None, f"{named} can be written by others"
    return folder, ""


def _read(path: Path) -> tuple[bytes, float] | None:
    """Return the content of the entry at ``path`` and the seconds since its last use; None: absent or damaged."""
    try:
        with open(path, "rb") as file:
            data, age = file.read(), time.time() - os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    content = unwrapped(data)
    return None if content is None else (content, age)


def wrapped(content: bytes) -> bytes:
    """Return the bytes of a file with the entry ``content``: a mark, a digest, and the content."""
    return MAGIC + hashlib.sha256(content).digest() + content


def unwrapped(data: bytes) -> bytes | None:
    """Return the content of the bytes ``data`` of an entry's file; None if they are damaged."""
    content = data[len(MAGIC) + DIGEST_BYTES :]
    return content if data[: len(MAGIC) + DIGEST_BYTES] == MAGIC + hashlib.sha256(content).digest() else None


def put(name: str, content: bytes) -> None:
    """Write ``content`` as the entry ``name``; do nothing if no folder can be written or the disk is full."""
    base = cache_folder()
    if base is None or not can_write(base / ENTRIES):
        return
    folder = base / ENTRIES
    part = folder / f"{secrets.token_hex(8)}.part"
    try:
        with open(part, "xb") as file:
            file.write(wrapped(content))
        os.replace(part, folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        return
    _look(folder)


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a lock on the entry ``name`` inside the ``with`` block, so that only one thread or process makes it.

    Others wait for the lock, at most :data:`PATIENCE` seconds, and should then look for the entry again. There is no
    lock if no lasting folder can be written or files cannot be locked.
    """
    base = named_folder() if is_kept() else None
    with contextlib.ExitStack() as stack:
        if base is not None:
            with contextlib.suppress(OSError, ImportError):
                stack.enter_context(_locked(base / LOCKS / str(zlib.crc32(name.encode()) % LOCK_FILES)))
        yield


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl

    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(path, "ab") as file:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a fork of this process may have the file too


def drop(name: str) -> None:
    """Remove the entry ``name``, which could not be used; errors are ignored."""
    for folder in _folders():
        with contextlib.suppress(OSError):
            (folder / name).unlink()


def cache_folder() -> Path | None:
    """Return the folder to which new entries are written; None if not even a temporary one can be made."""
    return named_folder() if is_kept() else private_folder()


def is_kept() -> bool:
    """Return whether new entries go to a lasting folder, not to one that is removed with this process."""
    named = named_folder()
    return named is not None and can_write(named / ENTRIES)


@cache
def named_folder() -> Path | None:
    """Return the cache folder that the environment names, whether or not it exists; None if it is not safe to use."""
    named, base = os.environ.get("SURICATE_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "suricate"
    except RuntimeError:  # the user has no home
        return None
    folder = folder.absolute()
    return folder if _is_trusted(folder) and _is_trusted(folder / ENTRIES) else None


@cache
def private_folder() -> Path | None:
    """Return a temporary folder of this process, removed when it ends; None if none can be made."""
    with _lock:
        return _private_folder()


@cache
def _private_folder() -> Path | None:
    tell(
        "suricate: compiled kernels are not kept, since their folder cannot be written or is not yours alone "
        "(SURICATE_CACHE_DIR names another one; without this line: SURICATE_QUIET=1)"
    )
    import tempfile  # late, as shutil below: they load compressors

    try:
        folder = Path(tempfile.mkdtemp(prefix="suricate-"))  # mode 0700
    except OSError:
        return None
    atexit.register(_remove, folder, os.getpid())
    return folder


def prune(folder: Path, *, most_bytes: int, days: float) -> None:
    """Remove entries not used for ``days`` days, then the least recently used ones until ``most_bytes`` bytes are left.

    Incomplete entries to which nothing was written for an hour are removed as well. Other processes may read, write and
    prune the folder at the same time.
    """
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            with contextlib.suppress(OSError):
                known = file.stat(follow_symlinks=False)
                found.append((known.st_mtime, known.st_size, file.path, file.name.endswith(".part")))
    now, total = time.time(), 0
    for used, size, path, is_part in sorted(found, reverse=True):
        total += size
        if now - used > (DAY / 24 if is_part else days * DAY) or total > most_bytes:
            total -= size
            with contextlib.suppress(OSError):
                os.unlink(path)


def _folders() -> list[Path]:
    """Return the folders that may contain entries: the lasting one, and the temporary one if it was made."""
    named = named_folder()
    private = [_private_folder()] if _private_folder.cache_info().currsize else []
    return [folder / ENTRIES for folder in (named, *private) if folder is not None]


@cache
def can_write(folder: Path) -> bool:
    """Return whether files can be created in ``folder``, by creating one; the folder is made if it is missing."""
    import tempfile

    try:
        for each in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            each.mkdir(mode=0o700, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _is_trusted(folder: Path) -> bool:
    """Return whether ``folder`` belongs to this user or root and not everyone can write it, or does not exist."""
    if os.name == "nt":
        return True
    try:
        known = folder.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISDIR(known.st_mode) and known.st_uid in (os.geteuid(), 0) and not known.st_mode & stat.S_IWOTH


def _look(folder: Path) -> None:
    """Count the entry that was just written to ``folder``, and prune the folder if that is due."""
    global _written
    with _lock:
        _written += 1
        first, due = _written == 1, _written % LOOK_AFTER == 0
    marker = folder.parent / PRUNED
    if first:
        try:
            due = time.time() - marker.stat().st_mtime > DAY
        except OSError:
            due = True
    if due:
        with contextlib.suppress(OSError):
            marker.touch(mode=0o600)
        prune(folder, most_bytes=_most_bytes(), days=KEPT_DAYS)


def _most_bytes() -> int:
    given = os.environ.get("SURICATE_CACHE_SIZE", "")
    return int(given) << 20 if given.isascii() and given.isdigit() else MOST_BYTES


def _remove(folder: Path, process: int) -> None:
    import shutil

    if os.getpid() == process:  # not in a fork of it
        shutil.rmtree(folder, ignore_errors=True)
