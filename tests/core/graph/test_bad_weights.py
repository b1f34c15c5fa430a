"""Weights: what a graph cannot hold is an error that changes nothing; what it can is kept bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from bad_input import Unchanged, make, place

import suricate as su
from suricate.errors import DTypeError, ShapeError, WeightError

__all__ = ["make", "place"]


def test_weights_of_the_wrong_shape(make, place):
    graph = make(weight_dtype="float32")
    ids = place(np.array([1, 2]))
    with Unchanged(graph), pytest.raises(ShapeError, match="weight has 3 entries for 2 edges"):
        graph.insert_edges(ids, ids, place(np.ones(3)))
    with Unchanged(graph), pytest.raises(ShapeError, match=r"weight has shape \(2, 1\)"):
        graph.insert_edges(ids, ids, place(np.ones((2, 1))))


def test_weights_superfluous_or_missing(make, place):
    ids = place(np.array([1, 2]))
    plain, weighted = make(), make(weight_dtype="float32")
    with Unchanged(plain), pytest.raises(WeightError, match="weight was given, but the graph is unweighted"):
        plain.insert_edges(ids, ids, place(np.ones(2)))
    with Unchanged(weighted), pytest.raises(WeightError, match="weight is missing: the graph has float32 weights"):
        weighted.insert_edges(ids, ids)
    with Unchanged(plain), pytest.raises(WeightError, match="the graph has no weights"):
        plain.edge_weights(ids, ids)


BAD_WEIGHTS = [
    ("float32", np.array([1, np.nan]), "weight[1] is nan: weights are finite"),
    ("float64", np.array([np.inf, 1]), "weight[0] is inf: weights are finite"),
    ("float64", np.array([1, -np.inf], "float32"), "weight[1] is -inf: weights are finite"),
    ("float32", np.array([1, 1e300]), "weight[1] is 1e+300, too large for float32"),
    ("int32", np.array([1, 1.5]), "weight[1] is 1.5, but the graph has int32 weights"),
    ("int32", np.array([1, 2.0**31]), "weight[1] is 2147483648, out of the range of int32"),
    ("int32", np.array([np.nan, 1]), "weight[0] is nan: weights are finite"),
    ("uint32", np.array([1, -1]), "weight[1] is -1"),
    ("uint32", np.array([1, 2**32]), "weight[1] is 4294967296"),
    ("int32", np.array([1, 2**64 - 1], np.uint64), "weight[1] is 1844674407370955161"),
    ("int32", np.array([1, 2.0**31], np.float32), "weight[1] is 2147483648, out of the range of int32"),
    ("uint32", np.array([2.0**32, 1], np.float32), "weight[0] is 4294967296, out of the range of uint32"),
    ("int32", np.array([1, np.inf], np.float16), "weight[1] is inf: weights are finite"),
    ("float32", np.array([-np.inf, 1], np.float16), "weight[0] is -inf: weights are finite"),
    ("uint32", np.array([1, np.nan], np.float16), "weight[1] is nan: weights are finite"),
    ("float32", np.array([1, 3.5e38], np.float64), "weight[1] is 3.5e+38, too large for float32"),
]


@pytest.mark.parametrize(("dtype", "weight", "message"), BAD_WEIGHTS)
@pytest.mark.parametrize("directed", [True, False])
def test_weights_that_the_graph_cannot_hold(make, place, directed, dtype, weight, message):
    graph = make(weight_dtype=dtype, directed=directed)
    ids = place(np.array([4, 5]))
    with Unchanged(graph), pytest.raises(WeightError) as caught:
        graph.insert_edges(ids, ids, place(weight))
    assert message in str(caught.value)
    bad = int(message.partition("[")[2][0])
    with Unchanged(graph), pytest.raises(WeightError, match="weight is "):
        graph.insert_edges(ids, ids, weight[bad].item())
    with Unchanged(graph), pytest.raises(WeightError):
        graph.insert_edges(ids, ids, weight[bad])
    with pytest.raises(WeightError):
        su.Graph.from_coo([1, 2], [2, 3], weight, weight_dtype=dtype, device=graph.device)
    if np.dtype(dtype).kind != "f":
        with pytest.raises(WeightError, match="default"):
            graph.edge_weights([1], [2], default=weight[bad])


@pytest.mark.parametrize("weight", [[True, False], ["a", "b"], [None, 1], [1j, 1]])
def test_weights_of_other_dtypes(make, weight):
    graph = make(weight_dtype="float32")
    with Unchanged(graph), pytest.raises(DTypeError, match="weight has dtype"):
        graph.insert_edges([1, 2], [2, 3], weight)


@pytest.mark.parametrize(
    ("dtype", "given", "held"),
    [
        ("float32", np.array([0.1, 16777217]), [np.float32(0.1), 16777216]),  # rounded to the nearest
        ("float32", np.array([1, 2**63], np.uint64), [1, 2.0**63]),
        ("float64", np.array([1, 2], np.float16), [1, 2]),
        ("int32", np.array([-3.0, 4.0]), [-3, 4]),
        ("int32", np.array([2**31 - 1, -(2**31)]), [2**31 - 1, -(2**31)]),
        ("uint32", np.array([2**32 - 1, 0]), [2**32 - 1, 0]),
        ("uint32", np.array([7, 8], np.int8), [7, 8]),
    ],
)
def test_weights_are_cast_where_that_is_safe(make, place, device, dtype, given, held):
    graph = make(weight_dtype=dtype)
    src, dst = place(np.array([4, 5])), place(np.array([5, 6]))
    delta = graph.insert_edges(src, dst, place(given))
    assert delta.inserted.weight.dtype == np.dtype(dtype)
    assert device.to_numpy(graph.edge_weights(src, dst)).tolist() == held


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_kept_bit_for_bit(make, place, device, dtype):
    """Signed zeros differ, and subnormal numbers stay what they are, also where a kernel converts them."""
    graph = make(weight_dtype=dtype)
    tiny = np.array([1e-40, 0.0, -0.0, 1.5e-45], "float32")  # the smallest float32 is 1.4e-45
    src, dst = place(np.array([4, 5, 6, 7])), place(np.array([5, 6, 7, 8]))
    for given in (tiny, tiny.astype("float64")):
        graph.delete_edges(src, dst)
        delta = graph.insert_edges(src, dst, place(given))
        assert device.to_numpy(delta.inserted.weight).tobytes() == tiny.astype(dtype).tobytes()
        assert device.to_numpy(graph.edge_weights(src, dst)).tobytes() == tiny.astype(dtype).tobytes()
    turned = np.array([2e-40, -0.0, 0.0, 1.5e-45], "float32").astype(dtype)
    delta = graph.insert_edges(src, dst, place(turned))
    assert delta.num_replaced == 3
    order = np.argsort(device.to_numpy(delta.replaced.src))
    assert device.to_numpy(delta.replaced.weight)[order].tobytes() == turned[:3].tobytes()
    assert device.to_numpy(delta.replaced_old)[order].tobytes() == tiny[:3].astype(dtype).tobytes()
    delta = graph.apply(su.Batch(insert=(src, dst, place(tiny)), delete=(src, dst)))
    assert (delta.num_inserted, delta.num_deleted, delta.num_replaced) == (0, 0, 3)
    order = np.argsort(device.to_numpy(delta.replaced.src))
    assert device.to_numpy(delta.replaced.weight)[order].tobytes() == tiny[:3].astype(dtype).tobytes()
    assert device.to_numpy(delta.replaced_old)[order].tobytes() == turned[:3].tobytes()
    graph.check()


@pytest.mark.parametrize(
    ("dtype", "default", "error"),
    [("float32", 1e300, WeightError), ("float32", "abc", DTypeError), ("float64", [1, 2], ShapeError),
     ("float32", True, DTypeError), ("int32", np.float32(2**31), WeightError), ("int32", [1], ShapeError),
     ("int32", np.nan, WeightError)],
)  # fmt: skip
def test_defaults_of_absent_edges(make, dtype, default, error):
    graph = make(weight_dtype=dtype)
    with Unchanged(graph), pytest.raises(error, match="default"):
        graph.edge_weights([1, 5], [2, 5], default=default)
    assert graph.device.to_numpy(graph.edge_weights([1, 5], [2, 5], default=7)).tolist() == [5, 7]
