"""Several processes, one graph: ``Graph(..., comm=comm)``; algorithms run unchanged.

What an algorithm can see (vertex arrays, frontiers, deltas, scalars) is the same on every rank; edges are divided: the
out-edges of a vertex are with its owner, and so are its in-edges. Owners have ranges of ids. Every call that changes
the graph or walks edges is collective: all ranks make it. See docs/parallel.md.

``run(fn, ranks=3)`` calls ``fn(comm)`` in threads; ``connect()`` joins the processes of a launcher, or of the engine
that has started them. For a communication of one's own: :class:`Comm`, :class:`PeerComm`, which needs a transport only,
:func:`call_site`, :func:`limit`, and :func:`using`, by which an engine tells a job what it was started with.
"""

from __future__ import annotations

from suricate.base.public import listing
from suricate.comm.connect import INSTALLED, connect
from suricate.comm.context import using
from suricate.comm.messages import limit
from suricate.comm.peers import PeerComm
from suricate.comm.protocol import Comm, SelfComm, call_site
from suricate.comm.threads import run
from suricate.graph.stores import DIVIDERS
from suricate.parallel.partition import Partition
from suricate.plugins import comms

__all__ = ["Comm", "PeerComm", "SelfComm", "call_site", "connect", "limit", "run", "using"]
__dir__ = listing(__all__)

DIVIDERS.append(Partition)
INSTALLED.append(comms)
