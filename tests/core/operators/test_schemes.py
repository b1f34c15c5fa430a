"""The schemes of operators: "updated" against NumPy after changes of every sort, and how the others split work."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
from operator_cases import make_case, neutral, reduce_at, schemes
from packed_cursor import packed_view
from suricate_tutorial import TutorialStore
from turns import few

import suricate as su
from suricate.base.devices import CPU
from suricate.operators import schemes as choices
from suricate.testing.syncs import count_syncs

N, GROWTH = 300, 60
HUB = 7

KINDS = {
    "directed": {},
    "in_edges": {"in_edges": True},
    "undirected": {"directed": False},
}


def value(u, v, w, x):
    return x[u] * w + v


class Story:
    """A graph beside the dictionary of its arcs, and what is known about the last mark."""

    def __init__(self, backend, device, weight_dtype, **kind):
        self.graph = su.Graph(N, backend=backend, device=device, weight_dtype=weight_dtype, **kind)
        self.rng = np.random.default_rng(1)
        self.arcs: dict[tuple[int, int], float] = {}
        self.at_mark: set[tuple[int, int]] = set()

    def both(self, src, dst):
        """Return the arcs that stand for the edges."""
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        return [[(u, v)] if self.graph.directed else [(u, v), (v, u)] for u, v in pairs]

    def insert(self, src, dst):
        weight = self.rng.integers(1, 50, len(src))
        self.graph.insert_edges(src, dst, None if self.graph.weight_dtype is None else weight)
        for arcs, w in zip(self.both(src, dst), weight.tolist(), strict=True):
            self.arcs.update(dict.fromkeys(arcs, 1 if self.graph.weight_dtype is None else w))

    def delete(self, src, dst):
        self.graph.delete_edges(src, dst)
        for arcs in self.both(src, dst):
            for arc in arcs:
                self.arcs.pop(arc, None)

    def delete_vertices(self, ids):
        self.graph.delete_vertices(ids)
        for arc in [arc for arc in self.arcs if set(arc) & set(ids)]:
            del self.arcs[arc]

    def mark(self):
        self.graph.mark()
        self.at_mark = set(self.arcs)

    def random(self, count, low=0):
        """Return random edges, self-loops and duplicates among them, a fifth of them of one hub."""
        src, dst = self.rng.integers(low, self.graph.num_vertices, (2, count))
        src[: count // 5] = HUB
        dst[-count // 20 :] = src[-count // 20 :]
        return src, dst

    def some(self, arcs, share):
        """Return a share of these arcs as two arrays."""
        pairs = np.array(sorted(arcs), np.int64).reshape(-1, 2)
        return pairs[self.rng.random(len(pairs)) < share].T

    def inserted(self):
        """Return the arcs inserted since the mark, ``(src, dst, weight)``.

        One that was there at the mark and came back may be left out: ``Graph.updated`` says which are.
        """
        device = self.graph.device
        listed = self.graph.store("out").updated()
        listed = set(
            zip(device.to_numpy(listed.src).tolist(), device.to_numpy(listed.dst).tolist(), strict=True)
        ) & set(self.arcs)
        assert set(self.arcs) - self.at_mark <= listed
        arcs = {arc: self.arcs[arc] for arc in listed}
        pairs = np.array(list(arcs), np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1], np.array(list(arcs.values()), np.int64)


def changes(story):
    """Yield after each of many changes, marks among them."""
    story.insert(*story.random(2500))
    yield "no mark yet"
    story.mark()
    yield "nothing since the mark"
    old = set(story.arcs)
    story.insert(*story.random(900))
    yield "insertions"
    story.insert(*story.some(old, 0.3))
    yield "old edges inserted again, with other weights"
    story.delete(*story.some(story.arcs, 0.4))
    yield "deletions of old and new edges"
    story.insert(*story.random(300))
    gone = old - set(story.arcs)
    story.insert(*story.some(gone, 0.5))
    yield "old edges come back"
    story.delete_vertices([HUB, 11, 12, 13])
    yield "deleted vertices"
    story.insert(*story.random(400))
    yield "insertions into the freed storage"
    story.graph.compact()
    yield "compaction"
    story.graph.insert_vertices(GROWTH)
    yield "more vertices"
    story.insert(*story.random(500, low=N - 20))
    yield "edges of new vertices"
    story.insert(np.full(N, HUB), np.arange(N))
    yield "a hub grows"
    story.mark()
    yield "nothing since the second mark"
    story.insert(*story.random(1))
    yield "one edge"
    story.delete(*story.some(story.arcs, 1))
    yield "everything is gone"
    story.insert(*story.random(50))
    yield "a new beginning"


def check_advance(story, what):
    graph, n = story.graph, story.graph.num_vertices
    src, dst, weight = story.inserted()
    x = np.random.default_rng(2).integers(0, 100, n)
    for reduce in ("min", "sum"):
        before = np.random.default_rng(3).integers(0, 3000, n)
        expected = reduce_at(reduce, before, dst, x[src] * weight + dst)
        out = graph.device.xp.asarray(before.copy())
        if graph.weight_dtype is not None and graph.weight_dtype.kind == "f":
            out = out.astype(np.float64)
        args = (graph.device.xp.asarray(x),)
        frontier = su.advance(graph, None, value, out=out, args=args, reduce=reduce, scheme="updated")
        np.testing.assert_array_equal(graph.device.to_numpy(out), expected, err_msg=what)
        changed = np.sort(graph.device.to_numpy(frontier.vertices))
        np.testing.assert_array_equal(changed, np.flatnonzero(expected != before), err_msg=what)


def check_reduce(story, what, over):
    graph, n = story.graph, story.graph.num_vertices
    src, dst, weight = story.inserted()
    x = np.random.default_rng(2).integers(0, 100, n)
    for reduce in ("sum", "max"):
        start = np.full(n, neutral(reduce, np.dtype(np.float64)))
        expected = reduce_at(reduce, start, src if over == "out" else dst, x[src] * weight + dst)
        args = (graph.device.xp.asarray(x),)
        result = su.neighbor_reduce(
            graph, None, value, args=args, reduce=reduce, over=over, dtype=np.float64, scheme="updated"
        )
        np.testing.assert_array_equal(graph.device.to_numpy(result), expected, err_msg=what)


def check_all(story, what):
    check_advance(story, what)
    check_reduce(story, what, "out")
    if story.graph.has_in_edges:
        check_reduce(story, what, "in")


@pytest.mark.compiled
@pytest.mark.parametrize("weight_dtype", few([None, "float32", "int32"]))
@pytest.mark.parametrize("kind", few(KINDS))
def test_updated_after_every_change(backend, device, weight_dtype, kind):
    story = Story(backend, device, weight_dtype, **KINDS[kind])
    for what in changes(story):
        check_all(story, what)


@pytest.mark.plain
@pytest.mark.parametrize("weight_dtype", [None, "float64"])
def test_the_list_and_the_iterator_agree(backend, device, weight_dtype, monkeypatch):
    """So do backends whose cursor has an updated-edges iterator, and the fallback for those that have none."""
    ask = choices.updated_source

    def listed(graph, over, view):
        return ask(graph, over, dataclasses.replace(view, has_updated=False))

    story = Story(backend, device, weight_dtype, in_edges=True)
    for what in changes(story):
        check_all(story, what)
        with monkeypatch.context() as patched:
            patched.setattr(choices, "updated_source", listed)
            check_all(story, what)


def test_a_marked_store_of_in_edges_is_asked_itself(backend, device):
    story = Story(backend, device, None, in_edges=True)
    story.insert(*story.random(500))
    story.mark()
    story.graph.store("in").mark()
    for _ in range(2):
        story.insert(*story.random(200))
        story.delete(*story.some(story.arcs, 0.2))
        check_all(story, "both stores are marked")


def test_updated_edges_are_not_listed_where_there_is_an_iterator(device, monkeypatch):
    """Only the storage that was inserted into is visited: nothing asks the store for a list."""
    graph = su.Graph(N, backend="slabhash", device=device)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    graph.mark()
    graph.insert_edges([5, 5, 0], [6, 7, 1])
    assert hasattr(importlib.import_module(graph.view().cursor), "updated_count")
    monkeypatch.setattr(type(graph.store()), "updated", None)
    count = su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum", scheme="updated")
    assert device.to_numpy(device.xp.flatnonzero(count)).tolist() == [5]
    out = device.xp.zeros(N, np.int64)
    reached = su.advance(graph, None, lambda u, v, w: 1, out=out, args=(), reduce="sum", scheme="updated")
    assert sorted(device.to_numpy(reached.vertices).tolist()) == [6, 7]


@pytest.mark.plain
def test_updated_on_an_backend_of_fallbacks():
    """It has neither an iterator nor marks of its own."""
    for kind in KINDS.values():
        story = Story(TutorialStore, CPU, "float32", **kind)
        for what in changes(story):
            check_all(story, what)


def test_updated_without_vertices(backend, device):
    graph = su.Graph(0, backend=backend, device=device)
    out = device.xp.zeros(0, np.int64)
    for _ in range(2):
        assert len(su.advance(graph, None, lambda u, v, w: 1, out=out, reduce="min", args=(), scheme="updated")) == 0
        assert len(su.neighbor_reduce(graph, None, lambda u, v, w: 1, reduce="sum", scheme="updated")) == 0
        graph.mark()


def test_a_copy_remembers_as_its_updated_edges_say(backend, device):
    story = Story(backend, device, "float32")
    story.insert(*story.random(200))
    story.mark()
    story.insert(*story.random(50))
    story.graph = story.graph.to(device)
    if not story.graph.store().has_mark:
        story.at_mark = set()
    check_all(story, "a copy")


def test_auto_never_picks_updated(backend, device):
    story = Story(backend, device, None)
    story.insert(*story.random(200))
    story.mark()
    story.insert(*story.random(20))
    for scheme in schemes(story):
        degrees = su.neighbor_reduce(story.graph, None, lambda u, v, w: 1, reduce="sum", scheme=scheme)
        np.testing.assert_array_equal(device.to_numpy(degrees), device.to_numpy(story.graph.degrees()))


# -- splitting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "degree"), [(1, 4096), (3, 2000), (100, 2000), (100, 0), (100, 10**6)])
def test_more_heavy_vertices_than_are_split(backend, device, most, degree, monkeypatch):
    """Repeats of a heavy vertex are split as far as the list goes, and blocks serve the others."""
    monkeypatch.setattr("suricate.operators.schemes.MAX_SPLIT", most)
    monkeypatch.setattr("suricate.operators.schemes.HEAVY_DEGREE", degree)
    case = make_case(backend, device)
    x = np.random.default_rng(2).integers(0, 1000, case.n)
    chosen = np.array([0, 1, 0, 5, 0, 0, 2, 0, case.n - 1, 0, 0, 0, 0])
    each = np.bincount(case.src, x[case.dst], case.n)[chosen]
    for scheme in schemes(case, whole=False):
        result = su.neighbor_reduce(
            case.graph, chosen, lambda u, v, w, x: x[v], args=(case.array(x),), reduce="sum", scheme=scheme
        )
        np.testing.assert_array_equal(case.host(result), each)


@pytest.mark.parametrize("few", [0, 5, 10**6])
def test_small_frontiers_split_more(backend, device, few, monkeypatch):
    monkeypatch.setattr("suricate.operators.schemes.FEW_VERTICES", few)
    case = make_case(backend, device, "float32")
    x = np.random.default_rng(2).integers(0, 1000, case.n)
    for start in ([0], [4, 3, 5, 6, 7], list(range(12)), None):
        inside = np.isin(case.src, np.arange(case.n) if start is None else start)
        before = np.full(case.n, 1e9)
        expected = reduce_at(
            "min", before, case.dst[inside], (x[case.src] * case.weight + case.dst)[inside].astype(np.float64)
        )
        for scheme in ("auto", "vertex"):
            out = case.array(before.copy())
            reached = su.advance(case.graph, start, value, out=out, reduce="min", args=(case.array(x),), scheme=scheme)
            np.testing.assert_array_equal(case.host(out), expected)
            np.testing.assert_array_equal(np.sort(case.host(reached.vertices)), np.unique(case.dst[inside]))


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_no_scheme_waits(backend, device):
    """Except "updated" where the edges have to be listed."""
    case = make_case(backend, device, in_edges=True)
    graph, xp = case.graph, device.xp
    graph.mark()
    graph.insert_edges(xp.asarray([1, 2, 3]), xp.asarray([5900, 5901, 5902]))
    graph.synchronize()
    x, out = xp.ones(case.n), xp.zeros(case.n)
    some = xp.asarray(np.arange(50, dtype=np.uint32))
    frontier = su.Frontier._of(device, some)
    names = [*schemes(case), *(["updated"] if backend == "slabhash" else [])]

    def whole():
        for scheme in names:
            su.advance(graph, None, value, out=out, reduce="min", args=(x,), scheme=scheme)
            su.neighbor_reduce(graph, None, value, args=(x,), reduce="sum", out=out, scheme=scheme)

    def from_some():
        for scheme in schemes(case, whole=False):
            reached = su.advance(graph, frontier, value, out=out, reduce="min", args=(x,), scheme=scheme)
            su.advance(graph, reached, value, out=out, reduce="min", args=(x,), scheme=scheme)

    for action in (whole, from_some):
        action()
        graph.synchronize()
        assert count_syncs(action).total == 0


# -- segments with many owners -----------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_segments_with_many_owners(device, weight_dtype, monkeypatch):
    """A scan, and a pass over what was inserted, take the owner per slot: segments of 8 slots over up to 8 vertices."""
    case = make_case("csr_baseline", device, weight_dtype)
    inserted = np.random.default_rng(3).random(len(case.src)) < 0.1
    edges = su.EdgeList(
        case.src.astype(np.uint32),
        case.dst.astype(np.uint32),
        None if weight_dtype is None else case.weight.astype(weight_dtype),
    )
    view = packed_view(edges, case.n, inserted)
    if device.is_cuda:
        moved = (device.xp.asarray(part) if isinstance(part, np.ndarray) else part for part in view.data)
        view = dataclasses.replace(view, data=type(view.data)(*moved))
    case.graph.mark()
    monkeypatch.setattr(case.graph, "view", lambda over="out": view)
    x = np.random.default_rng(2).integers(0, 100, case.n)
    args = (case.array(x),)
    values = x[case.src] * case.weight + case.dst
    for scheme, chosen in (("scan", np.ones(len(values), bool)), ("auto", None), ("updated", inserted)):
        chosen = np.ones(len(values), bool) if chosen is None else chosen
        for reduce in ("sum", "max"):
            start = np.full(case.n, neutral(reduce, np.dtype(np.float64)))
            expected = reduce_at(reduce, start, case.src[chosen], values[chosen])
            found = su.neighbor_reduce(
                case.graph, None, value, args=args, reduce=reduce, dtype=np.float64, scheme=scheme
            )
            np.testing.assert_array_equal(case.host(found), expected, err_msg=f"{scheme} {reduce}")
        before = np.full(case.n, 1e9)
        out = case.array(before.copy())
        reached = su.advance(case.graph, None, value, out=out, reduce="min", args=args, scheme=scheme)
        np.testing.assert_array_equal(case.host(out), reduce_at("min", before, case.dst[chosen], values[chosen]))
        np.testing.assert_array_equal(np.sort(case.host(reached.vertices)), np.unique(case.dst[chosen]))
