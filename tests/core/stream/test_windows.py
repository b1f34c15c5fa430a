"""Windows against a brute-force model of the same rule, slide by slide, however the stream is cut into chunks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from ring_check import check_ring
from window_model import Closed, Event, model

import suricate as su
import suricate.stream as st
from suricate.errors import CapacityError, VertexRangeError
from suricate.stream.history import History
from suricate.windows.events import Events
from suricate.windows.ring import Ring, linked
from suricate.windows.ring.linked import COMBINE

EVENTS = hs.lists(
    hs.builds(
        Event,
        hs.integers(-9, 40),
        hs.integers(0, 3),
        hs.integers(0, 3),
        hs.integers(-3, 3),
        hs.sampled_from([1, 1, 1, -1, 0]),
    ),
    max_size=40,
)


def chunks_of(events: list[Event], cuts: list[int], *, floats: bool = False) -> list[dict[str, np.ndarray]]:
    """The events as chunks, cut at some places."""
    ends = sorted({0, len(events), *(cut % (len(events) + 1) for cut in cuts)})
    parts = [events[begin:end] for begin, end in itertools.pairwise(ends)]
    return [
        {
            "time": np.array([e.time for e in part]), "src": np.array([e.src for e in part]),
            "dst": np.array([e.dst for e in part]), "kind": np.array([e.kind for e in part]),
            "weight": np.array([e.weight for e in part], np.float64 if floats else np.int64),
        }
        for part in parts
    ]  # fmt: skip


def ids_by_rule(slides: list[Closed]) -> list[dict[int, int]]:
    """The ids of names after each slide: the lowest that earlier slides freed, in the order of first live events."""
    ids: dict[int, int] = {}
    free: list[int] = []
    most, shown = 0, []
    for slide in slides:
        for name in (name for pair in slide.live for name in pair):
            if name not in ids:
                ids[name] = free.pop(0) if free else most
                most = max(most, ids[name] + 1)
        alive = {name for pair in slide.live for name in pair}
        free = sorted([*free, *(ids.pop(name) for name in [*ids] if name not in alive)])
        shown.append(dict(ids))
    return shown


def edges_of(graph: su.Graph) -> dict[tuple[int, int], float]:
    """The weighted edges of a graph."""
    src, dst, weight = graph.edges()
    values = [1.0] * len(src) if weight is None else graph.device.to_numpy(weight).tolist()
    return dict(zip(zip(src.tolist(), dst.tolist(), strict=True), values, strict=True))


@settings(max_examples=150)
@given(
    events=EVENTS,
    cuts=hs.lists(hs.integers(0, 40), max_size=5),
    size=hs.one_of(hs.none(), hs.integers(1, 17)),
    slide=hs.integers(1, 7),
    lateness=hs.one_of(hs.just(0), hs.integers(0, 25)),
    origin=hs.integers(0, 3),
    combine=hs.sampled_from([*COMBINE]),
    directed=hs.booleans(),
)
def test_slides_are_those_of_the_rule(events, cuts, size, slide, lateness, origin, combine, directed) -> None:
    if size is not None:
        slide = min(slide, size)
    expected = model(
        events, size=size, slide=slide, lateness=lateness, origin=origin, combine=combine, directed=directed
    )
    job = st.Window(
        chunks_of(events, cuts), size=None if size is None else str(size), slide=str(slide), lateness=str(lateness),
        origin=str(origin), combine=combine, graph={"device": "cpu", "directed": directed, "weight_dtype": "float64"},
    )  # fmt: skip
    found = []
    for w in job:
        found.append((w.end, edges_of(w.graph), w.events))
        check_ring(job.contents.ring)
        w.graph.check()
    assert found == [(each.end, each.edges, each.events) for each in expected]
    if expected:
        assert job.late >= expected[-1].late


@pytest.mark.parametrize("kind", ["texts", "numbers"])
@settings(max_examples=60)
@given(
    events=EVENTS, cuts=hs.lists(hs.integers(0, 40), max_size=5), size=hs.one_of(hs.none(), hs.integers(1, 17)),
    slide=hs.integers(1, 7), lateness=hs.integers(0, 12), directed=hs.booleans(),
)  # fmt: skip
def test_names_have_ids_while_their_events_are_live(events, cuts, size, slide, lateness, directed, kind) -> None:
    slide = slide if size is None else min(slide, size)
    expected = model(events, size=size, slide=slide, lateness=lateness, directed=True)
    name = {"texts": lambda number: f"name {number}", "numbers": lambda number: number * 10**12 - 7}[kind]
    chunks = chunks_of(events, cuts)
    for chunk in chunks:
        for end in ("src", "dst"):
            chunk[end] = np.array([name(int(number)) for number in chunk[end]])
    job = st.Window(
        chunks, size=None if size is None else str(size), slide=str(slide), lateness=str(lateness), names=True,
        graph={"device": "cpu", "directed": directed, "weight_dtype": "float64"},
    )  # fmt: skip
    for w, slide_of, ids in itertools.zip_longest(
        job, expected if directed else [], ids_by_rule(expected) if directed else []
    ):
        names = job.names
        assert names is not None
        names.check()
        found = {(names[u], names[v]) for u, v in edges_of(w.graph)}
        if directed:
            assert (w.end, w.events) == (slide_of.end, slide_of.events)
            assert found == {(name(u), name(v)) for u, v in slide_of.edges}
            assert {names[i]: i for i in names.ids.tolist()} == {name(each): i for each, i in ids.items()}
        assert sorted(w.graph.live_vertices.tolist()) == names.ids.tolist()
        assert {end for pair in found for end in pair} == set(names)
    if not directed and expected:
        edges = model(events, size=size, slide=slide, lateness=lateness, directed=False)[-1].edges
        assert job.history["edges"][-1] == len(edges)


def test_slides_on_every_backend_and_device(backend: str, device: su.devices.Device) -> None:
    rng = np.random.default_rng(5)
    columns = (
        rng.integers(0, 60, 300),
        *rng.integers(0, 9, (2, 300)),
        rng.integers(1, 9, 300),
        rng.choice([1, 1, 1, -1, 0], 300),
    )
    events = [Event(*map(int, row)) for row in zip(*columns, strict=True)]
    expected = model(events, size=12, slide=4, lateness=9, combine="sum")
    job = st.Window(
        chunks_of(events, [100, 200]), size="12", slide="4", lateness="9", combine="sum", names=True,
        graph={"device": str(device), "backend": backend},
    )  # fmt: skip
    parts = job.track("wcc")
    for w, each in zip(job, expected, strict=True):
        names = job.names
        assert names is not None
        assert {(int(names[u]), int(names[v])): weight for (u, v), weight in edges_of(w.graph).items()} == each.edges
        assert parts.result.num_components == _components(each.edges)
        w.graph.check()


@pytest.mark.parametrize("over", ["out", "in"])
def test_weighted_degrees_are_sums_of_the_events_in_the_window(device: su.devices.Device, over: str) -> None:
    rng = np.random.default_rng(6)
    time, weight = np.sort(rng.integers(0, 200, 900)), rng.integers(1, 99, 900)
    src, dst = rng.integers(0, 25, (2, 900))
    columns = {"time": time, "src": src, "dst": dst, "weight": weight}
    chunks = [{name: part[begin : begin + 70] for name, part in columns.items()} for begin in range(0, 900, 70)]
    graph = {"device": str(device), "in_edges": True}
    job = st.Window(chunks, size="30", slide="10", combine="sum", graph=graph)
    tracker, ends = job.track("degree", over=over, weighted=True), []
    for w in job:
        inside = (w.end - 30 <= time) & (time < w.end)
        wanted = np.bincount((src if over == "out" else dst)[inside], weight[inside], w.graph.num_vertices)
        np.testing.assert_array_equal(device.to_numpy(tracker.result), wanted)
        ends.append(w.end)
    assert ends == [*range(10, 210, 10)]


def _components(edges: dict[tuple[int, int], float]) -> int:
    root = {end: end for pair in edges for end in pair}
    for u, v in edges:
        a, b = root[u], root[v]
        root = {end: a if of == b else of for end, of in root.items()}
    return len(set(root.values()))


def test_history_is_a_frame_of_the_newest_slides() -> None:
    source = {"src": np.zeros(60, int), "dst": np.arange(60)}
    job = st.Window(source, size=9, slide=3, graph={"device": "cpu"})
    job.past = History(kept=7)
    latest = [w.end for w in job][-7:]
    assert job.history["end"].tolist() == latest
    assert {"events", "late", "lag", "edges", "graph_bytes", "window_bytes", "total"} <= {*job.history.columns}
    assert job.history["graph_bytes"].min() > 0
    assert (job.past.slides, job.past.events) == (20, 60)
    assert len(job.history.to_pandas()) == 7


def test_pairs_are_found_while_lines_of_the_table_are_full() -> None:
    rng, ring = np.random.default_rng(5), Ring("last", None)
    count = len(ring._pairs.table) // linked.LINE
    with np.errstate(over="ignore"):
        homes = [linked.line_of(ring._pairs.table, linked.tag_of(np.uint64(key))) for key in range(1 << 14)]
    near = np.flatnonzero((np.array(homes) + 4) % count < 6)[:100].astype(np.uint32)  # around the end of the table
    entered: list[tuple[int, int]] = []
    crowded = 0
    for now in range(150):
        keys = rng.choice(near, rng.integers(0, 14))
        before = {key for _, key in entered}
        cutoff = now - int(rng.integers(3, 12))
        entered = [each for each in entered if each[0] >= cutoff] + [(now, key) for key in keys.tolist()]
        live = {key for _, key in entered}
        change = ring.slide(Events(np.full(len(keys), now), np.zeros(len(keys), np.uint32), keys), cutoff)
        assert set(change.gone[1].tolist()) == before - live
        assert set(change.new[1].tolist()) == live - before
        check_ring(ring)
        crowded += bool((ring._pairs.table.reshape(-1, linked.LINE)[:, : linked.TAGS] != linked.FREE).all(1).any())
    assert crowded > 50


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("self_loops", ["allow", "drop", "error"])
def test_large_slides_treat_self_loops_as_batches_do(self_loops, directed) -> None:
    rng = np.random.default_rng(8)
    src, dst = rng.integers(0, 150, (2, 15_000))
    graph = {"device": "cpu", "directed": directed, "weight_dtype": None, "self_loops": self_loops}
    job = st.Window({"src": src, "dst": dst}, size=10_000, slide=6_000, graph=graph, at_end="hold")
    if self_loops == "error":
        with pytest.raises(su.errors.SelfLoopError, match="self-loop"):
            next(job)
        return
    tracker = job.track("wcc")
    for w in job:
        held = slice(max(0, w.end - 10_000), w.end)
        pairs = {(u, v) if directed else (min(u, v), max(u, v)) for u, v in zip(src[held], dst[held], strict=True)}
        wanted = {(u, v) for u, v in pairs if u != v or self_loops == "allow"}
        assert {*edges_of(w.graph)} == wanted
        w.graph.check()
        assert tracker.result.num_components == 1 + w.graph.num_vertices - len({v for pair in wanted for v in pair})
    assert job.slides == 2


def test_sparse_integers_that_do_not_fit_are_told_of_names() -> None:
    events = {"src": [3_000_000_001, 7, 3_900_000_000], "dst": [7, 3_900_000_000, 7]}
    options: dict[str, Any] = {"size": 3, "slide": 1, "graph": {"device": "cpu", "memory_limit": 1 << 20}}
    job = st.Window(events, **options)
    for _ in range(2):  # the slide is tried again
        with pytest.raises(CapacityError, match=r"id 3000000001 makes it 3000000002 vertices.*names=True \(--names\)"):
            next(job)
    assert [w.graph.num_live for w in st.Window(events, names=True, **options)] == [2, 3, 3]
    dense = {"src": np.arange(200_000), "dst": np.arange(200_000)}
    with pytest.raises(CapacityError) as caught:
        next(st.Window(dense, **options | {"size": 200_000, "slide": 200_000}))
    assert "names" not in str(caught.value)
    for far in (-1, 2**40):
        with pytest.raises(VertexRangeError, match=rf"src: {far} is no id.*names=True \(--names\)"):
            next(st.Window({"src": [0, far], "dst": [1, 1]}, **options))
