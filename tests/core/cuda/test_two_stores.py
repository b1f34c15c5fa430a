"""Batches into graphs with in-edges and undirected graphs cost at most twice what one store's cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.testing.costs import Costs, measure

pytestmark = pytest.mark.gpu

N, EDGES, BATCH = 20_000, 100_000, 1_000


def costs_of_batches(backend: str, checks: str, **options: Any) -> list[Costs]:
    """What the insertion of a batch and its deletion cost, after others of the same kind."""
    graph = su.Graph(N, backend=backend, device="cuda", checks=checks, **options)
    xp, rng = graph.device.xp, np.random.default_rng(1)
    graph.insert_edges(*xp.asarray(rng.integers(0, N, (2, EDGES))))
    graph.reserve(2 * EDGES)
    batches = [xp.asarray(rng.integers(0, N, (2, BATCH))) for _ in range(5)]
    for batch in batches[:4]:
        graph.insert_edges(*batch)
        graph.delete_edges(*batch)
    graph.synchronize()
    changes = [partial(change, *batches[4]) for change in (graph.insert_edges, graph.delete_edges)]
    return [measure(change, graph.device) for change in changes]


def launches(costs: Costs) -> int:
    """Return the number of launches, but those by which slabhash trims now and then."""
    return sum(number for name, number in costs.kernels.items() if not name.startswith("trim_"))


@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
@pytest.mark.parametrize("checks", ["eager", "deferred"])
@pytest.mark.parametrize("options", [{"in_edges": True}, {"directed": False}], ids=["in_edges", "undirected"])
def test_twice_the_launches_and_no_more_waits(backend: str, options: dict[str, bool], checks: str) -> None:
    pairs = zip(costs_of_batches(backend, checks), costs_of_batches(backend, checks, **options), strict=True)
    for one, two in pairs:
        assert 0 < launches(two) <= 2 * launches(one), (one, two)
        assert two.waits.total() <= (checks == "eager"), (one, two)  # an answer that has arrived needs no wait
