"""Tiny graphs, and backends that are right and wrong, registered for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from suricate_tutorial import TutorialStore

from suricate import plugins
from suricate.base.types import Outcome
from suricate.bench import inputs


class ForgetfulStore(TutorialStore):
    """Reports a new edge as new, and forgets it if its destination is divisible by 7."""

    name = "forgetful"

    def insert(self, src, dst, weight=None, *, guard=None) -> Outcome:
        """Insert; then lose some."""
        outcome = super().insert(src, dst, weight)
        self._keep(self._keys, self._weights, self._keys.astype(np.uint32) % 7 != 0)
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


class RoomyStore(TutorialStore):
    """Claims to allocate in powers of two, but for what compaction left."""

    name = "roomy"
    compactions = 0

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return the edges, and twice the bytes of a small part."""
        used = 8 * len(self._keys)
        return {"edges": (used, 1 << max(0, used - 1).bit_length()), "rest": (8, 8)}

    def compact(self) -> None:
        """Count."""
        self.compactions += 1


class KnobStore(TutorialStore):
    """Has options that do nothing, one of whose values it refuses."""

    name = "knobs"
    knobs: ClassVar[dict[str, tuple]] = {
        "load": (0.5, 0.7), "hashed": (True, False), "line_bytes": (32, 64), "lanes": (1, 2, 3),
    }  # fmt: skip
    made: ClassVar[list[tuple]] = []

    def __init__(self, num_vertices, *, load=0.7, hashed=True, line_bytes="auto", lanes=1, degree_hints=None, **rest):
        super().__init__(num_vertices, degree_hints=degree_hints, **rest)
        if lanes == 3:
            raise ValueError("lanes must be a power of two")
        self.made.append((load, hashed, line_bytes, lanes, degree_hints is not None))


@pytest.fixture(scope="module")
def data() -> inputs.Input:
    """A graph of 40 vertices and 300 random edges."""
    return inputs.load("uniform:40:300", seed=1)


@pytest.fixture
def knob_store() -> Iterator[type[KnobStore]]:
    """The backend with knobs, registered; ``made`` lists the options of the stores that were made."""
    KnobStore.made.clear()
    name = plugins.register(KnobStore, name="test knobs")
    yield KnobStore
    plugins.unregister(name)


@pytest.fixture
def broken_backends() -> Iterator[list[str]]:
    """Names of a right backend, three broken ones and a right one with room to fill, registered while the test runs."""
    stores = [TutorialStore, ForgetfulStore, GullibleStore, RaisingStore, RoomyStore]
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
