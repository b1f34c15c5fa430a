"""The history of a job: a row per slide, of the newest ones, so that its memory does not grow with the stream."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.graph.frames import Frame

if TYPE_CHECKING:
    from suricate.stream.slide import Slide

KEPT = 10_000  #: rows
MEASURED = 16  #: slides per measurement of bytes, which takes host time, and on CUDA waits for the device
TOTALS = ("slides", "events", "seconds")
FACTS = ("end", "events", "late", "lag", "edges")


class History:
    """Statistics per slide, of the newest slides.

    Attributes:
        slides, events: totals over all slides, including those whose row was dropped.
        seconds: time that all slides took.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._rows: deque[tuple[tuple[Any, ...], dict[str, int], dict[str, float]]] = deque(maxlen=kept)
        self.slides, self.events, self.seconds = 0, 0, 0.0
        self._memory: dict[str, int] = {}  # what the newest rows say
        self._published: tuple[Any, ...] | None = None  # replaced as a whole, so other threads may read it

    def add(self, slide: Slide, num_edges: int) -> None:
        """Add the row of the newest slide; ``num_edges`` is the number of edges at its end."""
        if self.slides % MEASURED == 0 or not self._memory:
            self._memory = {f"{part}_bytes": size for part, size in slide.memory.items()}
        facts = slide.end, slide.events, slide.late, slide.lag, num_edges
        self._rows.append((facts, self._memory, slide.took))
        self.slides, self.events = self.slides + 1, self.events + slide.events
        self.seconds += slide.took["total"]
        self._published = *self._rows[-1], slide.skipped, self.slides, self.events, self.seconds, time.time()

    def metrics(self) -> dict[str, float]:
        """Return the totals and the numbers of the newest slide, see ``Window.metrics``."""
        if self._published is None:
            return {
                "slides": self.slides,
                "events_total": self.events,
                "late": 0,
                "skipped": 0,
                "seconds": self.seconds,
            }
        (end, events, late, lag, edges), memory, took, skipped, *totals, published = self._published
        found = dict(zip(("slides", "events_total", "seconds"), totals, strict=True))
        if isinstance(end, np.datetime64):
            end, lag = float(end.astype(np.int64) / 1e9), lag / 1e9
        found |= {"late": late, "skipped": skipped, "end": end, "events": events, "lag": lag, "edges": edges}
        return found | {"published": published, **memory, **{f"{part}_seconds": spent for part, spent in took.items()}}

    @property
    def facts(self) -> Iterator[tuple[Any, ...]]:
        """For each slide what :data:`FACTS` names."""
        return (facts for facts, _, _ in self._rows)

    def frame(self) -> Frame:
        """Return a :class:`Frame` with a row per slide."""
        return Frame(self._columns())

    def _columns(self) -> dict[str, np.ndarray]:
        rows = [dict(zip(FACTS, facts, strict=True)) | memory | took for facts, memory, took in self._rows]
        return {name: np.array([row[name] for row in rows]) for name in (rows[-1] if rows else FACTS[:2])}

    def save(self) -> dict[str, np.ndarray]:
        """Return columns and totals as arrays by name."""
        totals = {name: np.array(getattr(self, name)) for name in TOTALS}
        return {"totals." + name: total for name, total in totals.items()} | (self._columns() if self._rows else {})

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Restore a history that :meth:`save` returned."""
        for name in TOTALS:
            setattr(self, name, saved.pop(f"totals.{name}").item())
        columns = [[*part] if part.dtype.kind == "M" else part.tolist() for part in saved.values()]
        rows = (dict(zip(saved, row, strict=True)) for row in zip(*columns, strict=True))
        self._rows.extend((tuple(map(row.pop, FACTS)), {}, row) for row in rows)
