"""Which workers of a Dask scheduler have ranks: a plugin of the scheduler, so that two runs never share a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from distributed.diagnostics.plugin import SchedulerPlugin

from suricate.engines.links import NAME

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


class Place(NamedTuple):
    """A worker that a run has taken: its address, and what identifies its process, as addresses are used again."""

    address: str
    process: str


class Reservations(SchedulerPlugin):
    """Workers that runs have taken, and runs that wait for some, in the order in which they came."""

    name = NAME

    def __init__(self) -> None:
        self.taken: dict[str, tuple[str, str]] = {}  # by address: run and client
        self.waiting: dict[str, str] = {}  # by run: client
        self.running: dict[str, str] = {}  # by address: the run whose job is there, maybe cancelled; as workers say

    def valid_workers_downscaling(self, scheduler: Scheduler, workers: list[Any]) -> list[Any]:
        """Return the workers that adaptive scaling may retire: those without a rank."""
        return [worker for worker in workers if worker.address not in self.taken | self.running]

    def log_event(self, topic: str, msg: Any) -> None:
        """Note which workers run a job: one that was cancelled goes on until its next collective."""
        if topic != NAME:
            return
        if msg["runs"]:
            self.running[msg["address"]] = msg["run"]
        elif self.running.get(msg["address"]) == msg["run"]:
            del self.running[msg["address"]]

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Free what a client has taken that is gone."""
        self.taken = {address: entry for address, entry in self.taken.items() if entry[1] != client}
        self.waiting = {run: other for run, other in self.waiting.items() if other != client}

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Forget a worker that is gone: another process may have its address next."""
        self.taken.pop(worker, None)
        self.running.pop(worker, None)


def _of(scheduler: Any) -> Reservations:
    if NAME not in scheduler.plugins:
        scheduler.add_plugin(Reservations(), name=NAME)
    held: Reservations = scheduler.plugins[NAME]
    return held


def take(run: str, client: str, ranks: int | None, dask_scheduler: Any) -> tuple[list[Place] | None, int]:
    """Take ``ranks`` workers (None: all) for a run if so many are free and no other run waits for longer.

    Returns them in the order of their addresses, idle ones first, or None; and how many workers there are.
    """
    held, workers = _of(dask_scheduler), dask_scheduler.workers
    held.waiting.setdefault(run, client)
    free = [each for each in workers.values() if each.address not in held.taken | held.running]
    wanted = len(workers) if ranks is None else ranks
    if next(iter(held.waiting)) != run or not 0 < wanted <= len(free):
        return None, len(workers)
    del held.waiting[run]
    chosen = sorted(free, key=lambda each: (len(each.processing) > 0, each.address))[:wanted]
    held.taken |= {each.address: (run, client) for each in chosen}
    return sorted(Place(each.address, each.server_id) for each in chosen), len(workers)


def release(run: str, places: list[Place], keys: list[str], dask_scheduler: Any) -> list[str]:
    """Free the workers of a run; return the addresses of those that are gone.

    Tasks ``keys``, whose results stay, may be repeated anywhere, where they raise.
    """
    held = _of(dask_scheduler)
    held.waiting.pop(run, None)
    held.taken = {address: entry for address, entry in held.taken.items() if entry[0] != run}
    for key in keys:
        if key in dask_scheduler.tasks:
            dask_scheduler.tasks[key].worker_restrictions = None
    return gone(places, dask_scheduler)


def gone(places: list[Place], dask_scheduler: Any) -> list[str]:
    """Return the addresses of those workers that are gone."""
    present = {(each.address, each.server_id) for each in dask_scheduler.workers.values()}
    return [place.address for place in places if tuple(place) not in present]
