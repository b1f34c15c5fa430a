"""How much memory a graph will take, before it is built.

A backend is not asked for a formula: a sample of the vertices, with their degrees, is stored, and what it takes is
scaled. The arrays of a store are the same on both devices, so the sample is stored on the CPU. Vertices of more than
:data:`HUB` edges are not sampled but counted, at the bytes per edge that some of them take. What a backend chooses by
the size of the first batch is chosen by that of the whole graph, not of the sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import CPU
from suricate.base.errors import CapacityError, ParameterError, ShapeError
from suricate.base.parameters import flag, integer, one_of, shown
from suricate.base.types import WeightDType
from suricate.graph import Graph
from suricate.graph.options import choose_backend
from suricate.intake.arrays import as_ids, on_host
from suricate.store import Store

SAMPLE = 1 << 14  #: vertices of a sample
TRACKED = 1 << 12  #: vertices of the graph on which trackers are measured
HUB = 1024  #: edges of a vertex beyond which it is counted
HUBS = 64  #: vertices of more edges that are stored, to know what one of their edges takes
DRAWN = 1 << 18  #: degrees that are drawn for a graph of which only numbers are known
SHAPES = ("rmat", "uniform")
UPPER = 0.76  #: probability of R-MAT that an edge begins in the upper half of the vertices
MARGIN = 0.1  #: by which an estimate without degrees may be off, where the shape is right
LAST_BATCH = 0.2  #: share of the edges that are inserted into a graph that has the others, for the peak
PROBES = 6  #: of limits, for the peak


class MemoryEstimate(NamedTuple):
    """Bytes of a graph that is built from one batch; ``str()`` explains them.

    Attributes:
        stores: allocated by the stores: edges, weights, and in-edges if the graph keeps them.
        trackers: the state of trackers, and scratch arrays of operators.
        peak: the most that stores need while the last fifth of the edges is inserted, both copies of a growing array
            included: about the least possible ``memory_limit``. Without one a backend may take more.
        low: lower bound of ``stores``.
        high: upper bound of ``stores``.
    """

    stores: int
    trackers: int
    peak: int
    low: int
    high: int

    def __str__(self) -> str:
        stored = f"{_text(self.low)} to {_text(self.high)}" if self.low < self.high else _text(self.stores)
        followed = f", trackers {_text(self.trackers)}" if self.trackers else ""
        return f"{stored}{followed}; while it grows {_text(self.peak)}"


def estimate_memory(
    num_vertices: int | None = None,
    num_edges: int | None = None,
    *,
    degrees: Any = None,
    in_degrees: Any = None,
    shape: str | None = None,
    backend: str | type[Store] | None = None,
    directed: bool = True,
    weight_dtype: WeightDType = None,
    in_edges: bool = False,
    track: Iterable[str] | Mapping[str, Mapping[str, Any]] = (),
    **backend_options: Any,
) -> MemoryEstimate:
    """Return how much memory a graph takes, on either device, within 10 % if the degrees are given.

    The graph is assumed to be made of one batch in which each edge occurs once. Repeated edges, such as both
    directions of undirected ones, are not stored twice, but a backend may reserve memory for them, or choose another
    layout.

    Args:
        num_vertices: number of vertices, with ``num_edges`` in place of degrees.
        num_edges: number of edges; an undirected one counts once.
        degrees: out-degrees, ``int[n]``; of an undirected graph its degrees. Then the estimate is one number.
        in_degrees: in-degrees, for ``in_edges``; None: distributed as ``degrees``.
        shape: without degrees, how these are distributed: ``"rmat"`` (Graph500), ``"uniform"``; None: the estimate is
            a range that covers both.
        backend, directed, weight_dtype, in_edges: as for ``Graph``.
        track: names of algorithms that are kept current; or their parameters by name.
        backend_options: passed to the backend.

    Raises:
        ParameterError, UnknownNameError: an argument is invalid, or neither degrees nor both numbers are given.
        ShapeError, DTypeError: degrees are not a one-dimensional array of integers of at least 0.
        RequirementError: the graph lacks what an algorithm needs.

    Example:
        >>> estimate = su.estimate_memory(10, 20, device="cpu")
        >>> 0 < estimate.peak < 100_000
        True
    """
    kind, _ = choose_backend(backend, "cpu")
    keeps_in = flag("in_edges", in_edges) and flag("directed", directed)
    options: dict[str, Any] = {"backend": kind, "weight_dtype": weight_dtype, "device": CPU, **backend_options}
    options["in_edges"] = keeps_in  # stores of a pair reserve more
    guesses, times = _guesses(num_vertices, num_edges, degrees, shape, directed)
    exact, sizes = degrees is not None, []
    if in_degrees is not None and not (exact and keeps_in):
        raise ParameterError("in_degrees go with degrees and in_edges=True")
    for out in guesses:
        each = [out] if not keeps_in else [out, out if in_degrees is None else _degrees("in_degrees", in_degrees)]
        stores = [_of_store(given, options) for given in each]
        sizes.append(tuple(round(times * sum(part)) for part in zip(*stores, strict=True)))
    low, high = min(size for size, _ in sizes), max(size for size, _ in sizes)
    margin, peak = 0.0 if exact else MARGIN, max(peak for _, peak in sizes)
    low, high, peak = round(low * (1 - margin)), round(high * (1 + margin)), round(peak * (1 + margin))
    options["directed"] = directed
    trackers = round(times * _of_trackers(guesses[0], track, options)) if track else 0
    return MemoryEstimate((low + high) // 2, trackers, peak, low, high)


def _guesses(
    n: int | None, m: int | None, degrees: Any, shape: str | None, directed: bool
) -> tuple[list[np.ndarray], float]:
    """Return arrays of out-degrees, one array per guess, and how many vertices of the graph a degree stands for."""
    if degrees is not None:
        if n is not None or m is not None or shape is not None:
            raise ParameterError("give degrees, or num_vertices and num_edges, not both")
        return [_degrees("degrees", degrees)], 1.0
    if n is None or m is None:
        raise ParameterError("give degrees, or both num_vertices and num_edges")
    n, m = integer("num_vertices", n, low=0), integer("num_edges", m, low=0)
    arcs = m if directed else 2 * m
    if m > n * n:
        raise ParameterError(f"num_edges is {m}: a graph of {n} vertices has at most {n * n} edges")
    chosen = SHAPES if shape is None else (one_of("shape", shape, SHAPES),)
    return [_drawn(each, n, arcs) for each in chosen], n / max(min(n, DRAWN), 1)


def _drawn(shape: str, n: int, arcs: int) -> np.ndarray:
    """Return random degrees, distributed by ``shape``, with the mean of a graph of ``n`` vertices and ``arcs`` arcs."""
    rng, size = np.random.default_rng(1), min(n, DRAWN)
    if not n:
        return np.zeros(0, np.int64)
    if shape == "uniform":
        return np.minimum(rng.poisson(arcs / n, size), n)
    scale = max(1, math.ceil(math.log2(n)))
    lower = rng.binomial(scale, 0.5, size)  # bits of the id that are 1
    expected = UPPER ** (scale - lower) * (1 - UPPER) ** lower
    return np.minimum(rng.poisson(expected * (arcs / n * size / expected.sum())), n)


def _degrees(argument: str, given: Any) -> np.ndarray:
    array = np.asarray(on_host(as_ids(given, argument)), np.int64)
    if len(array) and int(array.min()) < 0:
        raise ShapeError(f"{argument}[{int(array.argmin())}] is {shown(int(array.min()))}: degrees are at least 0")
    return array


def _of_store(degrees: np.ndarray, options: dict[str, Any]) -> tuple[int, int]:
    """Return the bytes that a store of vertices with these ``degrees`` allocates, and the most while it is filled."""
    if len(degrees) <= SAMPLE:
        sample = np.minimum(degrees, len(degrees))
        size = _held(_build(sample, options))
        return size, round(size * _growth(sample, size, options))
    options = {**options, **_chosen(degrees, options)}
    common, hubs = np.sort(degrees[degrees <= HUB]), np.sort(degrees[degrees > HUB])
    sample = common[((np.arange(SAMPLE) + 0.5) * len(common) / SAMPLE).astype(np.int64)] if len(common) else common
    size = _held(_build(sample, options)) if len(sample) else 0
    total = size * len(common) / max(len(sample), 1)
    if len(hubs):
        some = _some(hubs, SAMPLE / len(degrees))
        sample = np.concatenate([sample, some])
        with_hubs = _held(_build(sample, options))
        total += (with_hubs - size) / some.sum() * hubs.sum()
        size = with_hubs
    return round(total), round(total * _growth(sample, size, options))


def _chosen(degrees: np.ndarray, options: dict[str, Any]) -> dict[str, Any]:
    """Return the backend options that a store chooses at a first batch whose mean degree is that of ``degrees``."""
    n = min(len(degrees), TRACKED)
    edges = min(int(degrees.sum()) * n // len(degrees), n * n)
    return _build(np.diff(np.arange(n + 1) * edges // n), options).store("out").options()


def _some(hubs: np.ndarray, share: float) -> np.ndarray:
    """Return a sample of the degrees ``hubs`` (int64, ascending) that has about ``share`` of their sum.

    A degree above ``SAMPLE`` is replaced by 2, 4, ... equal parts below it, each of which may be drawn: stores that
    round sizes to powers of two round these parts like the whole.
    """
    halvings = np.ceil(np.log2(np.maximum(hubs / SAMPLE, 1))).astype(np.int64)
    ends = np.cumsum(1 << halvings)
    count = min(max(int(share * ends[-1]), 1), HUBS)
    chosen = np.searchsorted(ends, (np.arange(count) + 0.5) * ends[-1] / count)
    return hubs[chosen] >> halvings[chosen]


def _growth(degrees: np.ndarray, size: int, options: dict[str, Any]) -> float:
    """Return the most memory that a store takes while it grows to ``degrees``, as a multiple of ``size``."""
    low, high = 1.0, 4.0
    size *= 2 if options["in_edges"] else 1  # a limit is for both stores of a graph
    if not degrees.any():
        return low
    for _ in range(PROBES):
        middle = (low + high) / 2
        try:
            _build(degrees, {**options, "memory_limit": round(size * middle)}, LAST_BATCH)
            high = middle
        except CapacityError:
            low = middle
    return high


def _build(degrees: np.ndarray, options: dict[str, Any], last_batch: float = 0.0) -> Graph:
    """Return a directed graph of vertices with these out-degrees, whose neighbours are random but distinct."""
    from suricate.graph import Graph

    n, rng = len(degrees), np.random.default_rng(2)
    src = np.repeat(np.arange(n), degrees)
    place = np.arange(len(src)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    begin = np.repeat(rng.integers(0, max(n, 1), n), degrees)
    dst = rng.permutation(n)[(begin + place) % max(n, 1)]
    graph = Graph(n, **options)
    is_last = rng.random(len(src)) < last_batch
    for part in (~is_last, is_last):
        weight = None if graph.weight_dtype is None else np.ones(int(part.sum()), graph.weight_dtype)
        graph.insert_edges(src[part], dst[part], weight)
    return graph


def _held(graph: Graph) -> int:
    """Return the bytes that the store of out-edges of ``graph`` allocates."""
    return sum(allocated for _, allocated in graph.store("out").memory().values())


def _of_trackers(degrees: np.ndarray, track: Any, options: dict[str, Any]) -> int:
    """Return the bytes of the state of trackers, and of scratch arrays, scaled from what they take on a small graph."""
    from suricate.graph import Graph

    n = min(len(degrees), TRACKED)
    picked = np.sort(degrees)[((np.arange(n) + 0.5) * len(degrees) / max(n, 1)).astype(np.int64)]
    source = _build(np.minimum(picked, n), {**options, "directed": True, "in_edges": False})
    graph = Graph(n, **options)
    graph.insert_edges(*source.edges())
    kinds: Mapping[str, Mapping[str, Any]] = track if isinstance(track, Mapping) else {name: {} for name in track}
    kept: list[Any] = [graph.track(name, **params) for name, params in kinds.items()]
    seen = {id(graph)}
    size = sum(_bytes_of(tracker.algorithm, seen) for tracker in kept) + sum(graph.workspace.memory().values())
    return round(size * len(degrees) / max(n, 1))


def _bytes_of(thing: Any, seen: set[int]) -> int:
    """Return the bytes of the arrays that ``thing``, of this package, holds, graphs in it included, each array once."""
    while isinstance(thing, np.ndarray) and isinstance(thing.base, np.ndarray):
        thing = thing.base
    if id(thing) in seen or isinstance(thing, type):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if hasattr(thing, "memory_usage") and hasattr(thing, "num_edges"):
        return int(thing.memory_usage().allocated)
    if isinstance(thing, (list, tuple, set)):
        return sum(_bytes_of(part, seen) for part in thing)
    if isinstance(thing, dict):
        return sum(_bytes_of(part, seen) for part in thing.values())
    if not type(thing).__module__.startswith("suricate."):
        return 0
    slots = (name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ()))
    held = [getattr(thing, name, None) for name in slots if not name.startswith("__")]
    return sum(_bytes_of(part, seen) for part in [*held, *getattr(thing, "__dict__", {}).values()] if part is not None)


def _text(size: float) -> str:
    """Return a number of bytes as text with a unit."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} TiB"
