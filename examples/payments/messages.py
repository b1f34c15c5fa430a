"""The same on a real stream: a week of messages between students (CollegeMsg), who writes in circles.

The file comes with the package. Edges weigh how often one student wrote to another within the week.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from watch import killed_and_resumed, watch

import suricate.stream as st
from suricate.bench.constants import COLLEGEMSG

LIMIT = 20  #: messages


def job_of(folder: Path, device: str) -> st.Window:
    """Return the job: a week of messages, a day at a time, the number of messages of each pair."""
    source = st.scan(COLLEGEMSG, src=0, dst=1, time=2)
    return st.Window(
        source, size="7d", slide="1d", combine="count", names=True, graph={"device": device},
        checkpoint=folder / "state", checkpoint_every=10,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/messages"), help="gets all files")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--kill-after", type=int, default=40, help="slides; 0: nothing is killed")
    parser.add_argument("--picture", type=Path, help="the file of the picture; default: picture.svg in the folder")
    parser.add_argument("--go-on", action="store_true", help="go on with what the folder has")
    options = parser.parse_args(arguments)
    folder = options.folder
    if not options.go_on:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (folder / "state").glob("*"):
            old.unlink()
        if options.kill_after:
            killed_and_resumed([__file__, str(folder), "--go-on", "--device", options.device], options.kill_after)
    watch(job_of(folder, options.device), folder, LIMIT, options.picture or folder / "picture.svg")


if __name__ == "__main__":
    sys.exit(main())
