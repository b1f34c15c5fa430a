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
        su.advance(graph, [0], hop, out=out, args=(out,), reduce="mean")
    with pytest.raises(UnknownNameError, match="scheme='fast'"):
        su.advance(graph, [0], hop, out=out, args=(out,), reduce="min", scheme="fast")
    with pytest.raises(UnknownNameError, match="reduce='mode'"):
        su.propagate(graph, [0], hop, out=out, args=(out,), reduce="mode")
    with pytest.raises(UnknownNameError, match="over='all'"):
        su.neighbor_reduce(graph, None, hop, args=(out,), reduce="sum", over="all")
    with pytest.raises(UnknownNameError, match="reduce='prod'"):
        su.propagate(graph, [0], hop, out=out, args=(out,), reduce="prod")
    for wrong in (-1, 1.5, True, float("nan"), "3"):
        with pytest.raises(ParameterError, match="max_steps"):
            su.propagate(graph, [0], hop, out=out, args=(out,), reduce="min", max_steps=wrong)
    for scheme, says in (("scan", "the whole graph"), ("updated", r"inserted since graph\.mark\(\)")):
        for some in ([0], [], graph.frontier(list(range(N)))):
            with pytest.raises(RequirementError, match=f"'{scheme}'.*{says}.*frontier=None"):
                su.advance(graph, some, hop, out=out, args=(out,), reduce="min", scheme=scheme)
            with pytest.raises(RequirementError, match=f"'{scheme}'.*{says}.*frontier=None"):
                su.neighbor_reduce(graph, some, hop, args=(out,), reduce="sum", scheme=scheme)
    graph.mark()
    graph.insert_edges([3], [0])
    with pytest.raises(RequirementError, match="in_edges"):
        su.neighbor_reduce(graph, None, hop, args=(out,), reduce="sum", over="in", scheme="updated")


def test_calls_of_before_tell_how_they_are_written(graph, out):
    """Keywords that were renamed, and the function before the frontier: nothing has run."""
    sets = su.UnionFind._of(N)

    def join(u, v, w, sets):
        su.unite(sets, u, v)

    total = graph.scalar("sum", "int64")
    for call, says in (
        (lambda: su.neighbor_reduce(graph, hop, args=(out,), reduce="sum"), "the frontier comes before the function"),
        (lambda: su.neighbor_reduce(graph, hop, args=(out,), vertices=[0]), r"vertices=.* frontier= now"),
        (lambda: su.edge_map(graph, join, args=(sets,)), "the frontier comes before the function"),
        (lambda: su.edge_map(graph, join, [0], args=(sets,)), "the frontier comes before the function"),
        (lambda: su.edge_map(graph, join, edges=[0], args=(sets,)), r"edges=.* frontier= now"),
        (lambda: su.vertex_map(graph, lambda v: True, None), "the frontier comes before the function"),
        (lambda: su.advance(graph, hop, [0], out=out, reduce="min"), "the frontier comes before the function"),
        (lambda: su.advance(graph, [0], hop, out), "out=..."),
        (lambda: su.propagate(graph, [0], hop, out, reduce="min"), "out=..."),
        (lambda: su.converge(graph, None, hop, until=total), r"stop=su\.Stop\(until=...\)"),
        (lambda: su.converge(graph, None, hop, most=4), r"stop=su\.Stop\(most=...\)"),
        (lambda: su.converge(graph, None, hop, reduce="min", then=join, stop=4), r"write stop=su\.Stop\("),
    ):
        with pytest.raises(ParameterError, match=says):
            call()
    assert sets.num_components == N
    assert out.tolist() == [0, 9, 9, 9]
    with pytest.raises(TypeError, match="reduce"):  # it has no default
        su.advance(graph, [0], hop, out=out, args=(out,))
    with pytest.raises(su.errors.EdgeFunctionError, match="args"):  # an out that a function reads is passed
        su.advance(graph, [0], hop, out=out, reduce="min")


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
                call(graph, [0], hop, out=wrong, args=(wrong,), reduce="min")
    with pytest.raises(DTypeError, match="int32"):
        su.advance(graph, [0], lambda u, v, w: 0.5, out=out, reduce="min", args=())
    with pytest.raises(DTypeError, match="or"):
        su.advance(graph, [0], lambda u, v, w: 1, out=xp.zeros(N), args=(), reduce="or")
    with pytest.raises(DTypeError, match="dtype="):
        su.neighbor_reduce(graph, None, hop, args=(out,), reduce="sum", out=xp.zeros(N), dtype=np.float32)
    for dtype in ("foo", object, np.int16, "M8[s]"):
        with pytest.raises(DTypeError, match="cannot be reduced"):
            su.neighbor_reduce(graph, None, hop, args=(out,), reduce="sum", dtype=dtype)
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
            su.neighbor_reduce(graph, None, hop, args=(argument,), reduce="sum", out=out)
    su.neighbor_reduce(graph, None, hop, args=(memory[:N],), reduce="sum", out=memory[N : 2 * N])
    assert device.to_numpy(memory).tolist() == [0] * N + [1, 1, 1, 0] + [0] * N


def test_masked_arrays(graph, out, device):
    masked = np.ma.masked_array([0, 9, 9, 9], mask=[0, 0, 0, 1], dtype=np.int32)
    host = su.Graph(N, backend="csr_baseline", device="cpu")
    with pytest.raises(DTypeError, match="masked"):
        su.advance(host, [0], hop, out=masked, args=(masked,), reduce="min")
    with pytest.raises(DTypeError, match="masked"):
        su.neighbor_reduce(graph, None, hop, args=(masked,), reduce="sum")


def test_a_column_of_pandas():
    column = pytest.importorskip("pandas").Series(np.zeros(N))
    with pytest.raises(DTypeError, match="not Series"):
        su.neighbor_reduce(su.Graph(N, device="cpu"), None, hop, args=(column,), reduce="sum")


def test_arrays_that_cannot_be_written():
    graph = su.Graph(N, backend="csr_baseline", device="cpu")
    out = np.zeros(N, np.int32)
    out.flags.writeable = False
    with pytest.raises(ShapeError, match="read-only"):
        su.advance(graph, [0], hop, out=out, args=(out,), reduce="min")
    assert su.neighbor_reduce(graph, None, hop, args=(out,), reduce="sum").tolist() == [0] * N


def test_arguments_that_functions_cannot_write():
    """Read-only memory, and memory with effects that the same function reads, or has others on, by another name."""

    def raised(v, x, y):
        su.atomic.add(x, v, y[v])

    def both(v, x, y):
        su.atomic.add(x, v, 1)
        su.atomic.min(y, v, 0)

    def stored(v, value, x, y):
        x[v] = value

    graph, x, fixed = su.Graph(N, device="cpu"), np.zeros(N, np.int64), np.zeros(N, np.int64)
    fixed.setflags(write=False)
    for call in (
        lambda: su.vertex_map(graph, None, raised, args=(fixed, x)),
        lambda: su.neighbor_reduce(
            graph, None, lambda u, v, w, x, y: 1, args=(fixed, x), reduce="sum", then=stored, over="out"
        ),
    ):
        with pytest.raises(ShapeError, match=r"args\[0\] is read-only"):
            call()
    for fn, other in ((raised, x), (raised, x[1:]), (both, x[:])):
        with pytest.raises(ParameterError, match=r"args\[0\] has effects, and shares memory with args\[1\]"):
            su.vertex_map(graph, None, fn, args=(x, other))
    assert not x.any()
    su.vertex_map(graph, None, raised, args=(x, fixed))


def test_arguments(graph, out, device):
    xp = device.xp
    for args, error, says in (
        ((xp.zeros((N, 1)),), ShapeError, "only a pull takes columns"),
        ((xp.zeros(N, np.complex64),), DTypeError, "complex64"),
        (("text",), UnknownNameError, "no column 'text'"),
        ([out], ParameterError, "tuple"),
    ):
        with pytest.raises(error, match=says):
            su.advance(graph, [0], hop, out=out, reduce="min", args=args)
    with pytest.raises(EdgeFunctionError):
        su.advance(graph, [0], hop, out=out, reduce="min", args=(out, out))
    with pytest.raises(SuricateError):
        su.advance(graph, [0], 5, out=out, args=(out,), reduce="min")
    assert device.to_numpy(out).tolist() == [0, 9, 9, 9]


def test_frontiers(graph, out, device):
    with pytest.raises(VertexRangeError, match="4"):
        su.advance(graph, [0, N], hop, out=out, args=(out,), reduce="min")
    with pytest.raises(VertexRangeError, match="-1"):
        su.propagate(graph, [-1], hop, out=out, args=(out,), reduce="min")
    with pytest.raises(VertexRangeError, match="9"):
        su.neighbor_reduce(graph, [9], hop, args=(out,), reduce="sum")
    with pytest.raises(DTypeError):
        su.filter(graph, [0.5], lambda v: v > 0)
    elsewhere = su.Frontier._of(Device("cuda", 7), np.zeros(1, np.uint32))
    for call in (su.advance, su.propagate):
        with pytest.raises(DeviceError, match="cuda:7"):
            call(graph, elsewhere, hop, out=out, args=(out,), reduce="min")
    large = su.Graph(N + 1, backend="csr_baseline", device=device)
    for frontier in (
        large.frontier(),
        large.frontier([0, N]),
        su.filter(large, None, lambda v: v == 4),
        su.Frontier._of(device, device.xp.asarray(np.array([0, N], np.uint32))),
    ):
        for call in (su.advance, su.propagate):
            with pytest.raises(VertexRangeError, match="5 vertices"):
                call(graph, frontier, hop, out=out, args=(out,), reduce="min")
        with pytest.raises(VertexRangeError, match="5 vertices"):
            su.neighbor_reduce(graph, frontier, lambda u, v, w: 1, reduce="sum")
        with pytest.raises(VertexRangeError, match="5 vertices"):
            su.filter(graph, frontier, lambda v: v > 0)
    assert device.to_numpy(out).tolist() == [0, 9, 9, 9]


def test_explicit_edges(graph, out, device):
    xp = device.xp
    with pytest.raises(VertexRangeError, match=r"edges\.dst"):
        su.advance(graph, su.EdgeList([0], [N]), hop, out=out, args=(out,), reduce="min")
    with pytest.raises(ShapeError, match="2 entries"):
        su.advance(graph, su.EdgeList([0, 1], [1]), hop, out=out, args=(out,), reduce="min")
    with pytest.raises(WeightError, match="unweighted"):
        su.advance(graph, su.EdgeList([0], [1], xp.ones(1)), hop, out=out, args=(out,), reduce="min")
    weighted = su.Graph(N, backend="csr_baseline", device=device, weight_dtype="float32")
    with pytest.raises(WeightError, match="no weights"):
        su.advance(weighted, su.EdgeList([0], [1]), hop, out=out, args=(out,), reduce="min")
    with pytest.raises(DTypeError, match="float64"):
        su.advance(weighted, su.EdgeList([0], [1], xp.ones(1, np.float64)), hop, out=out, args=(out,), reduce="min")
    for scheme in ("scan", "bucket", "updated"):
        with pytest.raises(RequirementError, match=f"'{scheme}' walks the storage"):
            su.advance(graph, su.EdgeList([0], [1]), hop, out=out, args=(out,), reduce="min", scheme=scheme)
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
        su.advance(graph, [0], hop, out=out.get(), args=(out.get(),), reduce="min")
    with pytest.raises(DeviceError, match=r"args\[0\]"):
        su.neighbor_reduce(graph, None, hop, args=(np.zeros(N),), reduce="sum")
    host = su.Graph(N, backend="csr_baseline", device="cpu")
    with pytest.raises(DeviceError):
        su.advance(host, [0], hop, out=out, args=(out,), reduce="min")
    with pytest.raises(VertexRangeError):
        su.intersect(graph, None, device.xp.asarray([0]), device.xp.asarray([N]))


def test_operands_of_an_intersection_have_one_range_of_ids(graph):
    other = su.Graph(graph.num_vertices + 1, backend=graph.backend, device=graph.device)
    early = graph.edge_set([0], [1])
    for left, right in ((graph, other), (other, graph), (other, early), (early, other.edge_set([0], [4]))):
        with pytest.raises(VertexRangeError, match=r"left has \d vertices, right has \d"):
            su.intersect(left, right, [0], [1])
    with pytest.raises(ParameterError, match="left must be a Graph or an EdgeSet, got NoneType"):
        su.intersect(None)


def test_what_is_iterated_is_a_function(graph):
    with pytest.raises(ParameterError, match="body must be a function without parameters, got int"):
        su.iterate(3, until=graph.scalar("sum", "int64"), max_steps=2)
