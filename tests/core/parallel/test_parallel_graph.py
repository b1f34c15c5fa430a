"""Graphs of several ranks: batches in parts, outcomes, questions, vertices, ranges that are cut again, and failures."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from turns import few

import suricate as su
from suricate.errors import (
    CapacityError,
    DTypeError,
    ParameterError,
    RequirementError,
    SelfLoopError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
    WeightError,
)
from suricate.parallel import Comm, run
from suricate.placement import placement
from suricate.placement.ownership import Ownership
from suricate.placement.placement import FEW, UNEVEN

pytestmark = pytest.mark.plain
N = 40
BACKENDS = ("blocked", "csr_baseline", "gpma", "hornet_like", "slabhash")


def made(comm: Comm, n: int = N, **options: Any) -> su.Graph:
    return su.Graph(n, device="cpu", comm=comm, threads=1, **options)


def cut(comm: Comm, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    """The part of a batch that a rank passes, of a random size."""
    ends = np.random.default_rng(len(columns[0])).integers(0, len(columns[0]) + 1, comm.size - 1)
    bounds = [0, *np.sort(ends), len(columns[0])]
    return tuple(column[bounds[comm.rank] : bounds[comm.rank + 1]] for column in columns)


def listed(edges: su.EdgeList) -> list[tuple[float, ...]]:
    return sorted(zip(*(part.tolist() for part in edges if part is not None), strict=True))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_changes_and_questions_are_those_of_one_graph(backend: str, weight_dtype: str | None, directed: bool) -> None:
    options = {"backend": backend, "weight_dtype": weight_dtype, "directed": directed, "in_edges": directed}

    def job(comm: Comm) -> None:
        divided, single = made(comm, **options), su.Graph(N, device="cpu", **options)
        rng = np.random.default_rng(8)
        for _ in range(8):
            src, dst = rng.integers(0, N, (2, 50))
            weight = (rng.integers(0, 4, 50).astype(np.float32),) if weight_dtype else ()
            delta, other = divided.insert_edges(*cut(comm, src, dst, *weight)), single.insert_edges(src, dst, *weight)
            assert listed(delta.inserted) == listed(other.inserted)
            assert listed(delta.replaced) == listed(other.replaced) if weight_dtype else True
            src, dst = rng.integers(0, N, (2, 60))
            delta, other = divided.delete_edges(*cut(comm, src, dst)), single.delete_edges(src, dst)
            assert listed(delta.deleted) == listed(other.deleted)
            assert divided.num_edges == single.num_edges
            assert listed(divided.edges()) == listed(single.edges())
            np.testing.assert_array_equal(divided.has_edges(src, dst), single.has_edges(src, dst))
            if weight_dtype:
                np.testing.assert_array_equal(divided.edge_weights(src, dst, 9), single.edge_weights(src, dst, 9))
            for direction in ("out", "in"):
                np.testing.assert_array_equal(divided.degrees(direction), single.degrees(direction))
                rows, others = (graph.adjacency([9, 3, 39, 9], direction) for graph in (divided, single))
                assert rows.offsets.tolist() == others.offsets.tolist()
                for k in range(4):
                    at = slice(*rows.offsets[k : k + 2])
                    assert sorted(rows.dst[at].tolist()) == sorted(others.dst[at].tolist())
            divided.check()

    run(job, 3)


def test_a_rank_may_pass_nothing_or_all() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        assert graph.insert_edges(*((None, None) if comm.rank else ([1, 2], [3, 4]))).num_inserted == 2
        assert graph.insert_edges([], []).num_inserted == 0
        assert graph.insert_edges([5], [6]).num_inserted == 1  # the same edge on both ranks
        assert graph.insert_edges(None, None).is_known_empty
        assert graph.apply(su.Batch(delete=su.EdgeList([1], [3]) if comm.rank else None)).num_deleted == 1

    run(job, 2)


def test_vertices_come_and_go() -> None:
    def job(comm: Comm) -> None:
        divided, single = made(comm, 5, in_edges=True), su.Graph(5, device="cpu", in_edges=True)
        for graph in (divided, single):
            assert graph.insert_vertices(7).tolist() == list(range(5, 12))
            graph.insert_edges([0, 11, 4, 6], [11, 0, 6, 4])
            assert graph.delete_vertices([11, 4]).num_deleted == 4
            assert graph.insert_vertices(2, recycle=True).tolist() == [4, 11]
            graph.insert_edges([11], [2])
            assert graph.num_live == 12
        assert listed(divided.edges()) == listed(single.edges())
        divided.check()

    run(job, 3)


@pytest.mark.parametrize("ranks", few([2, 3]))
def test_ranges_are_cut_again_when_a_rank_holds_too_much(ranks: int) -> None:
    """A stream that starts without vertices: all new ones are the last rank's, until ranges are cut."""

    def job(comm: Comm) -> list[int]:
        graph = made(comm, 0, directed=False)
        rng, edges = np.random.default_rng(4), set[tuple[int, int]]()
        components = graph.track("wcc")
        for _ in range(12):
            graph.insert_vertices(50)
            src, dst = rng.integers(0, graph.num_vertices, (2, 800))
            graph.insert_edges(*cut(comm, src, dst))
            edges |= {(min(u, v), max(u, v)) for u, v in zip(src.tolist(), dst.tolist(), strict=True)}
            graph.check()
        assert set(zip(*(part.tolist() for part in graph.edges()[:2]), strict=True)) == edges
        assert graph.num_edges == len(edges)
        assert components.result.num_components == whole(edges, graph.num_vertices).track("wcc").result.num_components
        assert graph.partition is not None
        return [int(graph.partition.local.store().num_edges)]

    held = [counts[0] for counts in run(job, ranks)]
    assert sum(held) > FEW
    assert max(held) * ranks <= UNEVEN * sum(held)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_that_move_are_not_newly_inserted(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 10)

    def job(comm: Comm) -> tuple[list[int], int]:
        graph = made(comm, backend=backend, weight_dtype="int32")
        graph.insert_edges(*cut(comm, np.arange(16, 25), np.arange(9), np.arange(9)))
        graph.mark()
        late = np.repeat(np.arange(25, 40), 2), np.arange(30), np.arange(30)
        graph.insert_edges(*cut(comm, *late))
        assert listed(graph.updated()) == list(zip(*(part.tolist() for part in late), strict=True))
        graph.check()
        assert graph.partition is not None
        return graph.partition.ownership.bounds.tolist(), graph.num_edges

    (bounds, edges), *others = run(job, 2)
    assert (bounds != [0, N // 2, N], edges) == (True, 39)
    assert others == [(bounds, edges)]


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
@pytest.mark.parametrize(("name", "call"), [("reserve", 1), ("insert", 2), ("delete", 1)])
def test_ranges_stay_if_rows_cannot_move(name: str, call: int, error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory the batch is done all the same; of other errors it is one."""
    monkeypatch.setattr(placement, "FEW", 10)

    def job(comm: Comm) -> None:
        graph = made(comm)
        components, calls = graph.track("wcc"), fail(comm, graph, name, call, error=error)
        src, dst = N - 1 - np.arange(30) // 3, np.arange(30)
        with nullcontext() if error is MemoryError else pytest.raises(error, match="none left"):
            graph.insert_edges(*cut(comm, src, dst))
        assert calls[0] >= call * comm.rank
        assert graph.partition is not None
        assert graph.partition.ownership.bounds.tolist() == [0, N // 2, N]
        assert listed(graph.edges()) == sorted(zip(src.tolist(), dst.tolist(), strict=True))
        graph.insert_edges(*cut(comm, np.array([0]), np.array([0])))
        graph.check()
        assert (graph.num_edges, components.result.num_components) == (31, 10)  # stars of four vertices

    run(job, 2)


def fail(
    comm: Comm, graph: su.Graph, name: str, number: int, store: int = 0, error: type[Exception] = MemoryError
) -> list[int]:
    """Have a call of a method of a store of rank 1 fail; return the number of its calls so far."""
    assert graph.partition is not None
    local, calls = graph.partition.stores[store].local, [0]
    method = getattr(local, name)

    def failing(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            raise error("none left")
        return method(*args, **options)

    if comm.rank == 1:
        setattr(local, name, failing)
    return calls


def test_first_ranges_go_by_expected_degrees() -> None:
    def job(comm: Comm) -> list[int]:
        graph = made(comm, degree_hints=np.where(np.arange(N) < 4, 100, 1))
        graph.insert_edges(*cut(comm, np.arange(N) % 4, np.arange(N)))
        graph.check()
        with pytest.raises(ParameterError, match="degree is not negative"):
            made(comm, degree_hints=np.full(N, -1))
        with pytest.raises(ShapeError, match="3 entries for 40 vertices"):
            made(comm, degree_hints=[1, 2, 3])
        assert graph.partition is not None
        return graph.partition.ownership.bounds.tolist()

    assert run(job, 2) == [[0, 2, N]] * 2


def whole(edges: set[tuple[int, int]], n: int) -> su.Graph:
    graph = su.Graph(n, device="cpu", directed=False)
    graph.insert_edges(*np.array(sorted(edges)).T)
    return graph


def test_names_of_many_edges() -> None:
    def job(comm: Comm) -> list[str]:
        own = [(["a", "b"], ["b", "c"]), (["d"], ["a"])][comm.rank]
        graph = su.Graph.from_coo(*own, comm=comm, device="cpu")
        assert graph.has_edges(["a", "d"], ["b", "a"]).tolist() == [True, True]
        return [str(graph.names[k]) for k in range(graph.num_vertices)]

    assert run(job, 2) == [["a", "b", "c", "d"]] * 2


def test_what_is_wrong_with_one_of_the_parts() -> None:
    def job(comm: Comm) -> None:
        for wrong, error in (([0.5], DTypeError), ([1, 2], ShapeError), ([-1], VertexRangeError)):
            with pytest.raises(error, match="" if comm.rank == 1 else "rank 1"):
                su.Graph.from_coo(wrong if comm.rank == 1 else [3], [4], comm=comm, device="cpu")

    run(job, 2)


def test_a_file_that_all_ranks_read_goes_in_once(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n1 2\n2 0\n5 1\n")

    def job(comm: Comm) -> tuple[Any, int]:
        graph = su.read(path).to_graph(comm=comm, device="cpu")
        return listed(graph.edges()), graph.num_edges

    assert run(job, 3) == [([(0, 1), (1, 2), (2, 0), (5, 1)], 4)] * 3


# -- what is wrong on one rank is an error on all, and changes nothing -------------------------------------------------


RIGHT: dict[str, tuple[Any, ...]] = {
    "insert_edges": ([4, 5], [6, 7]), "delete_edges": ([1], [2]), "apply": (su.Batch(),), "insert_vertices": (2,),
    "delete_vertices": ([2],), "reserve": (5,),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("insert_edges", ([3, N], [0, 1]), VertexRangeError), ("insert_edges", ([-1, 2], [0, 1]), VertexRangeError),
        ("insert_edges", ([0.5, 1.0], [0, 1]), DTypeError), ("insert_edges", ([1, 2], [0]), ShapeError),
        ("insert_edges", (3, 4), ShapeError), ("insert_edges", ([1], [2], [3.0]), WeightError),
        ("insert_edges", ([(1, 2)],), DTypeError), ("insert_edges", ([1], [1]), SelfLoopError),
        ("apply", ([[1], [2]],), ParameterError), ("delete_edges", ([N], [1]), VertexRangeError),
        ("insert_vertices", (-1,), ParameterError), ("delete_vertices", ([1],), ParameterError),
        ("reserve", (-1,), ParameterError),
    ],
)  # fmt: skip
def test_what_is_wrong_on_one_rank(name: str, wrong: tuple[Any, ...], error: type[Exception]) -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, self_loops="error")
        graph.insert_edges([1], [2])
        with pytest.raises(error, match="" if comm.rank == 1 else "rank 1"):
            getattr(graph, name)(*(wrong if comm.rank == 1 else RIGHT[name]))
        assert (graph.num_edges, graph.version, graph.num_vertices) == (1, 1, N)
        assert graph.insert_edges([7], [8]).num_inserted == 1

    run(job, 3)


@pytest.mark.compiled
def test_memory_that_does_not_suffice_on_one_rank() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, 2000, memory_limit="1MB" if comm.rank == 1 else None)
        graph.insert_edges([1], [2])
        rng = np.random.default_rng(0)
        with pytest.raises(CapacityError, match=None if comm.rank == 1 else "rank 1: "):
            graph.insert_edges(*rng.integers(0, 2000, (2, 300_000)))
        assert graph.num_edges == 1
        graph.check()

    run(job, 2)


CHANGES = {
    "insert": lambda graph: graph.insert_edges([1, 2, 30], [5, 6, 7], [4, 5, 6]),
    "delete": lambda graph: graph.delete_edges([4, 30], [5, 1]),
    "apply": lambda graph: graph.apply(su.Batch(su.EdgeList([4, 8], [5, 1], [9, 9]), su.EdgeList([30], [1]))),
    "delete_vertices": lambda graph: graph.delete_vertices([4, 30]),
    "insert_vertices": lambda graph: graph.insert_vertices(4),
}


@pytest.mark.parametrize("store", [0, 1], ids=["out", "in"])
@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ("insert", "insert"), ("insert", "reserve"), ("delete", "delete"), ("apply", "insert"), ("apply", "delete"),
        ("delete_vertices", "delete_vertices"), ("insert_vertices", "resizing"),
    ],
)  # fmt: skip
def test_a_change_that_fails_in_a_store_of_one_rank_is_undone(change: str, fails: str, store: int) -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, in_edges=True, weight_dtype="int32")
        graph.insert_edges([4, 30, 8, 20], [5, 1, 1, 30], [1, 2, 3, 4])
        before = listed(graph.edges()), graph.version, graph.num_vertices, graph.degrees("in").tolist()
        fail(comm, graph, fails, 1, store)
        with pytest.raises(CapacityError, match=None if comm.rank == 1 else "rank 1: none left"):
            CHANGES[change](graph)
        assert (listed(graph.edges()), graph.version, graph.num_vertices, graph.degrees("in").tolist()) == before
        graph.check()
        assert graph.insert_edges([7], [8], 1).num_inserted == 1

    run(job, 2)


def test_parts_of_other_types() -> None:
    """Ids of any integer type, one weight for all or one each; the last weight wins, in the order of ranks."""

    def job(comm: Comm) -> None:
        graph = made(comm, weight_dtype="int32")
        ids = [np.uint64, np.int8, np.int64][comm.rank]
        weight = [np.array([5.0]), 7, [np.int64(2**31 - 1)]][comm.rank]
        delta = graph.insert_edges(np.array([comm.rank // 2], ids), np.array([3], ids), weight)
        assert listed(delta.inserted) == [(0, 3, 7), (1, 3, 2**31 - 1)]
        assert graph.edge_weights([0, 1], [3, 3]).tolist() == [7, 2**31 - 1]

    run(job, 3)


def test_calls_that_differ() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        for call in (
            lambda: graph.insert_vertices(comm.rank), lambda: graph.delete_vertices([comm.rank]),
            lambda: graph.has_edges([comm.rank], [1]), lambda: graph.neighbors(comm.rank),
            lambda: graph.track("bfs", source=comm.rank), lambda: graph.compute("bfs", source=comm.rank),
            lambda: graph.compute("wcc" if comm.rank else "bfs", **({} if comm.rank else {"source": 1})),
            lambda: graph.reserve(comm.rank), lambda: made(comm, self_loops="drop" if comm.rank else "allow"),
        ):  # fmt: skip
            with pytest.raises(ParameterError, match="pass the same on all ranks"):
                call()
        assert graph.version == 0
        with pytest.raises(UnknownNameError, match="no backend 'none'"):
            made(comm, backend="none" if comm.rank else "slabhash")

    run(job, 2)


def test_counts_that_decide_are_those_of_all_ranks() -> None:
    """Whether to update or to recompute goes by them."""

    def job(comm: Comm | None) -> list[int]:
        graph = made(comm) if comm else su.Graph(N, device="cpu")
        counts = []
        for size in (30, 3, 8):
            graph.insert_edges(*((None, None) if comm and comm.rank else (np.arange(size), np.full(size, size))))
            counts += [graph.most_arcs, graph.num_edges]
        return counts

    assert run(job, 3) == [job(None)] * 3


class Told:
    """A clock whose spans have the length that is told."""

    length: float | None = 0.0

    def start(self) -> bool:
        return True

    def stop(self) -> None:
        pass

    def seconds(self) -> float | None:
        return self.length


@pytest.mark.parametrize("loses", [False, True])
def test_whether_to_update_goes_by_the_clock_of_rank_0(loses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of rank 1 says the opposite, or nothing."""

    clocks = dict[str, Told]()
    monkeypatch.setattr(placement, "clock_on", lambda _: clocks[threading.current_thread().name])

    def job(comm: Comm) -> list[str]:
        clock, rng = Told(), np.random.default_rng(1)
        clocks[threading.current_thread().name] = clock
        graph = made(comm, 400, directed=False)
        graph.insert_edges(*cut(comm, *rng.integers(0, 400, (2, 4000))))
        tracker, last = graph.track("spmv"), list[str]()
        for _ in range(5):
            graph.insert_edges(*cut(comm, *rng.integers(0, 400, (2, 160))))
            slow = 3.0 if loses == (comm.rank == 0) else 0.1
            clock.length = None if comm.rank == 2 else 1.0 if tracker.last.kind == "recomputed" else slow
            last.append(tracker.last.kind)
        return last

    assert run(job, 3) == [["recomputed", "updated"] + 3 * ["recomputed" if loses else "updated"]] * 3


def test_graphs_that_differ() -> None:
    def job(comm: Comm) -> None:
        with pytest.raises(ParameterError, match="num_vertices is 40 on rank 0 and 41 on rank 1"):
            made(comm, N + comm.rank)

    run(job, 2)


@pytest.mark.parametrize("backend", ["blocked", "slabhash"])
@pytest.mark.parametrize("in_edges", [False, True])
def test_what_stores_choose_by_the_first_batch_is_chosen_by_that_of_all(backend: str, in_edges: bool) -> None:
    """Rank 0 owns nearly all rows, and rank 2 none."""
    src, dst = (np.append(ends, N // 2) for ends in np.divmod(np.arange(12 * N), N))
    alone = su.Graph(N, backend=backend, device="cpu")
    alone.insert_edges(src, dst)

    def job(comm: Comm) -> list[dict[str, Any]]:
        graph = made(comm, backend=backend, in_edges=in_edges)
        assert graph.partition is not None
        graph.partition.ownership = Ownership(comm.rank, np.array([0, N // 3, N, N]))
        for store in graph.partition.stores:
            store.local.keep_rows(graph.partition.ownership.ranges)
        graph.insert_edges(*cut(comm, src, dst))
        return [store.options() for store in graph.partition.stores]

    assert run(job, 3) == [[alone.store().options()] * (1 + in_edges)] * 3


def test_what_walks_the_storage_is_refused() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, directed=False)
        with pytest.raises(RequirementError, match="divided among processes"):
            graph.view()
        with pytest.raises(RequirementError, match="kernels=False"):
            graph.track("kcore", kernels=True)
        with pytest.raises(RequirementError, match="cannot be pickled"):
            graph.__reduce__()

    run(job, 2)


# -- names and files ---------------------------------------------------------------------------------------------------


def test_names_get_the_same_ids_everywhere() -> None:
    def job(comm: Comm) -> list[str]:
        graph = made(comm, 0, names=su.Names())
        graph.insert_edges(*((["a", "b"], ["b", "c"]) if comm.rank == 0 else (["d", "a"], ["c", "d"])))
        assert graph.has_edges(["d", "c"], ["c", "d"]).tolist() == [True, False]
        return [str(graph.names[k]) for k in range(graph.num_vertices)]

    first, *others = run(job, 3)
    assert sorted(first) == ["a", "b", "c", "d"]
    assert all(other == first for other in others)


def test_names_and_ids_in_one_batch_are_refused() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, 2, names=su.Names())
        with pytest.raises(ParameterError, match="names on all ranks, or ids on all"):
            graph.insert_edges(*((["a"], ["b"]) if comm.rank else ([0], [1])))
        assert (graph.num_vertices, graph.num_edges) == (2, 0)
        assert graph.insert_edges(*((["a"], ["b"]) if comm.rank else ([], []))).num_inserted == 1

    run(job, 2)


def test_self_loops_of_one_rank_count_on_all() -> None:
    """As an undirected edge they are one arc; what is deleted again counts no more."""

    def job(comm: Comm) -> None:
        graph = made(comm, directed=False)
        loops = ([3, 5, 3], [3, 6, 3]) if comm.rank else ([39], [39])
        assert graph.insert_edges(*loops).num_inserted == graph.num_edges == 3
        assert graph.delete_edges(*([3], [3]) if comm.rank else (None, None)).num_deleted == 1
        assert graph.num_edges == 2
        assert len(graph.edges().src) == 2

    run(job, 2)


def test_own_frames_of_all_ranks_are_the_whole_one() -> None:
    """Of vertices in ranges and in blocks, of edges, and of vertices for each of two sources."""
    src, dst = np.random.default_rng(4).integers(0, 30, (2, 80))

    def job(comm: Comm | None) -> list[tuple[Any, Any]]:
        graph = su.Graph(20, device="cpu", directed=False, weight_dtype="float32", threads=1, comm=comm)
        share = slice(None) if comm is None else slice(comm.rank, None, comm.size)
        trackers = [graph.track("degree"), graph.track("msf"), graph.track("personalized_pagerank", sources=[3, 7])]
        trackers.append(graph.track("pagerank"))  # of which each rank keeps its own entries
        for high in (20, 30):
            graph.insert_vertices(high - graph.num_vertices)
            known = (src < high) & (dst < high)
            ends = src[known][share], dst[known][share]
            graph.insert_edges(*ends, (ends[0] * ends[1] % 7 + 1).astype(np.float32))
        graph.delete_vertices([5])
        if graph.partition is not None:
            assert not graph.partition.ownership.is_ranges
            assert set(trackers[0].to_pandas(own=True)["vertex"]) == {*graph.partition.own.tolist()} - {5}
        return [(each.to_pandas(own=True), each.to_pandas()) for each in trackers]

    alone, ranks = job(None), run(job, 3)
    for number, (own, whole) in enumerate(alone):
        pandas.testing.assert_frame_equal(own, whole)
        keys = list(whole.columns[:2])
        parts = [rank[number][0] for rank in ranks]
        assert sum(map(len, parts)) == len(ranks[0][number][1])
        found = pandas.concat(parts).sort_values(keys, ignore_index=True)
        pandas.testing.assert_frame_equal(found, ranks[0][number][1].sort_values(keys, ignore_index=True))


def test_own_is_a_flag() -> None:
    with pytest.raises(ParameterError, match="own"):
        su.Graph(3, device="cpu").track("degree").to_pandas(own="yes")  # type: ignore[arg-type]
