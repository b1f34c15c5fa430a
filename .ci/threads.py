"""How much faster the CPU's loops are on several threads, beside what the machine gives: a copy and a random gather.

Usage: python .ci/threads.py [--scale 20] [--threads 2] [--backends slabhash,gpma] [--repeats 5]

On an R-MAT graph of 16 edges per vertex: ``neighbor_reduce``, breadth-first search, the bulk build of the shuffled
edges, insertions, deletions and queries of 2^20 edges, ``edges()`` and shortest paths, these on a grid too, checked
against the answers of one thread (and SciPy's); and reading the edges from a text file. A row shows the least
milliseconds of the repeats on one thread, those on each other number and the speed-up, by the clock and, in brackets,
by processor time: the longest share that a thread has if every thread has a core to itself, whatever else runs on the
machine. The last column is the former in parts of linear or, if that is less, of what the copy and the gather reach.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import suricate as su
from suricate.algorithms.sssp import SSSP
from suricate.cpu import threads
from suricate.generate import generators

BATCH = 1 << 20
READ = 1 << 22  #: edges of the text file at most
BACKENDS = ("slabhash", "hornet_like", "csr_baseline", "blocked", "gpma")


class Timed(NamedTuple):
    """The least seconds of some repeats: by the clock, and the processor time of the thread that has most to do."""

    clock: float
    processor: float


class Meter:
    """Takes the place of ``threads.run``, and adds up the processor time that its parts take on the busiest thread."""

    def __init__(self) -> None:
        self.parts, self.longest, self._run = 0.0, 0.0, threads.run

    def run(self, function: Callable[..., Any], calls: Any) -> list[Any]:
        """Run the parts; note what they took."""
        spent: list[float] = []

        def part(*arguments: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*arguments)
            finally:
                spent.append(time.thread_time() - begin)

        results = self._run(part, calls)
        shares = [0.0] * threads.limit()
        for seconds in sorted(spent, reverse=True):
            shares[shares.index(min(shares))] += seconds
        self.parts += sum(spent)
        self.longest += max(shares)
        return results


@contextmanager
def metered() -> Iterator[Meter]:
    """Measure the parts of all loops meanwhile."""
    meter, plain = Meter(), threads.run
    threads.run = meter.run
    try:
        yield meter
    finally:
        threads.run = plain


def timed(action: Callable[[], Any], number: int, repeats: int) -> Timed:
    """Return the least times of ``action`` on so many threads."""
    clock, processor = [], []
    with threads.Limited(number):
        action()
        for _ in range(repeats):
            begin = time.perf_counter()
            action()
            clock.append(time.perf_counter() - begin)
            with metered() as meter:
                begin = time.process_time()
                action()
                processor.append(time.process_time() - begin - meter.parts + meter.longest)
    return Timed(min(clock), min(processor))


def row(name: str, action: Callable[[], Any], options: argparse.Namespace, reach: dict[int, float]) -> dict[int, float]:
    """Print a row; return the speed-ups by the clock."""
    one, found = timed(action, 1, options.repeats), {}
    text = f"{name:34} {one.clock * 1e3:9.2f}"
    for number in options.threads:
        several = timed(action, number, options.repeats)
        found[number] = one.clock / several.clock
        least = min(number, reach.get(number, number))
        by_processor = one.processor / several.processor
        share = found[number] / least
        text += f"  {number:3} {several.clock * 1e3:9.2f} {found[number]:5.2f} [{by_processor:5.2f}] {share:5.2f}"
    print(text, flush=True)
    return found


def machine(size: int, options: argparse.Namespace) -> dict[int, float]:
    """Print what a copy and a random gather reach; return the lesser speed-up by number of threads."""
    source, target = np.ones(16 * size), np.empty(16 * size)
    index = np.random.default_rng(0).integers(0, size, 16 * size)

    def copy() -> None:
        threads.over(len(target), lambda begin, end: np.copyto(target[begin:end], source[begin:end]))

    def take(begin: int, end: int) -> None:
        np.take(source, index[begin:end], out=target[begin:end], mode="clip")

    def gather() -> None:
        threads.over(len(target), take)

    reached = [row(name, action, options, {}) for name, action in (("copy", copy), ("gather", gather))]
    return {number: max(1.0, min(each[number] for each in reached)) for number in options.threads}


def value_of(u, v, w, x):
    """Return the value of the neighbour."""
    return x[v]


def same(answers: list[Any]) -> None:
    """Check that all answers are those of one thread."""
    first, *others = answers
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert np.array_equal(np.asarray(a), np.asarray(b)), "the answer depends on the number of threads"


def backend_rows(backend: str, edges: Any, options: argparse.Namespace, reach: dict[int, float]) -> None:
    """Print the rows of a backend, whose answers are checked first."""
    n, rng = 1 << options.scale, np.random.default_rng(1)
    src, dst = edges
    x, some = rng.random(n), rng.integers(0, len(src), BATCH)
    queries, fresh = (src[some], dst[some][::-1].copy()), rng.integers(0, n, (2, BATCH)).astype(np.uint32)
    source = int(np.bincount(src, minlength=n).argmax())

    def build() -> su.Graph:
        graph = su.Graph(n, backend=backend, device="cpu")
        graph.insert_edges(src, dst)
        return graph

    def update() -> list[Any]:
        inserted = graph.insert_edges(*fresh)
        deleted = graph.delete_edges(*fresh)
        return [inserted, deleted]

    def answers() -> list[Any]:
        made = build()
        made.check()
        kept = made.edges()
        order = np.lexsort((kept.dst, kept.src))
        pulled = su.neighbor_reduce(made, value_of, args=(x,))
        return [kept.src[order], kept.dst[order], pulled, *made.compute("bfs", source=source), made.has_edges(*queries)]

    found = []
    for number in (1, *options.threads):
        with threads.Limited(number):
            found.append(answers())
    same(found)
    matrix = sparse.coo_array((np.ones(len(src)), (src, dst)), shape=(n, n)).tocsr()
    matrix.data[:] = 1
    assert np.allclose(found[0][2], matrix @ x)
    graph = build()
    for name, action in (
        ("neighbor_reduce", lambda: su.neighbor_reduce(graph, value_of, args=(x,))),
        ("bfs", lambda: graph.compute("bfs", source=source)),
        ("bulk build, shuffled", build),
        ("insert and delete 2^20", update),
        ("query 2^20", lambda: graph.has_edges(*queries)),
        ("edges()", graph.edges),
    ):
        row(f"{backend} {name}", action, options, reach)


def path_rows(backend: str, edges: Any, options: argparse.Namespace, reach: dict[int, float]) -> None:
    """Print the rows of shortest paths, which are checked first: on R-MAT, and on a grid, where frontiers are thin."""
    side = 1 << options.scale // 2
    ids = np.arange(side * side).reshape(side, side)
    grid = (np.concatenate([ids[:, part].ravel(), ids[part].ravel()]) for part in (slice(-1), slice(1, None)))
    for name, (src, dst), directed in (("R-MAT", edges, True), ("grid", grid, False)):
        weight = np.random.default_rng(0).random(len(src)).astype(np.float32)
        graph = su.Graph(1 << options.scale, backend=backend, device="cpu", weight_dtype="float32", directed=directed)
        graph.insert_edges(src, dst, weight)
        algorithm, found = SSSP(int(src[0])), []
        for number in (1, *options.threads):
            with threads.Limited(number):
                algorithm.compute(graph)
                found.append([*algorithm.result])
        same(found)
        row(f"{backend} sssp, {name}", partial(algorithm.compute, graph), options, reach)


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[2])
    parser.add_argument("--backends", type=lambda text: text.split(","), default=BACKENDS)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    src, dst = generators.rmat(options.scale, 16, seed=1)[:2]
    order = np.random.default_rng(0).permutation(len(src))
    src, dst, n = src[order], dst[order], 1 << options.scale
    print(f"R-MAT {options.scale}, {len(src)} edges, {threads.cores()} cores; milliseconds")
    reach = machine(n, options)

    def scipy_build() -> None:
        index = src.astype(np.int32), dst.astype(np.int32)
        sparse.coo_array((np.ones(len(src), np.int8), index), shape=(n, n)).tocsr()

    print(f"{'SciPy COO to CSR':34} {timed(scipy_build, 1, 2).clock * 1e3:9.2f}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        su.write((src[:READ], dst[:READ]), path)
        row(f"read {min(READ, len(src))} edges as text", lambda: su.read(path), options, reach)
    for backend in options.backends:
        backend_rows(backend, (src, dst), options, reach)
        path_rows(backend, (src, dst), options, reach)


if __name__ == "__main__":
    main()
