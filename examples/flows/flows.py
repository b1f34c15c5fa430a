"""Flows between hosts, in parts that come into a folder: who talks to most, and who scans.

The flows are made up. A backup server talks to everybody with large flows, which is no scan; two hosts probe many
others with small ones, one of them slowly. ``python examples/flows/flows.py [FOLDER]``; see docs/streams.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import suricate.stream as st

PARTS, MINUTES = 6, 24  #: files, and minutes of all of them
PROBE = 100  #: bytes: a flow of fewer is a probe


def flows(seed: int = 1) -> np.ndarray:
    """Return flows, ``int64[n, 4]`` by time: seconds, numbers of two hosts, bytes."""
    rng = np.random.default_rng(seed)
    number, seconds = 3_000, 60 * MINUTES
    usual = np.stack((rng.integers(0, seconds, number), rng.integers(20, 120, number), rng.integers(0, 12, number),
                      rng.integers(60, 5_000, number)), axis=1)  # fmt: skip
    backup = np.stack((np.sort(rng.integers(0, seconds, 600)), np.full(600, 7), rng.integers(20, 120, 600),
                       rng.integers(10_000, 90_000, 600)), axis=1)  # fmt: skip
    fast = np.stack((500 + np.arange(60), np.full(60, 33), 130 + np.arange(60), np.full(60, 44)), axis=1)
    slow = np.stack((700 + 10 * np.arange(60), np.full(60, 90), 130 + np.arange(60), np.full(60, 52)), axis=1)
    found = np.concatenate((usual, backup, fast, slow))
    return found[np.argsort(found[:, 0], kind="stable")]


def write(folder: Path) -> None:
    """Write the flows as parts, each renamed into place when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(np.array_split(flows(), PARTS)):
        rows = (f"{time},10.0.0.{src},10.0.0.{dst},{size}\n" for time, src, dst, size in part.tolist())
        (folder / ".part").write_text("time,src,dst,weight\n" + "".join(rows))
        (folder / ".part").rename(folder / f"flows{number}.csv")


def fan_out(parts: Path, out: Path, device: str) -> None:
    """Write the three hosts that talk to most others, minute by minute, over five minutes."""
    job = st.Window(st.files(parts), size="5min", slide="1min", names=True, graph={"device": device})
    degree, top = job.track("degree"), job.sink(out)
    for _ in job:
        top.write(degree.top(3))


def scanners(parts: Path, out: Path, device: str) -> None:
    """Write who begins to probe more than fifteen hosts in five minutes."""
    probes = st.where(st.files(parts), lambda chunk: chunk["weight"] < PROBE)
    job = st.Window(probes, size="5min", slide="1min", names=True, graph={"device": device})
    job.alert(job.track("degree"), above=15, sink=out)
    print(sum(1 for _ in job), "minutes")


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/flows"), help="gets all files")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args(arguments)
    folder = options.folder
    write(folder / "parts")
    fan_out(folder / "parts", folder / "top.csv", options.device)
    scanners(folder / "parts", folder / "scanners.csv", options.device)
    print((folder / "scanners.csv").read_text())


if __name__ == "__main__":
    main()
