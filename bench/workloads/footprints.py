"""Workload of the memory suite: the bytes of a graph's store by part, as built and after churn (Meerkat's table 5).

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

from typing import Any

from suricate.bench.scenarios import age, bytes_per_edge
from suricate.bench.verify.edges import check_content
from suricate.bench.workloads.base import FixtureTask


class Footprint(FixtureTask):
    """Read the bytes of each part of a graph's out-store (``Store.memory``), as built and after churn."""

    workload = "footprint"
    does = "builds the graph, reads the bytes by part; deletes and inserts again a tenth, ten times, reads; not timed"
    timed = False

    def setup(self) -> None:
        """Count the distinct edges of the input."""
        self.items = len(self.fixture.data.model)

    def action(self, prepared: Any) -> dict[str, Any]:
        """Build a graph and read its bytes, age it and read them again; return both, and the graph's sizes, by name."""
        graph = self.fixture.empty_graph()
        graph.insert_edges(*self.fixture.all_edges())
        self._verify(graph)
        built = _sizes(graph)
        age(self.fixture, graph)
        self._verify(graph)
        data = self.fixture.data
        return {
            **built,
            "churned": _sizes(graph),
            "vertices": data.num_vertices,
            "edges": self.items,
            "mean_degree": self.items / max(1, data.num_vertices),
            "max_degree": int(data.out_degrees.max()),
        }

    def check(self, prepared: Any, result: dict[str, Any]) -> None:
        """Store ``result`` for :meth:`extra`; the action has verified the graph as built and after the churn."""
        self.found = result

    def extra(self) -> dict[str, Any]:
        """Return the action's result: bytes per edge and by part, the same under "churned", and the graph's sizes."""
        return self.found

    def _verify(self, graph: Any) -> None:
        check_content(graph, self.fixture.model())
        graph.store("out").check()


def _sizes(graph: Any) -> dict[str, Any]:
    parts = graph.store("out").memory()
    return {**bytes_per_edge(graph), "parts": {name: list(sizes) for name, sizes in parts.items()}}
