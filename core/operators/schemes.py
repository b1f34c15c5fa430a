"""Schemes: the ways in which an operator walks the edges on CUDA, and the choice among them.

The host knows neither degrees nor, often, how long a frontier is, and does not wait to learn it. So ``"auto"`` decides
by what the host knows; uneven degrees are handled on the device, within ``"vertex"``: the buckets of heavy vertices are
split across the whole grid.
"""

from __future__ import annotations

from suricate.base.errors import RequirementError
from suricate.base.types import StoreView
from suricate.graph import Graph
from suricate.intake.arrays import picked
from suricate.state.frontier import Frontier

SCHEMES = ("auto", "vertex", "bucket", "scan", "updated")
WHOLE_GRAPH = {  #: schemes that walk segments of the storage, not vertices: why they take no vertices
    "scan": "walks the whole graph",
    "updated": "takes the edges inserted since graph.mark(), of the whole graph",
}

# -- what "auto" decides by, on CUDA -----------------------------------------------------------------------------------

#: advance: a frontier of at most this many vertices, as far as the host knows, goes by "bucket" on backends that can
#: scan, whose buckets are small: there vertices with up to 64 neighbours have several. Where most have one bucket,
#: listing all vertices first costs more than it gains, the more the longer the frontier.
BUCKET_VERTICES = 1 << 16

#: advance: in a frontier of at most this many vertices, all with more than 64 neighbours are split across blocks, not
#: only those with more than 1,024. With so few vertices a warp for each leaves most of the device idle, and the launch
#: that splits is there anyway. It wins while the longest walk of a warp takes longer than splitting. 0: never.
FEW_VERTICES = 2048

#: neighbor_reduce: vertices of more than this many neighbours are split across blocks, not left to one block each. It
#: costs one more launch, and wins where one heavy vertex takes a block longer than all others take the device.
HEAVY_DEGREE = 4096

#: passes with an epilogue: graphs with at least this number of arcs per vertex go by "scan" on backends that can. A
#: scan leaves the sums in memory for a second phase, which costs more than it gains where vertices have few neighbours.
SCAN_DEGREE = 12

#: passes over the whole graph: graphs of more vertices go by "vertex" also where segments have owners. Segments lie in
#: the order in which they came, so a scan adds to sums at random; the cache holds the sums of about this many vertices.
#: It scans all the same where segments are chained: to follow the chains of hubs takes several times longer.
SCAN_VERTICES = 1 << 23

#: neighbor_reduce: graphs with at most this many arcs per vertex go by "scan" even if each slot has its own owner:
#: it reads nothing of a vertex but its edges, and adds to it in a few atomics.
SLOT_SCAN_DEGREE = 6

#: pulls: at most this many vertices (of small graphs one in 16) are split; if there are more, they keep the
#: blocks evenly busy as it is.
MAX_SPLIT = 16384


def of_pull(scheme: str, graph: Graph, view: StoreView, *, everything: bool) -> str:
    """Return the scheme of ``neighbor_reduce`` on CUDA; "auto" becomes "scan" if that pays for all vertices."""
    if scans_by_owner(view):
        scans = _scan_pays(view)
    else:
        scans = view.can_scan and graph.most_arcs <= SLOT_SCAN_DEGREE * view.num_vertices
    if scheme == "auto" and everything and scans:
        return "scan"
    return _allowed(scheme, view)


def scans_by_owner(view: StoreView) -> bool:
    """Return whether segments of ``view`` have one owner each, so that a scan reduces by vertex, not edge by edge."""
    return view.can_scan and view.owner_per == "segment"


def passes_scan(graph: Graph, view: StoreView, rows: int | None = None) -> bool:
    """Return whether a pull with ``then`` over all vertices, at most ``rows`` of them with edges, scans ``view``."""
    count = view.num_vertices if rows is None else rows
    return scans_by_owner(view) and _scan_pays(view) and graph.most_arcs >= SCAN_DEGREE * count


def all_passes_scan(graph: Graph, over: str) -> bool:
    """Return whether a pull with ``then`` over all vertices scans (:func:`passes_scan`); never in several processes."""
    return graph.partition is None and passes_scan(graph, graph.view(over))


def _scan_pays(view: StoreView) -> bool:
    """Return whether a scan of ``view`` pays: if the segments of a vertex are linked, or if vertices are few."""
    return view.chained or view.num_vertices <= SCAN_VERTICES


def of_push(scheme: str, view: StoreView, frontier: Frontier) -> str:
    """Return the scheme of ``advance`` on CUDA; "auto" becomes "scan" or "bucket" if that pays."""
    if scheme == "auto" and view.can_scan:
        if frontier.is_all and frontier.capacity == view.num_vertices:
            return "scan"
        if frontier.at_most <= BUCKET_VERTICES and scans_by_owner(view):
            return "bucket"
    return _allowed(scheme, view)


def _allowed(scheme: str, view: StoreView) -> str:
    if scheme == "scan" and not view.can_scan:
        raise RequirementError(
            "scheme 'scan': the storage of this backend does not know its owners; use 'vertex' or 'auto'"
        )
    return scheme


# -- "updated" ---------------------------------------------------------------------------------------------------------

EVERYTHING, ITERATOR, LISTED = "everything", "iterator", "listed"


def updated_source(graph: Graph, over: str, view: StoreView) -> str:
    """Return how edges inserted since ``mark()`` can be read: ``EVERYTHING`` (no mark), ``ITERATOR`` or ``LISTED``."""
    if not graph.store(over).has_mark:
        return EVERYTHING
    return ITERATOR if view.has_updated else LISTED


def inserted_view(graph: Graph, over: str) -> StoreView:
    """Return a view over a copy, by source, of the edges inserted since the mark; waits for a CUDA device."""
    from suricate.cursors.contiguous import view_of_edges  # imports Numba, which CUDA does without otherwise

    edges, xp = graph.store(over).updated(), graph.device.xp
    order = xp.argsort(edges.src, kind="stable")
    ordered = picked(edges, order)
    return view_of_edges(ordered, graph.num_vertices, xp)
