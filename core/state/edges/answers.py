"""What other processes have answered about a graph of several processes: which arcs exist, and degrees."""

from __future__ import annotations

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import ArcList
from suricate.edgefn.parameters import OWNERS, Argument, Owner
from suricate.state.edges.edge_hash import EdgeTable
from suricate.state.edges.edge_set import EdgeSet

OWNERS["answers"] = Owner(
    "suricate.state.edges.edge_look_ups", ("contains", "degree_of"), "edge_hash.cuh", "suricate.state.edges.edge_hash"
)


class Answers:
    """Takes the place of the graph as an argument of edge functions: ``(u, x) in answers``, ``answers.degree(u)``.

    Args:
        device: device of the arrays.
        src: ``uint32[k]``, sources of arcs, each arc once. All other arcs count as absent.
        dst: ``uint32[k]``, their destinations.
        degrees: ``uint32[num_vertices]``; empty if no function reads them.
    """

    edge_argument = Argument("answers", None)  #: how edge functions see it

    def __init__(self, device: Device, src: Array, dst: Array, degrees: Array) -> None:
        self.device, self._degrees = device, degrees
        arcs = ArcList(src, dst, None, None, 0, len(src))
        self._edges = EdgeSet._of_arcs(device, 0, arcs, directed=True, most=len(src))

    def table(self) -> EdgeTable:
        """Return the hash table of the arcs; its array ``value`` has the degrees by vertex, not a value per arc."""
        assert self._degrees.dtype == np.uint32
        return self._edges.table()._replace(value=self._degrees)
