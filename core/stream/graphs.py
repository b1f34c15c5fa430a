"""The graph of a window, and what is updated with it: an undirected twin, columns of vertices, trackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from suricate.base.devices import CPU, Device
from suricate.base.errors import CapacityError, ParameterError, RequirementError, ShapeError
from suricate.base.parameters import shown
from suricate.base.types import ValidEdges
from suricate.graph import Graph
from suricate.graph.delta import Delta
from suricate.graph.delta.column_delta import ScaledDelta, shown_delta
from suricate.graph.naming import stamp
from suricate.graph.options import check_options, choose_backend
from suricate.graph.update import Given, Updater
from suricate.graph.vertices import Coming
from suricate.intake.arrays import on_host
from suricate.intake.name_table import Prepared
from suricate.intake.names import Names
from suricate.intake.tables import column_names, without_nulls
from suricate.state.column import Column, as_values, dtype_of, fitted
from suricate.state.edge_table import WEIGHT
from suricate.stream.tracking import JobTracker
from suricate.stream.window_names import VertexNames
from suricate.windows.ring import Change, fitted_weights

BY_IN_EDGES = "dynamic", "repair"  #: kinds of updates of algorithms that go faster with in-edges


class Graphs:
    """The graph of a job, with ``options`` of ``suricate.Graph``; it is made with the first slide."""

    def __init__(self, options: dict[str, Any], names: VertexNames | None) -> None:
        self.options, self._names = options, names
        if options.get("comm") is None:  # else all processes check them when the graph is made
            check_options(options)
        self.graph: Graph | None = None
        self.twin: Twin | None = None
        self.trackers: list[JobTracker] = []
        self.has_begun = False  #: whether the trackers know their graph
        self._columns: list[VertexColumn] = []
        self._applied: Applied | None = None  # the newest slide

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self.options.get("directed", True))

    @property
    def has_names(self) -> bool:
        """Whether vertices have names."""
        return self._names is not None

    @property
    def device(self) -> Device:
        """The device where the graph is, or will be."""
        device, comm = self.options.get("device", "auto"), self.options.get("comm")
        return choose_backend(self.options.get("backend"), device if comm is None else comm.place(device))[1]

    @property
    def weight_dtype(self) -> np.dtype | None:
        """The dtype of weights in the graph, or in its columns of edges; None: there are none. Needs the graph."""
        assert self.graph is not None
        kinds = self.graph.options.edge_columns
        return kinds[WEIGHT].dtype if WEIGHT in kinds else self.graph.weight_dtype

    def track(self, tracker: JobTracker) -> None:
        """Add a tracker, which starts with the first slide; the graph gets in-edges if the algorithm can use them."""
        if self.graph is not None:
            raise RequirementError("track algorithms before the loop begins")
        tracker.symmetric = tracker.symmetric and self.directed
        self._demand_direction(tracker)
        helps = tracker.kind.requires.in_edges or tracker.kind.update_kind in BY_IN_EDGES
        if helps and self.directed and not tracker.symmetric:
            self.options.setdefault("in_edges", True)
        self.trackers.append(tracker)

    def _demand_direction(self, tracker: JobTracker) -> None:
        """Raise ``RequirementError`` if the algorithm is not for graphs with, or without, direction as this one is."""
        kind, directed = tracker.kind, self.directed and not tracker.symmetric
        if kind.requires.undirected is None or kind.requires.undirected != directed:
            return
        known = f"; {kind.if_directed} is for directed ones" if directed and kind.if_directed else ""
        way = (
            "an undirected window, graph={'directed': False}, or symmetric=True: edges where there is an arc either way"
            if directed else "a directed window: leave out symmetric=True, or 'directed': False of graph="
        )  # fmt: skip
        raise RequirementError(f"{kind.name} needs {way}{known}")

    def add_column(self, column: VertexColumn) -> None:
        """Set an attribute of all vertices, and of those that are added later."""
        self._columns.append(column)
        if self.graph is not None:
            column.begin(self.graph)

    def make(self, default: str | None, kinds: Mapping[str, Any]) -> Graph:
        """Make the graph with columns of edges of these ``kinds``.

        ``default``: the dtype of weights if the options name none; None: neither events nor options have weights.
        """
        options = {"weight_dtype": default, "num_vertices": 0, **self.options}
        if kinds:
            options["edge_columns"] = {**kinds, **(options.get("edge_columns") or {})}
        if WEIGHT in (options.get("edge_columns") or {}):
            options["weight_dtype"] = self.options.get("weight_dtype")
        graph = Graph(**options)
        if graph.weight_dtype is not None and default is None:
            raise RequirementError("the graph has weights, the events have none: combine='count' makes some")
        if any(tracker.symmetric for tracker in self.trackers):
            self.twin = Twin(graph)
        self.graph, graph.owner = graph, self
        return graph

    def change(self, change: Change, free: np.ndarray, scale: float | None = None) -> Delta:
        """Apply the net change of a slide in one batch; add vertices for new ids, delete ``free``, set the ``scale``.

        The change is the same on all processes, its weights as :meth:`fitted` returns them. Raises ``CapacityError``.
        """
        graph = self.graph
        assert graph is not None
        if self._names is None:
            applied = self._apply(graph, change, free, None)
        else:
            with self._names.closing(graph) as names:
                applied = self._apply(graph, change, free, names)
        assert applied.delta is not None
        if self._names is not None:
            applied.delta.named = stamp(self._names.names)
        delta = applied.delta if graph.edge_table is None else shown_delta(applied.delta, graph.edge_table)
        if scale is not None:
            graph.weight_scale = scale
            delta = ScaledDelta(delta, scale if applied.scale is None else applied.scale, scale)
        if self._names is not None:
            graph.names = self._names.names
        for column in self._columns:
            column.follow(graph, delta)
        if self.twin is not None:
            self.twin.follow(graph, delta, applied.before)
        return delta

    def _apply(self, graph: Graph, change: Change, free: np.ndarray, names: Prepared | None) -> Applied:
        """Apply the change of a slide to ``graph``, unless that is done; ``names``: the change of names, or None."""
        applied = self._applied
        if applied is not None and applied.change is change and applied.delta is not None:
            return applied
        coming = self._coming(change, free, names)
        applied = self._applied = Applied(change, graph.version, coming, graph.weight_scale)
        gone: Any = ValidEdges(change.gone[0], change.gone[1])
        columns = change.attributes
        value: Any = change.value if columns is None else columns
        if columns is not None and change.value is not None:
            value = {WEIGHT: change.value, **columns}
        new: Any = ValidEdges(change.new[0], change.new[1], value)
        if graph.partition is None:
            gone, new = gone if len(gone.src) else None, new if len(new.src) else None
        elif graph.self_loops == "allow" and graph.edge_table is None:
            gone, new = graph.partition.known(gone), graph.partition.known(new)
        graph._update(gone, new, (1, 2), applied, disjoint=True, owner=self)
        return applied

    def _coming(self, change: Change, free: np.ndarray, names: Prepared | None) -> Coming | None:
        """Return the change of vertices by a slide, whose change of names is ``names``; None: they stay as they are."""
        assert self.graph is not None
        top, size = int(change.top), self.graph.num_vertices
        if self._names is not None and names is not None:
            for tracker in self.trackers:
                if not tracker.begun:
                    tracker.name_vertices(self._names)
            top, idle = max(top, names.num_ids - 1), self._names.idle()
            free = np.union1d(free, idle).astype(np.uint32) if len(idle) else free
        elif top < size and not len(free) and self.graph.partition is None:
            return None
        return Coming(max(top + 1 - size, 0), free, names)

    def fitted(self, change: Change) -> Change:
        """Return a change with weights of the graph's dtype, if it has weights; ``WeightError`` if one does not fit."""
        if change.value is None:
            return change
        dtype = self.weight_dtype
        return change._replace(value=None if dtype is None else fitted_weights(change.value, dtype, change.new))

    def begin_trackers(self, states: Sequence[dict[str, np.ndarray]] = ()) -> None:
        """Start the trackers that have not started, now that their vertices exist.

        ``states``: the saved state of each tracker's algorithm if the job continues from a checkpoint.
        """
        assert self.graph is not None
        for tracker, state in zip_longest(self.trackers, states):
            if not tracker.begun:
                graph = self.twin.graph if tracker.symmetric and self.twin is not None else self.graph
                if self._names is not None:
                    graph.reserved = self._names.reserved
                tracker.begin(graph, state)
        self.has_begun = True

    def restore(
        self, change: Change, num_vertices: int, deleted: np.ndarray, states: Sequence[dict[str, np.ndarray]],
        scale: float | None,
    ) -> None:  # fmt: skip
        """Rebuild the graph of a checkpoint by a change that inserts all edges, and states of algorithms."""
        graph = self.graph
        assert graph is not None
        self.change(change._replace(top=max(int(change.top), num_vertices - 1)), deleted, scale)
        for column in self._columns:
            column.begin(graph)
        if self._names is not None:
            self._names.drop_unwanted()
        self.begin_trackers(states)


class Applied:
    """The change of the graph by a slide: made once, even if an interrupt ends the call that makes it.

    ``before``, ``scale``: the version of the graph before it, and its ``weight_scale``. ``coming``: what happens to
    vertices, or None.
    """

    def __init__(self, change: Change, before: int, coming: Coming | None, scale: float | None) -> None:
        self.change, self.before, self._coming, self.scale = change, before, coming, scale
        self.delta: Delta | None = None  #: None: not made yet

    def apply(self, updater: Updater, delete: Given | None, insert: Given | None, parts: tuple[int, int]) -> Delta:
        """Make the change; arguments and errors are those of ``Updater.apply``."""
        apply = updater.apply if self._coming is None else partial(self._coming.apply, updater)
        with updater.whole(live=self._coming is not None):
            self.delta = apply(delete, insert, parts)
            self.delta.is_disjoint = True
        return self.delta


class Twin:
    """An undirected, unweighted graph with an edge wherever a directed one has an arc, in either direction."""

    def __init__(self, graph: Graph) -> None:
        comm = None if graph.partition is None else graph.partition.comm
        options = graph.options.arguments(directed=False, weight_dtype=None, edge_columns=None)
        self.graph = Graph(graph.num_vertices, device=graph.device, comm=comm, **options)
        self._version, self.graph.owner = graph.version, self

    def follow(self, graph: Graph, delta: Delta, before: int) -> None:
        """Apply ``delta`` of the directed ``graph``, whose version was ``before``, to the undirected graph."""
        gone, new, twin = delta.deleted, delta.inserted, self.graph
        if self._version != before:  # an earlier change failed here
            gone, new = twin.edges(), graph.edges()
        elif len(gone.src):
            left = ~graph.has_edges(gone.dst, gone.src)
            gone = gone._replace(src=gone.src[left], dst=gone.dst[left])
        deleted: Any = graph.deleted_vertices if self._version != before else delta.deleted_vertices
        coming = Coming(graph.num_vertices - twin.num_vertices, on_host(deleted))
        twin._update((gone.src, gone.dst, None), (new.src, new.dst, None), (1, 2), coming, owner=self)
        if twin.names is not graph.names:
            twin.names = graph.names
        self._version = graph.version


class VertexColumn:
    """An attribute of vertices given by name (by id if there are no names), also for vertices that are added later.

    Args:
        name: the column of the frame, and of the graph.
        frame: a frame, an Arrow table or a dict of arrays.
        on: the column with the names. missing: the value of vertices that the frame lacks, or for which it has a null.

    Raises:
        ParameterError: the frame has no such column, or one name twice. ShapeError: columns differ in length.
        DTypeError: values are neither numbers nor bools nor texts, or the column cannot hold ``missing``.
    """

    def __init__(self, name: str, frame: Any, on: str, missing: Any) -> None:
        known = [str(each) for each in (() if isinstance(frame, str | type) else column_names(frame) or ())]
        for column in (name, on):
            if not isinstance(column, str) or column not in known:
                raise ParameterError(f"vertices: the frame has no column {shown(column)}; it has {', '.join(known)}")
        keys = frame[on]
        self.name, self._keys = name, Names.of(keys)
        values, gone = without_nulls(frame[name])
        if len(gone) != len(keys):
            raise ShapeError(f"vertices: columns {name!r} and {on!r} differ in length")
        values = as_values(values, name, len(values))
        self._places = np.where(gone, -1, np.cumsum(~gone) - 1)  #: by key, of its value; -1: it is null
        self._values = fitted(values, dtype_of(values), name)
        self._missing = missing

    def begin(self, graph: Graph) -> None:
        """Add the column to ``graph``, with the values of its vertices."""
        missing = Column(CPU, 0, self._values.dtype, self._missing).missing
        values = np.full(graph.num_vertices, missing, self._values.dtype)
        vertices, known = self._known(graph, graph.device.to_numpy(graph.live_vertices))
        values[vertices] = known
        graph.columns.add(self.name, values, dtype=str if values.dtype == object else values.dtype, missing=missing)

    def follow(self, graph: Graph, delta: Delta) -> None:
        """Set the values of the vertices that ``delta`` added or revived in ``graph``."""
        if self.name not in graph.columns:
            self.begin(graph)
            return
        added = np.arange(delta.num_vertices_before, delta.num_vertices_after)
        came = np.concatenate((added, graph.device.to_numpy(delta.revived_vertices)))
        vertices, values = self._known(graph, np.setdiff1d(came, graph.deleted_vertices))
        if len(vertices):
            graph.columns.put(self.name, vertices, values)

    def _known(self, graph: Graph, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return those of ``vertices`` that have a value, and the values."""
        names = graph.names
        vertices = vertices if names is None else vertices[names.has(vertices)]
        if not len(vertices):
            return vertices, self._values[:0]
        if names is not None and names.dtype != self._keys.dtype:
            raise ParameterError(f"vertices: names are {names.dtype}, those of the frame {self._keys.dtype}")
        given = vertices if names is None else names.values_of(vertices)
        found = self._keys.find(given.astype(np.int64) if isinstance(given, np.ndarray) else given)
        places = np.where(found < 0, -1, self._places[found]) if len(self._places) else found
        known = places >= 0
        return vertices[known], self._values[places[known]]


def raise_explained(error: CapacityError, names: Any, num_vertices: int, num_edges: int) -> NoReturn:
    """Raise ``error``; if ids are sparse, raise a ``CapacityError`` instead that proposes to take them for names.

    They are sparse if there are no ``names``, and ``num_vertices``, the largest id + 1, is over 4 times ``num_edges``.
    """
    if names is not None or num_vertices <= 4 * num_edges:
        raise error
    advice = "ids number the vertices from 0, names=True (--names) takes any integers as names"
    explained = CapacityError(f"{error}; id {num_vertices - 1} makes it {num_vertices} vertices: {advice}")
    for note in getattr(error, "__notes__", ()):
        explained.add_note(note)
    raise explained from error
