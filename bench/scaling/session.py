"""Measures the suite on scaling: all ranks make the same repeats, and the first one writes the rows.

In a row, ``median_s`` is the time of the slowest rank. ``extra`` has the communication of a further run, with a barrier
before each collective: ``comm_s`` and ``wait_s`` (seconds), ``comm_bytes`` (received by the rank that received most)
and ``collectives``; and ``model_s``, the seconds by a :class:`~suricate.bench.scaling.model.Model`, if the results file
already has the row of one rank.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.errors import ParameterError
from suricate.bench.drawn import DrawnInput
from suricate.bench.machine.environment import environment
from suricate.bench.reports.results import ResultsFile, Row, new_run, read, to_line
from suricate.bench.scaling.capacity import Capacity
from suricate.bench.scaling.metering import Metered, Spent
from suricate.bench.scaling.model import Model
from suricate.bench.scaling.vertices import Vertices
from suricate.bench.scaling.workloads import Build, Compute, Delete, Grow, Insert, Job, Update, Workload
from suricate.bench.verify.edges import Mismatch
from suricate.cuda.compiler import POOL
from suricate.parallel import Comm
from suricate.plugins import algorithms

SIZES = (8 << 10, 2 << 20, 32 << 20, 512 << 20)  #: bytes of all ranks that collectives are measured with
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        backend: name of the backend.
        options: of the graphs.
        batches: sizes of batches.
        updates: sizes of batches with an algorithm kept current.
        algorithms: names of algorithms; empty: those whose ``suites`` include "scaling".
        repeats: number of repeats of each row.
        workloads: only workloads whose names contain one of these; empty: all.
        seed: of graphs and batches.
    """

    backend: str
    options: Mapping[str, Any]
    batches: tuple[int, ...]
    updates: tuple[int, ...]
    algorithms: tuple[str, ...]
    repeats: int
    workloads: tuple[str, ...]
    seed: int

    def names(self) -> tuple[str, ...]:
        """Return the algorithms to measure, by name: the given ones, else those whose ``suites`` include "scaling"."""
        return self.algorithms or tuple(name for name, kind in algorithms().items() if "scaling" in kind.suites)

    @property
    def is_alone(self) -> bool:
        """Whether the plan names a workload that is measured without others: "capacity" or "vertices"."""
        return self.workloads in (("capacity",), ("vertices",))

    @property
    def has_collectives(self) -> bool:
        """Whether collectives are measured, which the model needs: unless workloads are named, but not "collective"."""
        return not self.workloads or "collective" in self.workloads

    def of(self, job: Job) -> Iterator[Workload]:
        """Yield the workloads to measure on the graph of ``job``; the build comes first, as the others need its graph.

        If the plan names the workload "capacity" or "vertices", only that is yielded.
        """
        if self.is_alone:
            yield {"capacity": Capacity, "vertices": Vertices}[self.workloads[0]](job, self.names())
            return
        yield Build(job)
        made = [kind(job, size) for kind in (Insert, Delete) for size in self.batches]
        made += [Grow(job)]  # type: ignore[list-item]
        made += [Compute(job, name) for name in self.names()]  # type: ignore[misc]
        made += [Update(job, name, size) for name in self.names() for size in self.updates]
        yield from (one for one in made if any(part in one.workload for part in self.workloads or ("",)))


class Session:
    """A run of the suite on one rank.

    Args:
        comm: the communication of the ranks.
        device: the device of this rank.
        plan: what is measured.
        results: where rows are written, None on all ranks but the first.
        say: prints a line for the user.
    """

    def __init__(self, comm: Comm, device: Device, plan: Plan, results: ResultsFile | None, say: Say) -> None:
        self.device, self.plan, self.results, self.say = device, plan, results, say
        self.comm, self.run_id, self.failed = Metered(comm, device), new_run(), False
        self.model = Model()

    def run(self, inputs: Sequence[tuple[str, DrawnInput]]) -> bool:
        """Measure all workloads on each input; return whether a row failed.

        ``inputs``: pairs of the kind of scaling, "strong" or "weak", which rows show, and the graph.
        """
        if self.results is not None:
            facts = [data.describe() for _, data in inputs]
            self.results.append(environment(self.run_id, self.device, self.plan.seed, facts, None))
        if self.comm.size > 1 and self.plan.has_collectives:
            self._measure_collectives()
        for detail, data in inputs:
            job = Job(self.comm, data, self.device, self.plan.backend, self.plan.options)
            try:
                for workload in self.plan.of(job):
                    self._measure(workload, detail)
            except MemoryError as error:  # all ranks raise the same
                self.say(f"{data.name} {detail}: left out from here on: {error}")
        return self.failed

    # -- collectives ---------------------------------------------------------------------------------------------------

    def _measure_collectives(self) -> None:
        xp, comm = self.device.xp, self.comm.inner
        host = self._time_of(lambda: comm.allgather(0), 200)
        self._note("collective", "small values on the host", host, {})
        times = {}
        for size in SIZES if self.device.is_cuda else SIZES[:-1]:
            part, whole = xp.zeros(size // comm.size, np.uint8), xp.zeros(size, np.uint8)
            bounds = np.linspace(0, size, comm.size + 1).astype(np.int64)
            uneven = part[: len(part) - comm.rank]
            repeats = 50 if size < SIZES[2] else 5
            for name, call in (
                ("gather", lambda part=part: comm.joined(part)),
                ("gather of unequal parts", lambda part=uneven: comm.joined(part)),
                ("share", lambda whole=whole, bounds=bounds: comm.share(whole, bounds)),
                ("merge", lambda whole=whole: comm.merged(whole)),
            ):
                times[name, size] = seconds = self._time_of(call, repeats)
                self._note("collective", f"{name}, {size} bytes", seconds, {"bytes_per_s": size / seconds})
        self.model = Model.of({size: seconds for (name, size), seconds in times.items() if name == "share"}, comm.size)

    def _time_of(self, call: Callable[[], Any], repeats: int) -> float:
        """Return the mean seconds of ``repeats`` calls of ``call`` one after the other, on the slowest rank."""
        call()
        self.device.synchronize()
        self.comm.inner.barrier()
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        self.device.synchronize()
        return max(self.comm.inner.allgather((time.perf_counter() - begin) / repeats))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _measure(self, workload: Workload, detail: str) -> None:
        """Measure and verify a workload; write its row, or print FAIL if it is wrong on any rank.

        ``detail``: "strong" or "weak".
        """
        seconds = [self._once(workload) for _ in range(1 if workload.once else 1 + self.plan.repeats)]
        spent, problem = Spent() if workload.once else self._spent_by(workload), None
        try:
            workload.check()
        except (Mismatch, ParameterError) as error:
            problem = str(error)
        problems = [each for each in self.comm.allgather(problem) if each is not None]
        if problems:
            self.failed = True
            self.say(f"FAIL {workload.workload} {workload.algorithm or ''}: {problems[0]}")
            return
        self._row(workload, detail, seconds, spent)

    def _once(self, workload: Workload) -> float:
        """Run a workload once; return the seconds of the slowest rank."""
        workload.prepare()
        gc.collect()
        POOL.wait()  # for final builds
        self.device.synchronize()
        self.comm.inner.barrier()
        begin = time.perf_counter()
        workload.run()
        self.device.synchronize()
        seconds = time.perf_counter() - begin
        workload.restore()
        return max(self.comm.inner.allgather(seconds))

    def _spent_by(self, workload: Workload) -> Spent:
        """Run a workload once more, with its collectives timed; return each cost as the largest of all ranks."""
        workload.prepare()
        self.comm.spent, self.comm.is_timing = Spent(), True
        workload.run()
        spent, self.comm.spent, self.comm.is_timing = self.comm.spent, Spent(), False
        workload.restore()
        found = self.comm.inner.allgather((spent.calls, spent.received, spent.waited, spent.seconds))
        return Spent(*(max(each) for each in zip(*found, strict=True)))

    def _row(self, workload: Workload, detail: str, seconds: list[float], spent: Spent) -> None:
        first, rest = seconds[0], seconds[1:] or seconds
        job, ranks = workload.job, self.comm.size
        extra: dict[str, Any] = {
            "ranks": ranks, "comm_s": spent.seconds, "wait_s": spent.waited, "comm_bytes": spent.received,
            "collectives": spent.calls, **workload.extra(),
        }  # fmt: skip
        median = statistics.median(rest)
        row = Row(
            self.run_id, job.backend, str(self.device).partition(":")[0], workload.workload, workload.algorithm,
            job.data.name, workload.batch, f"{detail}, {ranks} ranks", "ok", "", workload.verified, workload.items,
            median_s=median, min_s=min(rest), max_s=max(rest), repeats=len(rest), first_s=first,
            edges_per_s=workload.items / median, extra=extra, suite="scaling",
        )  # fmt: skip
        alone = self._alone(row, detail) if self.plan.has_collectives else None
        extra["model_s"] = None if alone is None else self.model.expected(alone, ranks, spent.calls, spent.received)
        if self.results is not None:
            self.results.append(to_line(row))
        beside = "" if alone is None else f"; {alone / median:.2f}x of 1 rank, model {extra['model_s']:.4g} s"
        per_edge = spent.received / workload.items
        share = (
            f"; {spent.calls} collectives, {per_edge:.3g} B an edge received, {spent.seconds:.4g} s"
            if ranks > 1
            else ""
        )
        named = " ".join(
            str(part) for part in (workload.workload, workload.algorithm, workload.batch) if part is not None
        )
        said = workload.said() and f"; {workload.said()}"
        self.say(f"{job.data.name} {detail}, {ranks} ranks: {named}: {median:.5g} s{share}{beside}{said}")

    def _alone(self, row: Row, detail: str) -> float | None:
        """Return the seconds of ``row`` on one rank, by the results file; None if unknown, or ``detail`` is "weak"."""
        if self.results is None or detail != "strong" or self.comm.size == 1:
            return None
        return _seconds_alone(self.results.path, row)

    def _note(self, name: str, detail: str, seconds: float, extra: dict[str, Any]) -> None:
        """Print the time of the collective ``name``, and write it as a row.

        ``detail``: what was exchanged; ``seconds``: of one call; ``extra``: further facts for the row.
        """
        self.say(f"{self.comm.size} ranks: {name} {detail}: {seconds * 1e6:.4g} us")
        if self.results is not None:
            row = Row(
                self.run_id, self.plan.backend, str(self.device).partition(":")[0], f"scaling {name}", None, "", None,
                f"{detail}, {self.comm.size} ranks", "ok", "", None, 0, median_s=seconds, repeats=1,
                extra={"ranks": self.comm.size, **extra}, suite="scaling",
            )  # fmt: skip
            self.results.append(to_line(row))


def _seconds_alone(path: Path, row: Row) -> float | None:
    if not path.is_file():
        return None
    same = ("workload", "algorithm", "graph", "batch", "backend", "device")
    found = [
        each["median_s"] for each in read([path])[1]
        if all(each[name] == getattr(row, name) for name in same) and each["extra"].get("ranks") == 1
    ]  # fmt: skip
    return found[-1] if found else None
