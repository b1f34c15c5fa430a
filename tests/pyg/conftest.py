"""Tests with PyTorch Geometric; they are collected only if this folder is named, as ``.ci/pyg`` does."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    here = Path(__file__).parent
    named = any(Path(str(each).partition("::")[0]).resolve().is_relative_to(here) for each in config.args)
    return None if named else True
