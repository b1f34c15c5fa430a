"""Searches from scratch on GPUs of several ranks, level by level: the answers of one graph, few collectives a level."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from test_parallel_bottom_up import grid, made, skewed

import suricate as su
from suricate.base.errors import CommunicationError, VertexRangeError
from suricate.base.types import EMPTY
from suricate.comm.threads import ThreadComm
from suricate.parallel import Comm, run, search

pytestmark = pytest.mark.gpu
FEW = 8  # offers of a rank in a level by lists
UNDIRECTED, DIRECTED = {"directed": False}, {"directed": True, "in_edges": True}


def answers(graph: su.Graph, source: int) -> list[np.ndarray]:
    """Levels and parents from one source, and from several of which one is isolated."""
    host, n = graph.device.to_numpy, graph.num_vertices
    found = [graph.compute("bfs", source=source), graph.compute("bfs", sources=[source, n - 1, 3])]
    return [host(part) for each in found for part in each]


class Noted:
    """What ranks do in the levels of their searches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
        from suricate.repair.cuda.levels import Levels

        self.steps: list[list[str]] = [[] for _ in range(ranks)]
        for name in ("start", "pull", "push", "offer", "spread", "list_frontier", "list_arcs"):
            self._spy(monkeypatch, Levels, name)

    def _spy(self, monkeypatch: pytest.MonkeyPatch, kind: Any, name: str) -> None:
        inner, steps = getattr(kind, name), self.steps

        def noted(self: Any, *args: Any) -> None:
            steps[self.rank].append(name)
            inner(self, *args)

        monkeypatch.setattr(kind, name, noted)


@pytest.mark.parametrize("options", [UNDIRECTED, DIRECTED, DIRECTED | {"weight_dtype": "float32"}])
@pytest.mark.parametrize(("given", "ranks"), [(skewed, 2), (grid, 3)])
def test_searches_are_those_of_one_graph(
    given: Any, ranks: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels by lists, that pull and that push follow each other in any order."""
    n, edges, source = given()
    wanted, noted = answers(made(None, n, edges, options | {"device": "cpu"}), source), Noted(monkeypatch, ranks)
    monkeypatch.setattr(search, "ALPHA", 4)
    monkeypatch.setattr(search, "PLACES", FEW * ranks)
    monkeypatch.setattr(search, "FEW_ARCS", -1)

    def job(comm: Comm) -> None:
        for one, other in zip(answers(made(comm, n, edges, options | {"device": "cuda"}), source), wanted, strict=True):
            np.testing.assert_array_equal(one, other)

    run(job, ranks)
    assert all(steps == noted.steps[0] for steps in noted.steps)
    assert set(noted.steps[0]) == {"start", "push", "pull", "offer", "spread", "list_frontier"}


@pytest.mark.parametrize("options", [UNDIRECTED, DIRECTED, DIRECTED | {"weight_dtype": "float32"}])
@pytest.mark.parametrize(("given", "ranks", "few"), [(skewed, 2, 1 << 17), (skewed, 3, 400), (grid, 2, 60)])
def test_few_arcs_are_computed_on_by_each_rank(
    given: Any, ranks: int, few: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers, and how many levels and vertices there were."""
    n, edges, source = given()
    wanted, noted = answers(made(None, n, edges, options | {"device": "cpu"}), source), Noted(monkeypatch, ranks)
    monkeypatch.setattr(search, "PLACES", FEW * ranks)
    monkeypatch.setattr(search, "FEW_ARCS", few)
    finished, ends = search.Search._finished, list[tuple[int, int, bool]]()

    def finish(self: search.Search, found: Any) -> Any:
        done = finished(self, found)
        ends.append((done.steps, done.touched, done.converged))
        return done

    monkeypatch.setattr(search.Search, "_finished", finish)

    def job(comm: Comm) -> None:
        for one, other in zip(answers(made(comm, n, edges, options | {"device": "cuda"}), source), wanted, strict=True):
            np.testing.assert_array_equal(one, other)

    run(job, ranks)
    assert all(steps == noted.steps[0] for steps in noted.steps)
    assert noted.steps[0].count("list_arcs") == 2
    levels = wanted[0], wanted[2]
    assert set(ends) == {(each.max() + 1, (each >= 0).sum(), True) for each in levels}


def test_launches_are_prepared_once_for_a_graph_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Again after edges came, vertices did, and for other functions; the answers are those of one graph."""
    from suricate.repair.cuda.levels import Kept, Levels

    n, edges, source = skewed()
    prepared, inner = [0, 0], Levels.__init__

    def noted(self: Levels, *given: Any) -> None:
        inner(self, *given)
        prepared[self.rank] += 1

    monkeypatch.setattr(Levels, "__init__", noted)

    def changes(graph: su.Graph) -> list[list[np.ndarray]]:
        mine = slice(None) if graph.partition is None else slice(graph.partition.comm.rank, None, 2)
        found, prepared_by = [], list[int]()
        for number in range(4):
            for _ in range(3):
                levels, parents = map(graph.device.to_numpy, graph.compute("bfs", source=source))
                found.append([levels, parents])
            prepared_by += [] if graph.partition is None else [prepared[graph.partition.comm.rank]]
            if number == 0:
                ends = np.arange(n - 12, n, 2)[mine]
                graph.insert_edges(ends, np.zeros_like(ends))
            elif number == 1:
                graph.insert_vertices(3)
            else:
                graph.delete_edges(*edges[:, :200][:, mine])
        times = [after - before for before, after in pairwise([0, *prepared_by])]
        if times:  # a second time where an array of the workspace has grown meanwhile; new vertices are in no range
            assert times in ([1, 1, 0, 0], [2, 1, 0, 0])
        return found

    wanted = changes(made(None, n, edges, DIRECTED | {"device": "cpu"}))

    def job(comm: Comm) -> None:
        graph = made(comm, n, edges, DIRECTED | {"device": "cuda"})
        for one, other in zip(changes(graph), wanted, strict=True):
            for part, expected in zip(one, other, strict=True):
                np.testing.assert_array_equal(part, expected)
        assert graph.partition is not None
        kept = graph.partition.local.workspace.state(Kept)._levels
        assert kept is not None
        assert not {"_words", "_graph", "_values"} & vars(kept).keys()  # nothing of a search is kept alive

    run(job, 2)


def test_small_levels_go_by_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also from several roots, from a hub, and to the same vertices from several ranks."""
    n, edges, source = skewed()
    wanted, noted = answers(made(None, n, edges, UNDIRECTED | {"device": "cpu"}), source), Noted(monkeypatch, 3)

    def job(comm: Comm) -> None:
        graph = made(comm, n, edges, UNDIRECTED | {"device": "cuda"})
        for _ in range(2):  # numbers of levels go on
            for one, other in zip(answers(graph, source), wanted, strict=True):
                np.testing.assert_array_equal(one, other)

    run(job, 3)
    assert set(noted.steps[0]) == {"start", "offer"}


@pytest.mark.parametrize("places", [1, search.PLACES])
def test_a_rank_may_own_nothing(places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PLACES", places)

    def job(comm: Comm) -> None:
        for n, src, dst, level in ((2, [0], [1], [1, 0]), (1, [], [], None), (40, [1] * 5, range(5, 10), None)):
            graph = su.Graph(n, directed=False, device="cuda", comm=comm)
            graph.insert_edges(src, dst)
            assert min(np.diff(graph.partition.ownership.bounds)) == 0 or n == 40
            found = graph.device.to_numpy(graph.compute("bfs", source=n // 2).level)
            wanted = [-1] * n if level is None else level
            wanted[n // 2] = 0
            assert found.tolist() == wanted

    run(job, 3)


def one_further(u, v, w, words):
    return min(words.level[u] + 1, 3), u


def first_is_root(v, words):
    if v == 0:
        return 0, v
    return 255, EMPTY


@pytest.mark.parametrize("end", [4, 5])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_roots_are_checked_and_offers_that_nobody_gets_are_not_noted(device: str, end: int) -> None:
    """Of a path, whose vertices at level 3 can offer nothing better: that is noted if there is another vertex."""

    def job(comm: Comm | None) -> None:
        graph = su.Graph(6, in_edges=True, device=device, comm=comm)
        graph.insert_edges(*((range(end - 1), range(1, end)) if comm is None or comm.rank else ([], [])))
        words, xp = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"}), graph.device.xp
        forest = graph.forest(words, one_further, first_is_root, uniform=True)
        with pytest.raises(VertexRangeError, match="is one of 8 vertices, the graph has 6"):
            forest.compute(graph, su.Frontier._of(graph.device, xp.asarray([0, 7], np.uint32)))
        roots = su.Frontier._of(graph.device, xp.zeros(9, np.uint32), distinct=False)  # more than there are vertices
        done = forest.compute(graph, roots)
        assert words.level[:4].tolist() == [0, 1, 2, 3]
        assert bool(forest.violated[0]) == (end == 5)
        assert end == 5 or (done.steps, done.touched) == (4, 4)

    job(None)
    run(job, 2)


def test_few_arcs_may_lead_to_a_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more neighbours than a warp looks at."""
    hub, n, noted = 1101, 2300, Noted(monkeypatch, 2)
    src, dst = [0] * (hub - 1) + [*range(1, hub + 1)], [*range(1, hub)] + [hub] * (hub - 1) + [hub + 1]
    monkeypatch.setattr(search, "PLACES", FEW)

    def job(comm: Comm) -> None:
        graph = su.Graph(n, in_edges=True, device="cuda", comm=comm)
        graph.insert_edges(*((src, dst) if comm.rank else ([], [])))
        level, parent = map(graph.device.to_numpy, graph.compute("bfs", source=0))
        assert level.tolist() == [0] + [1] * (hub - 1) + [2, 3] + [-1] * (n - hub - 2)
        assert parent[: hub + 2].tolist() == [0] * hub + [1, hub]

    run(job, 2)
    assert "list_arcs" in noted.steps[0]


@pytest.mark.parametrize("end", [12, 13])
def test_offers_are_noted_where_few_arcs_are_left(end: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a star with a path at one end, whose vertex 11 is at level 3."""
    src, dst = [0] * 9 + [*range(9, end - 1)], [*range(1, 10), *range(10, end)]
    noted = Noted(monkeypatch, 2)
    monkeypatch.setattr(search, "PLACES", FEW)

    def job(comm: Comm) -> None:
        graph = su.Graph(14, in_edges=True, device="cuda", comm=comm)
        graph.insert_edges(*((src, dst) if comm.rank else ([], [])))
        words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        forest = graph.forest(words, one_further, first_is_root, uniform=True)
        done = forest.compute(graph, graph.frontier([0]))
        assert words.level[:12].tolist() == [0] + [1] * 9 + [2, 3]
        assert words.ids("parent")[:12].tolist() == [0] * 10 + [9, 10]
        assert bool(forest.violated[0]) == (end == 13)
        assert (done.steps, done.touched) == (4, 12)

    run(job, 2)
    assert noted.steps[0] == ["start", "offer", "offer", "spread", "list_arcs"]


def further(u, v, w, words):
    return words.level[u] + 1, u


def two_roots(v, words):
    if v < 2:
        return 3 * v, v
    return EMPTY, EMPTY


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_roots_of_different_keys_are_pushed_from(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without several ranks: in a pull any neighbour in the frontier would do."""
    n, edges, _ = skewed()
    noted = Noted(monkeypatch, 2)

    def job(comm: Comm | None, *, uniform: bool = True) -> list[np.ndarray]:
        graph = made(comm, n, edges, DIRECTED | {"device": device})
        words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        forest = graph.forest(words, further, two_roots, uniform=uniform)
        forest.compute(graph, graph.frontier([0, 1]))
        assert not forest.violated[0]
        return [graph.device.to_numpy(part).copy() for part in (words.level, words.ids("parent"))]

    wanted = job(None, uniform=False)
    for found in (job(None), *run(job, 2)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    assert noted.steps == [[], []]


@pytest.mark.parametrize("places", [FEW, search.PLACES])
def test_deleted_vertices_are_not_reached(places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by searches from scratch after changes, which begin with the words of the one before."""
    n, edges, source = skewed()
    gone, noted = [v for v in range(0, n, 3) if v != source], Noted(monkeypatch, 2)
    monkeypatch.setattr(search, "PLACES", places)
    levels = []
    for device in ("cpu", "cuda"):

        def job(comm: Comm, device: str = device) -> None:
            graph = made(comm, n, edges, DIRECTED | {"device": device})
            graph.compute("bfs", source=source)
            graph.delete_vertices(gone)
            found = graph.compute("bfs", source=source)
            levels.append([graph.device.to_numpy(part).tolist() for part in found])

        run(job, 2)
    assert all(each == levels[0] for each in levels)
    assert set(np.asarray(levels[0][0])[gone].tolist()) == {-1}
    assert "offer" in noted.steps[0]


def test_graphs_without_in_edges_are_searched_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    n, edges, source = grid()
    options, noted = {"directed": True, "in_edges": False}, Noted(monkeypatch, 2)
    wanted = answers(made(None, n, edges, options | {"device": "cpu"}), source)

    def job(comm: Comm) -> None:
        for one, other in zip(answers(made(comm, n, edges, options | {"device": "cuda"}), source), wanted, strict=True):
            np.testing.assert_array_equal(one, other)

    run(job, 2)
    assert noted.steps == [[], []]


@pytest.mark.parametrize(("places", "few"), [(FEW, -1), (FEW, search.FEW_ARCS), (search.PLACES, search.FEW_ARCS)])
def test_levels_are_exchanged_without_the_host(places: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks of NCCL meet on the host ahead of a search, however many levels it has; a level is one exchange."""
    from nccl_ranks import by_nccl, gpus_of_threads

    monkeypatch.setattr(search, "PLACES", places)
    monkeypatch.setattr(search, "FEW_ARCS", few)
    gpus, noted, calls_on_host = gpus_of_threads(monkeypatch), Noted(monkeypatch, 2), list[tuple[int, str]]()
    n, edges, source = skewed()
    gather = ThreadComm.gather

    def meet(self: ThreadComm, name: str, value: Any) -> list[Any]:
        calls_on_host.append((self.rank, name))
        return gather(self, name, value)

    monkeypatch.setattr(ThreadComm, "gather", meet)

    def job(host: Comm) -> tuple[list[str], list[str]]:
        graph = made(by_nccl(host), n, edges, UNDIRECTED | {"device": "cuda"})
        before, calls = len(calls_on_host), len(gpus.CALLS)
        graph.compute("bfs", source=source)
        names = [name for rank, name in calls_on_host[before:] if rank == host.rank]
        return names, [call[1] for call in gpus.CALLS[calls:] if call[0] == host.rank]

    found, steps = run(job, 2), noted.steps[0]
    assert steps.count("offer") > 10 or "list_arcs" in steps
    for names, calls in found:
        assert names == ["together"]
        assert calls.count("allReduce") == steps.count("pull") + steps.count("push")
        assert calls.count("allGather") <= sum(map(steps.count, ("offer", "push", "list_arcs"))) + 1
        assert set(calls) <= {"allReduce", "allGather", "send", "recv"}


@pytest.mark.parametrize(("options", "again"), [(UNDIRECTED, 1), ({"in_edges": False}, 0)])
def test_a_small_batch_is_searched_again(options: dict[str, Any], again: int) -> None:
    """A change that one GPU repairs: repairs of several take longer beside a search by levels, which needs in-edges."""
    n, edges, source = skewed()

    def job(comm: Comm | None) -> list[int]:
        graph, found = made(comm, n, edges, options | {"device": "cuda"}), []
        tracker = graph.track("bfs", source=source)
        for size in (1, graph.num_edges // 250):
            graph.insert_edges(np.arange(size), np.arange(size) + 1)
            both = tracker.result.level, graph.compute("bfs", source=source).level
            np.testing.assert_array_equal(*map(graph.device.to_numpy, both))
            found.append(sum(tracker.recomputations.values()))
        return found

    assert job(None) == [0, 0]
    assert run(job, 2) == [[0, again]] * 2


def test_a_rank_that_stalls_ends_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what was queued on the device is not over within the limit: an error that says where."""
    from nccl_ranks import by_nccl, gpus_of_threads

    gpus_of_threads(monkeypatch)

    def job(host: Comm) -> None:
        comm = by_nccl(host)
        monkeypatch.setenv("SURICATE_TIMEOUT", "0.2")
        with pytest.raises(CommunicationError, match=r"test_parallel_search.py:\d+ was not over within 0.2 s"):
            comm.wait(lambda: False)
        with pytest.raises(CommunicationError, match="not over within"):
            comm.barrier()

    run(job, 2)
