"""The graphs of these tests are small: without this nearly every batch would be recomputed, and no repair tested."""

from __future__ import annotations

import pytest

import suricate as su


@pytest.fixture(autouse=True)
def no_batch_recomputes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every batch be an update, unless the test has the fixture ``may_recompute``."""
    if "may_recompute" not in request.fixturenames:
        monkeypatch.setattr(su.Algorithm, "should_recompute", lambda self, graph, *edges, **times: False)


@pytest.fixture
def may_recompute() -> None:
    """Have large batches computed from scratch, as for users."""
