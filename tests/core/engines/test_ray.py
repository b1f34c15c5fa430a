"""A third party's engine is tested like ours: the example package over Ray, where that is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")
sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "suricate-ray"))

from test_suricate_ray import TestRay, _started, test_an_actor_that_dies_is_named

__all__ = ["TestRay", "_started", "test_an_actor_that_dies_is_named"]

pytestmark = [pytest.mark.slow, pytest.mark.plain]  # each test starts three processes
