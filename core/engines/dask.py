"""Jobs of several processes on the workers of a Dask cluster: :func:`run`.

Each rank is a task on a worker of its own. Dask schedules the tasks, holds the data, and says which workers are gone;
what ranks exchange goes directly from worker to worker (``links``), or by NCCL where every worker has a GPU for itself.
"""

from __future__ import annotations

import math
import os
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from distributed import Client, Future, get_worker
from distributed import wait as wait_for

from suricate import __version__
from suricate.base.devices import cuda_device_count
from suricate.base.errors import CommunicationError, ParameterError, RequirementError
from suricate.base.parameters import flag, integer, shown
from suricate.comm.connect import has_nccl
from suricate.comm.protocol import Comm
from suricate.cpu.threads import Limited, checked
from suricate.engines import links, reservations
from suricate.engines.partitions import Partitions, assigned
from suricate.engines.reservations import Place
from suricate.parallel import using  # registers how graphs are divided, for jobs that import suricate only

if TYPE_CHECKING:
    from suricate.engines.links import DaskComm

POLL = 0.2  #: seconds between looks at the workers of a run
LAST = 3.0  #: seconds, once a rank has failed, for others to raise, and the scheduler to see a lost worker
RETURN = 30.0  #: seconds for a worker to take the place of a lost one before a run that needs it is repeated

__all__ = ["run"]


class _Data(NamedTuple):
    """Partitions of a Dask DataFrame, on the workers, and a table without rows of the same columns."""

    empty: Any
    parts: list[Future]


class _LostError(CommunicationError):
    """A worker of a run is gone."""


def run(
    client: Client,
    job: Callable[..., Any],
    data: Any = None,
    ranks: int | None = None,
    frames: bool = False,
    retries: int = 0,
    threads: int | None = None,
) -> Any:
    """Call ``job(comm)``, or ``job(comm, data)``, on workers of a Dask cluster; return the answers in rank order.

    Every rank is a task on a worker of its own, which no other run uses meanwhile: a run waits until enough workers are
    free, in the order of calls. ``connect()`` inside the job returns ``comm``. Graphs live as long as the job. If a
    rank raises, the others do at their next collective, and this raises its error after 3 seconds at most; a worker
    that goes on until then takes part in no other run. So it is if the client cancels the job, or is gone. The
    scheduler, the workers and this process have the same version of suricate.

    Args:
        client: of the cluster, not an asynchronous one.
        job: a function that Dask can send.
        data: a Dask DataFrame. Its partitions are made, and stay on the workers; the job gets those of its worker, as
            :class:`~suricate.engines.partitions.Partitions`. Each partition is with one rank.
        ranks: how many workers; None: all that there are.
        frames: the job returns a table on each rank, of pandas or Arrow, which stays on its worker; this returns a Dask
            DataFrame with one partition per rank.
        retries: how many times the job is called again from its start if a worker is lost: on all workers that are
            there then, or on ``ranks`` of them, for which it waits 30 seconds. A job that goes on from its checkpoint
            needs a folder that all workers see. One that raises is not repeated.
        threads: of loops on the CPU, per rank; None: those of the worker.

    Raises:
        ParameterError: an argument is invalid; partitions have other columns than ``data``.
        RequirementError: there are too few workers; some are threads of one process; one has no suricate, or another
            version.
        CommunicationError: a worker is gone, or ranks went different ways.
        Exception: of the first rank that failed by itself.
    """
    if not isinstance(client, Client) or client.asynchronous:
        raise ParameterError(f"client must be a distributed.Client that is not asynchronous, got {shown(client)}")
    if not callable(job):
        raise ParameterError("job must be a function of a Comm")
    ranks = None if ranks is None else integer("ranks", ranks, low=1)
    frames, retries = flag("frames", frames), integer("retries", retries, low=0)
    checked(threads)
    if data is not None:
        if not hasattr(data, "to_delayed") or data.ndim != 2:  # a Series has ``columns``, too
            raise ParameterError(f"data must be a Dask DataFrame, got {shown(type(data).__name__)}")
        data = _Data(data._meta, client.compute(data.to_delayed()))
    for left in range(retries, -1, -1):
        try:
            return _Run(client, ranks, again=left < retries).answers(job, data, frames, threads)
        except _LostError as error:
            if not left:
                raise CommunicationError(str(error)) from error
    raise AssertionError


class _Run:
    """One start of a job; ``again``: it is repeated, so that a worker may be on its way."""

    def __init__(self, client: Client, ranks: int | None, *, again: bool) -> None:
        self.client, self.ranks, self.again, self.name = client, ranks, again, uuid.uuid4().hex
        self.places: list[Place] = []
        self.futures: list[Future] = []
        self.kept: list[str] = []  # keys of tasks whose results stay on their workers

    def answers(self, job: Callable[..., Any], data: _Data | None, frames: bool, threads: int | None) -> Any:
        try:
            _demand(self._on_scheduler(_asking(), self.name)[0], "the scheduler")
            self._take()
            if data is not None:
                _made(data.parts)
            self._prepare()
            self._submit(job, data, frames, threads)
            self._watch()
            if not frames:
                return self.client.gather(self.futures)
            self.kept = [str(future.key) for future in self.futures]
            return _frame(self.client, self.futures)
        finally:
            self._end()

    def _take(self) -> None:
        until = time.monotonic() + (RETURN if self.again else 0)
        while True:
            places, there = self._on_scheduler(reservations.take, self.name, self.client.id, self.ranks)
            if places is not None:
                self.places = places
                return
            if there < (self.ranks or 1) and time.monotonic() > until:
                raise RequirementError(f"ranks={self.ranks or 1} needs as many workers, and there are {there}")
            time.sleep(POLL)

    def _on_scheduler(self, function: Callable[..., Any], *given: Any) -> Any:
        try:
            return self.client.run_on_scheduler(function, *given)
        except Exception as error:
            if self.client.status in ("closing", "closed"):
                raise CommunicationError("the client was closed during its run") from error
            if isinstance(error, OSError):
                raise CommunicationError(f"the scheduler cannot be reached: {error}") from error
            raise

    @property
    def _addresses(self) -> list[str]:
        return [place.address for place in self.places]

    def _prepare(self) -> None:
        """Connect the workers, after looking whether each has this version of suricate, and a process of its own."""
        found = self._on_workers(_asking())
        for address, (version, _) in found.items():
            _demand(version, f"worker {address}")
        processes = {process for _, process in found.values()}
        if len(processes) < len(found):
            raise RequirementError(
                f"{len(found)} workers are threads of {len(processes)} processes: ranks need a process each "
                "(LocalCluster(processes=True), or threads without Dask: suricate.parallel.run)"
            )
        self._on_workers(links.prepare, self._addresses)
        self._on_workers(links.dial)

    def _on_workers(self, function: Callable[..., Any], *given: Any) -> dict[str, Any]:
        """Call ``function(run, *given)`` on the workers; raise if one is gone, or it raises there."""
        found = self.client.run(function, self.name, *given, workers=self._addresses, on_error="return")
        for said in found.values():
            if isinstance(said, BaseException):
                self._raise_lost(LAST)
                raise said
        return found

    def _submit(self, job: Callable[..., Any], data: _Data | None, frames: bool, threads: int | None) -> None:
        parts = [] if data is None else data.parts
        holders = self.client.who_has(parts) if parts else {}
        owners = assigned([holders.get(part.key, ()) for part in parts], self._addresses)
        for rank, address in enumerate(self._addresses):
            held = {number: part for number, part in enumerate(parts) if owners[number] == rank}
            given = None if data is None else (data.empty, owners, [*held])
            self.futures += [
                self.client.submit(
                    _rank, self.name, job, given, [*held.values()], frames, threads,
                    key=f"suricate-{self.name}-{rank}", workers=[address], allow_other_workers=False, pure=False,
                    retries=0, priority=10,
                )
            ]  # fmt: skip

    def _watch(self) -> None:
        """Return when all ranks have ended; raise if one has failed, or its worker is gone."""
        placed, until = dict(zip(self._addresses, self.futures, strict=True)), math.inf
        while pending := {address: future for address, future in placed.items() if future.status == "pending"}:
            with suppress(TimeoutError, CancelledError, RuntimeError):  # the last: the client was closed
                wait_for([*pending.values()], timeout=POLL)
                continue
            lost = {*self._lost()}
            if lost.issuperset(pending) or time.monotonic() > until:
                break
            if lost or any(future.status not in ("pending", "finished") for future in self.futures):
                until = min(until, time.monotonic() + LAST)
        errors = [future.exception() for future in self.futures if future.status == "error"]
        for error in errors:
            if not isinstance(error, CommunicationError):
                raise error
        self._raise_lost()
        for error in errors:
            raise error
        if any(future.status != "finished" for future in self.futures):
            raise CommunicationError("the run was cancelled by its client")

    def _lost(self) -> list[str]:
        return self._on_scheduler(reservations.gone, self.places)

    def _raise_lost(self, seconds: float = 0) -> None:
        """Raise if a worker is gone; wait for the scheduler to see that for so long."""
        until = time.monotonic() + seconds
        while not (lost := self._lost()):
            if time.monotonic() >= until:
                return
            time.sleep(POLL)
        ranks = [f"rank {self._addresses.index(address)} on {address}" for address in lost]
        raise _LostError(f"{', '.join(ranks)} is gone: its worker has ended, or the scheduler cannot reach it")

    def _end(self) -> None:
        if self.client.status != "running":
            return  # the scheduler has cancelled what is pending, and freed the workers
        if not self.kept:
            self.client.cancel(self.futures, force=True)
        lost = self._on_scheduler(reservations.release, self.name, self.places, self.kept)
        if there := [address for address in self._addresses if address not in lost]:
            self.client.run(links.forget, self.name, workers=there, on_error="ignore")


def _asking() -> Callable[[str], tuple[str, tuple[str, int]]]:
    """Return a function that tells version, or an error, host and process; it is sent whole: suricate may be absent."""

    def tells(run: str) -> tuple[str, tuple[str, int]]:
        import os

        try:
            from suricate import __version__ as version
        except ImportError as error:
            version = str(error)
        return version, (os.uname().nodename, os.getpid())

    return tells


def _demand(version: str, who: str) -> None:
    """Raise unless ``who`` has the version of suricate that this process has; see :func:`_asking`."""
    if version != __version__:
        raise RequirementError(f"{who} lacks suricate {__version__}, which this process has: {version}")


def _made(parts: list[Future]) -> None:
    """Wait until partitions are on workers: also before a run is repeated, as those of a lost worker are made again."""
    wait_for(parts)
    for part in parts:
        if part.status == "error":
            part.result()


def _rank(
    name: str, job: Callable[..., Any], given: Any, parts: Sequence[Any], frames: bool, threads: int | None
) -> Any:
    """Run the job on this rank; a task. ``given``: see ``_Run._submit``."""
    worker = get_worker()
    own = links.taken(name)
    own.begin(str(worker.get_current_task()))
    how = "has ended"
    try:
        comm = _with_gpus(own)
        arguments: list[Any] = [comm]
        if given is not None:
            empty, owners, numbers = given
            arguments.append(Partitions(empty, owners, dict(zip(numbers, parts, strict=True)), own.size))
            arguments[1].check(comm)
        with using(comm), Limited(threads or worker.state.nthreads):
            answer = job(*arguments)
        return _table(answer) if frames else answer
    except BaseException as error:
        how = f"has raised {type(error).__name__}: {error}"
        raise
    finally:
        own.end(how)


def _with_gpus(comm: DaskComm) -> Comm:
    """Return a communication by NCCL if every worker has it, and a GPU that no other worker has as its first."""
    place = None
    if cuda_device_count() and has_nccl():
        import cupy

        place = os.uname().nodename, cupy.cuda.runtime.deviceGetPCIBusId(0)
    found = comm.allgather(place)
    if None in found or len({*found}) < len(found):
        return comm
    from suricate.comm.nccl import NCCLComm

    return NCCLComm(comm, 0)


def _table(answer: Any) -> Any:
    """Return a DataFrame of pandas, or one that Dask knows; a table of Arrow as one."""
    if hasattr(answer, "to_pandas") and not hasattr(answer, "iloc"):
        answer = answer.to_pandas()
    if not hasattr(answer, "iloc") or not hasattr(answer, "columns"):
        raise ParameterError(f"frames=True: the job must return a table, got {shown(type(answer).__name__)}")
    return answer


def _frame(client: Client, futures: Sequence[Future]) -> Any:
    from dask.dataframe import from_delayed

    return from_delayed([*futures], meta=client.submit(_head, futures[0]).result())


def _head(table: Any) -> Any:
    return table.iloc[:0]
