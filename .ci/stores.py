"""What a second store costs, and what the host does for an operator call.

Usage: ``python .ci/stores.py DEVICE GRAPH [BACKEND ...]``, with graphs as for ``suricate bench``, such as rmat:20.
Per backend, microseconds: the insertion and the deletion of random batches that lie on the device into a directed graph
and their ratio to it in one with in-edges and in an undirected one, all three in turn, medians from an idle device to
an idle device. Then calls of operators on eight vertices, from call to return: on CUDA that is the host's part.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import suricate as su
from suricate.bench import inputs

SIZES = (1 << 10, 1 << 16, 1 << 20)
KINDS: tuple[dict[str, Any], ...] = ({}, {"in_edges": True}, {"directed": False})
WARM, TIMED, CALLS = 3, 9, 200


def microseconds(graph: su.Graph, work: Callable[[], Any], *, waiting: bool = True) -> float:
    """Time ``work`` from an idle device, to an idle device if ``waiting``."""
    graph.synchronize()
    start = time.perf_counter()
    work()
    if waiting:
        graph.synchronize()
    return 1e6 * (time.perf_counter() - start)


def batches(device: str, backend: str, data: Any) -> None:
    """Print the times of batches of one store, and how many times as long the other two graphs take."""
    graphs = [su.Graph(data.num_vertices, device=device, backend=backend, **kind) for kind in KINDS]
    xp, rng = graphs[0].device.xp, np.random.default_rng(1)
    for graph in graphs:
        graph.reserve(2 * len(data.src))
        graph.insert_edges(xp.asarray(data.src), xp.asarray(data.dst))
    for size in SIZES:
        times: dict[str, list[list[float]]] = {"insert": [[], [], []], "delete": [[], [], []]}
        for _ in range(WARM + TIMED):
            batch = xp.asarray(rng.integers(0, data.num_vertices, (2, size)))
            for found, graph in enumerate(graphs):
                times["insert"][found].append(microseconds(graph, lambda g=graph, b=batch: g.insert_edges(*b)))
                times["delete"][found].append(microseconds(graph, lambda g=graph, b=batch: g.delete_edges(*b)))
        for operation, each in times.items():
            one, two, both = (statistics.median(part[WARM:]) for part in each)
            print(
                f"{backend:13} {operation} {size:8,}: {one:9.1f} us, "
                f"with in-edges {two / one:.2f}x, undirected {both / one:.2f}x"
            )


def calls(device: str, backend: str, data: Any) -> None:
    """Print what calls of operators on eight vertices take until they return."""
    graph = su.Graph(data.num_vertices, device=device, backend=backend)
    xp = graph.device.xp
    graph.insert_edges(xp.asarray(data.src), xp.asarray(data.dst))
    level, some = xp.zeros(data.num_vertices, np.int64), su.Frontier.from_vertices(graph, np.arange(8))

    def hop(u, v, w, level):  # type: ignore[no-untyped-def]
        return level[u] + 1

    def positive(v, level):  # type: ignore[no-untyped-def]
        return level[v] > 0

    operators = {
        "advance": lambda: su.advance(graph, some, hop, level),
        "neighbor_reduce": lambda: su.neighbor_reduce(graph, hop, args=(level,), vertices=some),
        "vertex_map": lambda: su.vertex_map(graph, some, positive, args=(level,)),
    }
    for name, call in operators.items():
        found = [microseconds(graph, call, waiting=False) for _ in range(CALLS)]
        print(f"{backend:13} {name}: {statistics.median(found[CALLS // 4 :]):.1f} us")


if __name__ == "__main__":
    drawn = inputs.load(sys.argv[2])
    for name in sys.argv[3:] or sorted(su.plugins.backends()):
        batches(sys.argv[1], name, drawn)
        calls(sys.argv[1], name, drawn)
