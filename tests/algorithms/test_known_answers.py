"""Every installed algorithm for which a real graph has a known answer: facts of public graphs, LDBC's examples."""

from __future__ import annotations

import csv
import gzip
import inspect
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_families import BACKENDS, backend_at

import suricate as su
from suricate import io, plugins
from suricate.bench.verify.results import on_host
from suricate.errors import ConvergenceError, RequirementError

pytestmark = pytest.mark.usefixtures("data_dir")

STATIC = (
    "USA-road-d.NY.gr.gz", "coAuthorsDBLP.mtx.gz", "delaunay_n17.mtx.gz", "ego-twitter.weighted.txt.xz",
    "facebook_combined.txt.gz", "luxembourg_osm.mtx.gz", "rgg_n_2_16_s0.mtx.gz", "rome99.gr.gz",
    "soc-Epinions1.txt.gz", "web-NotreDame.txt.gz", "wiki-Vote.txt.gz",
)  # fmt: skip
TEMPORAL = ("CollegeMsg.txt.gz", "email-Eu-core-temporal.txt.gz", "sx-mathoverflow.txt.gz")
FILES = (*(f"static/{name}" for name in STATIC), *(f"temporal/{name}" for name in TEMPORAL))
LARGE = re.compile("DBLP|NotreDame|USA|delaunay|luxembourg|mathoverflow|twitter")  #: seconds each


def each(names: Iterable[str], *, on_backends: bool = True) -> list[Any]:
    """The names of files as parameters of tests, each file with some backend."""
    return [
        pytest.param(
            *([name, backend_at(FILES.index(name))] if on_backends else [name]),
            marks=[pytest.mark.slow] if LARGE.search(name) else [],
        )
        for name in names
    ]


ON = each(FILES)
LDBC = "reference/ldbc-graphalytics/example"
UNREACHED = 2**63 - 1  # LDBC's level of vertices that a search does not reach


class Known(NamedTuple):
    """A real graph as arrays of the host, and what is known of it; ``isolated``: ids that are no vertices of it."""

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None
    num_vertices: int
    facts: dict[str, str]
    source: int
    isolated: int

    def number(self, column: str) -> int:
        """An integer of the facts; skips the test where the graph has no such fact."""
        if not self.facts[column]:
            pytest.skip(f"{column} of this graph is not known")
        return int(float(self.facts[column]))


@cache
def known(folder: Path, name: str) -> Known:
    """Read a graph and its facts once."""
    with open(folder / "FACTS.tsv", newline="") as stream:
        facts = {row["file"]: row for row in csv.DictReader(stream, delimiter="\t")}[name]
    file = io.read(folder / name)
    source = int(facts["max_deg_vertex"]) - (file.format in ("mtx", "gr"))
    return Known(file.src, file.dst, file.weight, file.num_vertices, facts, source, file.num_vertices - int(facts["V"]))


def answer(graph: su.Graph, name: str, **wanted: Any) -> Any:
    """The result of an algorithm with those of the ``wanted`` parameters that it has, in host arrays."""
    if name not in plugins.algorithms():
        pytest.skip(f"no algorithm {name!r} is installed")
    accepted = inspect.signature(plugins.algorithm(name)).parameters
    try:
        result = graph.compute(name, **{key: value for key, value in wanted.items() if key in accepted})
    except RequirementError as error:
        pytest.skip(str(error))
    return on_host(result, graph.device)


def distances(result: Any) -> np.ndarray:
    """The distances of a search as int64, -1 where unreached."""
    found = np.asarray(getattr(result, "distance", result), np.float64)
    return np.where(found < 2**31, found, -1).astype(np.int64)


def built(
    known: Known, device: Any, backend: str = BACKENDS[0], *, directed: bool, weighted: bool = False, loops: bool = True
) -> su.Graph:
    """A graph of the file; of parallel arcs the least weight counts."""
    src, dst, weight = known.src, known.dst, known.weight if weighted else None
    if weight is not None:
        order = np.argsort(-weight.astype(np.int64), kind="stable")  # the last one of a batch counts
        src, dst, weight = src[order], dst[order], weight[order]
    if not loops:
        src, dst = src[src != dst], dst[src != dst]
    dtype = None if weight is None else "int32"
    options = {"directed": directed, "in_edges": directed, "weight_dtype": dtype, "backend": backend}
    graph = su.Graph(known.num_vertices, device=str(device), **options)
    graph.insert_edges(src, dst, weight)
    return graph


# -- facts of public graphs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("name", "backend"), ON)
def test_breadth_first_search(
    data_dir: Path, device: su.devices.Device, name: str, backend: str, directed: bool
) -> None:
    graph_file = known(data_dir, name)
    prefix = "bfs_dir" if directed else "bfs_und"
    reached = graph_file.number(f"{prefix}_reached")
    level = answer(built(graph_file, device, backend, directed=directed), "bfs", source=graph_file.source).level
    assert np.count_nonzero(level >= 0) == reached
    assert level.max() == graph_file.number(f"{prefix}_depth")
    assert level[level >= 0].sum(dtype=np.int64) == graph_file.number(f"{prefix}_sumdist")


@pytest.mark.parametrize(
    "name", each((name for name in FILES if ".gr" in name or "weighted" in name), on_backends=False)
)
def test_shortest_paths(data_dir: Path, device: su.devices.Device, name: str) -> None:
    graph_file = known(data_dir, name)
    graph = built(graph_file, device, directed=True, weighted=True)
    found = distances(answer(graph, "sssp", source=graph_file.source))
    assert np.count_nonzero(found >= 0) == graph_file.number("sssp_dir_reached")
    assert found.max() == graph_file.number("sssp_dir_max")
    assert found[found >= 0].sum() == graph_file.number("sssp_dir_sum")


@pytest.mark.slow
def test_shortest_paths_of_graphscope(data_dir: Path, device: su.devices.Device) -> None:
    graph_file = known(data_dir, "static/ego-twitter.weighted.txt.xz")
    found = distances(answer(built(graph_file, device, directed=True, weighted=True), "sssp", source=4))
    with gzip.open(data_dir / "reference/ego-twitter-SSSP-source4.txt.gz", "rt") as stream:
        vertex, right = np.loadtxt(stream, unpack=True)
    right = np.where(right < 1e300, right, -1).astype(np.int64)
    assert np.count_nonzero(right >= 0) == 81_304
    np.testing.assert_array_equal(found[vertex.astype(np.int64)], right)


@pytest.mark.parametrize(("name", "backend"), ON)
def test_weak_components(data_dir: Path, device: su.devices.Device, name: str, backend: str) -> None:
    graph_file = known(data_dir, name)
    check_components(graph_file, answer(built(graph_file, device, backend, directed=False), "wcc"), "WCC")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "backend"), ON)
def test_strong_components(data_dir: Path, device: su.devices.Device, name: str, backend: str) -> None:
    graph_file = known(data_dir, name)
    graph_file.number("SCC")
    check_components(graph_file, answer(built(graph_file, device, backend, directed=True), "scc"), "SCC")


def check_components(graph_file: Known, label: Any, column: str) -> None:
    """Compare number and largest size of components; ids that are no vertices are components of their own."""
    label = label[0] if isinstance(label, tuple) else label
    sizes = np.unique(label, return_counts=True)[1]
    assert len(sizes) - graph_file.isolated == graph_file.number(column)
    assert sizes.max() == graph_file.number(f"{column}_max")


@pytest.mark.parametrize(("name", "backend"), ON)
def test_triangles(data_dir: Path, device: su.devices.Device, name: str, backend: str) -> None:
    graph_file = known(data_dir, name)
    found = answer(built(graph_file, device, backend, directed=False, loops=False), "triangles")
    assert int(np.asarray(found.total).ravel()[0]) == graph_file.number("triangles")


# -- LDBC Graphalytics -------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """A graph of LDBC's: its edges by position, the ids of its vertices, its parameters and its answers."""

    graph: su.Graph
    ids: np.ndarray
    properties: dict[str, str]
    folder: Path
    name: str

    def parameter(self, key: str) -> int:
        """An integer among the parameters."""
        return int(self.properties[f"graph.{self.name}.{key}"])

    def position(self, key: str) -> int:
        """The position of the vertex that a parameter names."""
        return int(np.searchsorted(self.ids, self.parameter(key)))

    def right(self, output: str, dtype: Any) -> np.ndarray:
        """The expected output, a value per vertex."""
        vertex, value = np.loadtxt(self.folder / f"{self.name}-{output}", dtype=str, unpack=True)
        values = np.empty(len(self.ids), dtype)
        values[np.searchsorted(self.ids, vertex.astype(np.int64))] = value.astype(dtype)
        return values


@pytest.fixture(params=["directed", "undirected"])
def example(request: pytest.FixtureRequest, data_dir: Path, device: su.devices.Device) -> Example:
    """Each of the two graphs."""
    folder, name = data_dir / LDBC, f"example-{request.param}"
    ids = np.sort(np.loadtxt(folder / f"{name}.v", dtype=np.int64))
    src, dst, weight = np.loadtxt(folder / f"{name}.e", unpack=True)
    lines = [line.split("=") for line in (folder / f"{name}.properties").read_text().splitlines() if "=" in line]
    directed = request.param == "directed"
    graph = su.Graph(len(ids), device=str(device), directed=directed, in_edges=directed, weight_dtype="float64")
    graph.insert_edges(np.searchsorted(ids, src), np.searchsorted(ids, dst), weight)
    return Example(graph, ids, {key.strip(): value.strip() for key, value in lines}, folder, name)


def test_ldbc_breadth_first_search(example: Example) -> None:
    right = example.right("BFS", np.int64)
    level = answer(example.graph, "bfs", source=example.position("bfs.source-vertex")).level
    np.testing.assert_array_equal(level, np.where(right == UNREACHED, -1, right))


def test_ldbc_pagerank(example: Example) -> None:
    steps = example.parameter("pr.num-iterations")
    few = {"max_iter": steps, "tol": 3e-16, "weighted": False, "method": "static"}
    with pytest.raises(ConvergenceError) as caught:  # LDBC asks for the ranks after so many steps
        answer(example.graph, "pagerank", alpha=0.85, **few)
    ranks = example.graph.device.to_numpy(caught.value.result)
    np.testing.assert_allclose(ranks, example.right("PR", np.float64), rtol=1e-12)


def test_ldbc_weak_components(example: Example) -> None:
    label = answer(example.graph, "wcc")
    label = label[0] if isinstance(label, tuple) else label
    right = example.right("WCC", np.int64)
    np.testing.assert_array_equal(label[:, None] == label, right[:, None] == right)


def test_ldbc_shortest_paths(example: Example) -> None:
    right = example.right("SSSP", np.float64)
    result = answer(example.graph, "sssp", source=example.position("sssp.source-vertex"))
    np.testing.assert_allclose(getattr(result, "distance", result), right, rtol=1e-12)


def add_one(u: Any, v: Any, x: Any, arcs: Any) -> None:
    """Count the arc ``(u, v)`` among the neighbours of ``x``."""
    su.atomic.add(arcs, x, 1)


def test_ldbc_clustering_coefficients(example: Example) -> None:
    """Of a directed graph: the arcs among the neighbours of a vertex in either direction, as a share of the pairs."""
    right, graph = example.right("LCC", np.float64), example.graph
    if not graph.directed:
        np.testing.assert_allclose(answer(graph, "triangles").clustering, right, rtol=1e-12)
        return
    either = su.Graph(graph.num_vertices, device=str(graph.device), directed=False)
    src, dst, _ = graph.edges()
    either.insert_edges(src, dst)
    arcs = graph.device.xp.zeros(graph.num_vertices, np.int64)
    su.intersect(either, u=src, v=dst, fn=add_one, args=(arcs,))
    degree = graph.device.to_numpy(either.degrees()).astype(np.int64)
    pairs = np.maximum(degree * (degree - 1), 1)
    np.testing.assert_allclose(graph.device.to_numpy(arcs) / pairs, right, rtol=1e-12)


def test_ldbc_label_propagation(example: Example) -> None:
    steps = example.parameter("cdlp.max-iterations")
    label = answer(example.graph, "label_propagation", max_iter=steps, synchronous=True)
    np.testing.assert_array_equal(example.ids[label], example.right("CDLP", np.int64))
