"""A program with a job that is killed: ``run`` runs it once, ``serve`` forks processes and kills them by a plan.

Usage: killed_job.py run|serve FOLDER DEVICE few|all [PLAN]

Names come and go, events are late, deleted or set, and results go to files. ``few``: components, also once in five
slides. ``all``: every algorithm that comes along in one job, those for undirected graphs on its second graph.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import suricate.stream as st
from suricate import plugins
from suricate.bench.verify.edges import EdgeModel
from suricate.bench.verify.results import check_result, on_host

EVENTS, CHUNK = 2_400, 40
EXACT = ("bfs", "scc", "sssp", "wcc", "kcore", "triangles")  #: answers that are the same byte for byte
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bfs": {"source": "hub"}, "sssp": {"source": "hub"}, "hits": {"max_iter": 5000}, "eigenvector": {"max_iter": 20000},
    "betweenness": {"sources": ["hub"]}, "closeness": {"sources": ["hub"]}, "katz": {"alpha": 0.01},
    "label_propagation": {"max_iter": 10000}, "personalized_pagerank": {"sources": ["hub"]},
}  # fmt: skip


def columns() -> dict[str, np.ndarray]:
    """The events."""
    rng = np.random.default_rng(1)
    near = np.arange(EVENTS) // 40
    src, dst = (np.char.add("n", (near + rng.integers(0, 20, EVENTS)).astype(str)) for _ in range(2))
    src[::20], dst[7::20] = "hub", "hub"
    kind = rng.choice([1, 1, 1, 1, -1, 0], EVENTS)
    kind[::20] = 1
    return {"time": np.arange(EVENTS) // 2 - rng.integers(0, 30, EVENTS), "src": src, "dst": dst,
            "weight": rng.integers(1, 9, EVENTS), "kind": kind}  # fmt: skip


def events(position: int | None) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Yield the events from a position on."""
    found = columns()
    for at in range(position or 0, EVENTS, CHUNK):
        yield at + CHUNK, {name: column[at : at + CHUNK] for name, column in found.items()}


def names_of(which: str) -> list[str]:
    """The algorithms of the job."""
    found = plugins.algorithms().items()
    return ["wcc"] if which == "few" else sorted(
        name for name, kind in found if kind.__module__.startswith("suricate.algorithms")
    )  # fmt: skip


def run_job(folder: Path, device: str, which: str) -> None:
    """Run the job to its end, from its checkpoint on if there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    job = st.Window(
        st.source(events), size="150", slide="9", lateness="20", combine="sum", names=True, graph={"device": device},
        checkpoint=folder / "state", checkpoint_every=2, late=folder / "late.csv",
    )  # fmt: skip
    names = names_of(which)
    trackers = {name: job.track(name, symmetric=needs_both(name), **ARGUMENTS.get(name, {})) for name in names}
    often = job.track("wcc", every=5)
    out = job.sink(folder / "out.csv")
    with job:
        for w in job:
            row = {"edges": w.graph.num_edges, "live": w.graph.num_live, "taken": w.taken, "late": w.late,
                   "names": " ".join(sorted(job.names)), "ids": " ".join(map(str, job.names.ids))}  # fmt: skip
            for name in names:
                if name in EXACT:
                    row[name] = digest_of(trackers[name].result, w.graph.device)
            out.write(row)
    src, dst, weight = (job.graph.device.to_numpy(part) for part in job.graph.edges())
    model = EdgeModel(src, dst, weight.astype(np.float32))
    both = EdgeModel(src, dst, directed=False)
    live = job.graph.device.to_numpy(job.graph.live)
    for name, tracker in trackers.items():
        check(tracker.kind, ARGUMENTS.get(name, {}), tracker.result, both if needs_both(name) else model, job, live)
    rows = [*zip(*(job.history[name].tolist() for name in ("end", "events", "late", "edges")), strict=True)]
    names_now = dict(zip(job.names, job.names.ids.tolist(), strict=True))
    found = [model.keys.tolist(), names_now, job.late, job.slides, rows, job.graph.num_vertices, live.tolist(),
             int(often.result.num_components)]  # fmt: skip
    (folder / "found.json").write_text(json.dumps(found))


def needs_both(name: str) -> bool:
    """Whether an algorithm is for undirected graphs."""
    return plugins.algorithm(name).requires.undirected is True


def digest_of(result: Any, device: Any) -> str:
    """A text that tells answers apart; parents may be any of several."""
    host = on_host(result, device)
    fields = host._asdict() if hasattr(host, "_asdict") else {"value": host}
    return " ".join(str(np.asarray(part).tolist()) for name, part in fields.items() if name != "parent")


def check(
    kind: Any, arguments: dict[str, Any], result: Any, model: EdgeModel, job: st.Window, live: np.ndarray
) -> None:
    """Compare an answer with the algorithm's reference on the last window."""
    hub = dict(zip(job.names, job.names.ids.tolist(), strict=True))["hub"]
    given = {name: {"source": hub, "sources": [hub]}.get(name, value) for name, value in arguments.items()}
    if kind.name not in ("random_walks", "betweenness", "closeness"):  # samples are drawn: the kit checks these
        check_result(kind, given, result, model, job.graph.num_vertices, job.graph.device, live)


# -- forks -------------------------------------------------------------------------------------------------------------


class Server:
    """Runs the job in forks that are killed; afterwards everything must be as in one run.

    Attributes:
        kills: how many were killed. whole: how often the job came to its end.
    """

    def __init__(self, folder: Path, device: str, which: str) -> None:
        self.folder, self.arguments = folder, (device, which)
        self.kills = self.whole = self.refused = 0
        run_job(folder / "whole", *self.arguments)
        library = os.environ.get("LD_PRELOAD")
        self.killing = ctypes.CDLL(library) if library else None

    def fork(self, number: int = -1, *, full: bool = False) -> int:
        """Go on in a child; the calls that write are counted there, and number ``number`` kills it."""
        child = os.fork()
        if child:
            return child
        code = 3
        try:
            if self.killing is not None:
                self.killing.killing_arm(number, int(full))
            run_job(self.folder / "killed", *self.arguments)
            code = 0
        except OSError as error:
            code = 4 if error.errno == 28 else 3
        finally:
            os._exit(code)

    def end(self, child: int) -> None:
        """Wait for a child; count how it ended, and compare the files if it came to the end."""
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (-signal.SIGKILL, 0, 4), status
        self.kills += status == -signal.SIGKILL
        self.refused += status == 4
        if status == 0:
            self.compare()

    def compare(self) -> None:
        """Compare all files with those of one run, and begin again."""
        whole, killed = self.folder / "whole", self.folder / "killed"
        for path in whole.rglob("*.csv"):
            assert (killed / path.relative_to(whole)).read_bytes() == path.read_bytes(), path.name
        for path in whole.rglob("found.json"):
            assert (killed / path.relative_to(whole)).read_bytes() == path.read_bytes(), path.name
        shutil.rmtree(killed)
        self.whole += 1

    def at_random(self, kills: int, longest: float) -> None:
        """Kill children after random times up to so many seconds, then let one come to the end."""
        rng = random.Random(1)
        goal = self.kills + kills
        while self.kills < goal:
            child = self.fork()
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            self.end(child)
        self.end(self.fork())

    def at_calls(self, numbers: range, *, full: bool = False) -> None:
        """Kill children at their n-th call that writes, or have the disk full from there on; then let one end."""
        for number in numbers:
            self.end(self.fork(number, full=full))
        self.end(self.fork())


def serve(folder: Path, device: str, which: str, plan: dict[str, Any]) -> None:
    """Carry out a plan; print what happened."""
    server = Server(folder, device, which)
    begin = time.perf_counter()
    run_job(folder / "again", device, which)  # what is compiled later is compiled now
    spent = time.perf_counter() - begin
    server.at_random(plan["random"], spent * plan["share"])
    for full in (False, True):
        server.at_calls(range(*plan["calls"]), full=full)
    print(json.dumps({"kills": server.kills, "whole": server.whole, "refused": server.refused}))


if __name__ == "__main__":
    mode, target, on, which_ones, *rest = sys.argv[1:]
    if mode == "serve":
        serve(Path(target), on, which_ones, json.loads(rest[0]))
    else:
        run_job(Path(target), on, which_ones)
