"""Short calls on CUDA: the host time of one small insertion, while host and device also do other work.

``batches`` are those of all calls of a repeat, in order: tuples of sources, destinations and, if weighted, weights.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.workloads.short import QUANTILES, ShortCalls, files_of_calls
from suricate.cuda.program import Program

BUSY = Program(Path(__file__).with_name("busy.cu"))
FIRST_ROUNDS = 1 << 16  #: that the kernel is timed with


class HostTime(ShortCalls):
    """Insertions of batches of device arrays; before each, Python code runs; during each, a kernel on the device.

    In a tight loop the code and data of suricate stay in the caches of the CPU, and the device is idle between calls;
    in a user's program both do other work. Checks are deferred, since a call that waits would wait for that kernel.

    Args:
        fixture: backend and graph.
        batch: number of edges of a call.
        name: an algorithm to track on the graph, or None.
        in_edges: store in-edges even if the algorithm needs none.
    """

    workload = "host time of short calls"
    does = (
        "inserts batches of device arrays, checks deferred, each after Python work of 0.1 ms and with a kernel of 1 ms "
        "in flight: quantiles of the host's time in the call, and the calls and files of Python in one of them"
    )

    def __init__(self, fixture: Fixture, batch: int, name: str | None = None, *, in_edges: bool = False) -> None:
        super().__init__(fixture, batch, name, in_edges=in_edges)
        self._table: dict[int, str] = {}
        self._keys = self._rounds = 0

    def _new_graph(self, **settings: Any) -> Any:
        return super()._new_graph(checks="deferred", **settings)

    def setup(self) -> None:
        """Build a graph, track the algorithm, and calibrate the other work of host (0.1 ms) and device (1 ms)."""
        super().setup()
        xp = self.device.xp
        self._kernel, self._out = BUSY.kernel("busy"), xp.empty(1, np.uint64)
        self._table = {key: str(key) for key in range(1 << 12)}
        self._keys, self._rounds = 1 << 8, FIRST_ROUNDS
        self._occupy()
        self._wait()  # compiled
        self._keys = int(self._keys * constants.BESIDE_HOST / self._timed(self._work))
        self._rounds = int(self._rounds * constants.BESIDE_DEVICE / self._timed(self._occupy, self._wait))

    def _timed(self, *actions: Any) -> float:
        began = time.perf_counter()
        for action in actions:
            action()
        return time.perf_counter() - began

    def _occupy(self) -> None:
        """Launch the kernel that keeps the device busy during a call."""
        self._kernel((1,), (1,), (np.int64(self._rounds), self._out))

    def _wait(self) -> None:
        self.device.xp.cuda.get_current_stream().synchronize()

    def _work(self) -> int:
        """Do a fixed amount of Python work, as a user's program does between calls.

        It looks up texts in a table, so that suricate's code and data leave the caches of the CPU. The result, the
        total length of the texts, has no use.
        """
        table, total = self._table, 0
        for number in range(self._keys):
            total += len(table[number * 2654435761 & 0xFFF])
        return total

    def prepare(self) -> list[tuple[Any, ...]]:
        """Return the batches of all calls: tuples of sources, destinations and, if any, weights, on the device."""
        asarray = self.device.xp.asarray
        return [tuple(map(asarray, batch)) for batch in self.draw(constants.BESIDE_CALLS + 1)]

    def action(self, batches: list[tuple[Any, ...]]) -> None:
        """Insert the batches one by one; record the host's seconds in each call, and the Python calls in the last."""
        seconds, insert, clock = [], self.graph.insert_edges, time.perf_counter_ns
        for batch in batches[:-1]:
            self._occupy()
            self._work()
            began = clock()
            insert(*batch)
            seconds.append(1e-9 * (clock() - began))
            self._wait()
        self.graph.synchronize()
        self.seconds = seconds[len(seconds) // 20 :]
        self.files = files_of_calls(lambda: insert(*batches[-1]))

    def check(self, batches: list[tuple[Any, ...]], result: None) -> None:
        """If the graph is directed, compare its edges with those of the input and of ``batches``."""
        super().check([tuple(self.device.to_numpy(part) for part in batch) for batch in batches], result)

    def extra(self) -> dict[str, Any]:
        """Return quantiles of the host's seconds in a call, and how many Python calls, in how many files, one made."""
        told = super().extra()
        return {name.replace("cpu_", "host_") if name in QUANTILES else name: value for name, value in told.items()}
