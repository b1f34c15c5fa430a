"""Jobs on workers of Dask, which are processes of this machine: what they answer, and how they fail."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import queued_ranks
from dask_clusters import cluster, distributed
from mpi_jobs import start
from slow_faults import SlowFaults

import suricate as su
import suricate.stream as st
from suricate.engines import dask as engine
from suricate.engines.partitions import Partitions
from suricate.errors import CommunicationError, ParameterError, RequirementError
from suricate.parallel import Comm, SelfComm, connect, run

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "engines"))
import accounts
import windows

pd = pytest.importorskip("pandas")
from_pandas = pytest.importorskip("dask.dataframe").from_pandas

LIMIT = 20  #: seconds until a job whose worker is gone has raised, on a busy machine; ranks wait for 600 without notice

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster(4) as made:
        yield made


class TestDask(SlowFaults):
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


def tasks_of_jobs(client: Any) -> list[str]:
    """Return those that the scheduler still has when what the client has sent must have come, without kept tables."""

    async def keys(dask_scheduler: Any) -> list[str]:
        for _ in range(1000):
            tasks = {str(key): task.state for key, task in dask_scheduler.tasks.items()}
            if not (found := [key for key in tasks if key.startswith("suricate-") and tasks[key] != "memory"]):
                break
            await asyncio.sleep(0.01)
        return found

    return client.run_on_scheduler(keys)  # type: ignore[no-any-return]


# -- the job of the page -----------------------------------------------------------------------------------------------


def by_name(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts).set_index("name").sort_index()


@cache
def of_one_process() -> pd.DataFrame:
    return by_name([accounts.job(SelfComm())])


def assert_answers(parts: list[pd.DataFrame]) -> None:
    """The same rows by name as those of one process; ids depend on the number of ranks."""
    alone, found = of_one_process(), by_name(parts)
    assert found["value"].to_dict() == alone["value"].to_dict()
    np.testing.assert_allclose(found["rank"], alone["rank"], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_one_job_has_the_same_answers_on_every_engine(client: Any) -> None:
    made = engine.run(client, accounts.job, ranks=3, frames=True)
    for parts in (run(accounts.job, 3), queued_ranks.run(accounts.job, 3), [made.compute()]):
        assert_answers(parts)


@pytest.mark.slow
def test_that_job_has_the_same_answers_by_mpi(tmp_path: Path) -> None:
    done = start(Path(accounts.__file__), str(tmp_path), ranks=2)
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    assert_answers([pd.read_csv(file, dtype={"name": str}) for file in files])


def test_outside_of_a_job_the_call_is_shown() -> None:
    with pytest.raises(CommunicationError, match=r"suricate\.engines\.dask\.run\(client, job\) starts job\(comm\)"):
        connect("dask")


# -- arguments, and what a cluster must have ---------------------------------------------------------------------------


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


def test_a_column_is_no_data(client: Any) -> None:
    with pytest.raises(ParameterError, match="data must be a Dask DataFrame, got 'Series'"):
        engine.run(client, numbers, data=from_pandas(FRAME, npartitions=2)["src"])


def test_too_few_workers(client: Any) -> None:
    with pytest.raises(RequirementError, match="ranks=5 needs as many workers, and there are 4"):
        engine.run(client, numbers, ranks=5)


def test_workers_that_are_threads_are_refused() -> None:
    with cluster(2, processes=False) as client, pytest.raises(RequirementError, match="threads of 1 processes"):
        engine.run(client, numbers)


def has_version(version: str) -> str:
    before, su.__version__ = su.__version__, version
    return before


def has_suricate(there: bool) -> None:
    sys.modules["suricate"] = su if there else None  # type: ignore[assignment]


@pytest.mark.slow
def test_a_worker_of_another_version_or_without_suricate_is_named(client: Any) -> None:
    worker = sorted(client.run(os.getpid))[1]
    (version,) = client.run(has_version, "0.0.1", workers=[worker]).values()
    lacks = f"worker {worker} lacks suricate {version}, which this process has: "
    with pytest.raises(RequirementError, match=rf"{lacks}0\.0\.1"):
        engine.run(client, numbers)
    client.run(has_version, version, workers=[worker])
    client.run(has_suricate, False, workers=[worker])
    with pytest.raises(RequirementError, match=f"{lacks}import of suricate halted"):
        engine.run(client, numbers)
    client.run(has_suricate, True, workers=[worker])
    assert len(engine.run(client, numbers)) == 4


def threads_of_loops(comm: Comm) -> int:
    from suricate.cpu.threads import limit

    return limit()


@pytest.mark.slow
def test_threads_are_those_of_the_worker(client: Any) -> None:
    assert engine.run(client, threads_of_loops, ranks=2) == [1, 1]
    assert engine.run(client, threads_of_loops, ranks=2, threads=3) == [3, 3]


@pytest.mark.slow
def test_a_cluster_with_tls() -> None:
    pytest.importorskip("cryptography")
    with cluster(2, security=distributed.Security.temporary()) as client:
        assert [ranks for ranks, _ in engine.run(client, numbers)] == [[0, 1]] * 2
        assert all(address.startswith("tls://") for address in client.run(os.getpid))


# -- data, and tables --------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    dict(zip(("src", "dst", "weight"), np.random.default_rng(1).integers(0, (12, 12, 9), (400, 3)).T, strict=True))
)


def weights_of(graph: su.Graph) -> dict[tuple[int, int], int]:
    src, dst, weight = (column.tolist() for column in graph.edges())
    return dict(zip(zip(src, dst, strict=True), weight, strict=True))


def loaded(comm: Comm, data: Partitions) -> tuple[list[int], list[str], dict[tuple[int, int], int]]:
    graph = su.Graph(12, device="cpu", weight_dtype="int32", comm=comm)
    for turn in data:
        graph.insert_edges(*(turn[name].to_numpy() for name in turn))
    return data.numbers, data.columns, weights_of(graph)


@pytest.mark.parametrize("persisted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_of_edges_in_several_partitions_the_last_wins(client: Any, persisted: bool) -> None:
    data = from_pandas(FRAME, npartitions=7, sort=False)
    found = engine.run(client, loaded, data=client.persist(data) if persisted else data, ranks=3)
    assert sorted(number for numbers, *_ in found for number in numbers) == [*range(7)]
    alone = su.Graph(12, device="cpu", weight_dtype="int32")
    alone.insert_edges(*(FRAME[name].to_numpy() for name in FRAME))
    for _, columns, weights in found:
        assert columns == [*FRAME]
        assert weights == weights_of(alone)


@pytest.mark.slow
def test_partitions_without_rows(client: Any) -> None:
    data = from_pandas(FRAME, npartitions=4, sort=False)
    found = engine.run(client, loaded, data=data[data["weight"] > 8], ranks=2)
    assert [weights for *_, weights in found] == [{}, {}]


def renamed(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
    return part.rename(columns={"weight": "amount"}) if partition_info and partition_info["number"] == 2 else part


def broken(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
    if partition_info and partition_info["number"] == 2:
        raise OSError("no such file")
    return part


@pytest.mark.slow
def test_partitions_that_are_refused(client: Any) -> None:
    """Those of other columns, and those that cannot be made; no worker stays busy."""
    data = from_pandas(FRAME, npartitions=4, sort=False)
    with pytest.raises(ParameterError, match=r"partition 2 has the columns \['src', 'dst', 'amount'\]"):
        engine.run(client, loaded, data=data.map_partitions(renamed, meta=FRAME, enforce_metadata=False), ranks=2)
    with pytest.raises(OSError, match="no such file"):
        engine.run(client, loaded, data=data.map_partitions(broken, meta=FRAME), ranks=2)
    assert len(engine.run(client, numbers)) == 4


def table(comm: Comm) -> pd.DataFrame:
    return FRAME.iloc[comm.rank * 10 : comm.rank * 10 + 10]


def test_tables_stay_on_their_workers(client: Any) -> None:
    made = engine.run(client, table, ranks=3, frames=True)
    assert made.npartitions == 3
    pd.testing.assert_frame_equal(made.compute(), FRAME[:30])


@pytest.mark.slow
def test_what_is_no_table(client: Any) -> None:
    with pytest.raises(ParameterError, match="frames=True: the job must return a table, got 'tuple'"):
        engine.run(client, numbers, frames=True)
    assert len(engine.run(client, numbers)) == 4


# -- streams of partitions ---------------------------------------------------------------------------------------------

EVENTS = FRAME.assign(time=np.arange(400) // 2 + np.random.default_rng(2).integers(-9, 1, 400) + 9)


def slides(comm: Comm | None, data: Any, folder: Path, dies: int = 0, **options: Any) -> list[Any]:
    """Return ends, counts, names and edges; rank 1 dies at a slide of the first start."""
    graph = {"device": "cpu"} if comm is None else {"device": "cpu", "comm": comm}
    checkpoints = {"checkpoint": folder / "state", "checkpoint_every": 1} if dies else {}
    window = st.Window(st.source(data, time_unit="s", **options), size="40s", slide="10s", lateness="5s", names=True,
                       graph=graph, readers="first" if comm is None else "all", **checkpoints)  # fmt: skip
    parts, out, found = window.track("wcc"), window.sink(folder / "out.csv"), []
    for w in window:
        edges = sorted(zip(*(part.tolist() for part in w.graph.edges()), strict=True))
        found.append((w.end, w.events, w.late, w.graph.names[w.graph.live_vertices].tolist(), edges))
        out.write(parts.to_pandas())
        if dies == window.slides and comm is not None and comm.rank == 1 and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), 9)
    return found


@pytest.mark.parametrize("order", [None, "time"])
def test_slides_of_partitions_are_those_of_one_process(client: Any, tmp_path: Path, order: str | None) -> None:
    (tmp_path / "one").mkdir()
    data, frame = from_pandas(EVENTS, npartitions=7, sort=False), EVENTS
    if order is None:  # a partition without rows
        data = data.map_partitions(lambda part: part if part["time"].min() > 60 else part[:0], meta=EVENTS)
        frame = data.compute()
    expected = slides(None, [frame], tmp_path / "one", order=order)
    found = engine.run(client, lambda comm, data: slides(comm, data, tmp_path, order=order), data=data, ranks=3)
    assert found == [expected] * 3
    assert len(expected) > 12
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "one" / "out.csv").read_bytes()


@pytest.mark.slow
def test_the_window_of_the_page(client: Any) -> None:
    """Payments of a day, and who has most partners in the week that ends with it."""
    data = from_pandas(windows.PAYMENTS, npartitions=6, sort=False)
    alone, *many = (engine.run(client, windows.job, data, ranks=ranks) for ranks in (1, 3, 4))
    assert [each for found in many for each in found] == [alone[0]] * 7
    paid = windows.PAYMENTS
    for end, events, _, largest in alone[0]:
        days = (pd.Timestamp(end) - paid["time"]) / pd.Timedelta("1D")
        assert events == ((days > 0) & (days <= 1)).sum()
        week = paid[(days > 0) & (days <= 7)].drop_duplicates(["payer", "payee"])
        assert largest in week["payer"].value_counts(sort=False)[lambda count: count == count.max()].index
    assert len(alone[0]) == 24


@pytest.mark.slow
@pytest.mark.parametrize("order", [None, "time"])
def test_a_stream_goes_on_when_a_worker_was_lost(client: Any, tmp_path: Path, order: str | None) -> None:
    """Its partitions are made again, and lie elsewhere then."""
    (tmp_path / "one").mkdir()
    data = from_pandas(EVENTS, npartitions=9, sort=False)
    expected = slides(None, [EVENTS], tmp_path / "one", order=order)
    found = engine.run(
        client, lambda comm, data: slides(comm, data, tmp_path, 5, order=order), data=data, ranks=4, retries=1
    )
    assert found == [expected[4:]] * 4
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "one" / "out.csv").read_bytes()


# -- errors of the job, and workers that stay with it ------------------------------------------------------------------


def raises(comm: Comm, folder: Path) -> None:
    with (folder / f"starts.{comm.rank}").open("a") as file:
        file.write("x")
    if comm.rank == 1:
        raise ValueError("of the job")
    comm.barrier()


def test_a_job_that_raises_is_not_repeated(client: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="of the job"):
        engine.run(client, lambda comm: raises(comm, tmp_path), ranks=2, retries=3)
    assert [(tmp_path / f"starts.{rank}").read_text() for rank in range(2)] == ["x", "x"]
    assert tasks_of_jobs(client) == []


def stays(comm: Comm, pipe: Path) -> None:
    comm.barrier()
    if comm.rank == 0:
        raise ValueError("of the job")
    pipe.read_text()


@pytest.mark.slow
def test_a_worker_that_goes_on_with_a_failed_job_is_left_alone(client: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Until it comes to a collective; others are free at once."""
    monkeypatch.setattr(engine, "LAST", 0.1)
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(ValueError, match="of the job"):
        engine.run(client, lambda comm: stays(comm, pipe), ranks=2)
    others = {process for _, process in engine.run(client, numbers, ranks=3)}
    (busy,) = {*client.run(os.getpid).values()} - others
    with ThreadPoolExecutor(1) as pool:
        all_four = pool.submit(engine.run, client, numbers)
        pipe.write_text("")
        assert {process for _, process in all_four.result()} == {busy, *others}


# -- several runs, and clients -----------------------------------------------------------------------------------------


def at_once(comm: Comm, pipe: Path, mode: str | None) -> tuple[int, float, float]:
    """Return the process, and when the job was there; with a ``mode`` it meets the other run at a pipe."""
    began = time.monotonic()
    if comm.rank == 0 and mode:
        pipe.open(mode).close()
    comm.barrier()
    return os.getpid(), began, time.monotonic()


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_two_runs_at_once_share_no_worker(client: Any, tmp_path: Path, ranks: int) -> None:
    """They take others, or one waits for the other."""
    os.mkfifo(pipe := tmp_path / "pipe")

    def start(mode: str | None) -> list[Any]:
        return engine.run(client, lambda comm: at_once(comm, pipe, mode), ranks=ranks)  # type: ignore[no-any-return]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(start, ("r", "w") if ranks == 2 else (None, None))
    shared = {process for process, *_ in first} & {process for process, *_ in second}
    assert bool(shared) == (ranks == 3)
    for one in first:
        for other in second:
            assert one[0] != other[0] or one[2] <= other[1] or other[2] <= one[1]


def waits(comm: Comm, folder: Path) -> None:
    try:
        if comm.rank == 0:
            (folder / "begun").open("w").close()
        while True:
            time.sleep(0.01)
            comm.barrier()
    except CommunicationError as error:
        (folder / f"ended.{comm.rank}").write_text(str(error))
        raise


@pytest.mark.slow
def test_a_client_that_disconnects_ends_its_jobs(client: Any, tmp_path: Path) -> None:
    for name in ("begun", "ended.0", "ended.1"):
        os.mkfifo(tmp_path / name)
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(engine.run, other, lambda comm: waits(comm, tmp_path), ranks=2)
        (tmp_path / "begun").read_text()
        other.close()
        with pytest.raises(CommunicationError, match="the client was closed during its run"):
            running.result()
    for rank in range(2):
        assert (tmp_path / f"ended.{rank}").read_text() == "the client has cancelled the job, or is gone"
    assert len(engine.run(client, numbers)) == 4


# -- workers that die --------------------------------------------------------------------------------------------------


def dies(comm: Comm, survivor: Path) -> None:
    comm.barrier()
    if comm.rank == 1:
        os.kill(os.getpid(), 9)
    try:
        comm.barrier()
    except CommunicationError as error:
        survivor.write_text(str(error))
        raise


@pytest.mark.slow
def test_a_worker_that_dies_is_named(client: Any, tmp_path: Path) -> None:
    address, began = sorted(client.run(os.getpid))[1], time.monotonic()
    with pytest.raises(CommunicationError, match=f"^rank 1 on {address} is gone"):
        engine.run(client, lambda comm: dies(comm, tmp_path / "survivor"))
    assert time.monotonic() - began < LIMIT
    assert f"rank 1 on {address} is gone while others are at barrier at " in (tmp_path / "survivor").read_text()
    assert tasks_of_jobs(client) == []
    client.wait_for_workers(4)
    assert len(engine.run(client, numbers)) == 4


def goes_on(comm: Comm, folder: Path) -> tuple[int, dict[tuple[int, int], int]]:
    """Insert edges in steps, with a checkpoint after each; in the second step of the first start rank 1 dies."""
    saved, first = folder / "graph.npz", not (folder / "died").exists()
    if saved.exists():
        graph = su.Graph.load(saved, device="cpu", comm=comm)
    else:
        graph = su.Graph(12, device="cpu", weight_dtype="int32", comm=comm)
    begun = graph.version
    for step in range(begun, 4):
        rows = FRAME[step * 100 : step * 100 + 100] if comm.rank == 0 else FRAME[:0]
        graph.insert_edges(*(rows[name].to_numpy() for name in rows))
        if step == 1 and first and comm.rank == 1:
            (folder / "died").touch()
            os.kill(os.getpid(), 9)
        graph.save(saved)
    return begun, weights_of(graph)


@pytest.mark.slow
def test_a_job_goes_on_from_its_checkpoint_when_a_worker_was_lost(client: Any, tmp_path: Path) -> None:
    data = from_pandas(FRAME[:10], npartitions=4)  # those of the lost worker are made again
    found = engine.run(client, lambda comm, data: goes_on(comm, tmp_path), data=data, ranks=4, retries=1)
    alone = su.Graph(12, device="cpu", weight_dtype="int32")
    alone.insert_edges(*(FRAME[name].to_numpy() for name in FRAME))
    assert found == [(1, weights_of(alone))] * 4
