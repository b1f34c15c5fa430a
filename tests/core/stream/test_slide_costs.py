"""What a slide costs the host beside its batch: calls of Python, and launches, copies and waits on CUDA."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import suricate
import suricate.stream as st
from suricate.base.devices import resolve_device
from suricate.bench.workloads.short import files_of_calls
from suricate.cuda.kernel import Kernel
from suricate.errors import SelfLoopError
from suricate.intake.ingest import Ingest

HERE, BATCH = str(Path(suricate.__file__).parent), "Graph._update"


def job_over(
    size: int, device: str, xp: Any = np, *, times: bool = False, tracked: str | None = None, named: bool = False
) -> st.Window:
    """A job whose window is full; the next slides are of ``size`` events each, a chunk per slide.

    ``times``: the window is one of times, of which each event has its own, in place of numbers of events. ``named``:
    vertices have names, texts.
    """
    rng = np.random.default_rng(5)
    src, dst = (rng.integers(0, 500, 20 * size).astype(np.uint32) for _ in range(2))
    if named:
        src, dst = np.char.add("n", src.astype(str)), np.char.add("n", dst.astype(str))

    def chunks() -> Iterator[dict[str, Any]]:
        for at in range(0, 20 * size, size):
            ends = {"src": xp.asarray(src[at : at + size]), "dst": xp.asarray(dst[at : at + size])}
            yield {**ends, "time": np.arange(at, at + size)} if times else ends

    graph = {"device": device, "weight_dtype": None, "num_vertices": 0 if named else 500}
    lengths: Any = (str(4 * size), str(size)) if times else (4 * size, size)
    job = st.Window(chunks(), size=lengths[0], slide=lengths[1], graph=graph, names=named or None)
    if tracked is not None:
        job.track(tracked)
    while job.past.events < 8 * size:
        next(job)
    return job


class Calls:
    """Counts calls of functions of the package while a slide closes, but those that the graph makes for its batch."""

    def __init__(self) -> None:
        self.count = self.depth = 0
        self.hidden: int | None = None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            self.depth += 1
            if self.hidden is None:
                self.count += frame.f_code.co_filename.startswith(HERE)
                self.hidden = self.depth if frame.f_code.co_qualname == BATCH else None
        elif event == "return":
            self.hidden = None if self.hidden == self.depth else self.hidden
            self.depth -= 1


def calls_of(job: st.Window) -> int:
    counter, before = Calls(), sys.getprofile()
    sys.setprofile(counter)
    try:
        next(job)
    finally:
        sys.setprofile(before)
    return counter.count


@pytest.mark.compiled
@pytest.mark.parametrize(("device", "most"), [("cpu", 58), pytest.param("cuda", 84, marks=pytest.mark.gpu)])
def test_a_slide_makes_few_calls_beside_its_batch(device: str, most: int) -> None:
    """On CUDA of events that lie on the device."""
    job = job_over(64, device, resolve_device(device).xp)
    assert min(calls_of(job) for _ in range(8)) <= most


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 103),
        ({"times": True}, 112),
        ({"times": True, "tracked": "wcc"}, 200),
        ({"times": True, "named": True}, 346),
    ],
    ids=["counts", "times", "tracker", "names"],
)
def test_a_slide_makes_few_calls_with_its_batch_and_tracker(options: dict[str, Any], most: int) -> None:
    """Those of the package, of NumPy and of Python's library; in some slides arrays grow, which takes more of them."""
    job = job_over(64, "cpu", **options)
    assert min(len(files_of_calls(lambda: next(job))) for _ in range(8)) <= most


@pytest.mark.gpu
@pytest.mark.parametrize("on_device", [True, False])
def test_a_slide_makes_few_launches_and_copies_beside_its_batch(
    on_device: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two kernels of the window, one that checks ids on the device, and else a copy of both ends."""
    xp = resolve_device("cuda").xp
    job, launched, copied = job_over(64, "cuda", xp if on_device else np), list[str](), list[int]()
    launch, copy = Kernel.launch, xp.cuda.runtime.memcpyAsync
    monkeypatch.setattr(Kernel, "launch", lambda self, *args: (launched.append(self.name), launch(self, *args))[1])
    monkeypatch.setattr(job.graphs, "change", lambda *_: pytest.fail("stop"))
    monkeypatch.setattr(xp.cuda.runtime, "memcpyAsync", lambda *args: (copied.append(args[2]), copy(*args))[1])
    with pytest.raises(pytest.fail.Exception, match="stop"):
        next(job)
    launched = [name for name in launched if name != "move_pairs"]  # once in many slides the table is made again
    assert launched == [*["check_ids"] * on_device, "enter_events", "leave_events"]
    assert copied == ([] if on_device else [2 * 64 * 4])


@pytest.mark.gpu
def test_the_host_does_not_wait_for_checks_of_net_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answer = list[Ingest](), Ingest._was_valid  # graphs that rehearse updates in a thread ask as well
    monkeypatch.setattr(Ingest, "_was_valid", lambda self: (asked.append(self), answer(self))[1])
    job = job_over(64, "cuda")
    assert next(job).delta.num_inserted
    assert job.graph.ingest not in asked
    edges = job.graph.edges()
    job.graph.owner = None
    job.graph.delete_edges(edges.src[:9], edges.dst[:9])
    assert asked.count(job.graph.ingest) == 1


@pytest.mark.gpu
def test_self_loops_are_refused_nevertheless() -> None:
    chunks = [{"src": [0, 1], "dst": [1, 0]}, {"src": [1, 2], "dst": [2, 2]}]
    job = st.Window(chunks, size=4, slide=2, graph={"device": "cuda", "self_loops": "error"})
    assert next(job).graph.num_edges == 2
    with pytest.raises(SelfLoopError):
        next(job)
