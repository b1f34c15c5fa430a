"""Tests with real brokers; they are collected only if this folder is named, as ``.ci/live`` does.

What is missing, a library or a server, is an error, no skip.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import MockKafka, RedisServer, ReturningKafka


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    here = Path(__file__).parent
    named = any(Path(str(each).partition("::")[0]).resolve().is_relative_to(here) for each in config.args)
    return None if named else True


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    cluster = MockKafka()
    yield cluster
    cluster.close()


@pytest.fixture
def returning() -> Iterator[ReturningKafka]:
    cluster = ReturningKafka()
    yield cluster
    cluster.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    found = RedisServer(tmp_path)
    yield found
    found.stop()
