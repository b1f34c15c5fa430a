"""SciPy matrices for references: the adjacency matrix, and its largest eigenvalue and singular value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DENSE = 400  #: most vertices of a graph whose eigenvalues are computed with a dense matrix


def adjacency(
    src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, num_vertices: int, weighted: bool | None = None
) -> Any:
    """Return the adjacency matrix as a CSR matrix of SciPy, float64, with the weights at ``(src, dst)``.

    All entries are 1 if ``weight`` is None, or with ``weighted=False``. There are ``num_vertices`` rows and columns.
    """
    from scipy import sparse

    values = np.ones(len(src)) if weight is None or weighted is False else weight.astype(np.float64)
    return sparse.csr_array((values, (src, dst)), shape=(num_vertices, num_vertices))


def entries_of(begin: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the indices of all entries in the rows ``rows`` of a CSR matrix, ``int64[]``.

    ``begin`` is its ``indptr``.
    """
    first = begin[rows].astype(np.int64)
    count = begin[rows + 1] - first
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())


def largest_eigenvalue(matrix: Any) -> float:
    """Return the largest absolute value of an eigenvalue of a matrix, or of a linear operator of SciPy."""
    from scipy.sparse import linalg

    n = matrix.shape[0]
    if n <= DENSE:
        return float(np.abs(np.linalg.eigvals(matrix @ np.eye(n))).max())
    return float(np.abs(linalg.eigs(matrix, k=1, which="LM", return_eigenvectors=False, tol=1e-4))[0])


def largest_singular_value(matrix: Any) -> float:
    """Return the largest singular value of a matrix."""
    from scipy.sparse import linalg

    operator = linalg.aslinearoperator(matrix)
    return math.sqrt(largest_eigenvalue(operator.T @ operator))
