"""What pushes and the dependence forest launch on CUDA, without a GPU: every kernel gets the arguments it declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launches import array
from operator_launches import FakeGraph, _faked, call_of, launched

import suricate as su
from suricate.base.types import EMPTY, ArcList
from suricate.edgefn import EDGE, argument_of, compile_function
from suricate.kernels.walking import walk_of
from suricate.operators import binding
from suricate.operators.call import Call, Start
from suricate.operators.cuda import driver
from suricate.operators.cuda.loops.loop_memory import LoopMemory
from suricate.repair.cuda import repairs as forest
from suricate.state.frontier import Frontier

BACKENDS = ("csr_baseline", "hornet_like", "slabhash", "blocked", "gpma")


def farther(u, v, w, x):
    return x[u] + w


def joins(v, step, x):
    return x[v] > step


def offer(u, v, w, words):
    return words.distance[u] + w, u


def unreached(v, words):
    return EMPTY, EMPTY


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found = launched(monkeypatch)
    monkeypatch.setattr("suricate.operators.cuda.loops.loop_memory.multiprocessors", lambda index: 132)
    return found


@pytest.fixture(params=BACKENDS)
def graph(request: pytest.FixtureRequest) -> su.Graph:
    return su.Graph(10_000, backend=request.param, device="cpu", in_edges=True, weight_dtype="float32")


def pushed(fake: Any, then: Any = None) -> tuple[Call, Any]:
    """Return a call, and what it reduces into."""
    out = array(fake.num_vertices, np.float64)
    bound = binding.bind_push(fake._graph, farther, (np.empty(10_000),), "min", np.empty(10_000), then)
    return call_of(fake, bound), out


def ids(fake: Any, count: int, *, distinct: bool = True) -> Frontier:
    return Frontier._of(
        fake.device, array(count, np.uint32), array(1, np.uint32), num_vertices=fake.num_vertices, distinct=distinct
    )


def arcs(size: int) -> ArcList:
    return ArcList(
        array(size, np.uint32), array(size, np.uint32), array(size, np.float32), array(size, np.uint8), 1, size
    )


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("scheme", ["auto", "vertex", "bucket"])
def test_advance(graph: su.Graph, kernels: list[str], over: str, scheme: str) -> None:
    fake = FakeGraph(graph)
    call, out = pushed(fake)
    frontier = driver.advance(fake, call, Start((ids(fake, 5),), (arcs(7),)), out, over, scheme)
    assert frontier.known_count is None
    assert kernels[0] == "push_edges"
    assert kernels.count("push_heavy_buckets") == (2 if over == "both" else 1)


def test_unions_are_merged_first(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    call, out = pushed(fake)
    start = Start((ids(fake, 5), ids(fake, 9)))
    driver.advance(fake, call, start, out, "out", "vertex")
    assert kernels == ["merge_vertices", "push_vertices", "push_heavy_buckets"]
    del kernels[:]
    driver.propagate(fake, call, start, out, "out", 10, False, "")
    assert kernels == ["merge_vertices", "propagate"]


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("then", [None, joins])
def test_propagate_is_one_launch(graph: su.Graph, kernels: list[str], over: str, layers: bool, then: Any) -> None:
    fake = FakeGraph(graph)
    call, out = pushed(fake, then)
    start = Start((ids(fake, 5),), (arcs(7), arcs(3)))
    done = driver.propagate(fake, call, start, out, over, 10, layers, "")
    assert kernels == ["propagate"]
    assert (done.layers is not None) == layers


@pytest.mark.parametrize("over", ["out", "in", "both"])
@pytest.mark.parametrize("once", ["final", "equal"])
def test_steps_may_pull_from_the_reverse_view(graph: su.Graph, kernels: list[str], over: str, once: str) -> None:
    fake, made = FakeGraph(graph), []
    call, out = pushed(fake, joins)
    start = Start((ids(fake, 5),))

    def views_of(given: Any) -> Any:
        made.append(given)
        return walk_of(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suricate.operators.cuda.push.propagate.walk_of", views_of)
        driver.propagate.__wrapped__(fake, call, start, out, over, 10, False, once)
        fake.has_in_edges = False
        driver.propagate.__wrapped__(fake, call, start, out, over, 10, False, once)
    assert kernels == ["propagate"] * 2
    first = {"out": ("out", "in"), "in": ("in", "out"), "both": ("out", "in")}[over]
    assert made[:2] == [fake.view(one) for one in first]
    assert len(made) == (4 if over == "both" else 3)


def test_two_phases_of_one_step(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    call, out = pushed(fake, joins)
    frontier = driver.advance(fake, call, Start((ids(fake, 5),)), out, "out", "auto")
    assert kernels == ["propagate"]
    assert frontier.known_count is None


def test_many_lists_of_arcs_are_joined(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    fake.device.xp.concatenate = lambda parts: array(sum(map(len, parts)), parts[0].dtype)
    fake.device.xp.ones = array
    call, out = pushed(fake)
    driver.propagate(fake, call, Start((), tuple(arcs(k) for k in (4, 5, 6, 7))), out, "out", 10, False, "")
    assert kernels == ["propagate"]


def test_nothing_to_start_from(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    call, out = pushed(fake)
    assert len(driver.advance(fake, call, Start(()), out, "out", "auto")) == 0
    assert driver.propagate(fake, call, Start((ids(fake, 0),)), out, "out", 10, True, "").converged
    assert not kernels


@pytest.mark.parametrize("ordered", [False, True])
def test_forest_is_one_launch(graph: su.Graph, kernels: list[str], ordered: bool) -> None:
    fake = FakeGraph(graph)
    fake.has_in_edges = True  # type: ignore[attr-defined]
    words = graph.words(keys={"distance": "float32"}, payload={"parent": "uint32"})
    words.data = _faked(words.data)
    arguments = (argument_of(words),)
    function, restart = (
        compile_function(fn, arguments, weight_dtype=graph.weight_dtype, leading=leading, result_layout=words.layout)
        for fn, leading in ((offer, EDGE), (unreached, ("v",)))
    )
    call = Call(function, (words,), "argmin", None, None, restart, words.layout)
    width = 2.0 if ordered else None
    violated = array(1, np.uint32)
    repairs = forest.Repairs(fake, call, words, violated, False)
    repairs.run(ids(fake, 1), (None, None, None), width)
    repairs.run(None, (arcs(4), None, arcs(0)), width)
    words.data, fake._views = _faked(words.data), {}
    repairs.run(None, (None, None, arcs(3)), None)
    assert kernels == ["repair"] * 3


def test_memory_of_loops_is_packed_once(graph: su.Graph, kernels: list[str]) -> None:
    fake = FakeGraph(graph)
    memory = fake.workspace.state(LoopMemory)
    assert memory.of(fake) is memory.of(fake)
    before = memory.of(fake)
    fake.num_vertices = 50_000
    assert memory.of(fake) is not before


class Stuck:
    """An event of a loop that only ends when it is told to."""

    def __init__(self, memory: Any) -> None:
        self.memory, self.flags = memory, []

    def record(self) -> None:
        """Do nothing."""

    @property
    def done(self) -> bool:
        raise KeyboardInterrupt

    def synchronize(self) -> None:
        """Note what the kernel would read."""
        self.flags.append(int(self.memory._abort.array[0]))


def test_an_interrupt_ends_loops(graph: su.Graph) -> None:
    fake = FakeGraph(graph)
    memory = fake.workspace.state(LoopMemory)
    event = Stuck(memory)
    fake.device.xp.cuda.Event = lambda **options: event
    with pytest.raises(KeyboardInterrupt):
        memory.wait()
    assert event.flags == [1]
    assert memory._abort.array[0] == 0
