"""Workload of the memory suite: the bytes of a graph by part, as it was built and after churn (Meerkat's table 5)."""

from __future__ import annotations

from typing import Any

from suricate.bench.operations import BedTask
from suricate.bench.oracle import check_content
from suricate.bench.states import age, bytes_per_edge


class Footprint(BedTask):
    """Bytes by part."""

    workload = "footprint"
    does = "builds the graph, reads the bytes by part; deletes and inserts again a tenth, ten times, reads; not timed"
    timed = False

    def setup(self) -> None:
        """Count the edges."""
        self.items = len(self.bed.data.model)

    def action(self, state: Any) -> dict[str, Any]:
        """Build, read, churn, read."""
        graph = self.bed.empty_graph()
        graph.insert_edges(*self.bed.all_edges())
        self._verify(graph)
        built = _sizes(graph)
        age(self.bed, graph)
        self._verify(graph)
        data = self.bed.data
        return {
            **built,
            "churned": _sizes(graph),
            "vertices": data.num_vertices,
            "edges": self.items,
            "mean_degree": self.items / max(1, data.num_vertices),
            "max_degree": int(data.out_degrees.max()),
        }

    def check(self, state: Any, result: dict[str, Any]) -> None:
        """Keep what was read; the graph was verified both times."""
        self.found = result

    def extra(self) -> dict[str, Any]:
        """Return the bytes per edge and by part, the same after churn, and the size of the graph."""
        return self.found

    def _verify(self, graph: Any) -> None:
        check_content(graph, self.bed.model())
        graph.store("out").check()


def _sizes(graph: Any) -> dict[str, Any]:
    parts = graph.store("out").memory()
    return {**bytes_per_edge(graph), "parts": {name: list(sizes) for name, sizes in parts.items()}}
