"""What all ranks must ask for alike: the next meeting compares it, and no meeting is added where there is one."""

from __future__ import annotations

import re

import numpy as np
import pytest

import suricate as su
from suricate.comm.threads import ThreadComm
from suricate.errors import CommunicationError, ParameterError
from suricate.parallel import Comm, run


class Meetings:
    """Names of the meetings of the first rank."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        gather, names = ThreadComm.gather, self.names

        def noted(self: ThreadComm, name: str, value: object) -> list[object]:
            if self.rank == 0:
                names.append(name)
            return gather(self, name, value)

        monkeypatch.setattr(ThreadComm, "gather", noted)


def test_the_next_meeting_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    meetings = Meetings(monkeypatch)

    def job(comm: Comm) -> None:
        with comm.asking({"source": 3}):
            comm.barrier()
        with comm.asking({"source": 3}):
            pass
        for source in (3, comm.rank):
            with comm.asking({"first": np.arange(3), "source": source}):
                if source == 3:
                    continue
                with pytest.raises(ParameterError, match="source is 0 on rank 0 and 1 on rank 1: pass the same"):
                    comm.barrier()
        assert comm.allgather(comm.rank) == [0, 1]

    run(job, 2)
    assert meetings.names == ["barrier", "same", "same", "barrier", "allgather"]


def test_the_end_compares_what_no_meeting_has() -> None:
    def job(comm: Comm) -> None:
        with pytest.raises(ParameterError, match="source is 0"), comm.asking({"source": comm.rank}):
            pass
        with (
            pytest.raises(ParameterError, match="limit is not given on rank 0"),
            comm.asking({"limit": 1} if comm.rank else {}),
        ):
            raise ValueError("of each rank")
        assert comm.allgather(comm.rank) == [0, 1]

    run(job, 2)


def test_ranks_that_go_different_ways_as_they_ask_for_different_things() -> None:
    def job(comm: Comm) -> None:
        with pytest.raises(ParameterError, match="source is 0"), comm.asking({"source": comm.rank}):
            comm.barrier() if comm.rank else comm.allgather(1)
        with pytest.raises(CommunicationError, match="gone different ways"), comm.asking({"source": 3}):
            comm.barrier() if comm.rank else comm.allgather(1)

    run(job, 2)


def test_an_error_on_all_ranks_is_raised_by_each(monkeypatch: pytest.MonkeyPatch) -> None:
    meetings = Meetings(monkeypatch)

    def job(comm: Comm) -> list[int]:
        for _ in range(2):
            with pytest.raises(KeyError, match="mine"), comm.asking({"source": 3}):
                raise KeyError("mine")
        return comm.allgather(comm.rank)

    assert run(job, 2) == [[0, 1]] * 2
    assert meetings.names == ["the end by KeyError"] * 2 + ["allgather"]


def test_an_error_on_one_rank_is_told_to_those_that_wait() -> None:
    said: list[str] = []

    def job(comm: Comm) -> None:
        try:
            with comm.asking({"source": 3}):
                if comm.rank == 0:
                    raise MemoryError("full")
                comm.barrier()
        except CommunicationError as error:
            said.append(str(error))

    with pytest.raises(MemoryError, match="full"):
        run(job, 2)
    assert re.search(r"rank 0 calls the end by MemoryError at .*, rank 1 calls barrier at", said[0])


def test_an_interrupt_leaves_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    meetings = Meetings(monkeypatch)

    def job(comm: Comm) -> None:
        with pytest.raises(KeyboardInterrupt), comm.asking({"source": comm.rank}):
            raise KeyboardInterrupt
        comm.barrier()

    run(job, 2)
    assert meetings.names == ["barrier"]


@pytest.mark.parametrize("call", ["compute", "track"])
def test_algorithms_are_compared_at_the_first_meeting_of_their_computation(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that differs, and one that is unknown everywhere; what follows is computed."""
    meetings = Meetings(monkeypatch)

    def job(comm: Comm) -> list[int]:
        graph = su.Graph(10, device="cpu", comm=comm, threads=1)
        graph.insert_edges([comm.rank], [comm.rank + 1])
        with pytest.raises(ParameterError, match="algorithm is 'bfs' on rank 0 and 'wcc' on rank 1"):
            getattr(graph, call)("wcc" if comm.rank else "bfs")
        with pytest.raises(su.errors.UnknownNameError):
            getattr(graph, call)("breadth")
        if comm.rank == 0:
            meetings.names.clear()
        levels: list[int] = graph.compute("bfs").level.tolist()
        return levels

    assert run(job, 2) == [[0, 1, 2] + [-1] * 7] * 2
    assert "same" not in meetings.names
    assert meetings.names
