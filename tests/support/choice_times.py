"""What a tracker's choice costs: processor time of 20 updates by its choice, always updated, always from scratch.

The three ways take turns on graphs of their own, in one process. Graphs are R-MAT 16 of eight edges per vertex, with
``--grid`` a grid of 300 x 300.

    python tests/support/choice_times.py kcore 1000 10000
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np

import suricate as su

WAYS = "chosen", "updated", "computed"
KINDS = "insert", "delete", "mixed"
BOTH = "pagerank", "hits", "directed_kcore"  #: on directed graphs with in-edges


class Way:
    """A graph with a tracker that decides in one way; ``spent`` are the processor seconds of its updates."""

    def __init__(self, way: str, name: str, edges: su.EdgeList, num_vertices: int) -> None:
        self.graph = su.Graph(num_vertices, device="cpu", directed=name in BOTH, in_edges=name in BOTH)
        self.graph.insert_edges(edges.src, edges.dst)
        self.tracker = self.graph.track(name)
        algorithm: Any = self.tracker.algorithm
        if way != "chosen":
            algorithm.pace, algorithm.should_recompute = None, lambda *_, **__: way == "computed"
        self.spent: list[float] = []
        algorithm.update = partial(self._timed, algorithm.update)

    def _timed(self, update: Any, *args: Any) -> None:
        begin = time.process_time()
        try:
            update(*args)
        finally:
            self.spent.append(time.process_time() - begin)


def measured(name: str, size: int, kind: str, *, grid: bool = False, batches: int = 20) -> str:
    """Return a line with the milliseconds of each way; ``kind``: insert, delete, or mixed."""
    edges, n = (su.generate.grid(300, 300), 90_000) if grid else (su.generate.rmat(16, 8, seed=1), 1 << 16)
    ways, rng = {way: Way(way, name, edges, n) for way in WAYS}, np.random.default_rng(2)
    for turn in range(batches):
        come, held = tuple(rng.integers(0, n, (2, size))), ways["chosen"].graph.edges()
        at = rng.integers(0, len(held.src), size)
        gone = held.src[at].copy(), held.dst[at].copy()
        batch = su.Batch(insert=None if kind == "delete" else come, delete=None if kind == "insert" else gone)
        for i in range(len(WAYS)):
            ways[WAYS[(turn + i) % len(WAYS)]].graph.apply(batch)
    total = {way: 1e3 * sum(each.spent) for way, each in ways.items()}
    ratio = total["chosen"] / min(total["updated"], total["computed"])
    times = "  ".join(f"{way} {total[way]:7.1f}" for way in WAYS)
    computed = sum(ways["chosen"].tracker.recomputations.values())
    return f"{name:15} {kind:7} {size:6}  {times} ms  {ratio:.2f}  {computed} of {batches} computed"


def main() -> None:
    """Measure an algorithm at some sizes, after a run that loads all code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    args = parser.parse_args()
    for kind in args.kind or KINDS:
        measured(args.name, min(args.sizes), kind, grid=args.grid, batches=3)
        for size in args.sizes:
            print(measured(args.name, size, kind, grid=args.grid), flush=True)


if __name__ == "__main__":
    main()
