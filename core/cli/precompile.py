"""Compiling ahead what calls need, so that none waits for it (``suricate warmup``).

Kernels are compiled when they are first called and kept on disk. Warming up makes those calls, in *steps*
(``suricate.graph.ahead``): batches of all sizes and queries, and every algorithm kept current, on graphs of all
weights, directed or not; jobs over windows; replays; the readers of text files; the functions that NetworkX dispatches.
On the CPU, where Numba compiles in one thread, processes share the steps.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from suricate import plugins
from suricate.base import cache
from suricate.base.devices import Device, resolve_device
from suricate.base.errors import SuricateError
from suricate.base.types import DELETE, INSERT, SET
from suricate.cpu import threads
from suricate.cuda.compiler import POOL
from suricate.graph import Graph
from suricate.graph.ahead import (
    EDGES,
    FIRST,
    SHAPES,
    VERTICES,
    Kind,
    following,
    rehearsing,
    tracking,
    updates,
    vertices,
)  # fmt: skip
from suricate.graph.options import GraphOptions
from suricate.intake.tables import library
from suricate.plugins.algorithm import Algorithm
from suricate.primitives.sorting import LARGE
from suricate.stream.rehearsal import rehearse_names

Step = tuple[str, Callable[[], Any]]  #: what it is for, and the calls
PARTS = "graphs", "stream", "replay", "networkx"
WEIGHTS = None, "float32", "float64", "int32"
COUNTS = "uint32"  #: of windows that count the events of a pair
FEW = 2  #: sources of a sample
REPLAYED = 600  #: events: one vertex outgrows its first table
PROCESSES = 4  #: at most: each takes some 400 MB
#: Arguments of functions of NetworkX that have no default, by their names; nodes are numbers.
NODES = {"source": 0, "target": 1, "n": 0, "sources": [0, 1], "distance": 1, "k": 1}
#: Vertices and edges of graphs for NetworkX: loops of one thread, of several; for functions that take all pairs of
#: nodes, or that NetworkX makes itself of a copy
SIZES, FEWER = ((1_000, 5_000), (9_000, 80_000)), (300, 1_500)
#: Kinds of windows, by columns of their events and options: names, weights and how they are combined, no window at all
INTAKES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ids", {}), ("ids weight", {}), ("ids weight", {"combine": "sum", "size": None}), ("names", {"combine": "count"}),
    *(("names weight", {"combine": rule}) for rule in ("last", "first", "sum", "min", "max")),
    ("numbers", {}), ("ids", {"size": None}), ("names weight kind", {}),
)  # fmt: skip
EVENTS = 3, 2_000, 3, 3, 700, 100, 3, 0, 0, 0, 0, 6_000, 6_000, 40, 4 * LARGE, 9, 9  #: of the slides of a job


def warm_up(
    *,
    backend: str | None = None,
    device: str = "auto",
    parts: tuple[str, ...] = (),
    report: Callable[[str, float], None] | None = None,
) -> float:
    """Compile the kernels that common calls need on ``device``; return the seconds that it took.

    Args:
        backend: name of the backend; None: the default one of the device.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
        parts: of :data:`PARTS`; empty: all, NetworkX if it is installed.
        report: called after each step with (its name, the seconds it took).

    Raises:
        UnknownNameError, DeviceError: there is no such backend or device.
        MissingLibraryError: NetworkX is asked for and not installed.
        SuricateError: a step failed; all others were made.
    """
    place = resolve_device(device)
    name = plugins.default_backend(place).name if backend is None else plugins.backend(backend).name
    began = time.perf_counter()
    found = steps(name, place, parts)
    report = report or (lambda what, seconds: None)
    number = 1 if place.is_cuda else min(threads.limit(), PROCESSES, len(found))
    if number > 1:
        _Helpers(number, [name, str(place), *parts], [what for what, _ in found], report).wait()
    else:
        for what, run in found:
            start = time.perf_counter()
            run()
            report(what, time.perf_counter() - start)
    POOL.wait()  # for final builds
    return time.perf_counter() - began


class _Helpers:
    """Processes that make the steps of the names ``labels``, each one after the other, until all are made.

    ``arguments``: of :func:`steps`, as texts.
    """

    def __init__(
        self, number: int, arguments: list[str], labels: list[str], report: Callable[[str, float], None]
    ) -> None:
        self._left, self._report, self._lock = deque(enumerate(labels)), report, threading.Lock()
        self._failed: list[str] = []
        self._arguments = arguments
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(number)]

    def wait(self) -> None:
        """Make all steps."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        self._failed += [f"{what}: no process was left to make it" for _, what in self._left]
        if self._failed:
            raise SuricateError("\n".join(self._failed))

    def _work(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
        command = [sys.executable, "-P", "-c", "from suricate.cli.precompile import help_out; help_out()"]
        with (
            suppress(BrokenPipeError),
            subprocess.Popen(
                [*command, *self._arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            ) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            while (step := self._next()) is not None:
                start = time.perf_counter()
                with suppress(BrokenPipeError):
                    print(step[0], file=process.stdin, flush=True)
                line = process.stdout.readline()
                answer = json.loads(line or '{"failed": "the process ended", "used": {}}')
                with self._lock:
                    cache.USED.update(answer["used"])
                    self._failed += [f"{step[1]}: {answer['failed']}"] if answer["failed"] else []
                    self._report(step[1], time.perf_counter() - start)
                if not line:
                    return

    def _next(self) -> tuple[int, str] | None:
        with self._lock:
            return self._left.popleft() if self._left else None


def help_out() -> None:
    """Make the steps whose numbers come over standard input; answer with a line of JSON for each."""
    backend, device, *parts = sys.argv[1:]
    out, sys.stdout = sys.stdout, sys.stderr  # what plugins print is no answer
    found, failed = steps(backend, resolve_device(device), tuple(parts)), ""
    for line in sys.stdin:
        try:
            found[int(line)][1]()
        except Exception as error:
            failed = repr(error)
        print(json.dumps({"failed": failed, "used": cache.USED}), file=out, flush=True)
        failed = ""
        cache.USED.clear()


def steps(backend: str, device: Device, parts: tuple[str, ...] = ()) -> list[Step]:
    """Return the steps of ``parts``, in the same order in every process; those that share nothing come first."""
    makers = {"graphs": _graphs, "stream": _jobs, "replay": _replays, "networkx": _functions_of_networkx}
    chosen = [part for part in PARTS if part in parts]
    if not chosen:
        with suppress(ImportError):
            import networkx  # noqa: F401 - whether it is there

            chosen = [*PARTS]
        chosen = chosen or [*PARTS[:-1]]
    found: list[Step] = [(f"{backend}: first batches", partial(_update, backend, device, None))]
    if {"graphs", "stream"} & {*chosen}:
        found += [("reading edge lists and CSV files", _read), ("names of vertices", rehearse_names)]
    found += [step for part in chosen for step in makers[part](backend, device)]
    alone = "stream" in chosen and "graphs" not in chosen  # graphs follow by the same trackers
    return [*found, *(_trackers_of_jobs(backend, device) if alone else ())]


def _graphs(backend: str, device: Device) -> Iterator[Step]:
    for dtype in WEIGHTS:
        kind = f"{dtype} weights" if dtype else "unweighted"
        yield f"{backend}: updates and queries, {kind}", partial(_update, backend, device, dtype)
    for algorithm in _sampled():
        yield f"{backend}: {algorithm.name}", partial(_track, algorithm, backend, device)


def _sampled() -> list[type[Algorithm]]:
    return [found for name in plugins.algorithms() if _can_be_sampled(found := plugins.algorithm(name))]


def _can_be_sampled(algorithm: type[Algorithm]) -> bool:
    """Return whether the algorithm's ``sample_params()`` gives every parameter that has no default."""
    given = algorithm.sample_params(VERTICES, 0)
    parameters = inspect.signature(algorithm).parameters.values()
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in optional or p.name in given for p in parameters)


def _update(backend: str, device: Device, weight_dtype: str | None) -> None:
    for directed in (True, False):
        kind = _kind(backend, device, weight_dtype=weight_dtype, directed=directed, in_edges=directed)
        for size, first in ((EDGES, FIRST), (LARGE, LARGE)):  # small batches; a bulk load and large ones
            _run(updates(kind, size, first))
        _run(vertices(kind))
        _query(kind)


def _query(kind: Kind) -> None:
    """Call what a graph offers beside batches, with ids of all types, few and many; copy it, store it, load it."""
    for size, dtype in product((20, 2 * LARGE), (np.uint32, np.int64, np.int32, np.uint64)):
        src, dst, *weight = kind.edges(np, size)
        ends = src.astype(dtype), dst.astype(dtype)
        with rehearsing(), tempfile.TemporaryDirectory() as folder:
            graph = kind.graph()
            delta = graph.insert_edges(*ends, *weight)
            assert len(delta.inserted.src) == delta.num_inserted
            graph.has_edges(*ends)
            if weight:
                graph.edge_weights(*ends, default=0)
            graph.neighbors(int(src[0]))
            graph.save(Path(folder) / "graph.npz")
            again = Graph.load(Path(folder) / "graph.npz", device=kind.device)
            copy(again).delete_edges(*ends)
            again.delete_edges(*ends)
            graph.mark()
            graph.insert_edges(*(part[:FIRST] for part in (*ends[::-1], *weight)))
            assert len(graph.updated().src) <= FIRST
            graph.compact()
            graph.degrees()
            graph.edges()


def _track(algorithm: type[Algorithm], backend: str, device: Device) -> None:
    """Keep ``algorithm`` current on graphs of all kinds that it takes.

    Weights of all types are the same numbers, so that graphs go the same ways: with other types than the first only
    those rehearsals are made that needed code which this process had not met; none, if the weights are not read.
    """
    requires, weighted = algorithm.requires, inspect.signature(algorithm).parameters.get("weighted")
    directions = [each for each in (True, False) if requires.undirected is not each]
    weights = [each for each in (*WEIGHTS, COUNTS) if requires.weighted in (None, each is not None)]
    asked = weighted is not None and weighted.default is False  # None: as the graph is
    sides = sorted({(each, one) for each in directions for one in (requires.in_edges, each)})
    needed: dict[tuple[Any, ...], list[bool]] = {}
    for dtype, given, (directed, in_edges) in product(weights, ({}, {"weighted": True})[: 1 + asked], sides):
        if dtype or not given:
            kind = _kind(backend, device, directed=directed, in_edges=in_edges, weight_dtype=dtype)
            was_new = _follow(kind, algorithm, given, needed.get(side := (directed, in_edges, *given)))
            if dtype and not device.is_cuda:  # where CuPy's own kernels are not counted
                needed.setdefault(side, was_new)


def _follow(
    kind: Kind, algorithm: type[Algorithm], given: dict[str, Any], needed: list[bool] | None = None
) -> list[bool]:
    """Rehearse ``algorithm``, with the parameters ``given``, on graphs of ``kind`` and of all shapes.

    Returns which rehearsals met code that was new to this process. ``needed``: which ones to make; None: all.
    """
    was_new = []
    for number, steps in enumerate(_rehearsals(kind, algorithm, given)):
        known = len(cache.USED)
        if needed is None or needed[number]:
            _run(steps)
        was_new.append(len(cache.USED) > known)
    return was_new


def _rehearsals(kind: Kind, algorithm: type[Algorithm], given: dict[str, Any]) -> Iterator[Iterator[None]]:
    """Yield the rehearsals of ``algorithm``, with the parameters ``given``, on graphs of ``kind``.

    Once without what the samples give in place of None, but not if it recomputes: samples bound its work.
    """
    sample, parameters = _sample(algorithm, VERTICES), inspect.signature(algorithm).parameters
    yield tracking(kind, algorithm, sample | given)
    demanded = {name: each for name, each in sample.items() if parameters[name].default is not None}
    if demanded != sample and algorithm.update_kind != "recompute" and not kind.device.is_cuda:
        yield tracking(kind, algorithm, demanded | given)
    for size, edges in () if kind.device.is_cuda else SHAPES:
        params = _sample(algorithm, size) | given
        yield following(kind, algorithm, params, size, edges)
        if "tol" in params:  # the default tolerance takes other ways
            yield following(kind, algorithm, {name: params[name] for name in params if name != "tol"}, size, edges)


def _sample(algorithm: type[Algorithm], num_vertices: int) -> dict[str, Any]:
    """Return the sample's parameters, with few sources: all of them are searched by the same code."""
    sample = algorithm.sample_params(num_vertices, 0)
    return {name: min(each, FEW) if name == "k" else each for name, each in sample.items()}


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


def _jobs(backend: str, device: Device) -> Iterator[Step]:
    for columns, options in INTAKES:
        told = " ".join(f"{name}={each}" for name, each in options.items())
        yield f"stream: {columns} {told}".rstrip(), partial(_slide, backend, device, columns, options)


def _trackers_of_jobs(backend: str, device: Device) -> Iterator[Step]:
    for algorithm in _sampled():
        directed = not algorithm.requires.undirected
        helps = directed and (algorithm.requires.in_edges or algorithm.update_kind in ("dynamic", "repair"))
        for dtype in ("float64",) if algorithm.requires.weighted else (None, "float64"):
            kind = _kind(backend, device, directed=directed, in_edges=helps, weight_dtype=dtype)
            yield f"stream: {algorithm.name}, {dtype or 'no'} weights", partial(_follow, kind, algorithm, {})


def _slide(backend: str, device: Device, columns: str, options: dict[str, Any]) -> None:
    """Run a job over drawn events with these ``columns`` and options of a window; it reads a file and writes one."""
    import suricate.stream as st

    rng, total = np.random.default_rng(1), sum(EVENTS)
    time_of = np.repeat(np.arange(len(EVENTS)), EVENTS)
    ends = (rng.integers(0, VERTICES, (2, total)) + 5 * time_of).astype(np.uint64 if "weight" in columns else np.int64)
    events: dict[str, Any] = {"time": time_of}
    for name, ids in zip(("src", "dst"), ends, strict=True):
        events[name] = np.char.add("vertex ", ids.astype(str)).tolist() if "names" in columns else ids
    if "weight" in columns:
        events["weight"] = rng.integers(1, 50, total)
    if "kind" in columns:
        events["kind"] = rng.choice([INSERT, INSERT, INSERT, SET, DELETE], total)
    named = "ids" not in columns
    graph = {"backend": backend, "device": str(device)}
    given = {"size": "4", "names": named or None, "graph": graph, **options}
    job = st.Window(events, slide="1", **given)
    degrees = job.track("degree")
    with rehearsing():
        for _ in job:
            degrees.top(3)


def _replays(backend: str, device: Device) -> Iterator[Step]:
    if device.is_cuda:
        return
    for name in (None, *(each.name for each in _sampled() if each.event_step is not Algorithm.event_step)):
        yield f"replay: {name or 'degrees'}", partial(_replay, backend, device, name)


def _replay(backend: str, device: Device, name: str | None) -> None:
    from suricate.replaying import replay

    rng = np.random.default_rng(1)
    kept = None if name is None else plugins.algorithm(name)
    params = {} if kept is None else kept.sample_params(VERTICES, 0)
    for directed, dtype in product((False,) if kept and kept.requires.undirected else (True, False), WEIGHTS):
        kind = _kind(backend, device, directed=directed, in_edges=directed, weight_dtype=dtype)
        with rehearsing():
            graph = kind.graph()
            src, dst, *weight = kind.edges(np, REPLAYED)
            tracker = None if name is None else graph.track(name, **params)
            for at in (None, [1]):
                replay(graph, (src, dst, rng.random(len(src)) < 0.6, *weight), tracker, at=at)


def _functions_of_networkx(backend: str, device: Device) -> Iterator[Step]:
    nx = library("networkx", "networkx")
    from suricate.networkx.info import offered

    for name, served in ((name, point.load()) for name, point in offered().items()):
        parameters = list(served.signature.parameters.values())[1:]
        given = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        needed = [p.name for p in given if p.default is p.empty or p.name == "source"]  # never paths from all vertices
        function = getattr(nx, name, None) or getattr(nx.community, name, None)
        if set(needed) <= NODES.keys() and function is not None:
            arguments = {parameter: NODES[parameter] for parameter in needed}
            yield f"networkx: {name}", partial(_dispatch, nx, served, partial(function, **arguments), device)


def _dispatch(nx: Any, served: Any, function: Any, device: Device) -> None:
    """Call ``function`` of NetworkX through the backend on ``device``, for graphs of all forms that it takes."""
    has_weight = "weight" in served.signature.parameters
    reads_weights = has_weight or function.func.preserve_edge_attrs
    weights: tuple[float | None, ...] = (None, 1.5, 2) if reads_weights else (None,)
    sizes = (FEWER,) if served.cost in ("heavy", "vertices") else SIZES
    directions = (False, True) if served.directed is None else (served.directed,)
    refusals = nx.NetworkXException, NotImplementedError  # of questions about other graphs, or not served
    for size, directed, weight in product(sizes, directions, weights):
        place = nx.config.backends.suricate(device=str(device))
        with place, suppress(*refusals), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that what a graph is converted to is kept
            given = {"weight": "weight"} if has_weight and weight else {}
            answer = function(_drawn(nx, *size, directed, weight), backend="suricate", **given)
            deque(answer if isinstance(answer, Iterator) else (), maxlen=0)


@lru_cache
def _drawn(nx: Any, num_vertices: int, num_edges: int, directed: bool, weight: float | None) -> Any:
    """Return a graph with the attribute ``weight`` alone: NetworkX keeps what it is converted to for the next call."""
    graph = nx.gnm_random_graph(num_vertices, num_edges, seed=1, directed=directed)
    if weight is not None:
        nx.set_edge_attributes(graph, weight, "weight")
    return graph
