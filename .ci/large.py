"""R-MAT graphs of 2**28 edges and the like: how much faster answers are kept current than computed anew.

Usage: ``python .ci/large.py SCALE [ALGORITHM ...]``, with ``wcc``, ``triangles``, ``bfs`` and ``sssp``. Edges are drawn
on the device, 16 per vertex; from scratch also four scales below, to compare rates. Eager, milliseconds, the median of
ten batches after two. The answers are certified by other means: components by labels that are passed on with plain
array code, searches over all edges (none can be relaxed, every vertex has a parent that closes its distance), triangles
by a count from scratch after the updates.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import suricate as su
from suricate.base.devices import resolve_device

DEVICE = resolve_device(os.environ.get("DEVICE", "auto"))
NAMES = ("wcc", "triangles", "bfs", "sssp")
SEARCHES = ("bfs", "sssp")
EDGE_FACTOR, BELOW = 16, 4
SIZES = (1_000, 10_000, 100_000)
WARM, TIMED = 2, 10
CHUNK = 1 << 24  #: edges at a time
FAR = 1 << 60  #: the distance of what is not reached
xp = DEVICE.xp


def milliseconds(work: Callable[[], Any]) -> float:
    """Time ``work`` from an idle device to an idle device."""
    DEVICE.synchronize()
    start = time.perf_counter()
    work()
    DEVICE.synchronize()
    return 1e3 * (time.perf_counter() - start)


def rmat(scale: int, seed: int) -> tuple[Any, Any]:
    """Draw the arcs of an R-MAT graph level by level, with the parameters of Graph500 and random ids."""
    rng, total = xp.random.default_rng(seed), EDGE_FACTOR << scale
    ids = xp.argsort(rng.random(1 << scale)).astype(np.uint32)
    arcs = xp.empty((2, total), np.uint32)
    for begin in range(0, total, CHUNK):
        size = min(CHUNK, total - begin)
        src, dst = xp.zeros(size, np.uint32), xp.zeros(size, np.uint32)
        for _ in range(scale):
            at = rng.random(size, dtype=np.float32)
            src = (src << 1) | (at >= 0.76)
            dst = (dst << 1) | (((at >= 0.57) & (at < 0.76)) | (at >= 0.95))
        arcs[0, begin : begin + size], arcs[1, begin : begin + size] = ids[src], ids[dst]
    return arcs[0], arcs[1]


def weights(src: Any, dst: Any) -> Any:
    """Return weights from 1 to 63 that depend on the ids alone, so that repeated edges agree."""
    mixed = xp.minimum(src, dst) * np.uint32(2654435761) + xp.maximum(src, dst) * np.uint32(40503)
    return ((mixed >> np.uint32(7)) % np.uint32(63) + np.uint32(1)).astype(np.int32)


def pieces(src: Any, dst: Any) -> Any:
    """Yield the arcs, some at a time."""
    for begin in range(0, len(src), CHUNK):
        yield src[begin : begin + CHUNK], dst[begin : begin + CHUNK]


def graph_of(name: str, scale: int, arcs: tuple[Any, Any]) -> su.Graph:
    """Return a graph of ``arcs``."""
    weight_dtype = "int32" if name == "sssp" else None
    graph = su.Graph(1 << scale, device=str(DEVICE), directed=name in SEARCHES, weight_dtype=weight_dtype)
    for src, dst in pieces(*arcs):
        graph.insert_edges(src, dst, weights(src, dst) if weight_dtype else None)
    return graph


def labels(num_vertices: int, arcs: tuple[Any, Any]) -> Any:
    """Return the smallest vertex of each component: labels go along all edges, and along labels, until none changes."""
    label, before = xp.arange(num_vertices, dtype=np.uint32), None
    while before is None or not bool((label == before).all()):
        before = label.copy()
        for src, dst in pieces(*arcs):
            lower = xp.minimum(label[src], label[dst])
            for ends in (src, dst, before[src], before[dst]):
                xp.minimum.at(label, ends, lower)
        while not bool((label[label] == label).all()):
            label = label[label]
    return label


def flaw(name: str, result: Any, source: int, arcs: tuple[Any, Any]) -> str | None:
    """Return what is wrong with the distances of a search, or None."""
    distance = (result.level if name == "bfs" else result.distance).astype(np.int64)
    distance = xp.where(distance < 0, FAR, distance)
    closed = xp.zeros(len(distance), bool)
    closed[source] = distance[source] == 0
    for src, dst in pieces(*arcs):
        offer = distance[src] + (1 if name == "bfs" else weights(src, dst))
        if bool(((distance[src] < FAR) & (offer < distance[dst])).any()):
            return "an edge leads to a smaller distance"
        closed[dst[(result.parent[dst] == src) & (offer == distance[dst])]] = True
    return None if bool((closed == (distance < FAR)).all()) else "the parent of a vertex does not close its distance"


def verdict(name: str, tracker: su.Tracker, anew: Any, source: int, arcs: tuple[Any, Any]) -> str:
    """Compare the tracked answer and the one from scratch with what other means say."""
    if name == "triangles":
        return "verified" if bool((tracker.result.triangles == anew.result.triangles).all()) else "WRONG"
    if name == "wcc":
        right = labels(tracker.graph.num_vertices, arcs)
        return "verified" if all(bool((each.result.label == right).all()) for each in (tracker, anew)) else "WRONG"
    flaws = [flaw(name, each.result, source, arcs) for each in (tracker, anew)]
    return "verified" if flaws == [None, None] else f"WRONG: {flaws}"


def report(name: str, scale: int) -> None:
    """Print a line: rates from scratch on two scales, times and speed-ups of insertions."""
    rates = []
    for each in (scale - BELOW, scale):
        arcs = rmat(each, 5)
        graph = graph_of(name, each, arcs)
        source = int(xp.bincount(arcs[0], minlength=1 << each).argmax())
        params = {"source": source} if name in SEARCHES else {}
        anew = su.plugins.algorithm(name).create(params)
        anew.compute(graph)
        scratch = statistics.median(milliseconds(partial(anew.compute, graph)) for _ in range(3))
        rates.append(graph.num_edges / scratch / 1e6)
    told = [f"{graph.num_edges:,} edges, from scratch {scratch:.3f} ms"]
    told.append(f"{rates[1]:.2f} G edges/s ({rates[0]:.2f} on scale {scale - BELOW})")
    tracker, rng, drawn = graph.track(name, **params), xp.random.default_rng(17), [arcs]
    for size in SIZES:
        times = []
        for _ in range(WARM + TIMED):
            src, dst = (rng.integers(0, 1 << scale, size).astype(np.uint32) for _ in range(2))
            weight = weights(src, dst) if name == "sssp" else None
            times.append(milliseconds(partial(graph.insert_edges, src, dst, weight)))
            drawn.append((src, dst))
        median = statistics.median(times[WARM:])
        told.append(f"+{size:,} {median:.3f} ms, {scratch / median:.0f} times faster")
    anew.compute(graph)
    every = tuple(xp.concatenate([part[side] for part in drawn]) for side in range(2))
    told.append(verdict(name, tracker, anew, source, (every[0], every[1])))
    print(f"{name}, R-MAT {scale}: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[2:] or NAMES:
        report(wanted, int(sys.argv[1]))
