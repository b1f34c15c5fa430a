"""NetworKit: its C++ library, on as many threads as suricate."""

from __future__ import annotations

from typing import Any

import networkit as nk
import numpy as np

from suricate.bench.peers import Answer, field
from suricate.cpu.threads import default as threads

MODULE = "networkit"


def build(src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool) -> Any:
    """Return a graph, weighted if there are weights."""
    nk.setNumberOfThreads(threads())
    values = np.ones(len(src)) if weight is None else weight.astype(np.float64)
    ends = src.astype(np.int64), dst.astype(np.int64)
    return nk.GraphFromCoo((values, ends), num_vertices, weight is not None, directed, edgesIndexed=False)


def _ran(method: Any) -> Any:
    method.run()
    return method


def _distances(graph: Any, *, source: int = 0, **_: Any) -> Any:
    return _ran(nk.distance.BFS(graph, source, storePaths=False)).getDistances()


def _reached(found: Any, params: Any) -> dict[str, Any]:
    values = np.array(found)
    return {"level": np.where(values > len(values), -1, values).astype(np.int64)}


def _near(found: Any, params: Any) -> dict[str, Any]:
    values = np.array(found)
    return {"distance": np.where(values > 1e300, np.inf, values)}


def _ranks(graph: Any, *, alpha: float = 0.85, tol: float = 1e-6, **_: Any) -> Any:
    method = nk.centrality.PageRank(graph, alpha, tol, distributeSinks=nk.centrality.SinkHandling.DistributeSinks)
    method.norm = nk.centrality.Norm.L1_NORM
    return _ran(method).scores()


def _components(graph: Any, **_: Any) -> Any:
    components = nk.components
    kind = components.WeaklyConnectedComponents if graph.isDirected() else components.ParallelConnectedComponents
    return _ran(kind(graph)).getPartition().getVector()


def communities(graph: Any, *, resolution: float = 1.0, seed: int = 0, refine: bool = True, **_: Any) -> Any:
    """Return the labels that its ``ParallelLeiden`` finds by one thread, without ``refine`` its ``PLM``."""
    nk.setNumberOfThreads(1)
    nk.setSeed(seed, False)
    kind = nk.community.ParallelLeiden if refine else nk.community.PLM
    return _ran(kind(graph, gamma=resolution)).getPartition().getVector()


ANSWERS = {
    "bfs": Answer(_distances, _reached),
    "sssp": Answer(
        lambda graph, *, source=0, **_: _ran(nk.distance.Dijkstra(graph, source, storePaths=False)).getDistances(),
        _near,
    ),
    "pagerank": Answer(_ranks, lambda found, params: {"result": np.array(found)}),
    "wcc": Answer(_components, field("label")),
    "scc": Answer(
        lambda graph, **_: _ran(nk.components.StronglyConnectedComponents(graph)).getPartition().getVector(),
        field("label"),
    ),
    "triangles": Answer(
        lambda graph, **_: _ran(nk.centrality.LocalClusteringCoefficient(graph, turbo=True)).scores(),
        field("clustering"),
        loops=False,
    ),
    "kcore": Answer(
        lambda graph, **_: _ran(nk.centrality.CoreDecomposition(graph)).scores(), field("core"), loops=False
    ),
    "leiden": Answer(communities, field("label"), labels=True),
}
