"""``reduce="vote"`` beside a model in plain Python: totals, ties, labels to keep, and independence of every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import vote_model
from hypothesis import given, settings
from hypothesis import strategies as st
from turns import few

import suricate as su
from suricate.base.devices import resolve_device
from suricate.cpu import threads
from suricate.errors import DeviceError, DTypeError, EdgeFunctionError, ParameterError, RequirementError, ShapeError
from suricate.operators.cpu.pull import pull

N = 24
FLOATS = [-0.5, 0.0, 0.25, 1.5, 2.0**60]
WEIGHTS = {None: [1], "int32": [-3, 0, 1, 2, 5], "float32": FLOATS, "float64": [0.125, 2.0]}


def chosen(u, v, w, label, cost):
    return label[u], w


def chosen_out(u, v, w, label, cost):
    return (label[v], w) if v != u else (label[u], 0)


def worth(v, c, total, label, cost):
    return total - cost[c]


def note(v, c, total, label, cost, won, sums):
    won[v], sums[v] = c, total
    return c == 3


def note_out(v, c, total, label, cost, won, sums):
    won[v] = c
    sums[v] = total
    return c == 3


def voted(u, v, w, label, cost, won, sums):
    return label[u], w


def worth_with_more(v, c, total, label, cost, won, sums):
    return total - cost[c]


def votes_by_vertex(graph: su.Graph, label: np.ndarray, over: str) -> list[list[tuple[int, float]]]:
    """Return the votes of the neighbours of each vertex, a self-loop once."""
    found: list[list[tuple[int, float]]] = [[] for _ in range(graph.num_vertices)]
    arcs = su.arcs(graph)
    src, dst = (graph.device.to_numpy(part).tolist() for part in arcs[:2])
    weight = [1] * len(src) if arcs.weight is None else graph.device.to_numpy(arcs.weight).tolist()
    for u, v, w in zip(src, dst, weight, strict=True):
        if over == "out":
            found[u] += [(int(label[v]), w)] if u != v else []
        else:
            found[v].append((int(label[u]), w))
            if over == "both" and graph.directed and u != v:
                found[u].append((int(label[v]), w))
    return found


@pytest.mark.parametrize("weight_dtype", few(list(WEIGHTS)))
@pytest.mark.parametrize(("over", "kept"), few([("both", True), ("out", False), ("in", True)]))
def test_winners_are_those_of_the_model(device, backend, weight_dtype: str | None, over: str, kept: bool) -> None:
    ids, xp = st.integers(0, N - 1), device.xp
    edge = st.tuples(ids, ids, st.sampled_from(WEIGHTS[weight_dtype]))

    @settings(max_examples=15)
    @given(
        st.lists(edge, max_size=60), st.lists(st.integers(-1, 9), min_size=N, max_size=N),
        st.lists(st.integers(0, 9), min_size=N, max_size=N), st.lists(st.integers(0, 3), min_size=8, max_size=8),
    )  # fmt: skip
    def run(edges: list[tuple[int, int, float]], label: list[int], keep: list[int], cost: list[int]) -> None:
        graph = su.Graph(N, backend=backend, device=device, weight_dtype=weight_dtype, in_edges=True)
        src, dst, weight = zip(*edges, strict=True) if edges else ((), (), ())
        graph.insert_edges(list(src), list(dst), None if weight_dtype is None else list(weight))
        args = xp.asarray(np.array(label)), xp.asarray(np.array(cost, np.float64))
        keeps = xp.asarray(np.array(keep, np.uint32)) if kept else None
        fn = chosen_out if over == "out" else chosen
        found = su.neighbor_reduce(
            graph, None, fn, args=args, reduce="vote", score=worth, keep=keeps, labels=8, over=over
        )
        votes = votes_by_vertex(graph, np.array(label), over)
        wanted = [
            vote_model.winner(row, 8, lambda c, total: total - cost[c], keep[v] if kept else None)
            for v, row in enumerate(votes)
        ]
        assert found.dtype == np.uint32
        assert device.to_numpy(found).tolist() == [c for c, _ in wanted]
        if over == "out":
            return
        won, sums = xp.full(N, -1, np.int64), xp.zeros(N, np.int64 if weight_dtype in (None, "int32") else np.float64)
        says = su.neighbor_reduce(
            graph, [0, 5, 5, 9], voted, args=(*args, won, sums), reduce="vote", score=worth_with_more, keep=keeps,
            labels=8, over=over, then=note_out,
        )  # fmt: skip
        for v in (0, 5, 9):
            assert (int(won[v]), float(sums[v])) == (wanted[v][0], float(wanted[v][1]))
        assert sorted(says.vertices.tolist()) == [v for v in (0, 5, 9) if wanted[v][0] == 3]

    run()


def rounded(u, v, w, label, won, sums):
    return label[u], w


def by_total_and_label(v, c, total, label, won, sums):
    return total / (1 + c % 3)


def keep_both(v, c, total, label, won, sums):
    won[v] = c
    sums[v] = total


def results(graph: su.Graph, label: np.ndarray) -> tuple[bytes, bytes]:
    """Return the winners and the bits of their totals."""
    xp = graph.device.xp
    won, sums = xp.zeros(graph.num_vertices, np.int64), xp.zeros(graph.num_vertices, np.float64)
    args = xp.asarray(label), won, sums
    su.neighbor_reduce(
        graph, None, rounded, args=args, reduce="vote", score=by_total_and_label, keep=args[0], over="in",
        then=keep_both,
    )  # fmt: skip
    return graph.device.to_numpy(won).tobytes(), graph.device.to_numpy(sums).tobytes()


def test_totals_do_not_depend_on_any_order(device, every_backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights over twelve orders of magnitude, shuffled rows, one thread and two, tables by label and by hash.

    What CUDA gives is that of the CPU, too.
    """
    rng, n = np.random.default_rng(4), 300
    src, dst = np.unique(rng.integers(0, n * n, 4000) // np.array([[n], [1]]) % n, axis=1)
    src, dst = np.r_[src, np.zeros(n - 1, int)], np.r_[dst, np.arange(1, n)]
    keys = np.unique(np.minimum(src, dst) * n + np.maximum(src, dst))
    src, dst, weight = keys // n, keys % n, 10.0 ** rng.uniform(-6, 6, len(keys))
    label, found = rng.integers(0, 9, n), set()
    monkeypatch.setattr(threads, "GRAIN", 1)
    for on, seed, number in ((device, 0, 1), (resolve_device("cpu"), 1, 2)):
        order = np.random.default_rng(seed).permutation(len(src))
        options = {"device": on, "directed": False, "weight_dtype": "float64", "threads": number}
        graph = su.Graph(n, backend=every_backend, **options)
        half = len(order) // 2
        for part in (order[:half], order[half:]):
            graph.insert_edges(src[part], dst[part], weight[part])
        for limit in (1 << 22, 0):
            monkeypatch.setattr(pull, "LABELS", limit)
            found.add(results(graph, label))
    assert len(found) == 1
    assert found == _FOUND.setdefault("totals", found)  # on all backends


_FOUND: dict[str, set[tuple[bytes, bytes]]] = {}


def moves(u, v, w, label, wanted, total, strength, arcs):
    arcs.add(1)
    return (label[u], w) if u != v else (label[v], 0)


def gain(v, c, sum, label, wanted, total, strength, arcs):
    return sum - strength[v] * (total[c] - (strength[v] if c == label[v] else 0)) / 200


def choose(v, c, sum, label, wanted, total, strength, arcs):
    wanted[v] = label[v] if c == su.EMPTY else c
    return 2 if wanted[v] != label[v] else 0


def move(v, label, wanted, *others):
    label[v] = wanted[v]


def quarter(v, step, *others):
    return (v + (step >> 2)) & 3 == step & 3


class Louvain:
    """Moves of the vertices of a sub-round, in plain Python; ``read`` counts the arcs of the last one."""

    def __init__(self, rows: list[list[tuple[int, int]]]) -> None:
        self.rows, self.label, self.read = rows, list(range(len(rows))), 0
        self.strength = np.array([sum(w for _, w in row) for row in rows])

    def sub_round(self, mine: list[int]) -> set[int]:
        wanted = {v: self.best_for(v) for v in mine}
        self.read = sum(len(self.rows[v]) for v in mine)
        later = {u for v in mine if wanted[v] != self.label[v] for u, _ in self.rows[v]}
        for v in mine:
            self.label[v] = wanted[v]
        return later

    def best_for(self, v: int) -> int:
        own, k = self.label[v], self.strength
        votes = [(self.label[u], w) for u, w in self.rows[v] if u != v]
        best, _ = vote_model.winner(
            votes, len(k), lambda c, sum: sum - k[v] * (k[c] - (k[v] if c == own else 0)) / 200, own
        )
        return own if best == su.EMPTY else best


@pytest.mark.parametrize(("number", "start"), [(1, None), (2, None), (1, [1, 5, 7]), (1, [])])
def test_turns_are_those_of_the_model(
    device, backend, number: int, start: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels, the rounds, and the arcs that are read: those of the vertices whose turn it was, no others."""
    monkeypatch.setattr(threads, "GRAIN", 1)
    rng, xp, n = np.random.default_rng(5), device.xp, 60
    for max_steps in (None, 3, 0):
        graph = su.Graph(n, backend=backend, device=device, directed=False, weight_dtype="int32", threads=number)
        graph.insert_edges(*rng.integers(0, n, (2, 150)), rng.integers(1, 5, 150))
        arcs = su.arcs(graph)
        rows: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for u, v, w in zip(*(device.to_numpy(part).tolist() for part in arcs), strict=True):
            rows[u].append((v, w))
        louvain = Louvain(rows)
        limit = 40 if max_steps is None else max_steps
        turn = lambda v, step: (v + (step >> 2)) & 3 == step & 3  # noqa: E731
        expected = vote_model.cycles(range(n) if start is None else start, turn, louvain.sub_round, limit)
        held, counted = xp.arange(n), graph.scalar("sum", "int64")
        args = held, held.copy(), xp.asarray(louvain.strength), xp.asarray(louvain.strength), counted
        done = su.converge(
            graph, start, moves, args=args, reduce="vote", score=gain, keep=held, then=choose, commit=move,
            turn=quarter, wake="both", max_steps=limit,
        )  # fmt: skip
        assert device.to_numpy(held).tolist() == louvain.label
        assert (done.steps, done.touched, done.converged) == expected
        assert counted.read() == louvain.read  # of the last sub-round


def fourth_at_last(v, step, *others):
    return v % 4 == 0 and step == 1


def test_arcs_are_read_by_those_whose_turn_it_is(device) -> None:
    """A turn that comes later reads nothing: one loop of several sub-rounds, each counted."""
    graph, xp = su.Graph(40, device=device, directed=False), device.xp
    graph.insert_edges(np.arange(39), np.arange(1, 40))
    for step, wanted in ((1, 0), (2, sum(graph.degrees()[v] for v in range(0, 40, 4)))):
        label, arcs = xp.arange(40), graph.scalar("sum", "int64")
        ones = xp.ones(40, np.int64)
        done = su.converge(
            graph, None, moves, args=(label, label.copy(), ones, ones, arcs), reduce="vote", then=choose, wake=None,
            turn=fourth_at_last, max_steps=step,
        )  # fmt: skip
        assert (arcs.read(), done.touched, done.converged) == (wanted, 10 if step == 2 else 0, False)


def smallest(u, v, w, label, fresh):
    return label[u]


def take(v, value, label, fresh):
    fresh[v] = min(value, label[v])
    return 2 if value < label[v] else 0


def show(v, label, fresh):
    label[v] = fresh[v]


@pytest.mark.slow
def test_every_reduction_takes_turns(device, backend) -> None:
    """Components by the smallest label, of which halves take turns: the same as at once."""
    rng, xp = np.random.default_rng(6), device.xp
    graph = su.Graph(200, backend=backend, device=device, directed=False)
    graph.insert_edges(*rng.integers(0, 200, (2, 180)))
    found = []
    for turn in (None, lambda v, step, *others: v & 1 == step & 1):
        label, fresh = xp.arange(200), xp.zeros(200, np.int64)
        done = su.converge(
            graph, None, smallest, args=(label, fresh), reduce="min", then=take, commit=show, wake="both", turn=turn
        )
        assert done.converged
        found.append(device.to_numpy(label).tolist())
    assert found[0] == found[1]


def hubs(v, c, total, label, cost):
    return total


def test_rows_of_hubs(device, backend) -> None:
    """More labels than tables of a warp and of a block have places; also such as share hashes."""
    rng, n = np.random.default_rng(8), 9000
    degrees = [8000, 4097, 1500, 300, 257, 129, 33, 9, 8, 2]
    rows = [rng.choice(n, degree, replace=False) for degree in degrees]
    graph = su.Graph(n, backend=backend, device=device, weight_dtype="float32")
    dst = np.concatenate(rows)
    weight = rng.integers(1, 9, len(dst)).astype(np.float32) / 4
    graph.insert_edges(np.repeat(np.arange(len(degrees)), degrees), dst, weight)
    for label in (rng.integers(0, n, n), rng.integers(0, 3, n), np.arange(n), np.arange(n) // 4096 * 4096):
        args = device.xp.asarray(label), device.xp.zeros(n)
        found = device.to_numpy(su.neighbor_reduce(graph, range(10), chosen_out, args=args, reduce="vote"))
        start = 0
        for u, row in enumerate(rows):
            votes = zip(label[row].tolist(), weight[start : start + len(row)].tolist(), strict=True)
            votes = [vote for vote, v in zip(votes, row, strict=True) if v != u]
            assert found[u] == vote_model.winner(votes, n, lambda c, total: total)[0]
            start += len(row)


def counts_out(u, v, w, label, won, sums, arcs):
    arcs.add(1)
    return label[v], (w if u != v else 0)


def note_both(v, c, total, label, won, sums, arcs):
    won[v] = c
    sums[v] = total
    return 0


def third(v, step, *others):
    return v % 3 == step


@pytest.mark.parametrize("units", few([None, 60, 1]))
@pytest.mark.parametrize("turn", few([third, None]))
def test_rounds_over_rows_of_hubs(device, backend, turn: Any, units: int | None, monkeypatch) -> None:
    """Integers add up in tables in device memory, as far as these fit; each arc is read once, or counts once."""
    if device.is_cuda and units is not None:
        from suricate.operators.cuda.pull import converge

        monkeypatch.setattr(converge, "FEWEST_UNITS", units)
        monkeypatch.setattr(converge, "MOST_UNITS", units)
    rng, xp, n = np.random.default_rng(8), device.xp, 9000
    degrees = [8000, 4097, 1500, 700, 300, 257, 129, 128, 33, 9, 8, 2, 0]
    rows = [rng.choice(n, degree, replace=False) for degree in degrees]
    graph = su.Graph(n, backend=backend, device=device, weight_dtype="int32")
    dst = np.concatenate(rows)
    weight = rng.integers(-(2**30), 2**31 - 1, len(dst)).astype(np.int32)
    graph.insert_edges(np.repeat(np.arange(len(degrees)), degrees), dst, weight)
    for label in (rng.integers(0, n, n), rng.integers(0, 3, n), np.arange(n), np.arange(n) // 4096 * 4096):
        won, sums, arcs = xp.full(n, -1), xp.zeros(n, np.int64), graph.scalar("sum", "int64")
        done = su.converge(
            graph, None, counts_out, args=(xp.asarray(label), won, sums, arcs), reduce="vote", over="out",
            then=note_both, wake=None, turn=turn, max_steps=3,
        )  # fmt: skip
        assert done.touched == n
        assert arcs.read() == (len(dst) if turn is None else sum(degrees[2::3]))  # of the last sub-round
        start = 0
        for u, row in enumerate(rows):
            votes = zip(label[row].tolist(), weight[start : start + len(row)].tolist(), strict=True)
            votes = [vote for vote, v in zip(votes, row, strict=True) if v != u]
            best, total = vote_model.winner(votes, n, lambda c, total: total)
            assert (int(won[u]), int(sums[u])) == (best, total if votes else 0)
            start += len(row)


@pytest.mark.parametrize("best", few([3, 1, 60]))
def test_the_best_labels(device, backend, best: int) -> None:
    """Of vertices in any order, repeated, with fewer labels than asked for, and with scores that are equal."""
    rng, xp, n = np.random.default_rng(9), device.xp, 80
    graph = su.Graph(n, backend=backend, device=device, directed=False, weight_dtype="float32")
    src, dst = rng.integers(0, n - 2, (2, 500))
    graph.insert_edges(src, dst, rng.integers(-2, 4, 500) / np.float32(4))
    label, keep, cost = rng.integers(-1, 30, n), rng.integers(0, 30, n), rng.integers(0, 3, 30).astype(float)
    args = xp.asarray(label), xp.asarray(cost)
    votes = votes_by_vertex(graph, label, "in")
    for ids in (None, [5, 79, 3, 3, 0]):
        found = su.neighbor_reduce(
            graph, ids, chosen, args=args, reduce="vote", score=worth, keep=xp.asarray(keep), labels=30, over="in",
            best=best,
        )  # fmt: skip
        labels, scores = (device.to_numpy(array) for array in found)
        assert labels.shape == scores.shape == (n if ids is None else len(ids), best)
        for v, row, points in zip(range(n) if ids is None else ids, labels.tolist(), scores.tolist(), strict=True):
            score = lambda c, total: total - cost[c]  # noqa: E731
            wanted = vote_model.winners(votes[v], 30, score, int(keep[v]), best)
            assert row == [c for c, _ in wanted] + [su.EMPTY] * (best - len(wanted))
            assert points == [score(c, float(total)) for c, total in wanted] + [-np.inf] * (best - len(wanted))
    out = xp.zeros((2, best), np.int64), xp.zeros((2, best))
    found = su.neighbor_reduce(graph, [1, 2], chosen, args=args, reduce="vote", over="in", best=best, out=out)
    assert found.labels is out[0]
    assert out[0][0, 0] == vote_model.winner(votes[1], n, lambda c, total: total)[0]


def neighbour(u, v, w, seed):
    return v, 1


def hashed(v, x, total, seed):
    return -su.mixed(seed, v, x)


def test_a_sample_by_hashes_is_the_same_in_every_order(device, every_backend) -> None:
    """The neighbours with the smallest hashes of (seed, vertex, neighbour), as NumPy finds them."""
    rng, n = np.random.default_rng(10), 60
    pairs = np.unique(rng.integers(0, n, (700, 2)), axis=0)
    graph = su.Graph(n, backend=every_backend, device=device)
    for part in np.array_split(rng.permutation(pairs), 3):
        graph.insert_edges(*part.T)
    found = su.neighbor_reduce(graph, None, neighbour, args=(7,), reduce="vote", score=hashed, best=4)
    for v, row in enumerate(device.to_numpy(found.labels).tolist()):
        mine = pairs[pairs[:, 0] == v, 1]
        wanted = mine[np.argsort(su.mixed(7, v, mine))][:4].tolist()
        assert row == wanted + [su.EMPTY] * (4 - len(wanted))


def test_wrong_calls(device) -> None:
    graph, xp = su.Graph(4, device=device, directed=False), device.xp
    graph.insert_edges([0, 1], [1, 2])
    label, cost = xp.arange(4), xp.zeros(4)

    def call(fn: Any = chosen, reduce: str = "vote", **options: Any) -> Any:
        return su.neighbor_reduce(graph, None, fn, args=(label, cost), reduce=reduce, over="in", **options)

    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (EdgeFunctionError, "return \\(label, weight\\)", {"fn": lambda u, v, w, label, cost: label[u]}),
        (EdgeFunctionError, "a label is an integer", {"fn": lambda u, v, w, label, cost: (cost[u], 1)}),
        (EdgeFunctionError, "a tuple", {"fn": lambda u, v, w, label, cost: (label[u], 1, 2)}),
        (RequirementError, "for reduce='vote'", {"fn": lambda u, v, w, label, cost: 1, "reduce": "sum", "keep": label}),
        (ShapeError, "keep", {"keep": label[:3]}),
        (ShapeError, "keep", {"keep": cost}),
        (DeviceError, "keep", {"keep": [0, 1, 2, 3]}),
        (ParameterError, "labels", {"labels": -1}),
        (ParameterError, "labels", {"labels": 2.5}),
        (ParameterError, "best", {"best": 0}),
        (RequirementError, "then", {"best": 2, "then": lambda v, c, total, label, cost: True}),
        (DTypeError, "pair", {"best": 2, "out": xp.zeros((4, 2), np.uint32)}),
        (ShapeError, "out\\[0\\]", {"best": 2, "out": (xp.zeros((4, 3), np.uint32), xp.zeros((4, 2)))}),
        (DTypeError, "labels of a vote", {"dtype": "int32"}),
        (DTypeError, "labels of a vote", {"out": xp.zeros(4, np.float64)}),
    ]
    for error, match, options in cases:
        with pytest.raises(error, match=match):
            call(**options)
    with pytest.raises(RequirementError, match="turn"):
        su.converge(
            graph, None, chosen, args=(label, cost), reduce="vote", then=lambda v, c, total, *others: 0,
            turn=lambda v, step, *others: True, stop=su.Stop(until=graph.scalar("sum", "int64")),
        )  # fmt: skip
    assert call(labels=0).tolist() == [su.EMPTY] * 4
    assert call(out=xp.zeros(4, np.int64)).tolist() == [1, 0, 1, su.EMPTY]


def test_sums_of_negative_weights_may_vanish(device) -> None:
    """A label whose votes cancel each other was voted for, unlike one without votes."""
    graph = su.Graph(4, device=device, weight_dtype="int32", in_edges=True)
    graph.insert_edges([1, 2], [0, 0], [3, -3])
    label = device.xp.asarray(np.array([7, 1, 1, 2]))
    found = su.neighbor_reduce(
        graph, None, chosen, args=(label, device.xp.zeros(4)), reduce="vote", labels=8, over="in"
    )
    assert device.to_numpy(found).tolist() == [1, su.EMPTY, su.EMPTY, su.EMPTY]
