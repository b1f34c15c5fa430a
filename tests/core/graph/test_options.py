"""What a graph is made with: every option is validated once, and an error of ours names it in one line."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import CPU
from suricate.errors import (
    CapacityError,
    DeviceError,
    DTypeError,
    ParameterError,
    ShapeError,
    SuricateError,
    UnknownNameError,
    VertexRangeError,
)
from suricate.graph.options import GraphOptions, choose_backend
from suricate.store import Store


def graph(*args, **options):
    return su.Graph(*args, **{"device": "cpu", **options})


BAD = [
    ({"directed": "no"}, ParameterError, "directed must be True or False, got 'no'"),
    ({"in_edges": 1}, ParameterError, "in_edges must be True or False, got 1"),
    ({"self_loops": "maybe"}, UnknownNameError, "self_loops='maybe' is unknown"),
    ({"self_loops": ["drop"]}, UnknownNameError, "self_loops=.* is unknown"),
    ({"checks": None}, UnknownNameError, "checks=None is unknown"),
    ({"weight_dtype": "foo"}, DTypeError, "weight_dtype 'foo' is no dtype"),
    ({"weight_dtype": "i4,,"}, DTypeError, "is no dtype"),
    ({"weight_dtype": {"a": 1}}, DTypeError, "is no dtype"),
    ({"weight_dtype": "int64"}, DTypeError, "int64 is not supported"),
    ({"memory_limit": float("nan")}, ParameterError, "memory_limit must be bytes"),
    ({"memory_limit": -1}, ParameterError, "memory_limit must be bytes"),
    ({"memory_limit": True}, ParameterError, "memory_limit must be bytes"),
    ({"memory_limit": "a lot"}, ParameterError, "memory_limit must be bytes"),
    ({"memory_limit": "5 parsecs"}, ParameterError, "memory_limit must be bytes"),
    ({"memory_limit": 1e9}, ParameterError, "memory_limit must be bytes"),
    ({"weighted": True}, ParameterError, "neither Graph nor backend 'slabhash' has an option 'weighted'"),
    ({"wieght_dtype": "float32"}, ParameterError, "did you mean 'weight_dtype'"),
    ({"dtype": "foo"}, ParameterError, "has an option 'dtype'; its options are .*load_factor"),
    ({"hashing": "no"}, ParameterError, "backend 'slabhash': hashing must be True or False, got 'no'"),
    ({"load_factor": "high"}, ParameterError, "backend 'slabhash': load_factor must be a number"),
    ({"load_factor": -1}, SuricateError, "load_factor"),
    ({"backend": "foo"}, UnknownNameError, "no backend 'foo' is installed"),
    ({"backend": 3}, ParameterError, "backend must be a name, a Store class or None, got 3"),
    ({"backend": dict}, ParameterError, "backend must be a name"),
    ({"degree_hints": [1, 2]}, ShapeError, "degree_hints has 2 entries for 4 vertices"),
    ({"degree_hints": [1, 2, -3, 4]}, ParameterError, r"degree_hints\[2\] is -3"),
    ({"degree_hints": [1.5] * 4}, DTypeError, "degree_hints has dtype float64"),
    ({"in_degree_hints": [1] * 4}, ParameterError, "in_degree_hints are for a directed graph with in_edges=True"),
    ({"in_degree_hints": [1] * 3 + [-1], "in_edges": True}, ParameterError, r"in_degree_hints\[3\] is -1"),
    ({"device": None}, DeviceError, "unknown device None"),
    ({"device": 0}, DeviceError, "unknown device 0"),
    ({"device": "cuda:²"}, DeviceError, "unknown device"),
    ({"device": "tpu"}, DeviceError, "unknown device 'tpu'"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message) as caught:
        graph(4, **{"backend": "slabhash", **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def test_options_that_no_backend_has(backend):
    with pytest.raises(ParameterError, match=f"neither Graph nor backend '{backend}' has an option 'foo'"):
        graph(4, backend=backend, foo=1)


@pytest.mark.parametrize(
    ("count", "error"),
    [(-1, VertexRangeError), (2**32 - 1, VertexRangeError), (1.5, DTypeError), ("4", DTypeError), (True, DTypeError),
     (None, DTypeError), (2**70, VertexRangeError), pytest.param(10**5000, VertexRangeError, id="5,000 digits")],
)  # fmt: skip
def test_numbers_of_vertices(count, error):
    with pytest.raises(error, match="num_vertices is"):
        graph(count)
    with pytest.raises(error, match="count is"):
        graph(4).insert_vertices(count)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GB", 10**9), ("1.5 GB", 1_500_000_000), ("512MiB", 512 << 20), ("2k", 2000), ("3 KiB", 3072), ("100", 100),
     ("100B", 100), (np.int64(7), 7), (0, 0), (None, None), ("1t", 10**12)],
)  # fmt: skip
def test_sizes_with_units(text, size):
    assert GraphOptions(choose_backend(None, "cpu")[0], memory_limit=text).memory_limit == size


def test_a_limit_with_a_unit_is_kept(backend):
    limited = graph(100, backend=backend, memory_limit="24KB")
    assert limited.store().memory_limit == 24_000
    with pytest.raises(CapacityError):
        limited.insert_edges(*np.indices((100, 100)).reshape(2, -1))
    assert limited.to("cpu").store().memory_limit == 24_000
    assert limited.to("cpu").options is limited.options


class Stubborn(Store):
    """A store whose constructor fails in its own way."""

    name = "stubborn"

    def __init__(self, num_vertices, *, error=ValueError, **options):
        super().__init__(num_vertices, **options)
        raise error("not today")

    def insert(self, src, dst, weight=None, *, guard=None):
        raise NotImplementedError

    def delete(self, src, dst, *, guard=None):
        raise NotImplementedError

    def edges(self):
        raise NotImplementedError


@pytest.mark.parametrize("error", [ValueError, TypeError, OverflowError])
def test_what_a_backend_refuses_is_an_error_of_ours(error):
    with pytest.raises(ParameterError, match="backend 'stubborn': not today"):
        graph(4, backend=Stubborn, error=error)


def test_memory_that_runs_out_is_an_error_of_ours():
    with pytest.raises(CapacityError, match="memory does not suffice for 4 vertices on cpu: not today"):
        graph(4, backend=Stubborn, error=MemoryError)


def test_options_are_validated_once_and_frozen():
    options = GraphOptions(choose_backend("slabhash", "cpu")[0], directed=False, in_edges=True, weight_dtype="f4")
    assert not options.in_edges  # an undirected graph has no second store
    assert options.weight_dtype == np.dtype(np.float32)
    assert len(options.make_stores(3, CPU)) == 1
    with pytest.raises(AttributeError):
        options.directed = True


@pytest.mark.parametrize("count", [-1, 1.5, "9", True, None])
def test_reserve(backend, count):
    made = graph(4, backend=backend)
    with pytest.raises(ParameterError, match="num_edges must be"):
        made.reserve(count)


@pytest.mark.parametrize("count", [2**61, 2**64, 2**80])
def test_more_edges_than_fit_any_address(backend, count):
    made = graph(4, backend=backend)
    with pytest.raises(CapacityError):
        made.reserve(count)
    made.check()


def test_recycle_is_a_flag():
    made = graph(4)
    with pytest.raises(ParameterError, match="recycle must be True or False, got 'no'"):
        made.insert_vertices(1, recycle="no")
    assert made.num_vertices == 4


@pytest.mark.parametrize("over", [["in"], None, 1, "both"])
def test_direction_of_a_view(over):
    with pytest.raises(UnknownNameError, match="over="):
        graph(4).view(over)


@pytest.mark.parametrize("call", ["degree", "neighbors", "adjacency", "degrees", "store", "view"])
def test_directions_were_called_otherwise(call):
    given = () if call in ("degrees", "store", "view") else ([0],) if call == "adjacency" else (0,)
    with pytest.raises(ParameterError, match=rf"{call}\(direction=...\) is written over= now"):
        getattr(graph(4), call)(*given, direction="out")


@pytest.mark.parametrize("batch", [None, ([0], [1]), 3])
def test_apply_takes_a_batch(batch):
    with pytest.raises(ParameterError, match="batch must be a Batch"):
        graph(4).apply(batch)


@pytest.mark.parametrize("device", [None, "tpu", 1.5, pytest.param("cuda:" + "9" * 5000, id="5,000 digits")])
def test_to(device):
    with pytest.raises(DeviceError, match="unknown device"):
        graph(4).to(device)


def test_operators_take_a_graph():
    with pytest.raises(ParameterError, match="graph must be a Graph, got NoneType"):
        su.arcs(None)
