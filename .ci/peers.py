"""This library beside others on the CPU: the same R-MAT graph, the same cores, one after the other, answers checked.

Usage: python .ci/peers.py [--scale 18] [--threads 1,2] [--backends slabhash,gpma] [--peers networkit,igraph]
                           [--rows build,bfs] [--repeats 5] [--time-limit 600] [--output FILE.jsonl]

SciPy, python-graphblas, NetworKit and igraph; those that are not installed are named and left out. SciPy and igraph
use one thread. Each library runs alone, in a process of its own that first does all rows on a small graph, so that
compilers are through and threads are there. A row shows the least milliseconds of three to five calls (of one if it
takes over 8 s) on each number of threads, the speed-up, and that in parts of linear or, if it is less, of what a copy
and a random gather reach. What a library lacks has no row. At the end: how many times faster than the fastest of the
others each backend is.

==========  ============================================================================================================
build       the graph from 16 shuffled arcs per vertex, as arrays of the type that the library asks for
query       2^20 pairs, half of them edges: an answer for each
reduce      the sum of a float64 over the out-neighbours of every vertex
bfs         the levels from the vertex of most edges (SciPy, igraph: order and parents)
bfs_in      the same with in-edges at hand (graphblas: the transpose)
insert      2^20 arcs that are not there, which only this library looks for; another batch in each call
pagerank    ten steps in float64 with in-edges (not igraph's method)
strong      strongly connected components
components  of the graph without directions, as are the following
kcore       core numbers
triangles   their number (graphblas: vertices relabelled by degree beforehand)
==========  ============================================================================================================
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from peer_libraries import BACKENDS, PEERS, ROWS, SINGLE, Case, Row, make_case, of_machine, of_suricate, on_threads

from suricate.cpu import threads

LONG = 8  #: seconds of a row that is not repeated


def least(row: Row, repeats: int) -> tuple[float, Any, Any]:
    """Return the least seconds of a row, its answer and its last result."""
    times: list[float] = []
    result: Any = None
    while len(times) < min(3, repeats) or (sum(times) < 2 and len(times) < repeats):
        result = None  # freed before the clock runs
        begin = time.perf_counter()
        result = row.action()
        times.append(time.perf_counter() - begin)
        if len(times) == 1:
            answer = row.answer(result)
            if times[0] > LONG:
                break
    return min(times), answer, result


def measure(library: str, case: Case, options: argparse.Namespace, *, shown: bool) -> None:
    """Do the rows of a library; print a line of JSON for each if they are to be ``shown``."""
    rows = of_suricate(library, case) if library in BACKENDS else {"machine": of_machine, **PEERS}[library](case)
    wanted = {"copy", "gather", *options.rows}
    result = None
    while True:
        try:
            row = rows.send(result)
        except StopIteration:
            return
        result = None
        if row.name not in wanted:
            result = row.action() if row.name == "build" else None
            continue
        seconds = {}
        for number in [1] if row.name in SINGLE.get(library, ()) else options.threads:
            result = None
            with on_threads(library, number):
                seconds[number], answer, result = least(row, options.repeats if shown else 1)
        if shown:
            line = {"library": library, "row": row.name, "seconds": seconds, "answer": answer, "note": row.note}
            print(json.dumps(line, default=int), flush=True)


def started(library: str, folder: Path, options: argparse.Namespace, *, warm: bool) -> subprocess.Popen[str]:
    """Start the process of a library; ``warm``: which ends after the small graph."""
    numbers = ",".join(map(str, options.threads))
    command = [sys.executable, __file__, "--threads", numbers, "--rows", ",".join(options.rows)]
    command += ["--repeats", str(options.repeats), "--library", library, "--folder", str(folder)]
    environ = {**os.environ, "OMP_NUM_THREADS": str(max(options.threads)), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen([*command, "--warm"] if warm else command, env=environ, stdout=subprocess.PIPE, text=True)


class Table:
    """The rows as they come, and what they say about us and the others."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options, self._answers, self.wrong = options, dict[str, Any](), False
        self._reach = dict[int, float]()
        self._found: dict[tuple[str, int], dict[str, float]] = {}  # seconds of libraries by row and threads
        threads = "".join(f"{f'{number} thr., ms':>14}" for number in options.threads)
        speedup = "   speed-up, and in parts of what is reached" if len(options.threads) > 1 else ""
        print(f"{'row':12}{'library':14}{threads}{speedup}", flush=True)

    def add(self, line: dict[str, Any]) -> None:
        """Print a row, and note what it says."""
        seconds, name = {int(number): found for number, found in line["seconds"].items()}, line["row"]
        one = seconds[min(seconds)]
        text = f"{name:12}{line['library']:14}" + "".join(f"{found * 1e3:14.2f}" for found in seconds.values())
        for number in self._options.threads:
            self._found.setdefault((name, number), {})[line["library"]] = seconds.get(number, one)
        for number in list(seconds)[1:]:
            speedup = one / seconds[number]
            if line["library"] == "machine":
                self._reach[number] = max(1.0, min(speedup, self._reach.get(number, number)))
            text += f"{speedup:8.2f}{speedup / self._reach.get(number, number):6.2f}"
        right = line["answer"] is not False and self._answers.setdefault(name, line["answer"]) == line["answer"]
        self.wrong |= not right
        print(text, line["note"], "" if right else f"WRONG: {line['answer']}", sep="  ", flush=True)

    def finish(self) -> None:
        """Print how many times faster than the fastest of the others each backend is."""
        backends = self._options.backends
        print(f"\n{'row':12}{'threads':>8}  {'fastest other, ms':28}" + "".join(f"{name:>14}" for name in backends))
        for (row, number), found in self._found.items():
            others = {name: seconds for name, seconds in found.items() if name in PEERS}
            if others:
                best = min(others, key=others.__getitem__)
                ratios = "".join(
                    f"{others[best] / found[name]:14.2f}" if name in found else " " * 14 for name in backends
                )
                print(f"{row:12}{number:8}  {best:14}{others[best] * 1e3:12.2f}  {ratios}")


def compare(options: argparse.Namespace) -> int:
    """Run the libraries, one after the other; return the exit code."""
    begin = time.monotonic()
    end = begin + options.time_limit
    libraries = ["machine", *options.backends]
    for peer in options.peers:
        if importlib.util.find_spec(peer):
            libraries.append(peer)
        else:
            print(f"{peer} is not installed")
    with tempfile.TemporaryDirectory() as top:
        small, folder = Path(top) / "small", Path(top)
        small.mkdir()
        batches = options.repeats * len(options.threads)
        make_case(options.small, batches, small, options.rows)
        compiling = [started(backend, folder, options, warm=True) for backend in options.backends]
        make_case(options.scale, batches, folder, options.rows)
        failed = [child.wait() for child in compiling]
        print(f"R-MAT {options.scale}, {threads.cores()} cores; compiled after {time.monotonic() - begin:.0f} s")
        table = Table(options)
        for library in libraries:
            child = started(library, folder, options, warm=False)
            timer = threading.Timer(max(0, end - time.monotonic()), child.kill)
            timer.start()
            assert child.stdout is not None
            for text in child.stdout:
                table.add(json.loads(text))
                if options.output:
                    with options.output.open("a") as file:
                        file.write(json.dumps({"scale": options.scale, **json.loads(text)}) + "\n")
            failed.append(child.wait())
            timer.cancel()
            if failed[-1]:
                reason = "over the time limit" if time.monotonic() >= end else f"exit code {failed[-1]}"
                print(f"{library}: {reason}")
        table.finish()
        print(f"{time.monotonic() - begin:.0f} s in all")
    return int(table.wrong or any(code > 0 for code in failed))


def main() -> int:
    """Compare the libraries, or be the process of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--backends", type=names, default=list(BACKENDS))
    parser.add_argument("--peers", type=names, default=list(PEERS))
    parser.add_argument("--rows", type=names, default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=600, help="seconds")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--small", type=int, default=16, help="scale of the graph of the first calls")
    for name in ("--library", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library is None:
        return compare(options)
    folder = Path(options.folder)
    measure(options.library, Case(folder / "small", options.rows), options, shown=False)
    if not options.warm:
        measure(options.library, Case(folder, options.rows), options, shown=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
