"""What notebooks show of graphs, trackers and frames: tables of a few rows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from suricate.base.errors import SuricateError
from suricate.base.html import table

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.frames import Frame
    from suricate.graph.tracker import Tracker

ROWS = 10  #: of a table that is shown


def of_graph(graph: Graph) -> str:
    """Return a table of facts about a graph, as HTML; waits for the device."""
    facts = {
        "vertices": f"{graph.num_live:,}" + (f" of {graph.num_vertices:,} ids" if graph.most_deleted else ""),
        "edges": f"{graph.num_edges:,}, {'directed' if graph.directed else 'undirected'}",
        "weights": "none" if graph.weight_dtype is None else str(graph.weight_dtype),
        "in-edges": "yes" if graph.has_in_edges else "no",
        "columns": ", ".join([*graph.columns, *graph.edge_columns]) or "none",
        "names": "none" if graph.names is None else f"{len(graph.names):,}",
        "storage": f"{graph.backend} on {graph.device}, version {graph.version}",
    }
    return table(("Graph", ""), facts.items())


def of_tracker(tracker: Tracker[Any]) -> str:
    """Return the state of a tracker as HTML, and the largest values if the algorithm gives values per vertex."""
    try:
        below = of_frame(tracker.top(ROWS))
    except SuricateError as error:
        below = f"<p>{escape(str(error))}</p>"
    return f"<p><code>{escape(repr(tracker))}</code></p>{below}"


def of_frame(frame: Frame) -> str:
    """Return a table of the first rows of a frame, as HTML."""
    columns = [frame[name] for name in frame.columns]
    rows = list(zip(*(column[:ROWS].tolist() for column in columns), strict=True))
    more = len(columns[0]) - len(rows) if columns else 0
    return table(frame.columns, rows) + (f"<p>and {more:,} more rows</p>" if more else "")
