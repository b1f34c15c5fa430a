"""``su.contract``: sums between groups, against dictionaries; updates against a fresh contraction."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.operators.contraction import unit_of

LABELS = 30


def on_host(graph: Any, array: Any) -> np.ndarray:
    return graph.device.to_numpy(array)


def expected(graph: Any, labels: Any) -> tuple[dict[tuple[int, int], float], dict[int, float]]:
    """Return the weight between each pair of labels, and the strength of each label, by a loop over the edges."""
    between: dict[tuple[int, int], float] = {}
    strength = dict.fromkeys([int(labels[v]) for v in np.flatnonzero(on_host(graph, graph.live))], 0.0)
    src, dst, weight = (None if part is None else on_host(graph, part) for part in graph.edges())
    for i, (u, v) in enumerate(zip(src, dst, strict=True)):
        w = 1.0 if weight is None else float(weight[i])
        a, b = int(labels[u]), int(labels[v])
        pair = (a, b) if graph.directed else (min(a, b), max(a, b))
        between[pair] = between.get(pair, 0) + w
        strength[a] += w
        strength[b] += w
    return {pair: w for pair, w in between.items() if w != 0}, strength


def agree(contraction: su.Contraction, graph: Any, labels: Any) -> None:
    """Assert that ``contraction`` is that of ``graph`` by ``labels``, but for the numbers of groups."""
    between, strength = expected(graph, labels)
    group, live = on_host(graph, contraction.group), on_host(graph, graph.live)
    assert np.all(group[~live] == su.EMPTY)
    label_of = {int(group[v]): int(labels[v]) for v in np.flatnonzero(live)}
    assert [label_of[int(group[v])] for v in np.flatnonzero(live)] == [int(labels[v]) for v in np.flatnonzero(live)]
    assert len(set(label_of.values())) == len(label_of) == contraction.num_groups
    src, dst, weight = (on_host(graph, part) for part in contraction.graph.edges())
    found = {}
    for a, b, w in zip(src, dst, weight, strict=True):
        pair = label_of[int(a)], label_of[int(b)]
        found[pair if graph.directed else (min(pair), max(pair))] = float(w)
    assert found == between
    assert {label_of[a]: float(contraction.strength[a]) for a in label_of} == strength
    contraction.graph.check()


def random_change(graph: Any, rng: np.random.Generator, step: int) -> Any:
    """Make one of five changes of ``graph`` in turn; return the delta."""
    src, dst = rng.integers(0, graph.num_vertices, (2, 8))
    if step % 5 in (0, 3):
        weight = () if graph.weight_dtype is None else (rng.integers(-2, 9, 8),)
        return graph.insert_edges(src, dst, *weight)
    if step % 5 == 1:
        edges = graph.edges()
        some = rng.integers(0, len(edges.src), 8)
        return graph.delete_edges(*(on_host(graph, part)[some] for part in edges[:2]))
    return graph.delete_vertices(src[:1]) if step % 5 == 2 else None


@pytest.mark.parametrize("weight_dtype", [None, "float32", "int32"])
@pytest.mark.parametrize("directed", [False, True])
def test_an_updated_contraction_equals_a_fresh_one(
    backend: Any, device: Any, directed: bool, weight_dtype: Any
) -> None:
    """After each of 100 updates of edges, vertices and labels it is what a loop over the edges finds."""
    rng = np.random.default_rng(5)
    graph = su.Graph(40, backend=backend, device=device, directed=directed, weight_dtype=weight_dtype, in_edges=True)
    random_change(graph, rng, 0)
    random_change(graph, rng, 0)
    labels = rng.integers(0, 8, 40)
    contraction = su.contract(graph, labels)
    agree(contraction, graph, labels)
    for step in range(100):
        delta = random_change(graph, rng, step)
        moved = rng.integers(0, 40, 2)
        labels[moved] = rng.integers(0, LABELS, 2)
        contraction.update(delta, moved, labels)
        if step % 9 == 0 or step == 99:
            agree(contraction, graph, labels)
    agree(su.contract(graph, labels), graph, labels)


def test_ids_of_groups(device: Any) -> None:
    """Groups are numbered by their smallest vertices; an id that is freed is given again, else a new one is last."""
    graph = su.Graph(6, device=device, directed=False)
    graph.insert_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
    labels = np.array([5, 5, 2, 2, 0, 0])
    contraction = su.contract(graph, labels)
    assert contraction.group.tolist() == [0, 0, 1, 1, 2, 2]
    labels[[2, 3]] = 0, 3
    contraction.update(None, [2, 3], labels)
    assert contraction.group.tolist() == [0, 0, 2, 3, 2, 2]
    assert contraction.num_groups == 3
    labels[[5, 1, 2]] = 1, 4, 5
    contraction.update(None, [1, 2, 5], labels)
    assert contraction.group.tolist() == [0, 1, 0, 3, 2, 4]
    assert contraction.graph.deleted_vertices.tolist() == []


def test_self_loops_and_strengths(device: Any) -> None:
    """A self-loop holds the weights inside, each edge once; the strength has them twice."""
    graph = su.Graph(4, device=device, directed=False, weight_dtype="float64")
    graph.insert_edges([0, 0, 1, 2], [0, 1, 2, 3], [1.5, 2.0, 4.0, 8.0])
    contraction = su.contract(graph, np.array([0, 0, 1, 1]))
    weights = contraction.graph.edge_weights([0, 0, 1], [0, 1, 1])
    assert weights.tolist() == [3.5, 4.0, 8.0]
    assert contraction.strength.tolist() == [11.0, 20.0]


def test_weights_are_exact_in_any_order(device: Any) -> None:
    """Weights of any size are rounded to one unit, so every order of the edges gives the same sums, bit for bit."""
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 50, (2, 400))
    weight = rng.random(400) * 10.0 ** rng.integers(-6, 6, 400)
    found = []
    for order in (np.arange(400), np.arange(400)[::-1], rng.permutation(400)):
        graph = su.Graph(50, device=device, directed=False, weight_dtype="float64")
        first = np.unique(np.minimum(src, dst) * 50 + np.maximum(src, dst), return_index=True)[1]
        at = order[np.isin(order, first)]
        graph.insert_edges(src[at], dst[at], weight[at])
        contraction = su.contract(graph, np.arange(50) % 3)
        assert contraction.unit == unit_of(graph)
        between = contraction.graph.edge_weights(*np.divmod(np.arange(9), 3))
        found.append([on_host(graph, part).tobytes() for part in (between, contraction.strength)])
    assert found[0] == found[1] == found[2]


def test_operators_and_trackers_work_on_the_groups(device: Any) -> None:
    """The graph of the groups is a graph: algorithms run on it before the first update, and follow updates."""
    graph = su.Graph(6, device=device, directed=False)
    graph.insert_edges([0, 1, 3, 4], [1, 2, 4, 5])
    labels = np.array([0, 0, 1, 2, 2, 3])
    contraction = su.contract(graph, labels)
    parts = contraction.graph.track("wcc")
    assert parts.result.label.tolist() == [0, 0, 2, 2]
    contraction.update(graph.insert_edges([2], [3]))
    assert parts.result.label.tolist() == [0, 0, 0, 0]
    agree(contraction, graph, labels)
    with pytest.raises(su.errors.RequirementError, match="follows another graph"):
        contraction.graph.insert_edges([0], [1])


@pytest.mark.parametrize("directed", [False, True])
def test_vertices_are_added_and_recycled(backend: Any, device: Any, directed: bool) -> None:
    """Vertices of ``insert_vertices`` are found, from an empty graph on, also after an error."""
    graph = su.Graph(0, backend=backend, device=device, directed=directed, in_edges=True)
    contraction = su.contract(graph, np.empty(0, int))
    graph.insert_vertices(3)
    graph.insert_vertices(2)
    with pytest.raises(su.errors.VertexRangeError):
        contraction.update(labels=np.array([1, 1, 3, 3, 5]))
    labels = np.array([1, 1, 3, 3, 4])
    contraction.update(graph.insert_edges([0, 1, 2], [1, 2, 4]), labels=labels)
    agree(contraction, graph, labels)
    contraction.update(graph.delete_vertices([1, 4]))
    agree(contraction, graph, labels)
    assert on_host(graph, graph.insert_vertices(3, recycle=True)).tolist() == [1, 4, 5]
    labels = np.array([1, 0, 3, 3, 0, 5])
    contraction.update(graph.insert_edges([5], [0]), labels=labels)
    agree(contraction, graph, labels)


@pytest.mark.parametrize("directed", [False, True])
def test_the_unit_follows_the_weights(device: Any, directed: bool) -> None:
    """Edges lighter than the first unit count, and sums stay exact under heavier ones: nothing is left of them."""
    rng = np.random.default_rng(4)
    graph = su.Graph(60, device=device, directed=directed, weight_dtype="float64", in_edges=True)
    labels = np.arange(60) % 3
    contraction = su.contract(graph, labels)
    for scale in (0.3, 1e9, 1e-9):
        src, dst = rng.integers(0, 60, (2, 500))
        contraction.update(graph.insert_edges(src, dst, rng.random(500) * scale))
        got, fresh = contraction, su.contract(graph, labels)
        assert got.unit == fresh.unit
        assert np.allclose(on_host(graph, got.strength), on_host(graph, fresh.strength), rtol=1e-12, atol=0)
        between = [on_host(graph, each.graph.edge_weights([0, 0, 1], [0, 1, 2])) for each in (got, fresh)]
        assert np.allclose(*between, rtol=1e-12, atol=0)
        for half in (slice(0, 250), slice(0, None)):
            edges = graph.edges()
            contraction.update(graph.delete_edges(edges.src[half], edges.dst[half]))
        assert contraction.graph.num_edges == 0
        assert not contraction.strength.any()


def test_an_update_follows_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update contracts nothing anew, and lists the arcs of moved vertices only."""
    rng = np.random.default_rng(3)
    graph = su.Graph(500, device="cpu", directed=False)
    graph.insert_edges(*rng.integers(0, 500, (2, 3000)))
    labels = rng.integers(0, 20, 500)
    contraction = su.contract(graph, labels)
    listed, adjacency = [], su.Graph.adjacency

    def counted(self: Any, vertices: Any, over: Any = "out") -> Any:
        listed.append(len(vertices))
        return adjacency(self, vertices, over)

    monkeypatch.setattr(su.Graph, "adjacency", counted)
    monkeypatch.setattr("suricate.operators.contraction.merged", None)
    monkeypatch.setattr("suricate.operators.contraction._pairs", None)
    labels[7] = 3
    contraction.update(graph.insert_edges([1, 2], [3, 4]), [7])
    assert listed == [1]
    monkeypatch.undo()
    agree(contraction, graph, labels)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_divided(ranks: int, directed: bool) -> None:
    """On several ranks groups, weights and strengths are those of one process, also after updates."""

    def job(comm: Any) -> None:
        rng = np.random.default_rng(8)
        graph = su.Graph(30, device="cpu", directed=directed, weight_dtype="float64", in_edges=True, comm=comm)
        first = comm.rank == 0
        src, dst, weight = rng.integers(0, 30, (3, 80))
        part = slice(None) if first else slice(0)
        graph.insert_edges(src[part], dst[part], weight[part] / 3)
        alone = su.Graph(30, device="cpu", directed=directed, weight_dtype="float64", in_edges=True)
        alone.insert_edges(src, dst, weight / 3)
        labels = rng.integers(0, 9, 30)
        both = su.contract(graph, labels.copy()), su.contract(alone, labels.copy())
        for step in range(4):
            one, other = both
            assert one.unit == other.unit
            assert one.group.tolist() == other.group.tolist()
            assert one.strength.tolist() == other.strength.tolist()
            pairs = np.divmod(np.arange(one.num_groups**2), one.num_groups)
            got, right = (each.graph.edge_weights(*pairs, default=0) for each in both)
            assert got.tolist() == right.tolist()
            moved = rng.integers(0, 30, 3)
            labels[moved] = rng.integers(0, 30, 3)
            for each, mine in zip(both, (part, slice(None)), strict=True):
                each.update(each._of.delete_edges(src[mine][step::7], dst[mine][step::7]), moved, labels.copy())

    su.parallel.run(job, ranks=ranks)


def test_bad_input(device: Any) -> None:
    """Labels of a wrong shape, type or range, and batches left out, are refused."""
    graph = su.Graph(4, device=device, directed=False, weight_dtype="float32")
    graph.insert_edges([0, 1], [1, 2], [1, 2])
    for labels, error in (
        (np.zeros(3, int), su.errors.ShapeError),
        (np.zeros(4), su.errors.DTypeError),
        (np.array([0, 1, 2, 4]), su.errors.VertexRangeError),
        (np.array([0, 1, -1, 3]), su.errors.VertexRangeError),
    ):
        with pytest.raises(error):
            su.contract(graph, labels)
    contraction = su.contract(graph, np.arange(4))
    with pytest.raises(su.errors.VertexRangeError):
        contraction.update(None, [1], np.array([0, 9, 2, 3]))
    assert contraction.group.tolist() == [0, 1, 2, 3]
    graph.insert_edges([2], [3], [1])
    with pytest.raises(su.errors.ParameterError, match="every batch"):
        contraction.update(graph.insert_edges([0], [3], [1]))
    contraction = su.contract(su.Graph(2, device=device), np.arange(2))
    with pytest.raises(su.errors.RequirementError, match="in_edges"):
        contraction.update(None, [0], np.array([1, 1]))


@pytest.mark.parametrize("columns", [None, {"kind": "int32"}])
def test_deltas_of_earlier_batches_are_refused(device: Any, columns: Any) -> None:
    """An earlier delta in place of the last one is an error, also a copy of it; the last one is then still taken."""
    graph = su.Graph(6, device=device, directed=False, weight_dtype="float32", edge_columns=columns)
    weight = [1.0, 2.0] if columns is None else {"weight": [1.0, 2.0], "kind": [3, 4]}
    first = graph.insert_edges([0, 1], [1, 2], weight)
    labels = np.array([0, 0, 2, 2, 4, 4])
    contraction = su.contract(graph, labels)
    last = graph.delete_edges([0], [1])
    graph.insert_vertices()
    labels = np.append(labels, 6)
    for delta in (first, copy.copy(first), pickle.loads(pickle.dumps(first)), graph.insert_edges([], [], [])):
        with pytest.raises(su.errors.ParameterError, match="earlier batch"):
            contraction.update(delta, labels=labels)
    contraction.update(pickle.loads(pickle.dumps(last)), labels=labels)
    agree(contraction, graph, labels)


def test_a_contraction_is_freed_at_once() -> None:
    """What is dropped gives its memory back without a garbage collection."""
    graph = su.Graph(4, device="cpu", directed=False)
    graph.insert_edges([0, 1], [1, 2])
    gc.disable()
    try:
        made = su.contract(graph, np.array([0, 0, 1, 1]))
        there = weakref.ref(made.graph)
        del made
        assert there() is None
    finally:
        gc.enable()


@pytest.mark.gpu
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_rows_of_groups_on_cuda(weight_dtype: str | None) -> None:
    """Groups are numbered by their smallest vertices of a size, and rows have the sums of dense matrices."""
    from suricate.operators.contraction.on_device import grouped
    from suricate.store.fallbacks import edges_of

    rng = np.random.default_rng(7)
    n, bound, unit = 120, 40, 2.0**-20
    src, dst = rng.integers(0, n, (2, 900))
    graph = su.Graph(n, device="cuda", directed=False, weight_dtype=weight_dtype)
    graph.insert_edges(src, dst, *([] if weight_dtype is None else [rng.integers(0, 3, 900) / 3]))
    labels, size = rng.integers(0, bound, n).astype(np.uint32), rng.integers(1, 4, n)
    apart = np.flatnonzero(on_host(graph, graph.degrees()) == 0)
    size[apart[::2]] = 0
    arcs = edges_of(graph.view(), graph.device)[1]
    src, dst = on_host(graph, arcs.src), on_host(graph, arcs.dst)
    weight = np.ones(len(src)) if arcs.weight is None else np.floor(on_host(graph, arcs.weight) / unit + 0.5) * unit
    strength = np.bincount(src, weight * (1 + (src == dst)), n)
    known = list(dict.fromkeys(labels[size > 0].tolist()))
    group = np.array([known.index(each) if its else su.EMPTY for each, its in zip(labels, size, strict=True)])
    dense = np.zeros((len(known), len(known)))
    once = (group[src] != group[dst]) | (src <= dst)
    np.add.at(dense, (group[src][once], group[dst][once]), weight[once])

    given = [graph.device.xp.asarray(array) for array in (labels, size, strength)]
    found = grouped(graph.view(), graph.device, *given, bound, unit)
    assert found is not None
    assert on_host(graph, found.group).tolist() == group.tolist()
    assert on_host(graph, found.label).tolist() == known
    in_one = group != su.EMPTY
    for got, by_vertex in ((found.size, size), (found.strength, strength)):
        assert on_host(graph, got).tolist() == np.bincount(group[in_one], by_vertex[in_one], len(known)).tolist()
    rows = edges_of(found.rows, graph.device)[1]
    got = np.zeros_like(dense)
    got[on_host(graph, rows.src), on_host(graph, rows.dst)] = on_host(graph, rows.weight)
    assert np.array_equal(got, dense)
    assert len(rows.src) == np.count_nonzero(dense)
