"""Trackers of a job: results that are kept current from its first slide on."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from suricate import plugins
from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import integer, is_number, shown
from suricate.graph import Graph, naming
from suricate.graph.edge_columns.weighing import track_from, weighing
from suricate.graph.frames import fields_of, of_fields
from suricate.graph.tracker import Tracker
from suricate.intake.arrays import is_cuda_array, on_host
from suricate.plugins.algorithm import Algorithm
from suricate.stream.window_names import VertexNames


class JobTracker:
    """The result of an algorithm on the window; after the first slide it has the attributes of a ``Tracker``.

    With ``every`` above 1 the result is computed from scratch after every ``every`` slides, and is kept in between.
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
        self._result: Any = None
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
        parts = {} if self._result is None else fields_of(self._result)
        return {name: on_host(part) if is_cuda_array(part) else np.asarray(part) for name, part in parts.items()}

    def load(self, slides: int, fields: dict[str, np.ndarray]) -> None:
        """Restore the tracker from a checkpoint after ``slides`` slides; ``fields``: :attr:`kept` at that time."""
        self.slides = slides
        if not fields:
            return
        pattern, xp = self._graph.compute(self.kind, **self._params), self._graph.device.xp
        for name, part in fields_of(pattern).items():
            is_array = hasattr(part, "shape") and part.shape
            value = fields[name] if isinstance(part, np.ndarray) or not is_array else xp.asarray(fields[name])
            fields[name] = value if is_array else value.item()
        self._result = of_fields(pattern, fields)

    def advance(self, slide: int) -> None:
        """Count the slide of this number, once, and compute the result if it is due (``every``)."""
        if slide != self._seen:
            if self.every > 1 and (self.slides + 1) % self.every == 0:
                self._result = self._graph.compute(self.kind, **self._params)
            self.slides, self._seen = self.slides + 1, slide

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
        if self._result is None:
            raise RequirementError(f"{self.kind.name}: there is no result before slide {self.every}")
        return self._result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.tracker, name)

    def __repr__(self) -> str:
        return f"<JobTracker {self.kind.name!r}{'' if self.every == 1 else f' every={self.every}'}>"
