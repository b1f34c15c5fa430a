"""Arrays by vertex of which each rank keeps its own entries, and results that are gathered when they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_parallel_graph import cut
from turns import few

import suricate as su
from suricate.bench.machine.allocations import anonymous_bytes
from suricate.errors import CommunicationError, RequirementError
from suricate.parallel import Comm, run
from suricate.placement import placement, ranges
from suricate.state.owned import owned, places, swapped, whole

N = 90


def made(comm: Comm | None, device: str = "cpu", n: int = N, **options: Any) -> su.Graph:
    return su.Graph(n, **{"device": device, "in_edges": True, "threads": 1, "comm": comm} | options)


def drawn(high: int, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, (2, count))


def ranked(comm: Comm | None, method: str, device: str = "cpu", **params: Any) -> list[Any]:
    """Ranks after each change: batches, new vertices in blocks, deleted ones, those at the bounds of ranges among them.

    The parts of all ranks are the whole result.
    """
    graph, found = made(comm, device), []
    ranks = graph.track("pagerank", method=method, tol=1e-12, **params)
    host = graph.device.to_numpy

    def look() -> None:
        result, mine = host(ranks.result), ranks.own
        assert (np.abs(host(mine.result) - result[host(mine.vertices)]) <= 1e-15).all()
        if comm is not None:
            assert sorted(np.concatenate(comm.gather("ids", host(mine.vertices)))) == [*range(graph.num_vertices)]
        found.append(result.copy())

    def insert(edges: np.ndarray) -> None:
        graph.insert_edges(*(edges if comm is None else cut(comm, *edges)))
        look()

    insert(drawn(N, 600, 1))
    insert(drawn(N, 8, 2))
    graph.insert_vertices(20)
    look()
    insert(drawn(N + 20, 60, 3))
    graph.delete_vertices([0, 29, 30, 44, 45, N - 1, N + 3])  # on ranks of 2 and 3 the ends of ranges, and of a block
    look()
    edges = np.array(sorted(zip(*(host(part).tolist() for part in graph.edges()[:2]), strict=True))[::40]).T
    graph.delete_edges(*(edges if comm is None else cut(comm, *edges)))
    look()
    return found


def expect_ranks_of_one(method: str, number: int, device: str = "cpu", **params: Any) -> None:
    alone, several = ranked(None, method, **params), run(lambda comm: ranked(comm, method, device, **params), number)
    for step, wanted in enumerate(alone):
        assert np.abs(several[0][step] - wanted).max() < 1e-10, step
        assert all((found[step] == several[0][step]).all() for found in several)


@pytest.mark.parametrize("number", few([2, 3, 4]))
@pytest.mark.parametrize("method", ["auto", "nd", "dfp", "dt"])
def test_ranks_are_those_of_one_process(method: str, number: int) -> None:
    expect_ranks_of_one(method, number)


def test_ranks_with_self_loops_from_a_start() -> None:
    expect_ranks_of_one("dfp", 2, self_loops=True, nstart={0: 1.0})


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["auto", "dfp"])
def test_ranks_on_cuda_are_those_of_one_process(method: str) -> None:
    expect_ranks_of_one(method, 3, "cuda")


def test_entries_of_others_take_no_memory() -> None:
    if anonymous_bytes() is None:
        pytest.skip("the system does not say what memory a process holds")
    n, size = 1 << 24, 8 << 24

    def job(comm: Comm) -> None:
        graph = made(comm, n=n)
        comm.barrier()
        before = anonymous_bytes()
        comm.barrier()
        array = owned(graph, "float64", 1.0)
        comm.barrier()
        held = (anonymous_bytes() or 0) - (before or 0)
        comm.barrier()
        assert held < size * 2  # of all four ranks together, which would be 4 if they had whole arrays
        assert (array[places(graph)] == 1).all()
        assert len(array) == n

    run(job, 4)


def test_rows_that_nobody_writes_take_no_memory() -> None:
    """Those of ``hornet_like`` but one array: less than half of what it counts, on four ranks."""
    if anonymous_bytes() is None:
        pytest.skip("the system does not say what memory a process holds")
    n = 1 << 22

    def job(comm: Comm) -> None:
        comm.barrier()
        before = anonymous_bytes()
        comm.barrier()
        graph = made(comm, n=n, backend="hornet_like")
        counted = sum(size[1] for size in graph.memory_usage().parts.values())
        comm.barrier()
        held = (anonymous_bytes() or 0) - (before or 0)
        comm.barrier()
        assert held < 4 * counted / 2  # of all ranks together
        assert graph.insert_edges(*cut(comm, np.array([0, n - 1]), np.array([n - 1, 0]))).num_inserted == 2
        assert graph.degrees().sum() == 2
        comm.barrier()

    run(job, 4)


def halved(v: Any, value: Any, old: Any, new: Any, moved: Any) -> None:
    new[v] = value / 2 + v
    moved.add(abs(new[v] - old[v]))


def exchanging(comm: Comm | None, device: str, both: bool) -> tuple[Any, ...]:
    """Rounds that exchange an array that neighbours read with one that they do not, or two such; then a map."""
    graph = made(comm, device)
    edges = drawn(N, 300, 5)
    graph.insert_edges(*(edges if comm is None else cut(comm, *edges)))
    new, moved = owned(graph, "float64", 0.0), graph.scalar("sum", "float64")
    old = owned(graph, "float64", 1.0) if both else graph.device.xp.ones(N)
    pull = (lambda u, v, w, old, new, moved: old[v]) if both else (lambda u, v, w, old, new, moved: old[u])
    su.converge(
        graph, None, pull, args=(old, new, moved), then=halved, reduce="sum", over="in", wake=None, dtype="float64",
        max_steps=3, swap=((old, new),),
    )  # fmt: skip
    total = graph.scalar("sum", "float64")

    def add(v: Any, old: Any, new: Any, seen: Any, total: Any) -> bool:
        seen[v] = old[v] + 2 * new[v]
        total.add(seen[v])
        return v % 3 == 0

    seen = graph.device.xp.zeros(N)
    kept = su.vertex_map(graph, None, add, args=(old, new, seen, total))
    host = graph.device.to_numpy
    rounds, second = (host(whole(graph, array)).copy() for array in (old, new))
    again = swapped(graph, old, new)
    return (
        rounds, second, host(seen), host(kept.vertices), total.read(),
        *(host(whole(graph, array)) for array in again),
    )  # fmt: skip


def expect_exchanged(device: str, both: bool) -> None:
    wanted = exchanging(None, "cpu", both)
    for found in run(lambda comm: exchanging(comm, device, both), 3):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("both", [False, True])
def test_rounds_exchange_entries_of_own_vertices(both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Piece by piece, so that this takes little memory."""
    monkeypatch.setattr("suricate.placement.own_arrays.PIECE", 7)
    expect_exchanged("cpu", both)


@pytest.mark.gpu
@pytest.mark.parametrize("both", [False, True])
def test_rounds_on_cuda_exchange_entries_of_own_vertices(both: bool) -> None:
    expect_exchanged("cuda", both)


def commit(v: Any, own: Any, out: Any) -> None:
    out[v] = own[v]


def first(v: Any, own: Any, out: Any) -> None:
    out[v] = own[0]


def added(u: Any, v: Any, w: Any, own: Any, out: Any) -> None:
    su.atomic.add(out, v, own[v])


def of_u(u: Any, v: Any, w: Any, own: Any) -> Any:
    return own[u]


def one(u: Any, v: Any, w: Any, *others: Any) -> float:
    return 1.0


def above(v: Any, step: Any, own: Any) -> Any:
    return own[v] > 0


SUM: dict[str, Any] = {"reduce": "sum"}
REFUSED: dict[str, Callable[[su.Graph, Any, Any], Any]] = {
    "pull": lambda graph, own, out: su.neighbor_reduce(graph, None, of_u, args=(own,), over="in", **SUM),
    "pull over out": lambda graph, own, out: su.neighbor_reduce(graph, None, of_u, args=(own,), **SUM),
    "out of a pull": lambda graph, own, out: su.neighbor_reduce(graph, None, one, out=own, over="in", **SUM),
    "push": lambda graph, own, out: su.advance(graph, None, of_u, out=out, args=(own,), **SUM),
    "out of a push": lambda graph, own, out: su.advance(graph, None, one, out=own, **SUM),
    "then of a push": lambda graph, own, out: su.advance(graph, None, one, out=out, args=(own,), then=above, **SUM),
    "map elsewhere": lambda graph, own, out: su.vertex_map(graph, None, first, args=(own, out)),
    "edges": lambda graph, own, out: su.edge_map(graph, None, added, args=(own, out)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_read_entries_of_others_is_refused(name: str) -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        graph.insert_edges(*cut(comm, *drawn(N, 300, 5)))
        own, out = owned(graph, "float64", 1.0), np.zeros(N)
        with pytest.raises(RequirementError, match="whole"):
            REFUSED[name](graph, own, out)
        assert not out.any()
        assert (own[places(graph)] == 1).all()
        su.vertex_map(graph, None, commit, args=(own, out))  # the job goes on
        assert (out == 1).all()

    run(job, 2)


def grow(comm: Comm, graph: su.Graph) -> None:
    """Insert edges at few vertices, those of the first rank, so that ranges are cut again."""
    rng = np.random.default_rng(6)
    for _ in range(4):
        graph.insert_edges(*cut(comm, rng.integers(0, N // 4, 3000), rng.integers(0, N // 4 * 3, 3000)))


def test_when_vertices_go_to_other_ranks_ranks_are_computed_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 0)

    def job(comm: Comm) -> None:
        graph = made(comm)
        ranks, plain = graph.track("pagerank"), graph.track("wcc")
        before = graph.partition.ownership
        grow(comm, graph)
        assert len(graph.partition.ownership.moved(before).begin)
        assert ranks.recomputations["vertices have gone to other processes"] >= 1
        assert "vertices have gone to other processes" not in plain.recomputations
        assert np.abs(ranks.result - graph.compute("pagerank")).max() < 1e-9

    run(job, 2)


def test_rows_that_cannot_move_leave_arrays_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(self: ranges.Move, old: Callable[[ranges.Move], None] = ranges.Move.make) -> None:
        self.comm.together(MemoryError("none") if self.comm.rank else None)
        old(self)

    monkeypatch.setattr(ranges.Move, "make", make)
    monkeypatch.setattr(placement, "FEW", 0)

    def job(comm: Comm) -> None:
        graph = made(comm)
        ranks, before = graph.track("pagerank"), graph.partition.ownership.bounds.tolist()
        grow(comm, graph)
        assert graph.partition.ownership.bounds.tolist() == before
        assert "vertices have gone to other processes" not in ranks.recomputations
        assert np.abs(ranks.result - graph.compute("pagerank")).max() < 1e-5

    run(job, 2)


def test_a_rank_that_is_lost_while_vertices_move_is_an_error_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def routed(self: ranges.Move, edges: Any, old: Any = ranges.Move._routed) -> Any:
        if self.comm.rank == 1:
            raise KeyboardInterrupt
        return old(self, edges)

    monkeypatch.setattr(ranges.Move, "_routed", routed)
    monkeypatch.setattr(placement, "FEW", 0)
    seen: list[Any] = []

    def job(comm: Comm) -> None:
        graph = made(comm)
        ranks, before = graph.track("pagerank"), graph.partition.ownership
        try:
            grow(comm, graph)
        except CommunicationError as error:
            seen.append((comm.rank, str(error), graph.partition.ownership is before, ranks.stale))
            raise

    with pytest.raises(KeyboardInterrupt):
        run(job, 3)
    assert sorted(rank for rank, *_ in seen) == [0, 2]
    assert all("rank 1" in text and same and stale for _, text, same, stale in seen)


OTHERS: dict[str, dict[str, Any]] = {
    "katz": {"alpha": 0.01, "tol": 1e-12}, "katz beta": {"alpha": 0.01, "tol": 1e-12, "beta": {0: 1.0, 50: 2.0}},
    "eigenvector": {"tol": 1e-9}, "hits": {"tol": 1e-12}, "hits plain": {"tol": 1e-12, "normalized": False},
    "spmv": {"x": np.arange(N) % 7 + 0.5}, "spmv in": {"over": "in"}, "degree": {}, "degree in": {"over": "in"},
}  # fmt: skip
LEFT = {  # after an update
    "katz": ["_x", "_beta"], "eigenvector": ["_x"], "hits": ["_x", "_authorities"], "spmv": ["_y"], "degree": ["_y"],
}  # fmt: skip


def tracked(comm: Comm | None, kind: str, device: str) -> list[Any]:
    """Results after batches, new vertices in blocks, deleted ones, and a batch after which vertices move."""
    graph, found = made(comm, device), []
    name = kind.split()[0]
    part = (lambda *columns: columns) if comm is None else (lambda *columns: cut(comm, *columns))
    graph.insert_edges(*part(*drawn(N, 1500, 1)))
    tracker = graph.track(name, **OTHERS[kind])

    def look() -> None:
        result = tracker.result
        found.append(
            [graph.device.to_numpy(one).copy() for one in (result if isinstance(result, tuple) else (result,))]
        )
        if comm is not None:
            kept = tracker.algorithm
            assert all(graph.partition.is_own(getattr(kept, each)) for each in LEFT[name])

    look()
    graph.insert_edges(*part(*drawn(N, 5, 2)))
    look()
    graph.insert_vertices(20)
    look()
    graph.insert_edges(*part(*drawn(N + 20, 40, 3)))
    graph.delete_vertices([0, 29, 30, 44, 45, N + 3])
    look()
    for seed in range(3):
        graph.insert_edges(*part(drawn(N // 4, 3000, seed)[0], drawn(N, 3000, seed)[1]))
    look()
    if comm is not None:
        assert graph.partition.own_arrays.divisions
    return found


def expect_tracked(kind: str, device: str) -> None:
    alone = tracked(None, kind, "cpu")
    for found in run(lambda comm: tracked(comm, kind, device), 3):
        for one, other in zip(alone, found, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", OTHERS)
def test_others_keep_what_the_owner_alone_reads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 0)
    expect_tracked(kind, "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("kind", OTHERS)
def test_others_on_cuda_keep_what_the_owner_alone_reads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 0)
    expect_tracked(kind, "cuda")


@pytest.mark.parametrize("what", ["result", "own", "top", "at", "changed"])
def test_a_result_that_one_rank_reads_alone_is_an_error(what: str) -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        graph.insert_edges(*cut(comm, *drawn(N, 300, 5)))
        ranks = graph.track("pagerank")
        if comm.rank == 0:
            {"top": lambda: ranks.top(3), "at": lambda: ranks.at([0]), "changed": ranks.changed}.get(
                what, lambda: getattr(ranks, what)
            )()

    with pytest.raises(CommunicationError, match="rank 1"):
        run(job, 2)


def test_own_and_its_frame_gather_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def job(comm: Comm) -> int:
        graph = made(comm)
        graph.insert_edges(*cut(comm, *drawn(N, 300, 5)))
        ranks, shared = graph.track("pagerank"), []
        monkeypatch.setattr(comm, "share", lambda *_: shared.append(1))
        assert len(ranks.own.result) == len(ranks.to_pandas(own=True)) == N // 3
        return len(shared)

    assert run(job, 3) == [0, 0, 0]


def test_own_of_results_that_all_have_and_of_one_process() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, directed=False)
        graph.insert_edges(*cut(comm, *drawn(N, 300, 5)))
        search = graph.track("bfs", source=0)
        mine, result = search.own, search.result
        assert (mine.vertices == graph.partition.own).all()
        assert (mine.result.level == result.level[mine.vertices]).all()

    run(job, 2)
    alone = made(None)
    alone.insert_edges(*drawn(N, 300, 5))
    ranks = alone.track("pagerank")
    assert ranks.own.vertices.tolist() == [*range(N)]
    assert (ranks.own.result == ranks.result).all()
