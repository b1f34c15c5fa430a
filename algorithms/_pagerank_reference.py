"""An independent PageRank by power iteration over a SciPy matrix, and how far ranks may be from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.algorithms._pagerank_parameters import distribution

FACTORS = {"static": 1, "nd": 1, "dt": 10, "df": 10}  #: of the bound of whole passes; other methods: 3


def distance_bound(num_vertices: int, dtype: np.dtype, params: dict[str, Any]) -> float:
    """Return the stated bound of the L1 distance to the exact ranks; if the steps run out, what they guarantee."""
    alpha, eps = params["alpha"], float(np.finfo(dtype).eps)
    tol, linf = params["tol"], params.get("norm") == "linf"
    told = params.get("frontier_tol")
    step = tol * (num_vertices if linf else 1) + (told if told is not None else 1e-6 if linf else tol / 2) + 100 * eps
    whole = step * alpha / (1 - alpha) + 100 * eps
    return max(FACTORS.get(params.get("method", "auto"), 3) * whole, 2 * alpha ** params["max_iter"])


def power_iteration(matrix: Any, alpha: float, tol: float, max_iter: int, personalization: Any = None) -> np.ndarray:
    """Return the ranks by pushing along the rows of a SciPy CSR matrix, whose values are the weights."""
    from scipy import sparse

    n = matrix.shape[0]
    degree = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    dangling = degree == 0
    per_row = np.repeat(1 / np.where(dangling, 1, degree), np.diff(matrix.indptr))
    push = sparse.csr_array((matrix.data * per_row, matrix.indices, matrix.indptr), shape=matrix.shape).T
    jumps = 1 / max(n, 1) if personalization is None else distribution(personalization, n)
    rank = np.full(n, 1 / max(n, 1))
    for _ in range(max_iter):
        after = alpha * (push @ rank) + (alpha * rank[dangling].sum() + 1 - alpha) * jumps
        change, rank = np.abs(after - rank).sum(), after
        if change < tol:
            break
    return rank
