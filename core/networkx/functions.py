"""Functions that the backend offers to NetworkX: ``served`` declares one, entry points list them (``info.GROUP``)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from random import Random
from types import GeneratorType
from typing import Any

import networkx as nx
from networkx.utils.backends import _registered_algorithms

from suricate.base.errors import BackendError, DeviceError, MissingLibraryError, SuricateError
from suricate.networkx.arguments import AT_ONCE, USUAL, Limit
from suricate.networkx.converted import Converted

COSTS = {  #: what a function costs NetworkX, hence when it pays to convert a graph for it
    "vertices": "at most one pass over the vertices: converting a graph always takes longer",
    "local": "a search that ends early or from both ends, or about few nodes: NetworkX reads a part of the graph",
    "linear": "one pass over the edges: pays once the graph is converted",
    "iterations": "some passes over the edges: pays with many edges, or once the graph is converted",
    "heavy": "many passes over the edges: pays with some edges, or once the graph is converted",
}
FEWEST = {"iterations": 10_000, "heavy": 1_000}  #: edges from which a call pays that converts the graph; measured

TROUBLE = BackendError, DeviceError, MemoryError, MissingLibraryError  #: users are told, though NetworkX answers

#: functions that NetworkX has no code for: an invalid argument is their own error
LEFT_TO_BACKENDS = ("leiden_communities", "leiden_partitions")


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
        parameters = self.signature.parameters.values()
        self._names = tuple(one.name for one in parameters)
        self._needed = {one.name for one in parameters if one.default is inspect.Parameter.empty}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result for arguments, of which the graph is a :class:`~suricate.networkx.Converted`.

        An iterator has computed its first item. Exceptions are NetworkX's, where it has the function itself.

        Raises:
            NotImplementedError: the call is not served; then it has not drawn numbers from a generator among ``args``.
        """
        drawn = [(each, each.getstate()) for each in (*args, *kwargs.values()) if isinstance(each, Random)]
        try:
            self._check(args, kwargs)
            found = self.function(*args, **kwargs)
            return _begun(found) if type(found) is GeneratorType else found
        except nx.NetworkXException:
            raise
        except Exception as error:
            if self.function.__name__ in LEFT_TO_BACKENDS and type(error) is ValueError:
                raise
            wrong = refusal(self.function.__name__, error)
        try:
            _put_back(drawn)
            return self._as_networkx(wrong, args, kwargs)
        except NotImplementedError:
            _put_back(drawn)
            raise

    def _check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise ``TypeError`` if an argument is of a kind that the function does not expect."""
        for name, value in (*zip(self._names, args, strict=False), *kwargs.items()):
            reason = USUAL[name](value) if name in USUAL else None
            if reason or (value is None and name in self._needed):
                raise TypeError(f"{name}={value!r}: {reason or 'it is needed'}")

    def _as_networkx(self, wrong: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Any]:
        """Raise what NetworkX raises, or return an iterator that does, where this function has raised ``wrong``."""
        if isinstance(wrong, NotImplementedError):
            raise wrong
        found = by_networkx(self.function.__name__, *args, **kwargs)
        try:
            next(found if isinstance(found, Iterator) else iter(()), None)
        except Exception as error:
            return _raising(error)
        raise NotImplementedError(f"suricate does not serve this call: {wrong!r}") from wrong

    def graph_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the graph, of several the first, among the arguments ``args`` and ``kwargs`` of a call."""
        found = args[0] if args else next(kwargs[name] for name in self.signature.parameters if name in kwargs)
        return found[0] if isinstance(found, list) and found else found

    def cost_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Return the cost of a call with the arguments ``args`` and ``kwargs``, a key of ``COSTS``."""
        given = self.signature.bind_partial(*args, **kwargs).arguments
        return "local" if self.part and all(given.get(name) is not None for name in self.part) else self.cost

    def refusal(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Return a sentence why a call with ``args`` and ``kwargs`` is not served; None if it is."""
        graph = self.graph_of(args, kwargs)
        if graph.is_multigraph():
            return "suricate keeps one edge between two nodes: it does not serve multigraphs"
        if self.directed is not None and graph.is_directed() != self.directed:
            kind = "directed" if self.directed else "undirected"
            return f"suricate serves {self.function.__name__} of {kind} graphs only"
        for name, value in {**dict(zip(self._names, args, strict=False)), **kwargs}.items():
            for limit in (self.limits.get(name), AT_ONCE.get(name)):
                reason = limit(value) if limit else None
                if reason:
                    return f"suricate does not serve {name}={value!r} in {self.function.__name__}: {reason}"
        return None


def _put_back(drawn: list[tuple[Random, Any]]) -> None:
    for generator, state in drawn:
        generator.setstate(state)


def by_networkx(name: str, *args: Any, **kwargs: Any) -> Any:
    """Return what NetworkX's function ``name`` does of the graphs that were converted."""
    function = _registered_algorithms.get(name)
    if function is None:
        raise NotImplementedError(f"NetworkX has no function {name}")
    with nx.config.backend_priority(algos=[], generators=[]):
        return function.orig_func(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})


def _plain(given: Any) -> Any:
    if isinstance(given, list):
        return list(map(_plain, given))
    return given.to_networkx() if isinstance(given, Converted) else given


def refusal(name: str, error: Exception, *kinds: type[Exception]) -> Exception:
    """Return the ``NotImplementedError`` by which ``name`` leaves a call to NetworkX, because of ``error``.

    An ``error`` other than those of suricate, of ``kinds``, and lack of memory is returned as it is.
    """
    if isinstance(error, NotImplementedError) or not isinstance(error, (SuricateError, MemoryError, *kinds)):
        return error
    if isinstance(error, TROUBLE):
        warnings.warn(f"suricate leaves {name} to NetworkX: {error}", RuntimeWarning, stacklevel=3)
    refused = NotImplementedError(f"suricate does not serve this call of {name}: {error!r}")
    refused.__cause__ = error
    return refused


def _begun(found: Generator[Any, None, None]) -> Iterator[Any]:
    """Return an iterator over ``found`` that has computed the first item: refusals come now, not when it is read."""
    try:
        first = [next(found)]
    except StopIteration:
        first = []
    except nx.NetworkXException as error:
        return _raising(error)
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
    it raises reach the caller. After any other one NetworkX is asked: what it raises reaches the caller, else the call
    is left to it. The first item of a generator is computed at the call; from the second on it must not refuse.

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
