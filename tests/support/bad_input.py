"""What the tests of bad input share: graphs with two edges, arrays on the host or the device, and no change."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su

N = 10


@pytest.fixture(params=["host", "device"])
def place(request, device):
    """Return a function that puts an array where the case wants it."""
    if request.param == "device" and not device.is_cuda:
        pytest.skip("the arrays of the CPU are host arrays")
    return device.xp.asarray if request.param == "device" else np.asarray


@pytest.fixture
def make(backend, device):
    """Return a maker of graphs with two edges in them."""

    def build(**options):
        graph = su.Graph(N, backend=backend, device=device, **options)
        graph.insert_edges([1, 2], [2, 3], None if graph.weight_dtype is None else 5)
        return graph

    return build


class Unchanged:
    """Context manager: what is inside must not change ``graph``."""

    def __init__(self, graph):
        self.graph = graph

    def state(self):
        graph = self.graph
        edges = [None if part is None else graph.device.to_numpy(part).tolist() for part in graph.edges()]
        return edges, graph.version, graph.num_vertices, graph.num_edges

    def __enter__(self):
        self.before = self.state()

    def __exit__(self, *exc):
        self.graph.check()
        assert self.state() == self.before
