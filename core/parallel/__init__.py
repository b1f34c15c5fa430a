"""Several processes, one graph: ``Graph(..., comm=comm)``; algorithms run unchanged.

What an algorithm can see (vertex arrays, frontiers, deltas, scalars) is the same on every rank; edges are divided: the
out-edges of a vertex are with its owner, and so are its in-edges. Owners have ranges of ids. Every call that changes
the graph or walks edges is collective: all ranks make it. See docs/parallel.md.

``run(fn, ranks=3)`` calls ``fn(comm)`` in threads; ``connect()`` joins the processes of a launcher.
"""

from __future__ import annotations

from suricate.base.public import listing
from suricate.comm.connect import connect
from suricate.comm.protocol import Comm, SelfComm
from suricate.comm.threads import run
from suricate.graph.stores import DIVIDERS
from suricate.parallel.partition import Partition

__all__ = ["Comm", "SelfComm", "connect", "run"]
__dir__ = listing(__all__)

DIVIDERS.append(Partition)
