"""Core numbers of directed graphs on every backend and device: the conformance kit, NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.directed_kcore import DirectedKCore
from suricate.errors import RequirementError
from suricate.testing import AlgorithmConformance


class TestDirectedKCore(AlgorithmConformance):
    algorithm = DirectedKCore
    reads_weights = False
    examples = 2
    cuda_marks = (pytest.mark.gpu,)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_networkx(seed: int) -> None:
    graph = su.Graph(40, device="cpu", in_edges=True, self_loops="drop")
    src, dst = np.random.default_rng(seed).integers(0, 40, (2, 240))
    tracker = graph.track("directed_kcore")
    for step in range(4):
        some = slice(60 * step, 60 * step + 60)
        graph.insert_edges(src[some], dst[some])
        graph.apply(su.Batch(insert=(dst[some][:20], src[some][:20]), delete=(src[some][50:], dst[some][50:])))
        wanted = nx.core_number(graph.to_networkx())
        assert tracker.result.core.tolist() == [wanted[v] for v in range(40)]
        assert tracker.result.degeneracy == max(wanted.values())
    assert tracker.updates.updated == 8


def test_kcore_names_it_for_directed_graphs() -> None:
    with pytest.raises(RequirementError, match=r"kcore cannot run on this graph.*directed_kcore"):
        su.Graph(3, device="cpu").compute("kcore")
    with pytest.raises(RequirementError, match=r"triangles cannot run on this graph.*directed_triangles"):
        su.Graph(3, device="cpu").compute("triangles")
