"""Validation of what users pass to operators: all of it happens before anything changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import (
    DeviceError,
    DTypeError,
    ParameterError,
    RequirementError,
    ShapeError,
    VertexRangeError,
)
from suricate.base.parameters import integer, one_of, shown
from suricate.edgefn import TypedFunction
from suricate.edgefn.layout import Layout
from suricate.graph import Graph
from suricate.intake.arrays import is_flat
from suricate.operators.call import MAX_STEPS, OUT_DTYPES, UNLIMITED, Call, Stop, Swap, Until, driver_of
from suricate.operators.results import Best, Layers, Propagated
from suricate.operators.schemes import WHOLE_GRAPH
from suricate.state.words import Words

OF_COLUMNS = ("sum", "min", "max", "or")  #: of pulls whose values have columns
DIRECTIONS = ("out", "in", "both")


def refuse_events(graph: Graph, why: str) -> None:
    """Raise ``RequirementError`` if ``graph`` is a view of events, which repeat neighbours."""
    if graph._events is not None:
        raise RequirementError(f"events repeat neighbours, and {why}: pass a graph")


def push_direction(graph: Graph, over: str, parameter: str = "over") -> str:
    """Return along which edges a push goes, ``"out"`` if undirected; raises if in-edges are needed but not kept."""
    one_of(parameter, over, DIRECTIONS)
    if graph._events is not None:
        graph._events.demand(over)
    if over == "out" or not graph.directed:
        return "out"
    graph.store("in")  # raises if there are no in-edges
    return over


def pull_direction(graph: Graph, over: str) -> str:
    """Return over which edges a pull goes, never ``"both"`` if undirected; raises if in-edges are not kept."""
    one_of("over", over, DIRECTIONS)
    if graph._events is not None:
        graph._events.demand(over)
    if over == "out":
        return "out"
    graph.store("in")
    return "in" if not graph.directed else over


def scheme_of_vertices(scheme: str, everything: bool) -> None:
    """Raise ``RequirementError`` if ``scheme`` needs the whole graph and ``everything`` is False (some vertices)."""
    if scheme in WHOLE_GRAPH and not everything:
        raise RequirementError(
            f"scheme {scheme!r} {WHOLE_GRAPH[scheme]}: use it with frontier=None, or choose 'auto' for some vertices"
        )


def scheme_of_edges(scheme: str) -> None:
    """Raise unless ``scheme`` fits a start from edges, which walks no storage: ``"auto"`` or ``"vertex"``."""
    if scheme not in ("auto", "vertex"):
        raise RequirementError(
            f"scheme {scheme!r} walks the storage of the graph: use it with frontier=None, not with edges"
        )


def scheme_of_columns(scheme: str, frontier: Any) -> None:
    """Raise ``RequirementError`` for what a pull of columns cannot do: other schemes, and layers as ``frontier``."""
    if scheme not in ("auto", "vertex"):
        raise RequirementError(f"scheme {scheme!r} has no columns: a function with j takes 'auto' or 'vertex'")
    if isinstance(frontier, Layers):
        raise RequirementError("columns are not pulled layer by layer: pass layers[i] one after the other")


def of_columns(reduce: str, turn: Any) -> None:
    """Raise ``RequirementError`` unless a pull of columns can reduce by ``reduce``, and has no ``turn``."""
    if reduce not in OF_COLUMNS:
        raise RequirementError(f"reduce={reduce!r} has no columns: a function with j takes {', '.join(OF_COLUMNS)}")
    if turn is not None:
        raise RequirementError("rounds of columns take no turns: leave turn away")


def plain_scheme(scheme: str, with_what: str) -> None:
    """Raise ``RequirementError`` for ``scheme="updated"``; ``with_what`` names the parameter that does not allow it."""
    if scheme == "updated":
        raise RequirementError(f"scheme 'updated' cannot be combined with {with_what}: pass the edges as an EdgeList")


def step_limit(max_steps: int | None) -> int:
    """Return the parameter ``max_steps``, checked; None and numbers above ``MAX_STEPS`` become ``MAX_STEPS``."""
    return MAX_STEPS if max_steps is None else min(integer("max_steps", max_steps, low=0), MAX_STEPS)


def once(value: Any, reduce: str) -> str:
    """Return ``once`` as ``""``, ``"final"`` or ``"equal"``, which a sum does not have: every offer changes it."""
    if isinstance(value, str) and value == "equal":
        return "final" if reduce == "sum" else "equal"
    if not isinstance(value, bool):
        raise ParameterError(f"once is {shown(value)}: pass True, False or 'equal'")
    return "final" if value else ""


# -- what calls stop by, and what they belong to -----------------------------------------------------------------------


def belongs(graph: Graph, held: Any, name: str) -> None:
    """Raise if ``held``, named ``name``, is on another device than ``graph`` or made for more vertices."""
    if held.device != graph.device:
        raise DeviceError(f"{name} is on {held.device}, the graph on {graph.device}")
    if held.num_vertices > graph.num_vertices:
        raise VertexRangeError(f"{name} is one of {held.num_vertices} vertices, the graph has {graph.num_vertices}")


def until_of(until: Any) -> Until:
    """Return the parameter ``until``, a ``Scalar`` (with the bound 0) or ``(Scalar, bound)``, as an :class:`Until`."""
    scalar, bound = until if isinstance(until, tuple) and len(until) == 2 else (until, 0)
    if not hasattr(scalar, "read") or not isinstance(getattr(scalar, "device", None), Device):
        raise ParameterError(f"until must be a Scalar or (Scalar, bound), got {type(scalar).__name__}")
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.integer | np.floating) or bound != bound:
        raise ParameterError(f"until: the bound is {bound!r}, pass a number")
    return Until(scalar, float(bound))


def stop_of(graph: Graph, stop: Any) -> tuple[Until | None, int]:
    """Return the parameter ``stop`` of a loop over ``graph`` (None: ``Stop()``), checked, as ``(until, most)``."""
    if not isinstance(stop, Stop):
        if stop is not None:
            raise ParameterError(f"stop is {shown(stop)}: write stop=su.Stop(until=scalar), or su.Stop(most=number)")
        return None, UNLIMITED
    until = None if stop.until is None else until_of(stop.until)
    if until is not None and until.scalar.device != graph.device:
        raise DeviceError(f"until is on {until.scalar.device}, the graph on {graph.device}")
    return until, UNLIMITED if stop.most is None else min(integer("most", stop.most, low=0), UNLIMITED)


def swaps(device: Device, swap: Any) -> tuple[tuple[Array, Array], ...]:
    """Return ``swap`` of ``iterate`` as pairs of arrays; raises unless each has one device, dtype and shape.

    No array may be in it twice: it would be swapped back.
    """
    pairs = tuple(swap) if isinstance(swap, tuple | list) else (None,)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ParameterError("swap takes pairs of arrays: write swap=[(a, b)]")
        for array in pair:
            if not lies_on(device, array):
                raise misplaced(device, array, "swap")
        if pair[0].dtype != pair[1].dtype or pair[0].shape != pair[1].shape:
            raise ShapeError("swap takes pairs of arrays of one dtype and shape")
    arrays = [array for pair in pairs for array in pair]
    if any(_share_memory(device, a, b) for i, a in enumerate(arrays) for b in arrays[:i]):
        raise ParameterError("swap has an array twice, or two that share memory: each is swapped once per round")
    return pairs


def places_of(graph: Graph, call: Call, swap: Any) -> Swap:
    """Return, for each pair of arrays in the parameter ``swap`` of ``converge``, their positions in ``call.values``.

    Raises if ``swap`` is no list of such pairs, or an array is no argument or not of length 1 or one per vertex.
    """
    if swap == ():
        return ()
    places = []
    for pair in swaps(graph.device, swap):
        found = [next((i for i, value in enumerate(call.values) if value is one), -1) for one in pair]
        if -1 in found or len(pair[0]) not in (1, graph.num_vertices):
            raise ParameterError("swap takes arrays that are in args, too, of one entry per vertex, or of one in all")
        places.append((found[0], found[1]))
    return tuple(places)


def apart(call: Call) -> None:
    """Raise if ``then`` writes an array that a function of the same pull reads at other vertices."""
    assert call.then is not None
    written = {id(call.values[position]) for position in call.then.writes}
    for function in (call.function, call.then):
        for position in function.elsewhere or ():
            if id(call.values[position]) in written:
                raise RequirementError(f"args[{position}] is written by then and read at other vertices: use commit")


def own_arrays(graph: Graph, call: Call) -> Call:
    """Return ``call``; raise if a function writes to read-only memory, or has effects where another argument lies."""
    for function in (call.function, *call.functions.values()):
        for at in sorted(function.writes):
            array, kind = call.values[at], function.effects.get(at)
            if isinstance(array, np.ndarray) and not array.flags.writeable:
                raise ShapeError(f"args[{at}] is read-only, and a function writes to it: pass a writable array")
            used = () if kind is None else sorted((function.reads | function.writes) - {at})
            for other in (each for each in used if function.effects.get(each) != kind):
                both = array, call.values[other]
                if all(isinstance(one, graph.device.xp.ndarray) for one in both) and _share_memory(graph.device, *both):
                    raise ParameterError(
                        f"args[{at}] has effects, and shares memory with args[{other}], which the same function uses: "
                        "pass a copy"
                    )
    return call


def effects_of_then(then: TypedFunction, values: tuple[Any, ...], out: Any, read: frozenset[int]) -> None:
    """Raise if ``then`` has effects on ``out``, or on what another function of the same phase reads meanwhile.

    ``values``: the arguments of the call; ``read``: the positions of those that this function reads.
    """
    seen = {id(values[position]): position for position in read}
    for position in then.effects:
        if values[position] is out:
            raise RequirementError(f"args[{position}] is out, which the operator writes: then has no effects on it")
        if id(values[position]) in seen:
            raise RequirementError(
                f"args[{position}]: then has effects on it, and the edge function reads it in the same phase: have the "
                "effects in commit of converge, or in a vertex_map"
            )


def effects_on_swapped(call: Call, places: Swap) -> None:
    """Raise if ``then`` has effects on an array of ``swap``, whose pairs of positions in the call are ``places``."""
    assert call.then is not None
    for position in call.then.effects:
        if any(position in pair for pair in places):
            raise RequirementError(f"args[{position}] is in swap, and then has effects on it: add to another array")


def taken_over(graph: Graph, after: Any, swap: Swap) -> None:
    """Raise unless ``after`` is None or the result of a loop over all vertices that ``converge`` can continue.

    ``swap`` is that parameter of the call. On CUDA the numbers of ``after`` must be on the device, and ``iterate`` must
    not record the call, except on graphs of several processes, whose rounds the host makes.
    """
    if after is None:
        return
    if not isinstance(after, Propagated):
        raise ParameterError(f"after is {after!r}: pass what converge returned")
    if not swap:
        raise RequirementError("after is for rounds over all vertices: pass swap, too")
    if not graph.device.is_cuda or graph.partition is not None:
        return
    if after.address is None:
        raise DeviceError(f"after is no loop on {graph.device}: pass what converge returned there")
    if driver_of(graph).is_recording():
        raise RequirementError("after cannot be used in the body of iterate")


# -- arrays ------------------------------------------------------------------------------------------------------------


def lies_on(device: Device, array: Array) -> bool:
    """Return whether ``array`` is an array on ``device``."""
    if not isinstance(array, device.xp.ndarray):
        return False
    return not device.is_cuda or array.data.device_id == device.index


def misplaced(device: Device, array: Array, label: str) -> DeviceError:
    """Return the ``DeviceError`` that says that ``array``, named ``label``, is not an array on ``device``."""
    if isinstance(array, device.xp.ndarray):
        return DeviceError(f"{label} is on cuda:{array.data.device_id}, the graph on {device}")
    kind = "a CuPy array" if device.is_cuda else "a NumPy array"
    return DeviceError(f"{label} is a {type(array).__name__}, the graph is on {device}: pass {kind}")


def vertex_array(graph: Graph, array: Array, label: str) -> None:
    """Raise unless ``array`` can take one value per vertex, by device, dtype and shape; ``label`` is its name."""
    _target(graph, array, label, graph.num_vertices)


def vertex_words(graph: Graph, given: Any, label: str) -> None:
    """Raise unless ``given``, named ``label``, is a ``Words`` on the graph's device with one word per vertex."""
    if not isinstance(given, Words):
        raise DTypeError(
            f"reduce='argmin' takes a Words as {label}, not {type(given).__name__}: make one by graph.words()"
        )
    if given.device != graph.device:
        raise DeviceError(f"{label} is on {given.device}, the graph on {graph.device}")
    if len(given) != graph.num_vertices:
        raise ShapeError(f"{label} has {len(given)} entries, but there are {graph.num_vertices} vertices")


def layout_of_values(graph: Graph, out: Any, dtype: Any) -> Layout:
    """Return the layout of words that a pull reduces: of ``out`` or ``dtype``, a ``Words`` on the graph's device."""
    given, label = (dtype, "dtype") if out is None else (out, "out")
    if not isinstance(given, Words):
        raise DTypeError(f"reduce='argmin' takes a Words as out, or as dtype to say the fields, not {given!r:.40}")
    if given.device != graph.device:
        raise DeviceError(f"{label} is on {given.device}, the graph on {graph.device}")
    return given.layout


def _target(graph: Graph, array: Array, label: str, length: int, columns: int = 0) -> None:
    if isinstance(array, Words):
        raise DTypeError(f"{label} is a Words: only reduce='argmin' takes one")
    if not lies_on(graph.device, array):
        raise misplaced(graph.device, array, label)
    if isinstance(array, np.ma.MaskedArray):
        raise DTypeError(f"{label} is a masked array: pass a plain one")
    if columns and not (array.flags.c_contiguous and array.shape == (length, columns)):
        raise ShapeError(f"{label} must be contiguous and of shape {(length, columns)}, not of shape {array.shape}")
    if not columns and not is_flat(array):
        raise ShapeError(f"{label} must be one-dimensional and contiguous, not of shape {array.shape}")
    if len(array) != length:
        raise ShapeError(f"{label} has {array.size} entries, but there are {length} vertices")
    if array.dtype not in OUT_DTYPES:
        raise DTypeError(f"{label} has dtype {array.dtype}: use one of {', '.join(map(str, OUT_DTYPES))}")
    if not graph.device.is_cuda and not array.flags.writeable:
        raise ShapeError(f"{label} is read-only: pass a writable array")


def result_array(graph: Graph, call: Call, out: Array | None, length: int, *, aliased: bool = False) -> Array:
    """Return the array for the results: ``out``, checked (``aliased``: it may share memory), or a new one."""
    if call.layout is not None:
        return _result_words(call, out, length, aliased=aliased)
    if call.vote is not None and call.vote.best:
        return _result_of_best(graph, call, out, length)
    if out is None:
        return graph.device.xp.empty((length, call.columns) if call.columns else length, call.dtype)
    _target(graph, out, "out", length, call.columns)
    for value in () if aliased else call.values:
        if isinstance(value, graph.device.xp.ndarray) and _share_memory(graph.device, value, out):
            raise ParameterError("out must not alias an argument: other vertices would read partial results")
    return out


def _result_of_best(graph: Graph, call: Call, out: Any, length: int) -> Best:
    """Return the arrays for the best labels and their scores: ``out``, checked, or new ones."""
    assert call.vote is not None
    best = call.vote.best
    if out is None:
        made = (graph.device.xp.empty((length, best), dtype) for dtype in (call.dtype, np.float64))
        return Best(*made)
    if not (isinstance(out, tuple) and len(out) == 2 and getattr(out[1], "dtype", None) == np.float64):
        raise DTypeError("out is a pair of arrays, of labels and of scores, which are float64")
    for array, label in zip(out, ("out[0]", "out[1]"), strict=True):
        _target(graph, array, label, length, best)
    return Best(*out)


def _result_words(call: Call, out: Any, length: int, *, aliased: bool) -> Words:
    if out is None:
        raise RequirementError("reduce='argmin' needs out, a Words, unless then takes the values")
    if len(out) != length:
        raise ShapeError(f"out has {len(out)} entries, but there are {length} vertices")
    if not aliased and any(value is out for value in call.values):
        raise ParameterError("out must not alias an argument: other vertices would read partial results")
    return out


def _share_memory(device: Device, a: Array, b: Array) -> bool:
    """Return whether the memory of ``a`` and ``b``, contiguous arrays on ``device``, overlaps."""
    if not device.is_cuda:
        return np.may_share_memory(a, b)  # compares the bounds, which is exact for contiguous arrays
    (begin, end), (low, high) = map(_memory_of, (a, b))
    return begin < high and low < end


def _memory_of(array: Array) -> tuple[int, int]:
    """Return where the memory of an array on a device begins and ends: not all of its entries need to have some."""
    if not array.nbytes:
        return 0, 0
    place, memory = array.data.ptr, array.data.mem
    return max(place, memory.ptr), min(place + array.nbytes, memory.ptr + memory.size)


def stored(graph: Graph, call: Call, out: Array | None, *, aliased: bool = False) -> Array | None:
    """Return the array in which a pull stores one value per vertex of ``graph``: ``out``, checked, or a new one.

    None is returned if ``out`` is None and ``call`` has a function ``then``: nothing is stored. If ``aliased`` is set,
    ``out`` may share memory with arguments.
    """
    if out is None and call.then is not None:
        return None
    return result_array(graph, call, out, graph.num_vertices, aliased=aliased)
