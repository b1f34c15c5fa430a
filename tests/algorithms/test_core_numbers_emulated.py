"""Core numbers on CUDA: the kernels, run on the CPU, keep what they know of every vertex right."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from emulated import GXX, kernel
from launches import FakePrepared, array, fake_cupy
from operator_launches import FakeGraph

import suricate as su
from suricate.algorithms.directed_kcore import DirectedKCore
from suricate.algorithms.kcore import KCore, core_numbers
from suricate.algorithms.kcore.core_numbers import CoreNumbers
from suricate.base.types import ArcList
from suricate.cuda.program import Program
from suricate.generate import rmat
from suricate.kernels import arcs as launches_of_arcs

pytestmark = [pytest.mark.slow, pytest.mark.compiled, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]
Edges = tuple[np.ndarray, np.ndarray]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    monkeypatch.setattr(launches_of_arcs, "PreparedKernel", FakePrepared)
    monkeypatch.setattr(core_numbers, "resident_blocks", lambda *args: 3)


def arcs_of(edges: Edges, directed: bool = False) -> ArcList:
    """Return both arcs of each edge, or those of a directed graph."""
    pairs = edges if directed else (np.concatenate(edges), np.concatenate(edges[::-1]))
    ends = [array(len(part), np.uint32) for part in pairs]
    ends[0][:], ends[1][:] = pairs
    return ArcList(*ends, None, None, 0, len(ends[0]))


def check(graph: su.Graph, numbers: CoreNumbers) -> None:
    """The numbers are right, and so is what is counted of the order."""
    n = graph.num_vertices
    src, dst = (np.asarray(part).astype(np.int64) for part in graph.edges()[:2])
    both = np.append(src, dst[src != dst]), np.append(dst, src[src != dst])
    of_directed = DirectedKCore.reference(src, dst, None, n, True)
    wanted = of_directed if graph.directed else KCore.reference(*both, None, n, False)
    src, dst = both
    core, place = np.asarray(numbers.core).astype(np.int64), np.asarray(numbers._place).astype(np.int64)
    assert core.tolist() == wanted.core.tolist()
    assert not numbers._sums.any()
    if not numbers._kept[3]:
        return
    src, dst = src[src != dst], dst[src != dst]
    assert np.bincount(dst[core[src] >= core[dst]], minlength=n).tolist() == numbers._support.tolist()
    after = (core[src] > core[dst]) | ((core[src] == core[dst]) & (place[src] >= place[dst]))
    later = np.bincount(dst[after], minlength=n)
    assert later.tolist() == numbers._later.tolist()
    assert (later <= core).all()


CASES: list[tuple[str, int, Edges]] = [
    ("rmat", 1 << 9, rmat(9, 24, seed=2)[:2]),
    ("clique", 170, np.divmod(np.arange(170 * 170), 170)),  # larger than the lists of parts
    ("hubs", 700, (np.arange(2800) % 4, np.arange(2800) // 4)),
    ("path", 300, (np.arange(299), np.arange(1, 300))),
]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("name", "n", "edges"), CASES, ids=[case[0] for case in CASES])
def test_batches(name: str, n: int, edges: Edges, directed: bool) -> None:
    rng = np.random.default_rng(5)
    graph = su.Graph(n, backend="slabhash", device="cpu", directed=directed, in_edges=directed, self_loops="allow")
    graph.insert_edges(*map(np.asarray, edges))
    fake = FakeGraph(graph)
    numbers = CoreNumbers(fake.device)  # type: ignore[arg-type]
    numbers.compute(fake)  # type: ignore[arg-type]
    check(graph, numbers)
    for k in (1, 9, 60, 300, 5):
        held = graph.edges()
        at = rng.permutation(len(held.src))[:k]
        gone = held.src[at], held.dst[at]
        graph.delete_edges(*gone)
        fake._views.clear()
        numbers.update(fake, arcs_of(gone, directed))  # type: ignore[arg-type]
        check(graph, numbers)
        come = tuple(np.concatenate((part[::2], rng.integers(0, n, k // 2).astype(np.uint32))) for part in gone)
        done = graph.insert_edges(*come)
        fake._views.clear()
        numbers.update(fake, inserted=arcs_of((done.inserted.src, done.inserted.dst), directed))  # type: ignore[arg-type]
        check(graph, numbers)


def test_an_update_that_gives_up_is_computed_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """One vertex may be served: ``maintain`` gives up, ``peel`` behind it computes; the next update counts anew."""
    monkeypatch.setattr(core_numbers, "FEW", 0)
    monkeypatch.setattr(core_numbers, "CUDA_SHARE", 1 << 8)
    n, edges = 1 << 8, rmat(8, 16, seed=3)[:2]
    graph = su.Graph(n, backend="slabhash", device="cpu", directed=False)
    graph.insert_edges(*edges)
    fake = FakeGraph(graph)
    numbers = CoreNumbers(fake.device)  # type: ignore[arg-type]
    numbers.compute(fake)  # type: ignore[arg-type]
    within = []
    for k in (60, 1, 60, 0, 1):
        held = graph.edges()
        gone = held.src[:k], held.dst[:k]
        graph.delete_edges(*gone)
        fake._views.clear()
        numbers.update(fake, arcs_of(gone))  # type: ignore[arg-type]
        check(graph, numbers)
        within.append(bool(numbers._kept[3]))
    assert {True, False} <= {*within}
