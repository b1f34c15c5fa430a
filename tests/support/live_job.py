"""A job over two watched folders, merged, with alerts and slides that the clock closes; its children are killed.

Usage: live_job.py FOLDER KILLS. Parts come into both folders step by step. Their events are seconds apart from those of
the step before, so no silence makes an event late, and all files are those of one run over all parts.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

import suricate.stream as st

STEPS, EVENTS = 6, 60  #: parts of a folder, and events of a part
LONGEST = 0.5  #: seconds until a child is killed; each fourth one, from when the clock has closed a slide


def write(folder: Path) -> None:
    """Write the parts of both folders to where nobody watches."""
    rng = np.random.default_rng(1)
    for name in "ab":
        (folder / name).mkdir(parents=True)
        for step in range(STEPS):
            time = np.sort(rng.integers(0, 900, EVENTS)) + 5000 * step
            src, dst = rng.integers(0, 9, (2, EVENTS)) + 3 * step
            rows = zip(time.tolist(), src.tolist(), dst.tolist(), rng.integers(1, 9, EVENTS).tolist(), strict=True)
            lines = "".join(f"{at},n{u},n{v},{weight}\n" for at, u, v, weight in rows)
            (folder / name / f"p{step}.csv").write_text("time,src,dst,weight\n" + lines)


def run_job(parts: Path, to: Path, *, watch: bool) -> None:
    """Run the job, from its checkpoint on if there is one."""
    sources = [st.files(parts / name, watch=watch, settle="0s", time_unit="ms") for name in "ab"]
    job = st.Window(
        st.merge(*sources), size="300ms", slide="50ms", idle="30ms", combine="sum", names=True,
        graph={"device": "cpu"}, checkpoint=to / "state", checkpoint_every=3,
    )  # fmt: skip
    degree, groups, out = job.track("degree"), job.track("wcc"), job.sink(to / "out.csv")
    job.alert(degree, above=3, sink=to / "busy.csv")
    job.alert(groups, merged=2, sink=to / "merged.csv")
    job.alert("edges", grew="2x", sink=to / "heavy.csv")
    with job:
        for w in job:
            if w.closed_by == "idle":
                (to / "idle").touch()
            edges = sorted(zip(*(part.tolist() for part in w.graph.edges()), strict=True))
            names = " ".join(sorted(job.names or ()))
            out.write({"events": w.events, "left": w.left, "names": names, "edges": str(edges)})
    (to / "found.json").write_text(json.dumps([job.slides, job.late, job.read, job.past.events]))


def child(parts: Path, to: Path, *, watch: bool) -> int:
    """Run the job in a fork; return its id."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        run_job(parts, to, watch=watch)
        code = 0
    finally:
        os._exit(code)


def main(folder: Path, kills: int) -> None:
    """Kill so many children while parts come, let one come to the end, and compare all files."""
    rng, whole, killed, parts = random.Random(1), folder / "whole", folder / "killed", folder / "parts"
    write(folder / "all")
    for each in (whole, killed, parts / "a", parts / "b"):
        each.mkdir(parents=True)
    run_job(folder / "all", whole, watch=False)
    for step in range(STEPS):
        for name in "ab":
            shutil.copy(folder / "all" / name / f"p{step}.csv", parts / name / ".part")
            (parts / name / ".part").rename(parts / name / f"p{step}.csv")
        for number in range(kills * step // STEPS, kills * (step + 1) // STEPS):
            running = child(parts, killed, watch=True)
            while number % 4 == 3 and not (killed / "idle").exists():
                assert os.waitpid(running, os.WNOHANG) == (0, 0), "the job has ended"
                time.sleep(0.005)
            time.sleep(rng.uniform(0, LONGEST))
            os.kill(running, signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(running, 0)[1]) == -signal.SIGKILL
    assert os.waitstatus_to_exitcode(os.waitpid(child(parts, killed, watch=False), 0)[1]) == 0
    for path in (*whole.glob("*.csv"), whole / "found.json"):
        assert (killed / path.name).read_bytes() == path.read_bytes(), path.name
        assert len(path.read_bytes().splitlines()) > 3 or path.suffix == ".json"
    assert json.loads((whole / "found.json").read_text())[1] == 0  # none late
    print(json.dumps({"kills": kills, "idle": (killed / "idle").exists()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
