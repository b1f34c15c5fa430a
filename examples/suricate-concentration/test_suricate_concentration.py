"""The conformance kit runs the algorithm on every installed backend, after random batches, against this oracle."""

import numpy as np
from suricate_concentration import Concentration

from suricate.testing import AlgorithmConformance


class TestConcentration(AlgorithmConformance):
    """Unweighted, every edge weighs 1."""

    algorithm = Concentration

    def oracle(self, num_vertices, src, dst, weight, live, **params):
        """Work the index out vertex by vertex."""
        weight = np.ones(len(src)) if weight is None else weight.astype(np.float64)
        parts = [weight[src == v] for v in range(num_vertices)]
        return np.array([(w @ w) / w.sum() ** 2 if w.sum() else 0.0 for w in parts])
