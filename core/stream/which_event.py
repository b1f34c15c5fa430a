"""Which event did it: the events of a slide one by one, on a copy of the graph on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import shown
from suricate.base.types import DELETE, INSERT, ends_of
from suricate.cpu.jit import kernel
from suricate.graph import Graph
from suricate.graph.delta.frame import last_names
from suricate.graph.frames import Frame, fields_of
from suricate.graph.naming import named_vertices, vertices_of
from suricate.intake.arrays import on_host
from suricate.replaying import replay
from suricate.windows.events import Events, times_of
from suricate.windows.ring.linked import BACK, COMBINE, COUNT, FIRST, FRONT, KEY, LAST, MAX, MIN, SUM

if TYPE_CHECKING:
    from suricate.stream.tracking import JobTracker
    from suricate.stream.window import Window

KINDS = np.array(["delete", "set", "insert"], object)  #: by code + 1


@kernel
def follow(pair, kind, weight, combine, head, before, held, value, lives):
    """Apply events to their pairs; write for each its pair's weight behind it, and whether the pair has live events.

    By pair: ``head``, the newest live event or -1; ``held``, its weight. By event: ``before``, scratch. ``combine`` is
    a value of ``COMBINE``, but for ``COUNT``.
    """
    for i in range(len(pair)):
        at, what = pair[i], kind[i]
        newest = head[at]
        had = newest >= 0 and what == 1
        while what < 1 and newest >= 0:
            newest = before[newest]
            if what < 0:
                break
        if what >= 0:
            before[i], newest = newest, i
        head[at] = newest
        here = newest if not had else i
        if not had and newest >= 0:
            held[at] = weight[newest]
            here = before[newest]
        while here >= 0 and combine != LAST:
            weighs = weight[here]
            less, more = combine == MIN and weighs < held[at], combine == MAX and weighs > held[at]
            if combine == SUM:
                held[at] += weighs
            elif less or more or (combine == FIRST and not had):
                held[at] = weighs
            here = -1 if had else before[here]
        if combine == LAST and newest >= 0:
            held[at] = weight[newest]
        value[i], lives[i] = held[at], newest >= 0


def replayed(job: Window, tracker: JobTracker, at: Any) -> Frame:
    """Return the frame of ``Slide.replay``, for the newest slide of ``job``."""
    graph = job.graph
    if tracker not in job.graphs.trackers:
        raise ParameterError(f"replay takes a tracker of job.track, got {shown(tracker)}")
    refused = graph.partition, graph.edge_table, graph.weight_scale
    if tracker.symmetric or any(each is not None for each in refused):
        others = "columns of edges, weights that decay and graphs of several processes"
        raise RequirementError(f"replay: not for symmetric trackers, {others}")
    find = vertices_of if graph.names is None else named_vertices
    ids = find(graph, [at] if isinstance(at, str) or np.ndim(at) == 0 else at, "at").astype(np.int64)
    events = job.contents.entered
    keys, kind, weight, lives, start = _followed(job, events)
    copy = _copy(graph, *start)
    own = copy.track(tracker.kind, **tracker._params)
    reason = own.algorithm.event_step(copy)
    if isinstance(reason, str):
        raise RequirementError(f"replay: {reason}")
    first = fields_of(own.at(ids))
    given = (*ends_of(keys), lives) if weight is None else (*ends_of(keys), lives, weight)
    found = replay(copy, given, own, at=ids)
    rows = {name: np.concatenate((np.asarray(part)[None], fields_of(found.answers)[name]))
            for name, part in first.items()}  # fmt: skip
    left = on_host(graph.deleted_vertices)
    left = left[copy.live[left]]
    if len(left):
        copy.delete_vertices(left)
        for name, part in fields_of(own.at(ids)).items():
            rows[name][-1] = part
    return _frame(job, events, kind, ids, rows)


def _followed(job: Window, events: Events) -> tuple[Any, ...]:
    """Return keys, kinds, weights (None without) and liveness of the slide's events, and edges before these.

    Weight and liveness are those of the pair behind each event. The edges are of all pairs: keys and weights.
    """
    graph, ring = job.graph, job.contents.ring
    assert ring is not None
    host = ring.on_host()
    state = host._state
    front, back, alive = host.entry if host is ring else (state[FRONT], state[BACK] - events.number, None)
    kept = host._kept
    places = np.arange(front, back) & (len(kept.time) - 1)
    places = places[(kept.alive if alive is None else alive)[places] != 0]
    src, dst = on_host(events.src), on_host(events.dst)
    if not graph.directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    keys = src.astype(np.uint64) << np.uint64(32) | dst
    kind = np.full(len(keys), INSERT, np.int8) if events.kind is None else events.kind
    old = host._pairs.row[kept.pair[places], KEY].astype(np.uint64)
    pairs = np.unique(keys)
    among = np.isin(old, pairs)
    old, places = old[among], places[among]
    combine = COMBINE[job._options.combine]
    counts = combine == COUNT or events.weight is None
    given: Any = (np.ones(len(old) + len(keys), np.int64),) if counts else (kept.weight[places], events.weight)
    weight = np.concatenate(given)
    pair = np.searchsorted(pairs, np.concatenate((old, keys)))
    kinds = np.concatenate((np.full(len(old), INSERT, np.int8), kind))
    head, before = np.full(len(pairs), -1), np.full(len(pair), -1)
    value, lives = np.zeros_like(weight), np.zeros(len(pair), bool)
    combine = SUM if combine == COUNT else combine
    follow(pair, kinds, weight, combine, head, before, np.zeros(len(pairs), weight.dtype), value, lives)
    ends = graph.edges()
    edges, now = (on_host(ends.src).astype(np.uint64) << np.uint64(32)) | on_host(ends.dst), ends.weight
    had, last = np.unique(pair[: len(old)][::-1], return_index=True)
    last = len(old) - 1 - last
    dtype, stays = graph.weight_dtype, ~np.isin(edges, pairs)
    begin = np.concatenate((edges[stays], pairs[had]))
    if dtype is None:
        return keys, kind, None, lives[len(old) :], (begin, None)
    weights, value = on_host(now), value.astype(dtype)
    start = np.concatenate((weights[stays], value[last]))
    value = value[len(old) :]
    ends_at, newest = np.unique(keys[::-1], return_index=True)  # sums of floats end as the graph has them
    edges, weights = edges[~stays], weights[~stays]
    order = np.argsort(edges)
    spots = np.minimum(np.searchsorted(edges[order], ends_at), max(len(edges) - 1, 0))
    if len(edges):
        same = edges[order][spots] == ends_at
        value[len(keys) - 1 - newest[same]] = weights[order][spots[same]]
    return keys, kind, value, lives[len(old) :], (begin, start)


def _copy(graph: Graph, keys: np.ndarray, weight: np.ndarray | None) -> Graph:
    """Return a graph on the CPU like ``graph``, but with these edges, and no names."""
    copy = Graph(
        graph.num_vertices, device="cpu", directed=graph.directed, weight_dtype=graph.weight_dtype,
        self_loops=graph.self_loops, in_edges=graph.directed,
    )  # fmt: skip
    copy.insert_edges(*ends_of(keys), weight)
    dead, has_edges = on_host(graph.deleted_vertices), np.zeros(graph.num_vertices, bool)
    for ends in ends_of(keys):
        has_edges[ends] = True
    copy.delete_vertices(dead[~has_edges[dead]])
    copy.reserved = graph.reserved
    return copy


def _frame(job: Window, events: Events, kind: np.ndarray, ids: np.ndarray, rows: dict[str, np.ndarray]) -> Frame:
    """Return a row for each event, -1 for all that left first, and each of ``ids``."""
    names, each, number = job.graph.names, len(ids), events.number + 1
    time = np.concatenate((np.zeros(1, np.int64), times_of(events.time)))
    no_event = np.arange(number) < 1
    if job.has_unit:
        time = time.view("datetime64[ns]")
        time[0] = np.datetime64("NaT")
    columns: dict[str, np.ndarray] = {"event": np.arange(number) - 1}
    columns["time"] = time if job.has_unit else np.ma.masked_array(time, no_event)
    for name, end in (("src", on_host(events.src)), ("dst", on_host(events.dst))):
        named: Any = end if names is None else last_names(names, end)
        columns[name] = (
            np.ma.masked_array([0, *end.tolist()], no_event) if names is None else np.array([None, *named], object)
        )
    columns["kind"] = np.concatenate((np.array(["leaving"], object), KINDS[kind - DELETE]))
    columns = {name: part.repeat(each) for name, part in columns.items()}
    columns["at"] = np.tile(ids if names is None else last_names(names, ids), number)
    return Frame(columns | {name: part.ravel() if part.ndim > 1 else part.repeat(each) for name, part in rows.items()})
