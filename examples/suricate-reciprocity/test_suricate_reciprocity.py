"""The conformance kit runs the algorithm on every backend and device that is here; NVRTC compiles its kernels."""

import numpy as np
import pytest
from suricate_reciprocity import Reciprocity

import suricate as su
from suricate.testing import OwnKernelsConformance
from suricate.testing.nvrtc import compile_program, no_nvrtc


class TestReciprocity(OwnKernelsConformance):
    """The edges of an undirected graph are all answered. Kernels are compared with operators, too."""

    algorithm = Reciprocity

    def oracle(self, num_vertices, src, dst, weight, live, **params):
        """Look every edge up in a set."""
        edges, count = set(zip(src.tolist(), dst.tolist(), strict=True)), np.zeros(num_vertices, np.uint32)
        for u, v in edges:
            count[u] += (v, u) in edges
        return count


@pytest.mark.parametrize("backend", su.plugins.backends())
def test_the_kernels_compile(backend):
    """For any backend that runs on CUDA, without a GPU."""
    if reason := no_nvrtc():
        pytest.skip(reason)
    if "cuda" in su.plugins.backend(backend).devices:
        (program,) = Reciprocity.programs(su.Graph(4, backend=backend, device="cpu").view())
        compile_program(program, "compute_90")
