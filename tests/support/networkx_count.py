"""A plugin of pytest for runs of NetworkX's own tests: counts calls that the backend serves, and keeps what failed.

It writes the file that ``NETWORKX_COUNT_FILE`` names: ``{"served": {function: calls}, "outcomes": {outcome: number},
"failed": {name of a test: what it raised}, "functions": [those that this NetworkX dispatches]}``.
``NETWORKX_FROM_FIRST=1``: calls by priority convert graphs of any size.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import networkx
import pytest

SERVED: Counter[str] = Counter()
OUTCOMES: Counter[str] = Counter()
FAILED: dict[str, str] = {}


def pytest_configure() -> None:
    """Count the calls that ``can_run`` admits."""
    from suricate.networkx import backend

    asked = backend.can_run

    def counted(name: str, args: Any, kwargs: Any) -> bool | str:
        answer = asked(name, args, kwargs)
        SERVED[name] += answer is True
        return answer

    backend.can_run = counted
    if os.environ.get("NETWORKX_FROM_FIRST"):
        networkx.config.warnings_to_ignore.add("cache")
        backend.should_run = lambda *call: True  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Note what became of a test."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        OUTCOMES["xfailed" if hasattr(report, "wasxfail") else report.outcome] += 1
        if report.failed and call.excinfo is not None:
            FAILED[item.nodeid.split("::", 1)[1]] = call.excinfo.typename
    return report


def pytest_sessionfinish() -> None:
    """Write the counts."""
    functions = sorted(networkx.utils.backends._registered_algorithms)
    found = {"served": SERVED, "outcomes": OUTCOMES, "failed": FAILED, "functions": functions}
    Path(os.environ["NETWORKX_COUNT_FILE"]).write_text(json.dumps(found))
