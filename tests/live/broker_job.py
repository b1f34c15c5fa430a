"""A job over a broker in a process of its own: broker_job.py FOLDER JSON, with the options of source and window.

It writes what it finds to FOLDER, goes on from FOLDER/state, and ends with its source. An error is printed in one line.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

import suricate.stream as st
from suricate.errors import SuricateError

folder, given = Path(sys.argv[1]), json.loads(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
logging.basicConfig(filename=folder / "log", level=logging.DEBUG)
options = {"on_error": folder / "bad.csv"} | given.get("options", {})
window = {"size": "40s", "slide": "10s", "lateness": "5s"} | given.get("window", {})
slow = given.get("slow", 0)
begin = time.monotonic()
try:
    source = getattr(st, given["kind"])(given["name"], **options)
    job = st.Window(
        source, combine="sum", names=True, graph={"device": "cpu"}, late=folder / "late.csv",
        checkpoint=folder / "state", checkpoint_every=given.get("every", 1), **window,
    )  # fmt: skip
    parts, out = job.track("wcc"), job.sink(folder / "out.csv")
    print("ready", flush=True)
    with job:
        for w in job:
            weight = int(w.graph.edges()[2].sum())
            out.write({"events": w.events, "late": w.late, "parts": parts.result.num_components,
                       "names": len(job.names), "weight": weight, "by": w.closed_by})  # fmt: skip
            print("slide", w.end, w.events, flush=True)
            time.sleep(slow)
    peak = next(
        line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )  # KiB
    print("read", job.read, "skipped", job.skipped, peak, flush=True)
except SuricateError as error:
    print(f"error after {time.monotonic() - begin:.1f} s: {type(error).__name__}: {error}", flush=True)
    sys.exit(3)
