"""Core numbers of directed graphs on every backend and device: the conformance kit, NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.directed_kcore import DirectedKCore
from suricate.base.devices import Device
from suricate.errors import RequirementError
from suricate.generate import rmat
from suricate.testing import AlgorithmConformance


class TestDirectedKCore(AlgorithmConformance):
    algorithm = DirectedKCore
    reads_weights = False
    examples = 2
    cuda_marks = (pytest.mark.gpu,)


@pytest.mark.parametrize("loops", ["drop", "allow"])
def test_numbers_are_those_of_networkx(backend: str, loops: str, device: Device) -> None:
    rng = np.random.default_rng(1)
    graph = su.Graph(60, backend=backend, device=device, in_edges=True, self_loops=loops)
    graph.insert_edges(*(60 * rng.random((2, 500)) ** 2).astype(np.uint32))
    tracker = graph.track("directed_kcore")
    for step in range(12):
        src, dst = (60 * rng.random((2, 3)) ** (1 + step % 2)).astype(np.uint32)  # so few that updates seldom give up
        arcs = np.unique(
            [device.to_numpy(part) for part in graph.edges()[:2]], axis=1
        )  # in one order, so that batches are the same on every backend
        gone = arcs[:, rng.integers(0, graph.num_edges, 5)]
        graph.apply(su.Batch(insert=(np.append(src, dst), np.append(dst, src)), delete=tuple(gone)))
        plain = graph.to_networkx()
        plain.remove_edges_from(list(nx.selfloop_edges(plain)))
        wanted = nx.core_number(plain)
        assert tracker.result.core.tolist() == [wanted[v] for v in range(60)]
        assert tracker.result.degeneracy == max(wanted.values())
    assert tracker.updates.updated >= 5


@pytest.mark.slow
@pytest.mark.compiled
def test_hubs_rise_and_fall_as_in_a_computation(every_backend: str, device: Device) -> None:
    rng, (src, dst, _) = np.random.default_rng(2), rmat(10, 16)
    graph = su.Graph(
        1 << 10, backend=every_backend, device=device, in_edges=True, weight_dtype="float32", self_loops="allow"
    )
    graph.insert_edges(src, dst, 1.0)
    tracker = graph.track("directed_kcore")
    for _ in range(6):
        some = rng.integers(0, len(src), 30)
        graph.delete_edges(src[some], dst[some])
        graph.insert_edges(dst[some], src[some], 1.0)
        arcs = map(device.to_numpy, graph.edges()[:2])
        expected = DirectedKCore.reference(*arcs, None, 1 << 10, True)
        np.testing.assert_array_equal(device.to_numpy(tracker.result.core), expected.core)
    assert tracker.updates.updated >= 10


def test_kcore_names_it_for_directed_graphs() -> None:
    with pytest.raises(RequirementError, match=r"kcore cannot run on this graph.*directed_kcore"):
        su.Graph(3, device="cpu").compute("kcore")
    with pytest.raises(RequirementError, match=r"triangles cannot run on this graph.*directed_triangles"):
        su.Graph(3, device="cpu").compute("triangles")
