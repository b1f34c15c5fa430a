"""The bytes that a vertex takes on each rank of a divided graph: with nothing tracked, and with one tracker more each.

What a process holds is asked of the system, so that memory counts that no counter knows. Ranks that are threads share a
process, and have equal parts of what it holds.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from suricate.bench.machine.allocations import anonymous_bytes
from suricate.bench.scaling.workloads import Job, Workload
from suricate.bench.verify.edges import expect
from suricate.plugins import algorithm

FEW, WARM = 1024, 4096  #: vertices for each edge; those of the graph on which everything is compiled


class Vertices(Workload):
    """Make a graph of many vertices and few edges, then track algorithms on it one by one."""

    workload, verified, once = "scaling vertices", "live vertices, memory that was found", True
    does = (
        "makes a graph of an edge for 1,024 vertices, tracks algorithms one by one, reads what the system says it holds"
    )

    def __init__(self, job: Job, names: tuple[str, ...]) -> None:
        super().__init__(job)
        self._names, self._bytes = names, dict[str, float]()

    @property
    def items(self) -> int:
        """The number of vertices."""
        return self.job.data.num_vertices

    def prepare(self) -> None:
        """Do the same on a small graph, which compiles everything and makes what every process has once."""
        for _ in self._states(WARM):
            pass

    def run(self) -> None:
        """Note after each step how many bytes more a vertex takes on the rank that holds most."""
        before = self._held()
        for tracked, graph in self._states(self.items):
            held = max(self.job.comm.allgather((self._held() - before) / self.items))
            self._bytes[" + ".join(tracked) or "nothing"] = held
            self.job.graph = graph
        self.job.graph = None

    def _states(self, count: int) -> Any:
        """Yield the names of what is tracked and the graph, first with nothing tracked; every result is read once."""
        graph, trackers = self.job.empty(count), list[Any]()
        low, high = self.job.part(count // FEW)
        src = np.arange(low, high, dtype=np.int64) * FEW
        graph.insert_edges(src, (src + FEW) % count)
        yield (), graph
        for at, name in enumerate(self._names, 1):
            trackers.append(graph.track(name, **algorithm(name).sample_params(count, 0)))
            trackers[-1].result  # noqa: B018 - what reading it keeps belongs to it
            yield self._names[:at], graph
        for tracker in trackers:
            tracker.close()

    def _held(self) -> float:
        """Return the bytes that this rank holds; collective, as ranks may share a process, or a device."""
        comm, device = self.job.comm, self.job.device
        gc.collect()
        device.synchronize()
        comm.barrier()
        if device.is_cuda:
            device.xp.get_default_memory_pool().free_all_blocks()
            free, total = device.xp.cuda.runtime.memGetInfo()
            held, where = total - free, str(device)
        else:
            with suppress(OSError, AttributeError):  # no glibc
                ctypes.CDLL(None).malloc_trim(0)
            held, where = anonymous_bytes() or 0, str(os.getpid())
        place = f"{platform.node()} {where}"
        found = held / Counter(comm.allgather(place))[place]
        comm.barrier()
        return found

    def check(self) -> None:
        """Verify that memory was found: a vertex of any backend takes some."""
        expect(min(self._bytes.values()) > 0, "the system does not say what memory a process holds")

    def extra(self) -> dict[str, Any]:
        """Return bytes per vertex and rank, by what is tracked."""
        return {"bytes_per_vertex": self._bytes}

    def said(self) -> str:
        """Return the same for people."""
        return "; ".join(f"{tracked}: {size:.1f} B a vertex and rank" for tracked, size in self._bytes.items())
