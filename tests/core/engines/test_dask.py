"""Jobs on workers of Dask, which are processes of this machine: what they answer, and how they fail."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask_clusters import cluster, distributed, pid

import suricate as su
from suricate.engines import dask as engine
from suricate.engines.partitions import Partitions
from suricate.errors import CommunicationError, ParameterError, RequirementError
from suricate.parallel import Comm, connect
from suricate.testing import CommConformance

pd = pytest.importorskip("pandas")
from_pandas = pytest.importorskip("dask.dataframe").from_pandas

LIMIT = 5  #: seconds until a job whose worker is gone has raised

pytestmark = pytest.mark.soak  # minutes, as each worker loads plain Python


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster(4) as made:
        yield made


class TestDask(CommConformance):
    @pytest.fixture(autouse=True)
    def _client(self, client: Any) -> None:
        self.client = client

    def run(self, job: Callable[[Comm], Any], ranks: int) -> list[Any]:
        return engine.run(self.client, job, ranks=ranks)  # type: ignore[no-any-return]


def numbers(comm: Comm) -> tuple[list[int], int]:
    assert connect() is connect("dask") is comm
    return comm.allgather(comm.rank), os.getpid()


def test_all_workers_are_the_ranks(client: Any) -> None:
    found = engine.run(client, numbers)
    assert [ranks for ranks, _ in found] == [[0, 1, 2, 3]] * 4
    assert {process for _, process in found} == {*client.run(os.getpid).values()}


def test_outside_of_a_job_the_call_is_shown() -> None:
    with pytest.raises(CommunicationError, match=r"suricate\.engines\.dask\.run\(client, job\) starts job\(comm\)"):
        connect("dask")


def threads_of_loops(comm: Comm) -> int:
    from suricate.cpu.threads import limit

    return limit()


def test_threads_are_those_of_the_worker(client: Any) -> None:
    assert engine.run(client, threads_of_loops, ranks=2) == [1, 1]
    assert engine.run(client, threads_of_loops, ranks=2, threads=3) == [3, 3]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ranks": 0}, "ranks"), ({"retries": -1}, "retries"), ({"frames": 2}, "frames"), ({"threads": 0}, "threads"),
        ({"job": 3}, "job must be a function"), ({"data": [1]}, "data must be a Dask DataFrame, got 'list'"),
        ({"client": None}, "client must be a distributed.Client"),
    ],
)  # fmt: skip
def test_wrong_arguments(client: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        engine.run(**({"client": client, "job": numbers} | given))


def test_too_few_workers(client: Any) -> None:
    with pytest.raises(RequirementError, match="ranks=5 needs as many workers, and there are 4"):
        engine.run(client, numbers, ranks=5)


FRAME = pd.DataFrame(
    dict(zip(("src", "dst", "weight"), np.random.default_rng(1).integers(0, (60, 60, 9), (2000, 3)).T, strict=True))
)


def weights_of(graph: su.Graph) -> dict[tuple[int, int], int]:
    src, dst, weight = (column.tolist() for column in graph.edges())
    return dict(zip(zip(src, dst, strict=True), weight, strict=True))


def loaded(comm: Comm, data: Partitions) -> tuple[list[int], list[str], dict[tuple[int, int], int]]:
    graph = su.Graph(60, device="cpu", weight_dtype="int32", comm=comm)
    for turn in data:
        graph.insert_edges(*(turn[name].to_numpy() for name in turn))
    return data.numbers, data.columns, weights_of(graph)


@pytest.mark.parametrize("persisted", [False, True])
def test_of_edges_in_several_partitions_the_last_wins(client: Any, persisted: bool) -> None:
    data = from_pandas(FRAME, npartitions=7, sort=False)
    found = engine.run(client, loaded, data=client.persist(data) if persisted else data, ranks=3)
    assert sorted(number for numbers, *_ in found for number in numbers) == [*range(7)]
    alone = su.Graph(60, device="cpu", weight_dtype="int32")
    alone.insert_edges(*(FRAME[name].to_numpy() for name in FRAME))
    for _, columns, weights in found:
        assert columns == [*FRAME]
        assert weights == weights_of(alone)


def test_partitions_without_rows(client: Any) -> None:
    data = from_pandas(FRAME, npartitions=4, sort=False)
    found = engine.run(client, loaded, data=data[data["weight"] > 8], ranks=2)
    assert [weights for *_, weights in found] == [{}, {}]


def renamed(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
    return part.rename(columns={"weight": "amount"}) if partition_info and partition_info["number"] == 2 else part


def test_partitions_of_other_columns_are_refused(client: Any) -> None:
    data = from_pandas(FRAME, npartitions=4, sort=False).map_partitions(renamed, meta=FRAME, enforce_metadata=False)
    with pytest.raises(ParameterError, match=r"partition 2 has the columns \['src', 'dst', 'amount'\]"):
        engine.run(client, loaded, data=data, ranks=2)


def table(comm: Comm) -> pd.DataFrame:
    return FRAME.iloc[comm.rank * 10 : comm.rank * 10 + 10]


def test_tables_stay_on_their_workers(client: Any) -> None:
    made = engine.run(client, table, ranks=3, frames=True)
    assert made.npartitions == 3
    pd.testing.assert_frame_equal(made.compute(), FRAME[:30])
    with pytest.raises(ParameterError, match="frames=True: the job must return a table, got 'tuple'"):
        engine.run(client, numbers, frames=True)
    assert len(engine.run(client, numbers)) == 4, "the workers of a run are free after it"


def at_once(comm: Comm) -> tuple[int, float, float]:
    began = time.monotonic()
    comm.barrier()
    time.sleep(0.3)
    comm.barrier()
    return os.getpid(), began, time.monotonic()


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_two_runs_at_once_share_no_worker(client: Any, ranks: int) -> None:
    """They take others, or one waits for the other."""
    found: dict[int, Any] = {}

    def start(number: int) -> None:
        found[number] = engine.run(client, at_once, ranks=ranks)

    both = [threading.Thread(target=start, args=(number,)) for number in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    first, second = (found[number] for number in range(2))
    shared = {process for process, *_ in first} & {process for process, *_ in second}
    assert (len(shared) == 0) == (ranks == 2) or ranks > 2
    for one in first:
        for other in second:
            assert one[0] != other[0] or one[2] <= other[1] or other[2] <= one[1]


def dies_once(comm: Comm, mark: Path) -> int:
    comm.barrier()
    if comm.rank == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    comm.barrier()
    return comm.size


def test_a_worker_that_dies_is_named_and_replaced(tmp_path: Path) -> None:
    with cluster(2) as client:
        addresses = sorted(client.run(pid))
        began = time.monotonic()
        with pytest.raises(CommunicationError, match=f"rank 1 on {addresses[1]} is gone"):
            engine.run(client, lambda comm: dies_once(comm, tmp_path / "first"))
        assert time.monotonic() - began < LIMIT
        client.wait_for_workers(2)
        assert engine.run(client, lambda comm: dies_once(comm, tmp_path / "second"), ranks=2, retries=1) == [2, 2]
        with pytest.raises(ValueError, match="of the job"):
            engine.run(client, raises, retries=3)


def raises(comm: Comm) -> None:
    if comm.rank == 0:
        raise ValueError("of the job")
    comm.barrier()


def test_a_cluster_with_tls() -> None:
    security = distributed.Security.temporary()
    with cluster(2, security=security) as client:
        found = engine.run(client, numbers)
        assert [ranks for ranks, _ in found] == [[0, 1]] * 2
        assert all(address.startswith("tls://") for address in client.run(pid))


def test_workers_that_are_threads_are_refused() -> None:
    with cluster(2, processes=False) as client, pytest.raises(RequirementError, match="threads of 1 processes"):
        engine.run(client, numbers)
