"""Validation of what users pass to operators: all of it happens before anything changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.arrays import as_array, as_ids, checked_ids, is_flat, on_device, range_message, same_length
from suricate.devices import Array, Device
from suricate.edgefn import EDGE, Argument, argument_of, compile_function
from suricate.errors import (
    DeviceError,
    DTypeError,
    EdgeFunctionError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
    WeightError,
)
from suricate.operators.call import MAX_STEPS, OUT_DTYPES, Call
from suricate.operators.schemes import WHOLE_GRAPH
from suricate.parameters import integer
from suricate.structures.frontier import Frontier
from suricate.types import EdgeList

if TYPE_CHECKING:
    from suricate.graph import Graph


def one(u: int, v: int, x: int) -> int:
    """Count every common neighbour as one (the default of ``intersect``)."""
    return 1


def name(parameter: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ``UnknownNameError`` unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise UnknownNameError(f"{parameter}={value!r} is unknown: use one of {', '.join(map(repr, allowed))}")


def scheme_of_vertices(scheme: str, everything: bool, argument: str) -> None:
    """Raise ``RequirementError`` if ``scheme`` needs the whole graph and ``argument`` names some vertices."""
    if scheme in WHOLE_GRAPH and not everything:
        raise RequirementError(
            f"scheme {scheme!r} {WHOLE_GRAPH[scheme]}: use it with {argument}=None, or choose 'auto' for some vertices"
        )


def scheme_of_edges(scheme: str) -> None:
    """Raise ``RequirementError`` if ``scheme`` says how to walk storage: explicit edges are not in storage."""
    if scheme not in ("auto", "vertex"):
        raise RequirementError(
            f"scheme {scheme!r} walks the storage of the graph: use it with frontier=None, not with edges"
        )


def step_limit(max_steps: int | None) -> int:
    """Return the number of steps allowed, at most ``MAX_STEPS``."""
    return MAX_STEPS if max_steps is None else min(integer("max_steps", max_steps, low=0), MAX_STEPS)


# -- edge functions and their arguments --------------------------------------------------------------------------------


def bind(graph: Graph, fn: Any, args: tuple[Any, ...], reduce: str, leading: tuple[str, ...] = EDGE) -> Call:
    """Return the call of ``fn`` with ``args``: typed, and every argument checked."""
    if not isinstance(args, tuple):
        raise ParameterError(f"args must be a tuple, not a {type(args).__name__}: write args=(x,)")
    arguments: list[Argument] = []
    values: list[Any] = []
    for value in args:
        argument = argument_of(value)
        if argument.kind == "array":
            _argument_array(graph, value, len(values))
        else:
            value = argument.packed(value)
        arguments.append(argument)
        values.append(value)
    function = compile_function(fn, tuple(arguments), weight_dtype=graph.weight_dtype, leading=leading)
    if function.result is None:
        raise EdgeFunctionError(f"{getattr(fn, '__name__', fn)} returns no value: operators reduce what it returns")
    return Call(function, tuple(values), reduce)


def _argument_array(graph: Graph, array: Array, position: int) -> None:  # argument_of() has checked its form
    if not _lies_on(graph.device, array):
        raise _misplaced(graph.device, array, f"args[{position}]")
    if array.size < graph.num_vertices and array.size != 1:
        raise ShapeError(
            f"args[{position}] has {len(array)} entries, the graph {graph.num_vertices} vertices: pass one entry per "
            "vertex, or a single one"
        )


# -- arrays ------------------------------------------------------------------------------------------------------------


def _lies_on(device: Device, array: Array) -> bool:
    """Return whether ``array`` is an array on ``device``."""
    if not isinstance(array, device.xp.ndarray):
        return False
    return not device.is_cuda or array.data.device_id == device.index


def _misplaced(device: Device, array: Array, label: str) -> DeviceError:
    if isinstance(array, device.xp.ndarray):
        return DeviceError(f"{label} is on cuda:{array.data.device_id}, the graph on {device}")
    kind = "a CuPy array" if device.is_cuda else "a NumPy array"
    return DeviceError(f"{label} is a {type(array).__name__}, the graph is on {device}: pass {kind}")


def vertex_array(graph: Graph, array: Array, label: str) -> None:
    """Raise unless ``array`` can take one reduced value per vertex."""
    _target(graph, array, label, graph.num_vertices)


def _target(graph: Graph, array: Array, label: str, length: int) -> None:
    if not _lies_on(graph.device, array):
        raise _misplaced(graph.device, array, label)
    if isinstance(array, np.ma.MaskedArray):
        raise DTypeError(f"{label} is a masked array: pass a plain one")
    if not is_flat(array):
        raise ShapeError(f"{label} must be one-dimensional and contiguous, not of shape {array.shape}")
    if array.size != length:
        raise ShapeError(f"{label} has {array.size} entries, but there are {length} vertices")
    if array.dtype not in OUT_DTYPES:
        raise DTypeError(f"{label} has dtype {array.dtype}: use one of {', '.join(map(str, OUT_DTYPES))}")
    if not graph.device.is_cuda and not array.flags.writeable:
        raise ShapeError(f"{label} is read-only: pass a writable array")


def reducible(call: Call, dtype: np.dtype) -> None:
    """Raise unless values of the edge function can be reduced into ``dtype``."""
    result = call.result
    if result.kind == "f" and dtype.kind != "f":
        raise DTypeError(
            f"the edge function returns {result}, out has dtype {dtype}: use a float array, or return int(...)"
        )
    if call.reduce == "or" and dtype.kind == "f":
        raise DTypeError(f"reduce='or' needs an integer array, out has dtype {dtype}")


def result_array(graph: Graph, call: Call, out: Array | None, dtype: Any, length: int) -> Array:
    """Return ``out``, checked, or a new array of ``dtype`` (default: what the edge function returns)."""
    if out is None:
        natural = call.result if call.result in OUT_DTYPES[2:] else np.dtype(np.int64)
        wanted = natural if dtype is None else _value_type(dtype)
        reducible(call, wanted)
        return graph.device.xp.empty(length, wanted)
    _target(graph, out, "out", length)
    if dtype is not None and _value_type(dtype) != out.dtype:
        raise DTypeError(f"out has dtype {out.dtype}, but dtype={dtype!r} was asked for: give one of the two")
    for value in call.values:
        if isinstance(value, graph.device.xp.ndarray) and _share_memory(graph.device, value, out):
            raise ParameterError("out must not alias an argument: other vertices would read partial results")
    reducible(call, out.dtype)
    return out


def _value_type(dtype: Any) -> np.dtype:
    """Return ``dtype`` as a NumPy dtype that values can be reduced in."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted is None or wanted not in OUT_DTYPES:
        raise DTypeError(f"dtype {dtype!r} cannot be reduced: use one of {', '.join(map(str, OUT_DTYPES))}")
    return wanted


def _share_memory(device: Device, a: Array, b: Array) -> bool:
    """Return whether the memory of two contiguous arrays overlaps."""
    if not device.is_cuda:
        return np.may_share_memory(a, b)  # compares the bounds, which is exact for contiguous arrays
    begin, other = a.data.ptr, b.data.ptr
    return begin < other + b.nbytes and other < begin + a.nbytes


# -- vertices and edges ------------------------------------------------------------------------------------------------


def edges_or_frontier(graph: Graph, given: Any) -> EdgeList | Frontier:
    """Return what ``advance`` starts from."""
    return edge_list(graph, given) if isinstance(given, EdgeList) else frontier(graph, given)


def frontier(graph: Graph, given: Any) -> Frontier:
    """Return ``given`` (a frontier, ids, or None for all vertices) as a frontier of ``graph``."""
    if given is None:
        return Frontier.all(graph)
    if not isinstance(given, Frontier):
        return Frontier.from_vertices(graph, given)
    if given.device != graph.device:
        raise DeviceError(f"the frontier is on {given.device}, the graph on {graph.device}")
    if given.num_vertices > graph.num_vertices:
        raise VertexRangeError(
            f"the frontier is one of {given.num_vertices} vertices, the graph has {graph.num_vertices}"
        )
    return given


def vertex_ids(graph: Graph, given: Any, label: str) -> Array:
    """Return ids (an array, a list or a frontier) as ``uint32[k]`` on the graph's device, in the same order."""
    if isinstance(given, Frontier):
        return frontier(graph, given).vertices
    ids = as_ids(given, label)
    if isinstance(ids, np.ndarray):
        checked = checked_ids(ids, graph.num_vertices, label)
        return on_device(checked, graph.device, label) if graph.device.is_cuda else checked
    ids = _cuda_ids(graph, ids, label)
    if ids.dtype == np.uint32 and graph.checks == "deferred":
        return ids  # kernels skip ids that are out of range
    _check_range(graph, ids, label)
    return ids.astype(np.uint32, copy=False)


def edge_list(graph: Graph, edges: EdgeList) -> EdgeList:
    """Return ``edges`` as contiguous arrays on the graph's device, with weights exactly if the graph has them.

    Arrays of the right type on the graph's CUDA device are taken as they are: kernels skip ids that are out of range.
    """
    src, dst = (_edge_ids(graph, ids, label) for ids, label in ((edges.src, "edges.src"), (edges.dst, "edges.dst")))
    if graph.weight_dtype is None:
        if edges.weight is not None:
            raise WeightError("the edges have weights, but the graph is unweighted: pass EdgeList(src, dst)")
        same_length(src, dst)
        return EdgeList(src, dst)
    if edges.weight is None:
        raise WeightError(f"the edges have no weights, but the graph has {graph.weight_dtype} weights")
    weight = as_array(edges.weight, "edges.weight")
    if weight.dtype != graph.weight_dtype:
        raise DTypeError(f"edges.weight has dtype {weight.dtype}, the graph has {graph.weight_dtype} weights")
    same_length(src, dst, weight)
    return EdgeList(src, dst, _on(graph.device, weight, "edges.weight"))


def _edge_ids(graph: Graph, ids: Any, label: str) -> Array:
    if graph.device.is_cuda and isinstance(ids, graph.device.xp.ndarray) and ids.dtype == np.uint32 and ids.ndim == 1:
        return on_device(ids, graph.device, label)
    return vertex_ids(graph, ids, label)


def pairs(graph: Graph, u: Any, v: Any) -> tuple[Array, Array]:
    """Return two arrays of ids of equal length on the graph's device."""
    left, right = vertex_ids(graph, u, "u"), vertex_ids(graph, v, "v")
    if len(left) != len(right):
        raise ShapeError(f"u has {len(left)} entries and v has {len(right)}: pass one of each per pair")
    return left, right


def _cuda_ids(graph: Graph, ids: Array, label: str) -> Array:
    if not graph.device.is_cuda:
        raise DeviceError(f"{label} is on a CUDA device, the graph is on the CPU: pass a NumPy array")
    return on_device(ids, graph.device, label)


def _check_range(graph: Graph, ids: Array, label: str) -> None:
    if not len(ids):
        return
    low, high = graph.device.to_numpy(graph.device.xp.stack((ids.min(), ids.max())))
    if low < 0 or high >= graph.num_vertices:
        wrong = int(low if low < 0 else high)
        index = int((ids == wrong).argmax())
        raise VertexRangeError(range_message(label, index, wrong, graph.num_vertices))


def _on(device: Device, array: Array, label: str) -> Array:
    if device.is_cuda:
        return on_device(array, device, label)
    if not isinstance(array, np.ndarray):
        raise DeviceError(f"{label} is on a CUDA device, the graph is on the CPU: pass a NumPy array")
    return np.ascontiguousarray(array)
