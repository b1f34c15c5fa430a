"""A rank that was interrupted while it met others says so at the next collective; it takes no value for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import queued_ranks
from mpi_jobs import start

from suricate.errors import CommunicationError

pytestmark = pytest.mark.plain  # its processes compile nothing


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError])
def test_an_interrupted_rank_meets_no_others(kind: type[BaseException]) -> None:
    def interrupt(place: str) -> Any:
        raise kind

    def job(comm: Any) -> list[Any]:
        if comm.rank == 1:
            comm._waited_for = interrupt
        seen: list[Any] = []
        for _ in range(2):
            try:
                seen.append(comm.allgather(comm.rank))
            except (kind, CommunicationError) as error:
                seen.append(str(error))
            comm.__dict__.pop("_waited_for", None)
        return seen

    (found, ended), (_, refused) = queued_ranks.run(job, 2)
    assert found == [0, 1]  # what the interrupted rank had sent
    assert ended.startswith("rank 1 has ended")
    assert refused.startswith(f"{kind.__name__} has interrupted rank 1 at {__file__}:")


def test_a_value_that_cannot_be_sent_interrupts_nothing() -> None:
    def job(comm: Any) -> list[int]:
        with pytest.raises(Exception, match="pickle"):
            comm.allgather(lambda: 0)
        return comm.allgather(comm.rank)

    assert queued_ranks.run(job, 2) == [[0, 1], [0, 1]]


@pytest.mark.slow
def test_an_interrupted_process_of_mpi_ends_its_job() -> None:
    done = start(Path(__file__).parent / "mpi_faults.py", "interrupted")
    assert done.returncode != 0
    assert "KeyboardInterrupt has interrupted rank 1 at " in done.stderr, done.stderr
    assert "done" not in done.stdout
