"""Compiling ahead what common calls need, so that no call waits for it (``suricate warmup``).

Kernels are compiled when they are first called and kept on disk. Warming up makes those calls
(``suricate.graph.ahead``): updates and queries of a backend, unweighted and weighted, every algorithm kept current, the
readers of text files, and on request the functions that NetworkX dispatches.
"""

from __future__ import annotations

import inspect
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from suricate import plugins
from suricate.base.devices import Device, resolve_device
from suricate.cuda.compiler import POOL
from suricate.graph import Graph
from suricate.graph.ahead import EDGES, FIRST, VERTICES, Kind, rehearsing, tracking, updates
from suricate.graph.options import GraphOptions
from suricate.intake.tables import library
from suricate.plugins.algorithm import Algorithm
from suricate.primitives.sorting import LARGE

Step = tuple[str, Callable[[], None]]  #: what it is for, and the calls
#: Arguments of functions of NetworkX that have no default, by their names; nodes are numbers.
NODES = {"source": 0, "target": 1, "n": 0, "sources": [0], "distance": 1, "k": 1}
#: Vertices and edges of graphs for NetworkX: loops of one thread, and of several.
SIZES = ((1_000, 5_000), (20_000, 4 * LARGE))


def warm_up(
    *,
    backend: str | None = None,
    device: str = "auto",
    networkx: bool = False,
    report: Callable[[str, float], None] | None = None,
) -> float:
    """Compile the kernels that common calls need on ``device``; return the seconds that it took.

    Args:
        backend: name of the backend; None: the default one of the device.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
        networkx: also the kernels of functions of the NetworkX backend, for graphs of the default backend.
        report: called after each step with (its name, the seconds it took).

    Raises:
        UnknownNameError, DeviceError: there is no such backend or device.
        MissingLibraryError: NetworkX is asked for and not installed.
    """
    place = resolve_device(device)
    name = plugins.default_backend(place).name if backend is None else plugins.backend(backend).name
    began = time.perf_counter()
    for what, run in chain(_steps(name, place), _functions_of_networkx(place) if networkx else ()):
        start = time.perf_counter()
        run()
        if report is not None:
            report(what, time.perf_counter() - start)
    POOL.wait()  # for final builds
    return time.perf_counter() - began


def _steps(backend: str, device: Device) -> Iterator[Step]:
    for weight_dtype in (None, "float32"):
        kind = "unweighted" if weight_dtype is None else f"{weight_dtype} weights"
        yield f"{backend}: updates and queries, {kind}", lambda dtype=weight_dtype: _update(backend, device, dtype)  # type: ignore[misc]
    for name in plugins.algorithms():
        algorithm = plugins.algorithm(name)
        if _can_be_sampled(algorithm):
            yield f"{backend}: {name}", lambda algorithm=algorithm: _track(algorithm, backend, device)  # type: ignore[misc]
    yield "reading edge lists and CSV files", _read
    yield "names of vertices", _name


def _functions_of_networkx(device: Device) -> Iterator[Step]:
    nx = library("networkx", "networkx")
    from suricate.networkx.info import offered

    for name, point in offered().items():
        served = point.load()
        parameters = list(served.signature.parameters.values())[1:]
        given = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        needed = [p.name for p in given if p.default is p.empty or p.name == "source"]  # never paths from all vertices
        function = getattr(nx, name, None) or getattr(nx.community, name, None)
        if set(needed) <= NODES.keys() and function is not None:
            arguments = {parameter: NODES[parameter] for parameter in needed}
            yield f"networkx: {name}", partial(_dispatch, nx, served, partial(function, **arguments), device)


def _dispatch(nx: Any, served: Any, function: Callable[..., Any], device: Device) -> None:
    """Call ``function`` of NetworkX through the backend on ``device``, for graphs of all forms that it takes."""
    has_weight = "weight" in served.signature.parameters
    weights: tuple[dict[str, Any], ...] = ({"weight": None}, {"weight": "weight"}) if has_weight else ({},)
    sizes = SIZES[:1] if served.cost == "heavy" else SIZES
    directions = (False, True) if served.directed is None else (served.directed,)
    refusals = nx.NetworkXException, NotImplementedError  # of questions about other graphs, or not served
    for size, directed, weight in product(sizes, directions, weights):
        place = nx.config.backends.suricate(device=str(device))
        with place, nx.config(cache_converted_graphs=False), suppress(*refusals):  # or others' weights would be kept
            answer = function(_drawn(nx, *size, directed), backend="suricate", **weight)
            deque(answer if isinstance(answer, Iterator) else (), maxlen=0)


@lru_cache
def _drawn(nx: Any, num_vertices: int, num_edges: int, directed: bool) -> Any:
    graph = nx.gnm_random_graph(num_vertices, num_edges, seed=1, directed=directed)
    nx.set_edge_attributes(graph, 1.5, "weight")
    return graph


def _can_be_sampled(algorithm: type[Algorithm]) -> bool:
    """Return whether the algorithm's ``sample_params()`` gives every parameter that has no default."""
    given = algorithm.sample_params(VERTICES, 0)
    parameters = inspect.signature(algorithm).parameters.values()
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in optional or p.name in given for p in parameters)


def _update(backend: str, device: Device, weight_dtype: str | None) -> None:
    kind = _kind(backend, device, weight_dtype=weight_dtype)
    for size, first in ((EDGES, FIRST), (LARGE, LARGE)):  # small batches; a bulk load and large ones
        _run(updates(kind, size, first))


def _track(algorithm: type[Algorithm], backend: str, device: Device) -> None:
    requires = algorithm.requires
    kind = _kind(
        backend,
        device,
        in_edges=requires.in_edges,
        directed=not requires.undirected,
        weight_dtype="float32" if requires.weighted else None,
    )
    for size in (EDGES,) if device.is_cuda else (EDGES, 4 * LARGE):  # loops of one thread, and of several
        _run(tracking(kind, algorithm, algorithm.sample_params(VERTICES, 0), size))


def _kind(backend: str, device: Device, **options: Any) -> Kind:
    return Kind(Graph, GraphOptions(plugins.backend(backend), **options), device)


def _run(steps: Iterator[None]) -> None:
    with rehearsing():
        for _ in steps:
            pass


def _read() -> None:
    from suricate.io import read, write
    from suricate.io.files import SMALL

    with tempfile.TemporaryDirectory() as folder:
        for name, header, lines, relabel in (
            ("edges.txt", "", "0 1\n1 2\n", False),
            ("numbers.csv", "source,target,weight\n", "10,11,0.5\n11,12,1e3\n", True),
            ("names.csv", "source,target,weight\n", "ann,bob,0.5\nbob,eve,2\n", True),
        ):
            path = Path(folder) / name
            path.write_text(header + lines * (SMALL // len(lines) + 1))  # nothing is compiled for small files
            write(read(path, relabel=relabel), path)


def _name() -> None:
    from suricate.intake.names import Names

    names = Names("text")
    for slide in range(4):  # as many texts come and go as make the table grow and the texts move
        names.release(names.add([f"{slide} {number:200}" for number in range(2000)]))
        names.next_slide()
    names.add(["ann", "bob"])
    names.copy().check()
