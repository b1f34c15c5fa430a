"""Edge sets: the arcs of user-given edges, and of deltas, against dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from graph_model import as_dict

import suricate as su
from suricate.errors import DTypeError, ShapeError, UnknownNameError, VertexRangeError
from suricate.types import EdgeList


def test_the_arcs_are_those_that_were_given(device):
    graph = su.Graph(5, device=device)
    edges = su.EdgeSet(graph, [0, 3, 3], [1, 2, 3], [1.5, 2.5, 3.5])
    assert as_dict(graph, edges.edges()) == {(0, 1): 1.5, (3, 2): 2.5, (3, 3): 3.5}
    assert edges.value_dtype == np.float64
    assert (edges.size, edges.num_vertices) == (3, 5)
    assert repr(edges) == f"<EdgeSet: at most 3 arcs, float64 values, {graph.device}>"


def test_both_arcs_of_an_undirected_edge(device):
    graph = su.Graph(5, device=device, directed=False)
    edges = su.EdgeSet(graph, [0, 3], [1, 2])
    assert as_dict(graph, edges.edges()) == dict.fromkeys([(0, 1), (1, 0), (3, 2), (2, 3)])
    assert edges.value_dtype is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 5], [1, 1]), VertexRangeError, r"src\[1\]"),
        (([0, 1], [1, -1]), VertexRangeError, r"dst\[1\]"),
        (([0, 1], [1]), ShapeError, "1"),
        (([0, 1], [1, 2], [1.0]), ShapeError, "1"),
        (([0, 1], [1, 2], np.array([True, False])), DTypeError, "bool"),
        (([0.5], [1]), DTypeError, "src"),
    ],
)
def test_edges_that_do_not_fit_are_refused(device, arguments, error, message):
    with pytest.raises(error, match=message):
        su.EdgeSet(su.Graph(5, device=device), *arguments)


def test_ids_on_the_device_are_checked_too(device):
    graph = su.Graph(5, device=device)
    with pytest.raises(VertexRangeError, match=r"dst\[1\]"):
        su.EdgeSet(graph, device.xp.array([0, 1]), device.xp.array([1, 5]))


@pytest.mark.parametrize("directed", [True, False])
def test_a_delta_has_one_edge_set_of_a_kind(backend, device, directed):
    graph = su.Graph(5, backend=backend, device=device, directed=directed, weight_dtype="float32")
    graph.insert_edges([0, 1], [1, 2], [1.0, 2.0])
    delta = graph.insert_edges([0, 1, 3, 3], [1, 2, 3, 3], [1.0, 5.0, 7.0, 8.0])
    assert delta.edges("inserted") is delta.edges("inserted")
    assert as_dict(graph, delta.edges("inserted").edges()) == {(3, 3): 8.0}
    arcs = [(1, 2)] if directed else [(1, 2), (2, 1)]
    assert as_dict(graph, delta.edges("replaced").edges()) == dict.fromkeys(arcs, 5.0)
    assert as_dict(graph, delta.edges("replaced_old").edges()) == dict.fromkeys(arcs, 2.0)
    assert delta.edges("deleted").size == 0
    with pytest.raises(UnknownNameError, match="inserted, deleted, replaced"):
        delta.edges("new")


def test_the_edge_sets_of_a_delta_are_its_lists_also_after_these_were_read(backend, device):
    graph = su.Graph(5, backend=backend, device=device, directed=False)
    graph.insert_edges([0, 1], [1, 1])
    delta = graph.delete_edges([1, 1, 0, 2], [1, 0, 1, 3])
    assert delta.num_deleted == 2
    assert as_dict(graph, delta.edges("deleted").edges()) == dict.fromkeys([(0, 1), (1, 0), (1, 1)])


def test_edges_that_go_with_a_vertex(backend, device):
    graph = su.Graph(5, backend=backend, device=device, in_edges=True)
    graph.insert_edges([0, 1, 1, 2], [1, 1, 2, 3])
    delta = graph.delete_vertices([1])
    assert as_dict(graph, delta.edges("deleted").edges()) == dict.fromkeys([(0, 1), (1, 1), (1, 2)])
    assert isinstance(delta.edges("deleted").edges(), EdgeList)
