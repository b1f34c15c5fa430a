"""Searches from several sources, and samples that the user chooses: NetworkX, names, errors, the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from cli_calls import call

import suricate as su
from suricate.errors import DTypeError, ParameterError, ShapeError, SuricateError, VertexRangeError

SEARCHES, SAMPLES = ("bfs", "sssp"), ("betweenness", "closeness")


def random_graph(**options: Any) -> su.Graph:
    rng = np.random.default_rng(4)
    graph = su.Graph(25, device="cpu", weight_dtype="int32", **options)
    graph.insert_edges(*rng.integers(0, 25, (2, 45)), rng.integers(1, 9, 45))
    return graph


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
def test_the_nearest_source_counts_as_in_networkx(options: dict[str, bool]) -> None:
    graph = random_graph(**options)
    levels, paths = graph.track("bfs", sources={3, 7, 19}), graph.track("sssp", sources=np.array([19, 7, 3, 7]))
    src, dst, _ = graph.edges()
    for change in (
        lambda: None,
        lambda: graph.delete_edges(src[::3], dst[::3]),
        lambda: (graph.insert_vertices(3), graph.insert_edges([7, 26], [26, 27], [1, 2])),
    ):
        change()
        other = graph.to_networkx()
        near = nx.multi_source_dijkstra_path_length(other, {3, 7, 19})
        assert paths.result.distance.tolist() == [near.get(v, -1) for v in range(graph.num_vertices)]
        near = nx.multi_source_dijkstra_path_length(other, {3, 7, 19}, weight=None)
        assert levels.result.level.tolist() == [near.get(v, -1) for v in range(graph.num_vertices)]
        assert levels.result.parent[[3, 7, 19]].tolist() == [3, 7, 19]


@pytest.mark.parametrize("name", SEARCHES)
def test_one_of_several_sources_is_the_source(name: str) -> None:
    graph = random_graph()
    for one, other in zip(graph.compute(name, sources=[6]), graph.compute(name, source=6), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_deleted_source_is_an_error_until_it_is_live(name: str) -> None:
    graph = random_graph(in_edges=True)
    tracker = graph.track(name, sources=[3, 7])
    graph.delete_vertices([7])
    with pytest.raises(VertexRangeError, match=rf"{name}: sources\[1\] is 7: this vertex is deleted"):
        _ = tracker.result
    graph.insert_edges([7], [4], [1])
    assert tracker.result[0][[3, 7]].tolist() == [0, 0]


@pytest.mark.parametrize("name", SAMPLES)
def test_chosen_samples_are_those_that_networkx_draws(name: str) -> None:
    graph = random_graph()
    drawn = su.plugins.algorithm(name)(k=6, seed=5).sample.drawn(25)
    np.testing.assert_array_equal(graph.compute(name, sources=drawn), graph.compute(name, k=6, seed=5))
    np.testing.assert_array_equal(graph.compute(name, sources=range(25)), graph.compute(name))
    tracker = graph.track(name, sources=drawn)
    graph.delete_vertices(drawn[:1])
    with pytest.raises(VertexRangeError, match=f"{name}: sources.* deleted"):
        _ = tracker.result
    graph.insert_edges(drawn[:1], drawn[1:2], [1])
    np.testing.assert_array_equal(tracker.result, graph.compute(name, sources=drawn))


def test_betweenness_from_sources_is_the_subset_of_networkx() -> None:
    graph = random_graph(directed=False)
    found = graph.compute("betweenness", sources=[1, 4, 9], normalized=False)
    wanted = nx.betweenness_centrality_subset(graph.to_networkx(), [1, 4, 9], range(25))
    scale = np.where(np.isin(np.arange(25), [1, 4, 9]), 24 / 2, 24 / 3)  # of a sample, as NetworkX scales it
    np.testing.assert_allclose(found, scale * [wanted[v] for v in range(25)], rtol=1e-12)


WRONG: list[tuple[Any, type[SuricateError], str]] = [
    ([], ParameterError, "names no vertex"),
    (set(), (ParameterError, DTypeError), "sources"),  # type: ignore[list-item]
    (3, ShapeError, "sources"),
    ([1.5], DTypeError, "sources"),
    (["x"], DTypeError, "sources"),
    ([[1, 2]], ShapeError, "sources"),
    ([1, -1], VertexRangeError, r"sources\[1\] is -1"),
    ([1, 25], VertexRangeError, r"sources\[1\] is 25"),
    ([2**70], VertexRangeError, "sources"),
]


@pytest.mark.parametrize("name", [*SEARCHES, *SAMPLES])
@pytest.mark.parametrize(("sources", "error", "text"), WRONG, ids=str)
def test_bad_sources(name: str, sources: Any, error: type[SuricateError], text: str) -> None:
    with pytest.raises(error, match=text):
        random_graph().compute(name, sources=sources)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("bfs", {"source": 1}), ("bfs", {"source": 0}), ("sssp", {"source": 1}), ("sssp", {"source": 0}),
        ("betweenness", {"k": 2}), ("closeness", {"k": 2}),
    ],
)  # fmt: skip
def test_two_ways_to_name_sources_exclude_each_other(name: str, other: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=f"{name}: give .* or sources, not both"):
        random_graph().compute(name, sources=[1], **other)


@pytest.mark.parametrize("name", [*SEARCHES, *SAMPLES])
def test_sources_may_be_names(name: str) -> None:
    graph = su.Graph(0, device="cpu")
    graph.names = su.Names()
    graph.insert_edges(["a", "b", "c", "d"], ["b", "c", "a", "a"])
    right = graph.compute(name, sources=[1, 3])
    for sources in (["b", "d"], {"d", "b"}, np.array(["b", "d"])):
        for one, other in zip(np.atleast_2d(graph.compute(name, sources=sources)), np.atleast_2d(right), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", ["['cid', 'ann']", "cid,ann"])
def test_sources_on_the_command_line(tmp_path: Path, given: str) -> None:
    file = tmp_path / "named.txt"
    file.write_text("ann bob\nbob cid\ncid dan\n")
    options, output = ("--relabel", "--device", "cpu", "--top", 0), tmp_path / "values.csv"
    result = call("run", "bfs", file, *options, "--output", output, "--param", f"sources={given}")
    assert result.exit_code == 0, result.stderr
    rows = [line.split(",")[1:3] for line in output.read_text().splitlines()[1:]]
    assert rows == [["ann", "0"], ["bob", "1"], ["cid", "0"], ["dan", "1"]]
    assert "has no vertex 'eve'" in call("run", "bfs", file, *options, "--param", "sources=cid,eve").stderr
    jumps = ("--param", "personalization={'ann': 1, 'cid': 2}", "--param", "alpha=0")
    assert call("run", "pagerank", file, *options, "--output", output, *jumps).exit_code == 0
    ranks = [float(line.split(",")[2]) for line in output.read_text().splitlines()[1:]]
    assert ranks == pytest.approx([1 / 3, 0, 2 / 3, 0])
