"""Rehearsals: what a graph and its trackers will call is called first on a tiny graph of the same kind, in a thread.

Nothing may compile in the middle of a stream. What an algorithm needs is known only when it runs, so it is run: on a
few hundred vertices, through updates of all sorts (insertions, deletions, both, new weights, batches so large that
results are recomputed, growth, vertices that are deleted and revived). On CUDA that happens in a thread beside the
program, as soon as a graph is made and as soon as an algorithm is tracked; on the CPU only ``suricate warmup`` does it.
Kernels get a quick build when they are first called and the final one later (``suricate.cuda.compiler``), so a
rehearsal does not take long. A rehearsal that succeeded is recorded on disk, with the state of all sources: the next
process does not repeat it.

The first update of a new tracker waits for the rehearsals under way, some seconds at most: it is better that a stream
begins later than that it stops in the middle. A rehearsal that fails reports nothing: what it has not compiled is
compiled when it is called.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base import cache
from suricate.base.devices import Array, Device
from suricate.base.errors import SuricateError
from suricate.base.forks import in_child
from suricate.cuda import compiler
from suricate.cuda.program import own_programs
from suricate.graph.delta import Batch
from suricate.graph.options import GraphOptions

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.tracker import Tracker
    from suricate.plugins.algorithm import Algorithm

VERTICES, EDGES = 500, 6_000  #: of a rehearsal: enough that vertices outgrow what they begin with
FIRST = 100  #: edges of its first batch
BULK = 40_000  #: edges of a batch that is loaded and sorted as large ones are
FILLED = ("bool", "uint8", "uint32", "uint64", "int32", "int64", "float32", "float64")  #: CuPy compiles a fill of each
FIRST_UPDATE = 4.0  #: seconds that the first update of trackers waits for rehearsals under way, at most
PLAIN = (bool, int, float, str, type(None))  #: types of parameters that a rehearsal takes over
PATIENCE = 10.0  #: seconds that the end of the process waits for the step of a rehearsal that is under way
#: vertices and edges of graphs on which algorithms follow batches: loops of one thread, of several; dense and sparse
SHAPES = (VERTICES, EDGES), (4_000, 6_000), (5_000, 140_000), (40_000, 80_000)
BATCHES = 1, 40, 2_000, 50_000  #: edges of these batches
DELETED = 100  #: vertices that are deleted at once: of a dense graph they have neighbours for several threads
LOOSE = 0.1  #: tolerance of algorithms that iterate, where their samples give none
SLIDES = 12  #: mixed batches of a rehearsal, so that maintenance is due
NICE = 5  #: added to the niceness of their threads: before compiler processes, behind whoever calls
SWITCH = 5e-4  #: seconds after which a thread of a rehearsal makes way for others, at most


@dataclass(frozen=True)
class Kind:
    """What the kernels of a graph depend on: its class, its options and its device."""

    graph_type: type[Graph]
    options: GraphOptions
    device: Device

    def graph(self, num_vertices: int = VERTICES) -> Graph:
        """Return an empty graph of this kind, without a limit of memory."""
        arguments = self.options.arguments(memory_limit=None, edge_columns=None, weight_dtype=self.options.stored_dtype)
        return self.graph_type(num_vertices, device=self.device, **arguments)

    def edges(self, xp: Any, size: int = EDGES, num_vertices: int = VERTICES) -> list[Array]:
        """Return ``src``, ``dst`` (``uint32[size]``) and, if the graph is weighted, weights of 1, as arrays of ``xp``.

        The edges are random, without self-loops; a third of them leave vertex 0.
        """
        src, shift = np.random.default_rng(1).integers((0, 1), num_vertices, (size, 2)).T
        src[: size // 3] = 0
        dtype = self.options.stored_dtype
        weights = [] if dtype is None else [np.ones(size, dtype)]
        ids = (part.astype(np.uint32) for part in (src, (src + shift) % num_vertices))
        return [xp.asarray(part) for part in (*ids, *weights)]

    def __str__(self) -> str:
        options = self.options
        described = {name: getattr(options, name) for name in ("directed", "stored_dtype", "in_edges", "self_loops")}
        backend = f"{options.backend.__module__}.{options.backend.__qualname__}"
        graph = f"{self.graph_type.__module__}.{self.graph_type.__qualname__}"
        rest = f"{options.checks} {sorted(options.backend_options.items())} {self.device.kind}"
        return f"{graph} {backend} {described} {rest}"


def updates(kind: Kind, size: int = EDGES, first: int = FIRST) -> Iterator[None]:
    """Rehearse batches and queries of a graph of this kind, with arrays of the host and of the device.

    ``size`` and ``first``: edges of the large and of the small batches. Each ``yield`` ends a step.
    """
    graph, xp = kind.graph(), kind.device.xp
    for module in {np, xp}:
        src, dst, *weight = kind.edges(module, size)
        few = graph.insert_edges(src[:first], dst[:first], *(part[:first] for part in weight))
        yield
        many = graph.insert_edges(src, dst, *weight)
        graph.has_edges(src, dst)
        yield
        gone = graph.delete_edges(src[: size // 2], dst[: size // 2])
        assert min(few.num_inserted, many.num_inserted, gone.num_deleted) >= 0  # worked out when they are read
        yield
        for i in range(SLIDES):
            here = slice(i * first, (i + 1) * first)
            insert = (src[here], dst[here], *(part[here] for part in weight))
            graph.apply(Batch(delete=(src[::-1][here], dst[::-1][here]), insert=insert))
        yield
        if weight:
            graph.edge_weights(src, dst, default=0)
        signed = [part[:first].astype(np.int64) for part in (src, dst)]  # as NumPy draws them
        graph.insert_edges(*signed, *(part[:first] for part in weight))
        graph.delete_edges(*signed)
    graph.degrees()
    graph.edges()
    graph.neighbors(0)
    graph.compact()
    graph.synchronize()


def vertices(kind: Kind) -> Iterator[None]:
    """Rehearse vertices that are deleted, added and revived; each ``yield`` ends a step."""
    graph, xp = kind.graph(), kind.device.xp
    for dtype in FILLED:
        xp.full(1, 1, dtype)
        yield
    src, dst, *weight = kind.edges(xp)
    graph.insert_edges(src, dst, *weight)
    graph.delete_vertices([VERTICES - 1])
    yield
    graph.insert_vertices(VERTICES)
    graph.insert_edges([VERTICES], [VERTICES - 1], *([1.0] for _ in weight))
    yield
    graph.delete_vertices(xp.arange(2, dtype=np.uint32))
    graph.synchronize()


def tracking(kind: Kind, algorithm: type[Algorithm], params: dict[str, Any], size: int = EDGES) -> Iterator[None]:
    """Rehearse an algorithm, with ``params``, that follows a graph of ``size`` edges through changes of all sorts.

    Each ``yield`` ends a step.
    """
    graph = kind.graph()
    src, dst, *weight = kind.edges(kind.device.xp, size)
    tracker = graph.track(algorithm, **params)
    graph.insert_edges(src[:-FIRST], dst[:-FIRST], *(part[:-FIRST] for part in weight))
    _read(tracker)
    yield
    few, half = slice(10, 14), slice(0, size - FIRST, 2)  # batches as of a sliding window: most programs are met there
    graph.apply(Batch(delete=(src[few], dst[few]), insert=(src[-4:], dst[-4:], *(part[-4:] for part in weight))))
    graph.apply(Batch(delete=(src[half], dst[half]), insert=(src[half], dst[half], *(part[half] for part in weight))))
    _read(tracker)
    yield
    graph.delete_edges(src[1:3], dst[1:3])  # so few that results are repaired
    _read(tracker)
    yield
    graph.insert_edges(src[1:3], dst[1:3], *(part[1:3] for part in weight))
    _read(tracker)
    yield
    if weight:
        graph.insert_edges(src[20:24], dst[20:24], 2 * weight[0][20:24])
        graph.insert_edges(src[20:24], dst[20:24], weight[0][20:24])
        _read(tracker)
        yield
    graph.delete_edges(src[::10], dst[::10])
    _read(tracker)
    yield
    graph.delete_vertices([VERTICES - 1])
    graph.insert_vertices(VERTICES)
    graph.insert_edges([VERTICES], [1], *([1.0] for _ in weight))
    _read(tracker)
    yield
    graph.apply(Batch(delete=(src[::2], dst[::2]), insert=(src, dst, *weight)))
    _read(tracker)
    graph.synchronize()


def following(
    kind: Kind, algorithm: type[Algorithm], params: dict[str, Any], num_vertices: int, num_edges: int
) -> Iterator[None]:
    """Rehearse an algorithm, with ``params``, over batches of all sizes; each ``yield`` ends a step.

    ``num_vertices``, ``num_edges``: of the graph. All batches are updated, however large; then some are not.
    """
    if (num_vertices, num_edges) == SHAPES[-1] and algorithm.update_kind in ("recompute", "warm"):
        return  # they pass over all vertices of a sparse graph as of a dense one
    graph = kind.graph(num_vertices)
    src, dst, *weight = kind.edges(kind.device.xp, num_edges, num_vertices)
    if "max_iter" in params and "tol" in signature(algorithm).parameters:
        params = {"tol": LOOSE, **params}  # as many iterations as it takes to meet all loops
    tracker = graph.track(algorithm, **params)
    graph.insert_edges(src, dst, *weight)
    _read(tracker)
    yield
    sizes = {"recompute": (), "warm": BATCHES[1:2]}.get(algorithm.update_kind, BATCHES)  # "warm": whatever the batch is
    for size in sizes:
        for begin in (0, num_edges // 2)[: 1 if size > EDGES // 2 else 2]:  # edges of the hub, others
            here = slice(begin, min(begin + size, num_edges - 1))
            for change in _changes(*(part[here] for part in (src, dst, *weight))):
                graph.apply(change)
                _read(tracker)
            yield
    graph.delete_vertices(np.arange(num_vertices - DELETED, num_vertices))
    _read(tracker)
    graph.insert_vertices(num_vertices)
    graph.insert_edges([num_vertices], [1], *([1.0] for _ in weight))
    _read(tracker)
    if isinstance(pace := tracker.algorithm.pace, Unpaced):
        pace.recomputes = True
        for change in _changes(src[:FIRST], dst[:FIRST], *(part[:FIRST] for part in weight)):
            graph.apply(change)
            _read(tracker)
    for part in weight:
        graph.insert_edges(src, dst, part * (1 + kind.device.xp.arange(num_edges) % 9).astype(part.dtype))
    tracker.refresh()
    graph.synchronize()


def _changes(src: Array, dst: Array, *weight: Array) -> Iterator[Batch]:
    """Yield batches that delete these edges, insert them, turn them round, turn them back, and weigh them anew."""
    there, back = (src, dst), (dst, src)
    yield Batch(delete=there)
    yield Batch(insert=(*there, *weight))
    yield Batch(delete=there, insert=(*back, *weight))
    yield Batch(delete=back, insert=(*there, *weight))
    for part in weight:
        yield Batch(insert=(*there, part + part))
        yield Batch(insert=(*there, part))


class Unpaced:
    """In place of ``suricate.plugins.pace.Pace`` in a rehearsal: no time decides, all batches are updated, or none."""

    comparing: bool = False
    recomputes: bool = False

    def should_recompute(self, *_: Any) -> bool:
        """Return :attr:`recomputes`."""
        return self.recomputes

    def ignore(self, *_: Any) -> None:
        """Do nothing, where a time would be measured."""

    computes = finish = discard = gave_up = ignore


def _read(tracker: Tracker) -> None:
    """Read a result and its part at a vertex; an error that a user may get (no convergence) ends no rehearsal."""
    for read in (lambda: tracker.result, lambda: tracker.at([0])):
        with suppress(SuricateError):
            read()


# -- beside the program ------------------------------------------------------------------------------------------------


class _Rehearsals:
    """The rehearsals of this process.

    Attributes:
        failed: the errors that ended rehearsals.
        are_new: whether a rehearsal was started since the last update of a tracker, and may be under way.
    """

    def __init__(self) -> None:
        self.begin_again()

    def begin_again(self) -> None:
        """Forget all rehearsals, in a child of ``fork``."""
        self._lock, self._known, self._threads = threading.Lock(), set[str](), list[threading.Thread]()
        self._stopped, self._running, self.failed = False, 0, list[Exception]()
        self.are_new, self._left = False, 0.0

    def start(self, name: str, kind: Kind, steps: Callable[[], Iterator[None]]) -> None:
        """Run a rehearsal in a thread, unless one of this ``name`` was started or this thread runs one itself."""
        if not compiler.is_ahead() or compiler.LOCAL.rehearsing:
            return
        with self._lock:
            if name in self._known or self._stopped:
                return
            self._known.add(name)
            thread = threading.Thread(
                target=self._run_beside, args=(name, kind.device, steps), name="suricate-ahead", daemon=True
            )
            self._threads = [one for one in self._threads if one.is_alive()] + [thread]
            self.are_new, self._left = True, FIRST_UPDATE
            thread.start()

    def stop(self) -> None:
        """Let no rehearsal begin another step, and wait for the ones under way."""
        with self._lock:
            self._stopped = True
        compiler.POOL.close()  # no thread waits for a process any more
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_before_update(self) -> None:
        """Wait for rehearsals, ``FIRST_UPDATE`` seconds at most: an update that comes earlier would compile."""
        if compiler.LOCAL.rehearsing:
            return
        end = time.monotonic() + self._left
        for thread in list(self._threads):
            thread.join(max(0.0, end - time.monotonic()))
        self.are_new = False

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all rehearsals that were started have ended, or ``timeout`` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        for thread in list(self._threads):
            thread.join(None if end is None else max(0.0, end - time.monotonic()))

    @contextmanager
    def _making_way(self) -> Iterator[None]:
        """Shorten the interpreter's switch interval while rehearsals run: other threads then wait less for the GIL."""
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._interval = sys.getswitchinterval()
                sys.setswitchinterval(min(self._interval, SWITCH))
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if self._running == 0:
                    sys.setswitchinterval(self._interval)

    def here(self, name: str, device: Device, steps: Callable[[], Iterator[None]]) -> None:
        """Run a rehearsal in this thread, unless one of this ``name`` was run or this thread runs one itself."""
        if not compiler.is_ahead() or compiler.LOCAL.rehearsing or name in self._known:
            return
        self._known.add(name)
        self._run(name, device, steps)

    def _run_beside(self, *given: Any) -> None:
        with suppress(OSError, AttributeError):  # of this thread alone, on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        self._run(*given)

    def _run(self, name: str, device: Device, steps: Callable[[], Iterator[None]]) -> None:
        state = _state_of_sources(device.kind)
        note = f"rehearsed-{hashlib.sha256(f'{name} {state}'.encode()).hexdigest()[:32]}"
        if cache.get(note) is not None:
            return
        stream = device.xp.cuda.Stream(non_blocking=True) if device.is_cuda else nullcontext()
        try:
            with self._making_way(), rehearsing(), device.current(), stream:
                for _ in steps():
                    if self._stopped:
                        return
        except Exception as error:  # the program itself will meet it, if it matters
            self.failed.append(error)
            return
        cache.put(note, name.encode())


@contextmanager
def rehearsing() -> Iterator[None]:
    """A context in which graphs and trackers made by this thread start no rehearsal."""
    before, compiler.LOCAL.rehearsing = compiler.LOCAL.rehearsing, True
    try:
        yield
    finally:
        compiler.LOCAL.rehearsing = before


REHEARSALS = _Rehearsals()
atexit.register(REHEARSALS.stop)
in_child(REHEARSALS.begin_again)


def rehearse_updates(graph: Graph) -> None:
    """Start to compile, in the background, what batches of ``graph`` need; returns at once."""
    if graph.device.is_cuda and compiler.is_ahead():
        for program in own_programs(graph.store("out")):
            program.prepare()
        kind = Kind(type(graph), graph.options, graph.device)
        for name, steps in (  # side by side, since each meets other programs
            ("vertices", lambda: vertices(kind)),
            ("large updates", lambda: updates(kind, BULK, BULK)),
            ("updates", lambda: updates(kind)),
        ):
            REHEARSALS.start(f"{name} of {kind}", kind, steps)


def rehearse_tracking(graph: Graph, algorithm: type[Algorithm], params: dict[str, Any]) -> None:
    """Start to compile, in the background, what updates of a tracker of ``algorithm`` with ``params`` need."""
    if not (graph.device.is_cuda and compiler.is_ahead()):
        return
    kind = Kind(type(graph), graph.options, graph.device)
    plain = {name: value for name, value in params.items() if isinstance(value, PLAIN)}
    name = f"{algorithm.__module__}.{algorithm.__qualname__} {plain} on {kind}"
    small = {"source": algorithm.sample_params(VERTICES, 0).get("source", 0)} if "source" in params else {}
    REHEARSALS.start(name, kind, lambda: tracking(kind, algorithm, plain | small))


@functools.cache
def _state_of_sources(kind: str) -> str:
    """Return a digest of the sources of suricate, not of plugins, and of the tools that compile them for a device."""
    if kind == "cuda":
        tools: tuple[Any, ...] = compiler.nvrtc_version(), compiler.target_options(), np.__version__
    else:
        from suricate.cpu import code_key  # late: it imports Numba

        tools = code_key.tools()
    digest = hashlib.sha256(repr(tools).encode())
    for package in ("suricate", "suricate.algorithms", "suricate.backends"):
        folder = Path(str(import_module(package).__file__)).parent
        for path in sorted(folder.rglob("*.[pc]*")):
            if path.suffix in (".py", ".cu", ".cuh"):
                stat = path.stat()
                digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()
