"""State is made by its graph; what made it before is refused by an error that names the method."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import suricate as su
from suricate.errors import ParameterError


@pytest.fixture
def graph():
    return su.Graph(4, device="cpu")


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("EdgeSet", "edge_set"),
        ("Forest", "forest"),
        ("Frontier", "frontier"),
        ("Scalar", "scalar"),
        ("UnionFind", "union_find"),
        ("Words", "words"),
    ],
)
def test_a_class_of_state_is_not_called(graph, name, method):
    assert callable(getattr(su.Graph, method))
    for arguments in ((), (graph, [0], [1]), (4,)):
        with pytest.raises(ParameterError, match=rf"{name}\(\.\.\.\) is written graph\.{method}\("):
            getattr(su, name)(*arguments)


@pytest.mark.parametrize("name", ["all", "from_vertices", "of_vertex"])
def test_what_made_frontiers_names_the_method(name):
    with pytest.raises(AttributeError, match=rf"'Frontier' has no attribute '{name}'; it is written graph\.frontier\("):
        getattr(su.Frontier, name)
    assert name not in dir(su.Frontier)


def test_words_of_the_package_name_the_method():
    with pytest.raises(AttributeError, match=r"it is written graph\.words\(keys, payload\) now"):
        _ = su.words
    assert "words" not in dir(su)


def test_copies_need_no_graph(graph):
    made = [graph.frontier([1, 2]), graph.words({"k": "uint32"}), graph.edge_set([0], [1], np.ones(1))]
    made += [graph.union_find(), graph.scalar("max", "int32", 7)]
    for one in made:
        for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert type(other) is type(one)
    assert copy.deepcopy(made[-1]).read() == 7
