"""Who owns which vertices: ranges, blocks of new ones, and what moves, against a list of owners."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suricate as su
from suricate.base.devices import resolve_device
from suricate.parallel import Comm, run
from suricate.placement import placement
from suricate.placement.ownership import BLOCKS, Moved, Ownership

pytestmark = pytest.mark.plain


def owners(owned: Ownership) -> list[int]:
    found: list[int] = owned.owner(np.arange(owned.num_vertices, dtype=np.uint32)).tolist()
    return found


def agrees(owned: Ownership) -> None:
    """All that an ownership tells follows from the owner of each vertex."""
    found, ids = np.array(owners(owned)), np.arange(owned.num_vertices)
    starts, of_pieces = owned.pieces
    assert np.repeat(of_pieces, np.diff(starts)).tolist() == found.tolist()
    assert not (np.diff(of_pieces) == 0).any()
    mine = found == owned.rank
    assert owned.own.tolist() == ids[mine].tolist() == [v for a, b in owned.ranges.tolist() for v in range(a, b)]
    assert owned.owns(ids).tolist() == mine.tolist()
    assert owned.in_rank_order(np).tolist() == np.argsort(found, kind="stable").tolist()
    assert mine.all() or not mine[owned.stranger]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_vertices_that_stay_keep_their_owners(data: st.DataObject) -> None:
    """Under growth, by one vertex or many times, and where the last ones go."""
    size = data.draw(st.sampled_from([1, 2, 3, 8, 64]))
    rank, first = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, 90))
    owned = Ownership(rank, np.linspace(0, first, size + 1).astype(np.int64))
    for _ in range(data.draw(st.integers(1, 5))):
        before = owned
        factor = data.draw(st.sampled_from([0.0, 0.7, 1.0, 1.1, 3.0]))
        count = int(before.num_vertices * factor) + data.draw(st.integers(0, 2))
        arcs = data.draw(st.lists(st.integers(0, 9**5), min_size=size, max_size=size))
        owned = before.resized(count, arcs)
        agrees(owned)
        if (sum(arcs) and before.num_vertices) or count <= before.num_vertices:
            both = min(count, before.num_vertices)
            assert owners(owned)[:both] == owners(before)[:both]
            assert not len(owned.moved(before).begin)
        else:
            assert owned.is_ranges


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_moved_leads_from_the_owners_before_to_those_after(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 5))

    def drawn() -> Ownership:
        cuts = sorted(data.draw(st.lists(st.integers(0, 40), min_size=size, max_size=size)))
        held = data.draw(st.lists(st.integers(1, 99), min_size=size, max_size=size))
        return Ownership(0, np.array([0, *cuts])).resized(cuts[-1] + data.draw(st.integers(0, 60)), held)

    before, after = drawn(), drawn()
    both = min(before.num_vertices, after.num_vertices)
    found, moved = owners(before)[:both], after.moved(before)
    for begin, end, source, target in zip(*(column.tolist() for column in moved), strict=True):
        assert found[begin:end] == [source] * (end - begin)
        found[begin:end] = [target] * (end - begin)
    assert found == owners(after)[:both]
    assert isinstance(moved, Moved)


@pytest.mark.parametrize("size", [2, 8, 64])
def test_blocks_are_short_and_go_to_the_rank_that_holds_least(size: int) -> None:
    """Of vertices and arcs: the first ones to a rank that holds nothing; in the end all have about the same."""
    owned = Ownership(0, np.array([0] + [10_000] * size))  # rank 0 has all
    held = [50_000] + [0] * (size - 1)
    few = owned.resized(10_000 + size - 1, held)
    assert 0 not in owners(few)[10_000:]
    for count in range(20_000, 100_001, 10_000):
        owned = owned.resized(count, held)
        of = np.array(owners(owned))
        held = (5 * np.bincount(of, minlength=size)).tolist()
    assert max(held[1:]) < 1.1 * np.mean(held[1:])
    starts = owned._starts(len(owned.blocks), count)
    assert (np.diff(starts) <= np.maximum(starts[1:] / (BLOCKS * size), 1)).all()


def test_a_vertex_has_one_owner_at_both_ends_of_what_words_can_number() -> None:
    owned = Ownership(1, np.array([0, 1, 1, 1]), np.arange(33 << 8) % 3, (1 << 32) - 1)
    ids = np.array([0, 1, 2, (1 << 32) - 2], np.uint32)
    assert owned.owner(ids).tolist() == [0, *(owned.blocks[owned._number(int(v))] for v in ids[1:])]
    assert owned.owns(ids).tolist() == (owned.owner(ids) == 1).tolist()


@pytest.mark.gpu
def test_owners_on_cuda() -> None:
    owned = Ownership(2, np.array([0, 3, 3, 9])).resized(1000, [9, 1, 4])
    ids = np.arange(1000, dtype=np.uint32)
    there = resolve_device("cuda").xp.asarray(ids)
    for name in ("owner", "owns"):
        np.testing.assert_array_equal(getattr(owned, name)(there).get(), getattr(owned, name)(ids))


def listed(edges: Any) -> list[tuple[float, ...]]:
    return [*zip(*(part.tolist() for part in edges if part is not None), strict=True)]


PARAMS: dict[str, dict[str, Any]] = {"pagerank": {"tol": 1e-12}, "wcc": {}, "bfs": {"source": 0}, "triangles": {}}


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), ranks=st.integers(2, 4), directed=st.booleans(), few=st.sampled_from([10, 10**9]))
def test_a_graph_that_grows_is_that_of_one_process(seed: int, ranks: int, directed: bool, few: int) -> None:
    """Batches at the newest ids, deletions, and vertices that go and come; with ranges cut again, and without."""
    options: dict[str, Any] = {"device": "cpu", "directed": directed, "in_edges": directed, "weight_dtype": "float32"}
    names = [name for name in PARAMS if name != "triangles" or not directed]

    def steps(graph: su.Graph, comm: Comm | None) -> list[Any]:
        rng, found = np.random.default_rng(seed), list[Any]()
        trackers = {name: graph.track(name, **PARAMS[name]) for name in names}
        for _ in range(4):
            before = graph.num_vertices
            graph.insert_vertices(int(rng.integers(1, 60)))
            src = rng.integers(before, graph.num_vertices, 70)
            dst = rng.integers(0, graph.num_vertices, 70)
            weight = rng.integers(1, 9, 70).astype(np.float32)
            mine = slice(None) if comm is None else slice(*(70 * (comm.rank + k) // comm.size for k in (0, 1)))
            graph.insert_edges(src[mine], dst[mine], weight[mine])
            if rng.random() < 0.4:
                graph.delete_vertices(rng.integers(0, before + 1, 2) + 1 if before else [0])
            gone = rng.permutation(70)[:9]
            some = gone if comm is None or comm.rank == 0 else gone[:0]
            graph.delete_edges(src[some], dst[some])
            graph.check()
            ids = rng.integers(0, graph.num_vertices, 20).astype(np.uint32)
            offsets, near, weight = graph.adjacency(ids)
            ends = itertools.pairwise(offsets.tolist())
            rows = [sorted(zip(near[a:b].tolist(), weight[a:b].tolist(), strict=True)) for a, b in ends]
            found.append((listed(graph.edges()), graph.degrees().tolist(), rows, graph.has_edges(src, dst).tolist()))
            found.append({name: _plain(tracker.result) for name, tracker in trackers.items()})
        return found

    single = steps(su.Graph(1, **options), None)

    def job(comm: Comm) -> None:
        graph = su.Graph(1, comm=comm, threads=1, **options)
        for one, other in zip(steps(graph, comm), single, strict=True):
            if isinstance(one, tuple):
                assert [sorted(one[0]), *one[1:]] == [sorted(other[0]), *other[1:]]
                assert [edge[0] for edge in one[0]] == sorted(edge[0] for edge in one[0])
                continue
            for name in names:
                for mine, right in zip(one[name], other[name], strict=True):
                    np.testing.assert_allclose(mine, right, rtol=1e-9 if mine.dtype.kind == "f" else 0)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(placement, "FEW", few)
        run(job, ranks)


def _plain(result: Any) -> list[np.ndarray]:
    return [np.asarray(part).copy() for part in (result if isinstance(result, tuple) else (result,))]
