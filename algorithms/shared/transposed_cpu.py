"""The rows of one direction from those of the other, on the CPU: a template over a cursor."""

from __future__ import annotations

import numpy as np

from suricate.kernels import kernel, neighbors


@kernel
def transpose(g, num_vertices, at, dst):
    """Append each vertex ``v`` below ``num_vertices`` to the rows of its neighbours in ``g``, in ascending order.

    Row ``u`` is written to ``dst`` (``uint32``) from index ``at[u]`` (``int64[n]``) on, and ``at[u]`` becomes its end.
    """
    for i in range(num_vertices):
        v = np.uint32(i)
        for u, _ in neighbors(g, v):
            dst[np.uint64(at[u])] = v
            at[u] += 1
