"""Graphs of several ranks: batches in parts, outcomes, questions, vertices, ranges that are cut again, and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.errors import CapacityError, DTypeError, ParameterError, RequirementError, VertexRangeError
from suricate.parallel import Comm, run
from suricate.parallel.partition import FEW, UNEVEN

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


def test_ranges_are_cut_again_when_a_rank_holds_too_much() -> None:
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

    held = [counts[0] for counts in run(job, 3)]
    assert sum(held) > FEW
    assert max(held) * 3 <= UNEVEN * sum(held)


def whole(edges: set[tuple[int, int]], n: int) -> su.Graph:
    graph = su.Graph(n, device="cpu", directed=False)
    graph.insert_edges(*np.array(sorted(edges)).T)
    return graph


# -- what is wrong on one rank is an error on all, and changes nothing -------------------------------------------------


@pytest.mark.parametrize(
    ("src", "error"), [([3, N], VertexRangeError), ([-1, 2], VertexRangeError), ([0.5, 1.0], DTypeError)]
)
def test_a_part_that_is_wrong_on_one_rank(src: list[Any], error: type[Exception]) -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        graph.insert_edges([1], [2])
        with pytest.raises(error):
            graph.insert_edges(*((src, [0, 1]) if comm.rank == 1 else ([4, 5], [6, 7])))
        assert (graph.num_edges, graph.version) == (1, 1)
        assert graph.insert_edges([7], [8]).num_inserted == 1

    run(job, 3)


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


def test_graphs_that_differ() -> None:
    def job(comm: Comm) -> None:
        with pytest.raises(ParameterError, match="rank 0 makes a graph of"):
            made(comm, N + comm.rank)

    run(job, 2)


def test_what_walks_the_storage_is_refused() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm, directed=False)
        with pytest.raises(RequirementError, match="divided among processes"):
            graph.view()
        with pytest.raises(RequirementError, match="kernels=False"):
            graph.track("kcore", kernels=True)
        with pytest.raises(RequirementError, match="cannot be copied"):
            graph.to("cpu")

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


def test_a_snapshot_holds_all_edges(tmp_path: Path) -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        graph.insert_edges([comm.rank * 10], [5])
        graph.save(tmp_path / "graph.npz")

    run(job, 3)
    assert listed(su.Graph.load(tmp_path / "graph.npz", device="cpu").edges()) == [(0, 5), (10, 5), (20, 5)]
