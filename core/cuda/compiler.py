"""Where the machine code of a CUDA program comes from: the disk, another process, or this process.

Good machine code of a large program takes seconds, and a caller may need it now. So a program has several builds: the
*final* one, compiled as well as NVRTC can and stored on disk, and *quick* ones, which are never stored. :func:`levels`
says which. A program that is needed before its final build exists gets the first of them in the calling thread, while
other processes compile the rest; as each is done, launches use it (see ``suricate.cuda.kernel``).

:meth:`Compilation.prepare` starts the final build before the first call. There are as many processes as cores less one,
two at least where there are two cores, at low priority; they end with this process. What they make first is what the
program launches now, most launched first, and of that quick builds before final ones (:meth:`Compilation.turn`); what
only rehearsals have asked for comes last. Where processes cannot be started, or NVRTC is too old for quick builds,
callers wait for the final build.

``SURICATE_AHEAD=0``: there are no other processes; the final build is made when a program is first called.
``SURICATE_BUILDS=quick``: quick builds take the place of final ones, and are stored on disk; for tests.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from suricate.base import cache
from suricate.base.forks import in_child
from suricate.base.notice import compiling
from suricate.cpu.threads import cores
from suricate.cuda import nvrtc
from suricate.cuda.cupy_kernels import oldest
from suricate.cuda.nvrtc import CompileError

OPTION, SINCE = "--Ofast-compile=", (12, 9)  #: of a quick build, and the version of NVRTC that knows it
FINAL = "final"  #: the level of the final build
RANKS = {"max": 0, "mid": 1, FINAL: 2}  #: levels, in the order in which builds replace each other
SMALL = 30_000  #: characters of a text, headers included, up to which a final build takes hardly longer
SLOW = "#define COMPILES_FOR_SECONDS"  #: in the text of a program of which all but the first quick build takes long
UNFINISHED: set[Compilation] = set()  #: those of which launches take a quick build
PATIENCE = 10.0  #: seconds that the end of this process waits for a build in one of its threads
OnBuild = Callable[[bytes, str], None]  #: called with a build and its level


class Local(threading.local):
    """Per thread: whether it runs a rehearsal, and how many launches of quick builds it has made."""

    rehearsing, quick_launches = False, 0


LOCAL = Local()


def levels(text: str) -> tuple[str, ...]:
    """Return the levels of the quick builds of a program, first to last; none: callers wait for the final build.

    ``mid`` inlines: most of its kernels are nearly as fast as final ones, in half of the time or less. ``max`` inlines
    nothing: a kernel may take 100 times as long. So it is for programs only of which ``mid`` takes over a second; their
    sources say so.
    """
    return ("max", "mid") if SLOW in text else ("mid",) if len(text) > SMALL else ()


class Compilation:
    """The builds of one program, compiled when they are needed.

    Args:
        text: the program, including headers.
        name: name of the program in messages.
        options: options of NVRTC, without the architecture.

    Attributes:
        uses: launches of quick builds, and requests, by threads that run no rehearsal.
    """

    def __init__(self, text: str, name: str, options: tuple[str, ...]) -> None:
        self._text, self._name = text, name
        self._options = (*options, *target_options(), *((f"{OPTION}max",) if _are_all_quick() else ()))
        self._lock = threading.Lock()
        self._final: bytes | None = None
        self._state = "new"  # "queued", "running": of the process that makes the final build
        self._ended = threading.Event()
        self._on_build: list[OnBuild] = []
        self.uses = 0

    @cached_property
    def entry(self) -> str:
        """The file name of the final build in the disk cache (``suricate.base.cache``)."""
        return self._named(str(nvrtc_version()))

    @cached_property
    def portable(self) -> list[str]:
        """Its names where it was made on another machine: any NVRTC of the same major version makes it.

        What was made for the oldest architecture of a family serves the later ones.
        """
        compiler, options = f"portable {nvrtc_version()[0]}", tuple(map(oldest, self._options))
        own = [self._named(compiler)]
        return own if options == self._options else [*own, self._named(compiler, options)]

    def _named(self, compiler: str, options: tuple[str, ...] = ()) -> str:
        digest = hashlib.sha256("\0".join((self._text, compiler, *(options or self._options))).encode())
        return f"{self._name.partition('.')[0]}-{digest.hexdigest()[:32]}.cubin"

    def prepare(self) -> None:
        """Queue the final build for another process, unless it exists; returns at once."""
        if not is_ahead() or library_path() is None or self.ready() is not None:
            return
        with self._lock:
            if self._state != "new":
                return
            self._state = "queued"
        POOL.add(self._make_final, functools.partial(self.turn, FINAL))

    def ready(self) -> bytes | None:
        """Return the final build if it is in memory or on disk, else None."""
        if self._final is None:
            found = cache.find(self.entry, self.portable)
            self._final = None if found is None else found[1]
        return self._final

    def final(self) -> bytes:
        """Return the final build; compiles it, or waits for the process that does."""
        found = self.ready()
        if found is not None:
            return found
        with self._lock:
            taken = self._state != "running"
            if taken:
                self._state = "new"  # no longer queued: it is compiled here
        with compiling():
            if not taken:
                self._ended.wait()
            found = self.ready()
            if found is None and POOL.closed:
                raise CompileError(f"{self._name}: this process ends")
            return found or self._compiled()

    def soon(self, on_build: OnBuild) -> tuple[bytes, str]:
        """Return the build that is available first, and its level.

        If it is a quick one, ``on_build(build, level)`` is called in another thread with each better one as it is made.

        Raises:
            CompileError: the program has errors.
        """
        self.use()
        found = self.ready()
        steps = () if found is not None or not _has_quick_builds() else levels(self._text)
        if not steps:
            return found or self.final(), FINAL
        first, *later = steps
        with self._lock:
            is_new = not self._on_build
            self._on_build.append(on_build)
        with compiling():
            for level in later if is_new else ():
                POOL.add(functools.partial(self._make_better, level), functools.partial(self.turn, level))
            self.prepare()
            quick = compile_here(self._text, self._name, (*self._options, OPTION + first))
        with self._lock:
            if self._final is None:
                UNFINISHED.add(self)
                return quick, first
        return self._final, FINAL

    def use(self) -> None:
        """Count a launch, or a request, by this thread; those of rehearsals do not count."""
        if not LOCAL.rehearsing:
            self.uses += 1

    def turn(self, level: str) -> tuple[int, ...]:
        """Return by what the queue orders the build of a level: the least comes first."""
        return 0 if self.uses else 1, RANKS[level], -self.uses

    def _make_better(self, level: str) -> None:
        """Make a quick build in another process, unless the final one is there."""
        binary = None if self._final is not None else self._made_beside((*self._options, OPTION + level))
        if binary:
            self._tell(binary, level)

    def _make_final(self) -> None:
        with self._lock:
            if self._state != "queued":  # it was compiled otherwise meanwhile
                return
            self._state = "running"
        binary = self._made_beside(self._options)
        if binary:
            self._keep(binary)
        with self._lock:
            self._state = "new"  # if it failed, whoever needs it compiles it
        self._ended.set()

    def _made_beside(self, options: tuple[str, ...]) -> bytes | None:
        library = library_path()
        assert library is not None
        command = [sys.executable, "-I", "-S", nvrtc.__file__, library, self._name, *options]
        return POOL.run(command, self._text.encode())

    def _compiled(self) -> bytes:
        with cache.alone(self.entry):
            found = self.ready()  # by now another process may have made it
            if found is None:
                found = compile_here(self._text, self._name, self._options)
                self._keep(found)
        return found

    def _keep(self, binary: bytes) -> None:
        cache.note_use(self.entry, self.portable)
        cache.put(self.entry, binary)
        with self._lock:
            self._final = binary
        self._tell(binary, FINAL)
        UNFINISHED.discard(self)

    def _tell(self, binary: bytes, level: str) -> None:
        with self._lock:
            waiting = list(self._on_build)
            if level == FINAL:
                self._on_build.clear()
        for call in waiting:
            call(binary, level)


class Pool:
    """A queue of compilations, and threads that run them; each thread starts a compiler process and waits for it."""

    def __init__(self) -> None:
        self.usable = True  # until a process could not be started
        self.begin_again()

    def begin_again(self) -> None:
        """Make the pool empty: in a child of ``fork`` the threads and processes of the parent do not exist."""
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._queue: list[tuple[Callable[[], tuple[int, ...]], Callable[[], None]]] = []
        self._threads: set[threading.Thread] = set()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self.closed = False

    def add(self, work: Callable[[], None], turn: Callable[[], tuple[int, ...]] = tuple) -> None:
        """Queue ``work``, a function that a thread calls.

        Whenever a thread is free the work comes first whose ``turn()`` is least then, and of equal ones the oldest.
        Without ``turn`` it comes before all that has one.
        """
        with self._lock:
            self._queue.append((turn, work))
            if self.closed or len(self._threads) >= max(min(cores(), 2), cores() - 1):
                return
            thread = threading.Thread(target=self._work, name="suricate-compile", daemon=True)
            self._threads.add(thread)
        thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the queue is empty and all its work is done, or ``timeout`` seconds; return whether it is."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._threads, timeout)

    def close(self) -> None:
        """Kill all compiler processes, as this process ends, and wait for builds that run in threads."""
        with self._lock:
            self.closed = True
            self._queue.clear()
            for process in self._processes:
                process.kill()
            threads = list(self._threads)
        for thread in threads:
            thread.join(PATIENCE)

    def _work(self) -> None:
        LOCAL.rehearsing = True  # what is made here nobody has called
        while (work := self._next()) is not None:
            with suppress(Exception):  # whoever needs the program meets it again
                work()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if self._queue and not self.closed:
                first = min(range(len(self._queue)), key=lambda i: self._queue[i][0]())
                return self._queue.pop(first)[1]
            self._threads.discard(threading.current_thread())
            self._idle.notify_all()
            return None

    def run(self, command: list[str], text: bytes) -> bytes | None:
        """Run the process ``command`` with ``text`` as standard input; return its standard output, None if it fails."""
        try:
            with self._lock:
                if self.closed:
                    return None
                pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
                process = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
                self._processes.add(process)
        except OSError:
            self.usable = False
            return None
        try:
            binary: bytes = process.communicate(text)[0]
        finally:
            with self._lock:
                self._processes.discard(process)
        return binary if process.returncode == 0 else None


POOL = Pool()
atexit.register(POOL.close)
in_child(POOL.begin_again)


def compile_here(text: str, name: str, options: tuple[str, ...]) -> bytes:
    """Return the binary of the source ``text``, compiled in this thread by CuPy's NVRTC, without blocking others."""
    from cupy.cuda import nvrtc as library

    program = library.createProgram(text, name, (), ())
    try:
        library.compileProgram(program, options)
        is_ptx = any(option.startswith("-arch=compute_") for option in options)
        binary = (library.getPTX if is_ptx else library.getCUBIN)(program)
    except library.NVRTCError:
        raise CompileError(f"{name} with {' '.join(options)}:\n{library.getProgramLog(program)}") from None
    finally:
        library.destroyProgram(program)
    return binary.encode() if isinstance(binary, str) else bytes(binary)


def is_ahead() -> bool:
    """Return whether other processes compile programs ahead of their first call; False with ``SURICATE_AHEAD=0``."""
    return os.environ.get("SURICATE_AHEAD", "1") != "0"


def _has_quick_builds() -> bool:
    return is_ahead() and not _are_all_quick() and POOL.usable and library_path() is not None and _knows_quick_builds()


def _are_all_quick() -> bool:
    return os.environ.get("SURICATE_BUILDS") == "quick" and _knows_quick_builds()


def _knows_quick_builds() -> bool:
    return nvrtc_version() >= SINCE


@functools.cache
def nvrtc_version() -> tuple[int, int]:
    """Return the version of CuPy's NVRTC as (major, minor)."""
    from cupy.cuda import nvrtc as library

    major, minor = library.getVersion()
    return major, minor


@functools.cache
def target_options() -> tuple[str, ...]:
    """Return the NVRTC options that name the architecture: machine code if all devices are of one kind, else PTX.

    PTX is for the oldest device. As in CuPy's own kernels, arithmetic treats subnormal floats as zero.
    """
    from cupy.cuda import Device, runtime
    from cupy.cuda import nvrtc as library

    kinds = {int(Device(i).compute_capability) for i in range(runtime.getDeviceCount())}
    known = [int(one) for one in library.getSupportedArchs()]
    kind = min(kinds)
    exact = len(kinds) == 1 and kind in known
    newest = kind if kind in known else max(one for one in known if one <= kind)
    return "-ftz=true", f"-arch={'sm' if exact else 'compute'}_{kind if exact else newest}"


@functools.cache
def library_path() -> str | None:
    """Return the path of the NVRTC library that CuPy has loaded; None: unknown, or Python cannot start processes."""
    nvrtc_version()  # loads it
    paths = (line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines())
    found = next((path for path in paths if re.search(r"/libnvrtc\.so[.\d]*$", path)), None)
    return found if sys.executable else None
