"""A plugin of pytest for runs of NetworkX's own tests: counts calls that the backend serves, and keeps what failed.

It writes the file that ``NETWORKX_COUNT_FILE`` names: ``{"served": {function: calls}, "outcomes": {outcome: number},
"failed": [names of tests]}``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SERVED: Counter[str] = Counter()
OUTCOMES: Counter[str] = Counter()
FAILED: list[str] = []


def pytest_configure() -> None:
    """Count the calls that ``can_run`` admits."""
    from suricate.networkx import backend

    asked = backend.can_run

    def counted(name: str, args: Any, kwargs: Any) -> bool | str:
        answer = asked(name, args, kwargs)
        SERVED[name] += answer is True
        return answer

    backend.can_run = counted


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what became of a test."""
    if report.when == "call" or report.failed:
        OUTCOMES["xfailed" if hasattr(report, "wasxfail") else report.outcome] += 1
        if report.failed:
            FAILED.append(report.nodeid.split("::", 1)[1])


def pytest_sessionfinish() -> None:
    """Write the counts."""
    found = {"served": SERVED, "outcomes": OUTCOMES, "failed": FAILED}
    Path(os.environ["NETWORKX_COUNT_FILE"]).write_text(json.dumps(found))
