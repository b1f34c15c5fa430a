"""Steps of a search that pull: all blocks share the rows of hubs that are reached late. Kernels run on the CPU."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import emulated_programs
import numpy as np
import pytest
from emulated import GXX, kernel
from launches import FakeArray, FakePrepared, array, fake_cupy
from operator_cases import late_hubs
from operator_launches import FakeGraph, call_of

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.cuda.program import Program
from suricate.operators import binding
from suricate.operators.call import Start
from suricate.operators.cuda import driver, launches
from suricate.operators.cuda.loops import loop_memory
from suricate.operators.cuda.push import propagate
from suricate.state.frontier import Frontier

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GXX is None, reason="g++ is not installed")]

BLOCKS, FIRST, ROW = 4, 2000, 6_700
HUBS = 3  #: side by side, so that one block looks at all of them
N = 1 + FIRST + HUBS + HUBS * ROW
FAR = 1 << 20
ARCS = 'extern "C" { unsigned long long arcs_of_block[64]; }\n#define noted(call) (++arcs_of_block[blockIdx.x], call)\n'
#: of cursors: one neighbour each
VISITS = (
    "f(word[c], slot + c)", "f(g.dst[i], i)", "f(v[k], i)",
    "f(v0, i)", "f(v1, i + LANES)", "f(v2, i + 2 * LANES)", "f(v3, i + 3 * LANES)",
)  # fmt: skip


def further(u, v, w, level):
    return level[u] + 1


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], np.ndarray]:
    """Run kernels on the CPU; returns a function that returns how many arcs each block has walked."""
    counters: dict[str, ctypes.Array[ctypes.c_ulonglong]] = {}
    library = emulated_programs.library

    def counting(text: str) -> ctypes.CDLL:
        for visit in VISITS:
            text = text.replace(visit, f"noted({visit})")
        found = library(ARCS + text)
        if text not in counters:
            counters[text] = arcs = (ctypes.c_ulonglong * 64).in_dll(found, "arcs_of_block")
            arcs[:] = [0] * 64
        return found

    monkeypatch.setattr(emulated_programs, "library", counting)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(Program, "kernel", kernel)
    monkeypatch.setattr(propagate, "PreparedKernel", FakePrepared)
    for module in (launches, loop_memory):
        monkeypatch.setattr(module, "multiprocessors", lambda index: BLOCKS)

    return lambda: np.sum([arcs[:BLOCKS] for arcs in counters.values()], axis=0)


@pytest.mark.parametrize("once", ["equal", "final"])
@pytest.mark.parametrize(("backend", "directed"), [("slabhash", False), ("slabhash", True), ("csr_baseline", True)])
def test_a_block_walks_its_share_of_the_rows_of_hubs(
    walked: Callable[[], np.ndarray], backend: str, directed: bool, once: str
) -> None:
    src, dst = late_hubs(FIRST, HUBS, ROW)
    graph = su.Graph(N, backend=backend, device="cpu", directed=directed, in_edges=directed)
    graph.insert_edges(src, dst)
    graph.delete_edges(src[-200:-100], dst[-200:-100])
    graph.delete_vertices(src[-300:-297])
    fake, level = FakeGraph(graph), array(N, np.int64)
    level[:], level[0] = FAR, 0
    call = call_of(fake, binding.bind_push(graph, further, (level,), "min", level, None))
    start = Start((Frontier._of(fake.device, np.zeros(1, np.uint32).view(FakeArray), None, num_vertices=N),))
    driver.propagate.__wrapped__(fake, call, start, level, "out", N, False, once)
    u, v = (np.asarray(part) for part in graph.edges()[:2])
    ends = (u, v) if directed else (np.append(u, v), np.append(v, u))
    right = BFS.reference(*ends, None, N, True).level
    assert level.tolist() == np.where(right < 0, FAR, right).tolist()
    arcs = walked()
    assert arcs.sum() > HUBS * ROW / 3, "rows of hubs were walked"
    assert arcs.max() < (9_000 if directed else 23_000), f"{arcs}: hubs have 20,100 arcs, undirected ones push, too"
