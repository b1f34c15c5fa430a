"""Loops in one launch on CUDA: their memory, which belongs to the graph, and the numbers that they report.

All launches of one graph are in one stream. The state of the loops and their stamps are kept between launches: a kernel
starts from the state that the previous one left, so nothing is cleared and the host reads nothing (see ``loop.cuh``).
"""

from __future__ import annotations

import time

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import CapacityError
from suricate.cuda.launch import address, is_done, multiprocessors
from suricate.cuda.pinned import PinnedCounters
from suricate.graph import Graph
from suricate.operators.cuda.launches import WideArray
from suricate.operators.cuda.programs import LOOP_MEMORY, LOOP_WORDS, OUTCOME, PROPAGATE_BLOCK, VERTICES
from suricate.operators.results import Layers, Propagated
from suricate.state.frontier import Frontier

NEAR = [*LOOP_MEMORY.fields].index("near")

TWICE = "layers keep a vertex only once, but some joined several times: call without layers=True"


NO_VERTICES = VERTICES.packed(0, 0, 0)


def vertices_values(frontier: Frontier | None) -> tuple[int, ...]:
    """Return the fields of the struct ``VERTICES`` for ``frontier``: address of ids, address of their number, number.

    If the frontier is all vertices, the address of ids is 0. If the host knows the number, the address of the number is
    0; otherwise the number is 0. None means no vertices: all three are 0.
    """
    if frontier is None:
        return 0, 0, 0
    if frontier.is_all:
        return 0, 0, frontier.capacity
    known = frontier.known_count
    count = 0 if known is not None else int(frontier.count_address)
    return address(frontier.buffer), count, known or 0


def packed_vertices(frontier: Frontier | None) -> np.void:
    """Return ``frontier`` as a struct ``VERTICES`` for kernels; None: no vertices."""
    return VERTICES.packed(*vertices_values(frontier))


def loop_grid(device: Device, threads: int = PROPAGATE_BLOCK) -> tuple[tuple[int], tuple[int]]:
    """Return grid and block of a cooperative launch with one block of ``threads`` threads per multiprocessor."""
    return (multiprocessors(device),), (threads,)


class LoopMemory:
    """The scratch arrays of a graph's loops, a struct ``LOOP_MEMORY``, allocated again when the graph has grown."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._size = -1
        self._values: list[int] = []  # of the struct
        self._packed: np.void | None = None
        self._abort = PinnedCounters(device, 1, np.uint32)  # not 0: loops that run are to end

    def wait(self) -> None:
        """Wait for the current stream; an interrupt from the keyboard ends loops early, then is raised."""
        event = self.device.xp.cuda.Event(disable_timing=True)
        event.record()
        try:
            while not is_done(self.device, event):
                time.sleep(0)
        except KeyboardInterrupt:
            self._abort.array[0] = 1
            event.synchronize()
            self._abort.array[0] = 0
            raise

    def of(self, graph: Graph) -> np.void:
        """Return the struct ``LOOP_MEMORY`` of the scratch arrays, which have at least one entry per vertex."""
        size = graph.num_vertices
        graph.workspace.state(WideArray).holds = None
        if self._packed is None or size > self._size:
            addresses = {name: address(array) for name, array in self._arrays(graph, size).items()}
            addresses["abort"] = self._abort.address
            self._values = [addresses[name] for name in LOOP_MEMORY.fields]
            self._packed = LOOP_MEMORY.packed(*self._values)
            self._size = size
        return self._packed

    def with_frontier(self, graph: Graph, queue: Array) -> np.void:
        """Return the struct of :meth:`of`, but with ``queue``, ``uint32[num_vertices]``, for the last frontier."""
        self.of(graph)
        values = self._values.copy()
        values[NEAR] = queue.data.ptr
        return LOOP_MEMORY.packed(*values)

    def _arrays(self, graph: Graph, size: int) -> dict[str, Array]:
        workspace = graph.workspace
        near, buffer, far = (workspace.array(f"operators.queue{i}", size, np.uint32) for i in range(3))
        return {
            "stamp": workspace.array("operators.loop_stamp", size, np.uint32),
            "state": workspace.array("operators.loop_state", LOOP_WORDS, np.uint32),
            "heavy_vertex": workspace.array("operators.heavy", size, np.uint32),
            "heavy_base": workspace.array("operators.heavy_base", size, np.int64),
            "near": near,
            "buffer": buffer,
            "far": far,
        }


class Outcome:
    """The numbers that a loop reports on the device, the fields of ``OUTCOME``; 0 until its kernel has written them."""

    __slots__ = ("_all", "_row", "address")

    def __init__(self, rows: Array, row: int, address: int) -> None:
        self._all, self._row = rows, row
        self.address = np.uint64(address)  #: as kernels take it

    @property
    def array(self) -> Array:
        """The numbers, ``uint64`` on the device, one for each field of ``OUTCOME`` in its order."""
        return self._all[self._row]


class Outcomes:
    """A supply of outcomes on the device; each is used by one launch only."""

    SIZE = 512

    def __init__(self, device: Device) -> None:
        self._device = device
        self._next = self.SIZE

    def take(self) -> Outcome:
        """Return an unused outcome, whose numbers are 0."""
        if self._next == self.SIZE:
            self._all = self._device.xp.zeros((self.SIZE, len(OUTCOME.fields)), np.uint64)
            self._next, self._start = 0, self._all.data.ptr
        row = self._next
        self._next += 1
        return Outcome(self._all, row, self._start + row * OUTCOME.size)


def propagated(graph: Graph, outcome: Outcome, layers: Layers | None = None) -> Propagated:
    """Return the result of a loop on ``graph``; its numbers are read from ``outcome`` when first used."""
    memory, device = graph.workspace.state(LoopMemory), graph.device

    def read() -> tuple[int, int, bool, bool]:
        with device.current():
            memory.wait()
        steps, pushed, deferred, left, excess, crowded = device.to_numpy(outcome.array).tolist()
        if layers is not None and excess:
            raise CapacityError(TWICE)
        return steps, (pushed - deferred) % 2**64, left == 0, crowded != 0

    return Propagated(read, layers, outcome.address)
