"""How ranks are verified: PageRank by power iteration over a SciPy matrix, and how far ranks may be from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from suricate.algorithms.pagerank.parameters import ALPHA, TOL, distribution
from suricate.algorithms.shared.matrices import adjacency
from suricate.plugins.algorithm import Algorithm

EXACT_TOLERANCE, EXACT_ITERATIONS = 1e-14, 10_000
FACTORS = {"static": 1, "nd": 1, "dt": 10, "df": 10}  #: of the bound of whole passes; other methods: 3


def distance_bound(num_vertices: int, dtype: np.dtype, params: dict[str, Any]) -> float:
    """Return the allowed L1 distance of ranks of ``dtype`` to the exact ones, given the ``params`` of PageRank.

    ``num_vertices`` scales a tolerance in the L-infinity norm.
    """
    alpha, eps = params["alpha"], float(np.finfo(dtype).eps)
    tol, linf = params["tol"], params.get("norm") == "linf"
    told = params.get("frontier_tol")
    step = tol * (num_vertices if linf else 1) + (told if told is not None else 1e-6 if linf else tol / 2) + 100 * eps
    whole = step * alpha / (1 - alpha) + 100 * eps
    return FACTORS.get(params.get("method", "auto"), 3) * whole


def power_iteration(
    matrix: Any,
    alpha: float,
    tol: float,
    max_iter: int,
    personalization: Any = None,
    live: np.ndarray | None = None,
    dangling: Any = None,
) -> np.ndarray:
    """Return PageRank, ``float64[n]``, by power iteration with a SciPy CSR matrix of weights.

    It ends when a step changes less than ``tol`` in the L1 norm, or after ``max_iter`` steps. ``live``: the mask of
    live vertices, None if all are live. The other parameters are those of ``PageRank``.
    """
    from scipy import sparse

    n = matrix.shape[0]
    degree = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    dangles = degree == 0
    per_row = np.repeat(1 / np.where(dangles, 1, degree), np.diff(matrix.indptr))
    push = sparse.csr_array((matrix.data * per_row, matrix.indices, matrix.indptr), shape=matrix.shape).T
    jumps = _of_live(np.ones(n) if personalization is None else distribution(personalization, n), live)
    shares = jumps if dangling is None else _of_live(distribution(dangling, n), live)
    rank = jumps.copy()
    for _ in range(max_iter):
        after = alpha * (push @ rank) + alpha * rank[dangles].sum() * shares + (1 - alpha) * jumps
        change, rank = np.abs(after - rank).sum(), after
        if change < tol:
            break
    return rank


def _of_live(values: np.ndarray, live: np.ndarray | None) -> np.ndarray:
    """Return ``values`` scaled to the sum 1 over live vertices, 0 at deleted ones."""
    values = values if live is None else values * live
    return values / max(values.sum(), np.finfo(np.float64).tiny)


class VerifiedRanks(Algorithm):
    """Base class with the methods by which the benchmark and tests verify ranks."""

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        alpha: float = ALPHA,
        weighted: bool | None = None,
        personalization: Any = None,
        self_loops: bool = False,
        dangling: Any = None,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> np.ndarray:
        """Return the ranks by power iteration with a SciPy matrix in float64, much more exact than the tolerance."""
        values = np.ones(len(src)) if weight is None or weighted is False else weight.astype(np.float64)
        if self_loops:
            others, every = src != dst, np.arange(num_vertices)
            src, dst = np.append(src[others], every), np.append(dst[others], every)
            values = np.append(values[others], np.ones(num_vertices))
        matrix = adjacency(src, dst, values, num_vertices)
        return power_iteration(matrix, alpha, EXACT_TOLERANCE, EXACT_ITERATIONS, personalization, live, dangling)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Return a text if the L1 distance of the ranks ``result`` to ``reference`` is too large, else None.

        The bound, :func:`distance_bound`, depends on the parameters of the algorithm, ``params``, such as ``tol``.
        """
        bound = distance_bound(len(reference), result.dtype, {"alpha": ALPHA, "tol": TOL} | params)
        distance = float(np.abs(result - reference).sum()) if len(result) == len(reference) else math.inf
        if distance <= bound:  # False for NaN
            return None
        return f"the L1 distance to the exact ranks is {distance:.2e}, the bound is {bound:.2e}"

    @classmethod
    def error(cls, result: Any, reference: Any) -> float:
        """Return the L1 distance of the ranks ``result`` to the exact ranks ``reference``."""
        return float(np.abs(result - reference).sum())
