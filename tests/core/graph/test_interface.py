"""How a graph presents itself: types, documentation, hints, completion, HTML."""

from __future__ import annotations

import copy
import pickle
import pydoc
import re
import runpy
from pathlib import Path

import pytest

import suricate as su
from suricate.graph import naming
from suricate.graph.interface.hints import HINTS, INTERNAL

CHECKOUT = Path(__file__).parents[3]


def generator() -> dict[str, object]:
    return runpy.run_path(str(CHECKOUT / ".ci" / "call_types.py"))


def test_types_of_calls_are_those_of_the_algorithms() -> None:
    made = generator()
    current = made["FILE"].read_text() == made["generated"]()  # type: ignore[attr-defined,operator]
    assert current, "parameters of an algorithm have changed: run python .ci/call_types.py"


def test_help_lists_the_algorithms_with_their_parameters() -> None:
    for call in (su.Graph(1, device="cpu").track, su.Graph(1, device="cpu").compute):
        text = pydoc.plain(pydoc.render_doc(call))
        assert "bfs(source=0, sources=None)" in text
        for name in su.plugins.algorithms():
            assert f" {name}(" in text
    assert "track(" in pydoc.plain(pydoc.render_doc(su.Graph))


HINTED = {
    "add_edge": r"insert_edges\(\[u\], \[v\]\)",
    "nodes": "live_vertices",
    "remove_node": "delete_vertices",
    "number_of_nodes": "num_live",
}


@pytest.mark.parametrize("name", HINTED)
def test_methods_of_networkx_are_hinted_at(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; NetworkX's {name} is here: {HINTED[name]}"):
        getattr(su.Graph(1, device="cpu"), name)


def test_other_missing_attributes_have_no_hint() -> None:
    graph = su.Graph(1, device="cpu")
    with pytest.raises(AttributeError, match=r"'Graph' object has no attribute 'colour'$"):
        _ = graph.colour  # type: ignore[attr-defined]
    assert not hasattr(graph, "__array__")
    assert copy.copy(graph).num_vertices == pickle.loads(pickle.dumps(graph)).num_vertices == 1


def test_hints_cost_the_other_attributes_nothing() -> None:
    assert not any("__getattr__" in vars(kind) or "__getattribute__" in vars(kind) for kind in su.Graph.__mro__[:-1])
    graph = su.Graph(1, device="cpu")
    assert not hasattr(graph, "nodes")
    assert getattr(graph, "nodes", None) is None
    with pytest.raises(AttributeError, match="NetworkX's nodes is here: live_vertices"):
        _ = su.Graph.nodes  # type: ignore[attr-defined]

    class Named(su.Graph):
        nodes = ("own",)

    own = Named(1, device="cpu")
    assert own.nodes == ("own",)
    assert "nodes" in dir(own)
    assert "adj" not in dir(own)
    assert "nodes" in dir(Named)
    with pytest.raises(AttributeError, match=r"'Named' object has no attribute 'adj'; NetworkX's adj is here"):
        _ = own.adj  # type: ignore[attr-defined]


def test_hints_are_about_what_there_is() -> None:
    public = dir(su.Graph(1, device="cpu"))
    for name, hint in HINTS.items():
        assert name not in public
        assert any(word in public for word in hint.replace("(", " ").replace(".", " ").replace(",", " ").split()) or (
            "a set of edges" in hint or "from_coo" in hint or "copy" in hint
        )


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 2)], ((0, 1),)])
def test_pairs_in_place_of_arrays(pairs: object) -> None:
    graph = su.Graph(3, device="cpu")
    for call in (graph.insert_edges, graph.delete_edges):
        with pytest.raises(
            TypeError, match=r"takes sources and destinations as two arrays: of pairs, .*\(\*zip\(\*pairs\)\)"
        ):
            call(pairs)


def test_completion_offers_no_internals() -> None:
    graph = su.Graph(3, device="cpu")
    tracker = graph.track("bfs")
    for thing, offered in (
        (graph, {"insert_edges", "track", "num_live", "device"}),
        (tracker, {"result", "top", "graph"}),
    ):
        names = set(dir(thing))
        assert offered <= names
        assert not any(name.startswith("_") for name in names)
        assert names.isdisjoint(INTERNAL)


def test_help_shows_what_completion_offers() -> None:
    graph, text = su.Graph(3, device="cpu"), pydoc.plain(pydoc.render_doc(su.Graph))
    public = {name for name in dir(su.Graph) if not name.startswith("_")}
    assert public == {name for name in dir(graph) if hasattr(su.Graph, name)}
    described = set(re.findall(r"^ \|  (\w+)", text, re.MULTILINE))
    assert public <= described
    assert described.isdisjoint({*INTERNAL, *HINTS})


def test_notebooks_show_tables() -> None:
    graph = su.Graph(0, device="cpu", names=["<ann>", "bob"], weight_dtype="float32")
    graph.insert_edges(["<ann>"], ["bob"], [2])
    shown = graph._repr_html_()
    assert "<td>2</td>" in shown
    assert "1, directed" in shown
    assert "float32" in shown
    tracker = graph.track("bfs", source="<ann>")
    assert "&lt;ann&gt;" in tracker._repr_html_()
    assert "<ann>" not in tracker._repr_html_()
    assert "int32[2]" in tracker.result._repr_html_()
    assert tracker.top(1)._repr_html_().count("<tr>") == 2
    whole = graph.track("random_walks", length=2)
    assert "no value per vertex" in whole._repr_html_()


@pytest.mark.plain
def test_every_result_with_fields_is_shown() -> None:
    graphs = [su.Graph(4, device="cpu", directed=directed, in_edges=directed) for directed in (True, False)]
    needed = {"spmv": {"x": [1.0] * 4}, "personalized_pagerank": {"sources": [0]}, "similarity": {"pairs": ([0], [1])}}
    for name, kind in su.plugins.algorithms().items():
        graph = graphs[kind.requires.undirected is True]
        result = graph.compute(kind, **needed.get(name, {}))
        if hasattr(result, "_fields") and kind.__module__.startswith("suricate."):
            assert result._repr_html_().startswith("<table>"), name


def test_parameters_that_are_vertices_may_be_names_in_types_too() -> None:
    text = generator()["FILE"].read_text()  # type: ignore[attr-defined]
    assert "    source: int | str\n" in text
    assert "source" in naming.VERTICES
