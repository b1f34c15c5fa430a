"""Live graphs: whatever writes to them, answers are those of a plain graph of NetworkX with the same history."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import random
from collections.abc import Callable
from typing import Any
from weakref import ref

import networkx as nx
import numpy as np
import pytest
from networkx.utils.backends import _registered_algorithms
from networkx_calls import assert_same

import suricate.networkx as sx
from suricate.bench.workloads.short import files_of_calls
from suricate.networkx import backend
from suricate.networkx.answers import MOST_TRACKED, question
from suricate.networkx.converted import Converted
from suricate.networkx.live import Live

PLAIN = {sx.Graph: nx.Graph, sx.DiGraph: nx.DiGraph}
BOTH = pytest.mark.parametrize("kind", [sx.Graph, sx.DiGraph], ids=["undirected", "directed"])
pytestmark = pytest.mark.plain


def made(kind: Any, seed: int = 4) -> Any:
    """A graph with named nodes, attributes, and weights at most edges."""
    graph = kind(home="here")
    rng = random.Random(seed)
    graph.add_nodes_from((f"n{node}", {"place": node}) for node in rng.sample(range(24), 24))
    for _ in range(40):
        u, v = rng.sample(range(24), 2)
        graph.add_edge(f"n{u}", f"n{v}", **({"weight": rng.randrange(1, 6)} if rng.random() < 0.8 else {"colour": 1}))
    return graph


def pair(kind: Any) -> tuple[Any, Any]:
    """A live graph, and a plain one of the same history."""
    return made(kind), made(PLAIN[kind])


def live_side(graph: Any) -> Live:
    found = graph._adj._watch.live
    assert isinstance(found, Live)
    return found


def assert_follows(graph: Any, plain: Any) -> None:
    """Nodes, edges, attributes and answers are those of the plain graph, in the same order."""
    assert list(graph.nodes(data=True)) == list(plain.nodes(data=True))
    assert list(graph.edges(data=True)) == list(plain.edges(data=True))
    on = {"backend": "suricate"}
    if plain.is_directed():
        for name in ("weakly_connected_components", "strongly_connected_components"):
            right = getattr(nx, name)(plain)
            assert set(map(frozenset, getattr(nx, name)(graph, **on))) == set(map(frozenset, right))
    else:
        assert list(nx.connected_components(graph, **on)) == list(nx.connected_components(plain))
        assert_same(nx.triangles(graph, **on), nx.triangles(plain))
    degrees = nx.degree_centrality(graph, **on)
    assert_same(degrees, nx.degree_centrality(plain))
    assert list(degrees) == list(plain)
    for source in list(plain)[:1]:
        assert nx.descendants(graph, source, **on) == nx.descendants(plain, source)
        assert nx.ancestors(graph, source, **on) == nx.ancestors(plain, source)
        for weight in ("weight", None, "colour"):
            found = nx.single_source_dijkstra_path_length(graph, source, weight=weight, **on)
            assert_same(found, nx.single_source_dijkstra_path_length(plain, source, weight=weight))
    live = graph._adj._watch.live
    if live is not None:
        live.follow()
        for answers in live._answers.values():
            answers.graph.check()


# -- everything that writes --------------------------------------------------------------------------------------------


def some(graph: Any, rng: random.Random) -> tuple[Any, Any]:
    """An edge of the graph."""
    return rng.choice(list(graph.edges))


def _attributes_of_rows(graph: Any, rng: random.Random) -> None:
    u, v = some(graph, rng)
    graph[u][v]["weight"] = 9
    graph.adj[u][v].update(colour=4)
    graph.get_edge_data(u, v).setdefault("weight", 2)
    graph.edges[u, v]["weight"] = 7
    for _, _, data in list(graph.edges(data=True))[:3]:
        data["weight"] = data.get("weight", 1) + 1
    graph.edges[u, v].pop("weight")
    u, v = some(graph, rng)
    graph.edges[u, v]["weight"] = 2
    del graph.edges[u, v]["weight"]


def _clear_attributes(graph: Any, rng: random.Random) -> None:
    for name in ("clear", "popitem"):
        edges = [edge for edge in graph.edges if graph.edges[edge]]
        getattr(graph.edges[rng.choice(edges)], name)()


def _rows_by_hand(graph: Any, rng: random.Random) -> None:
    u, v = some(graph, rng)
    graph._adj[u].pop(v)
    if graph.is_directed():
        graph._pred[v].pop(u)
    else:
        graph._adj[v].pop(u, None)


def _remove_and_come_back(graph: Any, rng: random.Random) -> None:
    node = rng.choice(list(graph))
    other = next(each for each in graph if each != node)
    graph.remove_node(node)
    graph.add_edge(other, node, weight=2)


def _relabelled(graph: Any, rng: random.Random) -> None:
    nodes = rng.sample(list(graph), 3)
    nx.relabel_nodes(graph, {node: ("new", node) for node in nodes}, copy=False)


def _edge_swaps(graph: Any, rng: random.Random) -> None:
    if graph.is_directed():
        nx.directed_edge_swap(graph, nswap=2, max_tries=500, seed=rng.randrange(99))
    else:
        nx.double_edge_swap(graph, nswap=2, max_tries=500, seed=rng.randrange(99))


def _weights_by_name(graph: Any, rng: random.Random) -> None:
    nx.set_edge_attributes(graph, {some(graph, rng): 8, some(graph, rng): 3}, "weight")
    nx.set_edge_attributes(graph, {some(graph, rng): {"weight": 6, "colour": 2}})


WRITES: dict[str, Callable[[Any, random.Random], Any]] = {
    "add_node": lambda g, r: (g.add_node("fresh", place=3), g.add_node("n1", place=99)),
    "add_nodes_from": lambda g, r: g.add_nodes_from(["x1", ("x2", {"a": 1}), "n3"], b=2),
    "remove_node": lambda g, r: g.remove_node(r.choice(list(g))),
    "remove_nodes_from": lambda g, r: g.remove_nodes_from([*r.sample(list(g), 2), "nobody"]),
    "add_edge": lambda g, r: (g.add_edge("n1", "n2"), g.add_edge("n1", "n2", weight=4), g.add_edge("n5", "far")),
    "add_edges_from": lambda g, r: g.add_edges_from([("n1", "n9"), ("n9", "q", {"weight": 3}), ("n1", "n9")], c=1),
    "add_weighted_edges_from": lambda g, r: g.add_weighted_edges_from([("n1", "n4", 2), ("n7", "n8", 1)]),
    "remove_edge": lambda g, r: g.remove_edge(*some(g, r)),
    "remove_edges_from": lambda g, r: g.remove_edges_from([some(g, r), some(g, r), ("n1", "nobody")]),
    "update": lambda g, r: g.update(edges=[("n1", "u", {"weight": 2})], nodes=["v"]),
    "clear": lambda g, r: (g.clear(), g.add_edge("n1", "n2", weight=2)),
    "clear_edges": lambda g, r: (g.clear_edges(), g.add_edge("n3", "n2")),
    "self-loops": lambda g, r: (g.add_edge("n1", "n1", weight=3), g.add_edge("n2", "n2"), g.remove_edge("n1", "n1")),
    "attributes": _attributes_of_rows,
    "clear attributes": _clear_attributes,
    "rows by hand": _rows_by_hand,
    "remove and come back": _remove_and_come_back,
    "other weights": lambda g, r: g.add_edge(*some(g, r), weight=2.5),
    "float weights": lambda g, r: [data.update(weight=r.random() + 0.5) for _, _, data in g.edges(data=True)],
    "no weights": lambda g, r: [data.clear() for _, _, data in g.edges(data=True)],
    "add_path": lambda g, r: nx.add_path(g, ["n1", "p", "n2"], weight=2),
    "add_star": lambda g, r: nx.add_star(g, ["n1", "s1", "s2"]),
    "add_cycle": lambda g, r: nx.add_cycle(g, ["n1", "c1", "n6"], weight=3),
    "set_edge_attributes": _weights_by_name,
    "remove_edge_attributes": lambda g, r: nx.remove_edge_attributes(g, "weight", ebunch=[some(g, r)]),
    "set_node_attributes": lambda g, r: nx.set_node_attributes(g, 3, "place"),
    "remove_node_attributes": lambda g, r: nx.remove_node_attributes(g, "place"),
    "relabel_nodes": _relabelled,
    "stochastic_graph": lambda g, r: nx.stochastic_graph(g, copy=False) if g.is_directed() else None,
    "contracted_nodes": lambda g, r: nx.contracted_nodes(g, *r.sample(list(g), 2), copy=False),
    "contracted_edge": lambda g, r: nx.contracted_edge(g, some(g, r), copy=False, self_loops=False),
    "directed_edge_swap": _edge_swaps,
    "double_edge_swap": _edge_swaps,
    "barycenter": lambda g, r: (nx.add_cycle(g, list(g)), nx.barycenter(g, attr="near")),
    "create_using": lambda g, r: nx.path_graph([f"n{node}" for node in r.sample(range(9), 6)], create_using=g),
    "freeze": lambda g, r: nx.freeze(g),
    "nothing": lambda g, r: None,
}
CALLABLE = [name for name in WRITES if "_attributes" not in name or hasattr(nx, name)]  # NetworkX 3.4 has fewer
LEFT = {  #: functions that change their arguments by methods tried above, or of graphs that they make
    "asadpour_atsp", "connected_double_edge_swap", "dedensify", "forceatlas2_layout", "held_karp_ascent",
    "incremental_closeness_centrality", "maximum_spanning_arborescence", "minimal_branching", "minimum_branching",
    "minimum_spanning_arborescence", "pad_graph", "recursive_simple_cycles",
}  # fmt: skip


def test_every_method_and_function_that_writes_is_here() -> None:
    methods = {
        name
        for kind in PLAIN.values()
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and "_clear_cache(self)" in inspect.getsource(method)
    }
    functions = {name for name, function in _registered_algorithms.items() if function.mutates_input}  # type: ignore[attr-defined]
    assert methods | functions <= WRITES.keys() | LEFT
    assert len(methods) >= 10


@BOTH
@pytest.mark.parametrize("write", CALLABLE)
def test_what_is_written_is_followed(kind: Any, write: str) -> None:
    graph, plain = pair(kind)
    assert_follows(graph, plain)
    assert_follows(graph, plain)  # from the second time on answers are tracked
    for turn in range(2):
        try:
            WRITES[write](plain, random.Random(turn))
        except nx.NetworkXException as error:
            with pytest.raises(type(error)):
                WRITES[write](graph, random.Random(turn))
        else:
            WRITES[write](graph, random.Random(turn))
        assert_follows(graph, plain)


@BOTH
def test_long_histories_are_followed(kind: Any) -> None:
    names = [
        name
        for name in CALLABLE
        if name not in ("freeze", "clear", "clear_edges", "create_using", "stochastic_graph", "barycenter")
    ]
    for seed in range(3):
        graph, plain = pair(kind)
        rng = random.Random(seed)
        for turn in range(25):
            chosen, state = rng.choice(names), rng.randrange(1 << 30)
            outcomes = []
            for each in (plain, graph):
                try:
                    WRITES[chosen](each, random.Random(state))
                    outcomes.append(None)
                except (nx.NetworkXException, KeyError, IndexError) as error:
                    outcomes.append(type(error))
            assert outcomes[0] == outcomes[1]
            if turn % 3 == 0:
                assert_follows(graph, plain)
        assert_follows(graph, plain)


# -- what is live, and what is not -------------------------------------------------------------------------------------


@BOTH
def test_single_edits_are_updates_of_one_graph(kind: Any) -> None:
    graph = made(kind)
    for _ in range(2):
        nx.pagerank(graph, backend="suricate")
    live = live_side(graph)
    (tracker,) = live.answers("weight").tracked.values()
    for turn in range(5):
        graph.add_edge("n1", f"n{turn + 2}", weight=3)
        graph["n1"][f"n{turn + 2}"]["weight"] = 2
        found = nx.pagerank(graph, backend="suricate")
    assert live_side(graph) is live
    assert list(live.answers("weight").tracked.values()) == [tracker]
    assert tracker.updates.computed + tracker.updates.updated == 6
    assert found == pytest.approx(nx.pagerank(made_again(graph), tol=1e-10, max_iter=500), abs=1e-5)


def made_again(graph: Any) -> Any:
    """A plain copy."""
    return (nx.DiGraph if graph.is_directed() else nx.Graph)(graph)


@BOTH
def test_views_and_copies_are_not_the_live_graph(kind: Any) -> None:
    graph, plain = pair(kind)
    assert_follows(graph, plain)
    nodes, fine = list(plain)[:12], {"tol": 1e-10, "max_iter": 500}
    views = [
        lambda g: g.subgraph(nodes), lambda g: g.edge_subgraph(list(plain.edges)[:9]), lambda g: g.copy(as_view=True),
        lambda g: g.to_undirected(as_view=True), lambda g: nx.subgraph_view(g, filter_node=lambda n: n != nodes[0]),
        lambda g: g.to_undirected(), lambda g: g.copy(), lambda g: g.subgraph(nodes).copy(), copy.copy, copy.deepcopy,
        lambda g: pickle.loads(pickle.dumps(g)), lambda g: nx.Graph(g), lambda g: g.to_directed(),
        *([lambda g: g.reverse(copy=False), lambda g: g.reverse()] if plain.is_directed() else []),
    ]  # fmt: skip
    for view in views:
        seen, right = view(graph), view(plain)
        assert_same(nx.pagerank(seen, **fine, backend="suricate"), nx.pagerank(right, **fine))
        assert seen.nodes == right.nodes
        assert nx.descendants(seen, nodes[1], backend="suricate") == nx.descendants(right, nodes[1])
    held = [(view(graph), view(plain)) for view in views]
    for each in (graph, plain):
        each.remove_node(nodes[2])
        each.add_edge(nodes[1], nodes[3], weight=5)
    for seen, right in held:
        assert_same(nx.pagerank(seen, **fine, backend="suricate"), nx.pagerank(right, **fine))
    assert_follows(graph, plain)


def test_copies_are_live_graphs_of_their_own() -> None:
    graph = made(sx.Graph)
    nx.triangles(graph, backend="suricate")
    others = [graph.copy(), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))]
    for other in others:
        assert type(other) is sx.Graph
        before = nx.number_connected_components(other, backend="suricate")
        other.add_node("alone")
        assert nx.number_connected_components(other, backend="suricate") == before + 1
        assert live_side(other) is not live_side(graph)
    assert "alone" not in nx.triangles(graph, backend="suricate")
    assert type(graph.to_directed()) is sx.DiGraph
    assert type(graph.to_directed().to_undirected()) is sx.Graph


def test_the_attribute_that_is_followed_can_be_another() -> None:
    graph = made(sx.Graph)
    graph.live_weight = "colour"
    for name in ("colour", "weight", "nothing"):
        for turn in range(2):
            graph.add_edge("n1", "n2", **{name: turn + 3})
            found = nx.dijkstra_path_length(graph, "n1", "n2", weight=name, backend="suricate")
            assert found == nx.dijkstra_path_length(graph, "n1", "n2", weight=name)
    kept = live_side(graph)
    assert kept.attribute == "colour"
    assert backend.convert_from_nx(graph, edge_attrs={"colour": 1}) is kept
    assert type(backend.convert_from_nx(graph, edge_attrs={"weight": 1})) is Converted
    assert type(backend.convert_from_nx(graph, edge_attrs={"colour": 5})) is Converted
    graph.live_weight = "weight"
    assert type(backend.convert_from_nx(graph, edge_attrs={"colour": 1})) is Converted
    assert backend.convert_from_nx(graph, edge_attrs={"weight": 1}) is live_side(graph) is not kept


def test_weights_that_cannot_be_used_are_refused_until_they_are_gone() -> None:
    graph = made(sx.Graph)
    right = nx.dijkstra_path_length(graph, "n1", "n2", backend="suricate")
    u, v = next(iter(graph.edges))
    kept = graph[u][v].copy()
    graph[u][v]["weight"] = "heavy"
    for _ in range(2):
        with pytest.raises(NotImplementedError):
            nx.dijkstra_path_length(graph, "n1", "n2", backend="suricate")
        assert nx.has_path(graph, u, v, backend="suricate")
    graph[u][v].clear()
    graph[u][v].update(kept)
    assert nx.dijkstra_path_length(graph, "n1", "n2", backend="suricate") == right


def test_an_answer_that_refuses_a_weight_does_not_keep_others_from_being_given() -> None:
    graph = made(sx.DiGraph)
    for _ in range(2):
        nx.single_source_dijkstra_path_length(graph, "n1", backend="suricate")
    graph.add_edge("n1", "n2", weight=-3)
    assert nx.descendants(graph, "n1", backend="suricate") == nx.descendants(graph, "n1")
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(graph, "n1", backend="suricate")
    right = nx.single_source_dijkstra_path_length(graph, "n1", backend="networkx")
    with nx.config.backend_priority(algos=["suricate"]):
        assert nx.single_source_dijkstra_path_length(graph, "n1") == right


def test_answers_stay_tracked_while_nodes_come() -> None:
    graph = made(sx.Graph)
    for turn in range(6):
        graph.add_edge("n1", ("new", turn))
        nx.pagerank(graph, backend="suricate")
        nx.katz_centrality(graph, 0.01, beta=0.7, backend="suricate")
    updates = {tracker.name: tracker.updates for tracker in live_side(graph).answers().tracked.values()}
    assert (updates["katz"].computed, updates["katz"].failed) == (1, 0)
    assert len(live_side(graph).answers("weight").tracked) == 1


def test_subgraphs_of_cores_are_live_graphs_with_all_attributes() -> None:
    graph, plain = pair(sx.Graph)
    found = nx.k_core(graph, 2, backend="suricate")
    assert type(found) is sx.Graph
    assert nx.utils.graphs_equal(nx.Graph(found), nx.k_core(plain, 2))


# -- answers that are held ---------------------------------------------------------------------------------------------


@BOTH
def test_answers_do_not_change_after_they_were_given(kind: Any) -> None:
    graph, plain = pair(kind)
    node = next(iter(plain))
    held = []
    for turn in range(4):
        held.append((nx.degree_centrality(graph, backend="suricate"), nx.degree_centrality(plain)))
        held.append((nx.pagerank(graph, tol=1e-9, backend="suricate"), nx.pagerank(plain, tol=1e-9)))
        right = nx.single_source_dijkstra_path_length(plain, "n5")
        held.append((nx.single_source_dijkstra_path_length(graph, "n5", backend="suricate"), right))
        for each in (graph, plain):
            each.remove_node(node)
            each.add_edge("n5", node, weight=turn + 1)
            each.add_edge("n5", ("new", turn))
    for found, right in held:
        assert_same(found, right)


def test_trackers_are_eight_at_most_and_the_least_recently_used_goes() -> None:
    graph = made(sx.Graph)
    for source in range(MOST_TRACKED + 1):
        for _ in range(2):
            nx.descendants(graph, f"n{source}", backend="suricate")
        nx.descendants(graph, "n0", backend="suricate")
    tracked, vertex = live_side(graph).answers().tracked, live_side(graph).index
    assert len(tracked) == MOST_TRACKED
    assert question("bfs", {"source": vertex["n0"]}) in tracked
    assert question("bfs", {"source": vertex["n1"]}) not in tracked


def test_a_question_is_tracked_when_it_comes_again() -> None:
    graph = made(sx.Graph)
    nx.triangles(graph, backend="suricate")
    assert not live_side(graph).answers().tracked
    nx.triangles(graph, backend="suricate")
    nx.pagerank(graph, personalization={"n1": 2}, backend="suricate")
    assert [tracker.name for tracker in live_side(graph).answers().tracked.values()] == ["triangles"]


# -- memory ------------------------------------------------------------------------------------------------------------


def test_vertices_of_removed_nodes_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suricate.networkx.live.MOST_RETIRED", 4)
    graph = sx.Graph([(0, 1)])
    for turn in range(40):
        graph.add_edge(turn + 1, turn + 2)
        graph.remove_node(turn)
        assert nx.number_connected_components(graph, backend="suricate") == 1
        assert len(live_side(graph).nodes) <= 12


def test_release_and_garbage() -> None:
    graph = made(sx.Graph)
    nx.triangles(graph, backend="suricate")
    stored = ref(live_side(graph).graph())
    sx.release(graph)
    gc.collect()
    assert stored() is None
    graph.add_edge("n1", "n2")
    assert nx.triangles(graph, backend="suricate") == nx.triangles(graph)
    stored = ref(live_side(graph).graph())
    del graph
    gc.collect()
    assert stored() is None
    sx.release(nx.Graph())


def test_a_live_graph_is_a_plain_one_for_all_other_functions() -> None:
    graph, plain = pair(sx.DiGraph)
    assert graph.__networkx_backend__ == plain.__networkx_backend__
    assert graph.__networkx_cache__ is None
    assert nx.utils.graphs_equal(nx.DiGraph(graph), plain)
    assert nx.dag_longest_path_length(nx.condensation(graph)) == nx.dag_longest_path_length(nx.condensation(plain))
    assert np.array_equal(nx.to_numpy_array(graph), nx.to_numpy_array(plain))
    with nx.config.backend_priority(algos=["suricate"]):
        nx.number_weakly_connected_components(graph)
        assert live_side(graph)


def test_shared_and_foreign_attributes_are_converted_each_time() -> None:
    graph = made(sx.Graph)
    nx.triangles(graph, backend="suricate")
    u, v = next(iter(graph.edges))
    graph._adj[u][v] = graph._adj[v][u] = {"weight": 2}  # type: ignore[index]
    for weight in (5, 6):
        graph[u][v]["weight"] = weight
        graph.remove_edges_from([edge for edge in graph.edges if edge not in ((u, v), (v, u))])
        assert nx.dijkstra_path_length(graph, u, v, backend="suricate") == weight


@pytest.mark.compiled
@BOTH
def test_an_edit_and_its_ranks_make_few_calls_of_python(kind: Any) -> None:
    """A third of them are NetworkX's own, to find the backend."""
    graph = kind(nx.gnp_random_graph(100, 0.1, seed=1, directed=kind is sx.DiGraph))

    def edit_and_rank(v: int) -> dict[Any, float]:
        graph.add_edge(v, 99 - v)
        return nx.pagerank(graph, backend="suricate")

    for v in range(45):
        edit_and_rank(v)
    assert len(files_of_calls(lambda: edit_and_rank(45))) <= 300
    right = nx.pagerank(PLAIN[kind](graph), tol=1e-10)
    assert edit_and_rank(45) == pytest.approx(right, abs=1e-6)
