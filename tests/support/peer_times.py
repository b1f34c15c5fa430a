"""Linear algorithms beside loops over SciPy's products: processor time on one thread, by turns, answers compared.

Graphs are R-MAT 16 of 16 edges per vertex, and with ``--grid`` a grid of 512 x 512 with both arcs of each edge.

    python tests/support/peer_times.py spmv katz hits eigenvector
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.update(SURICATE_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

import suricate as su

BACKENDS = "csr_baseline", "slabhash"
MOST = 1000  #: steps


class Matrix:
    """The adjacency matrix of a graph, its transpose, and how many steps the last loop took."""

    def __init__(self, src: np.ndarray, dst: np.ndarray, n: int) -> None:
        self.out = sparse.csr_matrix((np.ones(len(src)), (src, dst)), (n, n))
        self.into, self.single, self.n = self.out.T.tocsr(), self.out.astype(np.float32), n
        self.steps = 1

    def spmv(self, x: np.ndarray) -> np.ndarray:
        """Return the product in float32."""
        return self.single @ x

    def katz(self, alpha: float) -> np.ndarray:
        """Return Katz centrality, as suricate stops."""
        x = np.zeros(self.n)
        for self.steps in range(1, MOST):
            after = alpha * (self.into @ x)
            after += 1
            change, x = np.abs(after - x).sum(), after
            if change <= 1e-6 * self.n:
                break
        return x / np.sqrt(x @ x)

    def hits(self) -> np.ndarray:
        """Return the hubs, as suricate stops."""
        hubs, tol = np.full(self.n, 1 / self.n), su.algorithm("hits")().tol
        for self.steps in range(1, MOST):
            after = self.out @ (self.into @ hubs)
            after /= after.sum()
            change, hubs = np.abs(after - hubs).sum(), after
            if change <= tol:
                break
        return hubs

    def eigenvector(self) -> np.ndarray:
        """Return eigenvector centrality, with the shift and the bound of suricate."""
        x = np.full(self.n, self.n**-0.5)
        for self.steps in range(1, MOST):
            after = self.into @ x
            square = after @ after
            growth = np.sqrt(square / (x @ x))
            rest = after - growth * x
            x *= 0.125 * growth
            x += after
            x /= 1.125 * np.sqrt(square)
            if rest @ rest <= 1e-12 * square:
                break
        return x / np.sqrt(x @ x)


def edges(*, grid: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return distinct arcs and the number of vertices."""
    found, n = (su.generate.grid(512, 512), 512 * 512) if grid else (su.generate.rmat(16, 16, seed=1), 1 << 16)
    src, dst = np.asarray(found.src), np.asarray(found.dst)
    if grid:
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
    keys = np.unique(src.astype(np.int64) * n + dst)
    return keys // n, keys % n, n


def by_turns(calls: dict[str, Callable[[], Any]], times: int) -> dict[str, float]:
    """Return the least milliseconds of each of ``calls``."""
    least = dict.fromkeys(calls, np.inf)
    names = list(calls)
    for turn in range(times):
        for i in range(len(names)):
            name = names[(turn + i) % len(names)]
            begin = time.process_time()
            calls[name]()
            least[name] = min(least[name], 1e3 * (time.process_time() - begin))
    return least


def measured(name: str, graphs: dict[str, su.Graph], matrix: Matrix, times: int, *, grid: bool) -> str:
    """Return a line with the milliseconds of the backends and of the loop."""
    given: dict[str, Any] = {}
    if name == "spmv":
        given = {"x": np.random.default_rng(0).random(matrix.n).astype(np.float32)}
    if name == "katz":
        given = {"alpha": 0.2 if grid else 0.5 / linalg.svds(matrix.out, 1, return_singular_vectors=False)[0]}
    calls: dict[str, Callable[[], Any]] = {
        backend: lambda graph=graph: graph.compute(name, **given) for backend, graph in graphs.items()
    }
    calls["SciPy"] = lambda: getattr(matrix, name)(**given)
    for backend in BACKENDS:
        found = calls[backend]()
        np.testing.assert_allclose(found.hubs if name == "hits" else found, calls["SciPy"](), rtol=1e-3, atol=1e-5)
    least = by_turns(calls, times)
    parts = [f"{each} {ms:.2f} ({least['SciPy'] / ms:.2f})" for each, ms in least.items()]
    return f"{name:12} {'  '.join(parts)}  {matrix.steps} steps"


def main() -> None:
    """Print the line of each algorithm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=["spmv", "katz", "hits", "eigenvector"])
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--times", type=int, default=25)
    asked = parser.parse_args()
    src, dst, n = edges(grid=asked.grid)
    graphs = {backend: su.Graph(n, backend=backend, device="cpu", in_edges=True) for backend in BACKENDS}
    for graph in graphs.values():
        graph.insert_edges(src, dst)
    for name in asked.names:
        print(measured(name, graphs, Matrix(src, dst, n), asked.times, grid=asked.grid), flush=True)


if __name__ == "__main__":
    main()
