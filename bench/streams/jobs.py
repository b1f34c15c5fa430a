"""Workloads on whole jobs (``suricate.stream.Window``): files with and without names, a job's own cost, its memory.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import suricate.stream as st
from suricate.base.types import edge_keys, ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.machine.allocations import resident_bytes
from suricate.bench.runner import Skipped
from suricate.bench.streams.events import EventStream, stream_of, window_of
from suricate.bench.streams.slides import job_of
from suricate.bench.verify.edges import EdgeModel, check_content, expect
from suricate.bench.workloads.base import FixtureTask
from suricate.generate.edge_streams import GOLDEN, mixed
from suricate.graph.delta import Batch
from suricate.intake.arrays import sorted_distinct
from suricate.windows.events import Events
from suricate.windows.ring import Ring

PREFIX = "vertex "


def quantiles(seconds: Any) -> dict[str, float]:
    """Return the 50th, 99th and 99.9th percentile of ``seconds``, those of slides, by name."""
    found = np.quantile(seconds, (0.5, 0.99, 0.999))
    return dict(zip(("slide_p50_s", "slide_p99_s", "slide_p999_s"), found.tolist(), strict=True))


def seconds_of_slides(job: st.Window, *, on_cuda: bool) -> Iterator[float]:
    """Run a job; yield the seconds of each slide: wall-clock time with ``on_cuda``, else processor time."""
    clock = time.perf_counter if on_cuda else time.process_time
    begin = clock()
    for _ in job:
        now = clock()
        yield now - begin
        begin = clock()


class FromFile(FixtureTask):
    """Base of the tasks that run a job over a whole file, without an answer; the window holds half of the events."""

    def __init__(self, fixture: Fixture, size: int) -> None:
        self.size = min(size, window_of(fixture.data))
        super().__init__(fixture, self.size)
        self.items = len(fixture.data.src)
        self.cpu_s: list[float] = []
        self.least_repeats = 3

    def setup(self) -> None:
        """Write all events of the input to a file in a temporary folder."""
        self.folder = tempfile.TemporaryDirectory()
        self.stream = stream_of(self.fixture)
        self.path = self.write(Path(self.folder.name))

    def write(self, folder: Path) -> Path:
        """Write all events of the input to a file in ``folder``; return its path."""
        raise NotImplementedError

    def new_job(self) -> st.Window:
        """Return a new job that reads the file."""
        raise NotImplementedError

    def action(self, prepared: Any) -> st.Window:
        """Run a new job to its end; return it."""
        begin = time.process_time()
        job = self.new_job()
        self.slides = [*seconds_of_slides(job, on_cuda=self.device.is_cuda)]
        self.cpu_s.append(time.process_time() - begin)
        return job

    def check(self, prepared: Any, job: st.Window) -> None:
        """Verify that the job's graph has exactly the edges of the newest events, those in the window."""
        src, dst = self.ends_in(job)
        expect(job.past.events == self.items, f"{job.past.events} of {self.items} events entered the window")
        assert job.current is not None
        held = slice(max(0, job.current.end - self.stream.window), None)  # it may end behind the last event
        model = EdgeModel(self.fixture.data.src[held], self.fixture.data.dst[held])
        expect(np.array_equal(np.sort(edge_keys(src, dst)), model.keys), "the last window has other edges")

    def ends_in(self, job: st.Window) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations of the edges of the job's graph, as vertex ids of the input, on the host."""
        src, dst, _ = job.graph.edges()
        return self.device.to_numpy(src), self.device.to_numpy(dst)

    def finish(self) -> None:
        """Remove the temporary folder."""
        self.folder.cleanup()

    def extra(self) -> dict[str, Any]:
        """Return events per second of processor time, the window's number of events, and quantiles of slide times."""
        rates = {"cpu_events_per_s": self.items / float(np.median(self.cpu_s[1:] or self.cpu_s))}
        return {**rates, "window": self.stream.window, **quantiles(self.slides[len(self.slides) // 2 :])}


class FromCsv(FromFile):
    """A job over a CSV file whose vertices are names (texts)."""

    workload = "from CSV with names"
    does = "a CSV file with texts as vertices through a window of half of its events, slide by slide"

    def write(self, folder: Path) -> Path:
        """Write the events to a CSV file with the names "vertex 0", "vertex 1", ... as vertices; return its path."""
        data, path = self.fixture.data, folder / "events.csv"
        with open(path, "w") as file:
            file.write("src,dst\n")
            for begin in range(0, self.items, constants.PIECE):
                part = slice(begin, begin + constants.PIECE)
                rows = zip(data.src[part].tolist(), data.dst[part].tolist(), strict=True)
                file.writelines(f"{PREFIX}{src},{PREFIX}{dst}\n" for src, dst in rows)
        return path

    def new_job(self) -> st.Window:
        """Return a new job that reads the file, with names as vertices."""
        source = st.scan(self.path, src="src", dst="dst", texts=True)
        return job_of(self.fixture, source, self.stream.window, self.size, names=True)

    def ends_in(self, job: st.Window) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations of the edges of the job's graph: the vertex ids that are in the names."""
        number = np.zeros(job.graph.num_vertices, np.int64)
        assert job.names is not None
        number[job.names.ids] = [int(str(name).removeprefix(PREFIX)) for name in job.names]
        src, dst = super().ends_in(job)
        return number[src], number[dst]


class FromParquet(FromFile):
    """A job over a Parquet file whose vertices are integers."""

    workload = "from Parquet"
    does = "a Parquet file with integers as vertices through a window of half of its events, slide by slide"

    def write(self, folder: Path) -> Path:
        """Write the events to a Parquet file with two uint32 columns; return its path."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise Skipped("pyarrow is not installed") from None
        data, path = self.fixture.data, folder / "events.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"src": data.src, "dst": data.dst}), path)
        return path

    def new_job(self) -> st.Window:
        """Return a new job that reads the file, with integers as vertices."""
        source = st.scan(self.path, src="src", dst="dst")
        return job_of(self.fixture, source, self.stream.window, self.size)


class JobAlone(FixtureTask):
    """Slides of a job without an answer, and the same net batches applied by hand, in alternation.

    The difference of their times is the job's own cost.
    """

    workload = "job beside batches"
    does = "by turns a slide of a job without an answer and the same net batch by hand: seconds of both"
    timed = False

    def __init__(self, fixture: Fixture, size: int) -> None:
        self.size = min(size, window_of(fixture.data))
        super().__init__(fixture, self.size)

    def action(self, prepared: Any) -> None:
        """Fill a job, a graph and a ring with a window of events; then slide the three in alternation, timing each."""
        stream = stream_of(self.fixture)
        job = job_of(self.fixture, stream.chunks(self.size), stream.window, self.size)
        while job.past.events < stream.window:
            next(job)
        stream.slide(job.past.events - stream.window)
        graph = self.fixture.empty_graph(weighted=False)
        src, dst = stream.events()
        for begin in range(0, stream.window, self.size):  # it grows as that of the job does
            part = slice(begin, begin + self.size)
            graph.insert_edges(*self.fixture.upload(src[part], dst[part]))
        self.job_s, self.batch_s, self.window_s = [], [], []
        ring, first = Ring("last", None), stream.window - self.size
        ring.slide(self.events_of(stream, stream.end - stream.window, stream.window), None)
        for _ in range(constants.VERIFIED_SLIDES + constants.TURNS):
            gone, new = (ends_of(keys) for keys in stream.slide(self.size))
            self.batch_s.append(self._seconds(lambda gone=gone, new=new: graph.apply(Batch(delete=gone, insert=new))))
            self.job_s.append(self._seconds(lambda: next(job)))
            begin = stream.end - self.size
            events = self.events_of(stream, begin)
            self.window_s.append(self._seconds(lambda events=events, begin=begin: ring.slide(events, begin - first)))
        self.graphs, self.stream = (graph, job.graph), stream

    def events_of(self, stream: EventStream, begin: int, number: int | None = None) -> Events:
        """Return the events of ``stream`` from position ``begin`` on as the ``Events`` that a ring (of a window) takes.

        ``number``: how many, None: as many as a slide has. The time of an event is its position.
        """
        numbers = stream.numbers(begin, begin + (number or self.size))
        src, dst = self.fixture.data.src[numbers], self.fixture.data.dst[numbers]
        return Events(np.arange(begin, begin + len(numbers)), src, dst, None, None)

    def _seconds(self, work: Any) -> float:
        clock = time.perf_counter if self.device.is_cuda else time.process_time
        self.device.synchronize()
        begin = clock()
        work()
        self.device.synchronize()
        return clock() - begin

    def check(self, prepared: Any, result: Any) -> None:
        """Compare the edges of the graph changed by hand, and of the job's graph, with the events in the window."""
        for graph in self.graphs:
            check_content(graph, self.stream.model())

    def extra(self) -> dict[str, Any]:
        """Return the median seconds of a job's slide and of the batch, and the ring's nanoseconds per event, by name.

        ``"rest_share"``: the time of the job without that of the ring and of the batch, divided by that of the batch
        (median).
        """
        skip = constants.VERIFIED_SLIDES
        job, batch, ring = (np.array(part[skip:]) for part in (self.job_s, self.batch_s, self.window_s))
        return {
            "job_s": float(np.median(job)), "batch_s": float(np.median(batch)),
            "ring_ns_per_event": 1e9 * float(np.median(ring)) / self.size,
            "rest_share": float(np.median(job - ring - batch) / np.median(batch)), **quantiles(job),
        }  # fmt: skip


class LongJob(FixtureTask):
    """A job over a long stream with names that appear and are forgotten: its rate and its bytes over time."""

    workload = "long job"
    does = "many events with names that come and go through a window of a job; rate and bytes over time"
    timed = False
    oracle = "numbers of the stream's events"

    def __init__(self, fixture: Fixture, size: int, events: int) -> None:
        self.events, self.window = events, max(8, int(events * constants.LONG_WINDOW_SHARE))
        self.size = min(size, self.window // 8)
        super().__init__(fixture, self.size)

    def chunks(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the events in chunks, dicts of the names of their sources "src" and destinations "dst"."""
        size = min(constants.LONG_CHUNK, self.window)
        for begin in range(0, self.events, size):
            at = np.arange(begin, min(begin + size, self.events))
            yield {"src": self.name_of(at, 1), "dst": self.name_of(at, 2)}

    def name_of(self, at: np.ndarray, end: int) -> np.ndarray:
        """Return the names, int64, of one end of the events with the numbers ``at``; ``end``: 1 source, 2 destination.

        Names are drawn from a range that moves on with the number of the event, so that old ones no longer occur.
        """
        mixed = (at.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end)) * np.uint64(0xD6E8FEB86659FD93)
        return (at // 4 + (mixed >> np.uint64(40)).astype(np.int64) % max(1, self.window // 8)) * 7 - 3

    def new_job(self) -> st.Window:
        """Return a new job over the events, with names as vertices."""
        return job_of(self.fixture, self.chunks(), self.window, self.size, names=True)

    def held(self, job: st.Window) -> dict[str, int | None]:
        """Return bytes by name: used by the job's graph, allocated by graph and job, and occupied by the process."""
        usage = job.graph.memory_usage()
        return {"used": usage.used, "allocated": usage.allocated + job.bytes_on_host, "process": resident_bytes()}

    def action(self, prepared: Any) -> None:
        """Run a new job to its end; record rate and bytes up to a hundred times on the way."""
        job = self.new_job()
        self.moments: list[dict[str, Any]] = []
        self.slides: list[float] = []
        begin, since = time.perf_counter(), 0
        for spent in seconds_of_slides(job, on_cuda=self.device.is_cuda):
            self.slides.append(spent)
            if job.past.events * constants.LONG_MOMENTS // self.events > len(self.moments):
                now = time.perf_counter()
                rate = (job.past.events - since) / (now - begin)
                self.moments.append({"edges": job.past.events, "updates_per_s": rate, **self.held(job)})
                begin, since = now, job.past.events
        self.job = job

    def check(self, prepared: Any, result: Any) -> None:
        """Verify that the job has exactly the names in the last window, and its graph as many edges as that has."""
        assert self.job.names is not None
        assert self.job.current is not None
        at = np.arange(max(0, self.job.current.end - self.window), self.events)
        src, dst = self.name_of(at, 1), self.name_of(at, 2)
        names = np.unique(np.concatenate((src, dst)))
        expect(np.array_equal(np.sort(np.array([*self.job.names])), names), "other names than those of the window")
        pairs = len(np.unique(np.stack((src, dst), 1), axis=0))
        expect(self.job.graph.num_edges == pairs, f"{self.job.graph.num_edges} edges instead of {pairs}")

    def extra(self) -> dict[str, Any]:
        """Return rate and bytes over time ("moments"), the spread of bytes, and quantiles of slide times, by name.

        Spread: in the second half of the job, the largest number of bytes divided by the smallest, less 1.
        """
        half = self.moments[len(self.moments) // 2 :]
        return {
            "window": self.window, "events": self.events, "moments": self.moments, "spread": spread(half, "allocated"),
            "process_spread": spread(half, "process"), "device_spread": spread(half, "device"),
            **quantiles(self.slides[len(self.slides) // 2 :]),
        }  # fmt: skip


class MadeOnDevice(LongJob):
    """A job over a long stream that is made on the device: events between uniformly random ids below 2^20."""

    workload = "long job made on the device"
    does = "many events between 2^20 ids, made on the device, through a window of a job; rate and bytes over time"
    oracle = "the window's events, made again"

    def __init__(self, fixture: Fixture, size: int, window: int, events: int) -> None:
        super().__init__(fixture, size, events)
        self.window, self.size = window, min(size, window)

    def made(self, begin: int, end: int) -> tuple[Any, Any]:
        """Return sources and destinations of the events ``begin`` to ``end - 1``, computed on the device, uint32."""
        x = mixed(self.device.xp.arange(begin + 1, end + 1, dtype=np.uint64) * np.uint64(GOLDEN))
        return (x >> np.uint64(44)).astype(np.uint32), (x & np.uint64(2**20 - 1)).astype(np.uint32)

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Yield the events in chunks of 16 slides, dicts of the device arrays "src" and "dst"."""
        size = 16 * self.size
        for begin in range(0, self.events, size):
            src, dst = self.made(begin, min(begin + size, self.events))
            yield {"src": src, "dst": dst}

    def new_job(self) -> st.Window:
        """Return a new job over the events, with ids as vertices."""
        return job_of(self.fixture, self.chunks(), self.window, self.size)

    def held(self, job: st.Window) -> dict[str, int | None]:
        """Return bytes by name: used by the job's graph, allocated by graph and job, and occupied by the process.

        Further, under "device", those that CuPy's pool has taken from the device; None on the CPU.
        """
        pool = self.device.xp.get_default_memory_pool() if self.device.is_cuda else None
        return {**super().held(job), "device": None if pool is None else pool.total_bytes()}

    def check(self, prepared: Any, result: Any) -> None:
        """Verify that the job's graph has the edges of the last window and no more."""
        assert self.job.current is not None
        graph, end = self.job.graph, self.job.current.end
        src, dst = self.made(max(0, end - self.window), self.events)
        pairs = len(sorted_distinct(edge_keys(src, dst), self.device.xp))
        expect(graph.num_edges == pairs, f"{graph.num_edges} edges instead of {pairs}")
        expect(bool(graph.has_edges(src, dst).all()), "an edge of the window is missing")


def spread(moments: list[dict[str, Any]], name: str) -> float:
    """Return the largest ``moment[name]`` divided by the smallest one, less 1, over the dicts ``moments``.

    Moments without a value, or with the value 0, are left out; 0 if none is left.
    """
    held = [moment[name] for moment in moments if moment.get(name)]
    return max(held) / min(held) - 1 if held else 0.0
