"""What ranks that read a file together tell each other: errors, names, and rows that others keep."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.base.types import EdgeList
from suricate.comm.protocol import Comm
from suricate.intake.arrays import by_owner
from suricate.intake.name_values import TEXT, Values
from suricate.intake.names import Names

MOST = 1 << 28  #: bytes that a rank sends at a time


class Together(AbstractContextManager["Together"]):
    """Work that each rank does by itself; at its end all have what each has ``told``, or raise the first rank's error.

    An error about a file is the same on all ranks. ``lines``: how many lines the rank has read, on which the numbers of
    lines in errors of ranks behind it go on.
    """

    def __init__(self, comm: Comm) -> None:
        self._comm, self._busy = comm, comm.busy()
        self.told: Any = None
        self.lines = 0
        self.all: list[Any] = []  #: what the ranks have told, in order

    def __enter__(self) -> Together:
        self._busy.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._busy.__exit__(None, None, None)
        self.all = [self.told]
        if self._comm.size > 1 and (error is None or isinstance(error, Exception)):
            self.all = _agreed(self._comm, error, self.told, self.lines)


def _agreed(comm: Comm, problem: Exception | None, told: Any, lines: int) -> list[Any]:
    wrong = (problem.path, problem.line, problem.reason) if isinstance(problem, FileFormatError) else None
    found, before = comm.together(None if wrong else problem, (wrong, told, lines)), 0
    for wrong, _, count in found:
        if wrong is not None:
            path, line, reason = wrong
            raise FileFormatError(path, None if line is None else before + line, reason) from problem
        before += count
    return [told for _, told, _ in found]


def joined_names(comm: Comm, names: Names, src: np.ndarray, dst: np.ndarray) -> tuple[Names, np.ndarray, np.ndarray]:
    """Return the names of all ranks, in order of appearance by rank, and ids by ``names``, of this one, by these."""
    if comm.size == 1:
        return names, src, dst
    own = names.values_of(np.arange(len(names)))
    numbers, whole, ids = comm.allgatherv(own.numbers), Names(names.dtype), np.empty(0, np.uint32)
    texts = comm.allgatherv(own.data) if own.kind == TEXT else [own.data] * comm.size
    for rank, given in enumerate(map(Values, [own.kind] * comm.size, numbers, texts)):
        found = whole.intern(given)
        ids = found if rank == comm.rank else ids
    return whole, ids[src], ids[dst]


def routed(comm: Comm, column: np.ndarray, ends: Any) -> np.ndarray:
    """Return what the ranks send to this one, in order: ``ends[r]`` to ``ends[r + 1]`` go to rank ``r``."""
    parts = [column[begin:end] for begin, end in pairwise(ends)]
    if column.dtype.kind == "O":
        return np.concatenate([one[comm.rank] for one in comm.gather("texts", parts)])
    most = max(1, MOST // (comm.size * column.dtype.itemsize))
    found: list[list[np.ndarray]] = [[] for _ in parts]
    for begin in range(0, max(1, *comm.allgather(max(map(len, parts)))), most):
        for rank, piece in enumerate(comm.exchange([part[begin : begin + most] for part in parts])):
            found[rank].append(piece)
    return np.concatenate([piece for pieces in found for piece in pieces])


def by_pair(comm: Comm, edges: EdgeList) -> EdgeList:
    """Return edges of all ranks, in their order, of which every rank gets all rows of a pair of vertices."""
    low, high = np.minimum(edges.src, edges.dst).astype(np.uint64), np.maximum(edges.src, edges.dst).astype(np.uint64)
    owner = (low * np.uint64(0x9E3779B97F4A7C15) + high >> np.uint64(16)) % np.uint64(comm.size)
    order, spans = by_owner(owner, comm.size)
    ends = [0, *(end for _, end in spans)]
    weight: Any = edges.weight
    if isinstance(weight, Mapping):
        weight = {name: routed(comm, np.asarray(part)[order], ends) for name, part in weight.items()}
    elif weight is not None:
        weight = routed(comm, weight[order], ends)
    return EdgeList(routed(comm, edges.src[order], ends), routed(comm, edges.dst[order], ends), weight)
