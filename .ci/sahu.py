"""PageRank in the setting of Sahu's experiments: time, store and answer together, beside the error, of every method.

Usage: ``python .ci/sahu.py GRAPH [METHOD ...] [SHARE ...]``, with graphs as for ``suricate bench``, such as rmat:20;
without METHOD all five, without SHARE batches of 1e-7 to 1e-3 of the edges. float64, L-infinity norm 1e-10, frontier
and prune tolerance 1e-6, one self-loop at every vertex; 80 % of a batch are insertions of uniform pairs and 20 %
deletions. Eager, milliseconds, the median of five batches after one.

The errors are L1 distances after the first batch to ranks whose last step changes less than 1e-14: ours, from scratch,
continued by SciPy. DF-P is also written in plain NumPy, which starts from the same ranks and takes a product of the
whole matrix in every step.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import suricate as su
from suricate.base.devices import resolve_device
from suricate.bench import inputs
from suricate.errors import ConvergenceError

DEVICE = resolve_device(os.environ.get("DEVICE", "auto"))
ALPHA, TOL, FRONTIER, PRUNE, MAX_ITER = 0.85, 1e-10, 1e-6, 1e-6, 500
SETTING: dict[str, Any] = {
    "self_loops": True, "norm": "linf", "tol": TOL, "max_iter": MAX_ITER, "frontier_tol": FRONTIER, "prune_tol": PRUNE,
}  # fmt: skip
METHODS = ("static", "nd", "dt", "df", "dfp")
SHARES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
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


def matrix_after(data: Any, change: Change) -> Matrix:
    """Return the graph after the batch."""
    n, edges, (src, dst) = data.num_vertices, data.model, change.pairs.astype(np.int64)
    keys = edges.src.astype(np.int64) * n + edges.dst
    return Matrix(np.union1d(np.delete(keys, change.places), src * n + dst), n)


def right_ranks(data: Any, change: Change, matrix: Matrix) -> np.ndarray:
    """Return the exact ranks after the batch."""
    graph = graph_of(data)
    graph.apply(batch_of(data, change))
    floor = np.finfo(np.float64).eps / data.num_vertices  # the least tolerance there is
    try:
        nearly = graph.compute("pagerank", method="static", **(SETTING | {"tol": max(1e-19, 2 * floor)}))
    except ConvergenceError as error:  # steps no longer become smaller
        nearly = error.result
    return exact(matrix, DEVICE.to_numpy(nearly))


def plain_error(data: Any, change: Change, matrix: Matrix, before: np.ndarray, right: np.ndarray) -> str:
    """Run DF-P in plain NumPy from the ranks before the batch; compare its ranks with the exact ones."""
    src, deleted = change.pairs[0], change.places
    affected = matrix.told_by(np.union1d(data.model.src[deleted], src))
    affected[data.model.dst[deleted]] = True
    ranks, steps = plain(matrix, before, affected)
    return f", of plain NumPy {np.abs(ranks - right).sum():.2e} in {steps} steps"


def report(spec: str, methods: Sequence[str], shares: Sequence[float]) -> None:
    """Print a line per size of batches and method."""
    data = inputs.load(spec)
    n, m = data.num_vertices, len(data.model)
    for share in shares:
        size, rng = max(5, round(share * m)), np.random.default_rng(round(1 / share))
        insertions, deletions = size * 4 // 5, size // 5
        changes = [
            Change(rng.integers(0, n, (2, insertions)).astype(np.uint32), rng.choice(m, deletions, replace=False))
            for _ in range(BATCHES)
        ]
        matrix = matrix_after(data, changes[0])
        right = right_ranks(data, changes[0], matrix)
        for method in methods:
            graph = graph_of(data)
            tracker = graph.track("pagerank", method=method, **SETTING)
            ranks, times, steps = [DEVICE.to_numpy(tracker.result)], [], []
            for change in changes:
                times.append(timed(graph, batch_of(data, change)))
                steps.append(tracker.algorithm.iterations)
                ranks += [DEVICE.to_numpy(tracker.result)] if len(ranks) == 1 else []
            plainly = plain_error(data, changes[0], matrix, ranks[0], right) if method == "dfp" else ""
            print(
                f"{method} {spec}, {share:g} of the edges ({size:,}): {statistics.median(times[1:]):.3f} ms, "
                f"steps {steps}; L1 error {np.abs(ranks[1] - right).sum():.2e}{plainly}",
                flush=True,
            )


if __name__ == "__main__":
    graph, *chosen = sys.argv[1:]
    numbers = [float(word) for word in chosen if word not in METHODS]
    report(graph, [word for word in chosen if word in METHODS] or METHODS, numbers or SHARES)
