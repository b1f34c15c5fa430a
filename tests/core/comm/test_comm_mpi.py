"""How a job of MPI ends that cannot go on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi_jobs import start

pytestmark = pytest.mark.plain  # its processes compile nothing
SCRIPT = Path(__file__).parent / "mpi_faults.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "KeyError: 'mine'"), ("stalls", "ranks [1] did not come to together at "),
        ("hangs", "ranks [1] did not come to the next collective within 3 s"),
        ("asks", "source is 0 on rank 0 and 1 on rank 1: pass the same on all ranks"),
        pytest.param("exits0", "rank 1 has ended while others are at together at ", marks=pytest.mark.slow),
        pytest.param(
            "elsewhere", "the ranks have gone different ways: rank 0 calls together at", marks=pytest.mark.slow
        ),
        pytest.param("quiet", "rank 1 got nothing from its source within 1.5 s", marks=pytest.mark.slow),
        pytest.param("exits1", "", marks=pytest.mark.slow),
        pytest.param("killed", "signal 9", marks=pytest.mark.slow),
        pytest.param(
            "queued", "rank 1 has ended while a collective that is queued on a device", marks=pytest.mark.slow
        ),
        pytest.param("aborts", "rank 1: no more data", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_job_that_cannot_go_on_ends(fault: str, said: str) -> None:
    done = start(SCRIPT, fault)
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert said in done.stderr, done.stderr
    if fault in ("stalls", "elsewhere"):
        assert "mpi_faults.py:" in done.stderr


def test_many_ranks_send_no_more_bytes_at_a_time_than_mpi_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = pytest.importorskip("suricate.comm.mpi", exc_type=ImportError)
    monkeypatch.setattr(mpi, "MOST", 96)
    comm, at_once = object.__new__(mpi.MPIComm), []
    comm.size, sizes = 16, [*range(0, 24, 2), 30, 0, 1, 6]

    def gather(sent: np.ndarray, into: list[Any]) -> None:
        received, counts = into
        assert len(sent) == counts[12]
        at_once.append(sum(counts))
        received[:] = np.repeat(np.arange(16, dtype=np.uint8), counts)

    comm.world, comm._watch = SimpleNamespace(Iallgatherv=gather), SimpleNamespace(wait=lambda request: None)
    found = comm._exchange(np.zeros(30, np.uint8), sizes)
    assert [part.tolist() for part in found] == [[rank] * size for rank, size in enumerate(sizes)]
    assert max(at_once) <= 96 < sum(at_once) == sum(sizes)


def test_what_the_last_collectives_needed_goes_in_one_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they were; larger values take two, and messages are short again after others were."""
    mpi = pytest.importorskip("suricate.comm.mpi", exc_type=ImportError)
    comm, exchanges = object.__new__(mpi.MPIComm), []
    comm.size, comm._lengths = 2, mpi.Lengths(2)

    def gather(sent: np.ndarray, received: Any) -> None:
        exchanges.append(len(sent))
        (received[0] if isinstance(received, list) else received).reshape(2, -1)[:] = sent

    comm.world = SimpleNamespace(Iallgather=gather, Iallgatherv=gather)
    comm._watch = SimpleNamespace(wait=lambda request: None, come=lambda *place: None)

    def lengths(value: Any) -> list[int]:
        exchanges.clear()
        for got in comm.gather("allgather", value):
            assert np.array_equal(got, value)
            assert not isinstance(value, np.ndarray) or (got.dtype == value.dtype and got.flags.writeable)
        return exchanges[:]

    many, most = np.arange(250.0), np.arange(1 << 10)
    assert lengths(many) == [256, 2000]
    assert lengths("few") == lengths(many.reshape(25, 10)) == lengths(np.int32([[[5]]])) == [4096]
    assert lengths(most) == [4096, 8192]
    assert lengths(most[8:]) == [4096, 8128]
    assert [lengths(many) for _ in range(16)] == [[8192]] * 16
    assert lengths(b"few") == [4096]
    assert [lengths(None) for _ in range(17)] == [[4096]] * 15 + [[256]] * 2
    assert mpi.Lengths(1 << 6).length == 256
    few = mpi.Lengths(1 << 6)
    few.note([(b"", 2000), (b"", 10)])
    assert few.length == 256
    few.note([(b"", 900), (b"", 10)])
    assert few.length == 1024


@pytest.mark.slow
@pytest.mark.parametrize("work", ["compiles", "busy"])
def test_a_rank_that_is_busy_is_waited_for(work: str) -> None:
    done = start(SCRIPT, work)
    assert (done.returncode, done.stdout.split()) == (0, ["done"] * 2), done.stderr
