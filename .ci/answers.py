"""What a user waits for until an answer is current again: the store updated and the answer with it, on CUDA.

Usage: ``python .ci/answers.py BACKEND GRAPH [ALGORITHM ...]``, with graphs as for ``suricate bench``, such as rmat:20.
Eager, batches on the device; milliseconds, the median of ten batches after two; from scratch the median of five. Every
updated answer is compared with one that is computed from scratch afterwards, on the graph as it is then: what that
takes, without the store's part, is printed in parentheses. The first deletion of a new tracker is timed apart, as
components make a forest then. Directed graphs have in-edges, except for insertions into searches; shortest paths have
integer weights from 1 to 63.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import cupy as cp
import numpy as np

import suricate as su
from suricate.bench import inputs
from suricate.bench.verify.results import on_host

DIRECTED = ("bfs", "sssp", "pagerank")
SEARCHES = ("bfs", "sssp")
NAMES = (*DIRECTED, "wcc", "triangles", "kcore")
SIZES = (1_000, 10_000, 100_000)
WARM, TIMED = 2, 10


def milliseconds(work: Callable[[], Any]) -> float:
    """Time ``work`` from an idle device to an idle device."""
    wait = cp.cuda.get_current_stream().synchronize
    wait()
    start = time.perf_counter()
    work()
    wait()
    return 1e3 * (time.perf_counter() - start)


def graph_of(name: str, backend: str, data: Any, *, inserting: bool = False) -> su.Graph:
    """Return a graph of all edges."""
    directed, weighted = name in DIRECTED, name == "sssp"
    in_edges = directed and not (inserting and name in SEARCHES)
    dtype = "int32" if weighted else None
    graph = su.Graph(
        data.num_vertices, backend=backend, device="cuda", directed=directed, weight_dtype=dtype, in_edges=in_edges
    )
    rng = np.random.default_rng(1)
    weight = cp.asarray(rng.integers(1, 64, len(data.src)).astype(np.int32)) if weighted else None
    graph.insert_edges(cp.asarray(data.src), cp.asarray(data.dst), weight)
    return graph


def batches(name: str, data: Any, sign: str, size: int) -> list[tuple]:
    """Return random pairs to insert, or distinct edges to delete, on the device."""
    rng, n = np.random.default_rng(size), data.num_vertices
    if sign == "-":
        order = rng.permutation(len(data.src))[: (WARM + TIMED) * size].reshape(-1, size)
        return [(cp.asarray(data.src[at]), cp.asarray(data.dst[at])) for at in order]
    pairs = [cp.asarray(rng.integers(0, n, (2, size), np.uint32)) for _ in range(WARM + TIMED)]
    weights = [cp.asarray(rng.integers(1, 64, size).astype(np.int32)) if name == "sssp" else None for _ in pairs]
    return [(*pair, weight) for pair, weight in zip(pairs, weights, strict=True)]


def anew_on(graph: su.Graph, name: str, params: dict[str, Any]) -> tuple[su.Algorithm, float]:
    """Return an answer computed from scratch, and how long that takes."""
    anew = su.plugins.algorithm(name).create(params)
    anew.compute(graph)
    return anew, statistics.median(milliseconds(partial(anew.compute, graph)) for _ in range(5))


def same(tracker: su.Tracker, anew: su.Algorithm) -> bool:
    """Return whether the tracked answer is that of a computation from scratch."""
    found, right = (on_host(result, tracker.graph.device) for result in (tracker.result, anew.result))
    pairs = zip(found, right, strict=True) if isinstance(found, tuple) else [(found, right)]
    return all(np.allclose(a, b, rtol=1e-3, atol=1e-8, equal_nan=True) for a, b in pairs)


def main(backend: str, spec: str, *names: str) -> None:
    """Print a line per algorithm."""
    data = inputs.load(spec)
    for name in names or NAMES:
        params = {"source": data.source} if name in SEARCHES else {}
        told = [f"from scratch {anew_on(graph_of(name, backend, data), name, params)[1]:.3f}"]
        for sign in "+-":
            tracker = graph_of(name, backend, data, inserting=sign == "+").track(name, **params)
            change = tracker.graph.insert_edges if sign == "+" else tracker.graph.delete_edges
            for size in (size for size in SIZES if (WARM + TIMED) * size <= len(data.src)):
                times = [milliseconds(partial(change, *batch)) for batch in batches(name, data, sign, size)]
                anew, scratch = anew_on(tracker.graph, name, params)
                verdict = "" if same(tracker, anew) else " WRONG"
                told.append(f"{sign}{size:,} {statistics.median(times[WARM:]):.3f} ({scratch:.3f}){verdict}")
        tracker = graph_of(name, backend, data).track(name, **params)  # everything is compiled: what is made once shows
        first = milliseconds(partial(tracker.graph.delete_edges, *batches(name, data, "-", SIZES[0])[0]))
        told.append(f"first -{SIZES[0]:,} {first:.3f}")
        print(f"{name} {spec} {backend}, ms: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
