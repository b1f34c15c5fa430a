"""The frontier: the set of vertices that an operator starts from, or returns (Meerkat's ``Frontier``).

The size of a frontier that an operator returns on CUDA is first known to the device only, where the kernel counted. The
next operator takes :attr:`Frontier.buffer` and :attr:`Frontier.device_count` and needs no host read; ``len()`` and
:attr:`Frontier.vertices` read the count, once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, Device, resolve_device
from suricate.base.protocols import GraphLike
from suricate.intake.arrays import as_array, as_ids, checked_ids, placed, placed_ids, sorted_distinct
from suricate.state.made import MadeByGraph


class DeviceCount:
    """A number on the device, ``uint32``, at ``block[at]``; an array of it is made only when needed."""

    __slots__ = ("_at", "_block", "address")

    def __init__(self, block: Array, at: int, address: np.uint64) -> None:
        self._block, self._at, self.address = block, at, address

    @property
    def array(self) -> Array:
        """The number as an array ``uint32[1]`` on the device, a view of ``block``."""
        return self._block[self._at : self._at + 1]


class Frontier(metaclass=MadeByGraph):
    """A set of vertices on a device, made by ``graph.frontier(...)`` and by operators.

    Args:
        device: device of the arrays.
        vertices: ``uint32[capacity]``, with the ids at its beginning; not copied.
        count: how many of ``vertices`` belong to the set: an int, a ``uint32[1]`` array on the device (or a
            :class:`DeviceCount`), which the host reads only when needed, or None for all of them.
        num_vertices: number of vertices of the graph: all ids are below it. None: not known; the first operator that
            takes the frontier computes it, which waits for the device.
        distinct: whether no id is repeated. If False, operators drop repeats on the device.

    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` give an independent frontier on the same device.

    Example:
        >>> g = su.Graph(6, device="cpu")
        >>> some = g.frontier([4, 1])
        >>> isinstance(some, su.Frontier), some.vertices.tolist()
        (True, [1, 4])
    """

    __slots__ = ("_bound", "_buffer", "_capacity", "_count", "_device_count", "device", "distinct", "is_all", "rows")

    def __init__(
        self,
        device: Device,
        vertices: Array,
        count: Array | DeviceCount | int | None = None,
        *,
        num_vertices: int | None = None,
        distinct: bool = True,
    ) -> None:
        self.device = device
        self.distinct = distinct  #: whether no id is repeated
        self.is_all = False  #: whether it is of all vertices: operators then need no list of vertices
        self.rows: tuple[int, int] | None = None  #: begin and end if it is a range of a divided graph
        self._buffer: Array | None = vertices
        self._capacity = len(vertices)
        self._bound = num_vertices
        self._count: int | None = None
        self._device_count: Array | DeviceCount | None = None
        if count is None:
            self._count = self._capacity
        elif isinstance(count, int | np.integer):
            self._count = int(count)
        else:
            self._device_count = count

    @classmethod
    def _of_all(cls, device: Device, num_vertices: int) -> Frontier:
        frontier = cls.__new__(cls)
        frontier.device, frontier.is_all, frontier.distinct, frontier.rows = device, True, True, None
        frontier._buffer = None
        frontier._capacity = frontier._count = frontier._bound = num_vertices
        frontier._device_count = None
        return frontier

    @classmethod
    def _of_rows(cls, graph: GraphLike, begin: int, end: int) -> Frontier:
        """Return the frontier of vertices ``begin`` to ``end`` (exclusive), the only ones with edges in ``graph``.

        ``graph`` is the part of a graph of several processes that one of them holds.
        """
        ids = graph.device.xp.arange(begin, end, dtype=np.uint32)
        frontier = cls._of(graph.device, ids, num_vertices=graph.num_vertices)
        frontier.rows = begin, end
        return frontier

    @classmethod
    def _of_graph(cls, graph: GraphLike, vertices: Any, trusted: bool, distinct: bool) -> Frontier:
        """Return ``graph.frontier(vertices, ...)``, whose parameters these are."""
        device, count = graph.device, graph.num_vertices
        if vertices is None:
            return cls._of_all(device, count)
        if trusted:
            if isinstance(vertices, (int, np.integer)):
                vertices = _on_device(device, np.array([vertices], np.uint32))
            return cls._of(device, vertices, num_vertices=count, distinct=distinct)
        if isinstance(vertices, (int, np.integer)) and not isinstance(vertices, bool):
            vertices = [vertices]
        with device.current():
            return cls._of(device, _distinct_ids(device, count, vertices), num_vertices=count)

    @property
    def capacity(self) -> int:
        """Length of :attr:`buffer`: an upper bound of the number of vertices, known without a host read."""
        return self._capacity

    @property
    def known_count(self) -> int | None:
        """Number of vertices, or None while only the device knows it."""
        return self._count

    @property
    def at_most(self) -> int:
        """The least upper bound of the number of vertices that is known without a host read."""
        return self._capacity if self._count is None else self._count

    @property
    def num_vertices(self) -> int:
        """An upper bound (exclusive) of the ids; computing it, if it was not given, waits for the device."""
        if self._bound is None:
            vertices = self.vertices
            self._bound = int(vertices.max()) + 1 if len(vertices) else 0
        return self._bound

    @property
    def buffer(self) -> Array:
        """The vertices, ``uint32[capacity]``; only the first :attr:`device_count` of them belong to the set."""
        if self._buffer is None:
            with self.device.current():
                self._buffer = self.device.xp.arange(self._capacity, dtype=np.uint32)
        return self._buffer

    @property
    def device_count(self) -> Array:
        """Number of vertices as a ``uint32[1]`` array on the device; no host read."""
        if self._device_count is None:
            with self.device.current():
                self._device_count = self.device.xp.full(1, self._count, np.uint32)
        elif isinstance(self._device_count, DeviceCount):
            return self._device_count.array
        return self._device_count

    @property
    def count_address(self) -> np.uint64:
        """Address of :attr:`device_count` on a CUDA device, as a kernel argument."""
        held = self._device_count
        return held.address if isinstance(held, DeviceCount) else np.uint64(self.device_count.data.ptr)

    @property
    def vertices(self) -> Array:
        """The vertices, ``uint32[len(self)]``; reads the count from the device if it is not known yet."""
        return self.buffer[: len(self)]

    def __reduce__(self) -> tuple[Any, ...]:
        vertices = None if self.is_all else self.device.to_numpy(self.vertices).copy()
        return _restored, (self.device, vertices, self._bound, self.distinct)

    def __len__(self) -> int:
        if self._count is None:
            self._count = int(self.device.to_numpy(self.device_count)[0])
        return self._count

    def __repr__(self) -> str:
        size = "size still on the device" if self._count is None else f"{self._count} vertices"
        return f"<Frontier: {size}, {self.device}>"


def _on_device(device: Device, host: np.ndarray) -> Array:
    """Return a copy of the one id in ``host`` on the device; launches no kernel."""
    if not device.is_cuda:
        return host
    xp = device.xp
    ids, runtime, stream = xp.empty(1, np.uint32), xp.cuda.runtime, xp.cuda.get_current_stream()
    runtime.memcpyAsync(ids.data.ptr, host.ctypes.data, host.nbytes, runtime.memcpyHostToDevice, stream.ptr)
    return ids


def _distinct_ids(device: Device, num_vertices: int, given: Any) -> Array:
    """Return ids, or where a mask holds, as ``uint32[k]`` on the device: checked, ascending, each once."""
    xp = device.xp
    ids = as_array(given, "vertices")
    if ids.dtype.kind == "b" and ids.shape == (num_vertices,):
        return xp.flatnonzero(placed(ids, device, "vertices")).astype(np.uint32)
    ids = as_ids(given, "vertices")
    if isinstance(ids, np.ndarray):
        return xp.asarray(sorted_distinct(checked_ids(ids, num_vertices, "vertices")))
    return sorted_distinct(xp.array(placed_ids(ids, device, num_vertices, "vertices")), xp)


def _restored(device: Device, vertices: np.ndarray | None, num_vertices: int | None, distinct: bool) -> Frontier:
    """Return a frontier of ``vertices`` (None: all below ``num_vertices``) on ``device``; for copies and pickles."""
    device = resolve_device(str(device))
    if vertices is None:
        return Frontier._of_all(device, num_vertices or 0)
    with device.current():
        return Frontier._of(device, device.xp.asarray(vertices), num_vertices=num_vertices, distinct=distinct)
