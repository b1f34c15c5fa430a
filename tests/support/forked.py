"""A child of fork that runs a function and tells how it ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

SECONDS = 600  #: after which a child has hung; some compile, on a busy machine


def in_child(function: Callable[[], str | None]) -> str:
    """Return what ``function`` returns in a child of fork ("" for None), the exception that it raises, or the signal.

    An exception is told as ``"TypeError: message"``, a signal that ended the child as ``"killed by signal 9"``.
    """
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.alarm(SECONDS)
        try:
            text = function() or ""
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writes, text.encode()[:4000])
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else text
