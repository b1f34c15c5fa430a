"""A job that saves its graph after every batch, goes on from what is saved, and may be killed at any collective."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

import suricate as su
from suricate.graph import snapshot
from suricate.parallel import Comm, connect

N, BATCHES = 40, 4


class Mortal:
    """A rank that may die at one of its collectives.

    Args:
        comm: its communication.
        at: the number of the collective, from 1 on; 0: none.
        die: ends the rank.
    """

    def __init__(self, comm: Comm, at: int = 0, die: Callable[[], None] = lambda: None) -> None:
        self.count, self.is_saving, self.within = 0, False, list[int]()  # collectives, those within snapshots
        gather = comm.gather

        def counted(name: str, value: Any) -> list[Any]:
            self.count += 1
            if self.is_saving:
                self.within.append(self.count)
            if self.count == at:
                die()
            return gather(name, value)

        comm.gather = counted  # type: ignore[method-assign]


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges to delete, of the batch before, and to insert."""
    old, new = (np.random.default_rng(seed).integers(0, N, (2, 30)) for seed in (number + 9, number + 10))
    return old[:, ::4], new


def follow(path: Path, comm: Comm | None = None, mortal: Mortal | None = None) -> Any:
    """Go on from what is saved; return the edges, and what algorithms say."""
    given: dict[str, Any] = {"device": "cpu", "threads": 1} | ({} if comm is None else {"comm": comm})
    first = su.Graph.load(path, **given) if path.exists() else su.Graph(N, weight_dtype="int32", **given)
    graph, step = first, 1 if comm is None else comm.size
    trackers = [graph.track("bfs", source=1), graph.track("wcc"), graph.track("spmv")]
    for number in range(graph.version, BATCHES):
        old, new = (part[:, (comm.rank if comm else 0) :: step] for part in batch(number))
        graph.apply(su.Batch(delete=su.EdgeList(*old), insert=su.EdgeList(*new, 1 + (new[0] + new[1]) % 5)))
        if mortal:
            mortal.is_saving = True
        graph.save(path)
        if mortal:
            mortal.is_saving = False
    edges = sorted(zip(*(part.tolist() for part in graph.edges()), strict=True))
    level, labels, sums = (tracker.result for tracker in trackers)
    return edges, level.level.tolist(), labels.label.tolist(), np.round(sums, 9).tolist()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_in_write(number: int) -> None:
    """Have this process killed in the middle of a file."""
    replacing, count = snapshot.replacing, 0

    @contextmanager
    def cut(path: Path) -> Iterator[IO[bytes]]:
        nonlocal count
        count += 1
        with replacing(path) as file:
            if count == number:
                file.write(b"PK half a file")
                file.flush()
                kill()
            yield file

    snapshot.replacing = cut


if __name__ == "__main__":
    joined, victim, at = connect(), int(sys.argv[2]), int(sys.argv[3])
    if joined.rank == victim and at < 0:
        kill_in_write(-at)
    follow(Path(sys.argv[1]), joined, Mortal(joined, at if joined.rank == victim else 0, kill))
