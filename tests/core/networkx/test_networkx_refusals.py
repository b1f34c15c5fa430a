"""Every function with inputs that it or NetworkX may refuse: a program that switches the backend on notices none."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Iterator
from inspect import isgeneratorfunction
from typing import Any

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms
from networkx_calls import DRAWN
from networkx_odd import RAISES, SHAPES, WEIGHTS, agree, functions, graph_of, odd_arguments, outcome, weighted_arguments

from suricate.networkx import backend
from suricate.networkx.converted import Converted
from suricate.networkx.functions import Served

Case = tuple[str, bool, dict[str, Any]]
FUNCTIONS = {function.__name__: function for function in functions()}


@pytest.fixture(autouse=True)
def _from_the_first_node(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(backend, "should_run", lambda *call: True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def cases(function: Served, *, every: bool) -> Iterator[Case]:
    """Kinds of graphs with arguments: each argument with each kind of graph, or by turns with one of them."""
    for turn, kwargs in enumerate(odd_arguments(function)):
        for kind in SHAPES if every or turn == 0 else ("path" if turn % 2 else SHAPES[turn // 2 % len(SHAPES)],):
            yield from ((kind, directed, kwargs) for directed in ((False, True) if every else (turn % 3 == 0,)))
    for kwargs in weighted_arguments(function):
        for turn, kind in enumerate(WEIGHTS):
            yield from ((kind, directed, kwargs) for directed in ((False, True) if every else (turn % 2 == 0,)))


def asked(name: str, case: Case, backend_name: str) -> tuple[Any, ...]:
    kind, directed, kwargs = case
    random.seed(1)  # NetworkX draws by it where seed is None, and may refuse what it has drawn
    call, graph = getattr(nx, name, None) or getattr(nx.community, name, None), graph_of(kind, directed=directed)
    call = call or _registered_algorithms[name]
    graph = [graph, graph] if "graphs" in FUNCTIONS[name].signature.parameters else graph
    if "seed" in FUNCTIONS[name].signature.parameters:
        kwargs = {"seed": random.Random(1), **kwargs}
    if backend_name != "priority":
        return outcome(lambda: call(graph, **kwargs, backend=backend_name))
    with nx.config.backend_priority(algos=["suricate"]):
        return outcome(lambda: call(graph, **kwargs))


OTHERS = {"leiden_communities", "leiden_partitions"}  #: which NetworkX leaves to backends


def check(name: str, *, every: bool) -> None:
    """By priority calls give what NetworkX gives; with ``backend=`` too, or they are refused at the call."""
    differ, function = [], FUNCTIONS[name]
    for case in cases(function, every=every):
        right, found = (asked(name, case, each) for each in ("networkx", "priority"))
        if name in OTHERS and right[2:3] == (NotImplementedError,):
            continue
        same = name in DRAWN and found[0] == right[0] == "gives"
        if not (same or agree(name, found, right)):
            differ.append((case, found, right))
        is_lazy = isgeneratorfunction(function.function) or name.startswith("shortest")
        chosen = asked(name, case, "suricate") if every or is_lazy or right[0] == RAISES else right
        refused = chosen[:3] == (RAISES, "at the call", NotImplementedError)
        if (chosen[0] == RAISES or right[0] == RAISES) and not refused and not agree(name, chosen, right):
            differ.append((case, chosen, right))
    assert not differ, differ[:3]


@pytest.mark.plain
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_refused_is_answered_by_networkx(name: str) -> None:
    check(name, every=False)


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_argument_with_each_graph(name: str) -> None:
    check(name, every=True)


@pytest.mark.plain
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in OTHERS])
@pytest.mark.parametrize("kind", ["null", "path"])
def test_backend_by_name_raises_what_networkx_raises(name: str, kind: str) -> None:
    function = FUNCTIONS[name]
    good, *odd = odd_arguments(function)
    nodes = {"source", "target", "n", "u", "sources", "nodes", "nbunch", "v"} - function.limits.keys()
    for kwargs in (good, *odd):
        if {name for name, value in kwargs.items() if value is not good.get(name, kwargs)} <= nodes:
            case = kind, function.directed is not False, kwargs
            right = asked(name, case, "networkx")
            assert right[0] != RAISES or asked(name, case, "suricate") == right, case


@pytest.mark.plain
@pytest.mark.parametrize("name", ["louvain_communities", "leiden_communities"])
def test_a_wrong_number_of_levels(name: str) -> None:
    """Functions that NetworkX has no code for raise, too, what is wrong with an argument."""
    with nx.config.backend_priority(algos=["suricate"]), pytest.raises(ValueError, match="a positive integer"):
        getattr(nx.community, name)(nx.path_graph(4), max_level=0)


@pytest.mark.plain
@pytest.mark.parametrize("name", ["louvain_communities", "louvain_partitions", "modularity"])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_that_weigh_nothing(name: str, directed: bool) -> None:
    """Where all weights are 0 calls raise what NetworkX raises, not give a community per node."""
    graph = nx.path_graph(4, nx.DiGraph if directed else nx.Graph)
    nx.set_edge_attributes(graph, 0, "weight")
    args = ([{0, 1, 2, 3}],) if name == "modularity" else ()
    found = []
    for priority in ([], ["suricate"]):
        with nx.config.backend_priority(algos=priority), pytest.raises(ZeroDivisionError) as caught:
            list(getattr(nx.community, name)(graph, *args))
        found.append(str(caught.value))
    assert found[0] == found[1]


@pytest.mark.plain
@pytest.mark.parametrize("name", ["modularity", "louvain_communities", "clustering", "average_clustering"])
def test_weights_of_directed_graphs(name: str) -> None:
    """Communities of directed graphs, which have a modularity of their own, are left to NetworkX; clustering is not."""
    graph = nx.gnp_random_graph(12, 0.3, seed=3, directed=True)
    nx.set_edge_attributes(graph, {edge: 1 + sum(edge) % 4 for edge in graph.edges}, "weight")
    known = {"modularity": {"communities": [set(range(6)), set(range(6, 12))]}, "louvain_communities": {"seed": 4}}
    call, kwargs = getattr(nx, name, None) or getattr(nx.community, name), known.get(name, {"weight": "weight"})
    right = call(graph, **kwargs, backend="networkx")
    with nx.config.backend_priority(algos=["suricate"]):
        found = call(graph, **kwargs)
    if name not in known:
        assert found == pytest.approx(right)
        assert call(graph, **kwargs, backend="suricate") == found
        return
    assert found == right
    with pytest.raises(NotImplementedError):
        call(graph, **kwargs, backend="suricate")


# -- a negative weight, far away ---------------------------------------------------------------------------------------

LAZY = [name for name in FUNCTIONS if name.startswith(("all_pairs_bell", "all_pairs_dij"))]


@pytest.mark.plain
@pytest.mark.parametrize("name", [*LAZY, "shortest_path", "shortest_path_length"])
def test_one_negative_weight_that_the_first_search_does_not_meet(name: str) -> None:
    graph = nx.DiGraph()
    nx.add_path(graph, range(20), weight=1)
    graph.add_edge(20, 21, weight=-2)
    kwargs = {"weight": "weight", "method": "bellman-ford"} if name.startswith("shortest") else {}
    call = getattr(nx, name)
    with pytest.raises(NotImplementedError):
        call(graph, **kwargs, backend="suricate")
    with nx.config.backend_priority(algos=["suricate"]):
        found = dict(call(graph, **kwargs))
    assert found == dict(call(graph, **kwargs, backend="networkx"))


@pytest.mark.plain
def test_zeros_are_of_the_type_of_networkx() -> None:
    graph = nx.path_graph(4)
    graph.add_edge(0, 2, weight=3)
    for call in (nx.clustering, nx.harmonic_centrality):
        right, found = call(graph, backend="networkx"), call(graph, backend="suricate")
        assert [(node, type(value)) for node, value in found.items()] == [(n, type(v)) for n, v in right.items()]
        assert type(found[3]) is type(right[3])


@pytest.mark.plain
def test_attributes_are_not_lost_by_calls_before() -> None:
    """NetworkX hands out the conversion that an earlier call has made, which kept no attributes."""
    graph = nx.DiGraph([("a", "b", {"weight": 2, "color": "red"}), ("c", "a", {"weight": 3})], kind="test")
    graph.add_node("b", size=1)
    list(nx.isolates(graph, backend="suricate"))
    nx.pagerank(graph, backend="suricate")
    for call in (nx.reverse, nx.stochastic_graph):
        right, found = call(graph, backend="networkx"), call(graph, backend="suricate")
        assert list(found.edges(data=True)) == list(right.edges(data=True))
        assert found.nodes == right.nodes
        assert found.graph == right.graph
    assert len(pickle.loads(pickle.dumps(graph))) == 3
    assert graph["a"]["b"] == {"weight": 2, "color": "red"}


@pytest.mark.plain
def test_modularity_of_edges_that_weigh_nothing() -> None:
    graph = nx.Graph([(0, 1, {"weight": 0})])
    with pytest.raises(ZeroDivisionError):
        nx.community.modularity(graph, [{0}, {1}], backend="suricate")


# -- what a refusal leaves as it was -----------------------------------------------------------------------------------


@pytest.mark.plain
def test_a_refused_call_has_drawn_no_random_numbers() -> None:
    graph = nx.path_graph(9)
    graph.add_edge(3, 4, weight=0)  # betweenness needs positive weights
    graph.add_edge(0, 5)
    right = nx.betweenness_centrality(graph, k=3, weight="weight", seed=random.Random(5), backend="networkx")
    with nx.config.backend_priority(algos=["suricate"]):
        assert nx.betweenness_centrality(graph, k=3, weight="weight", seed=random.Random(5)) == right


@pytest.mark.plain
def test_a_lack_of_memory_is_told_and_answered_by_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> None:
        raise MemoryError("no more")

    graph = nx.cycle_graph(5)
    monkeypatch.setattr(Converted, "answer", refuses)
    told = pytest.warns(RuntimeWarning, match="suricate leaves is_connected to NetworkX: no more")
    with nx.config.backend_priority(algos=["suricate"]), told:
        assert nx.is_connected(graph)


def test_a_device_that_is_not_there_is_told() -> None:
    graph = nx.cycle_graph(5)
    told = pytest.warns(RuntimeWarning, match="suricate leaves is_connected to NetworkX")
    with nx.config.backends.suricate(device="cuda:77"), nx.config.backend_priority(algos=["suricate"]), told:
        assert nx.is_connected(graph)


@pytest.mark.plain
def test_generators_are_generators() -> None:
    graph = nx.path_graph(4)
    for name, function in FUNCTIONS.items():
        good = {"source": 0} if "source" in function.signature.parameters else {}
        if name.startswith(("all_pairs", "bfs_ed", "bfs_p", "bfs_s", "connected")):
            found = getattr(nx, name)(graph, **good, backend="suricate")
            next(found)
            found.close()
            assert list(found) == []
