"""Rows on demand: the answers are those of one process, and no rank ever holds the edges of all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.errors import CapacityError, EdgeFunctionError, RequirementError
from suricate.parallel import Comm, run
from suricate.parallel.on_demand import rows
from suricate.parallel.on_demand.rows import Rows
from suricate.placement.ownership import Ownership
from suricate.placement.store import PartitionedStore
from suricate.state.edges.answers import Answers

pytestmark = pytest.mark.plain
N = 40
FEW = 6  #: arcs that a rank gets at a time


def edges() -> tuple[np.ndarray, np.ndarray]:
    """Edges with two hubs, of which one is the last vertex, a loop, and vertices without edges."""
    src, dst = np.random.default_rng(7).integers(0, N - 4, (2, 110))
    hubs = np.repeat([3, N - 1], 12)
    return np.concatenate((src, hubs, [6])), np.concatenate((dst, np.arange(24), [6]))


def made(comm: Comm | None = None, **options: Any) -> su.Graph:
    options = {"device": "cpu", "threads": 1} | options | ({} if comm is None else {"comm": comm})
    graph = su.Graph(N, **options)
    graph.insert_edges(*(edges() if comm is None or comm.rank == 0 else (None, None)))
    return graph


def plain(value: Any) -> Any:
    value = value.get() if hasattr(value, "get") else value
    return value.tolist() if hasattr(value, "tolist") else value


def on_device(graph: su.Graph, *arrays: np.ndarray) -> tuple[Any, ...]:
    return tuple(graph.device.xp.asarray(array) for array in arrays)


@pytest.fixture(params=[FEW, 10_000], ids=["slices", "one slice"])
def slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(rows, "SLICE", request.param)
    return request.param


# -- intersect ---------------------------------------------------------------------------------------------------------


def weight(u, v, x):
    return u + 2 * v + 100 * x


def by_place(i, u, v, x, scale, found, s):
    s.add(i + x)
    su.atomic.add(found, x, scale[i])


def placed(i, u, v, x, scale):
    return scale[i] * (1 + x)


def asking_ends(u, v, x, g, found):
    if (v, x + 1) in g:
        su.atomic.add(found, x, g.degree(u))
    if (u, x + 2) not in g:
        su.atomic.add(found, u, 1000)


def asking_others(i, u, v, x, g, other, found):
    y = other[i]
    if (x, u) in g or (y, x) in g:
        su.atomic.add(found, x, g.degree(y))


def intersections(graph: su.Graph) -> list[Any]:
    """Of all kinds: pairs in any order and with repeats, every arc, sets, effects, positions, questions."""
    rng, n = np.random.default_rng(1), graph.num_vertices
    u, v = rng.integers(0, n, (2, 50))
    given = np.zeros(n, np.int64), np.zeros(n, np.int64), np.arange(50), rng.integers(0, n, 50)
    found, more, scale, other = on_device(graph, *given)
    s, batch = graph.scalar("sum", "int64", value=4), graph.edge_set(u[:9], v[:9])
    su.intersect(graph, u=u, v=v, fn=by_place, args=(scale, found, s))
    su.intersect(graph, u=u, v=v, fn=asking_ends, args=(graph, more))
    su.intersect(graph, u=u, v=v, fn=asking_others, args=(graph, other, more))
    su.intersect(graph, None, batch, fn=asking_ends, args=(graph, more), oriented="id")
    return [
        su.intersect(graph, u=u, v=v), su.intersect(graph, u=u, v=v, fn=weight, method="bitmap"), found, s.read(), more,
        su.intersect(graph, u=u, v=v, fn=placed, args=(scale,)),
        su.intersect(graph, u=u[1:], v=u[:-1], fn=placed, args=(scale,)),
        su.intersect(graph), su.intersect(graph, fn=weight), su.intersect(graph, batch), su.intersect(batch, graph),
        su.intersect(graph, batch, u, v), su.intersect(batch, graph, batch), su.intersect(graph, u=u[:0], v=v[:0]),
    ]  # fmt: skip


def triangles(graph: su.Graph) -> list[Any]:
    found = []
    for oriented in ("degree", "id"):
        corners = graph.device.xp.zeros(graph.num_vertices, np.int64)
        found += [su.intersect(graph, oriented=oriented), su.intersect(graph, fn=weight, oriented=oriented)]
        found += [su.intersect(graph, oriented=oriented, out=corners).copy()]
        found += [su.intersect(graph, fn=weight, oriented=oriented, out=corners)]
    return found


def ends_weights(u, v, x, a, b):
    return 1000 * a + b + x


def weighed(comm: Comm | None, columns: bool, directed: bool) -> list[Any]:
    """Intersections whose functions take weights: pairs, every arc, edge sets, triangles."""
    options: dict[str, Any] = {"device": "cpu", "threads": 1, "directed": directed}
    options |= {"edge_columns": {"weight": "int64"}} if columns else {"weight_dtype": "float32"}
    graph, (src, dst) = su.Graph(N, **options, **({} if comm is None else {"comm": comm})), edges()
    weight = np.arange(len(src)) % 13
    graph.insert_edges(*((src, dst, weight) if comm is None or comm.rank == 0 else (None, None, None)))
    (u, v), batch = np.random.default_rng(1).integers(0, N, (2, 50)), graph.edge_set(src[:9], dst[:9], weight[:9] / 2)
    found = [su.intersect(graph, u=u, v=v, fn=ends_weights), su.intersect(graph, fn=ends_weights)]
    found += [su.intersect(graph, batch, u, v, ends_weights), su.intersect(batch, graph, u, v, ends_weights)]
    for oriented in () if directed else ("degree", "id"):
        corners = np.zeros(N)
        found += [su.intersect(graph, fn=ends_weights, oriented=oriented)]
        found += [su.intersect(graph, fn=ends_weights, oriented=oriented, out=corners)]
    if columns:
        with pytest.raises(RequirementError if comm else EdgeFunctionError, match="row_a" if comm else "called with"):
            su.intersect(graph, fn=lambda u, v, x, row_a, row_b: row_a, args=() if comm else (1,))
    return [plain(one) for one in found]


@pytest.mark.parametrize("columns", [True, False], ids=["columns", "weights"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_weights_of_intersections_are_those_of_one_process(columns: bool, directed: bool, slices: int) -> None:
    expected = weighed(None, columns, directed)
    assert run(lambda comm: weighed(comm, columns, directed), 3) == [expected] * 3


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_intersections_are_those_of_one_process(ranks: int, directed: bool, slices: int) -> None:
    kinds = [intersections] if directed else [intersections, triangles]
    expected = [[plain(value) for value in kind(made(None, directed=directed))] for kind in kinds]

    def job(comm: Comm) -> list[list[Any]]:
        return [[plain(value) for value in kind(made(comm, directed=directed))] for kind in kinds]

    for one in run(job, ranks):
        assert one == expected


def two_graphs(comm: Comm | None, device: str = "cpu") -> list[Any]:
    """Two graphs whose ranges are cut at different places; their first batches have them choose other slabs."""
    options: dict[str, Any] = {"device": device, "threads": 1 if device == "cpu" else None}
    options |= {} if comm is None else {"comm": comm}
    left, right = made(**options), su.Graph(N, **options)
    if comm is not None:
        assert right.partition is not None
        right.partition.ownership = Ownership(comm.rank, np.array([0, 4, 4, N]))
        right.partition.stores[0].local.keep_rows(right.partition.ownership.ranges)
    few = tuple(ends[-40:] for ends in edges())
    right.insert_edges(*(few if comm is None or comm.rank == 0 else (None, None)))
    assert left.store().options() != right.store().options()
    return [
        plain(su.intersect(left, right)), plain(su.intersect(right, left)),
        plain(su.intersect(right, left, [3, 39, 1], [39, 3, 6], weight)),
    ]  # fmt: skip


def test_graphs_of_different_owners_are_intersected(slices: int) -> None:
    assert run(two_graphs, 3) == [two_graphs(None)] * 3


@pytest.mark.gpu
def test_graphs_of_different_owners_are_intersected_on_cuda() -> None:
    assert run(lambda comm: two_graphs(comm, "cuda"), 3) == [two_graphs(None)] * 3


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many arcs of others came at a time, and how many answers to what functions ask there were."""
    seen: list[int] = []
    fetch, init = Rows.fetch, Answers.__init__

    def fetched(self: Rows, ids: Any, *given: Any, **named: Any) -> Any:
        found = fetch(self, ids, *given, **named)
        seen.append(len(found[0]))
        assert not len(self.part.owned(ids))
        return found

    def refuse(*_: Any) -> None:
        raise AssertionError("a rank gets all edges")

    monkeypatch.setattr(rows, "SLICE", FEW)
    monkeypatch.setattr(Rows, "fetch", fetched)
    monkeypatch.setattr(Answers, "__init__", lambda self, *given: (seen.append(len(given[1])), init(self, *given))[1])
    monkeypatch.setattr(PartitionedStore, "edges", refuse)
    return seen


def results(comm: Comm | None, name: str, params: dict[str, Any], **options: Any) -> list[Any]:
    """Those of a tracker from scratch, and after batches."""
    graph = made(comm, **options)
    tracker, found = graph.track(name, **params), []
    for number in (0, 1, 2):
        if number:
            gone = tuple(part[number::5] for part in edges())
            new = [3 * number, 7, 9, 11], [8, 8, 8, number]
            own = comm is None or comm.rank == 0
            graph.apply(
                su.Batch(delete=su.EdgeList(*gone), insert=su.EdgeList(*map(np.array, new))) if own else su.Batch()
            )
        result = tracker.result
        found.append([plain(part) for part in (result if isinstance(result, tuple) else (result,))])
    return found


@pytest.mark.parametrize(
    ("name", "params", "most"),
    [
        ("triangles", {}, FEW), ("triangles", {"per_vertex": False}, FEW),
        ("directed_triangles", {"definition": "networkx"}, 90),
        ("random_walks", {"p": 0.25, "q": 4.0, "length": 6}, 3 * FEW),
    ],
)  # fmt: skip
def test_no_rank_holds_the_edges_of_all(name: str, params: dict[str, Any], most: int, held: list[int]) -> None:
    options = {"directed": name != "triangles"}
    expected = results(None, name, params, **options)
    held.clear()
    assert run(lambda comm: results(comm, name, params, **options), 3) == [expected] * 3
    arcs = made(None, **options).store().num_edges
    assert FEW // 2 < max(held) <= most < arcs, (max(held), arcs)
    assert sum(held) > arcs // 2  # they came, if not at a time


def test_slices_take_a_share_of_the_limit_of_memory() -> None:
    def job(comm: Comm) -> int:
        graph = made(comm, memory_limit=(1 << 20) * (1 + comm.rank))
        assert graph.partition is not None
        assert su.intersect(graph, u=[3], v=[39]) == [1]
        return rows.at_a_time(graph.partition)

    assert run(job, 2) == [2048, 4096]


def test_what_fails_on_one_rank_is_raised_on_all(monkeypatch: pytest.MonkeyPatch, slices: int) -> None:
    """While it answers, and while it uses an answer, when others need no more slices, or more."""
    part, of_arcs = Rows._part, su.EdgeSet._of_arcs

    def job(comm: Comm) -> None:
        graph = made(comm)
        for kind in ("answers", "uses"):
            failing.append((kind, f"rank {comm.size - 1}"))
            comm.barrier()
            with pytest.raises(CapacityError, match="" if comm.rank == comm.size - 1 else "rank 2: no memory"):
                su.intersect(graph)
            comm.barrier()
            failing.clear()
            comm.barrier()
        assert su.intersect(graph).tolist() == expected

    def fail(kind: str) -> None:
        if (kind, threading.current_thread().name) in failing:
            raise CapacityError("no memory")

    failing: list[tuple[str, str]] = []
    expected = su.intersect(made(None)).tolist()
    monkeypatch.setattr(Rows, "_part", lambda self, asked: (fail("answers"), part(self, asked))[1])
    monkeypatch.setattr(su.EdgeSet, "_of_arcs", lambda *args, **given: (fail("uses"), of_arcs(*args, **given))[1])
    run(job, 3)


# -- questions ---------------------------------------------------------------------------------------------------------


def by_variables(u, v, w, g, other, words, found):
    a = other[u] if u % 2 == 0 else v
    b = a + 1
    if u > 9:
        b = words.key[v]
    if (a, b) in g or (min(u, v), (u * 7 + 5) % 40) not in g:
        su.atomic.add(found, v, 1 + g.degree(a))


def chosen(v, value, g, other, found):
    if (other[v], v) in g:
        found[v] = value + 1
    return (v, other[v]) in g


def neighbours(u, v, w, g, other, found):
    return 1 if (v, u) in g else g.degree(other[u])


def published(v, g, other, found, label):
    if (v, other[v]) in g:
        label[v] = found[v]


def lowest(u, v, w, g, other, found, label):
    return label[v] if (v, u) in g else label[u]


def lower(v, value, g, other, found, label):
    found[v] = min(value, label[v])
    return 3 if value < label[v] and (other[v], v) not in g else 0


def questions(graph: su.Graph) -> list[Any]:
    """Of variables, words, later phases, vertices with positions, rounds, and pulls from either side."""
    n, xp = graph.num_vertices, graph.device.xp
    other, found, kept, label = on_device(
        graph, (np.arange(n) * 17 + 3) % n, *np.zeros((2, n), np.int64), np.arange(n) % 9
    )
    words = graph.words(keys={"key": "uint32"})
    words.data[:] = other
    out = []
    for over, start in (("out", None), ("in", [3, 39, 6]), ("both", [3, 1, 1, 39])):
        su.edge_map(graph, start, by_variables, args=(graph, other, words, found), over=over)
        picked = su.neighbor_reduce(
            graph, None, neighbours, args=(graph, other, kept), reduce="sum", over=over, then=chosen
        )
        out += [sorted(plain(picked.vertices)), kept.copy()]
    su.edge_map(graph, graph.edge_set([1, 39], [39, 2]), by_variables, args=(graph, other, words, found))
    done = su.converge(
        graph, None, lowest, args=(graph, other, kept, label), reduce="min", over="in", then=lower, commit=published,
        wake="out", max_steps=4,
    )  # fmt: skip
    reached = xp.full(n, 99)
    reached[[3, 5]] = 0
    su.propagate(graph, [3, 5], nearer, out=reached, reduce="min", args=(graph, other, reached), then=allowed)
    return [*out, found, kept, label, done.steps, reached]


def nearer(u, v, w, g, other, reached):
    return reached[u] + (1 if (v, other[v]) in g else 2)


def allowed(v, step, g, other, reached):
    return (other[v], v) not in g


@pytest.mark.parametrize("ranks", few([2, 3]))
def test_functions_ask_as_on_one_process(ranks: int, slices: int) -> None:
    expected = [plain(value) for value in questions(made(None, in_edges=True))]
    assert (
        run(lambda comm: [plain(value) for value in questions(made(comm, in_edges=True))], ranks) == [expected] * ranks
    )


def asks_what_it_writes(u, v, w, out, g):
    return 1 if (out[u], v) in g else 0


def test_what_is_not_known_ahead_is_refused() -> None:
    def job(comm: Comm) -> None:
        graph, out = made(comm), np.zeros(N, np.int64)
        by_hand = su.EdgeFunction(cuda="0", numba=lambda u, v, w, out, g: 0, result="int64")
        with pytest.raises(RequirementError, match=r"asked before the functions of a call run: a and b of \(a, b\)"):
            su.advance(graph, None, asks_what_it_writes, out=out, args=(out, graph), reduce="max")
        with pytest.raises(RequirementError, match="asked before the functions"):
            su.neighbor_reduce(
                graph,
                None,
                neighbours,
                args=(graph, out, out),
                reduce="sum",
                then=lambda v, value, g, a, b: (value, v) in g,
            )
        with pytest.raises(RequirementError, match="an EdgeFunction cannot ask"):
            su.neighbor_reduce(graph, None, by_hand, args=(out, graph), reduce="sum")

    run(job, 2)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "operation",
    [pytest.param(intersections, marks=pytest.mark.slow), triangles, questions],
    ids=lambda each: each.__name__,
)
def test_cuda_does_the_same(operation: Callable[[su.Graph], list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SLICE", FEW)
    options = {"directed": False} if operation is triangles else {"in_edges": True}
    expected = [plain(value) for value in operation(made(**options))]
    found = run(lambda comm: [plain(value) for value in operation(made(comm, device="cuda", **options))], 2)
    assert found == [expected] * 2


def test_a_row_is_sent_where_it_is_less_than_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answered = list[set[int]](), rows._answered

    def noted(part: Any, ids: np.ndarray, keys: np.ndarray) -> np.ndarray:
        asked.append(set(ids.tolist()) - set(part.own.tolist()))
        return answered(part, ids, keys)

    def job(comm: Comm) -> list[bool] | None:
        graph = made(comm)
        part = graph.partition
        assert part is not None
        asks = not part.owns(np.array([3, 4])).any()
        src, dst = np.append(np.full(N, 3), 4), np.append(np.arange(N), 7)
        keys = rows.keys_of(src if asks else src[:0], dst if asks else dst[:0], N, np)
        found = rows.held(part, keys)
        return found.tolist() if asks else None

    monkeypatch.setattr(rows, "_answered", noted)
    expected = made().has_edges(np.append(np.full(N, 3), 4), np.append(np.arange(N), 7)).tolist()
    assert sorted(run(job, 2), key=bool) == [None, expected]
    assert sorted(asked, key=len) == [set(), {4}]


@pytest.mark.slow
@pytest.mark.parametrize("operation", [intersections, triangles, questions])
@pytest.mark.parametrize("backend", sorted(set(su.plugins.backends()) - {"slabhash"}))
def test_other_backends_do_the_same(
    backend: str, operation: Callable[[su.Graph], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "SLICE", FEW)
    options = {"backend": backend} | ({"directed": False} if operation is triangles else {"in_edges": True})
    expected = [plain(value) for value in operation(made(**options))]
    assert run(lambda comm: [plain(value) for value in operation(made(comm, **options))], 3) == [expected] * 3
