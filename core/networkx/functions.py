"""Functions that the backend offers to NetworkX: ``served`` declares one, entry points list them (``info.GROUP``)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from random import Random
from typing import Any

import networkx as nx
import numpy as np

from suricate.base.errors import BackendError, CapacityError, DeviceError, MissingLibraryError

COSTS = {  #: what a function costs NetworkX, hence when it pays to convert a graph for it
    "vertices": "at most one pass over the vertices: converting a graph always takes longer",
    "local": "a search that ends early or from both ends, or about few nodes: NetworkX reads a part of the graph",
    "linear": "one pass over the edges: pays once the graph is converted",
    "iterations": "some passes over the edges: pays with many edges, or once the graph is converted",
    "heavy": "many passes over the edges: pays with some edges, or once the graph is converted",
}
FEWEST = {"iterations": 10_000, "heavy": 1_000}  #: edges from which a call pays that converts the graph; measured

TROUBLE = (
    BackendError,
    CapacityError,
    DeviceError,
    MissingLibraryError,
)  #: what users should know of, though NetworkX answers

Limit = Callable[[Any], str | None]  # a value of a parameter -> why it is not served, None if it is


def named(weight: Any) -> str | None:
    """Return None, or if ``weight`` is a function the reason why weights that a function returns are not served."""
    return "weights that a function returns are not served" if callable(weight) else key(weight)


def absent(value: Any) -> str | None:
    """Return None if ``value`` is None, else the reason why the call is left to NetworkX."""
    return None if value is None else "only None is served"


def key(value: Any) -> str | None:
    """Return None if ``value`` may be a node or the name of an attribute, else the reason why it may not."""
    try:
        hash(value)
    except TypeError as error:
        return str(error)
    return None


def number(value: Any) -> str | None:
    """Return None if ``value`` is None or a number, else the reason why the call is left to NetworkX."""
    is_one = isinstance(value, (int, float, np.integer, np.floating)) and value == value
    return None if value is None or is_one else "it is no number"


def whole(value: Any) -> str | None:
    """Return None if ``value`` is an integer of 64 bits, else the reason why the call is left to NetworkX."""
    return None if isinstance(value, (int, np.integer)) and abs(int(value)) < 2**63 else "it is no integer of 64 bits"


def by_node(value: Any) -> str | None:
    """Return None if ``value`` is None or has a finite number for each of its nodes, else the reason to refuse it."""
    if value is None:
        return None
    if not isinstance(value, dict):
        return "it is no dict"
    strange = [each for each in value.values() if each is None or number(each) or not np.isfinite(each)]
    return f"it has the value {strange[0]!r}" if strange else None


def held(value: Any) -> str | None:
    """Return None, or if ``value`` can be read only once the reason why it is left to NetworkX."""
    return "an iterator cannot be read again, if the call is refused later" if isinstance(value, Iterator) else None


USUAL: Mapping[str, Limit] = {  #: limits of parameters by their names, which the documentation does not list one by one
    **dict.fromkeys(("source", "target", "n", "u", "weight", "distance"), key),
    **dict.fromkeys(("cutoff", "depth_limit", "k", "tol", "alpha"), number), "max_iter": whole,
    **dict.fromkeys(("nstart", "personalization", "dangling", "core_number"), by_node),
    **dict.fromkeys(("sources", "nbunch", "v"), held),
}  # fmt: skip


@dataclass(eq=False)
class Served:
    """A function of NetworkX that answers from a :class:`~suricate.networkx.Converted` graph: see :func:`served`."""

    function: Callable[..., Any]
    algorithms: tuple[str, ...]
    cost: str
    directed: bool | None
    limits: Mapping[str, Limit]
    part: tuple[str, ...]
    note: str

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)
        self.signature = inspect.signature(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result for arguments, of which the graph is a :class:`~suricate.networkx.Converted`.

        Raises:
            NotImplementedError: the call is not served; then it has not drawn numbers from a generator among ``args``.
        """
        drawn = [(each, each.getstate()) for each in (*args, *kwargs.values()) if isinstance(each, Random)]
        try:
            with refusing(self.function.__name__):
                found = self.function(*args, **kwargs)
                return _begun(found) if isinstance(found, Generator) else found
        except NotImplementedError:
            for each, state in drawn:
                each.setstate(state)
            raise

    def graph_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the graph among the positional arguments ``args`` and keyword arguments ``kwargs`` of a call."""
        return args[0] if args else next(iter(kwargs[name] for name in self.signature.parameters if name in kwargs))

    def cost_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Return the cost of a call with the arguments ``args`` and ``kwargs``, a key of ``COSTS``."""
        given = self.signature.bind_partial(*args, **kwargs).arguments
        return "local" if self.part and all(given.get(name) is not None for name in self.part) else self.cost

    def refusal(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Return a sentence why a call with ``args`` and ``kwargs`` is not served; None if it is."""
        try:
            given = self.signature.bind(*args, **kwargs).arguments
            graph = self.graph_of(args, kwargs)
            is_directed, is_multigraph = graph.is_directed(), graph.is_multigraph()
        except (TypeError, AttributeError) as error:
            return f"the arguments are not those of {self.function.__name__}: {error}"
        if is_multigraph:
            return "suricate keeps one edge between two nodes: it does not serve multigraphs"
        if self.directed is not None and is_directed != self.directed:
            kind = "directed" if self.directed else "undirected"
            return f"suricate serves {self.function.__name__} of {kind} graphs only"
        for name in list(given)[1:]:
            limits = (self.limits.get(name), USUAL.get(name), None if given[name] is not None else self._needed(name))
            reason = next(filter(None, (limit(given[name]) for limit in limits if limit)), None)
            if reason is not None:
                return f"suricate does not serve {name}={given[name]!r} in {self.function.__name__}: {reason}"
        return None

    def _needed(self, name: str) -> Limit | None:
        is_needed = self.signature.parameters[name].default is inspect.Parameter.empty
        return (lambda _: "the parameter is needed") if is_needed else None


class BuiltinError(Exception):
    """Raised by a served function with a built-in exception that NetworkX raises in its place: callers get that one."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Turn what ``name`` may raise into what NetworkX raises or, as a ``NotImplementedError``, into a refusal.

    After a refusal NetworkX computes the answer itself, or raises its own exception.
    """
    try:
        yield
    except BuiltinError as found:
        raise found.error from found.__cause__
    except (NotImplementedError, nx.NetworkXException):
        raise
    except Exception as error:
        if isinstance(error, TROUBLE):
            warnings.warn(f"suricate leaves {name} to NetworkX: {error}", RuntimeWarning, stacklevel=4)
        raise NotImplementedError(f"suricate does not serve this call of {name}: {error!r}") from error


def _begun(found: Generator[Any, None, None]) -> Iterator[Any]:
    """Return an iterator over ``found`` that has computed the first item: refusals come now, not when it is read.

    Exceptions of NetworkX come when it is read, as there.
    """
    try:
        first = [next(found)]
    except StopIteration:
        first = []
    except (nx.NetworkXException, BuiltinError) as error:
        return _raising(error.error if isinstance(error, BuiltinError) else error)
    return _resumed(first, found)


def _resumed(first: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    yield from first
    yield from rest


def _raising(error: Exception) -> Iterator[Any]:
    raise error
    yield  # which makes it a generator


def served(
    *algorithms: str,
    cost: str,
    directed: bool | None = None,
    limits: Mapping[str, Limit] | None = None,
    part: tuple[str, ...] = (),
    note: str = "",
) -> Callable[[Callable[..., Any]], Served]:
    """Declare a function that serves the function of the same name in NetworkX.

    Its first argument is a :class:`~suricate.networkx.Converted` graph; its parameters and defaults are NetworkX's. An
    entry point of the group ``suricate.networkx`` with NetworkX's name for it registers it. Exceptions of NetworkX that
    it raises reach the caller, and so do built-in ones in a ``BuiltinError``. Any other one is a refusal: NetworkX then
    answers the call. The first item of a generator is computed at the call; from the second on it must not refuse.

    Args:
        algorithms: names of the algorithms that it uses, for the documentation.
        cost: one of ``COSTS``.
        directed: True: it serves directed graphs only, False: undirected ones only.
        limits: by parameter, a function that takes a value and returns a sentence that says why it is not served, or
            None.
        part: parameters; if all are given, NetworkX visits only a part of the graph: the cost is ``"local"``.
        note: how its answers differ from NetworkX's, for the documentation.
    """
    if cost not in COSTS:
        raise ValueError(f"cost must be one of {', '.join(COSTS)}, got {cost!r}")

    def declare(function: Callable[..., Any]) -> Served:
        return Served(function, algorithms, cost, directed, limits or {}, part, note)

    return declare
