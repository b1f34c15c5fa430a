"""The kit of comms: what ranks exchange, and that ranks which go different ways, end, or do not come are an error."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import pytest

import suricate as su
from suricate.base.errors import CommunicationError, ParameterError
from suricate.parallel import Comm

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
LONG = 70_000  #: elements of an array that no transport sends in one packet
_lock, _depth, _before = threading.Lock(), 0, ""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Return a context in which ranks of this process wait for others so long; several threads may enter it at once."""
    global _depth, _before
    with _lock:
        _before = _before if _depth else os.environ.get("SURICATE_TIMEOUT", "600")
        _depth += 1
        os.environ["SURICATE_TIMEOUT"] = str(seconds)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                os.environ["SURICATE_TIMEOUT"] = _before


class CommConformance:
    """Tests of a comm: subclass it, and define :meth:`run`, which starts ranks.

    >>> class TestMine(CommConformance):  # doctest: +SKIP
    ...     def run(self, job, ranks):
    ...         return my_engine.run(job, ranks)

    Attributes:
        ranks: how many are started, 1 or at least 3. With 1, what takes several is skipped.
    """

    ranks: ClassVar[int] = 3

    def run(self, job: Callable[[Comm], Any], ranks: int) -> list[Any]:
        """Call ``job(comm)`` on so many ranks; return the results in rank order, or raise what a rank has raised.

        ``job`` can be pickled: it is a function of this module, or a ``functools.partial`` of one. Where an error ends
        all processes (MPI), raise ``CommunicationError`` with what they have written.
        """
        raise NotImplementedError

    def _run(self, job: Callable[..., Any], **given: Any) -> list[Any]:
        return self.run(functools.partial(job, **given) if given else job, self.ranks)

    def _fails(
        self, said: str, job: Callable[..., Any], *, kind: type[Exception] = CommunicationError, **given: Any
    ) -> None:
        if self.ranks == 1:
            pytest.skip("takes several ranks")
        with pytest.raises((kind, CommunicationError), match=said):
            self._run(job, **given)

    def test_ranks_are_numbered(self) -> None:
        """In the order of the results."""
        assert self._run(number) == [(rank, self.ranks) for rank in range(self.ranks)]

    def test_a_job_finds_its_comm(self) -> None:
        """By ``connect()``."""
        assert self._run(finds) == [True] * self.ranks

    def test_small_values(self) -> None:
        """Come back in rank order; so do those of some kilobytes."""
        self._run(small_values)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_arrays(self, dtype: str) -> None:
        """Of uneven lengths, none among them; of a matrix; long ones. What comes is a copy."""
        self._run(arrays, dtype=dtype)

    def test_an_array_may_change_once_it_was_sent(self) -> None:
        """As soon as the collective has returned."""
        self._run(changes)

    def test_columns(self) -> None:
        """Are joined, each with its dtype."""
        self._run(columns)

    @pytest.mark.parametrize("dtype", ["uint8", "uint32", "float64"])
    def test_parts_are_exchanged(self, dtype: str) -> None:
        """Uneven ones, and none."""
        self._run(exchanges, dtype=dtype)

    def test_reductions(self) -> None:
        """Sums, minima, disjoint elements, ranges; of arrays that are empty, too."""
        self._run(reductions)

    def test_errors_are_raised_on_all(self) -> None:
        """That of the first rank that has one, and then the next collective works."""
        self._run(errors)

    def test_values_that_must_be_the_same(self) -> None:
        """Are compared at once, or at the next collective."""
        self._run(sames)

    def test_a_graph(self) -> None:
        """Has the answers of one process."""
        assert self._run(graph) == [graph(None)] * self.ranks

    @pytest.mark.parametrize("call", ["names", "lines", "parts"])
    def test_ranks_that_go_different_ways(self, call: str) -> None:
        """Are told both lines, of the job, not of the comm."""
        other = {"names": "barrier", "lines": "allgather", "parts": "exchange"}[call]
        file = r"comms\.py:\d+"
        self._fails(rf"rank 0 calls allgather at .*{file}, rank 1 calls {other}.* at .*{file}", apart, call=call)

    def test_values_that_differ_where_ranks_go_different_ways(self) -> None:
        """The values are the cause."""
        self._fails("source is 0 on rank 0 and 1 on rank 1: pass the same", asks, kind=ParameterError)

    def test_a_rank_that_ends(self) -> None:
        """While others wait."""
        self._fails("rank 1 has ended while others are at barrier at ", ends)

    def test_a_rank_that_raises(self) -> None:
        """Its error is raised, not what others say of it."""
        self._fails("mine", raises, kind=KeyError)

    def test_a_rank_that_does_not_come(self) -> None:
        """Within the limit."""
        self._fails(r"ranks \[1\] did not come to barrier at .*comms\.py:\d+ within 1 s", stalls)

    def test_a_rank_that_is_busy_is_waited_for(self) -> None:
        """Longer than the limit."""
        assert self._run(works) == ["done"] * self.ranks

    def test_a_source_that_is_quiet_is_waited_for(self) -> None:
        """By ranks that are at a collective."""
        assert self._run(reads) == ["done"] * self.ranks

    def test_a_rank_that_hangs_while_another_reads(self) -> None:
        """Even if no other waits for it."""
        self._fails(r"ranks \[1\] did not come to ", hangs)

    def test_work_that_has_a_limit_of_its_own(self) -> None:
        """That is a source which gave nothing."""
        self._fails("rank 0 got nothing from its source within 0.5 s", overdue)

    def test_abort(self) -> None:
        """Ends ranks that wait."""
        self._fails("no more data", aborts)


# -- what the ranks do -------------------------------------------------------------------------------------------------


def number(comm: Comm) -> tuple[int, int]:
    """Return the number of this rank, and how many there are."""
    return comm.rank, comm.size


def finds(comm: Comm) -> bool:
    """Return whether ``connect()`` gives this comm, also by its name."""
    found = su.parallel.connect()
    return found is comm or comm.size == 1


def small_values(comm: Comm) -> None:
    """Pass values of all kinds."""
    everybody = range(comm.size)
    for value in (None, True, 3.5, "text", (1, "a"), {"key": [2]}, b"bytes", 1 << 80):
        assert comm.allgather((comm.rank, value)) == [(rank, value) for rank in everybody]
    assert comm.allgather("x" * 5000 * comm.rank) == ["x" * 5000 * rank for rank in everybody]
    assert comm.agree(comm.rank + 5) == 5
    comm.barrier()


def arrays(comm: Comm, dtype: str) -> None:
    """Pass arrays of different lengths."""
    for scale, shape in ((1, ()), (3, (2,)), (LONG, ())):
        sent = [
            np.arange(scale * rank * 2 ** len(shape)).astype(dtype).reshape(-1, *shape) for rank in range(comm.size)
        ]
        found = comm.allgatherv(sent[comm.rank])
        for one, part in zip(sent, found, strict=True):
            assert part.dtype == dtype
            assert np.array_equal(part, one)
        found[-1][:1] = 0  # it can be written, and is no one else's
        assert np.array_equal(comm.allgatherv(sent[comm.rank])[-1], sent[-1])
        joined = comm.joined(sent[comm.rank])
        assert joined.dtype == dtype
        assert np.array_equal(joined, np.concatenate(sent))
    assert [len(part) for part in comm.allgatherv(np.empty(0, dtype))] == [0] * comm.size


def changes(comm: Comm) -> None:
    """Write into arrays as soon as they were sent."""
    for number in range(100):
        sent = np.full(40 + 400 * (number % 2), number)
        got = comm.allgatherv(sent)
        sent[:] = -1
        assert all((part == number).all() for part in got)


def columns(comm: Comm) -> None:
    """Join columns of uneven lengths."""
    sizes = [(5 * rank) % 7 for rank in range(comm.size)]
    mine = sizes[comm.rank]
    ids, weights = comm.joined_columns([np.full(mine, comm.rank, np.uint32), np.full(mine, comm.rank / 4)], sizes)
    expected = np.repeat(np.arange(comm.size), sizes)
    assert (ids.dtype, ids.tolist()) == (np.uint32, expected.tolist())
    assert weights.tolist() == (expected / 4).tolist()


def exchanges(comm: Comm, dtype: str) -> None:
    """Send each rank another part."""
    for scale in (1, 1000):
        parts = [np.full(scale * (comm.rank * other % 3), 10 * comm.rank + other, dtype) for other in range(comm.size)]
        for rank, part in enumerate(comm.exchange(parts)):
            assert part.dtype == dtype
            assert part.tolist() == [10 * rank + comm.rank] * (scale * (rank * comm.rank % 3))


def reductions(comm: Comm) -> None:
    """Reduce arrays in which no rank has the answer."""
    everybody, high = np.arange(comm.size, dtype=np.uint64), np.uint64(1 << 63)
    for length in (0, 1, 7, LONG):
        own = np.arange(length) % comm.size == comm.rank
        merged = comm.merged(np.where(own, np.arange(length), 0).astype(np.uint32))
        assert (merged.dtype, merged.tolist()) == (np.uint32, [*range(length)])
        least = np.arange(length, dtype=np.uint64) + np.where(own, np.uint64(0), high)
        comm.smallest(least)
        assert least.tolist() == [*range(length)]
        total = np.full(length, comm.rank, np.uint64)
        comm.add(total)
        assert total.tolist() == [int(everybody.sum())] * length
        bounds = np.linspace(0, length, comm.size + 1).astype(np.int64)
        shared = np.where((np.arange(length) >= bounds[comm.rank]) & (np.arange(length) < bounds[comm.rank + 1]), 3, 0)
        comm.share(shared, bounds)
        assert shared.tolist() == [3] * length


def errors(comm: Comm) -> None:
    """Have an error on the last rank, and on the last two."""
    last = comm.size - 1
    for first in {last, max(0, last - 1)}:
        problem = KeyError(f"of {comm.rank}") if comm.rank >= first else None
        with pytest.raises(KeyError, match=f"of {first}") as caught:
            comm.together(problem)
        assert caught.value.__cause__ is not caught.value
    with pytest.raises(ValueError, match="could not convert string to float: 'mine'"), comm.alike():
        float("mine" if comm.rank == last else "1")
    assert comm.together(None, comm.rank) == [*range(comm.size)]


def sames(comm: Comm) -> None:
    """Pass the same, and different values."""
    comm.same({"ids": [3, 4] if comm.rank else np.array([3, 4], np.uint32)})
    with comm.asking({"source": 3}):
        comm.barrier()
    if comm.size > 1:
        with pytest.raises(ParameterError, match="first is 0 on rank 0 and 1 on rank 1"):
            comm.same({"first": comm.rank})
        with pytest.raises(ParameterError, match="second is 0 on rank 0"), comm.asking({"second": comm.rank}):
            comm.barrier()
    comm.barrier()


def label_of(u, v, w, label):
    """Return the label of ``u``."""
    return label[u]


def graph(comm: Comm | None) -> Any:
    """Return what a graph says after a batch of which each rank passes a part, and one with deletions."""
    made = su.Graph(40, device="cpu", directed=False, weight_dtype="int32", threads=1, comm=comm)
    rank, size = (comm.rank, comm.size) if comm is not None else (0, 1)
    src, dst = np.random.default_rng(5).integers(0, 40, (2, 60))
    share = slice(rank * 60 // size, (rank + 1) * 60 // size)
    made.insert_edges(src[share], dst[share], (src + dst)[share])
    made.delete_edges(src[:20][rank::size], dst[:20][rank::size])
    label = np.arange(40, dtype=np.uint32)
    su.propagate(made, np.arange(40), label_of, out=label, args=(label,), reduce="min")
    return made.num_edges, label.tolist(), [np.asarray(part).tolist() for part in made.edges()]


def apart(comm: Comm, call: str) -> None:
    """Take another way on rank 1."""
    if comm.rank != 1:
        comm.allgather(1)
    elif call == "names":
        comm.barrier()
    elif call == "lines":
        comm.allgather(1)
    else:
        comm.exchange([np.arange(3)] * comm.size)


def asks(comm: Comm) -> None:
    """Ask for another source on rank 1, and so take another way."""
    with comm.asking({"source": comm.rank}):
        comm.barrier() if comm.rank == 1 else comm.allgather(1)


def ends(comm: Comm) -> None:
    """End rank 1 early."""
    if comm.rank != 1:
        comm.barrier()


def raises(comm: Comm) -> None:
    """Raise on the last rank, for which others wait."""
    if comm.rank == comm.size - 1:
        raise KeyError("mine")
    comm.barrier()


def stalls(comm: Comm) -> None:
    """Keep others waiting for rank 1."""
    with within(1.0):
        if comm.rank == 1:
            time.sleep(4)
        comm.barrier()


def works(comm: Comm) -> str:
    """Work on rank 0 for longer than the limit."""
    with within(0.5):
        if comm.rank == 0:
            with comm.busy():
                time.sleep(2)
        comm.barrier()
    return "done"


def reads(comm: Comm) -> str:
    """Read on rank 0 for longer than the limit."""
    with within(0.5):
        if comm.rank == 0:
            with comm.busy(reads=True):
                time.sleep(2)
        comm.barrier()
    return "done"


def hangs(comm: Comm) -> None:
    """Hang on rank 1 while rank 0 reads."""
    with within(1.0):
        if comm.rank == 0:
            with comm.busy(reads=True):
                time.sleep(4)
        elif comm.rank == 1:
            time.sleep(4)
        comm.barrier()


def overdue(comm: Comm) -> None:
    """Read on rank 0 for longer than a limit of its own."""
    if comm.rank == 0:
        with comm.busy(0.5, reads=True):
            time.sleep(1.5)
    comm.barrier()


def aborts(comm: Comm) -> None:
    """Abort on rank 0."""
    if comm.rank == 0:
        comm.abort("no more data")
    comm.barrier()
