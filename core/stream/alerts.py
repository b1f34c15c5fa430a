"""Alerts: rules about values, groups and edges that fire when they begin to hold, slide by slide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import integer, real, shown
from suricate.base.types import EMPTY, edge_keys
from suricate.graph import frames
from suricate.graph.delta.column_delta import ScaledDelta
from suricate.graph.delta.frame import last_names
from suricate.graph.frames import Frame
from suricate.graph.naming import columns_of, names_of
from suricate.intake.arrays import on_host, picked

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.plugins.algorithm import Algorithm
    from suricate.stream.sinks import Sink
    from suricate.stream.tracking import JobTracker

VALUES, GROUPS, EDGES = ("above", "below", "grew", "shrank"), ("size_above", "merged"), "edges"


class Rule(NamedTuple):
    """What an alert waits for: ``kind`` is one of ``VALUES`` or ``GROUPS``; ``is_ratio``: of new and old value."""

    kind: str
    threshold: float
    is_ratio: bool

    def __str__(self) -> str:
        return f"{self.kind}={self.threshold:g}{'x' if self.is_ratio else ''}"

    def fires(self, value: np.ndarray, old: np.ndarray, was: np.ndarray) -> np.ndarray:
        """Return ``bool[n]``: where ``value`` fulfils the rule; ``old`` is the value before where ``was`` is true."""
        bound = self.threshold
        if self.kind == "above":
            return (value > bound) & ~(was & (old > bound))
        if self.kind == "below":
            return (value < bound) & ~(was & (old < bound))
        more, less = (value, old) if self.kind == "grew" else (old, value)
        if self.is_ratio:
            return was & (old > 0) & (more >= bound * less)
        with np.errstate(invalid="ignore"):
            return was & (more - less >= bound)


def rule_of(given: dict[str, Any], kind: type[Any] | None) -> Rule:
    """Return the one rule that is not None in ``given``, checked; ``kind``: of the algorithm, None for edges.

    Raises:
        ParameterError: none or several are given, one is invalid, or does not suit the algorithm.
    """
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) != 1:
        raise ParameterError(f"alert takes one of {', '.join(f'{name}=' for name in given)}, got {len(found)} of them")
    ((name, value),) = found.items()
    groups = "" if kind is None else kind.groups
    if (name in GROUPS) != bool(groups):
        fits, where = (GROUPS, "") if groups else (VALUES, ", where there is a value per vertex" if kind else "")
        raise ParameterError(f"alert: {name}= is not for {kind.name if kind else EDGES}: {', '.join(fits)} are{where}")
    if name in GROUPS:
        return Rule(name, integer(f"alert: {name}", value, low=1), False)
    is_ratio = isinstance(value, str) and name in ("grew", "shrank") and value.endswith("x")
    try:
        threshold = float(value[:-1]) if is_ratio else value
    except ValueError:
        raise ParameterError(f"alert: {name} is a number, or a ratio such as '5x', got {shown(value)}") from None
    low = {"grew": float(is_ratio), "shrank": float(is_ratio)}.get(name, -np.finfo(float).max)
    return Rule(name, real(f"alert: {name}", threshold, low=low, include_low=name in ("above", "below")), is_ratio)


class Seen(NamedTuple):
    """The values of a slide by id: ``value[n]``, ``has`` (``bool[n]``: there is one), and the version of the names."""

    value: np.ndarray
    has: np.ndarray
    version: int


def values_of(graph: Graph, result: Any, kind: type[Algorithm], by: str | None) -> Seen:
    """Return the values of a result of algorithm ``kind`` on the host: of its array ``by``, by default the first one.

    ``ParameterError`` if there is no such array, or no array with a value per vertex.
    """
    fields = frames.entries(graph, result, kind, wanted="an alert compares such values")
    name = by or kind.groups or next(iter(fields))
    if name not in fields:
        raise ParameterError(f"alert: by must be one of {', '.join(fields)}, got {shown(name)}")
    value, has = on_host(fields[name]), on_host(graph.live).copy()
    if value.dtype.kind == "f":
        has &= ~np.isnan(value)
    elif value.dtype == np.uint32:
        has &= value != EMPTY
    if kind.pointers and value.dtype.kind != "u":
        has &= (value >= 0) & (value < np.inf)  # a search has not reached the others
    value = value.astype(np.float64 if value.dtype.kind == "f" else np.int64)
    return Seen(value, has, 0 if graph.names is None else graph.names.version)


class Alert:
    """A rule about one tracker of a job, or its edges, made by ``Window.alert``.

    Attributes:
        fired: what fired at the newest slide, a frame; sinks get the same rows.
        name: what the column ``alert`` of these has.
    """

    def __init__(self, tracker: JobTracker | None, rule: Rule, by: str | None, sink: Sink | None) -> None:
        self.rule, self._tracker, self._by, self._sink = rule, tracker, by, sink
        self.fired: Frame = Frame({"alert": np.empty(0, object)})
        self.name = f"{EDGES if tracker is None else tracker.kind.name} {rule}"
        self._slide = 0  # the number of the newest one
        self._is_written = True
        self._before: Seen | None = None

    @property
    def identity(self) -> list[Any]:
        """What must be as in a checkpoint for the job to continue."""
        return [EDGES if self._tracker is None else self._tracker.identity, str(self.rule), self._by]

    def advance(self, slide: int, graph: Graph, delta: Delta) -> None:
        """Find, once, what fires at the slide of this number."""
        tracker = self._tracker
        if slide == self._slide:
            return
        columns: dict[str, np.ndarray] = {}
        if tracker is None:
            columns = self._edges(graph, delta)
        elif tracker.every == 1 or (tracker.slides % tracker.every == 0):
            graph = tracker._graph
            now = values_of(graph, tracker.result, tracker.kind, self._by)
            columns = self._groups(graph, now) if tracker.kind.groups else self._values(graph, now)
            self._before = now
        count = len(next(iter(columns.values()), ()))
        self.fired = Frame({"alert": np.full(count, self.name, object), **columns})
        self._slide, self._is_written = slide, not count

    def write(self) -> None:
        """Give what fired to the sink, once."""
        if not self._is_written and self._sink is not None:
            self._sink.write(self.fired)
        self._is_written = True

    # -- what fires ----------------------------------------------------------------------------------------------------

    def _aligned(self, graph: Graph, now: Seen) -> tuple[np.ndarray, np.ndarray]:
        """Return by id the values before, and ``bool[n]``: where the same vertex had one."""
        old, was = np.zeros_like(now.value), np.zeros(len(now.value), bool)
        if self._before is not None:
            size = len(self._before.value)
            old[:size], was[:size] = self._before.value, self._before.has
            if graph.names is not None:
                was &= graph.names.since(np.arange(len(was))) <= self._before.version
        return old, was

    def _values(self, graph: Graph, now: Seen) -> dict[str, np.ndarray]:
        old, was = self._aligned(graph, now)
        rows = np.flatnonzero(now.has & self.rule.fires(now.value, old, was))
        previous = np.ma.masked_array(old[rows], ~was[rows])
        return {**columns_of(graph, rows.astype(np.uint32)), "value": now.value[rows], "previous": previous}

    def _groups(self, graph: Graph, now: Seen) -> dict[str, np.ndarray]:
        """Return the groups that fire: their smallest names and sizes, and those of what they were before."""
        old, was = self._aligned(graph, now)
        sizes, stays = _sizes(now), was & now.has
        before = np.empty(0, np.int64) if self._before is None else _sizes(self._before)
        if self.rule.kind == "size_above":
            most = np.zeros(len(sizes), np.int64)
            np.maximum.at(most, now.value[stays], before[old[stays]])
            found = np.flatnonzero((sizes > self.rule.threshold) & (most <= self.rule.threshold))
            names = [_smallest(graph, members, None) for members in _members(now, found)]
            return {"group": _column(names), "size": sizes[found], "previous": most[found]}
        large = np.flatnonzero(stays)
        large = large[before[old[large]] >= self.rule.threshold]
        any_part = np.zeros(len(sizes), np.int64)
        any_part[now.value[large]] = old[large]
        joined = np.zeros(len(sizes), bool)  # of several parts
        joined[now.value[large[old[large] != any_part[now.value[large]]]]] = True
        large = large[joined[now.value[large]]]
        pairs = np.unique(np.stack((now.value[large], old[large])), axis=1)
        groups, counts = np.unique(pairs[0], return_counts=True)
        merged = pairs[:, np.isin(pairs[0], groups[counts > 1])]
        groups, parts = np.unique(merged[0]), np.unique(merged[1])
        seen = self._before or now
        called = {
            group: _smallest(graph, each, None) for group, each in zip(groups, _members(now, groups), strict=True)
        }
        then = {
            part: _smallest(graph, each, seen.version) for part, each in zip(parts, _members(seen, parts), strict=True)
        }
        return {
            "group": _column([called[group] for group in merged[0]]), "size": sizes[merged[0]],
            "part": _column([then[part] for part in merged[1]]), "part_size": before[merged[1]],
        }  # fmt: skip

    def _edges(self, graph: Graph, delta: Delta) -> dict[str, np.ndarray]:
        new, changed = delta.inserted, delta.replaced
        if new.weight is None or delta.replaced_old is None:
            raise RequirementError("alert: the edges have no weights: combine='count' makes some")
        src, dst, value = (
            np.concatenate([on_host(getattr(part, name)) for part in (new, changed)])
            for name in ("src", "dst", "weight")
        )
        kind = np.float64 if value.dtype.kind == "f" else np.int64
        old = np.concatenate((np.zeros(len(new.src), kind), on_host(delta.replaced_old).astype(kind)))
        value, was = value.astype(kind), np.arange(len(src)) >= len(new.src)
        if isinstance(delta, ScaledDelta):
            parts = zip((src, dst, value, old, was), _decayed(graph, delta, src, dst), strict=True)
            src, dst, value, old, was = map(np.concatenate, parts)
        rows = np.flatnonzero(self.rule.fires(value, old, was))
        rows = rows[np.lexsort((dst[rows], src[rows]))]
        ends = [end[rows] if graph.names is None else names_of(graph.names, end[rows]) for end in (src, dst)]
        previous = np.ma.masked_array(old[rows], ~was[rows])
        return {"src": ends[0], "dst": ends[1], "value": value[rows], "previous": previous}

    # -- state ---------------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, np.ndarray]:
        """Return the values of the last slide that was computed, as arrays."""
        return {} if self._before is None else {name: np.asarray(part) for name, part in self._before._asdict().items()}

    def load(self, slides: int, saved: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`save` returned after ``slides`` slides."""
        self._slide = slides
        if saved:
            self._before = Seen(saved["value"], saved["has"], int(saved["version"]))


def _decayed(graph: Graph, delta: ScaledDelta, src: np.ndarray, dst: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the edges that ``delta`` does not list, as their weights decayed only: ends, weights now and before, True.

    ``src``, ``dst``: the edges that it lists.
    """
    edges, (before, after) = graph.store("out").edges().each(on_host), delta.scales
    others = ~np.isin(edge_keys(edges.src, edges.dst), edge_keys(src, dst))
    edges = picked(edges, others if graph.directed else others & (edges.src <= edges.dst))
    assert edges.weight is not None
    return edges.src, edges.dst, edges.weight * after, edges.weight * before, np.ones(len(edges.src), bool)


def _sizes(seen: Seen) -> np.ndarray:
    """Return the size of each group by its label; ``int64[n]``."""
    return np.bincount(seen.value[seen.has], minlength=len(seen.value))


def _members(seen: Seen, groups: np.ndarray) -> list[np.ndarray]:
    """Return the vertices of each of the ascending labels ``groups``, none of which is empty."""
    rows = np.flatnonzero(seen.has & np.isin(seen.value, groups))
    rows = rows[np.argsort(seen.value[rows], kind="stable")]
    return np.split(rows, np.searchsorted(seen.value[rows], groups)[1:]) if len(groups) else []


def _smallest(graph: Graph, members: np.ndarray, version: int | None) -> Any:
    """Return the smallest name of vertices, or id without names; ``version``: as they were called at that version."""
    if graph.names is None:
        return int(members.min())
    found: Any
    if version is None:
        found = names_of(graph.names, members)
    else:
        stays = graph.names.since(members) <= version
        left = dict(zip(*(part.tolist() for part in graph.names.forgotten(version)), strict=True))
        found = [*last_names(graph.names, members[stays]), *map(left.get, members[~stays].tolist())]
    return min(name for name in found if name is not None)


def _column(names: list[Any]) -> np.ndarray:
    """Return names as an array of objects, or of integers."""
    return np.array(names, np.int64 if names and not isinstance(names[0], str) else object)


def checked_alerts(alerts: list[Alert], saved: list[Any]) -> None:
    """Raise ``ParameterError`` unless the alerts of a job are those of its checkpoint."""
    if [alert.identity for alert in alerts] != saved:
        had, has = ([f"{each[0] if each[0] == EDGES else each[0][0]} {each[1]}" for each in part] for part in
                    (saved, [alert.identity for alert in alerts]))  # fmt: skip
        reason = f"alerts were {', '.join(had) or 'none'}, and are {', '.join(has) or 'none'} now"
        raise ParameterError(f"checkpoint: {reason}, or their trackers differ; another folder begins a new job")
