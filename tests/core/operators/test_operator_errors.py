"""Wrong calls of operators raise before anything changes."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import Device
from suricate.errors import (
    DeviceError,
    DTypeError,
    EdgeFunctionError,
    ParameterError,
    RequirementError,
    ShapeError,
    SuricateError,
    UnknownNameError,
    VertexRangeError,
    WeightError,
)

N = 4


def hop(u, v, w, out):
    return out[u] + 1


@pytest.fixture
def graph(device):
    graph = su.Graph(N, backend="csr_baseline", device=device)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    return graph


@pytest.fixture
def out(device):
    return device.xp.asarray(np.array([0, 9, 9, 9], np.int32))


def test_reductions_and_schemes(graph, out):
    with pytest.raises(UnknownNameError, match=r"'mean'.*'min', 'max', 'sum', 'or'"):
        su.advance(graph, [0], hop, out, reduce="mean")
    with pytest.raises(UnknownNameError, match="scheme='fast'"):
        su.advance(graph, [0], hop, out, scheme="fast")
    with pytest.raises(UnknownNameError, match="reduce='mode'"):
        su.propagate(graph, [0], hop, out, reduce="mode")
    with pytest.raises(UnknownNameError, match="over='all'"):
        su.neighbor_reduce(graph, hop, args=(out,), over="all")
    with pytest.raises(UnknownNameError, match="reduce='prod'"):
        su.propagate(graph, [0], hop, out, reduce="prod")
    for wrong in (-1, 1.5, True, float("nan"), "3"):
        with pytest.raises(ParameterError, match="max_steps"):
            su.propagate(graph, [0], hop, out, max_steps=wrong)
    for scheme, says in (("scan", "the whole graph"), ("updated", r"inserted since graph\.mark\(\)")):
        for some in ([0], [], su.Frontier.from_vertices(graph, list(range(N)))):
            with pytest.raises(RequirementError, match=f"'{scheme}'.*{says}.*frontier=None"):
                su.advance(graph, some, hop, out, scheme=scheme)
            with pytest.raises(RequirementError, match=f"'{scheme}'.*{says}.*vertices=None"):
                su.neighbor_reduce(graph, hop, args=(out,), vertices=some, scheme=scheme)
    graph.mark()
    graph.insert_edges([3], [0])
    with pytest.raises(RequirementError, match="in_edges"):
        su.neighbor_reduce(graph, hop, args=(out,), over="in", scheme="updated")


def test_out(graph, out, device):
    xp = device.xp
    for wrong, error, says in (
        (xp.zeros(N - 1, np.int32), ShapeError, "3 entries"),
        (xp.zeros(N + 1, np.int32), ShapeError, "5 entries"),
        (xp.zeros((N, 1), np.int32), ShapeError, "one-dimensional"),
        (xp.zeros(2 * N, np.int32)[::2], ShapeError, "contiguous"),
        (xp.zeros(N, np.int16), DTypeError, "int16"),
        (xp.zeros(N, bool), DTypeError, "bool"),
        ([0] * N, DeviceError, "list"),
    ):
        for call in (su.advance, su.propagate):
            with pytest.raises(error, match=says):
                call(graph, [0], hop, wrong)
    with pytest.raises(DTypeError, match="int32"):
        su.advance(graph, [0], lambda u, v, w: 0.5, out, args=())
    with pytest.raises(DTypeError, match="or"):
        su.advance(graph, [0], lambda u, v, w: 1, xp.zeros(N), args=(), reduce="or")
    with pytest.raises(DTypeError, match="dtype="):
        su.neighbor_reduce(graph, hop, args=(out,), out=xp.zeros(N), dtype=np.float32)
    for dtype in ("foo", object, np.int16, "M8[s]"):
        with pytest.raises(DTypeError, match="cannot be reduced"):
            su.neighbor_reduce(graph, hop, args=(out,), dtype=dtype)
    assert device.to_numpy(out).tolist() == [0, 9, 9, 9]


def test_out_must_not_share_memory_with_an_argument(graph, device):
    memory = device.xp.zeros(3 * N, np.int32)
    for out, argument in (
        (memory[:N], memory[:N]),
        (memory[:N], memory[N - 1 : 2 * N - 1]),
        (memory[N : 2 * N], memory),
        (memory[N : 2 * N], memory[:N].view(np.uint32)[1:]),
    ):
        if len(argument) < N:
            argument = memory[N - 3 : 2 * N - 3].view(np.uint32)
        with pytest.raises(ParameterError, match="out must not alias an argument"):
            su.neighbor_reduce(graph, hop, args=(argument,), out=out)
    su.neighbor_reduce(graph, hop, args=(memory[:N],), out=memory[N : 2 * N])
    assert device.to_numpy(memory).tolist() == [0] * N + [1, 1, 1, 0] + [0] * N


def test_masked_arrays(graph, out, device):
    masked = np.ma.masked_array([0, 9, 9, 9], mask=[0, 0, 0, 1], dtype=np.int32)
    host = su.Graph(N, backend="csr_baseline", device="cpu")
    with pytest.raises(DTypeError, match="masked"):
        su.advance(host, [0], hop, masked)
    with pytest.raises(DTypeError, match="masked"):
        su.neighbor_reduce(graph, hop, args=(masked,))


def test_a_column_of_pandas():
    column = pytest.importorskip("pandas").Series(np.zeros(N))
    with pytest.raises(DTypeError, match="not Series"):
        su.neighbor_reduce(su.Graph(N, device="cpu"), hop, args=(column,))


def test_arrays_that_cannot_be_written():
    graph = su.Graph(N, backend="csr_baseline", device="cpu")
    out = np.zeros(N, np.int32)
    out.flags.writeable = False
    with pytest.raises(ShapeError, match="read-only"):
        su.advance(graph, [0], hop, out)
    assert su.neighbor_reduce(graph, hop, args=(out,)).tolist() == [0] * N


def test_arguments(graph, out, device):
    xp = device.xp
    for args, error, says in (
        ((xp.zeros((N, 1)),), ShapeError, "one-dimensional"),
        ((xp.zeros(N, np.complex64),), DTypeError, "complex64"),
        (("text",), UnknownNameError, "no column 'text'"),
        ([out], ParameterError, "tuple"),
    ):
        with pytest.raises(error, match=says):
            su.advance(graph, [0], hop, out, args=args)
    with pytest.raises(EdgeFunctionError):
        su.advance(graph, [0], hop, out, args=(out, out))
    with pytest.raises(SuricateError):
        su.advance(graph, [0], 5, out)
    assert device.to_numpy(out).tolist() == [0, 9, 9, 9]


def test_frontiers(graph, out, device):
    with pytest.raises(VertexRangeError, match="4"):
        su.advance(graph, [0, N], hop, out)
    with pytest.raises(VertexRangeError, match="-1"):
        su.propagate(graph, [-1], hop, out)
    with pytest.raises(VertexRangeError, match="9"):
        su.neighbor_reduce(graph, hop, args=(out,), vertices=[9])
    with pytest.raises(DTypeError):
        su.filter(graph, [0.5], lambda v: v > 0)
    elsewhere = su.Frontier(Device("cuda", 7), np.zeros(1, np.uint32))
    for call in (su.advance, su.propagate):
        with pytest.raises(DeviceError, match="cuda:7"):
            call(graph, elsewhere, hop, out)
    large = su.Graph(N + 1, backend="csr_baseline", device=device)
    for frontier in (
        su.Frontier.all(large),
        su.Frontier.from_vertices(large, [0, N]),
        su.filter(large, None, lambda v: v == 4),
        su.Frontier(device, device.xp.asarray(np.array([0, N], np.uint32))),
    ):
        for call in (su.advance, su.propagate):
            with pytest.raises(VertexRangeError, match="5 vertices"):
                call(graph, frontier, hop, out)
        with pytest.raises(VertexRangeError, match="5 vertices"):
            su.neighbor_reduce(graph, lambda u, v, w: 1, vertices=frontier)
        with pytest.raises(VertexRangeError, match="5 vertices"):
            su.filter(graph, frontier, lambda v: v > 0)
    assert device.to_numpy(out).tolist() == [0, 9, 9, 9]


def test_explicit_edges(graph, out, device):
    xp = device.xp
    with pytest.raises(VertexRangeError, match=r"edges\.dst"):
        su.advance(graph, su.EdgeList([0], [N]), hop, out)
    with pytest.raises(ShapeError, match="2 entries"):
        su.advance(graph, su.EdgeList([0, 1], [1]), hop, out)
    with pytest.raises(WeightError, match="unweighted"):
        su.advance(graph, su.EdgeList([0], [1], xp.ones(1)), hop, out)
    weighted = su.Graph(N, backend="csr_baseline", device=device, weight_dtype="float32")
    with pytest.raises(WeightError, match="no weights"):
        su.advance(weighted, su.EdgeList([0], [1]), hop, out)
    with pytest.raises(DTypeError, match="float64"):
        su.advance(weighted, su.EdgeList([0], [1], xp.ones(1, np.float64)), hop, out)
    for scheme in ("scan", "bucket", "updated"):
        with pytest.raises(RequirementError, match=f"'{scheme}' walks the storage"):
            su.advance(graph, su.EdgeList([0], [1]), hop, out, scheme=scheme)
    assert device.to_numpy(out).tolist() == [0, 9, 9, 9]


def test_pairs(graph):
    with pytest.raises(ShapeError, match="2 entries"):
        su.intersect(graph, None, [0, 1], [1])
    with pytest.raises(VertexRangeError, match="4"):
        su.intersect(graph, None, [0], [N])


@pytest.mark.gpu
def test_arrays_of_the_wrong_device(graph, out, device):
    if not device.is_cuda:
        pytest.skip("CUDA only")
    with pytest.raises(DeviceError, match="ndarray"):
        su.advance(graph, [0], hop, out.get())
    with pytest.raises(DeviceError, match=r"args\[0\]"):
        su.neighbor_reduce(graph, hop, args=(np.zeros(N),))
    host = su.Graph(N, backend="csr_baseline", device="cpu")
    with pytest.raises(DeviceError):
        su.advance(host, [0], hop, out)
    with pytest.raises(VertexRangeError):
        su.intersect(graph, None, device.xp.asarray([0]), device.xp.asarray([N]))


def test_operands_of_an_intersection_have_one_range_of_ids(graph):
    other = su.Graph(graph.num_vertices + 1, backend=graph.backend, device=graph.device)
    early = su.EdgeSet(graph, [0], [1])
    for left, right in ((graph, other), (other, graph), (other, early), (early, su.EdgeSet(other, [0], [4]))):
        with pytest.raises(VertexRangeError, match=r"left has \d vertices, right has \d"):
            su.intersect(left, right, [0], [1])
    with pytest.raises(ParameterError, match="left must be a Graph or an EdgeSet, got NoneType"):
        su.intersect(None)


def test_what_is_iterated_is_a_function(graph):
    with pytest.raises(ParameterError, match="body must be a function without parameters, got int"):
        su.iterate(3, until=su.Scalar("sum", "int64", graph), max_steps=2)
