"""Which algorithms ignore a common factor of all weights: those that say so, and no others."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate import plugins

N = 40
NAMES = sorted(name for name, kind in plugins.algorithms().items() if kind.scale_free)
OTHERS = ("closeness", "degree", "msf", "spmv", "sssp")  #: with weights; katz refuses large ones


def graph_with(factor: float, *, directed: bool) -> su.Graph:
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, N, (2, 240))
    weight = rng.integers(1, 1000, 240) * 2.0 ** rng.integers(-20, 20, 240)
    graph = su.Graph(N, device="cpu", directed=directed, in_edges=directed, weight_dtype="float64")
    graph.insert_edges(src, dst, weight * factor)
    return graph


def results(name: str, factor: float) -> list[np.ndarray]:
    kind = plugins.algorithm(name)
    params: dict[str, Any] = dict(kind.sample_params(N, 0))
    if "weighted" in inspect.signature(kind).parameters:
        params["weighted"] = True
    found = graph_with(factor, directed=kind.requires.undirected is not True).compute(name, **params)
    return [np.asarray(part, np.float64) for part in (found if isinstance(found, tuple) else (found,))]


def test_most_that_use_weights_say_so() -> None:
    assert {"pagerank", "personalized_pagerank", "hits", "eigenvector", "random_walks", "leiden"} <= {*NAMES}
    assert not {*NAMES} & {*OTHERS, "katz", "triangles"}


@pytest.mark.parametrize("name", NAMES)
def test_a_factor_changes_nothing(name: str) -> None:
    before = results(name, 1.0)
    for factor in (2.0**499, 2.0**-800, 0.37):
        for one, other in zip(before, results(name, factor), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", OTHERS)
def test_others_change(name: str) -> None:
    pairs = zip(results(name, 1.0), results(name, 0.37), strict=True)
    assert not all(np.allclose(one, other) for one, other in pairs)
