"""DF-P PageRank in the setting of Sahu's experiments: time, store and answer together, and error beside plain NumPy's.

Usage: ``python .ci/dfp.py GRAPH ...``, with graphs as for ``suricate bench``, such as rmat:20. float64, L-infinity norm
1e-10, frontier and prune tolerance 1e-6, one self-loop at every vertex; batches of 1e-5 to 1e-3 of the edges, of which
80 % are insertions of uniform pairs and 20 % deletions. Eager, milliseconds, the median of five batches after one.

The errors are L1 distances after the first batch to ranks whose last step changes less than 1e-14: ours, from scratch,
continued by SciPy. Plain NumPy starts from the same ranks and takes a product of the whole matrix in every step.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import suricate as su
from suricate.bench import inputs
from suricate.devices import resolve_device

DEVICE = resolve_device(os.environ.get("DEVICE", "auto"))
ALPHA, TOL, FRONTIER, PRUNE, MAX_ITER = 0.85, 1e-10, 1e-6, 1e-6, 500
SETTING: dict[str, Any] = {
    "self_loops": True, "norm": "linf", "tol": TOL, "max_iter": MAX_ITER, "frontier_tol": FRONTIER, "prune_tol": PRUNE,
}  # fmt: skip
SHARES = (1e-5, 1e-4, 1e-3)
BATCHES = 6
EXACT = 1e-14


class Change(NamedTuple):
    """Ends of inserted edges, ``uint32[2, k]``, and places of deleted ones."""

    pairs: np.ndarray
    places: np.ndarray


class Matrix:
    """A graph with one self-loop at every vertex, for plain NumPy."""

    def __init__(self, keys: np.ndarray, num_vertices: int) -> None:
        src, dst = keys // num_vertices, keys % num_vertices
        others, every = src != dst, np.arange(num_vertices)
        src, dst = np.append(src[others], every), np.append(dst[others], every)
        shape, ones = (num_vertices, num_vertices), np.ones(len(src))
        self.out = np.bincount(src, minlength=num_vertices).astype(np.float64)
        self.base = (1 - ALPHA) / num_vertices
        self._rows, self._columns = (sparse.csr_array((ones, at), shape=shape) for at in ((src, dst), (dst, src)))

    def pulled(self, ranks: np.ndarray) -> np.ndarray:
        """Sum the shares of the in-neighbours of every vertex, its own included."""
        return self._columns @ (ranks / self.out)

    def told_by(self, vertices: np.ndarray) -> np.ndarray:
        """Return which vertices are out-neighbours of ``vertices``."""
        told = np.zeros(len(self.out), bool)
        told[self._rows[vertices].indices] = True
        return told


def plain(matrix: Matrix, ranks: np.ndarray, affected: np.ndarray) -> tuple[np.ndarray, int]:
    """Run DF-P from ``ranks`` and the first vertices affected; return the ranks and the number of steps."""
    ranks, steps, change = ranks.copy(), 0, np.full(1, np.inf)
    while change.max(initial=0) > TOL and steps < MAX_ITER:
        steps += 1
        at = np.flatnonzero(affected)
        out, before = matrix.out[at], ranks[at]
        new = (matrix.base + ALPHA * (matrix.pulled(ranks)[at] - before / out)) / (1 - ALPHA / out)
        change = np.abs(new - before)
        relative = change / np.maximum(new, before)
        ranks[at] = new
        affected[at[relative <= PRUNE]] = False
        affected |= matrix.told_by(at[relative > FRONTIER])
    return ranks / ranks.sum(), steps


def exact(matrix: Matrix, ranks: np.ndarray) -> np.ndarray:
    """Continue from nearly exact ranks until a step changes less than ``EXACT``."""
    change = np.inf
    while change >= EXACT:
        new = matrix.base + ALPHA * matrix.pulled(ranks)
        change, ranks = np.abs(new - ranks).sum(), new
    return ranks / ranks.sum()


def graph_of(data: Any) -> su.Graph:
    """Return a graph of all edges."""
    graph = su.Graph(data.num_vertices, device=str(DEVICE), in_edges=True)
    graph.insert_edges(DEVICE.xp.asarray(data.model.src), DEVICE.xp.asarray(data.model.dst))
    return graph


def batch_of(data: Any, change: Change) -> su.Batch:
    """Return the batch, on the device."""
    xp, edges = DEVICE.xp, data.model
    pairs = xp.asarray(change.pairs)
    gone = xp.asarray(edges.src[change.places]), xp.asarray(edges.dst[change.places])
    return su.Batch(insert=(pairs[0], pairs[1]), delete=gone)


def timed(graph: su.Graph, batch: su.Batch) -> float:
    """Apply a batch from an idle device to an idle device; return milliseconds."""
    DEVICE.synchronize()
    start = time.perf_counter()
    graph.apply(batch)
    DEVICE.synchronize()
    return 1e3 * (time.perf_counter() - start)


def errors(data: Any, change: Change, before: np.ndarray, after: np.ndarray) -> str:
    """Compare the ranks after a batch, and those of plain NumPy, with exact ones."""
    n, edges, (src, dst) = data.num_vertices, data.model, change.pairs.astype(np.int64)
    keys, deleted = edges.src.astype(np.int64) * n + edges.dst, change.places
    matrix = Matrix(np.union1d(np.delete(keys, deleted), src * n + dst), n)
    affected = matrix.told_by(np.union1d(edges.src[deleted], src))
    affected[edges.dst[deleted]] = True
    ranks, steps = plain(matrix, before, affected)
    graph = graph_of(data)
    graph.apply(batch_of(data, change))
    nearly = graph.compute("pagerank", method="static", **(SETTING | {"tol": 1e-19}))
    right = exact(matrix, DEVICE.to_numpy(nearly))
    ours, theirs = (np.abs(each - right).sum() for each in (after, ranks))
    return f"L1 error {ours:.2e}, of plain NumPy {theirs:.2e} in {steps} steps"


def report(spec: str) -> None:
    """Print a line per size of batches."""
    data = inputs.load(spec)
    n, m = data.num_vertices, len(data.model)
    for share in SHARES:
        size, rng = max(5, round(share * m)), np.random.default_rng(round(1 / share))
        insertions, deletions = size * 4 // 5, size // 5
        changes = [
            Change(rng.integers(0, n, (2, insertions)).astype(np.uint32), rng.choice(m, deletions, replace=False))
            for _ in range(BATCHES)
        ]
        graph = graph_of(data)
        tracker = graph.track("pagerank", method="dfp", **SETTING)
        ranks, times, steps = [DEVICE.to_numpy(tracker.result)], [], []
        for change in changes:
            times.append(timed(graph, batch_of(data, change)))
            steps.append(tracker.algorithm.iterations)
            ranks += [DEVICE.to_numpy(tracker.result)] if len(ranks) == 1 else []
        median = statistics.median(times[1:])
        told = errors(data, changes[0], ranks[0], ranks[1])
        print(f"DF-P {spec}, {share:g} of the edges ({size:,}): {median:.3f} ms, steps {steps}; {told}", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        report(wanted)
