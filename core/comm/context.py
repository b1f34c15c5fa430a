"""The communication that the job which runs in this context was started with: what ``connect()`` returns there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from suricate.base.errors import ParameterError
from suricate.base.parameters import shown
from suricate.comm.protocol import Comm

_STARTED: ContextVar[Comm | None] = ContextVar("suricate_comm", default=None)


@contextmanager
def using(comm: Comm) -> Iterator[Comm]:
    """Return a context in which ``connect()`` returns ``comm``, so that a job need not know what has started it.

    It is a context variable: threads that the job starts do not inherit it.
    """
    if not isinstance(comm, Comm):
        raise ParameterError(f"using: comm must be a Comm, got {shown(comm)}")
    token = _STARTED.set(comm)
    try:
        yield comm
    finally:
        _STARTED.reset(token)


def started(library: str) -> Comm | None:
    """Return the communication of this context, None if there is none; ``library``: how the job asks for it.

    Raises:
        ParameterError: the job was started with another one.
    """
    comm = _STARTED.get()
    if comm is None:
        return None
    names = [comm.name, getattr(comm, "host", comm).name]
    if library not in ("auto", *names):
        raise ParameterError(
            f"connect({library!r}): this job was started with {names[0]!r}: write connect(), which returns that"
        )
    return comm
