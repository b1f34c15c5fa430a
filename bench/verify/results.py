"""Verification of algorithms, by the reference that each of them brings.

``kind`` is the class of an algorithm, ``params`` are its parameters by name; ``device`` has the arrays of a result.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.bench.verify.edges import EdgeModel, expect
from suricate.plugins.algorithm import Algorithm


def check_result(
    kind: type[Algorithm],
    params: Mapping[str, Any],
    result: Any,
    model: EdgeModel,
    num_vertices: int,
    device: Device,
    live: np.ndarray | None = None,
) -> float | None:
    """Raise ``Mismatch`` unless ``result`` is right for algorithm ``kind`` with ``params`` on the edges of ``model``.

    Returns the numerical error of ``result``, None if the algorithm defines none. The algorithm's ``reference()`` is
    computed once per set of edges and live vertices, for all batches and backends. ``live``: the mask of live vertices,
    None: all are; a mask needs a reference that takes one (:func:`takes_live`).
    """
    right = reference_of(kind, params, model, num_vertices, live)
    found = on_host(result, device)
    wrong = kind.mismatch(found, right, **params)
    expect(wrong is None, f"{kind.name}: {wrong}")
    return kind.error(found, right)


def reference_of(
    kind: type[Algorithm],
    params: Mapping[str, Any],
    model: EdgeModel,
    num_vertices: int,
    live: np.ndarray | None = None,
) -> Any:
    """Return the ``reference()`` of an algorithm, which is computed once; the arguments are those of `check_result`."""
    told: dict[str, Any] = {**params} if live is None else {**params, "live": live}
    key = (kind, num_vertices, repr(params), model.content, None if live is None else live.tobytes())
    if key not in model.references:
        model.references[key] = kind.reference(*model.arcs(), num_vertices, model.directed, **told)
    return model.references[key]


def takes_live(kind: type[Algorithm]) -> bool:
    """Return whether the ``reference()`` of ``kind`` has the parameter ``live``, the mask of live vertices."""
    return "live" in inspect.signature(kind.reference).parameters


def check_same(kind: type[Algorithm], params: Mapping[str, Any], result: Any, fresh: Any, device: Device) -> None:
    """Raise ``Mismatch`` unless ``result`` agrees with ``fresh``, which was computed from scratch on the same graph.

    They are first compared for equality, on the device; if they differ, the algorithm's ``mismatch()`` decides.
    """
    if _equal(result, fresh, device):
        return
    wrong = kind.mismatch(on_host(result, device), on_host(fresh, device), **params)
    expect(wrong is None, f"{kind.name}: updated and computed from scratch differ: {wrong}")


def _equal(one: Any, other: Any, device: Device) -> bool:
    """Return whether the results ``one`` and ``other`` are equal, element by element.

    A result is a number, an array on ``device``, or a tuple of these.
    """
    if isinstance(one, tuple):
        return len(one) == len(other) and all(_equal(*parts, device) for parts in zip(one, other, strict=True))
    if isinstance(one, (int, float)):
        return bool(one == other)
    xp = device.xp
    return isinstance(one, xp.ndarray) and isinstance(other, xp.ndarray) and bool(xp.array_equal(one, other))


def on_host(result: Any, device: Device) -> Any:
    """Return an algorithm's result with its arrays copied to NumPy arrays; a NamedTuple stays one."""
    if not isinstance(result, tuple):
        return device.to_numpy(result) if isinstance(result, device.xp.ndarray) else result
    return getattr(type(result), "_make", tuple)(on_host(part, device) for part in result)
