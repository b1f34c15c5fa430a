"""A job over a broker in a process of its own: broker_job.py FOLDER JSON, with the options of source and window.

It writes what it finds to FOLDER, goes on from FOLDER/state, and ends with its source. An error is printed in one line.
Several names are merged. Started by MPI its processes share the job, of which one can end itself at a slide.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path

import suricate.stream as st
from suricate.errors import SuricateError
from suricate.parallel import connect

folder, given = Path(sys.argv[1]), json.loads(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
logging.basicConfig(filename=folder / "log", level=logging.DEBUG)
options = {"on_error": folder / "bad.csv"} | given.get("options", {})
window = {"size": "40s", "slide": "10s", "lateness": "5s"} | given.get("window", {})
slow = given.get("slow", 0)


def die() -> None:
    """End this process at once."""
    (folder / "died").touch()
    os.kill(os.getpid(), 9)


begin = time.monotonic()
try:
    names = given["name"] if isinstance(given["name"], list) else [given["name"]]
    if len(names) == 1:
        source = getattr(st, given["kind"])(*names, **options)
    else:
        files = [{**options, "on_error": folder / f"bad.{name}.csv"} for name in names]
        sources = [getattr(st, given["kind"])(name, **file) for name, file in zip(names, files, strict=True)]
        source = st.merge(*sources, on_error=folder / "bad.csv")
    comm = connect("mpi") if "OMPI_COMM_WORLD_SIZE" in os.environ else None
    victim, last, whole = given.get("dies", (None, 0, False))
    job = st.Window(
        source, combine="sum", names=True, graph={"device": "cpu"} | ({"comm": comm} if comm else {}),
        late=folder / "late.csv", readers=given.get("readers", "first"), checkpoint=folder / "state",
        checkpoint_every=given.get("every", 1), **window,
    )  # fmt: skip
    parts, out = job.track("wcc"), job.sink(folder / "out.csv")
    print("ready", flush=True)
    with job:
        for number, w in enumerate(job, 1):
            if comm and (victim, last, whole) == (comm.rank, number, False):
                die()
            weight = int(w.graph.edges()[2].sum())
            out.write({"events": w.events, "late": w.late, "parts": parts.result.num_components,
                       "names": len(job.names), "weight": weight, "by": w.closed_by})  # fmt: skip
            print("slide", w.end, w.events, flush=True)
            time.sleep(slow)
            if comm and (victim, last, whole) == (comm.rank, number, True):
                die()
    peak = next(
        line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )  # KiB
    print("read", job.read, "skipped", job.skipped, peak, flush=True)
except SuricateError as error:
    print(f"error after {time.monotonic() - begin:.1f} s: {type(error).__name__}: {error}", flush=True)
    sys.exit(3)
