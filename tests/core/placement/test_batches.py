"""Batches of a divided graph: what launches find, arcs that are counted when asked for, a lack of memory on a rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suricate.base.errors import CapacityError, DTypeError, VertexRangeError
from suricate.graph import Batch, Graph
from suricate.parallel import Comm, run
from suricate.placement import batches
from suricate.placement.changes import LEAST, SMALL
from suricate.placement.results import Tally

N = 64
DEVICES = [("cpu", SMALL), *[pytest.param("cuda", most, marks=pytest.mark.gpu) for most in (0, SMALL)]]


def arcs_of(graph: Graph) -> set[tuple[int, int]]:
    edges = graph.edges()
    return set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))


@pytest.fixture
def by_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of any size are checked, counted and picked on the device, as large ones are."""
    monkeypatch.setattr(batches, "SMALL", 0)


@pytest.mark.gpu
@pytest.mark.parametrize("small", [0, SMALL])
def test_what_is_found_in_arrays_on_the_device_is_an_error_on_all_ranks_before_anything_changes(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of either half; where another rank's part is refused on the host, the next call does not meet it again."""
    monkeypatch.setattr(batches, "SMALL", small)

    def job(comm: Comm) -> list[str]:
        graph = Graph(N, device="cuda", in_edges=True, comm=comm)
        xp = graph.device.xp
        ids = xp.arange(N, dtype=np.int64)
        graph.insert_edges(ids, ids)
        wrong = ids + comm.rank  # N on rank 1
        said = []
        for batch in (Batch(insert=(ids, wrong)), Batch(insert=(ids, ids[::-1]), delete=(wrong, ids))):
            with pytest.raises(VertexRangeError) as met:
                graph.apply(batch)
            said.append(str(met.value).replace("rank 1: ", ""))
        with pytest.raises(DTypeError, match="float"):
            graph.insert_edges(*((ids, wrong) if comm.rank else (np.zeros(2), np.zeros(2))))
        assert graph.version == 1
        assert arcs_of(graph) == {(v, v) for v in range(N)}
        assert graph.insert_edges(ids, ids[::-1]).num_inserted == N
        graph.check()
        return said

    first, second = run(job, 2)
    assert first == second
    assert "dst[63]" in first[0]
    assert "delete.src[63]" in first[1]


@pytest.mark.gpu
@pytest.mark.usefixtures("by_launches")
@pytest.mark.parametrize("directed", [True, False])
def test_arcs_are_counted_when_they_are_asked_for(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(is_done: Any) -> None:
        raise KeyboardInterrupt

    def job(comm: Comm) -> Any:
        graph = Graph(N, device="cuda", directed=directed, in_edges=directed, comm=comm)
        assert graph.partition is not None
        ids = graph.device.xp.arange(N, dtype=np.uint32)
        mine = ids[comm.rank :: 2]
        graph.insert_edges(mine, mine)  # loops
        graph.insert_edges(mine, (mine + 1) % N)  # nobody has asked for the first batch
        with monkeypatch.context() as patch:
            patch.setattr(comm, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                assert graph.num_edges
        copy = graph.to("cuda")
        assert graph.num_edges == copy.num_edges == 2 * N
        delta = graph.apply(Batch(insert=(mine, (mine + 2) % N), delete=(mine, mine)))
        held = [store.held for store in graph.partition.stores]
        assert held == [store.local.num_edges for store in graph.partition.stores]
        assert graph.num_edges == 2 * N
        assert (delta.num_inserted, delta.num_deleted) == (N, N)
        graph.delete_edges(mine, (mine + 2) % N)
        graph.delete_vertices([0])
        graph.check()
        assert graph.partition.stores[0].num_loops() == 0
        return graph.num_edges, copy.num_edges

    assert run(job, 3) == [(N - 2, 2 * N)] * 3


@pytest.mark.gpu
@pytest.mark.usefixtures("by_launches")
def test_a_rank_that_asks_for_a_number_of_edges_decides_as_the_others_do() -> None:
    """About ranges: a batch without edges changes nothing, nor does a copy know what one rank alone has read."""

    def job(comm: Comm) -> list[float]:
        graph = Graph(N, device="cuda", comm=comm)
        assert graph.partition is not None
        ids = np.arange(N)[comm.rank :: 2]
        graph.insert_edges(0 * ids, ids)
        graph.partition._reached = 9.0  # as of a hub
        if comm.rank == 0:
            assert graph.num_edges == N
        reached = []
        for each in (graph, graph.to("cuda")):
            assert each.partition is not None
            each.insert_edges(ids[:0], ids[:0])
            reached.append(each.partition._reached)
        return reached

    first, second = run(job, 2)
    assert first == second


def test_a_batch_goes_by_slices_where_numpy_lacks_the_memory_on_one_rank() -> None:
    """It has an error of its own for that, which the other ranks must take for one of memory, too."""

    def job(comm: Comm) -> int:
        graph = Graph(2 * LEAST, device="cpu", comm=comm)
        local: Any = graph.store().local  # type: ignore[attr-defined]
        insert = local.insert

        def little(src: np.ndarray, *others: Any) -> Any:
            if comm.rank == 1 and len(src) >= LEAST:
                np.empty(1 << 62, np.uint8)
            return insert(src, *others)

        local.insert = little
        ids = np.arange(2 * LEAST)[comm.rank :: 2]
        assert graph.insert_edges(ids, ids[::-1]).num_inserted == 2 * LEAST
        graph.check()
        return graph.num_edges

    assert run(job, 2) == [2 * LEAST] * 2


def test_a_batch_does_not_go_on_by_slices_where_a_rank_could_not_undo_the_whole() -> None:
    """What the other rank has lost, or has too much, would be taken for what was there before."""

    def job(comm: Comm) -> None:
        graph = Graph(2 * LEAST, device="cpu", comm=comm)
        local: Any = graph.store().local  # type: ignore[attr-defined]
        insert = local.insert

        def fails(*_: Any) -> Any:
            raise CapacityError("no more")

        def little(src: np.ndarray, *others: Any) -> Any:
            return fails() if comm.rank == 1 and len(src) >= LEAST else insert(src, *others)

        local.insert, local.delete = little, fails
        ids = np.arange(2 * LEAST)[comm.rank :: 2]
        with pytest.raises(CapacityError, match="no more") as caught:
            graph.insert_edges(ids, ids[::-1])
        assert caught.value.__notes__[-1] == "undoing the change failed on rank 0"

    run(job, 2)


@pytest.mark.parametrize(("device", "small"), DEVICES)
def test_where_one_rank_cannot_reserve_memory_nothing_has_changed(
    device: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others may have inserted by then; none has deleted."""
    monkeypatch.setattr(batches, "SMALL", small)

    def job(comm: Comm) -> None:
        graph = Graph(N, device=device, in_edges=True, weight_dtype="float32", comm=comm)
        every = np.arange(N)
        ids, host = every[comm.rank :: 2], graph.device.to_numpy
        graph.insert_edges(ids, (ids + 1) % N, ids)
        assert graph.partition is not None
        stores = [store.local for store in graph.partition.stores]
        deleted, delete, reserve = list[int](), stores[0].delete, stores[1].reserve

        def nothing(edges: int) -> None:
            raise CapacityError("no more")

        def noted(*given: Any, **named: Any) -> Any:
            deleted.append(len(given[0]))
            return delete(*given, **named)

        insert = ids, (ids + comm.rank) % N, 3 * ids  # those of rank 1 are there, with other weights
        before = arcs_of(graph)
        for batch in (Batch(insert=insert), Batch(insert=insert, delete=(ids, (ids + 1) % N))):
            stores[1].reserve, stores[0].delete = nothing if comm.rank else reserve, noted  # type: ignore[assignment]
            with pytest.raises(CapacityError, match="no more"):
                graph.apply(batch)
            stores[1].reserve, stores[0].delete = reserve, delete  # type: ignore[method-assign]
            if batch.delete is not None:
                assert not deleted
            deleted.clear()
            assert arcs_of(graph) == before
            assert host(graph.edge_weights(every, (every + 1) % N)).tolist() == every.tolist()
            graph.check()
        assert graph.insert_edges(*insert).num_inserted == N // 2

    run(job, 2)


@pytest.mark.parametrize(("device", "small"), DEVICES)
def test_bounds_that_ranks_decide_by_do_not_depend_on_who_asks(
    device: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges that come again are in the bound until the next batch: one rank alone prints the graph, and asks."""
    monkeypatch.setattr(batches, "SMALL", small)

    def job(comm: Comm) -> list[int]:
        graph = Graph(N, device=device, directed=False, comm=comm)
        ids = np.arange(N)[comm.rank :: 2]
        most = []
        for _ in range(4):
            graph.insert_edges(ids, (ids + 1) % N)
            if comm.rank == 0:
                assert f"{N} edges" in repr(graph)
                assert graph.num_edges * 2 <= graph.most_arcs
            graph.insert_edges(ids[:3], ids[:3] + 1)
            most.append(graph.most_arcs)
        assert most[-1] <= 2 * (N + 6)  # of all batches but the last they were counted
        return most

    first, second = run(job, 2)
    assert first == second


def test_ranges_stay_where_no_batch_of_the_size_could_make_them_uneven() -> None:
    for before, most, few, stays in (
        ([100, 100], (0, 50), 1000, True),  # few arcs in all
        ([600, 600], (0, 300), 1000, True),  # 900 of 1200, before the others grow
        ([600, 600], (0, 301), 1000, False),
        ([600, 600], (400, 0), 1000, True),  # 600 of 800
        ([600, 600], (401, 0), 1000, False),
        ([990, 0], (0, 9), 1000, True),
        ([990, 0], (0, 10), 1000, False),
    ):
        tally = object.__new__(Tally)
        tally.before, tally.most = before, most
        assert tally.stays_below(1.5, few) == stays, (before, most)
