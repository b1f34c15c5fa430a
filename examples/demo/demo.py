"""Two years of MathOverflow in a window that slides a day at a time, told a line a week; killed once, and resumed."""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from picture import draw
from scipy.sparse import csgraph, csr_matrix

import suricate as su
import suricate.stream as st

FILE = Path(__file__).with_name("mathoverflow.txt.xz")
DAYS, WEEKS, KILLED = 730, 20, 10  #: days in the window; weeks that are shown, the first process is killed after KILLED
SOURCE = 6094  #: the user that distances are from
TOLERANCE = 1e-5  #: of PageRank: the sum of absolute differences
HEADING = "week to     messages  pairs: new  gone   users  parts  reached  alerts: new in the top ten"


def job_of(folder: Path, device: str, file: Path = FILE) -> st.Window:
    """Return the job: two years of messages, a day at a time, users by their numbers."""
    return st.Window(
        st.scan(file, src=0, dst=1, time=2, time_unit="s"), size=f"{DAYS}d", slide="1d", names=True,
        graph={"device": device}, checkpoint=folder / "state", checkpoint_every=28,
    )  # fmt: skip


def compile_ahead(device: str) -> None:
    """Call what the demo calls, for short windows of the first messages, so that it is compiled."""
    for size, slide, most in (("60d", "1d", 90), ("400d", "100d", 8)):
        source = st.scan(FILE, src=0, dst=1, time=2, time_unit="s")
        job = st.Window(source, size=size, slide=slide, names=True, graph={"device": device})
        components, distances = job.track("wcc"), job.track("bfs", source=SOURCE)
        for _ in job:
            assert components.result.num_components > 0 < len(distances.result.level)
            if job.slides == most:
                break
        for name, params in (("wcc", {}), ("bfs", {"source": 0}), ("pagerank", {})):
            assert job.graph.compute(name, **params) is not None


def watch(job: st.Window, folder: Path, told: list[str]) -> list[dict[str, float]]:
    """Run a job to its end; print a line a week once the window is full, but for those that were told already.

    Return the times of every week (see :func:`compared`). ``told``: the lines of a process that was killed.
    """
    components, distances = job.track("wcc"), job.track("bfs", source=SOURCE)
    top, before = job.sink(folder / "top.csv"), list[int]()
    measured, week, ends = [], np.zeros(3, int), [line[:10] for line in told]
    with job:
        for w in job:
            day = w.events, w.delta.num_inserted, w.delta.num_deleted
            week = np.array(day) + (week if job.slides % 7 != 1 else 0)
            if job.slides % 7 or job.slides <= DAYS:
                continue
            ranks = w.graph.device.to_numpy(w.graph.compute("pagerank"))
            best = np.argsort(-ranks, kind="stable")[:10]
            names, before = w.graph.names[best].tolist(), before or last_ten(folder / "top.csv")
            top.write({"name": names, "pagerank": ranks[best]})
            line = line_of(w, week, components.result, distances.result, before, names)
            before = names
            measured.append(compared(w.graph, components.result, distances.result, ranks))
            if line[:10] in ends:
                assert line in told, f"the killed process told {line[:10]} differently"
                continue
            if ends:
                again = f"the {len(measured) - 1} weeks since then came out the same"
                print(f"-- killed (SIGKILL) after {ends[-1]}; resumed from a checkpoint: {again}")
                ends = []
            print(line, flush=True)
    return measured


def line_of(w: Any, week: np.ndarray, components: Any, distances: Any, before: list[int], best: list[int]) -> str:
    """Return the line of a week; an alert is a user of ``best``, the top ten, who was not in those ``before``."""
    level = w.graph.device.to_numpy(distances.level)
    new = [f"user {name} is no. {place}" for place, name in enumerate(best, 1) if before and name not in before]
    alerts = ", ".join(new) or ("" if before else "(first: users " + ", ".join(map(str, best[:3])) + ")")
    facts = *week, w.graph.num_live, components.num_components, (level >= 0).sum()
    return "{:10}  {:8,}  {:10,}  {:4,}  {:6,}  {:5,}  {:7,}  {}".format(str(w.end)[:10], *facts, alerts).rstrip()


def last_ten(file: Path) -> list[int]:
    """Return the names in the last ten rows of ``top.csv``, which a resumed job cuts back to its checkpoint."""
    with open(file, newline="") as lines:
        return [int(row["name"]) for row in list(csv.DictReader(lines))[-10:]]


def compared(graph: su.Graph, components: Any, distances: Any, ranks: np.ndarray) -> dict[str, float]:
    """Time the answers from scratch, here and in SciPy, and demand that all agree; return milliseconds by name."""
    host = graph.device.to_numpy
    src, dst = (host(part) for part in graph.edges()[:2])
    source, live, size = int(graph.names.find([SOURCE])[0]), host(graph.live), graph.num_vertices
    took: dict[str, float] = {}

    def timed(name: str, make: Any) -> Any:
        begin = time.perf_counter()
        found = make()
        graph.synchronize()
        took[name] = took.get(name, 0.0) + 1000 * (time.perf_counter() - begin)
        return found

    timed("scratch", lambda: graph.compute("wcc").num_components)
    timed("scratch", lambda: graph.compute("bfs", source=source))
    timed("ranks", lambda: graph.compute("pagerank"))
    matrix = timed("scipy", lambda: csr_matrix((np.ones(len(src)), (src, dst)), (size, size)))
    number, label = timed("scipy", lambda: csgraph.connected_components(matrix, connection="weak"))
    order, parent = timed("scipy", lambda: csgraph.breadth_first_order(matrix, source))
    theirs = timed("scipy ranks", lambda: pagerank(matrix, live))
    expected = np.full(size, -1)
    expected[source] = 0
    for vertex in order[1:]:
        expected[vertex] = expected[parent[vertex]] + 1
    pairs = np.unique(host(components.label)[live].astype(np.int64) * size + label[live])
    assert len(pairs) == components.num_components == number - (size - live.sum()), "components differ from SciPy's"
    assert np.array_equal(host(distances.level), expected), "distances differ from SciPy's"
    took["difference"] = float(np.abs(ranks - theirs).sum())
    assert took["difference"] < 2 * TOLERANCE * 0.85 / 0.15, "PageRank differs from SciPy's"
    return took


def pagerank(matrix: csr_matrix, live: np.ndarray) -> np.ndarray:
    """Return PageRank of the live vertices by power iteration with SciPy."""
    degree = np.diff(matrix.indptr)
    share = np.divide(0.85, degree, out=np.zeros(len(degree)), where=degree > 0)
    pull, jump = matrix.T.tocsr(), live / live.sum()
    ranks, step = jump, 1.0
    while step > TOLERANCE:
        new = pull @ (share * ranks)
        new += (1 - new.sum()) * jump
        ranks, step = new, np.abs(new - ranks).sum()
    return ranks


def killed(command: list[str]) -> list[str]:
    """Run this program in a process of its own, show its lines, and kill it after some weeks; return these lines."""
    child = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    told: list[str] = []
    for line in child.stdout:
        print(line, end="", flush=True)
        told.append(line.rstrip("\n"))
        if len(told) == KILLED:
            child.kill()
    child.wait()
    child.stdout.close()
    if len(told) < KILLED:
        sys.exit("the first process ended before it was killed")
    return told[:KILLED]


def summary(job: st.Window, measured: list[dict[str, float]]) -> str:
    """Return the summary of a finished job: rate, times per slide, what the answers were compared with."""
    history = job.history
    full = slice(DAYS - len(history["end"]), None)
    events, graph, total = (history[name][full] for name in ("events", "graph", "total"))
    daily = (np.arange(DAYS, DAYS + len(graph)) + 1) % 7 != 0
    kept = 1000 * float(np.median(graph[daily]))
    scratch, ranks, scipy, scipy_ranks = (
        float(np.median([week[name] for week in measured])) for name in ("scratch", "ranks", "scipy", "scipy ranks")
    )
    worst = max(week["difference"] for week in measured)
    count, rate = f"{events.sum():,} messages in {len(events)} slides of a day", np.median(events / total)
    row = "{:38}  {:>12}  {:>12}  {:>9}".format
    return "\n".join((
        f"{count}; {rate:,.0f} a second (median), answers included",
        row("ms per slide, median (* loses)", "kept current", "from scratch", "SciPy"),
        row("components and distances, every day", told(kept, scratch), told(scratch, scipy), f"{scipy:.2f}"),
        row("PageRank, every week", "", told(ranks, scipy_ranks), f"{scipy_ranks:.2f}"),
        f"verified after every week against SciPy: components and distances equal, PageRank within {worst:.0e}",
    ))  # fmt: skip


def told(value: float, other: float) -> str:
    """Return a time as text, with a star if it is longer than the ``other``."""
    return f"{value:.2f}{'*' if value > other else ''}"


def main(arguments: list[str] | None = None) -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/demo"), help="gets all files")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--first", action="store_true", help="be the process that is killed")
    parser.add_argument("--compile", action="store_true", help="only compile what the demo calls")
    options = parser.parse_args(arguments)
    folder, lines = options.folder, []
    if options.compile:
        return compile_ahead(options.device)
    if not options.first:
        shutil.rmtree(folder / "state", ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"MathOverflow, who answers whom: {DAYS} days in a window that slides a day at a time")
        print("(the first run on a machine compiles before the first line, up to a minute)\n")
        print(HEADING, flush=True)
        lines = killed([__file__, str(folder), "--first", "--device", options.device])
    job = job_of(folder, options.device)
    measured = watch(job, folder, lines)
    if not options.first:
        print(f"\n{summary(job, measured)}")
        draw(job.history, measured, folder / "picture.svg")
        print(f"picture: {folder / 'picture.svg'}")


if __name__ == "__main__":
    sys.exit(main())
