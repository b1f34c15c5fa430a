"""Every function with inputs that it or NetworkX may refuse: a program that switches the backend on notices none."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import networkx as nx
import pytest
from networkx_calls import DRAWN
from networkx_odd import RAISES, SHAPES, WEIGHTS, agree, functions, graph_of, odd_arguments, outcome, weighted_arguments

from suricate.networkx import backend
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


def may_be_lazy(function: Served) -> bool:
    return "Iterator" in str(function.function.__annotations__["return"]) or function.__name__.startswith("shortest")


def asked(name: str, case: Case, backend_name: str) -> tuple[Any, ...]:
    kind, directed, kwargs = case
    call, graph = getattr(nx, name, None) or getattr(nx.community, name), graph_of(kind, directed=directed)
    if "seed" in FUNCTIONS[name].signature.parameters:
        kwargs = {"seed": Random(1), **kwargs}
    if backend_name != "priority":
        return outcome(lambda: call(graph, **kwargs, backend=backend_name))
    with nx.config.backend_priority(algos=["suricate"]):
        return outcome(lambda: call(graph, **kwargs))


def check(name: str, *, every: bool) -> None:
    """By priority calls give what NetworkX gives; with ``backend=`` nothing but NetworkX's own comes after the call."""
    differ, function = [], FUNCTIONS[name]
    is_lazy = may_be_lazy(function)
    for case in cases(function, every=every):
        right, found = (asked(name, case, each) for each in ("networkx", "priority"))
        same = name in DRAWN and found[0] == right[0] == "gives"
        if not (same or agree(name, found, right)):
            differ.append((case, found, right))
        chosen = asked(name, case, "suricate") if is_lazy else right
        if chosen[:2] == (RAISES, "when it is read") and chosen != right:
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


def test_no_function_that_returns_an_iterator_is_forgotten() -> None:
    for name, function in FUNCTIONS.items():
        good, kind = next(odd_arguments(function)), function.directed is True
        found = getattr(nx, name, None) or getattr(nx.community, name)
        is_lazy = hasattr(found(graph_of("path", directed=kind), **good, backend="networkx"), "__next__")
        assert is_lazy <= (
            "Iterator" in str(function.function.__annotations__["return"]) or name.startswith("shortest")
        )


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


# -- what a refusal leaves as it was -----------------------------------------------------------------------------------


@pytest.mark.plain
def test_a_refused_call_has_drawn_no_random_numbers() -> None:
    graph = nx.path_graph(9)
    graph.add_edge(3, 4, weight=0)  # betweenness needs positive weights
    graph.add_edge(0, 5)
    right = nx.betweenness_centrality(graph, k=3, weight="weight", seed=Random(5), backend="networkx")
    with nx.config.backend_priority(algos=["suricate"]):
        assert nx.betweenness_centrality(graph, k=3, weight="weight", seed=Random(5)) == right


def test_a_device_that_is_not_there_is_told() -> None:
    graph = nx.cycle_graph(5)
    told = pytest.warns(RuntimeWarning, match="suricate leaves convert_from_nx to NetworkX")
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
