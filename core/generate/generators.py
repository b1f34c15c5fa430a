"""Graphs and batches in NumPy arrays: R-MAT, uniform random, grid, random geometric; update and query batches."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suricate.base.devices import Device, resolve_device
from suricate.base.errors import ParameterError, ShapeError
from suricate.base.parameters import flag, integer, real
from suricate.base.types import MAX_VERTICES, EdgeList, edge_keys
from suricate.generate.edge_streams import LEVELS, LevelTable
from suricate.intake.arrays import sorted_distinct

if TYPE_CHECKING:
    from suricate.graph.delta import Batch

Seed = int | np.random.Generator
Weights = tuple[float, float]  #: (low, high): integers give int32 in [low, high], else float32 in [low, high)

_CHUNK = 1 << 16  # edges drawn at a time: the temporaries stay in the cache
_MOST = 1 << 40  # edges: more are a mistake


# -- graphs ------------------------------------------------------------------------------------------------------------


def rmat(
    scale: int,
    edge_factor: float = 16,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    *,
    seed: Seed = 0,
    permute: bool = True,
    deduplicate: bool = True,
    self_loops: bool = True,
    weights: Weights | None = None,
    device: str | Device = "cpu",
) -> EdgeList:
    """Return a recursive-matrix graph of ``2**scale`` vertices from ``edge_factor * 2**scale`` random arcs.

    Args:
        scale: binary logarithm of the number of vertices, 1 to 31.
        edge_factor: arcs drawn per vertex.
        a, b, c: probability of the upper left, upper right and lower left quarter of the matrix, at every level; the
            lower right has the rest.
        seed: of the random numbers.
        permute: give the vertices random ids; False: vertices of large degree have small ids.
        deduplicate: keep every arc once, in the order of (src, dst); False: keep all arcs, in random order.
        self_loops: False drops them.
        weights: (low, high), see :data:`Weights`; None: no weights.
        device: where the result lives.

    Raises:
        ParameterError: an argument is of the wrong type or out of range.
    """
    scale = integer("rmat: scale", scale, low=1, high=31)
    count = round(real("rmat: edge_factor", edge_factor, low=0, high=_MOST) * (1 << scale))
    a, b, c = (_share(f"rmat: {name}", value) for name, value in (("a", a), ("b", b), ("c", c)))
    if a + b + c > 1 + 1e-12:
        raise ParameterError(f"rmat: a + b + c must be at most 1, got {a} + {b} + {c}")
    rng = _generator("rmat", seed)
    _check_flags("rmat", permute=permute, deduplicate=deduplicate, self_loops=self_loops)
    src, dst = _rmat_arcs(scale, count, (a, b, c, max(0.0, 1 - a - b - c)), rng)
    if permute:
        ids = rng.permutation(1 << scale).astype(np.uint32)
        src, dst = ids[src], ids[dst]
    if not self_loops:
        src, dst = _without_loops(src, dst)
    if deduplicate:
        src, dst = _distinct(src, dst)
    return _finish(src, dst, _draw_weights(len(src), weights, rng), device)


def _rmat_arcs(
    scale: int, count: int, quarters: tuple[float, ...], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``count`` arcs of an R-MAT graph with ``2**scale`` vertices; return sources and destinations."""
    steps = [LEVELS] * (scale // LEVELS) + ([scale % LEVELS] if scale % LEVELS else [])
    tables = {levels: LevelTable(levels, quarters) for levels in set(steps)}
    src, dst = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    for begin in range(0, count, _CHUNK):
        rows, columns = src[begin : begin + _CHUNK], dst[begin : begin + _CHUNK]
        for levels in steps:
            row, column = tables[levels].draw(rng.integers(0, 2**64, len(rows), np.uint64))
            rows <<= np.uint32(levels)
            rows |= row
            columns <<= np.uint32(levels)
            columns |= column
    return src, dst


def uniform(
    num_vertices: int,
    num_edges: int,
    *,
    seed: Seed = 0,
    deduplicate: bool = True,
    self_loops: bool = True,
    weights: Weights | None = None,
    device: str | Device = "cpu",
) -> EdgeList:
    """Return ``num_edges`` uniformly random arcs: each pair of vertices is equally likely.

    Args:
        num_vertices: number of vertices.
        num_edges: number of arcs in the result, exactly.
        seed: of the random numbers.
        deduplicate: draw distinct arcs, in the order of (src, dst); False: independent arcs in random order.
        self_loops: False leaves them out.
        weights: (low, high), see :data:`Weights`; None: no weights.
        device: where the result lives.

    Raises:
        ParameterError: there are not so many distinct arcs; an argument is of the wrong type or out of range.
    """
    num_vertices = integer("uniform: num_vertices", num_vertices, low=0, high=MAX_VERTICES)
    num_edges = integer("uniform: num_edges", num_edges, low=0, high=_MOST)
    _check_flags("uniform", deduplicate=deduplicate, self_loops=self_loops)
    rng = _generator("uniform", seed)
    most = num_vertices * (num_vertices if self_loops else num_vertices - 1)
    if num_edges > most and (deduplicate or most == 0):
        raise ParameterError(f"{num_vertices} vertices have only {most} different arcs, not {num_edges}")
    if deduplicate:
        src, dst = _distinct_pairs(num_vertices, num_edges, most, self_loops, rng)
    else:
        src = rng.integers(0, num_vertices, num_edges, np.uint32)
        dst = rng.integers(0, num_vertices if self_loops else num_vertices - 1, num_edges, np.uint32)
        dst += (dst >= src) & (not self_loops)  # skip the source itself
    return _finish(src, dst, _draw_weights(num_edges, weights, rng), device)


def _distinct_pairs(
    num_vertices: int, num_edges: int, most: int, self_loops: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``num_edges`` random arcs out of ``most``, without repetition: (src, dst) in uint32, ordered by both."""
    if 2 * num_edges > most:  # a dense graph: choose what is absent
        chosen = np.sort(rng.permutation(most)[:num_edges].astype(np.uint64))
    else:
        chosen = np.zeros(0, np.uint64)
        while len(chosen) < num_edges:
            missing = num_edges - len(chosen)
            draws = int(-most * np.log1p(-missing / most)) + 4 * int(np.sqrt(missing)) + 16  # mostly enough at once
            chosen = sorted_distinct(np.concatenate((chosen, rng.integers(0, most, draws, np.uint64))))
        keep = np.ones(len(chosen), bool)
        keep[rng.choice(len(chosen), len(chosen) - num_edges, replace=False)] = False
        chosen = chosen[keep]
    width = np.uint64(num_vertices if self_loops else max(num_vertices - 1, 1))
    src, dst = (chosen // width).astype(np.uint32), (chosen % width).astype(np.uint32)
    dst += (dst >= src) & (not self_loops)
    return src, dst


def grid(
    width: int,
    height: int,
    *,
    symmetric: bool = True,
    weights: Weights | None = None,
    seed: Seed = 0,
    device: str | Device = "cpu",
) -> EdgeList:
    """Return a road-like grid: vertex ``y * width + x`` is joined to its neighbours on the right and below.

    Args:
        width, height: vertices in x and y.
        symmetric: have the arcs of both directions, in the order of (src, dst); False: only to the right and down.
        weights: (low, high), see :data:`Weights`, the same in both directions; None: no weights.
        seed: of the weights; the structure has nothing random.
        device: where the result lives.

    Raises:
        ParameterError: an argument is of the wrong type or out of range.
    """
    width, height = (integer(f"grid: {name}", x, low=1) for name, x in (("width", width), ("height", height)))
    if width * height > MAX_VERTICES:
        raise ParameterError(f"grid: {width} x {height} are more than {MAX_VERTICES} vertices")
    _check_flags("grid", symmetric=symmetric)
    ids = np.arange(width * height, dtype=np.uint32).reshape(height, width)
    src = np.concatenate((ids[:, :-1].ravel(), ids[:-1].ravel()))
    dst = np.concatenate((ids[:, 1:].ravel(), ids[1:].ravel()))
    weight = _draw_weights(len(src), weights, _generator("grid", seed))
    return _finish(*_both_directions(src, dst, weight, symmetric), device)


def random_geometric(
    num_vertices: int,
    *,
    radius: float | None = None,
    degree: float | None = None,
    seed: Seed = 0,
    symmetric: bool = True,
    weights: Weights | Literal["distance"] | None = None,
    device: str | Device = "cpu",
) -> EdgeList:
    """Return a random geometric graph: points of the unit square are joined if they are at most ``radius`` apart.

    Args:
        num_vertices: number of points; vertex i is row i of the first ``random((num_vertices, 2))`` of the generator.
        radius: Euclidean distance, in sides of the square. Give this or ``degree``.
        degree: expected number of neighbours of a point far from the border; sets the radius.
        seed: of the random numbers.
        symmetric: have the arcs of both directions; False: from the lower id to the higher. In the order of (src, dst).
        weights: (low, high), see :data:`Weights`, or ``"distance"`` (float32), the same in both directions.
        device: where the result lives.

    Raises:
        ParameterError: an argument is of the wrong type or out of range.
    """
    num_vertices = integer("random_geometric: num_vertices", num_vertices, low=0, high=MAX_VERTICES)
    _check_flags("random_geometric", symmetric=symmetric)
    if radius is not None and degree is None:
        distance = real("random_geometric: radius", radius, low=0)
    elif degree is not None and radius is None:
        expected = real("random_geometric: degree", degree, low=0)
        distance = float(np.sqrt(expected / (np.pi * max(num_vertices - 1, 1))))
    else:
        raise ParameterError("random_geometric: give either radius or degree")
    rng = _generator("random_geometric", seed)
    from scipy.spatial import cKDTree

    points = rng.random((num_vertices, 2))
    pairs = cKDTree(points).query_pairs(distance, output_type="ndarray")
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    src, dst = pairs[:, 0].astype(np.uint32), pairs[:, 1].astype(np.uint32)
    if isinstance(weights, str) and weights == "distance":
        weight: np.ndarray | None = np.linalg.norm(points[src] - points[dst], axis=1).astype(np.float32)
    else:
        weight = _draw_weights(len(src), weights, rng)
    return _finish(*_both_directions(src, dst, weight, symmetric), device)


# -- batches -----------------------------------------------------------------------------------------------------------


def uniform_pairs(num_vertices: int, size: int, *, seed: Seed = 0, weights: Weights | None = None) -> EdgeList:
    """Return ``size`` independent pairs of vertices below ``num_vertices``, each equally likely.

    They are a batch to insert, delete or query; ``seed`` and ``weights`` are as in :func:`uniform`.
    """
    return uniform(num_vertices, size, seed=seed, deduplicate=False, weights=weights)


def existing_edges(edges: EdgeList, size: int, *, seed: Seed = 0) -> EdgeList:
    """Return ``size`` random edges out of ``edges``, without replacement, in random order, with their weights.

    Raises:
        ParameterError: there are fewer edges.
        ShapeError: ``edges`` is not a list of edges.
    """
    edges = _edges_of(edges)
    count, size = len(edges.src), integer("size", size, low=0)
    if size > count:
        raise ParameterError(f"cannot choose {size} of {count} edges")
    chosen = _generator("existing_edges", seed).choice(count, size, replace=False)
    return edges.each(lambda part: part if part.ndim == 0 else part[chosen])


def _edges_of(edges: Any) -> EdgeList:
    from suricate.graph.delta import edge_list
    from suricate.intake.arrays import as_array

    given = edge_list(() if edges is None else edges, "edges")
    assert given is not None
    src, dst = as_array(given.src, "edges.src"), as_array(given.dst, "edges.dst")
    if src.ndim != 1 or dst.ndim != 1:
        raise ShapeError(f"edges.src and edges.dst have shapes {src.shape} and {dst.shape}: pass lists of ids")
    return EdgeList(src, dst, None if given.weight is None else as_array(given.weight, "edges.weight"))


def mixed(
    edges: EdgeList,
    num_vertices: int,
    size: int,
    *,
    insert_fraction: float = 0.8,
    seed: Seed = 0,
    weights: Weights | None = None,
) -> Batch:
    """Return a batch of uniform pairs to insert and of existing edges to delete (the random batches of DF-PageRank).

    Args:
        edges: the edges of the graph, to choose deletions from.
        num_vertices: number of vertices, to draw insertions from.
        size: edges of the batch.
        insert_fraction: share of insertions, from 0 to 1.
        seed: of the random numbers.
        weights: (low, high) of the insertions, see :data:`Weights`; None: no weights.
    """
    from suricate.graph.delta import Batch

    size = integer("mixed: size", size, low=0)
    inserts = round(size * _share("mixed: insert_fraction", insert_fraction))
    rng = _generator("mixed", seed)
    delete = existing_edges(EdgeList(*_edges_of(edges)[:2]), size - inserts, seed=rng)
    return Batch(insert=uniform_pairs(num_vertices, inserts, seed=rng, weights=weights), delete=delete)


def sliding_window(
    src: np.ndarray,
    dst: np.ndarray,
    *,
    weight: np.ndarray | None = None,
    time: np.ndarray | None = None,
    window: int,
    slide: int,
    directed: bool = True,
) -> Iterator[Batch]:
    """Yield batches that keep a graph equal to the last ``window`` edges of a stream (the protocol of GPMA).

    The first batch inserts the first ``window`` edges; each further one inserts the next ``slide`` edges (the last one
    what is left) and deletes those that leave the window, except edges that occur again inside it. So after every
    batch the graph has exactly the distinct edges of the window, each with its last weight.

    Args:
        src, dst: the stream, in order of arrival.
        weight: weights of the stream, or None.
        time: if given, the stream is sorted by time first; edges of equal time keep their order.
        window: number of edges, at least 1. slide: number of edges, from 1 to ``window``.
        directed: False for an undirected graph, in which ``(u, v)`` and ``(v, u)`` are one edge.

    Raises:
        ParameterError, ShapeError: an argument does not fit.
    """
    from suricate.graph.delta import Batch

    window = integer("sliding_window: window", window, low=1)
    slide = integer("sliding_window: slide", slide, low=1, high=window)
    stream = _in_order(EdgeList(src, dst, weight), time)
    again = _next_occurrence(stream, directed=flag("sliding_window: directed", directed))
    begin, end, count = 0, min(window, len(stream.src)), len(stream.src)
    yield Batch(insert=_part(stream, 0, end))
    while end < count:
        new_end = min(end + slide, count)
        expired = np.arange(begin, new_end - window)
        expired = expired[again[expired] >= new_end]
        yield Batch(insert=_part(stream, end, new_end), delete=EdgeList(stream.src[expired], stream.dst[expired]))
        begin, end = new_end - window, new_end


def temporal_batches(
    src: np.ndarray,
    dst: np.ndarray,
    *,
    weight: np.ndarray | None = None,
    time: np.ndarray | None = None,
    initial_fraction: float = 0.9,
    batches: int = 100,
) -> Iterator[Batch]:
    """Yield the first part of a stream as one batch, then the rest as ``batches`` consecutive ones (DF-PageRank).

    Args:
        src, dst: the stream, in order of arrival.
        weight: weights of the stream, or None.
        time: if given, the stream is put in the order of time first; edges of equal time keep their order.
        initial_fraction: share of the stream in the first batch, from 0 to 1.
        batches: number of further batches; their sizes differ by one at most.
    """
    from suricate.graph.delta import Batch

    batches = integer("temporal_batches: batches", batches, low=0, high=_MOST)
    share = _share("temporal_batches: initial_fraction", initial_fraction)
    stream = _in_order(EdgeList(src, dst, weight), time)
    count = len(stream.src)
    first = round(count * share)
    ends = first + np.arange(batches + 1) * (count - first) // max(batches, 1)
    yield Batch(insert=_part(stream, 0, first))
    for begin, end in itertools.pairwise(ends.tolist()):
        yield Batch(insert=_part(stream, begin, end))


# -- shared ------------------------------------------------------------------------------------------------------------


def _share(label: str, value: float) -> float:
    """Return ``value`` as a float; raise ``ParameterError``, which calls it ``label``, unless it is from 0 to 1."""
    return real(label, value, low=0, high=1, include_high=True)


def _check_flags(generator: str, **flags: bool) -> None:
    for name, value in flags.items():
        flag(f"{generator}: {name}", value)


def _generator(name: str, seed: Seed) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(integer(f"{name}: seed", seed, low=0))


def _draw_weights(count: int, weights: Weights | None, rng: np.random.Generator) -> np.ndarray | None:
    if weights is None:
        return None
    low, high = _weight_range(weights)
    if isinstance(low, int) and isinstance(high, int):
        return rng.integers(low, high, count, np.int32, endpoint=True)
    return (low + (high - low) * rng.random(count, np.float32)).astype(np.float32)


def _weight_range(weights: Any) -> tuple[float, float]:
    """Return ``weights`` as (low, high), both integers or both floats; raise ``ParameterError`` if it is neither."""
    try:
        low, high = weights
    except (TypeError, ValueError):
        raise ParameterError(f"weights must be (low, high), got {weights!r}") from None
    if isinstance(low, numbers.Integral) and isinstance(high, numbers.Integral):
        limits = np.iinfo(np.int32)
        low = integer("weights: low", low, low=int(limits.min), high=int(limits.max))
        return low, integer("weights: high", high, low=low, high=int(limits.max))
    limit = float(np.finfo(np.float32).max)
    low = real("weights: low", low, low=-limit, high=limit, include_high=True)
    return low, real("weights: high", high, low=low, high=limit, include_high=True)


def _without_loops(src: np.ndarray, dst: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = src != dst
    return src[keep], dst[keep]


def _distinct(src: np.ndarray, dst: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys = sorted_distinct(edge_keys(src, dst))
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


def _both_directions(
    src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, symmetric: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if symmetric:
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
        weight = None if weight is None else np.concatenate((weight, weight))
    order = np.argsort(edge_keys(src, dst))
    return src[order], dst[order], None if weight is None else weight[order]


def _finish(src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, device: str | Device) -> EdgeList:
    move: Callable = resolve_device(device).xp.asarray
    return EdgeList(move(src), move(dst), None if weight is None else move(weight))


def _in_order(stream: EdgeList, time: np.ndarray | None) -> EdgeList:
    arrays = stream.each(np.asarray)
    for name, column in (*arrays._asdict().items(), ("time", time)):
        if column is not None and np.shape(column) != (arrays.src.size,):
            raise ShapeError(f"{name} has shape {np.shape(column)}: pass one entry per edge, as many as src has")
    if time is None:
        return arrays
    order = np.argsort(time, kind="stable")
    return arrays.each(lambda part: part[order])


def _part(stream: EdgeList, begin: int, end: int) -> EdgeList:
    return stream.each(lambda part: part[begin:end])


def _next_occurrence(stream: EdgeList, *, directed: bool) -> np.ndarray:
    """Return, for each position in the stream, the next position of the same edge, or the stream's length; int64[n]."""
    src, dst, count = stream.src, stream.dst, len(stream.src)
    keys = edge_keys(src, dst) if directed else edge_keys(np.minimum(src, dst), np.maximum(src, dst))
    order = np.argsort(keys, kind="stable")
    again = np.full(count, count, np.int64)
    same = keys[order[1:]] == keys[order[:-1]]
    again[order[:-1][same]] = order[1:][same]
    return again
