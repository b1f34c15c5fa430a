"""A backend whose cursor counts the vertices that CPU loops turn to, those of operators and of structures alike.

Structures with loops of their own (components, core numbers, ...) are no operators, which ``suricate.testing.measure``
counts. Loops over this cursor add one to ``CountingStore.visits`` per vertex whose adjacency they walk, whose degree
they ask for, or of which they look up an edge; one thread only, since they add without an atomic.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from suricate import Store, plugins
from suricate.base.devices import Array
from suricate.base.types import StoreView
from suricate.cpu.jit import inner
from suricate.cursors import contiguous


class CountingView(NamedTuple):
    """The arrays of ``contiguous.ContiguousView``, and ``visits``, int64[1]."""

    begin: Array
    end: Array
    dst: Array
    weight: Array
    ascending: int
    visits: Array


def counting_store() -> type[Store]:
    """Return the contiguous backend whose views count."""

    class CountingStore(plugins.backend("csr_baseline")):  # type: ignore[misc]
        """CSR with a cursor that counts."""

        name, devices = "counting", ("cpu",)
        visits = np.zeros(1, np.int64)  #: of all graphs with this backend

        def view(self) -> StoreView:
            """Return the view, which counts."""
            plain = super().view()
            return replace(plain, data=CountingView(*plain.data, self.visits), cursor=__name__)

    return CountingStore


@inner
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    g.visits[0] += 1
    return g.end[u] - g.begin[u]


@inner
def buckets(g, u):
    """Return 1: the whole adjacency is one bucket."""
    g.visits[0] += 1
    return 1


@inner
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    g.visits[0] += 1
    at = contiguous.lower_bound(g.dst, g.begin[u], g.end[u], v)
    return at if at < g.end[u] and g.dst[at] == v else np.int64(-1)


def __getattr__(name: str) -> Any:
    """Return the rest of the cursor: that of contiguous adjacencies."""
    return getattr(contiguous, name)
