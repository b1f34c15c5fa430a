"""Communication over messages between pairs of ranks: all that a comm of one's own needs, but the transport.

In a collective every rank sends each other a message: a head of fixed size (see ``messages``), which says where it is
and what the value is, and the bytes that do not fit into it. So ranks that call different collectives find out, and
raise with the lines of both. Besides, a rank tells the others at intervals that it is busy, why it aborts, and how it
ended.
"""

from __future__ import annotations

import math
import pickle
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from suricate.base.devices import Array, module_of
from suricate.base.errors import CommunicationError
from suricate.base.notice import NOTICE, tell
from suricate.comm.asked import AskingComm, apart
from suricate.comm.busy import Busy
from suricate.comm.interrupted import meeting
from suricate.comm.messages import heads_of, limit, not_come, packed, whole
from suricate.comm.protocol import call_site, is_array

BY_HOST = "suricate: arrays of CUDA devices go from rank to rank through the host (without this line: SURICATE_QUIET=1)"
TICK = 0.25  #: seconds between looks at what this rank does
GRACE = 1.0  #: seconds for notes of others, once the limit has passed
BEATS = 4  #: notes of work within the limit
DATA, BUSY, ENDED, ABORT = "data", "busy", "ended", "abort"  #: kinds of messages

Message = tuple[str, Sequence[Any]]  #: kind, and arrays of bytes (``uint8``)


class PeerComm(AskingComm):
    """Communication of a rank over messages; a subclass brings the transport.

    It implements :meth:`send`, and calls :meth:`deliver` for each message that comes and :meth:`lose` when another rank
    cannot be reached any more, both from any thread. Messages from one rank to another keep their order. Whoever runs
    the job calls :meth:`end` when it is over on this rank. Collectives, the comparison of lines and values, the time
    limit ``SURICATE_TIMEOUT``, notes of busy ranks, and errors are there.

    Attributes:
        skip: files or folders whose lines are no call sites, such as the subclass's own.
    """

    skip: Sequence[str] = ()

    def __init__(self, rank: int, size: int) -> None:
        limit()  # that raises, if at all, before others wait
        self.rank, self.size = rank, size
        self._others = [other for other in range(size) if other != rank]
        self._changed = threading.Condition()
        self._come: dict[int, deque[Sequence[Any]]] = {other: deque() for other in self._others}
        self._heard = dict.fromkeys(self._others, -math.inf)  # by rank: when it said that it is busy
        self._gone: dict[int, str] = {}  # by rank, in order: how it ended
        self._reason: str | None = None  # why the job ends
        self._busy, self._over = Busy(), threading.Event()
        if self._others:
            threading.Thread(target=self._beat, daemon=True, name=f"suricate: rank {rank}").start()

    @abstractmethod
    def send(self, rank: int, message: Message) -> None:
        """Send ``message``, a kind and arrays of bytes, to another rank; it may be on its way when this returns.

        Raises:
            OSError: the rank cannot be reached; it counts as lost.
        """

    def deliver(self, rank: int, message: Message) -> None:
        """Take a message that ``rank`` has sent to this one; arrays that cannot be written are copied."""
        kind, parts = message
        parts = [part if part.flags.writeable else part.copy() for part in (np.asarray(each) for each in parts)]
        with self._changed:
            if kind == DATA:
                self._come[rank].append(parts)
                if not all(self._come.values()):
                    return  # to wake a rank that then waits for the next takes longer than all else
            elif kind == BUSY:
                self._heard[rank] = time.monotonic()
            elif kind == ENDED:
                self._gone.setdefault(rank, _text(parts))
            else:
                self._reason = self._reason or _text(parts)
            self._changed.notify_all()

    def lose(self, rank: int, how: str = "is gone") -> None:
        """Record that ``rank`` cannot be reached; ``how`` says so in error messages, which begin "rank 1 is gone"."""
        with self._changed:
            self._gone.setdefault(rank, how)
            self._changed.notify_all()

    def end(self, how: str = "has ended") -> None:
        """Tell the others that the job is over on this rank, and how, such as "has raised KeyError: 'a'"."""
        if not self._over.is_set():
            self._over.set()
            self._note(ENDED, how)

    def abort(self, reason: str) -> None:
        """End the job: all ranks that wait now or later raise ``CommunicationError`` with ``reason``."""
        with self._changed:
            first, self._reason = self._reason is None, self._reason or reason
            self._changed.notify_all()
        if first:
            self._note(ABORT, reason)

    # -- collectives ---------------------------------------------------------------------------------------------------

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return the ``value`` of every rank, in rank order; ``name`` is the name of the collective."""
        if is_array(value) and not isinstance(value, np.ndarray):
            tell(BY_HOST)
            xp = module_of(value)
            return [xp.asarray(part) for part in self._gathered(name, [xp.asnumpy(value)] * self.size)]
        return self._gathered(name, [value] * self.size)

    def exchange(self, parts: list[Array]) -> list[Array]:
        """Send ``parts[r]`` to each rank ``r``; return the arrays received, in rank order. All parts have one dtype."""
        xp, name = module_of(parts[0]), f"exchange of {parts[0].dtype}"
        if xp is np:
            return self._gathered(name, parts)
        tell(BY_HOST)
        return [xp.asarray(part) for part in self._gathered(name, [xp.asnumpy(part) for part in parts])]

    @meeting
    def _gathered(self, name: str, values: Sequence[Any]) -> list[Any]:
        """Send ``values[r]`` to each rank ``r``; return what the ranks sent to this one."""
        site, asked = call_site(self.skip), self.take_asked()
        place, texts = f"{name} at {site}", None if asked is None else asked.texts
        messages = {id(value): _packed(name, site, value, "" if asked is None else asked.digest) for value in values}
        found = self._swapped([messages[id(value)] for value in values], place)
        come = [message for message, _ in found]
        heads, are_apart = heads_of(come)
        if are_apart:
            way = np.frombuffer(pickle.dumps((place, texts)), np.uint8)
            said = [pickle.loads(one.tobytes()) for (one,) in self._swapped([(way,)] * self.size, place)]
            error = apart([way for way, _ in said], [texts for _, texts in said])
            assert error is not None
            raise error
        return whole(come, heads, lambda sizes: [rest for _, rest in found])

    def _swapped(self, sent: Sequence[Sequence[Any]], place: str) -> list[Any]:
        """Send ``sent[r]`` to each rank ``r``; return what came from each, in rank order; own parts are copied."""
        self._raise_reason()
        self.under_way = True
        for rank in self._others:
            self._post(rank, (DATA, sent[rank]))
        come = self._waited_for(place)
        self.under_way = False
        return [come.get(rank) or [part.copy() for part in sent[rank]] for rank in range(self.size)]

    def _waited_for(self, place: str) -> dict[int, Sequence[Any]]:
        began = time.monotonic()
        with self._changed:
            while absent := [rank for rank in self._others if not self._come[rank]]:
                self._raise_reason()
                for rank, how in self._gone.items():
                    if rank in absent:
                        raise CommunicationError(f"rank {rank} {how} while others are at {place}")
                if missing := self._missing(began, absent):
                    break
                self._changed.wait(TICK)
            else:
                return {rank: self._come[rank].popleft() for rank in self._others}
        self.abort(not_come(missing, place))
        raise CommunicationError(self._reason)

    def _raise_reason(self) -> None:
        if self._reason is not None:
            raise CommunicationError(self._reason)

    def _missing(self, began: float, absent: Sequence[int]) -> list[int]:
        """Return those of the ranks ``absent`` since ``began`` that said for longer than the limit not to be busy."""
        longest = time.monotonic() - limit() - GRACE
        return [rank for rank in absent if max(began, self._heard[rank]) < longest and rank not in self._gone]

    # -- notes ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def busy(self, most: float | None = None, *, reads: bool = False) -> Iterator[None]:
        """Return a context for work of this rank alone, see :meth:`Comm.busy`."""
        with self._busy.span(most, reads=reads):
            yield

    def _post(self, rank: int, message: Message) -> None:
        try:
            self.send(rank, message)
        except OSError as error:
            self.lose(rank, f"is gone ({error})")

    def _note(self, kind: str, text: str = "") -> None:
        for rank in self._others:
            self._post(rank, (kind, [np.frombuffer(text.encode(), np.uint8)]))

    def _beat(self) -> None:
        """Tell others that this rank is busy; end the job if its work takes too long, or others miss what it reads."""
        said = -math.inf
        while not self._over.wait(TICK):
            now, most = time.monotonic(), limit()
            if (self._busy or NOTICE.is_busy) and now - said > min(most / BEATS, 30.0):
                said = now
                self._note(BUSY)
            if overdue := self._busy.overdue(self.rank):
                self.abort(overdue)
            with self._changed:
                absent = [rank for rank in self._others if not self._come[rank]]
                missing = self._missing(self._busy.reads_since, absent)
            if missing:
                self.abort(not_come(missing, "the next collective"))


def _text(parts: Sequence[Any]) -> str:
    return b"".join(part.tobytes() for part in parts).decode()


def _packed(name: str, site: str, value: Any, asked: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the message of a collective and the bytes that do not fit into it, both apart from ``value``."""
    head, rest = packed(name, site, value, asked)
    return head, rest.copy()
