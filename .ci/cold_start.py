"""What a fresh machine waits for: run common calls with empty caches, and say what was compiled meanwhile.

Usage: ``python .ci/cold_start.py [example | demo | csv | batch] ... [--device cpu|cuda] [--top N]``.
Each scenario runs in a process of its own whose caches (Numba's, suricate's, CuPy's, Python's byte code) are empty.
Printed are the seconds since the process began (wall clock and CPU), step by step, and the costliest compilations (CPU
seconds, with what they compile themselves subtracted). Two cores are enough; close everything else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = """
import numpy as np
import suricate as su
lap("import")
g = su.Graph(num_vertices=1_000, device=DEVICE)
ranks = g.track("pagerank")
reach = g.track("bfs", source=0)
lap("graph and trackers")
src, dst = np.random.default_rng(1).integers(0, 1_000, (2, 20_000))
g.insert_edges(src, dst).num_inserted
lap("first batch")
g.delete_edges(src[:100], dst[:100])
lap("deletion")
g.has_edges(src[:3], dst[:3])
lap("query")
ranks.result.argsort()[-10:], reach.result.level.max()
dist = g.device.xp.full(1_000, np.inf, np.float32)
dist[0] = 0
su.propagate(g, [0], edge, dist, reduce="min")
g.synchronize()
lap("results, and an edge function")
"""
BATCH = """
import numpy as np
import suricate as su
g = su.Graph(num_vertices=1_000, device=DEVICE)
lap("graph")
src, dst = g.device.xp.asarray(np.random.default_rng(1).integers(0, 1_000, (2, 20_000)))
lap("arrays")
g.insert_edges(src, dst)
g.synchronize()
lap("first batch")
"""
CSV = """
import numpy as np
import suricate as su
path = FOLDER / "names.csv"
pairs = np.random.default_rng(1).integers(0, 500, (2_000, 2))
path.write_text("source,target,weight\\n" + "".join(f"user{a},user{b},{a / 2}\\n" for a, b in pairs))
su.read(path, relabel=True)
lap("CSV file with names")
"""
DEMO = """
import contextlib, io
from suricate.cli import main
from suricate.plugins import backends

class Rows(io.StringIO):
    def write(self, text):
        for line in text.splitlines():
            if line.startswith(tuple(backends())) and len(rows) < 4:
                rows.append(line)
                lap("row: " + " ".join(line.split()[:3]))
        return len(text)

rows = []
try:
    with contextlib.redirect_stdout(Rows()):
        main(["demo", "--device", DEVICE, "--output", str(FOLDER / "demo.jsonl")])
except SystemExit:
    pass
lap("all rows")
"""
SCENARIOS = {"example": EXAMPLE, "batch": BATCH, "csv": CSV, "demo": DEMO}

WATCH = """
import sys, time
BEGAN = time.perf_counter()
from pathlib import Path
FOLDER, DEVICE, TOP = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
compiled, open_ = {}, []

def lap(what):
    print(f"{time.perf_counter() - BEGAN:7.2f} s {time.process_time():7.2f} s  {what}", file=sys.__stdout__, flush=True)

def start():
    open_.append([time.process_time(), 0.0])

def end(name):
    began, nested = open_.pop()
    took = time.process_time() - began
    count, seconds = compiled.get(name, (0, 0.0))
    compiled[name] = count + 1, seconds + took - nested
    if open_:
        open_[-1][1] += took

def watch_numba():
    from numba.core import event
    class Listener(event.Listener):
        def on_start(self, event):
            start()
        def on_end(self, event):
            function = event.data["dispatcher"].py_func
            end(f"{function.__module__}.{function.__qualname__}")
    event.register("numba:compile", Listener())

def watch_nvrtc():
    from cupy.cuda import compiler
    compile_program = compiler._NVRTCProgram.compile
    def watched(program, *args, **kwargs):
        start()
        try:
            return compile_program(program, *args, **kwargs)
        finally:
            kernels = [line for line in program.src.splitlines() if "__global__" in line] or ["(empty)"]
            end("NVRTC: " + program.name + " " + kernels[0].strip()[:90])
    compiler._NVRTCProgram.compile = watched

def edge(u, v, w, dist):
    return dist[u] + w

watch_numba() if DEVICE == "cpu" else watch_nvrtc()
lap("start")
"""
SUMMARY = """
total = sum(seconds for _, seconds in compiled.values())
print(f"{total:7.2f} s  in {sum(count for count, _ in compiled.values())} compilations")
for name, (count, seconds) in sorted(compiled.items(), key=lambda item: -item[1][1])[:TOP]:
    print(f"{seconds:12.2f} s {count:3d}  {name}")
"""


def run(scenario: str, device: str, top: int) -> None:
    """Run a scenario in a process with new caches."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(WATCH + SCENARIOS[scenario] + SUMMARY)
        variables = ("SURICATE_CACHE_DIR", "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "PYTHONPYCACHEPREFIX")
        environment = os.environ | {name: str(Path(folder) / name.lower()) for name in variables}
        print(f"-- {scenario} on {device}", flush=True)
        subprocess.run([sys.executable, script, folder, device, str(top)], env=environment, check=True)


def main() -> None:
    """Run the scenarios of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="*", default=["example"], choices=[*SCENARIOS])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--top", type=int, default=20)
    given = parser.parse_args()
    for scenario in given.scenario:
        run(scenario, given.device, given.top)


if __name__ == "__main__":
    main()
