"""Union-find against SciPy's connected components."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from suricate.base.devices import resolve_device
from suricate.base.types import ArcList
from suricate.errors import DTypeError, ParameterError, ShapeError, VertexRangeError
from suricate.state.frontier import Frontier
from suricate.state.union_find import UnionFind


def smallest_members(n: int, src, dst) -> np.ndarray:
    """Return the smallest member of each vertex's component, by SciPy."""
    _, component = connected_components(coo_array((np.ones(len(src)), (src, dst)), shape=(n, n)), directed=False)
    smallest = np.full(n, n)
    np.minimum.at(smallest, component, np.arange(n))
    return smallest[component]


def labels_of(sets: UnionFind) -> list[int]:
    labels = sets.labels()
    assert labels.dtype == np.uint32
    return sets.device.to_numpy(labels).tolist()


@pytest.mark.parametrize(("n", "m"), [(1, 0), (10, 3), (1000, 600), (1000, 5000), (50_000, 40_000)])
def test_labels_are_the_smallest_members(device, n, m):
    rng = np.random.default_rng(n + m)
    src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
    sets = UnionFind._of(n, device)
    half = m // 2
    sets.union(src[:half], dst[:half])
    sets.union(device.xp.asarray(src[half:]), device.xp.asarray(dst[half:]))
    expected = smallest_members(n, src, dst)
    assert labels_of(sets) == expected.tolist()
    assert sets.num_components == len(np.unique(expected))
    a, b = rng.integers(0, n, 100), rng.integers(0, n, 100)
    assert device.to_numpy(sets.connected(a, b)).tolist() == (expected[a] == expected[b]).tolist()


@pytest.mark.parametrize("order", ["up", "down", "star"])
def test_long_chains_and_hubs(device, order):
    n = 20_000
    src = np.arange(n - 1) if order == "up" else np.arange(n - 1)[::-1]
    dst = np.full(n - 1, n - 1) if order == "star" else src + 1
    sets = UnionFind._of(n, device)
    sets.union(src, dst)
    assert set(labels_of(sets)) == {0}
    assert sets.num_components == 1


@given(data=st.data())
def test_any_order_of_operations(data):
    n = data.draw(st.integers(1, 12))
    sets, pairs = UnionFind._of(n), []
    for _ in range(data.draw(st.integers(0, 8))):
        match data.draw(st.sampled_from(["union", "resize", "reset", "reset one set"])):
            case "union":
                ids = st.integers(0, n - 1)
                batch = data.draw(st.lists(st.tuples(ids, ids), max_size=6))
                sets.union([a for a, _ in batch], [b for _, b in batch])
                pairs += batch
            case "resize":
                n += data.draw(st.integers(0, 5))
                sets.resize(n)
            case "reset":
                sets.reset()
                pairs = []
            case _:
                label = data.draw(st.integers(0, n - 1))
                members = np.flatnonzero(np.array(labels_of(sets)) == label)
                sets.detach(members)
                pairs = [pair for pair in pairs if pair[0] not in members]
        expected = smallest_members(n, [a for a, _ in pairs], [b for _, b in pairs])
        assert labels_of(sets) == expected.tolist()
        assert sets.num_components == len(np.unique(expected))


def test_labels_are_a_copy(device):
    sets = UnionFind._of(3, device)
    labels = sets.labels()
    sets.union([0], [2])
    assert device.to_numpy(labels).tolist() == [0, 1, 2]
    labels[:] = 0
    assert labels_of(sets) == [0, 1, 0]


def test_trusted_arrays(device):
    xp = device.xp
    sets = UnionFind._of(5, device)
    a, b = xp.asarray(np.array([4, 3], np.uint32)), xp.asarray(np.array([3, 1], np.uint32))
    sets.union(a, b, trusted=True)
    assert labels_of(sets) == [0, 1, 2, 1, 1]
    assert device.to_numpy(sets.connected(a, b, trusted=True)).all()
    sets.detach(xp.asarray(np.array([1, 3, 4], np.uint32)), trusted=True)
    assert labels_of(sets) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("filtered", [True, False])
def test_arcs_with_a_status(device, filtered):
    xp = device.xp
    sets = UnionFind._of(6, device)
    src, dst = (xp.asarray(np.array(ids, np.uint32)) for ids in ([0, 1, 4, 2], [1, 2, 5, 3]))
    status = xp.asarray(np.array([1, 2, 1, 0], np.uint8)) if filtered else None
    sets.union_arcs(ArcList(src, dst, None, status, 1, 3))
    assert labels_of(sets) == ([0, 0, 2, 3, 4, 4] if filtered else [0, 0, 0, 3, 4, 4])


@pytest.mark.parametrize("n", [50, 3000])
def test_batches_of_arcs_join_those_of_their_status(device, n):
    rng = np.random.default_rng(n)
    sets, joined = UnionFind._of(n, device), [np.empty((2, 0), np.int64)]
    for wanted in (0, 2, 7):
        arcs, status = rng.integers(0, n, (2, n // 4)), rng.choice([0, 2, 7], n // 4)
        src, dst = device.xp.asarray(arcs.astype(np.uint32))
        sets.union_arcs(ArcList(src, dst, None, device.xp.asarray(status.astype(np.uint8)), wanted, n // 4))
        joined.append(arcs[:, status == wanted])
        assert labels_of(sets) == smallest_members(n, *np.hstack(joined)).tolist()


def test_a_frontier_is_detached(device):
    sets = UnionFind._of(8, device)
    sets.union([0, 1, 4, 5], [1, 2, 5, 6])
    ids = device.xp.asarray(np.array([4, 5, 6, 0], np.uint32))
    sets.detach(Frontier._of(device, ids, device.xp.full(1, 3, np.uint32)))
    assert labels_of(sets) == [0, 0, 0, 3, 4, 5, 6, 7]
    sets.detach(Frontier._of(device, ids[:0]))
    assert sets.num_components == 6


def test_flattening_makes_roots_parents(device):
    sets = UnionFind._of(300, device)
    sets.union(np.arange(299), np.arange(1, 300))
    assert int(device.to_numpy(sets.flatten())[0]) == 1
    assert device.to_numpy(sets.parent).tolist() == [0] * 300


def test_nothing_in_it(device):
    sets = UnionFind._of(0, device)
    assert sets.labels().shape == (0,)
    assert sets.num_components == 0
    sets.union([], [])
    assert sets.connected([], []).shape == (0,)
    sets.reset()
    sets.resize(2)
    assert labels_of(sets) == [0, 1]


@pytest.mark.parametrize(
    ("src", "dst", "error"),
    [
        ([0], [3], VertexRangeError),
        ([-1], [0], VertexRangeError),
        ([0, 1], [2], ShapeError),
        ([[0]], [[1]], ShapeError),
        ([0.5], [1], DTypeError),
    ],
)
@pytest.mark.parametrize("on_host", [True, False])
def test_bad_ids_change_nothing(device, src, dst, error, on_host):
    sets = UnionFind._of(3, device)
    give = list if on_host else device.xp.asarray
    with pytest.raises(error):
        sets.union(give(src), give(dst))
    with pytest.raises(error):
        sets.connected(give(src), give(dst))
    assert labels_of(sets) == [0, 1, 2]


def test_detach_and_resize_check_their_arguments():
    sets = UnionFind._of(3, resolve_device("cpu"))
    with pytest.raises(VertexRangeError, match="is 3,"):
        sets.detach([3])
    with pytest.raises(VertexRangeError, match="cannot shrink"):
        sets.resize(2)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "3", None, 2**33])
def test_numbers_of_elements(wrong):
    with pytest.raises(ParameterError, match="num_elements"):
        UnionFind._of(wrong)
    sets = UnionFind._of(2)
    with pytest.raises(ParameterError, match="num_elements"):
        sets.resize(wrong)
    assert labels_of(sets) == [0, 1]
