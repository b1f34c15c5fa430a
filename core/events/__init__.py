"""Events by vertex, in order of time: the log with its index, samples and paths.

A graph keeps one edge per pair of vertices; a log keeps every event. It is a record in order of time
(``suricate.events.record``) and an index of it by vertex: each device has one of its own, see :func:`index_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array, Device, DeviceLike, any_true, resolve_device
from suricate.base.errors import (
    CapacityError,
    DTypeError,
    LateEventError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
    require,
)
from suricate.base.forks import shared_number
from suricate.base.parameters import flag, integer, one_of, shown
from suricate.base.public import listing
from suricate.events import snapshot
from suricate.events.record import FIRST, LAST, Record
from suricate.events.sampling import sample
from suricate.events.view import between
from suricate.graph.interface.hints import PAIRS
from suricate.graph.interrupts import Uninterrupted
from suricate.graph.naming import are_texts
from suricate.graph.options import checked_count, checked_size
from suricate.intake.arrays import as_array, as_ids, checked_edges, on_host, placed, placed_ids, same_length
from suricate.intake.name_table import NO_IDS, Prepared
from suricate.intake.name_values import NEXT_SLIDE
from suricate.intake.names import Names
from suricate.state.column import as_values, fitted
from suricate.state.edge_table import Kind, checked_kinds
from suricate.state.locks import graph_lock, on_graph_device
from suricate.state.workspace import Workspace

if TYPE_CHECKING:
    from suricate.operators.sampling import Sample

__all__ = ["Events"]
__dir__ = listing(__all__)

OVER = ("in", "out", "both")  #: directions of which a log may have rows
TAKEN = ("time", "src", "dst", "alive")  #: names that columns cannot have
TRIPLES = "append takes times, sources and destinations as three arrays: of triples, append(*zip(*triples))"
INT64 = np.dtype(np.int64)


def index_of(device: Device, over: str, num_vertices: int, admit: Callable[[int], None]) -> Any:
    """Return a new index by vertex: this is where a device chooses its own.

    Both have the methods of ``suricate.events.index_cpu.Index``.
    """
    if device.is_cuda:
        from suricate.events.index_cuda import CudaIndex

        return CudaIndex(device, over, num_vertices, admit)
    from suricate.events.index_cpu import Index  # imports Numba

    return Index(over, num_vertices, admit)


def taking_of(device: Device) -> Any:
    """Return the function by which a device takes events that need no order, see ``suricate.events.taking.take``."""
    if device.is_cuda:
        from suricate.events.taking_cuda import Taking

        return Taking(device)
    from suricate.events.taking import take  # imports Numba

    return take


def number_from(record: Record, time: int, taking: Any) -> int:
    """Return the number of the first event kept with a time >= ``time``, or ``next``; ``taking``: of the device."""
    return int(taking.number_from(record, time) if record.device.is_cuda else record.number_from(time))


class Events:
    """A log of events: (time, source, destination), by number in order of time, and by vertex.

    Args:
        num_vertices: number of vertices; ids are 0 to ``num_vertices - 1``.
        device: ``"auto"`` (CUDA if there is a device), ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
        directed: whether events have a direction.
        over: whose events a vertex has: ``"in"``: those that lead to it, its past as message passing needs it;
            ``"out"``: those that it sends, as paths and walks need them; ``"both"``: all at it, a self-loop once. If
            events have no direction, it is always ``"both"``.
        columns: further columns of events: their dtypes by name (``str`` for texts), or ``(dtype, missing value)``.
        names: :attr:`names`: ``True``, ``Names``, or the name of each vertex, in order.
        memory_limit: the most bytes that the log may have allocated at any time, both copies of what grows included,
            also as text (``"1.5GB"``), or None. Not counted: names, texts besides 8 bytes each, and the scratch memory
            of a call.
        comm: a log of several processes is not there yet: None.

    Numbers of events are int64, from 0 on, and never used again. Several threads may use a log: calls run one after the
    other. A call that fails or is interrupted leaves the log as it was. ``copy.copy``, ``copy.deepcopy`` and ``pickle``
    make an independent log of the same events, numbers and names.

    Attributes:
        device, directed, over: as above.
        num_vertices: number of vertices.
        names: the names of the vertices (``su.Names``, in host memory), or None. An id is its name's while a live event
            is at it, and is given out again after that, unless ``Names(keep=True)``.

    Raises:
        ParameterError, UnknownNameError, DeviceError, DTypeError, VertexRangeError: an argument is invalid.
        RequirementError: ``comm`` is given.
        CapacityError: there is not enough memory.

    Example:
        >>> log = su.Events(device="cpu", names=True)
        >>> numbers = log.append([10, 20, 30], ["ann", "bob", "ann"], ["bob", "cid", "cid"])
        >>> log.close_before(40)
        >>> sample = log.sample(["cid"], fan=[2])
        >>> log.names[sample.node].tolist(), sample.time.tolist()
        (['cid', 'bob', 'ann'], [20, 30])
    """

    def __init__(
        self, num_vertices: int = 0, *, device: DeviceLike = "auto", directed: bool = True, over: str = "in",
        columns: Any = None, names: Any = None, memory_limit: int | str | None = None, comm: Any = None,
    ) -> None:  # fmt: skip
        if comm is not None:
            raise RequirementError("su.Events is of one process: leave comm away, and give each process a log")
        self.device, self.directed = resolve_device(device), flag("directed", directed)
        self.over = one_of("over", over, OVER) if self.directed else "both"
        self._limit, self._kinds = checked_size("memory_limit", memory_limit), _kinds_of(columns)
        self.names = _names_of(names)
        count = max(checked_count(num_vertices), 0 if self.names is None else self.names.num_ids)
        self._newest: int | None = None  # time of the newest event that has come
        self._closed: int | None = None  # as close_before() says
        self._expired: int | None = None  # events before this time have left
        self._version, self._workspace = 0, Workspace(self.device)  # the former grows with every change; of views
        self._watch: np.ndarray | None = None  # see _shared_version
        self._lock = graph_lock(self.device)
        self._record = Record(self.device, {name: kind.dtype for name, kind in self._kinds.items()})
        self._index: Any = None
        with self._lock:
            self._index = index_of(self.device, self.over, count, self._admit)
            self._taking = taking_of(self.device)
        self.num_vertices = count

    def _admit(self, size: int) -> None:
        """Raise ``CapacityError`` if ``size`` more bytes exceed the memory limit."""
        if self._limit is None:
            return
        wanted = size + self._record.memory + (0 if self._index is None else self._index.memory)
        if wanted > self._limit:
            raise CapacityError(f"the log needs {wanted} bytes, memory_limit is {self._limit}")

    # -- what it is ----------------------------------------------------------------------------------------------------

    @on_graph_device
    def __len__(self) -> int:
        """Return the number of live events."""
        return len(self._record)

    @property
    def first(self) -> int:
        """The number of the oldest live event; ``next`` if there is none."""
        return self._record.first

    @property
    def next(self) -> int:
        """The number that the next event gets."""
        return self._record.next

    @property
    @on_graph_device
    def oldest(self) -> int | None:
        """The time of the oldest live event; None if there is none."""
        record = self._record
        return None if record.first == record.next else int(record.time[record.first & (record.capacity - 1)])

    @property
    def newest(self) -> int | None:
        """The time of the newest event that has come, even if it has left; None if none has."""
        return self._newest

    @property
    def closed(self) -> int | None:
        """No event before this time will come: the newest time, or that of :meth:`close_before` if it is later."""
        newest, closed = self._newest, self._closed
        return closed if newest is None else newest if closed is None else max(newest, closed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the further columns."""
        return tuple(self._kinds)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        numbers = f"{len(self)} events from {self.first} to {self.next}"
        return f"<Events: {self.num_vertices} vertices, {numbers}, {kind}, over {self.over!r}; on {self.device}>"

    @on_graph_device
    def memory_usage(self) -> dict[str, int]:
        """Return the bytes allocated for each part: ``record`` (times, ends and columns) and ``index``.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> numbers = log.append([10], [0], [1])
            >>> sorted(log.memory_usage())
            ['index', 'record']
        """
        return {"record": self._record.memory, "index": self._index.memory}

    @on_graph_device
    def at(self, column: str, numbers: Any) -> Array:
        """Return the values of a column for live events: ``"time"``, ``"src"``, ``"dst"`` or a further one.

        Args:
            column: its name.
            numbers: numbers of events, ``n`` integers.

        Raises:
            UnknownNameError: there is no such column.
            ParameterError: an event has left, was removed, or has not come.
            DTypeError, ShapeError, DeviceError: ``numbers`` are not integers in one dimension.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> numbers = log.append([10, 20], [0, 1], [1, 2])
            >>> log.at("time", [1]).tolist(), log.at("dst", numbers).tolist()
            ([20], [1, 2])
        """
        ring = self._ring(column)
        places = self._live(numbers) & (self._record.capacity - 1)
        return ring[on_host(places) if ring.dtype == object else places]

    def _ring(self, column: Any) -> Array:
        """Return the ring of a column: ``"time"``, an end or a further one; raises ``UnknownNameError`` for others."""
        record, ends = self._record, ("src", "dst")
        rings = record.rings() if column in ends else {"time": record.time, **record.columns}
        if not isinstance(column, str) or column not in rings:
            known = ", ".join(("time", *ends, *self._kinds))
            raise UnknownNameError(f"the log has no column {shown(column)}; it has: {known}")
        return rings[column]

    def _live(self, numbers: Any) -> Array:
        """Return numbers of live events as ``int64[n]`` on the device; raises ``ParameterError`` for others."""
        given = placed(as_ids(numbers, "numbers"), self.device, "numbers", "log").astype(np.int64)
        record = self._record
        bad = (given < record.first) | (given >= record.next)
        if record.alive is not None:
            bad |= record.alive[given & (record.capacity - 1)] == 0
        if len(given) and any_true(bad):
            at = int(bad.argmax())
            kept = f"{record.first} to {record.next - 1}" if len(record) else "none"
            raise ParameterError(f"numbers[{at}] is {int(given[at])}: live events are {kept}, without removed ones")
        return given

    def _changed(self) -> None:
        self._version += 1
        if self._watch is not None:
            self._watch[0] = self._version

    def _shared_version(self) -> np.ndarray:
        """Return the log's version, ``int64[1]``, in memory that processes share which are forked from now on."""
        if self._watch is None:
            self._watch = shared_number()
            self._watch[0] = self._version
        return self._watch

    # -- changes -------------------------------------------------------------------------------------------------------

    @on_graph_device
    def append(self, time: Any, src: Any = PAIRS, dst: Any = PAIRS, columns: Any = None) -> range:
        """Append events; return their numbers.

        Args:
            time: ``n`` integers of any unit; the events are sorted by them, equal times stay in the order given.
            src, dst: ids of vertices, ``n`` each, or names that are texts: new names get an id. Ids need a name if the
                log has names.
            columns: ``{name: values}``, ``n`` each or one for all; the events get the missing value of other columns.

        Raises:
            LateEventError: an event is older than the newest one, or than :meth:`close_before` allows.
            DTypeError, ShapeError, VertexRangeError, UnknownNameError, DeviceError: the events are invalid.
            CapacityError: there is not enough memory. In all cases nothing is appended.

        Example:
            >>> log = su.Events(3, columns={"fee": "float32"}, device="cpu")
            >>> log.append([10, 20], [0, 1], [1, 2], {"fee": [0.5, 2.0]})
            range(0, 2)
        """
        if dst is PAIRS:
            raise DTypeError(TRIPLES)
        if self.names is None:
            return self._append(time, as_ids(src, "src"), as_ids(dst, "dst"), columns)
        with self.names.exclusive():
            change = Prepared(self.names)
            change.up = ends = self._ids_of(change, src, dst)
            half = len(ends) // 2
            return self._append(time, ends[:half], ends[half:], columns, change)

    def _ids_of(self, change: Prepared, src: Any, dst: Any) -> np.ndarray:
        """Return the ids of sources, then those of destinations: of names, which are added, or ids that have one."""
        texts = are_texts(src), are_texts(dst)
        if any(texts) and not all(texts):
            raise ParameterError("src and dst must both be names, or both be ids")
        if any(texts):
            return change.intern_pairs(src, dst, self.num_vertices).T.reshape(-1)
        src, dst = on_host(as_ids(src, "src")), on_host(as_ids(dst, "dst"))
        same_length(src, dst)
        assert self.names is not None
        return self.names._known(np.concatenate((src, dst)))

    def _append(self, time: Any, src: Array, dst: Array, columns: Any, change: Prepared | None = None) -> range:
        count, times, record = same_length(src, dst), _as_times(time), self._record
        bound = self.num_vertices if change is None else max(self.num_vertices, change.num_ids)
        if len(times) != count:
            raise ShapeError(f"time has {len(times)} entries for {count} events: pass one per event")
        record.reserve(count, self._admit)
        first, last = record.next, record.next + count
        if not count:
            self._values(columns, count)
            return range(first, first)
        values, newest = self._values(columns, count), self._take(times, src, dst, bound)
        if newest is None:
            newest = self._write(placed(times, self.device, "time", "log"), src, dst, values, bound)
        elif values:
            record.write(values)
        with Uninterrupted():
            self._enter(first, last, bound)
            if change is not None:
                change.keep()
            record.next, self._newest = last, newest
        return range(first, last)

    def _enter(self, first: int, last: int, num_vertices: int) -> None:
        """Enter written events into the index, with rows for so many vertices."""
        if num_vertices > self.num_vertices:
            self._index.add_vertices(num_vertices - self.num_vertices)
            self.num_vertices = num_vertices
        self._index.enter(self._record, first, last)
        self._changed()

    def _take(self, times: Array, src: Array, dst: Array, bound: int) -> int | None:
        """Write events that are valid, and need no order and no copy; return the newest time, None if they are not."""
        if self.device.is_cuda:
            if isinstance(src, np.ndarray) and isinstance(dst, np.ndarray):
                src, dst, _ = checked_edges((src, dst, None), bound)  # half the bytes to be copied
            times = placed(times, self.device, "time", "log")
            src, dst = placed(src, self.device, "src", "log"), placed(dst, self.device, "dst", "log")
        closed = self.closed
        return self._taking(self._record, (times, src, dst), bound, FIRST if closed is None else closed)

    def _write(self, times: Array, src: Array, dst: Array, values: dict[str, Array], bound: int) -> int:
        """Check events, and write them behind the record in order; return the newest time."""
        src, dst, ascends, oldest, newest = self._checked(times, src, dst, bound)
        if not ascends:
            order = self.device.xp.argsort(times, kind="stable")
            times, src, dst = times[order], src[order], dst[order]
            host = on_host(order) if values else order  # texts are there
            values = {name: part[host if isinstance(part, np.ndarray) else order] for name, part in values.items()}
            oldest, newest = int(times[0]), int(times[-1])
        closed = self.closed
        if closed is not None and oldest < closed:
            why = "that of the newest event" if closed == self._newest else "which close_before() has closed"
            raise LateEventError(f"an event has the time {oldest}, before {closed}, {why}: a log ascends by time")
        self._record.write({"time": times, "src": src, "dst": dst, **values})
        return newest

    def _checked(self, times: Array, src: Array, dst: Array, bound: int) -> tuple[Array, Array, bool, int, int]:
        """Return ids as ``uint32`` on the log's device, whether times ascend, and the first and last of them.

        Raises:
            VertexRangeError, DeviceError: ids are not below ``bound``, or on another device.
        """
        if isinstance(src, np.ndarray) and isinstance(dst, np.ndarray):
            src, dst, _ = checked_edges((src, dst, None), bound)
        src, dst = (placed_ids(ids, self.device, bound, name, "log") for ids, name in ((src, "src"), (dst, "dst")))
        return src, dst, not any_true(times[1:] < times[:-1]), int(times[0]), int(times[-1])

    def _values(self, given: Any, count: int) -> dict[str, Array]:
        """Return the values of all columns for ``count`` events, one each, where the columns are; checked."""
        if not self._kinds and given is None:
            return {}
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            raise ParameterError(f"columns must be a dict such as {{'fee': [1.5]}}, got {shown(given)}")
        unknown = next((name for name in given if name not in self._kinds), None)
        if unknown is not None:
            known = ", ".join(self._kinds) or "none"
            raise UnknownNameError(f"the log has no column {shown(unknown)}; it has: {known}")
        found = {}
        for name, kind in self._kinds.items():
            values = given.get(name, np.asarray(kind.missing, kind.dtype))
            values = fitted(as_values(values, name, count, "events"), kind.dtype, name)
            xp = np if kind.dtype == object else self.device.xp
            found[name] = xp.broadcast_to(xp.asarray(values), (count,)) if count else xp.empty(0, kind.dtype)
        return found

    @on_graph_device
    def close_before(self, time: int) -> None:
        """Say that no event before ``time`` will come; :meth:`append` then raises ``LateEventError`` for such events.

        Raises:
            ParameterError: ``time`` is no integer of 64 bits.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> log.close_before(40)
            >>> log.closed
            40
        """
        time = _time(time, "time")
        self._closed = time if self._closed is None else max(time, self._closed)

    @on_graph_device
    def expire(self, before: int) -> int:
        """Let all events with a time < ``before`` leave, the oldest first; return how many live ones left.

        Raises:
            ParameterError: ``before`` is no integer of 64 bits.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> numbers = log.append([10, 20], [0, 1], [1, 2])
            >>> log.expire(20), len(log), log.first
            (1, 1, 1)
        """
        record, held, time = self._record, len(self._record), _time(before, "before")
        upto = number_from(record, time, self._taking)
        if upto > record.first:
            with self._leaving(lambda: record.live_ends(record.first, upto)) as index:
                index.expire(record, upto)
                record.leave(upto)
        self._expired = time if self._expired is None else max(self._expired, time)
        return held - len(record)

    def _numbers_between(self, start: int | None, end: int | None) -> tuple[int, int]:
        """Return of the events kept with ``start <= time < end`` the first number, and one past the last."""
        first, upto = self._record.first, self._record.next
        if start is not None:
            first = number_from(self._record, integer("start", start, low=FIRST, high=LAST), self._taking)
        if end is not None:
            upto = number_from(self._record, integer("end", end, low=FIRST, high=LAST), self._taking)
        return first, max(first, upto)

    @on_graph_device
    def remove(self, numbers: Any) -> None:
        """Remove events; samples as of earlier times do not see them either. Work follows the events of their vertices.

        Args:
            numbers: numbers of live events, integers; repeats count once.

        Raises:
            ParameterError: an event has left, was removed, or has not come; nothing is removed.
            DTypeError, ShapeError, DeviceError: ``numbers`` are not integers in one dimension.
            CapacityError: there is not enough memory.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> numbers = log.append([10, 20], [0, 1], [1, 2])
            >>> log.remove([0])
            >>> len(log)
            1
        """
        record, numbers = self._record, self.device.xp.unique(self._live(numbers))
        if len(numbers):
            src, dst = (ring[numbers & (record.capacity - 1)] for ring in record.ends(0, record.capacity))
            with self._leaving(lambda: (src, dst)) as index:
                record.mark_removable(self._admit)
                index.remove(src, dst, numbers, record.first)
                record.remove(numbers)

    @contextmanager
    def _leaving(self, ends_of: Callable[[], tuple[Array, Array]]) -> Iterator[Any]:
        """A context, without interrupts, in which live events leave; it yields the index. Their names lose a count."""
        names = self.names
        if names is None:
            with Uninterrupted():
                yield self._index
                self._changed()
            return
        with names.exclusive():
            change = Prepared(names, NEXT_SLIDE, slides=True)
            change.recount(NO_IDS, np.concatenate([*map(on_host, ends_of())]), forgets=not names.keep)
            with Uninterrupted():
                yield self._index
                change.keep()
                self._changed()

    @on_graph_device
    def insert_vertices(self, count: int = 1) -> Array:
        """Add ``count`` vertices without events and return their ids, ``uint32[count]``.

        Raises:
            VertexRangeError: there would be more vertices than ids.
            CapacityError: there is not enough memory.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> log.insert_vertices(2).tolist(), log.num_vertices
            ([3, 4], 5)
        """
        held = self.num_vertices
        self._enter(self.next, self.next, checked_count(held + checked_count(count, "count")))
        return self.device.xp.arange(held, self.num_vertices, dtype=np.uint32)

    @on_graph_device
    def sample(
        self,
        vertices: Any,
        fan: Any = (10, 5),
        *,
        at: Any = None,
        span: int | None = None,
        take: str = "uniform",
        through: bool = False,
        hops: str = "seed",
        replace: bool = False,
        seed: int = 0,
        ids: Any = None,
    ) -> Sample:
        """Sample a tree of past events from each of ``vertices``, hop by hop, as of a time.

        A root gives the same tree in whatever batch, order and device, and later events do not change it: draws
        depend on ``seed``, the root, ``at``, and where in the tree they are made. A root twice at one time gives equal
        trees.

        Args:
            vertices: the roots: ids, or names that are texts.
            fan: how many events to draw of a vertex in each hop, -1 for all. A vertex with fewer gives all.
            at: the time of all trees, or one per root: events before it are eligible. None: :attr:`closed`.
            span: events at ``at - span`` or later are eligible; None: however old they are.
            take: ``"uniform"``, or ``"recent"``: the last ones; of equal times those that came last.
            through: whether events at ``at`` itself are eligible, too; ``at`` must then be before :attr:`closed`.
            hops: ``"seed"``: the same events are eligible in the whole tree, in which a vertex is one node, expanded
                once. ``"back"``: each hop goes back in time, before the event that led there (with ``through``, to
                those at its time, too); each event leads to a node of its own.
            replace: whether uniform draws may take an event more than once.
            seed: an integer of 64 bits.
            ids: integers, one per root, on which draws depend in place of the root and ``at``; or None.

        Returns:
            The trees: ``col`` is the vertex that was expanded, ``row`` its neighbour. Its events ascend by number.
            ``cut`` tells of which trees older events have left the log: those before ``at - span``, or ``at``.

        Raises:
            RequirementError: later events could still change the sample, or options exclude each other.
            ParameterError, ShapeError, DTypeError, DeviceError, VertexRangeError, UnknownNameError: an argument is
                invalid.
            CapacityError: there is not enough memory.

        Example:
            >>> log = su.Events(4, device="cpu")
            >>> numbers = log.append([10, 20, 20, 30], [0, 1, 2, 0], [1, 2, 1, 3])
            >>> sample = log.sample([1], fan=[10], at=[25])
            >>> sample.node.tolist(), sample.time.tolist()
            ([1, 0, 2], [10, 20])
        """
        return sample(self, vertices, fan, at, span, take, through, hops, replace, seed, ids)

    # -- views, copies and files ---------------------------------------------------------------------------------------

    between = between
    save, load = snapshot.save, classmethod(snapshot.load)
    __reduce__ = snapshot.reduced

    @on_graph_device
    def __copy__(self, memo: Any = None) -> Events:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._workspace = Workspace(self.device)
        made._lock, made._taking = graph_lock(self.device), taking_of(self.device)
        made._index, made._record, made._watch = None, self._record.copy(), None
        made._index = self._index.copy(made._admit)
        made.names = None if self.names is None else self.names.copy()
        return made

    __deepcopy__ = __copy__

    @on_graph_device
    def check(self) -> None:
        """Verify every invariant of the record, the index and the names; raises ``CheckFailed``.

        Example:
            >>> log = su.Events(3, device="cpu")
            >>> numbers = log.append([10], [0], [1])
            >>> print(log.check())
            None
        """
        self._record.check()
        self._index.check(self._record)
        if self.names is not None:
            self.names.check()
            require(self.names.num_ids <= self.num_vertices, "names have no more ids than there are vertices")


def _time(value: Any, label: str) -> int:
    return integer(label, value, low=FIRST, high=LAST)


def _kinds_of(columns: Any) -> dict[str, Kind]:
    """Return the dtypes and missing values of further columns, checked."""
    kinds = checked_kinds({} if columns is None else columns, "columns")
    taken = next((name for name in kinds if name in TAKEN), None)
    if taken is not None:
        raise ParameterError(f"a column of events cannot be called {taken!r}: choose another name")
    return kinds


def _names_of(given: Any) -> Names | None:
    """Return the names that the argument ``names`` of a log asks for."""
    if given is None or given is False:
        return None
    return Names() if given is True else given if isinstance(given, Names) else Names.of(given)


def _as_times(values: Any) -> Array:
    """Return times as ``int64[n]``, on the device where they are; raises unless they are integers of 64 bits."""
    array = as_array(values, "time")
    if array.dtype == INT64 and array.ndim == 1:
        return array
    if array.ndim != 1:
        raise ShapeError(f"time has shape {array.shape}: pass a one-dimensional array or a list")
    if not len(array):
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        advice = "; those with a unit: .astype('datetime64[s]').astype('int64')" if array.dtype.kind == "M" else ""
        raise DTypeError(f"time has dtype {array.dtype}: times are integers, ticks of one unit{advice}")
    if array.dtype == np.uint64 and int(array.max()) > LAST:
        raise ParameterError("time has an integer of 2^63 or more: times are int64")
    return array.astype(np.int64, copy=False)
