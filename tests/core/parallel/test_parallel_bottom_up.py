"""Searches of several ranks whose large levels pull: the answers of one graph, the same kind of step on all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.parallel import Comm, bottom_up, run

pytestmark = pytest.mark.compiled
SIDE = 18
KINDS = [
    pytest.param({"directed": False}, id="undirected"),
    pytest.param({"directed": True, "in_edges": True}, id="in_edges"),
    pytest.param({"directed": True, "in_edges": False}, id="out_edges"),
]


def skewed() -> tuple[int, np.ndarray, int]:
    """Vertices, edges and a source: a graph with hubs, and the hub; a path and an isolated vertex beside them."""
    drawn, n = su.generate.rmat(9), 1 << 9
    src, dst = np.asarray(drawn.src), np.asarray(drawn.dst)
    path = np.concatenate(([int(src[7])], np.arange(n, n + 20)))
    edges = np.concatenate((np.stack((src, dst)), np.stack((path[:-1], path[1:]))), axis=1)
    return n + 21, edges, int(np.bincount(src).argmax())


def grid() -> tuple[int, np.ndarray, int]:
    """A grid, both ways, and a corner, which is in the middle of the ids."""
    at = np.roll(np.arange(SIDE * SIDE), SIDE * SIDE // 2).reshape(SIDE, SIDE)
    right, down = (np.stack((a.ravel(), b.ravel())) for a, b in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])))
    return SIDE * SIDE, np.concatenate((right, down, right[::-1], down[::-1]), axis=1), int(at[0, 0])


def one_further(u, v, w, level):
    return level[u] + 1


def not_a_seventh(v, step, level):
    return v % 7 != 3


def downwards(u, v, w, level):
    return level[u] - 1


def searches(graph: su.Graph, source: int) -> list[Any]:
    """A search by the forest; by propagations with layers, with a second phase that holds up some, and backwards."""
    xp, n, host = graph.device.xp, graph.num_vertices, graph.device.to_numpy
    found: list[Any] = [host(part) for part in graph.compute("bfs", source=source)]
    for over in ("out", "in") if graph.has_in_edges else ("out",):
        level = xp.full(n, 1 << 30, np.int32)
        level[source] = 0
        done = su.propagate(
            graph,
            [source],
            one_further,
            out=level,
            args=(level,),
            reduce="min",
            over=over,
            layers=over == "out",
            once="equal",
        )
        found += [host(level), done.steps]
        if over == "out":
            found += [sorted(host(layer).tolist()) for layer in done.layers]
    for fn, first, reduce, then in ((one_further, 1 << 30, "min", not_a_seventh), (downwards, -(1 << 30), "max", None)):
        level = xp.full(n, first, np.int64)
        level[source] = 0
        su.propagate(graph, [source], fn, out=level, args=(level,), reduce=reduce, then=then, once="equal")
        found.append(host(level))
    return found


def made(comm: Comm | None, n: int, edges: np.ndarray, options: dict[str, Any]) -> su.Graph:
    graph = su.Graph(n, comm=comm, threads=1, **options)
    own = edges if comm is None or comm.rank == comm.size - 1 else edges[:, :0]
    graph.insert_edges(*own, *([np.ones(own.shape[1], np.float32)] if graph.weight_dtype else []))
    return graph


def compare(given: tuple[int, np.ndarray, int], ranks: int, options: dict[str, Any], device: str) -> list[list[int]]:
    """Searches of several ranks find what one graph does; return by rank of how many vertices each pull was."""
    n, edges, source = given
    wanted = searches(made(None, n, edges, {**options, "device": "cpu"}), source)
    pulled: dict[int, list[int]] = {rank: [] for rank in range(ranks)}
    found = bottom_up.BottomUp._found

    def spy(self: bottom_up.BottomUp, ids: Any, looking: Any) -> Any:
        assert len(ids) * bottom_up.PULL_FROM > n
        pulled[self._part.comm.rank].append(len(ids))
        return found(self, ids, looking)

    def job(comm: Comm) -> None:
        graph = made(comm, n, edges, {**options, "device": device})
        assert graph.partition is not None
        assert len(set(graph.partition.ownership.bounds.tolist())) == ranks + 1
        for one, other in zip(searches(graph, source), wanted, strict=True):
            np.testing.assert_array_equal(one, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bottom_up.BottomUp, "_found", spy)
        run(job, ranks)
    return list(pulled.values())


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize(("given", "ranks"), [(skewed, 2), (skewed, 3), (grid, 3)])
def test_searches_are_those_of_one_graph(given: Any, ranks: int, options: dict[str, Any]) -> None:
    pulls = compare(given(), ranks, options, "cpu")
    assert all(each == pulls[0] for each in pulls)
    assert bool(pulls[0]) == options.get("in_edges", True)


@pytest.mark.slow
def test_a_search_on_a_weighted_graph_pulls() -> None:
    """Its offers do not depend on weights, which those of ``propagate`` may."""
    pulls = compare(skewed(), 2, {"directed": False, "weight_dtype": "float32"}, "cpu")
    assert 0 < len(pulls[0]) < len(compare(skewed(), 2, {"directed": False}, "cpu")[0])


@pytest.mark.gpu
@pytest.mark.parametrize("options", KINDS[:2])
def test_searches_on_cuda_are_those_of_one_graph(options: dict[str, Any]) -> None:
    pulls = compare(skewed(), 2, options, "cuda")
    assert pulls[0] == pulls[1] != []


def test_most_arcs_are_not_looked_at() -> None:
    """From a hub, where the frontier is large, the rows of what is left are a part of the arcs."""
    n, edges, source = skewed()
    looked: tuple[list[int], list[int]] = ([], [])
    arcs = bottom_up.BottomUp._arcs

    def spy(self: bottom_up.BottomUp, ids: Any, over: str) -> int:
        looked[self._part.comm.rank].append(arcs(self, ids, over))
        return looked[self._part.comm.rank][-1]

    def job(comm: Comm) -> int:
        graph = made(comm, n, edges, {"directed": False, "device": "cpu"})
        graph.compute("bfs", source=source)
        assert graph.partition is not None
        return graph.partition.stores[0].local.num_edges

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bottom_up.BottomUp, "_arcs", spy)
        total = sum(run(job, 2))
    frontier, rows = (sum(each[place] for each in looked) for place in (0, 1))  # of the first pull
    assert rows < 0.5 * total < frontier
