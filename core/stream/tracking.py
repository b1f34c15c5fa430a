"""Trackers of a job: results that are kept current from its first slide on."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from suricate import plugins
from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import integer, is_number, real, shown
from suricate.graph import Graph, frames, naming
from suricate.graph.edge_columns.weighing import track_from, weighing
from suricate.graph.frames import fields_of, of_fields
from suricate.graph.tracker import Tracker
from suricate.intake.arrays import is_cuda_array, on_host
from suricate.plugins.algorithm import Algorithm
from suricate.stream.window_names import VertexNames

THEN, VERSION = "as of", "version of names"  #: with the fields of a result that is kept


class Last:
    """A result that was computed at an earlier slide, with the methods of a ``Tracker``; ``graph`` is that of now.

    Vertices that have left since are left out; those that came have no value. To ``frames`` it is the graph of then.

    Attributes:
        then: which ids were live, ``bool[n]`` on the host. version: that of the graph's names.
    """

    def __init__(self, graph: Graph, kind: type[Algorithm], result: Any, then: np.ndarray, version: int) -> None:
        self._graph, self._kind, self.result, self.then, self.version = graph, kind, result, then, version
        self.device, self.names, self.num_vertices = graph.device, graph.names, len(then)
        self._seen: Any = None  # at the last call of ``changed``

    @property
    def _same(self) -> np.ndarray:
        """Which ids belong to the same vertex as then, ``bool[n]``."""
        if self.names is None:
            return np.ones(self.num_vertices, bool)
        return np.asarray(self.names.since(np.arange(self.num_vertices)) < self.version)

    @property
    def live(self) -> np.ndarray:
        """Which vertices were live then, and have been since; ``bool[n]`` on the host."""
        return self.then & on_host(self._graph.live)[: self.num_vertices] & self._same

    @property
    def live_vertices(self) -> Any:
        """Their ids, on the device of the graph."""
        return self.device.xp.asarray(np.flatnonzero(self.live).astype(np.uint32))

    def top(self, k: int = 10, by: str | None = None, *, largest: bool = True) -> frames.Frame:
        """See ``Tracker.top``."""
        return frames.top(self, self.result, self._kind, k, by, largest)  # type: ignore[arg-type]

    def at(self, ids: Any = None, dst: Any = None, *, names: Any = None) -> Any:
        """See ``Tracker.at``; ``RequirementError`` for vertices that came since."""
        if dst is not None:
            return frames.at_edges(self._graph, self.result, self._kind, ids, dst)
        vertices, is_one = frames.chosen(self._graph, ids, names)
        host = on_host(vertices)
        if len(host) and (host.max() >= self.num_vertices or not self._same[host].all()):
            raise RequirementError(f"{self._kind.name}: a vertex came after the last slide for which it was computed")
        found = frames.at(self, self.result, self._kind, vertices)  # type: ignore[arg-type]
        return frames.of_one(found) if is_one else found

    def changed(self, atol: float = 0.0) -> frames.Frame:
        """See ``Tracker.changed``."""
        now = frames.seen(self, self.result, self._kind)  # type: ignore[arg-type]
        found = frames.changed(self, self._kind, self._seen, now, real("atol", atol, low=0))  # type: ignore[arg-type]
        self._seen = now
        return found

    def _frame(self) -> frames.Frame:
        return frames.full(self, self.result, self._kind)  # type: ignore[arg-type]

    def to_pandas(self) -> Any:
        """See ``Tracker.to_pandas``."""
        return self._frame().to_pandas()

    def to_arrow(self) -> Any:
        """See ``Tracker.to_arrow``."""
        return self._frame().to_arrow()


class JobTracker:
    """The result of an algorithm on the window; after the first slide it has the attributes of a ``Tracker``.

    With ``every`` above 1 the result is computed from scratch after every ``every`` slides, and is kept in between:
    ``top``, ``at``, ``changed`` and frames are as of then, without vertices that have left since.
    """

    def __init__(self, algorithm: Any, params: dict[str, Any], every: int, symmetric: bool = False) -> None:
        if not isinstance(algorithm, str) and not (isinstance(algorithm, type) and hasattr(algorithm, "demand_names")):
            raise ParameterError(f"track: the algorithm is a name or a class of one, got {shown(algorithm)}")
        self.kind: type[Algorithm] = plugins.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
        self.kind.demand_names({name: value for name, value in params.items() if name != "weight"})  # a column, too
        self._params = self.given = params  #: parameters as the user gave them; the former has ids in place of names
        self.symmetric: bool = symmetric  #: whether it is of the undirected twin of the graph
        self.every: int = integer("every", every, low=1)
        self.slides: int = 0  #: that it has seen
        self._seen = 0  # the number of the newest one
        self._tracker: Tracker | None = None
        self._last: Last | None = None  # with ``every`` above 1
        self.begun: bool = False  #: whether it knows its graph

    def name_vertices(self, names: VertexNames) -> None:
        """Replace names in the parameters (sources, keys of mappings) by ids.

        Raises:
            ParameterError: a parameter is an array indexed by vertex id, but ids are recycled.
        """
        self._params = dict(self.given)
        for name, value in self.given.items():
            if isinstance(value, Mapping):
                ids = names.reserve(list(value))
                self._params[name] = dict(zip(ids.tolist(), value.values(), strict=True))
            elif name in naming.VERTICES and value is not None:
                value = value.item() if isinstance(value, np.ndarray) and not value.ndim else value
                is_one = isinstance(value, str) or is_number(value, numbers.Integral)
                if not is_one and not hasattr(value, "__iter__"):
                    raise ParameterError(f"{self.kind.name}: {name} is one name or several, got {shown(value)}")
                ids = names.reserve([value] if is_one else list(value))
                self._params[name] = int(ids[0]) if is_one else ids
            elif name == "pairs" and isinstance(value, tuple):
                self._params[name] = tuple(names.reserve(list(part)) for part in value)
            elif hasattr(value, "__len__") and not isinstance(value, str):
                raise ParameterError(f"{self.kind.name}: {name} is an array by position, but ids change: give a dict")

    def begin(self, graph: Graph, state: dict[str, np.ndarray] | None = None) -> None:
        """Track the algorithm on ``graph``, from ``state`` if given; with ``every`` above 1 only check parameters."""
        self._graph = graph
        self.begun = True
        if self.every == 1:
            kind, params = self.kind, self._params
            self._tracker = track_from(graph, kind, params, state) if state else graph.track(kind, **params)
            return
        seen, params = weighing(graph, self.kind, self._params)
        missing = self.kind.requires.missing(seen)
        if missing is not None:
            raise RequirementError(f"{self.kind.name}: {missing}")
        self.kind(**naming.as_parameters(graph, params))

    @property
    def label(self) -> str:
        """The algorithm and its parameters, as a report calls it."""
        return " ".join([self.kind.name, *(f"{name}={shown(value)}" for name, value in sorted(self.given.items()))])

    @property
    def identity(self) -> list[Any]:
        """Return what must be unchanged for a saved result to be valid: algorithm, ``every`` and parameters."""
        return [self.kind.name, self.every, self.symmetric, repr(sorted(self.given.items()))]

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The state of an algorithm whose result depends on history, in host memory; empty for other algorithms."""
        if self._tracker is None or self._tracker.stale:
            return {}
        return {name: on_host(part) for name, part in (self._tracker.algorithm.state() or {}).items()}

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """With ``every`` above 1: the fields of the last result, in host memory, for a checkpoint; else empty."""
        if self._last is None:
            return {}
        parts = fields_of(self._last.result) | {THEN: self._last.then, VERSION: self._last.version}
        return {name: on_host(part) if is_cuda_array(part) else np.asarray(part) for name, part in parts.items()}

    def load(self, slides: int, fields: dict[str, np.ndarray]) -> None:
        """Restore the tracker from a checkpoint after ``slides`` slides; ``fields``: :attr:`kept` at that time."""
        self.slides = slides
        if not fields:
            return
        then, version = fields.pop(THEN), int(fields.pop(VERSION))
        pattern, xp = self._graph.compute(self.kind, **self._params), self._graph.device.xp
        for name, part in fields_of(pattern).items():
            is_array = hasattr(part, "shape") and part.shape
            value = fields[name] if isinstance(part, np.ndarray) or not is_array else xp.asarray(fields[name])
            fields[name] = value if is_array else value.item()
        self._last = Last(self._graph, self.kind, of_fields(pattern, fields), then, version)

    def advance(self, slide: int) -> None:
        """Count the slide of this number, once, and compute the result if it is due (``every``)."""
        if slide != self._seen:
            if self.every > 1 and (self.slides + 1) % self.every == 0:
                self._compute()
            self.slides, self._seen = self.slides + 1, slide

    def _compute(self) -> None:
        graph = self._graph
        names, seen = graph.names, None if self._last is None else self._last._seen
        result, live = graph.compute(self.kind, **self._params), on_host(graph.live).copy()
        self._last = Last(graph, self.kind, result, live, 0 if names is None else names.version)
        self._last._seen = seen

    @property
    def tracker(self) -> Tracker:
        """The tracker of the graph; raises ``RequirementError`` before the first slide, or with ``every`` above 1."""
        if self._tracker is None:
            raise RequirementError(
                f"{self.kind.name}: there is no tracker before the first slide, or with every above 1"
            )
        return self._tracker

    @property
    def result(self) -> Any:
        """The result as of the newest slide, with ``every`` above 1 of the last slide for which it was computed."""
        if self.every == 1:
            return self.tracker.result
        return self._computed.result

    @property
    def _computed(self) -> Last:
        if self._last is None:
            raise RequirementError(f"{self.kind.name}: there is no result before slide {self.every}")
        return self._last

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        is_kept = self.every > 1 and name in ("top", "at", "changed", "to_pandas", "to_arrow")
        return getattr(self._computed if is_kept else self.tracker, name)

    def __repr__(self) -> str:
        return f"<JobTracker {self.kind.name!r}{'' if self.every == 1 else f' every={self.every}'}>"
