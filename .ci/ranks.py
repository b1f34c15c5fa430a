"""PageRank kept current on the CPU, beside igraph from scratch: time, store and answer together, and error.

Usage: ``taskset -c 0 python .ci/ranks.py [GRAPH] [BACKEND ...]``, with graphs as for ``suricate bench``; default:
rmat:18 and all backends. Needs igraph. Batches of 1e-4 of the edges: 80 % insertions of uniform pairs, 20 % deletions
of edges. One thread, the libraries in turn; milliseconds, the median of eight batches after two. Errors are L1
distances, at the end, to ranks by SciPy whose last step changes less than 1e-14.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import igraph
import numpy as np

import suricate as su
from suricate.bench import inputs

SHARE, INSERTED, TOL = 1e-4, 0.8, 3e-12  #: tol is such that the error is that of igraph, or less
WARM, TIMED = 2, 8


def milliseconds(action: Callable[[], Any]) -> float:
    """Return what a call takes."""
    begin = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - begin)


def tracked(backend: str, data: Any) -> tuple[su.Graph, su.Tracker]:
    """Return a graph of all edges, and its ranks."""
    graph = su.Graph(data.num_vertices, backend=backend, device="cpu", in_edges=True, threads=1)
    graph.insert_edges(data.src, data.dst)
    return graph, graph.track("pagerank", tol=TOL)


def main(spec: str = "rmat:18", *backends: str) -> None:
    """Print a line per library."""
    data = inputs.load(spec)
    n, size, rng = data.num_vertices, int(SHARE * len(data.src)), np.random.default_rng(1)
    ours = {backend: tracked(backend, data) for backend in backends or su.plugins.backends()}
    other = igraph.Graph(n=n, edges=np.column_stack((data.src, data.dst)).astype(np.int64), directed=True)
    times: dict[str, list[float]] = {name: [] for name in (*ours, "igraph")}
    for _ in range(WARM + TIMED):
        at, inserted = rng.integers(0, len(data.src), size - int(INSERTED * size)), int(INSERTED * size)
        batch = su.Batch(insert=tuple(rng.integers(0, n, (2, inserted))), delete=(data.src[at], data.dst[at]))
        for name, (graph, _) in ours.items():
            times[name].append(milliseconds(partial(graph.apply, batch)))
        times["igraph"].append(milliseconds(other.pagerank))
    scratch = statistics.median(times["igraph"][WARM:])
    print(f"{spec}, batches of {size:,}: igraph from scratch {scratch:.0f} ms")
    edges = next(iter(ours.values()))[0].edges()
    exact = su.plugins.algorithm("pagerank").reference(edges.src, edges.dst, None, n, True)
    for name, (_, ranks) in ours.items():
        took, error = statistics.median(times[name][WARM:]), np.abs(ranks.result - exact).sum()
        steps = ranks.algorithm.iterations
        print(f"{name}: {took:.0f} ms, {scratch / took:.1f} times faster; L1 error {error:.1e}, {steps} steps")


if __name__ == "__main__":
    main(*sys.argv[1:])
