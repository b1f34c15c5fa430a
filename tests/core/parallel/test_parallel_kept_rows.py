"""Stores of a divided graph keep the rows of their rank's vertices only: answers, memory, moves and faults."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from test_parallel_graph import cut, listed
from turns import few

import suricate as su
from suricate.base.devices import CPU
from suricate.bench.machine.allocations import anonymous_bytes
from suricate.errors import CapacityError, CheckFailed, CommunicationError
from suricate.parallel import Comm, run
from suricate.placement import placement, ranges
from suricate.store import Store, own_rows

pytestmark = pytest.mark.plain
PAGE, N = 1 << 12, 6_000  #: of rows of 8 bytes a page has 512
KEEPING = sorted(name for name, kind in su.plugins.backends().items() if kind.keep_rows is not Store.keep_rows)
BACKEND = "slabhash"  #: of each of these in turn
ROW_BYTES = {"slabhash": 10, "hornet_like": 17, "blocked": 12, "gpma": 12}  #: of a vertex in arrays by row of a store
BESIDES = {"gpma": 7.1}  #: of a vertex in others: its guard, and what leaves have
PARTS = {"hornet_like": ("index",), "gpma": ("rows", "vertices")}  #: the arrays by row in ``memory()``


@pytest.fixture(autouse=True, params=KEEPING)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BACKEND", request.param)


@pytest.fixture(autouse=True)
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is taken by pages of the system, so that small graphs have rows without."""
    if "device" not in request.fixturenames and "gpu" not in request.keywords:
        monkeypatch.setattr(own_rows, "BLOCK", PAGE)


def made(comm: Comm | None, device: str = "cpu", n: int = N, **options: Any) -> su.Graph:
    given = {"device": device, "in_edges": True, "threads": 1, "comm": comm, "backend": BACKEND}
    return su.Graph(n, **given | options)


def drawn(high: int, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, (2, count))


def locals_of(graph: su.Graph) -> list[Any]:
    return [store.local for store in graph.partition.stores]


def tables(store: Any) -> list[tuple[Any, int]]:
    """The arrays by row of a store of a rank, each with its entries of a row."""
    if store.name == "slabhash":
        return [(store.slabs.vertex, 2), (store.slabs.buckets, 1)]
    if store.name == "gpma":  # its guards are between rows
        return [(store.pool["degree"], 1)]
    return [(store.pool[name], 1) for group in store.pool.by_row for name in store.pool.layout[group]]


def counted(graph: su.Graph) -> list[int]:
    """The bytes of memory of the rows of each store of this rank."""
    parts = PARTS.get(BACKEND, ("vertices",))
    return [sum(store.memory()[part][1] for part in parts) for store in locals_of(graph)]


def verified(graph: su.Graph) -> None:
    """Check the graph, and that its stores keep the rows of the vertices that their rank owns."""
    graph.check()
    if graph.partition is not None:
        for store in locals_of(graph):
            assert (store.kept_rows == graph.partition.ownership.ranges).all()


def changes(comm: Comm | None, device: str) -> list[Any]:
    """Edges after each of many changes; all ranks pass parts of batches."""
    graph, found = made(comm, device), []
    part = (lambda *columns: columns) if comm is None else (lambda *columns: cut(comm, *columns))

    def look() -> None:
        verified(graph)
        found.append((graph.num_edges, listed(graph.edges()), graph.degrees().tolist()))

    def insert(edges: np.ndarray) -> None:
        graph.insert_edges(*part(*edges))
        look()

    insert(drawn(N, 900, 1))  # a bulk load
    insert(drawn(N, 12, 2))
    ends = np.array([at for bound in (1500, 2000, 3000, 4000, 4500) for at in (bound - 1, bound)])  # of 2 to 4 ranges
    if comm is not None:
        assert {*graph.partition.ownership.bounds[1:-1].tolist()} < {*ends.tolist()}
    insert(np.stack((ends, ends[::-1])))
    graph.delete_vertices(ends[::2])  # each is owned by one rank, and given by all
    look()
    graph.insert_vertices(700, recycle=False)  # in blocks
    look()
    insert(drawn(N + 700, 400, 3))
    graph.compact()
    look()
    edges = np.array(listed(graph.edges()))[::3].T.astype(np.int64)
    graph.delete_edges(*part(*edges))
    look()
    insert(np.stack((np.full(60, N + 650), np.arange(60) * 90)))  # a hub that outgrows its buckets
    other = copy.copy(graph)
    insert(drawn(N + 700, 40, 4))
    verified(other)
    assert other.num_edges == found[-2][0]
    return found


@pytest.mark.parametrize("ranks", few([3, 1, 2, 4]))
def test_edges_are_those_of_one_process(ranks: int) -> None:
    alone = changes(None, "cpu")
    for found in run(lambda comm: changes(comm, "cpu"), ranks):
        assert found == alone


@pytest.mark.gpu
def test_edges_on_cuda_are_those_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = changes(None, "cpu")
    for found in run(lambda comm: changes(comm, "cuda"), 2):
        assert found == alone


@pytest.mark.gpu
def test_many_rows_on_cuda_are_kept_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many vertices that arrays have several blocks of 2 MiB: those of others read as empty, and move."""
    n = 1 << 21
    monkeypatch.setattr(placement, "FEW", 0)
    edges = drawn(n, 30_000, 1)
    alone = made(None, n=n)
    alone.insert_edges(*edges)
    alone.insert_vertices(n // 2)
    more = drawn(n // 8, 60_000, 2)  # all of the first rank's
    alone.insert_edges(*more)

    def job(comm: Comm) -> tuple[Any, list[int]]:
        graph = made(comm, "cuda", n)
        held = [counted(graph)[0]]
        graph.insert_edges(*cut(comm, *edges))
        graph.insert_vertices(n // 2)
        before = graph.partition.ownership
        graph.insert_edges(*cut(comm, *more))
        assert len(graph.partition.ownership.moved(before).begin)
        verified(graph)
        held.append(counted(graph)[0])
        return listed(graph.edges()), held

    found = run(job, 2)
    if own_rows.maps_blocks(su.Device("cuda")):
        row = ROW_BYTES[BACKEND]
        assert all(row * n // 2 <= held[0] <= row * n // 2 + 2 * own_rows.BLOCK for _, held in found)
        assert sum(held[1] for _, held in found) <= row * n * 3 // 2 + 8 * own_rows.BLOCK
    assert all(edges == listed(alone.edges()) for edges, _ in found)


def test_rows_of_other_ranks_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ranks together take what one process takes, resident and counted."""
    if anonymous_bytes() is None:
        pytest.skip("the system does not say what memory a process holds")
    monkeypatch.setattr(own_rows, "BLOCK", 1 << 21)
    n = 1 << 23

    def job(comm: Comm) -> tuple[int, int]:
        made(comm).insert_edges(*cut(comm, *drawn(N, 2_000, 1)))  # loads machine code
        comm.barrier()
        before = anonymous_bytes() or 0
        comm.barrier()
        graph = made(comm, n=n)
        graph.insert_edges(*cut(comm, *drawn(n, 2_000, 1)))
        comm.barrier()
        held = (anonymous_bytes() or 0) - before
        comm.barrier()
        return held, sum(counted(graph))

    found, both = run(job, 4), 2 * ROW_BYTES[BACKEND]
    blocks = 4 if BACKEND == "gpma" else 0  # of its arrays that have an entry more than rows
    assert all(both * n // 4 <= said <= both * n // 4 + blocks * own_rows.BLOCK for _, said in found)
    most = 1.6 * (both + 2 * BESIDES.get(BACKEND, 0))
    assert all(held < most * n for held, _ in found), [held / n for held, _ in found]


def test_rows_of_other_ranks_do_not_count_for_the_limit_of_memory() -> None:
    n = 1 << 18
    limit = int(1.5 * (ROW_BYTES[BACKEND] + BESIDES.get(BACKEND, 0)) * n)  # 3/4 of all rows; the mask takes n

    def job(comm: Comm) -> None:
        graph = made(comm, n=n, memory_limit=limit)
        graph.insert_edges(*cut(comm, *drawn(n, 2_000, 1)))
        verified(graph)

    run(job, 3)
    with pytest.raises(CapacityError):
        made(None, n=n, memory_limit=limit)


def test_rows_come_within_the_limit_of_memory() -> None:
    """What does not fit leaves the store as it was, also where other rows would go."""
    n = 1 << 16
    few, most = np.array([[0, n // 8]]), np.array([[n // 16, n]])
    limit = int((ROW_BYTES[BACKEND] + BESIDES.get(BACKEND, 0)) * n / 2) + (1 << 16)
    kind = su.plugins.backends()[BACKEND]
    store = kind(n, device=CPU, memory_limit=limit, rows=few)  # type: ignore[call-arg]
    src = np.arange(100, dtype=np.uint32)
    store.insert(src, src + 1)
    with pytest.raises(CapacityError):
        store.keep_rows(most)
    assert store.kept_rows is few
    store.check()
    assert store.num_edges == 100
    store.keep_rows(np.array([[50, n // 4]]))
    store.check()
    assert store.num_edges == 50
    assert store.bytes_held() <= limit


@pytest.mark.parametrize("seed", few(range(12)))
def test_ranges_of_a_store_change_at_random(seed: int) -> None:
    """Rows come and go, also all, vertices too; edges of rows that stay are there, also those since the mark."""
    rng, n = np.random.default_rng(seed), 2000
    store: Any = su.plugins.backends()[BACKEND](n, device=CPU, rows=np.array([[500, 900]]))  # type: ignore[call-arg]
    kept, held, marked = np.arange(500, 900), set[tuple[int, int]](), set[tuple[int, int]]()
    if seed % 2:
        store.mark()
    for step in range(12):
        ends = np.sort(rng.integers(0, n + 1, 2 * int(rng.integers(0, 4)))).reshape(-1, 2)
        store.keep_rows(ends)
        kept = np.concatenate([np.arange(0), *(np.arange(*each) for each in ends.tolist())])
        held, marked = ({edge for edge in part if edge[0] in set(kept.tolist())} for part in (held, marked))
        if len(kept):
            src, dst = rng.choice(kept, 300).astype(np.uint32), rng.integers(0, n, 300).astype(np.uint32)
            store.insert(src, dst)
            new = set(zip(src.tolist(), dst.tolist(), strict=True)) - held
            held, marked = held | new, marked | new
        if step % 4 == 2:
            store.compact()
        if step % 4 == 3:
            n += int(rng.integers(-300, 900))
            gone = np.arange(n, store.num_vertices, dtype=np.uint32)
            into = np.array([edge for edge in held if edge[1] >= n], np.uint32).reshape(-1, 2).T
            store.delete(*np.ascontiguousarray(into))
            store.delete_vertices(gone)
            store.resize(n)
            held, marked = ({edge for edge in part if max(edge) < n} for part in (held, marked))
        store.check()
        other = store.copy_to(CPU)
        other.check()
        for each in (store, other):
            src, dst, _ = each.edges()
            assert sorted(zip(src.tolist(), dst.tolist(), strict=True)) == sorted(held)
            assert each.degrees().tolist() == np.bincount([u for u, _ in held], minlength=n).tolist()
            src, dst, _ = each.updated()
            assert sorted(zip(src.tolist(), dst.tolist(), strict=True)) == sorted(marked if seed % 2 else held)


def grow(comm: Comm, graph: su.Graph) -> None:
    """Insert edges at few vertices, those of the first rank, so that ranges are cut again."""
    for seed in range(3):
        src, dst = drawn(N, 3000, seed)
        graph.insert_edges(*cut(comm, src // 8, dst))


def test_rows_move_with_their_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 0)

    def job(comm: Comm) -> list[tuple[float, ...]]:
        graph = made(comm)
        first = counted(graph)
        before = graph.partition.ownership
        grow(comm, graph)
        moved = graph.partition.ownership.moved(before)
        assert len(moved.begin)
        verified(graph)
        if comm.rank == 0:  # which has few vertices now
            assert max(counted(graph)) < min(first)
        for store in locals_of(graph):
            gone = own_rows.without(before.ranges, graph.partition.ownership.ranges)
            for (low, high), (array, width) in product(gone.tolist(), tables(store)):
                assert not array[width * low : width * high].any()
        graph.delete_edges(*cut(comm, *np.array(listed(graph.edges())).T.astype(np.int64)))
        verified(graph)
        graph.insert_vertices(N)  # a graph without edges: ranges in the proportions of before
        verified(graph)
        grow(comm, graph)
        verified(graph)
        return listed(graph.edges())

    found = run(job, 3)
    alone = {(u // 8, v) for seed in range(3) for u, v in zip(*drawn(N, 3000, seed).tolist(), strict=True)}
    assert all(edges == sorted(alone) for edges in found)


def fails(comm: Comm, what: str) -> Callable[..., None]:
    """Return a function that fails on rank 1: for want of memory, by another error, or as the rank is lost."""

    def fail() -> None:
        if comm.rank == 1:
            raise {"memory": CapacityError("none"), "error": ValueError("wrong"), "lost": KeyboardInterrupt()}[what]

    return fail


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("what", ["memory", "error"])
def test_rows_that_cannot_move_stay(what: str, second: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails while the rows of the first store move, or of the second: then those of the first move back."""
    monkeypatch.setattr(placement, "FEW", 0)
    old = ranges.Move.make

    def job(comm: Comm) -> None:
        graph, calls = made(comm), [0]
        before = graph.partition.ownership

        def make(move: ranges.Move) -> None:
            calls[0] += 1
            with move.comm.alike():
                if move.store is locals_of(graph)[second]:
                    fails(comm, what)()
            old(move)

        made_by[comm.rank] = make
        try:
            grow(comm, graph)
            assert what == "memory"
        except (ValueError, CommunicationError):
            assert what == "error"
        assert calls[0] >= 1 + second
        assert graph.partition.ownership is before
        verified(graph)
        graph.insert_edges(*cut(comm, *drawn(N, 50, 9)))
        verified(graph)

    made_by: dict[int, Callable[[ranges.Move], None]] = {}
    monkeypatch.setattr(ranges.Move, "make", lambda move: made_by[move.comm.rank](move))
    run(job, 2)


def test_a_rank_that_is_lost_while_rows_move_leaves_those_of_others_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 0)
    old, seen = ranges.Move.make, []

    def make(move: ranges.Move) -> None:
        fails(move.comm, "lost")()
        old(move)

    monkeypatch.setattr(ranges.Move, "make", make)

    def job(comm: Comm) -> None:
        graph = made(comm)
        before = graph.partition.ownership
        try:
            grow(comm, graph)
        except CommunicationError as error:
            for store in locals_of(graph):
                store.check()
                assert (store.kept_rows == before.ranges).all()
            seen.append((comm.rank, str(error), graph.partition.ownership is before))
            raise

    with pytest.raises(KeyboardInterrupt):
        run(job, 3)
    assert sorted(rank for rank, *_ in seen) == [0, 2]
    assert all("rank 1" in text and same for _, text, same in seen)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("edges", [0, 300])
def test_vertices_for_whose_rows_memory_lacks_do_not_come(
    edges: int, second: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of either store, on one rank: then all ranks and stores are as they were."""

    def job(comm: Comm) -> None:
        graph = made(comm)
        graph.insert_edges(*cut(comm, *drawn(N, edges, 1)))
        before, store = graph.partition.ownership.ranges, locals_of(graph)[second]
        keep, failing = store.keep_rows, [comm.rank == 1]

        def refused(rows: Any) -> None:
            if failing and failing.pop():
                raise CapacityError("none")
            keep(rows)

        store.keep_rows = refused
        with pytest.raises(CapacityError, match="none"):
            graph.insert_vertices(900)
        assert graph.num_vertices == N
        assert (graph.partition.ownership.ranges == before).all()
        verified(graph)
        graph.insert_vertices(900)
        graph.insert_edges(*cut(comm, *drawn(N + 900, 300, 2)))
        verified(graph)

    run(job, 3)


def test_check_finds_rows_of_others() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        store = locals_of(graph)[0]
        other = graph.partition.ownership.stranger
        array, width = tables(store)[0]
        before, array[width * other] = int(array[width * other]), 1
        with pytest.raises(CheckFailed):
            store.check()
        array[width * other] = before
        store.check()
        store.keep_rows(np.array([[0, 1]]))
        with pytest.raises(CheckFailed, match="keeps rows"):
            graph.partition.stores[0].check()

    run(job, 2)
