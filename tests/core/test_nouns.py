"""Every public noun once: what returns edges, arcs, sets and state, and how many, on directed and undirected graphs."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.base.types import ArcList
from suricate.errors import UnknownNameError


def farther(u, v, w, words):
    return (words.level[u] + 1, u)


def only_zero(v, words):
    return (0 if v == 0 else 9, v if v == 0 else 4294967295)


@pytest.mark.parametrize("directed", [True, False])
def test_every_public_noun(directed):
    twice = 1 if directed else 2
    g = su.Graph(5, device="cpu", directed=directed, weight_dtype="float32")
    g.insert_edges([0, 1, 2], [1, 2, 2], [1.0, 2.0, 3.0])
    assert (g.num_edges, g.num_arcs) == (3, 3 if directed else 5)  # a self-loop is one arc
    for found, count in ((g.edges(), 3), (su.arcs(g), g.num_arcs)):
        assert (type(found), len(found.src)) == (su.EdgeList, count)

    delta = g.apply(su.Batch(insert=([0, 3], [1, 4], [5.0, 6.0]), delete=([1], [2])))
    assert type(delta) is su.Delta
    for kind in ("inserted", "deleted", "replaced"):
        edges, arcs, changed = getattr(delta, kind), delta.arcs(kind), delta.edge_set(kind)
        assert (type(edges), type(arcs), type(changed)) == (su.EdgeList, ArcList, su.EdgeSet)
        assert (len(edges.src), getattr(delta, f"num_{kind}")) == (1, 1)
        assert type(arcs.read()) is su.EdgeList
        assert len(arcs.read().src) == len(changed.arcs().read().src) == twice
        assert len(changed.edges().src) == 1
        assert type(delta.arcs(kind, placed=True)) is ArcList
    assert delta.arcs("replaced_old").read().weight.tolist() == [1.0] * twice
    assert g.delete_edges([3], [4]).arcs("inserted", placed=True) is None
    with pytest.raises(UnknownNameError):
        delta.arcs("new")

    everybody, some = g.frontier(), g.frontier([4, 0, 4])
    assert {type(everybody), type(some), type(g.frontier(3))} == {su.Frontier}
    assert (len(everybody), some.vertices.tolist(), len(g.frontier(3))) == (5, [0, 4], 1)
    assert g.frontier(np.arange(5) > 2).vertices.tolist() == [3, 4]
    words = g.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
    assert (type(words), len(words), words.level[0]) == (su.Words, 5, 2**32 - 1)
    pairs = g.edge_set([0, 1], [1, 0], [1.5, 2.5])
    assert (type(pairs), len(pairs.arcs().read().src), len(pairs.edges().src)) == (su.EdgeSet, 2, 3 - twice)
    total = g.scalar("sum", "int64", value=7)
    assert (type(total), total.read(), g.scalar().dtype) == (su.Scalar, 7, np.float64)
    sets = g.union_find()
    assert (type(sets), sets.num_elements, sets.num_components) == (su.UnionFind, 5, 5)
    forest = g.forest(words, farther, only_zero, uniform=True)
    forest.compute(g, g.frontier(0))
    assert (type(forest), words.level.tolist()) == (su.Forest, [0, 1, 9, 9, 9])
