"""What both examples do with a window: ranks, components, alerts; killed and resumed; a picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import suricate as su
import suricate.stream as st
from suricate.errors import MissingLibraryError
from suricate.graph.frames import Frame


def watch(job: st.Window, folder: Path, limit: float, picture: Path) -> None:
    """Run a job to its end: write the top ten and the alerts of every slide, then draw the job.

    Args:
        job: its graph has vertices with names and weighted edges. folder: gets ``top.csv`` and ``alerts.csv``.
        picture: the file of the picture, which needs matplotlib.
        limit: an alert is a group of three vertices or more that can all reach each other over edges of this weight.
    """
    ranks, components = job.track("pagerank"), job.track("wcc")
    top, alerts = job.sink(folder / "top.csv"), job.sink(folder / "alerts.csv")
    best: Frame | None = None
    job.report()  # for the picture: trackers over time
    with job:
        for w in job:
            best = ranks.top(10)
            groups = cycles(w.graph, limit)
            top.write(best)
            alerts.write({"members": [" ".join(each) for each, _ in groups], "sum": [total for _, total in groups]})
            graph, parts = w.graph, components.result.num_components
            facts = f"{w.events} events, {graph.num_live} vertices, {graph.num_edges} edges, {parts} components"
            print(f"{str(w.end)[:10]}  {facts}, {len(groups)} alerts", flush=True)
    if best is not None:
        print(f"\nthe first ten of the last slide:\n{best}")
        try:
            job.plot(picture)
        except MissingLibraryError as error:
            print(f"no picture: {error}")
        else:
            print(f"picture: {picture}")


def cycles(graph: su.Graph, limit: float) -> list[tuple[list[str], float]]:
    """Return the strong components of three vertices or more of the edges with weights of at least ``limit``.

    Each is the names of its vertices, sorted, and the sum of the weights of its edges.
    """
    src, dst, weight = (graph.device.to_numpy(part) for part in graph.edges())
    heavy = weight >= limit
    ids, ends = np.unique(np.concatenate((src[heavy], dst[heavy])), return_inverse=True)
    (src, dst), weight = np.split(ends, 2), weight[heavy]
    part = su.Graph(max(len(ids), 1), device="cpu", in_edges=True)  # of a few edges, so the CPU is fast enough
    part.insert_edges(src, dst)
    label = part.compute("scc").label
    found = []
    for group in np.flatnonzero(np.bincount(label) > 2):
        inside = (label[src] == group) & (label[dst] == group)
        names = sorted(map(str, graph.names[ids[label[: len(ids)] == group]]))
        found.append((names, float(weight[inside].sum())))
    return sorted(found)


def killed_and_resumed(command: list[str], after: int) -> None:
    """Run this program in a process of its own, and kill it (SIGKILL) when it has shown so many slides."""
    child = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for number, line in enumerate(child.stdout, 1):
        print(line, end="", flush=True)
        if number == after:
            child.kill()
            print("-- killed; from the last checkpoint on: --", flush=True)
            break
    child.wait()
    child.stdout.close()
