"""Single edges: how a compiled loop changes a store edge by edge; optional for backends.

A backend that overrides :meth:`suricate.store.Store.single` names a module of inlined functions (``suricate.cpu.jit``):

- ``has_space(s, u, v, both) -> bool``: whether the edge (u, v), and with ``both`` also (v, u), can be inserted without
  more memory. It is true after :meth:`suricate.store.Store.single` has reserved memory for one edge, or for two;
- ``insert_edge(s, u, v, weights, before, i) -> status``: insert an edge with the weight in ``weights[i]``. If it was
  stored, write its old weight to ``before[i]``. Returns ``NEW``, ``REPLACED`` or ``UNCHANGED``;
- ``delete_edge(s, u, v, before, i) -> status``: delete an edge and write its weight to ``before[i]``. Returns
  ``REMOVED`` or ``UNCHANGED``; needs no memory, and leaves enough to insert the edge again;
- ``fetch(s, u, v)`` and ``fetch_far(s, u)``: prefetch the memory of an edge that will be changed some events later.

``weights`` and ``before`` are arrays of :attr:`SingleEdges.unit`, with one element, or a fixed number of elements, per
edge; of length 0 on an unweighted store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import CapacityError


class SingleEdges(NamedTuple):
    """How a compiled loop changes a store.

    Attributes:
        module: the name of the module with the functions.
        arrays: their first argument ``s``, a ``NamedTuple`` of arrays and numbers.
        unit: the dtype of the elements of which a weight consists, one or several.
    """

    module: str
    arrays: Any
    unit: np.dtype


def reserve_some(reserve: Callable[[int], None], num_edges: int) -> None:
    """Call ``reserve(num_edges)``, with half as many edges after each ``CapacityError``; never raises it."""
    while num_edges:
        try:
            return reserve(num_edges)
        except CapacityError:
            num_edges //= 2
