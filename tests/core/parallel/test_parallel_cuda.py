"""Graphs of several ranks on CUDA: batches on the host and on the device, questions, ranges, errors, recorded loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import test_parallel_operators as ops
from test_parallel_algorithms import N as M
from test_parallel_algorithms import follow
from test_parallel_columns import follow_changes
from test_parallel_forest import follow as follow_searches
from test_parallel_forest import of_one
from test_parallel_graph import N, cut, listed

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.algorithms.sssp import SSSP
from suricate.errors import DTypeError, SelfLoopError, VertexRangeError, WeightError
from suricate.operators import schemes
from suricate.operators.cuda.pull import pull
from suricate.parallel import Comm, pushes, run
from suricate.placement import batches, placement
from suricate.placement.changes import SMALL

pytestmark = pytest.mark.gpu


def made(comm: Comm, n: int = N, **options: Any) -> su.Graph:
    return su.Graph(n, device="cuda", comm=comm, **options)


def sent(comm: Comm, graph: su.Graph, *columns: np.ndarray) -> tuple[Any, ...]:
    """The part of a batch that a rank passes: on the host, or on the device."""
    parts = cut(comm, *columns)
    return parts if comm.rank == 0 else tuple(graph.device.xp.asarray(part) for part in parts)


@pytest.mark.parametrize("small", [0, SMALL])
@pytest.mark.parametrize(("directed", "weight_dtype"), [(True, "float32"), (False, None)])
def test_changes_and_questions_are_those_of_one_graph(
    directed: bool, weight_dtype: str | None, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of batches that go by the host, as small ones do, and of those that do not."""
    monkeypatch.setattr(batches, "SMALL", small)
    options: dict[str, Any] = {"weight_dtype": weight_dtype, "directed": directed, "in_edges": directed}

    def job(comm: Comm) -> None:
        divided, single = made(comm, **options), su.Graph(N, device="cpu", **options)
        rng, host = np.random.default_rng(8), divided.device.to_numpy
        for number in range(4):
            src, dst = rng.integers(0, N, (2, 50))
            gone = tuple(rng.integers(0, N, (2, 60)))
            weight = (rng.choice([1.5, 1e-42], 50).astype(np.float32),) if weight_dtype else ()  # one is subnormal
            batch = su.Batch((src, dst, *weight), gone)
            mine = su.Batch(sent(comm, divided, src, dst, *weight), sent(comm, divided, *gone))
            if number % 2:
                delta, other = divided.apply(mine), single.apply(batch)
            else:
                assert mine.insert is not None
                delta, other = divided.insert_edges(*mine.insert), single.insert_edges(src, dst, *weight)
            for kind in ("inserted", "deleted", "replaced"):
                assert listed(getattr(delta, kind)) == listed(getattr(other, kind))
            assert divided.num_edges == single.num_edges
            assert listed(divided.edges()) == listed(single.edges())
            np.testing.assert_array_equal(host(divided.has_edges(src, dst)), single.has_edges(src, dst))
            if weight_dtype:
                np.testing.assert_array_equal(host(divided.edge_weights(src, dst, 9)), single.edge_weights(src, dst, 9))
            for direction in ("out", "in"):
                np.testing.assert_array_equal(host(divided.degrees(direction)), single.degrees(direction))
                rows, others = (graph.adjacency([9, 3, 39, 9], direction) for graph in (divided, single))
                assert rows.offsets.tolist() == others.offsets.tolist()
                for k in range(4):
                    at = slice(*others.offsets[k : k + 2].tolist())
                    assert sorted(rows.dst[at].tolist()) == sorted(others.dst[at].tolist())
            divided.check()

    run(job, 3)


@pytest.mark.parametrize("directed", [True, False])
def test_columns_of_edges_follow_changes(directed: bool) -> None:
    run(lambda comm: follow_changes(comm, batches=2, device="cuda", directed=directed, in_edges=directed), 2)


@pytest.mark.parametrize(
    ("dtype", "directed", "whole"),
    [pytest.param("float64", True, 0, marks=pytest.mark.slow), (None, False, 0), (None, False, pushes.WHOLE)],
)
def test_searches_are_repaired(dtype: str | None, directed: bool, whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are compared where they may have been altered, or all of them."""
    monkeypatch.setattr(pushes, "WHOLE", whole)
    for kind in (BFS, SSSP):
        monkeypatch.setattr(kind, "recompute_share", 1e9)
    options = {"directed": directed, "in_edges": directed}
    right = of_one("hub", dtype, 1, **options)
    run(lambda comm: follow_searches(comm, right, "hub", dtype, 1, device="cuda", **options), 2)


def test_vertices_come_and_go_and_ranges_are_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "FEW", 8)

    def job(comm: Comm) -> list[int]:
        divided, single = made(comm, 5, directed=False), su.Graph(5, device="cpu", directed=False)
        rng = np.random.default_rng(4)
        for _ in range(3):
            ids = [graph.insert_vertices(30).tolist() for graph in (divided, single)]
            assert ids[0] == ids[1]
            src, dst = rng.integers(0, divided.num_vertices, (2, 90))
            divided.insert_edges(*sent(comm, divided, src, dst))
            single.insert_edges(src, dst)
            gone = [graph.delete_vertices([3, 17, 17, 20]) for graph in (divided, single)]
            assert listed(gone[0].deleted) == listed(gone[1].deleted)
            divided.check()
        assert listed(divided.edges()) == listed(single.edges())
        assert divided.partition is not None
        return [store.local.num_edges for store in divided.partition.stores]

    held = [each[0] for each in run(job, 3)]
    assert max(held) <= 2 * sum(held) / 3


@pytest.mark.parametrize("small", [0, SMALL])
@pytest.mark.parametrize("on_device", [False, True])
def test_what_is_wrong_on_one_rank_is_raised_on_all(
    on_device: bool, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "SMALL", small)
    wrong: list[tuple[tuple[list[Any], ...], type[Exception]]] = [
        (([3, N], [0, 1]), VertexRangeError), (([0.5], [1]), DTypeError), (([2, 1], [3, 1]), SelfLoopError),
        (([1], [2], [3.0]), WeightError),
    ]  # fmt: skip

    def job(comm: Comm) -> None:
        graph = made(comm, self_loops="error")
        graph.insert_edges([1], [2])
        for given, error in wrong:
            mine = [np.asarray(part) for part in (given if comm.rank == 1 else ([4, 5], [6, 7]))]
            with pytest.raises(error, match=None if comm.rank == 1 else "rank 1"):
                graph.insert_edges(*(map(graph.device.xp.asarray, mine) if on_device else mine))
        assert (graph.num_edges, graph.version) == (1, 1)
        assert graph.insert_edges([7], [8]).num_inserted == 1

    run(job, 2)


@pytest.mark.parametrize("small", [0, SMALL])
def test_loops_that_drop_come_from_the_device(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SMALL", small)

    def job(comm: Comm) -> None:
        graph = made(comm, self_loops="drop")
        xp = graph.device.xp
        assert graph.insert_edges(xp.asarray([1, 2 + comm.rank]), xp.asarray([1, 9])).num_inserted == 2
        assert graph.num_edges == 2

    run(job, 2)


def halve(v, x, y, left):
    y[v] = x[v] // 2
    left.add(1 if y[v] > 0 else 0)


def test_a_body_that_waits_for_others_is_called_in_every_round() -> None:
    def job(comm: Comm) -> tuple[int, list[int], int]:
        graph = made(comm)
        xp, calls, left = graph.device.xp, [], graph.scalar("sum", "int64")
        x, y = xp.arange(N, dtype=np.int64), xp.zeros(N, np.int64)

        def body() -> None:
            calls.append(1)
            su.vertex_map(graph, None, halve, args=(x, y, left))

        rounds = su.iterate(body, until=left, max_steps=20, swap=[(x, y)])
        return rounds, x.tolist(), len(calls)

    assert run(job, 2) == [(6, [0] * N, 6)] * 2


@pytest.mark.parametrize("method", ["nd", pytest.param("dfp", marks=pytest.mark.slow)])
def test_passes_over_the_own_rows_scan(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank walks its storage once, and completes its own vertices."""
    launched = []
    monkeypatch.setattr(schemes, "SCAN_DEGREE", 0)
    launch = pull._scan_then
    monkeypatch.setattr(pull, "_scan_then", lambda *given: (launched.append(given[1]), launch(*given)))
    kind = su.plugins.algorithm("pagerank")
    run(lambda comm: follow(comm, kind, {"tol": 1e-6, "method": method}, directed=True, device="cuda"), 3)
    ranges = {rows for rows in launched if rows != (0, M)}
    assert len(ranges) >= 3
    assert {begin for begin, _ in ranges} >= {0}
    assert {end for _, end in ranges} >= {M}


class Arrays:
    """CuPy in the place of NumPy, whose dtypes and generators stay."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name in ("random", "ndarray", "asarray") or isinstance(found, type):
            return found
        import cupy

        return getattr(cupy, name)


ON_HOST = ops.plain
#: on CUDA a push may read what others of the same step have written, so how often it adds up is not determined
OPERATIONS = [operation for operation in ops.OPERATIONS if operation is not ops.push_with_totals]


def plain(value: Any) -> Any:
    """What can be compared with what operations on the CPU return."""
    return ON_HOST(value.get() if hasattr(value, "get") else value)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operator_does_the_same_as_on_one_graph(operation: ops.Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    single, edges = list(map(ops.plain, operation(ops.made(None, directed=False)))), ops.edges()

    def job(comm: Comm) -> None:
        graph = su.Graph(ops.N, device="cuda", directed=False, comm=comm)
        graph.insert_edges(*(edges if comm.rank == 0 else (None, None)))
        for found, wanted in zip(map(plain, operation(graph)), single, strict=True):
            assert found == wanted

    monkeypatch.setattr(ops, "np", Arrays())
    monkeypatch.setattr(ops, "plain", plain)
    run(job, 3)
