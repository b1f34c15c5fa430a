"""Bad input: each case raises its own exception, says where and what, and leaves the graph as it was.

On CUDA every case runs twice, with arrays on the host (checked there) and on the device (checked by a kernel).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bad_input import N, Unchanged, make, place

import suricate as su
from suricate.errors import DeviceError, DTypeError, SelfLoopError, ShapeError, VertexRangeError, WeightError

__all__ = ["make", "place"]


def calls(graph, src, dst):
    """Yield everything that takes edges."""
    weight = None if graph.weight_dtype is None else 1
    yield lambda: graph.insert_edges(src, dst, weight)
    yield lambda: graph.delete_edges(src, dst)
    yield lambda: graph.has_edges(src, dst)
    if weight is not None:
        yield lambda: graph.edge_weights(src, dst)


BAD_IDS = [
    (np.array([1, N, 3]), f"[1] is {N}"),
    (np.array([1, 2, -1]), "[2] is -1"),
    (np.array([-1, 2, 3], np.int8), "[0] is -1"),
    (np.array([1, 200, 3], np.uint8), "[1] is 200"),
    (np.array([1, -300, 3], np.int16), "[1] is -300"),
    (np.array([1, 2, -(2**31)], np.int32), "[2] is -2147483648"),
    (np.array([1, 2**32 - 1, 3], np.uint32), "[1] is 4294967295"),
    (np.array([1, 2**32 - 2, 3]), "[1] is 4294967294"),
    (np.array([1, 2**32, 3]), "[1] is 4294967296"),
    (np.array([1, 2**32 + 1, 3]), "[1] is 4294967297"),
    (np.array([1, 2**63, 3], np.uint64), "[1] is 9223372036854775808"),
    (np.array([1, 2**64 - 1, 3], np.uint64), "[1] is 18446744073709551615"),
    (np.array([1, -(2**63), 2**62]), "[1] is -9223372036854775808"),
]


@pytest.mark.parametrize(("ids", "message"), BAD_IDS)
@pytest.mark.parametrize("options", [{}, {"directed": False, "weight_dtype": "float32"}, {"in_edges": True}])
def test_ids_out_of_range(make, place, options, ids, message):
    graph = make(**options)
    good = place(np.array([1, 2, 3]))
    for name, batch in (("src", (place(ids), good)), ("dst", (good, place(ids)))):
        for call in calls(graph, *batch):
            with Unchanged(graph), pytest.raises(VertexRangeError) as caught:
                call()
            assert f"{name}{message}" in str(caught.value)
            assert "ids are 0 to 9" in str(caught.value)
            is_far = message not in ("[1] is 10", "[1] is 200")
            assert ("su.Names().intern(ids)" if is_far else "insert_vertices()") in str(caught.value)


def test_the_first_bad_entry_is_named(make, place):
    graph = make()
    ids = np.arange(5000) % N
    bad = ids.copy()
    bad[[4999, 777, 3000]] = 77, 88, 99
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"dst\[777\] is 88"):
        graph.insert_edges(place(ids), place(bad))


def test_both_parts_of_a_batch_are_checked_before_either_is_applied(make, place):
    graph = make()
    good = place(np.array([1])), place(np.array([2]))
    bad = place(np.array([3])), place(np.array([N]))
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"insert\.dst\[0\] is 10"):
        graph.apply(su.Batch(insert=bad, delete=good))
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"delete\.dst\[0\] is 10"):
        graph.apply(su.Batch(insert=good, delete=bad))


def test_a_graph_works_on_after_an_error(make, place):
    graph = make()
    for _ in range(5):
        with pytest.raises(VertexRangeError):
            graph.insert_edges(place(np.array([N])), place(np.array([0])))
        assert graph.insert_edges(place(np.array([4])), place(np.array([5]))).num_inserted == 1
        assert graph.delete_edges(place(np.array([4])), place(np.array([5]))).num_deleted == 1
    graph.check()


@pytest.mark.parametrize("ids", [[2**64], [1, -(2**70)], [-1, 2**63]])
def test_python_integers_beyond_64_bits(make, ids):
    graph = make()
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[\d\] is -?\d+: vertex ids are below 2\*\*32"):
        graph.insert_edges(ids, ids)
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[0\] is a number of thousands of digits"):
        graph.insert_edges([10**5000], ids[:1])


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4", ">u8"]
)
def test_every_integer_dtype_is_taken(make, place, device, dtype):
    graph = make(directed=False)
    if place is not np.asarray and not np.dtype(dtype).isnative:
        pytest.skip("CuPy has no foreign byte order")
    src, dst = place(np.array([4, 5, 9], dtype)), place(np.array([5, 6, 0], dtype))
    assert graph.insert_edges(src, dst).num_inserted == 3
    assert device.to_numpy(graph.has_edges(src, dst)).all()
    assert graph.delete_edges(src, dst).num_deleted == 3
    graph.check()


def test_mixed_dtypes_and_places(make, device):
    graph = make(weight_dtype="float64")
    xp = device.xp
    delta = graph.insert_edges([4, 5], xp.array([5, 6], np.uint8), xp.array([1, 2], np.int16))
    assert delta.num_inserted == 2
    assert graph.insert_edges(xp.array([7, 8], np.uint64), (8, 9), [0.5, 1]).num_inserted == 2
    assert graph.insert_edges(range(2), range(8, 10), 2).num_inserted == 2
    assert device.to_numpy(graph.edge_weights([4, 7, 0], [5, 8, 8])).tolist() == [1, 0.5, 2]


def test_strided_and_read_only_arrays(make, place, device):
    graph = make(weight_dtype="float32")
    wide = np.arange(20) % N
    src, dst, weight = place(wide)[::2], place(wide)[::-2], place(np.arange(20.0))[::2]
    assert graph.insert_edges(src, dst, weight).num_inserted == 5  # five distinct ones, given twice
    assert device.to_numpy(graph.has_edges(src, dst)).all()
    if place is np.asarray:
        frozen = np.array([7, 8], np.uint32)
        frozen.flags.writeable = False
        assert graph.insert_edges(frozen, frozen, np.float32(1)).num_inserted == 2
    graph.check()


class Foreign:
    """An array of another library that offers DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(self.array)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries(make, place, device):
    graph = make(weight_dtype="float32")
    src, dst, weight = (Foreign(place(np.array(values, "int32"))) for values in ([4, 5], [5, 6], [1, 2]))
    assert graph.insert_edges(src, dst, weight).num_inserted == 2
    assert device.to_numpy(graph.edge_weights(src, dst)).tolist() == [1, 2]


def test_ids_of_other_libraries_of_other_dtypes(make, place):
    graph = make()
    with Unchanged(graph), pytest.raises(DTypeError, match="src has dtype float64: integers are needed"):
        graph.insert_edges(Foreign(place(np.array([1.0, 2.0]))), [1, 2])


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (np.array([1.0, 2.0]), "float64"),
        (np.array([True, False]), "bool"),
        (np.array([1j, 2]), "complex128"),
        (np.array([1.0, np.nan]), "float64"),
    ],
)
def test_ids_of_other_dtypes(make, place, ids, dtype):
    graph = make()
    for call in calls(graph, place(np.arange(len(ids))), place(ids)):
        with Unchanged(graph), pytest.raises(DTypeError, match=f"dst has dtype {dtype}: integers are needed"):
            call()


def test_missing_ids_are_called_missing():
    graph = su.Graph(3, device="cpu")
    for ids in (pd.Series([1, None], dtype="Int64"), pd.Series([1, None]), [1, float("nan")]):
        with pytest.raises(DTypeError, match=r"src has dtype .*: integers are needed; some entries are missing"):
            graph.insert_edges(ids, [1, 2])


@pytest.mark.parametrize("masked", [np.ma.array([1, 2, 99], mask=[0, 0, 1]), [np.ma.masked, 1, 2]])
def test_masked_entries_are_refused(make, masked):
    graph = make(weight_dtype="float32")
    good = [1, 2, 3]
    for batch in ((masked, good, good), (good, masked, good), (good, good, masked)):
        with Unchanged(graph), pytest.raises(DTypeError, match="has masked entries"):
            graph.insert_edges(*batch)
    with Unchanged(graph), pytest.raises(DTypeError, match="src has masked entries"):
        graph.has_edges(masked, good)
    with Unchanged(graph), pytest.raises(DTypeError, match=r"insert\.dst has masked entries"):
        graph.apply(su.Batch(insert=(good, masked, 1), delete=(good, good)))
    with Unchanged(graph), pytest.raises(DTypeError, match="ids has masked entries"):
        graph.delete_vertices(masked)


def test_a_mask_that_hides_nothing(make, device):
    graph = make(weight_dtype="float32")
    src, dst = np.ma.array([4, 5], mask=[0, 0]), np.ma.array([5, 6])
    assert graph.insert_edges(src, dst, np.ma.array([1.5, 2])).num_inserted == 2
    assert device.to_numpy(graph.edge_weights(src, dst)).tolist() == [1.5, 2]
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[1\] is 10"):
        graph.insert_edges(np.ma.array([1, N], mask=[0, 0]), [1, 2], 1)


@pytest.mark.parametrize("values", [[np.int64(4), np.uint64(5)], (np.uint8(4), 5, np.int64(5))])
def test_lists_of_many_integer_types(make, values):
    graph = make()
    assert graph.insert_edges(values, [6] * len(values)).num_inserted == 2
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[1\] is -1"):
        graph.insert_edges([np.uint64(4), np.int64(-1)], [1, 2])
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[1\] is 10, but ids are 0 to 9"):
        graph.insert_edges([np.uint64(4), np.int64(N)], [1, 2])


@pytest.mark.parametrize("values", [[True, 2], [1, False], (np.True_, 2), [np.int64(1), True]])
def test_bools_among_numbers(make, values):
    graph = make(weight_dtype="float32")
    with Unchanged(graph), pytest.raises(DTypeError, match="src mixes bools with other values"):
        graph.insert_edges(values, [1, 2], 1)
    with Unchanged(graph), pytest.raises(DTypeError, match="weight mixes bools with other values"):
        graph.insert_edges([1, 2], [1, 2], values)
    with Unchanged(graph), pytest.raises(DTypeError, match="vertices has dtype bool"):
        graph.neighbors(True)
    with Unchanged(graph), pytest.raises(ShapeError, match="vertex is one id: adjacency"):
        graph.neighbors([1])


@pytest.mark.parametrize("ids", [[None, 1], [0.5, 1], [True, False]])
def test_lists_of_other_things(make, ids):
    graph = make()
    with Unchanged(graph), pytest.raises(DTypeError, match="src has dtype"):
        graph.insert_edges(ids, [0, 1])


@pytest.mark.parametrize("options", [{}, {"weight_dtype": "int32"}])
def test_lengths_that_differ(make, place, options):
    graph = make(**options)
    for call in calls(graph, place(np.array([1, 2])), place(np.array([1, 2, 3]))):
        with Unchanged(graph), pytest.raises(ShapeError, match="src has 2 entries and dst has 3"):
            call()


def test_shapes_other_than_one_dimensional(make, place):
    graph = make()
    flat = place(np.arange(4))
    for call in calls(graph, place(np.zeros((2, 2), int)), flat):
        with Unchanged(graph), pytest.raises(ShapeError, match=r"src has shape \(2, 2\)"):
            call()
    with Unchanged(graph), pytest.raises(ShapeError, match=r"dst has shape \(\)"):
        graph.insert_edges([1], 2)
    with Unchanged(graph), pytest.raises(ShapeError, match="src is no one-dimensional array"):
        graph.insert_edges([[1], [2, 3]], [1, 2])
    for ids, kind in ((iter([1, 2]), "of type list_iterator"), ({1, 2}, "of type set"), (None, "None")):
        with Unchanged(graph), pytest.raises(ShapeError, match=f"src is {kind}: pass"):
            graph.insert_edges(ids, [1, 2])


@pytest.mark.parametrize("names", [["ann", "bob"], np.array(["ann", "bob"]), np.array(["ann", "bob"], object)])
def test_texts_as_ids(make, names):
    graph = make()
    with Unchanged(graph), pytest.raises(DTypeError, match="dst has texts, and vertices are numbers"):
        graph.insert_edges([1, 2], names)


@pytest.mark.parametrize("directed", [True, False])
def test_self_loops_where_they_are_an_error(make, place, directed):
    graph = make(self_loops="error", directed=directed)
    batch = place(np.array([1, 4, 5])), place(np.array([3, 4, 5]))
    with Unchanged(graph), pytest.raises(SelfLoopError, match=r"src\[1\] and dst\[1\] are both 4, a self-loop"):
        graph.insert_edges(*batch)
    assert graph.delete_edges(*batch).is_empty
    assert not device_any(graph, graph.has_edges(*batch))


FIRST_INVALID = [
    (([1, 2, N], [1, 2, 3], [1, 2, 3]), SelfLoopError, r"src\[0\] and dst\[0\] are both 1"),
    (([1, N, 3], [2, 3, 3], [1, 2, np.nan]), VertexRangeError, r"src\[1\] is 10"),
    (([1, 2, 3], [2, 3, N], [1, np.nan, 3]), WeightError, r"weight\[1\] is nan"),
    (([1, 2, N], [2, N, N], [1, 2, np.nan]), VertexRangeError, r"dst\[1\] is 10"),
    (([1, N], [2, N], [1, np.nan]), VertexRangeError, r"src\[1\] is 10"),
    (([1, 2], [2, 2], [1, np.nan]), SelfLoopError, r"src\[1\]"),
]


@pytest.mark.parametrize(("batch", "error", "message"), FIRST_INVALID)
@pytest.mark.parametrize("directed", [True, False])
def test_the_first_invalid_entry_is_reported(make, place, directed, batch, error, message):
    """The same error on both devices: of the lowest index, and there ids before the self-loop before the weight."""
    graph = make(self_loops="error", weight_dtype="float32", directed=directed)
    columns = [place(np.array(column)) for column in batch]
    with Unchanged(graph), pytest.raises(error, match=message):
        graph.insert_edges(*columns)


def test_the_part_that_is_deleted_is_reported_first(make, place):
    graph = make()
    delete = place(np.array([0, 0, 0, 0])), place(np.array([0, 0, 0, N]))
    insert = place(np.array([N])), place(np.array([0]))
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"delete\.dst\[3\] is 10"):
        graph.apply(su.Batch(insert, delete))
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"delete\.dst\[3\] is 10"):
        graph.apply(su.Batch(([N], [0]), delete))
    graph.insert_edges([4], [5])


def device_any(graph, values):
    return bool(graph.device.to_numpy(values).any())


@pytest.mark.parametrize("self_loops", ["allow", "drop", "error"])
def test_bad_ids_under_every_self_loop_policy(make, place, self_loops):
    graph = make(self_loops=self_loops, directed=False)
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[1\] is 10"):
        graph.insert_edges(place(np.array([4, N, 1])), place(np.array([5, N, 1])))


def test_graphs_without_vertices(backend, device, place):
    graph = su.Graph(0, backend=backend, device=device, in_edges=True)
    ids = place(np.array([0, 1]))
    for call in calls(graph, ids, ids):
        with Unchanged(graph), pytest.raises(VertexRangeError, match=r"src\[0\] is 0, but the graph has no vertices"):
            call()


def test_vertex_operations(make, place):
    graph = make()
    for bad, error, message in (
        (np.array([0, N]), VertexRangeError, r"ids\[1\] is 10"),
        (np.array([-1]), VertexRangeError, r"ids\[0\] is -1"),
        (np.array([0.5]), DTypeError, "ids has dtype float64"),
        (np.zeros((1, 1), int), ShapeError, r"ids has shape \(1, 1\)"),
    ):
        with Unchanged(graph), pytest.raises(error, match=message):
            graph.delete_vertices(place(bad))
    with Unchanged(graph), pytest.raises(VertexRangeError, match=r"vertices\[0\] is 10"):
        graph.neighbors(N)
    with Unchanged(graph), pytest.raises(DTypeError, match="count"):
        graph.insert_vertices(1.5)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def test_deferred_errors_come_at_the_next_wait(name):
    import cupy

    graph = su.Graph(N, backend=name, device="cuda", checks="deferred", weight_dtype="float32")
    one, two, bad = (cupy.array([i]) for i in (1, 2, N + 5))
    deltas = []

    def insert(*batch):
        try:
            deltas.append(graph.insert_edges(*batch, 1))
        except VertexRangeError:  # a backend without guards is checked at once
            deltas.append(None)

    insert(one, two)
    insert(two, bad)
    insert(bad, one)
    insert(two, one)
    guarded = None not in deltas
    if guarded:
        with pytest.raises(VertexRangeError, match=r"dst\[0\] is 15.*deferred.*version 1\)"):
            graph.synchronize()
    graph.synchronize()
    graph.check()
    assert graph.num_edges == 2
    assert graph.version == (4 if guarded else 2)
    assert [delta.num_inserted for delta in deltas if delta is not None] == ([1, 0, 0, 1] if guarded else [1, 1])
    found = graph.has_edges(cupy.array([1, -1]), cupy.array([2, 0]))
    with pytest.raises(VertexRangeError, match=r"src\[1\] is -1"):
        graph.synchronize()
    assert found.get()[0]


@pytest.mark.gpu
def test_arrays_of_another_cuda_device():
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("this machine has one CUDA device")
    graph = su.Graph(N, device="cuda:0")
    with cupy.cuda.Device(1):
        ids = cupy.array([1, 2])
        with Unchanged(graph), pytest.raises(DeviceError, match="src is on cuda:1, the graph on cuda:0"):
            graph.insert_edges(ids, ids)


@pytest.mark.gpu
def test_a_graph_on_the_cpu_takes_arrays_of_a_cuda_device():
    import cupy

    graph = su.Graph(N, device="cpu")
    assert graph.insert_edges(cupy.array([1]), cupy.array([2])).num_inserted == 1
