"""Prepared calls: on CUDA a graph keeps what an operator has checked, compiled and packed, for the next such call.

A loop in Python calls an operator with the same function and the same arrays again and again, and for a short frontier
most of the time goes to the host. A call is recognised by a key: the identity of the function's code and of the arrays,
which are not kept alive, and the types of numbers, whose values are passed with each call. The second call with a key
is prepared. Unusual calls (with ``then``, structures as arguments, arcs, unions, words) are never prepared, nor are
calls within ``iterate``, which are recorded.
"""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.edgefn import bounds
from suricate.graph import Graph
from suricate.operators.call import Call, driver_of
from suricate.state.frontier import Frontier

MOST = 256  #: calls that are kept per graph
FEW = 3  #: uses for which it does not pay to prepare a call
MISSED = object()  #: what :func:`run` returns where the call was not prepared, or does not serve
#: types of arguments that are passed with each call
NUMBERS = frozenset((bool, int, float, np.bool_, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64))

Key = tuple[Any, ...]


class PreparedCalls:
    """The prepared calls of one graph by key, used under the graph's lock.

    The value of a key in ``made`` is the prepared call; None if the call occurred once; False if it is not to be
    prepared: it cannot be, or one of its arrays was freed after fewer than ``FEW`` calls, which does not pay.
    """

    def __init__(self, device: Device) -> None:
        self.made: dict[Key, Any] = {}

    def prepare(self, graph: Graph, key: Key, arrays: list[Any], *given: Any) -> None:
        """Prepare the call by the driver's ``prepare``; it is dropped when one of ``arrays`` is freed."""
        calls = weakref.ref(self)  # no cycle: memory of the graph goes with it

        def forget(_: Any) -> None:
            held = calls()
            if held is not None and (known := held.made.pop(key, None)) and known.uses < FEW:
                held.made[key] = False

        prepared = driver_of(graph).prepare(key[0], graph, *given)
        if prepared is not None:
            prepared.held = [weakref.ref(array, forget) for array in arrays]
        self.made[key] = prepared or False


def key_of(graph: Graph, operator: str, fn: Any, args: Any, out: Any, *options: Any) -> Key | None:
    """Return the key of a call, of the arrays' identity, types of numbers and ``options``; None: not to be prepared."""
    if not graph.device.is_cuda or graph.walks_rows or type(fn) is not FunctionType or type(args) is not tuple:
        return None
    if graph.partition is not None or graph._events is not None:
        return None
    if bounds.CHECKED or driver_of(graph).is_recording() or str in map(type, args):  # columns move as they grow
        return None
    given = [type(value) if type(value) in NUMBERS else id(value) for value in args]
    return operator, id(fn.__code__), id(out), *options, *given


def run(graph: Graph, key: Key | None, fn: Any, given: Any, args: tuple[Any, ...]) -> Any:
    """Make the prepared call with this ``key`` on ``given``, a frontier or None for all vertices; return its result.

    If there is no prepared call, or it cannot be used for ``fn`` any more, nothing is launched and ``MISSED`` is
    returned. ``args`` are the arguments of ``fn``; their numbers may differ from those of earlier calls.
    """
    if key is None or not (given is None or type(given) is Frontier):
        return MISSED
    try:
        prepared = graph.workspace.state(PreparedCalls).made.get(key)
    except TypeError:  # an option of another type than str
        return MISSED
    if not prepared or not prepared.serves(graph, fn):
        return MISSED
    return prepared(graph, given, args)


def keep(graph: Graph, key: Key | None, fn: Any, given: Any, call: Call, out: Any, over: str, scheme: str = "") -> None:
    """Record that a call with this ``key`` (None: do not) was made unprepared; prepare it at the second one."""
    if key is None or not (given is None or type(given) is Frontier):
        return
    calls = graph.workspace.state(PreparedCalls)
    if key not in calls.made:
        if len(calls.made) >= MOST:
            calls.made.clear()
        calls.made[key] = None
        return
    known = calls.made[key]
    if known is False or (known is not None and known.serves(graph, fn)) or not _is_plain(key, call):
        return
    arrays = [value for value in (out, *call.values) if isinstance(value, graph.device.xp.ndarray)]
    calls.prepare(graph, key, arrays, call, fn, out, over, scheme)


def _is_plain(key: Key, call: Call) -> bool:
    """Return whether ``call`` can be prepared: it has one function, whose arguments are arrays and numbers."""
    if call.then is not None or call.layout is not None:
        return False
    arguments = call.function.arguments
    given = zip(arguments, key[len(key) - len(arguments) :], strict=True)
    return all(kind.kind == "array" or (kind.kind == "scalar" and isinstance(part, type)) for kind, part in given)
