"""Rehearsals reach their ends on every backend and for every algorithm, and replaced builds compute the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

import suricate as su
from suricate import plugins
from suricate.base.devices import Device
from suricate.cuda import compiler
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.program import Program, _module
from suricate.graph import ahead
from suricate.graph.ahead import VERTICES, Kind, rehearsing, tracking, updates, vertices
from suricate.graph.options import GraphOptions

TEXT = f"/*{compiler.SMALL * '.'}*/\n"  # not small: it has a quick build
TEXT += 'extern "C" __global__ void put(unsigned int* at) { at[threadIdx.x] = %d * threadIdx.x; }'


def kind_of(backend: str | None, device: Device, **options: Any) -> Kind:
    chosen = plugins.default_backend(device) if backend is None else plugins.backend(backend)
    return Kind(su.Graph, GraphOptions(chosen, **options), device)


def test_updates_are_rehearsed_on_every_backend(backend: str, device: Device) -> None:
    with rehearsing():
        assert sum(1 for _ in updates(kind_of(backend, device, weight_dtype="float32"))) >= 4
        assert sum(1 for _ in vertices(kind_of(backend, device, weight_dtype="float32"))) >= 4


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(plugins.algorithms()))
def test_every_algorithm_is_rehearsed_to_the_end(name: str) -> None:
    algorithm = plugins.algorithm(name)
    needs = algorithm.requires
    weights = "float32" if needs.weighted else None
    kind = kind_of(
        None, su.Graph(device="cuda").device, directed=not needs.undirected, in_edges=True, weight_dtype=weights
    )
    with rehearsing():
        assert sum(1 for _ in tracking(kind, algorithm, algorithm.sample_params(VERTICES, 0))) >= 6


@pytest.mark.gpu
def test_a_tracked_graph_is_rehearsed_once_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_AHEAD", "1")
    rehearsals, noted = ahead._Rehearsals(), []
    monkeypatch.setattr(ahead, "REHEARSALS", rehearsals)
    monkeypatch.setattr(ahead.cache, "get", lambda name: None)
    monkeypatch.setattr(ahead.cache, "put", lambda name, content: name.startswith("rehearsed-") and noted.append(name))
    graph = su.Graph(10, device="cuda")
    trackers = [graph.track("bfs", source=3), graph.track("bfs", source=4)]
    rehearsals.wait()
    assert rehearsals.failed == []
    assert all(tracker.updates.failed == 0 for tracker in trackers)
    assert len(noted) == 5, "batches, large ones, vertices, each of the two searches; none of the graphs of rehearsals"
    again = su.Graph(10, device="cuda").track("bfs", source=3)
    rehearsals.wait()
    assert len(noted) == 5
    assert again.result.level[3] == 0


@pytest.mark.gpu
def test_launches_take_the_final_build_when_it_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import cupy

    monkeypatch.setenv("SURICATE_AHEAD", "1")
    monkeypatch.setenv("SURICATE_BUILDS", "final")
    source = tmp_path / "put.cu"
    source.write_text(TEXT % int.from_bytes(str(tmp_path).encode()[-3:]))  # a text that no cache holds
    program, factor = Program(source), int.from_bytes(str(tmp_path).encode()[-3:])
    kernel, at = program.kernel("put"), cupy.zeros(32, "uint32")
    prepared = PreparedKernel(kernel, 1, 32, (at,))
    before = prepared.function
    for launch in (lambda: kernel((1,), (32,), (at,)), prepared.launch):
        at[:] = 7
        launch()
        assert at.get().tolist() == [factor * i for i in range(32)]
    compiler.POOL.wait()
    if compiler._has_quick_builds():
        assert prepared.function != before
    assert _module(program).is_final
    for launch in (lambda: kernel((1,), (32,), (at,)), prepared.launch):
        at[:] = 7
        launch()
        assert at.get().tolist() == [factor * i for i in range(32)]


@pytest.mark.gpu
def test_the_first_update_waits_for_rehearsals_and_later_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURICATE_AHEAD", "1")
    rehearsals, go, steps = ahead._Rehearsals(), threading.Event(), list[str]()

    def slow(*given: Any) -> Iterator[None]:
        go.wait(PATIENCE)
        steps.append("rehearsed")
        yield

    monkeypatch.setattr(ahead, "REHEARSALS", rehearsals)
    monkeypatch.setattr("suricate.graph.tracker.REHEARSALS", rehearsals)
    monkeypatch.setattr(ahead.cache, "get", lambda name: None)
    for name in ("updates", "vertices"):
        monkeypatch.setattr(ahead, name, slow)
    monkeypatch.setattr(ahead, "tracking", slow)
    graph = su.Graph(10, device="cuda")
    tracker = graph.track("bfs", source=0)
    threading.Timer(0.2, go.set).start()
    graph.insert_edges([0], [1])
    assert steps == ["rehearsed"] * 4, "batches, large batches, vertices, and the search"
    assert tracker.result.level.get().tolist()[:2] == [0, 1]

    go.clear()
    monkeypatch.setattr(ahead, "FIRST_UPDATE", 0.1)
    graph.track("wcc")
    began = time.monotonic()
    graph.insert_edges([1], [2])
    assert 0.1 <= time.monotonic() - began < PATIENCE / 2, "no longer than that, however long a rehearsal takes"
    assert not rehearsals.are_new
    assert len(steps) == 4
    go.set()
    rehearsals.wait()


def test_rehearsals_have_all_that_a_pace_offers():
    from suricate.graph.ahead import Unpaced
    from suricate.plugins.pace import Pace

    methods = {name for name, each in vars(Pace).items() if callable(each) and not name.startswith("_")}
    assert methods <= {*dir(Unpaced)}
