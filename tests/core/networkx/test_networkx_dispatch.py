"""The backend of NetworkX: what is dispatched, refused, recommended, and what graphs and weights become."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms
from networkx_calls import CALLS, DRAWN, FROM_3_5, Call, assert_same, graphs
from patience import PATIENCE
from plugin_sites import python

import suricate.networkx as sx
from suricate import plugins
from suricate.networkx import backend
from suricate.networkx.converted import Converted
from suricate.networkx.functions import COSTS, Served
from suricate.networkx.info import backend_info, offered

CHECKOUT = Path(__file__).resolve().parents[3]


def note(call: Call) -> str:
    """What the documentation says about the answers of a call."""
    return str(getattr(backend, call.name).note)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    before = set(nx.config.warnings_to_ignore)
    nx.config.warnings_to_ignore.add("cache")
    yield
    nx.config.warnings_to_ignore = before


def asked(call: Call, graph: Any, backend: str | None) -> Any:
    """The comparable answer of a call."""
    kwargs = {**call.kwargs, **({} if backend is None else {"backend": backend})}
    function = getattr(nx, call.name, None) or _registered_algorithms[call.name]
    return call.reduced(function(graph, *call.args, **kwargs))


@pytest.mark.plain
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.label)
def test_answers_are_those_of_networkx(call: Call) -> None:
    for graph in graphs(call.kind):
        right = asked(call, graph, None)
        found = asked(call, graph, "suricate")
        assert_same(found, right)


def test_every_function_is_called_here() -> None:
    assert {call.name for call in CALLS} | DRAWN == offered().keys()


@pytest.mark.parametrize("name", sorted(offered()))
def test_parameters_are_those_of_networkx(name: str) -> None:
    function = backend._loaded(name)
    assert isinstance(function, Served)
    theirs = inspect.signature(_registered_algorithms[name].orig_func).parameters  # type: ignore[attr-defined]
    ours = function.signature.parameters
    assert [(p.name, p.default, p.kind) for p in ours.values()] == [
        (p.name, p.default, p.kind) for p in theirs.values()
    ]
    assert set(function.limits) <= set(ours)
    assert set(function.algorithms) <= plugins.algorithms().keys()


def test_values_come_in_the_order_of_the_nodes() -> None:
    graph = graphs("undirected")[0]
    assert list(Converted.of(graph, {}, device="cpu", keep=False)) == list(graph) != sorted(graph)


def in_order(answer: Any) -> Any:
    """The nodes that an answer is by, in its order, and lists as they are; sets and subgraphs have no order."""
    if isinstance(answer, tuple):
        return [in_order(part) for part in answer]
    if isinstance(answer, dict):
        return [(node, in_order(value)) for node, value in answer.items()]
    return list(map(in_order, answer)) if isinstance(answer, Iterator) else answer if isinstance(answer, list) else None


def shuffled(graph: Any, seed: int) -> Any:
    """The same graph, its nodes and edges added in another order."""
    nodes, links = list(graph.nodes(data=True)), list(graph.edges(data=True))
    for part in (nodes, links):
        Random(seed).shuffle(part)
    made = type(graph)()
    made.add_nodes_from(nodes)
    made.add_edges_from(links)
    return made


OTHERWISE = "by distance|shortest path|components|communities|copy|forests|by nodes"
IN_ORDER = [  #: all but those for which the documentation says another order
    *(call for call in CALLS if not re.search(OTHERWISE, note(call))),
    Call("katz_centrality", (0.02,), {"nstart": {f"n{at}": 1 for at in (*range(9, 30), *range(9))}}, kind="connected"),
    Call("eigenvector_centrality", (), {"nstart": {f"n{at}": 1.0 for at in range(30)}}, kind="connected"),
]


@pytest.mark.plain
@pytest.mark.parametrize("call", IN_ORDER, ids=lambda call: call.label)
def test_answers_have_the_order_of_networkx(call: Call) -> None:
    for graph in graphs(call.kind):
        other = shuffled(graph, 3)
        found, right = (asked(call._replace(reduced=in_order), other, each) for each in ("suricate", "networkx"))
        assert found == right


@pytest.mark.plain
@pytest.mark.parametrize("weight", [None, "cost"])
def test_searches_have_the_order_that_is_documented(weight: Any) -> None:
    graph = shuffled(graphs("undirected")[0], 4)
    place = {node: at for at, node in enumerate(graph)}
    lengths = nx.shortest_path_length(graph, "n0", weight=weight, backend="networkx")
    right = sorted(lengths, key=lambda node: (lengths[node], place[node]))
    for call in (nx.shortest_path, nx.shortest_path_length):
        assert list(call(graph, "n0", weight=weight, backend="suricate")) == right
    levels = dict(nx.bfs_predecessors(graph, "n0", backend="suricate"))
    by_parent = [levels[node] for node in levels]
    assert list(dict.fromkeys(by_parent)) == [node for node in ("n0", *levels) if node in set(by_parent)]


# -- seeds -------------------------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_independent_sets_are_maximal_and_follow_the_seed() -> None:
    graph = graphs("loopless")[0]
    found = [nx.maximal_independent_set(graph, seed=seed, backend="suricate") for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    for members in found:
        assert not any(graph.has_edge(u, v) for u in members for v in members)
        assert set(members).union(*map(graph.neighbors, members)) == set(graph)


@pytest.mark.plain
def test_independent_sets_with_given_nodes() -> None:
    graph = graphs("undirected")[0]
    u, v = next(edge for edge in graph.edges if edge[0] != edge[1])
    apart = next(node for node in graph if node not in graph[u] and node != u and not graph.has_edge(node, node))
    assert {u, apart} <= set(nx.maximal_independent_set(graph, [u, apart], backend="suricate"))
    for wrong in ([u, v], ["nobody"], ["n3"]):
        for backend_name in (None, "suricate"):
            with pytest.raises(nx.NetworkXUnfeasible):
                nx.maximal_independent_set(graph, wrong, backend=backend_name)


@pytest.mark.plain
@pytest.mark.parametrize("name", ["label_propagation_communities", "asyn_lpa_communities"])
def test_communities_are_stable(name: str) -> None:
    graph = graphs("undirected")[0]
    seed = {"seed": 3} if name.startswith("asyn") else {}
    community = {}
    for number, members in enumerate(getattr(nx.community, name)(graph, **seed, backend="suricate")):
        community.update(dict.fromkeys(members, number))
    assert community.keys() == set(graph)
    for node in graph:
        votes = [community[other] for other in graph[node]]
        assert not votes or votes.count(community[node]) == max(map(votes.count, votes))


@pytest.mark.plain
@pytest.mark.parametrize("weight", ["cost", None])
@pytest.mark.parametrize("method", ["louvain", "leiden"])
def test_communities_of_high_modularity(method: str, weight: Any) -> None:
    """They partition the graph, in levels of growing modularity, and are as good as NetworkX's."""
    graph = graphs("undirected")[0]
    levels = getattr(nx.community, f"{method}_partitions")
    found = list(levels(graph, weight=weight, seed=3, backend="suricate"))
    assert all(nx.community.is_partition(graph, one) for one in found)
    quality = [nx.community.modularity(graph, one, weight=weight, backend="networkx") for one in found]
    assert quality == sorted(quality)
    assert quality[-1] == pytest.approx(nx.community.modularity(graph, found[-1], weight=weight, backend="suricate"))
    right = nx.community.louvain_communities(graph, weight=weight, seed=1, backend="networkx")
    assert quality[-1] > 0.95 * nx.community.modularity(graph, right, weight=weight, backend="networkx")
    best = getattr(nx.community, f"{method}_communities")
    assert best(graph, weight=weight, seed=3, backend="suricate") == found[-1]
    assert best(graph, weight=weight, seed=3, max_level=1, backend="suricate") == found[0]


@pytest.mark.plain
def test_fast_communities_cover_the_graph() -> None:
    for graph in graphs("both"):
        found = list(nx.community.fast_label_propagation_communities(graph, seed=3, backend="suricate"))
        assert sorted(map(str, set().union(*found))) == sorted(map(str, graph))
        assert sum(map(len, found)) == len(graph)


# -- exceptions --------------------------------------------------------------------------------------------------------

WRONG = [
    Call("shortest_path", ("n0", "isolated")),
    Call("shortest_path", ("n0", "isolated"), {"weight": "cost"}),
    Call("shortest_path", ("nobody", "n0")),
    Call("shortest_path", ("n0", "nobody")),
    Call("shortest_path", ("n0", "n1"), {"method": "guess"}),
    Call("has_path", ("n0", "nobody")),
    Call("has_path", ("nobody", "n0")),
    Call("dijkstra_path_length", ("n0", "isolated")),
    Call("dijkstra_path", ("nobody", "n0")),
    Call("bellman_ford_path", ("n0", "isolated")),
    Call("multi_source_dijkstra", ([],)),
    Call("descendants", ("nobody",)),
    Call("bfs_layers", (["n0", "nobody"],), reduced=list),
    Call("bfs_edges", ("nobody",), reduced=list),
    Call("eccentricity"),
    Call("diameter"),
    Call("average_shortest_path_length"),
    Call("katz_centrality", (), {"beta": {"n0": 1}}),
    Call("katz_centrality", (5.0,), {"max_iter": 40}),
    Call("pagerank", (), {"max_iter": 0}),
    Call("pagerank", (), {"max_iter": 1, "tol": 1e-12}),
    Call("pagerank", (), {"personalization": {"nobody": 1}}),
    Call("pagerank", (), {"dangling": {"nobody": 1}}),
    Call("pagerank", (), {"nstart": {"nobody": 1}}),
    Call("eigenvector_centrality", (), {"max_iter": 0}),
    Call("eigenvector_centrality", (), {"nstart": {"n0": 0}}),
    Call("closeness_centrality", ("nobody",)),
    *([Call("betweenness_centrality", (k,)) for k in (0, -1, 99)] if FROM_3_5 else []),
    Call("core_number"),
    Call("node_connected_component", ("nobody",), kind="undirected"),
    Call("triangles", (7,), kind="undirected"),
    Call("reciprocity", ("isolated",), kind="directed"),
    Call("connected_components", kind="directed"),
    Call("strongly_connected_components", kind="undirected"),
]


@pytest.mark.plain
@pytest.mark.parametrize("call", WRONG, ids=lambda call: call.label)
def test_exceptions_are_those_of_networkx(call: Call) -> None:
    for graph in graphs(call.kind):
        with pytest.raises(Exception) as right:  # noqa: PT011
            asked(call, graph, None)
        with pytest.raises(type(right.value)):
            asked(call, graph, "suricate")


@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "args", "kwargs", "sentence"),
    [
        ("single_source_shortest_path", ("n0",), {"cutoff": "far"}, "'>' not supported between"),
        ("single_source_shortest_path_length", ("n0",), {"cutoff": "far"}, "'>' not supported between"),
        ("dijkstra_path", ("n0",), {}, "missing 1 required positional argument: 'target'"),
    ],
)
def test_calls_that_are_wrong_are_served_with_the_error_of_networkx(
    name: str, args: Any, kwargs: Any, sentence: str
) -> None:
    graph, call = graphs("undirected")[0], getattr(nx, name)
    assert backend.can_run(name, (graph, *args), kwargs) is True
    errors = []
    for chosen in ("networkx", "suricate", None):
        with nx.config.backend_priority(algos=["suricate"]), pytest.raises(TypeError, match=sentence) as raised:
            call(graph, *args, **kwargs, **({"backend": chosen} if chosen else {}))
        errors.append(str(raised.value))
    assert len(set(errors)) == 1


@pytest.mark.plain
@pytest.mark.parametrize("name", ["is_connected", "is_weakly_connected", "is_strongly_connected"])
def test_the_null_graph(name: str) -> None:
    empty = nx.Graph() if name == "is_connected" else nx.DiGraph()
    with pytest.raises(nx.NetworkXPointlessConcept):
        getattr(nx, name)(empty, backend="suricate")


@pytest.mark.plain
def test_answers_of_the_null_graph_are_empty() -> None:
    for name in ("pagerank", "katz_centrality", "triangles", "core_number", "degree_centrality", "clustering"):
        assert getattr(nx, name)(nx.Graph(), backend="suricate") == {}
    assert nx.hits(nx.DiGraph(), backend="suricate") == ({}, {})
    assert list(nx.connected_components(nx.Graph(), backend="suricate")) == []
    assert nx.transitivity(nx.Graph(), backend="suricate") == 0
    with pytest.raises(nx.NetworkXPointlessConcept):
        nx.eigenvector_centrality(nx.Graph(), backend="suricate")


@pytest.mark.plain
def test_ranks_that_are_exact_enough_for_networkx_are_given_out() -> None:
    graph = nx.gnp_random_graph(200, 0.05, seed=3, directed=True)
    fewest = next(steps for steps in range(1, 100) if _converges(graph, steps, None))
    assert _converges(graph, fewest, "suricate") == pytest.approx(_converges(graph, fewest, None), abs=1e-5)
    assert not _converges(graph, fewest // 2, "suricate")


@pytest.mark.plain
def test_ranks_that_fall_as_slowly_as_they_can_converge_where_networkx_does() -> None:
    graph = nx.DiGraph([("a", "a"), ("b", "c"), ("c", "a")])
    graph.add_node("d")
    assert_same(nx.pagerank(graph, tol=1e-10, backend="suricate"), nx.pagerank(graph, tol=1e-10))


def _converges(graph: Any, steps: int, backend: str | None) -> dict[Any, float] | None:
    try:
        return dict(nx.pagerank(graph, max_iter=steps, backend=backend))
    except nx.PowerIterationFailedConvergence:
        return None


# -- what is not served ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "graph", "args", "kwargs", "sentence"),
    [
        ("pagerank", nx.MultiGraph, (), {}, "it does not serve multigraphs"),
        (
            "asyn_lpa_communities",
            nx.Graph,
            (),
            {"weight": "a"},
            "weight='a' in asyn_lpa_communities: only None is served",
        ),
        ("eccentricity", nx.Graph, (), {"v": iter("ab")}, "an iterator cannot be read again"),
        ("dijkstra_path", nx.Graph, (0, 1, len), {}, "weights that a function returns are not served"),
        ("betweenness_centrality", nx.Graph, (), {"weight": len}, "does not serve weight=<built-in function len> in"),
        ("transitivity", nx.DiGraph, (), {}, "serves transitivity of undirected graphs only"),
        ("bfs_edges", nx.Graph, (0,), {"sort_neighbors": sorted}, "only None is served"),
        ("no_such_function", nx.Graph, (), {}, "suricate has no function no_such_function"),
    ],
)
def test_what_is_not_served_is_said(name: str, graph: Any, args: Any, kwargs: Any, sentence: str) -> None:
    reason = backend.can_run(name, (graph(), *args), kwargs)
    assert isinstance(reason, str)
    assert sentence in reason
    if name in offered():
        assert args or backend.can_run(name, (), {"G": graph(), **kwargs}) == reason


def test_what_networkx_does_faster_is_left_to_it() -> None:
    large, small = nx.gnm_random_graph(900, 5000, seed=1), nx.path_graph(30)
    assert "converting a graph always takes longer" in backend.should_run("degree_centrality", (large,), {})
    assert "the graph is not converted yet" in backend.should_run("connected_components", (large,), {})
    assert backend.should_run("betweenness_centrality", (large,), {}) is True
    assert "fewer than 1000 edges" in backend.should_run("betweenness_centrality", (small,), {})
    assert "fewer than 10000 edges" in backend.should_run("pagerank", (large,), {})
    assert "ends early" in backend.should_run("has_path", (large, 0, 1), {})
    assert "ends early" in backend.should_run("triangles", (large, 3), {})
    nx.number_connected_components(small, backend="suricate")
    assert backend.should_run("connected_components", (small,), {}) is True
    assert backend.should_run("pagerank", (small,), {}) is True
    assert backend.should_run("shortest_path", (small,), {"target": 3}) is True
    assert "ends early" in backend.should_run("shortest_path", (small, 1), {"target": 3})
    assert backend.should_run("connected_components", (sx.Graph(small),), {}) is True
    small.add_edge(0, 29)
    assert "not converted" in backend.should_run("connected_components", (small,), {})


def test_priority_and_fallback() -> None:
    graph = nx.karate_club_graph()
    with nx.config.backend_priority(algos=["suricate"]):
        assert type(nx.number_of_cliques(graph)) is dict  # not served
        assert nx.is_connected(graph)  # not worth a conversion
        assert not graph.__networkx_cache__.get("backends")
        nx.is_connected(graph, backend="suricate")
        assert type(nx.triangles(graph)) is not dict
        multi = nx.MultiGraph(graph)
        assert type(nx.pagerank(multi)) is dict


# -- weights -----------------------------------------------------------------------------------------------------------


def weighted(*costs: Any) -> nx.Graph:
    """A path with these costs."""
    path = nx.Graph()
    path.add_edges_from((at, at + 1, {"cost": cost}) for at, cost in enumerate(costs))
    return path


@pytest.mark.plain
@pytest.mark.parametrize("costs", [(1, 2, 3), (2**40, 5, 7), (1.5, 2, 3), (True, 2, 1), (1, 0, 0)])
def test_numbers_remain_of_their_kind(costs: tuple[Any, ...]) -> None:
    found = nx.single_source_dijkstra_path_length(weighted(*costs), 0, weight="cost", backend="suricate")
    right = nx.single_source_dijkstra_path_length(weighted(*costs), 0, weight="cost")
    assert found == right
    kinds = {int} if all(isinstance(cost, int) for cost in costs) else {float}
    assert set(map(type, found.values())) == kinds


@pytest.mark.parametrize("cost", ["2", None, Fraction(1, 3), float("nan"), float("inf"), 2**60, 1j])
def test_weights_that_cannot_be_used_are_refused(cost: Any) -> None:
    with pytest.raises(NotImplementedError) as refused:
        nx.dijkstra_path_length(weighted(1, cost), 0, 2, weight="cost", backend="suricate")
    assert "'cost'" in str(refused.value.__cause__)


@pytest.mark.plain
def test_parameters_that_the_algorithms_refuse_are_left_to_networkx() -> None:
    graph = weighted(1, 2, 0)
    with pytest.raises(NotImplementedError):
        nx.betweenness_centrality(graph, weight="cost", backend="suricate")
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, nstart={0: -1, 1: 3}, backend="suricate")
    right = nx.betweenness_centrality(graph, weight="cost")
    with nx.config.backend_priority(algos=["suricate", "networkx"]):
        assert nx.betweenness_centrality(graph, weight="cost") == right


@pytest.mark.plain
def test_negative_weights() -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2), (1, 2, -1)])
    for call in (nx.dijkstra_path, nx.bellman_ford_path):
        with pytest.raises(NotImplementedError):
            call(graph, 0, 2, backend="suricate")
    with nx.config.backend_priority(algos=["suricate", "networkx"]):
        assert nx.bellman_ford_path_length(graph, 0, 2) == nx.dijkstra_path_length(graph, 0, 2) == 1


# -- conversions -------------------------------------------------------------------------------------------------------


def test_a_conversion_keeps_the_attributes_that_are_asked_for() -> None:
    graph = graphs("directed")[0]
    made = backend.convert_from_nx(graph, edge_attrs={"cost": 1, "colour": 5})
    back = backend.convert_to_nx(made)
    assert list(back) == list(graph)
    assert set(back.edges) == set(graph.edges)
    for u, v, data in graph.edges(data=True):
        assert back[u][v] == {"cost": data.get("cost", 1), "colour": data["colour"]}
    whole = backend.convert_to_nx(backend.convert_from_nx(graph, preserve_edge_attrs=True, preserve_node_attrs=True))
    assert nx.utils.graphs_equal(whole, graph)
    assert backend.convert_to_nx(7) == 7


@pytest.mark.plain
def test_converted_graphs_are_taken_as_they_are() -> None:
    graph = graphs("directed")[0]
    made = backend.convert_from_nx(graph, edge_attrs={"weight": 1})
    assert isinstance(made, Converted)
    assert (made.is_directed(), made.is_multigraph(), len(made)) == (True, False, 31)
    assert made.number_of_edges() == graph.number_of_edges()
    assert list(made) == list(graph)
    assert nx.descendants(made, "n0") == nx.descendants(graph, "n0")
    assert nx.pagerank(made) == pytest.approx(nx.pagerank(graph), abs=1e-6)
    with pytest.raises(NotImplementedError) as refused:
        nx.dijkstra_path(made, "n0", "n1", weight="cost", backend="suricate")
    assert "has not kept the edge attribute 'cost'" in str(refused.value.__cause__)


@pytest.mark.plain
def test_subgraph_views_are_converted_as_they_look() -> None:
    graph = graphs("undirected")[0]
    view = graph.subgraph([f"n{at}" for at in range(12)])
    assert list(nx.connected_components(view, backend="suricate")) == list(nx.connected_components(view))
    assert nx.triangles(view, backend="suricate") == nx.triangles(view)


# -- information, other packages, documentation ------------------------------------------------------------------------


def test_importing_networkx_loads_nothing() -> None:
    done = python(
        "import sys, networkx as nx\n"
        "info = nx.utils.backends.backend_info['suricate']\n"
        "print(len(info['functions']), *(name for name in sys.modules if name.startswith('suricate.')))"
    )
    number, *modules = done.stdout.split()
    assert int(number) == len(offered())
    assert set(modules) <= {
        "suricate.networkx", "suricate.networkx.info", "suricate.errors", "suricate.base", "suricate.base.errors",
        "suricate.base.public", "suricate.base.renamed",
    }  # fmt: skip
    assert backend_info()["functions"].keys() == offered().keys()


def test_the_size_of_the_folder() -> None:
    lines = [file.read_text().count("\n") for file in (CHECKOUT / "core" / "networkx").glob("*.py")]
    assert sum(lines) <= 1500


@pytest.mark.slow
def test_a_first_call_that_compiles_says_so(tmp_path: Path) -> None:
    code = "import networkx as nx; print(nx.triangles(nx.complete_graph(4), backend='suricate'))"
    done = python(code, SURICATE_CACHE_DIR=str(tmp_path), SURICATE_AHEAD="0")
    assert done.stdout.strip() == "{0: 3, 1: 3, 2: 3, 3: 3}"
    assert "compiling kernels, once on this machine" in done.stderr


@pytest.mark.gpu
def test_on_cuda() -> None:
    with nx.config.backends.suricate(device="cuda"):
        for plain, live in ((nx.Graph, sx.Graph), (nx.DiGraph, sx.DiGraph)):
            right = graphs("directed" if plain is nx.DiGraph else "undirected")[0]
            for graph in (plain(right), live(right)):
                for turn in range(3):
                    for each in (graph, right):
                        each.add_edge("n1", f"new {turn}", cost=turn + 1)
                    found = nx.pagerank(graph, weight=None, tol=1e-9, backend="suricate")
                    assert_same(found, nx.pagerank(right, weight=None, tol=1e-9))
                    found = nx.single_source_dijkstra_path_length(graph, "n0", weight="cost", backend="suricate")
                    assert_same(found, nx.single_source_dijkstra_path_length(right, "n0", weight="cost"))
                    assert_same(nx.degree_centrality(graph, backend="suricate"), nx.degree_centrality(right))
                right.remove_nodes_from([f"new {turn}" for turn in range(3)])


@pytest.mark.slow
def test_a_function_of_another_package(tmp_path: Path) -> None:
    (tmp_path / "their_paths.py").write_text(
        textwrap.dedent("""
        from suricate.networkx import served

        @served("bfs", cost="heavy")
        def wiener_index(G, weight=None):
            levels = [G.answer("bfs", source=v, keep=False).level for v in G.all_vertices().tolist()]
            return sum(int(level.sum()) for level in levels) / (1 if G.is_directed() else 2)
        """)
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[suricate.networkx]\nwiener_index = their_paths:wiener_index\n")
    code = "import networkx as nx; print(nx.wiener_index(nx.path_graph(5), backend='suricate'))"
    done = python(code, tmp_path, SURICATE_QUIET="1", NUMBA_DISABLE_JIT="1")
    assert done.stdout.strip() == "20.0", done.stderr


def test_the_table_of_the_documentation_is_generated() -> None:
    command = [sys.executable, str(CHECKOUT / ".ci" / "networkx_table.py")]
    table = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    page = (CHECKOUT / "docs" / "networkx.md").read_text()
    assert table in page, "run .ci/networkx_table.py and put what it prints into docs/networkx.md"
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) >= offered().keys() | COSTS.keys()
