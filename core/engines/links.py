"""Ranks that are tasks on workers of Dask: what they exchange goes from worker to worker by ``distributed.comm``.

Every pair of workers has a connection of its own, to the address and port at which a worker serves anyway, by what the
cluster uses there (tcp, tls). Messages are read and written in the event loop of the worker, for the thread that runs
the job.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import CommunicationError
from suricate.comm.messages import limit
from suricate.comm.peers import ENDED, Message, PeerComm
from suricate.comm.protocol import Comm

if TYPE_CHECKING:
    from distributed import Worker

NAME = "suricate"  #: of the plugin of the scheduler, and of what workers tell it
OPERATION = "suricate_link"  #: what a worker calls the handler of connections from other ranks
CALL = "suricate.engines.dask.run(client, job) starts job(comm) on the workers of a Dask client"
SMALL = 1 << 12  #: bytes; arrays up to that go inside a message
LOOK = 0.5  #: seconds between looks whether the scheduler still wants the job
_ranks: dict[str, DaskComm] = {}  #: by run: what waits on this worker for the task of its rank


class DaskComm(PeerComm):
    """Communication of a rank that is a task on a Dask worker.

    Args:
        run: identifies the run.
        rank: number of this rank.
        addresses: those of the workers, in rank order.
        worker: the worker of this rank.
    """

    name = "dask"

    def __init__(self, run: str, rank: int, addresses: Sequence[str], worker: Worker) -> None:
        super().__init__(rank, len(addresses))
        self.run, self.addresses, self.worker = run, [*addresses], worker
        loop: Any = worker.loop  # of tornado, whose types are there or not
        self._loop = loop.asyncio_loop
        self._queues: dict[int, asyncio.Queue[Message | None]] = {other: asyncio.Queue() for other in self._others}
        self._key: str | None = None  # of the task that runs the job
        self._tasks: set[asyncio.Task[None]] = set()
        self._keep(self._wanted())

    @classmethod
    def join(cls) -> Comm:
        """Refuse: a job that Dask has started has its communication already."""
        raise CommunicationError(f"connect('dask'): this process runs no job of Dask; {CALL}")

    def send(self, rank: int, message: Message) -> None:
        """Have the event loop send ``message`` to ``rank``."""
        kind, parts = message
        said = kind, [part.tobytes() if part.nbytes <= SMALL else part for part in parts]
        self._loop.call_soon_threadsafe(self._queues[rank].put_nowait, said)

    def begin(self, key: str) -> None:
        """Record that the task ``key`` runs the job on this rank."""
        self._key = key
        self._tell(runs=True)

    def end(self, how: str = "has ended") -> None:
        """Tell the others how the job is over on this rank; connections end when it is over on both sides."""
        super().end(how)
        self._tell(runs=False)
        for rank in [*self._gone]:
            self._loop.call_soon_threadsafe(self._queues[rank].put_nowait, None)

    def _tell(self, *, runs: bool) -> None:
        """Tell the scheduler whether the job runs on this worker: if it was cancelled, that is so for some time yet."""
        said = {"run": self.run, "address": self.worker.address, "runs": runs}
        self._loop.call_soon_threadsafe(self.worker.log_event, NAME, said)

    # -- in the event loop ---------------------------------------------------------------------------------------------

    def _keep(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def dial(self) -> None:
        """Connect to the ranks with higher numbers; those with lower ones connect to this."""
        from distributed.comm.core import connect

        for rank in range(self.rank + 1, self.size):
            link = await connect(self.addresses[rank], **self.worker.connection_args)
            await link.write({"op": OPERATION, "run": self.run, "rank": self.rank, "reply": False})
            await link.read()  # it is served there: a task that begins finds all links of its rank
            self._keep(self.serve(rank, link))

    async def serve(self, rank: int, link: Any) -> None:
        """Deliver what comes from ``rank`` by ``link``, and send what is for it, until the job is over on both."""
        writing = asyncio.ensure_future(self._write(rank, link))
        try:
            while not writing.done():
                kind, parts = await link.read()
                self.deliver(rank, (kind, [np.frombuffer(part, np.uint8) for part in parts]))
                if kind == ENDED and self._over.is_set():
                    self._queues[rank].put_nowait(None)
        except Exception as error:  # OSError: the other worker has ended
            self.lose(rank, f"on {self.addresses[rank]} is gone" + f" ({error})" * (not isinstance(error, OSError)))
        finally:
            writing.cancel()
            link.abort()

    async def _write(self, rank: int, link: Any) -> None:
        from distributed.protocol import to_serialize

        while (message := await self._queues[rank].get()) is not None:
            kind, parts = message
            await link.write((kind, [part if isinstance(part, bytes) else to_serialize(part) for part in parts]))
        await link.close()

    async def _wanted(self) -> None:
        """Abort when the scheduler has cancelled the task of this rank, or has not sent it within the limit."""
        made = time.monotonic()
        while not self._over.is_set():
            await asyncio.sleep(LOOK)
            if self._key is None:
                if time.monotonic() - made > limit() and _ranks.pop(self.run, None) is not None:
                    self.end("has not begun")
                continue
            task = self.worker.state.tasks.get(self._key)
            if task is None or task.state == "cancelled":
                self.abort("the client has cancelled the job, or is gone")


def prepare(run: str, addresses: Sequence[str], dask_worker: Worker) -> None:
    """Make the communication of this worker."""
    dask_worker.handlers[OPERATION] = _accept
    _ranks[run] = DaskComm(run, addresses.index(dask_worker.address), addresses, dask_worker)


async def dial(run: str, dask_worker: Worker) -> None:
    """Connect this worker to the others of a run, on each of which :func:`prepare` was called."""
    await _ranks[run].dial()


def forget(run: str, dask_worker: Worker) -> None:
    """Drop what :func:`prepare` has made, if no task has taken it."""
    if (comm := _ranks.pop(run, None)) is not None:
        comm.end("has not begun")


def taken(run: str) -> DaskComm:
    """Return what :func:`prepare` has made, once; an error if a task has taken it, as Dask repeats tasks."""
    comm = _ranks.pop(run, None)
    if comm is None:
        raise CommunicationError("the worker of this rank, or what its job has left there, is lost: run the job again")
    return comm


async def _accept(comm: Any, run: str, rank: int) -> None:
    """Serve a connection from another rank, for as long as the job takes; a handler of the worker."""
    own = _ranks.get(run)
    if own is None:  # the run is over
        comm.abort()
        return
    await comm.write("served")
    await own.serve(rank, comm)
