"""``Batch`` and ``Delta``: construction, lazy lists, net changes, arcs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import CPU
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED, ArcList, Change, EdgeList, Outcome
from suricate.errors import ShapeError, UnknownNameError, WeightError
from suricate.graph.delta import Delta, both_directions


def pairs(edges, host=np.asarray):
    return sorted(zip(host(edges.src).tolist(), host(edges.dst).tolist(), strict=True))


# -- Batch -------------------------------------------------------------------------------------------------------------


def test_a_batch_takes_tuples_and_edge_lists():
    batch = su.Batch(insert=([0, 1], [1, 2], 3.5), delete=su.EdgeList([0], [1]))
    assert batch.insert == EdgeList([0, 1], [1, 2], 3.5)
    assert len(batch) == 3
    assert repr(batch) == "Batch(insert=2 edges, delete=1 edges)"
    assert len(su.Batch()) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"insert": ([0, 1], [1])}, ShapeError, r"insert\.src has 2 entries and insert\.dst has 1"),
        ({"delete": ([0], [1, 2])}, ShapeError, r"delete\.src has 1 entries and delete\.dst has 2"),
        ({"insert": ([0, 1], [1, 2], [1.0])}, ShapeError, r"insert\.weight has 1 entries for 2 edges"),
        ({"insert": ([0],)}, ShapeError, "insert is not an edge list"),
        ({"insert": np.zeros((3, 2), int)}, ShapeError, "insert is not an edge list"),
        ({"insert": (0, 1)}, ShapeError, r"insert\.src is not an array"),
        ({"delete": ([0], [1], [2.0])}, WeightError, "delete has weights"),
    ],
)
def test_batches_that_do_not_fit_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        su.Batch(**arguments)


def test_half_a_batch_is_an_insertion_or_a_deletion(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    assert graph.apply(su.Batch(insert=([0, 1], [1, 2]))).num_inserted == 2
    assert graph.apply(su.Batch(delete=([0, 3], [1, 3]))).num_deleted == 1
    assert graph.version == 2


def test_deletions_come_before_insertions(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    delta = graph.apply(su.Batch(insert=([0, 1], [1, 2]), delete=([0, 1], [1, 2])))
    assert (delta.num_inserted, delta.num_deleted) == (2, 0)
    assert graph.num_edges == 2
    again = graph.apply(su.Batch(insert=([0], [1]), delete=([0, 1], [1, 2])))
    assert (again.num_inserted, again.num_deleted, graph.num_edges) == (0, 1, 1)


# -- Delta -------------------------------------------------------------------------------------------------------------


def delta_of(edges, status, old=None, directed=True, mirrored=False, **options):
    change = Change(edges, Outcome(np.array(status, np.uint8), old), mirrored)
    dtype = None if edges.weight is None else edges.weight.dtype
    return Delta(CPU, directed=directed, weight_dtype=dtype, num_vertices=(9, 9), added=change, **options)


def edges_of(src, dst, weight=None):
    return EdgeList(
        np.array(src, np.uint32), np.array(dst, np.uint32), None if weight is None else np.array(weight, "f4")
    )


def test_lists_are_made_when_asked_for_and_only_once():
    waited = []
    delta = delta_of(edges_of([0, 1], [1, 2]), [NEW, UNCHANGED], wait=lambda keep: waited.append(keep))
    assert not waited
    assert pairs(delta.inserted) == [(0, 1)]
    assert delta.inserted.src is delta.inserted.src
    assert len(delta) == 1
    assert len(waited) == 1


def test_new_and_replaced_edges_are_told_apart():
    edges = edges_of([0, 1, 2], [1, 2, 3], [5, 6, 7])
    delta = delta_of(edges, [REPLACED, NEW, UNCHANGED], np.array([1, 0, 0], "f4"))
    assert (pairs(delta.inserted), pairs(delta.replaced)) == ([(1, 2)], [(0, 1)])
    assert (delta.replaced.weight.tolist(), delta.replaced_old.tolist()) == ([5], [1])
    assert delta.arcs("replaced_old").read().weight.tolist() == [1]
    assert repr(delta) == "Delta(inserted=1, deleted=0, replaced=1)"


@pytest.mark.parametrize("copy", [0, 1])
def test_either_copy_of_a_mirrored_self_loop_may_carry_its_status(copy):
    edges = edges_of([3, 1, 3, 2], [3, 2, 3, 1], [4, 5, 4, 5])
    status, old = [UNCHANGED, NEW, UNCHANGED, NEW], np.zeros(4, "f4")
    status[2 * copy], old[2 * copy] = REPLACED, 8
    delta = delta_of(edges, status, old, directed=False, mirrored=True)
    assert (pairs(delta.inserted), pairs(delta.replaced), delta.replaced_old.tolist()) == ([(1, 2)], [(3, 3)], [8])
    assert pairs(delta.arcs("replaced").read()) == [(3, 3)]
    assert pairs(delta.arcs("inserted").read()) == [(1, 2), (2, 1)]


def test_both_directions_repeats_all_but_self_loops():
    arcs = both_directions(np, edges_of([0, 1], [2, 1], [3, 4]))
    assert pairs(arcs) == [(0, 2), (1, 1), (2, 0)]
    assert arcs.weight.tolist() == [3, 4, 3]


@pytest.mark.parametrize(
    ("old", "now"),
    [
        ("edges", r"delta\.edge_set\(kind\)"),
        ("arc_list", r"delta\.arcs\(kind\)"),
        ("placed_arcs", r"delta\.arcs\(kind, placed=True\)"),
    ],
)
@pytest.mark.parametrize("columns", [None, {"km": "int64"}])
def test_old_names_of_changes_name_the_new_ones(old, now, columns):
    delta = su.Graph(2, device="cpu", edge_columns=columns).insert_edges([0], [1])
    with pytest.raises(AttributeError, match=f"{old!r}; it is written {now} now"):
        getattr(delta, old)
    assert {old, "arcs", "_lists"} & {*dir(delta)} == {"arcs", "_lists"}
    assert {old, "arcs"} & {*dir(su.Delta)} == {"arcs"}


def test_reading_arcs_leaves_out_entries_that_do_not_count():
    arcs = ArcList(np.array([4, 5, 6]), np.array([1, 2, 3]), np.array([0.5, -0.0, 5e-324]), np.array([1, 0, 1]), 1, 3)
    found = arcs.read()
    assert [part.tolist() for part in found] == [[4, 6], [1, 3], [0.5, 5e-324]]
    whole = arcs._replace(status=None, weight=None).read()
    assert (whole.src.tolist(), whole.dst.tolist(), whole.weight) == ([4, 5, 6], [1, 2, 3], None)
    assert not np.shares_memory(whole.src, arcs.src)


def test_an_unknown_kind_of_change_is_refused(device):
    delta = su.Graph(2, device=device).insert_edges([0], [1])
    with pytest.raises(UnknownNameError, match="inserted, deleted, replaced, replaced_old"):
        delta.arcs("new")


def test_an_empty_delta_has_lists_of_the_right_dtypes(backend, device):
    graph = su.Graph(3, backend=backend, device=device, weight_dtype="int32")
    delta = graph.insert_edges([], [], [])
    assert delta.is_empty
    for edges in (delta.inserted, delta.deleted, delta.replaced):
        assert [part.dtype.name for part in edges] == ["uint32", "uint32", "int32"]
    assert delta.replaced_old.dtype == np.int32
    assert (delta.num_vertices_before, delta.num_vertices_after, len(delta.deleted_vertices)) == (3, 3, 0)


def test_deleted_vertices_are_part_of_the_delta(backend, device):
    graph = su.Graph(5, backend=backend, device=device, directed=False, weight_dtype="float32")
    graph.insert_edges([0, 1, 2, 1], [1, 2, 2, 3], [1, 2, 3, 4])
    delta = graph.delete_vertices([2, 1, 2])
    host = device.to_numpy
    assert pairs(delta.deleted, host) == [(0, 1), (1, 2), (1, 3), (2, 2)]
    assert sorted(host(delta.deleted.weight).tolist()) == [1, 2, 3, 4]
    assert host(delta.deleted_vertices).tolist() == [1, 2]
    assert len(delta) == 6
    assert repr(delta) == "Delta(inserted=0, deleted=4, replaced=0, deleted_vertices=2)"


def test_deleted_edges_keep_the_weights_they_had(backend, device):
    graph = su.Graph(4, backend=backend, device=device, weight_dtype="float64", in_edges=True)
    graph.insert_edges([0, 1], [1, 2], [1.5, 2.5])
    delta = graph.delete_edges([1, 0, 1, 3], [2, 3, 2, 3])
    assert pairs(delta.deleted, device.to_numpy) == [(1, 2)]
    assert device.to_numpy(delta.deleted.weight).tolist() == [2.5]


def test_a_delta_outlives_later_changes(backend, device):
    graph = su.Graph(4, backend=backend, device=device, weight_dtype="float64")
    first = graph.insert_edges([0, 1], [1, 2], [1, 2])
    second = graph.insert_edges([0, 1], [1, 2], [3, 4])
    third = graph.delete_edges([0, 1], [1, 2])
    graph.insert_edges([2, 3], [1, 2], [5, 6])
    assert pairs(first.inserted, device.to_numpy) == [(0, 1), (1, 2)]
    assert device.to_numpy(second.replaced_old).tolist() == [1, 2]
    assert sorted(device.to_numpy(third.deleted.weight).tolist()) == [3, 4]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_are_compared_bit_for_bit(dtype):
    """What is deleted and comes back with other bits is replaced: signed zeros and subnormal numbers as well."""
    src, dst = np.arange(5, dtype=np.uint32), np.arange(1, 6, dtype=np.uint32)
    old, new = np.array([0.0, -0.0, 1e-45, 1e-40, 3], dtype), np.array([-0.0, -0.0, 3e-45, 1e-40, 3], dtype)
    gone = Change(EdgeList(src, dst), Outcome(np.full(5, REMOVED, np.uint8), old), mirrored=False)
    came = Change(EdgeList(src, dst, new), Outcome(np.full(5, NEW, np.uint8), np.zeros(5, dtype)), mirrored=False)
    delta = Delta(CPU, True, np.dtype(dtype), (9, 9), removed=gone, added=came)
    assert (delta.num_inserted, delta.num_deleted) == (0, 0)
    assert pairs(delta.replaced) == [(0, 1), (2, 3)]
    assert delta.replaced.weight.tobytes() == new[[0, 2]].tobytes()
    assert delta.replaced_old.tobytes() == old[[0, 2]].tobytes()


def test_a_delta_holds_no_graph(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    delta = graph.insert_edges([0], [1])
    gone = weakref.ref(graph.store())
    del graph
    gc.collect()
    assert gone() is None
    assert delta.num_inserted == 1
