"""Trackers: algorithms bound to a graph, current after every batch.

Trackers of one graph with the same algorithm and parameters share one instance of it: one state, one update per batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from suricate import plugins
from suricate.base.devices import copied
from suricate.base.errors import ParameterError, RequirementError, SuricateError
from suricate.base.parameters import flag, real
from suricate.cuda.compiler import LOCAL
from suricate.graph import frames
from suricate.graph.ahead import REHEARSALS, Unpaced, rehearse_tracking
from suricate.graph.delta import Delta
from suricate.graph.interface import hints, html
from suricate.plugins.algorithm import Algorithm
from suricate.plugins.pace import Pace
from suricate.state.locks import on_device_of
from suricate.state.owned import places

if TYPE_CHECKING:
    from typing import Self

    from suricate.base.devices import Array
    from suricate.graph import Graph

R = TypeVar("R")  #: the type of a result

COMPARED = (bool, int, float, str, type(None))  #: types of parameters that are compared; values of others never match


@dataclass
class UpdateCounts:
    """Counts of the work done so far for a tracker and those that share its state.

    Attributes:
        computed: computations from scratch: the first one, those for ``refresh()`` and stale results, and those in
            place of an update (:attr:`Tracker.recomputations` says why).
        updated: updates by a delta. On CUDA, where the host does not wait, these include batches that changed nothing,
            invalid batches of a graph with ``checks="deferred"``, and updates that recomputed from scratch because of
            what they found on the device.
        skipped: deltas known to have changed nothing, for which no work was done.
        failed: updates that raised.
    """

    computed: int = 0
    updated: int = 0
    skipped: int = 0
    failed: int = 0


class Advance(NamedTuple):
    """What a tracker did last: ``kind`` is ``"computed"``, ``"updated"``, ``"recomputed"`` (from scratch in place of an
    update, for a ``reason``), ``"skipped"`` or ``"failed"``. ``quick``: whether it launched, on CUDA, quick builds of
    kernels, which may be many times slower than the final ones that replace them some seconds later (see
    :meth:`Graph.wait_until_built`).
    """

    kind: str
    reason: str = ""
    quick: bool = False


MOVED = "vertices have gone to other processes"  #: of which arrays of a process have no entries then


class OwnedState(NamedTuple):
    """Whether an algorithm keeps arrays of which a process has the entries of its own vertices only.

    ``is_kept``: whether it does; ``made``, ``divisions``: counts of the graph's :class:`OwnArrays` at its last step.
    """

    is_kept: bool
    made: int
    divisions: int

    @classmethod
    def of(cls, graph: Graph) -> OwnedState:
        """Return the state of an algorithm that has none yet."""
        arrays = None if graph.partition is None else graph.partition.own_arrays
        return cls(False, arrays.made if arrays else 0, arrays.divisions if arrays else 0)

    def is_void(self, graph: Graph) -> bool:
        """Return whether vertices have gone to other processes since, so that the arrays are of no use."""
        return self.is_kept and self.divisions != self.of(graph).divisions

    def after(self, graph: Graph, before: OwnedState) -> OwnedState:
        """Return the state after a step of the algorithm that began with ``before``: whether arrays were made in it."""
        now = self.of(graph)
        return now._replace(is_kept=self.is_kept or now.made != before.made)


SKIPPED, FAILED, UPDATED = map(Advance, ("skipped", "failed", "updated"))


class Kept:
    """One instance of an algorithm, kept current for the trackers that share it; used under the lock of the graph.

    Attributes:
        algorithm, updates, recomputations, version: what the properties of :class:`Tracker` return.
        did: what :attr:`Tracker.last` returns.
        params: the parameters of the algorithm.
        trackers: the open trackers, held weakly; without any, the instance is no longer updated.
        last: a tuple with the last result if the tracker was closed; else empty, and the result is the algorithm's.
    """

    def __init__(self, graph: Graph, algorithm: Algorithm, params: dict[str, Any]) -> None:
        self.graph, self.algorithm, self.params = graph, algorithm, params
        if algorithm.learns and LOCAL.rehearsing:
            algorithm.pace = Unpaced()  # type: ignore[assignment]
        elif algorithm.learns:
            algorithm.pace = Pace(graph.device, None if graph.partition is None else graph.partition.clock())
        self.trackers: WeakSet[Tracker[Any]] = WeakSet()
        self.updates, self.recomputations, self.did = UpdateCounts(), dict[str, int](), Advance("computed")
        self._failed, self.version = True, graph.version
        self._is_new = True  # whether the algorithm has not begun to compute
        self._own = OwnedState.of(graph)
        self.last: tuple[Any, ...] = ()

    @property
    def stale(self) -> bool:
        """Whether the last update failed, or an interrupt prevented the update after a change of the graph."""
        return self._failed or (self.version != self.graph.version and len(self.trackers) > 0)

    def compute(self) -> None:
        """Compute from scratch; after a failure by a new instance, as arrays of the old one may differ in length."""
        self.graph.synchronize()
        pace = self.algorithm.pace
        if self._failed and not self._is_new:
            self.algorithm = make_algorithm(self.graph, type(self.algorithm), self.params)
            self.algorithm.pace = pace
        self._failed, self._is_new = True, False
        launched, own = LOCAL.quick_launches, OwnedState.of(self.graph)
        if pace is not None and self.updates.computed:
            pace.computes(self.graph.most_arcs)
        try:
            self.algorithm.compute(self.graph)
        finally:
            if pace is not None:
                pace.finish()
        self.algorithm.take_recomputed()
        self.updates.computed += 1
        self.did = Advance("computed", quick=LOCAL.quick_launches > launched)
        self._failed, self.version, self.last = False, self.graph.version, ()
        self._own = self._own.after(self.graph, own)

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a saved state of the algorithm, given on the device, in place of a computation."""
        self._failed, self._is_new = True, False
        self.algorithm.restore(self.graph, state)
        self._failed, self.version = False, self.graph.version

    def distrust(self) -> None:
        """Mark the result as stale, so that the next access computes it from scratch."""
        self._failed = True

    def followed(self, changed: bool) -> None:
        """Record that ``suricate.replay`` has updated the algorithm event by event; ``changed``: there were events."""
        self._failed, self.version = False, self.graph.version
        if changed:
            self.updates.updated += 1
            self.did = UPDATED

    def result(self) -> Any:
        """Return the result, computed first if it is stale, protected against changes."""
        if self.stale:
            self.compute()
        if self.last:
            return protected(self.last[0])
        result = self.algorithm.result
        if self.algorithm.take_recomputed() is not None:  # some find out here that their last update does not do
            self.updates.computed += 1
            self.did = Advance("computed")
        return protected(result)

    def at(self, vertices: Array) -> Any:
        """Return the result at ``vertices`` (``int64[k]``); None if the algorithm can only compute all of it."""
        if self.last or not self.trackers:  # closed
            return None
        if self.stale:
            self.compute()
        found = self.algorithm.at(vertices)
        if self.algorithm.take_recomputed() is not None:
            self.updates.computed += 1
            self.did = Advance("computed")
        return found

    def own(self) -> Any:
        """Return the result at this process's vertices; None if the algorithm can only compute all of it."""
        if self.last or not self.trackers or self.stale:
            return None
        return self.algorithm.of_own(self.graph)

    def advance(self, delta: Delta, before: int) -> None:
        """Update the algorithm, unless it is stale, by ``delta``; ``before``: the version before the change."""
        if self._failed or self.version != before:  # the next access computes from scratch anyway
            return
        if delta.is_known_empty and not self._own.is_void(self.graph):
            self.updates.skipped += 1
            self.did = SKIPPED
        else:
            self._update(delta)
        self.version = before + 1  # not that of the graph, which an update may have changed further

    def _update(self, delta: Delta) -> None:
        algorithm, self._failed, self.did = self.algorithm, True, FAILED
        own = None if self.graph.partition is None else OwnedState.of(self.graph)
        launched = LOCAL.quick_launches
        try:
            if own is not None and self._own.is_void(self.graph):
                algorithm.recomputes(MOVED)
                algorithm.compute(self.graph)
            else:
                algorithm.update(self.graph, delta)
            self._own = self._own if own is None else self._own.after(self.graph, own)
        except Exception:
            self.updates.failed += 1
            raise
        finally:
            reason = algorithm.take_recomputed()
            if algorithm.pace is not None:
                algorithm.pace.finish()
        quick = LOCAL.quick_launches > launched
        if reason is None:
            self.updates.updated += 1
            self.did = UPDATED._replace(quick=True) if quick else UPDATED
        else:
            self.updates.computed += 1
            self.recomputations[reason] = self.recomputations.get(reason, 0) + 1
            self.did = Advance("recomputed", reason, quick)
        self._failed = False

    def close(self, tracker: Tracker[Any]) -> Kept:
        """Remove ``tracker``; return the holder of its last result: this object, or a copy if it has other trackers."""
        self._failed = self.stale
        self.trackers.discard(tracker)
        if not self.trackers:
            return self
        left = Kept(self.graph, type(self.algorithm).create(self.params), self.params)
        left.updates, left.version, left.did = replace(self.updates), self.version, self.did
        left.recomputations = dict(self.recomputations)
        if not self.stale:
            with suppress(SuricateError):  # there is no result, of a deleted source for instance
                left.last, left._failed = (protected(self.algorithm.result, copies=True),), False
        return left


class Own(NamedTuple, Generic[R]):
    """What :attr:`Tracker.own` returns.

    Attributes:
        vertices: ids, ``uint32[k]``, ascending, on the graph's device.
        result: the result with ``k`` entries in each array by vertex.
    """

    vertices: Array
    result: R


class Tracker(Generic[R]):
    """The result of one algorithm on one graph, kept current; made by ``Graph.track``.

    The graph calls :meth:`Algorithm.update` within every call that may have changed something. On CUDA the update is
    queued behind the batch, in the same stream, without a wait; an invalid batch changes nothing in the tracker
    either. If an update raises, the change of the graph stands and its caller gets the error, except from
    ``Graph.delete_vertices``; the tracker is then stale, and the next access to :attr:`result` computes from scratch.
    If a vertex that is a parameter is deleted, reading the result raises until the vertex is live again. The graph
    holds its trackers weakly: a tracker that was dropped, closed or left as a context manager costs nothing more. A
    tracker may be used in any thread; it cannot be copied or pickled.

    Trackers of one graph with the same algorithm and equal parameters share one instance of the algorithm: one
    computation, one state, one update per batch, one failure. (Only numbers, text, booleans and None are compared;
    parameters that are arrays or other objects are never equal.) A tracker that joins later gets the current result;
    if several results are right, it depends on the history. Each tracker is dropped and closed separately.

    Attributes:
        graph: the graph.
        closed: whether the tracker was closed; its last result can still be read.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=4, device="cpu")
        >>> reach = g.track("bfs", source=0)
        >>> delta = g.insert_edges([2], [3])
        >>> isinstance(reach, su.Tracker), reach.result.level.tolist()
        (True, [0, 1, 2, 3])
    """

    def __init__(self, graph: Graph, kept: Kept) -> None:
        self.graph, self._kept, self.closed = graph, kept, False
        self._seen: frames.Seen | None = None  # at the last call of ``changed``
        kept.trackers.add(self)

    @property
    def algorithm(self) -> Algorithm:
        """The ``Algorithm`` instance."""
        return self._kept.algorithm

    @property
    def name(self) -> str:
        """Name of the algorithm."""
        return self.algorithm.name

    @property
    def updates(self) -> UpdateCounts:
        """The work done so far, including that before this tracker joined."""
        return self._kept.updates

    @property
    def recomputations(self) -> dict[str, int]:
        """How often changes of the graph led to a computation from scratch, not an update, by reason; a copy."""
        return dict(self._kept.recomputations)

    @property
    def last(self) -> Advance:
        """What was done last: at the last change of the graph, or to read the result."""
        return self._kept.did

    @property
    def version(self) -> int:
        """The version of the graph that the result is for."""
        return self._kept.version

    @property
    def stale(self) -> bool:
        """Whether the last update failed or was interrupted: the next access to the result computes it from scratch."""
        return self._kept.stale

    @property
    @on_device_of("graph")
    def result(self) -> R:
        """The algorithm's result for the graph as it is now (or was when the tracker was closed).

        Changing it never changes the state of the tracker: NumPy arrays are read-only views, whose contents change with
        the graph, and CuPy arrays, which cannot be read-only, are copies. Copy a NumPy array to keep its values.
        """
        found: R = self._kept.result()
        return found

    @on_device_of("graph")
    def at(self, ids: Any = None, dst: Any = None, *, names: Any = None) -> Any:
        """Return the result at vertices: its arrays by vertex have ``k`` entries, on the graph's device.

        If the algorithm gives values per edge, call ``at(src, dst)``: of edges that the result does not have values are
        NaN, and all are ``float64``.

        Args:
            ids: ``k`` ids, or names that are texts; integers are always ids. A single one gives plain numbers.
            dst: where values are per edge, the other ends, like ``ids``; else None.
            names: ``k`` names of any type, or one, in place of ``ids``.

        Raises:
            UnknownNameError: the graph has no vertex of such a name.
            ParameterError: the algorithm gives no value per vertex, or none per edge.
            VertexRangeError, DTypeError, ShapeError: the ids are invalid.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> reach = g.track("bfs", source=0)
            >>> reach.at([2, 0]).level.tolist()
            [2, 0]
        """
        if dst is not None:
            return frames.at_edges(self.graph, self._current(), self.algorithm, ids, dst)
        vertices, is_one = frames.chosen(self.graph, ids, names)
        found = self._kept.at(vertices)
        if found is None:
            found = frames.at(self.graph, self._current(), self.algorithm, vertices)
        return frames.of_one(found) if is_one else found

    @property
    @on_device_of("graph")
    def own(self) -> Own[R]:
        """The vertices that this process owns, ascending, and the result at them; of one process, all of it.

        No process gets what others have. It is a call of all of them.

        Raises:
            ParameterError: the algorithm gives no value per vertex.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> mine = g.track("bfs", source=0).own
            >>> mine.vertices.tolist(), mine.result.level.tolist()
            ([0, 1, 2], [0, 1, 2])
        """
        at, xp = places(self.graph), self.graph.device.xp
        vertices = xp.arange(at.start, at.stop, dtype=np.uint32) if isinstance(at, slice) else at.copy()
        found = self._kept.own()
        if found is None:
            found = frames.at(self.graph, self._current(), self.algorithm, vertices)
        return Own(vertices, found)

    @on_device_of("graph")
    def top(self, k: int = 10, by: str | None = None, *, largest: bool = True) -> frames.Frame:
        """Return the ``k`` live vertices with the largest values (all, if there are fewer), as rows.

        Columns are rank, vertex, name (if the graph has names) and the arrays of the result; of values per edge, rows
        are edges, and ``src`` and ``dst``, as names if there are any, take the place of the vertex. If the algorithm
        finds groups, such as components, the rows are the ``k`` largest groups, with rank, vertex (the group's id) and
        size.
        Ties are ordered by id, and NaN comes last.

        Args:
            k: number of rows.
            by: the array of the result to rank by; None: the first one, or the sizes of groups.
            largest: False: the smallest values.

        Raises:
            ParameterError: an argument is invalid, or the algorithm gives no value per vertex.

        Example:
            >>> g = su.Graph.from_coo([0, 1, 3], [2, 2, 1], device="cpu")
            >>> g.track("pagerank").top(2)["vertex"].tolist()
            [2, 1]
        """
        return frames.top(self.graph, self._current(), self.algorithm, k, by, largest)

    @on_device_of("graph")
    def changed(self, atol: float = 0.0) -> frames.Frame:
        """Return the vertices whose values changed since the last call; the first call returns all live ones.

        Columns are vertex, name (if the graph has names), the arrays of the result, and ``change``: ``"changed"``: by
        more than ``atol``; ``"new"``: the vertex was not live at the last call; ``"left"``: it is not live any more
        (with its values then). From the first call on, the tracker keeps a copy of the result's arrays.

        Raises:
            ParameterError: ``atol`` is invalid, or the algorithm gives no value per vertex.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=4, device="cpu")
            >>> reach = g.track("bfs", source=0)
            >>> seen = reach.changed()
            >>> delta = g.insert_edges([0], [3])
            >>> reach.changed()
            vertex  level  parent   change
                 3      1       0  changed
        """
        atol = real("atol", atol, low=0)
        now = frames.seen(self.graph, self._current(), self.algorithm)
        frame = frames.changed(self.graph, self.algorithm, self._seen, now, atol)
        self._seen = now
        return frame

    def to_pandas(self, *, own: bool = False) -> Any:
        """Return a ``pandas.DataFrame`` of live vertices: vertex, name (if the graph has names), the result's arrays.

        Of values per edge it has a row per edge: src and dst, as names if there are any, and the result's arrays.

        Ids are null where the result has none, -1 or ``su.EMPTY``; such a column has a nullable dtype.

        Args:
            own: of a graph of several processes, only vertices that this one owns, or edges from these: the frames of
                all processes are together the whole one.

        Raises:
            MissingLibraryError: pandas is not installed.
            ParameterError: the algorithm gives no value per vertex, or ``own`` is no bool.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.track("bfs", source=0).to_pandas()
               vertex  level  parent
            0       0      0       0
            1       1      1       0
            2       2      2       1
        """
        return self._frame(own).to_pandas()

    def to_arrow(self, *, own: bool = False) -> Any:
        """Return a ``pyarrow.Table`` with the columns and rows of :meth:`to_pandas`; raises the same errors.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> g.track("bfs", source=0).to_arrow().column_names
            ['vertex', 'level', 'parent']
        """
        return self._frame(own).to_arrow()

    @on_device_of("graph")
    def _frame(self, own: bool = False) -> frames.Frame:
        if flag("own", own) and self.graph.partition is not None and (found := self._kept.own()) is not None:
            return frames.of_own(self.graph, self.graph.partition.own, found, self.algorithm)
        return frames.full(self.graph, self._current(), self.algorithm, own=own)

    def _current(self) -> R:
        """Return the result; raises ``ParameterError`` if it is not that of the graph as it is now."""
        if self.closed and self.version != self.graph.version:
            raise ParameterError("the tracker is closed, and the graph has changed since then: read its result")
        return self.result

    @on_device_of("graph")
    def refresh(self) -> None:
        """Compute the result from scratch, whether or not it is current.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
            >>> ranks = g.track("pagerank")
            >>> ranks.refresh()
            >>> round(float(ranks.result.sum()), 6)
            1.0
        """
        self._kept.compute()

    @on_device_of("graph")
    def close(self) -> None:
        """Stop updating the result. The last one can still be read; it is copied if other trackers share the state.

        Example:
            >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=4, device="cpu")
            >>> reach = g.track("bfs", source=0)
            >>> reach.close()
            >>> delta = g.insert_edges([2], [3])
            >>> reach.result.level.tolist()
            [0, 1, 2, -1]
        """
        self.closed, self._kept = True, self._kept.close(self)

    _repr_html_ = html.of_tracker
    __dir__ = hints.names_of

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise ParameterError(
            "a tracker follows its graph and cannot be copied or pickled: copy the graph and track again"
        )

    def __repr__(self) -> str:
        state = "closed" if self.closed else "stale" if self.stale else "current"
        return f"<Tracker: {self.name}, {state}, version {self.version}, {self.updates}>"


def protected(result: Any, *, copies: bool = False) -> Any:
    """Return ``result`` rebuilt of read-only views of NumPy arrays (``copies``: of copies) and copies of CuPy's."""
    if isinstance(result, np.ndarray):
        view = result.copy() if copies else result.view()
        view.flags.writeable = False
        return view
    if hasattr(result, "__cuda_array_interface__"):
        return copied(result)
    if isinstance(result, dict):
        return {key: protected(part, copies=copies) for key, part in result.items()}
    if type(result) not in (tuple, list) and not (isinstance(result, tuple) and hasattr(result, "_fields")):
        return result
    parts = [protected(part, copies=copies) for part in result]
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


def make_algorithm(graph: Graph, algorithm: Any, params: dict[str, Any]) -> Algorithm:
    """Return an instance, or raise ``UnknownNameError``, or ``RequirementError`` if it cannot run on ``graph``."""
    if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)):
        algorithm = plugins.algorithm(algorithm)
    algorithm.demand(graph)
    by_operators = graph.partition is not None and not algorithm.divided_kernels
    if by_operators and _takes_kernels(algorithm):
        params = {"kernels": False} | params
        if params["kernels"]:
            raise RequirementError("kernels walk storage, which is divided among processes: leave kernels=False")
    return algorithm.create(params)


@cache
def _takes_kernels(kind: type[Algorithm]) -> bool:
    return "kernels" in inspect.signature(kind).parameters


def sharing_key(kind: type[Algorithm], params: dict[str, Any]) -> Hashable:
    """Return the key by which trackers share an instance; unique if a parameter is no plain value."""
    bound = inspect.signature(kind).bind(**params)
    bound.apply_defaults()
    values = [plain(value) for value in bound.arguments.values()]
    if any(type(value) not in COMPARED for value in values):
        return object()
    return (kind, *((type(value), repr(value)) for value in values))


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a number of Python, and an instance of a subclass of ``int`` as an ``int``."""
    if isinstance(value, np.generic):
        return value.item()
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def make_tracker(
    graph: Graph, seen: Graph, algorithm: Any, params: dict[str, Any], state: Mapping[str, Array] | None = None
) -> Tracker[Any]:
    """Return a tracker for an algorithm and parameters, which shares an instance or continues from ``state``."""
    instance, every = make_algorithm(seen, algorithm, params), seen._kept
    key = sharing_key(type(instance), params)
    kept = every.get(key)
    if kept is None or not kept.trackers:
        kept = Kept(seen, instance, params)
        if seen is graph and graph.partition is None:
            rehearse_tracking(graph, type(instance), params)
        if state is not None:
            kept.restore(state)
    if kept.stale:
        kept.compute()
    every[key] = kept
    return Tracker(graph, kept)


def advance_all(every: WeakValueDictionary[Hashable, Kept], delta: Delta, before: int) -> None:
    """Update all instances by ``delta``, a change after version ``before``; then raise the first error, with a note.

    After a deletion of vertices it is not raised: those instances are stale, and compute when they are read.
    """
    if REHEARSALS.are_new:
        REHEARSALS.wait_before_update()
    errors: list[Exception] = []
    delta.keeps_errors = True
    try:
        for ref in every.valuerefs():  # values() takes 2 us
            kept = ref()
            if kept is None or not kept.trackers:
                continue
            try:
                kept.advance(delta, before)
            except Exception as error:
                error.add_note(
                    f"in the update of tracker {kept.algorithm.name!r}; the graph holds the change, the result is stale"
                )
                errors.append(error)
    finally:
        delta.keeps_errors = False
    if errors and not len(delta.deleted_vertices):
        raise errors[0]
