"""Searches kept current on graphs of several ranks: repaired around changes, against one process and the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_parallel_columns import cut
from turns import few

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.algorithms.sssp import SSSP
from suricate.operators.results import Propagated
from suricate.parallel import Comm, forest, run

pytestmark = pytest.mark.plain
SIDE = 7
N = SIDE * SIDE + 12  #: a grid, whose corner is a source, and vertices beside it
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("bfs", {"source": 0}), ("sssp", {"source": 0}), ("sssp", {"sources": [N - 1, SIDE * SIDE - 1]}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _always_update(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (BFS, SSSP):
        monkeypatch.setattr(kind, "recompute_share", 1e9)
        monkeypatch.setattr(kind, "learns", False)


def edges_of(kind: str) -> np.ndarray:
    """A grid with some edges beside it, or a hub with an edge to half of all vertices among random edges."""
    rng = np.random.default_rng(7)
    if kind == "hub":
        star = np.stack((np.zeros(N // 2, np.int64), rng.permutation(N)[: N // 2]))
        return np.concatenate((star, star[::-1, ::3], rng.integers(0, N, (2, 90))), axis=1)
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right, down = (np.stack((a.ravel(), b.ravel())) for a, b in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])))
    return np.concatenate((right, down, right[::-1], down[::-1], rng.integers(0, N, (2, 12))), axis=1)


def changes(kind: str, dtype: str | None, least: int) -> Iterator[tuple[Any, ...]]:
    """What to delete and what to insert, with weights from ``least`` on; every third time some weights change."""
    rng, known = np.random.default_rng(11), edges_of(kind)
    steps = [(known[:, :0], known)]
    for number in range(9):
        some = known[:, rng.integers(0, known.shape[1], 9)]
        new = rng.integers(0, N, (2, 6))
        steps.append(
            [(some, new[:, :0]), (new[:, :0], new), (some[:, :4], np.concatenate((some[:, 2:], new), axis=1))][
                number % 3
            ]
        )
    for gone, new in steps:
        weight = () if dtype is None else (rng.integers(least, 9, new.shape[1]).astype(dtype),)
        yield gone, (*new, *weight)


def of_one(kind: str, dtype: str | None, least: int, **options: Any) -> list[list[tuple[np.ndarray, ...]]]:
    """Return the results on a graph of one process after each change, which the oracle confirms."""
    single = su.Graph(N, device="cpu", weight_dtype=dtype, threads=1, **options)
    trackers, found = [single.track(name, **params) for name, params in SEARCHES], []
    for number, (gone, new) in enumerate(changes(kind, dtype, least)):
        single.apply(su.Batch(delete=su.EdgeList(*gone), insert=su.EdgeList(*new)))
        if number == 5:
            single.delete_vertices([3, 5])
            single.insert_vertices(3, recycle=True)
        src, dst, weight = single.edges() if options["directed"] else single.store().edges()
        for tracker, (name, params) in zip(trackers, SEARCHES, strict=True):
            algorithm = su.plugins.algorithm(name)
            oracle = algorithm.reference(src, dst, weight, single.num_vertices, True, **params)
            assert algorithm.mismatch(tracker.result, oracle, **params) is None
        found.append([tuple(part.copy() for part in tracker.result) for tracker in trackers])
    return found


def follow(
    comm: Comm, right: list[list[tuple[np.ndarray, ...]]], kind: str, dtype: str | None, least: int, *,
    device: str = "cpu", **options: Any,
) -> None:  # fmt: skip
    """Compare the results on a graph of several ranks with those ``of_one``."""
    graph = su.Graph(N, device=device, comm=comm, weight_dtype=dtype, threads=1, **options)
    trackers = [graph.track(name, **params) for name, params in SEARCHES]
    for number, (gone, new) in enumerate(changes(kind, dtype, least)):
        graph.apply(su.Batch(delete=su.EdgeList(*cut(comm, *gone)), insert=su.EdgeList(*cut(comm, *new))))
        if number == 5:
            graph.delete_vertices([3, 5])
            graph.insert_vertices(3, recycle=True)
        for tracker, results in zip(trackers, right[number], strict=True):
            for found, expected in zip(tracker.result, results, strict=True):
                np.testing.assert_array_equal(graph.device.to_numpy(found), expected)
    assert all(tracker.updates.computed == 1 for tracker in trackers if least > 0)


@pytest.mark.parametrize(("kind", "ranks"), few([("grid", 3), ("hub", 2)]))
@pytest.mark.parametrize(("directed", "in_edges"), few([(True, True), (True, False), (False, False)]))
@pytest.mark.parametrize(("dtype", "least"), [(None, 1), ("int32", 1), ("float64", 0), ("int32", 0)])
def test_searches_are_repaired(
    dtype: str | None, least: int, directed: bool, in_edges: bool, kind: str, ranks: int
) -> None:
    options = {"directed": directed, "in_edges": in_edges}
    right = of_one(kind, dtype, least, **options)
    run(lambda comm: follow(comm, right, kind, dtype, least, **options), ranks)


def test_the_work_follows_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid of 900 vertices an edge far from the source costs a few pushes, and steps are as few."""
    done: list[Propagated] = []
    real = forest.Repairs.run

    def counted(repairs: forest.Repairs, *args: Any) -> Propagated:
        found = real(repairs, *args)
        if repairs.part.comm.rank == 0:
            done.append(found)
        return found

    monkeypatch.setattr(forest.Repairs, "run", counted)

    def job(comm: Comm) -> None:
        at = np.arange(900).reshape(30, 30)
        graph = su.Graph(901, device="cpu", comm=comm, directed=False, threads=1)
        for a, b in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])):
            graph.insert_edges(*cut(comm, a.ravel(), b.ravel()))
        search = graph.track("bfs", source=0)
        graph.insert_edges(*([899], [900]) if comm.rank == 0 else (None, None))
        graph.delete_edges(*([899], [898]) if comm.rank == 1 else (None, None))
        assert (search.result.level[900], search.result.parent[899]) == (59, 869)

    run(job, 2)
    scratch, *repairs = done
    assert int(scratch.steps) > 50
    assert [int(each.touched) for each in repairs] == [1, 0]
    assert [int(each.steps) for each in repairs] == [1, 0]


def test_searches_over_columns_of_edges_are_repaired() -> None:
    """Amounts rise, fall and go with edges."""

    def job(comm: Comm) -> None:
        rng, known = np.random.default_rng(2), edges_of("grid")
        options: dict[str, Any] = {"device": "cpu", "directed": False, "edge_columns": {"amount": "float64"}}
        divided, single = (su.Graph(N, comm=one, threads=1, **options) for one in (comm, None))
        trackers = [graph.track("sssp", source=0, weight="amount") for graph in (divided, single)]
        for number in range(8):
            src, dst = known[:, rng.integers(0, known.shape[1], 12)] if number else known
            amount = rng.integers(1, 40, len(src)) / 4
            if number % 2:
                divided.delete_edges(*cut(comm, src, dst))
                single.delete_edges(src, dst)
            else:
                *ends, part = cut(comm, src, dst, amount)
                divided.insert_edges(*ends, {"amount": part})
                single.insert_edges(src, dst, {"amount": amount})
            for found, expected in zip(*(tracker.result for tracker in trackers), strict=True):
                np.testing.assert_array_equal(found, expected)

    run(job, 3)
