"""What a graph is made with: :class:`GraphOptions`, validated once, and the stores built from them.

``Graph()``, ``to()``, ``load()`` and copies all pass these options on, so that none is forgotten.
"""

from __future__ import annotations

import difflib
import inspect
import numbers
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from suricate import plugins
from suricate.base.devices import Array, Device, resolve_device
from suricate.base.errors import (
    CapacityError,
    DeviceError,
    DTypeError,
    ParameterError,
    ShapeError,
    SuricateError,
    VertexRangeError,
)
from suricate.base.parameters import flag, is_number, named_dtype, one_of, shown
from suricate.base.types import MAX_VERTICES, WEIGHT_DTYPES, Checks, SelfLoops
from suricate.cpu import threads
from suricate.intake.arrays import LOOPS, as_ids, on_host
from suricate.state.edge_table import ROW, Kind, checked_kinds, weighed_kinds
from suricate.store import Store

CHECKS = ("eager", "deferred")
UNITS = {"": 1} | {f"{p}{i}": (1024 if i else 1000) ** k for k, p in enumerate("KMGT", 1) for i in ("", "I")}
COMMON = frozenset(("num_vertices", "device", "weight_dtype", "degree_hints", "memory_limit"))  # arguments of any store


@dataclass(frozen=True)
class GraphOptions:
    """The options of a graph, validated; see ``Graph`` for what they mean.

    ``in_edges`` is True only for a directed graph with a second store. ``weight_dtype`` may be given as anything that
    NumPy takes for a dtype, ``memory_limit`` as text with a unit (``"1.5GB"``). ``stored_dtype`` is the dtype of what
    the stores have as weights: of the rows if edges have columns, else ``weight_dtype``.

    Raises:
        ParameterError, UnknownNameError, DTypeError: an option has a wrong type, name or value.
    """

    backend: type[Store]
    directed: bool = True
    weight_dtype: np.dtype | None = None
    in_edges: bool = False
    self_loops: SelfLoops = "allow"
    checks: Checks = "eager"
    memory_limit: int | None = None
    backend_options: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = None
    edge_columns: Mapping[str, Kind] = field(default_factory=dict)
    stored_dtype: np.dtype | None = field(init=False)

    def __post_init__(self) -> None:
        one_of("self_loops", self.self_loops, tuple(LOOPS))
        one_of("checks", self.checks, CHECKS)
        _check_backend_options(self.backend, self.backend_options)
        directed = flag("directed", self.directed)
        weight_dtype, kinds = weighed_kinds(_weight_dtype(self.weight_dtype), checked_kinds(self.edge_columns))
        checked = {
            "directed": directed,
            "weight_dtype": weight_dtype,
            "stored_dtype": ROW if kinds else weight_dtype,
            "edge_columns": kinds,
            "in_edges": flag("in_edges", self.in_edges) and directed,
            "memory_limit": checked_size("memory_limit", self.memory_limit),
            "threads": threads.checked(self.threads),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def arguments(self, **changed: Any) -> dict[str, Any]:
        """Return these options as arguments of ``Graph``, some of them changed."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return {**own.pop("backend_options"), **own, **changed}

    def make_stores(
        self, num_vertices: Any, device: Device, degree_hints: Any = None, in_degree_hints: Any = None, rows: Any = None
    ) -> tuple[Store, ...]:
        """Return an empty store of out-edges, and a second one of in-edges if the graph keeps them.

        ``degree_hints`` and ``in_degree_hints``: the expected out- and in-degrees, one per vertex, or None. ``rows``:
        those that the stores keep, if they can keep some only (``Store.keep_rows``); None: all.

        Raises:
            DTypeError, VertexRangeError: ``num_vertices`` is not a valid number of vertices.
            DTypeError, ShapeError, ParameterError: invalid hints; another option that the backend refuses.
            CapacityError: there is not enough memory for the vertices.
        """
        count = checked_count(num_vertices)
        hints = [_checked_hints(degree_hints, count, "degree_hints")]
        into = _checked_hints(in_degree_hints, count, "in_degree_hints")
        if self.in_edges:
            hints.append(into)
        elif into is not None:
            raise ParameterError("in_degree_hints are for a directed graph with in_edges=True")
        with device.current():
            return tuple(self._make_store(count, device, each, rows) for each in hints)

    def _make_store(self, num_vertices: int, device: Device, hints: Array | None, rows: Array | None) -> Store:
        if hints is not None:
            hints = device.xp.asarray(hints) if device.is_cuda else on_host(hints)
        try:
            return self.backend(
                num_vertices,
                device=device,
                weight_dtype=self.stored_dtype,
                degree_hints=hints,
                memory_limit=self.memory_limit,
                **({} if rows is None or self.backend.keep_rows is Store.keep_rows else {"rows": rows}),
                **self.backend_options,
            )
        except SuricateError:
            raise
        except MemoryError as error:
            raise CapacityError(f"memory does not suffice for {num_vertices} vertices on {device}: {error}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise ParameterError(f"backend {self.backend.name!r}: {error}") from error


def choose_backend(backend: Any, device: str | Device) -> tuple[type[Store], Device]:
    """Return the backend's class and the device for the user's ``backend`` and ``device``.

    ``device="auto"`` is a device on which the backend runs; ``backend=None`` is the default backend of the device.

    Raises:
        UnknownNameError: no backend of this name is installed.
        DeviceError: there is no such device, or the backend does not run there.
    """
    place = resolve_device(device)
    if backend is None:
        chosen = plugins.default_backend(place)
    elif isinstance(backend, type) and issubclass(backend, Store):
        chosen = backend
    elif isinstance(backend, str):
        chosen = plugins.backend(backend)
    else:
        raise ParameterError(f"backend must be a name, a Store class or None, got {backend!r}")
    if place.kind not in chosen.devices:
        if device != "auto":
            raise DeviceError(f"backend {chosen.name!r} runs on {', '.join(chosen.devices)}, not on {place}")
        place = resolve_device(chosen.devices[0])
    return chosen, place


def check_options(options: Mapping[str, Any]) -> None:
    """Check arguments of ``Graph``, but for the number of vertices, hints, names and ``comm``."""
    left = dict(options)
    for name in ("num_vertices", "degree_hints", "in_degree_hints", "names", "comm"):
        left.pop(name, None)
    backend, _ = choose_backend(left.pop("backend", None), left.pop("device", "auto"))
    left["edge_columns"] = left.pop("edge_columns", None) or {}
    own = {each.name: left.pop(each.name) for each in fields(GraphOptions) if each.name in left}
    GraphOptions(backend, backend_options=left, **own)


def checked_count(count: Any, argument: str = "num_vertices") -> int:
    """Return ``count`` as an int; raise ``DTypeError`` or ``VertexRangeError`` if it is no number of vertices."""
    try:
        number = None if isinstance(count, (bool, np.bool_)) else operator.index(count)
    except TypeError:
        number = None
    if number is None:
        raise DTypeError(f"{argument} is {shown(count)}: pass an integer")
    if not 0 <= number <= MAX_VERTICES:
        raise VertexRangeError(f"{argument} is {shown(number)}: it must be 0 to {MAX_VERTICES}")
    return number


def _checked_hints(hints: Any, num_vertices: int, argument: str) -> Array | None:
    """Return ``hints``, one expected degree per vertex, as an integer array on their device; None for None."""
    if hints is None:
        return None
    array = as_ids(hints, argument)
    if len(array) != num_vertices:
        raise ShapeError(f"{argument} has {len(array)} entries for {num_vertices} vertices: pass one per vertex")
    if array.dtype.kind == "i" and len(array) and int(array.min()) < 0:
        at = int(array.argmin())
        raise ParameterError(f"{argument}[{at}] is {int(array[at])}: a degree is not negative")
    return array


def _weight_dtype(weight_dtype: Any) -> np.dtype | None:
    if weight_dtype is None:
        return None
    names = ", ".join(dtype.name for dtype in WEIGHT_DTYPES)
    dtype = named_dtype(weight_dtype)
    if dtype is None:
        raise DTypeError(f"weight_dtype {shown(weight_dtype)} is no dtype: use None or one of {names}")
    if dtype not in WEIGHT_DTYPES:
        raise DTypeError(f"weight_dtype {dtype} is not supported: use None or one of {names}")
    return dtype


def checked_size(argument: str, value: Any) -> int | None:
    """Return a number, or a text such as ``"1.5GB"`` (1000) or ``"512 MiB"`` (1024), in bytes; None stays None."""
    if value is None:
        return None
    size = None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,9})?)\s*([KMGT]?I?)B?\s*", value.upper(), re.ASCII)
        if match and match[2] in UNITS:
            size = int(float(match[1]) * UNITS[match[2]])
    elif is_number(value, numbers.Integral):
        size = int(value)
    if size is None or size < 0:
        raise ParameterError(
            f"{argument} must be bytes, a size such as '1.5GB' or '512MiB', or None, got {shown(value)}"
        )
    return size


def _check_backend_options(backend: type[Store], options: Mapping[str, Any]) -> None:
    """Raise ``ParameterError`` for an option that the backend does not have, or one whose value has a wrong type."""
    parameters = inspect.signature(backend).parameters
    known = {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in COMMON
    }
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name, value in options.items():
        if not isinstance(name, str):
            raise ParameterError(f"the name of an option is a text, got {shown(name)}")
        if name not in known and not (takes_any and name not in COMMON):
            offered = f"its options are {', '.join(known)}" if known else "it has no options"
            near = difflib.get_close_matches(name, [*known, *(each.name for each in fields(GraphOptions))], 1)
            offered += f"; did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"neither Graph nor backend {backend.name!r} has an option {name!r}; {offered}")
        default = known.get(name)
        if isinstance(default, bool):
            flag(f"backend {backend.name!r}: {name}", value)
        elif isinstance(default, float) and not is_number(value):
            raise ParameterError(f"backend {backend.name!r}: {name} must be a number, got {shown(value)}")
