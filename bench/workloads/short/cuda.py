"""Short calls on CUDA: the time that one small insertion takes the host, between other work of host and device."""

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
    """Insertions of batches of device arrays; before each, Python code runs, and a kernel is running during each.

    In a tight loop the host's code and data stay in its caches, and the device waits for the host; a user's program
    has its own work. Checks are deferred, since a call that waits would wait for the running kernel.

    Args:
        fixture: backend and graph.
        batch: edges of a call.
        name: an algorithm whose result is kept current meanwhile, or None.
        in_edges: whether the graph has in-edges.
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
        """Build a graph, track the algorithm, and find how much work takes the host and the device the wanted time."""
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
        """Launch the kernel that keeps the device busy."""
        self._kernel((1,), (1,), (np.int64(self._rounds), self._out))

    def _wait(self) -> None:
        self.device.xp.cuda.get_current_stream().synchronize()

    def _work(self) -> int:
        """Do a fixed amount of Python work, as a user's program does between calls; return the total length of texts.

        It looks up texts in a table, so that suricate's code and data leave the host's caches. Nobody uses the result.
        """
        table, total = self._table, 0
        for number in range(self._keys):
            total += len(table[number * 2654435761 & 0xFFF])
        return total

    def prepare(self) -> list[tuple[Any, ...]]:
        """Return the batches of all calls, tuples of device arrays."""
        asarray = self.device.xp.asarray
        return [tuple(map(asarray, batch)) for batch in self.draw(constants.BESIDE_CALLS + 1)]

    def action(self, batches: list[tuple[Any, ...]]) -> None:
        """Insert the batches one by one and record the host's seconds of each call; trace the last call."""
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
        """Compare the edges with those inserted, in ``batches``, if the graph is directed."""
        super().check([tuple(self.device.to_numpy(part) for part in batch) for batch in batches], result)

    def extra(self) -> dict[str, Any]:
        """Return quantiles of the host's seconds in a call, the number of Python calls in one, and of their files."""
        told = super().extra()
        return {name.replace("cpu_", "host_") if name in QUANTILES else name: value for name, value in told.items()}
