"""Communication by NCCL over the emulated one: what is queued in which stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nccl_ranks import by_nccl, cupy, gpus_of_threads

from suricate.errors import DeviceError
from suricate.parallel import Comm, run

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    return gpus_of_threads(monkeypatch)


def test_each_kind_of_exchange_is_made_at_first(gpus: Any) -> None:
    """NCCL takes memory for it then, of which a full graph leaves none."""
    from suricate.comm.nccl import NCCLComm

    run(lambda host: NCCLComm(host, 0), 2)
    assert {call[1] for call in gpus.CALLS if call[0] == 1} == {"allGather", "send", "recv", "allReduce"}


def test_equal_parts_are_gathered_and_unequal_ones_sent(gpus: Any) -> None:
    def job(host: Comm) -> None:
        comm, xp = by_nccl(host), cupy
        wide = xp.asarray(np.full((2, 3), comm.rank), dtype=np.int64)
        parts = comm.allgatherv(wide)
        assert [part.get().tolist() for part in parts] == [[[rank] * 3] * 2 for rank in range(3)]
        assert comm.joined(xp.arange(comm.rank, dtype=np.uint32)).get().tolist() == [0, 0, 1]
        assert comm.joined(wide[:0]).shape == (0, 3)
        assert comm.allgatherv(np.arange(comm.rank))[2].tolist() == [0, 1]  # on the host

    run(job, 3)
    seen = {call[1:] for call in gpus.CALLS}
    assert seen == {
        ("allGather", 48, 1, 0), ("send", 4, 1, 0), ("recv", 4, 1, 0), ("send", 8, 1, 0), ("recv", 8, 1, 0),
    }  # fmt: skip
    assert [call[1] for call in gpus.CALLS if call[0] == 1].count("send") == 2


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 0, 1), (0, 0, 0)])
def test_columns_of_known_sizes_are_joined_in_one_group(gpus: Any, sizes: tuple[int, ...]) -> None:
    def job(host: Comm) -> None:
        comm, xp, size = by_nccl(host), cupy, sizes[host.rank]
        columns = xp.full(size, comm.rank, np.uint32), xp.full(size, 10.0 * comm.rank, np.float64)
        first, second = comm.joined_columns(columns, sizes)
        assert first.dtype == np.uint32
        assert first.get().tolist() == [rank for rank in range(3) for _ in range(sizes[rank])]
        assert second.get().tolist() == [10.0 * rank for rank in first.get().tolist()]

    run(job, 3)
    assert sum(call[1] == "allGather" for call in gpus.CALLS) == (6 if sizes == (2, 2, 2) else 0)


def test_parts_are_sent_to_each_rank(gpus: Any) -> None:
    def job(host: Comm) -> None:
        comm, xp = by_nccl(host), cupy
        sizes = [(comm.rank + other) % 3 for other in range(3)]
        parts = comm.exchange([xp.full(size, 10 * comm.rank + k, dtype=np.uint64) for k, size in enumerate(sizes)])
        assert [part.get().tolist() for part in parts] == [[10 * k + comm.rank] * size for k, size in enumerate(sizes)]
        assert [part.tolist() for part in comm.exchange([np.full(1, comm.rank)] * 3)] == [[0], [1], [2]]  # on the host

    run(job, 3)
    assert {call[1:3] for call in gpus.CALLS} == {(kind, size) for kind in ("send", "recv") for size in (8, 16)}


def test_places_are_shared_and_bytes_merged(gpus: Any) -> None:
    def job(host: Comm) -> None:
        comm, xp = by_nccl(host), cupy
        held = xp.zeros(7, np.float32)
        bounds = np.array([0, 3, 9])  # of more vertices than the array has places
        held[int(bounds[comm.rank]) : int(bounds[comm.rank + 1])] = comm.rank + 0.5
        comm.share(held, bounds)
        assert held.get().tolist() == [0.5] * 3 + [1.5] * 4
        words = xp.zeros(4, np.uint64)
        words[comm.rank :: 2] = (1 << 63) + comm.rank
        assert comm.merged(words).get().tolist() == [(1 << 63), (1 << 63) + 1] * 2
        words = xp.asarray([5, (1 << 63) + comm.rank, 9 - comm.rank], np.uint64)
        comm.smallest(words)
        assert words.get().tolist() == [5, 1 << 63, 8]
        counts = xp.asarray([comm.rank, -5], np.int32)
        comm.reduce(counts, "max")
        assert counts.get().tolist() == [1, -5]
        for dtype, op, wanted in ((np.float64, "sum", 0.5), (np.uint32, "or", 3)):  # not by NCCL
            numbers = xp.full(300, 0.25 if op == "sum" else 1 + comm.rank, dtype)[::2]
            comm.reduce(numbers, op)
            assert numbers.get().tolist() == [wanted] * 150

    run(job, 2)


def test_collectives_go_to_the_current_stream(gpus: Any) -> None:
    def job(host: Comm) -> int:
        comm, stream = by_nccl(host), cupy.cuda.Stream()
        with stream:
            comm.joined(cupy.zeros(1 + comm.rank, np.uint8))
            comm.merged(cupy.zeros(3, np.uint8))
        return int(stream.ptr)

    streams = run(job, 2)
    assert all(call[4] == streams[call[0]] for call in gpus.CALLS)
    assert len(gpus.CALLS) == 6


def test_two_ranks_on_one_gpu_are_refused_by_all() -> None:
    from cupy.cuda import runtime

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "deviceGetPCIBusId", lambda index: "0000:17:00.0", raising=False)
        with pytest.raises(DeviceError, match=r"ranks 0 and 1 have the same GPU, PCI bus 0000:17:00.0"):
            run(by_nccl, 2)
