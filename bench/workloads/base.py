"""What the tasks of a backend have in common.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Task


class FixtureTask(Task):
    """Base of the tasks that run a backend on a fixture; rows show the backend's options and the fixture's traits."""

    oracle: str | None = "NumPy sorted keys"

    def __init__(self, fixture: Fixture, batch: int | None = None) -> None:
        self.fixture, self.batch, self.backend, self.device = fixture, batch, fixture.backend, fixture.device
        self.hints, self.options, self.setting = fixture.hints, fixture.options, fixture.label
        self.label_row(self.detail)
        if fixture.silent:
            self.oracle = None

    def label_row(self, *parts: str) -> None:
        """Set the detail of the row to ``parts`` and the traits of the fixture ("weighted" and the like)."""
        self.detail = ", ".join(part for part in (*parts, *self.fixture.traits) if part)

    def abandon(self) -> None:
        """Drop all graphs of the fixture, since they may be wrong after a failure; the next task builds new ones."""
        self.fixture.reset()
