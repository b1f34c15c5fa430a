"""Ranks that are threads: what they exchange, and that ranks which go different ways are an error, not a wait."""

from __future__ import annotations

import functools
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import suricate as su
from suricate.comm.connect import OTHERS, SIZES
from suricate.errors import CommunicationError, ParameterError
from suricate.parallel import Comm, SelfComm, call_site, connect, run
from suricate.placement.clock import AgreedClock


def at_barrier(comm: Comm, released: threading.Event) -> None:
    """Wait at a barrier; then set ``released``, for ranks that do not come before the others have given up."""
    try:
        comm.barrier()
    finally:
        released.set()


def test_values_and_arrays_come_back_in_rank_order() -> None:
    def job(comm: Comm) -> None:
        assert comm.allgather(comm.rank) == [0, 1, 2]
        parts = comm.allgatherv(np.arange(comm.rank))
        assert [part.tolist() for part in parts] == [[], [0], [0, 1]]
        parts[2][0] = 7  # a copy
        assert comm.allgatherv(parts[2])[comm.rank].tolist() == [7, 1]
        assert comm.agree(comm.rank + 5) == 5
        comm.barrier()

    run(job, 3)


def test_results_are_in_rank_order() -> None:
    assert run(lambda comm: comm.rank * 10, 4) == [0, 10, 20, 30]


def test_an_array_may_change_once_it_was_sent() -> None:
    def job(comm: Comm) -> int:
        total = 0
        for number in range(200):
            sent = np.full(3, number)
            got = comm.allgatherv(sent)
            sent[:] = -1
            total += sum(int(part.sum()) for part in got)
        return total

    assert run(job, 3) == [9 * 199 * 100] * 3


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64", "float32"])
@pytest.mark.parametrize(("ranks", "size"), [(1, 7), (3, 5), (3, 4001), (5, 2000)])
def test_arrays_are_reduced_in_rank_order(dtype: str, ranks: int, size: int) -> None:
    """Gathered if they are small, else slice by slice: whole arrays, and every second entry of one."""
    given = np.random.default_rng(size).integers(0, 50, (ranks, 2, size)).astype(dtype)
    given += np.array(0.1 if dtype == "float32" else 0, dtype)

    def job(comm: Comm) -> None:
        for op, fold in {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or}.items():
            if op == "or" and dtype == "float32":
                continue
            for view in (lambda one: one.copy(), lambda one: np.repeat(one, 2, axis=1)[:, ::2]):
                mine = view(given[comm.rank])
                comm.reduce(mine, op)
                np.testing.assert_array_equal(mine, functools.reduce(fold, given))

    run(job, ranks)


def test_large_arrays_are_reduced_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what other ranks send never takes as much memory as the array."""
    monkeypatch.setattr("suricate.comm.protocol.PIECE", 1 << 12)
    given, largest = np.random.default_rng(3).random((2, 5000)), [0, 0]

    def job(comm: Comm) -> None:
        send = comm.exchange

        def exchange(parts: list[Any]) -> list[Any]:
            largest[comm.rank] = max(largest[comm.rank], sum(part.nbytes for part in parts))
            return send(parts)

        comm.exchange = exchange  # type: ignore[method-assign]
        mine = given[comm.rank].copy()
        comm.reduce(mine, "sum")
        np.testing.assert_array_equal(mine, given[0] + given[1])

    run(job, 2)
    assert largest == [1 << 12] * 2


@pytest.mark.parametrize("ranks", [2, 8, 16])
def test_what_a_rank_receives_of_a_reduction_does_not_grow_with_the_ranks(ranks: int) -> None:
    def job(comm: Comm) -> int:
        metered = Counting(comm)
        metered.reduce(np.full(64_000, comm.rank, np.uint64), "sum")
        return metered.received

    whole = 8 * 64_000
    assert run(job, ranks) == [2 * (whole - whole // ranks)] * ranks


class Counting(Comm):
    """Counts the bytes of arrays that come from other ranks."""

    def __init__(self, inner: Comm) -> None:
        self.inner, self.rank, self.size, self.received = inner, inner.rank, inner.size, 0

    def gather(self, name: str, value: Any) -> list[Any]:
        return self._counted(self.inner.gather(name, value))

    def exchange(self, parts: list[Any]) -> list[Any]:
        return self._counted(self.inner.exchange(parts))

    def abort(self, reason: str) -> None:
        self.inner.abort(reason)

    def _counted(self, found: list[Any]) -> list[Any]:
        self.received += sum(part.nbytes for rank, part in enumerate(found) if rank != self.rank)
        return found


def test_ranks_that_call_different_things_are_told_both_lines() -> None:
    def job(comm: Comm) -> None:
        if comm.rank == 1:
            comm.barrier()
        else:
            comm.allgather(1)

    with pytest.raises(CommunicationError, match=r"rank 0 calls allgather at .*test_comm.*rank 1 calls barrier"):
        run(job, 3)


def test_a_rank_that_ends_while_others_wait() -> None:
    with pytest.raises(CommunicationError, match="rank 1 has ended while others are at barrier"):
        run(lambda comm: None if comm.rank == 1 else comm.barrier(), 3)


def test_what_a_rank_raised_is_raised() -> None:
    def job(comm: Comm) -> None:
        if comm.rank == 2:
            raise KeyError("mine")
        comm.barrier()

    with pytest.raises(KeyError, match="mine"):
        run(job, 3)


def test_a_rank_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_TIMEOUT", "0.2")
    released = threading.Event()

    def job(comm: Comm) -> None:
        if comm.rank == 0:
            released.wait(PATIENCE)
        at_barrier(comm, released)

    with pytest.raises(CommunicationError, match=r"ranks \[0\] did not come to barrier at .* within 0.2 s"):
        run(job, 2)


def test_a_rank_that_is_busy_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is short only while one rank is busy and the other waits for it."""
    is_busy = threading.Event()

    def job(comm: Comm) -> None:
        if comm.rank == 0:
            with comm.busy(), comm.busy():
                monkeypatch.setenv("SURICATE_TIMEOUT", "0.05")
                is_busy.set()
                time.sleep(0.3)  # the work itself
                monkeypatch.delenv("SURICATE_TIMEOUT")
        else:
            is_busy.wait(PATIENCE)
        comm.barrier()

    run(job, 2)


def test_a_rank_that_does_not_come_while_another_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_TIMEOUT", "0.2")
    is_busy, released = threading.Event(), threading.Event()

    def job(comm: Comm) -> None:
        if comm.rank == 0:
            with comm.busy():
                is_busy.set()
                released.wait(PATIENCE)
        else:
            (released if comm.rank == 1 else is_busy).wait(PATIENCE)
        at_barrier(comm, released)

    with pytest.raises(CommunicationError, match=r"ranks \[1\] did not come to barrier at .* within 0.2 s"):
        run(job, 3)


@pytest.mark.parametrize(("reads", "said"), [(False, "was busy for more than"), (True, "got nothing from its source")])
def test_work_that_has_a_limit_of_its_own(reads: bool, said: str) -> None:
    released = threading.Event()

    def job(comm: Comm) -> None:
        if comm.rank == 0:
            with comm.busy(0.1, reads=reads):
                released.wait(PATIENCE)
        at_barrier(comm, released)

    with pytest.raises(CommunicationError, match=f"rank 0 {said}"):
        run(job, 2)


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "nan"])
def test_a_limit_that_is_none(seconds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_TIMEOUT", seconds)
    with pytest.raises(ParameterError, match=f"SURICATE_TIMEOUT must be a number of seconds above 0, got '{seconds}'"):
        run(lambda comm: comm.barrier(), 2)


def test_lines_of_a_comm_of_ones_own_are_no_call_sites() -> None:
    """Of the named files, and of the package; those of kits are those of users."""
    helper = compile("def ask(call): return call()", "/of/a/comm/ask.py", "exec")
    made: dict[str, Any] = {}
    exec(helper, made)
    assert made["ask"](lambda: call_site(__file__)) == made["ask"](call_site) == "/of/a/comm/ask.py:1"
    for skipped in ("/of/a/comm", ["/of/another", "/of/a"]):
        assert made["ask"](functools.partial(call_site, skipped)).startswith(f"{__file__}:")


def test_abort_ends_those_that_wait() -> None:
    def job(comm: Comm) -> None:
        if comm.rank == 0:
            comm.abort("no more data")
        comm.barrier()

    with pytest.raises(CommunicationError, match="no more data"):
        run(job, 2)


@pytest.mark.parametrize("ranks", [0, 65, "2"])
def test_wrong_numbers_of_ranks(ranks: object) -> None:
    with pytest.raises(ParameterError, match="ranks"):
        run(lambda comm: None, ranks)  # type: ignore[arg-type]


def test_alone_a_graph_is_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert su.Graph(3, device="cpu", comm=SelfComm()).partition is None
    assert SelfComm().allgather("x") == ["x"]


def test_the_number_of_processes_that_a_launcher_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    with pytest.raises((CommunicationError, ImportError), match="2 processes"):
        connect()


@pytest.mark.parametrize("name", [*OTHERS])
def test_a_launcher_that_is_not_one_of_mpi_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process is then a job of its own; containers set such variables for programs of one process, too."""
    for each in (*OTHERS, *SIZES):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_NTASKS", "4")  # of the allocation, not of what srun starts
    assert isinstance(connect(), SelfComm)
    for each in {name, OTHERS[-1]}:
        monkeypatch.setenv(each, "4")
    with pytest.warns(UserWarning, match=f"{name}=4, but no MPI joins") as told:
        assert (comm := connect()).size == 1
    assert isinstance(comm, SelfComm)
    assert len(told) == 1


def test_the_problem_of_the_first_rank_is_raised_on_all() -> None:
    def job(comm: Comm) -> str:
        problem = [None, KeyError("mine"), UnicodeDecodeError("utf-8", b"", 0, 1, "bad")][comm.rank]
        with pytest.raises(KeyError) as raised:
            comm.together(problem)
        with (
            pytest.raises(CommunicationError, match="rank 2: UnicodeDecodeError")
            if comm.rank < 2
            else pytest.raises(UnicodeDecodeError)
        ):
            comm.together(problem if comm.rank == 2 else None)
        assert comm.together(None, comm.rank) == [0, 1, 2]
        return str(raised.value)

    assert run(job, 3) == ["\"rank 1: 'mine'\"", "'mine'", "\"rank 1: 'mine'\""]


def test_other_ranks_raise_the_base_of_an_error_whose_class_a_library_has() -> None:
    """All ranks retry by slices, or none: so a lack of memory is one on all, whoever reports it."""

    def job(comm: Comm) -> list[type]:
        raised = []
        for fails in (lambda: np.empty(1 << 62, np.uint8), lambda: np.sum(np.ones(2), axis=3)):
            problem: Exception | None = None
            try:
                fails()
            except Exception as error:
                problem = error
            with pytest.raises((MemoryError, ValueError)) as met:
                comm.together(problem if comm.rank == 1 else None)
            raised.append(met.type)
        return raised

    first, second = run(job, 2)
    assert first == [MemoryError, ValueError]
    assert [kind.__mro__[1] for kind in second] == [MemoryError, ValueError]


@pytest.mark.parametrize(
    "values",
    [(1, 2), ([1, 2], [1, 3]), ("a", "b"), (None, 0), (1, 1.5), ({"a": [1]}, {"a": [2]}), ([[1], [2, 3]], [1])],
)
def test_values_that_differ(values: tuple[object, object]) -> None:
    def job(comm: Comm) -> None:
        comm.same({"first": values[0], "ids": [3, 4] if comm.rank else np.array([3, 4], np.uint32)})
        with pytest.raises(ParameterError, match=r"second is .* on rank 0 and .* on rank 1: pass the same"):
            comm.same({"first": 1, "second": values[comm.rank]})

    run(job, 2)


class Told:
    """A clock whose last span took so long."""

    def __init__(self, length: float | None) -> None:
        self.length = length

    def start(self) -> bool:
        return True

    def stop(self) -> None: ...

    def seconds(self) -> float | None:
        return self.length


@pytest.mark.parametrize(
    ("lengths", "agreed"),
    [((2.0, 3.0), 2.0), ((2.0, None), 2.0), ((None, 3.0), None), ((2.0, 0.0), 0.0), ((None, 0.0), None)],
)
def test_a_span_in_which_a_rank_compiled_does_not_count(lengths: tuple[Any, Any], agreed: float | None) -> None:
    assert run(lambda comm: AgreedClock(comm, Told(lengths[comm.rank])).seconds(), 2) == [agreed] * 2


def test_an_interrupt_ends_the_ranks() -> None:
    """The thread that waits for them gets it."""
    ended = []

    def job(comm: Comm) -> None:
        comm.barrier()
        if comm.rank == 0:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            while True:
                comm.barrier()
        except CommunicationError as error:
            ended.append(str(error))
            raise

    with pytest.raises(KeyboardInterrupt):
        run(job, 2)
    assert ended == ["KeyboardInterrupt in the thread that waits for the ranks"] * 2


def test_what_is_no_communication() -> None:
    with pytest.raises(ParameterError, match=r"comm must be a Comm, which connect\(\) or run\(\) gives, got 'threads'"):
        su.Graph(3, device="cpu", comm="threads")  # type: ignore[arg-type]
