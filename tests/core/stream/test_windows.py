"""Windows against a brute-force model of the same rule, slide by slide, however the stream is cut into chunks."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as hs
from window_model import Event, model

import suricate as su
import suricate.stream as st
from suricate.stream.ring_loops import COMBINE

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
        job._ring.check()
        w.graph.check()
    assert found == [(each.end, each.edges, each.events) for each in expected]
    if expected:
        assert job.late >= expected[-1].late
