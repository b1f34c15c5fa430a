"""Union-finds of several ranks: all have what any of them united; a few unions are exchanged as pairs."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.parallel import Comm, run

pytestmark = pytest.mark.plain
N = 60


def found(comm: Comm, drawn: list[np.ndarray], device: str = "cpu") -> tuple[list[list[int]], list[int]]:
    """Labels after each list of pairs, of which every rank unites a part, and how many words each rank then sent."""
    graph, sets, sent = su.Graph(N, comm=comm, device=device), su.UnionFind._of(N, device), []
    part, labels = graph.partition, []
    gather = comm.allgatherv
    comm.allgatherv = lambda array: sent.append(len(array)) or gather(array)  # type: ignore
    assert part is not None
    for pairs in drawn:
        roots = sets.roots()
        sets.union(*(graph.device.xp.asarray(ids[comm.rank :: comm.size]) for ids in pairs))
        part.unite(sets, roots)
        assert bool((sets.parent[sets.parent] == sets.parent).all())  # flat
        labels.append(sets.labels().tolist())
    return labels, sent


def wanted(drawn: list[np.ndarray]) -> list[list[int]]:
    """Labels of one union-find, of all pairs so far."""
    sets, labels = su.UnionFind._of(N), []
    for pairs in drawn:
        sets.union(*pairs)
        labels.append(sets.labels().tolist())
    return labels


def lists() -> list[np.ndarray]:
    rng, path = np.random.default_rng(7), np.arange(N - 1).repeat(6)  # whole on each of 1, 2 or 3 ranks
    few = [rng.integers(0, N, (2, size)) for size in (5, 0, 7)]
    return [*few, np.stack((path + 1, path))[:, ::-1], few[0]]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_ranks_have_what_any_has_united(ranks: int) -> None:
    drawn = lists()
    for labels, sent in run(lambda comm: found(comm, drawn), ranks):
        assert labels == wanted(drawn)
        assert max(sent[:3]) <= 2 * -(-7 // ranks)  # a root and its parent for each union
        assert sent[1] == sent[4] == 0
        assert sent[3] == N  # parents of all elements


@pytest.mark.gpu
def test_sets_on_cuda() -> None:
    drawn = lists()
    for labels, _ in run(lambda comm: found(comm, drawn, "cuda"), 2):
        assert labels == wanted(drawn)
