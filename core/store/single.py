"""Single edges: how a compiled loop changes a store edge by edge; optional for backends.

A backend that overrides :meth:`suricate.store.Store.single` names a module of inlined functions (``suricate.cpu.jit``):

- ``has_space(s, u, v, both) -> bool``: whether an edge, and the one in the other direction if ``both``, can be inserted
  without more memory; after :meth:`suricate.store.Store.single` has got memory for one edge, or two, it is true;
- ``insert_edge(s, u, v, weights, before, i) -> status``: insert an edge with the weight in ``weights[i]``; if it was
  there, its weight before goes to ``before[i]``. Returns ``NEW``, ``REPLACED`` or ``UNCHANGED``;
- ``delete_edge(s, u, v, before, i) -> status``: delete an edge; its weight goes to ``before[i]``. Returns ``REMOVED``
  or ``UNCHANGED``; needs no memory, and leaves enough to insert the edge again;
- ``fetch(s, u, v)`` and ``fetch_far(s, u)``: ask for the memory that an edge some events ahead will touch.

``weights`` and ``before`` are arrays of :attr:`SingleEdges.unit` with one weight or, if a weight is several units, so
many per edge; of length 0 on an unweighted store.
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
        arrays: their first argument, a ``NamedTuple`` of arrays and numbers.
        unit: the dtype of which weights consist, one or several per weight.
    """

    module: str
    arrays: Any
    unit: np.dtype


def reserve_some(reserve: Callable[[int], None], num_edges: int) -> None:
    """Call ``reserve(num_edges)``; where memory is short, for half as many, and so on down to none."""
    while num_edges:
        try:
            return reserve(num_edges)
        except CapacityError:
            num_edges //= 2
