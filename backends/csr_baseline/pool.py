"""The arrays of ``csr_baseline``: those of the graph, and a second pair for the edges of a rebuilt one."""

from __future__ import annotations

import numpy as np

from suricate.backends.csr_baseline.layout import LAYOUT, Graph
from suricate.backends.csr_baseline.ledger import rebuild_bytes, reserved_length, rounded
from suricate.base.devices import Array, Device
from suricate.errors import CapacityError
from suricate.store.array_manager import ArrayManager, first_that_fits


class CsrPool(ArrayManager[Graph]):
    """The arrays of a store.

    Old and new arrays exist at the same time during a rebuild. Memory for both is reserved from the start, so that a
    deletion, which is a rebuild on CUDA, is never refused.
    """

    def __init__(
        self, backend: str, num_vertices: int, device: Device, weight_dtype: np.dtype | None, limit: int | None
    ) -> None:
        super().__init__(backend, device, weight_dtype, limit, LAYOUT)
        self._swaps = False  # whether the arrays that a rebuild leaves are kept for the next one
        self._admit_graph(num_vertices, 0)
        self.attach(self.allocate("offsets", num_vertices + 1, 0))

    def new_graph(self) -> Graph:
        """Return the current arrays as a :class:`Graph`."""
        return Graph(self["offsets"], self["dst"], self["weight"])

    def kept_back(self) -> int:
        """Return the bytes that a rebuild needs besides what is allocated; see :meth:`ArrayManager.kept_back`."""
        rebuild = rebuild_bytes(len(self["offsets"]) - 1, len(self["dst"]), self.entry_bytes("edges"))
        return max(0, rebuild + self["log"].nbytes - self.allocated)

    def _admit_graph(self, num_vertices: int, edges: int) -> int:
        """Return ``edges``; raise ``CapacityError`` if a graph of this size could not be rebuilt within the limit."""
        if self.limit is None:
            return edges
        size = rebuild_bytes(num_vertices, edges, self.entry_bytes("edges")) + self["log"].nbytes + self.besides()
        if size > self.limit:
            raise CapacityError(
                f"{self.backend} needs {size} bytes to rebuild {edges} edges of {num_vertices} vertices,"
                f" memory_limit is {self.limit}"
            )
        return edges

    def target(self, edges: int, *, kept_back: bool = False) -> Graph:
        """Return arrays, reserved or new, into which a graph of ``edges`` edges fits; raises ``CapacityError``.

        ``kept_back``: for a deletion, which the limit never refuses.
        """
        num_vertices, length = len(self["offsets"]) - 1, edges
        if not kept_back:
            lengths = (rounded(edges), edges) if self.device.is_cuda else (edges,)
            length = first_that_fits(lambda length: self._admit_graph(num_vertices, length), *lengths)
        offsets = self.allocate("offsets", num_vertices + 1)["offsets"]
        if self._swaps and len(self["reserve_dst"]) >= edges:
            return Graph(offsets, self["reserve_dst"], self["reserve_weight"])
        if len(self["reserve_dst"]):
            self._free_reserve()
        arrays = self.allocate("edges", length)
        return Graph(offsets, arrays["dst"], arrays["weight"])

    def replace(self, graph: Graph) -> None:
        """Make ``graph`` the current arrays; the previous ones are reused by the next rebuild if memory is reserved."""
        if self._swaps:
            self.attach({"reserve_dst": self["dst"], "reserve_weight": self["weight"]})
        self.attach(graph._asdict())

    def is_reserved(self, edges: int) -> bool:
        """Return whether both pairs of arrays are kept for rebuilds, and are long enough for ``edges`` edges."""
        return self._swaps and min(len(self["reserve_dst"]), len(self["dst"])) >= edges

    def reserve(self, edges: int, more: int) -> None:
        """Make both pairs of arrays long enough for ``more`` edges besides those stored; raises ``CapacityError``."""
        if self.is_reserved(edges + more):
            return
        length = reserved_length(edges, more)
        self._admit_graph(len(self["offsets"]) - 1, length)
        self._free_reserve()
        if length > len(self["dst"]):
            self.carry_over(self.allocate("edges", length), edges)
        self.attach(self.allocate("reserve", len(self["dst"])))
        self._swaps = True

    def compact(self, edges: int) -> None:
        """Cut the arrays to ``edges`` entries, the number of edges, and free the second pair of arrays."""
        self._free_reserve()
        self._swaps = False
        if len(self["dst"]) > edges:
            self.carry_over(self.allocate("edges", edges), edges)

    def resized_vertices(self, num_vertices: int, edges: int) -> dict[str, Array]:
        """Return a copy of the offsets of ``num_vertices`` vertices; raises ``CapacityError``.

        ``edges`` is an upper bound of the edges stored.
        """
        self._admit_graph(num_vertices, edges)
        try:
            self._admit_graph(num_vertices, len(self["dst"]))
        except CapacityError:  # beside arrays of this length the vertices would not fit
            self.compact(edges)
        kept = min(num_vertices + 1, len(self["offsets"]))
        offsets = self.allocate("offsets", num_vertices + 1)["offsets"]
        offsets[:kept] = self["offsets"][:kept]
        offsets[kept:] = self["offsets"][-1:]
        return {"offsets": offsets}

    def _free_reserve(self) -> None:
        self.attach(self.allocate("reserve", 0))
