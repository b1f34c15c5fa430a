"""What an update costs besides time: waits, launches, memory allocated, and vertices visited.

>>> costs = measure(lambda: graph.insert_edges(src, dst), graph.device)          # doctest: +SKIP
>>> costs.waits, costs.launches, costs.allocated, costs.visited                  # doctest: +SKIP
(0, 3, 26112, 1042)

Run the action a few times before: what is compiled or allocated for the first time counts too. Vertices are counted on
both devices, the rest on CUDA.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from suricate.base.devices import Device
from suricate.cuda.program import Program
from suricate.operators.call import Start, driver_on
from suricate.operators.results import Propagated
from suricate.state.frontier import Frontier
from suricate.testing.syncs import count_syncs

STEPS = ("advance", "neighbor_reduce", "vertex_map", "edge_map")  #: operators that visit what they are given, once


@dataclass
class Costs:
    """The cost of one action.

    Attributes:
        waits: calls that made the host wait for the device.
        kernels: launches of this package's kernels by name, without CuPy's own for operations on arrays.
        allocated: bytes taken from CuPy's memory pool, whether or not they were freed.
        visited: vertices that operators were given, or visited in their steps; given arcs count as one each.
    """

    waits: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    allocated: int = 0
    visited: int = 0

    @property
    def launches(self) -> int:
        """The number of launches of this package's kernels."""
        return self.kernels.total()


def measure(action: Callable[[], Any], device: Device) -> Costs:
    """Run ``action`` once and return what it cost on ``device``."""
    costs = Costs()
    with ExitStack() as stack:
        visits = stack.enter_context(_visits(device))
        if device.is_cuda:
            stack.enter_context(_launches(device, costs.kernels))
            stack.enter_context(_allocations(device, costs))
            costs.waits = count_syncs(action).calls
        else:
            action()
    costs.visited = sum(visit() for visit in visits)  # may wait: after the count
    return costs


# -- vertices ----------------------------------------------------------------------------------------------------------


@contextmanager
def _visits(device: Device) -> Iterator[list[Callable[[], int]]]:
    """Yield a list; each operator call in the ``with`` block appends a function that counts the vertices it visited."""
    visits: list[Callable[[], int]] = []
    driver = driver_on(device)
    with ExitStack() as stack:
        for name in STEPS:
            stack.enter_context(_replaced(driver, name, _counting_starts(getattr(driver, name), visits)))
        stack.enter_context(_replaced(Propagated, "__init__", _counting_results(Propagated.__init__, visits)))
        yield visits


def _counting_starts(operator: Callable[..., Any], visits: list[Callable[[], int]]) -> Callable[..., Any]:
    def counted(graph: Any, call: Any, given: Any, *rest: Any) -> Any:
        visits.append(lambda: _size(graph, given))
        return operator(graph, call, given, *rest)

    return counted


def _size(graph: Any, given: Any) -> int:
    """Return how many vertices and arcs together are in ``given``, the frontier or other start of an operator."""
    if given is None:
        return graph.num_vertices
    if isinstance(given, Start):
        return sum(map(len, given.frontiers)) + sum(arcs.size for arcs in given.arcs)
    if isinstance(given, Frontier) or hasattr(given, "dtype"):
        return len(given)
    return len(given.vertices)  # layers


def _counting_results(make: Callable[..., None], visits: list[Callable[[], int]]) -> Callable[..., None]:
    def counted(result: Propagated, *args: Any, **options: Any) -> None:
        make(result, *args, **options)
        visits.append(lambda: result.touched)

    return counted


# -- launches and memory -----------------------------------------------------------------------------------------------


class _CountedKernel:
    """Wraps a kernel: each call adds 1 to ``launched[name]``; launches that are counted during the call are undone."""

    def __init__(self, kernel: Any, name: str, launched: Counter[str]) -> None:
        self._kernel, self._name, self._launched = kernel, name, launched

    def __call__(self, *args: Any, **options: Any) -> Any:
        before = self._launched.copy()
        result = self._kernel(*args, **options)
        self._launched.clear()
        self._launched.update(before, **{self._name: 1})
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


@contextmanager
def _launches(device: Device, launched: Counter[str]) -> Iterator[None]:
    """Count in ``launched``, by name, the launches of kernels of a ``Program`` and by CuPy's driver in the block."""
    original, driver = Program.kernel, device.xp.cuda.driver

    def kernel(program: Program, name: str) -> Any:
        return _CountedKernel(original(program, name), name, launched)

    with ExitStack() as stack:
        stack.enter_context(_replaced(Program, "kernel", kernel))
        for name in ("launchKernel", "launchCooperativeKernel"):
            stack.enter_context(_replaced(driver, name, _CountedKernel(getattr(driver, name), name, launched)))
        yield


@contextmanager
def _allocations(device: Device, costs: Costs) -> Iterator[None]:
    """Add the bytes taken from CuPy's memory pool in the ``with`` block to ``costs.allocated``."""

    class Hook(device.xp.cuda.MemoryHook):  # type: ignore[name-defined]
        name = "suricate.testing.costs"

        def malloc_postprocess(self, **allocation: int) -> None:
            costs.allocated += allocation["mem_size"]

    with Hook():
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)
