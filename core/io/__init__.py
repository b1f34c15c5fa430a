"""Readers and writers of graph files; see ``docs/formats.md`` for the formats.

>>> import suricate as su
>>> file = su.read("CollegeMsg.txt.gz", sort_by_time=True)  # doctest: +SKIP
>>> graph = file.to_graph(device="cpu")  # doctest: +SKIP

Snapshots of a graph, which keep everything and load fastest, are ``Graph.save`` and ``Graph.load``.
"""

from __future__ import annotations

from suricate.base.public import listing
from suricate.io.edge_file import EdgeFile
from suricate.io.formats import FORMATS
from suricate.io.reading import read
from suricate.io.steps import EventStep, EventStream, read_events
from suricate.io.writing import write

__all__ = ["FORMATS", "EdgeFile", "EventStep", "EventStream", "read", "read_events", "write"]
__dir__ = listing(__all__)
