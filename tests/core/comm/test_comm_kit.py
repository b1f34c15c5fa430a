"""The kit of comms, on what comes with suricate and on a comm of one's own."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, ClassVar

import pytest
import queued_ranks
from mpi_jobs import start
from slow_faults import SlowFaults

from suricate.errors import CommunicationError
from suricate.parallel import Comm, SelfComm, run, using
from suricate.testing import CommConformance
from suricate.testing.several.comms import ends, within

pytestmark = pytest.mark.plain  # it compiles nothing that others do not


class TestThreads(SlowFaults):
    def run(self, job: Callable[[Comm], Any], ranks: int) -> list[Any]:
        return run(job, ranks)


class TestSelf(SlowFaults):
    ranks = 1

    def run(self, job: Callable[[Comm], Any], ranks: int) -> list[Any]:
        with using(SelfComm()) as comm:
            return [job(comm)]


class TestPeers(CommConformance):
    def run(self, job: Callable[[Comm], Any], ranks: int) -> list[Any]:
        return queued_ranks.run(job, ranks)


class Served:
    """Processes of MPI that run jobs until one of them fails; then the next job starts others."""

    def __init__(self, ranks: int, folder: Path) -> None:
        self.ranks, self.folder, self.number = ranks, folder, 0
        self._done: Future[CompletedProcess[str]] = Future()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            script = Path(__file__).parent / "kit_job.py"
            self._done.set_result(start(script, str(self.folder), ranks=self.ranks))
        except BaseException as error:  # there is no MPI
            self._done.set_exception(error)

    def give(self, job: bytes) -> list[Any]:
        """Run a job on all of them; the empty one is the last."""
        (self.folder / "giving").write_bytes(job)
        (self.folder / "giving").rename(self.folder / f"job.{self.number}")
        found = [self.folder / f"result.{self.number}.{rank}" for rank in range(self.ranks)]
        while not all(each.exists() for each in found):
            with suppress(TimeoutError):
                done = self._done.result(timeout=0.02)
                if not job:
                    return []
                raise CommunicationError(done.stderr)
        self.number += 1
        return [pickle.loads(each.read_bytes()) for each in found]


@pytest.mark.slow
class TestMPI(CommConformance):
    served: ClassVar[Served | None] = None

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _end(cls) -> Iterator[None]:
        yield
        if cls.served is not None:
            cls.served.give(b"")

    def run(self, job: Callable[[Comm], Any], ranks: int) -> list[Any]:
        served = type(self).served or Served(ranks, self.folder)
        type(self).served = None
        found = served.give(pickle.dumps(job))
        type(self).served = served
        return found

    def test_a_rank_that_ends(self) -> None:
        """Here a process that has run a job waits for the next; see test_comm_mpi."""
        with pytest.raises(CommunicationError, match=r"ranks \[1\] did not come to barrier at .*comms\.py"):
            self._run(ends_soon)


def ends_soon(comm: Comm) -> None:
    with within(1.0):
        ends(comm)
