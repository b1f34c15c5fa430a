"""Paths and walks over logs of events: ``su.earliest_arrival`` and its like, found by the hook ``suricate_functions``.

They answer from scratch, by one pass over the events or one search per step: no tracker would be faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suricate import hookimpl
from suricate.algorithms.time.paths import Arrivals, Departures, Fastest, earliest_arrival, fastest, latest_departure
from suricate.algorithms.time.walks import Walks, temporal_walks

__all__ = [
    "Arrivals", "Departures", "Fastest", "Walks", "earliest_arrival", "fastest", "latest_departure", "temporal_walks",
]  # fmt: skip


@hookimpl
def suricate_functions() -> list[Callable[..., Any]]:
    """Return the functions of this folder."""
    return [earliest_arrival, latest_departure, fastest, temporal_walks]
