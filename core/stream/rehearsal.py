"""A job over a live source, on the CPU, compiles before its first slide what later slides can need.

A tiny job of the same kind is run: the same rules, columns and trackers over drawn events, in slides of which few, many
or all events are new, or none. What it calls is compiled, or loaded. A note on disk says which kinds of jobs were
rehearsed, with the state of all sources, so that later processes do not repeat it. ``SURICATE_AHEAD=0``: no rehearsal.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import SuricateError
from suricate.base.types import DELETE, INSERT, SET
from suricate.graph.ahead import EDGES, FIRST, PLAIN, REHEARSALS, SHAPES, VERTICES, Kind, following, updates, vertices
from suricate.intake.name_values import TEXT
from suricate.intake.names import Names
from suricate.primitives.sorting import LARGE

if TYPE_CHECKING:
    from suricate.stream.contents import Contents
    from suricate.stream.tracking import JobTracker
    from suricate.stream.window import Window

SIZE = 4  #: slides that the window of the tiny job holds
FEW, SOME, MANY, ALL, HUGE = 3, 100, 2_000, 6_000, 4 * LARGE  #: events of a slide
TURNOVERS = (
    ALL, *([FEW] * 8), ALL, MANY, MANY, MANY, SOME, SOME, *([FEW] * 6), *([0] * SIZE), ALL, FEW, FEW, ALL, ALL,
)  # fmt: skip
LARGE_TURNOVERS = (HUGE, FEW, FEW, SOME, SOME, HUGE // 8, FEW, HUGE, HUGE, FEW)
#: options of a window that say which events there are, not what is done with them
REPLACED = {
    "slide": "1", "lateness": 0, "ahead": None, "late": "drop", "origin": 0, "empty": "emit", "at_end": "close",
    "idle": None,
}  # fmt: skip


def rehearse(job: Window, chunk: Mapping[str, Any]) -> None:
    """Compile what later slides of ``job`` can call, unless that was done before; it has taken its first ``chunk``.

    Nobody waits for a slide of files and tables: they would pay for what they may never call. A rehearsal that fails
    reports nothing: what it has not called is compiled when it is called.
    """
    from numba.core import config  # late: a job on CUDA may do without

    graphs, kinds = job.graphs, "kind" in chunk
    is_alone = graphs.options.get("comm") is None
    if job._source.live and is_alone and not graphs.device.is_cuda and not config.DISABLE_JIT:
        REHEARSALS.here(f"{_name(job)} {kinds}", graphs.device, lambda: _slides(job, kinds=kinds))


def _name(job: Window) -> str:
    """Return a text that two jobs share if they call the same functions with arguments of the same types."""
    intake, names, options = job.contents.intake, job.contents.names, job._options
    kinds = intake.weight_dtype, intake.attributes.dtype, sorted(intake.attributes.texts)
    window = options.combine, options.size is None, options.attributes, None if names is None else names.kind
    trackers = [(one.kind, one.every == 1, one.symmetric, sorted(_params(one))) for one in job.graphs.trackers]
    files = [inspect.getfile(one.kind) for one in job.graphs.trackers]
    return f"job {window} {kinds} {_graph_options(job)} {trackers} {files}"


def _graph_options(job: Window) -> dict[str, Any]:
    return {name: each for name, each in job.graphs.options.items() if name not in ("num_vertices", "memory_limit")}


def _slides(job: Window, *, kinds: bool) -> Iterator[None]:
    """Run tiny jobs of the kind of ``job``; each ``yield`` ends a slide."""
    given = job._options
    if job.contents.names is not None and job.contents.names.kind == TEXT:
        rehearse_names()
    options: dict[str, Any] = {each.name: REPLACED.get(each.name, getattr(given, each.name)) for each in fields(given)}
    options["size"] = None if given.size is None else str(SIZE)
    if given.half_life is not None:
        options |= {"combine": "sum", "half_life": None}
    for counts in (TURNOVERS, LARGE_TURNOVERS):
        tiny = type(job)(
            _drawn(job.contents, counts, kinds=kinds), names=job.names is not None, graph=_graph_options(job), **options
        )
        for one in job.graphs.trackers:
            params = _params(one) if job.names is None else one.given  # any name can be reserved
            tiny.track(one.kind, every=min(one.every, 2), symmetric=one.symmetric, **params)
        for _ in tiny:
            for tracker in tiny.graphs.trackers:
                with suppress(SuricateError):  # that a user may get: a centrality does not converge
                    assert tracker.result is not None
            yield
    for one in tiny.graphs.trackers:  # in sparse and dense windows, by updates and from scratch
        graph = tiny.graphs.twin.graph if one.symmetric and tiny.graphs.twin is not None else tiny.graph
        kind = Kind(type(graph), graph.options, graph.device)
        for shape in SHAPES:
            yield from following(kind, one.kind, _params(one, shape[0]), *shape)
    kind = Kind(type(tiny.graph), tiny.graph.options, tiny.graph.device)
    for size, first in ((EDGES, FIRST), (LARGE, LARGE)):
        yield from updates(kind, size, first)
    graph = kind.graph(16 * VERTICES)  # with room for new edges at many vertices, which is then given back
    graph.insert_edges(*kind.edges(np, 2 * LARGE, 16 * VERTICES))
    graph.compact()
    yield from vertices(kind)


def rehearse_names() -> None:
    """Call what names that are texts need: as many come and go as make their table grow and the texts move."""
    names = Names("text")
    for slide in range(4):
        names.release(names.add([f"{slide} {number:200}" for number in range(2000)]))
        names.next_slide()
    names.add(["ann", "bob"])
    names.copy().check()


def _params(tracker: JobTracker, num_vertices: int = VERTICES) -> dict[str, Any]:
    """Return parameters like those of ``tracker`` for a graph of few vertices: those that are numbers or texts."""
    given = tracker.given
    sample = tracker.kind.sample_params(num_vertices, 0)
    known = {name: sample[name] for name in given if name in sample}
    return {name: each for name, each in given.items() if isinstance(each, PLAIN)} | known


def _drawn(contents: Contents, counts: tuple[int, ...], *, kinds: bool) -> dict[str, Any]:
    """Return events with the columns of ``contents``, ``counts[i]`` of them at time i; a third leaves one vertex.

    Vertices come and go: each slide has some that no slide had before.
    """
    rng, total = np.random.default_rng(1), sum(counts)
    time = np.repeat(np.arange(len(counts)), counts)
    src, shift = rng.integers((0, 1), VERTICES, (total, 2)).T
    src[::3] = 0
    ends = {"src": src + 5 * time, "dst": (src + shift) % VERTICES + 5 * time}
    named = contents.names is not None and contents.names.kind == TEXT
    events: dict[str, Any] = {"time": time, **ends}
    if named:
        events |= {name: np.char.add("vertex ", ids.astype(str)).tolist() for name, ids in ends.items()}
    intake = contents.intake
    dtype = intake.weight_dtype if contents.decay is None else np.float64
    if dtype is not None:
        events["weight"] = rng.integers(1, 50, total).astype(dtype)
    dtypes: Any = intake.attributes.dtype
    for name in intake.attributes.names:
        values, is_text = rng.integers(0, 50, total), name in intake.attributes.texts
        events[name] = values.astype(str).tolist() if is_text else values.astype(dtypes[name])
    if kinds:
        events["kind"] = rng.choice([INSERT, INSERT, INSERT, SET, DELETE], total)
    return events
