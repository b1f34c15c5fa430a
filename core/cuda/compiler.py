"""Where the machine code of a CUDA program comes from: the disk, another process, or this process.

Good machine code of a large program takes seconds, and a caller may need it now. So there are two builds of a program:
the *final* one, compiled as well as NVRTC can and stored on disk, and the *quick* one, hardly optimised, which takes a
quarter of the time and is never stored. A program that is needed before its final build exists gets its quick build in
the calling thread, while another process compiles the final one; when that is done, launches use it (see
``suricate.cuda.kernel``). :meth:`Compilation.prepare` starts that process before the first call. There are as many
processes as cores less one, at low priority; they end with this process. Where processes cannot be started, or NVRTC is
too old for quick builds, callers wait for the final build.

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
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from suricate.base import cache
from suricate.base.forks import in_child
from suricate.base.notice import compiling
from suricate.cuda import nvrtc
from suricate.cuda.nvrtc import CompileError

QUICK = ("--Ofast-compile=max",)  #: what the quick build has in addition
QUICK_SINCE = (12, 9)  #: version of NVRTC that knows this option
UNFINISHED: set[Compilation] = set()  #: those of which launches take the quick build
PATIENCE = 10.0  #: seconds that the end of this process waits for a build in one of its threads


class Compilation:
    """The builds of one program, compiled when they are needed.

    Args:
        text: the program, including headers.
        name: name of the program in messages.
        options: options of NVRTC, without the architecture.
    """

    def __init__(self, text: str, name: str, options: tuple[str, ...]) -> None:
        self._text, self._name = text, name
        self._options = (*options, *target_options(), *(QUICK if _are_all_quick() else ()))
        self._lock = threading.Lock()
        self._final: bytes | None = None
        self._state = "new"  # "queued", "running": of the process beside this one
        self._ended = threading.Event()
        self._on_final: list[Callable[[], None]] = []

    @cached_property
    def entry(self) -> str:
        """The file name of the final build in the disk cache (``suricate.base.cache``)."""
        return self._named(str(nvrtc_version()))

    @cached_property
    def portable(self) -> str:
        """Its name where it was made on another machine: any NVRTC of the same major version makes it."""
        return self._named(f"portable {nvrtc_version()[0]}")

    def _named(self, compiler: str) -> str:
        digest = hashlib.sha256("\0".join((self._text, compiler, *self._options)).encode())
        return f"{self._name.partition('.')[0]}-{digest.hexdigest()[:32]}.cubin"

    def prepare(self) -> None:
        """Queue the final build for another process, unless it exists; returns at once."""
        if not is_ahead() or library_path() is None or self.ready() is not None:
            return
        with self._lock:
            if self._state != "new":
                return
            self._state = "queued"
        POOL.add(self._make_beside)

    def ready(self) -> bytes | None:
        """Return the final build if it is in memory or on disk, else None."""
        if self._final is None:
            found = cache.find(self.entry, [self.portable])
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

    def soon(self, on_final: Callable[[], None]) -> tuple[bytes, bool]:
        """Return the build that is available first, and whether it is the final one.

        If it is a quick build, ``on_final()`` is called in another thread when the final build exists.

        Raises:
            CompileError: the program has errors.
        """
        found = self.ready()
        if found is not None or not _has_quick_builds():
            return found or self.final(), True
        with compiling():
            self.prepare()
            quick = compile_here(self._text, self._name, (*self._options, *QUICK))
        with self._lock:
            if self._final is None:
                self._on_final.append(on_final)
                UNFINISHED.add(self)
                return quick, False
        return self._final, True

    def _make_beside(self) -> None:
        with self._lock:
            if self._state != "queued":  # it was compiled otherwise meanwhile
                return
            self._state = "running"
        library = library_path()
        assert library is not None
        command = [sys.executable, "-I", "-S", nvrtc.__file__, library, self._name, *self._options]
        binary = POOL.run(command, self._text.encode())
        if binary:
            self._keep(binary)
        with self._lock:
            self._state = "new"  # if it failed, whoever needs it compiles it
        self._ended.set()

    def _compiled(self) -> bytes:
        with cache.alone(self.entry):
            found = self.ready()  # by now another process may have made it
            if found is None:
                found = compile_here(self._text, self._name, self._options)
                self._keep(found)
        return found

    def _keep(self, binary: bytes) -> None:
        cache.note_use(self.entry, [self.portable])
        cache.put(self.entry, binary)
        with self._lock:
            self._final = binary
            waiting, self._on_final = self._on_final, []
        for call in waiting:
            call()
        UNFINISHED.discard(self)


class Pool:
    """A queue of compilations, and threads that run them; each thread starts a compiler process and waits for it."""

    def __init__(self) -> None:
        self.usable = True  # until a process could not be started
        self.begin_again()

    def begin_again(self) -> None:
        """Make the pool empty: in a child of ``fork`` the threads and processes of the parent do not exist."""
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._queue: deque[Callable[[], None]] = deque()
        self._threads: set[threading.Thread] = set()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self.closed = False

    def add(self, work: Callable[[], None], *, soon: bool = False) -> None:
        """Queue ``work``, a function that a thread calls; with ``soon`` it is put at the front of the queue."""
        with self._lock:
            (self._queue.appendleft if soon else self._queue.append)(work)
            if self.closed or len(self._threads) >= max(1, (os.cpu_count() or 1) - 1):
                return
            thread = threading.Thread(target=self._work, name="suricate-compile", daemon=True)
            self._threads.add(thread)
        thread.start()

    def wait(self) -> None:
        """Wait until the queue is empty and all its work is done."""
        with self._idle:
            self._idle.wait_for(lambda: not self._threads)

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
        while (work := self._next()) is not None:
            with suppress(Exception):  # whoever needs the program meets it again
                work()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if self._queue and not self.closed:
                return self._queue.popleft()
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
    return nvrtc_version() >= QUICK_SINCE


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
