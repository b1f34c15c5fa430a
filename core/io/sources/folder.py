"""A folder that files are added to, read in the order of their names, also while it is watched: ``st.files``.

A position is (name, size, what was read, parts before) of the part that was read last. What was read is as in a record
of ``scan``, None if the rest of the part was refused. The parts before are (number, sum of hashes of name and size, the
newest of them with name and size): so a position does not grow, and shows whether the same parts are still there.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from suricate.base.errors import FileFormatError, ParameterError, UnknownNameError
from suricate.base.files import as_path
from suricate.base.parameters import flag, shown
from suricate.base.renamed import keywords
from suricate.io.options import FirstRow
from suricate.io.parts import natural
from suricate.io.sources.identity import ChangedError
from suricate.io.sources.rows import NOTHING, WAITING
from suricate.io.sources.scan import Scan, checked_format, named_columns
from suricate.io.sources.source import Chunk, Source, _Mark
from suricate.io.sources.times import duration

NAMED = 1000  #: parts before that a position names
TICK, SHARE = 0.1, 9  #: seconds between two looks into the folder, at least so many times as long as a look takes
NEW: Any = (0, 0, 0)  #: what was read of a new part

Part = tuple[str, int]  #: name and size


class Folder(Scan):
    """A source that reads the parts in a folder; made by :func:`files`, which explains its options."""

    ends_of_lines = "end lines, or rename parts into place once they are whole"

    def __init__(self, folder: Any, format: str | None, *, watch: bool, settle: Any, **options: Any) -> None:
        super().__init__(folder, format, restarts=False, **options)
        self.live = self.endless = watch
        self._settle = duration(settle, "settle", has_unit=True) / 1e9
        self.clock: Callable[[], float] = time.monotonic  #: tests set others
        self.sleep: Callable[[float], None] = time.sleep

    def _files_of(self, path: Any) -> list[Path]:
        self._folder = as_path(path)
        if not self._folder.is_dir():
            raise ParameterError(f"files: there is no folder {shown(str(path))}")
        return []

    def want(self, attributes: Any, **wanted: Any) -> None:
        """Call :meth:`Source.want`; a part that counts is whole, so its last line needs no end, but may be replaced."""
        super().want(attributes, **wanted | {"open_ended": False, "checked": self.live or wanted.get("checked", False)})

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of the parts; while it is watched, without end, and chunks without rows while none counts.

        Raises:
            ParameterError: a part that was read has vanished, changed, or sorts behind one that appears now.
        """
        self._first = self.first or FirstRow()
        parts = Parts(self._folder, self._settle, self.clock)
        wrong = parts.restore(position)
        while True:
            begin = self.clock()
            ready, waits, found = parts.look()
            for name, reason in (*wrong, *found):
                self._refuse(name, reason)
            wrong = []
            for name, size in ready:
                yield from self._part(parts, name, size)
            if self._bad.held:
                yield parts.position, NOTHING
            if ready:
                continue
            if not (self.endless or waits):
                return
            pause = self.clock() + max(TICK, SHARE * (self.clock() - begin))
            while self.clock() < pause:
                self.sleep(TICK)
                yield parts.position, WAITING if waits else NOTHING

    def _part(self, parts: Parts, name: str, size: int) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of a part behind what was read of it."""
        path, begin = self._folder / name, parts.begin(name, size)
        try:
            if not is_inside(path, self._folder):
                raise ChangedError("is a link out of the folder")  # since it was listed
            for read, chunk, bad in self._file(path, None if begin is NEW else begin):
                self._bad.hold(path, bad)
                parts.done = read
                yield parts.position, chunk
        except FileNotFoundError:
            return  # the next look tells
        except (ChangedError, FileFormatError, ParameterError, UnknownNameError) as error:
            if self._bad.raises and not isinstance(error, ChangedError):
                raise
            parts.done = None
            self._refuse(name, str(error))

    def _refuse(self, name: str, reason: str) -> None:
        if self._bad.raises:
            raise ParameterError(f"files: {self._folder / name} {reason}")
        where = "" if reason.startswith(str(self._folder / name)) else f"{self._folder / name} "
        self._bad.held.append([""] * 5 + [where + reason])

    def is_untouched(self, position: Any) -> bool:
        """Return False: a look into the folder shows what there is."""
        return False

    def place(self, position: Any) -> str:
        """Return the name of the part that ``position`` is in."""
        return str(self._folder / position[0] if position else self._folder)

    def describe(self) -> str:
        """Return the format and the columns as a text; a job may go on with or without ``watch``."""
        return f"Files({self._format}, {dict(self.columns)})"


class Parts:
    """The parts in a folder: those that were read, and what is there now.

    Attributes:
        size: by name, of each part that was read, the newest included; a part that was refused counts as read.
        newest: the name of the part that sorts last of them. done: what was read of it, see above.
    """

    def __init__(self, folder: Path, settle: float, clock: Callable[[], float]) -> None:
        self._folder, self._settle, self._clock = folder, settle, clock
        self.size, self.newest, self.done = dict[str, int](), "", NEW
        self._older, self._near = (0, 0), tuple[Part, ...]()  # parts before the newest one, as in a position
        self._since = dict[str, tuple[Any, float]]()  # for how long parts that do not count have been as they are

    @property
    def position(self) -> Any:
        """What :meth:`restore` takes; None before the first part."""
        return (self.newest, self.size[self.newest], self.done, (*self._older, self._near)) if self.newest else None

    def begin(self, name: str, size: int) -> Any:
        """Begin to read a part, or go on with the newest one; return what was read of it."""
        if name != self.newest:
            if self.newest:
                self._put((self.newest, self.size[self.newest]))
            self.newest, self.done = name, NEW
        self.size[name] = size
        return self.done

    def _put(self, *parts: Part) -> None:
        """Add parts to those before the newest one."""
        self._near += parts
        old, self._near = self._near[:-NAMED], self._near[-NAMED:]
        self._older = self._older[0] + len(old), (self._older[1] + sum(map(hashed, old))) % 2**56

    def restore(self, position: Any) -> list[tuple[str, str]]:
        """Take over a position; return what is wrong with parts that it does not name: (name, reason)."""
        if position is None:
            return []
        self.newest, size, self.done, (number, total, near) = position
        self._older, self._near = (number, total), tuple(map(tuple, near))
        self.size, last = {**dict(near), self.newest: size}, natural(Path(self.newest))
        old = [(name, found.st_size) for name, found in self._list()[0].items()
               if name not in self.size and natural(Path(name)) < last] if number else []  # fmt: skip
        more = (sum(map(hashed, old)) - total) % 2**56
        if len(old) == number + 1:  # the next look finds which one came
            old = [part for part in old if hashed(part) != more]
            more = 0 if len(old) == number else more
        self.size = dict(old) | self.size
        if len(old) == number and not more:
            return []
        self._again()
        return [("", f"has other parts before {self.newest} than the {number + len(near)} that were read")]

    def _again(self) -> None:
        self._older, self._near = (0, 0), ()
        self._put(*((name, size) for name, size in self.size.items() if name != self.newest and size >= 0))

    def look(self) -> tuple[list[Part], bool, list[tuple[str, str]]]:
        """Return the parts to read now, in order, whether others are being written, and what is wrong: (name, reason).

        A part that does not count yet holds back those that sort behind it.
        """
        there, odd = self._list()
        wrong = [(name, why) for name, why in odd.items() if name not in self.size]
        self.size |= dict.fromkeys((name for name, _ in wrong), -1)
        for name, size in [*self.size.items()]:
            now = there[name].st_size if name in there else -1
            if now == size or (now > size and name == self.newest and self.done is not None):
                continue
            why = "has vanished" if now < 0 else "has shrunk" if now < size else "has grown, but parts behind it"
            wrong.append((name, why if now < size else f"{why} were read since"))
            self.size[name] = now
            if now < 0 and name != self.newest:
                del self.size[name]
        last, new = natural(Path(self.newest)), list[str]()
        for name in there.keys() - self.size.keys():
            if self.newest and natural(Path(name)) < last:
                wrong.append((name, f"sorts before {self.newest}, which was read"))
                self.size[name] = there[name].st_size
            else:
                new.append(name)
        if wrong:
            self._again()
        if self.newest in there and there[self.newest].st_size > self.size[self.newest]:
            new.append(self.newest)
        new.sort(key=lambda name: natural(Path(name)))
        counts = [*map(self._counts, new, map(there.__getitem__, new))]
        ready = new[: counts.index(False)] if False in counts else new
        self._since = {name: since for name, since in self._since.items() if name in new}
        return [(name, there[name].st_size) for name in ready], len(ready) < len(new), wrong

    def _counts(self, name: str, found: os.stat_result) -> bool:
        """Return whether a part is whole: renamed since it was last written, or unchanged for long enough."""
        state = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        before, since = self._since.setdefault(name, (state, self._clock()))
        if before != state:
            self._since[name] = state, since = state, self._clock()
        renamed = found.st_size > 0 and found.st_ctime_ns > found.st_mtime_ns
        rests = max(self._clock() - since, (time.time_ns() - found.st_ctime_ns) / 1e9)
        return renamed or rests >= self._settle

    def _list(self) -> tuple[dict[str, os.stat_result], dict[str, str]]:
        """Return the parts that are there; and by name, why others are none, which are pipes or links elsewhere."""
        found, odd, folders = dict[str, os.stat_result](), dict[str, str](), [self._folder]
        while folders:
            for entry in os.scandir(folders.pop()):
                if entry.name.startswith((".", "_")) or entry.name.endswith(".tmp"):
                    continue
                name = os.path.relpath(entry.path, self._folder)
                try:
                    if entry.is_symlink() and not is_inside(entry.path, self._folder):
                        odd[name] = "is a link out of the folder"
                    elif entry.is_file():
                        found[name] = os.stat(entry.path)
                    elif entry.is_dir():
                        folders += [Path(entry.path)] if "=" in entry.name else []
                    else:
                        os.stat(entry.path)  # raises for a link to nothing, which is left out
                        odd[name] = "is a pipe, a socket or a device"
                except FileNotFoundError:
                    continue  # it went meanwhile
        return found, odd


def is_inside(path: Any, folder: Path) -> bool:
    """Return whether ``path`` is in ``folder`` once links are followed."""
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def hashed(part: Part) -> int:
    """Return a hash of the name and size of a part, below 2^56."""
    text = f"{part[0]}\0{part[1]}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())


@keywords(attributes="columns={'fee': ...}")
def files(  # noqa: PLR0913 - what a user may choose, by keyword
    folder: str | os.PathLike[str],
    *,
    watch: bool = False,
    settle: Any = "1s",
    columns: Mapping[str, str | int] | None = None,
    src: str | int | None = None,
    dst: str | int | None = None,
    weight: str | int | None = None,
    time: str | int | None = None,
    kind: str | int | None = None,
    time_unit: str | None = None,
    prefetch: int | None = None,
    on_error: Any = "raise",
    format: str | None = None,
    texts: bool = False,
    encoding: str = "utf-8",
) -> Source:
    """Return a source that reads the files of a folder to which further ones are added.

    Files are its parts, in the natural order of their names (``p9`` before ``p10``), subfolders ``KEY=VALUE`` included.
    A name that begins with ``.`` or ``_`` or ends in ``.tmp``, is none. A part counts once it was renamed into place,
    or has been unchanged for ``settle``; until then those that sort behind it wait.

    Args:
        folder: its name.
        watch: wait for further parts, by looking into the folder ten times a second (less often if there are tens of
            thousands); False: end when all that is there was read. A job may go on either way.
        settle: a duration; ``"0s"``: all that has a name counts.
        on_error: of ``st.scan``; also what happens if a part that was read vanishes, shrinks or grows (more can be
            appended to the last one), if one appears that sorts before one that was read, or leads out of the folder.
        columns, src, dst, weight, time, kind, time_unit, prefetch, format, texts, encoding: as of ``st.scan``.

    Raises:
        ParameterError: there is no such folder, or an argument is invalid; while reading: see ``on_error``.
        FileFormatError: while reading: a part is malformed.

    Example:
        >>> import os
        >>> os.mkdir("days")
        >>> file = su.write(su.EdgeList(np.array([0, 1]), np.array([1, 2])), "days/1.csv")
        >>> [w.events for w in st.Window(st.files("days"), size=2, slide=2, graph={"device": "cpu"})]
        [2]
    """
    roles = named_columns(columns, {"src": src, "dst": dst, "weight": weight, "time": time, "kind": kind})
    return Folder(
        folder, checked_format(format), watch=flag("watch", watch), settle=settle, texts=flag("texts", texts),
        encoding=encoding, columns=roles, time_unit="s" if time_unit is None else time_unit, prefetch=prefetch,
        on_error=on_error,
    )  # fmt: skip
