"""Operators on a graph of several ranks do what they do on one graph: arrays, frontiers, numbers and totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.errors import RequirementError
from suricate.operators.binding import bind_map
from suricate.parallel import Comm, run
from suricate.parallel.arguments import effects as effects_of
from suricate.parallel.totals import Totals
from suricate.state.words import make_words

pytestmark = pytest.mark.plain
N = 24
Operation = Callable[[su.Graph], list[Any]]


def edges(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Edges with a hub and a loop; the last vertices have none."""
    src, dst = np.random.default_rng(seed).integers(0, N - 3, (2, 60))
    return np.concatenate((src, np.full(9, 4), [6])), np.concatenate((dst, np.arange(9), [6]))


def made(comm: Comm | None, **options: Any) -> su.Graph:
    graph = su.Graph(N, device="cpu", threads=1, **options, **({} if comm is None else {"comm": comm}))
    graph.insert_edges(*(edges() if comm is None or comm.rank == 0 else (None, None)))
    return graph


def plain(value: Any) -> Any:
    """What can be compared."""
    if isinstance(value, su.Frontier):
        return sorted(value.vertices.tolist())
    if isinstance(value, su.operators.Propagated):
        kept = value.layers
        layers = [] if kept is None else [sorted(kept[number].tolist()) for number in range(len(kept))]
        return value.steps, value.touched, value.converged, value.crowded, layers
    if isinstance(value, su.Scalar):
        return value.read()
    if isinstance(value, su.UnionFind):
        return value.labels().tolist()
    found = getattr(value, "data", value) if not isinstance(value, np.ndarray) else value
    found = found.get() if hasattr(found, "get") else found  # of words on a GPU
    return found.tolist() if isinstance(found, np.ndarray) else found


def total(graph: su.Graph, value: int = 3) -> su.Scalar:
    """A scalar that an earlier operator has left with a total."""
    return graph.scalar("sum", "int64", value=value)


# -- pushes ------------------------------------------------------------------------------------------------------------


def counted(u, v, w, out, seen, s):
    s.add(1 + s.value)
    return out[u] + 1


def first_time(v, step, out, seen, s):
    s.add(100 * s.value)
    seen[v] = step
    return v % 5 != 0


def push_with_totals(graph: su.Graph) -> list[Any]:
    """Both functions add, in all steps; all read the total of the last operator."""
    out, seen, s = np.full(N, 50), np.zeros(N, np.int64), total(graph)
    out[[1, 4]] = 0
    args = (out, seen, s)
    once = su.advance(graph, [1, 4], counted, out=out, reduce="min", args=args, then=first_time)
    after_one, done = s.read(), su.propagate(graph, once, counted, out=out, reduce="min", args=args, then=first_time)
    after_all, none = s.read(), su.propagate(graph, [2], counted, out=out, reduce="min", args=args, max_steps=0)
    return [once, after_one, done, after_all, none, s, out, seen]


def share_of(u, v, w, out, given):
    return given[u]


def push_that_cancels(graph: su.Graph) -> list[Any]:
    """Offers of different ranks cancel each other: an offer has altered the value all the same."""
    out, given = np.zeros(N, np.int64), np.where(np.arange(N) % 2, 1, -1)
    return [su.advance(graph, None, share_of, out=out, args=(out, given), reduce="sum"), out]


def by_graph(u, v, w, out, g):
    return out[u] + g.degree(v) + (100 if (v, u) in g else 1)


def is_wide(v, step, out, g):
    return g.degree((v * 7) % 20) > 2


def push_that_asks(graph: su.Graph) -> list[Any]:
    """Functions see rows that another rank holds."""
    out = np.full(N, 1 << 30)
    out[:3] = 0
    done = su.propagate(graph, [0, 1, 2], by_graph, out=out, reduce="min", args=(out, graph), then=is_wide)
    return [done.converged, out]


def push_from_arcs(graph: su.Graph) -> list[Any]:
    out, seen, s = np.full(N, 9), np.zeros(N, np.int64), total(graph)
    out[[21, 23]] = 0
    start = graph.edge_set([23, 21], [22, 1]), np.array([23, 3, 3], np.uint32)
    nothing = graph.edge_set([], [])
    return [
        su.propagate(graph, start, counted, out=out, reduce="min", args=(out, seen, s), then=first_time, max_steps=1),
        su.propagate(graph, nothing, counted, out=out, reduce="min", args=(out, seen, s), layers=True),
        out,
        s,
    ]


# -- pulls -------------------------------------------------------------------------------------------------------------


def weighed(u, v, w, x, y, s):
    s.add(1)
    return x[u] + s.value


def kept_even(v, value, x, y, s):
    y[v] = value + s.value
    s.add(10)
    return value % 2 == 0


def pulls_with_totals(graph: su.Graph) -> list[Any]:
    x, y, s, out = np.arange(N), np.zeros(N, np.int64), total(graph), np.zeros(N, np.int64)
    args, found = (x, y, s), []
    for options in (
        {}, {"frontier": [7, 4, 4, 23]}, {"then": kept_even}, {"then": kept_even, "frontier": ([4, 1], [4, 9])},
        {"then": kept_even, "out": out, "frontier": []},
    ):  # fmt: skip
        call = {"frontier": None, "fn": weighed, "args": args, "reduce": "sum"} | options
        found += [plain(su.neighbor_reduce(graph, **call)), s.read()]
    return [*found, y, out]


def least(u, v, w, x):
    return x[u], u


def pulls_of_words(graph: su.Graph) -> list[Any]:
    x = np.arange(N)[::-1] % 7
    found = []
    for dtype in ("uint32", "int64"):  # of 64 and of 128 bits
        like = graph.words(keys={"key": dtype}, payload={"parent": "uint32"})
        some = make_words(5, keys={"key": dtype}, payload={"parent": "uint32"}, device=graph.device)
        for out, vertices in ((like, None), (some, [9, 4, 4, 23, 0])):
            su.neighbor_reduce(graph, vertices, least, args=(x,), reduce="argmin", out=out)
            found += [out.key, out.parent]
    return found


def layered(u, v, w, sums, level, s):
    s.add(1)
    return sums[v] + 1 if level[v] == level[u] + 1 else 0


def put_sum(v, value, sums, level, s):
    return value > 1


def pulls_over_layers(graph: su.Graph) -> list[Any]:
    """Values of earlier layers are read; with and without a second phase, ``out`` given and not."""
    level, found = np.full(N, 99), []
    level[4] = 0
    layers = su.propagate(
        graph, [4], lambda u, v, w, level: level[u] + 1, out=level, args=(level,), reduce="min", layers=True
    ).layers
    for then in (None, put_sum):
        sums, s = np.zeros(N, np.int64), total(graph)
        args = (sums, level, s)
        done = su.neighbor_reduce(graph, layers.reversed, layered, args=args, reduce="sum", out=sums, then=then)
        found += [plain(done), sums, s.read()]
    made = su.neighbor_reduce(graph, layers, layered, args=args, reduce="sum")
    return [*found, np.where(level < 99, made, 0), s]


def asks_degrees(u, v, w, x, g, s):
    s.add(1)
    return g.degree(u) * 100 + g.degree(v)


def pulls_that_ask(graph: su.Graph) -> list[Any]:
    found = []
    for frontier, scheme in ((None, "auto"), (None, "scan"), ([4, 4, 8], "auto")):
        s = total(graph)
        args = np.arange(N), graph, s
        values = su.neighbor_reduce(graph, frontier, asks_degrees, args=args, reduce="sum", scheme=scheme)
        found += [plain(values), s.read()]
    return found


# -- rounds ------------------------------------------------------------------------------------------------------------


def lower(u, v, w, label, fresh, s):
    s.add(1)
    return min(label[u], label[v])


def take(v, value, label, fresh, s):
    fresh[v] = min(value, label[v])
    s.add(100 * (s.value > 0))
    return 3 if value < label[v] else 0


def publish(v, label, fresh, s):
    label[v] = fresh[v]
    s.add(10_000 * (s.value > 0))


def rounds_with_totals(graph: su.Graph) -> list[Any]:
    found = []
    stops = ({"stop": su.Stop(most=most)} for most in (40, 78, 90))
    for options in ({}, {"max_steps": 0}, *stops, {"max_steps": 2}):
        label, s = np.arange(N)[::-1].copy(), total(graph)
        args = (label, label.copy(), s)
        done = su.converge(
            graph, None, lower, args=args, reduce="min", over="out", then=take, commit=publish, wake="out", **options
        )
        found += [plain(done), *map(plain, args)]
    return found


def lower_word(u, v, w, label, *others):
    return min(label[u], label[v]), u


def take_word(v, key, parent, label, fresh):
    fresh[v] = min(key, label[v])
    return 2 if key < label[v] else 0


def publish_word(v, label, fresh):
    label[v] = fresh[v]


def rounds_of_words(graph: su.Graph) -> list[Any]:
    label = np.arange(N, dtype=np.uint32)[::-1].copy()
    like = graph.words(keys={"key": "uint32"}, payload={"parent": "uint32"})
    done = su.converge(
        graph, None, lower_word, args=(label, label.copy()), reduce="argmin", over="out", then=take_word,
        commit=publish_word, dtype=like,
    )  # fmt: skip
    return [done, label]


def of_all(u, v, w, old, *others):
    return old[u] * 0.5


def damped(v, value, old, new, pace, next_pace, s):
    new[v] = 1 + value / 8
    s.add(abs(new[v] - old[v]))
    if v == 0:
        next_pace[v] = pace[v] + 1


def rounds_that_exchange(graph: su.Graph) -> list[Any]:
    """Arrays of all vertices, and of one entry, which one vertex writes."""
    old, new, s = np.zeros(N), np.zeros(N), graph.scalar("sum", "float64")
    pace, next_pace = np.zeros(1), np.zeros(1)
    done = su.converge(
        graph, None, of_all, args=(old, new, pace, next_pace, s), reduce="sum", over="out", then=damped, wake=None,
        swap=[(old, new), (pace, next_pace)], stop=su.Stop(until=(s, 1e-3)), max_steps=30,
    )  # fmt: skip
    return [done, old.round(9), pace, next_pace, round(s.read(), 9)]


# -- maps --------------------------------------------------------------------------------------------------------------


def own_degree(v, y, g, s):
    y[v] = g.degree(v) + s.value
    s.add(y[v])
    return y[v] % 2 == 1


def other_degree(v, y, g, s):
    y[v] = g.degree((v * 5) % 20)
    s.add(y[v] + s.value)
    return (4, v) in g


def by_position(i, v, y, g, s):
    y[i] = g.degree(v)
    return y[i] > 1


def maps_that_ask(graph: su.Graph) -> list[Any]:
    found = []
    for fn in (own_degree, other_degree, by_position):
        y, s = np.zeros(N, np.int64), total(graph)
        found += [plain(su.vertex_map(graph, [4, 9, 3, 22], fn, args=(y, graph, s))), y, s.read()]
    return found


def all_effects(u, v, w, sums, lows, bits, sets, s):
    su.atomic.add(sums, v, u + 1)
    su.atomic.min(lows, v, u)
    su.atomic.or_(bits, u, 1 << (v % 8))
    su.unite(sets, u, v)
    s.add(1 + s.value)


def place_of(i, u, v, w, at):
    su.atomic.add(at, i, 100 * u + v)


def effects(graph: su.Graph) -> list[Any]:
    found: list[Any] = []
    for start in (None, [4, 4, 6], graph.edge_set([1, 23], [23, 2]), ([4], graph.edge_set([1], [23]))):
        args = (
            np.ones(N, np.int64),
            np.full(N, N),
            np.ones(N, np.int64),
            su.UnionFind._of(N, graph.device),
            total(graph),
        )
        su.edge_map(graph, start, all_effects, args=args)
        found += map(plain, args)
    at = np.zeros(3, np.int64)
    su.edge_map(graph, su.EdgeList(np.array([9, 1, 5]), np.array([2, 2, 8])), place_of, args=(at,))
    return [*found, at]


def counted_alike(v, label, count, mean, best, sets):
    su.atomic.add(count, label[v], 1)
    su.atomic.add(mean, label[v], v / 4)
    su.atomic.min(best, label[v], (v % 5, v))
    su.unite(sets, v, label[v])


def counted_with_degree(v, g, count):
    su.atomic.add(count, g.degree(v), v)


def joined(v, step, out, count):
    su.atomic.add(count, step, v)
    return v % 2 == 0


def taken(v, value, x, count, best):
    su.atomic.add(count, value % 5, 1)
    su.atomic.min(best, value % 5, (value, v))
    return 2 if value % 2 and value < 40 else 0


def published(v, x, count, best):
    x[v] += 1
    su.atomic.max(count, v % 5 + 5, x[v])


def read_at(u, v, w, x, count, best):
    return x[u] + 1


def plus_one(u, v, w, out, count):
    return out[u] + 1


def weighed_words(u, v, w, comp, best):
    if comp[u] != comp[v]:
        su.atomic.min(best, comp[u], (u * v % 7, min(u, v), max(u, v)))


def effects_of_vertices(graph: su.Graph) -> list[Any]:
    keys = {"w": "int64", "a": "uint32", "b": "uint32"}
    label, zeros = np.arange(N) * 7 % 5, np.zeros((4, N), np.int64)
    mean, sets, pairs = np.zeros(N), graph.union_find(), graph.words(keys={"w": "uint32"}, payload={"v": "uint32"})
    su.vertex_map(graph, None, counted_alike, args=(label, zeros[0], mean, pairs, sets))
    su.vertex_map(graph, [3, 4, 9], counted_with_degree, args=(graph, zeros[0]))
    out = np.where(np.arange(N) == 4, 0, 99)
    su.propagate(graph, [4], plus_one, out=out, args=(out, zeros[1]), reduce="min", then=joined, max_steps=4)
    best, edges = graph.words(keys={"w": "int64"}, payload={"v": "uint32"}), graph.words(keys=keys)
    args = (np.arange(N), zeros[2], best)
    su.neighbor_reduce(graph, [3, 5, 6], read_at, args=args, reduce="max", over="out", then=taken)
    options = {"reduce": "max", "over": "out", "max_steps": 5, "wake": "out"}
    su.converge(graph, [2, 4, 8], read_at, args=(args[0], zeros[3], best), then=taken, commit=published, **options)
    su.edge_map(graph, None, weighed_words, args=(label, edges))
    return [*zeros, mean, pairs, sets, out, args[0], best, edges]


def closing(u, v, x, g, count):
    if (x, u) in g:
        su.atomic.add(count, x, g.degree(x))


def intersections(graph: su.Graph) -> list[Any]:
    count, batch = np.zeros(N, np.int64), graph.edge_set([4, 3, 9], [1, 4, 2])
    su.intersect(graph, u=[4, 2, 4], v=[1, 4, 8], fn=closing, args=(graph, count))
    return [count, su.intersect(graph, batch, [4, 2], [4, 3]), su.intersect(batch, graph, u=batch)]


def plus(u, v, w, x, g):
    return x[u] + g.degree(v)


def hit(u, v, w, hits):
    su.atomic.add(hits, v, 1)


def columns_by_name(graph: su.Graph) -> list[Any]:
    """Columns that came after the last change of the graph."""
    graph.columns["x"], graph.columns["hits"] = np.arange(N), np.zeros(N, np.int64)
    su.edge_map(graph, None, hit, args=("hits",))
    return [su.neighbor_reduce(graph, None, plus, args=("x", graph), reduce="sum"), graph.columns["hits"]]


def voted(u, v, w, label, weight, won, s):
    return label[u], weight[v] * weight[u]


def worth(v, c, total, label, weight, won, s):
    return total - weight[c]


def elected(v, c, total, label, weight, won, s):
    s.add(c != label[v])
    won[v] = label[v] if c == su.EMPTY else c
    return 3 if won[v] != label[v] else 0


def shown(v, label, weight, won, s):
    s.add(10)
    label[v] = won[v]


def third(v, step, *others):
    return (v + step // 3) % 3 == step % 3


def votes(graph: su.Graph) -> list[Any]:
    """Floats that no order of additions may change, once and in cycles of turns, to the end and cut short."""
    label, s = np.arange(N), total(graph)
    weight = np.array(10.0 ** np.random.default_rng(2).uniform(-6, 6, N))
    args = (label, weight, np.zeros(N, np.int64), s)
    options: dict[str, Any] = {"args": args, "reduce": "vote", "score": worth, "keep": label, "over": "in"}
    if not graph.directed:
        found = [su.neighbor_reduce(graph, ids, voted, **options) for ids in (None, [5, 4, 4, 23])]
        found.append(su.neighbor_reduce(graph, [5, 4, 9], voted, then=elected, **options))
        for ids in (None, [5, 4, 4, 23]):
            found += su.neighbor_reduce(graph, ids, voted, best=3, **options)
    else:
        found, options = [], options | {"over": "out"}
    for limit in (2, 5, 60):
        options["max_steps"] = limit
        done = su.converge(graph, [4, 9, 2], voted, then=elected, commit=shown, turn=third, **options)
        found += [done, s.read(), label.copy()]
    return found


def by_middle(u, v, x, weight):
    """Weights of many magnitudes."""
    return weight[v]


def two_edges_away(graph: su.Graph) -> list[Any]:
    """Wedges over floats that no order of additions may change, of all vertices and of some, one twice."""
    weight = np.array(10.0 ** np.random.default_rng(2).uniform(-6, 6, N))
    over = ("out", "in") if graph.has_in_edges else ("out", "out")
    found: list[Any] = []
    for ids, skip in ((None, "neighbors"), ([5, 4, 4, 23], None)):
        found += su.wedges(graph, ids, by_middle, best=3, args=(weight,), skip=skip, over=over)
    return found


OPERATIONS = [
    push_with_totals, push_that_cancels, push_that_asks, push_from_arcs, pulls_with_totals, pulls_of_words,
    pulls_over_layers, pulls_that_ask, rounds_with_totals, rounds_of_words, rounds_that_exchange, maps_that_ask,
    effects, effects_of_vertices, intersections, columns_by_name, votes,
    two_edges_away,
]  # fmt: skip


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operator_does_the_same_as_on_one_graph(operation: Operation, directed: bool) -> None:
    expected = [plain(value) for value in operation(made(None, directed=directed))]
    for found in run(lambda comm: [plain(value) for value in operation(made(comm, directed=directed))], 3):
        assert found == expected


def test_what_all_ranks_add_alike_counts_once_as_rank_0_has_it() -> None:
    """Threads add floats up in an order of their own."""

    def job(comm: Comm) -> float:
        graph = made(comm)
        assert graph.partition is not None
        s = graph.scalar("sum", "float64")
        totals = Totals(graph.partition, (s,))
        with totals.call(alike=True):
            s.total[:] = 1 + comm.rank * 1e-9
        with totals.call():
            s.total[:] = comm.rank
        totals.end()
        return float(s.read())

    assert run(job, 3) == [4.0] * 3


def test_ranks_without_vertices() -> None:
    """Of five ranks three own nothing; they add nothing to totals."""

    def job(comm: Comm | None) -> list[Any]:
        graph = su.Graph(2, device="cpu", **({} if comm is None else {"comm": comm}))
        graph.insert_edges([0, 1], [1, 1])
        x, y, s = np.arange(2), np.zeros(2, np.int64), total(graph)
        su.neighbor_reduce(graph, None, weighed, args=(x, y, s), reduce="sum", then=kept_even)
        return [s.read(), y.tolist(), graph.track("wcc").result.num_components]

    assert run(job, 5) == [job(None)] * 5


@pytest.mark.parametrize("operation", [effects_of_vertices, votes])
@pytest.mark.parametrize("ranks", [1, 2])
def test_effects_and_votes_on_fewer_ranks(operation: Operation, ranks: int) -> None:
    directed = operation is not votes
    expected = [plain(value) for value in operation(made(None, directed=directed))]
    for found in run(lambda comm: [plain(value) for value in operation(made(comm, directed=directed))], ranks):
        assert found == expected


def test_sums_of_floats_that_all_ranks_add_alike_are_those_of_rank_0() -> None:
    def add(v, sums):
        su.atomic.add(sums, v, 1.0)

    def job(comm: Comm) -> list[float]:
        graph = made(comm)
        assert graph.partition is not None
        sums = np.ones(2)
        call = bind_map(graph, add, (sums,))
        with effects_of(graph.partition, call.function, (sums,), (sums,), alike=True) as (own,):
            own[0] += 1 + comm.rank * 1e-9
        return sums.tolist()

    assert run(job, 3) == [[2.0, 1.0]] * 3


FACTOR = 2


def test_numbers_from_outside_are_those_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are run by functions made of those given: these see globals and closures as they are now."""

    def job(comm: Comm) -> list[int]:
        graph, found, bound = made(comm), list[int](), 0
        label = np.zeros(N, np.int64)

        def then(v, value, label):
            label[v] = value + bound * FACTOR

        for number in (2, 5):
            bound = number
            su.converge(graph, None, lambda u, v, w, label: 0, args=(label,), reduce="max", over="out", then=then)
            found.append(int(label[4]))
        return found

    assert run(job, 2) == [[4, 10]] * 2
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert run(job, 2) == [[6, 15]] * 2


def test_what_a_divided_graph_cannot_walk_is_refused() -> None:
    def job(comm: Comm) -> None:
        graph = made(comm)
        graph.mark()
        by_hand = su.EdgeFunction(cuda="", numba=lambda u, v, w, x: None)
        with pytest.raises(RequirementError, match="takes plain functions"):
            su.edge_map(graph, None, by_hand, args=(np.zeros(N),))

    run(job, 2)


def test_scalars_keep_their_totals_where_a_call_fails() -> None:
    def job(comm: Comm) -> None:
        graph, x, y = made(comm), np.arange(N), np.arange(N)
        s = total(graph)
        options = {"reduce": "sum", "over": "out", "then": kept_even}
        with pytest.raises(RequirementError, match="swap is for rounds over all vertices"):
            su.converge(graph, [1], weighed, args=(x, y, s), swap=[(x, y)], **options)
        assert s.read() == 3

    run(job, 2)


def farther(u, v, w, words, source):
    return words.distance[u] + w, u


def unreached(v, words, source):
    if v == source:
        return 0, v
    return 1 << 40, 0xFFFFFFFF


@pytest.mark.parametrize(("weights", "violated"), [([2, 3, 4], False), ([2, 0, 4], True), ([2, -3, 1], True)])
def test_offers_that_are_not_above_are_noted_on_all_ranks(weights: list[int], violated: bool) -> None:
    """Along a cycle, that of the last case is of negative length: words become smaller for ever."""

    def job(comm: Comm) -> bool:
        graph = su.Graph(N, device="cpu", comm=comm, threads=1, weight_dtype="int32")
        graph.insert_edges(*((None, None) if comm.rank else ([0, 1, 2], [1, 2, 1], weights)))
        forest = graph.forest(
            graph.words(keys={"distance": "int64"}, payload={"parent": "uint32"}), farther, unreached, args=(0,)
        )
        forest.compute(graph, graph.frontier([0]))
        return bool(forest.violated[0])

    assert run(job, 3) == [violated] * 3


def test_votes_have_room_for_all_in_edges_of_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that owns the end of all edges, and the start of none, lists the weights of them all."""
    from suricate.operators.cpu.pull import pull

    room, tables = [], pull.vote_tables

    def counted(graph: Any, call: Any, number: int, edges: int, *, hashed: bool) -> Any:
        room.append(edges)
        return tables(graph, call, number, edges, hashed=hashed)

    def job(comm: Comm) -> list[int]:
        star = su.Graph(8, device="cpu", in_edges=True, weight_dtype="float32", comm=comm)
        star.insert_edges(np.arange(1, 8), np.zeros(7, int), 0.5)
        found: list[int] = su.neighbor_reduce(
            star, None, lambda u, v, w, x: (x[u], w), args=(np.full(8, 5),), reduce="vote", over="in"
        ).tolist()
        return found

    monkeypatch.setattr(pull, "vote_tables", counted)
    assert run(job, 2) == [[5, *[su.EMPTY] * 7]] * 2
    assert max(room) >= 7
