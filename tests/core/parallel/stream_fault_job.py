"""A stream whose names, events and sinks are divided, which goes on from its checkpoints and may be killed anywhere."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import suricate.stream as st
from suricate.parallel import Comm, connect

ROWS, FILES = 400, 5


class MortalAnywhere:
    """A rank of ``comm`` that calls ``die`` at its collective number ``at``, from 1 on (0: none), and counts them."""

    def __init__(self, comm: Comm, at: int = 0, die: Callable[[], None] = lambda: None) -> None:
        self.count, self._at, self._die = 0, at, die
        for name in ("gather", "exchange"):
            setattr(comm, name, self._counted(getattr(comm, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count == self._at:
                self._die()
            return call(*args, **kwargs)

        return counted


def written(folder: Path) -> Path:
    """Files of events, some of them late, whose names come and go."""
    rng = np.random.default_rng(11)
    time = np.arange(ROWS) // 8 - rng.integers(0, 7, ROWS) * (rng.integers(0, 4, ROWS) == 0) + 20
    ends = rng.integers(0, 9, (2, ROWS)) + np.arange(ROWS) // 20
    folder.mkdir(parents=True)
    for part, rows in enumerate(np.array_split(np.arange(ROWS), FILES)):
        lines = ["time,src,dst", *(f"{time[i]},n{ends[0, i]},n{ends[1, i]}" for i in rows)]
        (folder / f"p{part}.csv").write_text("\n".join(lines) + "\n")
    return folder


def follow(files: Path, out: Path, comm: Comm | None = None, *, merged: bool = False) -> list[Any]:
    """Go on from the checkpoint beside ``out``, or begin; return what the last slide, if one came, and the job say.

    ``merged``: each file is a source of its own, and these are merged.
    """
    graph = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
    source = st.merge(*map(st.scan, sorted(files.iterdir()))) if merged else st.scan(files)
    window = st.Window(
        source, size="12s", slide="3s", lateness="4s", late=out.with_suffix(".late.csv"), names=True,
        combine="count", readers="all", graph=graph, checkpoint=out.with_suffix(".state"), checkpoint_every=1,
    )  # fmt: skip
    groups, levels, rows = window.track("wcc"), window.track("bfs", source="n12"), window.sink(out)
    last: list[Any] = []
    with window:
        for w in window:
            table = groups.to_pandas()
            rows.write({**{name: table[name] for name in table.columns}, "level": levels.result.level[table["vertex"]]})
            edges = sorted(zip(*(part.tolist() for part in w.graph.edges()), strict=True))
            last = [str(w.end), edges, sorted(w.graph.names[w.graph.names.ids].tolist())]
    return [last, window.read, window.late, window.slides]


def files_of(out: Path) -> list[bytes]:
    """Return what the job has written beside its checkpoints."""
    return [path.read_bytes() for path in (out, out.with_suffix(".late.csv"))]


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    joined, victim, number = connect(), int(sys.argv[3]), int(sys.argv[4])
    MortalAnywhere(joined, number if joined.rank == victim else 0, kill)
    follow(Path(sys.argv[1]), Path(sys.argv[2]), joined)
