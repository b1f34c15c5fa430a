"""A tiny temporal graph, and engines that are right and wrong, registered for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tutorial_engine import TutorialStore

from suricate import plugins
from suricate.store import Outcome


class ForgetfulStore(TutorialStore):
    """Reports a new edge as new, and forgets it if its destination is divisible by 7."""

    name = "forgetful"

    def insert(self, src, dst, weight=None, *, guard=None) -> Outcome:
        """Insert; then lose some."""
        outcome = super().insert(src, dst, weight)
        self._keep(self._keys.astype(np.uint32) % 7 != 0)
        return outcome


class GullibleStore(TutorialStore):
    """Finds every edge."""

    name = "gullible"

    def find(self, src, dst):
        """Say yes."""
        return self.device.xp.ones(len(src), bool), None


class RaisingStore(TutorialStore):
    """Cannot delete."""

    name = "raising"

    def delete(self, src, dst, *, guard=None) -> Outcome:
        """Refuse."""
        raise RuntimeError("deletion is broken")


@pytest.fixture
def broken_engines() -> Iterator[list[str]]:
    """Names of a right engine and three broken ones, registered while the test runs."""
    stores = [TutorialStore, ForgetfulStore, GullibleStore, RaisingStore]
    names = [plugins.register(store, name=f"test {store.name}") for store in stores]
    yield [store.name for store in stores]
    for name in names:
        plugins.unregister(name)


@pytest.fixture(scope="session")
def temporal_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporal graph of 40 vertices and 400 events, in a file."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 40, (2, 400))
    path = tmp_path_factory.mktemp("graphs") / "tiny.txt"
    path.write_text(
        "".join(f"{u} {v} {1_082_000_000 + i // 3}\n" for i, (u, v) in enumerate(zip(src, dst, strict=True)))
    )
    return path
