"""Workloads that compare the variants of one algorithm: time beside error, after random batches and along a stream."""

from __future__ import annotations

from typing import Any

from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.workloads.algorithms import MIXED, Subject, UpdateAlone
from suricate.bench.workloads.streams import Stream


class Method(UpdateAlone):
    """The update of one variant of an algorithm after mixed batches, without the store's part."""

    workload = "method"
    does = "brings one variant of an algorithm up to date with a fresh batch (80 % insertions) that is already stored"

    def __init__(self, fixture: Fixture, algorithm: str, batch: int, variant: str) -> None:
        super().__init__(fixture, algorithm, batch, MIXED)
        self.subject = Subject(fixture, algorithm, variant)
        self.label_row(variant)

    def extra(self) -> dict[str, Any]:
        """Return the facts of an update, and the error after the last batch that was verified."""
        return super().extra() if self.error is None else {**super().extra(), "error": self.error}


class StreamedMethod(Stream):
    """One variant of an algorithm, kept current along a temporal graph: 90 % is loaded, then come many batches."""

    workload = "method on a stream"

    def __init__(self, fixture: Fixture, algorithm: str, variant: str) -> None:
        super().__init__(fixture, algorithm, constants.METHOD_STREAM_BATCHES)
        self.subject = Subject(fixture, algorithm, variant)
        self.label_row(variant)

    def extra(self) -> dict[str, Any]:
        """Return the error at the end of the stream, if the algorithm has one."""
        return {} if self.error is None else {"error": self.error}


def sizes(num_edges: int) -> tuple[int, ...]:
    """Return the batch sizes, shares of ``num_edges``, ascending."""
    return tuple(sorted({max(1, round(share * num_edges)) for share in constants.METHOD_SHARES}))
