"""Edge sets: the arcs of user-given edges, and of deltas, against dictionaries."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from graph_model import as_dict, both

import suricate as su
from suricate.base.types import EdgeList, PlacedArcs
from suricate.errors import DTypeError, RequirementError, ShapeError, UnknownNameError, VertexRangeError
from suricate.store import fallbacks
from suricate.testing.syncs import count_syncs


def test_the_arcs_are_those_that_were_given(device):
    graph = su.Graph(5, device=device)
    edges = graph.edge_set([0, 3, 3], [1, 2, 3], [1.5, 2.5, 3.5])
    assert as_dict(graph, edges.arcs().read()) == {(0, 1): 1.5, (3, 2): 2.5, (3, 3): 3.5}
    assert edges.value_dtype == np.float64
    assert (edges.size, edges.num_vertices) == (3, 5)
    assert repr(edges) == f"<EdgeSet: at most 3 arcs, float64 values, {graph.device}>"


def test_both_arcs_of_an_undirected_edge(device):
    graph = su.Graph(5, device=device, directed=False)
    edges = graph.edge_set([0, 3], [1, 2])
    assert as_dict(graph, edges.arcs().read()) == dict.fromkeys([(0, 1), (1, 0), (3, 2), (2, 3)])
    assert edges.value_dtype is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 5], [1, 1]), VertexRangeError, r"src\[1\]"),
        (([0, 1], [1, -1]), VertexRangeError, r"dst\[1\]"),
        (([0, 1], [1]), ShapeError, "1"),
        (([0, 1], [1, 2], [1.0]), ShapeError, "1"),
        (([0, 1], [1, 2], np.array([True, False])), DTypeError, "bool"),
        (([0.5], [1]), DTypeError, "src"),
    ],
)
def test_edges_that_do_not_fit_are_refused(device, arguments, error, message):
    with pytest.raises(error, match=message):
        su.Graph(5, device=device).edge_set(*arguments)


def test_ids_on_the_device_are_checked_too(device):
    graph = su.Graph(5, device=device)
    for dtype in ("int8", "int64"):  # of several bad ids the first one is named
        with pytest.raises(VertexRangeError, match=r"dst\[1\] is 5"):
            graph.edge_set(device.xp.array([0, 1, 2]), device.xp.array([1, 5, -1], dtype))


@pytest.mark.parametrize("directed", [True, False])
def test_a_delta_has_one_edge_set_of_a_kind(backend, device, directed):
    graph = su.Graph(5, backend=backend, device=device, directed=directed, weight_dtype="float32")
    graph.insert_edges([0, 1], [1, 2], [1.0, 2.0])
    delta = graph.insert_edges([0, 1, 3, 3], [1, 2, 3, 3], [1.0, 5.0, 7.0, 8.0])
    assert delta.edge_set("inserted") is delta.edge_set("inserted")
    assert as_dict(graph, delta.edge_set("inserted").arcs().read()) == {(3, 3): 8.0}
    arcs = [(1, 2)] if directed else [(1, 2), (2, 1)]
    assert as_dict(graph, delta.edge_set("replaced").arcs().read()) == dict.fromkeys(arcs, 5.0)
    assert as_dict(graph, delta.edge_set("replaced_old").arcs().read()) == dict.fromkeys(arcs, 2.0)
    assert delta.edge_set("deleted").size == 0
    with pytest.raises(UnknownNameError, match="inserted, deleted, replaced"):
        delta.edge_set("new")


@pytest.mark.parametrize("directed", [True, False])
def test_the_arcs_of_a_delta_are_those_of_its_edge_sets(backend, device, directed):
    graph = su.Graph(5, backend=backend, device=device, directed=directed, weight_dtype="float32")
    graph.insert_edges([0, 1, 3], [1, 2, 3], [1.0, 2.0, 3.0])
    delta = graph.apply(su.Batch(insert=([1, 2, 2], [2, 2, 4], [5.0, 6.0, 7.0]), delete=([0, 3], [1, 3])))
    for kind in ("inserted", "deleted", "replaced", "replaced_old"):
        listed, arcs = delta.arcs(kind), delta.edge_set(kind).arcs()
        assert (listed.size, listed.wanted) == (arcs.size, arcs.wanted)
        assert listed.src is arcs.src or not listed.size
    with pytest.raises(UnknownNameError, match="inserted, deleted, replaced"):
        delta.arcs("new")


def placed_values(arcs) -> tuple:
    """Where the arrays of arcs lie on a CUDA device, which entries count, and how many there are."""
    addresses = arcs.addresses if isinstance(arcs, PlacedArcs) else [0 if p is None else p.data.ptr for p in arcs[:4]]
    return *addresses, arcs.wanted, arcs.size


@pytest.mark.parametrize("weight_dtype", [None, "float64"])
@pytest.mark.parametrize("directed", [True, False])
def test_placed_arcs_are_the_arcs_of_a_delta(backend, device, directed, weight_dtype):
    graph = su.Graph(9, backend=backend, device=device, directed=directed, weight_dtype=weight_dtype, in_edges=directed)
    xp, weights = graph.device.xp, None if weight_dtype is None else [1.0, 2.0, 3.0]
    ids = xp.asarray([0, 1, 3]), xp.asarray([1, 2, 3])
    for change in (
        lambda: graph.insert_edges(*ids, None if weights is None else xp.asarray(weights)),
        lambda: graph.delete_edges(*ids),
        lambda: graph.apply(su.Batch(insert=(*ids, weights), delete=([5], [6]))),
        lambda: graph.delete_vertices([3]),
        lambda: graph.insert_vertices(2) is None or graph.delete_edges([7], [7]),
    ):
        delta = change()
        for kind in ("inserted", "deleted", "replaced", "replaced_old"):
            placed = delta.arcs(kind, placed=True)
            listed = delta.arcs(kind)
            if placed is None:
                assert not listed.size
            elif graph.device.is_cuda:
                assert placed_values(placed) == placed_values(listed)
            else:
                assert placed is listed or placed.src is listed.src
    with pytest.raises(UnknownNameError, match="inserted, deleted, replaced"):
        delta.arcs("new", placed=True)


def test_the_edge_sets_of_a_delta_are_its_lists_also_after_these_were_read(backend, device):
    graph = su.Graph(5, backend=backend, device=device, directed=False)
    graph.insert_edges([0, 1], [1, 1])
    delta = graph.delete_edges([1, 1, 0, 2], [1, 0, 1, 3])
    assert delta.num_deleted == 2
    assert as_dict(graph, delta.edge_set("deleted").arcs().read()) == dict.fromkeys([(0, 1), (1, 0), (1, 1)])


def test_edges_that_go_with_a_vertex(backend, device):
    graph = su.Graph(5, backend=backend, device=device, in_edges=True)
    graph.insert_edges([0, 1, 1, 2], [1, 1, 2, 3])
    delta = graph.delete_vertices([1])
    assert as_dict(graph, delta.edge_set("deleted").arcs().read()) == dict.fromkeys([(0, 1), (1, 1), (1, 2)])
    assert isinstance(delta.edge_set("deleted").arcs().read(), EdgeList)


# -- the table and the rows --------------------------------------------------------------------------------------------

N = 60


def random_set(device, directed, dtype, size, seed=3):
    """An edge set with many repeats, loops and a heavy source, and the dictionary of its arcs."""
    rng = np.random.default_rng(seed)
    graph = su.Graph(N, device=device, directed=directed)
    src, dst = rng.integers(0, N, (2, size))
    src[: size // 3], dst[: size // 20] = 7, 7
    values = None if dtype is None else rng.integers(0, 1000, size).astype(dtype)
    edges = {}
    for i, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        edges[(u, v) if directed else (min(u, v), max(u, v))] = None if values is None else values[i].item()
    return graph, graph.edge_set(src, dst, values), edges if directed else both(edges)


def ask(device, edges, src, dst):
    """``(found, values)`` by the cursor of the rows, as lists."""
    found, values = fallbacks.find(edges.view(), device, device.xp.asarray(src), device.xp.asarray(dst))
    found = device.to_numpy(found)
    return found.tolist(), None if values is None else device.to_numpy(values)[found].tolist()


@pytest.mark.parametrize("size", [0, 1, 40, 3000])
@pytest.mark.parametrize("dtype", [None, "float32", "uint64"])
@pytest.mark.parametrize("directed", [True, False])
def test_table_and_rows_equal_the_dictionary(device, directed, dtype, size):
    graph, edges, expected = random_set(device, directed, dtype, size)
    assert as_dict(graph, edges.arcs().read()) == expected
    once = {(u, v): value for (u, v), value in expected.items() if directed or u <= v}
    assert as_dict(graph, edges.edges()) == once
    src, dst = (part.ravel().astype(np.uint32) for part in np.mgrid[:N, :N])
    wanted = [(u, v) in expected for u, v in zip(src.tolist(), dst.tolist(), strict=True)]
    found, values = ask(device, edges, src, dst)
    assert found == wanted
    if dtype is not None:
        assert values == [expected[u, v] for u, v in zip(src.tolist(), dst.tolist(), strict=True) if (u, v) in expected]
    assert as_dict(graph, fallbacks.edges_of(edges.view(), device)[1]) == expected
    degrees = device.to_numpy(fallbacks.degrees(edges.view(), device)).tolist()
    assert degrees == [sum(u == v for u, _ in expected) for v in range(N)]


@pytest.mark.parametrize("directed", [True, False])
def test_functions_ask_the_table(directed):
    from numba import njit

    from suricate.state.edges import edge_look_ups

    contains = njit(lambda table, u, x: edge_look_ups.contains(table, u, x))
    value_of = njit(lambda table, u, x, default: edge_look_ups.value_of(table, u, x, default))
    _, edges, expected = random_set(su.Graph(1, device="cpu").device, directed, "float32", 200)
    table = edges.table()
    assert edges.table() is table
    for u in range(N):
        for v in range(N):
            assert contains(table, np.uint32(u), np.uint32(v)) == ((u, v) in expected)
            assert value_of(table, np.uint32(u), np.uint32(v), -1) == expected.get((u, v), -1)


@pytest.mark.parametrize("directed", [True, False])
def test_the_cursor_of_the_rows_keeps_to_the_protocol(directed):
    from suricate.testing.walks import walk_view

    graph, edges, expected = random_set(su.Graph(1, device="cpu").device, directed, "float64", 300)
    absent = [pair for pair in np.ndindex(N, N) if pair not in expected]
    walked, degrees = walk_view(edges.view(), len(expected), tuple(np.array(absent, np.uint32).T))
    assert as_dict(graph, walked) == expected
    assert degrees.sum() == len(expected)


def test_rows_by_destination_are_those_by_source_if_edges_have_no_direction(device):
    edges = su.Graph(3, device=device, directed=False).edge_set([0], [1])
    assert edges.view("in") is edges.view("out")
    with pytest.raises(RequirementError, match="reversed edges"):
        su.Graph(3, device=device).edge_set([0], [1]).view("in")
    with pytest.raises(UnknownNameError, match="'out', 'in'"):
        edges.view("up")


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_rows_of_a_delta_have_what_the_batch_changed(backend, device, directed, weighted):
    rng = np.random.default_rng(5)
    graph = su.Graph(N, backend=backend, device=device, directed=directed, weight_dtype="int32" if weighted else None)

    def batch(size):
        src, dst = rng.integers(0, N, (2, size))
        dst[: size // 10] = src[: size // 10]
        xp = device.xp
        return tuple(map(xp.asarray, (src, dst, rng.integers(1, 4, size))[: 3 if weighted else 2]))

    graph.insert_edges(*batch(600))
    for delta in (
        graph.insert_edges(*batch(900)),
        graph.delete_edges(*batch(500)[:2]),
        graph.apply(su.Batch(insert=batch(700), delete=batch(700)[:2])),
    ):
        for kind in ("inserted", "deleted", "replaced", "replaced_old"):
            edges = delta.edge_set(kind)
            listed = as_dict(graph, edges.arcs().read())
            assert as_dict(graph, fallbacks.edges_of(edges.view(), device)[1]) == listed
            src, dst = (part.ravel().astype(np.uint32) for part in np.mgrid[:N, :N])
            found, values = ask(device, edges, src, dst)
            pairs = [pair for pair in zip(src.tolist(), dst.tolist(), strict=True) if pair in listed]
            assert sum(found) == len(listed)
            assert values == (None if edges.value_dtype is None else [listed[pair] for pair in pairs])
            assert listed == as_dict(graph, delta.arcs(kind).read())


@pytest.mark.parametrize("directed", [True, False])
def test_tables_and_rows_take_at_most_64_bytes_per_edge(device, directed):
    graph = su.Graph(100_000, device=device, directed=directed)
    rng = np.random.default_rng(1)
    ids = device.xp.asarray(rng.permutation(100_000).astype(np.uint32))
    edges = graph.insert_edges(ids[:50_000], ids[50_000:]).edge_set("inserted")
    data = edges.view().data
    made = {name: getattr(data, name) for name in ("source", "row", "rows", "key", "entry")}
    assert sum(array.nbytes for array in made.values()) <= 64 * 50_000 + 1000


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda edges: pickle.loads(pickle.dumps(edges))])
@pytest.mark.parametrize("directed", [True, False])
def test_copies_have_the_same_edges(device, directed, copied):
    graph, edges, expected = random_set(device, directed, "float64", 300)
    other = copied(edges)
    assert as_dict(graph, other.arcs().read()) == expected
    assert as_dict(graph, fallbacks.edges_of(other.view(), device)[1]) == expected
    assert (other.num_vertices, other.value_dtype, other.directed) == (N, np.float64, directed)


def test_threads_that_ask_at_once_get_one_table(device):
    _, edges, expected = random_set(device, False, None, 2000)
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(lambda _: edges.table(), range(8)))
        views = list(pool.map(lambda _: edges.view(), range(8)))
    assert all(table is tables[0] for table in tables)
    assert all(view is views[0] for view in views)
    assert len(edges.arcs().read().src) == len(expected)


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
@pytest.mark.parametrize("directed", [True, False])
def test_what_a_batch_changed_is_made_without_a_wait(backend, device, directed):
    xp = su.Graph(1, device="cuda").device.xp
    rng = np.random.default_rng(2)
    graph = su.Graph(N, backend=backend, device="cuda", directed=directed, checks="deferred", weight_dtype="float32")
    insert = (*xp.asarray(rng.integers(0, N, (2, 500))), xp.asarray(rng.random(500)))
    graph.insert_edges(*insert)

    def change():
        delta = graph.apply(su.Batch(insert=insert, delete=insert[:2]))
        for kind in ("inserted", "deleted", "replaced", "replaced_old"):
            delta.edge_set(kind).table()
            delta.edge_set(kind).view()

    change()
    graph.synchronize()
    assert not count_syncs(change).calls


@pytest.mark.parametrize(("table_first", "taken"), [(True, 2), (False, 1)])
def test_table_and_rows_share_memory_where_both_are_made(
    table_first: bool, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suricate.state.edges import edge_set_cpu

    calls, made = [], edge_set_cpu.all_bits_set
    monkeypatch.setattr(edge_set_cpu, "all_bits_set", lambda *given: calls.append(given) or made(*given))
    edges = su.Graph(5, device="cpu").edge_set([0, 0, 3], [1, 2, 4])
    edges._repeats = False  # they are distinct
    if table_first:
        edges.table()
    view = edges.view()
    assert len(calls) == taken
    assert edges.table().key is view.data.key
    assert len(edges.arcs().read().src) == 3
    assert su.intersect(edges, edges, [0, 0], [0, 3]).tolist() == [2, 0]
