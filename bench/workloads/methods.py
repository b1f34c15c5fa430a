"""Workloads that compare the variants of an algorithm: time and numerical error, in batches and along a stream.

A variant is the algorithm with certain values of its parameters, one of ``variants()`` of its class.
"""

from __future__ import annotations

from typing import Any

from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.workloads.algorithms import MIXED, Subject, UpdateAlone
from suricate.bench.workloads.streams import Stream


class Method(UpdateAlone):
    """Update the result of one variant of an algorithm by a mixed batch, which the graph has stored, untimed."""

    workload = "method"
    does = "brings one variant of an algorithm up to date with a fresh batch (80 % insertions) that is already stored"

    def __init__(self, fixture: Fixture, algorithm: str, batch: int, variant: str) -> None:
        super().__init__(fixture, algorithm, batch, MIXED)
        self.subject = Subject(fixture, algorithm, variant)
        self.label_row(variant)

    def extra(self) -> dict[str, Any]:
        """Return update kind and iterations, by name, and the numerical error at the last verification, if any."""
        return super().extra() if self.error is None else {**super().extra(), "error": self.error}


class StreamedMethod(Stream):
    """Keep one variant of an algorithm current along a temporal graph: 90 % is loaded, the rest comes in batches."""

    workload = "method on a stream"

    def __init__(self, fixture: Fixture, algorithm: str, variant: str) -> None:
        super().__init__(fixture, algorithm, constants.METHOD_STREAM_BATCHES)
        self.subject = Subject(fixture, algorithm, variant)
        self.label_row(variant)

    def extra(self) -> dict[str, Any]:
        """Return the numerical error at the end of the stream, if the algorithm defines one."""
        return {} if self.error is None else {"error": self.error}


def sizes(num_edges: int) -> tuple[int, ...]:
    """Return the batch sizes to measure on a graph of ``num_edges`` edges: fixed shares of that number, ascending."""
    return tuple(sorted({max(1, round(share * num_edges)) for share in constants.METHOD_SHARES}))
